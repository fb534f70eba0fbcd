//! What looks on while a program runs: the trace and the profile, as asked for.

use std::ops::ControlFlow;
use std::path::Path;

use rtmark_observe::{Lines, Profile, Report};
use rtmark_sim::{Image, Instruction, Machine, Observer};

use super::profile;
use super::setup::{refuse, resolve, wrong};
use super::trace::{Mark, Trace};
use super::values::When;
use super::{Arguments, Format, file};
use crate::trouble::Trouble;

/// Those that were asked for.
pub struct Observers<'a> {
    trace: Option<Trace<'a>>,
    profile: Option<Profile<'a>>,
}

impl Observers<'_> {
    /// Whether anybody looks on at all.
    pub fn are_needed(&self) -> bool {
        self.trace.is_some() || self.profile.is_some()
    }
}

impl Observer for Observers<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if let Some(profile) = &mut self.profile {
            profile.before(machine)?;
        }
        self.trace.as_mut().map_or(ControlFlow::Continue(()), |trace| trace.before(machine))
    }

    fn slept(&mut self, machine: &Machine) {
        self.profile.iter_mut().for_each(|profile| profile.slept(machine));
        self.trace.iter_mut().for_each(|trace| trace.slept(machine));
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.profile.iter_mut().for_each(|profile| profile.executed(machine, instruction));
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.profile.iter_mut().for_each(|profile| profile.entered(machine, exception));
        self.trace.iter_mut().for_each(|trace| trace.entered(machine, exception));
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.profile.iter_mut().for_each(|profile| profile.returned(machine, exception));
        self.trace.iter_mut().for_each(|trace| trace.returned(machine, exception));
    }
}

fn written(path: &Path, result: std::io::Result<()>) -> Result<(), Trouble> {
    result.map_err(|error| refuse(path, error, "choose a file that can be written"))
}

impl Arguments {
    pub(super) fn observers<'a>(
        &self,
        machine: &Machine,
        image: &'a Image,
    ) -> Result<Observers<'a>, Trouble> {
        let symbols = image.symbols();
        let mark = |option: &str, when: &Option<When>| {
            let mark = |when: &When| match when {
                When::Cycle(cycle) => Ok(Mark::Cycle(*cycle)),
                When::Place(place) => {
                    resolve(option, place, image).map(|address| Mark::Address(address & !1))
                }
            };
            when.as_ref().map(mark).transpose()
        };
        let trace = match &self.trace {
            None => None,
            Some(path) if file(path).is_none() && self.format == Format::Json => {
                let problem = "stdout takes the JSON result already";
                return Err(wrong("--trace", problem, "give the trace a file: --trace=FILE"));
            }
            Some(path) => {
                let trace = Trace::new(file(path), symbols)
                    .map_err(|error| refuse(path, error, "choose a file that can be written"))?;
                let from = mark("--trace-from", &self.trace_from)?;
                Some(trace.between(from, mark("--trace-to", &self.trace_to)?))
            }
        };
        let profiled = self.profile.is_some() || self.flame.is_some();
        let profile = profiled.then(|| Profile::new(machine, symbols));
        Ok(Observers { trace, profile })
    }

    /// Writes what the observers have gathered, and answers the profile.
    /// `image` is the file's contents.
    pub(super) fn finish(
        &self,
        observers: Observers<'_>,
        image: &[u8],
    ) -> Result<Option<Report>, Trouble> {
        if let Some(trace) = observers.trace {
            written(self.trace.as_deref().unwrap_or(Path::new("trace")), trace.finish())?;
        }
        let Some(profile) = observers.profile else { return Ok(None) };
        let lines = Lines::new(image);
        let report = profile.report(lines.as_ref());
        if let Some(path) = self.profile.as_deref().and_then(file) {
            let mut text = report.folded.join("\n");
            text.push('\n');
            written(path, std::fs::write(path, text))?;
        }
        if let Some(path) = &self.flame {
            let title = self.image().file_name().unwrap_or(self.image().as_os_str());
            let title = rtmark_model::visible(title.to_string_lossy().as_bytes());
            written(path, std::fs::write(path, profile::flame_graph(&report, &title)))?;
        }
        Ok(Some(report))
    }
}
