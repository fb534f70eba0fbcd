//! Exit codes, in one place: programs that call rtmark rely on them.

use std::fmt::Write as _;

use rtmark_model::FailureKind;

/// What the process tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything went well.
    Fine = 0,
    /// A defect of rtmark itself, or of the machine it runs on.
    Internal = 1,
    /// Wrong arguments, or an input file that was refused.
    Usage = 2,
    /// Something became slower than allowed.
    Regression = 3,
    /// A filter fits nothing.
    NothingSelected = 4,
    /// What was to be compared has different spans, bases or settings.
    Incomparable = 5,
    /// Firmware could not be built, or does not hold what it should.
    BuildFailed = 10,
    /// Firmware faulted, locked up, or failed its own check.
    Faulted = 11,
    /// Firmware ran out of its cycle budget, sleeps for ever, or never reached its probes.
    OutOfBudget = 12,
    /// A compiler, another tool or a device is missing.
    Missing = 13,
}

impl Exit {
    /// All of them in ascending order.
    pub const ALL: &[Self] = &[
        Self::Fine,
        Self::Internal,
        Self::Usage,
        Self::Regression,
        Self::NothingSelected,
        Self::Incomparable,
        Self::BuildFailed,
        Self::Faulted,
        Self::OutOfBudget,
        Self::Missing,
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in one line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "everything went well",
            Self::Internal => {
                "an internal error: a mistake of rtmark or its simulator, a full disk, a locked store"
            }
            Self::Usage => "wrong arguments, or an input file that was refused",
            Self::Regression => {
                "a regression: something takes longer than it did, or than its budget allows"
            }
            Self::NothingSelected => "a filter selects nothing",
            Self::Incomparable => {
                "the results cannot be compared: spans, clocks, settings or the like differ"
            }
            Self::BuildFailed => "a firmware could not be built, or does not hold what it should",
            Self::Faulted => "a firmware faulted, locked up, or failed its own check",
            Self::OutOfBudget => {
                "a firmware ran out of its cycle budget, sleeps for ever, or never reached its probes"
            }
            Self::Missing => "a tool or a device is missing",
        }
    }

    /// The table for manuals.
    pub fn table() -> String {
        let mut text = String::new();
        for exit in Self::ALL {
            let _ = writeln!(text, "{:>3}  {}", exit.code(), exit.meaning());
        }
        text
    }
}

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Internal => Self::Internal,
            FailureKind::ToolMissing => Self::Missing,
            FailureKind::Build => Self::BuildFailed,
            FailureKind::Load => Self::Usage,
            FailureKind::Fault | FailureKind::Check => Self::Faulted,
            FailureKind::Budget => Self::OutOfBudget,
        }
    }
}
