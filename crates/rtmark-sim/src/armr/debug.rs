//! What debuggers, observers and searches ask of a machine with a Cortex-R5, as
//! [`Machine`](crate::Machine) has it.

use rtmark_units::Cycles;

use super::core::Passed;
use super::gic::{FIRST_EXTERNAL, FIRST_SHARED, Gic, InterruptLine};
use super::isa::op::{Index, Offset};
use super::isa::{Instruction as Decoded, Op, disassemble};
use super::machine::CortexR5;
use super::timing::ENTRY;
use crate::debug::{Access, AccessKind, Advance, Instruction, Marks, Observed, RETURN, Tried};
use crate::image::Image;
use crate::isa::Disassembly;
use crate::state::stop::{InternalError, Stop};
use crate::state::{Blocker, LoadError, MaskedInterval, NoMemory, Register};

/// More than any instruction and entry take together, in cycles.
const LONGEST_ENTRY: u64 = 10_000;

/// The next instruction is about to execute.
pub struct Reached;

impl Observed for CortexR5 {
    type Reached = Reached;

    fn begin_observed(&mut self, until: Cycles) {
        self.limit = until;
    }

    fn reach_observed(&mut self) -> Result<Option<Reached>, Stop> {
        if self.state.core.cycle() >= self.limit.0 {
            return Err(Stop::Limit);
        }
        if let Some(stop) = self.state.stops_here() {
            return Err(stop);
        }
        if !self.is_asleep() && !self.state.core.is_interrupted() {
            return Ok(Some(Reached));
        }
        let _passed = self.state.pass(self.limit.0)?;
        Ok(None)
    }

    fn execute_observed(&mut self, _reached: Reached) -> (Option<Instruction>, Result<(), Stop>) {
        let pc = self.state.core.arch.cpu.pc;
        let decoded = self.state.core.instruction_at(pc);
        let passed = match self.state.pass(self.limit.0) {
            Ok(
                Passed::Instruction { issued, .. }
                | Passed::HostCall { issued, .. }
                | Passed::Call { issued, .. },
            ) => issued,
            Ok(_) => return (None, Ok(())),
            Err(stop) => return (None, Err(stop)),
        };
        let told = decoded.map(|it| Instruction {
            address: pc,
            size: it.size,
            is_call: matches!(it.op, Op::BranchLink | Op::BranchLinkExchange),
            began: Cycles(passed),
        });
        (told, Ok(()))
    }

    fn marks(&self) -> Marks {
        Marks {
            taken: self.state.taken(),
            left: self.state.left(),
            handler: self.state.handler(),
            idle: self.state.besides().asleep.0,
        }
    }
}

#[expect(clippy::unused_self, reason = "all cores answer to the same methods")]
impl CortexR5 {
    /// See [`Machine::load_and_call`](crate::Machine::load_and_call). The stack begins at the end
    /// of the last memory that can be written. Whichever set the function is in, it returns to T32,
    /// which the lowest bit of the link says.
    pub(crate) fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        self.state.load(image)?;
        let writable = |memory: &&crate::soc::Memory| memory.kind == crate::soc::MemoryKind::Ram;
        let top = self.state.soc().memories.iter().rev().find(writable);
        let sp = top.map_or(0, |memory| memory.range().end as u32 & !15);
        self.state.set_register(Register::R(13), sp);
        self.state.set_register(Register::R(14), RETURN);
        self.state.core.go_to(entry);
        self.state.stop_before(RETURN & !1);
        Ok(())
    }

    pub(crate) fn stop_before(&mut self, address: u32) {
        self.state.stop_before(address & !1);
    }

    pub(crate) fn go_through(&mut self, address: u32) {
        self.state.go_through(address & !1);
    }

    pub(crate) const fn internal_error(&self) -> Option<&InternalError> {
        None
    }

    pub(crate) const fn reason(&self, stop: Stop) -> Stop {
        stop
    }

    /// Nothing: what it keeps of code has places of its own.
    pub(crate) const fn limit_code(&self, _steps: usize, _states: usize) {}

    /// None: see there.
    pub(crate) const fn evictions(&self) -> u64 {
        0
    }

    /// Nothing: there is no table of states that could be wrong.
    pub(crate) const fn sabotage(&self, _address: u32) {}

    /// See [`Machine::store_word`](crate::Machine::store_word).
    pub(crate) fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        let cycle = self.state.core.cycle();
        let system = &mut self.state.core.arch.system;
        if address & 3 != 0 || !system.answers(address, true) {
            return Err(NoMemory(address));
        }
        let stored = system.store(address, 4, value, cycle);
        self.state.core.look_again();
        stored.ok_or(NoMemory(address))
    }

    pub(crate) const fn has_register(&self, register: Register) -> bool {
        self.state.has_register(register)
    }

    /// See [`Machine::disassembly`](crate::Machine::disassembly). In the set that the core is in.
    pub(crate) fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let core = &self.state.core;
        let set = core.set();
        let bits = core.bits(address, set)?;
        let it = core.instruction_at(address)?;
        let size = it.size;
        let encoding = if size == 4 { bits } else { bits >> 16 };
        let here = address == core.arch.cpu.pc;
        let block = core.arch.cpu.block_condition().filter(|_| here);
        let (mnemonic, operands) = disassemble(set, address, bits, block).unwrap_or_else(|| {
            let directive = if size == 2 { ".hword" } else { ".word" };
            (directive.to_owned(), format!("{encoding:#010x}"))
        });
        let names = matches!(it.op, Op::Branch | Op::BranchLink | Op::CompareBranch);
        let target = names.then_some(it.imm);
        Some(Disassembly { size, encoding, mnemonic, operands, target })
    }

    pub(crate) const fn exceptions_taken(&self) -> u64 {
        self.state.taken()
    }

    pub(crate) fn watch_masks(&mut self) {
        self.state.watches.masking.on = true;
    }

    /// That of the program's own doing: what an exception masks by itself belongs to its handler.
    pub(crate) const fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state.watches.masking.settled
    }

    /// What holds interrupts back now.
    pub(crate) const fn mask(&self) -> Option<Blocker> {
        self.state.mask()
    }

    pub(crate) fn holds_back_priority(&self, priority: u8) -> Option<Blocker> {
        // No interrupt in particular: as the first one of a peripheral.
        self.mask().or_else(|| self.holds_back_peripheral(FIRST_SHARED, priority))
    }

    /// What in the controller holds a peripheral's interrupt back that has a priority.
    fn holds_back_peripheral(&self, id: u16, priority: u8) -> Option<Blocker> {
        let gic = self.state.core.arch.system.gic.as_ref()?;
        let lets = gic.lets_through(id, priority);
        (!lets).then(|| match self.state.handler() {
            0 => Blocker::PriorityMask,
            handler => Blocker::Active(handler),
        })
    }

    /// See [`Machine::step`](crate::Machine::step).
    pub(crate) fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.core.cycle() < until.0 {
            let passed = self.state.pass(until.0)?;
            if is_instruction(passed) {
                return Ok(());
            }
        }
        Err(Stop::Limit)
    }

    /// See [`Machine::next_access`](crate::Machine::next_access).
    pub(crate) fn next_access(&self) -> Option<Access> {
        let core = &self.state.core;
        let it = core.instruction_at(core.arch.cpu.pc)?;
        let (address, bytes, kind) = access_of(&it, |register| core.arch.cpu.operand(register))?;
        Some(Access { address, bytes, kind })
    }

    /// See [`Machine::arm_interrupt`](crate::Machine::arm_interrupt).
    pub(crate) fn arm_interrupt(&mut self, interrupt: u16, priority: u8) -> bool {
        let known = interrupt < self.state.soc().interrupts;
        let armed = match &mut self.state.core.arch.system.gic {
            Some(gic) => known && gic.arm(interrupt + FIRST_SHARED, priority),
            None => known,
        };
        self.state.core.look_again();
        armed
    }

    pub(crate) fn interrupt_priority(&self, interrupt: u16) -> u8 {
        let gic = self.state.core.arch.system.gic.as_ref();
        gic.map_or(0, |gic| gic.priority(interrupt.saturating_add(FIRST_SHARED)))
    }

    /// Where exceptions lead.
    pub(crate) const fn vector_table(&self) -> u32 {
        self.state.core.arch.control.vectors()
    }

    /// See [`Machine::advance`](crate::Machine::advance).
    pub(crate) fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        if self.state.core.cycle() >= until.0 {
            return Err(Stop::Limit);
        }
        let passed = self.pass(until)?;
        Ok(if is_instruction(passed) { Advance::Instruction } else { Advance::Other })
    }

    pub(crate) fn advance_open(&mut self, until: Cycles) -> Result<Advance, Stop> {
        self.advance(until)
    }

    pub(crate) fn settle(&mut self) {
        self.state.core.look_again();
    }

    /// See [`Machine::holds_back`](crate::Machine::holds_back).
    pub(crate) fn holds_back(&self, interrupt: u16) -> Option<Blocker> {
        if let Some(gic) = &self.state.core.arch.system.gic {
            let id = interrupt.saturating_add(FIRST_SHARED);
            if !gic.is_enabled(id) {
                return Some(Blocker::Disabled);
            }
            let mask = match gic.line(id) {
                InterruptLine::Irq => self.mask(),
                InterruptLine::Fiq => {
                    self.state.core.masks(InterruptLine::Fiq).then_some(Blocker::FastMask)
                }
            };
            return mask.or_else(|| self.holds_back_peripheral(id, gic.priority(id)));
        }
        self.mask()
    }

    /// Whether the core sleeps, or the next instruction asks the interrupt controller what is
    /// pending.
    pub(crate) fn sees_pending(&self) -> bool {
        self.is_asleep() || self.looks_until().is_some()
    }

    /// See [`Machine::looks_until`](crate::Machine::looks_until): what becomes pending while the
    /// instruction waits for its operands is noticed after it.
    pub(crate) fn looks_until(&self) -> Option<Cycles> {
        let gic = self.state.core.arch.system.gic.as_ref()?;
        if self.is_asleep() {
            return None;
        }
        let access = self.next_access().filter(|access| access.kind == AccessKind::Read)?;
        let offset = gic.offset(access.address)?;
        Gic::shows_pending(offset).then(|| self.state.cycles())
    }

    pub(crate) const fn is_asleep(&self) -> bool {
        self.state.core.is_asleep()
    }

    pub(crate) fn is_under_way(&self, interrupt: u16) -> bool {
        self.has_come(interrupt) || self.is_active(interrupt)
    }

    pub(crate) fn has_come(&self, interrupt: u16) -> bool {
        let system = &self.state.core.arch.system;
        match &system.gic {
            Some(gic) => gic.is_pending(interrupt.saturating_add(FIRST_SHARED)),
            None => system.direct.contains(&interrupt),
        }
    }

    pub(crate) fn is_active(&self, interrupt: u16) -> bool {
        self.state.is_handling(FIRST_EXTERNAL.saturating_add(interrupt))
    }

    /// None: a handler that asks the controller in the very cycle is told of the interrupt.
    pub(crate) const fn least_latency(&self) -> u64 {
        if self.state.core.arch.system.gic.is_some() { 0 } else { ENTRY }
    }

    /// See [`Machine::try_entry`](crate::Machine::try_entry): tried on a copy.
    pub(crate) fn try_entry(&mut self, interrupt: u16) -> Tried {
        self.try_entry_early(interrupt, self.state.cycles())
    }

    pub(crate) const fn next_entry(&self) -> Cycles {
        Cycles(self.state.core.cycle())
    }

    pub(crate) fn try_entry_early(&mut self, interrupt: u16, at: Cycles) -> Tried {
        let mut copy = self.clone();
        copy.state.pend_interrupt(interrupt, at);
        let wanted = FIRST_EXTERNAL.saturating_add(interrupt);
        let (taken, end) = (copy.state.taken(), Cycles(at.0.saturating_add(LONGEST_ENTRY)));
        loop {
            match copy.pass(end) {
                Ok(Passed::Instruction { issued, .. }) if copy.state.taken() > taken => {
                    let ours = copy.state.handler() == wanted;
                    return if ours { Tried::Entered(Cycles(issued)) } else { Tried::Unclear };
                }
                Ok(_) if copy.state.core.cycle() < end.0 => {}
                _ => return Tried::Unclear,
            }
        }
    }

    /// `None`: interrupts are taken between instructions, which [`Self::try_entry`] has in it.
    pub(crate) const fn try_entry_within(&self, _interrupt: u16, _at: Cycles) -> Option<Tried> {
        None
    }
}

/// Whether a step has executed an instruction.
const fn is_instruction(passed: Passed) -> bool {
    matches!(passed, Passed::Instruction { .. } | Passed::HostCall { .. } | Passed::Call { .. })
}

/// What an instruction will access, by what registers hold.
fn access_of(it: &Decoded, value: impl Fn(u8) -> u32) -> Option<(u32, u32, AccessKind)> {
    let (address, bytes, kind) = match it.op {
        Op::Load(width, address, _) => (Some(address), width.bytes(), AccessKind::Read),
        Op::Store(width, address, _) => (Some(address), width.bytes(), AccessKind::Write),
        Op::LoadDual(address) => (Some(address), 8, AccessKind::Read),
        Op::StoreDual(address) => (Some(address), 8, AccessKind::Write),
        Op::LoadMultiple(order, ..) | Op::StoreMultiple(order, ..) => {
            let words = it.imm.count_ones();
            let (lowest, _) = order.addresses(value(it.n), words);
            let loads = matches!(it.op, Op::LoadMultiple(..));
            let kind = if loads { AccessKind::Read } else { AccessKind::Write };
            return Some((lowest, 4 * words, kind));
        }
        Op::LoadExclusive(size) => (None, size.bytes(), AccessKind::Read),
        Op::StoreExclusive(size) => (None, size.bytes(), AccessKind::Write),
        _ => return None,
    };
    if it.aux == 1 {
        return Some((it.imm, bytes, kind));
    }
    let base = value(it.n);
    let offset = match address.map(|address| address.offset) {
        Some(Offset::Immediate) | None => it.imm,
        Some(offset) => {
            let shift = &it.shift;
            let (shifted, _) =
                crate::exec::shift(value(it.m), shift.kind.into(), shift.amount.into(), false);
            if offset == Offset::Add { shifted } else { shifted.wrapping_neg() }
        }
    };
    let post = address.is_some_and(|address| address.index == Index::Post);
    Some((if post { base } else { base.wrapping_add(offset) }, bytes, kind))
}
