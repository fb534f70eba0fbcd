//! Functions of the application's that are named like a kernel's, told apart by their source files.

use rtmark_calls::Outcome;

use crate::program::{Program, called, compiled};

const API: &str = "name = \"k\"\nrecognise = [\"k_start\"]\ncalls = [\"task_*\", \"k_take\"]\n\
                   internal = [\"arm_*\"]\nidle = [\"idle_*\"]\n";

const KERNELS: &str = "/w/kernel/core.c";
const APPLICATIONS: &str = "/w/app/main.c";

/// A program whose application has functions named like those of a kernel, which is in another file.
fn program(kernels: &str, applications: &str) -> Program {
    compiled(&format!(
        "\n#line 1 \"{kernels}\"
        FUNCTION k_start(void) {{ NOPS(3); }}
        FUNCTION task_sleep(void) {{ NOPS(5); }}
        FUNCTION arm_switch(void) {{ NOPS(7); }}
        INLINED task_inline(void) {{ NOPS(11); }}
        #line 1 \"{applications}\"
        FUNCTION task_blink(void) {{ NOPS(13); task_sleep(); }}
        FUNCTION arm_motor(void) {{ NOPS(17); }}
        FUNCTION idle_lamp(void) {{ NOPS(19); }}
        FUNCTION k_take(void) {{ NOPS(23); }}
        INLINED task_lit(void) {{ NOPS(29); }}
        FUNCTION main(void)
        {{
            k_start();
            task_blink();
            arm_switch();
            arm_motor();
            idle_lamp();
            k_take();
            task_inline();
            task_lit();
            finish();
        }}
        FUNCTION start(void) {{ main(); }}"
    ))
}

/// What a name's pattern leaves open, the file decides: the calls that such a function makes are calls.
#[test]
fn functions_in_the_authors_files_are_not_the_kernels() {
    let program = program(KERNELS, APPLICATIONS);
    assert_eq!(program.lookalikes(API), ["arm_motor", "task_blink"]);
    let cost = program.cost(API);
    let names: Vec<&str> = cost.called.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(names, ["k_take", "task_sleep"]);
    let slept = called(&cost, "task_sleep", Outcome::Returned);
    // BL, NOPs, BX.
    assert_eq!(slept.cycles.map(|cycles| cycles.total), Some(3 + 5 + 2));
    assert_eq!(slept.sites[0].place.function.as_deref(), Some("task_blink"));
    let inlined: Vec<&str> = cost.inlined.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(inlined, ["task_inline"]);
    // A file's exact names are its word, and what it says is idle is.
    assert_eq!(cost.shares.kernel, (7 + 2) + (23 + 2) + (5 + 2) + 11);
    assert_eq!(cost.shares.idle, 19 + 2);
}

#[test]
fn names_decide_where_files_cannot() {
    let by_name = |program: &Program, api: &str| {
        assert!(program.lookalikes(api).is_empty());
        let cost = program.cost(api);
        let blinked = called(&cost, "task_blink", Outcome::Returned);
        // BL, PUSH of two registers, NOPs, what it calls, POP of two with the return address (DDI 0484, 3.3).
        assert_eq!(blinked.cycles.map(|cycles| cycles.total), Some(3 + 3 + 13 + (3 + 5 + 2) + 5));
        let inlined: Vec<&str> = cost.inlined.iter().map(|one| one.function.as_str()).collect();
        assert!(cost.inlined.is_empty() || inlined == ["task_lit", "task_inline"], "{inlined:?}");
    };
    // The kernel's sources are beside the application's, or in the same file.
    by_name(&program("/w/app/core.c", APPLICATIONS), API);
    by_name(&program(APPLICATIONS, APPLICATIONS), API);
    // Nothing identifies the kernel, or nothing says where its functions are from.
    by_name(&program(KERNELS, APPLICATIONS), &API.replace("k_start", "k_begin"));
    by_name(&program(KERNELS, APPLICATIONS).without_debug_information(), API);
}

/// A path says where its function is from, whatever file that is in.
#[test]
fn paths_stay_the_kernels() {
    let program = compiled(
        "\n#line 1 \"/w/kernel/core.c\"
        FUNCTION k_start(void) { NOPS(3); }
        #line 1 \"/w/app/main.c\"
        FUNCTION run(void) __asm__(\"_ZN4task3runEv\");
        FUNCTION run(void) { NOPS(9); }
        FUNCTION main(void) { k_start(); run(); finish(); }
        FUNCTION start(void) { main(); }",
    );
    let api = API.replace("k_take", "task::*");
    assert!(program.lookalikes(&api).is_empty());
    called(&program.cost(&api), "task::run", Outcome::Returned);
}
