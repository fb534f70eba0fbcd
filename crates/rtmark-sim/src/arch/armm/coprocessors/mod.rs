//! The coprocessors of an RP2350's Arm cores (RP2350 datasheet, 3.6): pins, double precision, redundancy.
//!
//! What their instructions are called, how they are encoded and what they are for is in pico-sdk's headers
//! (hardware_gpio, hardware_dcp and hardware_rcp). Each takes a cycle here. The redundancy coprocessor's random delays
//! have no model.

mod double;
mod redundancy;

use double::DoubleUnit;
use redundancy::Redundancy;

/// An instruction of a coprocessor other than the FPU (DDI 0553, C2.4.42, MCR, and its neighbours).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoprocessorInstruction {
    /// The coprocessor's number.
    pub coprocessor: u8,
    /// The second of the two encodings of the same form (MCR2 and others).
    pub second: bool,
    pub form: CoprocessorForm,
    /// The first opcode: of four bits with CDP and pairs, otherwise of three.
    pub opcode: u8,
    /// The coprocessor's register.
    pub m: u8,
}

/// What an instruction of a coprocessor does. `t` and `t2` are registers of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoprocessorForm {
    /// CDP.
    Process { extra: u8 },
    /// MCR.
    Write { t: u8, n: u8, extra: u8 },
    /// MRC.
    Read { t: u8, n: u8, extra: u8 },
    /// MCRR.
    WritePair { t: u8, t2: u8 },
    /// MRRC.
    ReadPair { t: u8, t2: u8 },
}

impl CoprocessorInstruction {
    /// Decodes an instruction from its two halfwords.
    pub fn decode(first: u16, second: u16) -> Option<Self> {
        if first & 0xEC00 != 0xEC00 {
            return None;
        }
        let nibble = |from: u16, shift: u32| (from >> shift & 0xF) as u8;
        let (t, coprocessor, m) = (nibble(second, 12), nibble(second, 8), nibble(second, 0));
        let (n, extra) = (nibble(first, 0), (second >> 5 & 7) as u8);
        let reads = first >> 4 & 1 == 1;
        let (form, opcode) = match first >> 8 & 3 {
            0 if first >> 5 & 7 == 0b010 => {
                let pair = if reads {
                    CoprocessorForm::ReadPair { t, t2: n }
                } else {
                    CoprocessorForm::WritePair { t, t2: n }
                };
                (pair, nibble(second, 4))
            }
            2 if second >> 4 & 1 == 0 => (CoprocessorForm::Process { extra }, nibble(first, 4)),
            2 if reads => (CoprocessorForm::Read { t, n, extra }, (first >> 5 & 7) as u8),
            2 => (CoprocessorForm::Write { t, n, extra }, (first >> 5 & 7) as u8),
            _ => return None,
        };
        Some(Self { coprocessor, second: first >> 12 & 1 == 1, form, opcode, m })
    }
}

/// What an instruction of a coprocessor results in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing that the core sees.
    Done,
    /// A word, or two.
    Word(u32),
    Pair(u32, u32),
    /// A check has failed.
    Failed,
    /// It has no model.
    Unknown,
}

impl Answer {
    /// Splits a doubleword, the lower half first.
    const fn pair(value: u64) -> Self {
        Self::Pair(value as u32, (value >> 32) as u32)
    }
}

/// The numbers of the coprocessors.
pub const PINS: u8 = 0;
const DOUBLE: u8 = 4;
const REDUNDANCY: u8 = 7;

/// CPACR's fields of these coprocessors.
pub const ACCESS: u32 = 3 << (2 * PINS) | 3 << (2 * DOUBLE) | 3 << (2 * REDUNDANCY);

/// The state of the coprocessors that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coprocessors {
    double: DoubleUnit,
    redundancy: Redundancy,
}

impl Coprocessors {
    /// Executes an instruction of the double-precision or the redundancy coprocessor; `values` are those of the
    /// core's registers that it writes.
    pub fn execute(&mut self, instruction: CoprocessorInstruction, values: (u32, u32)) -> Answer {
        match instruction.coprocessor {
            DOUBLE => self.double.execute(instruction, values),
            REDUNDANCY => self.redundancy.execute(instruction, values),
            _ => Answer::Unknown,
        }
    }
}

/// The offset in SIO of the register of pins that an instruction accesses, or those of two, with what it writes
/// (RP2350 datasheet, 3.6.1). SIO has registers that store, set, clear and flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinAccess {
    Read(u32),
    ReadPair(u32, u32),
    Write(u32, u32),
    WritePair((u32, u32), (u32, u32)),
}

/// Returns what an instruction of the pins' coprocessor accesses; `None` if there is no such instruction.
pub fn pin_access(
    instruction: CoprocessorInstruction,
    (low, high): (u32, u32),
) -> Option<PinAccess> {
    // OUT, OE and IN; odd registers are those of the pins from 32 on.
    let (block, upper) = match instruction.m {
        0 | 1 => (0x10, instruction.m),
        4 | 5 => (0x30, instruction.m - 4),
        8 | 9 => (0x04, instruction.m - 8),
        _ => return None,
    };
    let readable = block + 4 * u32::from(upper);
    // The order of the operations is store, flip, set, clear; that of the registers store, set, clear, flip.
    let write =
        |operation: u8, upper: u32| block + [0, 0x18, 8, 0x10][operation as usize & 3] + 4 * upper;
    let one = |pin: u32| (pin >> 5 & 1, 1 << (pin & 31));
    match (instruction.form, instruction.opcode) {
        (CoprocessorForm::Read { .. }, 0) => Some(PinAccess::Read(readable)),
        (CoprocessorForm::ReadPair { .. }, 0) if upper == 0 => {
            Some(PinAccess::ReadPair(readable, readable + 4))
        }
        _ if block == 0x04 => None,
        (CoprocessorForm::Write { .. }, 0..=3) => {
            Some(PinAccess::Write(write(instruction.opcode, upper.into()), low))
        }
        (CoprocessorForm::Write { .. }, 5..=7) if upper == 0 => {
            let (half, bit) = one(low);
            Some(PinAccess::Write(write(instruction.opcode, half), bit))
        }
        (CoprocessorForm::WritePair { .. }, 0..=3) if upper == 0 => {
            let at = |half| write(instruction.opcode, half);
            Some(PinAccess::WritePair((at(0), low), (at(1), high)))
        }
        (CoprocessorForm::WritePair { .. }, 4) if upper == 0 => {
            let (half, bit) = one(low);
            let operation = if high & 1 == 1 { 2 } else { 3 };
            Some(PinAccess::Write(write(operation, half), bit))
        }
        (CoprocessorForm::WritePair { .. }, 5..=7) if upper == 0 => {
            let (half, bit) = one(low);
            Some(PinAccess::Write(write(instruction.opcode, half), bit * (high & 1)))
        }
        (CoprocessorForm::WritePair { .. }, 8..=11) if upper == 0 => {
            Some(PinAccess::Write(write(instruction.opcode, high & 1), low))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GCC's assembler encodes them.
    #[test]
    fn encodings_have_their_fields() {
        let decode = |word: u32| CoprocessorInstruction::decode((word >> 16) as u16, word as u16);
        // mrc p4, #0, r0, c0, c0, #1
        let compare = CoprocessorInstruction {
            coprocessor: 4,
            second: false,
            form: CoprocessorForm::Read { t: 0, n: 0, extra: 1 },
            opcode: 0,
            m: 0,
        };
        assert_eq!(decode(0xEE10_0430), Some(compare));
        // mrc2 p4, #0, apsr_nzcv, c0, c0, #1
        let form = CoprocessorForm::Read { t: 15, n: 0, extra: 1 };
        assert_eq!(
            decode(0xFE10_F430),
            Some(CoprocessorInstruction { second: true, form, ..compare })
        );
        // mcrr p0, #4, r2, r3, c4
        let set = CoprocessorInstruction {
            coprocessor: 0,
            second: false,
            form: CoprocessorForm::WritePair { t: 2, t2: 3 },
            opcode: 4,
            m: 4,
        };
        assert_eq!(decode(0xEC43_2044), Some(set));
        // mrrc p4, #11, r0, r1, c0
        let form = CoprocessorForm::ReadPair { t: 0, t2: 1 };
        assert_eq!(
            decode(0xEC51_04B0),
            Some(CoprocessorInstruction { coprocessor: 4, form, opcode: 11, m: 0, ..set })
        );
        // cdp p4, #8, c0, c0, c2, #1, and mcr p7, #3, r1, c0, c0, #1
        let process = CoprocessorForm::Process { extra: 1 };
        assert_eq!(
            decode(0xEE80_0422),
            Some(CoprocessorInstruction { form: process, opcode: 8, m: 2, ..compare })
        );
        let write = CoprocessorForm::Write { t: 1, n: 0, extra: 1 };
        assert_eq!(
            decode(0xEE60_1730),
            Some(CoprocessorInstruction { coprocessor: 7, form: write, opcode: 3, ..compare })
        );
        // ldc p4, c0, [r0], add.w r0, r0, r1, vadd.f32's neighbour in the other half.
        for other in [0xED90_0400, 0xEB00_0001, 0xEF00_0800] {
            assert_eq!(decode(other), None, "{other:#x}");
        }
    }

    fn pins(form: CoprocessorForm, opcode: u8, m: u8, values: (u32, u32)) -> Option<PinAccess> {
        pin_access(
            CoprocessorInstruction { coprocessor: 0, second: false, form, opcode, m },
            values,
        )
    }

    /// Names and offsets of SIO (RP2350 datasheet, 3.1.11): OUT 0x10, OUT_SET 0x18, OUT_CLR 0x20, OUT_XOR 0x28, each
    /// with the upper pins' four bytes further; OE 0x30 and so on; IN 4 and 8.
    #[test]
    fn pins_are_those_of_sio() {
        let (read, read_pair) = (
            CoprocessorForm::Read { t: 0, n: 0, extra: 0 },
            CoprocessorForm::ReadPair { t: 0, t2: 1 },
        );
        let (write, write_pair) = (
            CoprocessorForm::Write { t: 0, n: 0, extra: 0 },
            CoprocessorForm::WritePair { t: 0, t2: 1 },
        );
        let word = (0x55, 0);
        for (m, offset) in [(0, 0x10), (1, 0x14), (4, 0x30), (5, 0x34), (8, 4), (9, 8)] {
            assert_eq!(pins(read, 0, m, word), Some(PinAccess::Read(offset)));
        }
        assert_eq!(pins(read_pair, 0, 8, word), Some(PinAccess::ReadPair(4, 8)));
        for (opcode, offset) in [(0, 0x10), (1, 0x28), (2, 0x18), (3, 0x20)] {
            assert_eq!(pins(write, opcode, 0, word), Some(PinAccess::Write(offset, 0x55)));
            let upper = Some(PinAccess::Write(offset + 0x24, 0x55));
            assert_eq!(pins(write, opcode, 5, word), upper);
            let both = PinAccess::WritePair((offset, 1), (offset + 4, 2));
            assert_eq!(pins(write_pair, opcode, 0, (1, 2)), Some(both));
            let indexed = Some(PinAccess::Write(offset + 4, 7));
            assert_eq!(pins(write_pair, opcode + 8, 0, (7, 1)), indexed);
        }
        // Pins 3 and 33.
        assert_eq!(pins(write, 6, 4, (3, 0)), Some(PinAccess::Write(0x38, 8)));
        assert_eq!(pins(write, 7, 0, (33, 0)), Some(PinAccess::Write(0x24, 2)));
        assert_eq!(pins(write_pair, 4, 0, (3, 1)), Some(PinAccess::Write(0x18, 8)));
        assert_eq!(pins(write_pair, 4, 0, (3, 0)), Some(PinAccess::Write(0x20, 8)));
        assert_eq!(pins(write_pair, 5, 0, (3, 0)), Some(PinAccess::Write(0x28, 0)));
        assert_eq!(pins(write_pair, 5, 0, (3, 1)), Some(PinAccess::Write(0x28, 8)));
        for nothing in
            [(write, 0, 8), (write, 4, 0), (read, 1, 0), (read, 0, 2), (write_pair, 12, 0)]
        {
            let (form, opcode, m) = nothing;
            assert_eq!(pins(form, opcode, m, word), None, "{nothing:?}");
        }
    }
}
