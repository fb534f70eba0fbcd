//! The toy core's implementation of the traits that machines call.

use rtmark_units::Cycles;

use super::op::Toy;
use super::{CONVENTION, ENTRY, FIRST, HANDLER, ToyState};
use crate::debug::{
    Access, AccessKind, Advance, BoundaryCounts, Controlled, CoreModel, Instruction, Observed,
    Roles, TrialOutcome, Trials,
};
use crate::isa::Disassembly;
use crate::soc::Soc;
use crate::state::stop::Stop;
use crate::state::{
    Blocker, Convention, CoreState, Interrupted, Irq, Landmarks, Register, ThreadStack,
    UnmappedAddress,
};

/// The toy core.
#[derive(Clone, Debug)]
pub struct ToyCore {
    pub state: ToyState,
    limit: u64,
}

impl Observed for ToyCore {
    type NextInstruction = ();

    fn begin_observed(&mut self, until: Cycles, _landmarks: Option<&Landmarks>) {
        self.limit = until.0;
    }

    fn reach_observed(&mut self) -> Result<Option<()>, Stop> {
        Ok(self.state.handle_due_events(self.limit)?.is_none().then_some(()))
    }

    fn execute_observed(&mut self, (): ()) -> (Option<Instruction>, Result<(), Stop>) {
        let (address, began) = (self.state.pc, self.state.cycles());
        match self.state.step() {
            Ok(it) => {
                let instruction =
                    Instruction { address, size: it.size() as u8, is_call: false, began };
                (Some(instruction), Ok(()))
            }
            Err(stop) => (None, Err(stop)),
        }
    }

    fn marks(&self) -> BoundaryCounts {
        BoundaryCounts {
            taken: self.state.watches.taken,
            left: self.state.watches.left,
            handler: self.exception(),
            idle: self.state.slept,
        }
    }
}

impl ToyCore {
    pub fn new(soc: &Soc) -> Self {
        Self { state: ToyState::new(soc), limit: 0 }
    }
}

impl CoreModel for ToyCore {
    type State = ToyState;

    fn state(&self) -> &ToyState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut ToyState {
        &mut self.state
    }

    fn run(&mut self, until: Cycles) -> Stop {
        loop {
            if let Err(stop) = self.advance(until) {
                return stop;
            }
        }
    }
}

impl Controlled for ToyCore {
    fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.handle_due_events(until.0)?.is_some() {}
        self.state.step().map(|_| ())
    }

    fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        self.state.write(address, value).ok_or(UnmappedAddress(address))
    }

    fn disassembly(&self, address: u32) -> Option<Disassembly> {
        let it = self.state.fetch(address)?;
        let text = format!("{it:?}").to_lowercase();
        let (mnemonic, operands) = text.split_once('(').unwrap_or((&text, ""));
        let target = match it {
            Toy::Branch(_, by) => Some((address + it.size()).wrapping_add_signed(by.into())),
            _ => None,
        };
        Some(Disassembly {
            size: it.size() as u8,
            encoding: 0,
            mnemonic: mnemonic.to_owned(),
            operands: operands.trim_end_matches(')').to_owned(),
            target,
        })
    }

    fn mask(&self) -> Option<Blocker> {
        self.state.masked.then_some(Blocker::MachineMask)
    }

    fn would_wake(&self, _priority: Option<u8>) -> bool {
        true
    }

    fn priority_blocker(&self, _priority: u8) -> Option<Blocker> {
        self.state.blocker()
    }

    fn next_access(&self) -> Option<Access> {
        let (of, kind) = match self.state.fetch(self.state.pc)? {
            Toy::Load(_, b) => (b, AccessKind::Read),
            Toy::Store(_, b) => (b, AccessKind::Write),
            _ => return None,
        };
        Some(Access { address: self.state.register(Register::R(of)), bytes: 4, kind })
    }
}

impl Roles for ToyCore {
    fn named_registers(&self) -> Vec<(&'static str, Register)> {
        let names = ["a", "b", "c", "d", "sp", "link"].into_iter().zip((0..).map(Register::R));
        names.chain([("pc", Register::Pc)]).collect()
    }

    fn exception(&self) -> u16 {
        self.state.handler.map_or(0, |(interrupt, _)| FIRST + interrupt)
    }

    fn interrupted(&self) -> Interrupted {
        let sp = self.state.register(Register::Sp);
        Interrupted {
            pc: self.state.handler.map_or(self.state.pc, |(_, to)| to),
            sp,
            frame: sp,
            stack: ThreadStack::Only,
            bank: 0,
            exception: 0,
        }
    }

    fn handler_of(&self, _interrupt: Irq) -> Result<u32, (u32, u32)> {
        Ok(self.state.soc.vector_base() + HANDLER)
    }

    fn convention(&self) -> Convention {
        CONVENTION
    }
}

impl Trials for ToyCore {
    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        if let Some(other) = self.state.handle_due_events(until.0)? {
            return Ok(other);
        }
        let left = self.state.watches.left;
        self.state.step()?;
        let plain = self.state.watches.left == left && !self.state.asleep;
        Ok(if plain { Advance::Instruction } else { Advance::Other })
    }

    fn settle(&mut self) {
        self.state.pass_time();
    }

    fn arm_interrupt(&mut self, interrupt: Irq, _priority: u8) -> bool {
        let exists = interrupt.line() < self.state.soc.interrupts.min(32);
        self.state.armed |= if exists { 1 << interrupt.line() } else { 0 };
        exists
    }

    fn vector_table(&self) -> u32 {
        self.state.soc.vector_base()
    }

    fn interrupt_blocker(&self, interrupt: Irq) -> Option<Blocker> {
        let state = &self.state;
        if state.armed >> interrupt.line() & 1 == 0 {
            return Some(Blocker::Disabled);
        }
        let first = state.wanted().trailing_zeros() as u16;
        let pending = (first < interrupt.line()).then_some(Blocker::Pending(FIRST + first));
        state.blocker().or(pending)
    }

    fn observes_pending_until(&self, _interrupt: Irq) -> Option<Cycles> {
        None
    }

    fn is_asleep(&self) -> bool {
        self.state.asleep
    }

    fn has_arrived(&self, interrupt: Irq) -> bool {
        self.state.wanted() >> interrupt.line() & 1 == 1
    }

    fn is_active(&self, interrupt: Irq) -> bool {
        self.state.handler.is_some_and(|(active, _)| active == interrupt.line())
    }

    /// Interrupts are only sampled at instruction boundaries, and nothing can happen between entry and
    /// handler.
    fn try_entry_early(&mut self, interrupt: Irq, at: Cycles) -> TrialOutcome {
        match self.interrupt_blocker(interrupt) {
            None if at.0 <= self.state.cycles => {
                TrialOutcome::Entered(Cycles(self.state.cycles + ENTRY))
            }
            _ => TrialOutcome::Unclear,
        }
    }

    /// The core has no priorities.
    fn interrupt_priority(&self, _interrupt: Irq) -> u8 {
        0
    }

    fn least_latency(&self) -> u64 {
        ENTRY
    }
}
