//! How a run ended: in words, as an exit code, and what to do about it.

use rtmark_runner::Ending;
use rtmark_sim::FaultKind;

use crate::exit::Exit;

/// How the run ended, the ends that this command itself asked for included.
pub enum End {
    /// The function that `--entry` called has returned.
    Returned,
    /// The place that `--until` names is reached.
    Until,
    /// What `--until-output` awaits was printed.
    UntilOutput,
    /// What `--fail-output` awaits was printed: this.
    FailOutput(String),
    /// The time of `--for` is up.
    Lasted,
    Other(Ending),
}

pub const fn word(end: &End) -> &'static str {
    let ending = match end {
        End::Returned => return "returned",
        End::Until => return "until",
        End::UntilOutput => return "until-output",
        End::FailOutput(_) => return "fail-output",
        End::Lasted => return "for",
        End::Other(ending) => ending,
    };
    match ending {
        Ending::Exit(_) => "exit",
        Ending::Fault(_) => "fault",
        Ending::Lockup(_) => "lockup",
        Ending::Breakpoint(_) => "breakpoint",
        Ending::Asleep => "asleep",
        Ending::Reset => "reset",
        Ending::Limit => "limit",
        Ending::Internal(_) => "internal",
        Ending::Observer => "observer",
        _ => "other",
    }
}

pub fn exit(end: &End) -> Exit {
    let ending = match end {
        End::FailOutput(_) => return Exit::Faulted,
        End::Other(ending) => ending,
        _ => return Exit::Fine,
    };
    match ending {
        Ending::Exit(status) if status.0 == 0 => Exit::Fine,
        Ending::Observer => Exit::Fine,
        Ending::Exit(_)
        | Ending::Fault(_)
        | Ending::Lockup(_)
        | Ending::Breakpoint(_)
        | Ending::Reset => Exit::Faulted,
        Ending::Internal(_) => Exit::Internal,
        _ => Exit::OutOfBudget,
    }
}

/// What to do about an ending that is not what one wants.
pub fn hint(end: &End) -> Option<&'static str> {
    let ending = match end {
        End::FailOutput(_) => return Some("that ends a run by --fail-output"),
        End::Other(ending) => ending,
        _ => return None,
    };
    match ending {
        Ending::Exit(_) | Ending::Observer => None,
        Ending::Fault(report) if report.kind == FaultKind::NoCoprocessor => Some(
            "switch the FPU on first, which is the startup code's part; with --entry none runs: \
             --set 0xE000ED88=0xF00000 on a Cortex-M",
        ),
        Ending::Fault(report) if report.kind == FaultKind::Unmodelled => Some(
            "give the soc file a [[peripheral]] there, or leave out --strict: it will read as zero",
        ),
        Ending::Fault(report) if report.kind == FaultKind::ControlRegister => Some(
            "the core's documentation lists those that it has (of a Hazard3: RP2350 datasheet, \
             3.8.9; of an Ibex: its Reference Guide); user mode may read counters at the most",
        ),
        Ending::Fault(_) | Ending::Lockup(_) => Some(
            "look up the address with arm-none-eabi-addr2line, and what the function accesses there",
        ),
        Ending::Breakpoint(_) => {
            Some("a BKPT is often the end of a panic or an assert: see the console above")
        }
        Ending::Reset => Some("firmware that panics often resets: see the console above"),
        Ending::Asleep => {
            Some("let it end by semihosting SYS_EXIT, or enable an interrupt that wakes it")
        }
        _ => Some(
            "allow more with --max-cycles; a program that never ends by itself is ended by \
             --until-output TEXT or --for TIME",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_sim::{Cycles, InternalError};

    #[test]
    fn a_mistake_of_the_simulator_is_no_fault_of_the_firmware() {
        let error = InternalError {
            pc: 0x0800_0124,
            instruction: Some("str.w r1, [r0, #1]".to_owned()),
            cycle: Cycles(1_234),
            state: "data bus empty".to_owned(),
        };
        let end = End::Other(Ending::Internal(Box::new(error)));
        assert_eq!((word(&end), exit(&end)), ("internal", Exit::Internal));
    }
}
