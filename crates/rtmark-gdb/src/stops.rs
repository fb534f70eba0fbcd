//! Where a debugged program stops: breakpoints and watchpoints.

use gdbstub::target::ext::breakpoints::WatchKind;
use rtmark_sim::{Access, AccessKind, Machine};

/// A memory range whose use stops the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    pub address: u32,
    pub length: u32,
    pub kind: WatchKind,
}

impl Watchpoint {
    fn fits(self, access: Access) -> bool {
        let kind = match self.kind {
            WatchKind::Read => access.kind == AccessKind::Read,
            WatchKind::Write => access.kind == AccessKind::Write,
            WatchKind::ReadWrite => true,
        };
        kind && access.touches(self.address, self.length)
    }
}

/// All breakpoints and watchpoints.
#[derive(Debug, Default)]
pub struct Stops {
    /// In ascending order.
    breakpoints: Vec<u32>,
    pub watchpoints: Vec<Watchpoint>,
}

impl Stops {
    pub fn breakpoints(&self) -> &[u32] {
        &self.breakpoints
    }

    pub fn is_breakpoint(&self, address: u32) -> bool {
        self.breakpoints.binary_search(&address).is_ok()
    }

    pub fn add(&mut self, address: u32) {
        if let Err(at) = self.breakpoints.binary_search(&address) {
            self.breakpoints.insert(at, address);
        }
    }

    pub fn remove(&mut self, address: u32) -> bool {
        let found = self.breakpoints.binary_search(&address);
        found.is_ok_and(|at| self.breakpoints.remove(at) == address)
    }

    /// Returns the watchpoint that the next instruction triggers.
    pub fn watched(&self, machine: &Machine) -> Option<Watchpoint> {
        if self.watchpoints.is_empty() {
            return None;
        }
        let access = machine.next_access()?;
        self.watchpoints.iter().copied().find(|watch| watch.fits(access))
    }
}
