//! The pipeline without a further instruction to decode: before exceptions, and up to a data
//! access.

use super::decode::Decoding;
use super::execute::InFlight;
use super::{Condition, LONGEST_WAIT, Pipeline, Stalled, Step};

impl Pipeline {
    /// Runs without a further instruction until the execute stage is empty. Returns the cycles that
    /// takes.
    ///
    /// # Errors
    ///
    /// Fails when the stage never becomes empty, which is a fault of this model.
    pub fn drain(&mut self) -> Result<u32, Stalled> {
        let empties = |pipeline: &Self| pipeline.execute.older.is_none();
        self.run_until(empties, "an empty execute stage")
    }

    /// Runs at most `clocks` cycles towards an instruction, and then on without requesting any more
    /// code. Returns the cycles of the second part until no fetch is on the bus.
    ///
    /// # Errors
    ///
    /// Fails when a fetch is always on the bus, which is a fault of this model.
    pub fn fetches_left(
        &mut self,
        pc: u32,
        step: &Step,
        condition: Condition,
        clocks: u32,
    ) -> Result<u32, Stalled> {
        let mut decoding = Decoding::new(pc, step, condition, false, pc);
        for _ in 0..clocks {
            if self.cycle(Some(&mut decoding)) {
                break;
            }
        }
        for left in 0..LONGEST_WAIT {
            if self.fetch_port.is_idle() {
                return Ok(left);
            }
            // The stages stand still and request nothing.
            self.run_ports(None);
        }
        Err(self.stalled("the end of all fetches"))
    }

    /// Returns the cycles from the newest instruction's entry to the data phase of the last
    /// transfer that it requested: the moment at which counters are read.
    ///
    /// # Errors
    ///
    /// Fails when that data phase never begins, which is a fault of this model.
    pub fn data_phase(&self) -> Result<u32, Stalled> {
        let mut later = self.clone();
        let begins = |pipeline: &Self| {
            let asks = pipeline.execute.newest().is_some_and(InFlight::has_more);
            pipeline.data_port.address.is_none() && !asks
        };
        let cycles = later.run_until(begins, "a bus to take the last data address")?;
        Ok(cycles.max(1))
    }

    fn run_until(
        &mut self,
        reached: impl Fn(&Self) -> bool,
        awaited: &str,
    ) -> Result<u32, Stalled> {
        for cycles in 0..LONGEST_WAIT {
            if reached(self) {
                return Ok(cycles);
            }
            self.cycle(None);
        }
        Err(self.stalled(awaited))
    }
}
