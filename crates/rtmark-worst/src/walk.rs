//! Going along a piece of the path with the interrupt in mind.
//!
//! At each boundary of instructions the points that have not been answered yet are
//! either answered at once, because the interrupt would be taken now, or carried on.
//! Where a step is no plain instruction, the interrupt may be seen in the middle of it:
//! such steps are gone through again from a copy, for each point that makes a difference.

use rtmark_sim::{Advance, Cycles, Holder, Machine, Register, Stop, Tried};

use crate::findings::{Answer, Findings, Scale};
use crate::fork::{Outcome, Unserved, follow};
use crate::path::{Path, Piece, Reach};

/// Cycles after which a new copy is kept to go back to.
const KEPT_EACH: u64 = 4096;
/// Points of a sleep that are looked at one by one, after it begins and before it ends.
const EDGE: u64 = 64;

/// A machine at a boundary, as far as boundaries need to be told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Boundary {
    cycle: u64,
    instructions: u64,
    taken: u64,
    asleep: bool,
}

impl Boundary {
    fn of(machine: &Machine) -> Self {
        Self {
            cycle: machine.cycles().0,
            instructions: machine.instructions().0,
            taken: machine.exceptions_taken(),
            asleep: machine.is_asleep(),
        }
    }
}

/// Since when and why the interrupt is held back.
#[derive(Clone, Copy)]
struct HeldSince {
    cycle: u64,
    pc: u32,
    holder: Holder,
    /// Cycles asleep since then, in which it would have woken the core (DDI 0403, B1.5.19).
    asleep: u64,
}

struct Walk<'a> {
    path: &'a Path,
    machine: Machine,
    kept: Machine,
    /// The first point without an answer, if there is one; the last is the boundary's cycle.
    waiting: Option<u64>,
    /// The last cycle whose point has been looked at.
    seen: u64,
    /// The last cycle whose point belongs to the piece, once that is known.
    last: Option<u64>,
    held: Option<HeldSince>,
    /// How long before its end the last step that was no plain instruction did not look any
    /// more.
    unseen: u64,
    findings: Findings,
}

/// Searches a piece.
pub fn walk(path: &Path, piece: Piece, scale: Scale) -> Findings {
    let Piece { window, mut machine, .. } = piece;
    machine.settle();
    let kept = machine.clone();
    let seen = machine.cycles().0;
    let mut walk = Walk {
        path,
        machine,
        kept,
        waiting: None,
        seen,
        last: None,
        held: None,
        unseen: 0,
        findings: Findings::new(scale),
    };
    // Boundaries that have reached the end belong to the next piece; the step that leads to
    // the first of them is this one's.
    let interrupt = path.question().interrupt;
    let mut first = true;
    loop {
        walk.machine.settle();
        let boundary = Boundary::of(&walk.machine);
        let now = boundary.cycle;
        if now >= window.to && walk.last.is_none() {
            walk.last = Some(now);
        }
        if walk.last.is_none_or(|last| walk.seen < last) && walk.seen < now {
            walk.waiting = walk.waiting.or(Some(walk.seen + 1));
            walk.seen = now;
        }
        let holder = walk.machine.holds_back(interrupt);
        walk.note_holder(holder, now, first);
        first = false;
        let looks = walk.machine.sees_pending();
        if !boundary.asleep {
            match holder {
                None => walk.enter(now),
                Some(_) if looks => walk.answer_waiting(now),
                Some(_) => {}
            }
        }
        if walk.last.is_some() && walk.waiting.is_none() && walk.held.is_none() {
            break;
        }
        if walk.last.is_some_and(|last| now > last.saturating_add(path.question().patience)) {
            walk.answer(now, Answer::At(Outcome::never(Unserved::Late)));
            break;
        }
        if walk.last.is_none() && !boundary.asleep {
            walk.findings.executed(walk.machine.register(Register::Pc));
        }
        if walk.last.is_none() && !boundary.asleep && !looks && holder.is_none() {
            walk.enter_within(now);
        }
        // Sleep is cut where the piece ends: the next one begins there.
        let until = if boundary.asleep && now < window.to { window.to } else { u64::MAX };
        match walk.machine.advance(Cycles(until)) {
            Ok(Advance::Instruction) if !looks => {}
            Ok(_) => walk.look_inside(boundary),
            Err(Stop::Asleep) => {
                // Nothing but the interrupt will ever wake it.
                walk.answer_waiting(now);
                break;
            }
            Err(stop) => {
                // The program ends here: what waits is never served.
                let why = Unserved::of(&walk.machine, &stop, interrupt);
                walk.answer(now, Answer::At(Outcome::never(why)));
                break;
            }
        }
        if let Some(held) = walk.held.as_mut().filter(|_| boundary.asleep) {
            held.asleep += walk.machine.cycles().0 - now;
        }
        if walk.machine.cycles().0 >= walk.kept.cycles().0 + KEPT_EACH {
            walk.machine.take_hits();
            walk.machine.take_console();
            walk.kept = walk.machine.clone();
        }
    }
    walk.findings
}

impl Walk<'_> {
    /// Answers for what waits, where the interrupt would be taken now.
    fn enter(&mut self, now: u64) {
        if self.waiting.is_none() {
            return;
        }
        let question = self.path.question();
        if question.reach == Reach::Entry
            && let Tried::Entered(cycle) = self.machine.try_entry(question.interrupt)
        {
            self.findings.tried += 1;
            let outcome = Outcome { entered: Some(cycle.0), ..Outcome::default() };
            self.answer(now, Answer::At(outcome));
            return;
        }
        self.answer_waiting(now);
    }

    /// Answers for the points inside the next instruction, as far as it gives way to an interrupt
    /// there.
    fn enter_within(&mut self, now: u64) {
        let question = self.path.question();
        let mut at = now + 1;
        while let Some(tried) = self.machine.try_entry_within(question.interrupt, Cycles(at)) {
            let outcome = match tried {
                Tried::Entered(cycle) if question.reach == Reach::Entry => {
                    self.findings.tried += 1;
                    Outcome { entered: Some(cycle.0), ..Outcome::default() }
                }
                _ => {
                    self.findings.followed += 1;
                    follow(self.path, &self.machine, at)
                }
            };
            self.add(at, at, Answer::At(outcome));
            self.seen = at;
            at += 1;
        }
    }

    /// Answers for what waits by a copy of the machine.
    fn answer_waiting(&mut self, now: u64) {
        if self.waiting.is_some() {
            self.findings.followed += 1;
            let outcome = follow(self.path, &self.machine, now);
            self.answer(now, Answer::At(outcome));
        }
    }

    fn answer(&mut self, now: u64, answer: Answer) {
        if let Some(from) = self.waiting.take() {
            let to = self.last.map_or(now, |last| last.min(now));
            self.add(from, to, answer);
        }
    }

    fn add(&mut self, from: u64, to: u64, answer: Answer) {
        let pc = self.machine.register(Register::Pc);
        self.findings.add(from, to, answer, pc);
    }

    fn note_holder(&mut self, holder: Option<Holder>, now: u64, first: bool) {
        let pc = self.machine.register(Register::Pc);
        // What began before the piece is the business of the one before.
        let same = |held: &HeldSince| Some(held.holder) == holder;
        if let Some(since) = self.held.take_if(|held| !same(held)) {
            let HeldSince { cycle, pc: from, holder, asleep } = since;
            self.findings.held(holder, cycle, from, (now - cycle).saturating_sub(asleep), pc);
        }
        if let Some(holder) = holder
            && self.held.is_none()
            && self.last.is_none()
            && !first
        {
            self.held = Some(HeldSince { cycle: now, pc, holder, asleep: 0 });
        }
    }

    /// Brings the kept machine to a boundary that this one has passed; answers whether it
    /// stands there.
    fn go_back(&mut self, boundary: Boundary) -> bool {
        let kept = &mut self.kept;
        let _ = kept.run(Cycles(boundary.cycle));
        kept.settle();
        // Several boundaries may share a cycle.
        while Boundary::of(kept) != boundary {
            if kept.cycles().0 > boundary.cycle || kept.advance(Cycles(u64::MAX)).is_err() {
                return false;
            }
            kept.settle();
        }
        kept.take_hits();
        kept.take_console();
        true
    }

    /// Answers for the points inside a step that is no plain instruction, and for those that
    /// waited before it.
    fn look_inside(&mut self, before: Boundary) {
        let (from, to) = (before.cycle, self.machine.cycles().0);
        let belongs = self.last.is_none();
        if self.waiting.is_none() && (!belongs || from == to) {
            return;
        }
        if !self.go_back(before) {
            return;
        }
        if self.waiting.is_some() {
            let outcome = self.point(from);
            self.answer(from, Answer::At(outcome));
        }
        if !belongs || from == to {
            return;
        }
        if before.asleep {
            self.sleep(from, to);
            self.seen = to;
            return;
        }
        // The first point that the step does not see any more. Steps of a kind look at the
        // same time before their end: that is tried first.
        let (mut low, mut high) = (from + 1, to + 1);
        let guess = to.saturating_sub(self.unseen).clamp(low, high);
        for at in [guess, guess - 1] {
            if (low..high).contains(&at) {
                if self.is_seen(at) { low = at + 1 } else { high = at }
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.is_seen(middle) { low = middle + 1 } else { high = middle }
        }
        self.unseen = to.saturating_sub(low);
        if low > from + 1 {
            let first = self.point(from + 1);
            let last = if low - 1 > from + 1 { self.point(low - 1) } else { first };
            self.between((from + 1, first), (low - 1, last));
        }
        self.seen = low - 1;
    }

    /// Follows a point from where the kept machine stands.
    fn point(&mut self, at: u64) -> Outcome {
        self.findings.followed += 1;
        follow(self.path, &self.kept, at)
    }

    /// Whether an interrupt that becomes pending at a cycle is noticed within the next step.
    fn is_seen(&self, at: u64) -> bool {
        let interrupt = self.path.question().interrupt;
        let mut copy = self.kept.clone();
        copy.pend_interrupt(interrupt, Cycles(at));
        let _ = copy.advance(Cycles(u64::MAX));
        copy.is_under_way(interrupt)
    }

    /// Answers for a range of points whose ends are known. A step looks at what is pending
    /// few times, and points between two looks have one answer.
    fn between(&mut self, low: (u64, Outcome), high: (u64, Outcome)) {
        if low.1 == high.1 {
            self.add(low.0, high.0, Answer::At(low.1));
            return;
        }
        if high.0 - low.0 == 1 {
            self.add(low.0, low.0, Answer::At(low.1));
            self.add(high.0, high.0, Answer::At(high.1));
            return;
        }
        let at = low.0.midpoint(high.0);
        let middle = (at, self.point(at));
        if high.0 - at == 1 {
            self.between(low, middle);
            self.add(high.0, high.0, Answer::At(high.1));
        } else {
            let next = (at + 1, self.point(at + 1));
            self.between(low, middle);
            self.between(next, high);
        }
    }

    /// Answers for the points of a sleep, `from` and `to` being its boundaries.
    fn sleep(&mut self, from: u64, to: u64) {
        let mut at = from + 1;
        while at <= to {
            let outcome = self.point(at);
            // Nothing happens while the core sleeps: until something else is about to wake
            // it, an interrupt is served after the same time whenever it comes.
            let calm = outcome.entered.map(|entered| entered - at);
            match calm {
                Some(latency)
                    if self.path.question().reach == Reach::Entry
                        && at == from + EDGE
                        && at + 2 * (latency + EDGE) < to =>
                {
                    let last = to - latency - EDGE;
                    self.add(at, last, Answer::After(latency));
                    at = last + 1;
                }
                _ => {
                    self.add(at, at, Answer::At(outcome));
                    at += 1;
                }
            }
        }
    }
}
