//! What the tests of several modules use.

pub mod programs;
