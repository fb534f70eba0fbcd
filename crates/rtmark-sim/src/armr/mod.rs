//! Cortex-R5: Armv7-R with both instruction sets, VFPv3-D16, caches and tightly coupled memories.
//!
//! A tree of its own beside the Cortex-M's: it shares what chips, images, memories, devices and
//! floating-point numbers are, and the decoding of floating-point instructions, which all sets write
//! alike. Each folder uses only those above it in this table.
//!
//! | folder | holds | does not know |
//! |---|---|---|
//! | `isa` | encodings of A32 and T32, one line each; operations; decoding; assembly language | time |
//! | `cpu`, `control` | registers of all modes; coprocessor 15: protection, faults, counters | memory |
//! | `gic`, `system` | the interrupt controller; what is behind the core | instructions |
//! | `exec` | what each operation does | what it takes |
//! | `timing` | what issues when: operands, pairs, branches, caches, the bus | what instructions do |
//! | `code` | instructions that have been met, and what the pipeline remembers of them | |
//! | `graph`, `glide` | how passages follow each other, and runs along them | how runs end |
//! | `core` | both together, instruction by instruction | how runs end |
//! | `state` | images, watches, stops, faults, calls of the host | |
//! | `machine`, `debug`, `roles` | runs; what debuggers, observers and searches ask | |

mod code;
mod control;
mod core;
mod cpu;
mod debug;
mod exec;
mod gic;
mod glide;
mod graph;
mod isa;
mod machine;
mod roles;
mod state;
mod system;
mod timing;

pub use machine::CortexR5;
