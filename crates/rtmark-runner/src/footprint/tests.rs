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
