//! The architectural state of a hart: registers and the reservation of LR and SC.

use super::csr::Csrs;
use super::rules::Rules;

/// The state of a hart.
#[derive(Clone, Debug)]
pub struct Hart {
    pub rules: &'static Rules,
    /// `x0` is always 0. As many as a byte can number, so that no access needs a check of its bounds.
    x: [u32; 256],
    pub pc: u32,
    pub csr: Csrs,
    pub reservation: Reservation,
}

/// What LR has reserved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    /// The core's own monitor lets the next SC through.
    pub open: bool,
    /// The word that the memory's monitor remembers; the exclusive accesses of an atomic operation
    /// count, too.
    pub word: Option<u32>,
}

impl Hart {
    /// After a reset.
    pub fn new(rules: &'static Rules, pc: u32, mtvec: u32) -> Self {
        let reservation = Reservation::default();
        Self { rules, x: [0; 256], pc, csr: Csrs::new(rules, mtvec), reservation }
    }

    /// The value of a register.
    #[inline]
    pub const fn get(&self, register: u8) -> u32 {
        self.x[register as usize]
    }

    /// Sets a register that is not `x0`.
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
