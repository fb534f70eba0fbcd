//! Semihosting calls for cores on which programs cannot access files: printing, ending, the time.
//!
//! The operations follow Arm's semihosting specification (version 3).

use rtmark_units::Cycles;

use crate::devices::{ClockHistory, Console};
use crate::memory::Bus;
use crate::state::stop::ExitStatus;

const FAILURE: u32 = u32::MAX;
const APPLICATION_EXIT: u32 = 0x20026;
const CONSOLE_HANDLE: u32 = 1;
/// The maximum that one call prints, so that a hostile length cannot exhaust the host's memory.
const MAX_PER_CALL: usize = 64 * 1024;

/// The result of a call.
pub enum CallResult {
    /// The value for the first register; the program continues.
    Value(u32),
    /// The program has ended.
    Exit(ExitStatus),
}

/// What a call can access.
pub struct CallEnvironment<'a> {
    pub bus: &'a mut Bus,
    pub console: &'a mut Console,
    pub cycle: u64,
    pub clocks: &'a ClockHistory,
}

impl CallEnvironment<'_> {
    fn word(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) == 4).then_some(u32::from_le_bytes(bytes))
    }

    /// Returns the bytes from an address up to a zero.
    fn text(&self, address: u32) -> Vec<u8> {
        let length = self.bus.peek_len(address).min(MAX_PER_CALL);
        let mut bytes = vec![0; length];
        self.bus.peek(address, &mut bytes);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
        bytes.truncate(end);
        bytes
    }

    /// Performs a call.
    pub fn serve(&mut self, operation: u32, parameter: u32) -> CallResult {
        let argument = |it: &Self, at: u32| it.word(parameter.wrapping_add(at * 4));
        let elapsed = || self.clocks.elapsed_at(Cycles(self.cycle));
        let value = match operation {
            // SYS_OPEN: only the console's special name.
            0x01 if argument(self, 0).is_some_and(|name| self.text(name) == b":tt") => {
                CONSOLE_HANDLE
            }
            // SYS_CLOSE, SYS_ISERROR
            0x02 | 0x08 => 0,
            // SYS_WRITEC
            0x03 => {
                let mut byte = [0];
                self.bus.peek(parameter, &mut byte);
                self.console.push(byte[0]);
                0
            }
            // SYS_WRITE0
            0x04 => {
                let text = self.text(parameter);
                self.console.extend(text);
                0
            }
            // SYS_WRITE: returns how many bytes were not written.
            0x05 => match (argument(self, 1), argument(self, 2)) {
                (Some(from), Some(length)) => {
                    let mut bytes = vec![0; (length as usize).min(MAX_PER_CALL)];
                    let there = self.bus.peek(from, &mut bytes);
                    self.console.extend(&bytes[..there]);
                    length - there as u32
                }
                _ => FAILURE,
            },
            // SYS_READ: the console never has input.
            0x06 => argument(self, 2).unwrap_or(FAILURE),
            // SYS_ISTTY
            0x09 => 1,
            // SYS_CLOCK: hundredths of a second.
            0x10 => (elapsed().as_millis() / 10) as u32,
            // SYS_TIME: seconds, counted from the reset.
            0x11 => elapsed().as_secs() as u32,
            // SYS_EXIT
            0x18 => return CallResult::Exit(ExitStatus(u32::from(parameter != APPLICATION_EXIT))),
            // SYS_EXIT_EXTENDED: reason and status.
            0x20 => {
                return CallResult::Exit(ExitStatus(
                    match (argument(self, 0), argument(self, 1)) {
                        (Some(APPLICATION_EXIT), Some(status)) => status,
                        _ => 1,
                    },
                ));
            }
            // SYS_ELAPSED: core cycles as a double word.
            0x30 => {
                let cycles = self.cycle.to_le_bytes();
                if self.bus.store(parameter, cycles).is_some() { 0 } else { FAILURE }
            }
            // SYS_TICKFREQ
            0x31 => self.clocks.clock().0,
            _ => FAILURE,
        };
        CallResult::Value(value)
    }
}
