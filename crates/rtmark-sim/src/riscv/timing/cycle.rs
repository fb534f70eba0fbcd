//! The interface between a pipeline and the rest of the core in a cycle.

/// What the core waits for while it sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sleep {
    #[default]
    Awake,
    /// WFI.
    Interrupt,
    /// `h3.block`.
    Block,
}

/// The state of the rest of the core, as far as the pipeline sees it in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct CycleInputs {
    /// An interrupt is pending, enabled, and not masked.
    pub interrupt: bool,
    /// An interrupt is pending and enabled: it ends a sleep, masked or not.
    pub wakes: bool,
    /// Another core has unblocked this one.
    pub unblocked: bool,
    /// The target of a trap entered in this cycle.
    pub vector: u32,
    /// How deep sleeps may be (MSLEEP).
    pub depth: SleepDepth,
}

/// How deep the core sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepDepth {
    pub clock_gated: bool,
    pub powered_down: bool,
    pub also_on_block: bool,
}

/// What has happened in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CycleOutcome {
    pub event: Event,
    /// MINSTRET is incremented. That also counts the instruction that a trap removes from stage X
    /// in a cycle in which it could have left (RTL traces).
    pub retires: bool,
}

/// What has happened to the instruction in stage X.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// It stays.
    #[default]
    Stays,
    /// It has left: for stage M, or for good if there is none.
    Leaves,
    /// It stays, but its jump has been made, so that an interrupt returns to the jump's target
    /// (RP2350's revision of the core does this at the jump of `cm.popret`).
    JumpsAhead,
    /// It has left without being executed and will come again, because its prediction belonged to
    /// another instruction.
    Again,
    /// The exception of the previous instruction is taken.
    Exception,
    /// An interrupt is taken before it.
    Interrupt,
}
