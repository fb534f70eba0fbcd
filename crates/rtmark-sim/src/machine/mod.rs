//! The machine: a soc that runs an image.
//!
//! A [`Machine`] is a value. It does nothing on its own, reads no clock and no file, and a clone runs
//! exactly as the original would. [`Machine::run`] executes until there is something to report, the
//! [`Stop`](crate::Stop).
//!
//! This module is only the public interface. The work is done by the soc's core, which consists of a state
//! and an engine.

mod debugger;
mod line;
mod observer;
mod roles;
#[cfg(test)]
mod tests;
mod trial;

pub use self::line::{UnknownPin, UnknownUart};
pub use self::observer::{LandmarkObserver, Observer};

use rtmark_units::{Cycles, Hertz, Instructions};

use crate::armr::CortexR5;
use crate::debug::{Controlled, CoreModel, Elapsed, Trials};
use crate::devices::{ClockHistory, SendFault, Strictness, UnknownClock, Unmodelled};
use crate::engine::CortexM;
use crate::host::Host;
use crate::image::Image;
use crate::riscv::RiscV;
use crate::soc::{ClockCondition, CoreKind, Soc};
use crate::state::stop::{FaultPolicy, Stop};
use crate::state::{
    CoreState, FileCalls, Hit, Irq, LoadError, Overhead, Register, UnmappedAddress, Watch, WatchId,
};
use crate::timing::Rule;
use crate::timing::pipeline::DisabledRules;

/// A simulated soc.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rtmark_sim::{Cycles, Machine, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../../socs/stm32c031.toml"))?;
/// let mut machine = Machine::new(&soc);
/// // A stack pointer, a reset vector, and `b .` to jump to.
/// machine.poke(0x0800_0000, &[0x00, 0x10, 0x00, 0x20, 0x09, 0x00, 0x00, 0x08, 0xFE, 0xE7])?;
/// machine.reset()?;
/// let mut twin = machine.clone();
/// assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(twin.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(machine.instructions(), twin.instructions());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    core: Core,
}

/// The core that executes the soc's code. Every core implements the traits in the module of
/// [`crate::debug::CoreModel`], which the macro [`on`] calls; nothing else in this module knows which core
/// it is. The tests add a core with an architecture of its own.
#[derive(Debug)]
enum Core {
    CortexM(Box<CortexM>),
    CortexR5(Box<CortexR5>),
    RiscV(Box<RiscV>),
    #[cfg(test)]
    Toy(Box<tests::ToyCore>),
}

/// Not derived, because a derived one is compiled anew in every crate that clones machines.
impl Clone for Core {
    fn clone(&self) -> Self {
        match self {
            Self::CortexM(core) => Self::CortexM(core.clone()),
            Self::CortexR5(core) => Self::CortexR5(core.clone()),
            Self::RiscV(core) => Self::RiscV(core.clone()),
            #[cfg(test)]
            Self::Toy(core) => Self::Toy(core.clone()),
        }
    }
}

impl Core {
    /// Returns the core if it is a Cortex-M.
    fn cortex_m(&mut self) -> Option<&mut CortexM> {
        match self {
            Self::CortexM(core) => Some(core),
            _ => None,
        }
    }

    /// Returns the core if it is a Cortex-R5.
    fn cortex_r5(&mut self) -> Option<&mut CortexR5> {
        match self {
            Self::CortexR5(core) => Some(core),
            _ => None,
        }
    }

    /// Returns the core if it is a RISC-V core.
    fn riscv(&mut self) -> Option<&mut RiscV> {
        match self {
            Self::RiscV(core) => Some(core),
            _ => None,
        }
    }

    /// Returns the core if it is the tests' toy core.
    #[cfg(test)]
    fn toy(&mut self) -> Option<&mut tests::ToyCore> {
        match self {
            Self::Toy(core) => Some(core),
            _ => None,
        }
    }
}

/// Evaluates one expression on whichever core the machine has.
macro_rules! on {
    ($core:expr, $name:ident => $answer:expr) => {
        match $core {
            crate::machine::Core::CortexM($name) => $answer,
            crate::machine::Core::CortexR5($name) => $answer,
            crate::machine::Core::RiscV($name) => $answer,
            #[cfg(test)]
            crate::machine::Core::Toy($name) => $answer,
        }
    };
}
use on;

#[cfg(test)]
impl Machine {
    /// Returns the state of a Cortex-M machine, for tests of its parts.
    pub(crate) fn cortex_m_state(&mut self) -> &mut crate::state::State {
        &mut self.core.cortex_m().expect("a Cortex-M").state
    }
}

impl Machine {
    /// Creates a machine with empty memories.
    pub fn new(soc: &Soc) -> Self {
        Self::with_rules(soc, DisabledRules::default())
    }

    /// Creates a machine whose timing lacks one rule, to measure what that rule contributes. Its cycle
    /// counts are not valid results.
    pub fn new_without_rule(soc: &Soc, rule: Rule) -> Self {
        Self::with_rules(soc, DisabledRules::only(rule))
    }

    fn with_rules(soc: &Soc, disabled_rules: DisabledRules) -> Self {
        let core = match soc.core {
            CoreKind::CortexR5 => Core::CortexR5(Box::new(CortexR5::new(soc))),
            CoreKind::Hazard3 | CoreKind::Ibex => Core::RiscV(Box::new(RiscV::new(soc))),
            _ => Core::CortexM(Box::new(CortexM::new(soc, disabled_rules))),
        };
        Self { core }
    }

    /// Returns the soc's RISC-V core, if it has one, for operations that other cores lack.
    pub fn riscv(&mut self) -> Option<&mut RiscV> {
        self.core.riscv()
    }

    /// Runs until the cycle count reaches `until` or something else ends the run.
    ///
    /// The count may exceed `until` by what the last instruction or exception took.
    pub fn run(&mut self, until: Cycles) -> Stop {
        on!(&mut self.core, core => core.run(until))
    }

    /// Programs an image into the memories and resets.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories, the image is for another core or chip, or there is no
    /// vector table where the soc expects it.
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        let soc = self.soc();
        if let Some(for_core) = image.architecture().filter(|image| !image.runs_on(soc.core)) {
            let fits = image.chip().map(|chip| chip.soc);
            let (soc, core) = (soc.name.clone(), soc.core.name());
            return Err(LoadError::OtherCore { image: for_core, soc, core, fits });
        }
        if let Some(chip) = image.chip().filter(|chip| chip.core != soc.core) {
            let (soc, core) = (soc.name.clone(), soc.core.name());
            return Err(LoadError::OtherChip { image: chip.soc, its: chip.core.name(), soc, core });
        }
        on!(&mut self.core, core => core.state.load(image))
    }

    /// Writes memory as a debugger or programmer would, including flash.
    ///
    /// # Errors
    /// When the bytes do not all lie in one memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), UnmappedAddress> {
        on!(&mut self.core, core => core.state.poke(address, bytes))
    }

    /// Writes a word as a debugger or programmer would.
    ///
    /// # Errors
    /// When there is no memory at the address.
    pub fn poke_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        on!(&mut self.core, core => core.state.poke_word(address, value))
    }

    /// Reads memory without side effects; returns fewer bytes where the memory ends.
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        on!(&self.core, core => core.state.peek(address, length))
    }

    /// Resets the core and fills RAM with its reset value; the watches remain.
    ///
    /// # Errors
    /// When the vector table's stack pointer or reset vector is unusable.
    pub fn reset(&mut self) -> Result<(), LoadError> {
        on!(&mut self.core, core => core.state.reset())
    }

    /// Starts recording every occurrence of an event.
    pub fn watch(&mut self, watch: Watch) -> WatchId {
        on!(&mut self.core, core => core.state.watch(watch))
    }

    /// Counts the handlers of this exception in [`Hit::ticks`] from now on, as those of SysTick are
    /// counted: for programs whose tick comes from a timer of the chip.
    pub fn count_ticks_of(&mut self, exception: u16) {
        on!(&mut self.core, core => core.state.watches_mut().tick = Some(exception));
    }

    /// Returns the hits since the last call of [`Machine::take_hits`] or [`Machine::clear_hits`], in order.
    pub fn hits(&self) -> &[Hit] {
        on!(&self.core, core => core.state.hits())
    }

    /// Takes the hits since the last call, in order.
    pub fn take_hits(&mut self) -> Vec<Hit> {
        on!(&mut self.core, core => core.state.take_hits())
    }

    /// Forgets the hits so far, but keeps the memory that they were recorded in for those that follow.
    pub fn clear_hits(&mut self) {
        on!(&mut self.core, core => core.state.clear_hits());
    }

    /// Takes what the program has printed since the last call.
    pub fn take_console(&mut self) -> Vec<u8> {
        on!(&mut self.core, core => core.state.take_console())
    }

    /// Ends runs with [`Stop::SlowerClock`](crate::Stop::SlowerClock) after an instruction that makes the core's
    /// clock slower: what time is left is fewer cycles from there on. The next run continues.
    pub fn stop_at_slower_clock(&mut self, stops: bool) {
        on!(&mut self.core, core => core.state.devices_mut().stop_at_slower_clock(stops));
    }

    /// Ends a run with [`Stop::Output`](crate::Stop::Output) after the instruction with which the program
    /// completes this text on its console. Output by RTT is only checked from time to time. Returns the
    /// text's number, counted from 0.
    pub fn stop_at_output(&mut self, text: &[u8]) -> usize {
        on!(&mut self.core, core => core.state.stop_at_output(text))
    }

    /// Takes the bytes that the program has written to a stimulus port of the ITM since the last call. Port
    /// 0 is the console: see [`Machine::take_console`].
    pub fn take_stimulus(&mut self, port: u8) -> Vec<u8> {
        on!(&mut self.core, core => core.state.take_stimulus(port))
    }

    /// Decides what happens when a fault would enter HardFault.
    pub fn set_fault_policy(&mut self, policy: FaultPolicy) {
        on!(&mut self.core, core => core.state.set_fault_policy(policy));
    }

    /// Returns the simulated soc.
    pub fn soc(&self) -> &Soc {
        on!(&self.core, core => core.state.soc())
    }

    /// Returns the cycles since reset.
    pub fn cycles(&self) -> Cycles {
        on!(&self.core, core => core.state.cycles())
    }

    /// Returns the frequencies that the core's clock has had since reset, by which cycles become times.
    ///
    /// There is one, the soc's, unless [`Soc::clock_control`] says that the clock follows the registers.
    pub fn clock_history(&self) -> &ClockHistory {
        on!(&self.core, core => core.state.devices().clock_history())
    }

    /// Returns the frequency that the clock registers select for the core, whether or not its clock follows
    /// them ([`Soc::clock_control`]). `None` if the soc has no clock tree, or they select no known one.
    pub fn selected_clock(&self) -> Option<Hertz> {
        let tree = self.soc().clock_tree.as_ref()?;
        on!(&self.core, core => core.state.devices().selected_clock(tree))
    }

    /// Returns the frequency that they would select on a board with this crystal ([`Self::selected_clock`]).
    pub fn clock_with_crystal(&self, crystal: Hertz) -> Option<Hertz> {
        let mut tree = self.soc().clock_tree.clone()?;
        for found in tree.clocks.iter_mut().filter_map(|clock| clock.crystal_hz.as_mut()) {
            *found = crystal;
        }
        on!(&self.core, core => core.state.devices().selected_clock(&tree))
    }

    /// Returns why the clock registers do not say how fast the core runs, if they do not.
    pub fn unknown_clock(&self) -> Option<&UnknownClock> {
        on!(&self.core, core => core.state.devices().unknown_clock())
    }

    /// Returns the cycles since reset for which memories have made the core wait. A pipeline may have
    /// hidden some of them behind other instructions.
    pub fn waited(&self) -> Cycles {
        on!(&self.core, core => core.state.waited())
    }

    /// Returns what has taken cycles since reset besides executing instructions.
    pub fn overhead(&self) -> Overhead {
        on!(&self.core, core => core.state.overhead())
    }

    /// Empties the buffers and caches of all memories, as if nothing had been read yet.
    pub fn empty_caches(&mut self) {
        on!(&mut self.core, core => core.state.empty_caches());
    }

    /// Calls [`Machine::empty_caches`] whenever this watch is hit.
    pub fn empty_caches_at(&mut self, watch: WatchId) {
        on!(&mut self.core, core => core.state.empty_caches_at(watch));
    }

    /// Returns the number of instructions executed since reset.
    pub fn instructions(&self) -> Instructions {
        on!(&self.core, core => core.state.instructions())
    }

    /// Returns how many instructions have been abandoned for an interrupt since reset, to be continued or
    /// restarted later (DDI 0403, B1.5.10).
    pub fn abandoned_instructions(&self) -> Instructions {
        on!(&self.core, core => core.state.abandoned_instructions())
    }

    /// Returns the value of a register.
    pub fn register(&self, register: Register) -> u32 {
        on!(&self.core, core => core.state.register(register))
    }

    /// Sets a register as a debugger would. Bits that the architecture keeps at zero stay zero; the
    /// exception number cannot be set.
    pub fn set_register(&mut self, register: Register, value: u32) {
        on!(&mut self.core, core => core.state.set_register(register, value));
    }

    /// Makes an external interrupt pending at a cycle, as a device would, or at once if that cycle has
    /// passed. Interrupts that the soc lacks are ignored.
    pub fn pend_interrupt(&mut self, interrupt: impl Into<Irq>, at: Cycles) {
        on!(&mut self.core, core => core.state.pend_interrupt(interrupt.into(), at));
    }

    /// Returns the registers without a model that the program has used since the machine was created, in
    /// ascending order of address; at most 256.
    pub fn unmodelled(&self) -> impl Iterator<Item = Unmodelled> + '_ {
        on!(&self.core, core => core.state.devices().unmodelled.values().copied())
    }

    /// Returns the register of pins that the program has polled last while nothing drove them, if it has.
    pub fn polled_pins(&self) -> Option<u32> {
        on!(&self.core, core => core.state.devices().polled_pins)
    }

    /// Returns the base of the UART that the program has polled last for bytes, if it has and nothing sends any
    /// ([`Self::connect_uart`]).
    pub fn polled_uart(&self) -> Option<u32> {
        on!(&self.core, core => core.state.devices().polled_uart)
    }

    /// Returns the peripherals that the program has reached before it had enabled them, and what enables each.
    pub fn not_enabled(&self) -> impl Iterator<Item = (&str, &ClockCondition)> {
        let bases = on!(&self.core, core => &core.state.devices().not_enabled);
        let reached = self.soc().peripherals.iter().filter(|block| bases.contains(&block.base));
        reached.filter_map(|block| Some((block.name.as_str(), block.enabled_by.as_ref()?)))
    }

    /// Returns how many bytes that the program has written to each UART a chip would not have sent, and why.
    pub fn send_faults(&self) -> impl Iterator<Item = (&str, SendFault, u64)> {
        let faults = on!(&self.core, core => &core.state.devices().send_faults);
        let blocks = &self.soc().peripherals;
        faults.iter().filter_map(|(&(base, fault), &bytes)| {
            let uart = blocks.iter().find(|block| block.base == base)?;
            Some((uart.name.as_str(), fault, bytes))
        })
    }

    /// Returns how many items DMA controllers of STM32 have moved. That the core waits for memories and buses which they
    /// use has no model.
    pub fn dma_transfers(&self) -> u64 {
        on!(&self.core, core => core.state.devices().transfers)
    }

    /// Describes what the program has asked of the core itself that has no model.
    pub fn core_without_model(&self) -> Vec<&'static str> {
        on!(&self.core, core => core.without_model())
    }

    /// Decides what happens on accesses to registers without a model.
    pub fn set_strictness(&mut self, strictness: Strictness) {
        on!(&mut self.core, core => core.state.devices_mut().strictness = strictness);
    }

    /// Takes the frames that the program has logged with defmt since the last call, still encoded. Decoding
    /// them needs sections of its ELF file.
    pub fn take_defmt(&mut self) -> Vec<u8> {
        on!(&mut self.core, core => core.take_defmt())
    }

    /// Allows or refuses semihosting calls that concern files.
    pub fn set_file_calls(&mut self, calls: FileCalls) {
        on!(&mut self.core, core => core.set_file_calls(calls));
    }

    /// Performs the call for which a run ended with [`Stop::HostCall`](crate::Stop::HostCall), and leaves
    /// its result in R0.
    pub fn serve(&mut self, host: &mut impl Host) {
        on!(&mut self.core, core => core.serve(host));
    }

    /// Returns the cycles between an interrupt becoming pending and the first cycle in which the core can
    /// take it.
    pub fn interrupt_delay(&self) -> u64 {
        on!(&self.core, core => core.interrupt_delay())
    }
}

impl From<&Machine> for Elapsed {
    fn from(machine: &Machine) -> Self {
        Self {
            cycles: machine.cycles(),
            instructions: machine.instructions(),
            overhead: machine.overhead(),
        }
    }
}
