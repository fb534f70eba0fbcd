//! SEGGER Real Time Transfer: firmware prints into a buffer in its own RAM, which a debugger empties.
//!
//! The control block (SEGGER UM08001, 16.4) begins with an identifier of 16 bytes, the numbers of up and
//! down buffers, and a descriptor of each: name, address, size, where the firmware writes next, where the
//! debugger reads next, flags. Up buffer 0 is the console, unless its name says that it carries the frames
//! of defmt, a logger whose texts remain in the ELF file; these frames are kept separately. The buffer is
//! emptied at fixed cycles, so that runs are equal however they are divided; reading the console in between
//! changes nothing that the firmware could see.
//!
//! The block is expected at the symbol `_SEGGER_RTT`, or searched for in RAM if the image has no symbols at
//! all. An image that has symbols but not this one costs nothing.

use crate::memory::Bus;
use crate::state::State;
use crate::state::rtt::Search;

/// Cycles between two looks at a known buffer.
const EMPTYING: u64 = 2_000;
const LONGEST_PAUSE: u64 = 1 << 26;
/// The name of the buffer of frames (used by defmt-rtt and rtt-target; probe-rs relies on it too).
const DEFMT: &[u8; 6] = b"defmt\0";
/// Offsets in the control block, for up buffer 0.
const NAME: u32 = 24;
const BUFFER: u32 = 28;
const SIZE: u32 = 32;
const WRITE_OFFSET: u32 = 36;
const READ_OFFSET: u32 = 40;

/// Up buffer 0.
struct UpBuffer {
    carries_frames: bool,
    buffer: u32,
    size: u32,
    write: u32,
    read: u32,
}

fn word(bus: &Bus, address: u32) -> Option<u32> {
    let mut bytes = [0; 4];
    (bus.peek(address, &mut bytes) == 4).then(|| u32::from_le_bytes(bytes))
}

/// Returns the up buffer that a control block describes, if the description makes sense.
fn up(bus: &Bus, block: u32) -> Option<UpBuffer> {
    let field = |offset: u32| word(bus, block.wrapping_add(offset));
    let mut name = [0; DEFMT.len()];
    let named = bus.peek(field(NAME)?, &mut name) == name.len();
    let up = UpBuffer {
        carries_frames: named && name == *DEFMT,
        buffer: field(BUFFER)?,
        size: field(SIZE)?,
        write: field(WRITE_OFFSET)?,
        read: field(READ_OFFSET)?,
    };
    let fits = up.write < up.size && up.read < up.size;
    (fits && bus.peek_len(up.buffer) >= up.size as usize).then_some(up)
}

impl State {
    /// Searches for the firmware's buffer, or empties it.
    #[inline(never)]
    pub(crate) fn serve_rtt(&mut self) {
        if self.rtt.block.is_none() {
            self.rtt.block = self.rtt.find(&self.bus);
        }
        if let Some(block) = self.rtt.block {
            self.show_rtt();
            let shown = self.rtt.shown;
            if self.rtt.given != shown {
                self.rtt.given = shown;
                self.bus.program(block.wrapping_add(READ_OFFSET), &shown.to_le_bytes());
            }
            self.rtt.next = self.cycles + EMPTYING;
        } else {
            self.rtt.next = self.cycles + self.rtt.pause;
            // Checking the symbol's address costs next to nothing; only a search of all RAM is repeated
            // less and less often.
            if self.rtt.search == Search::Anywhere {
                self.rtt.pause = (self.rtt.pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Takes the frames that the program has logged with defmt since the last call, still encoded. Decoding
    /// them needs sections of its ELF file.
    pub fn take_defmt(&mut self) -> Vec<u8> {
        self.show_rtt();
        std::mem::take(&mut self.rtt.frames)
    }

    /// Copies what the buffer holds to the console, unnoticed by the firmware.
    pub(crate) fn show_rtt(&mut self) {
        if self.rtt.search == Search::Nowhere {
            return;
        }
        let block = self.rtt.block.or_else(|| self.rtt.find(&self.bus));
        let Some((block, up)) = block.and_then(|block| Some((block, up(&self.bus, block)?))) else {
            return;
        };
        if self.rtt.block.is_none() || up.read != self.rtt.given || self.rtt.shown >= up.size {
            // The firmware has initialised the buffer, perhaps again.
            (self.rtt.given, self.rtt.shown) = (up.read, up.read);
        }
        self.rtt.block = Some(block);
        let shown = self.rtt.shown;
        let mut show = |from: u32, to: u32| {
            let mut bytes = vec![0; (to - from) as usize];
            let there = self.bus.peek(up.buffer.wrapping_add(from), &mut bytes);
            if up.carries_frames {
                self.rtt.frames.extend(&bytes[..there]);
            } else {
                self.console.extend(&bytes[..there]);
            }
        };
        if shown <= up.write {
            show(shown, up.write);
        } else {
            show(shown, up.size);
            show(0, up.write);
        }
        self.rtt.shown = up.write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::rtt::IDENTIFIER;
    use crate::{Cycles, Image, Machine, Soc, Stop};

    const BASE: u32 = 0x0800_0000;
    const BLOCK: u32 = 0x2000_0100;
    const TEXT: u32 = 0x2000_0200;

    /// A raw image, which has no symbols, with an endless loop.
    fn machine() -> Machine {
        let text = include_str!("../../../../socs/stm32f405.toml");
        let mut machine = Machine::new(&Soc::from_toml(text).expect("good"));
        let mut bytes = [0x2000_1000_u32, BASE | 9].map(u32::to_le_bytes).concat();
        bytes.extend([0xFE, 0xE7]);
        machine.load(&Image::from_raw(&bytes, BASE).expect("good")).expect("it fits");
        machine
    }

    fn put(machine: &mut Machine, write: u32, read: u32, text: &[u8]) {
        let words = [3, 3, 0, TEXT, 8, write, read, 0].map(u32::to_le_bytes).concat();
        machine.poke(BLOCK, &[&IDENTIFIER[..], &words].concat()).expect("RAM");
        machine.poke(TEXT, text).expect("RAM");
    }

    fn read_offset(machine: &Machine) -> u8 {
        machine.peek(BLOCK + READ_OFFSET, 1)[0]
    }

    #[test]
    fn rtt_buffers_are_found_and_drained() {
        let mut machine = machine();
        assert_eq!(machine.run(Cycles(30_000)), Stop::Limit);
        put(&mut machine, 5, 0, b"hello...");
        assert_eq!(machine.take_console(), b"hello", "before anything is due");
        assert_eq!(read_offset(&machine), 0, "the firmware sees no difference");
        assert_eq!(machine.run(Cycles(100_000)), Stop::Limit);
        assert_eq!((machine.take_console(), read_offset(&machine)), (vec![], 5));
        // Across the end of the buffer.
        machine.poke(TEXT, b" allho w").expect("RAM");
        machine.poke_word(BLOCK + WRITE_OFFSET, 2).expect("RAM");
        assert_eq!(machine.run(Cycles(110_000)), Stop::Limit);
        assert_eq!((machine.take_console(), read_offset(&machine)), (b"o w a".to_vec(), 2));
    }

    #[test]
    fn defmt_frames_are_separate_from_text() {
        let mut machine = machine();
        machine.poke(TEXT + 8, DEFMT).expect("RAM");
        let words = [3, 3, TEXT + 8, TEXT, 8, 4, 0, 0].map(u32::to_le_bytes).concat();
        machine.poke(BLOCK, &[&IDENTIFIER[..], &words].concat()).expect("RAM");
        machine.poke(TEXT, &[7, 1, 2, 0, 9, 9, 9, 9]).expect("RAM");
        assert_eq!(machine.run(Cycles(100_000)), Stop::Limit);
        assert_eq!((machine.take_console(), machine.take_defmt()), (vec![], vec![7, 1, 2, 0]));
        assert_eq!((machine.take_defmt(), read_offset(&machine)), (vec![], 4));
    }

    #[test]
    fn invalid_control_blocks_are_ignored() {
        let mut machine = machine();
        put(&mut machine, 8, 0, b"12345678");
        assert_eq!(machine.run(Cycles(100_000)), Stop::Limit);
        machine.poke_word(BLOCK + SIZE, u32::MAX).expect("RAM");
        machine.poke_word(BLOCK + WRITE_OFFSET, u32::MAX - 1).expect("RAM");
        assert_eq!(machine.run(Cycles(200_000)), Stop::Limit);
        assert_eq!((machine.take_console(), read_offset(&machine)), (vec![], 0));
    }
}
