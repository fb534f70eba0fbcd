//! Semihosting: how firmware prints and exits without a peripheral.
//!
//! The call is a breakpoint between two no-ops (RISC-V Semihosting, 1.0); the operations are those
//! of Arm's specification (version 3). Files are not supported.

use super::core::Core;
use super::system::System;
use crate::host::{Call, Reply};
use crate::state::CallState;
use crate::state::FileCalls;

/// The registers of the operation and result, and of the parameter.
pub const RESULT: u8 = 10;
const PARAMETER: u8 = 11;

/// `slli zero, zero, 31` before the breakpoint, and `srai zero, zero, 7` after it.
pub const BEFORE: u32 = 0x01F0_1013;
pub const BEHIND: u32 = 0x4070_5013;

/// Serves the call that `a0` and `a1` describe.
pub fn serve(core: &mut Core, kept: &mut CallState) -> Reply {
    let (operation, parameter) = (core.hart.get(RESULT), core.hart.get(PARAMETER));
    let System { bus, console, devices, .. } = &mut core.system;
    let mut call = Call {
        operation,
        parameter,
        bus,
        console,
        cycle: core.cycle,
        clocks: devices.clock_history(),
        kept,
        files: FileCalls::default(),
        overwritten: Vec::new(),
    };
    call.perform()
}
