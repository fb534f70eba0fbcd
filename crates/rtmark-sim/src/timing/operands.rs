//! Which registers an instruction reads and writes, for the models that ask.
//!
//! Core registers are bits of a `u16`, single-precision registers bits of a `u32`.

use crate::isa::{Group, Op, Slot};

/// A core register other than the program counter, as a bit.
pub const fn bit(register: u8) -> u16 {
    1 << (register & 15) & 0x7FFF
}

/// A single-precision register, as a bit.
pub const fn single(register: u8) -> u32 {
    1 << (register & 31)
}

/// Returns the registers that form the address of a load or store of one register.
pub const fn address(slot: &Slot) -> u16 {
    let index = match slot.op {
        Op::LdrR | Op::LdrbR | Op::LdrhR | Op::LdrsbR | Op::LdrshR | Op::LdrPcR => bit(slot.m),
        Op::StrR | Op::StrbR | Op::StrhR => bit(slot.m),
        op if op.is_literal() => return 0,
        _ => 0,
    };
    bit(slot.n) | index
}

/// Returns whether an operation only sets flags: TST, TEQ, CMP and CMN.
pub const fn compares(op: Op) -> bool {
    matches!(
        op,
        Op::TstI | Op::TeqI | Op::CmpI | Op::CmnI | Op::TstR | Op::TeqR | Op::CmpR | Op::CmnR
    ) || matches!(op, Op::TstX | Op::TeqX | Op::CmpX | Op::CmnX)
}

/// Returns whether a wide instruction's constant is a shifted byte, rather than a plain byte, a
/// pattern of bytes or twelve bits as they are (DDI 0403, A5.3.2; DDI 0553, C1.5).
pub const fn is_shifted_constant(slot: &Slot, halves: [u16; 2]) -> bool {
    let [first, second] = halves;
    slot.size() == 4 && first & 0xFA00 == 0xF000 && (first & 0x400 != 0 || second & 0x4000 != 0)
}

/// The single-precision registers of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloatOperands {
    /// Those read, except an addend.
    pub reads: u32,
    /// The addend of a multiply-accumulate.
    pub addend: u32,
    pub writes: u32,
}

/// Returns the single-precision registers of an instruction of the floating-point unit.
pub fn float_operands(slot: &Slot) -> FloatOperands {
    let (d, n, m) = (single(slot.d), single(slot.n), single(slot.m));
    let pair = m | single(slot.m.wrapping_add(1));
    let of = |reads, writes| FloatOperands { reads, addend: 0, writes };
    match slot.op.group() {
        Group::FloatMultiplyAdd => FloatOperands { reads: n | m, addend: d, writes: d },
        Group::FloatDivide => of(if slot.op == Op::Vdiv { n | m } else { m }, d),
        Group::Float => match slot.op {
            Op::Vadd | Op::Vsub | Op::Vmul | Op::Vnmul => of(n | m, d),
            Op::Vsel | Op::Vmaxnm | Op::Vminnm => of(n | m, d),
            Op::Vcmp | Op::Vcmpe => of(d | m, 0),
            Op::VcmpZ | Op::VcmpeZ => of(d, 0),
            Op::VcvtFixed => of(d, d),
            Op::VmovI => of(0, d),
            _ => of(m, d),
        },
        Group::FloatTransfer => match slot.op {
            Op::VmovToCore => of(n, 0),
            Op::VmovFromCore => of(0, n),
            Op::VmovPairToCore => of(pair, 0),
            Op::VmovPairFromCore => of(0, pair),
            _ => of(0, 0),
        },
        Group::FloatMemory => {
            let words = (slot.aux & 0xFF) as u8;
            let named = (0..words).fold(0, |named, at| named | single(slot.d.wrapping_add(at)));
            if matches!(slot.op, Op::Vstr | Op::Vstm) { of(named, 0) } else { of(0, named) }
        }
        _ => FloatOperands::default(),
    }
}
