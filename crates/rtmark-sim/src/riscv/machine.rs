//! The public face of a machine with a Hazard3.

use rtmark_units::{Cycles, Instructions};

use super::core::{Core, Follow};
use super::inputs::{Drive, Input};
use super::system::{PortWaits, System};
use super::timer::{Layout, Timer};
use crate::soc::Soc;
use crate::state::NoMemory;

/// A soc with a Hazard3 that runs an image: a value, as [`Machine`](crate::Machine) is.
#[derive(Clone, Debug)]
pub struct Hazard3 {
    core: Core,
}

impl Hazard3 {
    /// A machine with empty memories, which begins at the first memory's first address, where also
    /// its trap vector is at reset.
    pub fn new(soc: &Soc) -> Self {
        let timer = Timer::new(0xD000_0000, Layout::Sio, 1);
        let begin = soc.vector_base();
        Self { core: Core::new(System::new(soc, Some(timer)), begin, begin) }
    }

    /// Has every access wait so long, whatever it is to.
    pub fn set_port_waits(&mut self, waits: PortWaits) {
        self.core.system.ports = waits;
    }

    /// Writes memory as a debugger or programmer would, flash included.
    ///
    /// # Errors
    /// When the bytes do not all lie in one memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        let bus = &mut self.core.system.bus;
        if bus.peek_len(address) < bytes.len() {
            return Err(NoMemory(address));
        }
        bus.program(address, bytes);
        Ok(())
    }

    /// Reads memory without any effect; answers fewer bytes where memory ends.
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let there = self.core.system.bus.peek(address, &mut bytes);
        bytes.truncate(there);
        bytes
    }

    /// The value of a register, `x0` to `x31`.
    pub fn register(&self, number: u8) -> u32 {
        self.core.hart.get(number)
    }

    /// Sets a register.
    pub fn set_register(&mut self, number: u8, value: u32) {
        self.core.hart.set(number, value);
    }

    /// Drives an interrupt input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, at: Cycles) {
        self.core.inputs.drive(input, drive, at.0);
        self.core.look_again();
    }

    /// Cycles since reset.
    pub const fn cycles(&self) -> Cycles {
        Cycles(self.core.cycle)
    }

    /// Instructions executed since reset.
    pub const fn instructions(&self) -> Instructions {
        Instructions(self.core.instructions)
    }

    /// Runs until a cycle count is reached or the follower has seen enough.
    pub fn run_followed(&mut self, until: Cycles, follow: &mut impl Follow) {
        while self.core.cycle < until.0 && !follow.is_done() {
            self.core.pass(follow);
        }
    }
}
