//! Exceptions: how they become pending, are taken and left, and what becomes of faults.
//!
//! Which exception is the most urgent one is the business of [`crate::arch::armm::nvic`]; how
//! long entry and return take, of [`crate::timing::exceptions`].

pub mod entry;
mod fault;
mod float_context;
pub mod interruptible;
pub mod monitor;
mod pend;
