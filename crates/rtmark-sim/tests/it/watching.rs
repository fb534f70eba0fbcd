//! Watches and masked intervals, beside an observer that sees each instruction by itself.

use std::ops::ControlFlow;

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Observer, Register, Soc, Watch};

use crate::support::*;

const PRIMASK: u16 = 16;
const BASEPRI: u16 = 17;
const BASEPRI_MAX: u16 = 18;
const FAULTMASK: u16 = 19;
/// The cycles of a run.
const CYCLES: u64 = 5_000;

/// A program by chance, which masks interrupts, and handles a SysTick. Returns it with the addresses of its
/// instructions.
fn program(core: CoreKind, seed: u64) -> (Firmware, Vec<u32>) {
    let mut random = Random::new(seed);
    let mut firmware = Firmware::new();
    let period = 150 + random.below(200);
    firmware.store(SYST_RVR, period).store(SYST_CVR, 0).store(SYST_CSR, 7).set(4, RAM);
    let begin = firmware.here();
    let mut addresses = Vec::new();
    while addresses.len() < 70 {
        addresses.push(firmware.here());
        item(&mut firmware, &mut random, core);
    }
    // b begin
    let halves = (begin as i32 - firmware.here() as i32 - 4) / 2;
    firmware.op(&[0xE000 | halves as u16 & 0x7FF]);
    firmware.handler(15);
    addresses.push(firmware.here());
    // adds r6, #1; the handler masks as well
    firmware.op(&[0x3601, CPSID_I, 0x6866, CPSIE_I, BX_LR]);
    (firmware, addresses)
}

fn item(firmware: &mut Firmware, random: &mut Random, core: CoreKind) {
    let kinds = if core.is_mainline() { 14 } else { 8 };
    match random.below(kinds) {
        0 => firmware.op(&[0x3101]),              // adds r1, #1
        1 => firmware.op(&[0x68A2]),              // ldr r2, [r4, #8]
        2 => firmware.op(&[0x60E1]),              // str r1, [r4, #12]
        3 => firmware.op(&[0x07CB, 0xD000, NOP]), // lsls r3, r1, #31; beq past the next
        4 => firmware.op(&[CPSID_I]),
        5 => firmware.op(&[CPSIE_I]),
        6 => firmware.op(&[0x2000 | random.below(2) as u16]).msr(PRIMASK, 0),
        7 => firmware.mrs(3, PRIMASK),
        8 => firmware.op(&[0x2040]).msr(BASEPRI, 0),
        9 => firmware.op(&[0x2000]).msr(BASEPRI, 0),
        10 => firmware.op(&[0x2080]).msr(BASEPRI_MAX, 0),
        // it eq; moveq r5, r1
        11 => firmware.op(&[0xBF08, 0x460D]),
        // movs r0, #0 or #1; itt ne; msrne basepri, r1; ldrne r2, [r4, #8]
        12 => {
            let value = random.below(2) as u16;
            firmware.op(&[0x2000 | value, 0xBF1C]).msr(BASEPRI, 1).op(&[0x68A2])
        }
        // movs r0, #1; movs r5, #0; msr faultmask, r0; msr faultmask, r5
        _ => firmware.op(&[0x2001, 0x2500]).msr(FAULTMASK, 0).msr(FAULTMASK, 5),
    };
}

/// An instruction about to execute, and whether interrupts are masked then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Boundary {
    cycle: u64,
    instructions: u64,
    pc: u32,
    is_masked: bool,
}

#[derive(Default)]
struct Trace {
    boundaries: Vec<Boundary>,
    /// How many boundaries there were when a handler was entered.
    entered: Vec<usize>,
}

impl Observer for Trace {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let masks = [Register::Primask, Register::Basepri, Register::Faultmask];
        self.boundaries.push(Boundary {
            cycle: machine.cycles().0,
            instructions: machine.instructions().0,
            pc: machine.register(Register::Pc),
            is_masked: masks.into_iter().any(|mask| machine.register(mask) != 0),
        });
        ControlFlow::Continue(())
    }

    fn entered(&mut self, _: &Machine, _: u16) {
        self.entered.push(self.boundaries.len());
    }
}

/// A masked interval: the first and last cycle in which it may have begun, and in which it may have ended.
/// They differ where an exception was taken before the next instruction.
struct Masked {
    began: [u64; 2],
    ended: [u64; 2],
}

impl Trace {
    fn masked(&self) -> Vec<Masked> {
        let mut intervals = Vec::new();
        let mut began = None;
        for (at, pair) in self.boundaries.windows(2).enumerate() {
            let [before, after] = [pair[0], pair[1]];
            let is_interrupted = self.entered.contains(&(at + 1));
            let first = if is_interrupted { before.cycle + 1 } else { after.cycle };
            let changed = [first, after.cycle];
            if after.is_masked {
                began = began.or(Some(changed));
            } else if let Some(began) = began.take() {
                intervals.push(Masked { began, ended: changed });
            }
        }
        intervals
    }

    /// Checks the longest masked interval, which begins and ends between the first hit and the last.
    fn check_longest(&self, hits: &[(u32, u64, u64)], longest: Option<(u64, u64)>, program: &str) {
        let [Some(&(_, first, _)), Some(&(_, last, _))] = [hits.first(), hits.last()] else {
            return;
        };
        let masked = self.masked();
        let among = |it: &&Masked| it.began[0] >= first && it.ended[1] <= last;
        for it in masked.iter().filter(among) {
            let least = it.ended[0] - it.began[1];
            let found = longest.map_or(0, |(_, cycles)| cycles);
            assert!(found >= least, "{program}: one of {least} from {:?}: {longest:?}", it.began);
        }
        if let Some((began, cycles)) = longest {
            let is_there = |it: &Masked| {
                (it.began[0]..=it.began[1]).contains(&began)
                    && (it.ended[0]..=it.ended[1]).contains(&(began + cycles))
            };
            assert!(masked.iter().any(is_there), "{program}: not in the trace: {longest:?}");
        }
    }
}

/// The hits of a machine: watch, cycle, instructions executed before.
fn hits(machine: &mut Machine) -> Vec<(u32, u64, u64)> {
    let hits = machine.take_hits();
    hits.iter().map(|hit| (hit.watch.0, hit.cycle.0, hit.instructions.0)).collect()
}

fn machine(soc: &Soc, firmware: &Firmware) -> Machine {
    firmware.on_soc(soc).machine
}

#[test]
fn hits_and_masks_are_those_of_a_trace() {
    let (mut seen, mut masked) = (0, 0);
    for &core in CoreKind::CORTEX_M {
        for seed in 0..25 {
            let (firmware, addresses) = program(core, seed);
            let mut random = Random::new(seed);
            let watched: Vec<u32> =
                (0..4).map(|_| addresses[random.below(addresses.len() as u32) as usize]).collect();
            let soc = soc(core);
            let mut plain = machine(&soc, &firmware);
            let mut trace = Trace::default();
            plain.clone().run_observed(Cycles(CYCLES), &mut trace);
            plain.watch_masks();
            for &address in &watched {
                plain.watch(Watch::Execute(address));
            }
            plain.run(Cycles(CYCLES));
            // What an interrupt abandons is not counted, and executes again.
            let executed = trace.boundaries.iter().enumerate().filter(|(number, at)| {
                let next = trace.boundaries.get(number + 1);
                next.is_none_or(|next| next.instructions > at.instructions)
            });
            let expected: Vec<(u32, u64, u64)> = executed
                .flat_map(|(_, at)| {
                    let is_here = |(_, address): &(usize, &u32)| **address == at.pc;
                    let here = watched.iter().enumerate().filter(is_here);
                    here.map(|(watch, _)| (watch as u32, at.cycle, at.instructions))
                })
                .collect();
            let found = hits(&mut plain);
            assert_eq!(found, expected, "{core} seed {seed}");
            let longest = plain.longest_masked().map(|it| (it.began, it.cycles));
            trace.check_longest(&found, longest, &format!("{core} seed {seed}"));
            seen += found.len();
            masked += usize::from(longest.is_some());
        }
    }
    assert!(seen > 5_000 && masked > 150, "{seen} hits, {masked} masked");
}

#[test]
fn hits_and_masks_do_not_depend_on_how_a_program_executes() {
    let slow = MemoryTiming { wait_states: 3, line_bytes: 16, ..MemoryTiming::default() };
    let cached = MemoryTiming { instruction_lines: 4, prefetch: true, ..slow };
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM4F] {
        for (timing, seed) in
            [slow, cached].into_iter().flat_map(|it| (0..20).map(move |s| (it, s)))
        {
            let (firmware, addresses) = program(core, seed);
            let mut soc = soc(core);
            soc.memories[0].timing = timing;
            let mut plain = machine(&soc, &firmware);
            plain.watch_masks();
            for address in addresses.iter().skip(seed as usize % 3).step_by(11) {
                plain.watch(Watch::Execute(*address));
            }
            let mut observed = plain.clone();
            let mut cut = plain.clone();
            plain.run(Cycles(CYCLES));
            observed.run_observed(Cycles(CYCLES), &mut Trace::default());
            // A deadline may fall between any two instructions.
            while cut.cycles().0 < CYCLES {
                cut.run(Cycles(cut.cycles().0 + 7).min(Cycles(CYCLES)));
            }
            let [plain, observed, cut] = [plain, observed, cut].map(|mut machine| {
                (hits(&mut machine), machine.longest_masked(), machine.most_urgent_basepri())
            });
            assert!(plain.0.len() > 20, "{core} seed {seed}");
            assert_eq!(plain, observed, "{core} {timing:?} seed {seed}");
            assert_eq!(plain, cut, "{core} {timing:?} seed {seed}");
        }
    }
}

#[test]
fn an_interrupt_may_arrive_while_a_mask_takes_effect() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).set(4, RAM).mark("first").nops(4);
        // A load is still in the pipeline when each mask changes.
        firmware.op(&[0x6822, CPSID_I]).nops(9).op(&[0x6822, CPSIE_I]).nops(9);
        firmware.mark("last").forever();
        firmware.handler(16).op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.watch_masks();
        let begun = running.clone();
        running.run(400);
        let (first, last) = (running.cycle("first"), running.cycle("last"));
        for at in first..last {
            let mut plain = begun.machine.clone();
            plain.pend_interrupt(0, Cycles(at));
            let mut observed = plain.clone();
            let mut trace = Trace::default();
            plain.run(Cycles(400));
            observed.run_observed(Cycles(400), &mut trace);
            assert_eq!(plain.longest_masked(), observed.longest_masked(), "{core} at {at}");
            let longest = plain.longest_masked().map(|it| (it.began, it.cycles));
            trace.check_longest(&hits(&mut plain), longest, &format!("{core} at {at}"));
            assert!(longest.is_some_and(|(_, cycles)| cycles < 30), "{core} at {at}: {longest:?}");
        }
    }
}
