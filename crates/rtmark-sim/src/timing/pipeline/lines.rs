//! A memory of the Code region that is slower than the core, and its read buffer.
//!
//! A word outside the line read last makes the bus wait while the memory reads another line;
//! meanwhile the prefetch queue feeds the core. Code and data use the same buffer, one after the
//! other (TI's SWCU185, chapter 9, for the CC13x2 and CC26x2: icode and dcode share a 128-bit line
//! buffer of the flash; SWCU117 for the CC26x0: 64 bits).
//!
//! Addresses are absolute while the pipeline advances. Between instructions they count from the
//! next instruction, and distant lines are not told apart.

use super::execute::InFlight;
use super::ports::Fetch;
use super::{Pipeline, SYSTEM, Unit, has, is_on_system_bus};

/// The distance in bytes from an instruction within which lines are told apart between two
/// instructions.
const NEAR: u32 = 1 << 10;

/// Marks a fetch whose address is unknown, in place of its wait.
const LOST: u8 = u8::MAX;

/// A memory whose lines the pipeline waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlowMemory {
    /// Its base address, and the address of its alias.
    pub bases: [u32; 2],
    pub size: u32,
    /// The line size in bytes: a power of two.
    pub line_bytes: u32,
    /// Whether the line read last is kept.
    pub line_buffer: bool,
    /// Cycles that a read of a line takes beyond the first one; 0 where there is no such memory.
    pub wait_states: u8,
}

impl SlowMemory {
    pub fn contains(&self, address: u32) -> bool {
        self.bases.iter().any(|base| address.wrapping_sub(*base) < self.size)
    }

    const fn line(&self, address: u32) -> u32 {
        address & !(self.line_bytes - 1)
    }
}

/// The kind of a memory that code is fetched from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeMemory {
    /// On ICode, without wait states that the pipeline models.
    Code,
    /// The slow memory on ICode.
    Slow,
    /// On the System bus.
    System,
}

impl CodeMemory {
    /// Returns the kind of the memory at an address.
    fn of(slow: &SlowMemory, address: u32) -> Self {
        if is_on_system_bus(address) {
            Self::System
        } else if slow.wait_states > 0 && slow.contains(address) {
            Self::Slow
        } else {
            Self::Code
        }
    }
}

/// The line that was read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum BufferedLine {
    /// No known line.
    #[default]
    Unknown,
    /// A distant line of data.
    Data,
    /// The line at this address.
    Line(u32),
    /// The line at this absolute address, while the code that runs is in another memory.
    Kept(u32),
}

/// The word of a slow memory that a data access reads first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DataRead {
    #[default]
    Nothing,
    /// From this address on, which counts from the end of the instruction.
    Near(u32),
    /// From a word of a distant line.
    Far { word: u8, line: FarLine },
}

/// A distant line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FarLine {
    /// The line that data was last read from.
    Same,
    Other,
}

impl DataRead {
    /// Returns the next word.
    pub(super) fn next(self, line_bytes: u32) -> Self {
        match self {
            Self::Nothing => self,
            Self::Near(address) => Self::Near(address.wrapping_add(4)),
            Self::Far { word, .. } if u32::from(word) + 1 < line_bytes / 4 => {
                Self::Far { word: word + 1, line: FarLine::Same }
            }
            Self::Far { .. } => Self::Far { word: 0, line: FarLine::Other },
        }
    }

    /// Returns the next part of an unaligned access, after which `behind` more parts follow. The
    /// last part is in the next word.
    pub(super) fn next_part(self, behind: u8, line_bytes: u32) -> Self {
        match self {
            Self::Nothing => self,
            _ if behind == 0 => self.next(line_bytes),
            Self::Near(_) => self,
            Self::Far { word, .. } => Self::Far { word, line: FarLine::Same },
        }
    }

    pub(super) fn move_by(&mut self, by: u32) {
        if let Self::Near(address) = self {
            *address = address.wrapping_add(by);
        }
    }
}

impl Pipeline {
    /// Returns the kind of the memory at an address.
    pub fn memory_at(&self, address: u32) -> CodeMemory {
        CodeMemory::of(&self.setup.slow, address)
    }

    /// Returns the kinds of memory other than the one at `address`, each with the address of a word
    /// in such a memory.
    pub fn memories_elsewhere(&self, address: u32) -> impl Iterator<Item = (CodeMemory, u32)> {
        let (here, slow) = (self.memory_at(address), self.setup.slow);
        let all = [
            (CodeMemory::Code, SYSTEM - 4),
            (CodeMemory::Slow, slow.bases[0]),
            (CodeMemory::System, SYSTEM),
        ];
        let exists = move |memory| memory != CodeMemory::Slow || slow.wait_states > 0;
        all.into_iter().filter(move |(memory, _)| *memory != here && exists(*memory))
    }

    /// Returns whether a jump of the newest instruction has a target that was not known beforehand.
    pub fn has_unpredicted_target(&self) -> bool {
        self.execute.newest().is_some_and(|newest| {
            newest.step.is(has::TO_PC)
                || matches!(
                    newest.step.unit,
                    Unit::Return | Unit::Late | Unit::Computed | Unit::Table
                ) && !newest.step.is(has::AIMED)
        })
    }

    /// Records the distance in bytes from the newest instruction's end to its jump target.
    pub fn record_jump_distance(&mut self, distance: u32) {
        self.leap = Some(distance);
    }

    /// Returns that distance, if it is known, and clears it.
    pub fn take_jump_distance(&mut self) -> Option<u32> {
        self.leap.take()
    }

    /// Adds `by` to the addresses of near lines: they count from 0 between instructions, and are
    /// absolute while the pipeline advances.
    pub fn move_lines(&mut self, by: u32) {
        if let BufferedLine::Line(line) = &mut self.buffered {
            *line = line.wrapping_add(by);
        }
        for executing in [&mut self.execute.older, &mut self.execute.younger].into_iter().flatten()
        {
            executing.reads.move_by(by);
        }
        self.data_port.transfers().for_each(|it| it.reads.move_by(by));
    }

    /// Keeps the line read last by its absolute address, if the code at `next` is in another memory:
    /// it stays in the buffer meanwhile.
    pub fn keep_line(&mut self, next: u32) {
        if let BufferedLine::Line(line) = self.buffered
            && !self.setup.slow.contains(next)
        {
            self.buffered = BufferedLine::Kept(line);
        }
    }

    /// Compares a kept line with others again: all addresses are absolute while the pipeline
    /// advances.
    pub fn use_kept_line(&mut self) {
        if let BufferedLine::Kept(line) = self.buffered {
            self.buffered = BufferedLine::Line(line);
        }
    }

    /// Forgets near lines, because the address that they count from is unknown.
    pub fn forget_lines(&mut self) {
        if let BufferedLine::Line(_) = self.buffered {
            self.buffered = BufferedLine::Unknown;
        }
        if let Some(fetch) = &mut self.fetch_port.address {
            fetch.waits = LOST;
        }
    }

    /// Forgets which words were requested, so that none equals one that is wanted now.
    pub fn forget_fetches(&mut self) {
        self.fetch_port.fetches().for_each(|it| it.word |= 1);
    }

    /// Forgets which of the words requested have been given up.
    pub fn forget_given_up(&mut self) {
        let given_up = self.fetch_port.fetches().filter(|it| it.wanted == 0);
        given_up.for_each(|it| it.word |= 1);
    }

    /// Forgets a line that is too far from 0 to be told apart.
    pub fn forget_far_lines(&mut self) {
        if let BufferedLine::Line(line) = self.buffered
            && line.wrapping_add(NEAR) > 2 * NEAR
        {
            self.buffered = BufferedLine::Unknown;
        }
    }

    /// Empties the read buffer.
    pub fn empty_lines(&mut self) {
        self.buffered = BufferedLine::Unknown;
    }

    /// Learns the target of a return, taken or not, whose line was requested before it was known.
    /// `pc` is the next instruction; if the return is not taken, `distance` leads from there to the
    /// target.
    pub fn record_return_line(&mut self, pc: u32, distance: Option<u32>) {
        self.returns_unseen = false;
        if !std::mem::take(&mut self.asked_unseen) {
            return;
        }
        let is_skipped = self.execute.newest().is_some_and(InFlight::is_skipped);
        let target = if is_skipped { pc.wrapping_add(distance.unwrap_or_default()) } else { pc };
        if !self.setup.slow.contains(target) {
            // Nothing was read: a return that is not taken is supposed to lead to its own memory.
            self.fetch_port.fetches().for_each(|it| it.waits = 0);
            return;
        }
        let line = BufferedLine::Line(self.setup.slow.line(target));
        if self.setup.slow.line_buffer && std::mem::replace(&mut self.buffered, line) == line {
            self.fetch_port.fetches().for_each(|it| it.waits = 0);
        }
    }

    /// Returns the cycles that a fetch waits when its data phase begins.
    pub(super) fn fetch_waits(&mut self, fetch: Fetch) -> u8 {
        let word = fetch.word;
        if self.setup.slow.wait_states == 0 || !self.setup.slow.contains(word) {
            return 0;
        }
        if fetch.waits == LOST {
            self.buffered = BufferedLine::Unknown;
            return self.setup.slow.wait_states;
        }
        if self.returns_unseen {
            let asked = std::mem::replace(&mut self.asked_unseen, true);
            return if asked && self.setup.slow.line_buffer {
                0
            } else {
                self.setup.slow.wait_states
            };
        }
        self.read_line(BufferedLine::Line(self.setup.slow.line(word)))
    }

    fn read_line(&mut self, line: BufferedLine) -> u8 {
        if self.setup.slow.line_buffer && std::mem::replace(&mut self.buffered, line) == line {
            0
        } else {
            self.setup.slow.wait_states
        }
    }

    /// Returns the cycles that a data access waits when its data phase begins.
    pub(super) fn data_waits(&mut self, reads: DataRead) -> u8 {
        match reads {
            DataRead::Nothing => 0,
            DataRead::Near(address) => {
                self.read_line(BufferedLine::Line(self.setup.slow.line(address)))
            }
            DataRead::Far { line: FarLine::Same, .. } => self.read_line(BufferedLine::Data),
            DataRead::Far { line: FarLine::Other, .. } => {
                self.buffered = BufferedLine::Data;
                self.setup.slow.wait_states
            }
        }
    }
}
