//! Records which peripheral registers a program uses.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rtmark_sim::{AccessKind, Machine, Observer, Soc};
use serde::Serialize;

/// The lowest address of peripherals; below it is memory.
const PERIPHERALS: u32 = 0x4000_0000;
/// The most registers recorded, so that a program that walks over all addresses cannot fill the memory.
const MAX_REGISTERS: usize = 512;

/// A used register.
#[derive(Clone, Debug, Serialize)]
pub struct Used {
    /// The names of the peripheral and the register, or the offset of a register whose name is not known.
    name: String,
    address: u32,
    reads: u64,
    writes: u64,
    /// The cycle in which it was first used.
    first: u64,
}

/// An observer that counts accesses.
#[derive(Debug, Default)]
pub struct AccessRecorder {
    used: BTreeMap<u32, Used>,
}

impl AccessRecorder {
    /// Returns the used registers by address.
    pub fn used(&self) -> Vec<Used> {
        self.used.values().cloned().collect()
    }
}

impl Observer for AccessRecorder {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let Some(access) = machine.next_access().filter(|access| access.address >= PERIPHERALS)
        else {
            return ControlFlow::Continue(());
        };
        let address = access.address & !3;
        if self.used.len() >= MAX_REGISTERS && !self.used.contains_key(&address) {
            return ControlFlow::Continue(());
        }
        let used = self.used.entry(address).or_insert_with(|| Used {
            name: name(machine.soc(), address),
            address,
            reads: 0,
            writes: 0,
            first: machine.cycles().0,
        });
        match access.kind {
            AccessKind::Read => used.reads += 1,
            AccessKind::Write => used.writes += 1,
        }
        ControlFlow::Continue(())
    }
}

/// Names what is at an address: a register of the chip's peripherals, or of the core's.
fn name(soc: &Soc, address: u32) -> String {
    soc.register_name(address).unwrap_or_else(|| "not in this chip’s file".to_owned())
}
