//! The Cortex-R5: every row of its cycle tables from `timing/cortex-r5.txt`, what branches are
//! foreseen to do, caches, exceptions, the interrupt controller, images for other cores.

use std::fmt::Write as _;

use rtmark_sim::{
    Blocker, Cycles, FaultKind, FaultPolicy, Image, LoadError, Machine, Register, Soc, Stop, Watch,
};

/// In ATCM: where cases begin, and where their branches by a register lead.
const START: u32 = 0x1000;
const LANDING: u32 = 0x2000;
/// In BTCM: what r2, r3 and sp point to.
const RAM: u32 = 0x2_0100;
const OTHER: u32 = 0x2_4000;
const STACK: u32 = 0x2_8000;
/// mul r12, r0, r0: it joins nothing before it.
const FILLER: u32 = 0xE00C_0090;
/// add r8, r8, r8
const ADD: u32 = 0xE088_8008;
const STAY: u32 = 0xEAFF_FFFE;
const ACTLR: u32 = 0xEE01_0F30;
const SCTLR: u32 = 0xEE01_0F10;
/// SCTLR: instruction cache and data cache.
const I: u32 = 1 << 12;
const D: u32 = 1 << 2;
const READ_SCTLR: u32 = 0xEE11_0F10;

/// ACTLR: dual issue of cases A, B1, B2 and C is off.
const A: u32 = 1 << 28;
const B1: u32 = 1 << 29;
const C: u32 = 1 << 31;
const ALL: u32 = 0xF << 28;

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/zynqmp-r5.toml")).expect("a soc")
}

fn poke(machine: &mut Machine, at: u32, words: &[u32]) {
    for (place, word) in (at..).step_by(4).zip(words) {
        machine.poke(place, &word.to_le_bytes()).expect("memory");
    }
}

/// A machine with these words at the start, ready to execute them, with floating point on, ACTLR
/// set, and registers as the tables have them.
fn machine(actlr: u32, words: &[u32]) -> Machine {
    let mut machine = Machine::new(&soc());
    poke(&mut machine, START - 0x200, &[FILLER; 0x180]);
    poke(&mut machine, LANDING, &[FILLER; 0x40]);
    poke(&mut machine, START, words);
    poke(&mut machine, RAM - 0x100, &[RAM; 0x80]);
    poke(&mut machine, OTHER - 0x10, &[LANDING; 0x40]);
    poke(&mut machine, STACK - 0x40, &[LANDING; 0x40]);
    // mcr ACTLR; CPACR and FPEXC; b .
    let prelude = [ACTLR, 0xE3A0_060F, 0xEE01_0F50, 0xE3A0_0101, 0xEEE8_0A10, 0xE350_0101, STAY];
    // mov r0, #0xF00000; mcr CPACR; mov r0, #0x40000000; vmsr fpexc, r0; cmp r0, #0x40000000
    poke(&mut machine, 0, &prelude);
    machine.set_register(Register::R(0), actlr);
    machine.set_register(Register::Pc, 0);
    machine.run(Cycles(200));
    let values = [0, 1, RAM, OTHER, LANDING, 1, 1, 4, 100, 7, 1, 1_000_000, 10, STACK, LANDING];
    for (register, value) in values.into_iter().enumerate() {
        machine.set_register(Register::R(register as u8), value);
    }
    machine.set_register(Register::Pc, START);
    machine
}

/// Cycles from the first of so many instructions to the one behind the last.
fn cycles(actlr: u32, words: &[u32]) -> u64 {
    let mut machine = machine(actlr, words);
    machine.watch(Watch::Execute(START));
    let end = START + 4 * words.len() as u32;
    for address in (end..end + 0x20).chain(LANDING..LANDING + 0x20).step_by(4) {
        machine.watch(Watch::Execute(address));
    }
    machine.run(Cycles(1000));
    match machine.take_hits()[..] {
        [start, end, ..] => end.cycle.0 - start.cycle.0,
        _ => panic!("{words:x?} does not get anywhere"),
    }
}

#[test]
fn cycles_match_the_manuals() {
    let text = include_str!("timing/cortex-r5.txt");
    let (mut actlr, mut cases, mut wrong) = (0, 0, String::new());
    for (at, line) in text.lines().enumerate() {
        if let Some(switch) = line.strip_prefix("! ") {
            actlr = match switch {
                "off" => ALL,
                "on" => 0,
                "a" => A,
                "b1" => B1,
                "c" => C,
                other => panic!("line {}: {other} is no switch", at + 1),
            };
            continue;
        }
        let fields: Vec<_> = line.split('|').map(str::trim).collect();
        let [assembly, opcodes, expected] = fields[..] else { continue };
        let Ok(expected) = expected.parse::<u64>() else { continue };
        let words = opcodes.split_whitespace();
        let words: Vec<_> =
            words.map(|word| u32::from_str_radix(word, 16).expect("hexadecimal")).collect();
        let cycles = cycles(actlr, &words);
        cases += 1;
        if cycles != expected {
            let _ = writeln!(wrong, "line {}: {assembly}: {cycles}, not {expected}", at + 1);
        }
    }
    assert!(cases >= 170, "{cases} cases");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The cycles of the last of several runs of a loop: `subs r1, r1, #1; bne`, with so many rounds.
fn last_loop(rounds: u32, actlr: u32) -> u64 {
    // mov r9, #20; 1: mov r1, #rounds; 2: subs r1, r1, #1; bne 2b; subs r9, r9, #1; bne 1b; b .
    let words = [
        0xE3A0_9014,
        0xE3A0_1000 | rounds,
        0xE251_1001,
        0x1AFF_FFFD,
        0xE259_9001,
        0x1AFF_FFFA,
        STAY,
    ];
    let mut machine = machine(actlr, &words);
    machine.watch(Watch::Execute(START + 4));
    machine.watch(Watch::Execute(START + 16));
    machine.run(Cycles(100_000));
    let hits = machine.take_hits();
    let [.., begin, end] = hits[..] else { panic!("it does not loop") };
    end.cycle.0 - begin.cycle.0
}

#[test]
fn loop_exits_are_predicted_up_to_31_iterations() {
    // A round is a cycle and the branch's.
    for (rounds, mistakes) in [(10, 0), (31, 0), (40, 1)] {
        assert_eq!(last_loop(rounds, ALL), 1 + 2 * u64::from(rounds) + 7 * mistakes, "{rounds}");
    }
    // With branches never foreseen to be taken, as AMD's standalone library has it (ACTLR, 16:15).
    assert_eq!(last_loop(10, ALL | 2 << 15), 1 + 20 + 7 * 9);
    assert_eq!(last_loop(10, ALL | 1 << 15), 1 + 20 + 7);
}

/// The cycles from a return at a depth of calls to where it leads, the deepest first.
fn returns(depth: u32, actlr: u32) -> Vec<u64> {
    // Level n at START + 16 n: mov r(4 + n), lr; bl next; bx r(4 + n). The deepest: bx lr.
    let mut words = Vec::new();
    for level in 0..depth {
        let saved = 4 + level;
        words.extend([0xE1A0_000E | saved << 12, 0xEB00_0001, 0xE12F_FF10 | saved, FILLER]);
    }
    words.push(0xE12F_FF1E);
    let mut machine = machine(actlr, &words);
    let deepest = START + 16 * depth;
    let sources = (0..depth).map(|level| START + 16 * level + 8);
    let watched: Vec<_> = sources.chain([deepest, LANDING]).collect();
    for address in &watched {
        machine.watch(Watch::Execute(*address));
    }
    machine.run(Cycles(1000));
    let hits = machine.take_hits();
    hits.windows(2).map(|pair| pair[1].cycle.0 - pair[0].cycle.0).collect()
}

#[test]
fn four_returns_are_predicted() {
    let deep = returns(4, ALL);
    assert_eq!(deep[..4], [1, 1, 1, 1], "{deep:?}");
    let deeper = returns(5, ALL);
    assert_eq!(deeper[..5], [1, 1, 1, 1, 9], "{deeper:?}");
    // Switched off.
    assert_eq!(returns(2, ALL | 1 << 17)[..2], [9, 9]);
}

/// Runs words from DDR with caches as they are told, and answers the cycles of each of so many
/// rounds of a loop that ends with a branch to its beginning.
fn from_ddr(sctlr: u32, words: &[u32], rounds: usize) -> Vec<u64> {
    let mut machine = Machine::new(&soc());
    let begin = 0x0010_0000;
    // mrc SCTLR; orr r0, r0, r1; mcr SCTLR; ldr pc, =begin
    let prelude = [READ_SCTLR, 0xE180_0001, SCTLR, 0xE51F_F004, begin];
    poke(&mut machine, 0, &prelude);
    poke(&mut machine, begin, words);
    machine.set_register(Register::R(1), sctlr);
    machine.set_register(Register::R(2), 0x0020_0000);
    machine.set_register(Register::Pc, 0);
    machine.watch(Watch::Execute(begin));
    machine.run(Cycles(100_000));
    let hits = machine.take_hits();
    let rounds = hits.windows(2).take(rounds);
    rounds.map(|pair| pair[1].cycle.0 - pair[0].cycle.0).collect()
}

#[test]
fn caches_hold_lines_read_before() {
    // ldr r0, [r2]; add r3, r0, r0; b begin
    let words = [0xE592_0000, 0xE080_3000, 0xEAFF_FFFC];
    let warm = from_ddr(I | D, &words, 3);
    // The load's line comes in the first round; then all hits: 1, 2 for the result, and the branch.
    assert_eq!(warm[1..], [3, 3], "{warm:?}");
    assert!(warm[0] > 100, "{warm:?}");
    // Without a data cache each load goes out.
    let without_data = from_ddr(I, &words, 3);
    assert_eq!(without_data[1], without_data[2]);
    assert!(without_data[1] > 120, "{without_data:?}");
    // Without an instruction cache a line that is left is fetched again: this one is not left.
    let lines = [ADD, ADD, ADD, ADD, ADD, ADD, ADD, ADD, ADD, 0xEAFF_FFF5];
    let uncached = from_ddr(0, &lines, 3);
    let cached = from_ddr(I, &lines, 3);
    // The last one joins the branch.
    assert_eq!(cached[2], 9, "{cached:?}");
    assert!(uncached[2] > 200, "{uncached:?}");
}

#[test]
fn exceptions_save_their_return_address() {
    // svc #0 at START; the vector, at 8 once they are low, is `b .`
    let mut machine = machine(ALL, &[0xEF00_0000]);
    let sctlr_low = [0xEE11_0F10, 0xE3C0_0A02, 0xEE01_0F10, 0xE59F_F000, 0, START];
    poke(&mut machine, 0x40, &sctlr_low);
    machine.set_register(Register::Pc, 0x40);
    poke(&mut machine, 8, &[STAY]);
    machine.run(Cycles(machine.cycles().0 + 100));
    assert_eq!(machine.register(Register::Pc), 8);
    assert_eq!(machine.register(Register::R(14)), START + 4);
    assert_eq!(machine.register(Register::Xpsr) & 0xFF, 0xD3);
}

#[test]
fn faults_stop_the_run_and_report_the_location() {
    let cases: [(u32, FaultKind); 4] = [
        (0xE7F0_00F0, FaultKind::UndefinedInstruction),
        // ldr r1, [r11]: nothing is at 1000000 but for a million; ldrd r8, r9, [r2, #1]
        (0xE59B_1000, FaultKind::DataAccess),
        (0xE1C2_80D1, FaultKind::Unaligned),
        // mcr p15, 7, r0, c9, c9, 7
        (0xEEE9_0FF9, FaultKind::UndefinedInstruction),
    ];
    for (word, kind) in cases {
        let mut machine = machine(0, &[word]);
        machine.set_register(Register::R(11), 0x7000_0000);
        match machine.run(Cycles(1000)) {
            Stop::Fault(report) => {
                assert_eq!((report.kind, report.pc), (kind, START), "{word:x}");
                assert!(report.to_string().contains(", supervisor mode, cycle "), "{report}");
            }
            other => panic!("{word:x}: {other:?}"),
        }
    }
}

#[test]
fn interrupts_reach_their_handler_and_are_acknowledged() {
    let mut machine = machine(ALL, &[0xF108_0080, STAY]);
    // cpsie i; b . Vectors are low: bit 13 of SCTLR is cleared first.
    let clear = [0xEE11_0F10, 0xE3C0_0A02, 0xEE01_0F10, 0xE59F_F000, 0, START];
    poke(&mut machine, 0x40, &clear);
    // The handler at 0x18: ldr r0, [r1, #0xC]; str r0, [r1, #0x10]; subs pc, lr, #4
    poke(&mut machine, 0x18, &[0xE591_000C, 0xE581_0010, 0xE25E_F004]);
    machine.set_fault_policy(FaultPolicy::Stop);
    machine.set_register(Register::R(1), 0xF900_1000);
    machine.set_register(Register::Pc, 0x40);
    let mut whole = Machine::new(&soc());
    assert!(whole.arm_interrupt(36, 0x80) && !whole.arm_interrupt(160, 0));
    assert_eq!(whole.interrupt_priority(36), 0x80);
    // Distributor, interface, mask, enable, priority and target of number 68.
    for (address, value) in [
        (0xF900_0000, 1),
        (0xF900_1000, 1),
        (0xF900_1004, 0xFF),
        (0xF900_0108, 1 << 4),
        (0xF900_0844, 1),
    ] {
        store(&mut machine, address, value);
    }
    machine.set_register(Register::R(1), 0xF900_1000);
    machine.set_register(Register::Pc, 0x40);
    machine.watch(Watch::Execute(0x18));
    machine.watch(Watch::Return(16 + 36));
    machine.run(Cycles(machine.cycles().0 + 200));
    let at = machine.cycles().0 + 10;
    machine.pend_interrupt(36, Cycles(at));
    machine.run(Cycles(at + 200));
    let hits = machine.take_hits();
    let [entered, returned] = hits[..] else { panic!("{hits:?}") };
    // What an unforeseen branch takes, two cycles of synchronization, and a round of the loop.
    assert!((11..=13).contains(&(entered.cycle.0 - at)), "{}", entered.cycle.0 - at);
    assert!(returned.cycle.0 > entered.cycle.0 + 20);
    assert_eq!(machine.register(Register::R(0)), 68);
    assert_eq!(machine.register(Register::Pc), START + 4);
}

#[test]
fn software_interrupts_are_distinguished_from_peripheral_ones() {
    // cpsie i; b . Then as above, with SGI 3 that the program itself makes pending for its core.
    let mut machine = machine(ALL, &[0xF108_0080, STAY]);
    let clear = [0xEE11_0F10, 0xE3C0_0A02, 0xEE01_0F10, 0xE59F_F000, 0, START];
    poke(&mut machine, 0x40, &clear);
    poke(&mut machine, 0x18, &[0xE591_000C, 0xE581_0010, 0xE25E_F004]);
    for (address, value) in [(0xF900_0000, 1), (0xF900_1000, 1), (0xF900_1004, 0xFF)] {
        store(&mut machine, address, value);
    }
    let watches = [Watch::Pend(1027), Watch::Handle(1027), Watch::Return(1027), Watch::Handle(16)];
    let watches = watches.map(|watch| machine.watch(watch));
    store(&mut machine, 0xF900_0F00, 0x0200_0003);
    machine.set_register(Register::R(1), 0xF900_1000);
    machine.set_register(Register::Pc, 0x40);
    machine.run(Cycles(machine.cycles().0 + 400));
    let seen: Vec<_> = machine.take_hits().iter().map(|hit| hit.watch).collect();
    assert_eq!(seen, watches[..3]);
    assert_eq!(machine.register(Register::R(0)), 3);
    assert_eq!(soc().core.exception_name(1027), "SGI 3");
}

/// DDI 0406, B1.8.13: SEV and a return from an exception let the next WFE pass, and no other. The loop runs
/// often enough to be executed as a block.
#[test]
fn an_event_lets_one_wfe_pass() {
    const WFE: u32 = 0xE320_F002;
    const SEV: u32 = 0xE320_F004;
    // 1: subs r1, r1, #1; sev; wfe; bne 1b; wfe
    let sent = [0xE251_1001, SEV, WFE, 0x1AFF_FFFB, WFE, STAY];
    // mrs r0, cpsr; msr spsr, r0; add lr, pc, #0; movs pc, lr; wfe; wfe
    let returned = [0xE10F_0000, 0xE16F_F000, 0xE28F_E000, 0xE1B0_F00E, WFE, WFE, STAY];
    for words in [&sent[..], &returned] {
        let mut machine = machine(0, words);
        machine.set_register(Register::R(1), 1000);
        assert_eq!(machine.run(Cycles(1_000_000)), Stop::Asleep, "{words:x?}");
        let last = START + 4 * (words.len() as u32 - 1);
        assert_eq!(machine.register(Register::Pc), last, "{words:x?}");
    }
}

/// CPSR.F masks what comes as FIQ, CPSR.I does not: it goes into the handler of another interrupt, has
/// registers of its own, and returns there (DDI 0406, B1.8.3 and B1.9.11).
#[test]
fn fiq_preempts_irq_handlers() {
    let mut machine = Machine::new(&soc());
    let mut poke = |at: u32, words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        machine.poke(at, &bytes).expect("memory");
    };
    // Low vectors, r8 = 5, cpsie i, and a loop: mrc SCTLR; bic r0, r0, #0x2000; mcr SCTLR
    poke(START, &[READ_SCTLR, 0xE3C0_0A02, SCTLR, 0xE3A0_8005, 0xF108_0080, STAY]);
    // IRQ: ldr r0, [r1, #12]; cpsid f; twenty nops; cpsie f; b .
    poke(0x18, &[0xEA00_0038]);
    poke(
        0x100,
        &[&[0xE591_000C, 0xF10C_0040][..], &[0xE320_F000; 20], &[0xF108_0040, STAY]].concat(),
    );
    // FIQ: ldr r8, [r1, #12]; str r8, [r1, #16]; mov r11, r8; subs pc, lr, #4
    poke(0x1C, &[0xE591_800C, 0xE581_8010, 0xE1A0_B008, 0xE25E_F004]);
    machine.set_register(Register::R(1), 0xF900_1000);
    machine.set_register(Register::Pc, START);
    let (slow, fast) = (36, 40);
    assert!(machine.arm_interrupt(slow, 0x80) && machine.arm_interrupt(fast, 0x20));
    // Number 68 is of group 1; both groups on both sides, all acknowledged, FIQ for group 0.
    for (address, value) in
        [(0xF900_0000, 3), (0xF900_1000, 0xF), (0xF900_1004, 0xFF), (0xF900_0088, 1 << 4)]
    {
        machine.store_word(address, value).expect("a register");
    }
    machine.run(Cycles(100));
    assert_eq!(machine.handler_of(slow), Ok(0x18));
    assert_eq!(machine.handler_of(fast), Ok(0x1C));
    // After reset FIQ is masked, and what comes by it waits.
    assert_eq!(
        (machine.interrupt_blocker(slow), machine.interrupt_blocker(fast)),
        (None, Some(Blocker::FastMask))
    );
    let watches = [0x100, 0x158, 0x1C].map(|at| machine.watch(Watch::Execute(at)));
    machine.watch(Watch::Return(16 + fast));
    machine.pend_interrupt(slow, Cycles(200));
    machine.pend_interrupt(fast, Cycles(215));
    machine.run(Cycles(600));
    let hits = machine.take_hits();
    let [handled, unmasked, entered, returned] = hits[..] else { panic!("{hits:?}") };
    assert_eq!([handled.watch, unmasked.watch, entered.watch], watches);
    assert!(handled.cycle.0 < 215 && entered.cycle > unmasked.cycle, "{hits:?}");
    assert!((1..=20).contains(&(entered.cycle.0 - unmasked.cycle.0)), "{hits:?}");
    assert!(returned.cycle > entered.cycle, "{hits:?}");
    assert_eq!(machine.register(Register::R(0)), 68);
    // FIQ mode has an r8 and an r11 of its own.
    assert_eq!((machine.register(Register::R(8)), machine.register(Register::R(11))), (5, 0));
    assert_eq!(machine.register(Register::Pc), 0x15C);
    assert_eq!(machine.register(Register::Xpsr) & 0xDF, 0x92, "in IRQ mode, with IRQ masked");
    assert_eq!(machine.interrupt_blocker(fast), None);
}

/// Has the program store a word.
fn store(machine: &mut Machine, address: u32, value: u32) {
    poke(machine, 0x80, &[0xE581_0000, STAY]);
    machine.set_register(Register::R(0), value);
    machine.set_register(Register::R(1), address);
    machine.set_register(Register::Pc, 0x80);
    machine.run(Cycles(machine.cycles().0 + 100));
}

#[test]
fn clones_continue_like_the_original() {
    let words = [0xE592_0000, 0xE080_3000, 0xE351_0000, 0x1AFF_FFFB, STAY];
    let mut machine = machine(0, &words);
    machine.run(Cycles(300));
    let mut copy = machine.clone();
    assert_eq!(machine.run(Cycles(5000)), copy.run(Cycles(5000)));
    assert_eq!((machine.cycles(), machine.instructions()), (copy.cycles(), copy.instructions()));
}

#[test]
fn memoization_changes_no_cycle() {
    // A loop of 40 rounds: multiply and add, a division by what it gives, loads that depend on it and
    // cross 64 bits, a list, a store, an addition that is skipped in every other round, a call.
    let words = [
        0xE3A0_9028, // mov r9, #40
        0xE021_0190, // top: mla r1, r0, r1, r0
        0xE733_F119, // udiv r3, r9, r1
        0xE203_3007, // and r3, r3, #7
        0xE792_4003, // ldr r4, [r2, r3]
        0xE084_5003, // add r5, r4, r3
        0xE892_0070, // ldm r2, {r4, r5, r6}
        0xE582_5008, // str r5, [r2, #8]
        0xE319_0001, // tst r9, #1
        0x1080_0009, // addne r0, r0, r9
        0x0010_0990, // mulseq r0, r0, r9
        0xEB00_0003, // bl leaf
        0xE259_9001, // subs r9, r9, #1
        0x1AFF_FFF2, // bne top
        STAY,
        STAY,
        0xE12F_FF1E, // leaf: bx lr
    ];
    let until = Cycles(20_000);
    let mut whole = machine(0, &words);
    whole.watch(Watch::Execute(START + 4 * 14));
    let mut pieces = whole.clone();
    whole.run(until);
    let ends = whole.take_hits()[0];
    assert!(ends.instructions.0 > 40 * 13 && ends.cycle.0 > 1_000, "{ends:?}");
    // A copy has nothing to remember.
    while pieces.cycles() < until {
        pieces = pieces.clone();
        pieces.run(Cycles(pieces.cycles().0 + 1));
    }
    assert_eq!(pieces.take_hits()[0], ends);
}

/// An executable for Arm with these build attributes and one word at an address.
fn elf(profile: Option<u8>) -> Vec<u8> {
    let attributes = profile.map_or_else(Vec::new, |profile| {
        let pairs = [6, 10, 7, profile];
        let mut text = b"A\x15\0\0\0aeabi\0\x01\x09\0\0\0".to_vec();
        text.extend(pairs);
        text
    });
    let names = b"\0.ARM.attributes\0.shstrtab\0";
    let (first, second) = (52 + 32 + 4, 52 + 32 + 4 + attributes.len());
    let sections = second + names.len();
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    let halves = |file: &mut Vec<u8>, halves: &[u16]| {
        for half in halves {
            file.extend(half.to_le_bytes());
        }
    };
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        for word in words {
            file.extend(word.to_le_bytes());
        }
    };
    halves(&mut file, &[2, 40]);
    words(&mut file, &[1, 0x10_0000, 52, sections as u32, 0x0500_0000]);
    halves(&mut file, &[52, 32, 1, 40, 3, 2]);
    words(&mut file, &[1, 84, 0x10_0000, 0x10_0000, 4, 4, 5, 4]);
    words(&mut file, &[STAY]);
    file.extend(&attributes);
    file.extend(names);
    words(&mut file, &[0; 10]);
    let length = attributes.len() as u32;
    words(&mut file, &[1, 0x7000_0003, 0, 0, first as u32, length, 0, 0, 1, 0]);
    words(&mut file, &[17, 3, 0, 0, second as u32, names.len() as u32, 0, 0, 1, 0]);
    file
}

#[test]
fn images_for_other_cores_are_rejected() {
    let load = |profile, soc: &Soc| {
        let image = Image::from_elf(&elf(profile)).expect("an image");
        Machine::new(soc).load(&image)
    };
    assert!(load(Some(b'R'), &soc()).is_ok());
    assert!(load(None, &soc()).is_ok());
    for (profile, name) in [(b'M', "Cortex-M"), (b'A', "Cortex-A")] {
        let refusal = load(Some(profile), &soc()).expect_err("refused");
        assert!(matches!(refusal, LoadError::OtherCore { .. }));
        assert!(refusal.to_string().contains(name), "{refusal}");
    }
    let other = Soc::from_toml(include_str!("../../../../socs/stm32f405.toml")).expect("a soc");
    let refusal = load(Some(b'R'), &other).expect_err("refused").to_string();
    assert!(refusal.contains("Cortex-R") && refusal.contains("cortex-m4f"), "{refusal}");
}

#[test]
fn socs_with_unmodelled_parts_are_rejected() {
    let text = include_str!("../../../../socs/zynqmp-r5.toml");
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from));
        Soc::from_toml(&text.replacen(from, to, 1)).expect_err("refused").to_string()
    };
    let said = refused("wait_states = 120", "cache_lines = 8, wait_states = 120");
    assert!(said.contains("memory FLASH: a Cortex-R5 has its own lines"), "{said}");
    let said = refused("core = \"cortex-r5\"", "core = \"cortex-m7\"");
    assert!(said.contains("beat_cycles is for memories beside a Cortex-R5"), "{said}");
}

/// The signal VINITHI, which chips let a boot loader choose.
#[test]
fn vectors_are_low_from_the_beginning_if_the_core_starts_there() {
    for (vectors, address) in [(None, 0xFFFF_0008), (Some(0x10_0000), 0xFFFF_0008), (Some(0), 8)] {
        let mut machine = Machine::new(&Soc { vectors, ..soc() });
        // svc 0
        poke(&mut machine, START, &[0xEF00_0000, STAY]);
        machine.set_register(Register::Pc, START);
        machine.stop_before(address);
        assert_eq!(machine.run(Cycles(100)), Stop::Breakpoint(address), "{vectors:?}");
    }
}
