//! A main stack that grows 8 bytes beyond its end.

use rtmark_observe::{stack_overflow, watch_main_stack};
use rtmark_sim::Cycles;

use crate::support::{CORTEX_M, Program, soc};

/// Returns what is said after a run in which the linker has given these values to symbols.
fn said(symbols: &[&str]) -> Option<String> {
    let symbols: Vec<_> = symbols.iter().map(|symbol| format!("-Wl,--defsym={symbol}")).collect();
    let flags: Vec<_> =
        CORTEX_M.iter().copied().chain(symbols.iter().map(String::as_str)).collect();
    let program = Program::build("overflow", &flags, &["overflow.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    watch_main_stack(&mut machine, &program.image);
    machine.run(Cycles(100));
    let place = |pc| program.image.symbols().name_at(pc).expect("a function").symbol;
    stack_overflow(&machine, place)
}

#[test]
fn a_stack_that_grows_beyond_its_end_is_found() {
    // Of 64 bytes, `sub` and the first `push` take all, and the second, after two instructions, 8 more.
    let text = "the main stack grew to 0x20000fb8 in cycle 10, 8 bytes beyond its end at 0x20000fc0, in reset: \
                from then on it has overwritten other data";
    for name in
        ["_stack_end", "__StackLimit", "firmware_bss_end", "_ebss", "__bss_end__", "__bss_end"]
    {
        assert_eq!(said(&[&format!("{name}=0x20000FC0")]).as_deref(), Some(text), "{name}");
        assert_eq!(said(&[&format!("{name}=0x20000FB8")]), None, "{name}");
    }
    // The first name decides; one of another memory, or above the stack, tells nothing.
    assert_eq!(said(&["_stack_end=0x20000F00", "_ebss=0x20000FC0"]), None);
    for other in ["_stack_end=0x00000FC0", "_stack_end=0x20001000", "_stack_end=0x20001100"] {
        assert_eq!(said(&[other]), None, "{other}");
    }
    assert_eq!(said(&[]), None);
}
