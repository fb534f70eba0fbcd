//! The observers of a run: trace, profile and masked intervals, as the options ask for them.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use rtmark_model::HeldInterval;
use rtmark_observe::{HeldBackRecorder, HeldInterrupt, Lines, Map, Profile, Report, landmarks};
use rtmark_runner::{Ending, Session, input_file};
use rtmark_sim::{Cycles, Image, Instruction, LandmarkObserver, Landmarks, Machine, Observer, Soc};

use super::flame;
use super::prepare::{resolve, wrong};
use super::trace::{Mark, Trace};
use super::values::When;
use super::{Arguments, Format, file};
use crate::error::CliError;
use crate::replacement::replace;

/// The observers that the options ask for.
pub struct Observers<'a> {
    trace: Option<Trace<'a>>,
    profile: Option<Profile<'a>>,
    held: Option<HeldBackRecorder<'a>>,
    /// The folded stacks of the run to which the flame graph is compared.
    flame_base: Option<String>,
    /// Where to observe, if not every instruction is needed.
    landmarks: Option<Landmarks>,
}

/// How many cycles before a trace's start to begin observing: more than any single step takes, except sleep.
const APPROACH: u64 = 1 << 12;

/// The results of the observers.
#[derive(Default)]
pub struct ObserverResults {
    pub profile: Option<Report>,
    /// The longest intervals in which an interrupt was held back.
    pub masked: Option<Vec<HeldInterval>>,
    /// A note about a trace without any line.
    pub missed: Option<String>,
}

impl Observers<'_> {
    /// Returns whether there is any observer.
    fn are_needed(&self) -> bool {
        self.trace.is_some() || self.profile.is_some() || self.held.is_some()
    }

    /// Runs a session under observation.
    pub fn observe(
        &mut self,
        session: &mut Session<'_>,
        limit: Cycles,
        mut look: impl FnMut(&mut Machine),
    ) -> Ending {
        if let Some(landmarks) = self.landmarks.clone() {
            return session.run_observed_at(&landmarks, limit, self, look);
        }
        if let Some(at) = self.only_trace().and_then(Trace::begins_at) {
            let before = Cycles(at.saturating_sub(APPROACH)).min(limit);
            let ending = session.run(before, &mut look);
            if before == limit || !matches!(ending, Ending::Limit) {
                return ending;
            }
        }
        if self.are_needed() {
            let ending = session.run_observed(limit, self, &mut look);
            if !matches!(ending, Ending::Observer) || !self.is_over(&session.machine) {
                return ending;
            }
        }
        session.run(limit, look)
    }

    /// Returns the trace, if it is the only observer.
    fn only_trace(&self) -> Option<&Trace<'_>> {
        self.trace.as_ref().filter(|_| self.profile.is_none() && self.held.is_none())
    }

    /// Returns whether no observer needs further events.
    fn is_over(&self, machine: &Machine) -> bool {
        self.only_trace().is_some_and(|trace| trace.is_over(machine.cycles().0))
    }
}

impl Observer for Observers<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if let Some(profile) = &mut self.profile {
            profile.before(machine)?;
        }
        if let Some(held) = &mut self.held {
            held.before(machine)?;
        }
        if let Some(trace) = &mut self.trace {
            trace.before(machine)?;
        }
        if self.is_over(machine) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn slept(&mut self, machine: &Machine) {
        self.profile.iter_mut().for_each(|profile| profile.slept(machine));
        self.held.iter_mut().for_each(|held| held.slept(machine));
        self.trace.iter_mut().for_each(|trace| trace.slept(machine));
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.profile.iter_mut().for_each(|profile| profile.executed(machine, instruction));
        self.held.iter_mut().for_each(|held| held.executed(machine, instruction));
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.profile.iter_mut().for_each(|profile| profile.entered(machine, exception));
        self.held.iter_mut().for_each(|held| held.entered(machine, exception));
        self.trace.iter_mut().for_each(|trace| trace.entered(machine, exception));
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.profile.iter_mut().for_each(|profile| profile.returned(machine, exception));
        self.held.iter_mut().for_each(|held| held.returned(machine, exception));
        self.trace.iter_mut().for_each(|trace| trace.returned(machine, exception));
    }
}

impl LandmarkObserver for Observers<'_> {
    fn ran_until(&mut self, machine: &Machine, now: Cycles) {
        self.held.iter_mut().for_each(|held| held.ran_until(machine, now));
    }
}

/// Returns the error for output that could not be written to a file or stdout.
pub fn write_error(path: &Path, error: &io::Error) -> CliError {
    match file(path) {
        Some(path) => CliError::write_error(path, error, "choose a file that you may write"),
        None => io::Error::new(error.kind(), error.to_string()).into(),
    }
}

impl Arguments {
    pub(super) fn observers<'a>(
        &self,
        machine: &Machine,
        image: &'a Image,
    ) -> Result<Observers<'a>, CliError> {
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
                let problem = "the JSON result already goes to stdout";
                return Err(wrong("--trace", problem, "write the trace to a file: --trace=FILE"));
            }
            Some(path) => {
                let trace =
                    Trace::new(file(path), symbols).map_err(|error| write_error(path, &error))?;
                let from = mark("--trace-from", &self.trace_from)?;
                Some(trace.between(from, mark("--trace-to", &self.trace_to)?))
            }
        };
        let profiled = self.profile.is_some() || self.flame.is_some();
        let profile = profiled.then(|| Profile::new(machine, symbols));
        let whose = self.held_interrupt(machine.soc())?;
        let held = self.masked.map(|_| HeldBackRecorder::new(machine, image, whose));
        let only_masks = trace.is_none() && profile.is_none() && whose == HeldInterrupt::Masked;
        let landmarks = (held.is_some() && only_masks).then(|| landmarks(symbols, []));
        let flame_base = self.read_flame_base()?;
        Ok(Observers { trace, profile, held, flame_base, landmarks })
    }

    /// Reads the folded stacks of --flame-base.
    fn read_flame_base(&self) -> Result<Option<String>, CliError> {
        let Some(path) = &self.flame_base else { return Ok(None) };
        let refuse = |problem: String| {
            let hint = "give the file that --profile=FILE of another run has written";
            wrong("--flame-base", format!("{}: {problem}", path.display()), hint)
        };
        let text = input_file::read_text(path).map_err(|error| refuse(error.to_string()))?;
        if !text.lines().any(flame::is_folded) {
            return Err(refuse("no folded stacks".to_owned()));
        }
        Ok(Some(text))
    }

    /// Returns the interrupts that --masked asks about.
    fn held_interrupt(&self, soc: &Soc) -> Result<HeldInterrupt, CliError> {
        let Some(priority) = self.masked_priority else { return Ok(HeldInterrupt::Masked) };
        let last = (1_u32 << soc.priority_bits.min(8)) - 1;
        if u32::from(priority) > last {
            let problem = format!("{} has no priority {priority}", soc.name);
            let hint = format!("its priorities are 0 to {last}, as for NVIC_SetPriority");
            return Err(wrong("--masked-priority", problem, &hint));
        }
        // CMSIS' NVIC_SetPriority takes the implemented bits, right-aligned.
        let shift = 8_u8.saturating_sub(soc.priority_bits);
        Ok(HeldInterrupt::OfPriority(priority.checked_shl(shift.into()).unwrap_or(0)))
    }

    /// Writes the observers' files, and returns their other results.
    /// `file_bytes` are the contents of the image's file.
    pub(super) fn finish(
        &self,
        observers: Observers<'_>,
        machine: &Machine,
        image: &Image,
        file_bytes: &[u8],
    ) -> Result<ObserverResults, CliError> {
        let mut missed = None;
        if let Some(trace) = observers.trace {
            if trace.is_empty() && (self.trace_from.is_some() || self.trace_to.is_some()) {
                missed = Some(
                    "--trace: no instruction executed between --trace-from and --trace-to"
                        .to_owned(),
                );
            }
            let path = self.trace.as_deref().unwrap_or(Path::new("trace"));
            trace.finish().map_err(|error| write_error(path, &error))?;
        }
        if observers.profile.is_none() && observers.held.is_none() {
            return Ok(ObserverResults { missed, ..ObserverResults::default() });
        }
        let lines = Lines::new(file_bytes);
        let masked = observers.held.map(|held| {
            let mut intervals = held.intervals_and_open(machine, Map::new(image, lines.as_ref()));
            // An instruction of zero cycles holds nothing back.
            intervals.retain(|interval| interval.cycles > 0);
            intervals.truncate(self.masked.unwrap_or_default());
            intervals
        });
        let Some(profile) = observers.profile else {
            return Ok(ObserverResults { profile: None, masked, missed });
        };
        let report = profile.report(machine, lines.as_ref());
        if let Some(path) = self.profile.as_deref().and_then(file) {
            let mut text = report.folded.join("\n");
            text.push('\n');
            replace(path, text.as_bytes())?;
        }
        if let Some(path) = &self.flame {
            let title = self.image().file_name().unwrap_or(self.image().as_os_str());
            let title = rtmark_model::visible(title.to_string_lossy().as_bytes());
            let base = observers.flame_base.as_deref();
            replace(path, &flame::graph(&title, &report.folded, base))?;
        }
        Ok(ObserverResults { profile: Some(report), masked, missed })
    }
}
