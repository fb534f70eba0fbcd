//! Variables that start-up code clears, or not.

use rtmark_observe::uncleared;
use rtmark_sim::Cycles;

use crate::support::{CORTEX_M, Program, soc};

/// Returns what is said after so many cycles.
fn said(test: &str, clears: u8, cycles: u64) -> Option<String> {
    let symbol = format!("-Wl,--defsym=CLEARS={clears}");
    let flags: Vec<_> = CORTEX_M.iter().copied().chain([symbol.as_str()]).collect();
    let program = Program::build(test, &flags, &["uncleared.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    machine.run(Cycles(cycles));
    uncleared(&machine, &program.image, &program.elf)
}

#[test]
fn variables_that_nothing_clears_are_found() {
    let text = said("uncleared", 0, 10_000).expect("nothing clears them");
    assert!(
        text.starts_with("256 of the 256 bytes of .bss hold what RAM holds at reset, 0xa5 each")
    );
    assert_eq!(said("uncleared-soon", 0, 1_000), None, "it may come to that");
    assert_eq!(said("cleared", 1, 10_000), None);
}
