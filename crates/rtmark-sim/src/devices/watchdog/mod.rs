//! Watchdogs: they reset the chip unless the program refreshes them in time.
//!
//! Each counts a clock of its own, and drives an output for [`WatchdogCause`] beside its interrupt. A run ends with the
//! reset; see [`Stop::Watchdog`](crate::Stop::Watchdog).

mod iwdg;
mod nrf;
mod rp;

pub use iwdg::Iwdg;
pub use nrf::NrfWatchdog;
pub use rp::RpWatchdog;

/// The outputs by which a watchdog resets the chip; they are no interrupts.
const EXPIRED: u32 = 1 << 31;
const REFRESHED_EARLY: u32 = 1 << 30;
const TRIGGERED: u32 = 1 << 29;

/// Why a watchdog resets the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogCause {
    /// The program has not refreshed it in time.
    Expired,
    /// The program has refreshed it before its window.
    RefreshedEarly,
    /// The program has made it reset the chip at once.
    Triggered,
}

impl WatchdogCause {
    /// Returns why the device with these outputs resets the chip, if it does.
    pub const fn of(outputs: u32) -> Option<Self> {
        if outputs & EXPIRED != 0 {
            Some(Self::Expired)
        } else if outputs & REFRESHED_EARLY != 0 {
            Some(Self::RefreshedEarly)
        } else if outputs & TRIGGERED != 0 {
            Some(Self::Triggered)
        } else {
            None
        }
    }
}
