//! One instruction as dual issue sees it.

/// The units of a core that an instruction occupies or is restricted by, as bits.
pub mod uses {
    /// An operand that is shifted before use, or a shifted constant.
    pub const SHIFTED: u16 = 1 << 0;
    /// Bit fields, extensions, reversals and operations on parts of words.
    pub const BITS: u16 = 1 << 1;
    /// Those of them that use the shifter before the adder.
    pub const EXTRACTS: u16 = 1 << 2;
    pub const MULTIPLIER: u16 = 1 << 3;
    pub const LOAD: u16 = 1 << 4;
    pub const STORE: u16 = 1 << 5;
    pub const BRANCH: u16 = 1 << 6;
    /// Floating-point arithmetic.
    pub const FLOAT: u16 = 1 << 7;
    /// Sums of floating-point products.
    pub const FLOAT_SUM: u16 = 1 << 8;
    /// Moves and memory accesses of floating-point registers.
    pub const FLOAT_MOVE: u16 = 1 << 9;
    pub const FLOAT_CONSTANT: u16 = 1 << 10;
}

/// The place in a pair that an instruction may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PairPlace {
    /// It is issued alone.
    #[default]
    Alone,
    /// Only that of the older one.
    Older,
    Either,
}

/// The adder that an instruction uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alu {
    #[default]
    Late,
    /// The early one if its operands are available in time and it is the older of a pair.
    EarlyIfOlder,
    /// The early one if its operands are available in time.
    EarlyIfReady,
    /// The early one, for which it waits.
    Early,
}

/// The word that an instruction loads, as far as the encoding shows it: the base register (15: the
/// address itself), and whether the word is at an odd word offset from it.
pub type Bank = Option<(u8, bool)>;

/// The pair whose second instruction may depend on the first: MOVW and MOVT of one register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Half {
    #[default]
    None,
    /// MOVW of a register.
    Lower(u8),
    /// MOVT of a register.
    Upper(u8),
}

/// A floating-point instruction's operands and results: registers S0 to S31 as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DualFloat {
    pub operands: u32,
    /// Registers that are stored: they may come two cycles later than operands.
    pub stored: u32,
    /// Registers that are moved to core registers.
    pub to_core: u32,
    /// The addend of products.
    pub addend: u32,
    pub writes: u32,
    /// Cycles until the results are available as operands, and as addends.
    pub latency: u8,
    pub addend_latency: u8,
    /// Cycles in which no other floating-point arithmetic may follow.
    pub holds: u8,
    /// Whether it may not follow a sum of products at once.
    pub waits_for_sums: bool,
}

/// One instruction: core registers as bits, 0 to 14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DualInstruction {
    /// Cycles until the next instruction can be issued after it or its pair.
    pub cycles: u8,
    pub place: PairPlace,
    pub uses: u16,
    pub alu: Alu,
    /// Operands of the early stage: addresses and shifted operands.
    pub early: u16,
    /// Operands of the late stage, or of either stage.
    pub late: u16,
    /// Operands of a multiplier, for which a loaded word comes a cycle later.
    pub factors: u16,
    /// The addend of products.
    pub addend: u16,
    /// Registers that are stored: any result of the same cycle is in time.
    pub stored: u16,
    pub writes: u16,
    /// Those of them that are base registers with writeback: they are available early.
    pub base: u16,
    /// Cycles until the other results are available, beyond those of the adder.
    pub latency: u8,
    /// Whether the results reach addresses and shifters a cycle later than usual.
    pub stiff: bool,
    /// Whether a word is loaded.
    pub word: bool,
    pub sets_flags: bool,
    pub reads_flags: bool,
    /// Whether it stores less than a word, which the store buffer merges with the rest of it.
    pub merges: bool,
    /// Whether it is a branch on the flags.
    pub by_flags: bool,
    pub bank: Bank,
    pub half: Half,
    pub float: Option<DualFloat>,
}
