//! The steps of instructions, and the removal of flags that nothing reads.

use super::steps::{AFTER, ALL_FLAGS, BEFORE, Code, INDEXED, OFFSET, Step};
use crate::armr::isa::op::{
    Address, Alu, Bits, Hint, Index, Instruction, Multiply, Narrow, Offset, Op, Rights,
    SecondOperand, Sign,
};
use crate::armr::timing::key;

/// Kinds of second operands beyond those of shifts.
const IMMEDIATE: u8 = 4;
const PLAIN: u8 = 5;
/// The bits of a key that depend on a store's waits.
const WAITS: u32 = 0xFF00;

/// Returns the step of an instruction whose condition holds, if it has one of its own. `key` is that
/// of the outcome with which the block continues.
pub fn step(it: &Instruction, inside_it: bool, key: u32) -> Option<Step> {
    match it.op {
        Op::Data(alu, second, _) => {
            let sets = it.sets_flags(inside_it) || alu.compares();
            data(it, alu, second, sets)
        }
        Op::AddressOf => Some(Step::constant(it.d, it.imm)),
        Op::Multiply(multiply, _) if !it.sets_flags(inside_it) => {
            let code = match multiply {
                Multiply::Mul => Code::Multiply,
                Multiply::Mla => Code::MultiplyAdd,
                Multiply::Umull => Code::MultiplyLong,
                _ => return None,
            };
            Some(Step { distance: it.a, ..Step::new(code, it.d, it.n, it.m, 0) })
        }
        Op::Extend(narrow, sign) if it.n == 15 && it.imm == 0 => {
            let code = match (narrow, sign) {
                (Narrow::Byte, Sign::Unsigned) => Code::ByteUnsigned,
                (Narrow::Byte, Sign::Signed) => Code::ByteSigned,
                (Narrow::Half, Sign::Unsigned) => Code::HalfUnsigned,
                (Narrow::Half, Sign::Signed) => Code::HalfSigned,
                (Narrow::Bytes, _) => return None,
            };
            Some(Step::new(code, it.d, it.n, it.m, 0))
        }
        Op::Bits(which) => bits(it, which),
        Op::Load(width, address, Rights::Own) if it.d != 15 && key == key::access(false) => {
            let form = form(it, address)?;
            if form == LITERAL {
                let is_word = width.bytes() == 4 && it.imm & 3 == 0;
                return is_word.then(|| Step::new(Code::LoadLiteral, it.d, 0, 0, it.imm));
            }
            Some(access(it, Code::load(width, form)))
        }
        Op::Store(width, address, Rights::Own) if it.d != 15 => {
            let form = form(it, address).filter(|form| *form != LITERAL)?;
            (key & !WAITS == key::access(false))
                .then(|| access(it, Code::store(width.bytes(), form)))
        }
        _ => None,
    }
}

/// Returns whether an instruction does nothing even if its condition holds.
pub const fn is_empty(it: &Instruction) -> bool {
    match it.op {
        Op::Hint(hint) => !matches!(hint, Hint::SendEvent),
        Op::IfThen | Op::Branch => true,
        _ => false,
    }
}

fn data(it: &Instruction, alu: Alu, second: SecondOperand, sets: bool) -> Option<Step> {
    let distance = it.shift.amount;
    let kind = match second {
        SecondOperand::Immediate => IMMEDIATE,
        // The immediate's carry matters only to operations that are no sums.
        SecondOperand::ImmediateCarry if !sets || alu.adds() => IMMEDIATE,
        SecondOperand::ImmediateCarry => return None,
        SecondOperand::Shifted if distance == 0 => PLAIN,
        // Where the distance may be that of a whole word, only an arithmetic shift leaves anything.
        SecondOperand::Shifted if distance < 32 && it.shift.kind < 4 => it.shift.kind,
        SecondOperand::Shifted => return None,
        SecondOperand::ByRegister => {
            let code = Code::moved_by(it.shift.kind).filter(|_| alu == Alu::Mov && !sets)?;
            return Some(Step::new(code, it.d, it.a, it.m, 0));
        }
    };
    match (alu, kind, sets) {
        (Alu::Mov, IMMEDIATE, false) => return Some(Step::constant(it.d, it.imm)),
        (Alu::Mvn, IMMEDIATE, false) => return Some(Step::constant(it.d, !it.imm)),
        _ => {}
    }
    let code = Code::data(alu, kind, sets)?;
    Some(Step { distance, ..Step::new(code, it.d, it.n, it.m, it.imm) })
}

fn bits(it: &Instruction, which: Bits) -> Option<Step> {
    let plain = |code| Some(Step::new(code, it.d, it.n, it.m, 0));
    match which {
        Bits::Extract(Sign::Unsigned) => {
            let field = u32::MAX >> (32 - u32::from(it.a).clamp(1, 32));
            let step = Step::new(Code::Extract, it.d, it.n, it.m, field);
            Some(Step { distance: it.imm as u8, ..step })
        }
        Bits::Clz => plain(Code::LeadingZeros),
        Bits::Rev => plain(Code::SwapBytes),
        Bits::Top => Some(Step::new(Code::Top, it.d, 0, 0, it.imm << 16)),
        _ => None,
    }
}

/// The form of an address that decoding has resolved.
const LITERAL: u8 = 4;

fn form(it: &Instruction, address: Address) -> Option<u8> {
    match (address.offset, address.index) {
        _ if it.aux == 1 => Some(LITERAL),
        (Offset::Immediate, Index::Offset) => Some(OFFSET),
        (Offset::Immediate, Index::Pre) => Some(BEFORE),
        (Offset::Immediate, Index::Post) => Some(AFTER),
        (Offset::Add, Index::Offset) if it.shift.kind == 0 => Some(INDEXED),
        _ => None,
    }
}

const fn access(it: &Instruction, code: Code) -> Step {
    let mut step = Step::new(code, it.d, it.n, it.m, it.imm);
    step.distance = it.shift.amount;
    step
}

/// Replaces steps by ones that set no flags, where other steps set the same flags before anything
/// reads them and before the block may end.
pub fn drop_flags(steps: &mut [Step]) {
    let mut live = ALL_FLAGS;
    for at in (0..steps.len()).rev() {
        if steps[at].code.compares_and_branches() {
            live = 0;
            continue;
        }
        let is_guarded = at > 0 && steps[at - 1].code == Code::Guard;
        if let Some((code, sets)) = steps[at].code.without_flags()
            && !is_guarded
        {
            if live & sets == 0 {
                steps[at].code = code;
            }
            live &= !sets;
        }
        live |= steps[at].code.reads_flags();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the codes that remain of steps with these.
    fn without_flags<const N: usize>(codes: [Code; N]) -> [Code; N] {
        let mut steps = codes.map(|code| Step::new(code, 0, 0, 0, 0));
        drop_flags(&mut steps);
        steps.map(|step| step.code)
    }

    #[test]
    fn flags_are_set_only_where_something_may_read_them() {
        use Code::{
            AdcSets, Add, AddSets, And, AndSets, Cmp, Expect, Guard, IfEqual, LoadWord, LslSets,
            MovLsl, Node, Nothing,
        };
        assert_eq!(without_flags([AddSets, Cmp, Cmp]), [Add, Nothing, Cmp]);
        assert_eq!(without_flags([AndSets, LslSets, IfEqual]), [And, MovLsl, IfEqual]);
        // A logical operation leaves the carry and the overflow.
        assert_eq!(without_flags([AddSets, AndSets]), [AddSets, AndSets]);
        assert_eq!(without_flags([AndSets, AddSets]), [And, AddSets]);
        assert_eq!(without_flags([AddSets, AdcSets]), [AddSets, AdcSets]);
        // Where a block may end, or the next step may be left out, everything is read.
        for reader in [LoadWord, Node, Expect] {
            assert_eq!(without_flags([AddSets, reader, Cmp]), [AddSets, reader, Cmp]);
        }
        assert_eq!(without_flags([AddSets, Guard, Cmp]), [AddSets, Guard, Cmp]);
        assert_eq!(without_flags([Guard, AddSets, Cmp]), [Guard, AddSets, Cmp]);
        assert_eq!(without_flags([AddSets]), [AddSets]);
    }
}
