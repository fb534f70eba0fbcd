//! Why an instruction did not simply complete.

/// Why an instruction did not simply complete. Small enough for a register, because every load and store
/// may return it; an address is passed in `Machine::trap_value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Trap {
    /// There is no such instruction, or it is not allowed in this state.
    Undefined,
    /// The FPU is absent or disabled.
    NoCoprocessor,
    /// Another coprocessor is absent or disabled.
    AbsentCoprocessor,
    /// The instruction of a coprocessor has no model.
    UnmodelledCoprocessor,
    /// A branch to an address with bit 0 clear; there is no Arm state.
    InvalidState,
    /// Nothing responds to the access at `Machine::trap_value`.
    NoResponse,
    /// Nothing responds to a store past which the core has already continued.
    LostStore,
    /// The access at `Machine::trap_value` is not allowed.
    Forbidden,
    /// Nothing responds, or the access is not allowed, when floating-point registers deferred by exception
    /// entry are saved.
    LazyNoResponse,
    LazyForbidden,
    /// An exception return that is inconsistent with its frame.
    InvalidReturn,
    /// The register at `Machine::trap_value` has no model, and such accesses are refused.
    Unmodelled,
    /// The access at `Machine::trap_value` is not aligned as required.
    Unaligned,
    /// A division by zero with CCR.DIV_0_TRP set.
    DivideByZero,
    /// The stack pointer would go below its limit.
    StackLimit,
    /// A branch to Non-secure state, which does not exist here.
    NonSecure,
    /// Floating-point state is to be preserved lazily while other state is still waiting for that.
    LazyState,
    /// EXC_RETURN, which is in `Machine::trap_value`, was loaded into the program counter.
    ExceptionReturn,
    SupervisorCall,
    Breakpoint,
    WaitForInterrupt,
    WaitForEvent,
    /// The address is watched; the real instruction follows.
    Watched,
}

impl Trap {
    /// Returns whether the instruction has not executed: the fault is its own, rather than a consequence of
    /// its completion.
    pub const fn undoes_instruction(self) -> bool {
        match self {
            Self::Undefined
            | Self::NoCoprocessor
            | Self::AbsentCoprocessor
            | Self::UnmodelledCoprocessor
            | Self::NoResponse
            | Self::Forbidden
            | Self::LazyNoResponse
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
