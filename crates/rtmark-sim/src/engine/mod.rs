//! The engine: executes decoded code one block at a time.
//!
//! In the order of a run: [`code_cache`] holds blocks of decoded instructions and forms new ones;
//! [`block`] gives a block a schedule, the cycle and pipeline state at each of its instructions;
//! [`pipeline_driver`] computes that schedule with the core's timing model; [`if_conversion`] and
//! [`fetch_plan`] improve the schedules of blocks that execute often; [`dispatch`] executes them as
//! threaded code, each operation calling the next, and [`native`] as machine code of the host; and
//! [`run_loop`] finds the next block and handles whatever else is due.
//!
//! [`crate::exec`] defines what an instruction does, [`crate::timing`] what it costs.

pub mod block;
mod block_builder;
pub mod code_cache;
#[cfg_attr(
    not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "only native code begins passes by itself")
)]
pub mod cursor;
pub mod dispatch;
mod entries;
pub mod events;
mod fetch;
pub mod fetch_plan;
mod if_conversion;
#[cfg_attr(
    not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "only native code asks for some of it")
)]
pub mod micro_op;
#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
mod native;
#[cfg(not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")))]
#[path = "no_native.rs"]
mod native;
mod perform;
mod pipeline_driver;
pub mod run_loop;
mod single_step;
mod slow;

use crate::engine::code_cache::CodeCache;
use crate::soc::Soc;
use crate::state::State;
use crate::timing::pipeline::DisabledRules;

/// A Cortex-M: the machine's state, and the code that the engine has prepared for it.
#[derive(Clone, Debug)]
pub struct CortexM {
    pub(crate) state: State,
    pub(crate) code: CodeCache,
}

impl CortexM {
    /// Creates a core with empty memories whose timing model omits the rules in `disabled_rules`.
    pub fn new(soc: &Soc, disabled_rules: DisabledRules) -> Self {
        Self { state: State::new(soc, disabled_rules), code: CodeCache::new(soc) }
    }
}
