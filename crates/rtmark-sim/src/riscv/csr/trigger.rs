//! The trigger unit: four breakpoints on instruction addresses, as far as a program can use them
//! without a debugger.
//!
//! Sources: the RISC-V debug specification, 0.13.2, chapter 5; Hazard3's documentation, "Trigger
//! CSRs".

use super::{Privilege, TCONTROL, TDATA1, TDATA2, TINFO, TSELECT};

const TRIGGERS: usize = 4;
const EXECUTE: u32 = 1 << 2;
const USER: u32 = 1 << 3;
const MACHINE: u32 = 1 << 6;
const ACTION: u32 = 1 << 12;
/// The type of an address match (type 2).
const KIND: u32 = 2 << 28;

/// The unit's registers.
#[derive(Clone, Debug, Default)]
pub struct Triggers {
    selected: usize,
    control: [u32; TRIGGERS],
    address: [u32; TRIGGERS],
    /// MTE and MPTE of TCONTROL.
    enabled: bool,
    was_enabled: bool,
}

impl Triggers {
    pub fn read(&self, number: u16) -> u32 {
        let of = |values: &[u32; TRIGGERS]| values.get(self.selected).copied();
        match number {
            TSELECT => self.selected as u32,
            TDATA1 => of(&self.control).map_or(0, |control| KIND | control),
            TDATA2 => of(&self.address).unwrap_or(0),
            TINFO => 1 << if self.selected < TRIGGERS { 2 } else { 0 },
            TCONTROL => u32::from(self.was_enabled) << 7 | u32::from(self.enabled) << 3,
            _ => 0,
        }
    }

    pub fn write(&mut self, number: u16, value: u32) {
        match number {
            TSELECT => self.selected = value as usize & 3,
            TDATA1 => {
                self.control[self.selected] = value & (EXECUTE | USER | MACHINE | ACTION);
            }
            TDATA2 => self.address[self.selected] = value,
            TCONTROL => {
                self.was_enabled = value >> 7 & 1 == 1;
                self.enabled = value >> 3 & 1 == 1;
            }
            _ => {}
        }
    }

    /// Returns whether breakpoints are enabled.
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    pub const fn enter(&mut self) {
        self.was_enabled = self.enabled;
        self.enabled = false;
    }

    pub const fn leave(&mut self) {
        self.enabled = self.was_enabled;
    }

    /// Returns whether a breakpoint at an address raises an exception.
    pub fn breaks_at(&self, pc: u32, privilege: Privilege) -> bool {
        let mode = if privilege == Privilege::Machine { MACHINE } else { USER };
        self.enabled
            && self.control.iter().zip(&self.address).any(|(control, address)| {
                *address == pc && control & (EXECUTE | mode | ACTION) == EXECUTE | mode
            })
    }
}
