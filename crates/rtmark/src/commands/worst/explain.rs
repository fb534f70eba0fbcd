//! Replays a worst case: prints its timeline, or saves a snapshot of its moment.

use std::fmt::Write as _;
use std::path::Path as FilePath;

use rtmark_worst::{Aspect, Case, Findings, Moment, Path, Witness};

use super::replay::{replay, replay_command};
use super::report::{Describer, held_by};
use super::subject::Subject;
use crate::commands::sim;
use crate::error::CliError;

/// Formats the timeline of the worst point, one line per step; with two interrupts, one timeline for each.
pub fn explain(subject: &Subject, path: &Path, findings: &Findings) -> String {
    [Aspect::Handler, Aspect::Second]
        .into_iter()
        .filter_map(|aspect| {
            let case = findings.aspect(aspect)?.worst()?;
            Some(timeline(subject, path, case, &path.witness(aspect, case)?))
        })
        .collect()
}

fn timeline(subject: &Subject, path: &Path, case: Case, witness: &Witness) -> String {
    let describer = Describer::new(subject, path);
    let called = |exception: u16| describer.names.name(exception);
    let point = witness.point;
    let other = witness.other.map(|(other, at, _)| (called(other.exception()), at));
    let start = path.at(point.min(other.as_ref().map_or(point, |other| other.1)).saturating_sub(1));
    let mut text =
        format!("\n{} becomes pending in cycle {point}", called(witness.interrupt.exception()));
    if let Some((other, at)) = &other {
        let _ = write!(text, ", {other} in cycle {at}");
    }
    let _ = write!(text, ", {}\n\n   after       cycle  what\n", subject.name());
    let mut pends = vec![(point, called(witness.interrupt.exception()))];
    pends.extend(other.map(|(name, at)| (at, name)));
    pends.sort_unstable();
    let mut pends = pends.into_iter().peekable();
    for step in &witness.steps {
        while let Some((at, name)) = pends.next_if(|(at, _)| *at < step.cycle) {
            let after = at.cast_signed() - point.cast_signed();
            let _ = writeln!(text, "{after:>+8} {at:>11}  {name} becomes pending");
        }
        let after = step.cycle.cast_signed() - point.cast_signed();
        let what = match step.moment {
            Moment::Instruction(address) => {
                let code = start.disassembly(address);
                let code = code.map(|code| format!("{} {}", code.mnemonic, code.operands));
                let code = code.unwrap_or_default();
                format!("{address:#010x}  {code:<28} {}", describer.place(address))
            }
            Moment::Entered(exception) => format!("enters {}", called(exception)),
            Moment::Returned(exception) => format!("leaves {}", called(exception)),
            Moment::Slept => "slept".to_owned(),
        };
        let held = step
            .held
            .map(|held| format!("  held by {}", held_by(held, &describer.names)))
            .unwrap_or_default();
        let _ = writeln!(text, "{after:>+8} {:>11}  {what}{held}", step.cycle);
    }
    let _ = writeln!(
        text,
        "\n{} cycles. To replay this point up to the handler:\n  rtmark {} --until={:#x} --stats",
        witness.cycles,
        replay_command(subject, path, witness.interrupt, case),
        path.handler_of(witness.interrupt)
    );
    text
}

/// Saves a snapshot of the moment at which the interrupt becomes pending, or the earlier one of two.
pub fn keep(subject: &Subject, path: &Path, case: Case, file: &FilePath) -> Result<(), CliError> {
    let words = replay(subject, path, path.question().interrupt, case);
    let point = case.point.min(case.point.saturating_add_signed(case.distance.unwrap_or(0)));
    sim::keep_moment(&words, &subject.elf, &subject.soc, point, file)
}
