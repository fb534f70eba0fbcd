//! Memories whose wait states are a product of what registers hold.

use std::ops::Range;
use std::sync::Arc;

use crate::soc::{ClockControl, ClockFactor, Soc};
use crate::timing::{LineMemories, Setting};

/// The memories of a soc with [`crate::Memory::wait_states_by`].
#[derive(Clone, Debug)]
pub struct MemoryWaits {
    /// Their positions in the soc file, and the factors.
    memories: Arc<[(usize, Vec<ClockFactor>)]>,
}

impl MemoryWaits {
    /// Lists the memories, none if the core's clock does not follow its registers: the wait states of the soc file
    /// are those of its clock.
    pub fn of(soc: &Soc) -> Self {
        let follows = soc.clock_control == ClockControl::Registers;
        let memories = soc.memories.iter().map(|memory| memory.wait_states_by.clone()).enumerate();
        Self { memories: memories.filter(|(_, it)| follows && !it.is_empty()).collect() }
    }

    /// Returns whether registers at these addresses are among the factors.
    pub fn read(&self, addresses: &Range<u32>) -> bool {
        let mut fields = self.memories.iter().flat_map(|(_, it)| it).filter_map(ClockFactor::field);
        fields.any(|field| addresses.contains(&field.address))
    }

    /// Makes the memories as fast as the registers say; `held` returns the value of the one at an address. With
    /// a value that is reserved, a memory stays as it was.
    pub fn set(&self, held: impl Fn(u32) -> u32, memories: &mut LineMemories) {
        for (at, factors) in self.memories.iter() {
            let product = factors.iter().try_fold(1_u32, |product, factor| {
                Some(product.saturating_mul(factor.multiplier(&held)?))
            });
            if let Some(waits) = product {
                let waits = u8::try_from(waits).unwrap_or(u8::MAX);
                memories[*at].set(Setting::WaitStates(waits));
            }
        }
    }
}
