//! What the issue of instructions depends on: which registers one reads, at which stage, and
//! when its results are there.

/// What may be in the second slot behind an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Takes {
    #[default]
    Nothing,
    /// A branch or an IT.
    BranchOrIt,
    /// These or a NOP.
    Any,
}

/// As what an instruction may be in the second slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Second {
    #[default]
    Never,
    Nop,
    BranchOrIt,
}

/// What makes results one cycle late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    #[default]
    Load,
    /// The stage behind the first: a multiplier, an adder behind a shifter.
    Sum,
    /// What comes of neither, and is no addend of the next one.
    Other,
}

/// What becomes of the condition flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flags {
    #[default]
    Kept,
    Set,
    /// Set one cycle later than others.
    SetLate,
}

/// Where an instruction leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leads {
    #[default]
    On,
    /// Elsewhere, if it does, after so many cycles without an instruction.
    Away(u8),
    /// Branches as the flags say.
    ByFlags(u8),
}

/// What adds an operand that may come late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Adds {
    #[default]
    Product,
    Extended,
}

/// What a floating-point instruction reads and writes: registers S0 to S31 as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IssueFloat {
    /// Operands that may come a cycle after the instruction.
    pub operands: u32,
    /// Operands that are stored or moved to core registers.
    pub moved: u32,
    /// What products are added to.
    pub addend: u32,
    pub writes: u32,
    /// Cycles until these are there.
    pub latency: u8,
    /// Cycles in which no other floating-point instruction may follow.
    pub holds: u8,
    /// The result may be added to by the next such instruction a cycle earlier.
    pub is_sum: bool,
}

/// One instruction as its issue sees it: core registers as bits, 0 to 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IssueInstruction {
    /// Cycles in which no other is issued.
    pub cycles: u8,
    /// What the first stage needs: addresses and most operands. Data that is stored is not
    /// among it: that of the instruction before is always in time.
    pub reads: u16,
    /// What is moved to floating-point registers.
    pub moved: u16,
    /// What is added to what comes of the first stage.
    pub addend: u16,
    pub adds: Adds,
    /// Results, and those of them that are there one cycle later.
    pub writes: u16,
    pub late: u16,
    pub source: Source,
    pub flags: Flags,
    pub reads_carry: bool,
    pub leads: Leads,
    pub takes: Takes,
    pub second: Second,
    pub float: Option<IssueFloat>,
}

impl IssueInstruction {
    /// One cycle and nothing else.
    pub const PLAIN: Self = Self {
        cycles: 1,
        reads: 0,
        moved: 0,
        addend: 0,
        adds: Adds::Product,
        writes: 0,
        late: 0,
        source: Source::Load,
        flags: Flags::Kept,
        reads_carry: false,
        leads: Leads::On,
        takes: Takes::Nothing,
        second: Second::Never,
        float: None,
    };

    /// The instruction passed over: no more than a NOP. What it pairs with is up to its encoding.
    pub const fn skipped(self) -> Self {
        Self { takes: self.takes, second: self.second, leads: self.leads, ..Self::PLAIN }
    }
}
