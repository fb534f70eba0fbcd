//! The fetch stage: which word is requested next, and which words have arrived.
//!
//! It knows no opcodes: the queue counts halfwords, and the decode stage reports how many leave it.

use super::decode::Decoding;
use super::ports::{Fetch, FetchPath};
use super::{Pipeline, Rule, is_on_system_bus};

/// Halfwords per word.
const WORD: u8 = 2;
/// The capacity in halfwords of the instruction register and the two words after it: the prefetch
/// unit holds three words (DDI 0337G, 1.2.1).
const CAPACITY: u8 = 3 * WORD;

/// The later stages' requests to the fetch stage in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToFetch {
    /// Continue at this address.
    pub branch: Option<u32>,
    /// Stop, and continue at this address in the next cycle.
    pub late_branch: Option<u32>,
    /// Fetch the target of a branch before it is known whether it is taken.
    pub guess: Option<Guess>,
    /// Stop: the next address is not known yet.
    pub stop: bool,
    /// Drop the content of the instruction register: a branch has been executed.
    pub clear: bool,
}

/// A branch that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub target: u32,
    /// The outcome, which becomes known in the next cycle.
    pub taken: bool,
}

/// The latch between fetch and decode: halfwords that have been fetched and not passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FetchToDecode {
    /// Halfwords in the instruction register, which the decode stage reads.
    pub register: u8,
    /// Halfwords in the two words after it.
    pub behind: u8,
    /// Whether the register keeps a taken branch until it has been executed.
    keeps_branch: bool,
}

impl FetchToDecode {
    fn occupied(self) -> u8 {
        WORD * u8::from(self.register > 0) + self.behind
    }

    /// Applies the clock's edge: halfwords leave the register, others arrive, and all move up.
    pub fn clock(&mut self, leaving: u8, arriving: u8) {
        self.behind += arriving;
        if self.keeps_branch {
            return;
        }
        self.register = self.register.saturating_sub(leaving);
        let moving = (WORD - self.register).min(self.behind);
        self.register += moving;
        self.behind -= moving;
    }

    /// Drops everything after a taken branch, which stays in the register for now.
    fn branch(&mut self) {
        self.behind = 0;
        self.keeps_branch = true;
    }

    /// Releases a taken branch from the register.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.keeps_branch) {
            self.register = 0;
        }
    }
}

/// Where fetching continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum NextFetch {
    #[default]
    Stopped,
    Sequential(u32),
    /// At a target that the execute stage computes in this cycle.
    Late(u32),
    /// After the target of a branch that was fetched in advance, or after the branch.
    Guessed {
        target: u32,
        sequential: u32,
        taken: bool,
    },
}

impl NextFetch {
    /// Returns whether the next word is fetched over the System bus.
    fn is_on_system_bus(self) -> bool {
        matches!(self, Self::Sequential(next) if is_on_system_bus(next))
    }

    /// Records that only the second half of a branch target's word is wanted, at `address`. Returns
    /// whether the word has not been requested yet.
    pub fn narrow(&mut self, address: u32) -> bool {
        let (Self::Sequential(next) | Self::Guessed { target: next, .. }) = self else {
            return false;
        };
        let is_next = *next == address & !3;
        if is_next {
            *next = address;
        }
        is_next
    }
}

/// The fetch stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Prefetch {
    pub to_decode: FetchToDecode,
    pub plan: NextFetch,
}

impl Prefetch {
    pub fn move_addresses(&mut self, by: u32) {
        match &mut self.plan {
            NextFetch::Stopped => {}
            NextFetch::Sequential(next) | NextFetch::Late(next) => *next = next.wrapping_add(by),
            NextFetch::Guessed { target, sequential, .. } => {
                *target = target.wrapping_add(by);
                *sequential = sequential.wrapping_add(by);
            }
        }
    }

    /// Drops one halfword of a word that has arrived: only the other half is wanted.
    pub fn drop_half(&mut self) {
        self.to_decode.behind = self.to_decode.behind.saturating_sub(1);
    }

    /// Continues at `target`, which the execute stage has just loaded.
    pub fn branch_late(&mut self, target: u32) {
        self.plan = NextFetch::Late(target);
    }
}

impl Pipeline {
    /// Runs one cycle of the fetch stage.
    pub(super) fn fetch(&mut self, asked: ToFetch, decoding: Option<&Decoding<'_>>) {
        if let Some(target) = asked.branch {
            self.branch_to(target);
            if asked.clear {
                self.prefetch.to_decode.clear();
            }
            return;
        }
        if let Some(guess) = asked.guess {
            self.guess(guess);
            return;
        }
        if asked.stop || asked.late_branch.is_some() {
            self.fetch_port.give_up();
            let plan = asked.late_branch.map_or(NextFetch::Stopped, NextFetch::Late);
            self.prefetch = Prefetch { plan, ..Prefetch::default() };
            return;
        }
        match self.prefetch.plan {
            NextFetch::Stopped => return,
            NextFetch::Late(target) => {
                self.branch_to(target);
                self.prefetch.to_decode.clear();
                return;
            }
            NextFetch::Guessed { target, taken: true, .. } => {
                self.fetch_port.keep(FetchPath::Guessed);
                self.prefetch.to_decode.branch();
                self.prefetch.plan = NextFetch::Sequential(target);
            }
            NextFetch::Guessed { sequential, .. } => {
                self.fetch_port.keep(FetchPath::Sequential);
                self.prefetch.plan = NextFetch::Sequential(sequential);
            }
            NextFetch::Sequential(_) => {}
        }
        let waiting = WORD * self.fetch_port.wanted_words();
        let to_decode = self.prefetch.to_decode;
        let has_room = to_decode.occupied() + waiting + WORD <= CAPACITY;
        let on_credit = self.setup.follows(Rule::FetchOnCredit);
        if has_room || on_credit && self.will_have_room(waiting, decoding) {
            self.present_next(FetchPath::Sequential);
        }
    }

    fn branch_to(&mut self, target: u32) {
        self.fetch_port.give_up();
        self.prefetch.to_decode.branch();
        self.prefetch.plan = NextFetch::Sequential(target);
        self.present_next(FetchPath::Sequential);
    }

    /// Requests a branch's target, and defers the code after the branch.
    fn guess(&mut self, Guess { target, taken }: Guess) {
        let next = match self.prefetch.plan {
            NextFetch::Sequential(next) => next,
            _ => target,
        };
        let sequential = self.fetch_port.withdraw().unwrap_or(next);
        self.prefetch.plan = NextFetch::Sequential(target);
        self.present_next(FetchPath::Guessed);
        if let NextFetch::Sequential(target) = self.prefetch.plan {
            self.prefetch.plan = NextFetch::Guessed { target, sequential, taken };
        }
    }

    /// Returns whether there will be room for another word once the decode stage has passed its
    /// instruction on, as it is expected to.
    fn will_have_room(&self, waiting: u8, decoding: Option<&Decoding<'_>>) -> bool {
        let next_is_busy = decoding.is_some_and(Decoding::is_compare_branch)
            && self.prefetch.plan.is_on_system_bus()
            && self.setup.follows(Rule::CompareBranchIsBusy);
        if next_is_busy
            || self.execute.is_busy(&self.setup)
            || self.decode_waits && self.setup.follows(Rule::NoCreditForAddress)
        {
            return false;
        }
        let mut to_decode = self.prefetch.to_decode;
        to_decode.clock(decoding.map_or(0, Decoding::leaving), 0);
        to_decode.occupied() + waiting + WORD <= CAPACITY
    }

    /// Presents the address of the next word, if the port is free.
    fn present_next(&mut self, path: FetchPath) {
        let NextFetch::Sequential(next) = self.prefetch.plan else { return };
        let word = next & !3;
        let wanted = if next & 2 == 0 { 2 } else { 1 };
        let fetch = Fetch { word, wanted, waits: 0, path, on_system: is_on_system_bus(word) };
        let yields = self.setup.follows(Rule::GivenUpFetchYields);
        if self.fetch_port.present(fetch, yields) {
            self.prefetch.plan = NextFetch::Sequential(word.wrapping_add(4));
        }
    }
}
