//! What debuggers, observers and searches ask of a machine with a RISC-V core, as
//! [`Machine`](crate::Machine) has it.

use rtmark_units::Cycles;

use super::core::Passed;
use super::isa::{disassemble, op::Op};
use super::machine::RiscV;
use super::state::number;
use crate::debug::{Access, AccessKind, Advance, Instruction, Marks, Observed, RETURN};
use crate::image::Image;
use crate::isa::Disassembly;
use crate::state::stop::{InternalError, Stop};
use crate::state::{Blocker, LoadError, MaskedInterval, NoMemory, Register};

/// Cycles from an external input rising to its handler beginning, at least. By a trap it takes two: it
/// is entered in the same cycle, and its first instruction leaves stage X two cycles on (RTL traces).
/// But another handler may read its number in MEINEXT in the very cycle.
const LEAST_LATENCY: u64 = 0;
/// `ra`, and what a called function finds there.
const RA: u8 = 1;
/// The other link register, which calls of millicode use (RISC-V unprivileged specification, 2.5.1).
const ALTERNATE: u8 = 5;

/// The next instruction is about to execute.
pub struct Reached;

impl Observed for RiscV {
    type Reached = Reached;

    fn begin_observed(&mut self, until: Cycles) {
        self.limit = until;
    }

    fn reach_observed(&mut self) -> Result<Option<Reached>, Stop> {
        if self.state.core.cycle >= self.limit.0 {
            return Err(Stop::Limit);
        }
        if let Some(stop) = self.state.stops_here() {
            return Err(stop);
        }
        if self.state.core.is_between() && !self.is_asleep() {
            return Ok(Some(Reached));
        }
        let _passed = self.cycle(self.limit)?;
        Ok(None)
    }

    fn execute_observed(&mut self, _reached: Reached) -> (Option<Instruction>, Result<(), Stop>) {
        let pc = self.state.core.hart.pc;
        let began = self.state.cycles();
        let told = self.state.core.instruction_at(pc).map(|it| Instruction {
            address: pc,
            size: it.size,
            is_call: matches!(it.op, Op::Jump | Op::JumpRegister)
                && matches!(it.rd, RA | ALTERNATE),
            began,
        });
        loop {
            match self.pass_one() {
                Ok(Passed::Instruction(_)) => return (told, Ok(())),
                Ok(Passed::Trap) => return (None, Ok(())),
                Ok(_) if self.state.core.cycle >= self.limit.0 => return (None, Err(Stop::Limit)),
                Ok(_) => {}
                Err(stop) => return (None, Err(stop)),
            }
        }
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
impl RiscV {
    /// See [`Machine::load_and_call`](crate::Machine::load_and_call). The stack begins at the end
    /// of the last memory that can be written.
    pub(crate) fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        self.state.load(image)?;
        let writable = |memory: &&crate::soc::Memory| memory.kind == crate::soc::MemoryKind::Ram;
        let top = self.state.soc().memories.iter().rev().find(writable);
        let sp = top.map_or(0, |memory| memory.range().end as u32 & !15);
        self.state.set_register(Register::R(2), sp);
        self.state.set_register(Register::R(RA), RETURN & !1);
        self.state.set_register(Register::Pc, entry);
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

    /// Nothing: what it keeps is bounded by a table of its own.
    pub(crate) const fn limit_code(&self, _steps: usize, _states: usize) {}

    /// None: see there.
    pub(crate) const fn evictions(&self) -> u64 {
        0
    }

    /// Nothing: there is no table of states that could be wrong.
    pub(crate) const fn sabotage(&self, _address: u32) {}

    /// See [`Machine::store_word`](crate::Machine::store_word).
    pub(crate) fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        if address & 3 != 0 || !self.state.core.store_word(address, value) {
            return Err(NoMemory(address));
        }
        Ok(())
    }

    pub(crate) fn has_register(&self, register: Register) -> bool {
        self.state.has_register(register)
    }

    /// See [`Machine::disassembly`](crate::Machine::disassembly).
    pub(crate) fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let bits = self.state.core.system.code(address)?;
        let size = if bits & 3 == 3 { 4 } else { 2 };
        let encoding = if size == 4 { bits } else { bits & 0xFFFF };
        let target = self.state.core.target_at(address);
        let text =
            disassemble(address, bits, self.state.core.hart.rules.extensions).map(|(text, _)| text);
        let text = text.unwrap_or_else(|| match size {
            2 => format!(".half {encoding:#06x}"),
            _ => format!(".word {encoding:#010x}"),
        });
        let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
        Some(Disassembly {
            size,
            encoding,
            mnemonic: mnemonic.to_owned(),
            operands: operands.to_owned(),
            target,
        })
    }

    pub(crate) const fn exceptions_taken(&self) -> u64 {
        self.state.taken()
    }

    /// Masked intervals are looked for on Cortex-M only.
    pub(crate) fn watch_masks(&mut self) {
        self.state.watches.masking.on = true;
    }

    /// That of the program's own doing: what a trap masks by itself belongs to its handler.
    pub(crate) const fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state.watches.masking.settled
    }

    /// What holds interrupts back now.
    pub(crate) fn mask(&self) -> Option<Blocker> {
        (!self.state.core.hart.csr.takes_interrupts()).then_some(Blocker::MachineMask)
    }

    pub(crate) fn holds_back_priority(&self, priority: u8) -> Option<Blocker> {
        let preempts = self.state.core.hart.csr.would_preempt(priority >> 4);
        self.mask().or_else(|| (!preempts).then(|| Blocker::Active(self.state.handler())))
    }

    /// See [`Machine::step`](crate::Machine::step).
    pub(crate) fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.core.cycle < until.0 {
            if matches!(self.pass_one_until(until)?, Passed::Instruction(_)) {
                return Ok(());
            }
        }
        Err(Stop::Limit)
    }

    /// See [`Machine::next_access`](crate::Machine::next_access).
    pub(crate) fn next_access(&self) -> Option<Access> {
        let (address, bytes, writes) = self.state.core.next_access()?;
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        Some(Access { address, bytes, kind })
    }

    /// See [`Machine::arm_interrupt`](crate::Machine::arm_interrupt). The upper four bits of the
    /// priority count, and a greater one is more urgent.
    pub(crate) fn arm_interrupt(&mut self, interrupt: u16, priority: u8) -> bool {
        if interrupt >= self.state.soc().interrupts {
            return false;
        }
        self.state.core.hart.csr.arm(interrupt, priority >> 4);
        self.state.core.look_again();
        true
    }

    pub(crate) fn interrupt_priority(&self, interrupt: u16) -> u8 {
        self.state.core.hart.csr.controller.priority(interrupt) << 4
    }

    /// Where traps lead: MTVEC's base.
    pub(crate) const fn vector_table(&self) -> u32 {
        self.state.core.hart.csr.vector(None)
    }

    /// See [`Machine::advance`](crate::Machine::advance).
    pub(crate) fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        loop {
            if self.state.core.cycle >= until.0 {
                return Err(Stop::Limit);
            }
            match self.cycle(until)? {
                Passed::Instruction(_) => return Ok(Advance::Instruction),
                Passed::Trap => return Ok(Advance::Other),
                _ if self.is_asleep() => return Ok(Advance::Other),
                _ => {}
            }
        }
    }

    pub(crate) fn advance_open(&mut self, until: Cycles) -> Result<Advance, Stop> {
        self.advance(until)
    }

    pub(crate) fn settle(&mut self) {
        self.state.core.see_lines();
    }

    /// See [`Machine::holds_back`](crate::Machine::holds_back).
    pub(crate) fn holds_back(&self, interrupt: u16) -> Option<Blocker> {
        let csr = &self.state.core.hart.csr;
        if !csr.is_armed(interrupt) {
            return Some(Blocker::Disabled);
        }
        let held = self.holds_back_priority(csr.controller.priority(interrupt) << 4);
        let first = || self.state.core.taken_before(interrupt);
        held.or_else(|| Some(Blocker::Pending(number::FIRST_EXTERNAL + first()?)))
    }

    /// Whether the core sleeps, or the next instruction reads what is pending, or sleeps unless
    /// something is.
    pub(crate) fn sees_pending(&self) -> bool {
        self.is_asleep() || self.state.core.shows_pending()
    }

    /// See [`Machine::looks_until`](crate::Machine::looks_until): no longer than it executes.
    pub(crate) fn looks_until(&self) -> Option<Cycles> {
        let looks = !self.is_asleep() && self.state.core.shows_pending();
        looks.then(|| self.state.cycles())
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.state.core.is_asleep()
    }

    pub(crate) fn is_under_way(&self, interrupt: u16) -> bool {
        self.has_come(interrupt) || self.is_active(interrupt)
    }

    pub(crate) fn has_come(&self, interrupt: u16) -> bool {
        self.state.core.is_pending(interrupt)
    }

    pub(crate) fn is_active(&self, interrupt: u16) -> bool {
        self.state.is_handling(number::FIRST_EXTERNAL.saturating_add(interrupt))
    }

    pub(crate) const fn least_latency(&self) -> u64 {
        LEAST_LATENCY
    }

    pub(crate) const fn next_entry(&self) -> Cycles {
        Cycles(self.state.core.cycle)
    }
}
