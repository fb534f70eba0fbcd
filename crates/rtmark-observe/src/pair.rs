//! Pairs the begins and ends of spans into samples.

use rtmark_model::{Basis, Counted, Samples, Span, Unpaired};
use rtmark_sim::{Bound, Elapsed, Hit, Machine, WatchId};
use rtmark_units::Cycles;

/// The end of a span that a watch or a probe marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A span begins.
    Begin,
    /// A span ends.
    End,
}

/// The counters at the time of a probe hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The count of the series' basis: cycles or instructions so far.
    pub count: u64,
    /// Instructions executed so far; 0 if they are not counted.
    pub instructions: u64,
    /// SysTick handlers entered so far.
    pub ticks: u64,
    /// External interrupt handlers entered so far.
    pub interrupts: u64,
}

impl Moment {
    /// The counters before the first instruction.
    pub const RESET: Self = Self { count: 0, instructions: 0, ticks: 0, interrupts: 0 };
}

/// Pairs each begin with the next end. A begin inside an open span restarts it, and an end without an
/// open span is ignored; both are counted.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    open: Option<Moment>,
    /// Whether the open span has been forgotten, so that its end is still to come.
    forgotten: bool,
    samples: Samples,
    executed: Samples,
    unpaired: Unpaired,
    begins: u64,
    ends: u64,
}

impl Pairing {
    /// Adds a hit; if it ends a span, returns the moment at which that span began.
    pub fn hit(&mut self, span: &Span, edge: Edge, at: Moment) -> Option<Moment> {
        match edge {
            Edge::Begin => {
                self.begins += 1;
                self.forgotten = false;
                self.unpaired.restarted += u64::from(self.open.replace(at).is_some());
                None
            }
            Edge::End => {
                self.ends += 1;
                let forgotten = std::mem::take(&mut self.forgotten);
                let Some(begin) = self.open.take() else {
                    self.unpaired.ends += u64::from(!forgotten);
                    return None;
                };
                let ticks = at.ticks.saturating_sub(begin.ticks);
                let interrupts = at.interrupts.saturating_sub(begin.interrupts);
                let length = at.count.saturating_sub(begin.count);
                let hit = span.disturbance(ticks, interrupts);
                self.samples.push(length, hit);
                self.executed.push(at.instructions.saturating_sub(begin.instructions), hit);
                Some(begin)
            }
        }
    }

    /// Drops the open span, if any, because something has spoilt it. Its end is not one without a begin.
    pub fn forget_open(&mut self) -> bool {
        let was_open = self.open.take().is_some();
        self.forgotten |= was_open;
        self.unpaired.restarted += u64::from(was_open);
        was_open
    }

    /// Returns the numbers of begins and ends hit so far.
    pub fn hits(&self) -> (u64, u64) {
        (self.begins, self.ends)
    }

    /// Returns the number of instructions that each sample so far executed.
    pub fn executed(&self) -> &Samples {
        &self.executed
    }

    /// Returns the samples and the unpaired hits.
    pub fn finish(mut self) -> (Samples, Unpaired) {
        self.unpaired.open = u64::from(self.open.is_some());
        (self.samples, self.unpaired)
    }
}

/// Pairs the hits of a machine's watches into the samples of a span, and compares each with the theoretical
/// maximum.
#[derive(Debug)]
pub struct SpanRecorder<'a> {
    span: &'a Span,
    basis: Basis,
    /// What each watch marks, by its number.
    edges: Vec<Option<Edge>>,
    pairing: Pairing,
    /// The begin and end of each sample, if requested.
    intervals: Option<Vec<(Cycles, Cycles)>>,
    bound: Bound,
    /// The counters when the open span began.
    began: Option<Elapsed>,
    /// What was wrong with the first sample that no core could achieve.
    impossible: Option<String>,
}

impl<'a> SpanRecorder<'a> {
    /// Creates a recorder of spans on this machine, counted in `basis`.
    pub fn new(machine: &Machine, span: &'a Span, basis: Basis) -> Self {
        Self {
            span,
            basis,
            edges: Vec::new(),
            pairing: Pairing::default(),
            intervals: None,
            bound: Bound::of(machine.soc()),
            began: None,
            impossible: None,
        }
    }

    /// Has the begin and the end of each sample recorded, too.
    pub fn record_intervals(&mut self) {
        self.intervals = Some(Vec::new());
    }

    /// Takes the hits of a watch as begins or ends of spans.
    pub fn mark(&mut self, watch: WatchId, edge: Edge) {
        let number = watch.0 as usize;
        self.edges.resize(self.edges.len().max(number + 1), None);
        self.edges[number] = Some(edge);
    }

    /// Begins a span at the reset, before the machine has run.
    pub fn begin_at_reset(&mut self, machine: &Machine) {
        self.pairing.hit(self.span, Edge::Begin, Moment::RESET);
        self.began = Some(Elapsed::from(machine));
    }

    /// Tells whether something marks both begins and ends.
    pub fn is_complete(&self) -> bool {
        let has = |edge| self.edges.contains(&Some(edge));
        (self.began.is_some() || has(Edge::Begin)) && has(Edge::End)
    }

    /// Pairs a machine's hits so far, and clears them.
    pub fn record(&mut self, machine: &mut Machine) {
        for hit in machine.hits() {
            let Some(&Some(edge)) = self.edges.get(hit.watch.0 as usize) else { continue };
            let opened = self.began.map(|began| began.cycles);
            self.check(edge, hit);
            let at = Moment {
                count: self.count(hit),
                instructions: hit.instructions.0,
                ticks: hit.ticks,
                interrupts: hit.interrupts,
            };
            let began = self.pairing.hit(self.span, edge, at);
            if let (Some(_), Some(opened), Some(intervals)) = (began, opened, &mut self.intervals) {
                intervals.push((opened, hit.cycle));
            }
        }
        machine.clear_hits();
    }

    fn count(&self, hit: &Hit) -> u64 {
        match (self.basis, self.span.counted) {
            (Basis::Instructions, _) => hit.instructions.0,
            (Basis::Cycles | Basis::Ns, Counted::All) => hit.cycle.0,
            (Basis::Cycles | Basis::Ns, Counted::Awake) => {
                hit.cycle.0.saturating_sub(hit.overhead.asleep.0)
            }
        }
    }

    /// Compares a span with the theoretical maximum.
    fn check(&mut self, edge: Edge, hit: &Hit) {
        let now = Elapsed::from(hit);
        let began = self.began.take();
        match (edge, began) {
            (Edge::Begin, _) => self.began = Some(now),
            (Edge::End, Some(began)) if self.impossible.is_none() => {
                let excess = self.bound.violation(&now.since(began));
                self.impossible = excess.map(|excess| {
                    format!("in the span that ends in cycle {} {excess}", hit.cycle.0)
                });
            }
            (Edge::End, _) => {}
        }
    }

    /// Returns what was wrong with the first sample, or else with the whole run, that no core could achieve.
    pub fn impossible(&self, machine: &Machine) -> Option<String> {
        self.impossible.clone().or_else(|| {
            let excess = self.bound.violation(&Elapsed::from(machine))?;
            Some(format!("in the whole run {excess}"))
        })
    }

    /// Returns the pairs, and the begin and end of each if they were requested.
    pub fn finish(self) -> (Pairing, Option<Vec<(Cycles, Cycles)>>) {
        (self.pairing, self.intervals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::{Counted, Expected, Overhead};

    fn span(ticks: u32) -> Span {
        Span {
            from: String::new(),
            to: String::new(),
            counted: Counted::All,
            switches: 0,
            overhead: Overhead::None,
            ticks: Expected::Exactly(ticks),
            interrupts: Expected::Exactly(0),
        }
    }

    fn paired(span: &Span, hits: &[(Edge, u64, u64)]) -> (Vec<(u64, bool)>, Unpaired) {
        let mut pairing = Pairing::default();
        for &(edge, count, ticks) in hits {
            pairing.hit(span, edge, Moment { count, instructions: 0, ticks, interrupts: 0 });
        }
        let (samples, unpaired) = pairing.finish();
        (samples.iter().map(|(value, hit)| (value, hit.tick)).collect(), unpaired)
    }

    use Edge::{Begin, End};

    #[test]
    fn each_begin_meets_the_next_end() {
        let hits = [(Begin, 10, 0), (End, 14, 0), (Begin, 20, 0), (End, 29, 1)];
        assert_eq!(paired(&span(0), &hits), (vec![(4, false), (9, true)], Unpaired::default()));
    }

    #[test]
    fn a_tick_that_belongs_to_the_span_is_not_a_disturbance() {
        let hits = [(Begin, 0, 0), (End, 5, 1), (Begin, 10, 1), (End, 19, 3)];
        assert_eq!(paired(&span(1), &hits).0, [(5, false), (9, true)]);
    }

    #[test]
    fn unpaired_probes_are_counted() {
        let hits =
            [(End, 1, 0), (Begin, 2, 0), (Begin, 5, 0), (End, 9, 0), (End, 10, 0), (Begin, 11, 0)];
        let (samples, unpaired) = paired(&span(0), &hits);
        assert_eq!(samples, [(4, false)]);
        assert_eq!(unpaired, Unpaired { restarted: 1, ends: 2, open: 1 });
    }

    #[test]
    fn each_sample_has_its_instruction_count() {
        let mut pairing = Pairing::default();
        let hits = [(Begin, 10, 3), (End, 30, 9), (Begin, 40, 12), (Begin, 50, 14), (End, 70, 20)];
        for (edge, count, instructions) in hits {
            let at = Moment { count, instructions, ticks: 0, interrupts: 0 };
            pairing.hit(&span(0), edge, at);
        }
        let executed: Vec<_> = pairing.executed().iter().map(|(value, _)| value).collect();
        assert_eq!(executed, [6, 6]);
        assert_eq!(pairing.executed().len(), pairing.finish().0.len());
    }

    #[test]
    fn an_end_and_a_begin_in_the_same_cycle_pair_in_their_order() {
        let hits = [(Begin, 0, 0), (End, 7, 0), (Begin, 7, 0), (End, 9, 0)];
        assert_eq!(paired(&span(0), &hits).0, [(7, false), (2, false)]);
    }
}
