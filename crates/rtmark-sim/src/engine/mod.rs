//! The engine: executes decoded code a block at a time.
//!
//! In the order of a run: [`code_cache`] keeps decoded instructions and forms blocks of them;
//! [`block`] schedules a block, which tells cycles and pipeline states at each instruction;
//! [`pipeline_driver`] works that out from the core's model; [`if_conversion`] and
//! [`fetch_plan`] make better schedules of those that are executed often; [`dispatch`] executes
//! them, one operation calling the next; and [`run_loop`] finds the next block, or what else is
//! due.
//!
//! What an instruction does is told by [`crate::exec`], what it costs by [`crate::timing`].

pub mod block;
mod block_builder;
pub mod code_cache;
pub mod cursor;
pub mod dispatch;
mod entries;
pub mod events;
mod fetch;
pub mod fetch_plan;
mod if_conversion;
pub mod micro_op;
mod perform;
mod pipeline_driver;
pub mod run_loop;
mod single_step;
mod slow;

use crate::engine::code_cache::CodeCache;
use crate::soc::Soc;
use crate::state::State;
use crate::timing::pipeline::LeftOut;

/// A Cortex-M: the state of a machine, and the code that has been prepared for it.
#[derive(Clone, Debug)]
pub struct CortexM {
    pub(crate) state: State,
    pub(crate) code: CodeCache,
}

impl CortexM {
    /// A core with empty memories, whose timing lacks some rules.
    pub fn new(soc: &Soc, left_out: LeftOut) -> Self {
        Self { state: State::new(soc, left_out), code: CodeCache::new(soc) }
    }
}
