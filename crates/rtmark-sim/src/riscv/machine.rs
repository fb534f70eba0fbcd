//! The public face of a machine with a RISC-V core.

use rtmark_units::{Cycles, Instructions};

use super::core::{Follow, Passed};
use super::inputs::{Drive, Input};
use super::state::State;
use super::system::PortWaits;
use crate::image::Image;
use crate::soc::Soc;
use crate::state::stop::{FaultPolicy, Stop};
use crate::state::{Hit, LoadError, NoMemory, Register, Watch, WatchId};

/// A soc with a RISC-V core that runs an image: a value, as [`Machine`](crate::Machine) is.
///
/// ```
/// use rtmark_sim::riscv::RiscV;
/// use rtmark_sim::{Cycles, Register, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../../socs/generic-hazard3.toml"))?;
/// let mut machine = RiscV::new(&soc);
/// // li a0, 3; loop: addi a0, a0, -1; bnez a0, loop; j .
/// for (at, half) in [0x450D_u16, 0x157D, 0xFD7D, 0xA001].into_iter().enumerate() {
///     machine.poke(0x8000_0000 + 2 * at as u32, &half.to_le_bytes())?;
/// }
/// assert_eq!(machine.run(Cycles(100)), Stop::Limit);
/// assert_eq!(machine.register(Register::R(10)), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RiscV {
    pub(crate) state: State,
    /// Until when it is observed.
    pub(super) limit: Cycles,
    /// The boundary behind a place, by its cycle, instructions and traps.
    pub(super) boundary: Option<((u64, u64, u64), u64)>,
}

impl RiscV {
    /// A machine with empty memories. It begins at the first memory's first address, or where the
    /// soc file says that vectors are; its trap vector is there, too.
    pub fn new(soc: &Soc) -> Self {
        Self { state: State::new(soc), limit: Cycles(0), boundary: None }
    }

    /// Has every fetch, load and store wait so long, besides what memories ask for.
    pub fn set_port_waits(&mut self, waits: PortWaits) {
        self.state.core.system.ports = waits;
        self.state.core.forget_code();
    }

    /// Programs an image into the memories and resets.
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
    /// which its instruction leaves stage X.
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

    /// The value of a register: `R(0)` to `R(31)` are `x0` to `x31`.
    pub fn register(&self, register: Register) -> u32 {
        self.state.register(register)
    }

    /// Sets a register as a debugger would.
    pub fn set_register(&mut self, register: Register, value: u32) {
        self.state.set_register(register, value);
    }

    /// Makes an external interrupt pending at a cycle, as a device would, until it is taken.
    pub fn pend_interrupt(&mut self, interrupt: u16, at: Cycles) {
        self.state.pend_interrupt(interrupt, at);
    }

    /// Drives an interrupt input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, at: Cycles) {
        self.state.drive(input, drive, at);
    }

    /// Cycles since reset.
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
            if self.state.core.cycle < until.0 {
                self.state.glide(until.0);
            }
            if self.state.core.cycle >= until.0 {
                return Stop::Limit;
            }
            if let Err(stop) = self.cycle(until) {
                return stop;
            }
        }
    }

    /// Lets a cycle pass, or a sleep.
    ///
    /// # Errors
    /// What ends a run.
    pub(super) fn cycle(&mut self, until: Cycles) -> Result<Passed, Stop> {
        match self.state.stops_here() {
            Some(stop) => Err(stop),
            None => self.pass_one_until(until),
        }
    }

    /// Lets a cycle pass, or a sleep, also where the run is to stop.
    pub(super) fn pass_one_until(&mut self, until: Cycles) -> Result<Passed, Stop> {
        let passed = self.state.pass(until.0)?;
        self.state.serve_call()?;
        Ok(passed)
    }

    pub(super) fn pass_one(&mut self) -> Result<Passed, Stop> {
        self.pass_one_until(self.limit)
    }

    /// Runs the core until a cycle count is reached, or the follower has seen
    /// enough. Neither watches nor stops are looked at.
    pub fn run_followed(&mut self, until: Cycles, follow: &mut impl Follow) {
        while self.state.core.cycle < until.0 && !follow.is_done() {
            if self.state.core.leap(until.0, follow).is_none() {
                self.state.core.pass(follow);
            }
        }
    }
}
