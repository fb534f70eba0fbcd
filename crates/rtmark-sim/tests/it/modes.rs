//! One program, one meaning: whichever way a machine is run, registers, memory and cycles are the
//! same.

use std::fmt::{Debug, Write as _};
use std::ops::{ControlFlow, Range};

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Observer, Register, Stop};

use crate::support::landmarks::{NullObserver, borders, landmarks};
use crate::support::programs::{self, Contents, FEW, MANY, Rounds, SPARE_INTERRUPT, timings};
use crate::support::*;

/// A way to bring a machine to a cycle, other than in one go at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// At full speed with stops at any moment.
    InPieces,
    /// Told to an observer.
    Observed,
    /// Told to an observer at landmarks, and executed in blocks between.
    AtLandmarks,
    /// One instruction at a time, as a debugger does.
    Stepped,
    /// At full speed, with interrupts tried out on the way, as a search for the worst moment does.
    Tried,
    /// Gone on with by a copy that was made in the middle, while the original goes on, too.
    Copied,
    /// Run ahead now and then, with an interrupt, which is taken back.
    LookingAhead,
    /// Each of these for a while.
    Mixed,
}

impl Mode {
    const ALL: [Self; 8] = [
        Self::InPieces,
        Self::Observed,
        Self::AtLandmarks,
        Self::Stepped,
        Self::Tried,
        Self::Copied,
        Self::LookingAhead,
        Self::Mixed,
    ];

    /// Runs until a cycle or whatever else ends the run.
    fn run(self, machine: &mut Machine, until: Cycles, random: &mut Random) -> Stop {
        match self {
            Self::InPieces => pieces(machine, until, random, |_, machine, to| machine.run(to)),
            Self::Observed => machine.run_observed(until, &mut NullObserver),
            Self::AtLandmarks => {
                let landmarks = landmarks(&borders(random, &[0, RAM]));
                pieces(machine, until, random, |_, machine, to| {
                    machine.run_observed_at(&landmarks, to, &mut NullObserver)
                })
            }
            Self::Stepped => loop {
                if let Err(stop) = machine.step(until) {
                    break stop;
                }
            },
            Self::Tried => loop {
                if random.below(8) == 0 {
                    try_early_interrupt(machine, random);
                }
                machine.settle();
                if random.below(8) == 0 {
                    try_interrupt(machine, random);
                }
                if let Err(stop) = machine.advance_before_issue(until) {
                    break stop;
                }
            },
            Self::Copied => {
                let middle = between(machine, until, random);
                let stop = machine.run(middle);
                if stop != Stop::Limit {
                    return stop;
                }
                let mut original = machine.clone();
                let stop = machine.run(until);
                assert_eq!(original.run(until), stop);
                assert_same(machine, &original, "the copy and the original");
                std::mem::swap(machine, &mut original);
                stop
            }
            Self::LookingAhead => pieces(machine, until, random, |random, machine, to| {
                look_ahead(machine, random);
                machine.run(to)
            }),
            Self::Mixed => pieces(machine, until, random, |random, machine, to| {
                let mode = Self::ALL[random.below(Self::ALL.len() as u32 - 1) as usize];
                mode.run(machine, to, random)
            }),
        }
    }
}

/// A cycle between now and another one.
fn between(machine: &Machine, until: Cycles, random: &mut Random) -> Cycles {
    let now = machine.cycles().0;
    Cycles(now + u64::from(random.below(until.0.saturating_sub(now).max(1) as u32)))
}

/// Runs in pieces, of which some are short and some are long.
fn pieces(
    machine: &mut Machine,
    until: Cycles,
    random: &mut Random,
    run: impl Fn(&mut Random, &mut Machine, Cycles) -> Stop,
) -> Stop {
    loop {
        let most = [4, 300, 20_000][random.below(3) as usize];
        let to = Cycles(until.0.min(machine.cycles().0 + 1 + u64::from(random.below(most))));
        let stop = run(random, machine, to);
        if stop != Stop::Limit || to == until {
            return stop;
        }
    }
}

/// Asks what an interrupt would meet here, which is to leave no trace.
fn try_interrupt(machine: &mut Machine, random: &mut Random) {
    let _ = machine.can_observe_pending(SPARE_INTERRUPT);
    if machine.is_asleep() || machine.interrupt_blocker(SPARE_INTERRUPT).is_some() {
        return;
    }
    let _ = machine.try_entry(SPARE_INTERRUPT);
    let within = machine.cycles().0 + 1 + u64::from(random.below(6));
    let _ = machine.try_entry_within(SPARE_INTERRUPT, Cycles(within));
}

/// Tries out an interrupt before the next instruction has entered the pipeline.
fn try_early_interrupt(machine: &mut Machine, random: &mut Random) {
    let next = machine.next_entry().0;
    if !machine.is_asleep() && machine.interrupt_blocker(SPARE_INTERRUPT).is_none() {
        let before = machine.interrupt_delay() + u64::from(random.below(4));
        let _ = machine.try_entry_early(SPARE_INTERRUPT, Cycles(next.saturating_sub(before)));
    }
}

/// Runs ahead with an interrupt, which is to meet what a copy meets.
fn look_ahead(machine: &mut Machine, random: &mut Random) {
    let mut copy = machine.clone();
    let now = machine.cycles().0;
    let until = Cycles(now + u64::from(random.below(400)));
    let pends = Cycles(now + u64::from(random.below(200)));
    let is_observed = random.below(2) == 0;
    let run = |machine: &mut Machine| {
        machine.pend_interrupt(SPARE_INTERRUPT, pends);
        if is_observed {
            machine.run_observed(until, &mut NullObserver)
        } else {
            machine.run(until)
        }
    };
    machine.look_ahead(|ahead| {
        assert_eq!(run(ahead), run(&mut copy));
        assert_same(ahead, &copy, "the machine that looks ahead and the copy");
    });
}

/// What [`Counts`] holds.
const COUNTS: [&str; 5] = ["cycles", "instructions", "waited", "abandoned", "exceptions"];
/// The bytes of RAM that are compared.
const BYTES: usize = 0x4000;

type Counts = [u64; COUNTS.len()];

fn registers() -> impl Iterator<Item = Register> {
    use Register::{Basepri, Control, Faultmask, Fpscr, Msp, Pc, Primask, Psp, Xpsr};
    let special = [Pc, Xpsr, Msp, Psp, Primask, Basepri, Faultmask, Control, Fpscr];
    (0..15).map(Register::R).chain(special).chain((0..32).map(Register::S))
}

/// Everything of a machine that a program, its user or a search can tell.
fn state(machine: &Machine) -> (Counts, Vec<u32>, Vec<u8>) {
    let counts = [
        machine.cycles().0,
        machine.instructions().0,
        machine.waited().0,
        machine.abandoned_instructions().0,
        machine.exceptions_taken(),
    ];
    let registers = registers().map(|register| machine.register(register)).collect();
    (counts, registers, machine.peek(RAM, BYTES))
}

#[track_caller]
fn assert_same(one: &Machine, other: &Machine, what: &str) {
    let (one, other) = (state(one), state(other));
    if one == other {
        return;
    }
    let mut text = String::new();
    let mut compare = |name: &dyn Debug, value: u64, otherwise: u64| {
        if value != otherwise {
            let _ = writeln!(text, "  {name:?}: {value:#x}, {otherwise:#x} otherwise");
        }
    };
    for (at, name) in COUNTS.iter().enumerate() {
        compare(name, one.0[at], other.0[at]);
    }
    for (at, register) in registers().enumerate() {
        compare(&register, one.1[at].into(), other.1[at].into());
    }
    for (at, address) in (RAM..).enumerate().take(BYTES) {
        compare(&format_args!("{address:#x}"), one.2[at].into(), other.2[at].into());
    }
    panic!("{what}:\n{text}");
}

/// What programs of some seeds have executed.
#[derive(Clone, Copy, Debug, Default)]
struct Executed {
    instructions: u64,
    exceptions: u64,
    /// How often prepared code has been forgotten for want of room.
    evictions: u64,
    programs: u32,
    /// Those that had not ended when they were left.
    alive: u32,
}

/// Runs such programs in every mode up to each of some cycles.
fn compare(seeds: Range<u64>, rounds: Rounds, limits: &[u64]) -> Executed {
    let mut executed = Executed::default();
    for &core in CoreKind::CORTEX_M {
        for timing in timings() {
            for seed in seeds.clone() {
                let fresh = || programs::machine(core, timing, seed, rounds, Contents::Everything);
                let what = format!("{core} {timing:?} seed {seed}");
                compare_one(fresh, seed, limits, &what, &mut executed);
            }
        }
    }
    executed
}

fn compare_one(
    fresh: impl Fn() -> Machine,
    seed: u64,
    limits: &[u64],
    what: &str,
    executed: &mut Executed,
) {
    let first = fresh();
    let mut plain = first.clone();
    let mut plainly: Vec<(Cycles, Stop, Machine)> = Vec::new();
    for &limit in limits {
        let stop = plain.run(Cycles(limit));
        plainly.push((Cycles(limit), stop.clone(), plain.clone()));
        if stop != Stop::Limit {
            break;
        }
    }
    for mode in Mode::ALL {
        let mut random = Random::new(seed);
        // One that shares the code that has been prepared already, or one that does not.
        let mut other = if seed.is_multiple_of(2) { first.clone() } else { fresh() };
        if seed.is_multiple_of(3) {
            // One that forgets prepared code all the time.
            other.limit_code(400, 0);
        }
        for (limit, stop, plain) in &plainly {
            let what = format!("{what} {mode:?} until {limit}");
            assert_eq!(*stop, mode.run(&mut other, *limit, &mut random), "{what}");
            assert_same(plain, &other, &what);
        }
        executed.evictions += other.evictions();
    }
    executed.instructions += plain.instructions().0;
    executed.exceptions += plain.exceptions_taken();
    executed.programs += 1;
    executed.alive += u32::from(plainly.last().is_some_and(|(_, stop, _)| *stop == Stop::Limit));
}

#[test]
fn short_programs_are_equal_in_every_mode() {
    let executed = compare(1..25, FEW, &[300, 3_000]);
    assert!(executed.instructions > 500_000, "too few instructions to tell: {executed:?}");
    assert!(executed.exceptions > 20_000, "too few exceptions to tell: {executed:?}");
    assert!(executed.alive * 10 > executed.programs * 9, "too many have ended: {executed:?}");
}

#[test]
fn long_programs_are_equal_in_every_mode() {
    let executed = compare(100..105, MANY, &[20_000, 80_000]);
    assert!(executed.instructions > 4_000_000, "too few instructions to tell: {executed:?}");
    assert!(executed.exceptions > 20_000, "too few exceptions to tell: {executed:?}");
    assert!(executed.evictions > 1_000, "too little has been forgotten: {executed:?}");
    assert!(executed.alive * 10 > executed.programs * 9, "too many have ended: {executed:?}");
}

/// Which of the flags an IT block's instructions have changed decides about the others (DDI 0403,
/// A7.3.3): with Z set and both operands zero, LE holds; then no flag is set, and GT does.
fn assert_conditions_are_reevaluated(core: CoreKind, changes: &[u16], before: &[u16]) {
    let mut firmware = Firmware::new();
    if core.has_fpu() {
        firmware.fpu();
    }
    firmware.op(&[0x2000]).op(before).op(&[0x2405, 0x2632]); // movs r4, #5; movs r6, #50
    let top = firmware.here();
    // cmp r0, r0; ite le; …; addgt r4, #1; subs r6, #1; bne
    firmware.op(&[0x4280, 0xBFD4]).op(changes).op(&[0x3401, 0x3E01]);
    let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
    firmware.op(&[0xD100 | back as u16 & 0xFF]).mark("end").forever();
    let machine = firmware.on(core).machine;
    let mut random = Random::new(1);
    let mut plain = machine.clone();
    plain.run(Cycles(2_000));
    assert_eq!(plain.register(Register::R(4)), 55, "{core}: one more each time");
    for mode in Mode::ALL {
        let mut other = machine.clone();
        mode.run(&mut other, Cycles(2_000), &mut random);
        assert_same(&plain, &other, &format!("{core} {mode:?}"));
    }
}

#[test]
fn conditions_are_reevaluated_after_msr() {
    for core in [CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4F, CoreKind::CortexM33] {
        assert_conditions_are_reevaluated(core, &[0xF380, 0x8800], &[]); // msrle apsr_nzcvq, r0
    }
}

#[test]
fn conditions_are_reevaluated_after_vmrs() {
    for core in [CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33] {
        // vmsr fpscr, r0; vmrsle apsr_nzcv, fpscr
        assert_conditions_are_reevaluated(core, &[0xEEF1, 0xFA10], &[0xEEE1, 0x0A10]);
    }
}

#[test]
fn conditions_are_reevaluated_after_comparisons() {
    for core in [CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM7, CoreKind::CortexM33] {
        assert_conditions_are_reevaluated(core, &[0x4286], &[]); // cmple r6, r0
        assert_conditions_are_reevaluated(core, &[0xF116, 0x0F01], &[]); // cmnle.w r6, #1
    }
}

/// The cycles between an instruction's beginning and the next one's, where no exception is
/// taken or left and nothing sleeps in between.
#[derive(Default)]
struct Costs {
    began: Option<(u64, u32)>,
    most: (u64, u32),
}

impl Observer for Costs {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let now = machine.cycles().0;
        if let Some((began, address)) = self.began {
            self.most = self.most.max((now - began, address));
        }
        self.began = Some((now, machine.register(Register::Pc)));
        ControlFlow::Continue(())
    }

    fn slept(&mut self, _: &Machine) {
        self.began = None;
    }

    fn entered(&mut self, _: &Machine, _: u16) {
        self.began = None;
    }

    fn returned(&mut self, _: &Machine, _: u16) {
        self.began = None;
    }
}

/// Cycles that no instruction takes besides what memories make it wait: a list of all registers,
/// a division that waits for the unit, the stores before it, and the refill behind a jump.
const LONGEST: u64 = 60;

fn assert_no_cost_without_reason(machine: &mut Machine, timing: MemoryTiming, what: &str) {
    // A line or two of code, and of data a word each of the longest list, four here.
    let deselect = timing.burst.map_or(0, |burst| burst.deselect_cycles);
    let waits = u64::from(timing.wait_states + deselect) * 16;
    let mut costs = Costs::default();
    machine.run_observed(Cycles(machine.cycles().0 + 30_000), &mut costs);
    let (most, address) = costs.most;
    let bytes = machine.peek(address, 4);
    assert!(most < LONGEST + waits, "{what}: {most} cycles at {address:#x}, {bytes:02x?}");
}

#[test]
fn instructions_take_no_more_than_their_waits_and_a_small_bound() {
    for &core in CoreKind::CORTEX_M {
        for timing in timings() {
            for seed in 200..230 {
                for contents in [Contents::Plain, Contents::Everything] {
                    let mut machine = programs::machine(core, timing, seed, MANY, contents);
                    let what = format!("{core} {timing:?} seed {seed} {contents:?}");
                    assert_no_cost_without_reason(&mut machine, timing, &what);
                }
            }
        }
    }
}

/// LDM and STM of no register at all, which the manual calls UNPREDICTABLE (DDI 0403, A7.7.41 and
/// A7.7.159): whatever they do, they do not keep the core for longer than others.
#[test]
fn empty_register_lists_take_no_longer() {
    // ldm and stm in 16 and 32 bits, push, pop, ldmdb, stmdb
    let narrow: [&[u16]; 4] = [&[0xCE00], &[0xC600], &[0xB400], &[0xBC00]];
    let wide: [&[u16]; 4] = [&[0xE896, 0], &[0xE886, 0], &[0xE916, 0], &[0xE906, 0]];
    for &core in CoreKind::CORTEX_M {
        for list in narrow.iter().chain(wide.iter().filter(|_| core.is_mainline())) {
            let mut firmware = Firmware::new();
            // Loads and stores before and behind it.
            firmware.set(6, RAM + 0x100).op(&[0x6830, 0x6071]).op(list);
            firmware.op(&[0x4630, 0x6030, 0x6871, 0x3101, 0x6031]).forever();
            firmware.handler(3).op(&[0x6830, 0x6031]).forever();
            let mut machine = firmware.on(core).machine;
            let what = format!("{core} {list:04x?}");
            assert_no_cost_without_reason(&mut machine, MemoryTiming::default(), &what);
        }
    }
}

/// Flash makes the core wait again behind the return from a function in RAM.
#[test]
fn flash_waits_count_after_calls_into_ram() {
    for &core in CoreKind::CORTEX_M {
        for timing in timings() {
            let mut soc = soc(core);
            set_flash_timing(&mut soc, timing);
            let mut firmware = Firmware::new();
            firmware.set(2, RAM + 0x101).op(&[0x2432]); // movs r4, #50
            let top = firmware.here();
            // blx r2; adds r3, #1, over some lines; subs r4, #1; bne
            firmware.op(&[0x4790]).op(&[0x3301; 20]).op(&[0x3C01]);
            let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF]).forever();
            let mut machine = firmware.on_soc(&soc).machine;
            machine.poke(RAM + 0x100, &[0x01, 0x31, 0x70, 0x47]).expect("RAM"); // adds r1, #1; bx lr
            let mut observed = machine.clone();
            machine.run(Cycles(3_000));
            observed.run_observed(Cycles(3_000), &mut NullObserver);
            assert_same(&machine, &observed, &format!("{core} {timing:?}"));
        }
    }
}
