//! What a core's model is to machines: the door by which a core comes in.
//!
//! A core has a state ([`CoreState`]), can be observed ([`Observed`]), and answers to the traits here, by
//! the names that [`Machine`](crate::Machine) has for each question, where it is described. What only some
//! cores have is answered here as by a core that lacks it.

use rtmark_units::Cycles;

use super::{Access, Advance, Observed, RETURN, Tried};
use crate::host::Host;
use crate::image::Image;
use crate::isa::Disassembly;
use crate::soc::MemoryKind;
use crate::state::stop::{InternalError, Stop};
use crate::state::{
    Blocker, Convention, CoreState, FileCalls, Interrupted, LoadError, MaskedInterval, NoMemory,
    Register, ThreadStack,
};

/// A core that runs.
pub trait CoreModel: Observed {
    /// What it changes as it executes.
    type State: CoreState;

    fn state(&self) -> &Self::State;

    fn state_mut(&mut self) -> &mut Self::State;

    fn run(&mut self, until: Cycles) -> Stop;

    /// Why a run really ends that seems to end so.
    fn reason(&self, stop: Stop) -> Stop {
        stop
    }
}

/// A core that a debugger controls: see [`crate::machine`], `debugger`.
pub trait Controlled: CoreModel + Roles {
    /// The stack begins at the end of the last memory that can be written.
    fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        self.state_mut().load(image)?;
        let mut memories = self.state().soc().memories.iter().rev();
        let writable = memories.find(|memory| memory.kind == MemoryKind::Ram);
        let sp = writable.map_or(0, |memory| memory.range().end as u32 & !15);
        self.state_mut().set_register(Register::Sp, sp);
        self.state_mut().set_register(Register::Link, RETURN);
        self.jump(entry);
        self.state_mut().stop_before(RETURN & !1);
        Ok(())
    }

    /// Goes on at an address, as a call does that leads there.
    fn jump(&mut self, address: u32) {
        self.state_mut().set_register(Register::Pc, address);
    }

    fn step(&mut self, until: Cycles) -> Result<(), Stop>;

    fn next_access(&self) -> Option<Access>;

    fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory>;

    fn has_register(&self, register: Register) -> bool {
        let wanted = register.by(self.convention());
        self.named_registers().iter().any(|(_, known)| *known == wanted)
    }

    fn disassembly(&self, address: u32) -> Option<Disassembly>;

    fn exceptions_taken(&self) -> u64 {
        self.state().watches().taken
    }

    fn watch_masks(&mut self) {
        self.state_mut().watches_mut().masking.on = true;
    }

    /// That of the program's own doing: what an exception masks by itself belongs to its handler.
    fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state().watches().masking.settled
    }

    fn mask(&self) -> Option<Blocker>;

    fn holds_back_priority(&self, priority: u8) -> Option<Blocker>;

    /// Its model cannot find that it is wrong.
    fn internal_error(&self) -> Option<&InternalError> {
        None
    }

    fn sabotage(&mut self, _address: u32) {}

    /// What it keeps of code has a bound of its own.
    fn limit_code(&mut self, _steps: usize, _states: usize) {}

    fn evictions(&self) -> u64 {
        0
    }

    /// Logs by defmt come by RTT, which is looked for on Cortex-M only.
    fn take_defmt(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Calls about files are refused.
    fn set_file_calls(&mut self, _calls: FileCalls) {}

    fn serve(&mut self, _host: &mut impl Host) {}
}

/// A core that tells what plays which part: see [`crate::machine`], `roles`.
pub trait Roles {
    fn named_registers(&self) -> Vec<(&'static str, Register)>;

    fn exception(&self) -> u16;

    fn interrupted(&self) -> Interrupted;

    fn thread_stack(&self) -> ThreadStack {
        ThreadStack::Only
    }

    fn stack_bank(&self) -> u8 {
        0
    }

    fn convention(&self) -> Convention;

    fn handler_of(&self, interrupt: u16) -> Result<u32, (u32, u32)>;

    /// All interrupts share a handler.
    fn handler_table(&self) -> Option<u32> {
        None
    }

    /// The lowest bit is no part of an address: where there are two instruction sets it says which.
    fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link != 0).then_some(link & !1)
    }

    /// What an interrupt abandons begins anew.
    fn goes_on(&self) -> bool {
        false
    }
}

/// A core on which interrupts are tried out: see [`crate::machine`], `trial`.
pub trait Trials: CoreModel {
    fn arm_interrupt(&mut self, interrupt: u16, priority: u8) -> bool;

    fn interrupt_priority(&self, interrupt: u16) -> u8;

    fn vector_table(&self) -> u32;

    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop>;

    /// Instructions do not enter a pipeline before the one in front of them is done with.
    fn advance_open(&mut self, until: Cycles) -> Result<Advance, Stop> {
        self.advance(until)
    }

    fn settle(&mut self);

    fn holds_back(&self, interrupt: u16) -> Option<Blocker>;

    fn sees_pending(&self) -> bool {
        self.is_asleep() || self.looks_until().is_some()
    }

    fn looks_until(&self) -> Option<Cycles>;

    fn is_asleep(&self) -> bool;

    fn is_under_way(&self, interrupt: u16) -> bool {
        self.has_come(interrupt) || self.is_active(interrupt)
    }

    fn has_come(&self, interrupt: u16) -> bool;

    fn is_active(&self, interrupt: u16) -> bool;

    fn least_latency(&self) -> u64;

    /// What becomes pending reaches the core at once; what its way takes is in the entry.
    fn way_to_core(&self) -> u64 {
        0
    }

    fn try_entry(&mut self, interrupt: u16) -> Tried {
        self.try_entry_early(interrupt, self.state().cycles())
    }

    fn next_entry(&mut self) -> Cycles {
        self.state().cycles()
    }

    fn try_entry_early(&mut self, interrupt: u16, at: Cycles) -> Tried;

    /// Interrupts are taken between instructions, which [`Self::try_entry`] has in it.
    fn try_entry_within(&mut self, _interrupt: u16, _at: Cycles) -> Option<Tried> {
        None
    }
}
