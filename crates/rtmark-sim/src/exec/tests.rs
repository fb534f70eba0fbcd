//! Tests of the engine's assumptions about instructions against what the instructions do.

use super::{Flow, Operation, Outcome, Paths, PerOperation, Standalone, operations};
use crate::arch::armm::registers::Cpu;
use crate::isa::{Op, Slot, decode, is_wide};
use crate::soc::{CoreKind, Soc};
use crate::state::{CoreState, State};
use crate::timing::pipeline::DisabledRules;

/// N, Z, C and V in APSR.
const FLAGS: u32 = 0xF000_0000;
pub const RAM: u32 = 0x2000_0000;

/// Returns a machine with 4 KiB of flash and as much RAM.
pub fn state(core: CoreKind) -> State {
    let priority_bits = if core.is_mainline() { 3 } else { 2 };
    let text = format!(
        r#"
        name = "any"
        description = "flash and RAM"
        core = "{core}"
        clock_hz = 1_000_000
        interrupts = 8
        priority_bits = {priority_bits}

        [[memory]]
        name = "FLASH"
        kind = "flash"
        base = 0
        size = 0x1000

        [[memory]]
        name = "RAM"
        kind = "ram"
        base = {RAM}
        size = 0x1000
        "#
    );
    let mut state =
        State::new(&Soc::from_toml(&text).expect("a valid soc"), DisabledRules::default());
    state.poke(0, &[0, 0x08, 0, 0x20, 1, 1, 0, 0]).expect("flash");
    state.reset().expect("vectors");
    if core.has_fpu() {
        state.write_aligned_word(0xE000_ED88, 0x00F0_0000).expect("CPACR");
    }
    state
}

/// Marsaglia's xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }
}

/// Returns random registers and flags; some registers point into RAM.
pub fn registers(random: &mut Random) -> Cpu {
    let mut cpu = Cpu { pc: 0x100, ..Cpu::new() };
    for at in 0..15 {
        let word = random.word();
        cpu.r[at] = if word & 3 == 0 { random.word() } else { RAM + (word >> 16 & 0x7FC) };
    }
    cpu.r[13] = RAM + 0x800;
    cpu.set_flags(random.word());
    cpu.fpscr = random.word() & 0xF000_0000;
    cpu.s.fill_with(|| random.word());
    cpu
}

/// Executes a single instruction; returns the registers before it, and how it ended.
fn executed(state: &mut State, slot: &Slot, random: &mut Random) -> (Cpu, Outcome) {
    state.cpu = registers(random);
    state.sleeping = None;
    state.exclusive = random.word() & 1 == 0;
    let before = state.cpu.clone();
    let outcome = state.execute_alone(slot);
    (before, outcome)
}

/// Returns a random second halfword. Values that select other instructions are favoured: 15 in the upper
/// four bits, and the FPU as the coprocessor.
fn second(first: u16, random: &mut Random) -> u16 {
    let second = random.word() as u16;
    let second = if random.word() & 3 == 0 { second | 0xF000 } else { second };
    let is_coprocessor = first >> 13 == 0b111 && first >> 10 & 3 == 0b11;
    if is_coprocessor { second & 0xF0FF | 0x0A00 } else { second }
}

/// Calls `see` with every 16-bit encoding, and with some second halfwords for each first halfword of a
/// 32-bit encoding.
pub fn slots(state: &State, random: &mut Random, mut see: impl FnMut(Slot, &mut Random)) {
    let features = state.features;
    for first in 0..=u16::MAX {
        for _ in 0..if is_wide(first) { 96 } else { 1 } {
            let second = second(first, random);
            let slot = decode(0x100, first, second, |isa| isa.is_part_of(features));
            if slot.op != Op::Undefined {
                see(slot, random);
            }
        }
    }
}

const CORES: [CoreKind; 4] =
    [CoreKind::CortexM0Plus, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33];

/// The table of operations that change N, Z, C or V lists exactly those that do.
#[test]
fn the_table_of_flag_writers_is_exact() {
    for core in CORES {
        let mut state = state(core);
        let mut random = Random(7);
        let (mut stated, mut seen) = (Vec::new(), Vec::new());
        slots(&state.clone(), &mut random, |slot, random| {
            for _ in 0..4 {
                let (before, outcome) = executed(&mut state, &slot, random);
                // An instruction that jumps or traps always ends the sequence before it.
                if !matches!(outcome, Ok(Flow::Next)) {
                    continue;
                }
                let changed = (before.apsr() ^ state.cpu.apsr()) & FLAGS != 0;
                assert!(!changed || slot.writes_flags(), "{core}: {slot:?} changes flags");
                for (list, is_in) in [(&mut stated, slot.writes_flags()), (&mut seen, changed)] {
                    if is_in && !list.contains(&slot.op) {
                        list.push(slot.op);
                    }
                }
            }
        });
        stated.sort_unstable();
        seen.sort_unstable();
        assert_eq!(stated, seen, "{core}: stated, and seen to change flags");
    }
}

/// Operations that count as "only calculating", which an if-converted IT block executes without further
/// checks, change nothing but registers.
#[test]
fn pure_calculations_change_only_registers() {
    for core in CORES {
        let mut state = state(core);
        let mut random = Random(11);
        slots(&state.clone(), &mut random, |slot, random| {
            if !slot.op.only_calculates() {
                return;
            }
            let (cycles, pipe, deadline) = (state.cycles, state.pipe, state.deadline);
            let (before, outcome) = executed(&mut state, &slot, random);
            assert_eq!(outcome, Ok(Flow::Next), "{core}: {slot:?}");
            let after = &state.cpu;
            let flags = Cpu { r: after.r, nz: after.nz, c: after.c, v: after.v, ..before };
            assert_eq!(*after, Cpu { q: after.q, ..flags }, "{core}: {slot:?}");
            let now = (state.cycles, state.pipe, state.deadline);
            assert_eq!(now, (cycles, pipe, deadline), "{core}: {slot:?}");
        });
    }
}

/// They never need the slow path.
#[test]
fn pure_calculations_complete_on_the_fast_path() {
    struct PathsOf;
    impl PerOperation for PathsOf {
        type Item = Paths;

        fn of<O: Operation>(self) -> Paths {
            O::PATHS
        }
    }
    for &op in Op::ALL.iter().filter(|op| op.only_calculates()) {
        assert!(!operations::pick(op, PathsOf).has_slow(), "{op:?}");
    }
}
