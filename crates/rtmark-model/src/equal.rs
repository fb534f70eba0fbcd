//! Equal rows: which rows of other suites have a scenario's span.
//!
//! A name is not a span, so that no program can find these: each was decided by reading what
//! that suite times. What it does about the cost of reading its clock is not part of this.

use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A suite of benchmarks that is not ours.
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
    /// What ESP-IDF programs print of their times; rows by function or item.
    EspIdf,
    /// RIOT's `tests/bench`.
    Riot,
    /// cyclictest of rt-tests; rows by thread.
    Cyclictest,
    /// The ChibiOS test suites; rows by the title of the test case.
    Chibios,
    /// RTOSBench; rows by title.
    Rtosbench,
    /// No suite: calls of a kernel's functions, timed on the simulator; rows by function and by how
    /// the calls went on.
    Calls,
    /// Our own import form; rows by scenario.
    Rtmark,
    /// No suite: an article, a report, a vendor's page; rows in a few words.
    Published,
}

impl Suite {
    /// The suite's name, as catalogue files write it.
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

/// A row of another suite whose span is that of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EqualRow {
    /// The suite.
    pub suite: Suite,
    /// The row's name there.
    pub row: String,
    /// How many of the row's units one sample here holds: a throughput counts each turn of
    /// several threads, where a sample may be one round of all of them.
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
