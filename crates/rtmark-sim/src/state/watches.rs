//! Watching a run without disturbing it.
//!
//! A watch costs the program no cycle. Its hits are recorded with the cycle in which they happened, and the
//! caller collects them at any time.

use rtmark_units::{Cycles, Instructions};

use super::masks::Masking;
use super::stack_watch::StackWatch;
use super::{CoreState, Interrupted, State};

/// An event to record each time it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Watch {
    /// The instruction at this address is about to execute.
    Execute(u32),
    /// The exception with this number becomes pending.
    Pend(u16),
    /// The first instruction after the return from this exception is about to execute.
    Return(u16),
    /// The first instruction of the handler of the exception with this number is about to execute, on cores
    /// where exceptions share their handlers' code: see
    /// [`Machine::handler_watch`](crate::Machine::handler_watch).
    Handle(u16),
    /// The core falls asleep, by WFI, WFE or sleep-on-exit.
    Sleep,
}

/// Identifies a watch of one machine; numbered in the order in which they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u32);

/// One occurrence of a watched event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The watch that was hit.
    pub watch: WatchId,
    /// The cycle in which it happened.
    pub cycle: Cycles,
    /// Instructions executed before it.
    pub instructions: Instructions,
    /// Handlers of SysTick, or of the exception given to
    /// [`Machine::count_ticks_of`](crate::Machine::count_ticks_of), entered before it.
    pub ticks: u64,
    /// Handlers of external interrupts entered before it.
    pub interrupts: u64,
    /// Cycles spent up to it on anything besides instructions.
    pub overhead: Overhead,
}

/// What takes cycles besides the execution of instructions, since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Cycles for which memories and devices have made the core wait. A pipeline may have hidden some of
    /// them. What its fetches wait for a slow memory is not included.
    pub waited: Cycles,
    /// Cycles slept.
    pub asleep: Cycles,
    /// Handlers entered, for any exception.
    pub exceptions: u64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub cycle: u64,
    pub instructions: u64,
    pub overhead: Overhead,
}

#[derive(Clone, Debug, Default)]
pub struct Watches {
    wanted: Vec<Watch>,
    pub hits: Vec<Hit>,
    pub ticks: u64,
    pub interrupts: u64,
    /// The exception that is the tick, if it is not SysTick.
    pub tick: Option<u16>,
    /// Handlers entered, for any exception.
    pub taken: u64,
    /// The cycle in which the newest exception entry began, on cores that support landmarks.
    pub entry_began: u64,
    /// Handlers left.
    pub left: u64,
    pub masking: Masking,
    pub stack: StackWatch,
    /// The code whose resumption ends a run, and whether it resumes now.
    pub awaited: Option<Interrupted>,
    resumes: bool,
    /// Watches whose hits empty the caches, and whether one has been hit.
    pub empties: Vec<WatchId>,
    pub empty: bool,
}

impl Watches {
    pub fn add(&mut self, watch: Watch) -> WatchId {
        self.wanted.push(watch);
        WatchId(self.wanted.len() as u32 - 1)
    }

    /// Begins to count anew, and keeps what is watched and what has been hit.
    pub const fn forget_counts(&mut self) {
        (self.ticks, self.interrupts, self.taken, self.left) = (0, 0, 0, 0);
    }

    /// Returns every watched address, in ascending order.
    pub fn addresses(&self) -> Vec<u32> {
        let mut addresses: Vec<_> = self
            .wanted
            .iter()
            .filter_map(|watch| match watch {
                Watch::Execute(address) => Some(*address),
                _ => None,
            })
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    pub fn note(&mut self, happened: Watch, now: Counts) {
        for (at, _) in self.wanted.iter().enumerate().filter(|(_, watch)| **watch == happened) {
            self.hits.push(Hit {
                watch: WatchId(at as u32),
                cycle: Cycles(now.cycle),
                instructions: Instructions(now.instructions),
                ticks: self.ticks,
                interrupts: self.interrupts,
                overhead: now.overhead,
            });
            self.masking.watch_hit();
            self.empty |= self.empties.contains(&WatchId(at as u32));
        }
    }

    /// Returns whether reaching an address empties the caches.
    pub fn empties_at(&self, address: u32) -> bool {
        let is_here =
            |watch: &WatchId| self.wanted.get(watch.0 as usize) == Some(&Watch::Execute(address));
        self.empties.iter().any(is_here)
    }

    /// Notes an exception return: to which address, with which stack pointer, and to which handler.
    pub fn returns_to(&mut self, pc: u32, sp: u32, exception: u16) {
        let awaited = |it: &Interrupted| (it.pc, it.sp, it.exception) == (pc, sp, exception);
        if self.awaited.as_ref().is_some_and(awaited) {
            (self.awaited, self.resumes) = (None, true);
        }
    }

    /// Returns whether the awaited code resumes now, and clears that.
    pub const fn take_resumed(&mut self) -> bool {
        std::mem::replace(&mut self.resumes, false)
    }

    pub fn reach(&mut self, address: u32, now: Counts) {
        self.note(Watch::Execute(address), now);
    }

    /// Returns whether an event is to be recorded.
    pub fn want(&self, happened: Watch) -> bool {
        self.wanted.contains(&happened)
    }

    /// Counts the entry to a handler.
    pub fn enter(&mut self, exception: u16) {
        self.taken += 1;
        match exception {
            crate::arch::armm::nvic::SYSTICK => self.ticks += 1,
            _ if self.tick == Some(exception) => self.ticks += 1,
            crate::arch::armm::nvic::FIRST_INTERRUPT.. => self.interrupts += 1,
            _ => {}
        }
    }
}

impl State {
    /// Records that an exception has become pending in a cycle.
    pub(crate) fn note_pend(&mut self, exception: u16, at: u64) {
        let happened = Watch::Pend(exception);
        if self.watches.want(happened) {
            self.watches.note(happened, self.counts(at));
        }
    }

    /// Records that a handler has been left.
    pub(crate) fn note_return(&mut self, exception: u16) {
        self.watches.left += 1;
        self.note_now(Watch::Return(exception));
    }

    /// Records an event that happens now.
    pub(crate) fn note_now(&mut self, happened: Watch) {
        if self.watches.want(happened) {
            self.watches.note(happened, self.counts(self.cycles));
        }
    }
}
