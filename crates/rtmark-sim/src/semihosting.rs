//! Semihosting: how firmware prints and ends without a peripheral.
//!
//! The operations of Arm's semihosting specification (version 3) that need no
//! host: console output, the exit status, and harmless answers to the rest.
//! Neither files nor the host's clock are within reach; time is the machine's own.

use crate::machine::Machine;
use crate::stop::ExitStatus;

const FAILURE: u32 = u32::MAX;
/// SYS_EXIT's reason for an orderly end.
const APPLICATION_EXIT: u32 = 0x20026;
/// The one open file: the console.
const CONSOLE_HANDLE: u32 = 1;
/// The most that one call prints, so that a hostile length cannot exhaust the host.
const MOST_PER_CALL: u32 = 64 * 1024;

/// What a call leads to.
pub enum Reply {
    /// The value for R0; the program goes on.
    Value(u32),
    /// The program has ended.
    Exit(ExitStatus),
}

impl Machine {
    /// Serves the call that R0 and R1 describe.
    pub(crate) fn semihosting(&mut self) -> Reply {
        let (operation, parameter) = (self.cpu.r[0], self.cpu.r[1]);
        let argument = |machine: &Self, at: u32| machine.peek_word(parameter.wrapping_add(at * 4));
        let value = match operation {
            // SYS_OPEN: only the console's special name.
            0x01 => match argument(self, 0).map(|name| self.peek_string(name)) {
                Some(name) if name == b":tt" => CONSOLE_HANDLE,
                _ => FAILURE,
            },
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
                let text = self.peek_string(parameter);
                self.console.extend(text);
                0
            }
            // SYS_WRITE: answers how many bytes were not written.
            0x05 => match (argument(self, 1), argument(self, 2)) {
                (Some(from), Some(length)) => {
                    let mut bytes = vec![0; length.min(MOST_PER_CALL) as usize];
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
            0x10 => (self.cycles / (u64::from(self.clock.0) / 100).max(1)) as u32,
            // SYS_EXIT
            0x18 => {
                return Reply::Exit(ExitStatus(u32::from(parameter != APPLICATION_EXIT)));
            }
            // SYS_EXIT_EXTENDED: reason and status.
            0x20 => {
                let status = match (argument(self, 0), argument(self, 1)) {
                    (Some(APPLICATION_EXIT), Some(status)) => status,
                    _ => 1,
                };
                return Reply::Exit(ExitStatus(status));
            }
            // SYS_ELAPSED: core cycles as a double word.
            0x30 => {
                let cycles = self.cycles.to_le_bytes();
                if self.bus.store(parameter, cycles).is_some() { 0 } else { FAILURE }
            }
            // SYS_TICKFREQ
            0x31 => self.clock.0,
            _ => FAILURE,
        };
        Reply::Value(value)
    }

    fn peek_word(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) == 4).then(|| u32::from_le_bytes(bytes))
    }

    fn peek_string(&self, address: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while (bytes.len() as u32) < MOST_PER_CALL {
            let at = address.wrapping_add(bytes.len() as u32);
            if self.bus.peek(at, &mut byte) == 0 || byte[0] == 0 {
                break;
            }
            bytes.push(byte[0]);
        }
        bytes
    }
}
