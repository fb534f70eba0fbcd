//! Following a run instruction by instruction, for traces, profiles and debuggers.
//!
//! An observed run has a loop of its own, which executes the same instructions with the same code as
//! [`Machine::run`](crate::Machine::run) and takes the same cycles; an unobserved run pays nothing.
//! Observers see the machine but cannot change it.

use rtmark_units::Cycles;

use crate::engine::CortexM;
use crate::engine::events::Due;
use crate::engine::run_loop::BlockRun;
use crate::isa::{Group, Op, Slot};
use crate::state::stop::Stop;
use crate::state::{Landmarks, Session, Watches};

/// An instruction that an observed run has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The instruction's address.
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

/// An instruction's access to memory: `bytes` bytes starting at `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The lowest address.
    pub address: u32,
    /// The number of bytes.
    pub bytes: u32,
    /// Whether they are read or written.
    pub kind: AccessKind,
}

impl Access {
    /// Returns whether the access touches any of the `length` bytes starting at `address`.
    pub const fn touches(self, address: u32, length: u32) -> bool {
        address.wrapping_sub(self.address) < self.bytes
            || self.address.wrapping_sub(address) < length
    }
}

/// The counts at an instruction boundary, by which the loop later sees what exceptions have done.
#[derive(Clone, Copy, Debug)]
pub struct BoundaryCounts {
    /// Exceptions taken so far.
    pub taken: u64,
    /// Exceptions left so far.
    pub left: u64,
    /// The number of the exception whose handler is executing.
    pub handler: u16,
    /// A count that increases while the core sleeps.
    pub idle: u64,
}

impl BoundaryCounts {
    /// Returns the counts of a core whose session keeps them.
    pub fn of(session: &Session) -> Self {
        Self {
            taken: session.watches.taken,
            left: session.watches.left,
            handler: session.handlers.current(),
            idle: session.asleep,
        }
    }
}

/// A Cortex-M instruction that is about to execute.
pub struct NextInstruction {
    slot: Option<Slot>,
    due: Due,
}

/// A core whose run can be observed instruction by instruction.
pub trait Observed {
    /// An instruction that is about to execute.
    type NextInstruction;

    /// Begins an observed run that lasts until a cycle: at landmarks if there are any, otherwise at every
    /// instruction.
    fn begin_observed(&mut self, until: Cycles, landmarks: Option<&Landmarks>);

    /// Advances to where the next instruction is about to execute; returns `None` if something else has
    /// happened instead.
    fn reach_observed(&mut self) -> Result<Option<Self::NextInstruction>, Stop>;

    /// Executes the instruction that has been reached; returns it if it has executed.
    fn execute_observed(
        &mut self,
        next: Self::NextInstruction,
    ) -> (Option<Instruction>, Result<(), Stop>);

    /// Continues at full speed from the instruction that has been reached to the next landmark, or to where
    /// something other than an instruction is due. Returns the cycle up to which it executed, or `None` if
    /// the instruction must be executed by itself, as always on cores that do not support landmarks.
    fn run_to_landmark(
        &mut self,
        _next: &Self::NextInstruction,
    ) -> (Option<Cycles>, Result<(), Stop>) {
        (None, Ok(()))
    }

    /// Returns the current counts.
    fn marks(&self) -> BoundaryCounts;
}

impl Observed for CortexM {
    type NextInstruction = NextInstruction;

    fn begin_observed(&mut self, until: Cycles, landmarks: Option<&Landmarks>) {
        self.state.predecoded.observe_at(landmarks);
        self.state.limit = until.0;
        self.state.deadline = 0;
    }

    fn reach_observed(&mut self) -> Result<Option<NextInstruction>, Stop> {
        self.state.reach_next();
        let due = if self.state.cycles >= self.state.deadline {
            self.state.handle_due_event()?
        } else {
            Due::Instruction
        };
        if due == Due::Attention {
            return Ok(None);
        }
        Ok(Some(NextInstruction { slot: self.state.next_slot()?, due }))
    }

    fn execute_observed(
        &mut self,
        next: NextInstruction,
    ) -> (Option<Instruction>, Result<(), Stop>) {
        let NextInstruction { slot, due } = next;
        let (address, count) = (self.state.cpu.pc, self.state.instructions);
        let instruction = slot.map(|slot| Instruction {
            address,
            size: slot.size(),
            is_call: self.is_call(&slot),
            began: Cycles(self.state.cycles),
        });
        let step = match (slot, due) {
            (Some(slot), Due::Conditional) => self.state.step_in_it_block(address, slot),
            (Some(slot), _) => self.state.step_decoded(address, slot),
            (None, _) => self.state.fetch_fault(address),
        };
        (instruction.filter(|_| self.state.instructions > count), step)
    }

    fn run_to_landmark(&mut self, next: &NextInstruction) -> (Option<Cycles>, Result<(), Stop>) {
        let plain = next.slot.filter(|slot| !slot.is_landmark());
        if plain.is_none() || next.due != Due::Instruction {
            return (None, Ok(()));
        }
        let taken = self.state.watches.taken;
        match self.run_unobserved() {
            Ok(BlockRun::NoBlock) => (None, Ok(())),
            went => {
                // An exception that an instruction raises is taken together with it.
                let Watches { taken: now, entry_began, .. } = self.state.watches;
                let until = if now == taken { self.state.cycles } else { entry_began };
                (Some(Cycles(until)), went.map(|_| ()))
            }
        }
    }

    fn marks(&self) -> BoundaryCounts {
        BoundaryCounts {
            taken: self.state.watches.taken,
            left: self.state.watches.left,
            handler: self.state.cpu.ipsr,
            idle: self.state.cycles,
        }
    }
}

impl CortexM {
    pub(super) fn step_once(&mut self, until: Cycles) -> Result<(), Stop> {
        self.state.limit = until.0;
        loop {
            self.state.reach_next();
            let due = self.state.handle_due_event()?;
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

    /// Returns the access that the instruction at the program counter will perform.
    pub(super) fn access_at_pc(&self) -> Option<Access> {
        let slot = self.state.predecoded.instruction(&self.state.bus, self.state.cpu.pc)?;
        self.access_of(&slot)
    }

    fn is_call(&self, slot: &Slot) -> bool {
        let call = |slot: &Slot| slot.op.group() == Group::Call || slot.op == Op::BlxR;
        match slot.op {
            Op::Watch => self
                .state
                .predecoded
                .instruction(&self.state.bus, self.state.cpu.pc)
                .is_some_and(|s| call(&s)),
            _ => call(slot),
        }
    }

    /// Returns the access of a load or store, computed as `exec` does.
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
