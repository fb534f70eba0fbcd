//! Exceptions: how they become pending, are taken and left, and how faults are handled.
//!
//! [`crate::arch::armm::nvic`] determines which exception is the most urgent one;
//! [`crate::timing::exceptions`] determines how long entry and return take.

pub mod entry;
mod fault;
mod float_context;
pub mod interruptible;
pub mod monitor;
mod pend;
