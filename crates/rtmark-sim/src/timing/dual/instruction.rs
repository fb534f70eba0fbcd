//! One instruction as an issue of two at a time sees it.

/// What of a core an instruction occupies, or is restricted by, as bits.
pub mod uses {
    /// An operand that is shifted on its way, or a shifted constant.
    pub const SHIFTED: u16 = 1 << 0;
    /// Bit fields, extensions, reversals and operations on parts of words.
    pub const BITS: u16 = 1 << 1;
    /// The same with the shifter before the adder.
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

/// Which place in a pair an instruction may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PairPlace {
    /// It is issued alone.
    #[default]
    Alone,
    /// The older one's only.
    Older,
    Either,
}

/// Which adder an instruction goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alu {
    #[default]
    Late,
    /// The early one if its operands are there in time and it is the older of a pair.
    EarlyIfOlder,
    /// The early one if its operands are there in time.
    EarlyIfReady,
    /// The early one, for which it waits.
    Early,
}

/// The word that an instruction loads, as far as the encoding tells: the register (15: the
/// address itself) and whether it is an odd word from there.
pub type Bank = Option<(u8, bool)>;

/// The pair of which the second may depend on the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Half {
    #[default]
    None,
    /// MOVW of a register.
    Lower(u8),
    /// MOVT of a register.
    Upper(u8),
}

/// What a floating-point instruction reads and writes: registers S0 to S31 as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DualFloat {
    pub operands: u32,
    /// Stored: any result of two cycles before its operands could use it.
    pub stored: u32,
    /// Moved to core registers.
    pub to_core: u32,
    /// What products are added to.
    pub addend: u32,
    pub writes: u32,
    /// Cycles until the results are operands, and addends.
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
    /// Cycles until the next one can be issued behind it or its pair.
    pub cycles: u8,
    pub place: PairPlace,
    pub uses: u16,
    pub alu: Alu,
    /// Operands of the early stage: addresses, and what is shifted.
    pub early: u16,
    /// Operands of the late stage, or of either.
    pub late: u16,
    /// Operands of a multiplier, for which a loaded word comes a cycle later.
    pub factors: u16,
    /// What products are added to.
    pub addend: u16,
    /// What is stored: any result of the same cycle.
    pub stored: u16,
    pub writes: u16,
    /// Those of them that are written back to addresses: they come early.
    pub base: u16,
    /// Cycles until the other results are there, beyond those of the adder.
    pub latency: u8,
    /// The results come to addresses and shifters a cycle later than they would.
    pub stiff: bool,
    /// A word is loaded.
    pub word: bool,
    pub sets_flags: bool,
    pub reads_flags: bool,
    /// A store of less than a word, which the store buffer merges with the rest of it.
    pub merges: bool,
    /// A branch that looks at flags.
    pub by_flags: bool,
    pub bank: Bank,
    pub half: Half,
    pub float: Option<DualFloat>,
}
