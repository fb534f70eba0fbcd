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

/// Which part of the execute stage an instruction keeps busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    #[default]
    Alu,
    /// NOP: the only instruction that a load or store lets pass without a bus of its own.
    Nop,
    /// Several cycles in the execute stage.
    Long,
    Load,
    Store,
    LoadMany,
    StoreMany,
    /// The target is known while it is decoded.
    Branch,
    /// The same, speculatively.
    Conditional,
    /// To the link register: while decoded, unless the register is just being written.
    Return,
    /// The target is known in the execute stage.
    Late,
    /// An addition to the program counter: one cycle later still.
    Computed,
    Table,
}

/// Traits of a step, as bits.
pub mod has {
    pub const WIDE: u16 = 1 << 0;
    /// The next instruction leaves the prefetch queue only when this one is through.
    pub const HOLDS: u16 = 1 << 1;
    pub const WRITEBACK: u16 = 1 << 2;
    /// A register as offset.
    pub const INDEXED: u16 = 1 << 3;
    pub const SETS_FLAGS: u16 = 1 << 4;
    pub const NARROW_LDM: u16 = 1 << 5;
    /// The halfword behind it looks like IT.
    pub const IT_FOLLOWS: u16 = 1 << 6;
    /// May be folded over by an IT behind it.
    pub const FOLDS: u16 = 1 << 7;
    /// Is IT.
    pub const IT: u16 = 1 << 8;
    /// MUL: conditional branches behind it wait.
    pub const MUL: u16 = 1 << 9;
    /// UMULL, SMULL.
    pub const MULL: u16 = 1 << 10;
    pub const MLA: u16 = 1 << 11;
    pub const LINKS: u16 = 1 << 12;
    /// Loads the program counter.
    pub const TO_PC: u16 = 1 << 13;
    pub const MLAL: u16 = 1 << 14;
}

/// One instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    pub unit: Unit,
    pub traits: u16,
    /// Registers that its address is made of.
    pub address: u16,
    pub writes: u16,
    /// Transferred registers, in their order.
    pub first: u8,
    pub second: u8,
    /// MLA's addend; xMULL's high result.
    pub high: u8,
    pub low: u8,
    pub factors: u16,
    /// Words that it transfers.
    pub words: u8,
    /// Cycles in the execute stage at least, for `Unit::Long`.
    pub cycles: u8,
}

impl Step {
    const fn is(&self, which: u16) -> bool {
        self.traits & which != 0
    }

    const fn is_transfer(&self) -> bool {
        matches!(
            self.unit,
            Unit::Load | Unit::Store | Unit::LoadMany | Unit::StoreMany | Unit::Table
        )
    }

    const fn is_branch(&self) -> bool {
        matches!(
            self.unit,
            Unit::Branch
                | Unit::Conditional
                | Unit::Return
                | Unit::Late
                | Unit::Computed
                | Unit::Table
        ) || self.is(has::TO_PC)
    }

    const fn length(&self) -> u8 {
        if self.is(has::WIDE) { 2 } else { 1 }
    }
}

/// Which bus a data address leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bus {
    #[default]
    Code,
    System,
    Private,
}

/// What is known only when an instruction executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    pub taken: bool,
    pub bus: Bus,
    /// Aligned accesses that a transfer is made of, less one.
    pub extra_parts: u8,
    /// Wait states of the data access.
    pub waits: u8,
    /// Cycles in the execute stage beyond those of its step.
    pub longer: u8,
}

/// The place of an instruction in an IT block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// In no block.
    #[default]
    None,
    Passed,
    Failed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Executing {
    step: Step,
    condition: Condition,
    facts: Facts,
    cycle: u8,
    done: bool,
    was_piped: bool,
    /// Registers still to be written, now and from the next cycle on.
    dirty: u16,
    next_dirty: u16,
    issued: u8,
    arrived: u8,
    table: u8,
    folded: bool,
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

    fn transfer(&self) -> Transfer {
        Transfer {
            bus: self.facts.bus,
            store: matches!(self.step.unit, Unit::Store | Unit::StoreMany),
            parts: self.facts.extra_parts,
            waits: self.facts.waits,
            unaligned: self.facts.extra_parts > 0,
            buffered: false,
        }
    }
}

/// A fetch of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fetch {
    word: u32,
    /// Halfwords of it that are wanted; 0: it is ignored.
    wanted: u8,
}

/// A data transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transfer {
    bus: Bus,
    store: bool,
    parts: u8,
    waits: u8,
    unaligned: bool,
    /// In the write buffer: no instruction waits for it.
    buffered: bool,
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
    main: Option<Executing>,
    piped: Option<Executing>,
    last: Option<Executing>,
    idle: bool,

    head: u8,
    queue: u8,
    incoming: u8,
    in_flight: u8,
    emptied: bool,
    aim: Aim,
    delayed: Option<u32>,
    busy: bool,
    branching: bool,
    stalled: bool,
    verdict: Option<bool>,

    fetch_address: Option<Fetch>,
    fetch_data: Option<Fetch>,
    fetch_advanced: bool,
    register: Register,
    system_write: bool,

    data_address: Option<Transfer>,
    data_data: Option<Transfer>,
    data_advanced: bool,
    unaligned_now: bool,
    data_ready: bool,

    writes_link: bool,
    multiplied: bool,
    /// Cycles of a refill that have been counted already.
    paid: u8,
    /// The write buffer is on: a store is through when its address is.
    pub buffers: bool,
    /// The instruction that has just entered took an IT behind it along.
    folded: bool,
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
    pub fn refilling(buffers: bool) -> Self {
        let isb = Executing {
            step: Step { unit: Unit::Late, traits: has::WIDE, ..Step::default() },
            facts: Facts { taken: true, ..Facts::default() },
            ..Executing::default()
        };
        Self { main: Some(isb), data_ready: true, paid: REFILL, buffers, ..Self::default() }
    }

    /// Learns what only the execution of the newest instruction could tell.
    pub fn learn(&mut self, facts: Facts) {
        if let Some(newest) = self.piped.as_mut().or(self.main.as_mut()) {
            newest.facts = facts;
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

    fn slots(&self) -> u8 {
        2 * (u8::from(self.head > 0) + self.in_flight) + self.queue
    }

    fn fits(&self, shift: Shift) -> bool {
        let slots = self.slots();
        let slots = match shift {
            Shift::Half => slots.saturating_sub(if self.head == 1 { 2 } else { 1 }),
            Shift::Full | Shift::Complete => slots.saturating_sub(2),
            Shift::Populate => slots.saturating_sub(2 - self.head),
            Shift::Hold => slots,
        };
        slots <= 4
    }

    fn fill_head(&mut self) {
        let moved = (2 - self.head).min(self.queue);
        self.head += moved;
        self.queue -= moved;
    }

    fn shift(&mut self, shift: Shift) {
        if self.emptied {
            self.incoming = 0;
            return;
        }
        match shift {
            Shift::Half => self.head = self.head.saturating_sub(1),
            Shift::Full | Shift::Complete => self.head = 0,
            Shift::Populate | Shift::Hold => {}
        }
        if shift != Shift::Hold {
            self.fill_head();
        }
        self.queue += self.incoming;
        self.incoming = 0;
        if shift != Shift::Hold {
            self.fill_head();
        }
    }

    fn flush_queue(&mut self) {
        self.queue = 0;
        self.in_flight = 0;
        self.emptied = false;
    }

    fn ignore_fetches(&mut self) {
        if let Some(fetch) = &mut self.fetch_address {
            fetch.wanted = 0;
        }
        if let Some(fetch) = &mut self.fetch_data {
            fetch.wanted = 0;
        }
    }

    fn try_fetch(&mut self, address: u32) -> u32 {
        let word = address & !3;
        let wanted = if address & 2 == 0 { 2 } else { 1 };
        match &mut self.fetch_address {
            Some(fetch) if fetch.word == word && fetch.wanted == 0 => {
                fetch.wanted = wanted;
                self.in_flight += 1;
                word.wrapping_add(4)
            }
            Some(_) => address,
            None => {
                self.fetch_address = Some(Fetch { word, wanted });
                self.in_flight += 1;
                word.wrapping_add(4)
            }
        }
    }

    fn request(&mut self, address: u32) {
        let next = if self.slots() <= 4 { self.try_fetch(address) } else { address };
        self.aim = Aim::Next(next);
    }

    /// Gives up the fetch that is in its address phase; answers what it wanted.
    fn withdraw(&mut self) -> Option<u32> {
        // The instruction bus keeps to AHB-Lite: the address stays, its data is ignored.
        let fetch = self.fetch_address.as_mut().filter(|fetch| fetch.wanted > 0)?;
        let address = fetch.word + if fetch.wanted == 1 { 2 } else { 0 };
        fetch.wanted = 0;
        self.in_flight = self.in_flight.saturating_sub(1);
        Some(address)
    }

    fn ignore_previous(&mut self) {
        if self.fetch_advanced {
            if let Some(fetch) = &mut self.fetch_data {
                fetch.wanted = 0;
            }
        } else if let Some(fetch) = &mut self.fetch_address {
            fetch.wanted = 0;
        }
    }

    fn guesses(&self, decoding: Decoding, length: u8) -> bool {
        let shift = match (decoding, length) {
            (Decoding::Waiting, _) => Shift::Populate,
            (_, 1) => Shift::Half,
            _ => Shift::Full,
        };
        !self.busy
            && !self.branching
            && !self.stalled
            && !self.fits(Shift::Hold)
            && self.fits(shift)
    }

    fn guess(&mut self, address: u32, branch: bool, may: bool) {
        let following = if branch {
            match self.aim {
                Aim::Guess { cancelled, confirmed, presented, branch, .. } => {
                    if presented {
                        if branch {
                            self.ignore_previous();
                            self.in_flight = self.in_flight.saturating_sub(1);
                            cancelled
                        } else {
                            self.withdraw().unwrap_or(confirmed)
                        }
                    } else {
                        self.withdraw().unwrap_or(cancelled)
                    }
                }
                Aim::Next(next) => self.withdraw().unwrap_or(next),
                Aim::Nothing | Aim::Branch(_) => address,
            }
        } else {
            match self.aim {
                Aim::Next(next) => next,
                Aim::Guess { cancelled, confirmed, branch, .. } => {
                    if branch {
                        cancelled
                    } else {
                        confirmed
                    }
                }
                Aim::Nothing | Aim::Branch(_) => address,
            }
        };
        let confirmed = if branch || may { self.try_fetch(address) } else { address };
        self.aim = Aim::Guess {
            guess: address,
            confirmed,
            presented: address != confirmed,
            cancelled: following,
            branch,
        };
    }

    fn run_fetch(
        &mut self,
        jump: Option<u32>,
        speculative: Option<u32>,
        disable: bool,
        decoding: Decoding,
        length: u8,
    ) {
        if let Some(target) = jump {
            self.ignore_fetches();
            self.branching = true;
            self.flush_queue();
            self.request(target);
            return;
        }
        if let Some(target) = speculative {
            self.guess(target, true, true);
            return;
        }
        if let (Some(false), Aim::Guess { cancelled, presented, branch: true, .. }) =
            (self.verdict, self.aim)
        {
            if presented {
                self.ignore_previous();
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            if self.guesses(decoding, length) {
                self.guess(cancelled, false, true);
            } else {
                self.request(cancelled);
            }
            return;
        }
        if disable {
            self.ignore_fetches();
            self.empty();
            self.aim = Aim::Nothing;
            return;
        }
        match self.aim {
            Aim::Nothing => {}
            Aim::Next(address) => {
                if self.guesses(decoding, length) {
                    self.guess(address, false, true);
                } else {
                    self.request(address);
                }
            }
            Aim::Branch(target) => {
                self.ignore_fetches();
                self.branching = true;
                self.flush_queue();
                self.request(target);
            }
            Aim::Guess { confirmed, presented, cancelled, branch, .. } => {
                if branch {
                    self.flush_queue();
                    if presented {
                        if !self.fetch_advanced
                            && let Some(fetch) = &mut self.fetch_data
                        {
                            fetch.wanted = 0;
                        }
                        self.in_flight += 1;
                    } else {
                        self.ignore_fetches();
                    }
                    self.branching = true;
                }
                let overcommitted = self.slots() + self.incoming > 6;
                if presented && overcommitted {
                    if self.withdraw().is_some() {
                        self.aim = Aim::Next(cancelled);
                    } else {
                        self.aim = Aim::Next(confirmed);
                    }
                } else if self.guesses(decoding, length) {
                    self.guess(confirmed, false, true);
                } else {
                    self.request(confirmed);
                }
            }
        }
    }

    fn empty(&mut self) {
        self.flush_queue();
        self.emptied = true;
        self.head = 0;
    }

    fn may_pipe(&self, next: &Step, skipped: bool, folds: bool) -> Piping {
        let Some(pre) = self.piped.as_ref().or(self.main.as_ref()).or(self.last.as_ref()) else {
            return Piping::No;
        };
        if !pre.is_transfer() {
            return Piping::No;
        }
        let unaligned = self.unaligned_now;
        // `unaligned_now` was set in the cycle before; the transfer's own first data cycle blocks.
        let open = if self.data_advanced && self.data_data.is_some_and(|data| data.unaligned) {
            false
        } else if unaligned {
            true
        } else {
            self.data_advanced
                || (self.data_ready && self.data_data.is_none() && self.data_address.is_none())
        };
        if !open || matches!(pre.step.unit, Unit::LoadMany | Unit::StoreMany) {
            return Piping::No;
        }
        let store = pre.step.unit == Unit::Store;
        let nop = next.unit == Unit::Nop;
        let idle = nop || skipped;
        let next_transfer = next.is_transfer();
        let late = self.main.is_none();
        let stack = pre.step.first == 13 || pre.step.first == 15 || pre.step.unit == Unit::Table;
        let writeback = pre.step.is(has::WRITEBACK);
        let indexed = pre.step.is(has::INDEXED);
        let before = (store && (writeback || indexed)) || (!store && stack);
        let after = !next_transfer
            || matches!(next.unit, Unit::LoadMany | Unit::StoreMany | Unit::Table)
            || next.is(has::WRITEBACK)
            || next.address & pre.dirty != 0;
        let blocked = before || after;
        let gated = next_transfer && late;
        if (!nop && store && indexed)
            || (store && writeback && unaligned)
            || (!gated && blocked && folds)
            || (gated && idle && store && after && stack)
            || (late && idle && store && !next_transfer && stack)
        {
            return Piping::No;
        }
        if idle && !nop && store && late {
            return if self.idle { Piping::No } else { Piping::Late };
        }
        if (stack || !idle) && blocked {
            return Piping::No;
        }
        Piping::Yes
    }

    fn ready(&self, next: &Step, skipped: bool, folds: bool) -> bool {
        if self.piped.is_some() {
            return false;
        }
        let Some(main) = &self.main else { return true };
        if !skipped && next.is(has::MLA) && !main.is_skipped() {
            let addend = next.high;
            let clear = next.factors & (1 << addend) == 0;
            if main.step.is(has::MULL)
                && main.step.high == addend
                && clear
                && main.cycle + 1 == main.cycles()
            {
                return true;
            }
            if main.step.is(has::MLA)
                && main.was_piped
                && !main.done
                && self.last.is_some_and(|last| last.step.is(has::MULL))
                && main.step.first == addend
                && clear
            {
                return true;
            }
        }
        self.may_pipe(next, skipped, folds) == Piping::Yes
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
                let passed = main.is_skipped() || main.step.is_branch() && !main.facts.taken;
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
            if decoding == Decoding::Ready && self.ready(step, skipped, taints) {
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

    /// One cycle of an instruction; answers whether the decode stage is to forget its own.
    fn execute(
        &mut self,
        at: &mut Executing,
        pc: u32,
        jump: &mut Option<u32>,
        disable: &mut bool,
    ) -> bool {
        let first = at.cycle == 0;
        if at.is_skipped() {
            at.next_dirty = 0;
            at.done = true;
            return false;
        }
        let step = at.step;
        match step.unit {
            Unit::Alu | Unit::Nop => {
                at.next_dirty = 0;
                at.done = true;
                false
            }
            Unit::Long => {
                let last = at.cycles() - 1;
                if step.is(has::MULL | has::MLAL) && at.cycle + 1 == last {
                    at.next_dirty &= !(1 << step.low);
                }
                if at.cycle >= last {
                    at.next_dirty = 0;
                    at.done = true;
                }
                false
            }
            Unit::Branch | Unit::Conditional | Unit::Return | Unit::Late => {
                at.next_dirty = 0;
                at.done = true;
                if !at.facts.taken {
                    return false;
                }
                if at.table == 1 || step.unit == Unit::Late {
                    *jump = Some(pc);
                }
                true
            }
            Unit::Computed => {
                at.next_dirty = 0;
                at.done = true;
                *disable = true;
                self.delayed = Some(pc);
                true
            }
            Unit::Table => {
                if first {
                    *disable = true;
                    self.data_address = Some(at.transfer());
                    at.table = 0;
                } else if at.table == 1 {
                    at.table = 2;
                } else if at.table == 2 {
                    at.next_dirty = 0;
                    at.done = true;
                    *jump = Some(pc);
                }
                true
            }
            Unit::Load | Unit::Store => {
                if first {
                    if step.is(has::TO_PC) {
                        *disable = true;
                    }
                    self.data_address = Some(at.transfer());
                }
                step.is(has::TO_PC)
            }
            Unit::LoadMany | Unit::StoreMany => {
                if first {
                    if step.is(has::TO_PC) {
                        *disable = true;
                    }
                    if step.is(has::WRITEBACK) {
                        at.next_dirty &= !step.address;
                    }
                }
                if self.data_address.is_none() && at.issued < at.step.words {
                    at.issued += 1;
                    self.data_address = Some(at.transfer());
                }
                step.is(has::TO_PC)
            }
        }
    }

    /// The second half of a cycle, where addresses and data are on the buses. Answers the
    /// halfwords that a fetch brings.
    fn run_buses(
        &mut self,
        pc: u32,
        decoding: &mut Decoding,
        waiting: &Step,
        dirty: u16,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        // Data phases.
        let mut code_asks = false;
        let mut system_data = false;
        if let Some(data) = &mut self.data_data {
            if data.parts > 0 {
                match data.bus {
                    Bus::Code => code_asks = true,
                    Bus::System | Bus::Private => {}
                }
                outcome.data_waits = true;
            } else if data.waits > 0 {
                data.waits -= 1;
                outcome.data_waits = true;
            }
        }
        let writing = self.system_write;
        let full = self.register == Register::Full;
        // A registered fetch comes first on the System bus.
        let mut fetch_granted_below = true;
        let mut fetch_on_system = false;
        if full {
            fetch_on_system = true;
            if WRITE_BLOCKS_READ && writing {
                fetch_granted_below = false;
            }
        }
        if let Some(data) = &mut self.data_data
            && data.parts > 0
        {
            let granted = !(data.bus == Bus::System && fetch_on_system);
            if granted {
                data.parts -= 1;
                system_data |= data.bus == Bus::System && data.store;
            }
        }
        if let Some(address) = self.data_address {
            let busy_part = outcome.data_waits;
            // An address for another bus waits for the data on this one.
            let elsewhere = self.data_data.is_some_and(|data| data.bus != address.bus);
            match address.bus {
                _ if elsewhere => outcome.data_denied = true,
                Bus::Code => code_asks = true,
                Bus::System => {
                    if fetch_on_system || (WRITE_BLOCKS_READ && writing && !address.store) {
                        outcome.data_denied = true;
                    } else if !busy_part {
                        system_data |= address.store;
                    }
                }
                Bus::Private => {}
            }
            if !outcome.data_denied {
                outcome.address_presented = !busy_part;
            }
        }
        outcome.system_write = system_data;
        // Instruction side.
        let upstream = self.fetch_address;
        let system = upstream.is_some_and(|fetch| on_system_bus(fetch.word));
        match self.register {
            Register::Full => {
                outcome.fetch_waits = true;
                outcome.fetch_denied = true;
            }
            Register::Holding => outcome.fetch_denied = !system,
            Register::Open => {
                let elsewhere =
                    self.fetch_data.is_some_and(|data| on_system_bus(data.word) != system);
                if upstream.is_some() && (!system && code_asks || elsewhere) {
                    outcome.fetch_denied = true;
                }
            }
        }
        outcome.next_register = match self.register {
            Register::Full if !fetch_granted_below => Register::Full,
            Register::Full => {
                if upstream.is_some() && system {
                    Register::Holding
                } else {
                    Register::Open
                }
            }
            Register::Holding => Register::Full,
            Register::Open => {
                if upstream.is_some() && system {
                    Register::Full
                } else {
                    Register::Open
                }
            }
        };
        if !outcome.fetch_waits
            && let Some(fetch) = self.fetch_data.take()
        {
            outcome.arrived = fetch.wanted;
            outcome.arrives = true;
        }
        // Data that has arrived.
        if outcome.address_presented
            && let Some(main) = &mut self.main
            && matches!(main.step.unit, Unit::Load | Unit::Store)
            && main.step.is(has::WRITEBACK)
            && self.piped.is_none()
        {
            main.next_dirty &= !main.step.address_base();
        }
        if outcome.address_presented && self.buffers {
            self.buffer_store();
        }
        if !outcome.data_waits
            && let Some(data) = self.data_data.take()
            && !data.buffered
        {
            self.finish_transfer(pc, decoding, waiting, dirty);
        }
        outcome
    }

    /// A store with an immediate offset is through as soon as the bus takes its address
    /// (DDI 0337, 18.3): the write buffer does the rest.
    fn buffer_store(&mut self) {
        let Some(newest) = self.piped.as_mut().or(self.main.as_mut()) else { return };
        if newest.step.unit == Unit::Store
            && !newest.step.is(has::INDEXED | has::WRITEBACK)
            && let Some(address) = &mut self.data_address
        {
            address.buffered = true;
            newest.next_dirty = 0;
            newest.done = true;
        }
    }

    fn finish_transfer(&mut self, pc: u32, decoding: &mut Decoding, waiting: &Step, dirty: u16) {
        let piped = self.piped;
        let Some(main) = &mut self.main else { return };
        match main.step.unit {
            Unit::Table => {
                main.table = 1;
                return;
            }
            Unit::Store => {
                main.next_dirty = 0;
                main.done = true;
                return;
            }
            Unit::StoreMany => {
                main.arrived += 1;
                if main.arrived == main.step.words {
                    main.next_dirty = 0;
                    main.done = true;
                }
                return;
            }
            _ => {}
        }
        let register = main.step.nth(main.arrived);
        main.arrived += 1;
        if main.step.unit == Unit::Load || main.arrived == main.step.words {
            main.done = true;
        }
        main.next_dirty &= !mask(register);
        if register == 15 {
            main.next_dirty = 0;
            self.delayed = Some(pc);
            return;
        }
        let mask = mask(register);
        if piped.is_some_and(|piped| piped.dirty & mask != 0) {
            return;
        }
        let writeback = main.step.is(has::WRITEBACK | has::NARROW_LDM);
        if (!writeback || piped.is_some())
            && *decoding == Decoding::Address
            && waiting.address & dirty & !mask == 0
        {
            *decoding = Decoding::Ready;
        }
    }

    /// The clock's edge: what was decided is taken over.
    fn edge(&mut self, outcome: Outcome) {
        if let Some(target) = self.delayed.take() {
            self.aim = Aim::Branch(target);
        }
        // Instruction bus.
        if !outcome.fetch_waits && !outcome.fetch_denied {
            self.fetch_data = self.fetch_address.take();
            self.fetch_advanced = self.fetch_data.is_some();
        } else {
            if !outcome.fetch_waits {
                self.fetch_data = None;
            }
            self.fetch_advanced = false;
        }
        self.register = outcome.next_register;
        self.system_write = outcome.system_write;
        // Data bus.
        let was_unaligned = self.data_advanced && self.data_data.is_some_and(|data| data.unaligned);
        self.unaligned_now = was_unaligned;
        if !outcome.data_waits && !outcome.data_denied {
            self.data_data = self.data_address.take();
            self.data_advanced = self.data_data.is_some();
        } else {
            if !outcome.data_waits {
                self.data_data = None;
            }
            self.data_advanced = false;
        }
        self.data_ready = !outcome.data_waits;
        // Execute stage.
        self.idle = self.main.is_none() && self.piped.is_none();
        if let Some(main) = &mut self.main {
            if main.done {
                self.last = self.main.take();
            } else {
                main.cycle = main.cycle.saturating_add(1);
                main.dirty = main.next_dirty;
            }
        }
        if let Some(piped) = &mut self.piped {
            if piped.done && self.main.is_none() {
                self.last = self.piped.take();
            } else {
                piped.cycle = piped.cycle.saturating_add(1);
                piped.dirty = piped.next_dirty;
            }
        }
        if self.main.is_none() {
            self.main = self.piped.take();
        }
        // What a fetch brought.
        if outcome.arrives && outcome.arrived > 0 {
            self.incoming = outcome.arrived;
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    /// Runs without anything more to decode until the execute stage is empty: how long.
    pub fn drain(&mut self) -> u32 {
        let (mut jump, mut disable) = (None, false);
        let mut cycles = 0;
        while self.main.is_some() && cycles < 100 {
            for piped in [false, true] {
                let slot = if piped { self.piped } else { self.main };
                if let Some(mut at) = slot.filter(|at| !at.done) {
                    self.execute(&mut at, 0, &mut jump, &mut disable);
                    *(if piped { &mut self.piped } else { &mut self.main }) = Some(at);
                }
            }
            let mut decoding = Decoding::Waiting;
            let outcome = self.run_buses(0, &mut decoding, &Step::default(), 0);
            self.edge(outcome);
            cycles += 1;
        }
        cycles
    }

    /// When the last data transfer that the newest instruction asked for is in its data phase,
    /// in cycles from its entry: for reading counters.
    pub fn data_phase(&self) -> u32 {
        let mut later = self.clone();
        later.wait_for_data()
    }

    fn wait_for_data(&mut self) -> u32 {
        // The newest instruction has entered; the address goes out now.
        let Some(newest) = self.piped.or(self.main) else { return 0 };
        let mut cycles = 0;
        let mut out = false;
        loop {
            let mut decoding = Decoding::Waiting;
            if !out {
                self.data_address = Some(newest.transfer());
                out = true;
            }
            let outcome = self.run_buses(0, &mut decoding, &Step::default(), 0);
            self.edge(outcome);
            cycles += 1;
            if self.data_address.is_none() || cycles > 40 {
                return cycles;
            }
        }
    }
}

/// Cycles from a branch in the execute stage to its target there, when nothing makes it
/// longer.
const REFILL: u8 = 3;
/// Measured: a read over the System bus waits a cycle for the write before it.
const WRITE_BLOCKS_READ: bool = true;

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
    next_register: Register,
}

/// A register as a bit; none for those of the FPU.
const fn mask(register: u8) -> u16 {
    (1u32 << (register & 31)) as u16
}

impl Step {
    const fn address_base(&self) -> u16 {
        self.address
    }

    /// The register of the nth transferred word.
    fn nth(&self, at: u8) -> u8 {
        match self.unit {
            Unit::LoadMany if self.factors != 0 => {
                let mut list = self.factors;
                for _ in 0..at {
                    list &= list - 1;
                }
                list.trailing_zeros() as u8 & 15
            }
            _ if at == 0 => self.first,
            _ => self.second,
        }
    }
}
