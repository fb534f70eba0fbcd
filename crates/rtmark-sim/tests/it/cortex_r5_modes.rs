//! Random programs for a Cortex-R5, run in every way in which a machine runs: to the end at once,
//! instruction by instruction, observed, in pieces by copies. Each time it comes to the same.

use rtmark_sim::{Cycles, Machine, Register, Soc, Stop, Watch};

use crate::support::landmarks::{NullObserver, assert_same_events, borders};
use crate::support::{Random, small};

/// Where programs begin: in DDR, and in tightly coupled memory, which can be written.
const DDR: u32 = 0x0010_0000;
const COUPLED: u32 = 0x1000;
/// Data in both.
const FAR: u32 = 0x0020_0000;
const NEAR: u32 = 0x0002_0000;
const STACK: u32 = 0x0002_8000;
/// Rounds of the loop that a program is.
const ROUNDS: u32 = 60;
const UNTIL: Cycles = Cycles(4_000_000);
/// SCTLR: both caches.
const CACHES: u32 = 1 << 12 | 1 << 2;

/// The first of a timer.
const INTERRUPT: u16 = 36;
/// Another one, more urgent, that comes as FIQ.
const FAST: u16 = 40;
/// Acknowledges it in registers of FIQ's own: movw and movt r9, #0xF9001000; ldr r8, [r9, #12];
/// str r8, [r9, #16]; subs pc, lr, #4
const FAST_HANDLER: [u32; 5] = [0xE301_9000, 0xE34F_9900, 0xE599_800C, 0xE589_8010, 0xE25E_F004];
/// cpsie i, f, and if; cpsid i and f.
const MASKS: [u32; 5] = [0xF108_0080, 0xF108_0040, 0xF108_00C0, 0xF10C_0080, 0xF10C_0040];
/// Where the handler of the others is: behind the vectors.
const HANDLER_AT: u32 = 0x40;
/// Acknowledges an interrupt: mov sp, #0x3000; push {r0, r1}; movw and movt r1, #0xF9001000;
/// ldr r0, [r1, #12]; str r0, [r1, #16]; pop {r0, r1}; subs pc, lr, #4
const HANDLER: [u32; 8] = [
    0xE3A0_DA03,
    0xE92D_0003,
    0xE301_1000,
    0xE34F_1900,
    0xE591_000C,
    0xE581_0010,
    0xE8BD_0003,
    0xE25E_F004,
];

/// Words of A32 under construction.
struct Program {
    random: Random,
    words: Vec<u32>,
    begin: u32,
}

impl Program {
    fn below(&mut self, end: u32) -> u32 {
        self.random.below(end)
    }

    /// A register that programs calculate with: not r0 and r1, where data are, r2, which counts, or
    /// what comes behind r10.
    fn register(&mut self) -> u32 {
        3 + self.below(8)
    }

    /// A condition: mostly always.
    fn condition(&mut self) -> u32 {
        if self.below(4) == 0 { self.below(14) << 28 } else { 0xE << 28 }
    }

    fn data(&mut self) -> u32 {
        let (alu, sets) = (self.below(16), self.below(2));
        let sets = if alu & 0xC == 8 { 1 } else { sets };
        let (n, d, m) = (self.register(), self.register(), self.register());
        let second = match self.below(3) {
            0 => 1 << 25 | self.below(0x1000),
            1 => self.below(128) << 5 | m,
            _ => self.register() << 8 | self.below(4) << 5 | 1 << 4 | m,
        };
        alu << 21 | sets << 20 | n << 16 | d << 12 | second
    }

    fn multiply(&mut self) -> u32 {
        let (d, a, m, n) = (self.register(), self.register(), self.register(), self.register());
        match self.below(4) {
            0 => 0x0000_0090 | d << 16 | m << 8 | n,
            1 => 0x0020_0090 | d << 16 | a << 12 | m << 8 | n,
            2 => 0x0730_F010 | d << 16 | m << 8 | n,
            _ => 0x0710_F010 | d << 16 | m << 8 | n,
        }
    }

    /// A load or store of one register, of which the index may be any.
    fn transfer(&mut self) -> u32 {
        let (base, d) = (self.below(2), self.register());
        let load = self.below(2) << 20;
        match self.below(4) {
            // Words and bytes near the base, from lines that share places in the cache.
            0 => {
                0x0580_0000 | load | self.below(2) << 22 | base << 16 | d << 12 | self.below(0x1000)
            }
            1 => {
                let narrow =
                    if load == 0 { 0xB0 } else { [0xB0, 0xD0, 0xF0][self.below(3) as usize] };
                let (high, low) = (self.below(16), self.below(16));
                0x01C0_0000 | load | base << 16 | d << 12 | high << 8 | narrow | low
            }
            2 => 0x058D_0000 | load | d << 12 | self.below(64) << 2,
            // ldr d, [base, r11, lsl #n]
            _ => 0x0780_0000 | load | base << 16 | d << 12 | self.below(3) << 7 | 0xB,
        }
    }

    fn list(&mut self) -> u32 {
        let list = self.below(0x100) << 3 | 1 << 3;
        let (order, load) = (self.below(4) << 23, self.below(2) << 20);
        0x0800_0000 | order | load | [0, 1, 13][self.below(3) as usize] << 16 | list
    }

    /// Bytes of a branch from here to the word of a number.
    fn branch_to(&self, word: usize) -> u32 {
        (word as u32).wrapping_sub(self.words.len() as u32 + 2) & 0x00FF_FFFF
    }

    fn instruction(&mut self) -> u32 {
        match self.below(12) {
            0..5 => self.data(),
            5 => self.multiply(),
            6..9 => self.transfer(),
            9 => self.list(),
            10 => 0x06EF_0070 | self.register() << 12 | self.register(), // uxtb
            // mov r11, #imm
            _ => 0x03A0_B000 | self.below(0x100),
        }
    }

    /// A loop of random instructions, of branches over some of them, of calls, of a word of its own
    /// that is written.
    fn new(seed: u64, begin: u32, length: usize) -> Self {
        let mut new = Self { random: Random::new(seed), words: Vec::new(), begin };
        // Three leaves: an operation, and a return.
        let mut leaves = Vec::new();
        for _ in 0..3 {
            leaves.push(new.words.len());
            let work = new.data() | 0xE << 28;
            new.words.extend([work, 0xE12F_FF1E]);
        }
        // A leaf that saves and restores: push {r4, lr}; pop {r4, pc}
        leaves.push(new.words.len());
        new.words.extend([0xE92D_4010, 0xE8BD_8010]);
        let start = new.words.len();
        for _ in 0..length {
            let kind = new.below(16);
            let condition = new.condition();
            match kind {
                0 => {
                    let over = new.below(4);
                    new.words.push(0x0A00_0000 | condition | over);
                }
                1 => {
                    let leaf = leaves[new.below(4) as usize];
                    let to = new.branch_to(leaf);
                    new.words.push(0x0B00_0000 | condition | to);
                }
                2 => {
                    let which = new.below(MASKS.len() as u32);
                    new.words.push(MASKS[which as usize]);
                }
                _ => {
                    let word = new.instruction();
                    new.words.push(condition | word);
                }
            }
        }
        // Where a branch over some may lead: nops. Then: subs r2, r2, #1; bne start; b .
        new.words.extend([0xE320_F000; 5]);
        new.words.push(0xE252_2001);
        let again = new.branch_to(start);
        new.words.extend([0x1A00_0000 | again, 0xEAFF_FFFE]);
        if begin == COUPLED {
            new.rewrite(start);
        }
        new.begin += 4 * start as u32;
        new
    }

    /// Has the loop begin by writing its last nop: another one each time, mov r10, r2.
    fn rewrite(&mut self, start: usize) {
        let end = self.words.len();
        // str r12, [pc, #distance]
        let nop = end - 4;
        let distance = 4 * (nop - start - 2) as u32;
        self.words[start] = 0xE58F_C000 | distance;
        // eor r12, r12, #2: mov r10, r2 and mov r10, r0 in turn.
        self.words[start + 1] = 0xE22C_C002;
    }

    fn end(&self) -> u32 {
        let at = if self.begin >= DDR { DDR } else { COUPLED };
        at + 4 * (self.words.len() as u32 - 1)
    }

    fn machine(&self) -> Machine {
        let text = include_str!("../../../../socs/zynqmp-r5.toml");
        let mut machine = Machine::new(&small(&Soc::from_toml(text).expect("a soc")));
        let at = if self.begin >= DDR { DDR } else { COUPLED };
        let bytes =
            |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
        // mrc SCTLR; orr r0, r0, r1; bic r0, r0, #0x2000, for low vectors; mcr SCTLR; b .
        let prelude = [0xEE11_0F10, 0xE180_0001, 0xE3C0_0A02, 0xEE01_0F10, 0xEAFF_FFFE];
        machine.poke(0, &bytes(&prelude)).expect("memory");
        // The vector of IRQ: b HANDLER_AT
        machine.poke(0x18, &bytes(&[0xEA00_0000 | ((HANDLER_AT - 0x20) / 4)])).expect("memory");
        machine.poke(0x1C, &bytes(&FAST_HANDLER)).expect("memory");
        machine.poke(HANDLER_AT, &bytes(&HANDLER)).expect("memory");
        machine.poke(at, &bytes(&self.words)).expect("memory");
        machine.set_register(Register::R(1), CACHES);
        machine.set_register(Register::Pc, 0);
        machine.run(Cycles(500));
        let mut random = Random::new(self.words.len() as u64);
        for register in 3..12 {
            machine.set_register(Register::R(register), random.word() & 0x3FFF);
        }
        machine.set_register(Register::R(0), NEAR + 0x1000);
        machine.set_register(Register::R(1), FAR + 0x2000);
        machine.set_register(Register::R(2), ROUNDS);
        machine.set_register(Register::R(11), 8);
        machine.set_register(Register::R(12), 0xE1A0_A000);
        machine.set_register(Register::R(13), STACK);
        machine.set_register(Register::Pc, self.begin);
        machine.stop_before(self.end());
        assert!(machine.arm_interrupt(INTERRUPT, 0x80) && machine.arm_interrupt(FAST, 0x20));
        // Distributor; interface, with FIQ for group 0; mask; all but number 72 are of group 1.
        for (address, value) in
            [(0xF900_0000, 3), (0xF900_1000, 0x1F), (0xF900_1004, 0xFF), (0xF900_0088, !(1 << 8))]
        {
            machine.store_word(address, value).expect("a register");
        }
        for at in 0..200 {
            machine.pend_interrupt(INTERRUPT, Cycles(2_000 + at * 701));
            machine.pend_interrupt(FAST, Cycles(2_011 + at * 709));
        }
        machine
    }
}

/// How a run has ended, with the machine.
#[derive(Debug, PartialEq)]
struct End {
    stop: Stop,
    cycles: Cycles,
    instructions: u64,
    exceptions: u64,
    registers: Vec<u32>,
    memory: Vec<Vec<u8>>,
}

fn end(machine: &Machine, stop: Stop) -> End {
    let mut registers: Vec<_> =
        (0..15).map(|register| machine.register(Register::R(register))).collect();
    registers.extend([Register::Pc, Register::Xpsr].map(|it| machine.register(it)));
    let memory = [(COUPLED, 0x4000), (NEAR, 0xC000), (FAR, 0x8000)];
    let memory = memory.map(|(at, bytes)| machine.peek(at, bytes));
    End {
        stop,
        cycles: machine.cycles(),
        instructions: machine.instructions().0,
        exceptions: machine.exceptions_taken(),
        registers,
        memory: memory.to_vec(),
    }
}

fn in_steps(mut machine: Machine, last: u32) -> End {
    loop {
        if machine.register(Register::Pc) == last {
            return end(&machine, Stop::Breakpoint(last));
        }
        if let Err(stop) = machine.step(UNTIL) {
            return end(&machine, stop);
        }
    }
}

fn observed(mut machine: Machine) -> End {
    let stop = machine.run_observed(UNTIL, &mut NullObserver);
    end(&machine, stop)
}

/// In pieces of so many cycles, by copies, which remember nothing, or by one machine.
fn in_pieces(mut machine: Machine, cycles: u64, copies: bool) -> End {
    loop {
        let to = Cycles((machine.cycles().0 + cycles).min(UNTIL.0));
        match machine.run(to) {
            Stop::Limit if machine.cycles() < UNTIL => {}
            stop => return end(&machine, stop),
        }
        if copies {
            machine = machine.clone();
        }
    }
}

fn agrees(program: &Program, seed: u64) -> (u64, u64) {
    let machine = program.machine();
    let mut whole = machine.clone();
    let stop = whole.run(UNTIL);
    let whole = end(&whole, stop);
    assert_eq!(in_steps(machine.clone(), program.end()), whole, "steps, {seed}");
    assert_eq!(observed(machine.clone()), whole, "observed, {seed}");
    let borders = borders(&mut Random::new(seed), &[0, DDR, COUPLED]);
    let executed = assert_same_events(&machine, &borders, UNTIL, &format!("landmarks, {seed}"));
    assert!(executed.alone < executed.every, "{seed}");
    assert_eq!(in_pieces(machine.clone(), 97, false), whole, "pieces, {seed}");
    assert_eq!(in_pieces(machine.clone(), 1_013, true), whole, "copies, {seed}");
    let mut watched = machine;
    watched.watch(Watch::Execute(program.begin + 16));
    let stop = watched.run(UNTIL);
    assert_eq!(end(&watched, stop), whole, "watched, {seed}");
    (whole.instructions, whole.exceptions)
}

#[test]
fn random_programs_are_equal_in_every_mode() {
    let (mut executed, mut taken) = (0, 0);
    for seed in 0..40 {
        let begin = if seed % 2 == 0 { DDR } else { COUPLED };
        // Some are longer than the instruction cache.
        let length = if seed % 10 == 8 { 12_000 } else { 60 + 20 * (seed as usize % 7) };
        let (instructions, exceptions) = agrees(&Program::new(seed, begin, length), seed);
        (executed, taken) = (executed + instructions, taken + exceptions);
    }
    assert!(executed > 400_000 && taken > 1_000, "{executed}, {taken}");
}

/// A program of T32 with IT blocks, calls in both directions, and a list: the same.
#[test]
fn it_blocks_are_equal_in_every_mode() {
    let halves: &[u16] = &[
        0x1C5B, // start: adds r3, r3, #1
        0xF013, 0x0F03, // tst r3, #3
        0xBF0C, // ite eq
        0x1964, // addeq r4, r4, r5
        0x3D01, // subne r5, #1
        0xBF1C, // itt ne
        0x6806, // ldrne r6, [r0]
        0x6046, // strne r6, [r0, #4]
        0xF8D1, 0x700F, // ldr.w r7, [r1, #15]
        0xB10F, // cbz r7: over two
        0xB4F0, // push {r4-r7}
        0xBCF0, // pop {r4-r7}
        0xF000, 0xF806, // bl leaf
        0xFBB4, 0xF8F3, // udiv r8, r4, r3
        0x3A01, // subs r2, #1
        0xD1EB, // bne start
        0xE7FE, // b .
        0xBF00, // nop
        0xBF00, // leaf: nop
        0x4770, // bx lr
    ];
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let program = Program { random: Random::new(0), words: vec![0xEAFF_FFFE; 64], begin: DDR };
    let mut machine = program.machine();
    machine.poke(DDR + 0x8000, &bytes).expect("memory");
    machine.set_register(Register::R(2), 3_000);
    machine.set_register(Register::Pc, DDR + 0x8000);
    let thumb = machine.register(Register::Xpsr) | 1 << 5;
    machine.set_register(Register::Xpsr, thumb);
    let until = Cycles(60_000);
    let mut whole = machine.clone();
    whole.run(until);
    let mut pieces = machine.clone();
    while pieces.cycles() < until {
        pieces.step(Cycles(u64::MAX)).expect("an instruction");
    }
    assert_eq!(end(&pieces, Stop::Limit), end(&whole, Stop::Limit));
    assert!(whole.instructions().0 > 20_000);
}
