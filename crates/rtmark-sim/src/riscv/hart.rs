//! The architectural state of a hart: registers, and the reservation of LR and SC.

use super::csr::Csrs;
use super::rules::Rules;

/// The architectural state of a hart.
#[derive(Clone, Debug)]
pub struct Hart {
    pub rules: &'static Rules,
    /// The registers; `x0` is always 0. The array has an element for every `u8`, so that accesses
    /// need no bounds check.
    x: [u32; 256],
    pub pc: u32,
    pub csr: Csrs,
    pub reservation: Reservation,
}

/// The reservation made by LR.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    /// Whether the core's own monitor allows the next SC.
    pub open: bool,
    /// The word reserved in the memory's monitor. The exclusive accesses of an atomic operation set
    /// it too.
    pub word: Option<u32>,
}

impl Hart {
    /// Creates a hart in its state after reset.
    pub fn new(rules: &'static Rules, pc: u32, mtvec: u32) -> Self {
        let reservation = Reservation::default();
        Self { rules, x: [0; 256], pc, csr: Csrs::new(rules, mtvec), reservation }
    }

    /// Returns the value of a register.
    #[inline]
    pub const fn get(&self, register: u8) -> u32 {
        self.x[register as usize]
    }

    /// Sets a register other than `x0`.
    #[inline(always)]
    pub const fn set_any(&mut self, register: u8, value: u32) {
        self.x[register as usize] = value;
    }

    /// Sets a register; `x0` stays 0.
    #[inline]
    pub const fn set(&mut self, register: u8, value: u32) {
        if register != 0 {
            self.x[register as usize] = value;
        }
    }
}
