//! Equal rows: the rows of other suites that have a scenario's span.
//!
//! A name is not a span, so no program can find these: each was decided by reading what that suite
//! times. How the suite accounts for the cost of reading its clock is not considered here.

use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A benchmark suite of others.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Zephyr's `tests/benchmarks/latency_measure`; rows by their tag, since 3.6.
    ZephyrLatencyMeasure,
    /// rtos-benchmark; rows as `Group: name`, the group without its word "stats".
    RtosBenchmark,
    /// Thread-Metric; rows as the title between its asterisks, without "Thread-Metric" and "Test".
    ThreadMetric,
    /// The task switch example of TI's MCU+ SDK; rows as the text before the equals sign.
    TiMcuPlusSdk,
    /// Zephyr's `timing_info`, until 2.x.
    ZephyrTimingInfo,
    /// Zephyr's `sched_queues` and `wait_queues`; rows without their `.min` and `.max`.
    ZephyrSchedQueues,
    /// Zephyr's `sched`; rows by the step.
    ZephyrSched,
    /// Zephyr's `sys_kernel`; rows by the title of the test case.
    ZephyrSysKernel,
    /// Zephyr's `app_kernel`; rows as in its table, those of mailboxes and pipes with their sizes.
    ZephyrAppKernel,
    /// Zephyr's `timer_behavior`: test and mechanism.
    ZephyrTimerBehavior,
    /// Zephyr's ztest benchmarks; rows as `group.name`.
    ZephyrZtest,
    /// The times printed by ESP-IDF programs; rows by function or item.
    EspIdf,
    /// RIOT's `tests/bench`.
    Riot,
    /// cyclictest of rt-tests; rows by thread.
    Cyclictest,
    /// The ChibiOS test suites; rows by the title of the test case.
    Chibios,
    /// RTOSBench; rows by title.
    Rtosbench,
    /// Not a suite: calls of a kernel's functions, timed on the simulator; rows by function and
    /// outcome.
    Calls,
    /// rtmark's own import format; rows by scenario.
    Rtmark,
    /// Not a suite: an article, a report, a vendor's page; rows in a few words.
    Published,
}

impl Suite {
    /// Returns the suite's name as written in catalogue files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZephyrLatencyMeasure => "zephyr-latency-measure",
            Self::RtosBenchmark => "rtos-benchmark",
            Self::ThreadMetric => "thread-metric",
            Self::TiMcuPlusSdk => "ti-mcu-plus-sdk",
            Self::ZephyrTimingInfo => "zephyr-timing-info",
            Self::ZephyrSchedQueues => "zephyr-sched-queues",
            Self::ZephyrSched => "zephyr-sched",
            Self::ZephyrSysKernel => "zephyr-sys-kernel",
            Self::ZephyrAppKernel => "zephyr-app-kernel",
            Self::ZephyrTimerBehavior => "zephyr-timer-behavior",
            Self::ZephyrZtest => "zephyr-ztest",
            Self::EspIdf => "esp-idf",
            Self::Riot => "riot",
            Self::Cyclictest => "cyclictest",
            Self::Chibios => "chibios",
            Self::Rtosbench => "rtosbench",
            Self::Calls => "calls",
            Self::Rtmark => "rtmark",
            Self::Published => "published",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A row of another suite that has a scenario's span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EqualRow {
    /// The suite.
    pub suite: Suite,
    /// The row's name in that suite.
    pub row: String,
    /// How many of the row's units one of our samples contains: a throughput counts each turn of
    /// several threads, while a sample may be one round of all of them.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: NonZeroU32,
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_one(times: &NonZeroU32) -> bool {
    *times == NonZeroU32::MIN
}

impl fmt::Display for EqualRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.suite, self.row)?;
        if self.times > NonZeroU32::MIN {
            write!(f, " \u{d7} {}", self.times)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_how_many_of_its_units_a_sample_contains() {
        for (times, shown) in
            [(1, "thread-metric: Preemptive"), (5, "thread-metric: Preemptive × 5")]
        {
            let times = NonZeroU32::new(times).expect("not zero");
            let row = EqualRow { suite: Suite::ThreadMetric, row: "Preemptive".to_owned(), times };
            let text = serde_json::to_string(&row).expect("JSON");
            assert_eq!(serde_json::from_str::<EqualRow>(&text).expect("a row"), row, "{text}");
            assert_eq!(
                (text.contains("times"), row.to_string()),
                (times.get() > 1, shown.to_owned())
            );
        }
    }
}
