//! How exceptions become pending, and come to the core.
//!
//! Between the two lie some cycles on a core whose pipeline is modelled, in which programs see
//! the exception pending already and instructions still begin: see
//! [`crate::timing::exceptions`]. What the core itself asks for, faults and SVC, it knows at once.

use crate::state::State;
use crate::timing::exceptions;

impl State {
    /// Pends an exception by a store: when its data phase, one cycle after its
    /// address phase, is over. A core that stores in one cycle is already executing
    /// the next instruction then.
    pub(crate) fn pend_soon(&mut self, exception: u16) {
        let at = self.cycles + 2;
        self.schedule(exception, at);
        if self.rules.model_buses() {
            self.send(exception, at + exceptions::FROM_STORE);
        }
    }

    /// Has an exception come to the core in a cycle.
    fn send(&mut self, exception: u16, at: u64) {
        let position = self.arrivals.partition_point(|&(earlier, _)| earlier <= at);
        self.arrivals.insert(position, (at, exception));
        self.deadline = 0;
    }

    /// Lets exceptions come to the core that are there by a cycle.
    pub(crate) fn receive(&mut self, now: u64) {
        while self.next_arrival() <= now {
            let (_, exception) = self.arrivals.remove(0);
            self.system.nvic.arrive(exception);
        }
    }

    pub(crate) fn next_arrival(&self) -> u64 {
        self.arrivals.first().map_or(u64::MAX, |&(at, _)| at)
    }

    /// Has an exception become pending at a cycle to come.
    pub(crate) fn schedule(&mut self, exception: u16, at: u64) {
        let position = self.scheduled.partition_point(|&(earlier, _)| earlier <= at);
        self.scheduled.insert(position, (at, exception));
        self.deadline = 0;
    }

    /// Makes an exception pending that a clock, a device or a store of earlier asks for. One that is on its
    /// way already, since the program has stored for it, comes no later for that: a search tells of it
    /// when the store has executed.
    pub(crate) fn signal(&mut self, exception: u16, at: u64) {
        let news = !self.system.nvic.pending().contains(exception);
        self.pend(exception, at);
        if !self.rules.model_buses() {
            return;
        }
        if news {
            self.system.nvic.send(exception);
        }
        let arrives = at + exceptions::FROM_SIGNAL;
        let known = self.arrivals.iter().find(|&&(_, arriving)| arriving == exception);
        if known.map_or(news, |&(known, _)| arrives < known) {
            self.send(exception, arrives);
        }
    }

    /// Makes an exception pending at a cycle that the core itself asks for, and knows of.
    pub(crate) fn pend(&mut self, exception: u16, at: u64) {
        if self.system.nvic.pend(exception, true) {
            // SCR.SEVONPEND: what becomes pending is an event (DDI 0403, B1.5.18).
            self.event |= self.system.sleep_control & 0x10 != 0;
            self.note_pend(exception, at);
            self.empty_caches_if_asked();
        }
    }

    /// Makes an exception no longer pending, by a store.
    pub(crate) fn unpend(&mut self, exception: u16) {
        let now = self.data_phase();
        self.pass_time(now);
        self.system.nvic.pend(exception, false);
        self.arrivals.retain(|&(_, arrives)| arrives != exception);
    }
}
