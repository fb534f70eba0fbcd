//! The public face of a machine with a Cortex-R5.

use rtmark_units::{Cycles, Instructions};

use super::core::Passed;
use super::state::State;
use crate::image::Image;
use crate::soc::Soc;
use crate::state::stop::{FaultPolicy, Stop};
use crate::state::{Hit, LoadError, NoMemory, Register, Watch, WatchId};

/// A soc with a Cortex-R5 that runs an image: a value, as [`Machine`](crate::Machine) is.
///
/// ```
/// use rtmark_sim::armr::CortexR5;
/// use rtmark_sim::{Cycles, Register, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../../socs/zynqmp-r5.toml"))?;
/// let mut machine = CortexR5::new(&soc);
/// // mov r0, #3; loop: subs r0, r0, #1; bne loop; b .
/// for (at, word) in [0xE3A0_0003_u32, 0xE250_0001, 0x1AFF_FFFD, 0xEAFF_FFFE].iter().enumerate() {
///     machine.poke(4 * at as u32, &word.to_le_bytes())?;
/// }
/// machine.set_register(Register::Pc, 0);
/// assert_eq!(machine.run(Cycles(100)), Stop::Limit);
/// assert_eq!(machine.register(Register::R(0)), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CortexR5 {
    pub(crate) state: State,
    /// Until when it is observed.
    pub(super) limit: Cycles,
}

impl CortexR5 {
    /// A machine with empty memories. It begins at the first memory's first address, or where the
    /// soc file says that vectors are, in A32 and supervisor mode, with vectors high.
    pub fn new(soc: &Soc) -> Self {
        Self { state: State::new(soc), limit: Cycles(0) }
    }

    /// Programs an image into the memories and resets; the program begins at the image's entry.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories.
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        self.state.load(image)
    }

    /// Resets the core and fills RAM with its reset value; the watches stay.
    ///
    /// # Errors
    /// None; it answers as [`Machine::reset`](crate::Machine::reset) does.
    pub fn reset(&mut self) -> Result<(), LoadError> {
        self.state.reset()
    }

    /// Writes memory as a debugger or programmer would, flash included.
    ///
    /// # Errors
    /// When the bytes do not all lie in one memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        self.state.poke(address, bytes)
    }

    /// Reads memory without any effect; answers fewer bytes where memory ends.
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        self.state.peek(address, length)
    }

    /// Notes every occurrence of something from now on. An address is reached in the cycle in
    /// which its instruction issues.
    pub fn watch(&mut self, watch: Watch) -> WatchId {
        self.state.watch(watch)
    }

    /// What has been noted since the last call, in order.
    pub fn take_hits(&mut self) -> Vec<Hit> {
        self.state.take_hits()
    }

    /// What the program has printed since the last call.
    pub fn take_console(&mut self) -> Vec<u8> {
        self.state.take_console()
    }

    /// Decides whether a fault ends the run or the program's handler takes it.
    pub fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.state.set_fault_policy(policy);
    }

    /// The value of a register of the current mode; CPSR is [`Register::Xpsr`].
    pub fn register(&self, register: Register) -> u32 {
        self.state.register(register)
    }

    /// Sets a register as a debugger would.
    pub fn set_register(&mut self, register: Register, value: u32) {
        self.state.set_register(register, value);
    }

    /// Makes an interrupt pending at a cycle, as an edge at the controller's input does. The
    /// first one of a peripheral is 0, which is number 32 to the controller.
    pub fn pend_interrupt(&mut self, interrupt: u16, at: Cycles) {
        self.state.pend_interrupt(interrupt, at);
    }

    /// Empties both caches, as if nothing had been read yet.
    pub fn empty_caches(&mut self) {
        self.state.empty_caches();
    }

    /// The cycle, counted from the reset, in which the next instruction may issue.
    pub fn cycles(&self) -> Cycles {
        self.state.cycles()
    }

    /// Instructions executed since reset.
    pub fn instructions(&self) -> Instructions {
        self.state.instructions()
    }

    /// Runs until the cycle count reaches `until` or something else ends the run.
    pub fn run(&mut self, until: Cycles) -> Stop {
        loop {
            if self.state.core.cycle() >= until.0 {
                return Stop::Limit;
            }
            let passed = self.pass(until).and_then(|_| self.state.leap(until.0));
            if let Err(stop) = passed {
                return stop;
            }
        }
    }

    /// Makes a step, unless the run is to stop here.
    pub(super) fn pass(&mut self, until: Cycles) -> Result<Passed, Stop> {
        match self.state.stops_here() {
            Some(stop) => Err(stop),
            None => self.state.pass(until.0),
        }
    }
}
