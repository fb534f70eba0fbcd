//! Watching a run without disturbing it.
//!
//! A watch costs the program no cycle. Its hits are noted with the cycle in which
//! they happened and are collected by the caller whenever it likes.

use rtmark_units::{Cycles, Instructions};

use crate::masking::Masking;

/// Something to note each time it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Watch {
    /// The instruction at this address is about to execute.
    Execute(u32),
    /// The exception with this number becomes pending.
    Pend(u16),
    /// The first instruction after the return from this exception is about to execute.
    Return(u16),
    /// The core falls asleep, by WFI, WFE or at a handler's end.
    Sleep,
}

/// Names a watch among those of one machine, in the order of their making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u32);

/// One occurrence of what a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Which watch.
    pub watch: WatchId,
    /// When.
    pub cycle: Cycles,
    /// Instructions executed before it.
    pub instructions: Instructions,
    /// SysTick handlers entered before it.
    pub ticks: u64,
    /// Handlers of external interrupts entered before it.
    pub interrupts: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    wanted: Vec<Watch>,
    pub hits: Vec<Hit>,
    pub ticks: u64,
    pub interrupts: u64,
    /// Handlers of any exception entered.
    pub taken: u64,
    /// And left.
    pub left: u64,
    pub masking: Masking,
    /// Watches whose hits empty the caches, and whether one has been hit.
    pub empties: Vec<WatchId>,
    pub empty: bool,
}

impl Watches {
    pub fn add(&mut self, watch: Watch) -> WatchId {
        self.wanted.push(watch);
        WatchId(self.wanted.len() as u32 - 1)
    }

    /// Every address that is watched, in ascending order.
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

    fn note(&mut self, happened: Watch, cycle: u64, instructions: u64) {
        for (at, _) in self.wanted.iter().enumerate().filter(|(_, watch)| **watch == happened) {
            self.hits.push(Hit {
                watch: WatchId(at as u32),
                cycle: Cycles(cycle),
                instructions: Instructions(instructions),
                ticks: self.ticks,
                interrupts: self.interrupts,
            });
            self.masking.watch_hit();
            self.empty |= self.empties.contains(&WatchId(at as u32));
        }
    }

    pub fn reach(&mut self, address: u32, cycle: u64, instructions: u64) {
        self.note(Watch::Execute(address), cycle, instructions);
    }

    pub fn pend(&mut self, exception: u16, cycle: u64, instructions: u64) {
        self.note(Watch::Pend(exception), cycle, instructions);
    }

    pub fn returned(&mut self, exception: u16, cycle: u64, instructions: u64) {
        self.left += 1;
        self.note(Watch::Return(exception), cycle, instructions);
    }

    pub fn asleep(&mut self, cycle: u64, instructions: u64) {
        self.note(Watch::Sleep, cycle, instructions);
    }

    /// Counts a handler's entry.
    pub fn enter(&mut self, exception: u16) {
        self.taken += 1;
        match exception {
            crate::nvic::SYSTICK => self.ticks += 1,
            crate::nvic::FIRST_INTERRUPT.. => self.interrupts += 1,
            _ => {}
        }
    }
}
