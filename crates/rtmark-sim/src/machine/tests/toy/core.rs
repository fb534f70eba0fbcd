//! The core as machines ask it.

use rtmark_units::Cycles;

use super::op::Toy;
use super::{CONVENTION, ENTRY, FIRST, HANDLER, ToyState};
use crate::debug::{Access, AccessKind, Advance, Instruction, Marks, Observed, Tried};
use crate::image::Image;
use crate::isa::Disassembly;
use crate::soc::Soc;
use crate::state::stop::{InternalError, Stop};
use crate::state::{
    Blocker, Convention, Interrupted, LoadError, MaskedInterval, NoMemory, Register, ThreadStack,
};

/// The core.
#[derive(Clone, Debug)]
pub struct ToyCore {
    pub state: ToyState,
    limit: u64,
}

impl Observed for ToyCore {
    type Reached = ();

    fn begin_observed(&mut self, until: Cycles) {
        self.limit = until.0;
    }

    fn reach_observed(&mut self) -> Result<Option<()>, Stop> {
        Ok(self.state.attend(self.limit)?.is_none().then_some(()))
    }

    fn execute_observed(&mut self, (): ()) -> (Option<Instruction>, Result<(), Stop>) {
        let (address, began) = (self.state.pc, self.state.cycles());
        match self.state.step() {
            Ok(it) => {
                let told = Instruction { address, size: it.size() as u8, is_call: false, began };
                (Some(told), Ok(()))
            }
            Err(stop) => (None, Err(stop)),
        }
    }

    fn marks(&self) -> Marks {
        Marks {
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

    pub fn run(&mut self, until: Cycles) -> Stop {
        loop {
            if let Err(stop) = self.advance(until) {
                return stop;
            }
        }
    }

    pub fn advance(&mut self, until: Cycles) -> Result<Advance, Stop> {
        if let Some(other) = self.state.attend(until.0)? {
            return Ok(other);
        }
        let left = self.state.watches.left;
        self.state.step()?;
        let plain = self.state.watches.left == left && !self.state.asleep;
        Ok(if plain { Advance::Instruction } else { Advance::Other })
    }

    pub fn advance_open(&mut self, until: Cycles) -> Result<Advance, Stop> {
        self.advance(until)
    }

    pub fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        while self.state.attend(until.0)?.is_some() {}
        self.state.step().map(|_| ())
    }

    pub fn settle(&mut self) {
        self.state.pass_time();
    }

    pub fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        self.state.load(image)?;
        self.state.pc = entry;
        Ok(())
    }

    pub fn stop_before(&mut self, address: u32) {
        self.state.stops.insert(address);
    }

    pub fn go_through(&mut self, address: u32) {
        self.state.stops.remove(&address);
    }

    pub fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        self.state.write(address, value).ok_or(NoMemory(address))
    }

    pub fn has_register(&self, register: Register) -> bool {
        self.named_registers().iter().any(|(_, known)| *known == register.by(CONVENTION))
    }

    pub fn named_registers(&self) -> Vec<(&'static str, Register)> {
        let names = ["a", "b", "c", "d", "sp", "link"].into_iter().zip((0..).map(Register::R));
        names.chain([("pc", Register::Pc)]).collect()
    }

    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
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

    pub fn exceptions_taken(&self) -> u64 {
        self.state.watches.taken
    }

    pub fn watch_masks(&mut self) {
        self.state.watches.masking.on = true;
    }

    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state.watches.masking.settled
    }

    pub fn mask(&self) -> Option<Blocker> {
        self.state.masked.then_some(Blocker::MachineMask)
    }

    pub fn holds_back_priority(&self, _priority: u8) -> Option<Blocker> {
        self.state.blocker()
    }

    pub fn next_access(&self) -> Option<Access> {
        let (of, kind) = match self.state.fetch(self.state.pc)? {
            Toy::Load(_, b) => (b, AccessKind::Read),
            Toy::Store(_, b) => (b, AccessKind::Write),
            _ => return None,
        };
        Some(Access { address: self.state.register(Register::R(of)), bytes: 4, kind })
    }

    pub fn arm_interrupt(&mut self, interrupt: u16, _priority: u8) -> bool {
        let exists = interrupt < self.state.soc.interrupts.min(32);
        self.state.armed |= if exists { 1 << interrupt } else { 0 };
        exists
    }

    pub fn vector_table(&self) -> u32 {
        self.state.soc.vector_base()
    }

    pub fn holds_back(&self, interrupt: u16) -> Option<Blocker> {
        let state = &self.state;
        if state.armed >> interrupt & 1 == 0 {
            return Some(Blocker::Disabled);
        }
        let first = state.wanted().trailing_zeros() as u16;
        let pending = (first < interrupt).then_some(Blocker::Pending(FIRST + first));
        state.blocker().or(pending)
    }

    pub fn sees_pending(&self) -> bool {
        self.state.asleep
    }

    pub fn looks_until(&self) -> Option<Cycles> {
        None
    }

    pub fn is_asleep(&self) -> bool {
        self.state.asleep
    }

    pub fn is_under_way(&self, interrupt: u16) -> bool {
        self.has_come(interrupt) || self.is_active(interrupt)
    }

    pub fn has_come(&self, interrupt: u16) -> bool {
        self.state.wanted() >> interrupt & 1 == 1
    }

    pub fn is_active(&self, interrupt: u16) -> bool {
        self.state.handler.is_some_and(|(active, _)| active == interrupt)
    }

    pub fn try_entry(&mut self, interrupt: u16) -> Tried {
        self.try_entry_early(interrupt, self.state.cycles())
    }

    /// It is looked at interrupts at boundaries alone, and nothing comes between entry and handler.
    pub fn try_entry_early(&mut self, interrupt: u16, at: Cycles) -> Tried {
        match self.holds_back(interrupt) {
            None if at.0 <= self.state.cycles => Tried::Entered(Cycles(self.state.cycles + ENTRY)),
            _ => Tried::Unclear,
        }
    }

    pub fn next_entry(&self) -> Cycles {
        self.state.cycles()
    }

    pub fn exception(&self) -> u16 {
        self.state.handler.map_or(0, |(interrupt, _)| FIRST + interrupt)
    }

    pub fn interrupted(&self) -> Interrupted {
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

    pub fn handler_of(&self, _interrupt: u16) -> Result<u32, (u32, u32)> {
        Ok(self.state.soc.vector_base() + HANDLER)
    }
}

/// What is the same for all of them.
impl ToyCore {
    pub fn internal_error(&self) -> Option<&InternalError> {
        None
    }

    pub fn reason(&self, stop: Stop) -> Stop {
        stop
    }

    pub fn sabotage(&self, _address: u32) {}

    pub fn limit_code(&self, _steps: usize, _states: usize) {}

    pub fn evictions(&self) -> u64 {
        0
    }

    pub fn interrupt_priority(&self, _interrupt: u16) -> u8 {
        0
    }

    pub fn least_latency(&self) -> u64 {
        ENTRY
    }

    pub fn try_entry_within(&self, _interrupt: u16, _at: Cycles) -> Option<Tried> {
        None
    }

    pub fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    pub fn stack_bank(&self) -> u8 {
        0
    }

    pub fn convention(&self) -> Convention {
        CONVENTION
    }

    pub fn handler_table(&self) -> Option<u32> {
        None
    }

    pub fn returns_from_call(&self, link: u32) -> Option<u32> {
        Some(link)
    }

    pub fn goes_on(&self) -> bool {
        false
    }
}
