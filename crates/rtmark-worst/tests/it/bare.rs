//! Programs as machine words for cores other than Cortex-M, and searches of them compared with a run
//! from reset for every cycle.

use std::collections::BTreeMap;

use rtmark_sim::{Cycles, Hit, Image, Machine, Soc, Watch};
use rtmark_worst::{Aspect, Findings, PairedInterrupt, Path, Question, Reach, Window};

use crate::programs::{all, resumption_cycle};
use crate::support::small;

/// A program, and the search to perform.
pub struct Bare {
    /// The words of its code, and their address.
    pub program: &'static [u32],
    pub base: u32,
    /// The interrupt that is searched, and its priority.
    pub interrupt: u16,
    pub priority: u8,
    /// The first instruction of the woken task, and the end of a round.
    pub woken: u32,
    pub end: u32,
    /// Cycles after which an interrupt has certainly been served.
    pub patience: u64,
}

impl Bare {
    pub fn machine(&self, soc: &Soc) -> Machine {
        let mut machine = Machine::new(&small(soc));
        let code: Vec<u8> = self.program.iter().flat_map(|word| word.to_le_bytes()).collect();
        let image = Image::from_bytes(&code, self.base).expect("code");
        machine.load(&image).expect("it fits");
        machine
    }

    pub fn question(&self, reach: Reach, window: Window) -> Question {
        Question {
            interrupt: self.interrupt.into(),
            priority: self.priority,
            windows: vec![window],
            reach,
            patience: self.patience,
            woken: (reach == Reach::Whole).then_some(self.woken),
            ends: if reach == Reach::Whole { vec![self.end] } else { Vec::new() },
            second: None,
        }
    }

    /// Returns when the handler and the woken task begin, from a run from reset with the interrupt
    /// pending in a cycle.
    fn brute(&self, reset: &Machine, point: u64) -> (u64, u64) {
        let mut machine = reset.clone();
        let handler = machine.watch(Watch::Handle(16 + self.interrupt));
        let woken = machine.watch(Watch::Execute(self.woken));
        machine.pend_interrupt(self.interrupt, Cycles(point));
        let mut hits = Vec::new();
        while machine.cycles().0 < point + self.patience {
            machine.run(Cycles(machine.cycles().0.max(point) + self.patience / 20));
            hits.extend(machine.take_hits());
            let first = |watch| hits.iter().find(|hit| hit.watch == watch).map(|hit| hit.cycle.0);
            if let (Some(handler), Some(woken)) = (first(handler), first(woken)) {
                return (handler, woken);
            }
        }
        panic!("never served, pending in cycle {point}");
    }

    /// Asserts that the search of a window finds what runs from reset find, one for each cycle, and
    /// that the worst takes more than `masked` cycles.
    pub fn assert_as_from_reset(&self, soc: &Soc, window: Window, masked: i64) -> Findings {
        let path = |reach| Path::new(self.machine(soc), self.question(reach, window));
        let path = |reach| path(reach).expect("a path");
        let found = all(&path(Reach::Entry));
        let first = path(Reach::Entry).begins(window.from) + 1;
        let mut reset = self.machine(soc);
        reset.arm_interrupt(self.interrupt, self.priority);
        let mut counts: [BTreeMap<i64, u64>; 3] = Default::default();
        let mut worst = (0, 0);
        for point in first..first + found.points {
            let (handler, woken) = self.brute(&reset, point);
            let latency = (handler - point).cast_signed();
            *counts[0].entry(latency).or_default() += 1;
            *counts[1].entry((woken - point).cast_signed()).or_default() += 1;
            let resumed = resumption_cycle(&reset, self.interrupt, point, self.patience);
            if let Some(resumed) = resumed {
                *counts[2].entry((resumed - point).cast_signed()).or_default() += 1;
            }
            if latency > worst.0 {
                worst = (latency, point);
            }
        }
        let handler = &found.aspects[&Aspect::Handler];
        assert_eq!(handler.counts, counts[0]);
        let case = handler.worst().expect("there is one");
        assert_eq!((case.cycles, case.point), worst);
        assert!(worst.0 > masked, "something is masked: {worst:?}");
        let whole = all(&path(Reach::Whole));
        assert_eq!(whole.aspects[&Aspect::Handler].counts, counts[0]);
        assert_eq!(whole.aspects[&Aspect::Task].counts, counts[1]);
        assert_eq!(whole.aspects[&Aspect::Resume].counts, counts[2]);
        found
    }

    /// Asserts that the search of pairs finds what runs from reset find, one for each pair of cycles at most
    /// `distance` apart, the earlier of which is in a window. `other` is the second interrupt and its
    /// priority.
    pub fn assert_pairs_as_from_reset(
        &self,
        soc: &Soc,
        window: Window,
        (other, priority): (u16, u8),
        distance: u64,
    ) {
        let interrupt = other.into();
        let second = Some(PairedInterrupt { interrupt, priority, distance: Some(distance) });
        let question = Question { second, ..self.question(Reach::Entry, window) };
        let path = Path::new(self.machine(soc), question).expect("two interrupts");
        let found = all(&path);
        let before = path.begins(window.from);
        let mut start = path.at(before);
        let interrupts = [self.interrupt, other];
        let watches = interrupts.map(|interrupt| start.watch(Watch::Handle(16 + interrupt)));
        let mut counts: [BTreeMap<i64, u64>; 2] = Default::default();
        for earlier in before + 1..=before + found.points {
            let later = earlier..=earlier + distance;
            let pairs = later.clone().map(|later| [earlier, later]);
            for pended in pairs.chain(later.skip(1).map(|later| [later, earlier])) {
                let mut machine = start.clone();
                for (interrupt, at) in interrupts.into_iter().zip(pended) {
                    machine.pend_interrupt(interrupt, Cycles(at));
                }
                machine.run(Cycles(earlier + distance + self.patience / 20));
                let hits = machine.take_hits();
                for (which, at) in pended.into_iter().enumerate() {
                    let is_its = |hit: &&Hit| hit.watch == watches[which] && hit.cycle.0 >= at;
                    let served = hits.iter().find(is_its).expect("served").cycle.0;
                    *counts[which].entry((served - at).cast_signed()).or_default() += 1;
                }
            }
        }
        for (aspect, counts) in [Aspect::Handler, Aspect::Second].into_iter().zip(counts) {
            let found = &found.aspects[&aspect];
            assert_eq!((&found.counts, found.missing), (&counts, 0), "{aspect:?} {window:?}");
        }
    }
}
