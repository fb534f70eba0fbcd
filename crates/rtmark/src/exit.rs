//! Exit codes, defined in one place: programs that call rtmark rely on them.

use std::fmt::Write as _;

use rtmark_model::FailureKind;

/// The exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Fine = 0,
    /// A bug in rtmark, or a problem of the computer it runs on.
    Internal = 1,
    /// Wrong arguments, or an input file that was rejected.
    Usage = 2,
    /// Something became slower than allowed.
    Regression = 3,
    /// A filter matches nothing.
    NothingSelected = 4,
    /// The results to compare have different spans, bases or settings.
    Incomparable = 5,
    /// Firmware could not be built, or lacks something that it should contain.
    BuildFailed = 10,
    /// Firmware faulted, locked up, or failed its own check.
    Faulted = 11,
    /// Firmware ran out of its cycle budget, sleeps forever, or never reached its probes or what was
    /// awaited, or printed that.
    OutOfBudget = 12,
    /// A compiler, another tool or a device is missing.
    Missing = 13,
}

impl Exit {
    /// All exit codes in ascending order.
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

    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Describes the code in one line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "success",
            Self::Internal => {
                "internal error: a bug in rtmark or its simulator, a full disk, a locked store"
            }
            Self::Usage => "wrong arguments, or an input file that was rejected",
            Self::Regression => {
                "regression: something takes longer than before, or than its budget allows"
            }
            Self::NothingSelected => "a filter matches nothing",
            Self::Incomparable => {
                "the results cannot be compared: their spans, clocks, settings or similar differ"
            }
            Self::BuildFailed => {
                "firmware could not be built, or lacks something that it should contain"
            }
            Self::Faulted => "firmware faulted, locked up, or failed its own check",
            Self::OutOfBudget => {
                "firmware ran out of its cycle budget, sleeps forever, or never reached its probes or \
                 what --until awaits, or printed what --until-output awaits"
            }
            Self::Missing => "a required tool or device is missing",
        }
    }

    /// Formats all codes as a table.
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
