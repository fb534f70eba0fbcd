//! Armv6-M, Armv7-M and Armv8-M: the core's registers and the units of its private bus.
//!
//! Each is a value that answers what the Architecture Reference Manuals say of it (DDI 0419,
//! DDI 0403, DDI 0553). What a change of one sets in motion is the business of
//! [`crate::exec`] and [`crate::exceptions`].

pub mod caches;
pub mod dwt;
pub mod identity;
pub mod itm;
pub mod mpu;
pub mod nvic;
pub mod registers;
pub mod scs;
pub mod systick;
pub mod trap;
