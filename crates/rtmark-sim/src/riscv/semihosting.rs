//! Semihosting: how firmware prints and ends without a peripheral.
//!
//! The call is a breakpoint between two instructions that do nothing (RISC-V Semihosting, 1.0);
//! what it asks for is as Arm's specification (version 3) has it. Files are not within reach.

use rtmark_units::Hertz;

use super::core::Core;
use crate::state::stop::ExitStatus;

/// The registers of the operation, which is also the result's, and of the parameter.
pub const RESULT: u8 = 10;
const PARAMETER: u8 = 11;

/// `slli zero, zero, 31` before, and `srai zero, zero, 7` behind.
pub const BEFORE: u32 = 0x01F0_1013;
pub const BEHIND: u32 = 0x4070_5013;

const FAILURE: u32 = u32::MAX;
const APPLICATION_EXIT: u32 = 0x20026;
const CONSOLE_HANDLE: u32 = 1;
/// The most that one call prints, so that a hostile length cannot exhaust the host.
const MOST_PER_CALL: usize = 64 * 1024;

/// What a call leads to.
pub enum Reply {
    /// The value for `a0`; the program goes on.
    Value(u32),
    /// The program has ended.
    Exit(ExitStatus),
}

fn word(core: &Core, address: u32) -> Option<u32> {
    let mut bytes = [0; 4];
    (core.system.bus.peek(address, &mut bytes) == 4).then_some(u32::from_le_bytes(bytes))
}

/// The bytes from an address up to a zero.
fn text(core: &Core, address: u32) -> Vec<u8> {
    let length = core.system.bus.peek_len(address).min(MOST_PER_CALL);
    let mut bytes = vec![0; length];
    core.system.bus.peek(address, &mut bytes);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
    bytes.truncate(end);
    bytes
}

/// Serves the call that `a0` and `a1` describe.
pub fn serve(core: &mut Core, clock: Hertz) -> Reply {
    let (operation, parameter) = (core.hart.get(RESULT), core.hart.get(PARAMETER));
    let argument = |core: &Core, at: u32| word(core, parameter.wrapping_add(at * 4));
    let per_second = u64::from(clock.0).max(1);
    let value = match operation {
        // SYS_OPEN: only the console's special name.
        0x01 if argument(core, 0).is_some_and(|name| text(core, name) == b":tt") => CONSOLE_HANDLE,
        // SYS_CLOSE, SYS_ISERROR
        0x02 | 0x08 => 0,
        // SYS_WRITEC
        0x03 => {
            let mut byte = [0];
            core.system.bus.peek(parameter, &mut byte);
            core.system.console.push(byte[0]);
            0
        }
        // SYS_WRITE0
        0x04 => {
            let text = text(core, parameter);
            core.system.console.extend(text);
            0
        }
        // SYS_WRITE: answers how many bytes were not written.
        0x05 => match (argument(core, 1), argument(core, 2)) {
            (Some(from), Some(length)) => {
                let mut bytes = vec![0; (length as usize).min(MOST_PER_CALL)];
                let there = core.system.bus.peek(from, &mut bytes);
                core.system.console.extend(&bytes[..there]);
                length - there as u32
            }
            _ => FAILURE,
        },
        // SYS_READ: the console never has input.
        0x06 => argument(core, 2).unwrap_or(FAILURE),
        // SYS_ISTTY
        0x09 => 1,
        // SYS_CLOCK: hundredths of a second.
        0x10 => (core.cycle / (per_second / 100).max(1)) as u32,
        // SYS_TIME: seconds, counted from the reset.
        0x11 => (core.cycle / per_second) as u32,
        // SYS_EXIT
        0x18 => return Reply::Exit(ExitStatus(u32::from(parameter != APPLICATION_EXIT))),
        // SYS_EXIT_EXTENDED: reason and status.
        0x20 => {
            return Reply::Exit(ExitStatus(match (argument(core, 0), argument(core, 1)) {
                (Some(APPLICATION_EXIT), Some(status)) => status,
                _ => 1,
            }));
        }
        // SYS_ELAPSED: core cycles as a double word.
        0x30 => {
            let cycles = core.cycle.to_le_bytes();
            if core.system.bus.store(parameter, cycles).is_some() { 0 } else { FAILURE }
        }
        // SYS_TICKFREQ
        0x31 => clock.0,
        _ => FAILURE,
    };
    Reply::Value(value)
}
