//! The state of a core's pipeline as one number.

use crate::timing::dual::Came;
use crate::timing::pipeline::{Condition, CoreBus, Facts, Far, Reads};

/// Facts of the instruction that executes, in the low bits: the bus of its data access
/// if that is not the expected one, further parts of an unaligned access, wait states, cycles
/// beyond the usual, and whether it jumped.
const BUS: u32 = 7;
/// Writes to the bit-band alias, and reads of it.
const BIT_BAND: u32 = 5;
const BIT_BAND_READ: u32 = 4;
/// It reads of a slow memory: in place of wait states and cycles beyond, where: see [`number_of`].
const READS: u32 = 2;
const PARTS_SHIFT: u32 = 3;
const WAITS_SHIFT: u32 = 5;
const LONGER_SHIFT: u32 = 9;
const TAKEN: u32 = 1 << 13;
/// The next instruction's place in an IT block.
const SKIPPED: u32 = 1 << 14;
const CONDITIONAL: u32 = 1 << 15;
/// The next instruction has entered the execute pipeline_state already and waits for its turn.
const ENTERED: u32 = 1 << 16;
/// All of the above.
const FACTS: u32 = (1 << NUMBER_SHIFT) - 1;
pub(super) const NUMBER_SHIFT: u32 = 17;

/// How the pipeline stands: the number of a state that [`PipelineMemo`](super::PipelineMemo)
/// knows, with the facts that only the execution of the newest instruction has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeState(u32);

impl PipeState {
    /// A core into which nothing has entered, where nothing but [`Issue`] models it.
    ///
    /// [`Issue`]: crate::timing::issue::Issue
    pub const EMPTY: Self = Self(0);
    /// Stands for no state at all: numbers of states never have their highest bit set.
    pub const NONE: Self = Self(u32::MAX);

    /// A pipeline that begins to be refilled, of a core that buffers its stores or does not.
    pub const fn refilling(buffers: bool) -> Self {
        Self(TAKEN | (buffers as u32) << NUMBER_SHIFT)
    }

    /// A numbered state without facts.
    pub const fn numbered(number: u32) -> Self {
        Self(number << NUMBER_SHIFT)
    }

    /// Its facts with the number of another state.
    pub(super) const fn with_number(self, number: u32) -> Self {
        Self(self.0 & FACTS | number << NUMBER_SHIFT)
    }

    /// The number of the state.
    pub(super) const fn number(self) -> usize {
        (self.0 >> NUMBER_SHIFT) as usize
    }

    /// All of it, as a key.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The state with the facts of another one.
    pub const fn with_facts_of(self, other: Self) -> Self {
        Self(self.0 & !FACTS | other.0 & FACTS)
    }

    /// The state without facts, but for an access on this bus.
    pub(super) const fn with_bus_alone(self, bus: CoreBus) -> Self {
        Self(self.0 & !FACTS | Self(0).with_bus(bus).0)
    }

    /// Whether the instruction that executes has jumped.
    #[inline(always)]
    pub const fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    /// The state where it has jumped.
    #[inline(always)]
    #[must_use]
    pub const fn taken(self) -> Self {
        Self(self.0 | TAKEN)
    }

    /// The state where it is a branch that has led to where was not foreseen: of a core without
    /// buses in its model, which has no cycles beyond the usual to tell.
    #[must_use]
    pub const fn unforeseen(self) -> Self {
        Self(self.0 | 1 << LONGER_SHIFT)
    }

    /// How the next instruction comes behind it.
    pub(super) const fn came(self) -> Came {
        if self.0 & 1 << LONGER_SHIFT == 0 { Came::Foreseen } else { Came::Unforeseen }
    }

    /// Whether the next instruction has entered the execute pipeline_state already and waits for its turn.
    #[inline(always)]
    pub const fn has_entered(self) -> bool {
        self.0 & ENTERED != 0
    }

    /// The state where it has entered.
    #[inline(always)]
    #[must_use]
    pub const fn entered(self) -> Self {
        Self(self.0 | ENTERED)
    }

    /// The state where it is the one that executes.
    #[inline(always)]
    #[must_use]
    pub const fn executing(self) -> Self {
        Self(self.0 & !ENTERED)
    }

    /// Whether the instruction that executes has jumped to one that has not entered.
    #[inline(always)]
    pub const fn awaits_target(self) -> bool {
        self.0 & (TAKEN | ENTERED) == TAKEN
    }

    /// Adds further parts of an unaligned access.
    #[must_use]
    pub const fn with_parts(self, parts: u32) -> Self {
        Self(self.0 | parts << PARTS_SHIFT)
    }

    /// Adds wait states of a data access; answers also those that find no room.
    pub fn with_waits(self, waits: u64) -> (Self, u64) {
        let held = u64::from(self.0 >> WAITS_SHIFT & 15);
        let kept = (held + waits).min(15);
        let state = self.0 & !(15 << WAITS_SHIFT) | (kept as u32) << WAITS_SHIFT;
        (Self(state), held + waits - kept)
    }

    /// Adds cycles of the execute pipeline_state.
    #[must_use]
    pub const fn with_longer(self, cycles: u8) -> Self {
        Self(self.0 | (cycles as u32 & 15) << LONGER_SHIFT)
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

    /// Whether that is inside of one.
    pub const fn is_in_it_block(self) -> bool {
        self.0 & CONDITIONAL != 0
    }

    /// Adds the bus of a data access.
    #[must_use]
    pub const fn with_bus(self, bus: CoreBus) -> Self {
        if self.0 & BUS == READS {
            return self;
        }
        // What accesses over several buses come to is the last one here.
        let bus = match bus {
            CoreBus::Code => 1,
            CoreBus::System => 3,
            CoreBus::Private => 7,
        };
        Self(self.0 | bus)
    }

    /// Tells what an access reads of a slow memory: of an instruction the first word.
    #[must_use]
    pub const fn with_reads(self, reads: Reads) -> Self {
        if self.0 & BUS == READS {
            return self;
        }
        let facts = READS | (number_of(reads) as u32) << WAITS_SHIFT;
        Self(self.0 & !(BUS | 0xFF << WAITS_SHIFT) | facts)
    }

    /// Tells that the access writes to the bit-band alias.
    #[must_use]
    pub const fn with_bit_band_write(self) -> Self {
        Self(self.0 & !BUS | BIT_BAND)
    }

    /// Tells that the access reads the bit-band alias.
    #[must_use]
    pub const fn with_bit_band_read(self) -> Self {
        Self(self.0 & !BUS | BIT_BAND_READ)
    }

    /// What the execution of the newest instruction has shown.
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
            longer: (self.0 >> LONGER_SHIFT & 15) as u8,
            ..facts
        }
    }

    /// The place of the next instruction in an IT block.
    pub(super) const fn condition(self) -> Condition {
        match self.0 & (CONDITIONAL | SKIPPED) {
            0 => Condition::None,
            CONDITIONAL => Condition::Passed,
            _ => Condition::Failed,
        }
    }
}

/// Words around an instruction within which a slow memory's words are told apart.
const NEAR: u32 = 63;
/// Or it is in a line far away, the one of the last such access or another one.
const FAR: u8 = 0x80;
const SAME: u8 = 0x40;

/// What is read of a slow memory, as a number.
const fn number_of(reads: Reads) -> u8 {
    match reads {
        Reads::Near(address) => {
            let words = address.wrapping_add(4 * NEAR) / 4;
            if words <= 2 * NEAR { words as u8 } else { FAR }
        }
        Reads::Far { word, line: Far::Same } => FAR | SAME | word & (SAME - 1),
        Reads::Far { word, line: Far::Other } => FAR | word & (SAME - 1),
        Reads::Nothing => FAR,
    }
}

const fn reads(place: u8) -> Reads {
    if place & FAR == 0 {
        return Reads::Near((place as u32 * 4).wrapping_sub(4 * NEAR));
    }
    let line = if place & SAME == 0 { Far::Other } else { Far::Same };
    Reads::Far { word: place & (SAME - 1), line }
}

/// What is read at an address of a slow memory, seen from the address behind the instruction.
pub fn seen_from(behind: u32, address: u32, line_bytes: u32, line: Far) -> Reads {
    let distance = (address & !3).wrapping_sub(behind & !3);
    if distance.wrapping_add(4 * NEAR) <= 8 * NEAR {
        Reads::Near(distance)
    } else {
        Reads::Far { word: (address % line_bytes / 4) as u8, line }
    }
}
