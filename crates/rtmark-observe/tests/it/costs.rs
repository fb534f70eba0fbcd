//! Calls and cycles, against cycles counted by the manual of the Cortex-M0.

use std::collections::BTreeMap;

use rtmark_model::Source;
use rtmark_observe::{
    Attribution, Calls, Cost, FunctionCost, Lines, Profile, Report, Role, Share, SpanCost,
    landmarks,
};
use rtmark_sim::{Cycles, Machine, Register, Stop};

use crate::support::{CORTEX_M, CORTEX_R, Program, RISC_V, observe, resolved, soc};

/// Exclusive and inclusive cycles, instructions and calls of the functions in `calls.s`.
const FUNCTIONS: [(&str, [u64; 4]); 10] = [
    ("main", [76, 219, 22, 1]),
    ("leaf", [36, 36, 18, 9]),
    ("twice", [45, 69, 12, 3]),
    // Called once, and twice by itself.
    ("down", [37, 37, 14, 3]),
    ("jumps", [3, 3, 1, 1]),
    ("falls", [2, 2, 2, 1]),
    ("edge", [1, 1, 1, 1]),
    // Without a symbol, like everything in these 256 bytes.
    ("[0x00000000]", [3, 3, 1, 1]),
    ("outer", [7, 16, 2, 1]),
    ("inner", [9, 9, 4, 1]),
];

/// The length of a run of `calls.s` without interrupts, less what SVCall takes from its entry on.
const WITHOUT_HANDLER: u64 = 4 + 219;

fn of(functions: &[FunctionCost], name: &str) -> [u64; 4] {
    let function = functions.iter().find(|function| function.name == name);
    let function = function.unwrap_or_else(|| panic!("{name} is not in {functions:?}"));
    let FunctionCost { exclusive_cycles, inclusive_cycles, instructions, calls, .. } = function;
    [*exclusive_cycles, *inclusive_cycles, *instructions, *calls]
}

fn profiled(program: &Program, machine: &mut Machine, lines: Option<&Lines<'_>>) -> Report {
    let mut profile = Profile::new(machine, program.image.symbols());
    observe(machine, &mut profile);
    let report = profile.report(machine, lines);
    assert_eq!(report.cycles, machine.cycles().0);
    let sum: u64 = report.functions.iter().map(|function| function.exclusive_cycles).sum();
    assert_eq!(sum, report.cycles, "each cycle is one function's");
    report
}

#[test]
fn functions_cost_what_the_manual_says() {
    let program = Program::build("profile", CORTEX_M, &["calls.s"]);
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    let report = profiled(&program, &mut machine, None);
    for (name, figures) in FUNCTIONS {
        assert_eq!(of(&report.functions, name), figures, "{name}");
    }
    let handler = report.cycles - WITHOUT_HANDLER;
    assert_eq!(of(&report.functions, "handler"), [handler, handler, 3, 1]);
    assert_eq!(of(&report.functions, "[SVCall]"), [0, handler, 0, 1]);
    let order: Vec<_> = report.functions.iter().map(|function| &*function.name).collect();
    let expected = [
        "main",
        "twice",
        "down",
        "leaf",
        "handler",
        "inner",
        "outer",
        "reset",
        "[0x00000000]",
        "jumps",
    ];
    assert_eq!(order[..10], expected);
    let handlers = format!("[SVCall];handler {handler}");
    let expected = [
        &handlers,
        "reset 4",
        "reset;main 76",
        "reset;main;[0x00000000] 3",
        "reset;main;down 13",
        "reset;main;down;down 13",
        "reset;main;down;down;down 11",
        "reset;main;edge 1",
        "reset;main;falls 2",
        "reset;main;jumps 3",
        "reset;main;leaf 12",
        "reset;main;outer 7",
        "reset;main;outer;inner 9",
        "reset;main;twice 45",
        "reset;main;twice;leaf 24",
    ];
    assert_eq!(report.folded, expected);
    assert!(report.lines.is_empty());
}

/// Examines the profile of a program that runs to its end and is interrupted once, for each cycle in which that can be.
fn examine_interrupted(program: &Program, core: &str, examine: impl Fn(u64, &Report)) {
    let ready = program.until(&soc(core), "stop");
    let undisturbed = profiled(program, &mut ready.clone(), None);
    for cycle in 1..undisturbed.cycles - 2 {
        let mut machine = ready.clone();
        machine.arm_interrupt(0, 0);
        machine.pend_interrupt(0, Cycles(cycle));
        examine(cycle, &profiled(program, &mut machine, None));
    }
}

/// An interrupt may come before the first instruction of a function that has just been called.
#[test]
fn functions_cost_the_same_wherever_an_interrupt_comes() {
    let program = Program::build("interrupted", CORTEX_M, &["calls.s"]);
    examine_interrupted(&program, "generic-cortex-m0", |cycle, report| {
        for (name, figures) in FUNCTIONS {
            let [exclusive, inclusive, instructions, calls] = of(&report.functions, name);
            // Entries that follow each other directly take less, and the second is not the instruction's.
            let is_tail = name == "main" && exclusive != figures[0];
            let expected = if is_tail { [exclusive, inclusive, 22, 1] } else { figures };
            assert_eq!([exclusive, inclusive, instructions, calls], expected, "{name} {cycle}");
        }
        let [own, whole, count, calls] = of(&report.functions, "device");
        assert_eq!((own, count, calls), (whole, 2, 1), "{cycle}");
        assert_eq!(of(&report.functions, "[IRQ 0]")[3], 1, "{cycle}");
    });
}

/// Pipelined cores let an instruction enter before the earlier one is done, and return from exceptions meanwhile.
#[test]
fn each_cycle_is_one_functions_on_every_core() {
    let program = Program::build("cores", CORTEX_M, &["calls.s"]);
    for core in ["m0plus", "m3", "m4f", "m33", "m7"] {
        examine_interrupted(&program, &format!("generic-cortex-{core}"), |cycle, report| {
            assert_eq!(of(&report.functions, "leaf")[2..], [18, 9], "{core} {cycle}");
        });
    }
    let flags = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    let program = Program::build("cores-riscv", &flags, &["one_pointer.s"]);
    profiled(&program, &mut program.until(&soc("generic-hazard3"), "stop"), None);
    let program = Program::build("cores-r5", CORTEX_R, &["modes.s"]);
    let mut machine = program.until(&soc("zynqmp-r5"), "stop");
    machine.set_register(Register::Pc, program.address("reset"));
    profiled(&program, &mut machine, None);
}

/// Without exceptions, a profile of a run and the costs of a span of all its cycles are the same.
#[test]
fn profiles_and_costs_agree_on_pipelined_cores() {
    let risc_v = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    let arm = [CORTEX_M, &["-O2"]].concat();
    for (core, flags, sources) in [
        ("generic-hazard3", &risc_v, &["large_frame.s"][..]),
        ("generic-ibex", &risc_v, &["large_frame.s"]),
        ("generic-cortex-m3", &arm, &["app.c", "other.c"]),
        ("generic-cortex-m33", &arm, &["app.c", "other.c"]),
        ("generic-cortex-m7", &arm, &["app.c", "other.c"]),
    ] {
        let program = Program::build(&format!("agree-{core}"), flags, sources);
        let mut machine = program.until(&soc(core), "stop");
        let symbols = program.image.symbols();
        let span = Attribution::new(&machine, symbols, Cycles(0), Cycles::MAX);
        let mut observers = (Profile::new(&machine, symbols), span);
        observe(&mut machine, &mut observers);
        let (profile, span) = observers;
        let cost = span.cost();
        let report = profile.report(&machine, None);
        let costs: BTreeMap<_, _> =
            cost.parts.iter().map(|part| (&*part.function, part.own.cycles)).collect();
        let functions = report.functions.iter();
        let mut profiled: BTreeMap<_, _> =
            functions.map(|function| (&*function.name, function.exclusive_cycles)).collect();
        // The profile also has the cycles behind the last event.
        let last = machine.cycles().0 - cost.whole.cycles;
        profiled.entry("reset").and_modify(|cycles| *cycles -= last);
        assert_eq!(profiled, costs, "{core}");
    }
}

/// The caller is still the one that it was.
#[test]
fn a_call_that_an_exception_ends_returns_to_its_caller() {
    let program = Program::build("moved", CORTEX_M, &["moved.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    machine.poke(program.address("caller"), &[0; 4]).expect("RAM");
    machine.stop_before(program.address("stop"));
    let report = profiled(&program, &mut machine, None);
    let of = |name: &str| of(&report.functions, name);
    assert_eq!([of("task")[0], of("task")[2], of("task")[3]], [3 + 4 + 1 + 4 + 6, 5, 1]);
    assert_eq!((of("leaf"), of("carried")[3]), ([3, 3, 1, 1], 1));
    let below = |name: &str| report.folded.iter().any(|line| line.starts_with(name));
    assert!(below("reset;task;leaf 3"), "{:?}", report.folded);
    assert!(!below("task"), "{:?}", report.folded);
}

/// Memories that wait make the run longer by what the core waits for them.
#[test]
fn a_span_is_split_among_all_that_it_was_spent_on() {
    let program = Program::build("span", CORTEX_M, &["calls.s"]);
    let (mut totals, mut stalled) = (Vec::new(), Vec::new());
    for wait_states in [0, 3] {
        let mut soc = soc("generic-cortex-m0");
        soc.memories[0].timing.wait_states = wait_states;
        let mut machine = program.until(&soc, "stop");
        let symbols = program.image.symbols();
        let mut whole = Attribution::new(&machine, symbols, Cycles(0), Cycles::MAX);
        observe(&mut machine, &mut whole);
        let cost = whole.cost();
        assert_eq!(cost.whole.cycles, machine.cycles().0);
        assert_eq!(cost.whole.instructions, machine.instructions().0);
        let sum = |of: fn(&Share) -> u64| cost.parts.iter().map(|part| of(&part.own)).sum::<u64>();
        assert_eq!(sum(|own| own.cycles), cost.whole.cycles);
        assert_eq!(sum(|own| own.calls), cost.whole.calls);
        totals.push(cost.whole.cycles);
        stalled.push(cost.whole.stalled_cycles);
    }
    assert_eq!((stalled[0], stalled[1]), (0, totals[1] - totals[0]));
    assert!(stalled[1] > 100);
}

/// Returns what is said of the cycles from one to another of a run of `calls.s`, and of functions in it.
fn span(program: &Program, from: u64, to: u64) -> SpanCost {
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    let symbols = program.image.symbols();
    let mut observer = Attribution::new(&machine, symbols, Cycles(from), Cycles(to));
    let stop = machine.run_observed(Cycles(10_000), &mut observer);
    assert_eq!(matches!(stop, Stop::Observer), to < 200, "{stop:?}");
    observer.cost()
}

fn shares(cost: &SpanCost) -> Vec<(&str, Role, [u64; 4])> {
    let share = |part: &rtmark_observe::Part| {
        let Share { cycles, instructions, calls, .. } = part.own;
        [cycles, part.inclusive_cycles, instructions, calls]
    };
    cost.parts.iter().map(|part| (&*part.function, part.role, share(part))).collect()
}

#[test]
fn only_what_is_within_a_span_counts() {
    let program = Program::build("part", CORTEX_M, &["calls.s"]);
    // The first call of `twice` begins after bl, push, movs and bl.
    let begins = 4 + 3 + 1 + 4;
    let cost = span(&program, begins, begins + 23);
    let expected = [
        ("twice", Role::Thread, [15, 23, 4, 1]),
        ("leaf", Role::Thread, [8, 8, 4, 2]),
        ("main", Role::Thread, [0, 23, 0, 0]),
        ("reset", Role::Thread, [0, 23, 0, 0]),
    ];
    assert_eq!(shares(&cost), expected);
    assert_eq!((cost.whole.cycles, cost.whole.instructions, cost.whole.calls), (23, 8, 3));
    // From within an instruction of two cycles to within one of four: the first has begun before, so it is
    // not counted as executed.
    let cost = span(&program, begins + 1, begins + 4);
    assert_eq!(shares(&cost)[0], ("twice", Role::Thread, [3, 3, 1, 0]));
    // `down` begins after bl, push, movs, three turns of 28 cycles and their branches, movs and bl.
    let begins_down = 4 + 3 + 1 + (28 + 3) + (28 + 3) + (28 + 1) + 1 + 4;
    let expected = [
        ("down", Role::Thread, [37, 37, 14, 3]),
        ("main", Role::Thread, [0, 37, 0, 0]),
        ("reset", Role::Thread, [0, 37, 0, 0]),
    ];
    assert_eq!(shares(&span(&program, begins_down, begins_down + 37)), expected);
    // From the end of the first call of `twice` to that of the second: subs, bne and bl are the caller's.
    let cost = span(&program, begins + 23, begins + 23 + 1 + 3 + 4 + 23);
    assert_eq!(shares(&cost)[0], ("twice", Role::Thread, [15, 23, 4, 1]));
    assert_eq!(shares(&cost)[1], ("main", Role::Thread, [8, 31, 3, 0]));
}

/// The parts add up to the span also where its first cycles pass before anything is observed.
#[test]
fn cycles_before_the_first_event_are_not_lost() {
    let program = Program::build("unseen", CORTEX_M, &["calls.s"]);
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    let symbols = program.image.symbols();
    let mut whole = Attribution::new(&machine, symbols, Cycles(0), Cycles(60));
    assert_eq!(machine.run(Cycles(12)), Stop::Limit);
    assert_eq!(machine.run_observed(Cycles(10_000), &mut whole), Stop::Observer);
    let cost = whole.cost();
    assert_eq!(cost.whole.cycles, 60);
    let unseen = shares(&cost).into_iter().find(|share| share.0 == "[exception return]");
    assert_eq!(unseen, Some(("[exception return]", Role::ExceptionReturn, [12, 12, 0, 0])));
}

/// The run ends before the first instruction of `twice`.
#[test]
fn a_function_that_was_only_reached_is_not_listed() {
    let program = Program::build("reached", CORTEX_M, &["calls.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    let symbols = program.image.symbols();
    let until = Attribution::new(&machine, symbols, Cycles(0), Cycles(4 + 3 + 1 + 4));
    let mut observers = (Profile::new(&machine, symbols), until);
    assert_eq!(machine.run_observed(Cycles(100), &mut observers), Stop::Observer);
    let report = observers.0.report(&machine, None);
    let names: Vec<_> = report.functions.iter().map(|function| &*function.name).collect();
    assert_eq!((names, report.cycles), (vec!["main", "reset"], 12));
}

#[test]
fn a_handler_has_its_entry_and_its_return() {
    let program = Program::build("handler", CORTEX_M, &["calls.s"]);
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    machine.arm_interrupt(0, 0);
    machine.pend_interrupt(0, Cycles(12));
    let mut whole = Attribution::new(&machine, program.image.symbols(), Cycles(0), Cycles(60));
    machine.run_observed(Cycles(10_000), &mut whole);
    let cost = whole.cost();
    let find = |name| shares(&cost).into_iter().find(|share| share.0 == name).expect(name);
    // 16 cycles of entry (DDI 0432C, 2.3.2), one instruction and the return.
    assert_eq!(find("[IRQ 0]").1, Role::ExceptionEntry);
    assert_eq!((find("[IRQ 0]").2[0], find("[IRQ 0]").2[3]), (16, 1));
    assert_eq!(find("device"), ("device", Role::Interrupt, [1, find("device").2[1], 1, 1]));
    let returned = find("[exception return]");
    assert_eq!((returned.1, returned.2[2]), (Role::ExceptionReturn, 1));
    assert_eq!(returned.2[0] + 1, find("device").2[1]);
    let total: u64 = shares(&cost).iter().map(|share| share.2[0]).sum();
    assert_eq!((total, cost.whole.cycles), (60, 60));
}

/// SysTick counts 1000 cycles, in which the core executes four instructions and sleeps otherwise.
#[test]
fn sleep_takes_the_rest_of_a_tick() {
    let program = Program::build("sleep", CORTEX_M, &["sleep.s"]);
    let mut machine = program.on(&soc("generic-cortex-m0"));
    let symbols = program.image.symbols();
    let span = Attribution::new(&machine, symbols, Cycles(2_500), Cycles(6_500));
    let mut observers = (Profile::new(&machine, symbols), span);
    machine.run_observed(Cycles(6_500), &mut observers);
    let (profile, span) = observers;
    let cost = span.cost();
    let find = |name| shares(&cost).into_iter().find(|share| share.0 == name).expect(name);
    let returns = find("[exception return]").2[0];
    assert_eq!(find("[SysTick]"), ("[SysTick]", Role::ExceptionEntry, [64, 64 + returns, 0, 4]));
    assert_eq!(find("tick"), ("tick", Role::Tick, [0, returns, 0, 4]));
    let awake = 64 + returns + 4 * (2 + 1 + 3);
    assert_eq!(find("[sleep]"), ("[sleep]", Role::Sleep, [4_000 - awake, 4_000 - awake, 0, 0]));
    assert_eq!(find("reset").2, [4 * 6, 4_000 - 64 - returns, 12, 0]);
    // The whole run has six ticks; it began with loads and stores of 11 cycles.
    let report = profile.report(&machine, None);
    assert_eq!(report.cycles, 6_500);
    assert_eq!(of(&report.functions, "[SysTick]")[3], 6);
    assert_eq!(of(&report.functions, "reset")[0], 11 + 6 * (2 + 1 + 3) + 2);
    assert_eq!(of(&report.functions, "tick"), [returns / 4 * 6, returns / 4 * 6, 6, 6]);
    assert_eq!(of(&report.functions, "[sleep]")[2..], [0, 0]);
    let sum: u64 = report.functions.iter().map(|function| function.exclusive_cycles).sum();
    assert_eq!(sum, 6_500);
}

/// Returns the cycles of an instruction of straight code on a Cortex-M0, by its mnemonic.
fn cost(mnemonic: &str) -> u64 {
    match mnemonic {
        "ldr" | "str" => 2,
        "bx" => 3,
        _ => 1,
    }
}

#[test]
fn inlined_functions_and_lines_have_the_cycles_of_their_instructions() {
    let flags = [CORTEX_M, &["-O2"]].concat();
    let program = Program::build("inlined", &flags, &["app.c", "other.c"]);
    let lines = Lines::new(&program.elf).expect("debug information");
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    let report = profiled(&program, &mut machine, Some(&lines));
    // `helper` of app.c runs four times, from its beginning to its end.
    let helper = program.tool("objdump", &["-d", "--disassemble=helper", "--no-show-raw-insn"]);
    let helper = helper.split("<helper>:").nth(1).expect("disassembled");
    let (mut stacks, mut by_line) = (BTreeMap::new(), BTreeMap::new());
    for line in helper.lines() {
        let Some((address, text)) = line.trim().split_once(":\t") else { continue };
        let mnemonic = text.split_whitespace().next().expect("a mnemonic");
        let frames = resolved(&program, u32::from_str_radix(address, 16).expect("an address"));
        if mnemonic != ".word" && mnemonic != "nop" {
            let inlined: Vec<_> =
                frames.iter().rev().skip(1).map(|frame| format!(";{}_[i]", frame.0)).collect();
            *stacks.entry(inlined.concat()).or_insert(0) += 4 * cost(mnemonic);
            let own = frames.last().expect("its own line").2;
            let sum: &mut Cost =
                by_line.entry((own, frames.iter().rev().nth(1).map(|it| it.2))).or_default();
            (sum.cycles, sum.instructions) =
                (sum.cycles + 4 * cost(mnemonic), sum.instructions + 4);
        }
    }
    assert!(stacks.len() == 3 && by_line.len() > 2, "{stacks:?} {by_line:?}");
    for (inlined, cycles) in stacks {
        let expected = format!("reset;main;helper{inlined} {cycles}");
        assert!(report.folded.contains(&expected), "{expected}: {:#?}", report.folded);
    }
    for ((own, inlined), cost) in by_line {
        let has = |source: &Source| {
            let inside = source.inlined.as_ref().and_then(|frame| Some(frame.line.as_ref()?.line));
            source.line.file.ends_with("app.c") && (source.line.line, inside) == (own, inlined)
        };
        let said: Vec<_> = report.lines.iter().filter(|line| has(&line.0)).map(|it| it.1).collect();
        assert_eq!(said, [cost], "line {own}: {:#?}", report.lines);
    }
    assert!(report.lines.is_sorted_by_key(|(_, cost)| std::cmp::Reverse(cost.cycles)));
    // Two functions have the name, of which only one was called four times.
    let helpers =
        report.functions.iter().find(|function| function.name == "helper").expect("called");
    assert_eq!((helpers.calls, helpers.namesakes.len()), (6, 2));
    assert_eq!(helpers.label(), "helper (2 functions)");
}

/// Where only landmarks are looked at, all calls are still seen.
#[test]
fn calls_are_counted_at_landmarks_alone() {
    let program = Program::build("landmarks", CORTEX_M, &["calls.s"]);
    let symbols = program.image.symbols();
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    let mut calls = Calls::new(symbols);
    let stop = machine.run_observed_at(&landmarks(symbols, []), Cycles(10_000), &mut calls);
    assert!(matches!(stop, Stop::Breakpoint(_)), "{stop:?}");
    for (name, [.., expected]) in FUNCTIONS {
        let nodes = calls.nodes().filter(|node| calls.name(*node) == name);
        assert_eq!(nodes.map(|node| calls.times(node)).sum::<u64>(), expected, "{name}");
    }
}

/// Examines the calls of a program for RISC-V after it has run to its end.
fn examine_calls(name: &str, source: &str, examine: impl FnOnce(&Calls<'_>)) {
    let flags = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    let program = Program::build(name, &flags, &[source]);
    let mut machine = program.until(&soc("generic-hazard3"), "stop");
    let mut calls = Calls::new(program.image.symbols());
    observe(&mut machine, &mut calls);
    examine(&calls);
}

#[test]
fn a_task_begins_by_a_jump_to_another_stack() {
    examine_calls("starts", "starts.s", |calls| {
        let paths: Vec<_> = calls.nodes().map(|node| calls.path(node).join(" ")).collect();
        assert_eq!(paths, ["reset", "reset main", "reset replacing", "task", "task called"]);
        assert_eq!((calls.stack_number(), calls.stack()), (Some(1), vec!["task", "called"]));
    });
}

#[test]
fn a_function_with_a_large_frame_stays_where_it_was_called() {
    examine_calls("large-frame", "large_frame.s", |calls| {
        let paths: Vec<_> =
            calls.nodes().map(|node| (calls.path(node).join(" "), calls.times(node))).collect();
        let expected =
            [("reset", 1), ("reset large", 8), ("reset large leaf", 8), ("reset ends", 8)];
        assert_eq!(paths, expected.map(|(path, times)| (path.to_owned(), times)));
        assert_eq!(calls.stack_number(), Some(0));
    });
}
