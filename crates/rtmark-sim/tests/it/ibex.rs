//! The Ibex: each rule of its timing shown by a few instructions with their cycles, what is its own
//! among instructions, registers and traps, and what becomes of programs for other cores.
//!
//! The cycle of an instruction is its last one in stage ID/EX; its cycles are those since the instruction
//! before. The figures are those of the RTL, which `make rtl` compares with many more.

use rtmark_sim::riscv::{Drive, Input, PortWaits, TrapKind};
use rtmark_sim::{Cycles, FaultKind, FaultPolicy, Machine, Register, Soc, Stop};

use crate::rv32::{
    A0, A1, A2, A3, BASE, C_NOP, CSRRS, CSRRW, CSRRWI, Code, ECALL, FENCE_I, MEPC, MIE, MRET,
    MSTATUS, MTVEC, NOP, RAM, WFI, add, addi, atomic, branch, core, csr, cycles, i_type, lw,
    muldiv, r_type, sw, trace,
};

/// Where the first instruction is; vectors are before it.
const ENTRY: u32 = 0x80;
const MTVAL: u32 = 0x343;
const MCAUSE: u32 = 0x342;

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/generic-ibex.toml")).expect("a soc")
}

/// A machine with code, and a register that points into RAM.
fn machine(code: &Code) -> Machine {
    let mut machine = Machine::new(&soc());
    machine.set_fault_policy(FaultPolicy::Deliver);
    machine.poke(BASE + ENTRY, &code.0).expect("it fits");
    machine.set_register(Register::R(A0 as u8), RAM);
    machine
}

/// With a handler at each vector: MRET, or what else is given.
fn with_handler(words: &[u32], handler: &[u32]) -> Machine {
    let mut machine = machine(&Code::words(words));
    for vector in 0..ENTRY / 4 {
        // jal zero, to the handler behind everything.
        let offset = 0x400 - 4 * vector;
        let jump = (offset >> 1 & 0x3FF) << 21 | 0x6F;
        machine.poke(BASE + 4 * vector, &jump.to_le_bytes()).expect("flash");
    }
    machine.poke(BASE + 0x400, &Code::words(handler).0).expect("flash");
    machine
}

fn cycles_of(words: &[u32], most: usize) -> Vec<u64> {
    cycles(&mut machine(&Code::words(words)), most)
}

/// An address beside A0's.
const fn at(word: u32, offset: u32) -> u32 {
    if word & 0x7F == 0x03 { word | offset << 20 } else { word | offset << 7 }
}

#[test]
fn the_first_instruction_follows_the_vectors_and_leaves_in_the_fourth_cycle() {
    assert_eq!(trace(&mut machine(&Code::words(&[NOP])), 1).left, [(ENTRY, 3)]);
}

#[test]
fn calculations_take_one_cycle_and_products_and_quotients_more() {
    let of = |funct, divisor| {
        let words = [addi(A1, 0, -100), addi(A2, 0, divisor), muldiv(funct, A3, A1, A2)];
        cycles_of(&words, 3)[1]
    };
    assert_eq!(cycles_of(&[NOP, add(A1, A0, A0), NOP], 3), [1, 1]);
    assert_eq!([of(0, 7), of(1, 7), of(2, 7), of(3, 7)], [3, 4, 4, 4], "mul, mulh, mulhsu, mulhu");
    assert_eq!([of(4, 7), of(5, 7), of(6, -7), of(7, 7)], [37; 4], "div, divu, rem, remu");
    assert_eq!([of(4, 0), of(5, 0), of(6, 0), of(7, 0)], [2; 4], "by zero");
}

#[test]
fn loads_and_stores_take_two_cycles_and_one_more_across_words() {
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), add(A2, A1, A1), sw(A1, A0), NOP], 5), [2, 1, 2, 1]);
    for (offset, takes) in [(0, 2), (1, 3), (2, 3), (3, 3)] {
        assert_eq!(cycles_of(&[NOP, at(lw(A1, A0), offset), NOP], 3), [takes, 1], "lw {offset}");
        assert_eq!(cycles_of(&[NOP, at(sw(A1, A0), offset), NOP], 3), [takes, 1], "sw {offset}");
    }
    // lh
    let lh = i_type(0, A0, 1, A1, 0x03);
    let each = [0, 1, 2, 3].map(|offset| cycles_of(&[NOP, at(lh, offset), NOP], 3)[0]);
    assert_eq!(each, [2, 2, 2, 3]);
}

#[test]
fn accesses_across_words_transfer_all_bytes() {
    let words = [at(lw(A1, A0), 3), at(sw(A1, A0), 9), at(lw(A2, A0), 8)];
    let mut machine = machine(&Code::words(&words));
    machine.poke(RAM, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).expect("RAM");
    trace(&mut machine, 3);
    assert_eq!(machine.register(Register::R(A1 as u8)), 0x0605_0403);
    assert_eq!(machine.peek(RAM + 8, 5), [8, 3, 4, 5, 6]);
    assert_eq!(machine.register(Register::R(A2 as u8)), 0x0504_0308);
}

#[test]
fn jumps_take_two_cycles_and_taken_branches_three() {
    // Such a branch is over in its second cycle, and its target comes a cycle late.
    // jal zero, +8
    assert_eq!(cycles_of(&[NOP, 0x0080_006F, NOP, NOP, NOP], 4), [2, 1, 1]);
    assert_eq!(cycles_of(&[NOP, branch(0, 0, 0, 8), NOP, NOP, NOP], 4), [2, 2, 1]);
    assert_eq!(cycles_of(&[NOP, branch(1, 0, 0, 8), NOP, NOP], 4), [1, 1, 1]);
    assert_eq!(cycles_of(&[NOP, FENCE_I, NOP], 3), [2, 1]);
}

#[test]
fn targets_split_across_words_take_one_more_cycle() {
    let head = || Code::words(&[NOP, branch(0, 0, 0, 10), NOP]).half(C_NOP);
    assert_eq!(cycles(&mut machine(&head().word(NOP).half(C_NOP)), 4), [2, 3, 1]);
    assert_eq!(cycles(&mut machine(&head().half(C_NOP).half(C_NOP)), 4), [2, 2, 1]);
}

#[test]
fn wait_states_delay_fetches_loads_and_stores() {
    let of = |instruction, data, words: &[u32], most| {
        let mut machine = machine(&Code::words(words));
        core(&mut machine).set_port_waits(PortWaits { instruction, data });
        cycles(&mut machine, most)
    };
    assert_eq!(of(0, 2, &[NOP, lw(A1, A0), NOP], 3), [4, 1]);
    assert_eq!(of(0, 2, &[NOP, at(lw(A1, A0), 2), NOP], 3), [7, 1]);
    assert_eq!(of(1, 0, &[NOP, NOP, NOP, NOP], 4), [2, 2, 2]);
    // The buffer has filled while a division went on.
    assert_eq!(
        of(1, 0, &[NOP, muldiv(4, A1, A0, A0), NOP, NOP, NOP, NOP, NOP, NOP], 8),
        [38, 1, 1, 1, 1, 2, 2]
    );
}

#[test]
fn writes_that_may_unmask_interrupts_are_followed_by_two_idle_cycles() {
    let after = |word| cycles_of(&[NOP, word, NOP], 3)[1];
    assert_eq!([after(csr(CSRRW, MSTATUS, 0, 0)), after(csr(CSRRS, MIE, 0, A0))], [3, 3]);
    // Clearing and reading let nothing through.
    assert_eq!([after(csr(3, MIE, 0, A0)), after(csr(CSRRS, MIE, A1, 0))], [1, 1]);
    assert_eq!(after(csr(CSRRW, 0x340, A1, A0)), 1, "mscratch");
}

#[test]
fn traps_and_returns_take_three_cycles() {
    let handler = [csr(CSRRS, MEPC, A1, 0), addi(A1, A1, 4), csr(CSRRW, MEPC, 0, A1), MRET];
    let mut machine = with_handler(&[NOP, ECALL, NOP], &handler);
    let trace = trace(&mut machine, 8);
    let places: Vec<_> = trace.left.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [0x80, 0x84, 0, 0x400, 0x404, 0x408, 0x40C, 0x88]);
    let cycle = |index: usize| trace.left[index].1;
    assert_eq!([cycle(2) - cycle(1), cycle(7) - cycle(6)], [4, 3]);
    assert_eq!(trace.traps[0], (TrapKind::Exception(11), cycle(1) + 1));
}

#[test]
fn the_trap_value_is_the_address_or_the_instruction() {
    let of = |word: u32| {
        let handler = [csr(CSRRS, MTVAL, A1, 0), csr(CSRRS, MCAUSE, A2, 0)];
        let mut machine = with_handler(&[addi(A0, A0, -2), word], &handler);
        trace(&mut machine, 5);
        [A1, A2].map(|register| machine.register(Register::R(register as u8)))
    };
    assert_eq!(of(0xFFFF_FFFF), [0xFFFF_FFFF, 2]);
    assert_eq!(of(0x0001_0000), [0, 2], "16 bits");
    assert_eq!(of(at(lw(A1, 0), 0x11)), [0x11, 5]);
    assert_eq!(of(at(sw(A1, 0), 6)), [6, 7]);
    assert_eq!(of(ECALL), [0, 11]);
}

/// Enables interrupts and counts on.
fn interruptible() -> Vec<u32> {
    let mut words = vec![addi(A1, 0, -1), csr(CSRRW, MIE, 0, A1), csr(CSRRWI, MSTATUS, 0, 8)];
    words.extend([NOP; 60]);
    words
}

#[test]
fn interrupts_jump_to_their_vector_after_two_cycles() {
    for (input, code) in [
        (Input::Software, 3),
        (Input::Timer, 7),
        (Input::External(15), 11),
        (Input::External(0), 16),
        (Input::External(14), 30),
    ] {
        let mut machine = with_handler(&interruptible(), &[MRET]);
        core(&mut machine).drive(input, Drive::UntilTaken, Cycles(30));
        let trace = trace(&mut machine, 30);
        // In cycle 30 the instruction in the stage completes, in the next one it is empty.
        assert_eq!(trace.traps[0], (TrapKind::Interrupt(code), 32), "{input:?}");
        let vector = trace.left.iter().position(|(place, _)| *place < ENTRY).expect("a vector");
        assert_eq!(trace.left[vector], (4 * u32::from(code), 35), "{input:?}");
        assert_eq!(trace.left[vector - 1].1, 30, "{input:?}");
    }
}

#[test]
fn fast_interrupts_take_precedence_lowest_number_first() {
    let mut machine = with_handler(&interruptible(), &[MRET]);
    let all = [Input::Timer, Input::External(15), Input::External(9), Input::External(4)];
    for input in [Input::Software].into_iter().chain(all) {
        core(&mut machine).drive(input, Drive::UntilTaken, Cycles(30));
    }
    let trace = trace(&mut machine, 60);
    let codes = trace.traps.iter().filter_map(|(what, _)| match what {
        TrapKind::Interrupt(code) => Some(*code),
        _ => None,
    });
    assert_eq!(codes.collect::<Vec<_>>(), [20, 25, 11, 3, 7]);
}

#[test]
fn enabled_interrupts_end_sleep_even_if_masked() {
    let words = [addi(A1, 0, -1), csr(CSRRW, MIE, 0, A1), WFI, NOP, NOP];
    let mut machine = machine(&Code::words(&words));
    core(&mut machine).drive(Input::External(3), Drive::High, Cycles(100));
    let trace = trace(&mut machine, 5);
    assert!(trace.traps.is_empty());
    assert_eq!(trace.left[2..], [(0x88, 7), (0x8C, 102), (0x90, 103)]);
}

#[test]
fn instructions_of_other_cores_are_illegal() {
    let end = |code: &Code| {
        let mut machine = machine(code);
        machine.set_fault_policy(FaultPolicy::Stop);
        match machine.run(Cycles(100)) {
            Stop::Fault(report) => (report.kind, report.pc - BASE - ENTRY),
            stop => panic!("{stop:?}"),
        }
    };
    let undefined = (FaultKind::UndefinedInstruction, 4);
    // amoadd.w, lr.w; sh1add, clz, bset, pack; h3.bextm.
    for word in [
        atomic(0, A1, A0, A1),
        atomic(2, A1, A0, 0),
        r_type(0x10, A1, A1, 2, A2, 0x33),
        i_type(0x600, A1, 1, A2, 0x13),
        r_type(0x14, A1, A1, 1, A2, 0x33),
        r_type(0x04, A1, A1, 4, A2, 0x33),
        r_type(6, A2, A1, 0, A3, 0x0B),
    ] {
        assert_eq!(end(&Code::words(&[NOP, word])), undefined, "{word:#010x}");
    }
    // c.lbu, c.mul, cm.push, and c.addi4spn of nothing.
    for half in [0x8008, 0x9C41, 0xB842, 0x0008] {
        assert_eq!(end(&Code::words(&[NOP]).half(half)), undefined, "{half:#06x}");
    }
    // Its sleep of Xh3power is a hint here.
    assert_eq!(end(&Code::words(&[0x0000_2033, 0xFFFF_FFFF])), undefined);
    // Protection, triggers, counters of user mode; a register that cannot be written.
    for (funct, number) in [(CSRRS, 0x3A0), (CSRRS, 0x7A0), (CSRRS, 0xC00), (CSRRW, 0xF11)] {
        let code = Code::words(&[NOP, csr(funct, number, A1, 0)]);
        assert_eq!(end(&code), (FaultKind::ControlRegister, 4), "{number:#x}");
    }
}

#[test]
fn control_registers_keep_only_writable_bits() {
    let read = |number: u32, value: i32| {
        let words = [addi(A1, 0, value), csr(CSRRW, number, 0, A1), csr(CSRRS, number, A2, 0)];
        let mut machine = machine(&Code::words(&words));
        trace(&mut machine, 3);
        machine.register(Register::R(A2 as u8))
    };
    assert_eq!(read(MIE, -1), 0x7FFF_0888);
    assert_eq!(read(MTVEC, -1), 0xFFFF_FF01);
    assert_eq!(read(MEPC, -1), 0xFFFF_FFFE);
    assert_eq!(read(MCAUSE, -1), 0xFFFF_FFFF);
    assert_eq!(read(MCAUSE, 0x7FF), 0x1F);
    assert_eq!(read(0x301, 0), 0x4010_1104, "misa");
    assert_eq!(read(0x306, -1), 0, "mcounteren");
    assert_eq!(read(0x7C0, -1), 0xC0, "cpuctrlsts");
    assert_eq!(read(0xB02, 100), 100, "minstret, which does not count what has written it");
}

#[test]
fn user_mode_executes_without_protection_but_cannot_access_machine_registers() {
    let words = [
        i_type(0, 0, 0, A1, 0x17),
        addi(A1, A1, 20),
        csr(CSRRW, MEPC, 0, A1),
        csr(CSRRWI, MSTATUS, 0, 0),
        MRET,
        at(lw(A2, A0), 4),
        csr(CSRRS, MSTATUS, A2, 0),
    ];
    let mut machine = with_handler(&words, &[csr(CSRRS, MCAUSE, A3, 0)]);
    let trace = trace(&mut machine, 9);
    assert_eq!(trace.left[5].0, ENTRY + 20);
    assert_eq!(machine.register(Register::R(A3 as u8)), 2);
}

#[test]
fn the_common_machine_interface_supports_it() {
    let mut machine = Machine::new(&soc());
    let code = Code::words(&[addi(A1, 0, 5), atomic(0, A1, A0, A1)]);
    machine.poke(BASE + ENTRY, &code.0).expect("flash");
    machine.reset().expect("it begins behind the vectors");
    assert_eq!(machine.register(Register::Pc), BASE + ENTRY);
    let text = |machine: &Machine, address| machine.disassembly(address).expect("code").to_string();
    assert_eq!(text(&machine, BASE + ENTRY), "addi    a1, zero, 5");
    assert!(text(&machine, BASE + ENTRY + 4).starts_with(".word"), "no atomic operation");
    assert!(matches!(machine.run(Cycles(100)), Stop::Fault(_)));
    assert_eq!(machine.register(Register::R(A1 as u8)), 5);
}
