//! Sweeps along a piece of the path with the interrupt in mind.
//!
//! At each instruction boundary the points that have no answer yet are either answered at once, because
//! the interrupt would be taken now, or carried on. If a step is not a plain instruction, the interrupt
//! may be seen in the middle of it: such steps are repeated from a copy, once for each point that makes
//! a difference.

mod inside;

use std::ops::RangeInclusive;

use rtmark_sim::{Advance, Blocker, Cycles, Irq, Machine, Register, Stop, TrialOutcome, WatchId};

use crate::border::{Boundary, giving_way_at};
use crate::fork::Unserved;
use crate::held::{BlockerTracker, PieceOwner, merged};
use crate::path::{Path, Window};

/// The interval, in cycles, at which a new copy is kept to go back to.
const KEPT_EACH: u64 = 4096;

/// What a sweep is for: the interrupt that becomes pending, and the use of its points' answers.
pub trait Visitor {
    /// The answer of a point. If two points that one step sees have equal answers, so have all points
    /// between them.
    type Answer: Copy + PartialEq;

    /// Returns the interrupt.
    fn interrupt(&self) -> Irq;

    /// Returns the path, which also records mistakes of the simulator.
    fn path(&self) -> &Path;

    /// Examines a boundary, and returns the cycle in which the sweep ends as far as known now.
    fn look(&mut self, _: &mut Machine, to: u64) -> u64 {
        to
    }

    /// Tells whether it is enough to know when the handler begins while nothing holds it back.
    fn can_try_entries(&self) -> bool {
        false
    }

    /// Answers for the points up to `_last`, for which the handler's first cycle is known, if that is
    /// enough.
    fn entered(&mut self, _last: u64, _: &Machine, _cycle: u64) -> Option<Self::Answer> {
        None
    }

    /// Answers for points that are noticed as the last of them is. The machine is before the first of
    /// them if `needs_first` says so, and otherwise no later than where they are noticed.
    fn follow(&mut self, points: RangeInclusive<u64>, machine: &mut Machine) -> Self::Answer;

    /// Answers for points that are never noticed.
    fn answer_unserved(
        &mut self,
        points: RangeInclusive<u64>,
        machine: &Machine,
        why: Unserved,
    ) -> Self::Answer;

    /// Tells whether the answer depends on all points that share it.
    fn needs_first(&self) -> bool {
        false
    }

    /// Returns the watch of the handler's beginning, if a beginning that the program itself causes also
    /// answers for the points before it.
    fn begins(&self) -> Option<WatchId> {
        None
    }

    /// Returns how long the interrupt waits, if that is the same for every moment of a sleep during
    /// which nothing happens.
    fn waits(&self, _answer: Self::Answer, _at: u64) -> Option<u64> {
        None
    }

    /// Takes an answer.
    fn add(&mut self, points: RangeInclusive<u64>, answer: Self::Answer, pc: u32);

    /// Records that each of some points waits for the given number of cycles.
    fn add_waiting(&mut self, _: RangeInclusive<u64>, _waits: u64, _pc: u32) {}

    /// Returns the tracker of what holds the interrupt back, if it is wanted.
    fn held(&mut self) -> Option<&mut BlockerTracker> {
        None
    }

    /// Records that an instruction executes in the window.
    fn executed(&mut self, _pc: u32) {}
}

struct Sweep<'a, S> {
    visitor: &'a mut S,
    machine: Machine,
    kept: Machine,
    /// The first point without an answer, if any; the last one is the boundary's cycle.
    waiting: Option<u64>,
    /// The machine before that point, if the visitor needs it and it differs from the last step's.
    first: Option<Machine>,
    /// The last cycle whose point has been examined.
    seen: u64,
    /// The last cycle whose point belongs to the piece, once known.
    last: Option<u64>,
    /// The last point at which instructions begun in the piece may notice the interrupt.
    noticed: u64,
    /// The number of points that have an answer.
    answered: u64,
    /// The cycles from a point until the interrupt reaches the core.
    delay: u64,
    /// How long before its end the last step that was not a plain instruction stopped looking.
    unseen: u64,
}

/// Sweeps from the machine's position, and gives a visitor the points of a window. Points that the
/// machine has already passed are noticed where it is. The sweep ends at the first boundary at or after
/// the window's end, or where the last point has its answer.
pub fn sweep<S: Visitor>(visitor: &mut S, machine: Machine, window: Window) {
    let mut sweep = Sweep::new(visitor, machine, window);
    let interrupt = sweep.visitor.interrupt();
    let mut to = window.to;
    let mut previous: Option<(Boundary, Option<Blocker>)> = None;
    loop {
        sweep.machine.settle();
        to = sweep.visitor.look(&mut sweep.machine, to);
        let boundary = Boundary::of(&sweep.machine);
        let now = boundary.cycle;
        let owner = sweep.reach(now, to);
        let blocker = sweep.machine.interrupt_blocker(interrupt);
        sweep.note_blocker(blocker, now, owner);
        let looks = sweep.machine.can_observe_pending(interrupt);
        let looked = sweep.machine.observes_pending_until(interrupt);
        // Inside an instruction that began with the interrupt held back, another one might have been
        // noticed.
        if let Some((previous, Some(_))) = previous {
            sweep.keep_first(previous);
        }
        if !boundary.asleep {
            match blocker {
                None => sweep.enter(now),
                Some(_) if looks => sweep.answer_pending(now),
                Some(_) => {}
            }
        }
        if sweep.last.is_some_and(|last| sweep.seen >= last)
            && sweep.waiting.is_none()
            && !sweep.is_held()
        {
            break;
        }
        if sweep
            .last
            .is_some_and(|last| now > last.saturating_add(sweep.visitor.path().question().patience))
        {
            sweep.record_unserved(now, Unserved::Late);
            sweep.end_held();
            break;
        }
        let pc = sweep.machine.register(Register::Pc);
        let is_free = sweep.last.is_none() && !boundary.asleep && blocker.is_none();
        if sweep.last.is_none() && !boundary.asleep {
            sweep.visitor.executed(pc);
        }
        match previous {
            Some((previous, _)) if sweep.waiting.is_some() => sweep.keep_first(previous),
            _ => sweep.keep(),
        }
        previous = Some((boundary, blocker));
        if let Some(looked) = looked.filter(|_| sweep.last.is_none()) {
            sweep.noticed = sweep.noticed.max(looked.0);
        }
        // An instruction that gives way holds the interrupt back from then on.
        let mut began = now;
        let is_over = sweep.last.is_some_and(|last| sweep.seen >= last);
        if !is_over && !boundary.asleep && blocker.is_none() && !looks {
            began = sweep.enter_within(now);
            if sweep.last.is_none() {
                sweep.noticed = sweep.noticed.max(began.saturating_sub(sweep.delay));
            }
        }
        if sweep.has_failed() {
            return;
        }
        // Sleep is cut at the end of the piece, where the next piece begins.
        let until = if boundary.asleep && now < to { to } else { u64::MAX };
        let would_wake = boundary.asleep && sweep.would_wake(blocker);
        let hits = sweep.machine.hits().len();
        match sweep.machine.advance_before_issue(Cycles(until)) {
            Ok(Advance::Instruction) if !looks => {
                sweep.answer_begun(boundary, hits);
                sweep.enter_early(boundary);
                sweep.machine.settle();
                if is_free {
                    sweep.note_instruction(pc, began);
                }
            }
            Ok(_) => {
                sweep.machine.settle();
                sweep.answer_inside(boundary, looked);
                sweep.answer_begun(boundary, hits);
            }
            Err(Stop::Internal(_)) => {
                sweep.has_failed();
                return;
            }
            Err(Stop::Asleep) => {
                sweep.answer_endless_sleep(boundary, to);
                sweep.end_held();
                break;
            }
            Err(stop) => {
                // The program ends here: points that wait are never served.
                let why = Unserved::of(&sweep.machine, &stop, interrupt);
                sweep.record_unserved(now, why);
                sweep.end_held();
                break;
            }
        }
        if would_wake && let Some(held) = sweep.visitor.held() {
            held.sleep(sweep.machine.cycles().0 - now);
        }
    }
    sweep.finish(window);
}

impl<'a, S: Visitor> Sweep<'a, S> {
    /// Returns whether the interrupt would end the current sleep although something holds it back.
    fn would_wake(&self, blocker: Option<Blocker>) -> bool {
        let priority = self.visitor.path().question().priority;
        blocker != Some(Blocker::Disabled) && self.machine.would_wake(Some(priority))
    }

    /// Tells whether the simulator made a mistake: then points have no answer.
    fn has_failed(&self) -> bool {
        let path = self.visitor.path();
        path.check_machine(&self.machine);
        path.check_machine(&self.kept);
        path.has_failed()
    }

    /// Checks that all points have their answers.
    fn finish(&self, window: Window) {
        if self.has_failed() {
            return;
        }
        let end = self.last.map_or(self.seen, |last| last.min(self.seen));
        let points = end.saturating_sub(window.from);
        debug_assert_eq!(self.answered, points, "points without an answer");
    }

    /// Begins at the machine's position.
    fn new(visitor: &'a mut S, mut machine: Machine, window: Window) -> Self {
        machine.settle();
        let delay = machine.interrupt_delay();
        let come = machine.cycles().0.saturating_sub(delay);
        Self {
            visitor,
            kept: machine.clone(),
            machine,
            waiting: (window.from < come).then_some(window.from + 1),
            first: None,
            seen: come.max(window.from),
            delay,
            last: None,
            noticed: window.from,
            answered: 0,
            unseen: 0,
        }
    }

    /// Makes the points up to a boundary wait for their answer. Boundaries at or after the end, `to`,
    /// belong to the next piece, but the step that leads to the first of them belongs to this one.
    fn reach(&mut self, now: u64, to: u64) -> PieceOwner {
        let owner = if self.last.is_none() { PieceOwner::Current } else { PieceOwner::Next };
        if now >= to && self.last.is_none() {
            self.last = Some(now.max(self.noticed));
        }
        self.see(now.saturating_sub(self.delay));
        owner
    }

    /// Makes the points up to a cycle wait for their answer.
    fn see(&mut self, cycle: u64) {
        if self.last.is_none_or(|last| self.seen < last) && self.seen < cycle {
            self.waiting = self.waiting.or(Some(self.seen + 1));
            self.seen = cycle;
        }
    }

    /// Keeps a copy of the machine to go back to.
    fn keep(&mut self) {
        if self.machine.cycles().0 >= self.kept.cycles().0 + KEPT_EACH {
            self.machine.take_hits();
            self.machine.take_console();
            self.kept = self.machine.clone();
        }
    }

    /// Keeps the machine before the first waiting point, among those that came with the step from the
    /// last boundary.
    fn keep_first(&mut self, last: Boundary) {
        if self.visitor.needs_first()
            && self.first.is_none()
            && self.waiting.is_some_and(|from| from + self.delay > last.cycle)
            && self.go_back(last)
        {
            self.first = Some(self.kept.clone());
        }
    }

    /// Takes the waiting points at a boundary's cycle, which have an answer now.
    fn take_waiting(&mut self, now: u64) -> Option<RangeInclusive<u64>> {
        let last = self.last_waiting(now);
        let from = self.waiting.take()?;
        Some(from..=last.max(from))
    }

    /// Returns the last point that has reached the core by a boundary's cycle.
    fn last_waiting(&self, now: u64) -> u64 {
        let come = now.saturating_sub(self.delay);
        self.last.map_or(come, |last| last.min(come))
    }

    /// Tells whether the interrupt has been held back since a moment in the piece.
    fn is_held(&mut self) -> bool {
        self.visitor.held().is_some_and(|held| held.is_open())
    }

    /// Answers for the waiting points, as the interrupt would be taken now.
    fn enter(&mut self, now: u64) {
        let Some(from) = self.waiting else { return };
        let last = self.last_waiting(now).max(from);
        if self.visitor.can_try_entries()
            && let TrialOutcome::Entered(cycle) = self.machine.try_entry(self.visitor.interrupt())
            && let Some(answer) = self.visitor.entered(last, &self.machine, cycle.0)
        {
            if let Some(points) = self.take_waiting(now) {
                self.add(points, answer);
            }
            return;
        }
        self.answer_waiting(now);
    }

    /// Answers for the points that reach the core before the next instruction enters, of a machine that
    /// has advanced one visible step from a boundary.
    fn enter_early(&mut self, before: Boundary) {
        let interrupt = self.visitor.interrupt();
        if self.delay == 0 || self.machine.interrupt_blocker(interrupt).is_some() {
            return;
        }
        if self.waiting.is_some() {
            // They reached the core before the last instruction.
            self.answer_early(before, before.cycle.saturating_sub(self.delay));
        }
        let next = self.machine.next_entry().0.saturating_sub(self.delay);
        while self.seen < self.last.unwrap_or(u64::MAX).min(next) {
            let at = self.seen + 1;
            self.see(at);
            self.answer_early(before, at);
        }
    }

    /// Answers for the waiting points up to one that reaches the core before the next instruction
    /// enters.
    fn answer_early(&mut self, before: Boundary, at: u64) {
        let Some(from) = self.waiting.take() else { return };
        let points = from..=self.last.map_or(at, |last| last.min(at)).max(from);
        if self.visitor.can_try_entries()
            && let TrialOutcome::Entered(cycle) =
                self.machine.try_entry_early(self.visitor.interrupt(), Cycles(*points.end()))
            && let Some(answer) = self.visitor.entered(*points.end(), &self.machine, cycle.0)
        {
            return self.add(points, answer);
        }
        if !self.go_back(before) {
            self.waiting = Some(from);
            return;
        }
        let mut first = self.first.take();
        let answer = self.visitor.follow(points.clone(), first.as_mut().unwrap_or(&mut self.kept));
        self.add(points, answer);
    }

    /// Answers for the pending points at a boundary whose instruction reads what is pending.
    fn answer_pending(&mut self, now: u64) {
        self.answer_waiting(now);
        while self.seen < self.last.unwrap_or(u64::MAX).min(now) {
            let at = self.seen + 1;
            self.seen = at;
            let answer = self.visitor.follow(at..=at, &mut self.machine);
            self.add(at..=at, answer);
        }
    }

    /// Answers for the points inside the next instruction for as long as it gives way to an interrupt,
    /// and returns until when it does.
    fn enter_within(&mut self, now: u64) -> u64 {
        let interrupt = self.visitor.interrupt();
        // It may give way to something else on its own, whatever becomes pending then.
        let mut end = None;
        let mut at = (now + 1).saturating_sub(self.delay);
        let mut until = now;
        let last = self.last.unwrap_or(u64::MAX);
        while at <= last
            && let Some(tried) = self.machine.try_entry_within(interrupt, Cycles(at))
        {
            if at <= self.seen {
                // It belongs to the preceding piece.
                (until, at) = (at + self.delay, at + 1);
                continue;
            }
            let known = match tried {
                TrialOutcome::Entered(cycle) => self.visitor.entered(at, &self.machine, cycle.0),
                TrialOutcome::Unclear => None,
            };
            let answer = if let Some(answer) = known {
                answer
            } else {
                let end = *end.get_or_insert_with(|| {
                    let path = self.visitor.path();
                    giving_way_at(&mut self.machine, |ahead| path.check_machine(ahead))
                });
                if at + self.delay > end {
                    return until;
                }
                self.visitor.follow(at..=at, &mut self.machine)
            };
            self.add(at..=at, answer);
            self.seen = at;
            (until, at) = (at + self.delay, at + 1);
        }
        until
    }

    /// Answers for the waiting points by following a copy of the machine.
    fn answer_waiting(&mut self, now: u64) {
        if let Some(points) = self.take_waiting(now) {
            let mut first = self.first.take();
            let machine = first.as_mut().unwrap_or(&mut self.machine);
            let answer = self.visitor.follow(points.clone(), machine);
            self.add(points, answer);
        }
    }

    /// Answers for the points up to the cycle in which the last step, from a boundary, began the
    /// handler, because the program itself requested it; `hits` is the number of hits before. The
    /// handler begins for those points too, and perhaps once more.
    fn answer_begun(&mut self, before: Boundary, hits: usize) {
        let Some(watch) = self.visitor.begins() else { return };
        let new = self.machine.hits().get(hits..).unwrap_or_default();
        let Some(hit) = new.iter().rfind(|hit| hit.watch == watch) else { return };
        let begun = hit.cycle.0;
        // What is pending at the boundary may determine what is interrupted.
        for at in [begun.min(before.cycle), begun] {
            self.see(at);
            if self.waiting.is_some() && !self.go_back(before) {
                return;
            }
            let Some(from) = self.waiting.take() else { continue };
            let points = from..=self.last.map_or(at, |last| last.min(at)).max(from);
            let answer = self.visitor.follow(points.clone(), &mut self.kept);
            self.add(points, answer);
        }
    }

    /// Records that the waiting points are not served.
    fn record_unserved(&mut self, now: u64, why: Unserved) {
        // This includes what has not reached the core.
        self.see(now);
        let now = now + self.delay;
        if let Some(points) = self.take_waiting(now) {
            let first = self.first.take();
            let machine = first.as_ref().unwrap_or(&self.machine);
            let answer = self.visitor.answer_unserved(points.clone(), machine, why);
            self.add(points, answer);
        }
    }

    fn add(&mut self, points: RangeInclusive<u64>, answer: S::Answer) {
        self.answered += points.end() + 1 - points.start();
        self.visitor.add(points, answer, self.machine.register(Register::Pc));
    }

    fn note_blocker(&mut self, blocker: Option<Blocker>, now: u64, owner: PieceOwner) {
        if let Some(held) = self.visitor.held() {
            let pc = self.machine.register(Register::Pc);
            held.reach(blocker.map(merged), now, pc, owner);
        }
    }

    /// Ends the stretches that are still open, as nothing follows.
    fn end_held(&mut self) {
        let (now, pc) = (self.machine.cycles().0, self.machine.register(Register::Pc));
        if let Some(held) = self.visitor.held() {
            held.end(now, pc);
        }
    }

    /// Records an instruction that began here while nothing held the interrupt back.
    fn note_instruction(&mut self, pc: u32, began: u64) {
        let (to, next) = (self.machine.cycles().0, self.machine.register(Register::Pc));
        if let Some(held) = self.visitor.held() {
            held.execute(pc, next, began, to.saturating_sub(began));
        }
    }

    /// Advances the kept machine to a boundary that the main one has passed, and returns whether it got
    /// there. Both are copies of the same machine, so if it does not, the simulator made a mistake.
    fn go_back(&mut self, boundary: Boundary) -> bool {
        let kept = &mut self.kept;
        let _ = kept.run(Cycles(boundary.cycle));
        kept.settle();
        // Several boundaries may share a cycle.
        while Boundary::of(kept) != boundary {
            if kept.cycles().0 > boundary.cycle || kept.advance(Cycles(u64::MAX)).is_err() {
                let error = boundary.missed_boundary_error(kept);
                self.visitor.path().fail(error);
                return false;
            }
            kept.settle();
        }
        kept.take_hits();
        kept.take_console();
        true
    }
}
