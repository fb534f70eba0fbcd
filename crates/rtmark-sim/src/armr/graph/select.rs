//! The steps of instructions, and the removal of flags that nothing reads.

use super::access::AddressForm;
use super::data::Operand;
use super::operation::{ALL_FLAGS, Operation};
use super::steps::Operands;
use crate::armr::exec::Arch;
use crate::armr::isa::op::{
    Address, Alu, Bank, Hint, Index, Instruction, Multiply, Offset, Op, Order, Rights,
    SecondOperand, WriteBack,
};
use crate::armr::timing::key;
use crate::superblock::{LastOperand, last_operand};

/// The bits of a key that depend on a store's waits.
const WAITS: u32 = 0xFF00;

/// A step of a block under construction.
#[derive(Clone, Copy, Debug)]
pub struct Draft {
    pub operation: Operation,
    pub operands: Operands,
}

impl Draft {
    /// Returns a step of an operation on registers and an immediate.
    pub const fn new(operation: Operation, (a, b, c): (u8, u8, u8), value: u32) -> Self {
        Self { operation, operands: Operands::new(a, b, c, value) }
    }

    /// Returns a step of an operation that needs only a value.
    pub const fn with_value(operation: Operation, value: u32) -> Self {
        Self::new(operation, (0, 0, 0), value)
    }

    /// Returns a step with the operands of an instruction: `d`, `n`, `m` and `imm`.
    const fn of(operation: Operation, it: &Instruction) -> Self {
        Self::new(operation, (it.d, it.n, it.m), it.imm)
    }

    /// Returns the registers that an operation reads as its first and second operand, if it can have them
    /// from the step before.
    const fn reads(&self) -> [Option<u8>; 2] {
        let Operands { a, b, c, .. } = self.operands;
        match self.operation {
            Operation::Data(_, Operand::Immediate | Operand::Carrying, _) => [Some(b), None],
            Operation::Data(..) => [Some(b), Some(c)],
            Operation::DataAndBranch(..) => [Some(b), None],
            Operation::Load(_, form) | Operation::Store(_, form) => {
                let base = if matches!(form, AddressForm::Absolute) { None } else { Some(b) };
                let stored = matches!(self.operation, Operation::Store(..));
                [base, if stored { Some(a) } else { None }]
            }
            _ => [None, None],
        }
    }

    /// Returns the register whose value a step passes on, given that of the step before.
    const fn passes(&self, last: Option<u8>) -> Option<u8> {
        match self.operation {
            Operation::Data(alu, ..) | Operation::DataAndBranch(alu, ..) if alu.compares() => last,
            Operation::Constant
            | Operation::Data(..)
            | Operation::DataAndBranch(..)
            | Operation::Multiply(Multiply::Mul | Multiply::Mla | Multiply::Mls)
            | Operation::Extend(..)
            | Operation::Bits(_)
            | Operation::Load(..)
            | Operation::LoadConstant => Some(self.operands.a),
            Operation::Store(
                _,
                AddressForm::Absolute | AddressForm::Offset | AddressForm::Indexed,
            )
            | Operation::Nothing
            | Operation::Guard(_)
            | Operation::Expect(_)
            | Operation::Branch(_)
            | Operation::CompareWithZero(_) => last,
            _ => None,
        }
    }

    const fn and(mut self, d: u8) -> Self {
        self.operands.d = d;
        self
    }
}

/// Returns the step of an instruction whose condition holds, if it has one of its own. `key` is that
/// of the outcome with which the block continues.
pub fn step(it: &Instruction, inside_it: bool, key: u32, arch: &Arch) -> Option<Draft> {
    match it.op {
        Op::Data(alu, second, _) => {
            Some(data(it, alu, second, it.sets_flags(inside_it) || alu.compares()))
        }
        Op::AddressOf => Some(Draft::of(Operation::Constant, it)),
        Op::Multiply(multiply, _) if !it.sets_flags(inside_it) => {
            let is_known = matches!(
                multiply,
                Multiply::Mul
                    | Multiply::Mla
                    | Multiply::Mls
                    | Multiply::Umull
                    | Multiply::Smull
                    | Multiply::Umlal
                    | Multiply::Smlal
            );
            is_known.then(|| Draft::of(Operation::Multiply(multiply), it).and(it.a))
        }
        Op::Extend(narrow, sign) => Some(Draft::of(Operation::Extend(narrow, sign), it)),
        Op::Bits(bits) => Some(Draft::of(Operation::Bits(bits), it).and(it.a)),
        Op::Load(width, address, Rights::Own) if it.d != 15 && key == key::access(false) => {
            let form = form(it, address)?;
            if form == AddressForm::Absolute && width.bytes() == 4 && it.imm & 3 == 0 {
                let place = arch.system.bus.place(it.imm)?;
                if !arch.system.bus.is_writable(place.memory) {
                    let (word, _) = arch.system.bus.load(it.imm)?;
                    let mut draft = Draft::of(Operation::LoadConstant, it);
                    draft.operands.other = u32::from_le_bytes(word);
                    return Some(draft);
                }
            }
            Some(Draft::of(Operation::Load(width, form), it).and(it.shift.amount))
        }
        Op::Store(width, address, Rights::Own)
            if it.d != 15 && key & !WAITS == key::access(false) =>
        {
            let form = form(it, address)?;
            Some(Draft::of(Operation::Store(width, form), it).and(it.shift.amount))
        }
        Op::LoadDual(address) | Op::StoreDual(address) if address.offset == Offset::Immediate => {
            let form = form(it, address)?;
            let operation = match it.op {
                Op::LoadDual(_) => Operation::LoadDual(form),
                _ => Operation::StoreDual(form),
            };
            Some(Draft::new(operation, (it.d, it.n, it.a), it.imm))
        }
        Op::LoadMultiple(order, back, Bank::Own) if it.imm >> 15 == 0 => {
            list(Operation::LoadList, it, order, back)
        }
        Op::StoreMultiple(order, back, Bank::Own) if it.imm >> 15 == 0 => {
            list(Operation::StoreList, it, order, back)
        }
        _ => None,
    }
}

/// Returns the step of a load or store of a list of registers, if it has one.
pub fn list(
    operation: Operation,
    it: &Instruction,
    order: Order,
    back: WriteBack,
) -> Option<Draft> {
    let (first, moved) = order.addresses(0, it.imm.count_ones());
    let moved = if back == WriteBack::Yes { moved.cast_signed() } else { 0 };
    let operands = Operands::of_list(it.n, it.imm as u16, first.cast_signed(), moved);
    (it.n != 15 && it.imm != 0).then_some(Draft { operation, operands })
}

/// Returns whether an instruction does nothing even if its condition holds.
pub const fn is_empty(it: &Instruction) -> bool {
    match it.op {
        Op::Hint(hint) => !matches!(hint, Hint::SendEvent),
        Op::IfThen | Op::Branch => true,
        _ => false,
    }
}

fn data(it: &Instruction, alu: Alu, second: SecondOperand, sets: bool) -> Draft {
    let operand = Operand::of(it, second, sets && !alu.adds());
    match (alu, operand, sets) {
        (Alu::Mov, Operand::Immediate, false) => Draft::of(Operation::Constant, it),
        (Alu::Mvn, Operand::Immediate, false) => {
            Draft::new(Operation::Constant, (it.d, 0, 0), !it.imm)
        }
        _ => {
            let distance = if second == SecondOperand::ByRegister { it.a } else { it.shift.amount };
            Draft::of(Operation::Data(alu, operand, sets), it).and(distance)
        }
    }
}

/// Returns the form of an address, if steps know it.
fn form(it: &Instruction, address: Address) -> Option<AddressForm> {
    match (address.offset, address.index) {
        _ if it.aux == 1 => Some(AddressForm::Absolute),
        _ if it.n == 15 => None,
        (Offset::Immediate, Index::Offset) => Some(AddressForm::Offset),
        (Offset::Immediate, Index::Pre) => Some(AddressForm::Before),
        (Offset::Immediate, Index::Post) => Some(AddressForm::After),
        (Offset::Add, Index::Offset) if it.shift.kind == 0 && it.m != 15 => {
            Some(AddressForm::Indexed)
        }
        _ => None,
    }
}

/// Replaces steps by ones that set no flags, where other steps set the same flags before anything
/// reads them and before the block may end.
pub fn drop_flags(drafts: &mut [Draft]) {
    let mut is_guarded = vec![false; drafts.len()];
    for (at, draft) in drafts.iter().enumerate() {
        if let Operation::Guard(_) = draft.operation {
            is_guarded[at + 1..][..draft.operands.value as usize].fill(true);
        }
    }
    let mut live = ALL_FLAGS;
    let mut drop = |draft: &mut Draft, is_guarded: bool| {
        let flags = draft.operation.flags();
        if flags.sets != 0 && live & flags.sets == 0 {
            draft.operation = draft.operation.without_flags();
        }
        if !is_guarded {
            live &= !flags.sets;
        }
        live |= draft.operation.flags().reads;
    };
    drafts.iter_mut().zip(is_guarded).rev().for_each(|(draft, guarded)| drop(draft, guarded));
}

/// Returns which operand of each step is the last result.
pub fn last_operands(drafts: &[Draft]) -> Vec<LastOperand> {
    let (mut last, mut guarded) = (None, 0);
    let operand = |draft: &Draft| {
        let operand = last_operand(last, draft.reads());
        last = draft.passes(last);
        match draft.operation {
            Operation::Guard(_) => guarded = draft.operands.value,
            _ if guarded == 1 => {
                // The guarded steps may have been left out.
                (last, guarded) = (None, 0);
            }
            _ => guarded = guarded.saturating_sub(1),
        }
        operand
    };
    drafts.iter().map(operand).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::armr::graph::operation::Branch;
    use crate::armr::isa::op::Width;
    use crate::superblock::{FIRST, NEITHER, SECOND};

    /// Returns what remains of operations.
    fn without_flags<const N: usize>(operations: [Operation; N]) -> [Operation; N] {
        let mut drafts = operations.map(|operation| Draft::with_value(operation, 1));
        drop_flags(&mut drafts);
        drafts.map(|draft| draft.operation)
    }

    #[test]
    fn flags_are_set_only_where_something_may_read_them() {
        let sets = |alu, operand| Operation::Data(alu, operand, true);
        let plain = |alu, operand| Operation::Data(alu, operand, false);
        let (immediate, left) = (Operand::Immediate, Operand::Left);
        let [add, adc, and, cmp] =
            [Alu::Add, Alu::Adc, Alu::And, Alu::Cmp].map(|alu| sets(alu, immediate));
        let shift = sets(Alu::Mov, left);
        let branch = Branch { condition: 0, backwards: false };
        let compares = Operation::DataAndBranch(Alu::Cmp, immediate, branch);
        let tests = Operation::DataAndBranch(Alu::Tst, immediate, branch);
        let add_only = plain(Alu::Add, immediate);
        let and_only = plain(Alu::And, immediate);
        let load = Operation::Load(Width::Word, AddressForm::Offset);
        assert_eq!(without_flags([add, cmp, cmp]), [add_only, Operation::Nothing, cmp]);
        assert_eq!(
            without_flags([and, shift, compares]),
            [and_only, plain(Alu::Mov, left), compares]
        );
        // A logical operation leaves the overflow, and the carry unless it shifts.
        assert_eq!(without_flags([add, and]), [add, and]);
        assert_eq!(without_flags([add, tests]), [add, tests]);
        assert_eq!(without_flags([shift, and]), [shift, and]);
        assert_eq!(without_flags([and, add]), [and_only, add]);
        assert_eq!(without_flags([add, adc]), [add, adc]);
        // Where a block may end, or the next step may be left out, everything is read.
        for reader in [load, Operation::Node, Operation::Expect(0)] {
            assert_eq!(without_flags([add, reader, cmp]), [add, reader, cmp]);
        }
        let guard = Operation::Guard(0);
        assert_eq!(without_flags([add, guard, cmp]), [add, guard, cmp]);
        assert_eq!(without_flags([add_only, guard, add, cmp]), [add_only, guard, add_only, cmp]);
        assert_eq!(without_flags([add]), [add]);
    }

    #[test]
    fn only_the_last_result_is_passed_on() {
        let step = |operation, (a, b, c)| Draft::new(operation, (a, b, c), 1);
        let add = Operation::Data(Alu::Add, Operand::Register, false);
        let cmp = Operation::Data(Alu::Cmp, Operand::Register, true);
        let load = Operation::Load(Width::Word, AddressForm::Offset);
        let store = Operation::Store(Width::Word, AddressForm::Offset);
        let post = Operation::Store(Width::Word, AddressForm::After);
        let operands = |drafts: &[Draft]| last_operands(drafts);
        let (first, other) = (step(add, (1, 2, 3)), step(add, (4, 2, 1)));
        assert_eq!(operands(&[first, other]), [NEITHER, SECOND]);
        // Neither comparisons nor stores have a result, but some stores move their base register.
        assert_eq!(operands(&[first, step(cmp, (0, 1, 2)), other]), [NEITHER, FIRST, SECOND]);
        assert_eq!(operands(&[first, step(store, (1, 2, 0)), other]), [NEITHER, SECOND, SECOND]);
        assert_eq!(operands(&[first, step(post, (4, 1, 0)), other]), [NEITHER, FIRST, NEITHER]);
        // Another result replaces it.
        assert_eq!(operands(&[first, step(load, (5, 1, 0)), other]), [NEITHER, FIRST, NEITHER]);
        // The functions of nodes, and lists, may write anything.
        for unknown in [Operation::Node, Operation::LoadList, Operation::CallRegister] {
            let unknown = Draft::with_value(unknown, 0);
            assert_eq!(operands(&[first, unknown, other]), [NEITHER; 3]);
        }
        // What is guarded may not have been executed.
        let guard = Draft::with_value(Operation::Guard(0), 1);
        assert_eq!(operands(&[first, guard, other, other]), [NEITHER, NEITHER, SECOND, NEITHER]);
    }
}
