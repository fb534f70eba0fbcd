//! Builds a column's answers: series from calls, and rows from calls and from console output.

use std::collections::BTreeMap;

use rtmark_calls::{Api, CalledFunction, EqualCalls, Origin, Outcome};
use rtmark_import::{GivenFacts, ImportError, Options, Reading};
use rtmark_model::{
    Answer, Backend, Basis, Counted, Disturbance, Exact, Expected, Failure, FailureKind, Firmware,
    Key, LONGEST_ID, LogSource, Near, Overhead, Percentile, Provenance, Readings, Samples,
    ScenarioId, Series, Span, Suite, Summarised, Unpaired, visible,
};

use super::{Column, ColumnOptions, ForeignImage};
use crate::platform::Platform;
use crate::socs::SocFile;

/// Takes the place of the build profile, which is unknown for a finished image.
const PROFILE: &str = "image";

/// How calls of a function differ from those with a scenario's span, where nothing more specific is
/// known.
const ALL_CALLS: &str = "these are all of its calls that went on so, whatever was found; those with \
                         the scenario's span stand there";

/// Fields common to all answers of an image on a soc.
#[derive(Clone, Debug)]
pub(super) struct Source<'a> {
    pub foreign: &'a ForeignImage,
    pub soc: &'a SocFile,
    /// The version that the image prints.
    pub version: String,
    /// Its kernel, recognised by the names of its functions.
    pub kernel: Option<&'a str>,
}

impl Source<'_> {
    pub fn key(&self, scenario: ScenarioId, backend: Backend) -> Key {
        Key {
            soc: self.soc.soc.name.clone(),
            kernel: self.foreign.name.clone(),
            version: self.version.clone(),
            profile: PROFILE.to_owned(),
            scenario,
            backend,
        }
    }

    fn provenance(&self, options: &ColumnOptions<'_>) -> Provenance {
        let platform = Platform::Sim(Box::new(self.soc.clone()), Basis::Cycles);
        let ForeignImage { path, image, sha256, .. } = self.foreign;
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Provenance {
            rtmark: options.rtmark.to_owned(),
            rtmark_sha256: options.rtmark_sha256.map(str::to_owned),
            timing_model: Some(rtmark_sim::TIMING_MODEL.to_owned()),
            timing_basis: platform.timing_basis(),
            soc_sha256: self.soc.sha256.clone(),
            core: self.soc.soc.core.name().to_owned(),
            firmware: Firmware {
                image: file.to_owned(),
                elf_sha256: sha256.clone(),
                layout: 0,
                flash_bytes: image.flash_bytes(),
                ram_bytes: image.ram_bytes(&self.soc.soc),
            },
            ..Provenance::default()
        }
    }

    fn series(&self, key: Key, span: Span, readings: Readings, provenance: Provenance) -> Series {
        let mut facts = BTreeMap::new();
        if let Some(kernel) = self.kernel {
            facts.insert("kernel".to_owned(), kernel.to_owned());
        }
        Series {
            key,
            basis: Basis::Cycles,
            span,
            clock: self.soc.soc.clock,
            readings,
            executed: None,
            unpaired: Unpaired::default(),
            facts,
            flags: Vec::new(),
            emptied: None,
            placements: Vec::new(),
            masked: None,
            held: None,
            no_multiple: None,
            provenance,
        }
    }

    /// Returns the answer that reports a failure of the image as a whole.
    pub fn failed(&self, kind: FailureKind, message: String, hint: &str, console: &[u8]) -> Answer {
        let tail = console.get(console.len().saturating_sub(4096)..).unwrap_or_default();
        let failure = Failure { kind, message, hint: hint.to_owned(), console: visible(tail) };
        Answer::Failed { key: self.key(id("image.run"), Backend::Log), failure }
    }

    /// Turns calls that match a scenario's span into samples of that scenario.
    pub fn scenarios(&self, all: &[EqualCalls], options: &ColumnOptions<'_>) -> Vec<Answer> {
        let mut found: Vec<(usize, Answer)> = Vec::new();
        for EqualCalls { scenario, functions, calls, .. } in all {
            let Some(scenario) =
                options.catalogue.get(scenario).filter(|one| options.includes(one))
            else {
                continue;
            };
            let mut samples = Samples::new();
            for call in calls {
                // The kernel's own exceptions are not counted here.
                let hit = Disturbance { tick: call.ticks > 0, interrupt: call.interrupts > 0 };
                samples.push(call.cycles, hit);
            }
            let key = self.key(scenario.id.clone(), Backend::Sim);
            let readings = Readings::Exact(Exact(samples));
            let mut series =
                self.series(key, scenario.span.clone(), readings, self.provenance(options));
            series.facts.insert("calls".to_owned(), functions.join(", "));
            series.no_multiple.clone_from(&scenario.no_multiple);
            let position = options.catalogue.position(&scenario.id);
            found.push((position, Answer::Measured(Box::new(series))));
        }
        found.sort_by_key(|(position, _)| *position);
        found.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Reports all calls by function and outcome, in a section of their own.
    pub fn near(&self, called: &[CalledFunction], equal: &[EqualCalls], api: &Api) -> Vec<Answer> {
        let row = |called: &CalledFunction, label: &str| {
            let cycles = called.cycles?;
            let (how, to) = match called.outcome {
                Outcome::Returned => ("returns", "the instruction after it"),
                Outcome::Switched => {
                    ("switches", "the first instruction of another thread outside the kernel")
                }
            };
            let near = api.near(&called.symbol, called.outcome).or_else(|| {
                let has = |equal: &&EqualCalls| {
                    equal.outcome == called.outcome && equal.functions.contains(&called.function)
                };
                Some((&equal.iter().find(has)?.scenario, ALL_CALLS))
            });
            let near = near.filter(|_| called.from == Origin::Thread);
            let (from, handler) = match called.from {
                Origin::Thread => ("", ""),
                Origin::Interrupt => (", from a handler", ".interrupt"),
            };
            let name = format!("{label} {how}{from}");
            let count = called.calls - called.hit;
            let summary = Summarised {
                count: Some(count),
                min: Some(cycles.min as f64),
                mean: Some(cycles.total as f64 / count.max(1) as f64),
                max: Some(cycles.max as f64),
                percentiles: vec![Percentile { per_cent: 50.0, value: cycles.median as f64 }],
                ..Summarised::default()
            };
            let span = Span {
                from: format!("the instruction that calls {label}"),
                to: to.to_owned(),
                counted: Counted::All,
                switches: u32::from(called.outcome == Outcome::Switched),
                overhead: Overhead::None,
                ticks: Expected::Exactly(0),
                interrupts: Expected::Exactly(0),
            };
            let log = LogSource {
                file: self.foreign.path.clone(),
                line: 0,
                suite: Suite::Calls,
                row: name,
                near: near.map(|(scenario, differs)| Near {
                    scenario: scenario.clone(),
                    differs: differs.to_owned(),
                }),
            };
            let scenario = id(&format!("calls.{label}.{how}{handler}"));
            let provenance = Provenance {
                core: self.soc.soc.core.name().to_owned(),
                soc_sha256: self.soc.sha256.clone(),
                timing_model: Some(rtmark_sim::TIMING_MODEL.to_owned()),
                log: Some(log),
                ..Provenance::default()
            };
            let key = self.key(scenario, Backend::Log);
            let readings = Readings::Summarised(summary);
            Some(Answer::Measured(Box::new(self.series(key, span, readings, provenance))))
        };
        called.iter().filter_map(|one| row(one, one.label(called))).collect()
    }

    /// Parses the console as the log of a known suite.
    ///
    /// # Errors
    /// When it looks like a document of rtmark's own but is not valid.
    pub fn read(
        &self,
        console: &[u8],
        options: &ColumnOptions<'_>,
    ) -> Result<Reading, ImportError> {
        let soc = &self.soc.soc;
        let given = GivenFacts {
            soc: Some(soc.name.clone()),
            core: Some(soc.core.name().to_owned()),
            clock: None,
            fallback_clock: Some(soc.clock),
            kernel: Some(self.foreign.name.clone()),
            version: None,
            profile: Some(PROFILE.to_owned()),
        };
        let import_options = Options { format: None, given, rtmark: options.rtmark.to_owned() };
        rtmark_import::read(console, &self.foreign.path, &import_options)
    }

    /// Returns a row that has a scenario's span as that scenario's answer, if none of the known ones is:
    /// calls, or an earlier row. Whether the cost of reading the clock is included or was subtracted is stated in the row's
    /// span. Its cycles must be the core's, as a suite may count those of another clock.
    fn promote<'a>(
        &self,
        series: &Series,
        options: &ColumnOptions<'_>,
        mut known: impl Iterator<Item = &'a Answer>,
    ) -> Option<Answer> {
        let log = series.provenance.log.as_ref()?;
        let (scenario, equal) = options.catalogue.equal_to(log.suite, &log.row)?;
        let key = self.key(scenario.id.clone(), Backend::Sim);
        let is_sound = series.flags.is_empty() && equal.times.get() == 1;
        let is_new = known.all(|answer| *answer.key() != key);
        let (counted, core) = (f64::from(series.clock.0), f64::from(self.soc.soc.clock.0));
        // Suites truncate clocks to whole megahertz.
        let is_cores = series.basis == Basis::Cycles && (counted - core).abs() <= 1e6;
        let fits = is_sound && is_new && is_cores && options.includes(scenario);
        fits.then(|| Answer::Measured(Box::new(Series { key, ..series.clone() })))
    }

    /// Adds the printed rows under the column's name, with notes on anything unusual about them.
    pub fn rows(&self, reading: &Reading, options: &ColumnOptions<'_>, column: &mut Column) {
        let mut promoted = Vec::new();
        for mut answer in reading.answers(options.catalogue) {
            let key = match &mut answer {
                Answer::Measured(series) => &mut series.key,
                Answer::NotApplicable { key, .. } | Answer::Failed { key, .. } => key,
            };
            key.kernel = self.foreign.name.clone();
            key.version.clone_from(&self.version);
            key.soc.clone_from(&self.soc.soc.name);
            if let Answer::Measured(series) = &mut answer {
                let own = self.provenance(options);
                let provenance = &mut series.provenance;
                provenance.timing_model = own.timing_model;
                provenance.timing_basis = own.timing_basis;
                provenance.soc_sha256 = own.soc_sha256;
                provenance.firmware = own.firmware;
                let known = column.answers.iter().chain(&promoted);
                let answer = self.promote(series, options, known);
                promoted.extend(answer);
            }
            column.answers.push(answer);
        }
        column.answers.splice(0..0, promoted);
        let name = &self.foreign.name;
        for warning in reading.warnings().iter().take(8) {
            column.notes.push(format!("{name}: line {}: {}", warning.line, warning.message));
        }
    }
}

/// Replaces every character that a scenario's name cannot contain.
fn id(text: &str) -> ScenarioId {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.') => c,
        _ => '_',
    };
    let name: String = text.chars().take(LONGEST_ID).map(plain).collect();
    name.trim_end_matches('.').replace("..", ".").parse().unwrap_or_else(|_| id("calls.other"))
}
