//! Results that steps pass to each other in a register of the host, so that a chain of instructions does
//! not wait for the host's memory.

/// Which operand of a step is the last result, as a constant parameter.
pub type LastOperand = u8;
pub const NEITHER: LastOperand = 0;
/// The first operand, or the base register of an address.
pub const FIRST: LastOperand = 1;
/// The second operand, or the register that is stored.
pub const SECOND: LastOperand = 2;

/// Returns the operand of a step that is the last result, given the register that holds that and those
/// that the step reads.
pub fn last_operand(last: Option<u8>, [first, second]: [Option<u8>; 2]) -> LastOperand {
    match last {
        None => NEITHER,
        last if last == first => FIRST,
        last if last == second => SECOND,
        Some(_) => NEITHER,
    }
}

/// Selects an instance of a generic function by the operand that is the last result: one of those named,
/// or neither.
macro_rules! by_last {
    ($last:expr, $at:ident => $of:expr) => {
        by_last!($last, $at => $of, FIRST SECOND)
    };
    ($last:expr, $at:ident => $of:expr, $($name:ident)*) => {
        match $last {
            $($crate::superblock::$name => {
                const $at: $crate::superblock::LastOperand = $crate::superblock::$name;
                $of
            })*
            _ => {
                const $at: $crate::superblock::LastOperand = $crate::superblock::NEITHER;
                $of
            }
        }
    };
}
pub(crate) use by_last;
