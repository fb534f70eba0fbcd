//! What generated code can do: operations on fifteen registers, four flags and one memory.
//!
//! The meaning of each operation is that of the Arm instruction of the same kind; nothing here knows its encoding.

#![expect(missing_docs, reason = "names say what variants and fields are")]

/// The number of a register: 0 to 14. The low two bits of register 13, the stack pointer, are always clear.
pub type Register = u8;

/// The stack pointer.
pub const STACK_POINTER: Register = 13;

/// The type of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Left,
    Right,
    Arithmetic,
    Rotate,
}

/// A flexible second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(Register),
    Immediate(u32),
    /// An immediate whose bit 31 bitwise operations copy to the carry flag.
    ImmediateWithCarry(u32),
    /// A register shifted by 1 to 31 bits. Bitwise operations copy the last bit shifted out to the carry flag.
    Shifted(Register, Shift, u8),
}

/// A bitwise operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bitwise {
    And,
    Or,
    ExclusiveOr,
    AndNot,
    OrNot,
    /// The second operand.
    Move,
    /// The complement of the second operand.
    Not,
}

/// An addition or subtraction of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    Add,
    AddCarry,
    Subtract,
    SubtractCarry,
    ReverseSubtract,
}

/// Whether an operation sets the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagEffect {
    Kept,
    Set,
}

/// A part of a register that is extended to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    UnsignedByte,
    UnsignedHalf,
    SignedByte,
    SignedHalf,
}

/// A function of one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    LeadingZeros,
    ReverseBits,
    ReverseBytes,
}

/// What a product is combined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulate {
    Nothing,
    AddedTo(Register),
    SubtractedFrom(Register),
}

/// The type of a datum in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum {
    Word,
    Part(Part),
}

/// What is added to the base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    Immediate(u32),
    /// A register shifted left.
    Register(Register, u8),
}

/// When the base of an address receives the sum of base and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    Never,
    /// The sum is the address, too.
    Before,
    /// The address is the base.
    After,
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Register,
    pub offset: Offset,
    pub write_back: WriteBack,
}

/// The words of a list of registers in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// One bit for each register.
    pub registers: u16,
    pub base: Register,
    /// Whether the words end where the base points, or begin there.
    pub before: bool,
    pub write_back: bool,
}

/// An operation. Conditions are numbered as Arm encodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Nothing,
    /// Bitwise operations. Without `to` only the flags are set.
    Bitwise {
        of: Bitwise,
        to: Option<Register>,
        first: Register,
        second: Operand,
        flags: FlagEffect,
    },
    Sum {
        of: Sum,
        to: Option<Register>,
        first: Register,
        second: Operand,
        flags: FlagEffect,
    },
    /// A shift by the low byte of a register.
    ShiftBy {
        shift: Shift,
        to: Register,
        value: Register,
        amount: Register,
        flags: FlagEffect,
    },
    Unary {
        of: Unary,
        to: Register,
        from: Register,
    },
    /// Extends part of a register that is first rotated right, and adds it to another one.
    Extend {
        part: Part,
        to: Register,
        from: Register,
        rotation: u8,
        added_to: Option<Register>,
    },
    /// Replaces the upper half of a register.
    SetUpperHalf {
        to: Register,
        value: u16,
    },
    /// Moves the bits of `from`, or zeros, to a field of `width` bits from bit `low` on.
    InsertField {
        to: Register,
        from: Option<Register>,
        low: u8,
        width: u8,
    },
    /// Extracts a field, which lies within the word.
    ExtractField {
        to: Register,
        from: Register,
        low: u8,
        width: u8,
        signed: bool,
    },
    Multiply {
        to: Register,
        factors: [Register; 2],
        accumulate: Accumulate,
        flags: FlagEffect,
    },
    /// A product of two words, added to `[low, high]` if it accumulates.
    MultiplyLong {
        to: [Register; 2],
        factors: [Register; 2],
        signed: bool,
        accumulates: bool,
    },
    Load {
        datum: Datum,
        to: Register,
        address: Address,
    },
    Store {
        datum: Datum,
        from: Register,
        address: Address,
    },
    LoadList(List),
    StoreList(List),
    LoadPair {
        to: [Register; 2],
        address: Address,
    },
    StorePair {
        from: [Register; 2],
        address: Address,
    },
    /// Leaves unless a condition holds.
    Expect {
        condition: u8,
    },
    /// Leaves unless a register is zero, or unless it is not.
    ExpectZero {
        register: Register,
        is_zero: bool,
    },
    /// Leaves unless a register has this value.
    ExpectValue {
        register: Register,
        value: u32,
    },
    /// Loads a list, and the value after it, and leaves with nothing changed unless that is `value`.
    LoadListThen {
        list: List,
        value: u32,
    },
    /// Continues with the next `then` operations if a condition holds, and with the `otherwise` ones after them
    /// if not. They only calculate.
    Select {
        condition: u8,
        then: u8,
        otherwise: u8,
    },
}

/// An operation, and the number by which the caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub number: u32,
    pub operation: Operation,
}
