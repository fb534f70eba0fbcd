//! The pipeline with nothing more to decode: before exceptions, and up to a data access.

use super::{Decoding, LONGEST_WAIT, Pipeline, Stalled, Step};

impl Pipeline {
    /// Runs without anything more to decode until the execute stage is empty: how long.
    ///
    /// # Errors
    /// When it never is, which is a mistake of this model.
    pub fn drain(&mut self) -> Result<u32, Stalled> {
        let (mut jump, mut disable) = (None, false);
        let mut cycles = 0;
        while self.main.is_some() {
            if cycles > LONGEST_WAIT {
                return Err(self.stalled("the execute stage is to become empty"));
            }
            for piped in [false, true] {
                let slot = if piped { self.piped } else { self.main };
                if let Some(mut at) = slot.filter(|at| !at.done) {
                    self.execute(&mut at, 0, &mut jump, &mut disable);
                    *(if piped { &mut self.piped } else { &mut self.main }) = Some(at);
                }
            }
            let mut decoding = Decoding::Waiting;
            let outcome = self.run_buses(0, &mut decoding, &Step::default(), 0);
            self.edge(outcome);
            cycles += 1;
        }
        Ok(cycles)
    }

    /// When the last data transfer that the newest instruction asked for is in its data phase,
    /// in cycles from its entry: for reading counters.
    ///
    /// # Errors
    /// When it never is, which is a mistake of this model.
    pub fn data_phase(&self) -> Result<u32, Stalled> {
        let mut later = self.clone();
        later.wait_for_data()
    }

    fn wait_for_data(&mut self) -> Result<u32, Stalled> {
        // The newest instruction has entered; the address goes out now.
        let Some(mut newest) = self.piped.or(self.main) else { return Ok(0) };
        let mut cycles = 0;
        let mut out = false;
        loop {
            let mut decoding = Decoding::Waiting;
            if !out {
                self.data_address = Some(newest.transfer(self.slow.line_bytes));
                out = true;
            }
            let outcome = self.run_buses(0, &mut decoding, &Step::default(), 0);
            self.edge(outcome);
            cycles += 1;
            if self.data_address.is_none() {
                return Ok(cycles);
            }
            if cycles > LONGEST_WAIT {
                return Err(self.stalled("an address is to go out on the data bus"));
            }
        }
    }
}
