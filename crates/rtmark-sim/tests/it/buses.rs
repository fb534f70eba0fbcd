//! Which RAM the engine reaches by its quick way is its own affair: equal programs take equal
//! cycles whichever memory of a soc that is, whatever the instructions access.

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Observer, Register, Soc};

use crate::support::*;

/// RAM in the Code region, and another one on the System bus.
const CODE_RAM: u32 = 0x1000_0000;
const OTHER_RAM: u32 = 0x2010_0000;
const CODE: u32 = 0x200;
const FLASH_DATA: u32 = 0x3000;
/// Zeros in each RAM, as tables of branches.
const TABLES: u32 = 0x300;

/// Registers that point into each memory; flash is only read.
const BASES: [u16; 4] = [4, 5, 6, 7];

/// Socs that differ only in the order of their memories, so that each RAM comes first once.
fn socs(core: CoreKind, timing: MemoryTiming) -> Vec<Soc> {
    let mut first = soc(core);
    first.memories[0].timing = timing;
    for (name, base) in [("CODE_RAM", CODE_RAM), ("OTHER_RAM", OTHER_RAM)] {
        let mut memory = first.memories[1].clone();
        (memory.name, memory.base) = (name.to_owned(), base);
        first.memories.push(memory);
    }
    let turned = |by: usize| {
        let mut soc = first.clone();
        soc.memories[1..].rotate_left(by);
        soc
    };
    (0..3).map(turned).collect()
}

/// A program by chance, which begins anew for ever.
struct Program {
    random: Random,
    halves: Vec<u16>,
    /// Calls of the functions at its end, by where they stand.
    calls: Vec<usize>,
}

impl Program {
    fn halves(seed: u64) -> Vec<u16> {
        let mut program = Self { random: Random::new(seed), halves: Vec::new(), calls: Vec::new() };
        for _ in 0..120 {
            program.item();
        }
        program.back_to_start();
        program.end()
    }

    fn below(&mut self, bound: u32) -> u16 {
        self.random.below(bound) as u16
    }

    fn op(&mut self, halves: &[u16]) {
        self.halves.extend_from_slice(halves);
    }

    /// A register of the first four.
    fn low(&mut self) -> u16 {
        self.below(4)
    }

    /// A load or store of one register in 16 bits; flash is only loaded from.
    fn narrow(&mut self) -> u16 {
        let (base, register) = (BASES[usize::from(self.below(4))], self.low());
        let offset = self.below(8) << 6;
        let load = [0x6800, 0x7800, 0x8800][usize::from(self.below(3))];
        let to_memory = if base == 7 || self.below(2) == 0 { 0 } else { 0x800 };
        load ^ to_memory | offset | base << 3 | register
    }

    /// A load or store of one register in 32 bits: an offset that may not be aligned, or
    /// write-back forth and back again.
    fn wide(&mut self) {
        let (base, register) = (BASES[usize::from(self.below(3))], self.low());
        let load = self.below(2) << 4;
        if self.below(2) == 0 {
            let offset = self.below(9);
            self.op(&[0xF8C0 | load | base, register << 12 | offset]);
        } else {
            self.op(&[0xF840 | load | base, register << 12 | 0xB04]);
            self.op(&[0xF840 | load | base, register << 12 | 0xD04]);
        }
    }

    /// Several registers at once.
    fn several(&mut self) {
        let base = BASES[usize::from(self.below(3))];
        let load = self.below(2) << 4;
        match self.below(3) {
            0 => self.op(&[0xE880 | load | base, 0xF]),
            1 => self.op(&[0xE9C0 | load | base, 1 << 8]),
            _ => self.op(&[0xB40F, 0xBC0F]), // push and pop {r0-r3}
        }
    }

    /// Exclusive stores, most of which store nothing.
    fn exclusive(&mut self) {
        let base = BASES[usize::from(self.below(3))];
        if self.below(3) == 0 {
            self.op(&[0xE850 | base, 0x0F00]); // ldrex r0, [base]
        }
        self.op(&[0xE840 | base, 0x1300]); // strex r3, r1, [base]
    }

    /// Loads and stores of which some are passed over.
    fn conditional(&mut self) {
        let [one, other] = [self.narrow(), self.narrow()];
        self.op(&[0x4288]); // cmp r0, r1
        match self.below(3) {
            0 => self.op(&[0xBF08, one]),        // it eq
            1 => self.op(&[0xBF0C, one, other]), // ite eq
            _ => self.op(&[0xBF1C, one, other]), // itt ne
        }
    }

    fn item(&mut self) {
        match self.below(10) {
            0..3 => {
                let narrow = self.narrow();
                self.op(&[narrow]);
            }
            3 => self.wide(),
            4 => self.several(),
            5 => self.exclusive(),
            6 => self.conditional(),
            7 => {
                self.calls.push(self.halves.len());
                self.op(&[0, 0]);
            }
            8 => {
                // movs r3, #0; tbb [r9 or r10, r3]
                let table = 9 + self.below(2);
                self.op(&[0x2300, 0xE8D0 | table, 0xF003]);
            }
            _ => {
                let register = self.low();
                let plain = [0x3001 | register << 8, NOP, 0x4348, 0x4800 | register << 8];
                let plain = plain[usize::from(self.below(4))];
                self.op(&[plain]);
            }
        }
    }

    /// A branch with a link, or without one, as far as its field reaches.
    fn branch(from: usize, to: usize, second: u16) -> [u16; 2] {
        let halves = to as i32 - from as i32 - 2;
        let sign = (halves >> 23 & 1) as u16;
        let [first, next] = [halves >> 22 & 1, halves >> 21 & 1].map(|bit| bit as u16);
        let [j1, j2] = [first, next].map(|bit| bit ^ 1 ^ sign);
        let high = 0xF000 | sign << 10 | (halves >> 11 & 0x3FF) as u16;
        [high, second | j1 << 13 | j2 << 11 | (halves & 0x7FF) as u16]
    }

    fn back_to_start(&mut self) {
        let branch = Self::branch(self.halves.len(), 0, 0x9000);
        self.op(&branch);
    }

    /// Adds functions that return by the link register and by the stack, and aims the calls.
    fn end(mut self) -> Vec<u16> {
        let functions = [self.halves.len(), self.halves.len() + 2];
        self.op(&[0x3101, BX_LR, 0xB500, 0xBD00]); // adds r1, #1; bx lr; push {lr}; pop {pc}
        for call in std::mem::take(&mut self.calls) {
            let function = functions[usize::from(self.below(2))];
            let branch = Self::branch(call, function, 0xD000);
            self.halves[call..call + 2].copy_from_slice(&branch);
        }
        self.halves
    }
}

fn machine(soc: &Soc, halves: &[u16], stack: u32) -> Machine {
    let mut machine = Machine::new(soc);
    machine.poke_word(0, stack).expect("flash");
    machine.poke_word(4, CODE | 1).expect("flash");
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(CODE, &bytes).expect("flash");
    machine.reset().expect("vectors");
    let pointers = [RAM, CODE_RAM, OTHER_RAM].map(|ram| ram + 0x100);
    for (register, value) in (4..).zip(pointers.into_iter().chain([FLASH_DATA])) {
        machine.set_register(Register::R(register), value);
    }
    for (register, ram) in [(9, RAM), (10, CODE_RAM)] {
        machine.poke(ram + TABLES, &[0; 16]).expect("RAM");
        machine.set_register(Register::R(register), ram + TABLES);
    }
    machine
}

/// What a run has come to.
fn end(machine: &Machine) -> (Cycles, u64, Vec<u32>) {
    let registers = (0..16).map(|at| machine.register(Register::R(at))).collect();
    (machine.cycles(), machine.instructions().0, registers)
}

struct NullObserver;

impl Observer for NullObserver {}

#[test]
fn cycles_do_not_depend_on_which_ram_is_cached_by_the_engine() {
    let slow = MemoryTiming { wait_states: 2, line_bytes: 8, ..MemoryTiming::default() };
    let unbuffered = MemoryTiming { line_buffer: false, line_bytes: 4, ..slow };
    for core in [CoreKind::CortexM3, CoreKind::CortexM4] {
        for timing in [MemoryTiming::default(), slow, unbuffered] {
            for seed in 0..40 {
                let halves = Program::halves(seed);
                let stack = [STACK, CODE_RAM + 0x4000][seed as usize % 2];
                let mut ends = Vec::new();
                for soc in socs(core, timing) {
                    let mut plain = machine(&soc, &halves, stack);
                    let mut observed = plain.clone();
                    plain.run(Cycles(6_000));
                    plain.settle();
                    observed.run_observed(Cycles(6_000), &mut NullObserver);
                    observed.settle();
                    ends.extend([end(&plain), end(&observed)]);
                }
                assert!(ends[0].1 > 1_000, "it goes on: {:?}", ends[0]);
                let same = ends.iter().all(|end| *end == ends[0]);
                assert!(same, "{core} {timing:?} seed {seed}: {ends:#x?}");
            }
        }
    }
}
