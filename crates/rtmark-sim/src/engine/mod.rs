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
pub mod events;
mod fetch;
pub mod fetch_plan;
mod if_conversion;
pub mod micro_op;
mod perform;
mod pipeline_driver;
mod run_loop;
mod single_step;
mod slow;

use crate::engine::code_cache::CodeCache;
use crate::state::State;

/// A simulated soc.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rtmark_sim::{Cycles, Machine, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../../socs/stm32c031.toml"))?;
/// let mut machine = Machine::new(&soc);
/// // A stack pointer, a reset vector, and `b .` to jump to.
/// machine.poke(0x0800_0000, &[0x00, 0x10, 0x00, 0x20, 0x09, 0x00, 0x00, 0x08, 0xFE, 0xE7])?;
/// machine.reset()?;
/// let mut twin = machine.clone();
/// assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(twin.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(machine.instructions(), twin.instructions());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) state: State,
    pub(crate) code: CodeCache,
}
