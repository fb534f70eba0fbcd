//! The steps of a schedule as operations that host code can do (`rtmark_codegen`).
//!
//! Only what completes on the fast path is translated, and only as long as everything goes as the schedule
//! expects; everything else is a step from which threaded code continues.

use rtmark_codegen::{
    Accumulate, Address, Bitwise, Datum, FlagEffect, List, Offset, Operand, Operation, Part,
    STACK_POINTER, Shift, Step, Sum, Unary, WriteBack,
};

use crate::engine::block::ScheduledOp;
use crate::engine::micro_op::Kind;
use crate::exec::{PerOperation, operations};
use crate::isa::decode::CONDITIONAL_BRANCHES;
use crate::isa::{Group, Op, Slot};
use crate::timing::Rules;

/// What a function returns: the number of a step, from which execution continues, or one of these with the number of
/// the step that ended the pass.
pub const LEFT: u32 = 1 << 16;
/// The step is a direct branch that was taken.
pub const JUMPED: u32 = 2 << 16;

/// Steps that follow each other, as operations.
pub struct HostSegment {
    /// The number of its first step.
    pub start: usize,
    pub operations: Vec<Step>,
    /// What its function returns after all of them.
    pub end: u32,
}

/// Returns the segments of steps that host code can execute, among the first `length`. `base` is the address of the
/// first instruction.
pub fn segments(
    steps: &[ScheduledOp],
    length: usize,
    base: u32,
    rules: &Rules,
) -> Vec<HostSegment> {
    let mut segments = Vec::new();
    let mut at = 0;
    while at < length.min(steps.len()) {
        let start = at;
        let (operations, end) = translate(steps, &mut at, length, base, rules);
        if at - start >= FEWEST {
            segments.push(HostSegment { start, operations, end });
        }
        // The step after it, and a check of the facts that this one has shown, execute as threaded code.
        at += 1;
        while steps.get(at).is_some_and(|step| step.begin.kind == Kind::CheckFacts) {
            at += 1;
        }
    }
    segments
}

/// The fewest steps for which host code is faster.
const FEWEST: usize = 3;

/// Translates steps from one on, up to the first one that cannot be; returns their operations, and what their function
/// returns.
fn translate(
    steps: &[ScheduledOp],
    at: &mut usize,
    length: usize,
    base: u32,
    rules: &Rules,
) -> (Vec<Step>, u32) {
    let mut operations = Vec::new();
    while let Some(step) = steps.get(*at).filter(|_| *at < length) {
        let number = *at as u32;
        if let Kind::If(condition) = step.begin.kind {
            let Some(next) = select(steps, *at, condition, rules, &mut operations) else { break };
            *at = next;
            continue;
        }
        let Some(operation) = operation(step, rules) else { break };
        let otherwise = match (step.begin.kind, step.slot.op.group()) {
            (Kind::ExpectedIt | Kind::CheckCondition, _) | (Kind::Followed, Group::Branch) => LEFT,
            (Kind::Plain, Group::Branch) => JUMPED,
            _ => 0,
        };
        let is_followed = step.begin.kind == Kind::Followed;
        let is_last = *at + 1 == steps.len();
        let is_direct = matches!(step.slot.op.group(), Group::Branch | Group::Call);
        let ends = is_followed && is_last || step.micro().ends_block();
        if ends && !is_direct {
            break;
        }
        operations.push(Step { number: number | otherwise, operation });
        let is_skipped = step.begin.kind == Kind::Skip;
        if !is_skipped && matches!(step.slot.op, Op::Bl | Op::BlxR) {
            operations.push(Step { number, operation: link(step, base) });
        }
        *at += 1;
        if ends {
            return (operations, number | JUMPED);
        }
    }
    (operations, *at as u32)
}

/// Translates an if-converted IT and both its ways; returns the number of the step after them.
fn select(
    steps: &[ScheduledOp],
    at: usize,
    condition: u8,
    rules: &Rules,
    operations: &mut Vec<Step>,
) -> Option<usize> {
    let then = steps.get(at + 1..)?.get(..steps[at].slot.aux as usize)?;
    let behind = at + 1 + then.len();
    let (then, otherwise) = match then.split_last() {
        Some((hop, then)) if hop.begin.kind == Kind::Hop => {
            (then, steps.get(behind..)?.get(..hop.slot.aux as usize)?)
        }
        _ => (then, &[][..]),
    };
    let next = behind + otherwise.len();
    let number = at as u32;
    let calculate = |way: &[ScheduledOp]| -> Option<Vec<Step>> {
        let calculations = way.iter().map(|step| {
            let operation = operation(step, rules)?;
            step.micro().only_calculates().then_some(Step { number, operation })
        });
        calculations.collect()
    };
    let (first, second) = (calculate(then)?, calculate(otherwise)?);
    // Where the pass would end with one of the ways, threaded code decides.
    steps.get(next)?;
    let (then, otherwise) = (first.len().try_into().ok()?, second.len().try_into().ok()?);
    let operation = Operation::Select { condition, then, otherwise };
    operations.push(Step { number, operation });
    operations.extend(first.into_iter().chain(second));
    Some(next)
}

/// Returns the operation that writes the return address of a call.
fn link(step: &ScheduledOp, base: u32) -> Operation {
    let next = step.address(base).wrapping_add(step.slot.size().into());
    Operation::Bitwise {
        of: Bitwise::Move,
        to: Some(14),
        first: 0,
        second: Operand::Immediate(next | 1),
        flags: FlagEffect::Kept,
    }
}

/// Returns the condition of a conditional branch.
fn condition_of(op: Op) -> Option<u8> {
    CONDITIONAL_BRANCHES.iter().position(|&branch| branch == op).map(|at| at as u8)
}

/// Returns the operation of a step, if there is one. A direct branch that is not expected is another one's business.
fn operation(step: &ScheduledOp, rules: &Rules) -> Option<Operation> {
    let slot = &step.slot;
    match step.begin.kind {
        Kind::Skip => Some(Operation::Nothing),
        Kind::ExpectedIt | Kind::CheckCondition => {
            Some(Operation::Expect { condition: (slot.imm >> 4) as u8 & 15 })
        }
        Kind::Followed => followed(slot),
        Kind::Plain => match slot.op {
            Op::Cbz => Some(Operation::ExpectZero { register: slot.n, is_zero: false }),
            Op::Cbnz => Some(Operation::ExpectZero { register: slot.n, is_zero: true }),
            Op::B | Op::Bl => Some(Operation::Nothing),
            op if op.group() == Group::Branch => {
                Some(Operation::Expect { condition: condition_of(op)? ^ 1 })
            }
            _ => plain(slot, rules),
        },
        _ => None,
    }
}

/// Returns what a branch that the block follows expects.
fn followed(slot: &Slot) -> Option<Operation> {
    match slot.op {
        Op::B | Op::Bl => Some(Operation::Nothing),
        Op::Cbz => Some(Operation::ExpectZero { register: slot.n, is_zero: true }),
        Op::Cbnz => Some(Operation::ExpectZero { register: slot.n, is_zero: false }),
        Op::Bx | Op::BlxR => Some(Operation::ExpectValue { register: slot.n, value: slot.imm | 1 }),
        Op::Pop | Op::Ldm => {
            let registers = (slot.imm & 0x7FFF) as u16;
            let list = List { registers, base: slot.n, before: false, write_back: true };
            (slot.n == STACK_POINTER && registers >> STACK_POINTER & 1 == 0)
                .then_some(Operation::LoadListThen { list, value: slot.aux | 1 })
        }
        op => Some(Operation::Expect { condition: condition_of(op)? }),
    }
}

/// Whether an operation writes its result to a register.
struct HasStackPointer;

impl PerOperation for HasStackPointer {
    type Item = bool;

    fn of<O: crate::exec::Operation>(self) -> bool {
        O::PATHS.has_sp()
    }
}

/// Returns the operation of an instruction that completes on the fast path.
fn plain(slot: &Slot, rules: &Rules) -> Option<Operation> {
    let list_or_pair = matches!(slot.op.group(), Group::List | Group::Dual);
    // Where the fast path does not expect the stack pointer, it is not written as one.
    if slot.d == STACK_POINTER && !list_or_pair && !operations::pick(slot.op, HasStackPointer) {
        return None;
    }
    match slot.op.group() {
        Group::Immediate | Group::Register | Group::Shifted => calculation(slot),
        Group::Shift => shift_by(slot),
        Group::Bits => bits(slot),
        Group::Multiply => multiply(slot, rules),
        Group::Load | Group::StoreImmediate | Group::Store => transfer(slot),
        Group::List => list(slot),
        Group::Dual => pair(slot),
        Group::Barrier => Some(Operation::Nothing),
        Group::Hint if matches!(slot.op, Op::Nop | Op::Yield | Op::Pld) => Some(Operation::Nothing),
        _ => None,
    }
}

macro_rules! forms {
    ($slot:ident; $($immediate:ident $register:ident $shifted:ident => $result:expr;)*) => {
        match $slot.op {
            $(Op::$immediate | Op::$register | Op::$shifted => $result,)*
            _ => return None,
        }
    };
}

/// Returns a bitwise operation, addition or subtraction.
fn calculation(slot: &Slot) -> Option<Operation> {
    use FlagEffect::{Kept, Set};

    enum Of {
        Bitwise(Bitwise, FlagEffect),
        Sum(Sum, FlagEffect),
        Test(Bitwise),
        Compare(Sum),
    }
    let second = match slot.op.group() {
        Group::Immediate if slot.aux == 1 => Operand::ImmediateWithCarry(slot.imm),
        Group::Immediate => Operand::Immediate(slot.imm),
        Group::Register => Operand::Register(slot.m),
        _ => {
            let shift = shift_type(slot.aux >> 8)?;
            let amount = (slot.aux & 0x3F) as u8;
            (1..32).contains(&amount).then_some(Operand::Shifted(slot.m, shift, amount))?
        }
    };
    let of = forms! { slot;
        AndI AndR AndX => Of::Bitwise(Bitwise::And, Kept);
        AndsI AndsR AndsX => Of::Bitwise(Bitwise::And, Set);
        OrrI OrrR OrrX => Of::Bitwise(Bitwise::Or, Kept);
        OrrsI OrrsR OrrsX => Of::Bitwise(Bitwise::Or, Set);
        EorI EorR EorX => Of::Bitwise(Bitwise::ExclusiveOr, Kept);
        EorsI EorsR EorsX => Of::Bitwise(Bitwise::ExclusiveOr, Set);
        BicI BicR BicX => Of::Bitwise(Bitwise::AndNot, Kept);
        BicsI BicsR BicsX => Of::Bitwise(Bitwise::AndNot, Set);
        OrnI OrnR OrnX => Of::Bitwise(Bitwise::OrNot, Kept);
        OrnsI OrnsR OrnsX => Of::Bitwise(Bitwise::OrNot, Set);
        MovI MovR MovX => Of::Bitwise(Bitwise::Move, Kept);
        MovsI MovsR MovsX => Of::Bitwise(Bitwise::Move, Set);
        MvnI MvnR MvnX => Of::Bitwise(Bitwise::Not, Kept);
        MvnsI MvnsR MvnsX => Of::Bitwise(Bitwise::Not, Set);
        TstI TstR TstX => Of::Test(Bitwise::And);
        TeqI TeqR TeqX => Of::Test(Bitwise::ExclusiveOr);
        AddI AddR AddX => Of::Sum(Sum::Add, Kept);
        AddsI AddsR AddsX => Of::Sum(Sum::Add, Set);
        AdcI AdcR AdcX => Of::Sum(Sum::AddCarry, Kept);
        AdcsI AdcsR AdcsX => Of::Sum(Sum::AddCarry, Set);
        SubI SubR SubX => Of::Sum(Sum::Subtract, Kept);
        SubsI SubsR SubsX => Of::Sum(Sum::Subtract, Set);
        SbcI SbcR SbcX => Of::Sum(Sum::SubtractCarry, Kept);
        SbcsI SbcsR SbcsX => Of::Sum(Sum::SubtractCarry, Set);
        RsbI RsbR RsbX => Of::Sum(Sum::ReverseSubtract, Kept);
        RsbsI RsbsR RsbsX => Of::Sum(Sum::ReverseSubtract, Set);
        CmpI CmpR CmpX => Of::Compare(Sum::Subtract);
        CmnI CmnR CmnX => Of::Compare(Sum::Add);
    };
    let (first, to) = (slot.n, Some(slot.d));
    Some(match of {
        Of::Bitwise(of, flags) => Operation::Bitwise { of, to, first, second, flags },
        Of::Sum(of, flags) => Operation::Sum { of, to, first, second, flags },
        Of::Test(of) => Operation::Bitwise { of, to: None, first, second, flags: Set },
        Of::Compare(of) => Operation::Sum { of, to: None, first, second, flags: Set },
    })
}

fn shift_type(number: u32) -> Option<Shift> {
    [Shift::Left, Shift::Right, Shift::Arithmetic, Shift::Rotate].get(number as usize).copied()
}

fn shift_by(slot: &Slot) -> Option<Operation> {
    let (shift, flags) = match slot.op {
        Op::LslR => (Shift::Left, FlagEffect::Kept),
        Op::LslsR => (Shift::Left, FlagEffect::Set),
        Op::LsrR => (Shift::Right, FlagEffect::Kept),
        Op::LsrsR => (Shift::Right, FlagEffect::Set),
        Op::AsrR => (Shift::Arithmetic, FlagEffect::Kept),
        Op::AsrsR => (Shift::Arithmetic, FlagEffect::Set),
        Op::RorR => (Shift::Rotate, FlagEffect::Kept),
        Op::RorsR => (Shift::Rotate, FlagEffect::Set),
        _ => return None,
    };
    Some(Operation::ShiftBy { shift, to: slot.d, value: slot.n, amount: slot.m, flags })
}

fn bits(slot: &Slot) -> Option<Operation> {
    let &Slot { d: to, n, m, imm, aux, .. } = slot;
    let unary = |of| Operation::Unary { of, to, from: m };
    let extend = |part, added_to| {
        let rotation = (imm & 31) as u8;
        Operation::Extend { part, to, from: m, rotation, added_to }
    };
    let fits = imm < 32 && (1..=32).contains(&aux) && imm + aux <= 32;
    let (low, width) = (imm as u8, aux as u8);
    Some(match slot.op {
        Op::Movt => Operation::SetUpperHalf { to, value: imm as u16 },
        Op::Bfi if fits => Operation::InsertField { to, from: Some(n), low, width },
        Op::Bfc if fits => Operation::InsertField { to, from: None, low, width },
        Op::Ubfx if fits => Operation::ExtractField { to, from: n, low, width, signed: false },
        Op::Sbfx if fits => Operation::ExtractField { to, from: n, low, width, signed: true },
        Op::Clz => unary(Unary::LeadingZeros),
        Op::Rbit => unary(Unary::ReverseBits),
        Op::Rev => unary(Unary::ReverseBytes),
        Op::Sxtb => extend(Part::SignedByte, None),
        Op::Sxth => extend(Part::SignedHalf, None),
        Op::Uxtb => extend(Part::UnsignedByte, None),
        Op::Uxth => extend(Part::UnsignedHalf, None),
        Op::Sxtab => extend(Part::SignedByte, Some(n)),
        Op::Sxtah => extend(Part::SignedHalf, Some(n)),
        Op::Uxtab => extend(Part::UnsignedByte, Some(n)),
        Op::Uxtah => extend(Part::UnsignedHalf, Some(n)),
        _ => return None,
    })
}

fn multiply(slot: &Slot, rules: &Rules) -> Option<Operation> {
    let &Slot { d: to, n, m, a, .. } = slot;
    let factors = [n, m];
    let product = |accumulate, flags| Some(Operation::Multiply { to, factors, accumulate, flags });
    let long = |signed, accumulates| {
        // The longest one takes no extra cycles, so the time does not depend on the factors.
        let is_fixed = (rules.long_multiply)(Op::Umlal, u32::MAX, u32::MAX) == 0;
        (is_fixed && a != STACK_POINTER).then_some(Operation::MultiplyLong {
            to: [a, to],
            factors,
            signed,
            accumulates,
        })
    };
    match slot.op {
        Op::Mul => product(Accumulate::Nothing, FlagEffect::Kept),
        Op::Muls => product(Accumulate::Nothing, FlagEffect::Set),
        Op::Mla => product(Accumulate::AddedTo(a), FlagEffect::Kept),
        Op::Mls => product(Accumulate::SubtractedFrom(a), FlagEffect::Kept),
        Op::Umull => long(false, false),
        Op::Smull => long(true, false),
        Op::Umlal => long(false, true),
        Op::Smlal => long(true, true),
        _ => None,
    }
}

fn transfer(slot: &Slot) -> Option<Operation> {
    let name = slot.op.name();
    let (is_load, rest) = match (name.strip_prefix("Ldr"), name.strip_prefix("Str")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let (datum, form) = match rest.as_bytes() {
        [b's', b'b', ..] => (Datum::Part(Part::SignedByte), &rest[2..]),
        [b's', b'h', ..] => (Datum::Part(Part::SignedHalf), &rest[2..]),
        [b'b', ..] => (Datum::Part(Part::UnsignedByte), &rest[1..]),
        [b'h', ..] => (Datum::Part(Part::UnsignedHalf), &rest[1..]),
        _ => (Datum::Word, rest),
    };
    let immediate = Offset::Immediate(slot.imm);
    let (offset, write_back) = match form {
        "I" => (immediate, WriteBack::Never),
        "R" => (Offset::Register(slot.m, slot.aux as u8), WriteBack::Never),
        "Pre" => (immediate, WriteBack::Before),
        "Post" => (immediate, WriteBack::After),
        _ => return None,
    };
    let address = Address { base: slot.n, offset, write_back };
    Some(if is_load {
        Operation::Load { datum, to: slot.d, address }
    } else {
        Operation::Store { datum, from: slot.d, address }
    })
}

fn list(slot: &Slot) -> Option<Operation> {
    let registers = u16::try_from(slot.imm).ok().filter(|list| *list != 0 && list >> 15 == 0)?;
    let of = |before| List { registers, base: slot.n, before, write_back: slot.aux == 1 };
    match slot.op {
        Op::Ldm | Op::Pop => Some(Operation::LoadList(of(false))),
        Op::Ldmdb => Some(Operation::LoadList(of(true))),
        Op::Stm => Some(Operation::StoreList(of(false))),
        Op::Stmdb | Op::Push => Some(Operation::StoreList(of(true))),
        _ => None,
    }
}

fn pair(slot: &Slot) -> Option<Operation> {
    let write_back = match slot.aux {
        0 => WriteBack::Never,
        1 => WriteBack::Before,
        2 => WriteBack::After,
        _ => return None,
    };
    let address = Address { base: slot.n, offset: Offset::Immediate(slot.imm), write_back };
    match slot.op {
        Op::Ldrd => Some(Operation::LoadPair { to: [slot.d, slot.a], address }),
        Op::Strd => Some(Operation::StorePair { from: [slot.d, slot.a], address }),
        _ => None,
    }
}
