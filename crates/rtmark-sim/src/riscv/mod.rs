//! RISC-V: Hazard3, the core of RP2350, and Ibex, each exact to its RTL as far as its page says.
//!
//! A tree of its own beside the Cortex-M's: it shares what chips, images, memories and devices are,
//! and nothing of how a core executes. Each folder uses only those above it in this table.
//!
//! | folder | holds | does not know |
//! |---|---|---|
//! | `rules` | what tells the cores apart: a table for each | what becomes of it |
//! | `isa` | encodings, one line each; operations; decoding; Zcmp's steps; assembly language | time |
//! | `timing` | a folder for each core's pipeline; `cycle` and `demand`, what it is asked and answers; `memo`; `port` | what instructions do |
//! | `csr` | registers of privilege, traps, counters; the interrupt controller; protection | memory |
//! | `hart`, `timer`, `system`, `inputs`, `decoded` | registers; what is behind the ports; interrupt inputs; instructions decoded once | the pipeline |
//! | `exec` | what each operation is about to do, and does | cycles besides those it is told |
//! | `graph` | how passages follow each other, and what each does | when something else is due |
//! | `core`, `glide` | both together, cycle by cycle; runs along the graph | how runs end |
//! | `semihosting`, `state` | calls of the host; images, watches, stops, faults | |
//! | `machine`, `debug`, `roles`, `trial` | runs; what debuggers, observers and searches ask | |

mod core;
mod csr;
mod debug;
mod decoded;
mod exec;
mod glide;
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
mod timer;
mod timing;
mod trial;

pub use self::core::{Follow, Nobody, Trapped};
pub use inputs::{Drive, Input};
pub use machine::RiscV;
pub use state::named_registers;
pub use system::PortWaits;
