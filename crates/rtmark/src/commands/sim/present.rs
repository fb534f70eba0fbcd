//! The last phase of the command: prints the results and returns the exit code.

use rtmark_model::visible;
use rtmark_observe::{missing_debug_info, uncleared};
use rtmark_runner::Ending;
use rtmark_sim::{ImageFormat, Machine, Register, SendFault};
use rtmark_units::Nanoseconds;

use super::ending::{self, End};
use super::execute::FinishedRun;
use super::outcome::{self, MemoryDump, Outcome};
use super::prepare::RunSource;
use super::{Arguments, Format, masked, profile};
use crate::cli::Verbosity;
use crate::commands::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// Formats a duration: to the nanosecond below one second, else to the microsecond.
fn duration(Nanoseconds(ns): Nanoseconds) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.6} ms", ns as f64 / 1e6),
        _ => format!("{:.6} s", ns as f64 / 1e9),
    }
}

impl FinishedRun<'_> {
    /// Describes the ending, with addresses and symbols.
    fn message(&self, end: &End) -> String {
        let (session, machine) = (&self.session, &self.session.machine);
        match end {
            End::Returned => {
                let result = Register::Argument(0).in_convention(machine.convention());
                let name = machine.named_registers().into_iter().find(|(_, it)| *it == result);
                let name = name.map_or("result", |(name, _)| name);
                let value = machine.register(result);
                let from = session.place(self.entry.unwrap_or_default());
                format!("returned from {from}: {name} = {value:#010x} ({value})")
            }
            End::Until => format!("stopped before {}", session.location()),
            End::UntilOutput => session.describe(&Ending::Output(0)),
            End::FailOutput(text) => format!("the program printed `{}`", visible(text.as_bytes())),
            End::Lasted => {
                format!("ended at {} when the time of --for had elapsed", session.location())
            }
            End::Interrupted => format!("interrupted at {}", session.location()),
            End::Other(ending) => session.describe(ending),
            End::Unprinted(end) => {
                format!("{}, but no text of --until-output was printed", self.message(end))
            }
            End::Unreached(end) => {
                format!("{}, but the address of --until was not reached", self.message(end))
            }
        }
    }
}

impl Arguments {
    /// Shows the result of the run.
    pub(super) fn present(
        &self,
        source: &RunSource,
        executed: &FinishedRun<'_>,
        verbosity: Verbosity,
    ) -> Result<Exit, CliError> {
        let end = self.end(executed);
        let outcome = self.outcome(source, executed, &end);
        match self.format {
            Format::Json => output::data(&output::json(&outcome)?)?,
            Format::Text => self.show(source, executed, &outcome, (&end, verbosity))?,
        }
        Ok(ending::exit(&end))
    }

    /// Classifies the ending with regard to the options.
    fn end(&self, executed: &FinishedRun<'_>) -> End {
        let end = match &executed.ended {
            Ending::Breakpoint(Machine::RETURN_ADDRESS) if executed.entry.is_some() => {
                End::Returned
            }
            Ending::Breakpoint(address) if executed.until == Some(*address) => End::Until,
            Ending::Output(text) => {
                match self.fail_output.get(text.wrapping_sub(self.until_output.len())) {
                    Some(text) => End::FailOutput(text.clone()),
                    None => End::UntilOutput,
                }
            }
            Ending::Limit if executed.was_interrupted => End::Interrupted,
            Ending::Limit if self.lasts.is_some() => End::Lasted,
            other => End::Other(other.clone()),
        };
        // Under a debugger it may have come there.
        if self.gdb.is_some() {
            return end;
        }
        match (self.until_output.is_empty(), &self.until) {
            (false, _) => end.too_early(End::Unprinted),
            (true, Some(_)) => end.too_early(End::Unreached),
            (true, None) => end,
        }
    }

    fn outcome<'a>(
        &self,
        source: &'a RunSource,
        executed: &'a FinishedRun<'_>,
        end: &End,
    ) -> Outcome<'a> {
        let (machine, soc) = (&executed.session.machine, &source.soc.soc);
        let begun = source.original_arguments(self);
        let format = source.image.format();
        let dumped = executed.dumps.iter().map(|(what, address, length)| MemoryDump {
            what: what.clone(),
            address: *address,
            bytes: machine.peek(*address, *length),
        });
        Outcome {
            schema_version: outcome::SCHEMA_VERSION,
            image: begun.image().display().to_string(),
            image_format: format.to_string(),
            base: (format == ImageFormat::Raw).then(|| begun.raw_base(soc)),
            soc: &soc.name,
            timing_model: rtmark_sim::TIMING_MODEL,
            ending: ending::word(end),
            message: executed.message(end),
            cycles: machine.cycles().0,
            instructions: machine.instructions().0,
            nanoseconds: executed.clock.duration().0,
            clock_source: executed.clock.origin.word(),
            clocks: clock::periods(&executed.clock.history),
            notes: self.notes(source, executed),
            exceptions: machine.exceptions_taken(),
            unmodelled: rtmark_observe::unmodelled(machine),
            registers: outcome::registers(machine),
            dumps: dumped.collect(),
            console: visible(&executed.console.kept),
            state_sha256: rtmark_snapshot::digest(machine),
            profile: executed.results.profile.as_ref().map(|report| report.functions.as_slice()),
            masked: executed.results.masked.as_deref(),
        }
    }

    /// Prints the requested data to stdout, and how the run ended to stderr.
    fn show(
        &self,
        source: &RunSource,
        executed: &FinishedRun<'_>,
        outcome: &Outcome<'_>,
        (end, verbosity): (&End, Verbosity),
    ) -> Result<(), CliError> {
        let mut text = outcome.dumps.iter().map(MemoryDump::text).collect::<String>();
        if self.stats {
            text.push_str(&outcome.statistics());
        }
        if let (Some(report), Some(_)) = (&executed.results.profile, &self.profile) {
            text.push_str(&profile::table(report));
        }
        if let Some(intervals) = &executed.results.masked {
            text.push_str(&masked::table(intervals));
        }
        // On a terminal, what follows on stderr would continue the line.
        let continues = !text.is_empty() || output::to_terminal();
        if executed.console.line_open && continues {
            text.insert(0, '\n');
        }
        if !text.is_empty() {
            output::data(&text)?;
        }
        if !verbosity.quiet {
            self.report_costs(source, executed, outcome);
        }
        let polling_hint = match end {
            End::Other(Ending::Limit) | End::Interrupted => outcome.polling_hint(),
            End::Other(Ending::Asleep) => outcome.wake_hint(),
            _ => None,
        };
        match polling_hint.as_deref().or_else(|| ending::hint(end, &outcome.message)) {
            Some(hint) => {
                let _ = CliError::new(ending::exit(end), &outcome.message, hint).show();
            }
            None if verbosity.quiet => {}
            None => {
                say(&outcome.message);
                // The time given has passed, but perhaps for nothing.
                let polled = || outcome.polling_hint();
                if let Some(hint) = matches!(end, End::Lasted).then(polled).flatten() {
                    say(hint);
                }
            }
        }
        Ok(())
    }

    /// Returns notes about the run.
    fn notes(&self, source: &RunSource, executed: &FinishedRun<'_>) -> Vec<String> {
        let of_clock = source.original_arguments(self).clock.notes(&executed.clock);
        let of_core = rtmark_observe::core_and_dma_notes(&executed.session.machine);
        let of_clock = of_clock.iter().map(ToString::to_string);
        let of_stack = executed.session.stack_overflow();
        let of_pins = polled_pins(&executed.session.machine);
        let of_uarts = executed.session.machine.send_faults().map(describe_unsent);
        let of_uarts = of_uarts.chain(polled_uart(&executed.session.machine));
        let notes = executed.notes.iter().cloned().chain(of_stack).chain(of_pins).chain(of_uarts);
        let notes = notes.chain(not_enabled(&executed.session.machine));
        let session = &executed.session;
        let notes = notes.chain(uncleared(&session.machine, session.image(), &source.bytes));
        notes.chain(of_clock).chain(of_core).collect()
    }

    /// Prints what the run took, and notes about it.
    fn report_costs(&self, source: &RunSource, executed: &FinishedRun<'_>, outcome: &Outcome<'_>) {
        let machine = &executed.session.machine;
        let clock = &executed.clock;
        let (cycles, time) = (machine.cycles(), duration(clock.duration()));
        say(format!("{cycles}, {}, {time} at {}", machine.instructions(), clock.describe()));
        if !outcome.unmodelled.is_empty() {
            say(outcome.without_model());
        }
        let results = &executed.results;
        if (results.profile.is_some() || results.masked.is_some())
            && let Some(reason) = missing_debug_info(&source.bytes)
        {
            say(reason);
        }
        self.notes(source, executed).iter().for_each(say);
        if let (Some(bytes), None) = (executed.logged, &self.defmt) {
            let bytes = output::count(bytes.get(), "byte");
            say(format!("{bytes} of defmt log; to see it: --defmt | defmt-print -e ELF"));
        }
    }
}

/// Says which peripherals would not have responded on a chip.
fn not_enabled(machine: &Machine) -> Option<String> {
    let reached = machine.not_enabled();
    let reached: Vec<_> = reached.map(|(name, by)| format!("{name} ({by})")).collect();
    (!reached.is_empty()).then(|| {
        format!(
            "used before they were enabled, so that a chip's would not have responded: {}",
            reached.join(", ")
        )
    })
}

/// Says what a chip would have made of bytes that the program has written to a UART.
fn describe_unsent((uart, fault, bytes): (&str, SendFault, u64)) -> String {
    let bytes = output::count(bytes, "byte");
    match fault {
        SendFault::Off => format!(
            "{uart}'s transmitter was off when the program wrote {bytes} to it: they are lost, as on the chip"
        ),
        SendFault::Full => format!(
            "{uart} had no room for {bytes} that the program wrote, so a chip would have lost some of its output: \
             programs wait until the flags say that there is room"
        ),
        SendFault::NoRate => format!(
            "{uart} had no baud rate for {bytes} that the program wrote, so they took no time, as on no chip: \
             programs set the divisor first"
        ),
    }
}

/// Says that a program polls a UART for bytes that nothing sends.
fn polled_uart(machine: &Machine) -> Option<String> {
    let base = machine.polled_uart()?;
    let uart = &machine.soc().peripherals.iter().find(|it| it.base == base)?.name;
    Some(format!(
        "the program waits for bytes from {uart}, and nothing sends any: --uart-in {uart}=FILE would"
    ))
}

/// Says that a program polls pins that nothing drives.
fn polled_pins(machine: &Machine) -> Option<String> {
    let soc = machine.soc();
    let register = soc.register_name(machine.polled_pins()?)?;
    let (block, _) = register.split_once('.')?;
    let pins = &soc.peripherals.iter().find(|it| it.name == block)?.pins;
    let pin = &pins.first()?.name;
    Some(format!(
        "the program polls the pins of {register}, and nothing drives them: --pin {pin}0=1 would drive {pin}0"
    ))
}
