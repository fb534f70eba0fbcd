//! Loops, calls and jumps, which are executed many at a time: as if one by one.

use std::ops::{ControlFlow, Range};

use rtmark_sim::{CoreKind, Cycles, Machine, MemoryTiming, Observer, Register};

use crate::support::{self, BX_LR, FOREVER, NOP, Random};

/// How slow flash is: not at all, with few or many kept lines, with a read buffer, without even
/// that, with a cache.
fn timings() -> [MemoryTiming; 7] {
    let slow = MemoryTiming { wait_states: 3, line_bytes: 8, ..MemoryTiming::default() };
    [
        MemoryTiming::default(),
        MemoryTiming { prefetch: true, instruction_lines: 2, ..slow },
        MemoryTiming { prefetch: true, instruction_lines: 4, data_lines: 1, ..slow },
        MemoryTiming { prefetch: true, instruction_lines: 64, line_bytes: 16, ..slow },
        slow,
        MemoryTiming { line_buffer: false, line_bytes: 4, ..slow },
        MemoryTiming { cache_lines: 8, cache_ways: 2, ..slow },
    ]
}

/// A program in the making: halfwords from an address on.
struct Code {
    random: Random,
    core: CoreKind,
    halves: Vec<u16>,
    /// Where its functions begin.
    functions: Vec<i32>,
}

/// How often the loops of a program go round, at most.
#[derive(Clone, Copy)]
struct Rounds {
    outer: u16,
    inner: u16,
}

/// So that little is known of the code yet, and so that its commonest ways are.
const FEW: Rounds = Rounds { outer: 5, inner: 40 };
const MANY: Rounds = Rounds { outer: 255, inner: 60 };

impl Code {
    fn at(&self) -> i32 {
        self.halves.len() as i32
    }

    /// Up to six instructions that go nowhere, on R0 to R3, a word in RAM at R6 and one in flash
    /// at R7.
    fn body(&mut self) {
        for _ in 0..self.random.below(7) {
            let (d, n) = (self.random.half(4), self.random.half(4));
            let halves: &[u16] = match self.random.below(16) {
                0 => &[0x3001 | d << 8],                                   // ADDS Rd, #1
                1 => &[0x0080 | n << 3 | d],                               // LSLS Rd, Rn, #2
                2 => &[0x4040 | n << 3 | d],                               // EORS Rd, Rn
                3 => &[0x6830 | d],                                        // LDR Rd, [R6]
                4 => &[0x6030 | d],                                        // STR Rd, [R6]
                5 => &[0x4340 | n << 3 | d],                               // MULS Rd, Rn
                6 => &[0xF3EF, 0x8000 | d << 8],                           // MRS Rd, APSR
                7 if self.core.is_mainline() => &[0xF100 | n, d << 8 | 1], // ADD.W Rd, Rn, #1
                8 if self.core.is_mainline() => &[0xFBB0 | n, 0xF0F0 | d << 8 | d], // UDIV
                9 if self.core.is_mainline() => &[0xBF08, 0x1C40 | n << 3 | d], // IT EQ; ADDEQ
                10 => &[0x4800 | d << 8 | n],                              // LDR Rd, [PC, #4n]
                11 => &[0x6838 | n << 6 | d],                              // LDR Rd, [R7, #4n]
                // ITE; ADD; EOR, and ITT; MUL; LDR [R6], on any condition
                12 if self.core.is_mainline() => {
                    let condition = self.random.half(14) << 4;
                    &[
                        0xBF04 | condition | (!condition >> 1 & 8),
                        0x3001 | d << 8,
                        0x4040 | n << 3 | d,
                    ]
                }
                13 if self.core.is_mainline() => {
                    let condition = self.random.half(14) << 4;
                    &[0xBF04 | condition | (condition >> 1 & 8), 0x4340 | n << 3 | d, 0x6830 | d]
                }
                // IT; MLA
                14 if self.core.is_mainline() => {
                    let condition = self.random.half(14) << 4;
                    &[0xBF08 | condition, 0xFB00 | n, 0x1000 | d << 8 | d]
                }
                _ => &[NOP],
            };
            self.halves.extend(halves);
        }
        // CMP R0, R1 and any condition, over one instruction, or B over it.
        match self.random.below(3) {
            0 => self.halves.extend([0x4288, 0xD000 | self.random.half(14) << 8, 0x3201]),
            1 => self.halves.extend([0xE000, 0x3201]),
            _ => {}
        }
    }

    /// BL to a place of the program.
    fn call(&mut self, target: i32) {
        let offset = ((target - self.at() - 2) * 2) as u32;
        let (high, low) = ((offset >> 12 & 0x3FF) as u16, (offset >> 1 & 0x7FF) as u16);
        // So near that all bits above are the sign.
        let sign = (offset >> 31) as u16;
        self.halves.extend([0xF000 | sign << 10 | high, 0xF800 | low]);
    }

    /// SUBS of a counter and a jump back to a place while it is not zero.
    fn again(&mut self, counter: u16, to: i32) {
        self.halves.push(0x3801 | counter << 8);
        let back = (to - self.at() - 2) as u16;
        if self.random.below(3) == 0 {
            // BEQ over a B back.
            self.halves.extend([0xD000, 0xE000 | (back - 1) & 0x7FF]);
        } else {
            self.halves.push(0xD100 | back & 0xFF);
        }
    }

    /// A function that calls none, and one that may call it.
    fn functions(&mut self) {
        self.functions.push(self.at());
        self.body();
        self.halves.push(BX_LR);
        self.functions.push(self.at());
        self.halves.push(0xB500); // PUSH {LR}
        self.body();
        self.maybe_call();
        self.body();
        self.halves.push(0xBD00); // POP {PC}
    }

    fn maybe_call(&mut self) {
        let chosen = self.random.below(2 * self.functions.len() as u32) as usize;
        if let Some(&target) = self.functions.get(chosen) {
            self.call(target);
        }
    }

    /// Functions and, behind them, loops that may call them; answers where those begin.
    fn program(&mut self, rounds: Rounds) -> u32 {
        self.functions();
        // So that pages end in other places.
        self.halves.extend(vec![NOP; self.random.below(80) as usize]);
        let start = self.at();
        let outer_count = 1 + self.random.half(rounds.outer);
        self.halves.push(0x2400 | outer_count);
        let outer = self.at();
        self.body();
        let inner_count = 1 + self.random.half(rounds.inner);
        self.halves.push(0x2500 | inner_count);
        let inner = self.at();
        self.body();
        for _ in 0..=self.random.below(7) {
            self.maybe_call();
            self.body();
        }
        self.again(5, inner);
        self.body();
        self.again(4, outer);
        self.halves.push(FOREVER);
        start as u32 * 2
    }
}

/// A machine before such a program, with interrupts to come.
fn machine(core: CoreKind, timing: MemoryTiming, seed: u64, rounds: Rounds) -> Machine {
    let mut soc = support::soc(core);
    soc.memories[0].timing = timing;
    let mut code = Code { random: Random(seed), core, halves: Vec::new(), functions: Vec::new() };
    let base = 0x200 + 2 * code.random.below(64);
    let start = base + code.program(rounds);
    let mut machine = Machine::new(&soc);
    let bytes: Vec<u8> = code.halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(base, &bytes).expect("flash");
    machine.poke(0, &support::STACK.to_le_bytes()).expect("flash");
    // ADDS R0, #1; BX LR
    machine.poke(0x180, &[1, 0x30, 0x70, 0x47]).expect("flash");
    for exception in 1..64 {
        machine.poke(4 * exception, &0x181u32.to_le_bytes()).expect("flash");
    }
    machine.reset().expect("vectors");
    machine.set_register(Register::R(6), support::RAM + 0x100);
    machine.set_register(Register::R(7), 0x180 + 4 * code.random.below(80));
    machine.set_register(Register::Pc, start);
    machine.store_word(support::NVIC_ISER, 0xFF).expect("NVIC");
    for interrupt in 0..8 {
        let at = code.random.below(100 * u32::from(rounds.outer));
        machine.pend_interrupt(interrupt, Cycles(at.into()));
    }
    machine
}

struct Watcher;

impl Observer for Watcher {
    fn before(&mut self, _: &Machine) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn state(machine: &Machine) -> (u64, u64, u64, Vec<u32>, Vec<u8>) {
    let registers = (0..15).map(Register::R).chain([Register::Pc, Register::Xpsr]);
    (
        machine.cycles().0,
        machine.instructions().0,
        machine.waited().0,
        registers.map(|register| machine.register(register)).collect(),
        machine.peek(support::RAM, 0x4000),
    )
}

/// Runs such programs, many instructions at a time and one by one, in pieces of up to `most`
/// cycles; answers how many instructions that were.
fn compare(seeds: Range<u64>, rounds: Rounds, most: u32) -> u64 {
    let mut executed = 0;
    for &core in CoreKind::ALL {
        for timing in timings() {
            for seed in seeds.clone() {
                let mut one = machine(core, timing, seed, rounds);
                let mut other = one.clone();
                let mut random = Random(seed * 11);
                let mut limit = Cycles(0);
                for _ in 0..24 {
                    limit.0 += 1 + u64::from(random.below(most));
                    let stop = one.run(limit);
                    assert_eq!(stop, other.run_observed(limit, &mut Watcher));
                    let (one, other) = (state(&one), state(&other));
                    assert!(one == other, "{core} {timing:?} seed {seed} at {limit:?}");
                }
                executed += one.instructions().0;
            }
        }
    }
    executed
}

#[test]
fn loops_are_their_instructions_one_by_one() {
    let executed = compare(1..60, FEW, 200);
    assert!(executed > 1_000_000, "too few instructions to tell: {executed}");
}

#[test]
fn loops_are_so_when_they_have_gone_round_often() {
    let executed = compare(1..40, MANY, 4000);
    assert!(executed > 8_000_000, "too few instructions to tell: {executed}");
}
