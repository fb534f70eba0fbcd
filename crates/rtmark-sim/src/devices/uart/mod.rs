//! UARTs: what they send reaches the console; what they receive is put on their line from outside.
//!
//! Each kind consists of its registers around a [`Transmitter`](super::transmitter::Transmitter) and a
//! [`Receiver`](super::receiver::Receiver). A byte is on the console as soon as it is written, while the
//! firmware waits for as long as its baud rate requires.

mod cadence;
mod cmsdk;
mod nrf;
mod pl011;
mod stm32;

pub use cadence::Cadence;
pub use cmsdk::Cmsdk;
pub use nrf::NrfUarte;
pub use pl011::Pl011;
pub use stm32::Stm32;
