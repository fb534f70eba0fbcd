//! What a pipeline and the rest of the core tell each other in a cycle.

/// What is asleep until something wakes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sleep {
    #[default]
    No,
    /// WFI.
    Interrupt,
    /// `h3.block`.
    Block,
}

/// What the pipeline sees of the rest of the core in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// An interrupt is pending, enabled, and not masked.
    pub interrupt: bool,
    /// An interrupt is pending and enabled: it ends a sleep, masked or not.
    pub wakes: bool,
    /// Another core has unblocked this one.
    pub unblocked: bool,
    /// Where a trap leads that is entered in this cycle.
    pub vector: u32,
    /// How deeply sleeps may be (MSLEEP).
    pub depth: Depth,
}

/// How deeply the core sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    pub clock_gated: bool,
    pub powered_down: bool,
    pub also_on_block: bool,
}

/// What has happened in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Happened {
    pub event: Event,
    /// MINSTRET counts one more. It also counts the instruction that a trap drives from stage X
    /// in a cycle in which it could have left (RTL traces).
    pub retires: bool,
}

/// What has become of the instruction in stage X.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// It stays.
    #[default]
    Stays,
    /// It has left: for stage M, or for good where there is none.
    Leaves,
    /// It stays, but its jump has been made: an interrupt returns to its target (as RP2350's
    /// revision of the core does at the jump of `cm.popret`).
    JumpsAhead,
    /// It has left without being executed, to come back: its prediction was for another
    /// instruction.
    Again,
    /// The exception of the instruction before is taken.
    Exception,
    /// An interrupt is taken before it.
    Interrupt,
}
