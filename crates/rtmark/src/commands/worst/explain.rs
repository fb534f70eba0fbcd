//! One worst case, run again: its timeline, and its moment as a snapshot.

use std::fmt::Write as _;
use std::path::Path as FilePath;

use rtmark_observe::exception_name;
use rtmark_worst::{Aspect, Moment, Path};

use super::report::{Words, held_by, replay};
use super::subject::Subject;
use crate::commands::sim;
use crate::trouble::Trouble;

/// The timeline of a point, a line a step.
pub fn explain(subject: &Subject, path: &Path, point: u64) -> String {
    let Some(witness) = path.witness(Aspect::Handler, point) else { return String::new() };
    let words = Words::new(subject);
    let start = path.at(point.saturating_sub(1));
    let mut text = format!(
        "\nthe interrupt becomes pending in cycle {point}, {}\n\n   after       cycle  what\n",
        subject.name()
    );
    for step in &witness.steps {
        let after = step.cycle.cast_signed() - point.cast_signed();
        let what = match step.moment {
            Moment::Instruction(address) => {
                let code = start.disassembly(address);
                let code = code.map(|code| format!("{} {}", code.mnemonic, code.operands));
                let code = code.unwrap_or_default();
                format!("{address:#010x}  {code:<28} {}", words.place(address))
            }
            Moment::Entered(exception) => format!("enters {}", exception_name(exception)),
            Moment::Returned(exception) => format!("leaves {}", exception_name(exception)),
            Moment::Slept => "has slept".to_owned(),
        };
        let held = step.held.map(|held| format!("  held by {}", held_by(held))).unwrap_or_default();
        let _ = writeln!(text, "{after:>+8} {:>11}  {what}{held}", step.cycle);
    }
    let _ = writeln!(
        text,
        "\n{} cycles. The same point again, up to the handler:\n  rtmark {} --until={:#x} --stats",
        witness.cycles,
        replay(subject, path, point).join(" "),
        path.handler()
    );
    text
}

/// Keeps the moment in which the interrupt becomes pending.
pub fn keep(subject: &Subject, path: &Path, point: u64, file: &FilePath) -> Result<(), Trouble> {
    let words = replay(subject, path, point);
    sim::keep_moment(&words, &subject.elf, &subject.soc, point, file)
}
