//! Instructions of RV32IMAC with Zba, Zbb, Zbs and Zbkb as words, by the specifications' tables.
//!
//! Sources: The RISC-V Instruction Set Manual, volume I, chapter "RV32/64G Instruction Set Listings" and
//! the tables of the extensions. Written apart from the simulator's, which they judge.

/// `funct7` and `funct3` of the operations on two registers (opcode OP).
pub const REGISTERS: [(u32, u32); 36] = [
    (0x00, 0), // add
    (0x20, 0), // sub
    (0x00, 1), // sll
    (0x00, 2), // slt
    (0x00, 3), // sltu
    (0x00, 4), // xor
    (0x00, 5), // srl
    (0x20, 5), // sra
    (0x00, 6), // or
    (0x00, 7), // and
    (0x01, 0), // mul
    (0x01, 1), // mulh
    (0x01, 2), // mulhsu
    (0x01, 3), // mulhu
    (0x01, 4), // div
    (0x01, 5), // divu
    (0x01, 6), // rem
    (0x01, 7), // remu
    (0x10, 2), // sh1add
    (0x10, 4), // sh2add
    (0x10, 6), // sh3add
    (0x20, 7), // andn
    (0x20, 6), // orn
    (0x20, 4), // xnor
    (0x05, 4), // min
    (0x05, 5), // minu
    (0x05, 6), // max
    (0x05, 7), // maxu
    (0x30, 1), // rol
    (0x30, 5), // ror
    (0x24, 1), // bclr
    (0x24, 5), // bext
    (0x34, 1), // binv
    (0x14, 1), // bset
    (0x04, 4), // pack
    (0x04, 7), // packh
];

/// `funct7` and `funct3` of the shifts by a constant, and of the single bits.
pub const SHIFTS: [(u32, u32); 8] = [
    (0x00, 1), // slli
    (0x00, 5), // srli
    (0x20, 5), // srai
    (0x30, 5), // rori
    (0x24, 1), // bclri
    (0x24, 5), // bexti
    (0x34, 1), // binvi
    (0x14, 1), // bseti
];

/// The upper twelve bits and `funct3` of the operations on one register.
pub const UNARY: [(u32, u32); 10] = [
    (0x600, 1), // clz
    (0x601, 1), // ctz
    (0x602, 1), // cpop
    (0x604, 1), // sext.b
    (0x605, 1), // sext.h
    (0x287, 5), // orc.b
    (0x698, 5), // rev8
    (0x687, 5), // brev8
    (0x08F, 1), // zip
    (0x08F, 5), // unzip
];

/// `funct5` of the atomic operations: add, swap, xor, or, and, min, max, minu, maxu.
pub const ATOMICS: [u32; 9] = [0x00, 0x01, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C];

/// `funct3` of loads with the bytes that they take.
pub const LOADS: [(u32, u32); 5] = [(0, 1), (1, 2), (2, 4), (4, 1), (5, 2)];
/// Of stores.
pub const STORES: [(u32, u32); 3] = [(0, 1), (1, 2), (2, 4)];
/// Of branches.
pub const BRANCHES: [u32; 6] = [0, 1, 4, 5, 6, 7];
/// Of the operations with a constant: addi slti sltiu xori ori andi.
pub const IMMEDIATES: [u32; 6] = [0, 2, 3, 4, 6, 7];

pub const fn r_type((funct7, funct3): (u32, u32), d: u32, a: u32, b: u32, opcode: u32) -> u32 {
    funct7 << 25 | b << 20 | a << 15 | funct3 << 12 | d << 7 | opcode
}

pub const fn i_type(immediate: i32, a: u32, funct3: u32, d: u32, opcode: u32) -> u32 {
    (immediate as u32) << 20 | a << 15 | funct3 << 12 | d << 7 | opcode
}

pub const fn operation(funct: (u32, u32), d: u32, a: u32, b: u32) -> u32 {
    r_type(funct, d, a, b, 0x33)
}

pub const fn addi(d: u32, a: u32, immediate: i32) -> u32 {
    i_type(immediate, a, 0, d, 0x13)
}

pub const fn immediate(funct3: u32, d: u32, a: u32, value: i32) -> u32 {
    i_type(value, a, funct3, d, 0x13)
}

pub const fn lui(d: u32, upper: u32) -> u32 {
    upper & 0xFFFF_F000 | d << 7 | 0x37
}

pub const fn auipc(d: u32, upper: u32) -> u32 {
    upper & 0xFFFF_F000 | d << 7 | 0x17
}

pub const fn load(funct3: u32, d: u32, a: u32, offset: i32) -> u32 {
    i_type(offset, a, funct3, d, 0x03)
}

pub const fn store(funct3: u32, b: u32, a: u32, offset: i32) -> u32 {
    let offset = offset as u32;
    (offset >> 5 & 0x7F) << 25 | b << 20 | a << 15 | funct3 << 12 | (offset & 0x1F) << 7 | 0x23
}

pub const fn atomic(funct5: u32, d: u32, a: u32, b: u32) -> u32 {
    r_type((funct5 << 2, 2), d, a, b, 0x2F)
}

pub const fn branch(funct3: u32, a: u32, b: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let (high, low) = ((o >> 12 & 1) << 6 | o >> 5 & 0x3F, o & 0x1E | o >> 11 & 1);
    high << 25 | b << 20 | a << 15 | funct3 << 12 | low << 7 | 0x63
}

pub const fn jal(d: u32, offset: i32) -> u32 {
    let o = offset as u32;
    (o >> 20 & 1) << 31
        | (o >> 1 & 0x3FF) << 21
        | (o >> 11 & 1) << 20
        | (o >> 12 & 0xFF) << 12
        | d << 7
        | 0x6F
}

/// Compressed operations on `rd`, with six bits of a constant: c.addi, c.li, c.slli.
pub const fn c_immediate(funct3: u16, quadrant: u16, d: u16, value: u16) -> u16 {
    funct3 << 13 | (value >> 5 & 1) << 12 | d << 7 | (value & 0x1F) << 2 | quadrant
}

/// c.mv (without `adds`) and c.add.
pub const fn c_registers(adds: bool, d: u16, b: u16) -> u16 {
    0b100 << 13 | (adds as u16) << 12 | d << 7 | b << 2 | 2
}

/// c.srli, c.srai, c.andi (`kind` 0 to 2) on one of x8 to x15.
pub const fn c_on_few(kind: u16, d: u16, value: u16) -> u16 {
    0b100 << 13 | (value >> 5 & 1) << 12 | kind << 10 | (d & 7) << 7 | (value & 0x1F) << 2 | 1
}

/// c.sub, c.xor, c.or, c.and (`kind` 0 to 3) on two of x8 to x15.
pub const fn c_two_of_few(kind: u16, d: u16, b: u16) -> u16 {
    0b100 << 13 | 3 << 10 | (d & 7) << 7 | kind << 5 | (b & 7) << 2 | 1
}

/// c.lw and c.sw, at an offset of a multiple of 4 up to 124.
pub const fn c_word(stores: bool, register: u16, a: u16, offset: u16) -> u16 {
    let funct3 = if stores { 0b110 } else { 0b010 };
    funct3 << 13
        | (offset >> 3 & 7) << 10
        | (a & 7) << 7
        | (offset >> 2 & 1) << 6
        | (offset >> 6 & 1) << 5
        | (register & 7) << 2
}

/// c.beqz and c.bnez.
pub const fn c_branch(not: bool, a: u16, offset: u16) -> u16 {
    let funct3 = if not { 0b111 } else { 0b110 };
    funct3 << 13
        | (offset >> 8 & 1) << 12
        | (offset >> 3 & 3) << 10
        | (a & 7) << 7
        | (offset >> 6 & 3) << 5
        | (offset >> 1 & 3) << 3
        | (offset >> 5 & 1) << 2
        | 1
}

/// c.j, and c.jal with a link to ra.
pub const fn c_jump(links: bool, offset: u16) -> u16 {
    let funct3 = if links { 0b001 } else { 0b101 };
    funct3 << 13
        | (offset >> 11 & 1) << 12
        | (offset >> 4 & 1) << 11
        | (offset >> 8 & 3) << 9
        | (offset >> 10 & 1) << 8
        | (offset >> 6 & 1) << 7
        | (offset >> 7 & 1) << 6
        | (offset >> 1 & 7) << 3
        | (offset >> 5 & 1) << 2
        | 1
}

/// c.jr, and c.jalr with a link to ra.
pub const fn c_jump_register(links: bool, a: u16) -> u16 {
    0b100 << 13 | (links as u16) << 12 | a << 7 | 2
}

/// What a 16-bit instruction may work on.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// Any registers.
    pub d: u16,
    pub b: u16,
    /// Two of the eight that some encodings have.
    pub few: u16,
    pub other: u16,
    /// One of these that points to where words may be loaded and stored.
    pub pointer: u16,
    /// Six bits.
    pub value: u16,
}

impl Operands {
    /// One of ten instructions, or the last of them if the chosen one cannot have these operands.
    pub fn compressed(self, which: u32) -> u16 {
        let Self { d, b, few, other, pointer, value } = self;
        let shift = value & 31;
        match which {
            // Of x0 they are hints, which do nothing.
            0 => c_immediate(0b000, 1, d, value),
            1 => c_immediate(0b010, 1, d, value),
            // c.lui: neither of x0 and x2, nor of nothing.
            2 if d > 2 && value != 0 => c_immediate(0b011, 1, d, value),
            3 if shift != 0 => c_immediate(0b000, 2, d, shift),
            4 if b != 0 => c_registers(false, d, b),
            5 if b != 0 => c_registers(true, d, b),
            6 => c_on_few(2, few, value),
            7 if shift != 0 => c_on_few(value >> 5, few, shift),
            8 => c_word(value & 1 == 1, few, pointer, value << 2 & 0x7C),
            _ => c_two_of_few(value & 3, few, other),
        }
    }
}
