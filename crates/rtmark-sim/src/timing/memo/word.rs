//! What a word says of the instruction that executes, beside the number of a state.

use crate::timing::pipeline::{Bus, Condition, Facts, Far, Reads};

/// Facts of the instruction that executes, in a word's low bits: the bus of its data access
/// if that is not the expected one, further parts of an unaligned access, wait states, cycles
/// beyond the usual, and whether it jumped.
const BUS: u32 = 7;
const BIT_BAND: u32 = 5;
/// It reads of a slow memory: in place of wait states and cycles beyond, where: see [`number_of`].
const READS: u32 = 2;
/// It jumped where nobody knew before: in place of all of them, how far. See [`with_leap`].
const LEAPS: u32 = 4;
const PARTS_SHIFT: u32 = 3;
const WAITS_SHIFT: u32 = 5;
const LONGER_SHIFT: u32 = 9;
pub const TAKEN: u32 = 1 << 13;
/// The next instruction's place in an IT block.
const SKIPPED: u32 = 1 << 14;
const CONDITIONAL: u32 = 1 << 15;
/// The next instruction has entered the execute stage already and waits for its turn.
pub const ENTERED: u32 = 1 << 16;
/// All of the above.
pub const FACTS: u32 = (1 << STATE_SHIFT) - 1;
pub(super) const STATE_SHIFT: u32 = 17;
/// Adds further parts of an unaligned access to a word.
pub const fn with_parts(word: u32, parts: u32) -> u32 {
    word | parts << PARTS_SHIFT
}

/// Adds wait states of a data access to a word; answers also those that find no room there.
pub fn with_waits(word: u32, waits: u64) -> (u32, u64) {
    let held = u64::from(word >> WAITS_SHIFT & 15);
    let kept = (held + waits).min(15);
    let word = word & !(15 << WAITS_SHIFT) | (kept as u32) << WAITS_SHIFT;
    (word, held + waits - kept)
}

/// Adds cycles of the execute stage to a word.
pub const fn with_longer(word: u32, cycles: u8) -> u32 {
    word | (cycles as u32 & 15) << LONGER_SHIFT
}

/// Adds the place of the next instruction in an IT block to a word.
pub const fn with_condition(word: u32, condition: Condition) -> u32 {
    match condition {
        Condition::None => word,
        Condition::Passed => word | CONDITIONAL,
        Condition::Failed => word | CONDITIONAL | SKIPPED,
    }
}

/// Whether that is inside of one.
pub const fn is_in_it_block(word: u32) -> bool {
    word & CONDITIONAL != 0
}

/// Adds the bus of a data access.
pub const fn with_bus(word: u32, bus: Bus) -> u32 {
    if word & BUS == READS {
        return word;
    }
    // What accesses over several buses come to is the last one here.
    word | match bus {
        Bus::Code => 1,
        Bus::System => 3,
        Bus::Private => 7,
    }
}

/// Tells what an access reads of a slow memory: of an instruction the first word.
pub const fn with_reads(word: u32, reads: Reads) -> u32 {
    if word & BUS == READS {
        return word;
    }
    word & !(BUS | 0xFF << WAITS_SHIFT) | READS | (number_of(reads) as u32) << WAITS_SHIFT
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

/// Halfwords from the end of an instruction to where it jumps, at most.
const LEAP: i32 = 511;

/// Tells how far a jump leads whose target is known only when it has executed.
pub const fn with_leap(word: u32, behind: u32, target: u32) -> u32 {
    let halves = target.wrapping_sub(behind) as i32 / 2;
    if word & (BUS | 0x3FF << PARTS_SHIFT) != 0 || halves < -LEAP || halves > LEAP {
        return word;
    }
    word | LEAPS | ((halves + LEAP) as u32) << PARTS_SHIFT
}

pub(super) const fn leap(word: u32) -> Option<u32> {
    match word & BUS {
        LEAPS => Some((2 * ((word >> PARTS_SHIFT & 0x3FF) as i32 - LEAP)) as u32),
        _ => None,
    }
}

/// Tells that the access writes to the bit-band alias.
pub const fn with_bit_band_write(word: u32) -> u32 {
    word & !BUS | BIT_BAND
}

pub(super) fn facts(word: u32) -> Facts {
    let facts = Facts { taken: word & TAKEN != 0, ..Facts::default() };
    let extra_parts = (word >> PARTS_SHIFT & 3) as u8;
    let bus = match word & BUS {
        LEAPS => return facts,
        READS => {
            let reads = reads((word >> WAITS_SHIFT) as u8);
            return Facts { bus: Some(Bus::Code), extra_parts, reads, ..facts };
        }
        0 => None,
        1 => Some(Bus::Code),
        3 | BIT_BAND => Some(Bus::System),
        _ => Some(Bus::Private),
    };
    Facts {
        reads_first: word & BUS == BIT_BAND,
        bus,
        extra_parts,
        waits: (word >> WAITS_SHIFT & 15) as u8,
        longer: (word >> LONGER_SHIFT & 15) as u8,
        ..facts
    }
}

pub(super) const fn condition(word: u32) -> Condition {
    match word & (CONDITIONAL | SKIPPED) {
        0 => Condition::None,
        CONDITIONAL => Condition::Passed,
        _ => Condition::Failed,
    }
}
