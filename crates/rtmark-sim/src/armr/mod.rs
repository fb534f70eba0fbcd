//! Cortex-R5: Armv7-R with both instruction sets, VFPv3-D16, caches and tightly coupled memories.
//!
//! A module tree separate from the Cortex-M's. The two share chips, images, memories, devices,
//! floating-point arithmetic, and the decoding of floating-point instructions, which all instruction
//! sets encode alike. Each folder uses only those above it in this table.
//!
//! | folder | holds | does not know |
//! |---|---|---|
//! | `isa` | encodings of A32 and T32, one line each; operations; decoding; assembly language | time |
//! | `cpu`, `control` | registers of all modes; coprocessor 15: protection, faults, counters | memory |
//! | `gic`, `system` | the interrupt controller; everything outside the core | instructions |
//! | `exec` | the effect of each operation | timing |
//! | `timing` | when instructions issue: operands, pairs, branches, caches, the bus | what instructions do |
//! | `code` | decoded instructions, with what the pipeline has memoized for them | |
//! | `graph`, `fast_path` | the graph of passages, and runs along it | how runs end |
//! | `core` | execution and timing together, instruction by instruction | how runs end |
//! | `state` | images, watches, stops, faults, host calls | |
//! | `machine`, `debug`, `roles` | runs; the interface for debuggers, observers and searches | |

mod code;
mod control;
mod core;
mod cpu;
mod debug;
mod exec;
mod fast_path;
mod gic;
mod graph;
mod isa;
mod machine;
mod roles;
mod state;
mod system;
mod timing;

pub use machine::CortexR5;
