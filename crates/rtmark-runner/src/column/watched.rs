//! The observed run of an image, and the parts that make up a column.

use std::collections::BTreeSet;

use rtmark_calls::{AmbiguousScenarios, Api, CallRecorder, KernelCost};
use rtmark_firmware::{probes, select};
use rtmark_import::Program;
use rtmark_model::{Answer, FailureKind, Scenario, ScenarioId};
use rtmark_observe::{Lines, missing_debug_info};
use rtmark_sim::Machine;
use rtmark_units::{Cycles, Instructions};

use super::answers::Source;
use super::console::{AnnouncedResult, ConsoleRun};
use super::{Column, ColumnOptions, ForeignImage};
use crate::internal_error;
use crate::measure::{cut_short, with_commands};
use crate::run::{Ending, Session};
use crate::socs::SocFile;

/// The most instructions of a program for which it is observed to its end.
const OBSERVED_INSTRUCTIONS: Instructions = Instructions(100_000_000);

/// The result of an observed run.
pub(super) struct ObservedRun {
    pub(super) kernel_cost: KernelCost,
    pub(super) ending: Ending,
    pub(super) ending_text: String,
}

impl ForeignImage {
    /// Returns the column of an image that does not run on a soc at all.
    pub(super) fn rejected(&self, soc: &SocFile, problem: &str) -> Column {
        let source = Source { foreign: self, soc, version: self.short(), kernel: None };
        let message = format!("{}: {problem}", self.path);
        let hint = "it is linked for another chip: choose that one with --soc, or link it again";
        let failed = source.failed(FailureKind::Load, message, hint, &[]);
        Column { answers: vec![failed], notes: Vec::new() }
    }

    /// Returns a short hash, shown instead of a version if the version is unknown.
    pub(super) fn short(&self) -> String {
        format!("image {}", self.sha256.get(..8).unwrap_or_default())
    }

    pub(super) fn api<'a>(&self, known: &'a [Api]) -> Option<&'a Api> {
        Api::recognise(known, self.image.symbols())
    }

    /// Runs the image with a recorder of calls as observer.
    pub(super) fn watch(
        &self,
        machine: Machine,
        api: &Api,
        limit: Cycles,
        advanced: &mut impl FnMut(Cycles, Cycles),
    ) -> ObservedRun {
        let lines = Lines::new(&self.elf);
        let mut recorder =
            CallRecorder::matching(&machine, &self.image, &self.elf, api, lines.as_ref());
        let landmarks = recorder.landmarks();
        let mut session = Session::with(machine, &self.image);
        let ending = session.run_observed_at(&landmarks, limit, &mut recorder, |machine| {
            machine.take_console();
            advanced(machine.cycles(), limit);
        });
        let ending_text = match &ending {
            Ending::Internal(error) => internal_error::describe(error, &self.image, &self.elf),
            other => session.describe(other),
        };
        ObservedRun { kernel_cost: recorder.finish(&session.machine), ending, ending_text }
    }

    /// Warns if the file has no debug information, which would describe the kernel's structures among
    /// others.
    fn without_debug_information(&self) -> Option<String> {
        missing_debug_info(&self.elf).map(|reason| format!("{}: {reason}", self.name))
    }

    /// Explains why no calls are timed.
    pub(super) fn why_no_calls(&self, known: &[Api]) -> String {
        let names: Vec<&str> = known.iter().map(|api| api.name.as_str()).collect();
        if self.image.symbols().names().next().is_none() {
            return format!(
                "{}: {} has no symbols, so calls of its kernel cannot be recognised: use the file as the \
                linker wrote it, before it was stripped",
                self.name, self.path
            );
        }
        format!(
            "{}: {} has no symbol of {}: only what it prints was read",
            self.name,
            self.path,
            names.join(", ")
        )
    }

    /// Makes the column of a foreign image: of what it has printed, and of what it calls.
    pub(super) fn program(
        &self,
        soc: &SocFile,
        machine: &Machine,
        (program, printed): (Option<&Program>, &ConsoleRun),
        options: &ColumnOptions<'_>,
        advanced: &mut impl FnMut(Cycles, Cycles),
    ) -> Column {
        let mut column = Column::default();
        let source = Source { foreign: self, soc, version: self.short(), kernel: None };
        if let Ending::Internal(error) = &printed.ending {
            let ending_text = internal_error::describe(error, &self.image, &self.elf);
            let failed =
                source.failed(FailureKind::Internal, ending_text, &internal_error::hint(), &[]);
            column.answers.push(failed);
            return column;
        }
        let reading = source.read(&printed.console, options);
        let version = reading.as_ref().ok().and_then(|reading| reading.version());
        let source =
            Source { version: version.map_or_else(|| self.short(), str::to_owned), ..source };
        let known = Api::builtin().unwrap_or_default();
        match self.api(&known) {
            None => column.notes.push(self.why_no_calls(&known)),
            Some(api) => {
                column.notes.extend(self.without_debug_information());
                let until = observed_limit(printed, soc, options);
                let watched = self.watch(machine.clone(), api, until, advanced);
                let source = Source { kernel: Some(&api.name), ..source.clone() };
                self.calls(&source, &watched, api, options, &mut column);
                if until < printed.ran {
                    column.notes.push(format!(
                        "{}: calls are those of the first {until}, of {} that it ran; \
                         --max-cycles allows more",
                        self.name, printed.ran
                    ));
                }
            }
        }
        match reading {
            Ok(reading) => source.rows(&reading, options, &mut column),
            Err(error) => column.notes.push(format!("{}: its console: {error}", self.name)),
        }
        column.answers.extend(self.cut_short(&source, program, printed, &column));
        column
    }

    /// Adds the figures from a run's calls.
    fn calls(
        &self,
        source: &Source<'_>,
        watched: &ObservedRun,
        api: &Api,
        options: &ColumnOptions<'_>,
        column: &mut Column,
    ) {
        let ObservedRun { kernel_cost, ending, ending_text } = watched;
        if let Ending::Internal(_) = ending {
            let failed = source.failed(
                FailureKind::Internal,
                ending_text.clone(),
                &internal_error::hint(),
                &[],
            );
            column.answers.push(failed);
            return;
        }
        column.answers.extend(source.scenarios(&kernel_cost.equal, options));
        column.answers.extend(source.near(&kernel_cost.called, &kernel_cost.equal, api));
        column.notes.extend(self.ambiguity_note(&kernel_cost.ambiguous));
        if kernel_cost.called.is_empty() && !kernel_cost.inlined.is_empty() {
            column.notes.push(format!(
                "{}: the compiler has inlined every function of {} that it uses: no call can be timed",
                self.name, api.name
            ));
        }
    }

    /// Lists the scenarios whose calls could not be distinguished from others, and why.
    fn ambiguity_note(&self, ambiguous: &AmbiguousScenarios) -> Option<String> {
        let list = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
        let scenarios = list(&mut ambiguous.scenarios.iter().map(ScenarioId::as_str));
        let (name, why) = (&self.name, describe_ambiguity(ambiguous));
        (!scenarios.is_empty())
            .then(|| format!("{name}: {why}, so these scenarios cannot be distinguished from other calls: {scenarios}"))
    }

    /// Returns the failure of a run that did not reach its end.
    fn cut_short(
        &self,
        source: &Source<'_>,
        program: Option<&Program>,
        printed: &ConsoleRun,
        column: &Column,
    ) -> Option<Answer> {
        let ConsoleRun { ending, ending_text, console, announced, .. } = printed;
        let rows = column.answers.iter().filter_map(Answer::series).count();
        let until = format!("results up to that point are kept: {rows} series");
        let fault = matches!(cut_short(ending), Some((FailureKind::Fault, _)));
        let failed = |kind, message: String, hint: &str| {
            Some(source.failed(kind, format!("{message}; {until}"), hint, console))
        };
        let again =
            format!("`rtmark sim {} --soc {}` shows the same run", self.path, source.soc.soc.name);
        match (program, announced) {
            (_, Some(AnnouncedResult::Well)) => None,
            (Some(program), Some(AnnouncedResult::Failed)) => {
                let message = format!("{} says that it failed", program.name);
                failed(FailureKind::Check, message, &again)
            }
            _ if fault => failed(FailureKind::Fault, ending_text.clone(), &again),
            (Some(program), _) => {
                let message = format!(
                    "{} did not announce its end (`{}`): {ending_text}",
                    program.name,
                    program.ends.join("`, `")
                );
                let hint = format!("if it needs longer, allow more with --max-cycles; {again}");
                failed(FailureKind::Budget, message, &hint)
            }
            (None, _) if rows == 0 => {
                let message = format!("nothing of it could be measured: {ending_text}");
                failed(FailureKind::Budget, message, &again)
            }
            (None, _) => None,
        }
    }

    /// Measures an image of rtmark's own: one run per scenario, timed by its calls.
    pub(super) fn measure_own(
        &self,
        soc: &SocFile,
        machine: &Machine,
        options: &ColumnOptions<'_>,
        advanced: &mut impl FnMut(Cycles, Cycles),
    ) -> Column {
        let mut column = Column::default();
        let known = Api::builtin().unwrap_or_default();
        let Some(api) = self.api(&known) else {
            column.notes.push(self.why_no_calls(&known));
            return column;
        };
        column.notes.extend(self.without_debug_information());
        let source = Source { foreign: self, soc, version: self.short(), kernel: Some(&api.name) };
        let held = probes::scenarios(&self.records);
        let held =
            held.filter_map(|id| options.catalogue.get(id)).filter(|one| options.includes(one));
        let (mut without, mut ran) = (Vec::new(), 0);
        let mut ambiguous = AmbiguousScenarios::default();
        for scenario in held {
            ran += 1;
            let mut machine = machine.clone();
            if let Err(error) = select(&mut machine, &self.image, &self.records, &scenario.id) {
                let hint = "build the firmware again with this rtmark";
                let failed = source.failed(FailureKind::Build, error.to_string(), hint, &[]);
                column.answers.push(failed);
                continue;
            }
            let watched = self.watch(machine, api, budget(scenario, soc, options), advanced);
            if let Some((kind, hint)) = cut_short(&watched.ending) {
                let message = format!("{}: {}", scenario.id, watched.ending_text);
                let again = format!(
                    "rtmark sim {} --soc {} --select {}",
                    self.path, soc.soc.name, scenario.id
                );
                let hint = with_commands(hint, &again);
                column.answers.push(source.failed(kind, message, &hint, &[]));
                continue;
            }
            let AmbiguousScenarios { members, specialised, scenarios } =
                watched.kernel_cost.ambiguous;
            if scenarios.contains(&scenario.id) {
                ambiguous.members.extend(members);
                ambiguous.specialised.extend(specialised);
                ambiguous.scenarios.insert(scenario.id.clone());
                continue;
            }
            let mut equal = watched.kernel_cost.equal;
            equal.retain(|calls| calls.scenario == scenario.id);
            if equal.is_empty() {
                without.push(scenario.id.as_str());
            }
            column.answers.extend(source.scenarios(&equal, options));
        }
        if ran == 0 {
            column.notes.push(format!(
                "{}: an image of rtmark's own, none of whose scenarios was asked for",
                self.name
            ));
        }
        column.notes.extend(self.ambiguity_note(&ambiguous));
        if !without.is_empty() {
            column.notes.push(format!(
                "{}: no call of {} has the span of {}",
                self.name,
                api.name,
                without.join(", ")
            ));
        }
        column
    }
}

/// Returns how long to observe a run that was made at full speed before.
pub(super) fn observed_limit(
    printed: &ConsoleRun,
    soc: &SocFile,
    options: &ColumnOptions<'_>,
) -> Cycles {
    let is_short = printed.announced.is_some() && printed.instructions <= OBSERVED_INSTRUCTIONS;
    let usual = if is_short { printed.ran } else { Cycles(soc.soc.clock.0.into()) };
    printed.ran.min(options.max_cycles.unwrap_or(usual))
}

/// Explains why calls cannot be distinguished from each other.
pub(super) fn describe_ambiguity(ambiguous: &AmbiguousScenarios) -> String {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let (members, specialised) = (list(&ambiguous.members), list(&ambiguous.specialised));
    let mut why = Vec::new();
    if !members.is_empty() {
        why.push(format!("its debug information does not describe {members}"));
    }
    if !specialised.is_empty() {
        why.push(format!("the compiler has changed the arguments of {specialised}"));
    }
    why.join(", and ")
}

/// Returns the number of cycles after which a scenario is abandoned.
fn budget(scenario: &Scenario, soc: &SocFile, options: &ColumnOptions<'_>) -> Cycles {
    let clock = u64::from(soc.soc.clock.0);
    let usual = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
    options.max_cycles.unwrap_or(usual)
}
