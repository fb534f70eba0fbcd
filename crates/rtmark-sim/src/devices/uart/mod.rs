//! UARTs: what they send reaches the console; what they receive is put on their line from outside.
//!
//! Each kind consists of its registers around a [`Transmitter`](super::transmitter::Transmitter) and a
//! [`Receiver`](super::receiver::Receiver). A byte is on the console as soon as it is written, while the
//! firmware waits for as long as its baud rate requires.

mod cadence;
mod cmsdk;
mod nrf;
mod nxp;
mod pl011;
mod sam;
mod send_clock;
mod stm32;

pub use cadence::Cadence;
pub use cmsdk::Cmsdk;
pub use nrf::NrfUarte;
pub use nxp::NxpLpuart;
pub use pl011::Pl011;
pub use sam::{Sam, SamKind};
pub use stm32::Stm32;
