//! Ctrl-C ends a run, and its result is shown.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::Scratch;
use crate::common::{CommandResult, Elf, printing, rtmark, run_rtmark};

/// Starts a program that prints `hello` and then runs for ever, and waits until it has printed.
fn started(scratch: &Scratch) -> Child {
    let mut code = printing("hello", true);
    // Instead of the end: `b .`.
    code[3] = 0xE7FE;
    Elf { code: &code, ..Elf::default() }.write(&scratch.path("image.elf"));
    let mut command = rtmark(scratch.folder.path());
    command.args(["sim", "image.elf", "--soc", "stm32c031", "--max-cycles", "1000000000000000"]);
    command.args(["--snapshot", "at.snapshot"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("rtmark runs")
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn an_interrupted_run_shows_where_it_was() {
    let scratch = Scratch::new();
    let mut child = started(&scratch);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "hello");
    interrupt(&child);
    let result: CommandResult = child.wait_with_output().expect("it ends").into();
    let words = ["interrupted at 0x08000046 (start+0x6)", "cycles", "up to there"];
    result.assert_error(12, &words);
    // It can go on from there.
    let resumed = ["sim", "--resume", "at.snapshot", "--for", "1ms"];
    let resumed = run_rtmark(scratch.folder.path(), &resumed);
    assert_eq!(resumed.code, 0, "{resumed:#?}");
}
