//! Which encodings a core has, for tools that check the decoder against another one.

use super::{Features, Op, decode};
use crate::soc::CoreKind;

/// Returns whether an encoding is an instruction of the core. `second` is the second halfword of a 32-bit
/// instruction; it is ignored for 16-bit ones. The permanently undefined encodings (UDF) do not count as
/// instructions; UNPREDICTABLE ones that the simulator executes do.
///
/// ```
/// use rtmark_sim::{CoreKind, isa_check::is_defined};
///
/// let cbz = 0xB100;
/// assert!(is_defined(CoreKind::CortexM4F, cbz, 0));
/// assert!(!is_defined(CoreKind::CortexM0Plus, cbz, 0));
/// ```
pub fn is_defined(core: CoreKind, first: u16, second: u16) -> bool {
    let features = Features::of(core);
    let slot = decode(0, first, second, |isa| isa.is_part_of(features));
    !matches!(slot.op, Op::Undefined | Op::Udf)
}
