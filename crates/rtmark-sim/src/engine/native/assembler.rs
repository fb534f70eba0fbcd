//! An assembler for what native code needs of x86-64 (Intel 64 and IA-32 Architectures Software Developer's Manual,
//! volume 2).
//!
//! Operations are on 32 bits unless they say otherwise. It knows two places in memory: a *field*, at an offset
//! from RDI, and a *datum*, at RSI plus a scaled RAX.

/// A register of the host, by its number in encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reg(pub u8);

impl Reg {
    pub const RAX: Self = Self(0);
    pub const RCX: Self = Self(1);
    pub const RDX: Self = Self(2);
    pub const RSI: Self = Self(6);
    pub const RDI: Self = Self(7);
    pub const R8: Self = Self(8);
    pub const R9: Self = Self(9);
    pub const R10: Self = Self(10);
    pub const R11: Self = Self(11);

    /// The bits that fit into the fields for registers; the fourth one is in a prefix.
    const fn low(self) -> u8 {
        self.0 & 7
    }
}

/// The offset of a field from RDI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field(pub i32);

/// An operand that an instruction reads from a register or from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Reg(Reg),
    Field(Field),
}

/// Arithmetic with two operands, by its number in encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    Add = 0,
    Or = 1,
    Adc = 2,
    Sbb = 3,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Shifts, by their number in encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Ror = 1,
    Shl = 4,
    Shr = 5,
    Sar = 7,
}

/// Operations on one register, by their number in encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not = 2,
}

/// A condition, by its number in encodings. The lowest bit inverts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cond(u8);

impl Cond {
    pub const OVERFLOW: Self = Self(0);
    pub const BELOW: Self = Self(2);
    pub const NOT_BELOW: Self = Self(3);
    pub const EQUAL: Self = Self(4);
    pub const NOT_EQUAL: Self = Self(5);
    pub const ABOVE: Self = Self(7);
    pub const SIGN: Self = Self(8);
    pub const NOT_LESS: Self = Self(13);
    pub const GREATER: Self = Self(15);

    #[must_use]
    pub const fn inverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The data that a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datum {
    /// 1, 2 or 4 bytes.
    pub size: u8,
    /// Whether a load extends the sign.
    pub signed: bool,
}

impl Datum {
    pub const WORD: Self = Self { size: 4, signed: false };
    pub const UNSIGNED_HALF: Self = Self { size: 2, signed: false };
    pub const SIGNED_HALF: Self = Self { size: 2, signed: true };
    pub const UNSIGNED_BYTE: Self = Self { size: 1, signed: false };
    pub const SIGNED_BYTE: Self = Self { size: 1, signed: true };

    /// The binary logarithm of its size.
    pub const fn scale(self) -> u8 {
        self.size.trailing_zeros() as u8
    }
}

/// A place in the code that is jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Code in the making.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u8>,
    /// The offsets of labels.
    labels: Vec<Option<usize>>,
    /// Offsets of distances that end a jump, with its target.
    jumps: Vec<(usize, Label)>,
    /// Offsets of words to which the place of the first link is added: see [`super::links`].
    link_places: Vec<usize>,
}

/// The size of a link.
pub const LINK_BYTES: u32 = 8;

/// The prefix of operations on 64 bits.
const WIDE: u8 = 8;
/// The prefix that only gives access to the lowest byte of every register.
const BYTE: u8 = 0x40;

impl Assembler {
    /// Creates a label, which is nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts a label here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Returns the offset of what comes next.
    pub fn offset(&self) -> usize {
        self.code.len()
    }

    /// Returns the offsets of the words to which the place of the first link is to be added.
    pub fn link_places(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.link_places)
    }

    /// Returns the code with all jumps resolved, or `None` if one leads nowhere.
    pub fn finish(self) -> Option<Vec<u8>> {
        let Self { mut code, labels, jumps, .. } = self;
        for (at, label) in jumps {
            let target = (*labels.get(label.0)?)?;
            // Relative to the end of the jump.
            let distance = i32::try_from(target as i64 - (at as i64 + 4)).ok()?;
            code.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
        }
        Some(code)
    }

    fn word(&mut self, value: u32) {
        self.code.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a prefix, if one is needed, and an opcode.
    fn opcode(&mut self, flags: u8, reg: Reg, rm: Reg, opcode: &[u8]) {
        let prefix = 0x40 | flags | (reg.0 >> 3) << 2 | rm.0 >> 3;
        if prefix != 0x40 || flags != 0 {
            self.code.push(prefix);
        }
        self.code.extend_from_slice(opcode);
    }

    /// Appends an instruction with a register, or a number in its place, and an operand.
    fn instruction(&mut self, flags: u8, opcode: &[u8], reg: Reg, operand: Operand) {
        match operand {
            Operand::Reg(rm) => {
                self.opcode(flags, reg, rm, opcode);
                self.code.push(0xC0 | reg.low() << 3 | rm.low());
            }
            Operand::Field(Field(offset)) => {
                self.opcode(flags, reg, Reg::RDI, opcode);
                let fields = reg.low() << 3 | Reg::RDI.low();
                if let Ok(short) = i8::try_from(offset) {
                    self.code.extend_from_slice(&[0x40 | fields, short as u8]);
                } else {
                    self.code.push(0x80 | fields);
                    self.word(offset as u32);
                }
            }
        }
    }

    /// Appends an instruction with a datum at a base + (RAX << scale) + offset.
    fn of_datum(&mut self, opcode: &[u8], reg: Reg, base: Reg, scale: u8, offset: u8) {
        self.opcode(BYTE, reg, base, opcode);
        let size = if offset == 0 { 0 } else { 0x40 };
        let place = [size | 4 | reg.low() << 3, scale << 6 | Reg::RAX.low() << 3 | base.low()];
        self.code.extend_from_slice(&place);
        if offset != 0 {
            self.code.push(offset);
        }
    }

    pub fn mov(&mut self, to: Reg, from: Operand) {
        if from != Operand::Reg(to) {
            self.instruction(0, &[0x8B], to, from);
        }
    }

    pub fn mov_immediate(&mut self, to: Reg, value: u32) {
        self.opcode(0, Reg(0), to, &[0xB8 | to.low()]);
        self.word(value);
    }

    pub fn store(&mut self, to: Field, from: Reg) {
        self.instruction(0, &[0x89], from, Operand::Field(to));
    }

    /// Stores all 64 bits of a register.
    pub fn store_wide(&mut self, to: Field, from: Reg) {
        self.instruction(WIDE, &[0x89], from, Operand::Field(to));
    }

    pub fn store_byte(&mut self, to: Field, value: u8) {
        self.instruction(0, &[0xC6], Reg(0), Operand::Field(to));
        self.code.push(value);
    }

    pub fn alu(&mut self, alu: Alu, to: Reg, from: Operand) {
        self.instruction(0, &[(alu as u8) << 3 | 3], to, from);
    }

    pub fn alu_immediate(&mut self, alu: Alu, to: Operand, value: u32) {
        if let Ok(short) = i8::try_from(value as i32) {
            self.instruction(0, &[0x83], Reg(alu as u8), to);
            self.code.push(short as u8);
        } else {
            self.instruction(0, &[0x81], Reg(alu as u8), to);
            self.word(value);
        }
    }

    /// Stores a word.
    pub fn store_immediate(&mut self, to: Field, value: u32) {
        self.instruction(0, &[0xC7], Reg(0), Operand::Field(to));
        self.word(value);
    }

    /// Stores the place of the first link.
    pub fn store_first_link(&mut self, to: Field) {
        self.store_immediate(to, 0);
        self.link_places.push(self.code.len() - 4);
    }

    /// Loads all 64 bits of a register.
    pub fn load_wide(&mut self, to: Reg, from: Field) {
        self.instruction(WIDE, &[0x8B], to, Operand::Field(from));
    }

    /// Loads the 64 bits of a link, where the links begin at the address in a register.
    pub fn load_link(&mut self, to: Reg, links: Reg, link: u32) {
        self.of_link(0x8B, to, links, link);
    }

    /// Compares 64 bits of a register with a link, where the links begin at the address in another one.
    pub fn compare_link(&mut self, reg: Reg, links: Reg, link: u32) {
        self.of_link(0x3B, reg, links, link);
    }

    /// Adds all 64 bits of a register to another one.
    pub fn add_wide_register(&mut self, to: Reg, from: Reg) {
        self.instruction(WIDE, &[0x03], to, Operand::Reg(from));
    }

    /// Loads 64 bits from an offset below 2³¹ from the address in a register.
    pub fn load_wide_at(&mut self, to: Reg, base: Reg, offset: u32) {
        self.of_base(WIDE, &[0x8B], to, base, offset);
    }

    /// Stores 64 bits at an offset below 2³¹ from the address in a register.
    pub fn store_wide_at(&mut self, base: Reg, offset: u32, from: Reg) {
        self.of_base(WIDE, &[0x89], from, base, offset);
    }

    /// Adds 1 to 64 bits at an offset below 2³¹ from the address in a register.
    pub fn increment_wide_at(&mut self, base: Reg, offset: u32) {
        self.of_base(WIDE, &[0xFF], Reg(0), base, offset);
    }

    /// Compares 32 bits at an offset below 2³¹ from the address in a register.
    pub fn compare_at(&mut self, base: Reg, offset: u32, value: u32) {
        self.of_base(0, &[0x81], Reg(Alu::Cmp as u8), base, offset);
        self.word(value);
    }

    /// Loads a byte from an offset below 2³¹ from the address in a register.
    pub fn load_byte_at(&mut self, to: Reg, base: Reg, offset: u32) {
        self.of_base(0, &[0x0F, 0xB6], to, base, offset);
    }

    /// Adds eight times RCX and an offset below 2³¹ to the address in RAX, into RCX.
    pub fn address_of_eighth(&mut self, offset: u32) {
        self.opcode(WIDE, Reg::RCX, Reg::RAX, &[0x8D, 0x80 | Reg::RCX.low() << 3 | 4]);
        self.code.push(3 << 6 | Reg::RCX.low() << 3 | Reg::RAX.low());
        self.word(offset);
    }

    fn of_link(&mut self, opcode: u8, reg: Reg, links: Reg, link: u32) {
        self.of_base(WIDE, &[opcode], reg, links, link.wrapping_mul(LINK_BYTES));
        self.link_places.push(self.code.len() - 4);
    }

    fn of_base(&mut self, flags: u8, opcode: &[u8], reg: Reg, base: Reg, offset: u32) {
        // A base of R12 would need another encoding.
        debug_assert_ne!(base.low(), 4, "{base:?}");
        self.opcode(flags, reg, base, opcode);
        self.code.push(0x80 | reg.low() << 3 | base.low());
        self.word(offset);
    }

    /// Calculates with all 64 bits of a register and a field.
    pub fn alu_wide(&mut self, alu: Alu, to: Reg, from: Field) {
        self.instruction(WIDE, &[(alu as u8) << 3 | 3], to, Operand::Field(from));
    }

    /// Adds a value below 2³¹ to all 64 bits of an operand.
    pub fn add_wide(&mut self, to: Operand, value: u32) {
        let short = i8::try_from(value).ok();
        let opcode = if short.is_some() { 0x83 } else { 0x81 };
        self.instruction(WIDE, &[opcode], Reg(Alu::Add as u8), to);
        match short {
            Some(short) => self.code.push(short as u8),
            None => self.word(value),
        }
    }

    /// Compares all 64 bits of a field with a value below 2³¹.
    pub fn compare_wide(&mut self, field: Field, value: u32) {
        self.instruction(WIDE, &[0x81], Reg(Alu::Cmp as u8), Operand::Field(field));
        self.word(value);
    }

    pub fn compare_byte(&mut self, field: Field, value: u8) {
        self.instruction(0, &[0x80], Reg(Alu::Cmp as u8), Operand::Field(field));
        self.code.push(value);
    }

    /// Compares a register with itself ANDed: only zero and sign are known then.
    pub fn test(&mut self, reg: Reg) {
        self.instruction(0, &[0x85], reg, Operand::Reg(reg));
    }

    /// The same with all 64 bits.
    pub fn test_wide(&mut self, reg: Reg) {
        self.instruction(WIDE, &[0x85], reg, Operand::Reg(reg));
    }

    /// Tests bits of the lowest byte of a register.
    pub fn test_byte(&mut self, reg: Reg, bits: u8) {
        self.instruction(BYTE, &[0xF6], Reg(0), Operand::Reg(reg));
        self.code.push(bits);
    }

    /// Tests bits of a byte in memory.
    pub fn test_field(&mut self, field: Field, bits: u8) {
        self.instruction(0, &[0xF6], Reg(0), Operand::Field(field));
        self.code.push(bits);
    }

    /// Compares 16 bits in memory with a short value.
    pub fn compare_half(&mut self, field: Field, value: i8) {
        self.code.push(0x66);
        self.instruction(0, &[0x83], Reg(Alu::Cmp as u8), Operand::Field(field));
        self.code.push(value as u8);
    }

    /// Inverts the host's carry flag.
    pub fn complement_carry(&mut self) {
        self.code.push(0xF5);
    }

    pub fn unary(&mut self, unary: Unary, to: Reg) {
        self.instruction(0, &[0xF7], Reg(unary as u8), Operand::Reg(to));
    }

    pub fn multiply(&mut self, to: Reg, from: Operand) {
        self.instruction(0, &[0x0F, 0xAF], to, from);
    }

    /// Multiplies 64 bits.
    pub fn multiply_wide(&mut self, to: Reg, from: Reg) {
        self.instruction(WIDE, &[0x0F, 0xAF], to, Operand::Reg(from));
    }

    /// Extends 32 bits with their sign to 64.
    pub fn extend_sign(&mut self, to: Reg, from: Reg) {
        self.instruction(WIDE, &[0x63], to, Operand::Reg(from));
    }

    /// Divides EAX, with EDX above it, by a register, into EAX, with the rest in EDX.
    pub fn divide(&mut self, by: Reg) {
        self.instruction(0, &[0xF7], Reg(6), Operand::Reg(by));
    }

    /// Shifts by 1 to 31.
    pub fn shift(&mut self, shift: Shift, to: Reg, count: u8) {
        self.instruction(0, &[0xC1], Reg(shift as u8), Operand::Reg(to));
        self.code.push(count);
    }

    /// Rotates to the right by the lowest five bits of RCX.
    pub fn rotate_by_rcx(&mut self, to: Reg) {
        self.instruction(0, &[0xD3], Reg(Shift::Ror as u8), Operand::Reg(to));
    }

    /// Finds the highest bit that is set. If there is none, the result is not defined, and the host's flags say zero.
    pub fn highest_bit(&mut self, to: Reg, from: Reg) {
        self.instruction(0, &[0x0F, 0xBD], to, Operand::Reg(from));
    }

    /// Copies a register if a condition holds.
    pub fn mov_if(&mut self, cond: Cond, to: Reg, from: Reg) {
        self.instruction(0, &[0x0F, 0x40 | cond.0], to, Operand::Reg(from));
    }

    /// Shifts 64 bits by the lowest six bits of RCX.
    pub fn shift_wide_by_rcx(&mut self, shift: Shift, to: Reg) {
        self.instruction(WIDE, &[0xD3], Reg(shift as u8), Operand::Reg(to));
    }

    /// Shifts 64 bits by 1 to 63.
    pub fn shift_wide(&mut self, shift: Shift, to: Reg, count: u8) {
        self.instruction(WIDE, &[0xC1], Reg(shift as u8), Operand::Reg(to));
        self.code.push(count);
    }

    /// Makes one of 64 bits the host's carry flag.
    pub fn test_bit_wide(&mut self, reg: Reg, bit: u8) {
        self.instruction(WIDE, &[0x0F, 0xBA], Reg(4), Operand::Reg(reg));
        self.code.push(bit);
    }

    /// Adds an offset to a register, which changes no flags.
    pub fn add_offset(&mut self, to: Reg, base: Reg, offset: u32) {
        // A base of R12 would need another encoding.
        debug_assert_ne!(base.low(), 4, "{base:?}");
        let short = i8::try_from(offset as i32).ok();
        let size = if short.is_some() { 0x40 } else { 0x80 };
        self.opcode(0, to, base, &[0x8D]);
        self.code.push(size | to.low() << 3 | base.low());
        match short {
            Some(short) => self.code.push(short as u8),
            None => self.word(offset),
        }
    }

    /// Extends the lowest byte or half of a register.
    pub fn extend(&mut self, to: Reg, from: Reg, datum: Datum) {
        self.instruction(BYTE, &[0x0F, extending(datum)], to, Operand::Reg(from));
    }

    pub fn swap_bytes(&mut self, to: Reg) {
        self.opcode(0, Reg(0), to, &[0x0F, 0xC8 | to.low()]);
    }

    /// Sets a byte in memory to 1 if a condition holds, otherwise to 0.
    pub fn set_field(&mut self, cond: Cond, field: Field) {
        self.instruction(0, &[0x0F, 0x90 | cond.0], Reg(0), Operand::Field(field));
    }

    /// Sets the lowest byte of a register to 1 if a condition holds, otherwise to 0.
    pub fn set(&mut self, cond: Cond, to: Reg) {
        self.instruction(BYTE, &[0x0F, 0x90 | cond.0], Reg(0), Operand::Reg(to));
    }

    pub fn load_datum(&mut self, to: Reg, datum: Datum, scale: u8, offset: u8) {
        self.load_from(Reg::RSI, to, datum, scale, offset);
    }

    /// Loads a datum at RCX + (RAX << scale).
    pub fn load_code_datum(&mut self, to: Reg, datum: Datum, scale: u8) {
        self.load_from(Reg::RCX, to, datum, scale, 0);
    }

    fn load_from(&mut self, base: Reg, to: Reg, datum: Datum, scale: u8, offset: u8) {
        match datum.size {
            4 => self.of_datum(&[0x8B], to, base, scale, offset),
            _ => self.of_datum(&[0x0F, extending(datum)], to, base, scale, offset),
        }
    }

    pub fn store_datum(&mut self, from: Reg, datum: Datum, scale: u8, offset: u8) {
        if datum.size == 2 {
            self.code.push(0x66);
        }
        let opcode = if datum.size == 1 { 0x88 } else { 0x89 };
        self.of_datum(&[opcode], from, Reg::RSI, scale, offset);
    }

    pub fn jump_if(&mut self, cond: Cond, to: Label) {
        self.code.extend_from_slice(&[0x0F, 0x80 | cond.0]);
        self.jump_distance(to);
    }

    pub fn jump(&mut self, to: Label) {
        self.code.push(0xE9);
        self.jump_distance(to);
    }

    /// Jumps to the address in a register.
    pub fn jump_to(&mut self, address: Reg) {
        self.instruction(0, &[0xFF], Reg(4), Operand::Reg(address));
    }

    fn jump_distance(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.word(0);
    }

    pub fn ret(&mut self) {
        self.code.push(0xC3);
    }
}

/// Returns the second byte of the opcodes that extend a byte or half to 32 bits.
const fn extending(datum: Datum) -> u8 {
    0xB6 | (datum.size == 2) as u8 | (datum.signed as u8) << 3
}

#[cfg(test)]
mod tests;
