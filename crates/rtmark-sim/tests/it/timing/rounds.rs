//! The measured rules of Cortex-M33 and M7, each as loops whose rounds take a known number of cycles:
//! `cortex-m33.txt` and `cortex-m7.txt`, a line for each. And what holds whatever the program.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use rtmark_sim::{CoreKind, Cycles, Instruction, Machine, Observer, Register, Stop};

use super::{Case, START, parse};
use crate::support::{self, BX_LR, Firmware, RAM, Random, soc};

const BKPT: u16 = 0xBE00;

/// A machine before a case, which is to go round so often.
fn machine(core: CoreKind, opcodes: &[u16], rounds: u32) -> Machine {
    let mut machine = Machine::new(&soc(core));
    machine.poke_word(0, support::STACK - 0x100).expect("in flash");
    machine.poke_word(4, START | 1).expect("in flash");
    let halves = opcodes.iter().chain([&BKPT]);
    let bytes: Vec<u8> = halves.flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(START, &bytes).expect("in flash");
    machine.reset().expect("vectors");
    for address in (RAM..RAM + 0x3000).step_by(4) {
        machine.poke_word(address, RAM + 0x300).expect("in RAM");
    }
    machine.store_word(support::CPACR, 0x00F0_0000).expect("CPACR");
    if core.has_double_precision() {
        set_floats(&mut machine);
    }
    let values = [3, 5, 2, 7, 1, RAM + 0x200, RAM + 0x100, rounds];
    for (register, value) in (0..).zip(values) {
        machine.set_register(Register::R(register), value);
    }
    machine
}

/// 1 in every register, in D8 on as a double; 0.25 in D10, 0 in D11.
fn set_floats(machine: &mut Machine) {
    for register in 0..16 {
        machine.set_register(Register::S(register), 1f32.to_bits());
        let double = match register / 2 {
            2 => 0.25f64,
            3 => 0.0,
            _ => 1.0,
        };
        let word = double.to_bits() >> (32 * (register % 2));
        machine.set_register(Register::S(16 + register), word as u32);
    }
}

/// How a case is run.
#[derive(Clone, Copy, Debug)]
enum Way {
    AtOnce,
    Observed,
    Stepped,
    /// In pieces of a few cycles.
    InPieces,
}

const WAYS: [Way; 4] = [Way::AtOnce, Way::Observed, Way::Stepped, Way::InPieces];

struct Watcher;

impl Observer for Watcher {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs to the breakpoint behind a case; answers the cycles.
fn finish(mut machine: Machine, way: Way) -> u64 {
    const LIMIT: Cycles = Cycles(100_000);
    let stop = match way {
        Way::AtOnce => machine.run(LIMIT),
        Way::Observed => machine.run_observed(LIMIT, &mut Watcher),
        Way::Stepped => loop {
            if let Err(stop) = machine.step(LIMIT) {
                break stop;
            }
        },
        Way::InPieces => loop {
            let stop = machine.run(Cycles(machine.cycles().0 + 7));
            if stop != Stop::Limit || machine.cycles() >= LIMIT {
                break stop;
            }
        },
    };
    assert!(matches!(stop, Stop::Breakpoint(_)), "{way:?}: {stop:?}");
    machine.cycles().0
}

/// What a hundred rounds take beyond twenty.
fn hundred_rounds(core: CoreKind, case: &Case<'_>, way: Way) -> u64 {
    let after = |rounds| finish(machine(core, &case.opcodes, rounds), way);
    after(120) - after(20)
}

#[test]
fn cortex_m33_cycles_match_measurements() {
    assert_rounds(CoreKind::CortexM33, include_str!("cortex-m33.txt"), 190);
}

#[test]
fn cortex_m7_cycles_match_measurements() {
    assert_rounds(CoreKind::CortexM7, include_str!("cortex-m7.txt"), 125);
}

fn assert_rounds(core: CoreKind, text: &str, least: usize) {
    let cases = parse(text);
    assert!(cases.len() >= least, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        for way in WAYS {
            let cycles = hundred_rounds(core, case, way);
            if cycles != 100 * case.cycles {
                let (line, assembly) = (case.line, case.assembly);
                let _ = writeln!(
                    wrong,
                    "line {line}: {assembly}: {cycles} cycles in 100 rounds of {}, {way:?}",
                    case.cycles
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// No more than any instruction takes here by itself, the others' results included: 16 registers,
/// a division or VDIV, and the longest result.
const MOST: u64 = 24;
/// The bound on a Cortex-M7, which includes a division in double precision and a mispredicted branch.
const MOST_M7: u64 = 48;

/// Counts instructions and the cycles of each.
#[derive(Default)]
struct Bounds {
    most: u64,
    last: Option<Instruction>,
    executed: u64,
    /// Instructions that took no cycle, one behind the other.
    free: u32,
    wrong: Option<String>,
}

impl Observer for Bounds {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let Some(last) = self.last.take() else { return ControlFlow::Continue(()) };
        self.executed += 1;
        let cycles = machine.cycles().0 - last.began.0;
        self.free = if cycles == 0 { self.free + 1 } else { 0 };
        if cycles > self.most || self.free > 1 {
            self.wrong = Some(format!("{:#x} took {cycles} cycles", last.address));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn executed(&mut self, _: &Machine, instruction: &Instruction) {
        self.last = Some(*instruction);
    }
}

/// Any halfwords that follow each other, of those from the cases: instructions as they come, and
/// such as begin in the middle of others.
fn program(random: &mut Random, cases: &[Case<'_>]) -> Vec<u16> {
    let mut halves = Vec::new();
    while halves.len() < 200 {
        let case = &cases[random.below(cases.len() as u32) as usize].opcodes;
        let from = random.below(case.len() as u32) as usize;
        let to = from + 1 + random.below((case.len() - from) as u32) as usize;
        halves.extend(&case[from..to]);
    }
    halves
}

#[test]
fn pairs_take_at_least_one_cycle_and_at_most_a_few() {
    assert_bounds(CoreKind::CortexM33, include_str!("cortex-m33.txt"));
}

#[test]
fn pairs_on_a_cortex_m7_take_at_least_one_cycle_and_at_most_a_few() {
    assert_bounds(CoreKind::CortexM7, include_str!("cortex-m7.txt"));
}

fn assert_bounds(core: CoreKind, text: &str) {
    let cases = parse(text);
    let mut executed = 0;
    for seed in 1..400 {
        let mut random = Random::new(seed);
        let halves = program(&mut random, &cases);
        let one = machine(core, &halves, 1 + random.below(50));
        let (mut all, mut pieces) = (one.clone(), one.clone());
        let mut observed = one;
        let limit = Cycles(2_000);
        let most = if core == CoreKind::CortexM7 { MOST_M7 } else { MOST };
        let mut bounds = Bounds { most, ..Bounds::default() };
        let stop = observed.run_observed(limit, &mut bounds);
        assert_eq!(bounds.wrong, None, "seed {seed}");
        assert_eq!(all.run(limit), stop, "seed {seed}");
        let mut other = Stop::Limit;
        while other == Stop::Limit && pieces.cycles() < limit {
            let until = pieces.cycles().0 + 1 + u64::from(random.below(30));
            other = pieces.run(Cycles(until.min(limit.0)));
        }
        assert_eq!(other, stop, "seed {seed}");
        for machine in [&all, &pieces] {
            assert_eq!(machine.cycles(), observed.cycles(), "seed {seed}");
            assert_eq!(machine.instructions(), observed.instructions(), "seed {seed}");
        }
        executed += bounds.executed;
    }
    assert!(executed > 40_000, "too few instructions to tell: {executed}");
}

#[test]
fn exceptions_between_a_pair_wait_for_the_first_instruction() {
    let latency = |behind: &[u16]| {
        let mut firmware = Firmware::new();
        // An interrupt that is pending is enabled by what may take a second one along: str r1, [r0]
        firmware.set(0, support::NVIC_ISER).set(1, 1).op(&[0x46C0, 0x46C0]);
        firmware.mark("store").op(&[0x6001]).mark("behind").op(behind).forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(CoreKind::CortexM33);
        running.machine.pend_interrupt(0, Cycles(0));
        running.run(200);
        assert_eq!(running.names(), ["store", "handler", "behind"]);
        running.cycle("handler") - running.cycle("store")
    };
    // Its own cycle, and 12 until the handler begins (see `exceptions.rs`).
    let alone = latency(&[0x46C0]); // mov r8, r8
    assert_eq!(alone, 13);
    assert_eq!(latency(&[support::NOP]), alone);
    assert_eq!(latency(&[0xE7FF]), alone); // b to the next one
}

#[test]
fn after_sleep_the_next_instruction_issues_normally() {
    let mut firmware = Firmware::new();
    firmware.enable(1).set(0, RAM + 0x200).op(&[support::CPSID_I, support::WFI]);
    // ldm.w r0, {r1-r4}: four cycles
    firmware.mark("list").op(&[0xE890, 0x001E]).mark("behind").op(&[0x46C0]).forever();
    firmware.handler(16).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM33);
    running.machine.pend_interrupt(0, Cycles(150));
    running.run(300);
    assert_eq!(running.cycle("list"), 150);
    assert_eq!(running.cycle("behind"), 154);
}
