//! Searches two interrupts, one after the other, at every distance.
//!
//! Moments of the earlier interrupt that are noticed together lead to the same run, along which the
//! later one has moments of its own. That run is searched like any other, with the earlier interrupt in
//! it. So the method for one interrupt also works for two, and no pair of moments needs a run of its
//! own.

use std::ops::RangeInclusive;

use rtmark_sim::{Cycles, Irq, Machine, Register};

use crate::alone::from_boundary;
use crate::findings::{Aspect, Case, Findings, Scale};
use crate::fork::Unserved;
use crate::held::BlockerTracker;
use crate::meet::{EarlierState, Interleaving, PairOutcome, begins, enters, meet};
use crate::path::{PairedInterrupt, Path, Piece, SearchedInterrupt, Window};
use crate::sweep::{Visitor, sweep};

/// Searches a piece in which the earlier of the two becomes pending.
pub fn pairs(
    path: &Path,
    piece: &Piece,
    scale: Scale,
    second: (&PairedInterrupt, &SearchedInterrupt),
) -> Findings {
    let (question, line) = second;
    let mut findings = Findings::new(scale);
    let orders = [
        // The case that both become pending at once is counted once only.
        ([path.line(), line], [Aspect::Handler, Aspect::Second], 0),
        ([line, path.line()], [Aspect::Second, Aspect::Handler], 1),
    ];
    for (which, (lines, aspects, least)) in orders.into_iter().enumerate() {
        let (machine, window) = from_boundary(piece.clone(), which);
        let most = question.distance;
        let held = BlockerTracker::new(piece.follows);
        let findings = &mut findings;
        let mut earlier = EarlierVisitor { path, lines, aspects, least, most, findings, held };
        sweep(&mut earlier, machine, window);
        if earlier.is_first_order() {
            earlier.findings.held = earlier.held.found();
        }
    }
    findings
}

/// Sweeps along the path with the earlier interrupt.
struct EarlierVisitor<'a> {
    path: &'a Path,
    /// The earlier and the later interrupt.
    lines: [&'a SearchedInterrupt; 2],
    aspects: [Aspect; 2],
    /// The least distance, and the greatest.
    least: u64,
    most: Option<u64>,
    findings: &'a mut Findings,
    held: BlockerTracker,
}

/// The answer of points that have already been added one by one. No two are equal.
#[derive(Clone, Copy)]
struct AlreadyRecorded;

impl PartialEq for AlreadyRecorded {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl EarlierVisitor<'_> {
    fn is_first_order(&self) -> bool {
        self.least == 0
    }

    /// Searches along the run in which the earlier interrupt becomes pending at these points.
    fn search(&mut self, points: RangeInclusive<u64>, machine: &Machine) {
        let (first, last) = (*points.start(), *points.end());
        let mut copy = machine.clone();
        copy.take_hits();
        // The interrupt reaches the core no earlier than the machine's current cycle.
        let at = first.max(copy.cycles().0.saturating_sub(copy.interrupt_delay()));
        copy.pend_interrupt(self.lines[0].interrupt, Cycles(at));
        let patience = self.path.question().patience;
        let to = match self.most {
            Some(most) => last.saturating_add(most),
            // Until it has returned; if it never does, until the patience runs out.
            None => first.saturating_add(patience),
        };
        if self.is_first_order() {
            self.findings.points += last - first + 1;
        }
        let mut later = LaterVisitor {
            path: self.path,
            lines: self.lines,
            pended: at,
            known: EarlierState::default(),
            taken: copy.exceptions_taken(),
            until_return: self.most.is_none(),
            class: Class {
                points,
                least: self.least,
                most: self.most.unwrap_or(u64::MAX),
                aspects: self.aspects,
                pc: machine.register(Register::Pc),
                run: None,
                soonest: None,
                findings: self.findings,
            },
        };
        sweep(&mut later, copy, Window { from: first - 1, to });
        later.class.end_run();
        if let Some(soonest) = later.class.soonest {
            self.path.check_latency(self.lines[0], machine, last, soonest);
        }
    }
}

impl Visitor for EarlierVisitor<'_> {
    type Answer = AlreadyRecorded;

    fn interrupt(&self) -> Irq {
        self.lines[0].interrupt
    }

    fn path(&self) -> &Path {
        self.path
    }

    fn follow(&mut self, points: RangeInclusive<u64>, machine: &mut Machine) -> AlreadyRecorded {
        self.search(points, machine);
        AlreadyRecorded
    }

    fn answer_unserved(
        &mut self,
        points: RangeInclusive<u64>,
        machine: &Machine,
        _: Unserved,
    ) -> AlreadyRecorded {
        // The later interrupt may still be served.
        self.search(points, machine);
        AlreadyRecorded
    }

    fn needs_first(&self) -> bool {
        true
    }

    fn add(&mut self, _: RangeInclusive<u64>, _: AlreadyRecorded, _: u32) {}

    fn held(&mut self) -> Option<&mut BlockerTracker> {
        self.is_first_order().then_some(&mut self.held)
    }

    fn executed(&mut self, pc: u32) {
        if self.is_first_order() {
            self.findings.executed(pc);
        }
    }
}

/// Sweeps along the run in which the earlier interrupt became pending, with the later one.
struct LaterVisitor<'a> {
    path: &'a Path,
    lines: [&'a SearchedInterrupt; 2],
    /// The cycle in which the earlier one becomes pending in this run.
    pended: u64,
    known: EarlierState,
    /// The number of handler entries up to the last boundary.
    taken: u64,
    /// Whether to end when the earlier one has returned.
    until_return: bool,
    class: Class<'a>,
}

impl Visitor for LaterVisitor<'_> {
    type Answer = PairOutcome;

    fn interrupt(&self) -> Irq {
        self.lines[1].interrupt
    }

    fn path(&self) -> &Path {
        self.path
    }

    fn look(&mut self, machine: &mut Machine, to: u64) -> u64 {
        let mut to = to;
        let line = self.lines[0];
        for hit in machine.take_hits() {
            if begins(line, self.known.entered, hit, self.pended) {
                self.known.served = self.known.served.or(Some(hit.cycle.0));
            }
            let returned = self.known.served.is_some() && hit.watch == line.return_watch;
            if returned && self.until_return {
                to = to.min(machine.cycles().0);
            }
        }
        self.known.entered |= enters(machine, line, self.taken, self.pended);
        self.taken = machine.exceptions_taken();
        to
    }

    fn can_try_entries(&self) -> bool {
        self.known.served.is_some()
    }

    fn entered(&mut self, last: u64, machine: &Machine, cycle: u64) -> Option<PairOutcome> {
        let earlier = self.known.served?;
        self.path.check_latency(self.lines[1], machine, last, cycle);
        self.class.findings.tried += 1;
        let active = machine.is_active(self.lines[0].interrupt);
        let how = if active { Interleaving::Nested } else { Interleaving::Apart };
        Some(PairOutcome { earlier: Ok(earlier), later: Ok(cycle), how: Some(how) })
    }

    fn follow(&mut self, points: RangeInclusive<u64>, machine: &mut Machine) -> PairOutcome {
        self.class.findings.followed += 1;
        let pended = [self.pended, *points.end()];
        let met = meet(self.path, machine, self.lines, self.known, pended);
        if let Ok(later) = met.later {
            self.path.check_latency(self.lines[1], machine, *points.end(), later);
        }
        met
    }

    fn answer_unserved(
        &mut self,
        _: RangeInclusive<u64>,
        _: &Machine,
        why: Unserved,
    ) -> PairOutcome {
        PairOutcome { earlier: self.known.served.ok_or(why), later: Err(why), how: None }
    }

    fn add(&mut self, points: RangeInclusive<u64>, met: PairOutcome, _: u32) {
        self.class.add(points, met);
    }
}

/// Adjacent answers of the later interrupt that imply the same outcome of the earlier one.
#[derive(Clone, PartialEq, Eq)]
struct Run {
    points: RangeInclusive<u64>,
    earlier: Result<u64, Unserved>,
    how: Option<Interleaving>,
}

/// Moments of the earlier interrupt that lead to the same run, and what is found along it.
struct Class<'a> {
    points: RangeInclusive<u64>,
    least: u64,
    most: u64,
    aspects: [Aspect; 2],
    /// The interrupted instruction.
    pc: u32,
    run: Option<Run>,
    /// The first cycle in which the earlier one's handler begins in any pair.
    soonest: Option<u64>,
    findings: &'a mut Findings,
}

/// Returns the part of a range between two values.
fn part(range: &RangeInclusive<u64>, from: u64, to: u64) -> Option<RangeInclusive<u64>> {
    let (from, to) = (from.max(*range.start()), to.min(*range.end()));
    (from <= to).then_some(from..=to)
}

impl Class<'_> {
    fn add(&mut self, later: RangeInclusive<u64>, met: PairOutcome) {
        let last = *self.points.end();
        for at in later.clone() {
            let (from, to) = (at.saturating_sub(self.most), at.checked_sub(self.least));
            let Some(earlier) = to.and_then(|to| part(&self.points, from, to)) else { continue };
            let pairs = earlier.end() - earlier.start() + 1;
            let distance = earlier.start().cast_signed() - at.cast_signed();
            let case = Case { cycles: 0, point: at, distance: Some(distance) };
            self.findings.add_pairs(
                self.aspects[1],
                met.later,
                met.how,
                case,
                pairs,
                self.pc,
                last,
            );
        }
        match &mut self.run {
            Some(run)
                if (run.earlier, run.how) == (met.earlier, met.how)
                    && run.points.end() + 1 == *later.start() =>
            {
                run.points = *run.points.start()..=*later.end();
            }
            _ => {
                self.end_run();
                self.run = Some(Run { points: later, earlier: met.earlier, how: met.how });
            }
        }
    }

    /// Adds what the answers so far imply for the earlier interrupt.
    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        if let Ok(served) = run.earlier {
            self.soonest = Some(self.soonest.map_or(served, |soonest| soonest.min(served)));
        }
        let last = *self.points.end();
        for at in self.points.clone() {
            let (from, to) = (at.saturating_add(self.least), at.saturating_add(self.most));
            let Some(later) = part(&run.points, from, to) else { continue };
            let pairs = later.end() - later.start() + 1;
            let distance = later.start().cast_signed() - at.cast_signed();
            let case = Case { cycles: 0, point: at, distance: Some(distance) };
            self.findings.add_pairs(
                self.aspects[0],
                run.earlier,
                run.how,
                case,
                pairs,
                self.pc,
                last,
            );
            self.findings.pairs += pairs;
        }
    }
}
