//! What the Cortex-R5 takes: which instruction issues when, and what memory makes it wait for.
//!
//! The tables are those of the Cortex-R4's and R5's manuals (DDI 0363, chapter 14; DDI 0460,
//! appendix B), whose figures agree wherever both were read. What they leave open is filled from
//! GCC's description of the core (`cortex-r4.md`, `cortex-r4f.md`), and marked as an estimate
//! where nothing says it.
//!
//! | module | holds |
//! |---|---|
//! | `demand` | what each instruction asks of the pipeline: cycles, when operands are wanted, when results are there |
//! | `pairs` | which two instructions issue together |
//! | `predictor` | what branches are foreseen to do |
//! | `cache` | lines and their replacement |
//! | `memory` | linefills, stores, what is behind the bus |
//! | `scoreboard` | when results are there, who joins whom: a function of nothing else |
//! | `windows` | pages of data of which all that is known at one look |
//! | `memo` | what that function has answered, by numbers |
//! | `pipeline` | all of it together: an instruction issues, and leaves its traces |

mod cache;
mod demand;
mod memo;
mod memory;
mod pairs;
mod pipeline;
mod predictor;
mod scoreboard;
mod windows;

pub use demand::{Demand, Divides, Flow, Moves, demand};
pub use memo::{Passage, Passages};
pub use pipeline::{ENTRY, Pipeline, Place};
pub use scoreboard::{Lead, Outcome, crosses, key};
pub use windows::{PAGE_BITS, READS, Speed, WRITES, Window};
