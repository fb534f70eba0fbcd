//! Following a run instruction by instruction, for traces, profiles and debuggers.
//!
//! An observed run goes through a loop of its own, which executes the same
//! instructions by the same code as [`Machine::run`] and takes the same cycles; a
//! run that nobody observes pays nothing. Observers see the machine and cannot
//! change it.

use std::ops::ControlFlow;

use rtmark_units::Cycles;

use crate::engine::Machine;
use crate::engine::events::Due;
use crate::isa::{Group, Op, Slot};
use crate::state::stop::Stop;

/// What an observed run tells. Every method may be left out.
pub trait Observer {
    /// The instruction at the program counter is about to execute, in the cycle that
    /// [`Machine::cycles`] says. [`ControlFlow::Break`] ends the run before it, with
    /// [`Stop::Observer`].
    fn before(&mut self, _machine: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The core has slept until now.
    fn slept(&mut self, _machine: &Machine) {}

    /// An instruction has executed, or its condition has passed over it.
    fn executed(&mut self, _machine: &Machine, _instruction: &Instruction) {}

    /// The handler of the exception with this number is about to execute.
    fn entered(&mut self, _machine: &Machine, _exception: u16) {}

    /// The handler of the exception with this number has returned: to what it
    /// interrupted, or straight to another handler, whose entry is told next.
    fn returned(&mut self, _machine: &Machine, _exception: u16) {}
}

/// Two that observe the same run; either may end it.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let first = self.0.before(machine);
        let second = self.1.before(machine);
        if first.is_break() { first } else { second }
    }

    fn slept(&mut self, machine: &Machine) {
        self.0.slept(machine);
        self.1.slept(machine);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.0.executed(machine, instruction);
        self.1.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.0.entered(machine, exception);
        self.1.entered(machine, exception);
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.0.returned(machine, exception);
        self.1.returned(machine, exception);
    }
}

/// An instruction that an observed run has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands.
    pub address: u32,
    /// Bytes of its encoding, 2 or 4.
    pub size: u8,
    /// Whether it is a call: BL, or BLX to a register.
    pub is_call: bool,
    /// The cycle in which it began.
    pub began: Cycles,
}

/// Whether memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
}

/// An access of an instruction to memory: `bytes` from `address` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The lowest address.
    pub address: u32,
    /// How many bytes.
    pub bytes: u32,
    /// Which way they go.
    pub kind: AccessKind,
}

impl Access {
    /// Whether the access touches any of `length` bytes from `address` on.
    pub const fn touches(self, address: u32, length: u32) -> bool {
        address.wrapping_sub(self.address) < self.bytes
            || self.address.wrapping_sub(address) < length
    }
}

/// Counts at a boundary, to see afterwards what exceptions have done.
struct Marks {
    taken: u64,
    left: u64,
    handler: u16,
    cycles: u64,
}

impl Machine {
    /// Runs as [`Machine::run`] does, with everything told to an observer on the way. Between two
    /// calls of the observer's methods lies whatever the core waited for.
    pub fn run_observed(&mut self, until: Cycles, observer: &mut impl Observer) -> Stop {
        let stop = self.run_on_observed(until, observer);
        self.reason(stop)
    }

    fn run_on_observed(&mut self, until: Cycles, observer: &mut impl Observer) -> Stop {
        self.state.limit = until.0;
        self.state.deadline = 0;
        loop {
            let marks = self.marks();
            self.state.reach_next();
            let due = if self.state.cycles >= self.state.deadline {
                match self.state.attend_once() {
                    Ok(due) => due,
                    Err(stop) => return stop,
                }
            } else {
                Due::Instruction
            };
            if due == Due::Attention {
                self.tell_exceptions(&marks, observer);
                if self.state.watches.taken == marks.taken && self.state.cycles > marks.cycles {
                    observer.slept(self);
                }
                continue;
            }
            let slot = match self.state.next_slot() {
                Ok(slot) => slot,
                Err(stop) => return stop,
            };
            if observer.before(self).is_break() {
                return Stop::Observer;
            }
            let (address, began, count) =
                (self.state.cpu.pc, self.state.cycles, self.state.instructions);
            let told = slot.map(|slot| Instruction {
                address,
                size: slot.size(),
                is_call: self.is_call(&slot),
                began: Cycles(began),
            });
            let step = match (slot, due) {
                (Some(slot), Due::Conditional) => self.state.step_in_it_block(address, slot),
                (Some(slot), _) => self.state.step_decoded(address, slot),
                (None, _) => self.state.fetch_fault(address),
            };
            if let Some(instruction) = told.filter(|_| self.state.instructions > count) {
                observer.executed(self, &instruction);
            }
            self.tell_exceptions(&marks, observer);
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    /// Executes one instruction, also one before which the run is to stop, after
    /// whatever is due before it: an exception that is taken first, or a sleep that
    /// ends no later than `until`.
    ///
    /// # Errors
    /// Whatever would have ended a run, with no instruction executed unless it is the
    /// instruction that ends it.
    pub fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        let result = self.step_once(until);
        self.unless_failed(result)
    }

    fn step_once(&mut self, until: Cycles) -> Result<(), Stop> {
        self.state.limit = until.0;
        loop {
            self.state.reach_next();
            let due = self.state.attend_once()?;
            if due == Due::Attention {
                continue;
            }
            let pc = self.state.cpu.pc;
            return match (self.state.slot_past_stop(pc), due) {
                (Some(slot), Due::Conditional) => self.state.step_in_it_block(pc, slot),
                (Some(slot), _) => self.state.step_decoded(pc, slot),
                (None, _) => self.state.fetch_fault(pc),
            };
        }
    }

    /// What the instruction at the program counter will access, as far as it is
    /// executed: of a load or store of several registers all of them. `None` when it
    /// accesses no memory. What an exception saves and restores is not told.
    pub fn next_access(&self) -> Option<Access> {
        let slot = self.state.predecoded.decoder.decode(&self.state.bus, self.state.cpu.pc)?;
        self.access_of(&slot)
    }

    fn marks(&self) -> Marks {
        let (taken, left) = (self.state.watches.taken, self.state.watches.left);
        Marks { taken, left, handler: self.state.cpu.ipsr, cycles: self.state.cycles }
    }

    fn tell_exceptions(&self, marks: &Marks, observer: &mut impl Observer) {
        if self.state.watches.left != marks.left {
            observer.returned(self, marks.handler);
        }
        if self.state.watches.taken != marks.taken {
            observer.entered(self, self.state.cpu.ipsr);
        }
    }

    fn is_call(&self, slot: &Slot) -> bool {
        let call = |slot: &Slot| slot.op.group() == Group::Call || slot.op == Op::BlxR;
        match slot.op {
            Op::Watch => self
                .state
                .predecoded
                .decoder
                .decode(&self.state.bus, self.state.cpu.pc)
                .is_some_and(|s| call(&s)),
            _ => call(slot),
        }
    }

    /// The effective address of a load or store, as `exec` computes it.
    fn access_of(&self, s: &Slot) -> Option<Access> {
        use AccessKind::{Read, Write};
        let base = self.state.cpu.get(s.n);
        let offset = base.wrapping_add(s.imm);
        let indexed = base.wrapping_add(self.state.cpu.get(s.m) << (s.aux & 3));
        let (address, bytes, kind) = match s.op {
            Op::LdrI | Op::LdrPre | Op::Ldrt | Op::LdrPcI | Op::LdrPcPre | Op::Ldrex => {
                (offset, 4, Read)
            }
            Op::LdrhI
            | Op::LdrshI
            | Op::Ldrht
            | Op::Ldrsht
            | Op::LdrhPre
            | Op::LdrshPre
            | Op::Ldrexh => (offset, 2, Read),
            Op::LdrbI
            | Op::LdrsbI
            | Op::Ldrbt
            | Op::Ldrsbt
            | Op::LdrbPre
            | Op::LdrsbPre
            | Op::Ldrexb => (offset, 1, Read),
            Op::Lda => (base, s.aux, Read),
            Op::Stl => (base, s.aux, Write),
            Op::Vlldm => (base, self.state.fp_frame_size(), Read),
            Op::Vlstm => (base, self.state.fp_frame_size(), Write),
            Op::LdrPost | Op::LdrPcPost => (base, 4, Read),
            Op::LdrhPost | Op::LdrshPost => (base, 2, Read),
            Op::LdrbPost | Op::LdrsbPost => (base, 1, Read),
            Op::LdrR | Op::LdrPcR => (indexed, 4, Read),
            Op::LdrhR | Op::LdrshR => (indexed, 2, Read),
            Op::LdrbR | Op::LdrsbR => (indexed, 1, Read),
            Op::LdrLit | Op::LdrPcLit => (s.imm, 4, Read),
            Op::LdrhLit | Op::LdrshLit => (s.imm, 2, Read),
            Op::LdrbLit | Op::LdrsbLit => (s.imm, 1, Read),
            Op::StrI | Op::StrPre | Op::Strt | Op::Strex => (offset, 4, Write),
            Op::StrhI | Op::StrhPre | Op::Strht | Op::Strexh => (offset, 2, Write),
            Op::StrbI | Op::StrbPre | Op::Strbt | Op::Strexb => (offset, 1, Write),
            Op::StrPost => (base, 4, Write),
            Op::StrhPost => (base, 2, Write),
            Op::StrbPost => (base, 1, Write),
            Op::StrR => (indexed, 4, Write),
            Op::StrhR => (indexed, 2, Write),
            Op::StrbR => (indexed, 1, Write),
            Op::Ldrd | Op::Strd => {
                let kind = if s.op == Op::Ldrd { Read } else { Write };
                (if s.aux == 2 { base } else { offset }, 8, kind)
            }
            Op::LdrdLit => (s.imm, 8, Read),
            Op::Ldm | Op::Pop | Op::Ldmdb | Op::Stm | Op::Push | Op::Stmdb => {
                let bytes = s.imm.count_ones() * 4;
                let down = matches!(s.op, Op::Push | Op::Stmdb | Op::Ldmdb);
                let kind = if matches!(s.op, Op::Ldm | Op::Pop | Op::Ldmdb) { Read } else { Write };
                (if down { base.wrapping_sub(bytes) } else { base }, bytes, kind)
            }
            Op::Vldr | Op::Vldm => (offset, (s.aux & 0xFF) * 4, Read),
            Op::Vstr | Op::Vstm => (offset, (s.aux & 0xFF) * 4, Write),
            Op::VldrLit => (s.imm, (s.aux & 0xFF) * 4, Read),
            Op::Tbb | Op::Tbh => {
                let base = if s.n == 15 { self.state.cpu.pc.wrapping_add(4) } else { base };
                let index = self.state.cpu.get(s.m);
                match s.op {
                    Op::Tbb => (base.wrapping_add(index), 1, Read),
                    _ => (base.wrapping_add(index << 1), 2, Read),
                }
            }
            _ => return None,
        };
        Some(Access { address, bytes, kind })
    }
}
