//! Small sets, drawn at random.

use oorandom::Rand64;
use rtmark_plan::Set;
use rtmark_plan::draw::{self, SetParameters};

/// Draws two to five tasks with up to two locks and two interrupts. The tick is in cycles, periods are in ticks, and
/// the utilisation is at least a tenth.
pub fn small(draw: &mut Rand64, tick: u64, periods: (u64, u64), utilisation: f64) -> Set {
    let parameters = SetParameters {
        tasks: draw.rand_range(2..6) as usize,
        utilisation: 0.1 + (utilisation - 0.1) * draw.rand_float(),
        tick,
        periods,
        least_work: 100,
        locks: draw.rand_range(0..3) as usize,
        interrupts: draw.rand_range(0..3) as usize,
    };
    Set { granule: 100.into(), ..draw::set(draw, &parameters) }
}
