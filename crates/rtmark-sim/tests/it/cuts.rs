//! A limit ends a run and changes nothing: wherever a run is cut, it goes on as if it had not been,
//! and where it stands is where an observed one does.
//!
//! [`crate::modes`] cuts long runs at moments by chance; here short ones are cut at every cycle,
//! while interrupts come at any point of what instructions and exceptions do.

use rtmark_sim::{CoreKind, Cycles, Machine, Observer, Register, Stop};

use crate::support::programs::{self, Contents, FEW, timings};
use crate::support::*;

/// Cycles in which a run is cut, and up to which it goes on.
const CUTS: u64 = 2_000;
const END: u64 = 3_000;
/// So many cuts begin with one copy. What a cut may have changed is looked for so much later.
const WINDOW: u64 = 100;
const LATER: u64 = 200;
const SEEDS: u64 = 2;

struct Nobody;

impl Observer for Nobody {}

/// What a run has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    stop: Stop,
    cycles: Cycles,
    /// Instructions, those that gave way, and exceptions.
    counts: [u64; 3],
    /// R0 to R14, the program counter, the status and the process stack's pointer.
    registers: [u32; 18],
    ram: Vec<u8>,
}

impl State {
    fn of(machine: &Machine, stop: Stop) -> Self {
        let special = [Register::Pc, Register::Xpsr, Register::Psp];
        let names = (0..15).map(Register::R).chain(special);
        let mut registers = [0; 18];
        for (value, register) in registers.iter_mut().zip(names) {
            *value = machine.register(register);
        }
        Self {
            stop,
            cycles: machine.cycles(),
            counts: [machine.instructions().0, machine.gave_way().0, machine.exceptions_taken()],
            registers,
            ram: machine.peek(RAM, 0x4000),
        }
    }

    /// What becomes of a run to a cycle.
    fn after(machine: &mut Machine, until: u64) -> Self {
        let stop = machine.run(Cycles(until));
        Self::of(machine, stop)
    }

    #[track_caller]
    fn assert_is(&self, other: &Self, what: impl Fn() -> String) {
        if self == other {
            return;
        }
        let at = self.ram.iter().zip(&other.ram).position(|(one, other)| one != other);
        let at = at.map(|at| format!("RAM differs from {:#x} on", RAM + at as u32));
        let [one, other] = [self, other].map(|state| Self { ram: Vec::new(), ..state.clone() });
        panic!("{}:\n  {one:x?}\n  {other:x?}\n  {}", what(), at.unwrap_or_default());
    }
}

/// Runs a machine with each cut; answers how many exceptions were taken on the way.
fn cut_everywhere(machine: &Machine, what: &str) -> u64 {
    let whole = State::after(&mut machine.clone(), END);
    for from in (0..CUTS).step_by(WINDOW as usize) {
        let mut before = machine.clone();
        if before.run(Cycles(from)) != Stop::Limit {
            break;
        }
        State::after(&mut before.clone(), END).assert_is(&whole, || format!("{what}, {from}"));
        let until = from + WINDOW + LATER;
        let uncut = State::after(&mut before.clone(), until);
        let mut observed = before.clone();
        for cut in from + 1..=from + WINDOW {
            let mut machine = before.clone();
            let stop = observed.run_observed(Cycles(cut), &mut Nobody);
            let there = State::of(&observed, stop);
            State::after(&mut machine, cut).assert_is(&there, || format!("{what} at {cut}"));
            if there.stop != Stop::Limit {
                break;
            }
            let state = State::after(&mut machine, until);
            state.assert_is(&uncut, || format!("{what} from {from} to {until}, cut at {cut}"));
        }
    }
    whole.counts[2]
}

/// Programs by chance, of other seeds with each core.
fn cut_programs(core: CoreKind, first: u64) {
    let mut exceptions = 0;
    for (timing, seeds) in timings().into_iter().zip((first..).step_by(SEEDS as usize)) {
        for seed in seeds..seeds + SEEDS {
            let machine = programs::machine(core, timing, seed, FEW, Contents::Everything);
            exceptions += cut_everywhere(&machine, &format!("{core} {timing:?} seed {seed}"));
        }
    }
    assert!(exceptions > 200, "too few exceptions to tell: {exceptions}");
}

#[test]
fn a_cortex_m3_goes_on_wherever_it_is_cut() {
    cut_programs(CoreKind::CortexM3, 300);
}

#[test]
fn a_cortex_m4f_goes_on_wherever_it_is_cut() {
    cut_programs(CoreKind::CortexM4F, 320);
}

#[test]
fn a_cortex_m33_goes_on_wherever_it_is_cut() {
    cut_programs(CoreKind::CortexM33, 340);
}

#[test]
fn a_cortex_m0plus_goes_on_wherever_it_is_cut() {
    cut_programs(CoreKind::CortexM0Plus, 360);
}
