//! Turns the output of a firmware with clocked probes into samples or a failure.

use rtmark_firmware::probes::{Record, selecting};
use rtmark_firmware::select_in_elf;
use rtmark_model::{Exact, Failure, FailureKind, Scenario, visible};
use rtmark_qemu::CoreCounter;
use rtmark_units::Cycles;

use crate::clocked::{self, Clocking, Log, LogError};
use crate::measure::{Measured, Verdict, check_sample_count, verdict};

/// An image with clocked probes.
#[derive(Clone, Debug)]
pub struct Clocked {
    /// The contents of its file.
    pub elf: Vec<u8>,
    /// Its probes.
    pub records: Vec<Record>,
    /// Its file, for messages.
    pub path: String,
}

impl Clocked {
    /// Returns the word that selects a scenario, or one of its points.
    pub fn word(&self, scenario: &Scenario) -> Option<u32> {
        selecting(&self.records, &scenario.id)
    }

    /// Returns the file's contents with that scenario selected.
    ///
    /// # Errors
    /// When it does not contain the scenario, or the word that selects it.
    pub fn with(&self, scenario: &Scenario, place: &str) -> Result<Vec<u8>, Failure> {
        let word = self.word(scenario);
        word.and_then(|word| select_in_elf(&self.elf, word)).ok_or_else(|| Failure {
            kind: FailureKind::Build,
            message: format!("it cannot select {} [{} {place}]", scenario.in_firmware(), self.path),
            hint: "give the scenario its probes: firmware/c/rtmark_probe.h says how".to_owned(),
            console: String::new(),
        })
    }
}

/// How a run ended, apart from its output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunEnd<'a> {
    /// In words.
    pub ending_text: &'a str,
    /// Whether a successful run ends that way.
    pub succeeded: bool,
    /// Where it ran, with a preposition: `on QEMU's virt`.
    pub place: &'a str,
    /// How the counter counted, if not what is to be counted.
    pub counter: Option<CoreCounter>,
}

/// Extracts the samples from the console output.
pub(crate) fn judge(
    console: &[u8],
    ended: RunEnd<'_>,
    image: &Clocked,
    scenario: &Scenario,
) -> Result<Measured, Failure> {
    let id = scenario.in_firmware();
    let point = scenario.point.as_ref().map_or(0, |point| point.n);
    let RunEnd { ending_text, succeeded, place, counter } = ended;
    let fail = |kind, message: String, hint: &str, console: &[u8]| Failure {
        kind,
        message: format!("{message} [{} {place}]", image.path),
        hint: hint.to_owned(),
        console: visible(console),
    };
    let mut log = Log::read(console).map_err(|error| {
        let hint = match error {
            LogError::Spoilt { .. } | LogError::Line(_) => {
                "a line that loses bytes is slower, shorter or better shielded without loss; on \
                 QEMU and in the simulator report it as a defect of rtmark"
            }
            _ => "was it built with clocked probes, and did it get to its end?",
        };
        let end = console.len().saturating_sub(4096);
        fail(FailureKind::Check, format!("{error} ({ending_text})"), hint, &console[end..])
    })?;
    if let Some(counter) = counter {
        log.convert_counts(|count| counter.instructions(count));
    }
    if let (Some(runs), Some(wanted)) = (log.select, image.word(scenario))
        && runs != wanted
    {
        let message =
            format!("it ran scenario {runs:#x} of its image instead of {id}, {wanted:#x}");
        let hint = "let rtmark load the firmware that it has built: --load, or a debug probe";
        return Err(fail(FailureKind::Check, message, hint, &log.console));
    }
    if let Some(site) = log.unknown_probe(&image.records) {
        let message = format!("it has a probe at {site:#010x}, where this image has none");
        let hint = "the board runs another build: let rtmark load its own (--load)";
        return Err(fail(FailureKind::Check, message, hint, &log.console));
    }
    let verdict = verdict(id, point, &log.console).map_err(|problem| {
        let hint =
            "the same firmware on the simulator may show more: `rtmark run` without --backend";
        fail(FailureKind::Check, format!("{problem} ({ending_text})"), hint, &log.console)
    })?;
    if !succeeded || log.status.is_some_and(|status| status != 0) {
        let message = format!("it printed ok, but ended with {ending_text}");
        return Err(fail(FailureKind::Check, message, "check how it ends", &log.console));
    }
    let mut facts = match verdict {
        Verdict::Ok(facts) => facts,
        Verdict::Declined(reason) => return Ok(Measured::declined(reason)),
    };
    let samples = clocked::samples(&log, &image.records, &scenario.span, id);
    let clocking = samples.map_err(|error| {
        let hint = "raise EVENTS in firmware/c/rtmark_clock.c and firmware/probe/src/clock.rs";
        fail(FailureKind::Check, error.to_string(), hint, &log.console)
    })?;
    let progress = format!("{} events were logged", log.events.len());
    check_sample_count(scenario, &clocking.samples, clocking.spoilt, &progress).map_err(
        |(kind, message)| {
            fail(kind, message, "check the probes of this scenario in its source", &log.console)
        },
    )?;
    let Clocking { samples, unpaired, cost, .. } = clocking;
    // What was subtracted is part of the figure's provenance.
    for (key, cost) in
        [("~probe_ends", cost.ends), ("~probe_begin", cost.begin), ("~probe_end", cost.end)]
    {
        facts.insert(key.to_owned(), cost.to_string());
    }
    Ok(Measured {
        samples: Exact(samples),
        executed: None,
        unpaired,
        facts,
        declined: None,
        masked: None,
        held: None,
        ran: Cycles::ZERO,
    })
}

#[cfg(test)]
mod tests;
