//! Cortex-M33: instructions are issued in order, sometimes two in a cycle, and some results come
//! late.
//!
//! Arm publishes no instruction timings for it (100230 has none). These rules were measured on an
//! RP2350 (r1p0) by others: jnk0le/random, "pipeline cycle test", `doc/cortex_m33.md`. Each rule
//! has a section of loops in `tests/it/timing/cortex-m33.txt`, and the table names the code that
//! implements it:
//!
//! | rule | implemented in |
//! |---|---|
//! | two 16-bit instructions pair if the second is NOP, IT or a branch | [`second_slot`], [`second`] |
//! | a taken branch takes 2 cycles, 1 in the second slot, unless the first sets flags | [`REFILL`], `Issue::issue_second` |
//! | load to use 2; to the data of a store and to an accumulator 1 | [`classify`], `Issue::comes_late_for` |
//! | shifted operands and constants, extend-and-add, products, DSP: a result one cycle late; sums of products take it in time | [`calculation`], [`multiplication`] |
//! | MULS and flag-setting shifted constants 2 | [`calculation`], [`multiplication`] |
//! | flags of a shifted register one cycle late | `Flags::SetLate` |
//! | skipped in an IT block: a NOP | `IssueInstruction::skipped` |
//! | several registers: one cycle each | [`list`], [`classify`], [`float`] |
//! | floating point: latencies, VFMA that holds the unit for 2 cycles, operands a cycle late | [`float`], `Issue::issue_first` |
//! | VMOV between core and floating-point registers | [`transfer`] |
//! | POP {pc} against POP {lr} and BX LR | [`REFILL_LOADED`] |
//!
//! Neither published nor measured, and assumed here:
//!
//! - divisions, VDIV, VSQRT, exclusives, special registers, barriers and TBB take as long as in
//!   the Cortex-M4 (DDI 0439), and their results are available to the next instruction;
//! - loads of the program counter branch like POP; the last register of a list and of a pair is as
//!   late as that of a single load;
//! - two NOPs are not issued together; a skipped instruction pairs as its encoding decides; and
//!   neither NOP, IT nor a branch is issued together with a branch;
//! - the second of a pair has been fetched, wherever it is;
//! - unaligned accesses cost nothing, and flags of a VCMP are available to VMRS;
//! - 12 cycles from an interrupt to its handler, as published for it; the rest of an exception's cost
//!   is the Cortex-M4's. An exception that arrives between two instructions that are issued together
//!   waits for the end of the first.
//!
//! One observed anomaly is left out: LDM and STM between a POP {lr} and its BX LR may cost a few
//! cycles more.
//!
//! Results compared with published figures, to which nothing here is tuned:
//!
//! | | published | here |
//! |---|---|---|
//! | interrupt to handler, memories without wait states | 12 cycles | 12 (`tests/it/exceptions.rs`) |
//! | cycles relative to a Cortex-M4 | 0.846, CoreMark | 0.837, the bench's `integer.mixed` |
//! | FreeRTOS on an RP2350, 150 MHz: yield to another thread | 160 cycles | 158, `thread.yield` |
//! | the same: semaphore given, its thread runs | 367 | 478, `semaphore.give.wake+ctx` |
//! | the same: semaphore given, no thread waits | 98 | 152, `semaphore.give.immediate` |
//! | the same: semaphore taken | 94 | 122, `semaphore.take.immediate` |
//! | the same: interrupt latency | 21 | 12, `isr.entry` |
//!
//! In the second row, the figure here is for one binary on the models of both cores: a build for
//! the Cortex-M4, without wait states (0.859 for a build for the Cortex-M33). CoreMark's two
//! figures (4.02 and 3.40 per MHz, Arm's pages of both cores) are not for one binary. The remaining
//! published figures are from a report of rtos-benchmark (`data/published.toml`). rtmark's
//! scenarios run on the soc `rp2350`, FreeRTOS 11.2 with its port ARM_CM33_NTZ, medians of warm
//! caches. The report used another version, another compiler and another measured span, and its
//! configuration is not known. Its latency ends with a reading of a clock in the handler;
//! `isr.entry` ends with the handler's first instruction.

use super::cortex_m4;
use crate::isa::{Group, Op, Slot};
use crate::timing::issue::{
    Continuation, Flags, IssueFloat, IssueInstruction, LateAddend, Second, SecondSlot, Source,
};
use crate::timing::operands::{
    FloatOperands, address, bit, compares, float_operands, is_shifted_constant,
};
use crate::timing::{Classify, Divider, Rules};

pub const RULES: Rules = Rules {
    classify: Some(Classify::Issue(classify)),
    cost: |_| 0,
    skip: 0,
    // These are beyond two cycles. No figure is published: assumed to be the Cortex-M3's divider.
    divider: Some(Divider::FourDigitsACycle),
    double_extra: |_, _| 0,
    unaligned_load: 0,
    predicts_branches: false,
    long_multiply: None,
    refill: 0,
    refill_loaded: 0,
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    fp_frame: 17,
    // Loads and stores of several registers are continued (100230, C.5). The manual says nothing of
    // divisions, pairs and VDIV: assumed to be as in the Cortex-M4.
    interruptible: cortex_m4::interruptible_in_order,
    longest: 33,
};

/// A taken branch: one cycle beyond its own.
const REFILL: u8 = 1;
/// A branch to a loaded address. The sequence POP {lr}, an instruction that pairs with BX LR, and
/// BX LR takes two cycles less than that instruction and POP {pc}, and one cycle less where it does
/// not pair.
const REFILL_LOADED: u8 = 3;

/// Describes an instruction with these halfwords. In an IT block, `slot` is the instruction as
/// decoded there.
pub fn classify(slot: &Slot, halves: [u16; 2]) -> IssueInstruction {
    let op = slot.op;
    let (d, n, m, a) = (bit(slot.d), bit(slot.n), bit(slot.m), bit(slot.a));
    let plain = IssueInstruction {
        second_slot: second_slot(slot),
        second: second(slot),
        ..IssueInstruction::PLAIN
    };
    match op.group() {
        Group::Immediate | Group::Register | Group::Shifted | Group::Shift => {
            calculation(slot, halves, plain)
        }
        Group::Bits => match op {
            Op::Sxtab | Op::Sxtah | Op::Uxtab | Op::Uxtah => extend_and_add(slot, plain),
            Op::Movt | Op::Bfc => IssueInstruction { reads: d, writes: d, ..plain },
            Op::Bfi => IssueInstruction { reads: d | n, writes: d, ..plain },
            Op::Sbfx | Op::Ubfx | Op::Ssat | Op::Usat => {
                IssueInstruction { reads: n, writes: d, ..plain }
            }
            _ => IssueInstruction { reads: m, writes: d, ..plain },
        },
        Group::Multiply | Group::Dsp => multiplication(slot, plain),
        Group::Divide => IssueInstruction { cycles: 2, reads: n | m, writes: d, ..plain },
        Group::Load => {
            let base = if op.moves_base() { n } else { 0 };
            IssueInstruction { reads: address(slot), writes: d | base, late: d, ..plain }
        }
        Group::LoadPc => {
            let base = if matches!(op, Op::LdrPcPre | Op::LdrPcPost) { n } else { 0 };
            let continuation = Continuation::Elsewhere(REFILL_LOADED);
            IssueInstruction { reads: address(slot), writes: base, continuation, ..plain }
        }
        Group::StoreImmediate | Group::Store => {
            let base = if op.moves_base() { n } else { 0 };
            IssueInstruction { reads: address(slot), writes: base, ..plain }
        }
        Group::Ordered if op == Op::Lda => {
            IssueInstruction { reads: n, writes: d, late: d, ..plain }
        }
        Group::Ordered => IssueInstruction { reads: n, ..plain },
        Group::Dual => {
            let base = if op != Op::LdrdLit && slot.aux != 0 { n } else { 0 };
            let (loaded, late) = if op == Op::Strd { (0, 0) } else { (d | a, a) };
            let (reads, writes) = (address(slot), loaded | base);
            IssueInstruction { cycles: 2, reads, writes, late, ..plain }
        }
        Group::List => list(slot, plain),
        Group::Exclusive if op == Op::Clrex => plain,
        Group::Exclusive => IssueInstruction { cycles: 2, reads: n, writes: d, ..plain },
        Group::Branch => match op {
            Op::B => IssueInstruction { continuation: Continuation::Elsewhere(REFILL), ..plain },
            Op::Cbz | Op::Cbnz => IssueInstruction {
                reads: n,
                continuation: Continuation::Elsewhere(REFILL),
                ..plain
            },
            _ => IssueInstruction { continuation: Continuation::ByFlags(REFILL), ..plain },
        },
        Group::Call => IssueInstruction {
            writes: bit(14),
            continuation: Continuation::Elsewhere(REFILL),
            ..plain
        },
        Group::BranchRegister => {
            let writes = if op == Op::BlxR { bit(14) } else { 0 };
            let reads = if matches!(op, Op::Bx | Op::BlxR) { n } else { m };
            IssueInstruction {
                reads,
                writes,
                continuation: Continuation::Elsewhere(REFILL),
                ..plain
            }
        }
        Group::Security if matches!(op, Op::Bxns | Op::Blxns) => {
            IssueInstruction { reads: n, continuation: Continuation::Elsewhere(REFILL), ..plain }
        }
        // No figure is published: assumed to take four cycles in all, as in the Cortex-M4.
        Group::BranchTable => IssueInstruction {
            cycles: 2,
            reads: n | m,
            continuation: Continuation::Elsewhere(2),
            ..plain
        },
        Group::Barrier => IssueInstruction { cycles: 2, ..plain },
        Group::SpecialRegister if op == Op::Mrs => {
            IssueInstruction { cycles: 2, writes: d, ..plain }
        }
        Group::SpecialRegister => {
            IssueInstruction { cycles: 2, reads: n, flags: Flags::Set, ..plain }
        }
        _ => float(slot, plain),
    }
}

/// Returns what may be issued together with an instruction: with one of 16 bits that calculates,
/// loads or stores, a NOP, an IT or a branch; with a NOP, only an IT or a branch.
fn second_slot(slot: &Slot) -> SecondSlot {
    if slot.size() != 2 {
        return SecondSlot::Nothing;
    }
    match slot.op.group() {
        Group::Immediate | Group::Register | Group::Shifted | Group::Shift => SecondSlot::Any,
        Group::Bits | Group::Multiply => SecondSlot::Any,
        Group::Load | Group::StoreImmediate | Group::Store => SecondSlot::Any,
        Group::List if !slot.is_indirect() => SecondSlot::Any,
        Group::Hint if slot.op == Op::Nop => SecondSlot::BranchOrIt,
        _ => SecondSlot::Nothing,
    }
}

fn second(slot: &Slot) -> Second {
    if slot.size() != 2 {
        return Second::Never;
    }
    match slot.op {
        Op::Nop => Second::Nop,
        Op::It | Op::Bx | Op::BlxR => Second::BranchOrIt,
        op if op.group() == Group::Branch => Second::BranchOrIt,
        _ => Second::Never,
    }
}

fn calculation(slot: &Slot, halves: [u16; 2], plain: IssueInstruction) -> IssueInstruction {
    let op = slot.op;
    let (d, n, m) = (bit(slot.d), bit(slot.n), bit(slot.m));
    let compares = compares(op);
    let moves = matches!(op, Op::MovI | Op::MovsI | Op::MovR | Op::MovsR | Op::MovX | Op::MovsX);
    let inverts = matches!(op, Op::MvnI | Op::MvnsI | Op::MvnR | Op::MvnsR | Op::MvnX | Op::MvnsX);
    let immediate = op.group() == Group::Immediate;
    // LSL and the like are MOV with a shift, and nothing follows the shift there.
    let shifts_register = op.group() == Group::Shifted && !moves;
    let shifts_constant = immediate && !moves && is_shifted_constant(slot, halves);
    let writes = if compares { 0 } else { d };
    let flags = match op.sets_flags() {
        false => Flags::Kept,
        true if shifts_register => Flags::SetLate,
        true => Flags::Set,
    };
    let stays = shifts_constant && op.sets_flags();
    let reads_carry = matches!(
        op,
        Op::AdcI | Op::AdcsI | Op::SbcI | Op::SbcsI | Op::AdcR | Op::AdcsR | Op::SbcR | Op::SbcsR
    ) || matches!(op, Op::AdcX | Op::AdcsX | Op::SbcX | Op::SbcsX);
    IssueInstruction {
        cycles: if stays { 2 } else { 1 },
        reads: if moves || inverts { 0 } else { n } | if immediate { 0 } else { m },
        writes,
        late: if shifts_register || shifts_constant && !stays { writes } else { 0 },
        source: Source::Sum,
        flags,
        reads_carry,
        ..plain
    }
}

fn extend_and_add(slot: &Slot, plain: IssueInstruction) -> IssueInstruction {
    let (d, n, m) = (bit(slot.d), bit(slot.n), bit(slot.m));
    let (late_addend, source) = (LateAddend::Extended, Source::Sum);
    IssueInstruction { reads: m, addend: n, late_addend, writes: d, late: d, source, ..plain }
}

/// Products, sums of products, and other operations on parts of words.
fn multiplication(slot: &Slot, plain: IssueInstruction) -> IssueInstruction {
    let (d, n, m, a) = (bit(slot.d), bit(slot.n), bit(slot.m), bit(slot.a));
    let late = |writes: u16, addend: u16, source: Source| IssueInstruction {
        reads: n | m,
        addend,
        writes,
        late: writes,
        source,
        ..plain
    };
    match slot.op {
        Op::Muls => {
            IssueInstruction { cycles: 2, late: 0, flags: Flags::Set, ..late(d, 0, Source::Sum) }
        }
        Op::Umull | Op::Smull => late(d | a, 0, Source::Sum),
        Op::Umlal | Op::Smlal | Op::Smlalxy | Op::Smlald | Op::Smlsld | Op::Umaal => {
            late(d | a, d | a, Source::Sum)
        }
        Op::Mla | Op::Mls | Op::Smlaxy | Op::Smlawy | Op::Smlad | Op::Smlsd => {
            late(d, a, Source::Sum)
        }
        Op::Smmla | Op::Smmls | Op::Usada8 => late(d, a, Source::Sum),
        Op::Mul | Op::Smulxy | Op::Smulwy | Op::Smuad | Op::Smusd | Op::Smmul => {
            late(d, 0, Source::Sum)
        }
        Op::Sxtab16 | Op::Uxtab16 => extend_and_add(slot, plain),
        Op::Sxtb16 | Op::Uxtb16 => IssueInstruction { reads: m, ..late(d, 0, Source::Other) },
        Op::Ssat16 | Op::Usat16 => IssueInstruction { reads: n, ..late(d, 0, Source::Other) },
        _ => late(d, 0, Source::Other),
    }
}

fn list(slot: &Slot, plain: IssueInstruction) -> IssueInstruction {
    let named = slot.imm as u16;
    let loads = matches!(slot.op, Op::Ldm | Op::Ldmdb | Op::Pop);
    let base = bit(if matches!(slot.op, Op::Push | Op::Pop) { 13 } else { slot.n });
    let jumps = loads && named >> 15 == 1;
    let loaded = if loads { named & 0x7FFF } else { 0 };
    let last = 1u16.checked_shl(named.checked_ilog2().unwrap_or(0)).unwrap_or(0);
    IssueInstruction {
        cycles: named.count_ones().max(1) as u8,
        reads: base,
        writes: loaded | base,
        late: loaded & last,
        continuation: if jumps {
            Continuation::Elsewhere(REFILL_LOADED)
        } else {
            Continuation::Next
        },
        ..plain
    }
}

/// Describes an instruction of the floating-point unit.
fn float(slot: &Slot, plain: IssueInstruction) -> IssueInstruction {
    let base = bit(slot.n);
    let FloatOperands { reads, addend, writes } = float_operands(slot);
    let with = |float: IssueFloat, plain: IssueInstruction| IssueInstruction {
        float: Some(float),
        ..plain
    };
    match slot.op.group() {
        Group::FloatMultiplyAdd => with(
            IssueFloat {
                operands: reads,
                addend,
                writes,
                latency: 4,
                holds: 2,
                is_sum: true,
                ..IssueFloat::default()
            },
            plain,
        ),
        // DDI 0439, 7.2.3: the Cortex-M33's figures are not published.
        Group::FloatDivide => {
            let plain = IssueInstruction { cycles: 14, ..plain };
            with(IssueFloat { moved: reads, writes, ..IssueFloat::default() }, plain)
        }
        Group::Float => {
            let float = IssueFloat { operands: reads, writes, latency: 2, ..IssueFloat::default() };
            with(float, plain)
        }
        Group::FloatTransfer => transfer(slot, plain),
        Group::FloatMemory => {
            let words = (slot.aux & 0xFF) as u8;
            let list = matches!(slot.op, Op::Vldm | Op::Vstm);
            let float = IssueFloat { moved: reads, writes, ..IssueFloat::default() };
            let reads = if slot.op == Op::VldrLit { 0 } else { base };
            let writes = if list && slot.m == 1 { base } else { 0 };
            with(float, IssueInstruction { cycles: words.max(1), reads, writes, ..plain })
        }
        _ => plain,
    }
}

/// Describes a move between core and floating-point registers.
fn transfer(slot: &Slot, plain: IssueInstruction) -> IssueInstruction {
    let (core, other) = (bit(slot.d), bit(slot.a));
    let FloatOperands { reads, writes, .. } = float_operands(slot);
    let latency = if slot.op == Op::VmovPairFromCore { 2 } else { 0 };
    let float = IssueFloat { moved: reads, writes, latency, ..IssueFloat::default() };
    let rest = match slot.op {
        Op::VmovToCore => {
            IssueInstruction { writes: core, late: core, source: Source::Other, ..plain }
        }
        Op::VmovFromCore => IssueInstruction { moved: core, ..plain },
        Op::VmovPairToCore => IssueInstruction { cycles: 2, writes: core | other, ..plain },
        Op::VmovPairFromCore => IssueInstruction { moved: core | other, ..plain },
        Op::Vmrs if slot.d == 15 => IssueInstruction { flags: Flags::Set, ..plain },
        Op::Vmrs => IssueInstruction { writes: core, ..plain },
        _ => IssueInstruction { reads: core, ..plain },
    };
    IssueInstruction { float: Some(float), ..rest }
}
