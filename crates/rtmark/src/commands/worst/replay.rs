//! The command that replays a case.

use std::collections::BTreeMap;

use rtmark_runner::socs;
use rtmark_sim::Irq;
use rtmark_worst::{Case, Path};

use super::subject::Subject;

/// Returns the arguments of `rtmark` that replay a case of an interrupt.
pub fn replay(subject: &Subject, path: &Path, interrupt: Irq, case: Case) -> Vec<String> {
    let question = path.question();
    let first = (question.interrupt, question.priority);
    let armed: Vec<_> = [first]
        .into_iter()
        .chain(question.second.map(|second| (second.interrupt, second.priority)))
        .collect();
    let mut arguments = vec!["sim".to_owned(), subject.path.clone()];
    // Name a built-in soc rather than its file, which may not exist here.
    let known = socs::find(&subject.soc.soc.name);
    let built_in = known.is_ok_and(|known| known.sha256 == subject.soc.sha256);
    let soc = if built_in { &subject.soc.soc.name } else { &subject.soc.origin };
    arguments.extend(["--soc".to_owned(), soc.clone()]);
    arguments.extend(subject.scenario.iter().map(|id| format!("--select={id}")));
    // Two interrupts may share a register.
    let mut registers: BTreeMap<u32, u32> = BTreeMap::new();
    for &(irq, priority) in &armed {
        let (priorities, number) = match irq.external().map(u32::from) {
            Some(number) => {
                *registers.entry(0xE000_E100 + number / 32 * 4).or_default() |= 1 << (number % 32);
                (0xE000_E400, number)
            }
            // SHPR1 begins with exception 4 (DDI 0403, B3.2.10).
            None => (0xE000_ED18, u32::from(irq.exception()) - 4),
        };
        let priority = u32::from(priority) << (number % 4 * 8);
        *registers.entry(priorities + number / 4 * 4).or_default() |= priority;
    }
    arguments
        .extend(registers.iter().map(|(address, value)| format!("--set={address:#x}={value:#x}")));
    for (number, _) in armed {
        let at = if number == interrupt { 0 } else { case.distance.unwrap_or(0) };
        arguments.push(format!("--irq={number}@{}", case.point.saturating_add_signed(at)));
    }
    arguments
}
