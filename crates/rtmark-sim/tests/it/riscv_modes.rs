//! Random programs for a Hazard3 and an Ibex, run in every way in which a machine runs: to the end at
//! once, instruction by instruction, observed, in pieces, by copies. Each time it comes to the same.

use rtmark_sim::{Cycles, Hit, Machine, Register, Soc, Stop, Watch};

use crate::rv32::{
    BASE, CSRRS, CSRRW, CSRRWI, ECALL, FENCE_I, MEPC, MIE, MRET, MSTATUS, NOP, RAM, WFI, addi,
    atomic, branch, csr, i_type, muldiv, r_type,
};
use crate::support::landmarks::{NullObserver, assert_same_events, borders, landmarks};
use crate::support::{Random, small};

const HAZARD3: &str = include_str!("../../../../socs/generic-hazard3.toml");
const IBEX: &str = include_str!("../../../../socs/generic-ibex.toml");

/// Cycles of a run.
const UNTIL: u64 = 40_000;
/// Where the handler and programs are, behind the vectors.
const HANDLER: u32 = BASE + 0x100;
const CODE: u32 = BASE + 0x200;
/// Bytes of RAM that programs use.
const DATA: usize = 0x1000;

/// Registers with a purpose: 28 and 29 are the handler's.
const STACK: u32 = 2;
const POINTER: u32 = 4;
const FLASH: u32 = 5;
const COUNT: u32 = 6;
const COMPARE: u32 = 7;
const RAM_BASE: u32 = 8;
const TIME: u32 = 9;
const SCRATCH: u32 = 28;
const TRAPS: u32 = 29;
const WORD: u32 = 30;
const PLACE: u32 = 31;

const MCAUSE: u32 = 0x342;
const MCOUNTINHIBIT: u32 = 0x320;
const MEIEA: u32 = 0xBE0;

fn jal(d: u32, offset: i32) -> u32 {
    let o = offset as u32;
    (o >> 20 & 1) << 31
        | (o >> 1 & 0x3FF) << 21
        | (o >> 11 & 1) << 20
        | (o >> 12 & 0xFF) << 12
        | d << 7
        | 0x6F
}

fn jalr(d: u32, a: u32, imm: i32) -> u32 {
    i_type(imm, a, 0, d, 0x67)
}

fn store(funct: u32, b: u32, a: u32, imm: i32) -> u32 {
    r_type(imm as u32 >> 5 & 0x7F, b, a, funct, imm as u32 & 31, 0x23)
}

/// Where code is, and how long memories make the core wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    CodeInRam,
    Slow,
    SlowData,
    Cached,
}

const KINDS: [Kind; 5] = [Kind::Plain, Kind::CodeInRam, Kind::Slow, Kind::SlowData, Kind::Cached];

fn soc(text: &str, kind: Kind) -> Soc {
    let flash = "base = 0x8000_0000\nsize = 0x10_0000\n";
    let ram = "base = 0x8010_0000\nsize = 0x10_0000\n";
    let timed = |text: &str, base: &str, timing: &str| {
        text.replacen(base, &format!("{base}timing = {{ {timing} }}\n"), 1)
    };
    let text = match kind {
        Kind::Plain => text.to_owned(),
        Kind::CodeInRam => text.replacen("kind = \"flash\"", "kind = \"ram\"", 1),
        Kind::Slow => timed(&timed(text, flash, "wait_states = 2"), ram, "wait_states = 1"),
        Kind::SlowData => timed(text, ram, "wait_states = 3"),
        Kind::Cached => {
            timed(text, flash, "wait_states = 20, line_bytes = 8, cache_lines = 16, cache_ways = 2")
        }
    };
    small(&Soc::from_toml(&text).expect("a soc"))
}

/// Code under construction.
struct Program {
    random: Random,
    is_hazard3: bool,
    kind: Kind,
    halves: Vec<u16>,
}

impl Program {
    fn below(&mut self, end: u32) -> u32 {
        self.random.below(end)
    }

    /// a0 to a7.
    fn register(&mut self) -> u32 {
        10 + self.below(8)
    }

    fn here(&self) -> u32 {
        CODE + 2 * self.halves.len() as u32
    }

    fn word(&mut self, word: u32) {
        self.halves.extend([word as u16, (word >> 16) as u16]);
    }

    fn half(&mut self, half: u32) {
        self.halves.push(half as u16);
    }

    fn calculation(&mut self) -> u32 {
        let (d, a, b) = (self.register(), self.register(), self.register());
        let (funct, imm) = (self.below(8), self.below(0x1000));
        match self.below(8) {
            0..3 => {
                let high = if matches!(funct, 0 | 5) { self.below(2) << 5 } else { 0 };
                r_type(high, b, a, funct, d, 0x33)
            }
            3..6 => match funct {
                1 => r_type(0, imm & 31, a, 1, d, 0x13),
                5 => r_type((imm >> 5 & 1) << 5, imm & 31, a, 5, d, 0x13),
                _ => i_type(imm as i32, a, funct, d, 0x13),
            },
            6 => muldiv(funct, d, a, b),
            _ if self.is_hazard3 && funct > 1 => {
                let which = [(0x10, 2), (0x10, 6), (0x20, 7), (0x30, 5), (0x05, 6), (0x24, 5)];
                let (high, funct) = which[funct as usize - 2];
                r_type(high, b, a, funct, d, 0x33)
            }
            _ => imm << 20 | d << 7 | [0x37, 0x17][funct as usize & 1],
        }
    }

    fn access(&mut self) -> u32 {
        let funct = self.below(3);
        let aligned = self.is_hazard3 || self.below(8) > 0;
        let mask = if aligned { !((1 << funct) - 1) } else { !0 };
        let imm = (self.below(0x7C0) & mask) as i32;
        let (value, at) = (self.register(), self.below(16));
        match self.below(8) {
            0..4 => {
                let unsigned = if funct < 2 { self.below(2) << 2 } else { 0 };
                let base = if at == 0 { FLASH } else { RAM_BASE };
                i_type(imm, base, funct | unsigned, value, 0x03)
            }
            4..7 => store(funct, value, RAM_BASE, imm),
            _ => i_type(0, TIME, 2, value, 0x03),
        }
    }

    /// What is executed the long way.
    fn special(&mut self) {
        let (d, a) = (self.register(), self.register());
        match self.below(14) {
            0 => self.word(csr(CSRRS, [0xB00, 0xB02][a as usize & 1], d, 0)),
            1 => self.word(csr(7, MSTATUS, 0, 8)),
            2 | 3 => self.word(csr(6, MSTATUS, 0, 8)),
            4 => self.word(ECALL),
            5 => self.word(FENCE_I),
            6 => self.word(0x0FF0_000F),
            7 => self.word(csr(CSRRWI, MCOUNTINHIBIT, 0, [0, 4, 5, 0][d as usize & 3])),
            8 => self.word(csr(CSRRW, 0xB02, 0, a)),
            9 => self.word(WFI),
            // cm.push {ra, s0-s1}, -16; cm.pop {ra, s0-s1}, 16
            10 if self.is_hazard3 => [0xB862, 0xBA62].into_iter().for_each(|half| self.half(half)),
            11 if self.is_hazard3 => {
                let funct = self.below(2) << 2;
                self.word(atomic(funct, d, RAM_BASE, a));
            }
            12 if self.is_hazard3 => {
                self.word(atomic(2, d, RAM_BASE, 0));
                self.word(atomic(3, a, RAM_BASE, d));
            }
            _ => self.half(0x0001),
        }
    }

    /// A jump to one of the leaves, by a register or not.
    fn call(&mut self, leaves: &[u32]) {
        let leaf = leaves[self.below(leaves.len() as u32) as usize];
        let offset = leaf.wrapping_sub(self.here()) as i32;
        if self.below(2) == 0 {
            self.word(jal(1, offset));
        } else {
            // The leaf by what a register says, which is one of them.
            self.word(jalr(1, FLASH, (leaf - BASE) as i32));
        }
    }

    /// One of the leaves by a number that changes from pass to pass.
    fn dispatch(&mut self, first: u32) {
        self.word(i_type(7, COUNT, 7, POINTER, 0x13));
        self.word(r_type(0, 3, POINTER, 1, POINTER, 0x13));
        self.word(r_type(0, FLASH, POINTER, 0, POINTER, 0x33));
        self.word(jalr(1, POINTER, (first - BASE) as i32));
    }

    /// Leaves of 8 bytes each, then a loop of random instructions. Answers where the loop's prelude
    /// begins.
    fn make(&mut self, length: u32) -> u32 {
        let leaves: Vec<u32> = (0..8)
            .map(|_| {
                let at = self.here();
                let word = self.calculation();
                self.word(word);
                // c.jr ra
                self.half(0x8082);
                self.half(0x0001);
                at
            })
            .collect();
        let begin = self.here();
        let mut prelude = vec![
            addi(SCRATCH, 0, -1),
            csr(CSRRW, MIE, 0, SCRATCH),
            store(2, 0, COMPARE, 4),
            addi(SCRATCH, 0, 1500),
            store(2, SCRATCH, COMPARE, 0),
            csr(6, MSTATUS, 0, 8),
        ];
        if self.is_hazard3 {
            prelude.extend([0xFFFF_0000 | SCRATCH << 7 | 0x37, csr(CSRRS, MEIEA, 0, SCRATCH)]);
        }
        for word in prelude {
            self.word(word);
        }
        let again = self.here();
        let mut rewritten = None;
        for _ in 0..length {
            match self.below(20) {
                0..9 => {
                    let word = self.calculation();
                    self.word(word);
                }
                9..14 => {
                    let word = self.access();
                    self.word(word);
                }
                // c.addi, c.mv
                14 => {
                    let (d, imm) = (self.register(), self.below(32));
                    self.half(0x0001 | d << 7 | imm << 2);
                }
                15 => {
                    let (d, b) = (self.register(), self.register());
                    self.half(0x8002 | d << 7 | b << 2);
                }
                16 => {
                    let (a, b) = (self.register(), self.register());
                    let funct = [0, 1, 4, 5, 6, 7][self.below(6) as usize];
                    let over = self.below(3);
                    self.word(branch(funct, a, b, 4 + 4 * over as i32));
                    (0..over).for_each(|_| self.word(addi(10, 10, 3)));
                }
                17 => self.call(&leaves),
                18 if self.below(3) == 0 => self.dispatch(leaves[0]),
                18 if self.kind == Kind::CodeInRam && rewritten.is_none() => {
                    if self.here() & 2 != 0 {
                        self.half(0x0001);
                    }
                    rewritten = Some(self.here());
                    self.word(addi(10, 10, 1));
                }
                _ => self.special(),
            }
        }
        if let Some(at) = rewritten {
            // addi a0, a0, 1 and addi a0, a0, 3 in turn.
            self.word(i_type((at - BASE) as i32, FLASH, 2, WORD, 0x03));
            self.word(0x0020_0000 | POINTER << 7 | 0x37);
            self.word(r_type(0, POINTER, WORD, 4, WORD, 0x33));
            // Into data but for each eighth time, so that the store has been on the way there before.
            self.word(i_type(7, COUNT, 7, POINTER, 0x13));
            self.word(addi(PLACE, RAM_BASE, 0x7C0));
            self.word(branch(1, POINTER, 0, 8));
            self.word(addi(PLACE, FLASH, (at - BASE) as i32));
            self.word(store(2, WORD, PLACE, 0));
            if self.below(2) == 0 {
                self.word(FENCE_I);
            }
        }
        self.word(addi(COUNT, COUNT, 1));
        self.word(jal(0, again.wrapping_sub(self.here()) as i32));
        begin
    }
}

/// A machine with a random program, and interrupts at random cycles.
fn machine(text: &str, kind: Kind, seed: u64) -> Machine {
    let random = Random::new(seed);
    let is_hazard3 = text == HAZARD3;
    let mut program = Program { random, is_hazard3, kind, halves: Vec::new() };
    let length = 10 + program.below(90);
    let begin = program.make(length);
    assert!(program.here() < BASE + 0x7F0, "within reach of an immediate");
    let handler = [
        csr(CSRRS, MCAUSE, SCRATCH, 0),
        branch(4, SCRATCH, 0, 16),
        csr(CSRRS, MEPC, SCRATCH, 0),
        addi(SCRATCH, SCRATCH, 4),
        csr(CSRRW, MEPC, 0, SCRATCH),
        i_type(0, COMPARE, 2, SCRATCH, 0x03),
        addi(SCRATCH, SCRATCH, 1007),
        store(2, SCRATCH, COMPARE, 0),
        addi(TRAPS, TRAPS, 1),
        store(2, TRAPS, RAM_BASE, 0x7E0),
        MRET,
        NOP,
    ];
    let mut machine = Machine::new(&soc(text, kind));
    for vector in (BASE..BASE + 0x80).step_by(4) {
        let word = jal(0, HANDLER.wrapping_sub(vector) as i32);
        machine.poke(vector, &word.to_le_bytes()).expect("memory");
    }
    let bytes: Vec<u8> = handler.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.poke(HANDLER, &bytes).expect("memory");
    let bytes: Vec<u8> = program.halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    machine.poke(CODE, &bytes).expect("memory");
    machine.set_register(Register::Pc, begin);
    let bases = [(STACK, RAM + 0xF00), (FLASH, BASE), (RAM_BASE, RAM)];
    let timer = [(COMPARE, 0x0200_4000), (TIME, 0x0200_BFF8)];
    for (register, value) in bases.into_iter().chain(timer) {
        machine.set_register(Register::R(register as u8), value);
    }
    for _ in 0..program.below(12) {
        let (line, at) = (program.below(8) as u16, program.below(UNTIL as u32));
        machine.pend_interrupt(line, Cycles(at.into()));
    }
    for _ in 0..program.below(3) {
        let at = CODE + 2 * program.below(program.halves.len() as u32);
        machine.watch(Watch::Execute(at));
    }
    if seed.is_multiple_of(3) {
        machine.watch_masks();
    }
    machine
}

/// A way to bring a machine to a cycle, other than at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Stepped,
    Observed,
    AtLandmarks,
    InPieces,
    Copied,
    Mixed,
}

impl Mode {
    const ALL: [Self; 6] = [
        Self::Stepped,
        Self::Observed,
        Self::AtLandmarks,
        Self::InPieces,
        Self::Copied,
        Self::Mixed,
    ];

    fn run(self, machine: &mut Machine, until: Cycles, random: &mut Random) -> Stop {
        match self {
            Self::Stepped => loop {
                if let Err(stop) = machine.step(until) {
                    break stop;
                }
            },
            Self::Observed => machine.run_observed(until, &mut NullObserver),
            Self::AtLandmarks => {
                let landmarks = landmarks(&borders(random, &[BASE, RAM]));
                machine.run_observed_at(&landmarks, until, &mut NullObserver)
            }
            Self::InPieces | Self::Copied | Self::Mixed => loop {
                let most = [4, 60, 3_000][random.below(3) as usize];
                let to = machine.cycles().0 + 1 + u64::from(random.below(most));
                let to = Cycles(until.0.min(to));
                let mode = Self::ALL[random.below(3) as usize];
                let stop = match self {
                    Self::Mixed if random.below(2) == 0 => mode.run(machine, to, random),
                    Self::Copied if random.below(4) == 0 => {
                        *machine = machine.clone();
                        machine.run(to)
                    }
                    _ => machine.run(to),
                };
                if stop != Stop::Limit || to == until {
                    break stop;
                }
                if self == Self::Mixed && random.below(4) == 0 {
                    let _ = machine.try_entry(3);
                }
            },
        }
    }
}

/// What a machine has come to.
type State = (Vec<u32>, [u64; 4], Vec<u8>, Vec<Hit>, Option<String>);

fn state(machine: &mut Machine) -> State {
    let registers = (0..32).map(Register::R).chain([Register::Pc]);
    let csrs = [0x300, 0x341, 0x342, 0x344].map(Register::Csr);
    let values = registers.chain(csrs).map(|register| machine.register(register)).collect();

    let counts = [
        machine.cycles().0,
        machine.instructions().0,
        machine.waited().0,
        machine.exceptions_taken(),
    ];
    let masked = machine.longest_masked().map(|masked| format!("{masked:?}"));
    (values, counts, machine.peek(RAM, DATA), machine.take_hits(), masked)
}

fn compare(text: &str, seeds: std::ops::Range<u64>) {
    let (mut instructions, mut alone, mut traps, mut ended) = (0, 0, 0, 0);
    for kind in KINDS {
        for seed in seeds.clone() {
            let first = machine(text, kind, seed);
            let until = Cycles(UNTIL);
            let mut plain = first.clone();
            let stop = plain.run(until);
            let expected = state(&mut plain);
            ended += u64::from(stop != Stop::Limit);
            for mode in Mode::ALL {
                let mut random = Random::new(seed);
                let mut other = first.clone();
                let what = format!("{kind:?} seed {seed} {mode:?}");
                assert_eq!(mode.run(&mut other, until, &mut random), stop, "{what}");
                let other = state(&mut other);
                assert!(other == expected, "{what}:\n{:x?}\n{:x?}", other.0, expected.0);
            }
            let mut random = Random::new(seed);
            let borders = borders(&mut random, &[BASE, RAM]);
            let executed = assert_same_events(&first, &borders, until, &format!("{kind:?} {seed}"));
            alone += executed.alone;
            instructions += plain.instructions().0;
            traps += plain.exceptions_taken();
        }
    }
    assert!(instructions > 200_000, "too few instructions to tell: {instructions}");
    assert!(alone * 4 < instructions * 3, "{alone} of {instructions} executed by themselves");
    assert_eq!(ended, 0, "programs have ended instead");
    assert!(traps > 1_000, "too few traps to tell: {traps}");
}

#[test]
fn hazard3_programs_are_equal_in_every_mode() {
    compare(HAZARD3, 1..25);
}

#[test]
fn ibex_programs_are_equal_in_every_mode() {
    compare(IBEX, 101..125);
}

/// A store into code ahead is executed as soon as the run comes there, long after both have often been
/// executed: each round writes one of two additions over the other one.
#[test]
fn self_modified_code_executes() {
    const ROUNDS: u32 = 1_000;
    const PATCH: i32 = 12;
    let (one, two) = (addi(10, 10, 1), addi(10, 10, 2));
    for text in [HAZARD3, IBEX] {
        // x5 is the other addition now: xor x5, x5, x6; sw x5, PATCH(x11)
        let mut words = vec![r_type(0, 6, 5, 4, 5, 0x33), store(2, 5, 11, 4 * PATCH)];
        words.resize(PATCH as usize, NOP);
        words.extend([one, addi(7, 7, -1), branch(1, 7, 0, -4 * (PATCH + 2)), jal(0, 0)]);
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut machine = Machine::new(&Soc::from_toml(text).expect("a soc"));
        machine.poke(RAM, &code).expect("RAM");
        for (register, value) in [(5, one), (6, one ^ two), (7, ROUNDS), (10, 0), (11, RAM)] {
            machine.set_register(Register::R(register), value);
        }
        machine.set_register(Register::Pc, RAM);
        machine.stop_before(RAM + 4 * (words.len() as u32 - 1));
        assert!(matches!(machine.run(Cycles(1_000_000)), Stop::Breakpoint(_)));
        assert_eq!(machine.register(Register::R(10)), ROUNDS / 2 * 3);
    }
}

/// Blocks of instructions end early where a branch, a return or a wait state differs from before: here
/// branches depend on data, a function has two callers, one load reads flash and RAM, and a division
/// sometimes divides by zero.
#[test]
fn early_block_exits_change_neither_results_nor_cycles() {
    const UNTIL: u64 = 60_000;
    const FUNCTION: i32 = 18;
    let words = [
        muldiv(0, 5, 5, 6),
        addi(5, 5, 0x155),
        i_type(28, 5, 5, 13, 0x13),
        i_type(1, 13, 7, 14, 0x13),
        branch(0, 14, 0, 12),
        jal(1, 4 * (FUNCTION - 5)),
        addi(10, 10, 1),
        i_type(12, 13, 7, 14, 0x13),
        addi(15, 11, 0),
        branch(1, 14, 0, 8),
        addi(15, 12, 0),
        i_type(0, 15, 2, 16, 0x03),
        r_type(0, 16, 10, 0, 10, 0x33),
        jal(1, 4 * (FUNCTION - 13)),
        store(2, 10, 11, 4),
        addi(7, 7, 1),
        branch(1, 7, 0, -64),
        jal(0, 0),
        r_type(0, 5, 10, 0, 10, 0x33),
        muldiv(5, 17, 10, 13),
        r_type(0, 17, 10, 0, 10, 0x33),
        jalr(0, 1, 0),
    ];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (text, kind) in [HAZARD3, IBEX].into_iter().flat_map(|text| KINDS.map(|kind| (text, kind)))
    {
        let mut first = Machine::new(&soc(text, kind));
        first.poke(CODE, &code).expect("memory");
        let registers = [(5, 1), (6, 1_103_515_245), (7, 1), (10, 0), (11, RAM), (12, BASE)];
        for (register, value) in registers {
            first.set_register(Register::R(register), value);
        }
        first.set_register(Register::Pc, CODE);
        let (mut whole, mut single) = (first.clone(), first);
        assert_eq!(whole.run(Cycles(UNTIL)), Stop::Limit);
        for cycle in 1..=UNTIL {
            assert_eq!(single.run(Cycles(cycle)), Stop::Limit);
        }
        assert!(whole.register(Register::R(7)) > 300, "{kind:?}: too few rounds");
        assert!(state(&mut whole) == state(&mut single), "{kind:?}");
    }
}
