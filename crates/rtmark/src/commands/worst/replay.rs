//! The command that replays a case.

use rtmark_runner::socs;
use rtmark_sim::Irq;
use rtmark_worst::{Case, Path};

use super::subject::Subject;

/// Returns the arguments of `rtmark` that replay a case of an interrupt.
pub fn replay(subject: &Subject, path: &Path, interrupt: Irq, case: Case) -> Vec<String> {
    let question = path.question();
    let first = (question.interrupt, question.priority);
    let second = question.second.map(|second| (second.interrupt, second.priority));
    let armed = || [first].into_iter().chain(second);
    // Name a built-in soc rather than its file, which may not exist here.
    let known = socs::find(&subject.soc.soc.name);
    let built_in = known.is_ok_and(|known| known.sha256 == subject.soc.sha256);
    let soc = if built_in { &subject.soc.soc.name } else { &subject.soc.origin };
    let mut arguments = ["sim", &subject.path, "--soc", soc].map(str::to_owned).to_vec();
    arguments.extend(subject.scenario.iter().map(|id| format!("--select={id}")));
    arguments.extend(subject.until_output.iter().map(|text| format!("--until-output={text}")));
    arguments.extend_from_slice(subject.inputs.arguments());
    arguments.extend(armed().map(|(irq, priority)| format!("--arm={irq}={priority:#04x}")));
    arguments.extend(armed().map(|(irq, _)| {
        let at = if irq == interrupt { 0 } else { case.distance.unwrap_or(0) };
        format!("--irq={irq}@{}", case.point.saturating_add_signed(at))
    }));
    arguments
}

/// Returns the command for a shell that replays a case of an interrupt, without the program's name.
pub fn replay_command(subject: &Subject, path: &Path, interrupt: Irq, case: Case) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter);
    let quoted = |word: String| match shlex::try_quote(&word) {
        Ok(quoted) if !word.chars().all(is_plain) => quoted.into_owned(),
        _ => word,
    };
    let words = replay(subject, path, interrupt, case).into_iter().map(quoted);
    words.collect::<Vec<_>>().join(" ")
}
