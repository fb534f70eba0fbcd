//! The timing of the Cortex-R5: when each instruction issues, and how long it waits for memory.
//!
//! The tables come from the manuals of the Cortex-R4 and R5 (DDI 0363, chapter 14; DDI 0460,
//! appendix B), whose figures agree wherever both were read. Gaps are filled from GCC's description
//! of the core (`cortex-r4.md`, `cortex-r4f.md`), and marked as estimates where there is no source.
//!
//! | module | holds |
//! |---|---|
//! | `demand` | the demands of each instruction: cycles, when operands are needed, when results are available |
//! | `pairs` | which two instructions issue together |
//! | `predictor` | branch prediction |
//! | `cache` | lines and their replacement |
//! | `lines` | lines in the cache that need only one lookup |
//! | `memory` | line fills, stores, the bus |
//! | `scoreboard` | when results are available and which instructions pair: a pure function |
//! | `windows` | pages of data that need only one lookup |
//! | `memo` | memoized results of that function, by number |
//! | `pipeline` | combines these: issues instructions and records their effects |

mod cache;
mod demand;
mod lines;
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
pub use scoreboard::{Outcome, PredictionOutcome, crosses, key};
pub use windows::{PAGE_BITS, READS, Speed, WRITES, Window};
