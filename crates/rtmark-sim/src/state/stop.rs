//! Why a run comes back: an orderly end, a fault, a sleep without end.

use std::fmt;

use rtmark_units::Cycles;

/// How a program ended: the status it gave by semihosting, 0 for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u32);

/// When registers are saved or restored other than by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// On exception entry.
    Entry,
    /// On exception return.
    Return,
    /// When the first floating-point instruction of a handler saves what entry has left.
    LazyFloat,
}

/// What a fault was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An encoding that is no instruction of this core.
    UndefinedInstruction,
    /// A floating-point instruction while the FPU is absent or off.
    NoCoprocessor,
    /// A branch to an even address: Arm state, which these cores lack.
    InvalidState,
    /// Code was fetched from where there is no memory.
    InstructionAccess,
    /// Code that the MPU or the memory map forbids to execute.
    InstructionProtection,
    /// Nothing answers a load or store.
    DataAccess,
    /// The MPU forbids a load or store.
    DataProtection,
    /// A load or store at an address that is not aligned as it must be.
    Unaligned,
    /// A control and status register that a RISC-V core lacks, or that the privilege, or its being
    /// read-only, forbids.
    ControlRegister,
    /// A division by zero, with the trap for it enabled.
    DivideByZero,
    /// A stack pointer was to go below its limit (MSPLIM or PSPLIM of ARMv8-M).
    StackLimit,
    /// A branch to Non-secure state, which a core that stays Secure has no code for.
    NonSecure,
    /// Floating-point state was to be left behind while some other still was (VLSTM,
    /// or an exception).
    LazyState,
    /// Registers could not be saved on or restored from the stack: there is no memory.
    Stack(Transfer),
    /// Registers could not be saved on or restored from the stack: the MPU forbids it.
    StackProtection(Transfer),
    /// An exception's vector could not be read.
    Vector,
    /// An exception return that does not fit the state.
    InvalidReturn,
    /// SVC where its exception cannot be taken.
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
            Self::InvalidState => "branch to an even address (Arm state, which Cortex-M lacks)",
            Self::InstructionAccess => "instruction fetch where there is no memory",
            Self::InstructionProtection => {
                "instruction fetch that the MPU or the memory map forbids (execute never)"
            }
            Self::DataAccess => "load or store where nothing answers",
            Self::DataProtection => "load or store that the MPU forbids",
            Self::Unaligned => "unaligned load or store",
            Self::ControlRegister => {
                "access to a control and status register that the core lacks or does not allow here"
            }
            Self::DivideByZero => "division by zero",
            Self::StackLimit => "stack pointer below its limit (MSPLIM or PSPLIM)",
            Self::NonSecure => "branch to Non-secure state, where there is nothing",
            Self::LazyState => "floating-point state left behind twice",
            Self::Stack(_) | Self::StackProtection(_) => "stack access failed",
            Self::Vector => "exception vector where there is no memory",
            Self::InvalidReturn => "invalid exception return",
            Self::SupervisorCall => "SVC where its exception cannot be taken",
            Self::Breakpoint => "breakpoint instruction without a debugger",
            Self::Unmodelled => "access to a register without a model",
        }
    }
}

/// A fault with the place and state in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// What it was.
    pub kind: FaultKind,
    /// The instruction that caused it.
    pub pc: u32,
    /// The link register then.
    pub lr: u32,
    /// The stack pointer then.
    pub sp: u32,
    /// The address that was accessed, if the fault is about one.
    pub address: Option<u32>,
    /// The exception whose handler was running; 0 in thread mode.
    pub handler: u16,
    /// The mode then, on cores with other modes than those of a Cortex-M.
    pub mode: Option<&'static str>,
    /// When it happened.
    pub cycle: Cycles,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at pc {:#010x}", self.kind, self.pc)?;
        if let Some(address) = self.address {
            write!(f, ", address {address:#010x}")?;
        }
        write!(f, " (lr {:#010x}, sp {:#010x}, ", self.lr, self.sp)?;
        match (self.handler, self.mode) {
            (0, None) => write!(f, "thread mode")?,
            (0, Some(mode)) => write!(f, "{mode} mode")?,
            (exception, None) => write!(f, "handling exception {exception}")?,
            (exception, Some(mode)) => write!(f, "{mode} mode, handling exception {exception}")?,
        }
        write!(f, ", cycle {})", self.cycle.0)
    }
}

/// A mistake of the simulator, by which no figure of the run can be trusted: the pipeline's
/// model never lets an instruction go on, or something was found that no core does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalError {
    /// The instruction at which it was seen: the next one, or one that the program may come to
    /// soon, as pieces of code are worked out in advance.
    pub pc: u32,
    /// Its disassembly, where there is an instruction.
    pub instruction: Option<String>,
    /// When it was seen.
    pub cycle: Cycles,
    /// What is wrong, and how the pipeline stood.
    pub state: String,
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the simulation is wrong at pc {:#010x}", self.pc)?;
        if let Some(instruction) = &self.instruction {
            write!(f, " `{instruction}`")?;
        }
        write!(f, ", as seen in cycle {}: {}", self.cycle.0, self.state)
    }
}

impl std::error::Error for InternalError {}

/// Why [`Machine::run`](crate::Machine::run) came back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The cycle count that it was to run to is reached.
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
    /// A call about a file: [`Machine::serve`](crate::Machine::serve) performs it, and the
    /// next run goes on behind it. Only where [`FileCalls::Served`](crate::FileCalls::Served)
    /// was asked for.
    HostCall,
    /// The [`Observer`](crate::Observer) asked for it.
    Observer,
    /// The program has printed a text at which it was to stop, by the number that
    /// [`Machine::stop_at_output`](crate::Machine::stop_at_output) has given to it.
    Output(usize),
    /// The code goes on for which [`Machine::stop_at_resumption`](crate::Machine::stop_at_resumption)
    /// has asked.
    Resumed,
    /// The program asked for a system reset; [`Machine::reset`](crate::Machine::reset)
    /// performs it.
    ResetRequested,
    /// The simulator is wrong, so that no figure of this run counts. Every further run ends
    /// with it, too, until a reset.
    Internal(Box<InternalError>),
}

/// What happens when a fault would enter HardFault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPolicy {
    /// The run stops before the handler, with the faulting state in view.
    #[default]
    Stop,
    /// The program's own HardFault handler runs, as on the chip.
    Deliver,
}
