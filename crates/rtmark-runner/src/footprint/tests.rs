use rtmark_model::{Compiler, Settings};

use super::*;
use crate::tests::programs::{NOP, Program, scenario, soc};

/// sub sp, #32; nop; add sp, #32
const USES_STACK: [u16; 3] = [0xB088, NOP, 0xB008];

fn run(program: &Program) -> Result<Result<Vec<StackUse>, String>, Failure> {
    stacks(&soc(), &program.probed(), &scenario(), Cycles(10_000))
}

#[test]
fn a_stack_is_as_large_as_what_was_used_of_it() {
    let main = |body: &[u16]| {
        let program = Program { body: body.to_vec(), ..Program::default() };
        let uses = run(&program).expect("it succeeds").expect("it is not declined");
        let main: Vec<u64> = uses
            .iter()
            .filter(|used| used.kind == StackKind::Main)
            .map(|used| used.bytes.0)
            .collect();
        main.first().copied().unwrap_or_default()
    };
    assert_eq!(main(&USES_STACK), 32);
    assert_eq!(main(&[NOP]), 0);
}

#[test]
fn stacks_of_a_run_that_fails_are_not_reported() {
    let program = Program::default;
    let last = |last: &[u16]| Program { last: last.to_vec(), ..program() };
    let failures = [
        (
            Program { said: "thread.yield FAILED\n", ..program() },
            FailureKind::Check,
            "it says: FAILED",
        ),
        (Program { reason: 0x2_0023, ..program() }, FailureKind::Check, "it printed ok, but ended"),
        (last(&[0xE7FE]), FailureKind::Budget, "still running"),
        (last(&[0xDE00]), FailureKind::Budget, "fault: "),
    ];
    for (program, kind, message) in failures {
        let failure = run(&program).expect_err(message);
        assert!(failure.message.contains(message), "{message}: {}", failure.message);
        assert_eq!(failure.kind, kind, "{message}");
    }
}

/// Code and constants, no variables, and what main uses of its stack.
#[test]
fn the_memory_of_an_image_is_what_it_takes_and_uses() {
    let memory = |program: &Program| {
        let compiler = Compiler { version: String::new(), flags: Vec::new() };
        let (path, settings) = (std::path::PathBuf::new(), Settings::new());
        let built =
            BuiltImage { path, elf: program.elf(), sha256: String::new(), compiler, settings };
        memory_of(&soc(), &built)
    };
    let program = Program { body: USES_STACK.to_vec(), ..Program::default() };
    // Up to the text and the zero at its end.
    let flash = 0x10C + program.said.len() as i64 + 1;
    assert_eq!(memory(&program), Ok([flash, 0, 32]));
    let error = memory(&Program { reason: 0x2_0023, ..program.clone() }).expect_err("it fails");
    assert!(error.contains("exit: failure") && error.ends_with("thread.yield ok\n"), "{error}");
    assert!(memory(&Program { last: vec![0xE7FE], ..program }).is_err());
}
