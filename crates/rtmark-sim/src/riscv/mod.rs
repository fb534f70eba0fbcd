//! RISC-V: Hazard3, the core of RP2350, and Ibex, each cycle-exact to its RTL as far as its page states.
//!
//! A module tree separate from the Cortex-M's. The two share chips, images, memories and devices, but
//! nothing about how a core executes. Each folder uses only those above it in this table.
//!
//! | folder | holds | does not know |
//! |---|---|---|
//! | `rules` | the differences between the cores: a table for each | how they are used |
//! | `isa` | encodings, one line each; operations; decoding; Zcmp's steps; assembly language | time |
//! | `timing` | a folder for each core's pipeline; `cycle` and `demand`, its interface; `memo`; `fetched`, the lines of caches that it needs; `port` | the effect of instructions |
//! | `csr` | privilege, traps, counters; the interrupt controller; protection | memory |
//! | `hart`, `system`, `inputs`, `decoded` | registers; the system behind the ports; interrupt inputs; decoded instructions | the pipeline |
//! | `exec` | what each operation is about to do, and its effects | cycles, except those passed to it |
//! | `graph` | the graph of passages and the effect of each | when something else is due |
//! | `core`, `fast_path` | execution and timing together, cycle by cycle; runs along the graph | how runs end |
//! | `semihosting`, `state` | host calls; images, watches, stops, faults | |
//! | `machine`, `debug`, `roles`, `trial` | runs; the interface for debuggers, observers and searches | |

mod core;
mod csr;
mod debug;
mod decoded;
mod exec;
mod fast_path;
mod graph;
mod hart;
mod inputs;
mod isa;
mod machine;
mod roles;
mod rules;
mod semihosting;
mod state;
mod system;
#[cfg(test)]
mod tests;
mod timing;
mod trial;

pub use self::core::{NullObserver, PipelineObserver, TrapKind};
pub use inputs::{Drive, Input};
pub use machine::RiscV;
pub use state::named_registers;
pub use system::PortWaits;
