//! The pipeline of Cortex-M3 and M4, cycle by cycle.
//!
//! A [`Pipeline`] is a value that stands between two instructions: the earlier one has just
//! entered the execute stage. [`Pipeline::advance`] steps clock by clock until the next one
//! has followed. Each clock has two halves: execute, decode and fetch decide, then the
//! buses carry addresses and data; at the edge all of it takes effect, and the decode
//! stage may hand its instruction on.
//!
//! It knows nothing of what instructions do, of memory contents or of interrupts; an
//! instruction is a [`Step`], and what only its execution could tell are [`Facts`].
//!
//! Sources: DDI 0337 and DDI 0439 (1.2 prefetch unit, 3.3 load/store timings, 12.5 and 12.7
//! buses, 15.3 branch status), and the measurements that the scores come from. The
//! mechanisms that no manual tells are those which the CMEmu project found by measuring a
//! CC2650: which words a fetch may ask for, when the execute stage lets a transfer or a
//! NOP pass another transfer, the order of arbitration, and the wait between buses.

mod buses;
mod decode;
mod drain;
mod edge;
mod execute;
mod fetch;
mod lines;
mod step;

pub use lines::{Far, Reads, SlowMemory};
pub use step::{Bus, Condition, Facts, Step, Unit, has};

use lines::Buffered;

/// Cycles from a branch in the execute stage to its target there, when nothing makes it
/// longer.
const REFILL: u8 = 3;

/// What a write to the bit-band alias takes longer: the bus reads, changes and writes, and the
/// core waits where it wants the bus meanwhile (DDI 0337G, 12.10). Measured on a CC2650.
const READ_FIRST: u8 = 3;

/// Which core's pipeline it is. They have been measured to differ on the System bus alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Core {
    #[default]
    CortexM3,
    CortexM4,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    arrived: u8,
    arrives: bool,
    fetch_waits: bool,
    fetch_denied: bool,
    data_waits: bool,
    data_denied: bool,
    address_presented: bool,
    system_write: bool,
    code_write: bool,
    next_register: Register,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Executing {
    step: Step,
    condition: Condition,
    facts: Facts,
    /// Cycles that it has been there.
    cycle: u8,
    /// It leaves at the clock's edge.
    done: bool,
    /// It came while another one was still there.
    was_piped: bool,
    /// Registers still to be written, now and from the next cycle on.
    dirty: u16,
    next_dirty: u16,
    /// Words whose address has been on the bus, and words that are through.
    issued: u8,
    arrived: u8,
    /// How far a branch is that the execute stage makes: 0 nothing to make, 1 to be made, 2 being made.
    table: u8,
    /// It took an IT behind it along.
    folded: bool,
    /// What it is still to read of a slow memory.
    reads: Reads,
}

impl Executing {
    fn is_skipped(&self) -> bool {
        self.condition == Condition::Failed
    }

    fn is_transfer(&self) -> bool {
        !self.is_skipped() && self.step.is_transfer()
    }

    fn holds(&self) -> bool {
        self.step.is(has::HOLDS)
    }

    /// Cycles in the execute stage, for `Unit::Long`.
    fn cycles(&self) -> u8 {
        (self.step.cycles + self.facts.longer).max(1)
    }

    /// The next word's transfer.
    fn transfer(&mut self, line_bytes: u32) -> Transfer {
        let reads = self.reads;
        let behind = self.issued + u8::from(self.issued == 0);
        self.reads = if behind < self.step.words { reads.next(line_bytes) } else { Reads::Nothing };
        Transfer {
            bus: self.facts.bus.unwrap_or(self.step.bus),
            store: matches!(self.step.unit, Unit::Store | Unit::StoreMany),
            parts: self.facts.extra_parts,
            // What all words of a list waited for is known in sum.
            waits: if self.issued > 1 { 0 } else { self.facts.waits }
                + if self.facts.reads_first { READ_FIRST } else { 0 },
            reads_first: self.facts.reads_first,
            unaligned: self.facts.extra_parts > 0,
            buffered: false,
            reads,
        }
    }
}

/// A fetch of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fetch {
    word: u32,
    /// Halfwords of it that are wanted; 0: it is ignored.
    wanted: u8,
    /// Cycles that it waits for its memory, from its data phase on.
    waits: u8,
}

/// A data transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transfer {
    bus: Bus,
    store: bool,
    parts: u8,
    waits: u8,
    /// A write to the bit-band alias: a read until its last wait state, then a write.
    reads_first: bool,
    unaligned: bool,
    /// In the write buffer: no instruction waits for it.
    buffered: bool,
    /// What it reads of a slow memory.
    reads: Reads,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Aim {
    #[default]
    Nothing,
    Next(u32),
    Guess {
        guess: u32,
        confirmed: u32,
        presented: bool,
        cancelled: u32,
        branch: bool,
    },
    Branch(u32),
}

/// Fetches over the System bus pass a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Register {
    #[default]
    Open,
    Holding,
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shift {
    Populate,
    Hold,
    Half,
    Full,
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoding {
    Waiting,
    Address,
    Notify,
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    None,
    Guess,
    Decoded,
    Executed,
}

/// The pipeline between two instructions: the earlier one has just entered the execute stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// The instruction in the execute stage.
    main: Option<Executing>,
    /// One that has followed a load or store there before that was through.
    piped: Option<Executing>,
    /// The one that left the stage last.
    last: Option<Executing>,
    /// The stage was empty in the cycle before.
    idle: bool,

    /// Halfwords of the queue's first word, from which the decode stage reads.
    head: u8,
    /// Halfwords in the two words of the prefetch queue behind it.
    queue: u8,
    /// Halfwords that the fetch bus brought in this cycle.
    incoming: u8,
    /// Fetches that are on the bus and whose words are wanted.
    in_flight: u8,
    /// The queue takes nothing until the target of a branch is known.
    emptied: bool,
    /// What the prefetch unit asks for next.
    aim: Aim,
    /// A branch target that the execute stage passes on at the clock's edge.
    delayed: Option<u32>,
    /// The execute stage keeps the prefetch unit from asking ahead of a shift.
    busy: bool,
    /// A branch has been made whose target is not in the queue yet.
    branching: bool,
    /// The decode stage waits for a register that an address is made of.
    stalled: bool,
    /// Whether a branch that was guessed at in the decode stage is taken, when that is known.
    verdict: Option<bool>,

    /// The instruction bus' address phase.
    fetch_address: Option<Fetch>,
    /// Its data phase.
    fetch_data: Option<Fetch>,
    /// A fetch went from the one to the other at the last edge.
    fetch_advanced: bool,
    /// The register that fetches over the System bus pass (DDI 0337, 12.5).
    register: Register,
    /// The System bus carries a store's data.
    system_write: bool,
    /// The Code bus carries a store's data.
    code_write: bool,
    /// The fetch in its data phase came behind such a store, and waits a cycle for it.
    fetch_is_late: bool,

    /// The data bus' address phase.
    data_address: Option<Transfer>,
    /// Its data phase.
    data_data: Option<Transfer>,
    /// A transfer went from the one to the other at the last edge.
    data_advanced: bool,
    /// The transfer that went on one edge earlier is made in parts.
    unaligned_now: bool,
    /// No transfer waited in its data phase in the cycle before.
    data_ready: bool,

    /// An instruction in the execute stage writes the link register.
    writes_link: bool,
    /// An instruction in the execute stage is MUL, whose flags come late.
    multiplied: bool,
    /// Cycles of a refill that have been counted already, within which no instruction enters.
    paid: u8,
    /// Clocks after which [`Pipeline::advance`] leaves off; 0: none.
    clocks: u32,
    core: Core,
    /// The write buffer is on: a store is through when its address is.
    pub buffers: bool,
    /// The instruction that has just entered took an IT behind it along.
    folded: bool,
    /// The memory whose lines it waits for, and the line that was read last.
    slow: SlowMemory,
    buffered: Buffered,
    /// The bus waited in the cycle before, with the address of a fetch on it.
    fetch_held: bool,
    /// The fetches are those of a return's target, which is not known yet.
    returns_unseen: bool,
    /// A line has been asked for that way.
    asked_unseen: bool,
}

fn on_system_bus(address: u32) -> bool {
    address >= 0x2000_0000
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piping {
    No,
    Late,
    Yes,
}

impl Pipeline {
    /// As if ISB had just entered the execute stage. On memories of the Code region
    /// without wait states the next instruction enters it at once, as far as cycles are
    /// counted: what leads here has counted the refill.
    pub fn refilling(core: Core, buffers: bool, slow: SlowMemory) -> Self {
        Self::refilled(core, buffers, slow, REFILL)
    }

    /// The same where so many cycles of it have been counted, within which nothing enters.
    pub fn refilled(core: Core, buffers: bool, slow: SlowMemory, paid: u8) -> Self {
        let isb = Executing {
            step: Step { unit: Unit::Barrier, traits: has::WIDE, ..Step::default() },
            facts: Facts { taken: true, ..Facts::default() },
            ..Executing::default()
        };
        Self { main: Some(isb), data_ready: true, paid, core, buffers, slow, ..Self::default() }
    }

    /// Learns what only the execution of the newest instruction could tell.
    pub fn learn(&mut self, facts: Facts) {
        if let Some(newest) = self.piped.as_mut().or(self.main.as_mut()) {
            let bus = facts.bus.unwrap_or(newest.step.bus);
            newest.facts = Facts { bus: Some(bus), reads: Reads::Nothing, ..facts };
            newest.reads = facts.reads;
        }
    }

    /// Counts addresses from `from` on instead of from 0, or back again.
    pub fn move_addresses(&mut self, by: u32) {
        for fetch in [&mut self.fetch_address, &mut self.fetch_data].into_iter().flatten() {
            fetch.word = fetch.word.wrapping_add(by);
        }
        match &mut self.aim {
            Aim::Nothing => {}
            Aim::Next(address) | Aim::Branch(address) => *address = address.wrapping_add(by),
            Aim::Guess { guess, confirmed, cancelled, .. } => {
                for address in [guess, confirmed, cancelled] {
                    *address = address.wrapping_add(by);
                }
            }
        }
        if let Some(address) = &mut self.delayed {
            *address = address.wrapping_add(by);
        }
    }

    /// Whether the newest instruction is a branch whose target was fetched from before it
    /// was known whether that is the second half of a word.
    pub fn is_returning(&self) -> bool {
        self.main.is_some_and(|main| {
            main.step.unit == Unit::Return
                && main.table == 0
                && !main.is_skipped()
                && main.cycle == 0
        })
    }

    /// The target of a return turned out to be the second half of its word.
    pub fn return_to_second_half(&mut self, pc: u32) {
        let word = pc & !3;
        if let Some(fetch) = &mut self.fetch_data
            && fetch.wanted == 2
            && fetch.word == word
        {
            fetch.wanted = 1;
        } else if let Some(fetch) = &mut self.fetch_address
            && fetch.wanted == 2
            && fetch.word == word
        {
            fetch.wanted = 1;
        } else {
            self.queue = self.queue.saturating_sub(1);
        }
    }

    /// Runs until `step`, at `pc`, enters the execute stage: the cycles from the entry of
    /// the one before.
    pub fn advance(
        &mut self,
        pc: u32,
        step: &Step,
        condition: Condition,
        taken: bool,
        target: u32,
    ) -> u32 {
        let skipped = condition == Condition::Failed;
        let taken = taken && !skipped;
        if step.is(has::IT) && std::mem::take(&mut self.folded) {
            return 0;
        }
        self.folded = false;
        let mut decoding = Decoding::Waiting;
        let mut kind = Kind::None;
        let mut held_branch = false;
        let mut length = step.length();
        let mut folded = false;
        let mut cycles = 0;
        loop {
            if self.clocks > 0 && cycles == self.clocks {
                return cycles;
            }
            cycles += 1;
            if cycles > 400 {
                return cycles;
            }
            let mut jump = None;
            let mut speculative = None;
            let mut disable = false;
            // Execute.
            let (mut ignore, mut dirty, mut postponed) = (false, 0, false);
            let mut flags_late = false;
            if let Some(mut main) = self.main {
                ignore |= self.execute(&mut main, pc, &mut jump, &mut disable);
                let passed = main.is_skipped()
                    || main.step.is_branch()
                        && !main.facts.taken
                        && main.step.unit != Unit::Barrier;
                dirty |= if passed { 0 } else { main.dirty };
                postponed |= main.holds()
                    && !((main.condition != Condition::None)
                        && main.is_skipped()
                        && !main.step.is_branch());
                flags_late = !main.is_skipped() && main.step.is(has::SETS_FLAGS) || main.folded;
                self.main = Some(main);
            }
            if let Some(mut piped) = self.piped
                && !piped.done
            {
                ignore |= self.execute(&mut piped, pc, &mut jump, &mut disable);
                dirty |= piped.dirty;
                postponed |= piped.holds()
                    && !((piped.condition != Condition::None)
                        && piped.is_skipped()
                        && !piped.step.is_branch());
                self.piped = Some(piped);
            }
            // Decode.
            if ignore {
                decoding = Decoding::Waiting;
                kind = Kind::None;
                length = step.length();
                folded = false;
                self.multiplied = false;
            } else {
                if decoding == Decoding::Address && skipped {
                    decoding = Decoding::Ready;
                }
                let try_fold = |head: u8, folded: &mut bool, length: &mut u8| {
                    if !*folded && step.is(has::FOLDS) && step.is(has::IT_FOLLOWS) && head == 2 {
                        *folded = true;
                        *length = 2;
                    }
                };
                if decoding == Decoding::Ready {
                    if kind == Kind::Guess {
                        kind = if taken { Kind::Decoded } else { Kind::None };
                        self.verdict = Some(kind == Kind::Decoded);
                    }
                    try_fold(self.head, &mut folded, &mut length);
                } else {
                    if decoding == Decoding::Waiting && self.head >= step.length() {
                        held_branch = postponed;
                        decoding = match step.unit {
                            _ if step.address != 0 && (!skipped || flags_late) => Decoding::Address,
                            Unit::Branch | Unit::Conditional | Unit::Return => Decoding::Notify,
                            _ => Decoding::Ready,
                        };
                        if step.is_branch() {
                            kind = Kind::Executed;
                        }
                        try_fold(self.head, &mut folded, &mut length);
                    } else if decoding != Decoding::Waiting {
                        try_fold(self.head, &mut folded, &mut length);
                    }
                    if decoding == Decoding::Address && step.address & dirty == 0 {
                        decoding = Decoding::Ready;
                    }
                    if decoding == Decoding::Notify {
                        let waits = step.unit == Unit::Conditional
                            && condition == Condition::None
                            && self.multiplied
                            && self.main.is_some();
                        if !waits {
                            decoding = Decoding::Ready;
                            let decoded = step.unit != Unit::Return || !self.writes_link;
                            if decoded {
                                self.returns_unseen = step.unit == Unit::Return;
                                let guessed = step.unit == Unit::Conditional
                                    || (condition != Condition::None);
                                if guessed {
                                    kind = Kind::Guess;
                                    speculative = Some(target);
                                } else {
                                    kind = Kind::Decoded;
                                    jump = Some(target);
                                }
                            } else {
                                kind = Kind::Executed;
                            }
                        }
                    }
                }
            }
            self.run_fetch(jump, speculative, disable, decoding, length);
            self.verdict = None;
            // Buses.
            let arrived = self.run_buses(pc, &mut decoding, step, dirty);
            self.edge(arrived);
            // Move.
            let taints = step.is(has::IT_FOLLOWS) && !step.is(has::WIDE) && self.head == 2;
            let mut moved = false;
            let is_open = cycles >= u32::from(self.paid);
            if is_open && decoding == Decoding::Ready && self.ready(step, skipped, taints) {
                moved = true;
            }
            let mut busy = self.main.is_some_and(|main| {
                main.holds()
                    && (main.step.is_transfer()
                        || main.step.is_branch()
                        || !(main.condition != Condition::None)
                        || !main.is_skipped()
                        || main.step.is(has::MULL | has::MLA))
            });
            let shift;
            if moved {
                if kind == Kind::Guess {
                    kind = if taken { Kind::Decoded } else { Kind::None };
                    self.verdict = Some(kind == Kind::Decoded);
                }
                let phony = self.may_pipe(step, skipped, taints) != Piping::No;
                if !phony {
                    self.writes_link = false;
                    self.multiplied = false;
                }
                if !skipped && !step.is(has::LINKS) {
                    self.writes_link |= step.writes & (1 << 14) != 0;
                }
                self.multiplied |= step.is(has::MUL);
                let decoded = kind == Kind::Decoded;
                shift = if held_branch && decoded {
                    Shift::Hold
                } else if self.branching {
                    Shift::Complete
                } else if length == 1 {
                    Shift::Half
                } else {
                    Shift::Full
                };
                self.branching = decoded;
                self.stalled = false;
                let ignored_branch = kind == Kind::None && step.is_branch();
                let dirty = if skipped || ignored_branch { 0 } else { step.writes };
                let entering = Executing {
                    step: *step,
                    condition,
                    facts: Facts { taken, ..Facts::default() },
                    dirty,
                    next_dirty: dirty,
                    was_piped: self.main.is_some(),
                    // Whether a branch still has to be made: see `execute`.
                    table: u8::from(kind == Kind::Executed),
                    folded,
                    ..Executing::default()
                };
                if self.main.is_none() {
                    self.main = Some(entering);
                } else {
                    self.piped = Some(entering);
                }
                busy = self.main.is_some_and(|main| {
                    main.holds()
                        && (main.step.is_transfer() || main.step.is_branch() || !main.is_skipped())
                });
                if phony && (step.unit == Unit::Nop || skipped) {
                    busy = true;
                }
            } else if self.main.is_none() {
                shift = if self.branching { Shift::Complete } else { Shift::Populate };
                self.branching = false;
                self.stalled = decoding == Decoding::Address;
            } else {
                shift = if self.branching { Shift::Hold } else { Shift::Populate };
                self.stalled = false;
            }
            self.busy = busy;
            self.shift(shift);
            if moved {
                self.folded = folded;
                return cycles - u32::from(std::mem::take(&mut self.paid));
            }
        }
    }
}
