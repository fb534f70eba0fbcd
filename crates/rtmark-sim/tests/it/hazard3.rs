//! The Hazard3: each rule of its timing shown by a few instructions with their cycles, each group
//! of instructions by what it does, and what becomes of programs that go wrong.
//!
//! The cycle of an instruction is that in which it leaves stage X; its cycles are those since the
//! instruction before. The figures are those of the RTL's traces, see `riscv`.

use rtmark_sim::riscv::{Drive, Input, PortWaits, TrapKind};
use rtmark_sim::{
    Blocker, Cycles, FaultKind, FaultPolicy, Image, LoadError, Machine, Register, Soc, Stop, Watch,
};

use crate::rv32::{
    A0, A1, A2, A3, BASE, C_NOP, CSRRS, CSRRW, CSRRWI, Code, EBREAK, ECALL, FENCE_I, MEPC, MIE,
    MRET, MSCRATCH, MSTATUS, MTVEC, NOP, RA, RAM, SP, T0, WFI, add, addi, atomic, branch, core,
    csr, cycles, i_type, lw, muldiv, r_type, sw, trace,
};

const MEIEA: u32 = 0xBE0;
const MEINEXT: u32 = 0xBE4;

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/generic-hazard3.toml")).expect("a soc")
}

/// A machine with code, and registers that point into RAM.
fn machine(code: &Code) -> Machine {
    let mut machine = Machine::new(&soc());
    machine.poke(BASE, &code.0).expect("it fits");
    machine.set_register(Register::R(A0 as u8), RAM);
    machine.set_register(Register::R(SP as u8), RAM + 0x1000);
    machine
}

fn cycles_of(words: &[u32], most: usize) -> Vec<u64> {
    cycles(&mut machine(&Code::words(words)), most)
}

#[test]
fn most_instructions_and_multiplications_take_one_cycle() {
    let words = [NOP, add(A1, A0, A0), muldiv(0, A2, A1, A1), muldiv(1, A3, A2, A2), sw(A3, A0)];
    assert_eq!(cycles_of(&words, 5), [1, 1, 1, 1]);
}

#[test]
fn the_first_instruction_leaves_in_the_fourth_cycle() {
    assert_eq!(trace(&mut machine(&Code::words(&[NOP])), 1).left, [(0, 3)]);
}

#[test]
fn load_use_costs_one_cycle_except_for_store_data() {
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), add(A2, A1, A1)], 3), [1, 2]);
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), add(A2, A0, A0)], 3), [1, 1]);
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), sw(A1, A0)], 3), [1, 1]);
    let mut address = machine(&Code::words(&[NOP, lw(A0, A0), sw(A1, A0)]));
    address.poke(RAM, &RAM.to_le_bytes()).expect("RAM");
    assert_eq!(cycles(&mut address, 3), [1, 2]);
}

#[test]
fn csr_instructions_wait_for_apparent_register_operands() {
    // The low bits of MSCRATCH's number are those of no register; of 0x34B's, those of A1.
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), csr(CSRRWI, MSCRATCH, 0, A1)], 3), [1, 2]);
    assert_eq!(cycles_of(&[NOP, lw(A1, A0), csr(CSRRWI, MSCRATCH, 0, A2)], 3), [1, 1]);
    assert_eq!(cycles_of(&[NOP, lw(T0, A0), csr(CSRRS, MTVEC, A2, 0)], 3), [1, 2]);
}

#[test]
fn divisions_take_longer_with_a_negative_dividend() {
    let of = |dividend, divisor, funct| {
        let words = [addi(A1, 0, dividend), addi(A2, 0, divisor), muldiv(funct, A3, A1, A2)];
        cycles_of(&words, 3)[1]
    };
    let (div, divu, rem) = (4, 5, 6);
    assert_eq!([of(100, 7, div), of(100, -7, div), of(100, 0, div)], [19; 3]);
    assert_eq!([of(-100, 7, div), of(-100, -7, rem), of(-100, 0, rem)], [20; 3]);
    assert_eq!(of(-100, 7, divu), 19);
}

#[test]
fn atomic_operations_take_four_cycles_and_exclusive_ones_do_not_overlap() {
    let amoadd = atomic(0, A2, A0, A1);
    let (lr, sc) = (atomic(2, A2, A0, 0), atomic(3, A3, A0, A1));
    assert_eq!(cycles_of(&[NOP, amoadd, add(A3, A2, A2)], 3), [4, 1]);
    assert_eq!(cycles_of(&[NOP, lr, sc, NOP], 4), [1, 2, 1]);
    assert_eq!(cycles_of(&[NOP, lr, NOP, sc], 4), [1, 1, 1]);
}

#[test]
fn jumps_cost_one_cycle_and_one_more_for_a_split_target() {
    // beq zero, zero, +8: to a word's beginning.
    assert_eq!(cycles_of(&[NOP, branch(0, 0, 0, 8), NOP, NOP], 3), [1, 2]);
    // To 32 bits in the upper half of a word.
    let code = Code::words(&[NOP, branch(0, 0, 0, 10), NOP]).half(C_NOP).word(NOP).half(C_NOP);
    assert_eq!(cycles(&mut machine(&code), 3), [1, 3]);
    // To 16 bits there.
    let code = Code::words(&[NOP, branch(0, 0, 0, 10), NOP]).half(C_NOP).half(C_NOP);
    assert_eq!(cycles(&mut machine(&code), 3), [1, 2]);
}

#[test]
fn loops_are_predicted_from_the_second_iteration() {
    // Count down from 4: addi, nop, bne back.
    let words = [addi(A1, 0, 4), addi(A1, A1, -1), NOP, branch(1, A1, 0, -8), NOP];
    let expected = [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2];
    assert_eq!(cycles_of(&words, 14), expected);
}

#[test]
fn a_jumps_fetch_is_not_compared_with_the_prediction() {
    // A loop that lies in one word: addi, bnez in 16 bits each. It is never predicted.
    let code = Code::words(&[addi(A1, 0, 4)]).half(0x15FD).half(0xFDFD).word(NOP);
    assert_eq!(cycles(&mut machine(&code), 8), [1, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn refetched_instructions_take_two_cycles() {
    assert_eq!(cycles_of(&[NOP, FENCE_I, NOP], 3), [1, 2]);
}

#[test]
fn traps_take_three_cycles() {
    // MTVEC is the base, so that ECALL leads to the first word; then MRET.
    let words = [branch(0, A1, 0, 12), csr(CSRRS, MEPC, A2, 0), MRET, addi(A1, 0, 1), ECALL];
    let mut machine = machine(&Code::words(&words));
    let trace = trace(&mut machine, 6);
    let places: Vec<_> = trace.left.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [0, 12, 16, 0, 4, 8]);
    let (ecall, handler) = (trace.left[2].1, trace.left[3].1);
    assert_eq!((trace.traps[0].1 - ecall, handler - ecall), (1, 3));
    assert_eq!(machine.register(Register::R(A2 as u8)), BASE + 16);
}

/// Enables an interrupt and counts on.
fn interruptible(mie: u32) -> Vec<u32> {
    let enable = 0x0001_0001;
    let mut words = vec![
        // The handler, where MTVEC points at reset: it is jumped over at first.
        branch(0, A3, 0, 12),
        addi(A3, 0, 0),
        MRET,
        addi(A3, 0, 1),
        r_type(0, 0, 0, 0, A1, 0x37) | enable & 0xFFFF_F000,
        addi(A1, A1, 1),
        csr(CSRRS, MEIEA, 0, A1),
        addi(A2, 0, 1),
        r_type(0, mie, A2, 1, A2, 0x13),
        csr(CSRRW, MIE, 0, A2),
        csr(CSRRWI, MSTATUS, 0, 8),
    ];
    words[4] = enable & 0xFFFF_F000 | A1 << 7 | 0x37;
    // MEIEA takes its bits from the upper half: line 0.
    words[5] = NOP;
    words.extend([NOP; 40]);
    words
}

#[test]
fn external_interrupts_are_entered_one_cycle_before_others() {
    for (input, mie, later) in
        [(Input::External(0), 11, 0), (Input::Software, 3, 1), (Input::Timer, 7, 1)]
    {
        let mut machine = machine(&Code::words(&interruptible(mie)));
        core(&mut machine).drive(input, Drive::UntilTaken, Cycles(30));
        let trace = trace(&mut machine, 30);
        let entered = trace.traps.first().map(|(what, cycle)| (*what, *cycle));
        assert_eq!(entered, Some((TrapKind::Interrupt(mie as u8), 30 + later)), "{input:?}");
        let handler = trace.left.iter().find(|(place, cycle)| *place == 0 && *cycle > 5);
        assert_eq!(handler.map(|(_, cycle)| *cycle), Some(32 + later), "{input:?}");
    }
}

/// pico-sdk, crt0_riscv.S and RP2350.h (RISCV_SOFTIRQ): beside MTIP, the timer drives SIO_IRQ_MTIMECMP, 29.
#[test]
fn rp2350s_timer_is_an_external_interrupt_as_well() {
    for (compare, next) in [(u32::MAX, 1 << 31), (0, 29 << 2)] {
        let soc = include_str!("../../../../socs/rp2350-riscv.toml");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let enable = [0x2000_0037 | A1 << 7, addi(A1, A1, 1), csr(CSRRS, MEIEA, 0, A1)];
        let words = [&enable[..], &[csr(CSRRS, MEINEXT, A2, 0), branch(0, 0, 0, 0)]].concat();
        let code: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        machine.poke(0x2000_0000, &code).expect("RAM");
        machine.set_register(Register::Pc, 0x2000_0000);
        machine.store_word(0xD000_01B8, compare).expect("MTIMECMP");
        machine.run(Cycles(2));
        machine.store_word(0xD000_01BC, compare).expect("MTIMECMPH");
        machine.run(Cycles(100));
        assert_eq!(machine.register(Register::R(A2 as u8)), next);
    }
}

#[test]
fn wait_states_delay_fetches_and_loads() {
    let code = Code::words(&[NOP, lw(A1, A0), add(A2, A1, A1), NOP, NOP]);
    let mut slow = machine(&code);
    core(&mut slow).set_port_waits(PortWaits { instruction: 0, data: 2 });
    assert_eq!(cycles(&mut slow, 4), [1, 4, 1]);
    let mut slow = machine(&code);
    core(&mut slow).set_port_waits(PortWaits { instruction: 1, data: 0 });
    assert_eq!(cycles(&mut slow, 5), [2, 2, 2, 2]);
}

#[test]
fn stack_instructions_take_one_cycle_per_register_plus_one() {
    // cm.push {ra, s0-s1}, -16; cm.pop {ra, s0-s1}, 16
    let code = Code::words(&[NOP]).half(0xB862).half(0xBA62).word(NOP);
    let mut machine = machine(&code);
    machine.set_register(Register::R(RA as u8), 0x1234);
    assert_eq!(cycles(&mut machine, 4), [4, 4, 1]);
    assert_eq!(machine.peek(RAM + 0x1000 - 12, 4), 0x1234_u32.to_le_bytes());
    assert_eq!(machine.register(Register::R(SP as u8)), RAM + 0x1000);
}

#[test]
fn bit_manipulation_follows_the_extensions() {
    // What a word does to A1 = 0x1234_80F0 and A2 = 5.
    let of = |word: u32| {
        let mut machine = machine(&Code::words(&[word, NOP]));
        machine.set_register(Register::R(A1 as u8), 0x1234_80F0);
        machine.set_register(Register::R(A2 as u8), 5);
        trace(&mut machine, 2);
        machine.register(Register::R(A3 as u8))
    };
    let unary = |code, funct| i_type(code, A1, funct, A3, 0x13);
    let binary = |high, funct| r_type(high, A2, A1, funct, A3, 0x33);
    assert_eq!(of(binary(0x10, 2)), 0x2469_01E5, "sh1add");
    assert_eq!(of(binary(0x20, 7)), 0x1234_80F0, "andn");
    assert_eq!(of(unary(0x600, 1)), 3, "clz");
    assert_eq!(of(unary(0x601, 1)), 4, "ctz");
    assert_eq!(of(unary(0x602, 1)), 10, "cpop");
    assert_eq!(of(unary(0x604, 1)), 0xFFFF_FFF0, "sext.b");
    assert_eq!(of(unary(0x287, 5)), 0xFFFF_FFFF, "orc.b");
    assert_eq!(of(unary(0x698, 5)), 0xF080_3412, "rev8");
    assert_eq!(of(unary(0x687, 5)), 0x482C_010F, "brev8");
    assert_eq!(of(binary(0x30, 5)), 0x8091_A407, "ror");
    assert_eq!(of(binary(0x24, 5)), 1, "bext");
    assert_eq!(of(binary(0x14, 1)), 0x1234_80F0, "bset");
    assert_eq!(of(binary(0x04, 4)), 0x0005_80F0, "pack");
    // h3.bextm of four bits from bit 5 on.
    assert_eq!(of(r_type(3 << 1, A2, A1, 0, A3, 0x0B)), 7, "h3.bextm");
}

/// A write replaces one half of a counter that counts all the same (Hazard3's `csr_mcycle.c` and `csr_minstret.c`, and
/// the RTL).
#[test]
fn counters_count_also_the_instruction_that_writes_their_other_half() {
    const MCOUNTINHIBIT: u32 = 0x320;
    let after = |counts: i32, writes: &[(u32, u32)], reads: u32| {
        let (start, set) = (csr(CSRRW, MCOUNTINHIBIT, 0, A1), [addi(A1, 0, counts)]);
        let write = |&(number, from): &(u32, u32)| csr(CSRRW, number, 0, from);
        let values = [addi(A1, 0, -1), addi(A2, 0, -2)];
        let words: Vec<u32> = set.into_iter().chain([start]).chain(values).collect();
        let read = [csr(CSRRS, reads, A2, 0), csr(CSRRS, reads, A3, 0)];
        let words: Vec<u32> =
            words.into_iter().chain(writes.iter().map(write)).chain(read).collect();
        let mut machine = machine(&Code::words(&words));
        trace(&mut machine, words.len());
        [A2, A3].map(|register| machine.register(Register::R(register as u8)))
    };
    for (low, high) in [(0xB00, 0xB80), (0xB02, 0xB82)] {
        // All ones are one count from a carry, in each of the two instructions after the first.
        let carries = [(low, 0), (high, 0), (low, A1), (low, A1), (low, A1)];
        assert_eq!(after(0, &carries, high), [2, 3], "{low:#x}");
        assert_eq!(after(5, &carries, high), [0, 0], "{low:#x}, stopped");
        let wraps = [(low, 0), (high, 0), (low, A2), (high, A1)];
        assert_eq!(after(0, &wraps, high), [0xFFFF_FFFF, 0], "{low:#x}");
        assert_eq!(after(5, &wraps, low), [0xFFFF_FFFE; 2], "{low:#x}, stopped");
    }
}

#[test]
fn store_conditional_fails_without_reservation() {
    let (lr, sc) = (atomic(2, A2, A0, 0), atomic(3, A3, A0, A1));
    let mut first = machine(&Code::words(&[sc, lr, sc, sc, NOP]));
    trace(&mut first, 1);
    assert_eq!(first.register(Register::R(A3 as u8)), 1);
    trace(&mut first, 2);
    assert_eq!(first.register(Register::R(A3 as u8)), 0);
    trace(&mut first, 1);
    assert_eq!(first.register(Register::R(A3 as u8)), 1);
}

/// How a program ends that goes wrong, or not at all.
fn end(words: &[u32]) -> Stop {
    machine(&Code::words(words)).run(Cycles(10_000))
}

#[test]
fn fault_stops_report_location_and_reason() {
    let fault = |words: &[u32]| match end(words) {
        Stop::Fault(report) => (report.kind, report.pc - BASE, report.address),
        stop => panic!("{stop:?}"),
    };
    assert_eq!(fault(&[NOP, 0xFFFF_FFFF]), (FaultKind::UndefinedInstruction, 4, None));
    assert_eq!(fault(&[NOP, 0]), (FaultKind::UndefinedInstruction, 4, None));
    // A CSR that there is not, and one that cannot be written.
    assert_eq!(fault(&[csr(CSRRS, 0x180, A1, 0)]), (FaultKind::ControlRegister, 0, None));
    assert_eq!(fault(&[csr(CSRRW, 0xF11, 0, A1)]), (FaultKind::ControlRegister, 0, None));
    let nowhere = Some(0x10);
    assert_eq!(fault(&[lw(A1, 0) | 0x10 << 20]), (FaultKind::DataAccess, 0, nowhere));
    assert_eq!(fault(&[addi(A0, A0, 2), lw(A1, A0)]), (FaultKind::Unaligned, 4, Some(RAM + 2)));
    // Flash takes no stores.
    let store = [i_type(0, 0, 0, A1, 0x17), sw(A1, A1)];
    assert_eq!(fault(&store), (FaultKind::DataAccess, 4, Some(BASE)));
    // jalr zero, 16(zero)
    match end(&[i_type(16, 0, 0, 0, 0x67)]) {
        Stop::Fault(report) => {
            assert_eq!((report.kind, report.pc), (FaultKind::InstructionAccess, 16));
        }
        stop => panic!("{stop:?}"),
    }
    // jalr zero, -2(zero): to the last halfword of all.
    match end(&[i_type(-2, 0, 0, 0, 0x67)]) {
        Stop::Fault(report) => {
            assert_eq!((report.kind, report.pc), (FaultKind::InstructionAccess, 0xFFFF_FFFE));
        }
        stop => panic!("{stop:?}"),
    }
}

#[test]
fn runs_end_at_breakpoints_or_when_nothing_can_wake_the_core() {
    assert_eq!(end(&[NOP, EBREAK]), Stop::Breakpoint(BASE + 4));
    assert_eq!(end(&[NOP, WFI]), Stop::Asleep);
}

#[test]
fn faults_are_delivered_if_the_policy_says_so() {
    let words = [branch(0, A1, 0, 8), EBREAK, addi(A1, 0, 1), 0xFFFF_FFFF];
    let mut machine = machine(&Code::words(&words));
    machine.set_fault_policy(FaultPolicy::Deliver);
    let trace = trace(&mut machine, 4);
    assert_eq!(trace.traps.first().map(|trap| trap.0), Some(TrapKind::Exception(2)));
    assert_eq!(trace.left.last().map(|left| left.0), Some(0));
}

#[test]
fn user_mode_cannot_access_machine_registers_or_unprotected_memory() {
    // To user mode at the next instruction but one, with MPP clear: nothing may be executed there.
    let words = [
        i_type(0, 0, 0, A1, 0x17),
        addi(A1, A1, 24),
        csr(CSRRW, MEPC, 0, A1),
        csr(CSRRWI, MSTATUS, 0, 0),
        MRET,
        NOP,
        csr(CSRRS, MSTATUS, A2, 0),
    ];
    match end(&words) {
        Stop::Fault(report) => {
            assert_eq!((report.kind, report.pc), (FaultKind::InstructionProtection, BASE + 24));
        }
        stop => panic!("{stop:?}"),
    }
    // With a region over everything, code runs, and the register is refused.
    let words = [
        addi(A1, 0, -1),
        csr(CSRRW, 0x3B0, 0, A1),
        csr(CSRRWI, 0x3A0, 0, 0x1F),
        i_type(0, 0, 0, A1, 0x17),
        addi(A1, A1, 24),
        csr(CSRRW, MEPC, 0, A1),
        csr(CSRRWI, MSTATUS, 0, 0),
        MRET,
        NOP,
        csr(CSRRS, MSTATUS, A2, 0),
    ];
    match end(&words) {
        Stop::Fault(report) => {
            assert_eq!((report.kind, report.pc), (FaultKind::ControlRegister, BASE + 36));
        }
        stop => panic!("{stop:?}"),
    }
}

/// RISC-V calls its registers ra and sp (calling convention, "Register Convention"), its modes M and U and its
/// protection PMP (privileged specification, 1.2 and 3.7).
#[test]
fn faults_are_told_in_the_words_of_risc_v() {
    let text = |words: &[u32]| match end(words) {
        Stop::Fault(report) => report.to_string(),
        stop => panic!("{stop:?}"),
    };
    // auipc ra, 0; addi sp, zero, 0x40; lw a1, 16(zero)
    let told = text(&[i_type(0, 0, 0, 1, 0x17), addi(2, 0, 0x40), lw(A1, 0) | 0x10 << 20]);
    let state = format!("(ra {BASE:#010x}, sp 0x00000040, M-mode, cycle ");
    assert!(told.contains(&state), "{told}");
    assert!(told.starts_with("load or store to which nothing responds at pc"), "{told}");
    // To user mode at the next instruction but one, where nothing may be executed.
    let told = text(&[
        i_type(0, 0, 0, A1, 0x17),
        addi(A1, A1, 24),
        csr(CSRRW, MEPC, 0, A1),
        csr(CSRRWI, MSTATUS, 0, 0),
        MRET,
        NOP,
        NOP,
    ]);
    assert!(told.starts_with("instruction fetch that the PMP forbids at pc"), "{told}");
    assert!(told.contains(", U-mode, cycle "), "{told}");
    // ECALL, whose handler (MTVEC is there) finds no instruction.
    let told = text(&[
        i_type(0, 0, 0, A1, 0x17),
        addi(A1, A1, 16),
        csr(CSRRW, MTVEC, 0, A1),
        ECALL,
        0xFFFF_FFFF,
    ]);
    assert!(told.contains(", M-mode, handling ECALL, cycle "), "{told}");
}

#[test]
fn the_common_machine_interface_supports_it() {
    let words = [addi(A1, 0, 3), addi(A1, A1, -1), branch(1, A1, 0, -4), 0x0000_006F];
    let mut machine = Machine::new(&soc());
    machine.poke(BASE, &Code::words(&words).0).expect("it fits");
    machine.reset().expect("it begins");
    machine.watch(Watch::Execute(BASE + 4));
    let mut copy = machine.clone();
    assert_eq!(machine.run(Cycles(100)), Stop::Limit);
    for at in 0..100 {
        copy.run(Cycles(at + 1));
    }
    let times = |machine: &mut Machine| machine.take_hits().iter().map(|hit| hit.cycle.0).collect();
    let hits: Vec<u64> = times(&mut machine);
    assert_eq!(hits, times(&mut copy));
    assert_eq!(hits.len(), 3);
    assert_eq!(machine.instructions(), copy.instructions());
    let text = machine.disassembly(BASE + 8).expect("memory");
    assert_eq!(
        (text.to_string().as_str(), text.target),
        ("bne     a1, zero, 0x80000004", Some(BASE + 4))
    );
}

#[test]
fn masked_intervals_are_timed() {
    const CSRRSI: u32 = 6;
    const CSRRCI: u32 = 7;
    const MIE: u32 = 8;
    let (mask, unmask) = (csr(CSRRCI, MSTATUS, 0, MIE), csr(CSRRSI, MSTATUS, 0, MIE));
    // Two instructions under a mask, then four, then one.
    let mut words = vec![unmask, NOP];
    for length in [2, 4, 1] {
        words.push(mask);
        words.extend(vec![NOP; length]);
        words.push(unmask);
    }
    let end = BASE + 4 * words.len() as u32;
    words.push(0x0000_006F);
    let mut machine = Machine::new(&soc());
    machine.poke(BASE, &Code::words(&words).0).expect("it fits");
    machine.reset().expect("it begins");
    machine.watch(Watch::Execute(BASE + 4));
    machine.watch(Watch::Execute(end));
    machine.watch_masks();
    machine.run(Cycles(200));
    let longest = machine.longest_masked().expect("masked");
    let (set, cleared) = (BASE + 4 * 6, BASE + 4 * 11);
    assert_eq!((longest.from.address, longest.to.address), (set, cleared));
    assert_eq!(longest.by, Blocker::MachineMask);
    // A cycle each, and one for the instruction that ends it.
    assert_eq!(longest.cycles, 5);
}

/// An executable for RISC-V with this entry point and code at the start of flash.
fn elf(entry: u32, code: &Code) -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    let [low, high] = [entry as u16, (entry >> 16) as u16];
    for half in [2_u16, 243, 1, 0, low, high, 52, 0, 0, 0, 0, 0, 52, 32, 1, 40, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let size = code.0.len() as u32;
    let header = [1, 84, BASE, BASE, size, size, 5, 4];
    file.extend(header.map(u32::to_le_bytes).concat());
    file.extend(&code.0);
    file
}

#[test]
fn programs_begin_at_the_entry_point_of_their_file() {
    let code = Code::words(&[NOP; 40]);
    let ibex = Soc::from_toml(include_str!("../../../../socs/generic-ibex.toml")).expect("a soc");
    // (soc, entry point, the first instruction's offset)
    for (soc, entry, first) in
        [(soc(), BASE + 16, 16), (soc(), 0, 0), (ibex.clone(), BASE + 16, 16), (ibex, 0, 0x80)]
    {
        let mut image = Image::from_bytes(&elf(entry, &code), 0).expect("an image");
        let mut machine = Machine::new(&soc);
        machine.load(&image).expect("it fits");
        let vectors = machine.register(Register::Csr(MTVEC as u16)) & !3;
        assert_eq!(vectors, BASE, "{}: the vectors stay", soc.name);
        assert_eq!(trace(&mut machine, 1).left, [(first, 3)], "{}: as after a reset", soc.name);
        machine.reset().expect("it begins");
        assert_eq!(machine.register(Register::Pc), BASE + first, "{}", soc.name);
        image.drop_entry();
        machine.load(&image).expect("it fits");
        let usual = if soc.name == "generic-ibex" { 0x80 } else { 0 };
        assert_eq!(machine.register(Register::Pc), BASE + usual, "{}", soc.name);
    }
}

#[test]
fn images_for_another_core_are_rejected() {
    let file = elf(BASE, &Code::words(&[NOP]));
    let image = Image::from_bytes(&file, 0).expect("an image");
    let arm = include_str!("../../../../socs/stm32c031.toml");
    let error = Machine::new(&Soc::from_toml(arm).expect("a soc")).load(&image).expect_err("Arm");
    assert!(matches!(error, LoadError::OtherCore { .. }), "{error}");
    Machine::new(&soc()).load(&image).expect("its own");
}

/// A memory with a cache for both ports: what has been fetched once waits no more, and a load of
/// what is near it neither.
#[test]
fn with_a_cache_only_the_first_pass_waits() {
    const WAITS: u64 = 20;
    let text = include_str!("../../../../socs/generic-hazard3.toml");
    let base = "base = 0x8000_0000\nsize = 0x10_0000\n";
    let cache = format!(
        "timing = {{ wait_states = {WAITS}, line_bytes = 8, cache_lines = 64, cache_ways = 2 }}\n"
    );
    let cached = Soc::from_toml(&text.replace(base, &(base.to_owned() + &cache))).expect("a soc");
    // Three passes: auipc a0, 0; lw a1, 0(a0); nop; nop; nop; j back
    let words = [0x0000_0517, lw(A1, A0), NOP, NOP, NOP, 0xFEDF_F06F];
    let pass = words.len() as u64;
    let spent = |soc: &Soc, emptied: bool| {
        let mut machine = Machine::new(soc);
        machine.poke(BASE, &Code::words(&words).0).expect("it fits");
        machine.reset().expect("it begins");
        let watch = machine.watch(Watch::Execute(BASE));
        if emptied {
            machine.empty_caches_at(watch);
        }
        machine.run(Cycles(1_000));
        let hits: Vec<u64> = machine.take_hits().iter().map(|hit| hit.cycle.0).collect();
        assert!(hits.len() > 3 && machine.instructions().0 > 3 * pass);
        [hits[1] - hits[0], hits[2] - hits[1], hits[3] - hits[2]]
    };
    let (plain, emptied) = (spent(&soc(), false), spent(&cached, true));
    let cached = spent(&cached, false);
    assert_eq!(cached[1..], plain[1..], "warm");
    // Emptied at each pass's beginning, it is as cold as in the first one.
    assert!(emptied.iter().all(|pass| *pass >= cached[0]), "{emptied:?} {cached:?}");
    // Three lines of the code, the first of which has been there before the first instruction.
    assert!(cached[0] >= plain[0] + 2 * WAITS, "{cached:?} {plain:?}");
}

/// What would be left out of account is refused.
#[test]
fn memory_timings_without_a_model_are_rejected() {
    let text = include_str!("../../../../socs/generic-hazard3.toml");
    let with = |timing: &str| {
        let base = "base = 0x8000_0000\nsize = 0x10_0000\n";
        assert!(text.contains(base));
        Soc::from_toml(&text.replace(base, &format!("{base}timing = {{ {timing} }}\n")))
    };
    assert!(with("wait_states = 2").is_ok());
    assert!(with("wait_states = 2, line_bytes = 8, cache_lines = 64, cache_ways = 2").is_ok());
    // As many as both ports' waits can be counted of.
    let cached = |waits| with(&format!("wait_states = {waits}, cache_lines = 64"));
    assert!(cached(126).is_ok());
    let refusal = cached(127).expect_err("too many").to_string();
    assert!(refusal.contains("wait_states = 127: behind a cache"), "{refusal}");
    assert!(with("wait_states = 255").is_ok());
    for timing in ["line_bytes = 8", "prefetch = true", "instruction_lines = 2"] {
        let refusal = with(timing).expect_err(timing).to_string();
        assert!(refusal.contains("not modelled beside a RISC-V core"), "{timing}: {refusal}");
    }
}
