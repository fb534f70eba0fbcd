//! Examines an image in detail: where the cycles of a call with a scenario's span went, and how much
//! memory a run uses.

use std::convert::Infallible;

use rtmark_calls::{Api, EqualCalls};
use rtmark_firmware::{probes, select};
use rtmark_import::Program;
use rtmark_model::{Answer, Backend, Failure, FailureKind, Scenario};
use rtmark_observe::{Attribution, Size, SizeGroup, StackUse, Stacks};
use rtmark_sim::Machine;
use rtmark_trace::ControlBlocks;
use rtmark_units::Cycles;

use super::answers::Source;
use super::watched::{describe_ambiguity, observed_limit};
use super::{ColumnOptions, ForeignImage, console, usual_limit};
use crate::explain::{LEAD, representative};
use crate::internal_error;
use crate::run::{Ending, Session};
use crate::run_limit::RunLimit;
use crate::socs::SocFile;
use crate::suite::Explanation;

/// The memory that an image uses during a run.
#[derive(Clone, Debug)]
pub struct ImageFootprint {
    /// Flash, in bytes: code, constants and the initial values copied into RAM.
    pub flash_bytes: u64,
    /// RAM, in bytes, including stacks and heap as far as the linker knows them.
    pub ram_bytes: u64,
    /// The stacks used during the run.
    pub stacks: Vec<StackUse>,
    /// How long the run was observed.
    pub ran: Cycles,
    /// How the run ended, in words.
    pub ended: String,
    /// Where the main stack grew into other data, in words, if it did.
    pub stack_overflow: Option<String>,
}

impl ForeignImage {
    /// Prepares a machine with the image, and identifies its benchmark program, if any.
    fn ready(&self, soc: &SocFile) -> Result<(Machine, Option<Program>), Failure> {
        let mut machine = Machine::new(&self.soc(soc).soc);
        machine.load(&self.image).map_err(|error| Failure {
            kind: FailureKind::Load,
            message: format!("{}: {error}", self.path()),
            hint: "it is linked for another chip: choose that one with --soc, or link it again"
                .into(),
            console: String::new(),
        })?;
        let program = self.known_program();
        if let Some(program) = &program {
            // On a soc without a UART the program waits for ever, and the report says so.
            let _ = machine.connect_uart(None, program.sent.as_bytes());
        }
        Ok((machine, program))
    }

    /// Returns which symbols, files or crates the image's flash and RAM belong to.
    pub fn sizes(&self, soc: &SocFile, by: SizeGroup) -> Vec<Size> {
        rtmark_observe::sizes(&self.elf, &self.image, &soc.soc, by)
    }

    /// Explains what the typical call with a scenario's span was spent on, or returns the answer that
    /// takes its place. `advanced` is called now and then with the cycles that have passed and the
    /// total.
    ///
    /// # Errors
    /// When the image cannot be run, or none of its calls has that span: an answer that says so.
    pub fn explain(
        &self,
        soc: &SocFile,
        options: &ColumnOptions<'_>,
        scenario: &Scenario,
        mut advanced: impl FnMut(Cycles, Cycles),
    ) -> Result<Explanation, Box<Answer>> {
        let known = Api::builtin().unwrap_or_default();
        let api = self.api(&known);
        let kernel = api.map(|api| api.name.as_str());
        let source = Source { foreign: self, soc, version: self.short(), kernel };
        let key = source.key(scenario.id.clone(), Backend::Sim);
        let failed = |failure| Box::new(Answer::Failed { key: key.clone(), failure });
        let none = |reason| Box::new(Answer::NotApplicable { key: key.clone(), reason });
        let (mut machine, program) = self.ready(soc).map_err(failed)?;
        let api = api.ok_or_else(|| none(self.why_no_calls(&known)))?;
        if probes::scenarios(&self.records).next().is_some() {
            select(&mut machine, &self.image, &self.records, &scenario.id)
                .map_err(|error| none(error.to_string()))?;
        }
        let longest = options.max_cycles.unwrap_or(usual_limit(soc, program.as_ref()));
        let printed =
            console::run(machine.clone(), &self.image, program.as_ref(), longest, &mut advanced);
        let limit = observed_limit(&printed, soc, options);
        let watched = self.watch(machine.clone(), api, limit, &mut advanced);
        if matches!(watched.ending, Ending::Internal(_)) {
            return Err(failed(internal_failure(watched.ending_text)));
        }
        let mut equal = watched.kernel_cost.equal;
        equal.retain(|calls| calls.scenario == scenario.id);
        let answer = source.scenarios(&equal, options).into_iter().next();
        let (Some(EqualCalls { calls, .. }), Some(Answer::Measured(series))) =
            (equal.first(), answer)
        else {
            let ambiguous = &watched.kernel_cost.ambiguous;
            let reason = if ambiguous.scenarios.contains(&scenario.id) {
                format!(
                    "its calls cannot be distinguished from others: {}.",
                    describe_ambiguity(ambiguous)
                )
            } else {
                format!("no call of {} in its first {limit} has that span.", api.name)
            };
            return Err(none(reason));
        };
        let sample = series.readings.samples().and_then(representative).unwrap_or(0);
        let Some(call) = calls.get(sample) else {
            return Err(none("it has no sample to explain".to_owned()));
        };
        let (from, to) = (Cycles(call.began), Cycles(call.began.saturating_add(call.cycles)));
        let mut session = Session::with(machine, &self.image);
        session.run(from.saturating_sub(LEAD), |machine| {
            machine.take_console();
        });
        let mut attribution = Attribution::new(&session.machine, self.image.symbols(), from, to);
        let ending = session.run_observed(to.saturating_add(LEAD), &mut attribution, |machine| {
            machine.take_console();
        });
        if let Ending::Internal(error) = ending {
            return Err(failed(internal_failure(internal_error::describe(
                &error,
                &self.image,
                &self.elf,
            ))));
        }
        let (series, cost) = (*series, attribution.cost());
        Ok(Explanation { series, sample: sample as u64, began: from, cost })
    }

    /// Runs the image and reports the memory it uses, until it ends or reaches the limit. `advanced` is
    /// called now and then with the cycles that have passed and the total.
    ///
    /// # Errors
    /// When the image does not fit the soc, or the simulator makes a mistake.
    pub fn footprint(
        &self,
        soc: &SocFile,
        limit: RunLimit,
        mut advanced: impl FnMut(Cycles, Cycles),
    ) -> Result<ImageFootprint, Failure> {
        let (mut machine, program) = self.ready(soc)?;
        if let Some(program) = &program {
            console::stop_at_end(&mut machine, program);
        }
        let mut stacks = Stacks::new(&machine, self.image.symbols());
        if let Some(threads) = ControlBlocks::new(&self.elf, &self.image) {
            stacks = stacks.with_names(threads);
        }
        let mut session = Session::with(machine, &self.image);
        let Ok(ending) = limit.run(&mut session, |session, until| {
            Ok::<_, Infallible>(session.run_observed(until, &mut stacks, |machine| {
                machine.take_console();
                advanced(machine.cycles(), until);
            }))
        });
        if let Ending::Internal(error) = &ending {
            return Err(internal_failure(internal_error::describe(error, &self.image, &self.elf)));
        }
        Ok(ImageFootprint {
            flash_bytes: self.image.flash_bytes(),
            ram_bytes: self.image.ram_bytes(&soc.soc),
            stacks: stacks.uses(),
            ran: session.machine.cycles(),
            ended: session.describe(&ending),
            stack_overflow: session.stack_overflow(),
        })
    }
}

/// Returns the failure that reports a mistake of the simulator.
fn internal_failure(message: String) -> Failure {
    let hint = internal_error::hint();
    Failure { kind: FailureKind::Internal, message, hint, console: String::new() }
}
