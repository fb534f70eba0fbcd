//! The pipeline with nothing more to decode: before exceptions, and up to a data access.

use super::{Condition, Decoding, Pipeline, Step};

impl Pipeline {
    /// Runs without anything more to decode until the execute stage is empty: how long.
    pub fn drain(&mut self) -> u32 {
        let (mut jump, mut disable) = (None, false);
        let mut cycles = 0;
        while self.main.is_some() && cycles < 100 {
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
        cycles
    }

    /// Runs for so many clocks towards an instruction, and on without asking for any more code:
    /// how many more until no fetch is on the bus.
    pub fn fetches_left(&mut self, pc: u32, step: &Step, condition: Condition, clocks: u32) -> u32 {
        if clocks > 0 {
            self.clocks = clocks;
            self.advance(pc, step, condition, false, pc);
        }
        let mut left = 0;
        while (self.fetch_address.is_some() || self.fetch_data.is_some()) && left < 100 {
            let outcome = self.run_buses(0, &mut Decoding::Waiting, &Step::default(), 0);
            self.edge(outcome);
            left += 1;
        }
        left
    }

    /// When the last data transfer that the newest instruction asked for is in its data phase,
    /// in cycles from its entry: for reading counters.
    pub fn data_phase(&self) -> u32 {
        let mut later = self.clone();
        later.wait_for_data()
    }

    fn wait_for_data(&mut self) -> u32 {
        // The newest instruction has entered; the address goes out now.
        let Some(mut newest) = self.piped.or(self.main) else { return 0 };
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
            if self.data_address.is_none() || cycles > 40 {
                return cycles;
            }
        }
    }
}
