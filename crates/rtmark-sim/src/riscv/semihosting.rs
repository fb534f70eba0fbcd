//! Semihosting: how firmware prints and ends without a peripheral.
//!
//! The call is a breakpoint between two instructions that do nothing (RISC-V Semihosting, 1.0);
//! what it asks for is as Arm's specification (version 3) has it. Files are not within reach.

use rtmark_units::Hertz;

use super::core::Core;
use crate::host::{Answer, Around};

/// The registers of the operation, which is also the result's, and of the parameter.
pub const RESULT: u8 = 10;
const PARAMETER: u8 = 11;

/// `slli zero, zero, 31` before, and `srai zero, zero, 7` behind.
pub const BEFORE: u32 = 0x01F0_1013;
pub const BEHIND: u32 = 0x4070_5013;

/// Serves the call that `a0` and `a1` describe.
pub fn serve(core: &mut Core, clock: Hertz) -> Answer {
    let (operation, parameter) = (core.hart.get(RESULT), core.hart.get(PARAMETER));
    let (bus, console) = (&mut core.system.bus, &mut core.system.console);
    Around { bus, console, cycle: core.cycle, clock }.serve(operation, parameter)
}
