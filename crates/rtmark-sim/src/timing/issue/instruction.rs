//! What issue depends on: the registers that an instruction reads, at which stage, and when its
//! results are available.

/// What may be issued in the second slot after an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SecondSlot {
    #[default]
    Nothing,
    /// A branch or an IT.
    BranchOrIt,
    /// A branch, an IT or a NOP.
    Any,
}

/// The role in which an instruction may be issued in the second slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Second {
    #[default]
    Never,
    Nop,
    BranchOrIt,
}

/// The origin of results that are one cycle late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    #[default]
    Load,
    /// The stage after the first: a multiplier, or an adder after a shifter.
    Sum,
    /// Neither of them: the result cannot be an addend of the next instruction in time.
    Other,
}

/// An instruction's effect on the condition flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flags {
    #[default]
    Kept,
    Set,
    /// Set one cycle later than usual.
    SetLate,
}

/// Where execution continues after an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Continuation {
    #[default]
    Next,
    /// Elsewhere, if it branches, after this many cycles without an instruction.
    Elsewhere(u8),
    /// Elsewhere if the flags say so, after this many cycles without an instruction.
    ByFlags(u8),
}

/// The kind of addition of an operand that may come late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LateAddend {
    #[default]
    Product,
    Extended,
}

/// A floating-point instruction's operands and results: registers S0 to S31 as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IssueFloat {
    /// Operands that may arrive a cycle after the instruction.
    pub operands: u32,
    /// Operands that are stored or moved to core registers.
    pub moved: u32,
    /// The addend of products.
    pub addend: u32,
    pub writes: u32,
    /// Cycles until the written registers are available.
    pub latency: u8,
    /// Cycles in which no other floating-point instruction may follow.
    pub holds: u8,
    /// Whether the result may be the addend of the next such instruction a cycle earlier.
    pub is_sum: bool,
}

/// One instruction as issue sees it: core registers as bits, 0 to 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IssueInstruction {
    /// Cycles in which no other instruction is issued.
    pub cycles: u8,
    /// Registers that the first stage needs: addresses and most operands. Data to be stored is not
    /// included: a result of the previous instruction is always in time.
    pub reads: u16,
    /// Registers that are moved to floating-point registers.
    pub moved: u16,
    /// Registers that are added to the result of the first stage.
    pub addend: u16,
    pub late_addend: LateAddend,
    /// The results, and those of them that are available one cycle later.
    pub writes: u16,
    pub late: u16,
    pub source: Source,
    pub flags: Flags,
    pub reads_carry: bool,
    pub continuation: Continuation,
    pub second_slot: SecondSlot,
    pub second: Second,
    pub float: Option<IssueFloat>,
}

impl IssueInstruction {
    /// One cycle, and nothing else.
    pub const PLAIN: Self = Self {
        cycles: 1,
        reads: 0,
        moved: 0,
        addend: 0,
        late_addend: LateAddend::Product,
        writes: 0,
        late: 0,
        source: Source::Load,
        flags: Flags::Kept,
        reads_carry: false,
        continuation: Continuation::Next,
        second_slot: SecondSlot::Nothing,
        second: Second::Never,
        float: None,
    };

    /// Returns the instruction as it is when skipped in an IT block: a NOP, except that its
    /// encoding still decides what it pairs with.
    pub const fn skipped(self) -> Self {
        Self {
            second_slot: self.second_slot,
            second: self.second,
            continuation: self.continuation,
            ..Self::PLAIN
        }
    }
}
