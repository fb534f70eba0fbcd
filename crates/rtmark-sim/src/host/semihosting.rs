//! Semihosting: how firmware prints and ends without a peripheral.
//!
//! Implements the operations of Arm's semihosting specification (version 3) that need no host: console
//! output, the exit status, and harmless results for the rest. Time is the machine's own. Files are not
//! accessible unless the user of the library provides some with a [`Host`], on a Cortex-M: a run then ends
//! with [`Stop::HostCall`] at each operation on a file, and [`Machine::serve`](crate::Machine::serve)
//! performs it.
//!
//! [`Stop::HostCall`]: crate::Stop::HostCall

use core::time::Duration;

use rtmark_units::Cycles;

use crate::devices::{ClockHistory, Console};
use crate::memory::Bus;
use crate::state::stop::ExitStatus;
use crate::state::{CallState, FileCalls, State};

const FAILURE: u32 = u32::MAX;
/// SYS_EXIT's reason for an orderly end.
const APPLICATION_EXIT: u32 = 0x20026;
/// The handle of the only open file: the console.
const CONSOLE_HANDLE: u32 = 1;
/// The special file that lists extensions (2.4 of the specification): SYS_EXIT_EXTENDED, without which a C
/// library cannot report what `main` has returned, and an error output.
const FEATURES: &[u8; 5] = b"SHFB\x03";
const FEATURES_NAME: &[u8] = b":semihosting-features";
const FEATURES_HANDLE: u32 = 2;
/// The handle of the host's file 0; programs take lower handles for the console.
const FIRST_FILE: u32 = 3;
/// The maximum that one call prints, so that a hostile length cannot exhaust the host's memory.
const MAX_PER_CALL: u32 = 64 * 1024;

/// The files of a program, provided by the caller that runs it. Names are as the program gives them; files
/// are identified by numbers of the host's choice. Operations that fail return `None` or `false`, which is
/// reported to the program.
pub trait Host {
    /// Opens a file, as C's `fopen` does with the mode of this number: 0 `r`, 1 `rb`, 2 `r+`, 3 `r+b`, 4
    /// `w`, 5 `wb`, 6 `w+`, 7 `w+b`, 8 `a`, 9 `ab`, 10 `a+`, 11 `a+b`.
    fn open(&mut self, name: &[u8], mode: u32) -> Option<u32>;
    /// Closes a file.
    fn close(&mut self, file: u32) -> bool;
    /// Reads from a file; returns the number of bytes read.
    fn read(&mut self, file: u32, into: &mut [u8]) -> Option<usize>;
    /// Writes to a file; returns the number of bytes written.
    fn write(&mut self, file: u32, bytes: &[u8]) -> Option<usize>;
    /// Sets the position to this many bytes from the beginning.
    fn seek(&mut self, file: u32, position: u32) -> bool;
    /// Returns the length of a file in bytes.
    fn length(&mut self, file: u32) -> Option<u32>;
    /// Removes a file.
    fn remove(&mut self, name: &[u8]) -> bool;
    /// Renames a file.
    fn rename(&mut self, from: &[u8], to: &[u8]) -> bool;
    /// Returns a name for a temporary file, always the same for the same number from 0 to 255.
    fn temporary_name(&mut self, number: u8) -> Option<Vec<u8>>;
}

/// The result of a call.
pub enum Reply {
    /// The value for R0; the program continues.
    Value(u32),
    /// The program has ended.
    Exit(ExitStatus),
    /// A host must perform it.
    Host,
}

/// A call, and what it can access.
pub struct Call<'a> {
    pub operation: u32,
    pub parameter: u32,
    pub bus: &'a mut Bus,
    pub console: &'a mut Console,
    pub cycle: u64,
    pub clocks: &'a ClockHistory,
    pub kept: &'a mut CallState,
    pub files: FileCalls,
    /// Where the call has overwritten code, at least.
    pub overwritten: Vec<u32>,
}

impl State {
    /// Performs the call that R0 and R1 describe.
    pub(crate) fn semihosting(&mut self) -> Reply {
        let mut call = self.call();
        let reply = call.perform();
        let overwritten = call.overwritten;
        self.forget_code_at(&overwritten);
        reply
    }

    /// Performs the call for which a run ended with [`Stop::HostCall`](crate::Stop::HostCall), and leaves
    /// its result in R0.
    pub fn serve(&mut self, host: &mut impl Host) {
        let mut call = self.call();
        let result = call.perform_by(host);
        let overwritten = call.overwritten;
        self.forget_code_at(&overwritten);
        self.cpu.r[0] = result.unwrap_or(FAILURE);
    }

    fn call(&mut self) -> Call<'_> {
        Call {
            operation: self.cpu.r[0],
            parameter: self.cpu.r[1],
            bus: &mut self.bus,
            console: &mut self.console,
            cycle: self.cycles,
            clocks: self.devices.clock_history(),
            kept: &mut self.calls,
            files: self.file_calls,
            overwritten: Vec::new(),
        }
    }

    fn forget_code_at(&mut self, addresses: &[u32]) {
        for &address in addresses {
            self.forget_overwritten_code(address);
        }
    }
}

impl Call<'_> {
    /// Returns a word of the block that the parameter points to.
    fn argument(&self, at: u32) -> Option<u32> {
        self.peek_word(self.parameter.wrapping_add(at * 4))
    }

    /// Performs the call.
    pub fn perform(&mut self) -> Reply {
        let (operation, parameter) = (self.operation, self.parameter);
        if self.is_about_files() {
            if self.files == FileCalls::Served {
                return Reply::Host;
            }
            let unwritten = (operation == 0x05).then(|| self.argument(2)).flatten();
            return Reply::Value(unwritten.unwrap_or(FAILURE));
        }
        let value = match operation {
            // SYS_OPEN: only the console's special name.
            0x01 => match self.argument(0).map(|name| self.peek_string(name)) {
                Some(name) if name == b":tt" => CONSOLE_HANDLE,
                Some(name) if name == FEATURES_NAME => {
                    self.kept.features_offset = 0;
                    FEATURES_HANDLE
                }
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
            // SYS_WRITE: returns how many bytes were not written.
            0x05 => match (self.argument(1), self.argument(2)) {
                (Some(from), Some(length)) => {
                    let mut bytes = vec![0; length.min(MAX_PER_CALL) as usize];
                    let there = self.bus.peek(from, &mut bytes);
                    self.console.extend(&bytes[..there]);
                    length - there as u32
                }
                _ => FAILURE,
            },
            // SYS_READ, SYS_SEEK, SYS_FLEN
            0x06 if self.argument(0) == Some(FEATURES_HANDLE) => {
                let rest = FEATURES.get(self.kept.features_offset as usize..).unwrap_or_default();
                let (to, length) = (self.argument(1), self.argument(2).unwrap_or(0));
                let mut read = 0;
                for (at, byte) in (0..length).zip(rest) {
                    let Some(to) = to.map(|to| to.wrapping_add(at)) else { break };
                    if self.store_for_call(to, [*byte]).is_none() {
                        break;
                    }
                    read += 1;
                }
                self.kept.features_offset += read;
                length - read
            }
            0x0A if self.argument(0) == Some(FEATURES_HANDLE) => {
                self.kept.features_offset =
                    self.argument(1).unwrap_or(0).min(FEATURES.len() as u32);
                0
            }
            0x0C if self.argument(0) == Some(FEATURES_HANDLE) => FEATURES.len() as u32,
            // SYS_READ: the console never has input.
            0x06 => self.argument(2).unwrap_or(FAILURE),
            // SYS_ISTTY
            0x09 => 1,
            // SYS_CLOCK: hundredths of a second.
            0x10 => (self.elapsed().as_millis() / 10) as u32,
            // SYS_TIME: seconds, counted from the reset.
            0x11 => self.elapsed().as_secs() as u32,
            // SYS_HEAPINFO: the heap's base and limit, and the stack's.
            0x16 => {
                let (from, to) = self.kept.heap;
                let block = self.argument(0).unwrap_or(0);
                self.store_words(block, [from, to, to, from])
            }
            // SYS_EXIT
            0x18 => {
                return Reply::Exit(ExitStatus(u32::from(parameter != APPLICATION_EXIT)));
            }
            // SYS_EXIT_EXTENDED: reason and status.
            0x20 => {
                let status = match (self.argument(0), self.argument(1)) {
                    (Some(APPLICATION_EXIT), Some(status)) => status,
                    _ => 1,
                };
                return Reply::Exit(ExitStatus(status));
            }
            // SYS_ELAPSED: core cycles as a double word.
            0x30 => {
                let words = [self.cycle as u32, (self.cycle >> 32) as u32];
                self.store_words(parameter, words)
            }
            // SYS_TICKFREQ
            0x31 => self.clocks.clock().0,
            _ => FAILURE,
        };
        Reply::Value(value)
    }

    /// Returns the time since reset.
    fn elapsed(&self) -> Duration {
        self.clocks.elapsed_at(Cycles(self.cycle))
    }

    /// Returns whether the call concerns a file rather than the console.
    fn is_about_files(&self) -> bool {
        match self.operation {
            0x01 => {
                let name = self.argument(0).map(|name| self.peek_string(name));
                !name.is_some_and(|name| name == b":tt" || name == FEATURES_NAME)
            }
            0x02 | 0x05 | 0x06 | 0x09 | 0x0A | 0x0C => {
                self.argument(0).is_some_and(|handle| handle >= FIRST_FILE)
            }
            0x0D..=0x0F => true,
            _ => false,
        }
    }

    /// Performs a call that concerns a file, and returns its result, or `None` if it fails.
    fn perform_by(&mut self, host: &mut impl Host) -> Option<u32> {
        let first = self.argument(0)?;
        let file = first.wrapping_sub(FIRST_FILE);
        let done = |done: bool| done.then_some(0);
        match self.operation {
            0x01 => {
                let opened = host.open(&self.peek_string(first), self.argument(1)?)?;
                opened.checked_add(FIRST_FILE)
            }
            0x02 => done(host.close(file)),
            // SYS_WRITE and SYS_READ return how many bytes are left.
            0x05 => {
                let (from, length) = (self.argument(1)?, self.argument(2)?);
                let mut bytes = vec![0; length.min(MAX_PER_CALL) as usize];
                let there = self.bus.peek(from, &mut bytes);
                let taken = host.write(file, &bytes[..there]).unwrap_or(0).min(there);
                Some(length - taken as u32)
            }
            0x06 => {
                let (to, length) = (self.argument(1)?, self.argument(2)?);
                let mut bytes = vec![0; length.min(MAX_PER_CALL) as usize];
                let read = host.read(file, &mut bytes)?.min(bytes.len());
                for (address, byte) in (0..).map(|at| to.wrapping_add(at)).zip(&bytes[..read]) {
                    self.store_for_call(address, [*byte])?;
                }
                Some(length - read as u32)
            }
            // SYS_ISTTY
            0x09 => Some(0),
            0x0A => done(host.seek(file, self.argument(1)?)),
            0x0C => host.length(file),
            // SYS_TMPNAM: buffer, number, size of the buffer.
            0x0D => {
                let mut name = host.temporary_name(self.argument(1)? as u8)?;
                name.push(0);
                if name.len() > self.argument(2)? as usize {
                    return None;
                }
                for (address, byte) in (0..).map(|at| first.wrapping_add(at)).zip(name) {
                    self.store_for_call(address, [byte])?;
                }
                Some(0)
            }
            0x0E => done(host.remove(&self.peek_string(first))),
            0x0F => {
                let to = self.peek_string(self.argument(2)?);
                done(host.rename(&self.peek_string(first), &to))
            }
            _ => None,
        }
    }

    /// Stores words that a call returns, and returns its result.
    fn store_words<const N: usize>(&mut self, address: u32, words: [u32; N]) -> u32 {
        let mut places = (0..).map(|at| address.wrapping_add(4 * at)).zip(words);
        let stored = places.try_for_each(|(to, word)| self.store_for_call(to, word.to_le_bytes()));
        if stored.is_some() { 0 } else { FAILURE }
    }

    /// Stores what a call returns, up to a word of it; `None` if there is no memory for it.
    fn store_for_call<const N: usize>(&mut self, address: u32, bytes: [u8; N]) -> Option<()> {
        self.bus.store(address, bytes)?;
        if self.bus.code_writes.dirty {
            self.overwritten.push(address);
        }
        Some(())
    }

    fn peek_word(&self, address: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.bus.peek(address, &mut bytes) == 4).then(|| u32::from_le_bytes(bytes))
    }

    fn peek_string(&self, address: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while (bytes.len() as u32) < MAX_PER_CALL {
            let at = address.wrapping_add(bytes.len() as u32);
            if self.bus.peek(at, &mut byte) == 0 || byte[0] == 0 {
                break;
            }
            bytes.push(byte[0]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Soc};

    #[test]
    fn semihosting_reports_support_for_extended_exit() {
        let text = include_str!("../../../../socs/stm32f405.toml");
        let mut machine = Machine::new(&Soc::from_toml(text).expect("good"));
        let (block, name, buffer) = (0x2000_0000, 0x2000_0100, 0x2000_0200);
        machine.poke(name, b":semihosting-features\0").expect("RAM");
        let mut call = |operation, words: [u32; 3]| {
            machine.poke(block, &words.map(u32::to_le_bytes).concat()).expect("RAM");
            (machine.cortex_m_state().cpu.r[0], machine.cortex_m_state().cpu.r[1]) =
                (operation, block);
            let Reply::Value(value) = machine.cortex_m_state().semihosting() else {
                panic!("a value")
            };
            (value, machine.peek(buffer, 4))
        };
        // As newlib does it: open, length, the magic bytes, then the byte after them.
        let (file, _) = call(0x01, [name, 0, 21]);
        assert_eq!(call(0x0C, [file, 0, 0]).0, 5);
        assert_eq!(call(0x06, [file, buffer, 4]), (0, b"SHFB".to_vec()));
        assert_eq!(call(0x0A, [file, 4, 0]).0, 0);
        let (left, read) = call(0x06, [file, buffer, 1]);
        assert_eq!((left, read[0]), (0, 3));
        assert_eq!(call(0x06, [file, buffer, 1]).0, 1, "the end");
        assert_eq!(call(0x02, [file, 0, 0]).0, 0);
    }
}
