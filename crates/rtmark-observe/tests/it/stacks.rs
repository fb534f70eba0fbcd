//! The depths of stacks, against the bytes that programs push and the frames that the architecture pushes.

use std::ops::Range;

use rtmark_observe::{StackKind, StackUse, Stacks, ThreadNames};
use rtmark_sim::{Machine, Register};

use crate::support::{CORTEX_M, CORTEX_R, Program, RISC_V, observe, soc};

/// The name, kind, depth and lowest address of each stack.
type Used = Vec<(String, StackKind, u64, Option<u32>)>;

fn used(observed: &Stacks<'_>) -> Used {
    let figures = |StackUse { name, kind, bytes, lowest }| (name, kind, bytes.0, lowest);
    observed.uses().into_iter().map(figures).collect()
}

fn of(program: &Program, mut machine: Machine) -> Used {
    let mut stacks = Stacks::new(&machine, program.image.symbols());
    observe(&mut machine, &mut stacks);
    used(&stacks)
}

fn stack(
    name: &str,
    kind: StackKind,
    bytes: u32,
    high: u32,
) -> (String, StackKind, u64, Option<u32>) {
    (name.to_owned(), kind, bytes.into(), (high > 0).then(|| high - bytes))
}

use StackKind::{Interrupt, Main, Task};

#[test]
fn tasks_have_their_frames_and_saved_registers() {
    let program = Program::build("tasks", CORTEX_M, &["tasks.s"]);
    let expected = [
        stack("reset", Main, 12, 0x2000_1000),
        stack("first", Task, 96, 0x2000_0800),
        stack("second", Task, 112, 0x2000_0600),
        stack("SVCall", Interrupt, 56, 0),
        stack("PendSV", Interrupt, 0, 0),
    ];
    for core in ["generic-cortex-m0", "generic-cortex-m3"] {
        assert_eq!(of(&program, program.until(&soc(core), "stop")), expected, "{core}");
    }
}

/// A task and what serves its calls have a stack each, whatever its calls return to.
#[test]
fn a_task_whose_calls_are_served_on_another_stack_keeps_its_own() {
    let program = Program::build("service", CORTEX_M, &["service.s"]);
    let expected = [
        stack("reset", Main, 0, 0x2000_1000),
        // Two functions' registers, and the frame of the exception, which is aligned.
        stack("task", Task, 8 + 20 + 4 + 32, 0x2000_0800),
        stack("serve", Task, 32, 0x2000_0C00),
        stack("advise", Task, 40, 0x2000_0C00),
        stack("SVCall", Interrupt, 0, 0),
    ];
    for core in ["generic-cortex-m0", "generic-cortex-m3"] {
        assert_eq!(of(&program, program.until(&soc(core), "stop")), expected, "{core}");
    }
}

#[test]
fn each_nested_interrupt_counts_what_it_adds() {
    let program = Program::build("nested", CORTEX_M, &["nested.s"]);
    let expected = [
        stack("reset", Main, 44, 0x2000_1000),
        stack("SVCall", Interrupt, 44, 0),
        stack("IRQ 0", Interrupt, 52, 0),
    ];
    for core in ["generic-cortex-m0", "generic-cortex-m3"] {
        assert_eq!(of(&program, program.until(&soc(core), "stop")), expected, "{core}");
    }
}

#[test]
fn software_moves_the_only_stack_pointer() {
    let flags = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    let program = Program::build("one-pointer", &flags, &["one_pointer.s"]);
    let expected = [
        stack("reset", Main, 288, 0x8010_FC00),
        stack("task", Task, 112, 0x8012_0000),
        stack("ECALL", Interrupt, 800, 0),
    ];
    assert_eq!(of(&program, program.until(&soc("generic-hazard3"), "stop")), expected);
}

#[test]
fn a_handler_uses_the_stacks_of_several_modes() {
    let program = Program::build("modes", CORTEX_R, &["modes.s"]);
    let expected = [stack("reset", Main, 24, 0xA000), stack("SVC", Interrupt, 44, 0)];
    let mut machine = program.until(&soc("zynqmp-r5"), "stop");
    machine.set_register(Register::Pc, program.address("reset"));
    assert_eq!(of(&program, machine), expected);
}

#[test]
fn a_task_that_begins_by_one_load_has_its_own_name() {
    let program = Program::build("begun", CORTEX_R, &["begun.s"]);
    let expected = [stack("reset", Main, 8, 0x8000), stack("task", Task, 24, 0xA000)];
    let mut machine = program.until(&soc("zynqmp-r5"), "stop");
    machine.set_register(Register::Pc, program.address("reset"));
    assert_eq!(of(&program, machine), expected);
}

/// As where a handler emulates what the core does not have.
#[test]
fn code_whose_instruction_a_handler_skips_keeps_its_stack() {
    let program = Program::build("skipped", CORTEX_M, &["skipped.s"]);
    let expected = [stack("reset", Main, 24, 0x2000_1000), stack("SVCall", Interrupt, 32, 0)];
    assert_eq!(of(&program, program.until(&soc("generic-cortex-m0"), "stop")), expected);
    let flags = [RISC_V, &["-Wl,-Ttext=0x80000000"]].concat();
    let program = Program::build("skipped-one", &flags, &["skipped_one.s"]);
    let expected = [stack("reset", Main, 48, 0x8010_0000), stack("ECALL", Interrupt, 16, 0)];
    assert_eq!(of(&program, program.until(&soc("generic-hazard3"), "stop")), expected);
}

#[test]
fn a_frame_of_two_kibibytes_is_on_the_same_stack() {
    let flags = [CORTEX_M, &["-mcpu=cortex-m3"]].concat();
    let program = Program::build("frames", &flags, &["frames.s"]);
    let expected = [stack("reset", Main, 8 + 2048, 0x2000_4000)];
    assert_eq!(of(&program, program.until(&soc("generic-cortex-m3"), "stop")), expected);
}

/// Names threads after their stacks, but one that is about to yield after the other: kernels choose the next task
/// before they switch.
#[derive(Debug)]
struct Chosen {
    yields: Range<u32>,
}

impl ThreadNames for Chosen {
    fn running(&mut self, machine: &Machine) -> Option<String> {
        let (pc, sp) = (machine.register(Register::Pc), machine.register(Register::Sp));
        let stack = [0x2000_0600, 0x2000_0800].into_iter().position(|high| sp <= high)?;
        let chosen = if self.yields.contains(&pc) { 1 - stack } else { stack };
        Some(["B", "A"][chosen].to_owned())
    }
}

#[test]
fn tasks_have_the_names_that_their_kernel_gives_them() {
    let program = Program::build("named-tasks", CORTEX_M, &["tasks.s"]);
    let mut machine = program.until(&soc("generic-cortex-m0"), "stop");
    // Up to the store that requests PendSV.
    let begins = program.address("yield") & !1;
    let names = Chosen { yields: begins..begins + 6 };
    let mut stacks = Stacks::new(&machine, program.image.symbols()).with_names(names);
    observe(&mut machine, &mut stacks);
    let names: Vec<_> = used(&stacks).into_iter().map(|stack| stack.0).collect();
    assert_eq!(names, ["reset", "A", "B", "SVCall", "PendSV"]);
}
