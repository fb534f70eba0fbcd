//! The longest responses over many offsets.

use oorandom::Rand64;
use rtmark_plan::{Release, Set};

use crate::calibrate::Calibration;
use crate::image::{Bench, SetError};
use crate::run::{Observed, Witness};

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many offsets are drawn besides the releases of all at once.
    pub offsets: u32,
    /// Where the draw begins.
    pub seed: u64,
    /// The most cycles of one run.
    pub cycles: u64,
}

/// The longest response of a task that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The response.
    pub longest: u64,
    /// Where it was; none where the job had not ended when the run was over.
    pub witness: Option<Witness>,
    /// The offsets of all tasks in that run, in cycles.
    pub offsets: Vec<u64>,
    /// How many of its jobs were seen in all runs.
    pub jobs: u64,
}

impl Bench {
    /// Runs a set with the offsets it states, with all released at once, and with others that are drawn,
    /// each for its hyperperiod or the most cycles of a run.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn search(
        &self,
        set: &Set,
        calibration: &Calibration,
        effort: Effort,
    ) -> Result<Vec<Found>, SetError> {
        let mut draw = Rand64::new(u128::from(effort.seed));
        let none = Found { longest: 0, witness: None, offsets: Vec::new(), jobs: 0 };
        let mut found = vec![none; set.tasks.len()];
        let slowest = set.tasks.iter().map(|task| task.period).max().unwrap_or(1);
        let cycles = set.hyperperiod(effort.cycles).unwrap_or(effort.cycles).max(2 * slowest);
        let mut shifted = set.clone();
        for number in 0..=effort.offsets {
            let stated = set.tasks.iter().any(|task| task.offset > 0);
            if number > 0 || !stated {
                for task in &mut shifted.tasks {
                    // An interrupt comes in any cycle, a release of the clock's in a tick.
                    let step = match task.release {
                        Release::Clock => set.tick.max(1),
                        Release::Interrupt(_) => 1,
                    };
                    let drawn = draw.rand_range(0..(task.period / step).max(1));
                    task.offset = if number == 0 { 0 } else { drawn * step };
                }
            }
            let ran = self.run(&shifted, calibration, cycles + slowest)?;
            for (found, seen) in found.iter_mut().zip(ran.tasks) {
                let Observed { jobs, longest, witness } = seen;
                found.jobs += jobs;
                if longest > found.longest {
                    (found.longest, found.witness) = (longest, witness);
                    found.offsets = shifted.tasks.iter().map(|task| task.offset).collect();
                }
            }
        }
        Ok(found)
    }
}
