//! Why a run ended: an orderly end, a fault, a sleep that nothing can end.

use std::fmt;

use rtmark_units::Cycles;

use crate::devices::WatchdogCause;
use crate::soc::CoreKind;

/// The status with which a program ended by semihosting; 0 for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u32);

/// When registers are saved or restored other than by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// On exception entry.
    Entry,
    /// On exception return.
    Return,
    /// When a handler's first floating-point instruction saves the registers that entry deferred (lazy
    /// stacking).
    LazyFloat,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An encoding that is not an instruction of this core.
    UndefinedInstruction,
    /// A floating-point instruction while the FPU is absent or disabled.
    NoCoprocessor,
    /// An instruction of another coprocessor, which is absent or disabled.
    AbsentCoprocessor,
    /// An instruction of a coprocessor that has no model.
    UnmodelledCoprocessor,
    /// A branch to an even address, which selects Arm state; these cores lack it.
    InvalidState,
    /// Code was fetched from an address without memory.
    InstructionAccess,
    /// The MPU or the memory map forbids executing this code.
    InstructionProtection,
    /// Nothing responds to a load or store.
    DataAccess,
    /// The MPU forbids a load or store.
    DataProtection,
    /// A load or store at an address without the required alignment.
    Unaligned,
    /// A control and status register that the RISC-V core lacks, that requires a higher privilege, or that
    /// is read-only.
    ControlRegister,
    /// A division by zero while the trap for it is enabled.
    DivideByZero,
    /// A stack pointer was about to go below its limit (MSPLIM or PSPLIM of ARMv8-M).
    StackLimit,
    /// A branch to Non-secure state; the simulated core stays Secure and has no Non-secure code.
    NonSecure,
    /// Floating-point state was to be preserved lazily while other state was still waiting for that (VLSTM,
    /// or an exception).
    LazyState,
    /// Registers could not be saved on or restored from the stack, because there is no memory there.
    Stack(Transfer),
    /// Registers could not be saved on or restored from the stack, because the MPU forbids it.
    StackProtection(Transfer),
    /// An exception's vector could not be read.
    Vector,
    /// An exception return that is inconsistent with the current state.
    InvalidReturn,
    /// An SVC where its exception cannot be taken.
    SupervisorCall,
    /// A breakpoint instruction without a debugger.
    Breakpoint,
    /// A register without a model was used, under [`Strictness::Strict`](crate::Strictness).
    Unmodelled,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reason, transfer) = match self {
            Self::Stack(transfer) => ("there is no memory at the stack pointer", transfer),
            Self::StackProtection(transfer) => ("the MPU forbids its use", transfer),
            _ => return f.write_str(self.text()),
        };
        write!(
            f,
            "stack access failed during {}: {reason}",
            match transfer {
                Transfer::Entry => "exception entry",
                Transfer::Return => "exception return",
                Transfer::LazyFloat => "lazy saving of floating-point registers",
            }
        )
    }
}

impl FaultKind {
    const fn text(self) -> &'static str {
        match self {
            Self::UndefinedInstruction => "undefined instruction",
            Self::NoCoprocessor => "floating-point instruction while the FPU is absent or disabled",
            Self::AbsentCoprocessor => "instruction of a coprocessor that is absent or disabled",
            Self::UnmodelledCoprocessor => "instruction of a coprocessor that has no model",
            Self::InvalidState => "branch to an even address (Arm state, which Cortex-M lacks)",
            Self::InstructionAccess => "instruction fetch from an address without memory",
            Self::InstructionProtection => {
                "instruction fetch that the MPU or the memory map forbids (execute never)"
            }
            Self::DataAccess => "load or store to which nothing responds",
            Self::DataProtection => "load or store that the MPU forbids",
            Self::Unaligned => "unaligned load or store",
            Self::ControlRegister => {
                "access to a control and status register that the core lacks or does not allow here"
            }
            Self::DivideByZero => "division by zero",
            Self::StackLimit => "stack pointer below its limit (MSPLIM or PSPLIM)",
            Self::NonSecure => "branch to Non-secure state, which is not simulated",
            Self::LazyState => "floating-point state deferred twice",
            Self::Stack(_) | Self::StackProtection(_) => "stack access failed",
            Self::Vector => "exception vector at an address without memory",
            Self::InvalidReturn => "invalid exception return",
            Self::SupervisorCall => "SVC where its exception cannot be taken",
            Self::Breakpoint => "breakpoint instruction without a debugger",
            Self::Unmodelled => "access to a register without a model",
        }
    }
}

/// A fault, with the place and state in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The instruction that caused it.
    pub pc: u32,
    /// The core, which determines the words in which the report is told.
    pub core: CoreKind,
    /// The link register at that moment; ra on a RISC-V core.
    pub lr: u32,
    /// The stack pointer at that moment.
    pub sp: u32,
    /// The address that was accessed, if the fault concerns one.
    pub address: Option<u32>,
    /// The exception whose handler was executing; 0 in thread mode.
    pub handler: u16,
    /// The mode at that moment, on cores whose modes differ from those of a Cortex-M: `supervisor` and the like
    /// on a Cortex-R5, `M` or `U` on a RISC-V core.
    pub mode: Option<&'static str>,
    /// The cycle in which it happened.
    pub cycle: Cycles,
}

impl FaultReport {
    /// Writes the mode and the handler as RISC-V names them.
    fn fmt_riscv_mode(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-mode", self.mode.unwrap_or("M"))?;
        match self.handler {
            0 => Ok(()),
            exception => write!(f, ", handling {}", self.core.exception_name(exception)),
        }
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_riscv = self.core.is_riscv();
        match self.kind {
            FaultKind::InstructionProtection if is_riscv => {
                f.write_str("instruction fetch that the PMP forbids")?;
            }
            FaultKind::DataProtection if is_riscv => {
                f.write_str("load or store that the PMP forbids")?;
            }
            kind => write!(f, "{kind}")?,
        }
        write!(f, " at pc {:#010x}", self.pc)?;
        if let Some(address) = self.address {
            write!(f, ", address {address:#010x}")?;
        }
        let link = if is_riscv { "ra" } else { "lr" };
        write!(f, " ({link} {:#010x}, sp {:#010x}, ", self.lr, self.sp)?;
        match (self.handler, self.mode) {
            _ if is_riscv => self.fmt_riscv_mode(f)?,
            (0, None) => write!(f, "thread mode")?,
            (0, Some(mode)) => write!(f, "{mode} mode")?,
            (exception, None) => write!(f, "handling exception {exception}")?,
            (exception, Some(mode)) => write!(f, "{mode} mode, handling exception {exception}")?,
        }
        write!(f, ", cycle {})", self.cycle.0)
    }
}

/// An error of the simulator itself, after which no figure of the run can be trusted: the pipeline model
/// never lets an instruction proceed, or it reached a state that no core can be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalError {
    /// The instruction at which it was detected: the next one, or one that the program may reach soon,
    /// because blocks are scheduled in advance.
    pub pc: u32,
    /// Its disassembly, if there is an instruction at that address.
    pub instruction: Option<String>,
    /// The cycle in which it was detected.
    pub cycle: Cycles,
    /// What is wrong, and the state of the pipeline.
    pub state: String,
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the simulation failed at pc {:#010x}", self.pc)?;
        if let Some(instruction) = &self.instruction {
            write!(f, " `{instruction}`")?;
        }
        write!(f, ", detected in cycle {}: {}", self.cycle.0, self.state)
    }
}

impl std::error::Error for InternalError {}

/// Why [`Machine::run`](crate::Machine::run) ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The requested cycle count has been reached.
    Limit,
    /// The program ended itself by semihosting.
    Exit(ExitStatus),
    /// A fault that would enter HardFault, under [`FaultPolicy::Stop`].
    Fault(FaultReport),
    /// A fault while handling HardFault or NMI: the core has stopped for good.
    Lockup(FaultReport),
    /// A breakpoint instruction, at this address, that is not a semihosting call.
    Breakpoint(u32),
    /// The core sleeps and nothing can wake it.
    Asleep,
    /// The program makes a call about a file. [`Machine::serve`](crate::Machine::serve) performs it, and
    /// the next run continues after it. Only occurs if [`FileCalls::Served`](crate::FileCalls::Served) was
    /// selected.
    HostCall,
    /// The [`Observer`](crate::Observer) ended the run.
    Observer,
    /// The program has printed a text at which it was to stop; the number is the one that
    /// [`Machine::stop_at_output`](crate::Machine::stop_at_output) returned.
    Output(usize),
    /// The code for which [`Machine::stop_at_resumption`](crate::Machine::stop_at_resumption) was called
    /// resumes.
    Resumed,
    /// The program has made the core's clock slower, which
    /// [`Machine::stop_at_slower_clock`](crate::Machine::stop_at_slower_clock) asked for.
    SlowerClock,
    /// The program asked for a system reset; [`Machine::reset`](crate::Machine::reset)
    /// performs it.
    ResetRequested,
    /// A watchdog resets the chip; [`Machine::reset`](crate::Machine::reset) performs it.
    Watchdog {
        /// The watchdog's first address.
        base: u32,
        /// Why it does.
        cause: WatchdogCause,
    },
    /// The simulator detected an error of its own, so no figure of this run counts. Every further run ends
    /// with the same stop until a reset.
    Internal(Box<InternalError>),
}

/// What happens when a fault would enter HardFault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPolicy {
    /// The run stops before the handler, so that the faulting state can be inspected.
    #[default]
    Stop,
    /// The program's own HardFault handler runs, as on the chip.
    Deliver,
}
