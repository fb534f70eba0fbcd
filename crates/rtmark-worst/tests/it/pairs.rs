//! A search of pairs finds what runs from reset find, one for each pair of moments.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use rtmark_sim::{CoreKind, Cycles, Machine, Observer, Soc, Watch, WatchId};
use rtmark_worst::{
    Aspect, Control, Findings, HeldBack, Interleaving, PairedInterrupt, Path, Question, Reach,
    Share, Window, search,
};

use crate::programs::slow;
use crate::support::*;

const FIRST: u16 = 1;
const SECOND: u16 = 2;
const INTERRUPTS: [u16; 2] = [FIRST, SECOND];

/// A loop that masks in every way, with a clock, an interrupt of its own, sleep, and two handlers of
/// some length.
fn program(core: CoreKind, [first, second]: [u8; 2]) -> Firmware {
    let mut firmware = Firmware::new();
    let priorities = u32::from_le_bytes([0xC0, first, second, 0]);
    firmware.store(SHPR3, 0x40C0_0000).store(NVIC_IPR, priorities).enable(1);
    firmware.store(SYST_RVR, 149).store(SYST_CVR, 0).store(SYST_CSR, 7);
    firmware.set(6, RAM + 0x100).set(7, ICSR).op(&[NOP]);
    let top = firmware.here();
    // push {r0-r5, lr}; ldmia r6!, {r0-r3}; subs; sub sp
    firmware.op(&[0xB53F, 0xCE0F, 0x3E10, 0xB007]);
    firmware.op(&[CPSID_I]).nops(6).op(&[CPSIE_I]).nops(2);
    if core.is_mainline() {
        // BASEPRI holds back one of the two.
        firmware.op(&[0x2040]).msr(17, 0).nops(3).op(&[0xCE0F, 0x3E10, 0x2000]).msr(17, 0);
        // udiv r0, r6, r0: can be abandoned, like loads of several registers
        firmware.op(&[0x2003, 0xFBB6, 0xF0F0]);
    }
    // Masked, the code depends on what is pending: ldr r0, [r7]; lsls r0, #19; bpl over
    firmware.op(&[CPSID_I, 0x6838, 0x04C0, 0xD501, NOP, NOP, CPSIE_I]);
    // adds r5, #1; lsls r0, r5, #31; bne over; wfi
    firmware.op(&[0x3501, 0x07E8, 0xD100, WFI]);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xE000 | back as u16 & 0x7FF]);
    firmware.handler(15).nops(5).op(&[BX_LR]);
    firmware.handler(17).mark("first").nops(6).op(&[BX_LR]);
    firmware.handler(18).mark("second").nops(3).op(&[CPSID_I, NOP, NOP, CPSIE_I, BX_LR]);
    firmware
}

fn machine(firmware: &Firmware, soc: &Soc) -> Machine {
    let mut machine = Machine::new(soc);
    machine.poke(0, &firmware.image()).expect("in flash");
    machine.reset().expect("vectors");
    machine
}

fn question(priorities: [u8; 2], window: Window, distance: Option<u64>) -> Question {
    Question {
        interrupt: FIRST.into(),
        priority: priorities[0],
        windows: vec![window],
        reach: Reach::Entry,
        patience: 3_000,
        woken: None,
        ends: vec![],
        second: Some(PairedInterrupt {
            interrupt: SECOND.into(),
            priority: priorities[1],
            distance,
        }),
    }
}

fn all(path: &Path, share: Share) -> Findings {
    let cancelled = AtomicBool::new(false);
    let control = Control { cancelled: &cancelled, share, budget: u64::MAX };
    search(path, &control, Findings::default(), |_| {}).expect("no mistake")
}

/// Records what happens to both interrupts in an observed run.
#[derive(Default)]
struct Seen {
    order: Vec<usize>,
    /// When the handler of the first one was entered.
    began: u64,
    left: [bool; 2],
    /// The handler that returned, and the cycle in which it did.
    returned: Option<(u16, u64)>,
    how: Option<Interleaving>,
}

fn which(exception: u16) -> Option<usize> {
    INTERRUPTS.iter().position(|interrupt| interrupt + 16 == exception)
}

impl Observer for Seen {
    fn entered(&mut self, machine: &Machine, exception: u16) {
        let Some(which) = which(exception) else { return };
        if let Some(&first) = self.order.first() {
            let chained = self.returned == Some((INTERRUPTS[first] + 16, machine.cycles().0));
            self.how = self.how.or(Some(match () {
                () if !self.left[first] => Interleaving::Nested,
                () if chained => Interleaving::TailChained,
                () => Interleaving::Apart,
            }));
        }
        if self.order.is_empty() {
            self.began = machine.cycles().0;
        }
        self.order.push(which);
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.returned = Some((exception, machine.cycles().0));
        if let Some(which) = which(exception) {
            self.left[which] = true;
        }
    }
}

/// Runs a pair from a machine before both: when each handler begins, and how they met. Late arrivals
/// are recognised by a run without the second interrupt.
fn brute(start: &Machine, pended: [u64; 2]) -> ([u64; 2], Interleaving) {
    let mut machine = start.clone();
    for (interrupt, at) in INTERRUPTS.into_iter().zip(pended) {
        machine.pend_interrupt(interrupt, Cycles(at));
    }
    let mut seen = Seen::default();
    machine.run_observed(Cycles(pended[0].max(pended[1]) + 250), &mut seen);
    let hits = machine.take_hits();
    let served = [0, 1].map(|which| {
        let mut hits = hits.iter().filter(|hit| hit.watch.0 as usize == which);
        hits.next().expect("served").cycle.0
    });
    let first = seen.order[0];
    let other = 1 - first;
    let how = seen.how.expect("both");
    // The one that came first may have overtaken the other's entry: by itself, the other is about to be
    // entered at a boundary before the first one's moment.
    let mut alone = start.clone();
    alone.pend_interrupt(INTERRUPTS[other], Cycles(pended[other]));
    let mut overtaken = false;
    let comes = pended[first] + start.interrupt_delay();
    while alone.cycles().0 < comes {
        alone.settle();
        let held = alone.interrupt_blocker(INTERRUPTS[other]).is_some();
        let about = alone.has_arrived(INTERRUPTS[other])
            && !held
            && alone.cycles().0 < comes
            && !alone.is_asleep();
        let taken = alone.exceptions_taken();
        alone.advance(Cycles(u64::MAX)).expect("it runs on");
        // Memories never wait, so it is the same entry that ends with the first one's handler,
        // whichever handler it has led to here.
        if about && alone.exceptions_taken() > taken {
            overtaken = seen.began == alone.cycles().0;
            break;
        }
    }
    (served, if overtaken { Interleaving::LateArrival } else { how })
}

/// Compares all pairs of a window with runs from reset; returns what was found.
fn assert_equal_runs(
    core: CoreKind,
    priorities: [u8; 2],
    firmware: &Firmware,
    window: Window,
) -> Findings {
    let soc = soc(core);
    let most: u64 = 24;
    let question = question(priorities, window, Some(most));
    let path = Path::new(machine(firmware, &soc), question).expect("fine");
    let found = all(&path, Share::WHOLE);

    let mut start = machine(firmware, &soc);
    for (interrupt, priority) in INTERRUPTS.into_iter().zip(priorities) {
        start.arm_interrupt(interrupt, priority);
    }
    for name in ["first", "second"] {
        start.watch(Watch::Execute(firmware.address(name)));
    }
    start.run(Cycles(window.from));
    let first = start.cycles().0 + 1;
    let mut counts: [BTreeMap<i64, u64>; 2] = Default::default();
    let mut kinds: BTreeMap<(Interleaving, usize), BTreeMap<i64, u64>> = BTreeMap::new();
    let mut worst = [(0, 0, 0); 2];
    let mut met = 0;
    for earlier in first..first + found.points {
        for distance in -most.cast_signed()..=most.cast_signed() {
            let later = earlier + distance.unsigned_abs();
            let pended = if distance < 0 { [later, earlier] } else { [earlier, later] };
            let (served, how) = brute(&start, pended);
            met += 1;
            for which in [0, 1] {
                let latency = (served[which] - pended[which]).cast_signed();
                *counts[which].entry(latency).or_default() += 1;
                *kinds.entry((how, which)).or_default().entry(latency).or_default() += 1;
                let other = pended[1 - which].cast_signed() - pended[which].cast_signed();
                let case = (latency, -pended[which].cast_signed(), -other);
                worst[which] = worst[which].max(case);
            }
        }
    }
    assert_eq!(found.pairs, met, "{core}");
    for (which, aspect) in [Aspect::Handler, Aspect::Second].into_iter().enumerate() {
        let reported = &found.aspects[&aspect];
        assert_eq!(reported.counts, counts[which], "{core} {priorities:x?} {aspect:?}");
        assert_eq!(reported.missing, 0);
        let case = reported.worst().expect("there is one");
        let distance = case.distance.expect("of two");
        let reported = (case.cycles, -case.point.cast_signed(), -distance);
        assert_eq!(reported, worst[which], "{core} {priorities:x?} {aspect:?}");
        let witness = path.witness(aspect, case).expect("replays");
        assert_eq!(witness.cycles, case.cycles, "{core} {priorities:x?}");
        for how in Interleaving::ALL {
            let reported = found.meetings.get(&(how, aspect)).map(|found| &found.counts);
            let run = kinds.get(&(how, which));
            assert_eq!(reported, run, "{core} {priorities:x?} {aspect:?} {how:?}");
        }
    }
    found
}

#[test]
fn pairs_equal_runs_from_reset() {
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM33] {
        for priorities in [[0x40, 0x40], [0x80, 0], [0x40, 0xC0]] {
            let firmware = program(core, priorities);
            let window = Window { from: 200, to: 370 };
            let found = assert_equal_runs(core, priorities, &firmware, window);
            for how in Interleaving::ALL {
                let is_met = found.meetings.contains_key(&(how, Aspect::Handler));
                // Of two interrupts with the same priority, the lower number still comes first.
                let can_be = how != Interleaving::Nested || priorities[0] != priorities[1];
                assert_eq!(is_met, can_be, "{core} {priorities:x?} {how:?}");
            }
        }
    }
}

/// Of a sleep, in which single interrupts are answered for together, each pair is searched.
#[test]
fn pairs_of_a_long_sleep_equal_runs_from_reset() {
    let (core, priorities) = (CoreKind::CortexM3, [0x80, 0x40]);
    let mut firmware = Firmware::new();
    firmware.store(SHPR3, 0x40C0_0000).store(NVIC_IPR, 0x0040_80C0);
    firmware.store(SYST_RVR, 249).store(SYST_CVR, 0).store(SYST_CSR, 7);
    // wfi; b to it
    firmware.op(&[WFI, 0xE7FD]);
    firmware.handler(15).nops(5).op(&[BX_LR]);
    firmware.handler(17).mark("first").nops(6).op(&[BX_LR]);
    firmware.handler(18).mark("second").nops(3).op(&[BX_LR]);
    let window = Window { from: 320, to: 620 };
    let found = assert_equal_runs(core, priorities, &firmware, window);
    assert!(found.points > 280, "{}", found.points);
}

#[test]
fn pairs_without_limit_extend_to_the_handlers_return() {
    let core = CoreKind::CortexM3;
    let priorities = [0x80, 0x40];
    let firmware = program(core, priorities);
    let window = Window { from: 200, to: 900 };
    let asked = question(priorities, window, None);
    let path = Path::new(machine(&firmware, &soc(core)), asked).expect("fine");
    let found = all(&path, Share::WHOLE);
    let start = path.at(window.from);
    let first = start.cycles().0 + 1;
    let mut expected = 0;
    for (order, interrupt) in INTERRUPTS.into_iter().enumerate() {
        for point in first..first + found.points {
            let mut alone = start.clone();
            let returned = alone.watch(Watch::Return(16 + interrupt));
            alone.pend_interrupt(interrupt, Cycles(point));
            alone.run(Cycles(point + 1_000));
            let hit = alone.take_hits().into_iter().find(|hit| hit.watch == returned);
            let returned = hit.expect("returns").cycle.0;
            // The boundary at which it has returned, after waiting for the fetch.
            let mut alone = start.clone();
            alone.pend_interrupt(interrupt, Cycles(point));
            while alone.cycles().0 < returned {
                alone.advance(Cycles(u64::MAX)).expect("it runs on");
                alone.settle();
            }
            expected += alone.cycles().0 - point + 1 - order as u64;
        }
    }
    assert_eq!(found.pairs, expected);
}

/// A second interrupt that may come as well changes nothing about the code that holds the first one back.
#[test]
fn what_holds_the_first_interrupt_back_is_what_holds_it_back_alone() {
    let core = CoreKind::CortexM3;
    let priorities = [0x80, 0x40];
    let firmware = program(core, priorities);
    let window = Window { from: 200, to: 900 };
    let asked = question(priorities, window, Some(4));
    let alone = Question { second: None, ..asked.clone() };
    let paths = [asked, alone].map(|asked| Path::new(machine(&firmware, &soc(core)), asked));
    let [pair, alone] = paths.map(|path| path.expect("fine"));
    for (interrupt, handler) in [(FIRST, "first"), (SECOND, "second")] {
        assert_eq!(pair.handler_of(interrupt.into()), firmware.address(handler));
    }
    let [pair, alone] = [pair, alone].map(|path| all(&path, Share::WHOLE).held);
    assert!(alone != HeldBack::default());
    assert_eq!(pair, alone);
}

#[test]
fn pairs_do_not_depend_on_shares_and_threads() {
    let core = CoreKind::CortexM4F;
    let priorities = [0x80, 0x40];
    let firmware = program(core, priorities);
    let window = Window { from: 300, to: 18_000 };
    let asked = question(priorities, window, Some(8));
    let path = Path::new(machine(&firmware, &soc(core)), asked).expect("fine");
    assert_eq!(path.len(), 3);
    let [whole, by_three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| all(&path, Share::WHOLE))
    });
    assert!(whole.pairs > 250_000, "{}", whole.pairs);
    assert_eq!(by_three, whole);
    let mut joined = all(&path, Share { number: 2, of: 2 });
    joined.absorb(all(&path, Share { number: 1, of: 2 }));
    assert_eq!(joined, whole);
}

#[test]
fn indistinguishable_interrupts_are_rejected() {
    let firmware = program(CoreKind::CortexM3, [0, 0]);
    let mut asked = question([0, 0], Window { from: 200, to: 300 }, None);
    asked.interrupt = SECOND.into();
    let machine = machine(&firmware, &soc(CoreKind::CortexM3));
    let refused = Path::new(machine, asked).expect_err("one interrupt twice");
    assert!(refused.to_string().contains("cannot be distinguished"), "{refused}");
}

/// A loop whose code requests both interrupts itself, with and without masks, and two handlers of which
/// one requests the other.
fn asking(core: CoreKind, [first, second]: [u8; 2]) -> Firmware {
    let mut firmware = Firmware::new();
    let priorities = u32::from_le_bytes([0xC0, first, second, 0]);
    firmware.store(SHPR3, 0x80C0_0000).store(NVIC_IPR, priorities).enable(1);
    firmware.set(6, RAM + 0x100).op(&[NOP]);
    let top = firmware.here();
    // ldmia r6!, {r0-r3}; subs r6, #16
    firmware.op(&[0xCE0F, 0x3E10]);
    firmware.store(NVIC_ISPR, 1 << FIRST).nops(5);
    firmware.store(NVIC_ISPR, 1 << SECOND).nops(5);
    firmware.op(&[CPSID_I]).store(NVIC_ISPR, 3 << FIRST).nops(2).op(&[CPSIE_I]).nops(2);
    if core.is_mainline() {
        // udiv r0, r6, r0
        firmware.op(&[0x2003, 0xFBB6, 0xF0F0]);
    }
    firmware.store(ICSR, 1 << 28).nops(3);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xE000 | back as u16 & 0x7FF]);
    firmware.handler(14).nops(3).op(&[BX_LR]);
    firmware.handler(17).mark("first").nops(2).op(&[BX_LR]);
    firmware.handler(18).mark("second").nops(3);
    firmware.op(&[BX_LR]);
    firmware
}

/// Counts the hits of each interrupt becoming pending before each of its entries.
struct Entries {
    pends: [WatchId; 2],
    before: [Vec<usize>; 2],
}

impl Observer for Entries {
    fn entered(&mut self, machine: &Machine, exception: u16) {
        if let Some(which) = which(exception) {
            let pends = machine.hits().iter().filter(|hit| hit.watch == self.pends[which]);
            self.before[which].push(pends.count());
        }
    }
}

/// Returns when the entries that take what becomes pending in the given cycles lead to their handlers.
/// An interrupt that is pending already has no new hit of becoming so: it is taken with that of the
/// last hit before.
fn taken(start: &Machine, pended: [u64; 2]) -> [u64; 2] {
    let mut machine = start.clone();
    let pends = INTERRUPTS.map(|interrupt| machine.watch(Watch::Pend(interrupt + 16)));
    for (interrupt, at) in INTERRUPTS.into_iter().zip(pended) {
        machine.pend_interrupt(interrupt, Cycles(at));
    }
    let mut entries = Entries { pends, before: Default::default() };
    machine.run_observed(Cycles(pended[0].max(pended[1]) + 300), &mut entries);
    let hits = machine.take_hits();
    [0, 1].map(|which| {
        let became = hits.iter().filter(|hit| hit.watch == pends[which]);
        let ours = became.filter(|hit| hit.cycle.0 <= pended[which]).count();
        let entry = entries.before[which].iter().position(|&before| before >= ours);
        let mut begins = hits.iter().filter(|hit| hit.watch.0 as usize == which);
        begins.nth(entry.expect("entered")).expect("served").cycle.0
    })
}

#[test]
fn an_entry_that_had_begun_is_not_that_of_an_interrupt_requested_again() {
    for core in [CoreKind::CortexM0, CoreKind::CortexM3, CoreKind::CortexM7, CoreKind::CortexM33] {
        for priorities in [[0x40, 0x40], [0x80, 0]] {
            for soc in [soc(core), slow(core)] {
                let firmware = asking(core, priorities);
                let (window, most) = (Window { from: 200, to: 300 }, 7);
                let question = question(priorities, window, Some(most));
                let path = Path::new(machine(&firmware, &soc), question).expect("fine");
                let found = all(&path, Share::WHOLE);
                let mut start = machine(&firmware, &soc);
                for (interrupt, priority) in INTERRUPTS.into_iter().zip(priorities) {
                    start.arm_interrupt(interrupt, priority);
                }
                for name in ["first", "second"] {
                    start.watch(Watch::Execute(firmware.address(name)));
                }
                start.run(Cycles(window.from - 100));
                while start.exception() != 0 {
                    start.advance(Cycles(u64::MAX)).expect("it runs on");
                }
                // Entries and hits are counted from here.
                start.take_hits();
                let first = path.begins(window.from) + 1;
                let mut counts: [BTreeMap<i64, u64>; 2] = Default::default();
                for earlier in first..first + found.points {
                    for distance in -most.cast_signed()..=most.cast_signed() {
                        let later = earlier + distance.unsigned_abs();
                        let pended = if distance < 0 { [later, earlier] } else { [earlier, later] };
                        let served = taken(&start, pended);
                        for which in [0, 1] {
                            let latency = (served[which] - pended[which]).cast_signed();
                            *counts[which].entry(latency).or_default() += 1;
                        }
                    }
                }
                for (which, aspect) in [Aspect::Handler, Aspect::Second].into_iter().enumerate() {
                    let reported = &found.aspects[&aspect];
                    assert_eq!(reported.counts, counts[which], "{core} {priorities:x?} {aspect:?}");
                    assert_eq!(reported.missing, 0);
                    let case = reported.worst().expect("there is one");
                    let witness = path.witness(aspect, case).expect("replays");
                    assert_eq!(witness.cycles, case.cycles, "{core} {priorities:x?}");
                }
            }
        }
    }
}
