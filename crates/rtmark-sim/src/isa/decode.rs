//! Decodes an instruction's bits into a [`Slot`].
//!
//! Decoding resolves everything that depends only on the address and the encoding: branch targets and
//! literal addresses become absolute, modified immediates are expanded, and an operand that is the program
//! counter becomes a constant. So execution does not read register 15, except where that is UNPREDICTABLE (BX PC
//! branches to 0).

use super::encodings::{Encoding, NARROW, WIDE};
use super::form::{Form, Isa};
use super::t32::{expand_immediate, is_wide, sign_extend};
use super::{Op, Slot};

/// Decodes the instruction at `address`; `second` is ignored for 16-bit instructions.
pub fn decode(address: u32, first: u16, second: u16, supports: impl Fn(Isa) -> bool) -> Slot {
    Fields::find(address, first, second, supports)
        .and_then(|fields| fields.slot())
        .unwrap_or(Slot::undefined(if is_wide(first) { 4 } else { 2 }))
}

/// An encoding together with the bits from which its fields are extracted.
pub(super) struct Fields {
    pub(super) line: &'static Encoding,
    pub(super) bits: u32,
    address: u32,
    pub(super) size: u8,
}

impl Fields {
    /// Returns the line of the table that matches an instruction.
    pub(super) fn find(
        address: u32,
        first: u16,
        second: u16,
        supports: impl Fn(Isa) -> bool,
    ) -> Option<Self> {
        let (table, bits, size) = if is_wide(first) {
            (WIDE, u32::from(first) << 16 | u32::from(second), 4)
        } else {
            (NARROW, u32::from(first), 2)
        };
        let line = table.iter().find(|line| line.matches(bits) && supports(line.isa))?;
        Some(Self { line, bits, address, size })
    }

    pub(super) fn get(&self, letter: u8) -> u32 {
        self.line.field(letter, self.bits)
    }

    pub(super) fn has(&self, letter: u8) -> bool {
        self.line.pattern.as_bytes().contains(&letter)
    }

    /// Returns the value that reading the program counter gives: the address plus 4.
    fn pc(&self) -> u32 {
        self.address.wrapping_add(4)
    }

    pub(super) fn aligned_pc(&self) -> u32 {
        self.pc() & !3
    }

    /// Returns the slot, or `None` for a combination of fields that is not an instruction.
    #[expect(clippy::too_many_lines, reason = "a table: an arm a form of encodings")]
    pub(super) fn slot(&self) -> Option<Slot> {
        let line = self.line;
        let mut slot = Slot {
            op: if self.get(b's') == 1 { line.op_s } else { line.op },
            d: self.get(if self.has(b't') { b't' } else { b'd' }) as u8,
            n: self.get(b'n') as u8,
            m: self.get(b'm') as u8,
            a: self.get(b'a') as u8,
            extent: self.size,
            cost: 1,
            imm: self.get(b'i'),
            aux: 0,
        };
        match line.form {
            Form::Plain => self.plain(&mut slot),
            Form::Times2 => slot.imm *= 2,
            Form::Times4 => slot.imm *= 4,
            Form::Same => slot.n = slot.d,
            Form::SpTimes4 => (slot.n, slot.imm) = (13, slot.imm * 4),
            Form::SpAdjust => (slot.d, slot.n, slot.imm) = (13, 13, slot.imm * 4),
            Form::ShiftImmediate(kind) => {
                (slot.op, slot.aux) = shifted(slot.op, u32::from(kind), slot.imm);
            }
            Form::Negate => slot.imm = 0,
            Form::HighAdd | Form::HighCompare | Form::HighMove => self.high(&mut slot),
            Form::Target => (slot.n, slot.m) = (slot.m, 0),
            Form::PcRelative => slot.imm = self.aligned_pc().wrapping_add(slot.imm * 4),
            Form::PcRelativeAdd => slot.imm = self.aligned_pc().wrapping_add(slot.imm),
            Form::PcRelativeSub => slot.imm = self.aligned_pc().wrapping_sub(slot.imm),
            Form::BranchT1 | Form::BranchT2 | Form::BranchT3 | Form::BranchT4 => {
                self.branch(&mut slot);
            }
            Form::CompareBranch => slot.imm = self.pc().wrapping_add(slot.imm * 2),
            Form::PushList => {
                let list = self.get(b'r');
                slot.imm = (list & 0xFF) | (list >> 8) << 14;
                (slot.n, slot.aux) = (13, 1);
            }
            Form::PopList => {
                let list = self.get(b'r');
                slot.imm = (list & 0xFF) | (list >> 8) << 15;
                (slot.n, slot.aux) = (13, 1);
            }
            Form::LowList => {
                slot.imm = self.get(b'r');
                let loads_base = slot.op == Op::Ldm && slot.imm >> slot.n & 1 == 1;
                slot.aux = u32::from(!loads_base);
            }
            Form::ChangeState => slot.aux = self.get(b'j'),
            Form::Expand => slot.imm = expand_immediate(slot.imm).0,
            Form::ExpandCarry => {
                let (imm, carries) = expand_immediate(slot.imm);
                (slot.imm, slot.aux) = (imm, u32::from(carries));
            }
            Form::Shifted => {
                if matches!(slot.op, Op::Pkhbt | Op::Pkhtb) {
                    let kind = if slot.op == Op::Pkhtb { 2 } else { 0 };
                    slot.aux = shift_code(kind, slot.imm);
                } else {
                    (slot.op, slot.aux) = shifted(slot.op, self.get(b'y'), slot.imm);
                }
            }
            Form::Wide => slot.imm |= self.get(b'j') << 12,
            Form::BitField => slot.aux = self.get(b'j') + 1,
            Form::BitFieldInsert => {
                // The field holds the most significant bit; the slot holds the width instead.
                slot.aux = (self.get(b'j') + 1).checked_sub(slot.imm)?;
                if slot.aux == 0 {
                    return None;
                }
            }
            Form::Saturate => {
                let kind = self.get(b'y') * 2;
                // ASR #0 here would be SSAT16 or USAT16, which cores without DSP lack.
                if kind == 2 && slot.imm == 0 {
                    return None;
                }
                slot.aux = shift_code(kind, slot.imm);
                slot.imm = self.get(b'j') + u32::from(slot.op == Op::Ssat);
            }
            Form::Saturate16 => slot.imm += u32::from(slot.op == Op::Ssat16),
            Form::Extend => slot.imm = self.get(b'y') * 8,
            Form::Offset12 => Self::single_transfer(&mut slot)?,
            Form::Indexed => self.indexed(&mut slot)?,
            Form::RegisterOffset => {
                (slot.aux, slot.imm) = (slot.imm, 0);
                Self::single_transfer(&mut slot)?;
            }
            Form::Literal => {
                slot.imm = self.pc_offset(slot.imm);
                Self::single_transfer(&mut slot)?;
            }
            Form::Dual => {
                slot.imm = self.signed_offset(slot.imm * 4);
                slot.aux = self.index_mode();
            }
            Form::DualLiteral => slot.imm = self.pc_offset(slot.imm * 4),
            Form::Exclusive => {
                slot.imm *= 4;
                // Strex has the status register in `d` and the stored one in `t`.
                if self.has(b'd') {
                    (slot.d, slot.a) = (self.get(b'd') as u8, self.get(b't') as u8);
                }
            }
            Form::Ordered(bytes) => slot.aux = bytes.into(),
            Form::List => {
                slot.imm = self.get(b'r');
                slot.aux = self.get(b'w');
                if slot.imm == 0 {
                    return None;
                }
            }
            Form::System => slot.aux = self.get(b'j'),
            Form::Variant => slot.aux = self.get(b'y'),
            Form::Whole => slot.imm = self.bits,
            Form::Undefined => {}
            _ => self.floating_point(&mut slot)?,
        }
        Some(slot)
    }

    fn plain(&self, slot: &mut Slot) {
        match slot.op {
            Op::It => slot.imm |= self.get(b'c') << 4,
            // Extensions take their rotation from `imm`, a field that 16-bit encodings lack.
            Op::Sxtb | Op::Sxth | Op::Uxtb | Op::Uxth => slot.imm = 0,
            _ => {}
        }
    }

    fn high(&self, slot: &mut Slot) {
        let pc = self.pc();
        match (self.line.form, slot.d, slot.m) {
            (Form::HighMove, 15, 15) => (slot.op, slot.imm) = (Op::B, pc),
            (Form::HighMove, 15, _) => slot.op = Op::MovPc,
            (Form::HighMove, _, 15) => (slot.op, slot.imm) = (Op::MovI, pc),
            (Form::HighAdd, 15, 15) => (slot.op, slot.imm) = (Op::B, pc.wrapping_add(pc)),
            (Form::HighAdd, 15, _) => (slot.op, slot.imm) = (Op::AddPc, pc),
            (Form::HighAdd, d, 15) => (slot.op, slot.n, slot.imm) = (Op::AddI, d, pc),
            (Form::HighAdd, d, _) => slot.n = d,
            (_, _, 15) => (slot.op, slot.imm) = (Op::CmpI, pc),
            _ => {}
        }
    }

    fn branch(&self, slot: &mut Slot) {
        let (imm, j) = (self.get(b'i'), self.get(b'j'));
        let (j1, j2) = (j >> 1, j & 1);
        let offset = match self.line.form {
            Form::BranchT1 => sign_extend(imm, 8) << 1,
            Form::BranchT2 => sign_extend(imm, 11) << 1,
            Form::BranchT3 => {
                let sign = imm >> 17;
                sign_extend(sign << 19 | j2 << 18 | j1 << 17 | (imm & 0x1_FFFF), 20) << 1
            }
            _ => {
                let sign = imm >> 21;
                let (i1, i2) = (!(j1 ^ sign) & 1, !(j2 ^ sign) & 1);
                sign_extend(sign << 23 | i1 << 22 | i2 << 21 | (imm & 0x1F_FFFF), 24) << 1
            }
        };
        if self.has(b'c') {
            slot.op = conditional_branch(self.get(b'c'));
        }
        slot.imm = self.pc().wrapping_add(offset);
    }

    fn signed_offset(&self, offset: u32) -> u32 {
        if self.get(b'u') == 1 { offset } else { offset.wrapping_neg() }
    }

    fn pc_offset(&self, offset: u32) -> u32 {
        self.aligned_pc().wrapping_add(self.signed_offset(offset))
    }

    /// Returns the addressing mode: 0 offset, 1 pre-indexed, 2 post-indexed.
    fn index_mode(&self) -> u32 {
        match (self.get(b'p'), self.get(b'w')) {
            (1, 0) => 0,
            (1, _) => 1,
            _ => 2,
        }
    }

    fn indexed(&self, slot: &mut Slot) -> Option<()> {
        if self.get(b'p') == 0 && self.get(b'w') == 0 {
            return None;
        }
        slot.imm = self.signed_offset(slot.imm);
        slot.op = match self.index_mode() {
            // DDI 0403, A7.7.67 and similar sections: no write-back, and an addition.
            0 if self.get(b'u') == 1 && slot.d != 15 => indexed_op(slot.op, Op::Ldrt),
            0 => slot.op,
            1 => indexed_op(slot.op, Op::LdrPre),
            _ => indexed_op(slot.op, Op::LdrPost),
        };
        Self::single_transfer(slot)
    }

    /// Resolves a transfer of register 15: a load of a word is a branch, a narrower load is a hint, and a
    /// store is not an instruction.
    fn single_transfer(slot: &mut Slot) -> Option<()> {
        if slot.d != 15 {
            return Some(());
        }
        slot.op = match slot.op {
            Op::LdrI => Op::LdrPcI,
            Op::LdrR => Op::LdrPcR,
            Op::LdrPre => Op::LdrPcPre,
            Op::LdrPost => Op::LdrPcPost,
            Op::LdrLit => Op::LdrPcLit,
            Op::StrI | Op::StrbI | Op::StrhI | Op::StrR | Op::StrbR | Op::StrhR => return None,
            Op::StrPre | Op::StrbPre | Op::StrhPre => return None,
            Op::StrPost | Op::StrbPost | Op::StrhPost => return None,
            _ => Op::Pld,
        };
        Some(())
    }

    /// Returns a single-precision register number; the extension bit is its lowest bit.
    fn single(&self, letter: u8, extension: u8) -> u8 {
        (self.get(letter) << 1 | self.get(extension)) as u8
    }

    /// Returns an operand register of the given precision.
    fn float(&self, letter: u8, extension: u8, precision: Precision) -> Option<u8> {
        match precision {
            Precision::Single => Some(self.single(letter, extension)),
            Precision::Double => self.double(letter, extension),
        }
    }

    /// Returns the first of the two single registers that overlap a double register.
    fn double(&self, letter: u8, extension: u8) -> Option<u8> {
        let number = self.get(extension) << 4 | self.get(letter);
        (number < 16).then_some((number * 2) as u8)
    }

    fn floating_point(&self, slot: &mut Slot) -> Option<()> {
        slot.aux = self.get(b'y');
        let (result, operand) = Precision::of(slot);
        match self.line.form {
            Form::FpThree => {
                slot.d = self.float(b'd', b'D', result)?;
                slot.n = self.float(b'n', b'N', operand)?;
                slot.m = self.float(b'm', b'M', operand)?;
            }
            Form::FpTwo | Form::FpConvert | Form::FpRounding(_) => {
                slot.d = self.float(b'd', b'D', result)?;
                slot.m = self.float(b'm', b'M', operand)?;
                if let Form::FpRounding(kind) = self.line.form {
                    slot.aux += u32::from(kind) | self.get(b'j') << 3;
                }
            }
            Form::FpOne => slot.d = self.float(b'd', b'D', result)?,
            Form::FpImmediate => {
                slot.d = self.float(b'd', b'D', result)?;
                slot.imm = match result {
                    Precision::Single => expand_float(slot.imm),
                    Precision::Double => expand_double(slot.imm),
                };
            }
            Form::FpFixed => {
                slot.d = self.float(b'd', b'D', result)?;
                let width = if slot.aux & 1 == 1 { 32 } else { 16 };
                slot.imm = u32::checked_sub(width, slot.imm << 1 | self.get(b'j'))?;
            }
            Form::FpCore => slot.n = self.single(b'n', b'N'),
            Form::FpScalar => slot.n = self.double(b'n', b'N')? + slot.aux as u8,
            Form::FpPair => slot.m = self.single(b'm', b'M'),
            Form::FpPairDouble => slot.m = self.double(b'm', b'M')?,
            Form::FpMemory | Form::FpMemoryDouble => {
                let double = self.line.form == Form::FpMemoryDouble;
                slot.d = if double { self.double(b'd', b'D')? } else { self.single(b'd', b'D') };
                slot.aux = 1 + u32::from(double);
                if slot.n == 15 && slot.op == Op::Vldr {
                    (slot.op, slot.imm) = (Op::VldrLit, self.pc_offset(slot.imm * 4));
                } else {
                    slot.imm = self.signed_offset(slot.imm * 4);
                }
            }
            _ => self.fp_list(slot)?,
        }
        Some(())
    }

    fn fp_list(&self, slot: &mut Slot) -> Option<()> {
        let double = self.line.form == Form::FpListDouble;
        slot.d = if double { self.double(b'd', b'D')? } else { self.single(b'd', b'D') };
        let words = slot.imm;
        let count = if double { words & !1 } else { words };
        if count == 0 || u32::from(slot.d) + count > 32 {
            return None;
        }
        // `imm`: where the lowest register goes; `m`: write-back; `a`: downwards.
        (slot.imm, slot.a) = match (self.get(b'p'), self.get(b'u'), self.get(b'w')) {
            (0, 1, _) => (0, 0),
            (1, 0, 1) => ((words * 4).wrapping_neg(), 1),
            _ => return None,
        };
        slot.m = self.get(b'w') as u8;
        slot.aux = count | words << 8;
        Some(())
    }
}

/// Encodes a shift as `type << 8 | amount`, after DecodeImmShift (DDI 0403, A7.4.2).
const fn shift_code(kind: u32, amount: u32) -> u32 {
    match (kind, amount) {
        (1 | 2, 0) => kind << 8 | 32,
        (3, 0) => 4 << 8 | 1,
        _ => kind << 8 | amount,
    }
}

/// Returns the operation on a shifted register, or the one on a plain register if there is no shift.
fn shifted(op: Op, kind: u32, amount: u32) -> (Op, u32) {
    if kind == 0 && amount == 0 { (op.unshifted(), 0) } else { (op, shift_code(kind, amount)) }
}

/// VFPExpandImm for single precision (DDI 0403, A6.4.1).
const fn expand_float(imm8: u32) -> u32 {
    let exponent = if imm8 & 0x40 == 0 { 0x4000_0000 } else { 0x3E00_0000 };
    (imm8 & 0x80) << 24 | exponent | (imm8 & 0x3F) << 19
}

/// Returns the upper word of VFPExpandImm for double precision; the lower word is zero.
const fn expand_double(imm8: u32) -> u32 {
    let exponent = if imm8 & 0x40 == 0 { 0x4000_0000 } else { 0x3FC0_0000 };
    (imm8 & 0x80) << 24 | exponent | (imm8 & 0x3F) << 16
}

/// The precision of a register.
#[derive(Clone, Copy)]
pub(super) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Returns the precision of an operation's result and that of its operands.
    pub(super) const fn of(slot: &Slot) -> (Self, Self) {
        match slot.op {
            Op::VcvtToIntD | Op::VcvtDirectedD | Op::VcvtFromDouble => (Self::Single, Self::Double),
            Op::VcvtFromIntD | Op::VcvtToDouble => (Self::Double, Self::Single),
            Op::VcvtHalfD if slot.aux & 2 != 0 => (Self::Single, Self::Double),
            Op::VcvtHalfD => (Self::Double, Self::Single),
            op if op.is_double() => (Self::Double, Self::Double),
            _ => (Self::Single, Self::Single),
        }
    }
}

fn conditional_branch(condition: u32) -> Op {
    const BRANCHES: [Op; 14] = [
        Op::Beq,
        Op::Bne,
        Op::Bcs,
        Op::Bcc,
        Op::Bmi,
        Op::Bpl,
        Op::Bvs,
        Op::Bvc,
        Op::Bhi,
        Op::Bls,
        Op::Bge,
        Op::Blt,
        Op::Bgt,
        Op::Ble,
    ];
    BRANCHES.get(condition as usize).copied().unwrap_or(Op::Undefined)
}

/// Returns the pre- or post-indexed counterpart of an immediate-offset transfer.
fn indexed_op(op: Op, first: Op) -> Op {
    const OFFSET: [Op; 8] =
        [Op::LdrI, Op::LdrbI, Op::LdrhI, Op::LdrsbI, Op::LdrshI, Op::StrI, Op::StrbI, Op::StrhI];
    const PRE: [Op; 8] = [
        Op::LdrPre,
        Op::LdrbPre,
        Op::LdrhPre,
        Op::LdrsbPre,
        Op::LdrshPre,
        Op::StrPre,
        Op::StrbPre,
        Op::StrhPre,
    ];
    const POST: [Op; 8] = [
        Op::LdrPost,
        Op::LdrbPost,
        Op::LdrhPost,
        Op::LdrsbPost,
        Op::LdrshPost,
        Op::StrPost,
        Op::StrbPost,
        Op::StrhPost,
    ];
    const UNPRIVILEGED: [Op; 8] =
        [Op::Ldrt, Op::Ldrbt, Op::Ldrht, Op::Ldrsbt, Op::Ldrsht, Op::Strt, Op::Strbt, Op::Strht];
    let variants = match first {
        Op::LdrPre => PRE,
        Op::LdrPost => POST,
        _ => UNPRIVILEGED,
    };
    OFFSET.iter().position(|&offset| offset == op).map_or(Op::Undefined, |at| variants[at])
}

macro_rules! variants {
    ($op:expr, $($from:ident => $to:ident),* $(,)?) => {
        match $op { $(Op::$from => Op::$to,)* other => other }
    };
}

impl Op {
    /// Returns the operation on a plain register that corresponds to one on a shifted register.
    fn unshifted(self) -> Self {
        variants!(self,
            AndX => AndR, AndsX => AndsR, OrrX => OrrR, OrrsX => OrrsR, EorX => EorR,
            EorsX => EorsR, BicX => BicR, BicsX => BicsR, OrnX => OrnR, OrnsX => OrnsR,
            MovX => MovR, MovsX => MovsR, MvnX => MvnR, MvnsX => MvnsR, AddX => AddR,
            AddsX => AddsR, SubX => SubR, SubsX => SubsR, AdcX => AdcR, AdcsX => AdcsR,
            SbcX => SbcR, SbcsX => SbcsR, RsbX => RsbR, RsbsX => RsbsR, TstX => TstR,
            TeqX => TeqR, CmpX => CmpR, CmnX => CmnR,
        )
    }

    /// Returns what a 16-bit instruction does inside an IT block, where it does not set flags.
    pub fn inside_it(self) -> Self {
        variants!(self,
            MovsX => MovX, MovsR => MovR, AddsR => AddR, SubsR => SubR, AddsI => AddI,
            SubsI => SubI, MovsI => MovI, AndsR => AndR, EorsR => EorR, LslsR => LslR,
            LsrsR => LsrR, AsrsR => AsrR, AdcsR => AdcR, SbcsR => SbcR, RorsR => RorR,
            RsbsI => RsbI, OrrsR => OrrR, Muls => Mul, BicsR => BicR, MvnsR => MvnR,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v7(first: u16, second: u16) -> Slot {
        decode(0x1000, first, second, |_| true)
    }

    #[test]
    fn branch_targets_are_decoded() {
        assert_eq!((v7(0xE7FE, 0).op, v7(0xE7FE, 0).imm), (Op::B, 0x1000));
        assert_eq!((v7(0xD1FC, 0).op, v7(0xD1FC, 0).imm), (Op::Bne, 0xFFC));
        // bl . + 4, bl . - 0x1000, bne.w .
        assert_eq!((v7(0xF000, 0xF800).op, v7(0xF000, 0xF800).imm), (Op::Bl, 0x1004));
        assert_eq!(v7(0xF7FE, 0xFFFE).imm, 0x1000 + 4 - 0x1004);
        assert_eq!((v7(0xF47F, 0xAFFE).op, v7(0xF47F, 0xAFFE).imm), (Op::Bne, 0x1000));
    }

    #[test]
    fn pc_relative_operands_become_constants() {
        let mov = v7(0x46F8, 0); // mov r8, pc
        assert_eq!((mov.op, mov.d, mov.imm), (Op::MovI, 8, 0x1004));
        let adr = v7(0xA001, 0); // adr r0, . + 8
        assert_eq!((adr.op, adr.d, adr.imm), (Op::MovI, 0, 0x1008));
        let ldr = v7(0x4B02, 0);
        assert_eq!((ldr.op, ldr.d, ldr.imm), (Op::LdrLit, 3, 0x100C));
    }

    #[test]
    fn immediates_are_expanded() {
        let mov = v7(0xF04F, 0x30FF); // mov.w r0, #0xffffffff
        assert_eq!((mov.op, mov.d, mov.imm, mov.aux), (Op::MovI, 0, u32::MAX, 0));
        let movs = v7(0xF05F, 0x4000); // movs.w r0, #0x80000000
        assert_eq!((movs.op, movs.imm, movs.aux), (Op::MovsI, 0x8000_0000, 1));
        assert_eq!(expand_float(0x70), 1.0f32.to_bits());
        assert_eq!(expand_float(0x80), (-2.0f32).to_bits());
    }

    #[test]
    fn older_cores_lack_newer_instructions() {
        let v6 = |first, second| decode(0, first, second, |isa| isa == Isa::V6M).op;
        assert_eq!(v6(0xBF08, 0), Op::Undefined); // it eq
        assert_eq!(v6(0xFBB0, 0xF0F1), Op::Undefined); // udiv r0, r0, r1
        assert_eq!(v7(0xFBB0, 0xF0F1).op, Op::Udiv);
        assert_eq!(v6(0xF3BF, 0x8F6F), Op::Isb);
    }
}
