//! How a run ended: its name, its exit code, and a hint.

use rtmark_runner::Ending;
use rtmark_sim::{FaultKind, FaultReport, RAM_AT_RESET};

use crate::exit::Exit;

/// How far from the stack pointer an address counts as one of the stack, in bytes.
const STACK_REACH: u32 = 256;

/// How far from what RAM holds at reset an address counts as one that nothing has set, in bytes.
const UNSET_REACH: u32 = 4096;

/// How a run ended, including the endings that the options ask for.
pub enum End {
    /// The function that `--entry` called returned.
    Returned,
    /// The address of `--until` was reached.
    Until,
    /// A text of `--until-output` was printed.
    UntilOutput,
    /// This text of `--fail-output` was printed.
    FailOutput(String),
    /// The time of `--for` elapsed.
    Lasted,
    /// Ctrl-C ended the run.
    Interrupted,
    Other(Ending),
    /// It would have been a success, but none of the texts of `--until-output` had been printed.
    Unprinted(Box<Self>),
    /// It would have been a success, but the address of `--until` had not been reached.
    Unreached(Box<Self>),
}

impl End {
    /// Makes an end a failure, if it was not, because something was to come before it.
    pub fn too_early(self, failure: impl FnOnce(Box<Self>) -> Self) -> Self {
        match self {
            Self::Returned | Self::Lasted => failure(Box::new(self)),
            Self::Other(Ending::Exit(status)) if status.0 == 0 => failure(Box::new(self)),
            end => end,
        }
    }
}

pub fn word(end: &End) -> &'static str {
    let ending = match end {
        End::Unprinted(end) | End::Unreached(end) => return word(end),
        End::Returned => return "returned",
        End::Until => return "until",
        End::UntilOutput => return "until-output",
        End::FailOutput(_) => return "fail-output",
        End::Lasted => return "for",
        End::Interrupted => return "interrupted",
        End::Other(ending) => ending,
    };
    match ending {
        Ending::Exit(_) => "exit",
        Ending::Fault(_) => "fault",
        Ending::Lockup(_) => "lockup",
        Ending::Breakpoint(_) => "breakpoint",
        Ending::Asleep => "asleep",
        Ending::Reset => "reset",
        Ending::Watchdog { .. } => "watchdog",
        Ending::Limit => "limit",
        Ending::Internal(_) => "internal",
        Ending::Observer => "observer",
        _ => "other",
    }
}

pub fn exit(end: &End) -> Exit {
    let ending = match end {
        End::FailOutput(_) => return Exit::Faulted,
        End::Unprinted(_) | End::Unreached(_) | End::Interrupted => return Exit::OutOfBudget,
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
        | Ending::Reset
        | Ending::Watchdog { .. } => Exit::Faulted,
        Ending::Internal(_) => Exit::Internal,
        _ => Exit::OutOfBudget,
    }
}

/// Returns a hint for an ending that is probably unwanted; `message` says where it was.
pub fn hint(end: &End, message: &str) -> Option<&'static str> {
    let ending = match end {
        End::FailOutput(_) => return Some("--fail-output names this text as a failure"),
        End::Unprinted(_) => {
            return Some(
                "the text of --until-output was never printed: see the output above, and whether the text is \
                 spelled as the program prints it",
            );
        }
        End::Unreached(_) => {
            return Some(
                "the instruction of --until was never executed: the run may have ended before, or a function may be \
                 inlined where it is called",
            );
        }
        End::Interrupted => return Some("the results cover the run up to there"),
        End::Other(ending) => ending,
        _ => return None,
    };
    match ending {
        Ending::Exit(_) | Ending::Observer => None,
        Ending::Fault(report) => Some(fault_hint(report, message)),
        Ending::Lockup(_) => Some(
            "check what the instruction accesses (addr2line knows its source line, if none is shown and the image was \
             built with -g)",
        ),
        // Where pico-sdk's programs stop when main returns.
        Ending::Breakpoint(_) if message.contains("(_exit") => Some(
            "the program has ended: main returned or exit was called, and _exit has nowhere to go; semihosting's \
             SYS_EXIT would end the run with the program's status",
        ),
        Ending::Breakpoint(_) if message.contains("called the boot ROM") => Some(
            "rtmark's substitute for the boot ROM ends a run that would restart the chip (reboot) or enter its USB \
             loader (reset_to_usb_boot), or that calls a function which it lacks",
        ),
        Ending::Breakpoint(_) => {
            Some("a breakpoint instruction often ends a panic or assert: see the output above")
        }
        Ending::Watchdog { .. } => Some(
            "look where the program refreshes it, and what kept it from there: --trace shows what executed last, and \
             --stats shows peripherals without a model",
        ),
        Ending::Reset => Some("firmware often resets after a panic: see the output above"),
        Ending::Asleep => Some(
            "let the program exit through semihosting SYS_EXIT, enable an interrupt that wakes it, or give what it \
             waits for: the level of a pin whose interrupt is enabled (--pin), bytes for a UART (--uart-in)",
        ),
        _ => Some(
            "raise --max-cycles; for a program that never exits, use --until-output TEXT or \
             --for TIME",
        ),
    }
}

/// Returns a hint for a fault; `message` says where it was.
fn fault_hint(report: &FaultReport, message: &str) -> &'static str {
    match report.kind {
        FaultKind::NoCoprocessor => {
            "enable the FPU first, as startup code does; --entry runs no startup code, so use \
             --set 0xE000ED88=0xF00000 on a Cortex-M"
        }
        FaultKind::AbsentCoprocessor => {
            "is the image for this chip? A coprocessor that it has must be enabled in CPACR (0xE000ED88), as \
             start-up code does"
        }
        FaultKind::UnmodelledCoprocessor => {
            "docs/trust.md says what is modelled; a library that calculates without the coprocessor may be at \
             hand (pico-sdk: pico_set_double_implementation)"
        }
        FaultKind::Unmodelled => {
            "add a [[peripheral]] for this address to the soc file, or leave out --strict, so that it reads \
             as zero"
        }
        FaultKind::ControlRegister => {
            "the core's documentation lists its control registers (Hazard3: RP2350 datasheet, 3.8.9; \
             Ibex: its Reference Guide); user mode may at most read counters"
        }
        FaultKind::SupervisorCall => {
            "SVCall must be more urgent than what executes: no mask (PRIMASK, FAULTMASK, BASEPRI) may hold \
             it back, and no handler be as urgent; `rtmark sim --deliver-faults` runs the program's own fault \
             handler, which some kernels use on purpose (NuttX on a Cortex-M0 switches threads in it)"
        }
        _ if is_unset(report) => {
            "RAM holds 0xa5 in each byte at reset, where a chip's holds anything: is this a pointer or a vector that \
             nothing has set? Start-up code clears .bss and copies .data; `rtmark sim --deliver-faults` runs the \
             program's own fault handler"
        }
        _ if message.contains("where the image has no code") => {
            "a wrong pointer, a damaged stack, or vectors that are elsewhere than the program has them (VTOR; a \
             Cortex-R5's SCTLR.V) lead there: --trace shows what executed before; `rtmark sim --deliver-faults` runs \
             the program's own fault handler"
        }
        FaultKind::UndefinedInstruction => {
            "compilers end a panic or a trap with such an instruction (udf): see the output above; otherwise \
             check for which core the code is built, and where it came from; `rtmark sim --deliver-faults` \
             runs the program's own fault handler"
        }
        _ if is_stack(report) => {
            "the soc has no memory where the stack is: is the image linked for a chip with more RAM, or has the stack \
             grown beyond its end? `rtmark sim --deliver-faults` runs the program's own fault handler"
        }
        _ if message.contains("so this is a store") => {
            "flash takes stores only while its controller is told to program it: is a pointer null or wrong? `rtmark \
             sim --deliver-faults` runs the program's own fault handler"
        }
        FaultKind::DataAccess => {
            "the soc has nothing at that address: is the image for another chip, or a pointer wrong? A soc file of your \
             own adds memory or a peripheral (docs/socs.md); `rtmark sim --deliver-faults` runs the program's own \
             fault handler"
        }
        FaultKind::InvalidState => {
            "a pointer to a function has its lowest bit set: is this one null, or of a function in assembly language \
             without .thumb_func? lr may say from where it was called; `rtmark sim --deliver-faults` runs the program's \
             own fault handler"
        }
        _ if is_fetch(report) && report.lr == u32::MAX => {
            "lr has its value of a reset: the function with which the program begins has returned, and nothing called it"
        }
        _ if is_fetch(report) => {
            "there is no code: a wrong pointer to a function or a damaged stack leads there, and lr may say from where; \
             --trace shows what executed before; `rtmark sim --deliver-faults` runs the program's own fault handler"
        }
        _ => {
            "check what the instruction accesses (addr2line knows its source line, if none is shown and the image was \
             built with -g); `rtmark sim --deliver-faults` runs the program's own fault handler"
        }
    }
}

/// Returns whether a fault comes of an address that RAM held at reset, or of one near it: a member of a structure, or the
/// halfword of code that a pointer leads to.
fn is_unset(report: &FaultReport) -> bool {
    let unset = u32::from_ne_bytes([RAM_AT_RESET; 4]);
    [Some(report.pc), report.address]
        .into_iter()
        .flatten()
        .any(|address| address.abs_diff(unset) < UNSET_REACH)
}

/// Returns whether code was fetched where it cannot be.
const fn is_fetch(report: &FaultReport) -> bool {
    matches!(report.kind, FaultKind::InstructionAccess | FaultKind::InstructionProtection)
}

/// Returns whether a fault comes of a stack without memory. A push stores up to sixteen words, and functions store to
/// what they have just reserved.
fn is_stack(report: &FaultReport) -> bool {
    match report.kind {
        FaultKind::Stack(_) => true,
        FaultKind::DataAccess => {
            report.address.is_some_and(|address| address.abs_diff(report.sp) <= STACK_REACH)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_sim::{CoreKind, Cycles, InternalError};

    /// A program linked for a chip with more RAM faults at its first push, and one that uses memory on a board when it
    /// first does.
    #[test]
    fn a_fault_where_nothing_responds_asks_whether_the_chip_is_right() {
        let hint = |kind, address, sp| {
            let report = FaultReport {
                kind,
                pc: 0x0800_0518,
                core: CoreKind::CortexM3,
                lr: 0x0800_0201,
                sp,
                address: Some(address),
                handler: 0,
                mode: None,
                cycle: Cycles(0),
            };
            hint(&End::Other(Ending::Fault(report)), "").unwrap_or_default()
        };
        for below in [0, 4, 64] {
            let pushed = hint(FaultKind::DataAccess, 0x2000_C000 - below, 0x2000_C000);
            assert!(pushed.contains("a chip with more RAM"), "{below}: {pushed}");
        }
        let psram = hint(FaultKind::DataAccess, 0x2100_0000, 0x003F_FF78);
        assert!(psram.contains("has nothing at that address"), "{psram}");
        let unset = hint(FaultKind::DataAccess, 0xA5A5_A5A9, 0x2000_1000);
        assert!(unset.contains("nothing has set"), "{unset}");
        let unset = hint(FaultKind::DataAccess, 0xA5A5_0000, 0x2000_1000);
        assert!(unset.contains("has nothing at that address"), "{unset}");
        let fetch = hint(FaultKind::InstructionAccess, 0x1000_0000, 0x2000_1000);
        assert!(fetch.contains("a wrong pointer to a function"), "{fetch}");
        let unaligned = hint(FaultKind::Unaligned, 0x2000_0001, 0x2000_1000);
        assert!(unaligned.contains("check what the instruction accesses"), "{unaligned}");
    }

    #[test]
    fn internal_errors_are_not_reported_as_firmware_faults() {
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
