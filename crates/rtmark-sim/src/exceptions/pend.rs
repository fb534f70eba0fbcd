//! How exceptions become pending, and how they reach the core.
//!
//! On a core whose pipeline is modelled, some cycles pass between the two; during them programs already see
//! the exception as pending, and instructions still begin: see [`crate::timing::exceptions`]. Exceptions
//! that the core itself raises, faults and SVC, reach it at once.

use crate::state::State;
use crate::timing::exceptions;

impl State {
    /// Makes an exception pending by a store, at the end of the store's data phase, one cycle after its
    /// address phase. A core that stores in one cycle is already executing the next instruction then.
    pub(crate) fn pend_by_store(&mut self, exception: u16) {
        let at = self.cycles + 2;
        self.schedule(exception, at);
        if self.rules.model_buses() {
            self.send(exception, at + exceptions::FROM_STORE);
        }
    }

    /// Lets an exception reach the core in a given cycle.
    fn send(&mut self, exception: u16, at: u64) {
        let position = self.arrivals.partition_point(|&(earlier, _)| earlier <= at);
        self.arrivals.insert(position, (at, exception));
        self.deadline = 0;
    }

    /// Delivers the exceptions that reach the core up to a cycle.
    pub(crate) fn receive(&mut self, now: u64) {
        while self.next_arrival() <= now {
            let (_, exception) = self.arrivals.remove(0);
            self.system.nvic.arrive(exception);
        }
    }

    pub(crate) fn next_arrival(&self) -> u64 {
        self.arrivals.first().map_or(u64::MAX, |&(at, _)| at)
    }

    /// Schedules an exception to become pending in a future cycle.
    pub(crate) fn schedule(&mut self, exception: u16, at: u64) {
        let position = self.scheduled.partition_point(|&(earlier, _)| earlier <= at);
        self.scheduled.insert(position, (at, exception));
        self.deadline = 0;
    }

    /// Makes an exception pending that a clock, a device or an earlier store requests. If it is already on
    /// its way to the core, because the program has requested it by a store, this does not delay it; a
    /// search only issues its own request after that store has executed.
    pub(crate) fn signal(&mut self, exception: u16, at: u64) {
        let is_new = !self.system.nvic.pending().contains(exception);
        self.pend(exception, at);
        if !self.rules.model_buses() {
            return;
        }
        if is_new {
            self.system.nvic.send(exception);
        }
        let arrives = at + exceptions::FROM_SIGNAL;
        let known = self.arrivals.iter().find(|&&(_, arriving)| arriving == exception);
        if known.map_or(is_new, |&(known, _)| arrives < known) {
            self.send(exception, arrives);
        }
    }

    /// Makes an exception pending that the core itself raises, and therefore knows of at once.
    pub(crate) fn pend(&mut self, exception: u16, at: u64) {
        if self.system.nvic.pend(exception, true) {
            self.event |= self.system.events_on_pend();
            self.note_pend(exception, at);
            self.empty_caches_if_asked();
        }
    }

    /// Clears an exception's pending state, by a store.
    pub(crate) fn unpend(&mut self, exception: u16) {
        let now = self.data_phase();
        self.pass_time(now);
        self.system.nvic.pend(exception, false);
        self.arrivals.retain(|&(_, arrives)| arrives != exception);
    }
}
