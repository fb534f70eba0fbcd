//! Wrappers of a kernel's functions that the compiler has not inlined.

use rtmark_calls::Outcome;

use crate::program::{Program, called, sites};

const API: &str = "name = \"k\"\ncalls = [\"z_impl_*\", \"k_*\"]\nstrip = \"z_impl_\"\n";

const WRAPPED: &str = "
    function k_give.constprop.0
        nop
        b z_impl_k_give
    function k_take
        mov r7, lr
        bl z_impl_k_take
        bx r7
    function z_impl_k_give
        nop
        bx lr
    function z_impl_k_take
        nop
        nop
        bx lr
    function irq0
        bx lr
";

/// What a wrapper calls counts from where the wrapper was called; what others call, from there.
#[test]
fn a_wrappers_call_is_its_callers() {
    let program = Program::assembled(&format!(
        "function start
            bl k_give.constprop.0
            bl k_take
            bl k_take
            bl z_impl_k_give
            bl helper
            bl k_only
            finish
        function helper
            b z_impl_k_take
        function k_only
            bx lr
        {WRAPPED}"
    ));
    let start = program.address("start");
    let cost = program.cost(API);
    let given = called(&cost, "k_give", Outcome::Returned);
    // Branch or BL, NOP, BX.
    assert_eq!(sites(given), [(start, 1, Some(5)), (start + 12, 1, Some(6))]);
    let taken = called(&cost, "k_take", Outcome::Returned);
    let helper = program.address("helper");
    let mut expected = vec![(start + 4, 1, Some(7)), (start + 8, 1, Some(7)), (helper, 1, Some(6))];
    expected.sort_unstable();
    assert_eq!(sites(taken), expected);
    assert_eq!((given.symbol.as_str(), taken.symbol.as_str()), ("z_impl_k_give", "z_impl_k_take"));
    // Not every function without the prefix is a wrapper.
    assert_eq!(called(&cost, "k_only", Outcome::Returned).calls, 1);
    assert_eq!((cost.called.len(), cost.never.len()), (3, 0));
    // The wrappers' own instructions are the application's.
    let kernel = 2 * (1 + 2) + 3 * (2 + 2) + 2;
    assert_eq!(cost.shares.kernel, kernel);
}

/// An interrupt before a wrapper's first instruction, which hides the call from its function, changes no place.
#[test]
fn a_wrapper_is_called_where_it_is_whatever_interrupts_it() {
    let program = Program::assembled(&format!(
        "function start
            store ISER, 1
            bl k_take
            bl k_take
            finish
        {WRAPPED}"
    ));
    let start = program.address("start");
    let (first, second) = (start + 6, start + 10);
    let (from, to) = (program.begins(second)[0], program.begins(second + 4)[0]);
    for at in from - 5..to {
        let mut program = program.clone();
        program.interrupt(0, at);
        let cost = program.cost(API);
        let taken = called(&cost, "k_take", Outcome::Returned);
        let places: Vec<_> = taken.sites.iter().map(|site| site.place.address).collect();
        assert_eq!(places, [first, second], "{at}");
    }
}

#[test]
fn a_kernel_without_a_prefix_has_no_wrappers() {
    let program = Program::assembled(&format!("function start\nbl k_take\nfinish\n{WRAPPED}"));
    let cost = program.cost(&API.replace("strip = \"z_impl_\"\n", ""));
    let taken = called(&cost, "k_take", Outcome::Returned);
    // BL, MOV, BL, two NOPs, BX, BX.
    assert_eq!(taken.cycles.map(|cycles| cycles.max), Some(3 + 1 + (3 + 2 + 2) + 2));
    assert_eq!(cost.called.len(), 1);
    assert_eq!(cost.never, ["k_give", "z_impl_k_give"]);
}
