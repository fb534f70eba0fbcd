//! Searches a piece for one interrupt by itself.

use std::ops::RangeInclusive;

use rtmark_sim::{Irq, Machine, WatchId};

use crate::findings::{Answer, Findings, Scale};
use crate::fork::{Outcome, Unserved, follow};
use crate::held::BlockerTracker;
use crate::path::{Path, Piece, Reach, Window};
use crate::sweep::{Visitor, sweep};

struct SingleVisitor<'a> {
    path: &'a Path,
    findings: Findings,
    held: BlockerTracker,
}

/// Searches a piece.
pub fn search_piece(path: &Path, piece: Piece, scale: Scale) -> Findings {
    let held = BlockerTracker::new(piece.follows);
    let mut alone = SingleVisitor { path, findings: Findings::new(scale), held };
    let (machine, window) = from_boundary(piece, 0);
    sweep(&mut alone, machine, window);
    let SingleVisitor { mut findings, held, .. } = alone;
    findings.held = held.found();
    findings
}

/// Returns the machine of a piece, and the window of its points for one of two interrupts. Points that
/// the piece's first boundary has passed, or that are noticed before it, belong to the preceding piece.
/// A core that sleeps for ever has no boundary in the piece.
pub fn from_boundary(piece: Piece, which: usize) -> (Machine, Window) {
    let mut machine = piece.machine;
    machine.settle();
    let Window { from, to } = piece.window;
    let from = machine.cycles().0.max(piece.noticed[which]).max(from);
    (machine, Window { from, to })
}

impl Visitor for SingleVisitor<'_> {
    type Answer = Outcome;

    fn interrupt(&self) -> Irq {
        self.path.question().interrupt
    }

    fn path(&self) -> &Path {
        self.path
    }

    fn can_try_entries(&self) -> bool {
        self.path.question().reach == Reach::Entry
    }

    fn entered(&mut self, last: u64, machine: &Machine, cycle: u64) -> Option<Outcome> {
        if !self.can_try_entries() {
            return None;
        }
        self.path.check_latency(self.path.line(), machine, last, cycle);
        self.findings.tried += 1;
        Some(Outcome { entered: Some(cycle), ..Outcome::default() })
    }

    fn follow(&mut self, points: RangeInclusive<u64>, machine: &mut Machine) -> Outcome {
        self.findings.followed += 1;
        let outcome = follow(self.path, machine, *points.end());
        if let Some(entered) = outcome.entered {
            self.path.check_latency(self.path.line(), machine, *points.end(), entered);
        }
        outcome
    }

    fn answer_unserved(&mut self, _: RangeInclusive<u64>, _: &Machine, why: Unserved) -> Outcome {
        Outcome::unserved(why)
    }

    fn begins(&self) -> Option<WatchId> {
        Some(self.path.line().handler_watch)
    }

    fn waits(&self, outcome: Outcome, at: u64) -> Option<u64> {
        let entry = self.path.question().reach == Reach::Entry;
        outcome.entered.filter(|_| entry)?.checked_sub(at)
    }

    fn add(&mut self, points: RangeInclusive<u64>, outcome: Outcome, pc: u32) {
        self.findings.add(*points.start(), *points.end(), Answer::At(outcome), pc);
    }

    fn add_waiting(&mut self, points: RangeInclusive<u64>, waits: u64, pc: u32) {
        self.findings.add(*points.start(), *points.end(), Answer::After(waits), pc);
    }

    fn held(&mut self) -> Option<&mut BlockerTracker> {
        Some(&mut self.held)
    }

    fn executed(&mut self, pc: u32) {
        self.findings.executed(pc);
    }
}
