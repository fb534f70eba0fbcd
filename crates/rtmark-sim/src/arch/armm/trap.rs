//! Why an instruction did not simply complete.

/// Why an instruction did not simply end. Small enough for a register, since every
/// load and store may answer with it; an address goes to `Machine::trap_value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// No such instruction, or not in this state.
    Undefined,
    /// A coprocessor or the FPU is not there or not enabled.
    NoCoprocessor,
    /// A branch to an address with bit 0 clear: there is no Arm state.
    InvalidState,
    /// Nothing answers the access at `Machine::trap_value`.
    NoAnswer,
    /// Nothing answers a store that the core has let go of by then.
    LostStore,
    /// The access at `Machine::trap_value` is not allowed.
    Forbidden,
    /// Nothing answers, or it is not allowed, when floating-point registers left by exception
    /// entry are saved.
    LazyNoAnswer,
    LazyForbidden,
    /// An exception return that does not fit its frame.
    InvalidReturn,
    /// The register at `Machine::trap_value` has no model, and none may be used.
    Unmodelled,
    /// The access at `Machine::trap_value` is not aligned as it must be.
    Unaligned,
    /// A division by zero with CCR.DIV_0_TRP set.
    DivideByZero,
    /// The stack pointer would go below its limit.
    StackLimit,
    /// A branch to Non-secure state, of which there is none.
    NonSecure,
    /// The floating-point state is to be left behind while some other still is.
    LazyState,
    /// Loading the program counter with EXC_RETURN, which is `Machine::trap_value`.
    ExceptionReturn,
    SupervisorCall,
    Breakpoint,
    WaitForInterrupt,
    WaitForEvent,
    /// The address is watched; the real instruction follows.
    Watched,
}

impl Trap {
    /// Whether the instruction has not executed: a fault of its own, not of what it
    /// leads to.
    pub const fn undoes_instruction(self) -> bool {
        match self {
            Self::Undefined
            | Self::NoCoprocessor
            | Self::NoAnswer
            | Self::Forbidden
            | Self::LazyNoAnswer
            | Self::LazyForbidden
            | Self::Unmodelled
            | Self::Unaligned
            | Self::DivideByZero
            | Self::StackLimit
            | Self::NonSecure
            | Self::LazyState
            | Self::Breakpoint => true,
            Self::InvalidState
            | Self::InvalidReturn
            | Self::LostStore
            | Self::ExceptionReturn
            | Self::SupervisorCall
            | Self::WaitForInterrupt
            | Self::WaitForEvent
            | Self::Watched => false,
        }
    }
}

/// The result of a part of an instruction that never jumps.
pub type Done = Result<(), Trap>;
