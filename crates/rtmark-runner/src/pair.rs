//! Pairs probe hits into samples.

use rtmark_firmware::probes::Kind;
use rtmark_model::{Samples, Span, Unpaired};
use rtmark_sim::Watch;

/// The end of a span that a probe marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A span begins.
    Begin,
    /// A span ends.
    End,
}

impl Edge {
    /// Returns what a machine watches for a probe, and which end of a span it marks; `None` for a
    /// record that is not a probe, and for the reset, at which a span begins without a watch.
    pub const fn watched(kind: Kind) -> Option<(Watch, Self)> {
        Some(match kind {
            Kind::Begin(address) => (Watch::Execute(address), Self::Begin),
            Kind::BeginAtPend(exception) => (Watch::Pend(exception), Self::Begin),
            Kind::End(address) => (Watch::Execute(address), Self::End),
            Kind::EndAtReturn(exception) => (Watch::Return(exception), Self::End),
            Kind::EndAtSleep => (Watch::Sleep, Self::End),
            Kind::Scenario(_) | Kind::BeginAtReset => return None,
        })
    }
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
