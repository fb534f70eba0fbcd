//! What the tests of several modules use.

pub mod tiny_elf;
