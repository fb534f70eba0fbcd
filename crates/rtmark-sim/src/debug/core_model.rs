//! The traits that a core implements to be part of a machine.
//!
//! A core has a state ([`CoreState`]), can be observed ([`Observed`]), and implements the traits here.
//! Their methods have the names of those of [`Machine`](crate::Machine), where each is described. Features
//! that only some cores have get a default that fits a core without them.

use rtmark_units::Cycles;

use super::checkpoint::Checkpoint;
use super::{Access, Advance, Observed, RETURN, TrialOutcome};
use crate::host::Host;
use crate::image::Image;
use crate::isa::Disassembly;
use crate::soc::MemoryKind;
use crate::state::stop::{InternalError, Stop};
use crate::state::{
    Blocker, Convention, CoreState, FileCalls, Interrupted, Irq, LoadError, MaskedInterval,
    Register, StackOverflow, ThreadStack, UnmappedAddress,
};

/// A core that runs code.
pub trait CoreModel: Observed {
    /// What changes as the core executes.
    type State: CoreState;

    fn state(&self) -> &Self::State;

    fn state_mut(&mut self) -> &mut Self::State;

    fn run(&mut self, until: Cycles) -> Stop;

    /// Describes what the program has asked of the core itself that has no model. By default, everything has.
    fn without_model(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the real reason for a stop, where it differs from the apparent one.
    fn reason(&self, stop: Stop) -> Stop {
        stop
    }
}

/// A core that a debugger controls: see [`crate::machine`], `debugger`.
pub trait Controlled: CoreModel + Roles {
    /// By default, the stack begins at the end of the last RAM.
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

    /// Continues at an address, as a call to that address does.
    fn jump(&mut self, address: u32) {
        self.state_mut().set_register(Register::Pc, address);
    }

    fn step(&mut self, until: Cycles) -> Result<(), Stop>;

    fn next_access(&self) -> Option<Access>;

    fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress>;

    fn has_register(&self, register: Register) -> bool {
        let wanted = register.in_convention(self.convention());
        self.named_registers().iter().any(|(_, known)| *known == wanted)
    }

    fn disassembly(&self, address: u32) -> Option<Disassembly>;

    fn exceptions_taken(&self) -> u64 {
        self.state().watches().taken
    }

    fn watch_stack(&mut self, end: u32, top: u32) {
        self.state_mut().watches_mut().stack.begin(end, top);
    }

    fn stack_overflow(&self) -> Option<StackOverflow> {
        self.state().watches().stack.overflow()
    }

    fn watch_masks(&mut self) {
        self.state_mut().watches_mut().masking.on = true;
    }

    /// Only the program's own masking counts: what an exception masks by itself belongs to its handler.
    fn longest_masked(&self) -> Option<MaskedInterval> {
        self.state().watches().masking.settled
    }

    /// On cores without BASEPRI there is none.
    fn most_urgent_basepri(&self) -> Option<u8> {
        self.state().watches().masking.basepri
    }

    fn mask(&self) -> Option<Blocker>;

    fn priority_blocker(&self, priority: u8) -> Option<Blocker>;

    fn would_wake(&self, priority: Option<u8>) -> bool;

    /// By default, the model cannot detect errors of its own.
    fn internal_error(&self) -> Option<&InternalError> {
        None
    }

    fn inject_pipeline_stall(&mut self, _address: u32) {}

    /// By default, there is no native code.
    fn use_no_native_code(&mut self) {}

    /// By default, what the core keeps of code has a bound of its own.
    fn limit_code(&mut self, _steps: usize, _states: usize) {}

    fn evictions(&self) -> u64 {
        0
    }

    /// By default there are none: defmt logs come by RTT, which is only looked for on Cortex-M.
    fn take_defmt(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// By default, calls about files are always refused.
    fn set_file_calls(&mut self, _calls: FileCalls) {}

    fn serve(&mut self, _host: &mut impl Host) {}
}

/// A core that answers questions by role: see [`crate::machine`], `roles`.
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

    fn handler_of(&self, interrupt: Irq) -> Result<u32, (u32, u32)>;

    /// By default, all interrupts share a handler.
    fn handler_table(&self) -> Option<u32> {
        None
    }

    /// Clears the lowest bit, which is not part of an address: where there are two instruction sets, it
    /// selects one.
    fn returns_from_call(&self, link: u32) -> Option<u32> {
        (link != 0).then_some(link & !1)
    }

    /// By default, an instruction that an interrupt abandons restarts.
    fn resumes_instruction(&self) -> bool {
        false
    }
}

/// A core on which interrupts can be tried: see [`crate::machine`], `trial`.
pub trait Trials: CoreModel {
    fn arm_interrupt(&mut self, interrupt: Irq, priority: u8) -> bool;

    fn interrupt_priority(&self, interrupt: Irq) -> u8;

    fn vector_table(&self) -> u32;

    fn advance(&mut self, until: Cycles) -> Result<Advance, Stop>;

    /// By default, an instruction does not enter the pipeline before the previous one has completed.
    fn advance_before_issue(&mut self, until: Cycles) -> Result<Advance, Stop> {
        self.advance(until)
    }

    fn settle(&mut self);

    fn interrupt_blocker(&self, interrupt: Irq) -> Option<Blocker>;

    fn can_observe_pending(&self, interrupt: Irq) -> bool {
        self.is_asleep() || self.observes_pending_until(interrupt).is_some()
    }

    fn observes_pending_until(&self, interrupt: Irq) -> Option<Cycles>;

    fn is_asleep(&self) -> bool;

    fn is_pending_or_active(&self, interrupt: Irq) -> bool {
        self.has_arrived(interrupt) || self.is_active(interrupt)
    }

    fn has_arrived(&self, interrupt: Irq) -> bool;

    fn is_active(&self, interrupt: Irq) -> bool;

    /// By default, an interrupt is pending until its handler acknowledges it.
    fn is_pending_again(&self, _interrupt: Irq) -> bool {
        false
    }

    fn least_latency(&self) -> u64;

    /// By default, what becomes pending reaches the core at once; any delay is part of the entry.
    fn interrupt_delay(&self) -> u64 {
        0
    }

    fn try_entry(&mut self, interrupt: Irq) -> TrialOutcome {
        self.try_entry_early(interrupt, self.state().cycles())
    }

    fn next_entry(&mut self) -> Cycles {
        self.state().cycles()
    }

    fn try_entry_early(&mut self, interrupt: Irq, at: Cycles) -> TrialOutcome;

    /// By default, a run can be taken back only by running a copy instead.
    fn checkpoint(&mut self) -> Option<Checkpoint> {
        None
    }

    /// By default, there are no checkpoints.
    fn restore(&mut self, _: Checkpoint) {}

    /// By default, interrupts are only taken between instructions, which [`Self::try_entry`] covers.
    fn try_entry_within(&mut self, _interrupt: Irq, _at: Cycles) -> Option<TrialOutcome> {
        None
    }
}
