//! The effects of instructions on a hart and memory, without timing.
//!
//! [`prepare`] determines an instruction's exception and its demands on the pipeline without
//! changing anything. [`commit`] applies its effects.

pub mod alu;

use super::csr::pmp::Purpose;
use super::csr::{Cause, Csrs, Lines, Privilege};
use super::hart::Hart;
use super::isa::op::{Alu, CsrWrite, Divide, Second, Width};
use super::isa::{Instruction, MicroOp, Op, listed, micro_op};
use super::rules::{CallRetirement, Misaligned};
use super::semihosting;
use super::system::System;
use super::timing::demand::{BusResponse, ExceptionOutcome};
use super::timing::{Access, Demand, Flow, Sleep};

/// Why an instruction ends in a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    pub kind: Trap,
    /// The accessed address.
    pub address: Option<u32>,
}

/// The trap of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    Cause(Cause, Reason),
    Return,
}

/// Details of a cause, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Ordinary,
    /// Memory protection denies the access.
    Protection,
}

/// The context of an instruction, and what it is about to do.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    pub demand: Demand,
    pub exception: Option<Exception>,
}

const fn exception(cause: Cause, reason: Reason, address: Option<u32>) -> Exception {
    Exception { kind: Trap::Cause(cause, reason), address }
}

/// Returns the address of a load, store or atomic operation.
fn address(hart: &Hart, it: &Instruction) -> u32 {
    match it.op {
        Op::LoadReserved | Op::StoreConditional | Op::Atomic(_) => hart.get(it.rs1),
        _ => hart.get(it.rs1).wrapping_add(it.imm as u32),
    }
}

/// Returns whether an instruction depends on pending interrupts: it reads a register that shows
/// them, or sleeps until there is one.
pub const fn shows_pending(it: &Instruction) -> bool {
    match it.op {
        Op::Csr(..) => Csrs::reads_pending(it.imm as u16),
        Op::WaitForInterrupt | Op::Block => true,
        _ => false,
    }
}

/// Returns the memory access of an instruction: the lowest address, the bytes, and whether it
/// writes.
pub fn access_range(hart: &Hart, it: &Instruction) -> Option<(u32, u32, bool)> {
    let writes = matches!(it.op, Op::Store(_) | Op::StoreConditional | Op::Atomic(_) | Op::Push);
    let bytes = match it.op {
        Op::Load(width) | Op::Store(width) => width.bytes(),
        Op::LoadReserved | Op::StoreConditional | Op::Atomic(_) => 4,
        Op::Push | Op::Pop | Op::PopReturn | Op::PopReturnZero => {
            let first = micro_op(it, 0).instruction;
            return Some((address(hart, &first), 4 * listed(it), writes));
        }
        _ => return None,
    };
    Some((address(hart, it), bytes, writes))
}

/// Returns the exception that an access raises before it is made.
fn access_exception(hart: &Hart, it: &Instruction) -> Option<Exception> {
    let (width, writes) = match it.op {
        Op::Load(width) => (width, false),
        Op::Store(width) => (width, true),
        Op::LoadReserved => (Width::Word, false),
        Op::StoreConditional | Op::Atomic(_) => (Width::Word, true),
        _ => return None,
    };
    let address = address(hart, it);
    let refused = hart.rules.misaligned == Misaligned::Refused;
    if refused && address & (width.bytes() - 1) != 0 {
        let cause = if writes { Cause::StoreMisaligned } else { Cause::LoadMisaligned };
        return Some(exception(cause, Reason::Ordinary, Some(address)));
    }
    if it.op == Op::StoreConditional && !hart.reservation.open {
        return None;
    }
    let machine = hart.csr.data_privilege() == Privilege::Machine;
    let reads = matches!(it.op, Op::Atomic(_));
    let allowed = |purpose| hart.csr.pmp.allows(address, purpose, machine);
    let purpose = if writes { Purpose::Write } else { Purpose::Read };
    let cause = if writes { Cause::StoreFault } else { Cause::LoadFault };
    let refused = !allowed(purpose) || reads && !allowed(Purpose::Read);
    refused.then_some(exception(cause, Reason::Protection, Some(address)))
}

/// Returns whether a breakpoint is a semihosting call.
fn is_host_call(system: &System, pc: u32, it: &Instruction) -> bool {
    it.size == 4
        && system.code(pc.wrapping_sub(4)) == Some(semihosting::BEFORE)
        && system.code(pc.wrapping_add(4)) == Some(semihosting::BEHIND)
}

/// Returns the exception of an instruction in stage X.
fn find_exception(hart: &Hart, system: &System, it: &Instruction) -> Option<Exception> {
    let machine = hart.csr.privilege == Privilege::Machine;
    let pc = hart.pc;
    let ordinary = |cause| Some(exception(cause, Reason::Ordinary, None));
    if hart.csr.breaks_at(pc) {
        return ordinary(Cause::Breakpoint);
    }
    if !hart.csr.pmp.allows_code(pc, it.size, machine) {
        return Some(exception(Cause::InstructionFault, Reason::Protection, Some(pc)));
    }
    match it.op {
        Op::Csr(..) => {
            let legal = hart.csr.is_legal(it.imm as u16, it.writes_csr());
            if legal { None } else { ordinary(Cause::IllegalInstruction) }
        }
        Op::Illegal if system.code(pc).is_none() => {
            Some(exception(Cause::InstructionFault, Reason::Ordinary, Some(pc)))
        }
        Op::Illegal => ordinary(Cause::IllegalInstruction),
        Op::EnvironmentCall if machine => ordinary(Cause::MachineCall),
        Op::EnvironmentCall => ordinary(Cause::UserCall),
        Op::Breakpoint if is_host_call(system, pc, it) => None,
        Op::Breakpoint => ordinary(Cause::Breakpoint),
        Op::MachineReturn if machine => Some(Exception { kind: Trap::Return, address: None }),
        Op::MachineReturn => ordinary(Cause::IllegalInstruction),
        Op::WaitForInterrupt | Op::Block | Op::Unblock if hart.csr.refuses_sleep() => {
            ordinary(Cause::IllegalInstruction)
        }
        _ => access_exception(hart, it),
    }
}

impl Exception {
    const fn raises(&self, calls: CallRetirement) -> ExceptionOutcome {
        match (self.kind, calls) {
            (Trap::Return, _)
            | (
                Trap::Cause(Cause::Breakpoint | Cause::UserCall | Cause::MachineCall, _),
                CallRetirement::Counted,
            ) => ExceptionOutcome::Retired,
            (Trap::Cause(..), _) => ExceptionOutcome::NotRetired,
        }
    }

    /// Returns its value in MTVAL: the accessed address, or the bits of the illegal instruction.
    pub fn value(&self, system: &System, pc: u32) -> u32 {
        match self.kind {
            Trap::Cause(Cause::IllegalInstruction, _) => {
                let bits = system.code(pc).unwrap_or(0);
                if bits & 3 == 3 { bits } else { bits & 0xFFFF }
            }
            _ => self.address.unwrap_or(0),
        }
    }
}

/// Returns the two transfers of a load or store that crosses a word boundary.
fn split_access(
    system: &System,
    address: u32,
    writes: bool,
    cause: Cause,
) -> (Access, Option<Exception>) {
    let both = [address, (address & !3).wrapping_add(4)];
    let transfers = both.map(|at| {
        let answers = system.answers(at, writes);
        (
            system.data_waits(at, writes),
            if answers { BusResponse::Okay } else { BusResponse::Error },
        )
    });
    let fails = both.iter().zip(transfers).find(|(_, (_, answer))| *answer == BusResponse::Error);
    let failure = fails.map(|(at, _)| exception(cause, Reason::Ordinary, Some(*at)));
    (Access::Split(transfers), failure)
}

/// Returns the demand of an access on the data port.
fn access(hart: &Hart, system: &System, it: &Instruction) -> (Access, Option<Exception>) {
    let address = address(hart, it);
    let writes = matches!(it.op, Op::Store(_) | Op::StoreConditional);
    let waits = || system.data_waits(address, writes);
    let fault = |writes, cause| {
        let answers = system.answers(address, writes);
        let failure = exception(cause, Reason::Ordinary, Some(address));
        if answers { (BusResponse::Okay, None) } else { (BusResponse::Error, Some(failure)) }
    };
    let crosses = |width: Width| (address & 3) + width.bytes() > 4;
    match it.op {
        Op::Load(width) if crosses(width) => split_access(system, address, false, Cause::LoadFault),
        Op::Store(width) if crosses(width) => {
            split_access(system, address, true, Cause::StoreFault)
        }
        Op::Load(_) => {
            let (answer, exception) = fault(false, Cause::LoadFault);
            (Access::Load(waits(), answer), exception)
        }
        Op::Store(_) => {
            let (answer, exception) = fault(true, Cause::StoreFault);
            (Access::Store(waits(), answer), exception)
        }
        Op::LoadReserved => {
            let (answer, exception) = fault(false, Cause::LoadFault);
            (Access::LoadReserved(waits(), answer), exception)
        }
        Op::StoreConditional if !hart.reservation.open => (Access::StoreConditional(None), None),
        Op::StoreConditional => {
            let (answer, exception) = fault(true, Cause::StoreFault);
            (Access::StoreConditional(Some((waits(), answer))), exception)
        }
        Op::Atomic(_) => (Access::Atomic(waits()), None),
        _ => (Access::None, None),
    }
}

/// Returns the control flow of an instruction.
fn flow(hart: &Hart, it: &Instruction) -> Flow {
    let target = hart.pc.wrapping_add(it.imm as u32);
    match it.op {
        Op::Jump => Flow::Jump(target),
        Op::JumpRegister => Flow::Jump(hart.get(it.rs1).wrapping_add(it.imm as u32) & !1),
        Op::Branch(condition) => {
            let taken = alu::holds(condition, hart.get(it.rs1), hart.get(it.rs2));
            Flow::Branch { target, taken }
        }
        Op::FenceInstructions => Flow::Refetch,
        Op::Csr(CsrWrite::Write | CsrWrite::Set, _)
            if it.writes_csr() && hart.rules.registers.drains.contains(&(it.imm as u16)) =>
        {
            Flow::Drain
        }
        _ => Flow::Next,
    }
}

/// Returns the calculation cycles of an instruction after the first, if there are any.
pub fn calculation(hart: &Hart, it: &Instruction) -> Option<u8> {
    let rules = &hart.rules.calculation;
    let cycles = match it.op {
        Op::Alu(Alu::Multiply, _) => rules.multiply,
        Op::Alu(
            Alu::MultiplyHigh | Alu::MultiplyHighSignedUnsigned | Alu::MultiplyHighUnsigned,
            _,
        ) => rules.multiply_high,
        Op::Divide(operation) => division(hart, operation, hart.get(it.rs1), hart.get(it.rs2)),
        _ => 0,
    };
    (cycles > 0).then_some(cycles)
}

/// Returns the cycles of a division beyond the first.
#[inline(always)]
pub const fn division(hart: &Hart, operation: Divide, dividend: u32, divisor: u32) -> u8 {
    let rules = &hart.rules.calculation;
    let negative = operation.is_signed() && dividend >> 31 == 1;
    let more = if negative { rules.negative_dividend } else { 0 };
    more + if divisor == 0 { rules.divide_by_zero } else { rules.divide }
}

/// Returns what a micro-operation at the program counter is about to do.
pub fn prepare(hart: &Hart, system: &System, op: &MicroOp) -> Prepared {
    let it = &op.instruction;
    let found = find_exception(hart, system, it).or_else(|| match it.op {
        // An atomic operation is refused in stage X, whatever the reason.
        Op::Atomic(_) => {
            let address = address(hart, it);
            let fault = exception(Cause::StoreFault, Reason::Ordinary, Some(address));
            (!system.answers(address, true)).then_some(fault)
        }
        _ => None,
    });
    let (access, late) = access(hart, system, it);
    let demand = Demand {
        pc: hart.pc,
        size: it.size,
        rd: it.rd,
        reads: it.reads(),
        access,
        flow: flow(hart, it),
        calculates: calculation(hart, it),
        raises: found.map_or(ExceptionOutcome::No, |exception| exception.raises(hart.rules.calls)),
        sleep: match it.op {
            Op::WaitForInterrupt => Sleep::Interrupt,
            Op::Block => Sleep::Block,
            _ => Sleep::Awake,
        },
        last: op.place.is_last(),
        holds_interrupts: op.place.holds_interrupts(),
    };
    Prepared { demand, exception: found.or(late) }
}

/// The results of executing an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The written register and its value.
    pub written: Option<(u8, u32)>,
    /// The cycle in which stage M is done with it.
    pub ends: u64,
    /// Whether another core is unblocked.
    pub unblocks: bool,
    /// The external interrupt whose number was read in MEINEXT.
    pub served: Option<u16>,
}

/// Applies the effects of a micro-operation that leaves stage X in a cycle without an exception.
/// Does not change the program counter.
pub fn commit(
    hart: &mut Hart,
    system: &mut System,
    op: &MicroOp,
    lines: &Lines,
    cycle: u64,
    prepared: &Prepared,
) -> Effects {
    let it = &op.instruction;
    let (a, b) = (hart.get(it.rs1), hart.get(it.rs2));
    let next = || hart.pc.wrapping_add(u32::from(it.size));
    let (mut unblocks, mut served) = (false, None);
    let waits = prepared.demand.access.waits();
    let at = hart.rules.data_phase_end(cycle, waits);
    if it.op.is_access() {
        system.record_access(address(hart, it), at);
    }
    let result = match it.op {
        Op::Alu(operation, Second::Register) => Some(alu::any(operation, a, b)),
        Op::Alu(operation, Second::Immediate) => Some(alu::any(operation, a, it.imm as u32)),
        Op::LoadUpper => Some(it.imm as u32),
        Op::AddUpperToPc => Some(hart.pc.wrapping_add(it.imm as u32)),
        Op::Jump | Op::JumpRegister => Some(next()),
        Op::Divide(operation) => Some(alu::divide(operation, a, b)),
        Op::Csr(how, _) => {
            let old;
            (old, served) = change_csr(hart, it, how, lines, cycle);
            old
        }
        Op::Load(width) => Some(system.load(address(hart, it), width, at).unwrap_or(0)),
        Op::Store(width) => {
            let _nowhere = system.store(address(hart, it), width, b, at);
            None
        }
        Op::LoadReserved | Op::StoreConditional | Op::Atomic(_) => {
            Some(exclusive(hart, system, it, at))
        }
        Op::Unblock => {
            unblocks = true;
            None
        }
        _ => None,
    };
    let written = result.filter(|_| it.rd != 0).map(|value| (it.rd, value));
    if let Some((register, value)) = written {
        hart.set(register, value);
    }
    let waits = match it.op {
        Op::Load(_) | Op::LoadReserved | Op::StoreConditional => waits,
        _ => 0,
    };
    Effects { written, ends: hart.rules.data_phase_end(cycle, waits), unblocks, served }
}

fn change_csr(
    hart: &mut Hart,
    it: &Instruction,
    how: CsrWrite,
    lines: &Lines,
    cycle: u64,
) -> (Option<u32>, Option<u16>) {
    let (number, operand) = (it.imm as u16, it.csr_operand(hart.get(it.rs1)));
    let old = hart.csr.read(number, operand, lines, cycle);
    let new = match how {
        CsrWrite::Write => operand,
        CsrWrite::Set => old | operand,
        CsrWrite::Clear => old & !operand,
    };
    if it.writes_csr() {
        hart.csr.write(number, (how, operand), new, lines, cycle);
    }
    if !it.reads_csr() {
        return (None, None);
    }
    (Some(old), hart.csr.was_read(number, lines))
}

/// Executes LR, SC or an atomic operation.
fn exclusive(hart: &mut Hart, system: &mut System, it: &Instruction, at: u64) -> u32 {
    let (address, b) = (hart.get(it.rs1), hart.get(it.rs2));
    let word = Some(address & !3);
    let reservation = &mut hart.reservation;
    match it.op {
        Op::LoadReserved => {
            (reservation.open, reservation.word) = (true, word);
            system.load(address, Width::Word, at).unwrap_or(0)
        }
        Op::StoreConditional => {
            let mine = reservation.open && reservation.word == word;
            if reservation.open {
                reservation.word = None;
            }
            reservation.open = false;
            if mine {
                let _nowhere = system.store(address, Width::Word, b, at);
            }
            u32::from(!mine)
        }
        Op::Atomic(operation) => {
            (reservation.open, reservation.word) = (false, None);
            let old = system.load(address, Width::Word, at).unwrap_or(0);
            let new = alu::any(operation, old, b);
            let _nowhere = system.store(address, Width::Word, new, at);
            old
        }
        _ => 0,
    }
}
