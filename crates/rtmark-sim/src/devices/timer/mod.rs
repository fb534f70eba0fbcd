//! Timers: counters that raise interrupts.
//!
//! Each kind consists of its registers around [counters](super::counter). Flags are computed on demand, and
//! a timer is only due in some cycle while a flag that is clear would raise an enabled interrupt.

mod cadence;
mod cmsdk;
mod down;
mod gptm;
mod machine;
mod nrf;
mod nxp;
mod rp2040;
mod stm32;

pub use cadence::CadenceTtc;
pub use cmsdk::{DualTimer as CmsdkDualTimer, Timer as CmsdkTimer};
pub use gptm::Gptm;
pub use machine::{MachineTimer, SioTimer};
pub use nrf::{NrfRtc, NrfTimer};
pub use nxp::{NxpGpt, NxpPit};
pub use rp2040::{Chip as RpChip, Rp2040Timer};
pub use stm32::Stm32Timer;

/// Returns the earlier of two cycles.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
