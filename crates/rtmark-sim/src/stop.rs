//! Why a run comes back: an orderly end, a fault, a sleep without end.

use std::fmt;

use rtmark_units::Cycles;

/// How a program ended: the status it gave by semihosting, 0 for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u32);

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
    /// Nothing answers a load or store.
    DataAccess,
    /// A load or store at an address that is not aligned as it must be.
    Unaligned,
    /// A division by zero, with the trap for it enabled.
    DivideByZero,
    /// Registers could not be saved on or restored from the stack.
    Stack,
    /// An exception return that does not fit the state.
    InvalidReturn,
    /// SVC where its exception cannot be taken.
    SupervisorCall,
    /// A breakpoint instruction without a debugger.
    Breakpoint,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UndefinedInstruction => "undefined instruction",
            Self::NoCoprocessor => "floating-point instruction while the FPU is absent or disabled",
            Self::InvalidState => "branch to an even address (Arm state, which Cortex-M lacks)",
            Self::InstructionAccess => "instruction fetch where there is no memory",
            Self::DataAccess => "load or store where nothing answers",
            Self::Unaligned => "unaligned load or store",
            Self::DivideByZero => "division by zero",
            Self::Stack => "stack access failed during exception entry or return",
            Self::InvalidReturn => "invalid exception return",
            Self::SupervisorCall => "SVC where its exception cannot be taken",
            Self::Breakpoint => "breakpoint instruction without a debugger",
        })
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
        match self.handler {
            0 => write!(f, "thread mode")?,
            exception => write!(f, "handling exception {exception}")?,
        }
        write!(f, ", cycle {})", self.cycle.0)
    }
}

/// Why [`Machine::run`] came back.
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
    /// The [`Observer`](crate::Observer) asked for it.
    Observer,
    /// The program asked for a system reset; [`Machine::reset`] performs it.
    ResetRequested,
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
