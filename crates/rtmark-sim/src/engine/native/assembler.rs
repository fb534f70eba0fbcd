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
}

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

    /// Returns the code with all jumps resolved, or `None` if one leads nowhere.
    pub fn finish(self) -> Option<Vec<u8>> {
        let Self { mut code, labels, jumps } = self;
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

    /// Appends an instruction with a datum at RSI + (RAX << scale) + offset.
    fn of_datum(&mut self, opcode: &[u8], reg: Reg, scale: u8, offset: u8) {
        self.opcode(BYTE, reg, Reg::RSI, opcode);
        let size = if offset == 0 { 0 } else { 0x40 };
        let place = [size | 4 | reg.low() << 3, scale << 6 | Reg::RAX.low() << 3 | Reg::RSI.low()];
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

    /// Shifts by 1 to 31.
    pub fn shift(&mut self, shift: Shift, to: Reg, count: u8) {
        self.instruction(0, &[0xC1], Reg(shift as u8), Operand::Reg(to));
        self.code.push(count);
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
        match datum.size {
            4 => self.of_datum(&[0x8B], to, scale, offset),
            _ => self.of_datum(&[0x0F, extending(datum)], to, scale, offset),
        }
    }

    pub fn store_datum(&mut self, from: Reg, datum: Datum, scale: u8, offset: u8) {
        if datum.size == 2 {
            self.code.push(0x66);
        }
        let opcode = if datum.size == 1 { 0x88 } else { 0x89 };
        self.of_datum(&[opcode], from, scale, offset);
    }

    pub fn jump_if(&mut self, cond: Cond, to: Label) {
        self.code.extend_from_slice(&[0x0F, 0x80 | cond.0]);
        self.jump_distance(to);
    }

    pub fn jump(&mut self, to: Label) {
        self.code.push(0xE9);
        self.jump_distance(to);
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
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

    use super::*;

    const FAR: Field = Field(-0x1234);
    const NEAR: Field = Field(0x40);
    const SIGNED_BYTE: Datum = Datum { size: 1, signed: true };
    const BYTE_DATUM: Datum = Datum { size: 1, signed: false };
    const SIGNED_HALF: Datum = Datum { size: 2, signed: true };
    const HALF: Datum = Datum { size: 2, signed: false };

    /// Returns the instructions that another decoder reads.
    fn read(write: impl FnOnce(&mut Assembler)) -> String {
        let mut asm = Assembler::default();
        write(&mut asm);
        let code = asm.finish().expect("all labels are bound");
        let mut formatter = IntelFormatter::new();
        let mut texts = Vec::new();
        for instruction in &mut Decoder::with_ip(64, &code, 0, DecoderOptions::NONE) {
            assert!(!instruction.is_invalid(), "{code:02x?}");
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            texts.push(text);
        }
        texts.join("; ")
    }

    macro_rules! reads {
        ($($expected:literal = |$asm:ident| $($write:expr),+;)*) => {
            $(assert_eq!(read(|$asm| { $($write;)+ }), $expected);)*
        };
    }

    #[test]
    fn another_decoder_reads_what_is_written() {
        use Alu::{Adc, Add, And, Cmp, Or, Sbb, Sub, Xor};
        let (near, far) = (Operand::Field(NEAR), Operand::Field(FAR));
        let reg = Operand::Reg;
        reads! {
            "mov eax,r9d" = |asm| asm.mov(Reg::RAX, reg(Reg::R9));
            "mov r11d,edx" = |asm| asm.mov(Reg::R11, reg(Reg::RDX));
            "" = |asm| asm.mov(Reg::R8, reg(Reg::R8));
            "mov r8d,[rdi+40h]" = |asm| asm.mov(Reg::R8, near);
            "mov edx,[rdi-1234h]" = |asm| asm.mov(Reg::RDX, far);
            "mov ecx,89ABCDEFh" = |asm| asm.mov_immediate(Reg::RCX, 0x89AB_CDEF);
            "mov r10d,1" = |asm| asm.mov_immediate(Reg::R10, 1);
            "mov [rdi+40h],r10d" = |asm| asm.store(NEAR, Reg::R10);
            "mov [rdi-1234h],rax" = |asm| asm.store_wide(FAR, Reg::RAX);
            "mov byte ptr [rdi+40h],1" = |asm| asm.store_byte(NEAR, 1);
            "add eax,ecx; or ecx,r8d" =
                |asm| asm.alu(Add, Reg::RAX, reg(Reg::RCX)), asm.alu(Or, Reg::RCX, reg(Reg::R8));
            "adc eax,[rdi+40h]; sbb eax,edx" =
                |asm| asm.alu(Adc, Reg::RAX, near), asm.alu(Sbb, Reg::RAX, reg(Reg::RDX));
            "and r9d,r11d; sub eax,r10d; xor eax,eax" =
                |asm| asm.alu(And, Reg::R9, reg(Reg::R11)), asm.alu(Sub, Reg::RAX, reg(Reg::R10)),
                asm.alu(Xor, Reg::RAX, reg(Reg::RAX));
            "cmp ecx,[rdi-1234h]" = |asm| asm.alu(Cmp, Reg::RCX, far);
            "cmp eax,0FFFFFF80h; add r9d,7Fh" =
                |asm| asm.alu_immediate(Cmp, reg(Reg::RAX), 0xFFFF_FF80),
                asm.alu_immediate(Add, reg(Reg::R9), 127);
            "sub eax,80h; cmp dword ptr [rdi+40h],0" =
                |asm| asm.alu_immediate(Sub, reg(Reg::RAX), 128), asm.alu_immediate(Cmp, near, 0);
            "cmp qword ptr [rdi+40h],7FFFFFFFh" = |asm| asm.compare_wide(NEAR, 0x7FFF_FFFF);
            "cmp byte ptr [rdi-1234h],1" = |asm| asm.compare_byte(FAR, 1);
            "cmp word ptr [rdi-1234h],0" = |asm| asm.compare_half(FAR, 0);
            "test r8d,r8d; test edx,edx" = |asm| asm.test(Reg::R8), asm.test(Reg::RDX);
            "test al,1; test cl,0C0h" = |asm| asm.test_byte(Reg::RAX, 1), asm.test_byte(Reg::RCX, 0xC0);
            "test byte ptr [rdi-1234h],2" = |asm| asm.test_field(FAR, 2);
            "cmc; ret" = |asm| asm.complement_carry(), asm.ret();
            "not eax; not r9d" = |asm| asm.unary(Unary::Not, Reg::RAX), asm.unary(Unary::Not, Reg::R9);
            "imul eax,r11d; imul ecx,[rdi+40h]" =
                |asm| asm.multiply(Reg::RAX, reg(Reg::R11)), asm.multiply(Reg::RCX, near);
            "ror eax,2; shl r8d,1Fh; shr ecx,7; sar edx,1" =
                |asm| asm.shift(Shift::Ror, Reg::RAX, 2), asm.shift(Shift::Shl, Reg::R8, 31),
                asm.shift(Shift::Shr, Reg::RCX, 7), asm.shift(Shift::Sar, Reg::RDX, 1);
            "shl rax,20h; sar rax,cl; shr rax,cl" =
                |asm| asm.shift_wide(Shift::Shl, Reg::RAX, 32), asm.shift_wide_by_rcx(Shift::Sar, Reg::RAX),
                asm.shift_wide_by_rcx(Shift::Shr, Reg::RAX);
            "bt rax,20h" = |asm| asm.test_bit_wide(Reg::RAX, 32);
            "lea eax,[r9+1000h]; lea ecx,[rdx-4]; lea eax,[rax]" =
                |asm| asm.add_offset(Reg::RAX, Reg::R9, 0x1000), asm.add_offset(Reg::RCX, Reg::RDX, !3),
                asm.add_offset(Reg::RAX, Reg::RAX, 0);
            "movsx eax,r8b; movzx ecx,dl; movsx eax,ax; movzx eax,r11w" =
                |asm| asm.extend(Reg::RAX, Reg::R8, SIGNED_BYTE), asm.extend(Reg::RCX, Reg::RDX, BYTE_DATUM),
                asm.extend(Reg::RAX, Reg::RAX, SIGNED_HALF), asm.extend(Reg::RAX, Reg::R11, HALF);
            "bswap eax; bswap r9d" = |asm| asm.swap_bytes(Reg::RAX), asm.swap_bytes(Reg::R9);
            "setb [rdi+40h]; seto cl" =
                |asm| asm.set_field(Cond::BELOW, NEAR), asm.set(Cond::OVERFLOW, Reg::RCX);
            "mov eax,[rsi+rax*4]; mov r8d,[rsi+rax*4+3Ch]" =
                |asm| asm.load_datum(Reg::RAX, Datum::WORD, 2, 0), asm.load_datum(Reg::R8, Datum::WORD, 2, 60);
            "movzx eax,word ptr [rsi+rax*2]; movsx eax,byte ptr [rsi+rax]" =
                |asm| asm.load_datum(Reg::RAX, HALF, 1, 0), asm.load_datum(Reg::RAX, SIGNED_BYTE, 0, 0);
            "mov [rsi+rax*4],r9d; mov [rsi+rax*2],r9w; mov [rsi+rax],dl" =
                |asm| asm.store_datum(Reg::R9, Datum::WORD, 2, 0), asm.store_datum(Reg::R9, HALF, 1, 0),
                asm.store_datum(Reg::RDX, BYTE_DATUM, 0, 0);
        }
    }

    #[test]
    fn conditions_and_their_inverses_have_their_names() {
        let all = [
            (Cond::OVERFLOW, "jo", "jno"),
            (Cond::BELOW, "jb", "jae"),
            (Cond::NOT_BELOW, "jae", "jb"),
            (Cond::EQUAL, "je", "jne"),
            (Cond::NOT_EQUAL, "jne", "je"),
            (Cond::ABOVE, "ja", "jbe"),
            (Cond::SIGN, "js", "jns"),
            (Cond::NOT_LESS, "jge", "jl"),
            (Cond::GREATER, "jg", "jle"),
        ];
        for (cond, name, inverse) in all {
            for (cond, name) in [(cond, name), (cond.inverse(), inverse)] {
                let written = read(|asm| {
                    let there = asm.label();
                    asm.jump_if(cond, there);
                    asm.ret();
                    asm.bind(there);
                    asm.jump(there);
                });
                assert_eq!(written, format!("{name} 7; ret; jmp 7"));
            }
        }
    }

    #[test]
    fn code_with_a_jump_to_nowhere_is_none() {
        let mut asm = Assembler::default();
        let nowhere = asm.label();
        asm.jump(nowhere);
        assert_eq!(asm.finish(), None);
    }
}
