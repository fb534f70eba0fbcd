//! Examines the inside of a step that is not a plain instruction.
//!
//! In such a step an exception is taken or left, the core sleeps, or an instruction reads what is
//! pending. At which cycles of the step the interrupt is noticed is found by repeating it.

use rtmark_sim::{Cycles, Register};

use super::{Sweep, Visitor};
use crate::border::Boundary;

/// The number of points examined one by one after a sleep begins and before it ends.
const EDGE: u64 = 64;

impl<S: Visitor> Sweep<'_, S> {
    /// Answers for the points inside a step that is not a plain instruction, and for those that waited
    /// before it.
    pub(super) fn answer_inside(&mut self, before: Boundary, looked: Option<Cycles>) {
        let (from, to) = (before.cycle, self.machine.cycles().0);
        let to = looked.map_or(to, |looked| looked.0.max(to));
        let come = from.saturating_sub(self.delay);
        let to = self.last.map_or(to, |last| last.min(to));
        if self.waiting.is_none() && come.max(self.seen) >= to {
            return;
        }
        if !self.go_back(before) {
            return;
        }
        if let Some(waiting) = self.waiting.take() {
            let mut first = self.first.take();
            let points = waiting..=self.last.map_or(come, |last| last.min(come)).max(waiting);
            let machine = first.as_mut().unwrap_or(&mut self.kept);
            let answer = self.visitor.follow(points.clone(), machine);
            self.add(points, answer);
        }
        // What the sweep started with in the middle of this step does not belong to this sweep.
        let begin = come.max(self.seen);
        if begin >= to {
            return;
        }
        if before.asleep {
            self.sleep(begin, to);
            self.seen = to;
            return;
        }
        if looked.is_some() {
            // The step may withdraw what it sees, so each point is examined separately.
            for at in begin + 1..=to {
                let answer = self.point(at);
                self.add(at..=at, answer);
            }
            self.seen = to;
            return;
        }
        // Finds the first point that the step does not see any more. Steps of the same kind stop
        // looking at the same time before their end, so that is tried first.
        let (mut low, mut high) = (begin + 1, to + 1);
        let guess = to.saturating_sub(self.unseen).clamp(low, high);
        for at in [guess, guess - 1] {
            if (low..high).contains(&at) {
                if self.is_noticed(at) { low = at + 1 } else { high = at }
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.is_noticed(middle) { low = middle + 1 } else { high = middle }
        }
        self.unseen = to.saturating_sub(low);
        if low > begin + 1 {
            let first = self.point(begin + 1);
            let last = if low - 1 > begin + 1 { self.point(low - 1) } else { first };
            self.between((begin + 1, first), (low - 1, last));
        }
        self.seen = low - 1;
    }

    /// Answers for the points of a sleep, from a boundary to the end of the piece, that nothing but the
    /// interrupt will ever end.
    pub(super) fn answer_endless_sleep(&mut self, before: Boundary, to: u64) {
        self.answer_pending(before.cycle);
        let last = *self.last.get_or_insert(to.max(self.noticed));
        if self.seen < last && self.go_back(before) {
            self.sleep(self.seen, last);
            self.seen = last;
        }
    }

    /// Follows a point from the kept machine's position.
    fn point(&mut self, at: u64) -> S::Answer {
        self.visitor.follow(at..=at, &mut self.kept)
    }

    /// Tells whether an interrupt that becomes pending at a cycle is noticed within the next step.
    fn is_noticed(&mut self, at: u64) -> bool {
        let (interrupt, path) = (self.visitor.interrupt(), self.visitor.path());
        let before = self.kept.abandoned_instructions();
        self.kept.look_ahead(|ahead| {
            ahead.pend_interrupt(interrupt, Cycles(at));
            let _ = ahead.advance(Cycles(u64::MAX));
            path.check_machine(ahead);
            // An instruction that gives way to it has seen it before it is reported as pending.
            ahead.is_pending_or_active(interrupt) || ahead.abandoned_instructions() != before
        })
    }

    /// Answers for a range of points whose ends are known. A step looks at what is pending only a few
    /// times, and points between two looks share an answer.
    fn between(&mut self, low: (u64, S::Answer), high: (u64, S::Answer)) {
        if low.0 == high.0 || low.1 == high.1 {
            self.add(low.0..=high.0, low.1);
            return;
        }
        if high.0 - low.0 == 1 {
            self.add(low.0..=low.0, low.1);
            self.add(high.0..=high.0, high.1);
            return;
        }
        let at = low.0.midpoint(high.0);
        let middle = (at, self.point(at));
        if high.0 - at == 1 {
            self.between(low, middle);
            self.add(high.0..=high.0, high.1);
        } else {
            let next = (at + 1, self.point(at + 1));
            self.between(low, middle);
            self.between(next, high);
        }
    }

    /// Answers for the points of a sleep with the boundaries `from` and `to`.
    fn sleep(&mut self, from: u64, to: u64) {
        let mut at = from + 1;
        while at <= to {
            let answer = self.point(at);
            // Nothing happens while the core sleeps: until something else is about to wake it, an
            // interrupt is served after the same time whenever it comes.
            match self.visitor.waits(answer, at) {
                Some(cycles) if at == from + EDGE && at + 2 * (cycles + EDGE) < to => {
                    let last = to - cycles - EDGE;
                    let pc = self.machine.register(Register::Pc);
                    self.visitor.add_waiting(at..=last, cycles, pc);
                    self.answered += last + 1 - at;
                    at = last + 1;
                }
                _ => {
                    self.add(at..=at, answer);
                    at += 1;
                }
            }
        }
    }
}
