//! The state of a core's pipeline, packed into one number.

use crate::timing::dual::PredictionResult;
use crate::timing::pipeline::{Condition, CoreBus, DataRead, Facts, FarLine};

/// The bit fields of the executing instruction's facts, in the low bits: the bus of its data access
/// if it is not the expected one, further parts of an unaligned access, wait states, extra cycles,
/// and whether it jumped.
const BUS: u32 = 7;
/// Values of the bus field for a write to the bit-band alias and for a read of it.
const BIT_BAND: u32 = 5;
const BIT_BAND_READ: u32 = 4;
/// The value of the bus field for a read of a slow memory. The fields of wait states and extra
/// cycles then hold the place: see [`number_of`].
const READS: u32 = 2;
const PARTS_SHIFT: u32 = 3;
const WAITS_SHIFT: u32 = 5;
const LONGER_SHIFT: u32 = 9;
const TAKEN: u32 = 1 << 13;
/// The condition of the next instruction in an IT block fails.
const SKIPPED: u32 = 1 << 14;
/// The next instruction is in an IT block.
const CONDITIONAL: u32 = 1 << 15;
/// The next instruction has already entered the execute stage and waits for its turn.
const ENTERED: u32 = 1 << 16;
/// All fact bits.
const FACTS: u32 = (1 << NUMBER_SHIFT) - 1;
pub(super) const NUMBER_SHIFT: u32 = 17;

/// The state of the pipeline: the number of a state that [`PipelineMemo`](super::PipelineMemo)
/// knows, and the facts that only the execution of the newest instruction has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeState(u32);

impl PipeState {
    /// The state of a core without buses in its model, which no instruction has entered.
    pub const EMPTY: Self = Self(0);
    /// No state: the highest bit of a state's number is never set.
    pub const NONE: Self = Self(u32::MAX);

    /// Returns the state of a pipeline at the start of a refill. `buffers` tells whether the core's
    /// write buffer is on.
    pub const fn refilling(buffers: bool) -> Self {
        Self(TAKEN | (buffers as u32) << NUMBER_SHIFT)
    }

    /// Returns a numbered state without facts.
    pub const fn numbered(number: u32) -> Self {
        Self(number << NUMBER_SHIFT)
    }

    /// Returns the same facts with the number of another state.
    pub(super) const fn with_number(self, number: u32) -> Self {
        Self(self.0 & FACTS | number << NUMBER_SHIFT)
    }

    /// Returns the number of the state.
    pub(super) const fn number(self) -> usize {
        (self.0 >> NUMBER_SHIFT) as usize
    }

    /// Returns all bits, as a key.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the state with the facts of another one.
    pub const fn with_facts_of(self, other: Self) -> Self {
        Self(self.0 & !FACTS | other.0 & FACTS)
    }

    /// Returns the facts that the execution of the newest instruction has shown, as a number; zero if
    /// there are none.
    #[inline(always)]
    pub const fn shown(self) -> u32 {
        self.0 & FACTS
    }

    /// Adds facts, given as a number.
    #[must_use]
    pub const fn with_shown(self, facts: u32) -> Self {
        Self(self.0 | facts & FACTS)
    }

    /// Returns the state without facts except an access on this bus.
    pub(super) const fn with_bus_alone(self, bus: CoreBus) -> Self {
        Self(self.0 & !FACTS | Self(0).with_bus(bus).0)
    }

    /// Returns whether the executing instruction has jumped.
    #[inline(always)]
    pub const fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    /// Returns the state with the executing instruction having jumped.
    #[inline(always)]
    #[must_use]
    pub const fn taken(self) -> Self {
        Self(self.0 | TAKEN)
    }

    /// Returns the state with the executing instruction being a mispredicted branch. This is only
    /// for cores whose model has no buses: they do not use the extra cycles, whose lowest bit it
    /// takes.
    #[must_use]
    pub const fn mispredicted(self) -> Self {
        Self(self.0 | 1 << LONGER_SHIFT)
    }

    /// Returns how the next instruction was reached.
    pub(super) const fn prediction(self) -> PredictionResult {
        if self.0 & 1 << LONGER_SHIFT == 0 {
            PredictionResult::Correct
        } else {
            PredictionResult::Mispredicted
        }
    }

    /// Returns whether the next instruction has already entered the execute stage and waits for its
    /// turn.
    #[inline(always)]
    pub const fn has_entered(self) -> bool {
        self.0 & ENTERED != 0
    }

    /// Returns the state with the next instruction waiting in the execute stage.
    #[inline(always)]
    #[must_use]
    pub const fn entered(self) -> Self {
        Self(self.0 | ENTERED)
    }

    /// Returns the state with the waiting instruction executing.
    #[inline(always)]
    #[must_use]
    pub const fn executing(self) -> Self {
        Self(self.0 & !ENTERED)
    }

    /// Returns whether the executing instruction has jumped to one that has not entered.
    #[inline(always)]
    pub const fn awaits_target(self) -> bool {
        self.0 & (TAKEN | ENTERED) == TAKEN
    }

    /// Adds further parts of an unaligned access.
    #[must_use]
    pub const fn with_parts(self, parts: u32) -> Self {
        Self(self.0 | parts << PARTS_SHIFT)
    }

    /// Adds wait states of a data access. Returns also the wait states beyond the 15 that the state
    /// can hold.
    pub fn with_waits(self, waits: u64) -> (Self, u64) {
        let held = u64::from(self.0 >> WAITS_SHIFT & 15);
        let kept = (held + waits).min(15);
        let state = self.0 & !(15 << WAITS_SHIFT) | (kept as u32) << WAITS_SHIFT;
        (Self(state), held + waits - kept)
    }

    /// Adds extra cycles in the execute stage.
    #[must_use]
    pub const fn with_extra_cycles(self, cycles: u8) -> Self {
        Self(self.0 | (cycles as u32 & 15) << LONGER_SHIFT)
    }

    /// Returns the extra cycles in the execute stage.
    pub const fn extra_cycles(self) -> u8 {
        (self.0 >> LONGER_SHIFT & 15) as u8
    }

    /// Adds the place of the next instruction in an IT block.
    #[must_use]
    pub const fn with_condition(self, condition: Condition) -> Self {
        match condition {
            Condition::None => self,
            Condition::Passed => Self(self.0 | CONDITIONAL),
            Condition::Failed => Self(self.0 | CONDITIONAL | SKIPPED),
        }
    }

    /// Returns whether the next instruction is in an IT block.
    pub const fn is_in_it_block(self) -> bool {
        self.0 & CONDITIONAL != 0
    }

    /// Adds the bus of a data access.
    #[must_use]
    pub const fn with_bus(self, bus: CoreBus) -> Self {
        if self.0 & BUS == READS {
            return self;
        }
        // The codes are ORed, so accesses over several buses count as the last of `Code`, `System`
        // and `Private`.
        let bus = match bus {
            CoreBus::Code => 1,
            CoreBus::System => 3,
            CoreBus::Private => 7,
        };
        Self(self.0 | bus)
    }

    /// Records what an access reads from a slow memory; only the first word that an instruction
    /// reads counts.
    #[must_use]
    pub const fn with_reads(self, reads: DataRead) -> Self {
        if self.0 & BUS == READS {
            return self;
        }
        let facts = READS | (number_of(reads) as u32) << WAITS_SHIFT;
        Self(self.0 & !(BUS | 0xFF << WAITS_SHIFT) | facts)
    }

    /// Records that the access writes to the bit-band alias.
    #[must_use]
    pub const fn with_bit_band_write(self) -> Self {
        Self(self.0 & !BUS | BIT_BAND)
    }

    /// Records that the access reads the bit-band alias.
    #[must_use]
    pub const fn with_bit_band_read(self) -> Self {
        Self(self.0 & !BUS | BIT_BAND_READ)
    }

    /// Returns the facts that the execution of the newest instruction has shown.
    pub(super) fn facts(self) -> Facts {
        let facts = Facts { taken: self.is_taken(), ..Facts::default() };
        let extra_parts = (self.0 >> PARTS_SHIFT & 3) as u8;
        let bus = match self.0 & BUS {
            READS => {
                let reads = reads((self.0 >> WAITS_SHIFT) as u8);
                return Facts { bus: Some(CoreBus::Code), extra_parts, reads, ..facts };
            }
            0 => None,
            1 => Some(CoreBus::Code),
            3 | BIT_BAND | BIT_BAND_READ => Some(CoreBus::System),
            _ => Some(CoreBus::Private),
        };
        Facts {
            bit_band: matches!(self.0 & BUS, BIT_BAND | BIT_BAND_READ),
            bus,
            extra_parts,
            waits: (self.0 >> WAITS_SHIFT & 15) as u8,
            longer: self.extra_cycles(),
            ..facts
        }
    }

    /// Returns the place of the next instruction in an IT block.
    pub(super) const fn condition(self) -> Condition {
        match self.0 & (CONDITIONAL | SKIPPED) {
            0 => Condition::None,
            CONDITIONAL => Condition::Passed,
            _ => Condition::Failed,
        }
    }
}

/// The distance in words from the instruction within which each word of a slow memory has a number
/// of its own.
const NEAR: u32 = 63;
/// A word of a distant line, which is the line of the last such access if [`SAME`] is set, and
/// another one otherwise.
const FAR: u8 = 0x80;
const SAME: u8 = 0x40;

/// Encodes what is read from a slow memory as a number.
const fn number_of(reads: DataRead) -> u8 {
    match reads {
        DataRead::Near(address) => {
            let words = address.wrapping_add(4 * NEAR) / 4;
            if words <= 2 * NEAR { words as u8 } else { FAR }
        }
        DataRead::Far { word, line: FarLine::Same } => FAR | SAME | word & (SAME - 1),
        DataRead::Far { word, line: FarLine::Other } => FAR | word & (SAME - 1),
        DataRead::Nothing => FAR,
    }
}

const fn reads(place: u8) -> DataRead {
    if place & FAR == 0 {
        return DataRead::Near((place as u32 * 4).wrapping_sub(4 * NEAR));
    }
    let line = if place & SAME == 0 { FarLine::Other } else { FarLine::Same };
    DataRead::Far { word: place & (SAME - 1), line }
}

/// Returns what is read at an address of a slow memory, relative to `behind`, the address after the
/// instruction.
pub fn seen_from(behind: u32, address: u32, line_bytes: u32, line: FarLine) -> DataRead {
    let distance = (address & !3).wrapping_sub(behind & !3);
    if distance.wrapping_add(4 * NEAR) <= 8 * NEAR {
        DataRead::Near(distance)
    } else {
        DataRead::Far { word: (address % line_bytes / 4) as u8, line }
    }
}
