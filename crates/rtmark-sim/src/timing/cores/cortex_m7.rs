//! Cortex-M7: instructions are issued in order, two in a cycle where they fit together, to an early
//! and a late adder.
//!
//! Arm publishes no instruction timings for it (DDI 0489 has none). These rules were measured on an
//! STM32H743 (r1p1) by others: jnk0le/random, "pipeline cycle test", `doc/cortex_m7.md`. Each rule
//! has a section of loops in `tests/it/timing/cortex-m7.txt`, and the table names the code that
//! implements it:
//!
//! | rule | implemented in |
//! |---|---|
//! | two of a pair, and what cannot be paired | `Dual::pairs_with`, [`calculation`], [`classify`] |
//! | ADD, SUB, MOV, shifts, REV, RBIT in the early adder | [`calculation`], [`bits`], `Dual::occupy` |
//! | addresses and shifted operands are needed a cycle earlier | [`address`], [`calculation`], [`bits`] |
//! | MOVW and MOVT of a register pair | [`half`] |
//! | products: latency 2, sums of them 1 | [`multiplication`] |
//! | loads: 1, bytes and halfwords 2; two to words of different banks | [`load`], [`bank`] |
//! | stores take any result of the same cycle; parts of words are merged in four cycles | [`store`] |
//! | several registers: two a cycle | [`list`], [`classify`] |
//! | an unaligned load: 3 cycles more | `Rules::unaligned_load` |
//! | branches: predicted, or 8 cycles lost, 6 after flags that are three cycles old | [`branch`], `Dual::issue` |
//! | skipped in an IT block: as if executed | `Dual::issue` |
//! | floating point: latencies, VDIV, VSQRT, double precision by its operands | [`float`], [`double_extra`] |
//! | VMOV between core and floating-point registers | [`transfer`] |
//!
//! Neither published nor measured, and assumed here:
//!
//! - the branch predictor's behaviour (`timing::dual::Predictor`), and that a branch with its target
//!   in the encoding that is always taken is predicted from the first time on;
//! - two loads with different base registers access the same bank, since their banks depend on
//!   addresses;
//! - whether code is aligned or compressed never matters, so the target of a branch is issued together
//!   with it whenever it fits;
//! - integer divisions take as long as in the Cortex-M3, VSQRT in double precision as long as VDIV;
//!   exclusives, special registers and barriers 2 cycles, ISB as much as a misprediction loses;
//! - an unaligned load is counted as the older one, an unaligned STM as an aligned one;
//! - 12 cycles from an interrupt to its handler, as published for it; the rest of an exception's cost
//!   is the Cortex-M4's. An exception that arrives between two instructions that are issued together
//!   waits for the end of the older one.

use super::cortex_m4;
use crate::isa::{Group, Op, Slot};
use crate::timing::dual::{Alu, Bank, DualFloat, DualInstruction, Half, PairPlace, uses};
use crate::timing::operands::{
    FloatOperands, address, bit, float_operands, is_shifted_constant, single,
};
use crate::timing::{Classify, Divider, Rules};

pub const RULES: Rules = Rules {
    classify: Some(Classify::Dual(classify)),
    cost: |_| 0,
    skip: 0,
    divider: Some(Divider::FourDigitsACycle),
    long_multiply: None,
    double_extra,
    unaligned_load: 3,
    predicts_branches: true,
    refill: 0,
    refill_loaded: 0,
    entry: 12,
    late_arrival: 6,
    exit: 10,
    tail_chain: 6,
    fp_frame: 17,
    interruptible: cortex_m4::interruptible_in_order,
    longest: 33,
};

const fn double(register: u8) -> u32 {
    single(register) | single(register.wrapping_add(1))
}

/// One cycle, in either place of a pair.
const PLAIN: DualInstruction = DualInstruction {
    cycles: 1,
    place: PairPlace::Either,
    uses: 0,
    alu: Alu::Late,
    early: 0,
    late: 0,
    factors: 0,
    addend: 0,
    stored: 0,
    writes: 0,
    base: 0,
    latency: 0,
    stiff: false,
    word: false,
    sets_flags: false,
    reads_flags: false,
    merges: false,
    by_flags: false,
    bank: None,
    half: Half::None,
    float: None,
};

/// Returns an instruction of `cycles` cycles that is issued alone.
const fn alone(cycles: u8) -> DualInstruction {
    DualInstruction { cycles, place: PairPlace::Alone, ..PLAIN }
}

/// Describes an instruction with these halfwords. In an IT block, `slot` is the instruction as
/// decoded there.
pub fn classify(slot: &Slot, halves: [u16; 2]) -> DualInstruction {
    let op = slot.op;
    let (d, n, m, a) = (bit(slot.d), bit(slot.n), bit(slot.m), bit(slot.a));
    match op.group() {
        Group::Immediate | Group::Register | Group::Shifted | Group::Shift => {
            calculation(slot, halves)
        }
        Group::Bits => bits(slot),
        Group::Multiply | Group::Dsp => multiplication(slot),
        Group::Divide => DualInstruction { late: n | m, writes: d, ..alone(2) },
        Group::Load => load(slot),
        Group::LoadPc => {
            let base = if matches!(op, Op::LdrPcPre | Op::LdrPcPost) { n } else { 0 };
            DualInstruction { uses: uses::LOAD, early: address(slot), base, writes: base, ..PLAIN }
        }
        Group::StoreImmediate | Group::Store => store(slot),
        Group::Ordered if op == Op::Lda => DualInstruction { early: n, writes: d, ..alone(2) },
        Group::Ordered => DualInstruction { early: n, ..alone(2) },
        Group::Dual => {
            let base = if op != Op::LdrdLit && slot.aux != 0 { n } else { 0 };
            let loads = op != Op::Strd;
            let (loaded, stored) = if loads { (d | a, 0) } else { (0, d | a) };
            let (early, writes) = (address(slot), loaded | base);
            DualInstruction { early, stored, writes, base, word: loads, ..alone(1) }
        }
        Group::List => list(slot),
        Group::Exclusive if op == Op::Clrex => PLAIN,
        Group::Exclusive => DualInstruction { early: n, writes: d, ..alone(2) },
        Group::Branch => branch(slot),
        Group::Call => DualInstruction { writes: bit(14), ..jump(0) },
        Group::BranchRegister => {
            let writes = if op == Op::BlxR { bit(14) } else { 0 };
            let reads = if matches!(op, Op::Bx | Op::BlxR) { n } else { m };
            DualInstruction { writes, ..jump(reads) }
        }
        Group::Security if matches!(op, Op::Bxns | Op::Blxns) => jump(n),
        Group::BranchTable => DualInstruction { early: n | m, ..alone(2) },
        Group::Barrier if op == Op::Isb => alone(8),
        Group::Barrier => alone(2),
        Group::SpecialRegister if op == Op::Mrs => DualInstruction { writes: d, ..alone(2) },
        Group::SpecialRegister => DualInstruction { late: n, sets_flags: true, ..alone(2) },
        Group::Hint => PLAIN,
        Group::ChangeState | Group::Wait | Group::Raise => alone(1),
        _ => float(slot),
    }
}

const fn jump(reads: u16) -> DualInstruction {
    DualInstruction { uses: uses::BRANCH, late: reads, ..PLAIN }
}

/// Describes a branch with its target in the encoding.
const fn branch(slot: &Slot) -> DualInstruction {
    match slot.op {
        Op::B => jump(0),
        Op::Cbz | Op::Cbnz => jump(bit(slot.n)),
        _ => DualInstruction { by_flags: true, ..jump(0) },
    }
}

/// Returns the word that is loaded, where the encoding shows its bank in relation to others.
const fn bank(slot: &Slot) -> Bank {
    match slot.op {
        op if op.is_literal() => Some((15, slot.imm & 4 != 0)),
        Op::LdrI | Op::LdrbI | Op::LdrhI | Op::LdrsbI | Op::LdrshI | Op::Vldr => {
            Some((slot.n, slot.imm & 4 != 0))
        }
        Op::LdrPre | Op::LdrbPre | Op::LdrhPre | Op::LdrsbPre | Op::LdrshPre => {
            Some((slot.n, slot.imm & 4 != 0))
        }
        Op::LdrPost | Op::LdrbPost | Op::LdrhPost | Op::LdrsbPost | Op::LdrshPost => {
            Some((slot.n, false))
        }
        _ => None,
    }
}

fn load(slot: &Slot) -> DualInstruction {
    let base = if slot.op.moves_base() { bit(slot.n) } else { 0 };
    let name = slot.op.name();
    let is_part = ["Ldrb", "Ldrh", "Ldrs"].iter().any(|part| name.starts_with(part));
    DualInstruction {
        uses: uses::LOAD,
        early: address(slot),
        writes: bit(slot.d) | base,
        base,
        latency: u8::from(is_part),
        word: !is_part,
        bank: bank(slot),
        ..PLAIN
    }
}

fn store(slot: &Slot) -> DualInstruction {
    let base = if slot.op.moves_base() { bit(slot.n) } else { 0 };
    let name = slot.op.name();
    DualInstruction {
        uses: uses::STORE,
        early: address(slot),
        stored: bit(slot.d),
        writes: base,
        base,
        merges: name.starts_with("Strb") || name.starts_with("Strh"),
        ..PLAIN
    }
}

/// Returns the half that MOVW or MOVT writes. MOVW's sixteen bits are used as they are (DDI 0403,
/// A7.7.76).
const fn half(slot: &Slot, halves: [u16; 2]) -> Half {
    match slot.op {
        Op::MovI if slot.size() == 4 && halves[0] & 0xFBF0 == 0xF240 => Half::Lower(slot.d),
        Op::Movt => Half::Upper(slot.d),
        _ => Half::None,
    }
}

fn calculation(slot: &Slot, halves: [u16; 2]) -> DualInstruction {
    let op = slot.op;
    let (d, n, m) = (bit(slot.d), bit(slot.n), bit(slot.m));
    let name = op.name();
    let is = |stems: &[&str]| stems.iter().any(|stem| name.starts_with(stem));
    let (moves, compares) = (is(&["Mov"]), is(&["Tst", "Teq", "Cmp", "Cmn"]));
    let immediate = op.group() == Group::Immediate;
    let shift = op.group() == Group::Shift;
    // LSL and the like by a constant are MOV with a shift. RRX, which is one too, reads the carry.
    let shifts = shift || op.group() == Group::Shifted && moves;
    let rotates_carry = op.group() == Group::Shifted && slot.aux >> 8 == 4;
    let shifts_operand = op.group() == Group::Shifted && !moves;
    let shifts_constant = immediate && is_shifted_constant(slot, halves);
    let first = if moves || is(&["Mvn"]) { 0 } else { n };
    let second = if immediate { 0 } else { m };
    let (early, late) = if shifts_operand { (second, first) } else { (0, first | second) };
    let alu = match () {
        () if shifts_operand || shifts_constant || rotates_carry => Alu::Late,
        () if shifts => Alu::EarlyIfReady,
        () if is(&["Add", "Sub", "Mov"]) => Alu::EarlyIfOlder,
        () => Alu::Late,
    };
    DualInstruction {
        uses: if shifts_operand || shifts_constant { uses::SHIFTED } else { 0 },
        alu,
        early,
        late,
        writes: if compares { 0 } else { d },
        sets_flags: op.sets_flags(),
        reads_flags: is(&["Adc", "Sbc"]) || rotates_carry,
        half: half(slot, halves),
        ..PLAIN
    }
}

/// Bit fields, extensions, reversals and saturation: only as the older of a pair.
fn bits(slot: &Slot) -> DualInstruction {
    let (d, n, m) = (bit(slot.d), bit(slot.n), bit(slot.m));
    let plain = DualInstruction {
        place: PairPlace::Older,
        uses: uses::BITS,
        stiff: true,
        writes: d,
        ..PLAIN
    };
    let extracts = uses::BITS | uses::EXTRACTS;
    match slot.op {
        Op::Movt => DualInstruction { late: d, writes: d, half: half(slot, [0; 2]), ..PLAIN },
        Op::Bfc => DualInstruction { uses: extracts, late: d, ..plain },
        Op::Bfi => DualInstruction { uses: extracts, early: n, late: d, ..plain },
        Op::Sbfx | Op::Ubfx => {
            DualInstruction { uses: extracts, alu: Alu::Early, late: n, ..plain }
        }
        Op::Rbit | Op::Rev | Op::Rev16 | Op::Revsh => {
            DualInstruction { uses: extracts, alu: Alu::Early, late: m, ..plain }
        }
        Op::Sxtab | Op::Sxtah | Op::Uxtab | Op::Uxtah => {
            DualInstruction { uses: extracts, early: m, late: n, ..plain }
        }
        Op::Ssat | Op::Usat => DualInstruction { early: n, ..plain },
        _ => DualInstruction { late: m, ..plain },
    }
}

/// Products, sums of products, and other operations on parts of words.
fn multiplication(slot: &Slot) -> DualInstruction {
    let (d, n, m, a) = (bit(slot.d), bit(slot.n), bit(slot.m), bit(slot.a));
    let product = |writes: u16, addend: u16| DualInstruction {
        uses: uses::MULTIPLIER,
        factors: n | m,
        addend,
        writes,
        latency: 1,
        ..PLAIN
    };
    let parts = DualInstruction {
        place: PairPlace::Older,
        uses: uses::BITS,
        stiff: true,
        writes: d,
        ..PLAIN
    };
    let extracts = uses::BITS | uses::EXTRACTS;
    match slot.op {
        Op::Muls => DualInstruction { sets_flags: true, ..product(d, 0) },
        Op::Umull | Op::Smull => product(d | a, 0),
        Op::Umlal | Op::Smlal | Op::Smlalxy | Op::Smlald | Op::Smlsld | Op::Umaal => {
            product(d | a, d | a)
        }
        Op::Mla | Op::Mls | Op::Smlaxy | Op::Smlawy | Op::Smlad | Op::Smlsd => product(d, a),
        Op::Smmla | Op::Smmls | Op::Usada8 => product(d, a),
        Op::Mul | Op::Smulxy | Op::Smulwy | Op::Smuad | Op::Smusd | Op::Smmul | Op::Usad8 => {
            product(d, 0)
        }
        Op::Sxtab16 | Op::Uxtab16 | Op::Pkhbt => {
            DualInstruction { uses: extracts, early: m, late: n, ..parts }
        }
        Op::Pkhtb => DualInstruction { uses: extracts, early: m | n, ..parts },
        Op::Sxtb16 | Op::Uxtb16 => DualInstruction { late: m, ..parts },
        Op::Ssat16 | Op::Usat16 => DualInstruction { late: n, ..parts },
        Op::Sel => DualInstruction { late: n | m, reads_flags: true, ..parts },
        _ => DualInstruction { late: n | m, ..parts },
    }
}

fn list(slot: &Slot) -> DualInstruction {
    let named = slot.imm as u16;
    let loads = matches!(slot.op, Op::Ldm | Op::Ldmdb | Op::Pop);
    let stack = matches!(slot.op, Op::Push | Op::Pop);
    let pointer = bit(if stack { 13 } else { slot.n });
    let base = if stack || slot.aux == 1 { pointer } else { 0 };
    let (loaded, stored) = if loads { (named & 0x7FFF, 0) } else { (0, named & 0x7FFF) };
    DualInstruction {
        early: pointer,
        stored,
        writes: loaded | base,
        base,
        word: loads,
        ..alone(named.count_ones().div_ceil(2).max(1) as u8)
    }
}

/// Returns the cycles that an operation in double precision takes beyond its own, by its operands:
/// the tables' rows for numbers of one exponent and of several, denormal ones and zeros.
pub fn double_extra(op: Op, operands: [u64; 3]) -> u8 {
    let exponent = |bits: u64| bits >> 52 & 0x7FF;
    let [d, n, m] = operands;
    let is_sum = op.group() == Group::DoubleMultiplyAdd;
    let used: &[u64] = if is_sum { &[n, m, d] } else { &[n, m] };
    let has_zero = used[..2].iter().any(|&bits| bits << 1 == 0);
    let has_denormal = used.iter().any(|&bits| exponent(bits) == 0 && bits << 1 != 0);
    let differ = used.iter().any(|&bits| exponent(bits) != exponent(n));
    match op {
        Op::VaddD | Op::VsubD if has_zero || has_denormal => 2,
        Op::VaddD | Op::VsubD => differ.into(),
        Op::VmulD | Op::VnmulD => (!has_zero).into(),
        Op::VdivD if has_zero => 0,
        Op::VsqrtD if m << 1 == 0 => 0,
        Op::VdivD | Op::VsqrtD => 28,
        _ if is_sum && has_zero => 0,
        _ if is_sum && has_denormal => 4,
        _ if is_sum && differ => 2,
        _ if is_sum => 1,
        _ => 0,
    }
}

/// Describes an instruction of the floating-point unit.
fn float(slot: &Slot) -> DualInstruction {
    let op = slot.op;
    let arithmetic = DualInstruction { uses: uses::FLOAT, ..PLAIN };
    let with = |float: DualFloat, instruction: DualInstruction| DualInstruction {
        float: Some(float),
        ..instruction
    };
    match op.group() {
        Group::FloatMultiplyAdd => {
            // VMLA rounds its product first, which takes a stage longer.
            let fused = matches!(op, Op::Vfma | Op::Vfms | Op::Vfnma | Op::Vfnms);
            let latency = if fused { 5 } else { 6 };
            let FloatOperands { reads, addend, writes } = float_operands(slot);
            with(
                DualFloat {
                    operands: reads,
                    addend,
                    writes,
                    latency,
                    addend_latency: 3,
                    holds: 1,
                    ..DualFloat::default()
                },
                DualInstruction { uses: uses::FLOAT | uses::FLOAT_SUM, ..PLAIN },
            )
        }
        Group::FloatDivide => {
            let cycles = if op == Op::Vdiv { 16 } else { 14 };
            let FloatOperands { reads, writes, .. } = float_operands(slot);
            with(
                DualFloat {
                    operands: reads,
                    writes,
                    latency: cycles,
                    addend_latency: cycles,
                    holds: cycles,
                    ..DualFloat::default()
                },
                DualInstruction { cycles, place: PairPlace::Older, ..arithmetic },
            )
        }
        Group::Float => single_precision(slot, arithmetic),
        Group::Double | Group::DoubleMultiplyAdd | Group::DoubleDivide => double_precision(slot),
        Group::FloatTransfer => transfer(slot),
        Group::FloatMemory => memory(slot),
        _ => alone(1),
    }
}

fn single_precision(slot: &Slot, arithmetic: DualInstruction) -> DualInstruction {
    let FloatOperands { reads, writes, .. } = float_operands(slot);
    let float = DualFloat {
        operands: reads,
        writes,
        latency: 3,
        addend_latency: 3,
        holds: 1,
        waits_for_sums: matches!(slot.op, Op::Vadd | Op::Vsub | Op::VmovI),
        ..DualFloat::default()
    };
    let uses = match slot.op {
        Op::VmovI => uses::FLOAT_CONSTANT | uses::FLOAT_MOVE,
        Op::VmovR => uses::FLOAT_MOVE,
        _ => arithmetic.uses,
    };
    let reads_flags = slot.op == Op::Vsel;
    DualInstruction { uses, reads_flags, float: Some(float), ..arithmetic }
}

/// Double precision: only as the older of a pair. The cycles that depend on the operands are added
/// at execution.
fn double_precision(slot: &Slot) -> DualInstruction {
    let op = slot.op;
    let (d, n, m) = (double(slot.d), double(slot.n), double(slot.m));
    let sums = op.group() == Group::DoubleMultiplyAdd;
    let (operands, writes) = match op {
        Op::VcmpD | Op::VcmpeD => (d | m, 0),
        Op::VcmpZD | Op::VcmpeZD => (d, 0),
        Op::VmovID => (0, d),
        Op::VcvtFixedD => (d, d),
        Op::VcvtFromIntD | Op::VcvtToDouble => (single(slot.m), d),
        Op::VcvtToIntD | Op::VcvtDirectedD | Op::VcvtFromDouble => (m, single(slot.d)),
        Op::VabsD | Op::VnegD | Op::VmovRD | Op::VsqrtD | Op::VrintD | Op::VcvtHalfD => (m, d),
        _ => (n | m, d),
    };
    let cycles = match op.group() {
        Group::DoubleMultiplyAdd => 5,
        Group::DoubleDivide => 2,
        _ if matches!(op, Op::VmulD | Op::VnmulD) => 4,
        _ => 1,
    };
    // Three cycles after the last one of its own.
    let latency = cycles + 2;
    let float = DualFloat {
        operands,
        addend: if sums { d } else { 0 },
        writes,
        latency,
        addend_latency: latency,
        holds: cycles,
        ..DualFloat::default()
    };
    let uses = if sums { uses::FLOAT | uses::FLOAT_MOVE } else { uses::FLOAT };
    DualInstruction { cycles, place: PairPlace::Older, uses, float: Some(float), ..PLAIN }
}

fn memory(slot: &Slot) -> DualInstruction {
    let words = (slot.aux & 0xFF) as u8;
    let FloatOperands { reads, writes, .. } = float_operands(slot);
    let stores = matches!(slot.op, Op::Vstr | Op::Vstm);
    let is_list = matches!(slot.op, Op::Vldm | Op::Vstm);
    let float = if stores {
        DualFloat { stored: reads, ..DualFloat::default() }
    } else {
        DualFloat { writes, latency: 1, addend_latency: 3, ..DualFloat::default() }
    };
    // Pairs and lists wait for sums of products; single words do not, and only cannot be paired
    // with them.
    let waits_for_sums = is_list || words != 1;
    let early = if slot.op == Op::VldrLit { 0 } else { bit(slot.n) };
    let base = if is_list && slot.m == 1 { bit(slot.n) } else { 0 };
    let whole = if waits_for_sums { alone(words.div_ceil(2).max(1)) } else { PLAIN };
    DualInstruction {
        uses: uses::FLOAT_MOVE | if stores { uses::STORE } else { uses::LOAD },
        early,
        base,
        writes: base,
        bank: bank(slot),
        float: Some(DualFloat { waits_for_sums, ..float }),
        ..whole
    }
}

/// Describes a move between core and floating-point registers.
fn transfer(slot: &Slot) -> DualInstruction {
    let (core, other) = (bit(slot.d), bit(slot.a));
    let moves = DualInstruction { uses: uses::FLOAT_MOVE, ..PLAIN };
    let from_core =
        |writes: u32| DualFloat { writes, latency: 3, addend_latency: 3, ..DualFloat::default() };
    let to_core = |to_core: u32| DualFloat { to_core, ..DualFloat::default() };
    let (float, rest) = match slot.op {
        Op::VmovToCore => (to_core(single(slot.n)), DualInstruction { writes: core, ..moves }),
        Op::VmovFromCore => (from_core(single(slot.n)), DualInstruction { late: core, ..moves }),
        Op::VmovPairToCore => {
            (to_core(double(slot.m)), DualInstruction { writes: core | other, ..alone(1) })
        }
        Op::VmovPairFromCore => {
            (from_core(double(slot.m)), DualInstruction { late: core | other, ..alone(1) })
        }
        Op::Vmrs if slot.d == 15 => {
            (DualFloat::default(), DualInstruction { sets_flags: true, ..alone(1) })
        }
        Op::Vmrs => (DualFloat::default(), DualInstruction { writes: core, ..alone(1) }),
        _ => (DualFloat::default(), DualInstruction { late: core, ..alone(1) }),
    };
    DualInstruction { float: Some(float), ..rest }
}
