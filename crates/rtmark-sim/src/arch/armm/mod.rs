//! Armv6-M, Armv7-M and Armv8-M: the core's registers, and the units on its private bus.
//!
//! Each is a value that behaves as the Architecture Reference Manuals specify (DDI 0419, DDI 0403, DDI
//! 0553). [`crate::exec`] and [`crate::exceptions`] implement the consequences of a change.

pub mod caches;
pub mod coprocessors;
pub mod dwt;
pub mod identity;
pub mod itm;
pub mod mpu;
pub mod nvic;
pub mod registers;
pub mod scs;
pub mod systick;
pub mod trap;
