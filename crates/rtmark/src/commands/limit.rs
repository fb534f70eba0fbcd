//! When to end a run of firmware that never ends: `--for` and `--max-cycles`.

use std::time::Duration;

use clap::Args;
use rtmark_runner::RunLimit;
use rtmark_units::Cycles;

/// How long a run lasts for a command that observes it, unless the options say otherwise.
const USUAL: Duration = Duration::from_secs(1);

/// When to end a run that does not end by itself.
#[derive(Clone, Copy, Debug, Args)]
pub struct Limit {
    /// End the run after this time on its clock, such as 100ms, 1.5s or 50us; this is not a failure
    /// [default: one second]
    #[arg(long = "for", value_name = "TIME", value_parser = super::sim::time,
          conflicts_with = "max_cycles")]
    lasts: Option<Duration>,
    /// End the run after this many cycles instead
    #[arg(long, value_name = "N", value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
}

impl Limit {
    /// Returns the limit of an observed run.
    pub fn of_observed(self) -> RunLimit {
        match self.max_cycles {
            Some(cycles) => RunLimit::Cycles(Cycles(cycles)),
            None => RunLimit::Time(self.lasts.unwrap_or(USUAL)),
        }
    }

    /// Returns the cycles that were asked for.
    pub const fn max_cycles(self) -> Option<u64> {
        self.max_cycles
    }
}
