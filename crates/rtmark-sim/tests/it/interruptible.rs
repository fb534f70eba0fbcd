//! Interrupts inside instructions of several cycles: how long they wait, and that the program
//! does not notice. Sections are those of DDI 0403.

use std::fmt::Write as _;

use rtmark_sim::{CoreKind, Cycles, Machine, Observer, Register, Soc, Stop, Watch};

use crate::support::*;

/// MOV R8, R8: unlike NOP, nothing lets it pass a load or store.
const PLAIN: u16 = 0x46C0;
const DATA: u32 = RAM + 0x200;
const RETURN: &[u16] = &[BX_LR];

const PUSH: &[u16] = &[0xB4FF]; // push {r0-r7}
const POP: &[u16] = &[0xBCFF]; // pop {r0-r7}
const POP_PC: &[u16] = &[0xBD7F]; // pop {r0-r6, pc}
const STM: &[u16] = &[0xC0FE]; // stm r0!, {r1-r7}
const LDM: &[u16] = &[0xC8FE]; // ldm r0!, {r1-r7}
const LDM_BASE: &[u16] = &[0xC8FF]; // ldm r0, {r0-r7}
const LDRD: &[u16] = &[0xE9D0, 0x2300]; // ldrd r2, r3, [r0]
const UDIV: &[u16] = &[0xFBB1, 0xF3F2]; // udiv r3, r1, r2
const UMLAL: &[u16] = &[0xFBE1, 0x3401]; // umlal r3, r4, r1, r1
const VLDM: &[u16] = &[0xEC90, 0x0A08]; // vldm r0, {s0-s7}
const VPUSH: &[u16] = &[0xED2D, 0x0B08]; // vpush {d0-d3}
const VPOP: &[u16] = &[0xECBD, 0x0B08]; // vpop {d0-d3}
const VDIV: &[u16] = &[0xEE80, 0x0A81]; // vdiv.f32 s0, s1, s2

const fn has_fpu(core: CoreKind) -> bool {
    matches!(core, CoreKind::CortexM4F | CoreKind::CortexM7 | CoreKind::CortexM33)
}

/// One instruction between marks, with words that differ in memory and registers; an
/// interrupt's handler that does what `handler` says.
fn single_instruction(
    core: CoreKind,
    before: &[u16],
    instruction: &[u16],
    handler: &[u16],
) -> Firmware {
    let mut firmware = Firmware::new();
    if has_fpu(core) {
        // vmov.f32 s0, #1; vmov.f32 s1, #1; vmov.f32 s2, #3
        firmware.fpu().op(&[0xEEB7, 0x0A00, 0xEEF7, 0x0A00, 0xEEB0, 0x1A08]);
    }
    for at in 0..10 {
        firmware.store(DATA + 4 * at, 0x1001 * at);
    }
    // On the stack too, the address behind the instruction for POP with PC: see below.
    for register in (2..8).rev() {
        firmware.set(register, 0x0101 * u32::from(register));
    }
    firmware.enable(1).set(0, DATA).set(1, 0xFEDC_BA98);
    let behind = firmware.here() + 2 + 2 + 2 + 2 * (before.len() + instruction.len()) as u32 + 4;
    // ldr r7, =behind; mov lr, r7; push {r0-r6, lr}
    firmware.set(7, behind | 1).op(&[0x46BE, 0xB57F]).op(before).op(&[PLAIN, PLAIN]);
    firmware.mark("long").op(instruction).mark("after").op(&[PLAIN; 40]).forever();
    firmware.handler(16).mark("handler").op(handler).op(RETURN);
    firmware
}

/// What a program can tell.
fn state(machine: &Machine) -> (Vec<u32>, Vec<u32>, Vec<u8>) {
    let r = |number| machine.register(Register::R(number));
    let registers = (0..15).map(r).chain([machine.register(Register::Xpsr)]);
    let floats = (0..32).map(|number| machine.register(Register::S(number)));
    let mut memory = machine.peek(RAM, 0x2000);
    memory.extend(machine.peek(r(13), (STACK - r(13)) as usize));
    (registers.collect(), floats.collect(), memory)
}

/// How long an interrupt waits that comes to the core in each cycle of an instruction, up to
/// the one in which the next begins. The program goes on as without it.
fn latencies(core: CoreKind, instruction: &[u16]) -> Vec<u64> {
    let firmware = single_instruction(core, &[], instruction, &[]);
    let mut plain = firmware.on(core);
    plain.run(600);
    let (begins, ends) = (plain.cycle("long"), plain.cycle("after"));
    let expected = state(&plain.machine);
    let one = |at| {
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(at));
        running.run(700);
        assert_eq!(state(&running.machine), expected, "{core} {instruction:04X?} in cycle {at}");
        assert_eq!(running.names().iter().filter(|name| **name == "long").count(), 1);
        let more = running.machine.instructions().0 - plain.machine.instructions().0;
        assert!(more < 100, "{core}: {more}");
        running.cycle("handler") - at
    };
    let way = interrupt_delay(core);
    (begins + 1 - way..=ends - way).map(one).collect()
}

/// `count` times `cycles`, then `tail`.
fn row(cycles: u64, count: usize, tail: &[u64]) -> Vec<u64> {
    let mut row = vec![cycles; count];
    row.extend(tail);
    row
}

#[test]
fn lists_and_divisions_do_not_delay_interrupts() {
    use CoreKind as C;
    // The last word has been asked for when the last cycle of a list begins: it completes.
    let cases: &[(C, &[u16], Vec<u64>)] = &[
        (C::CortexM0, PUSH, row(16, 7, &[17, 16])),
        (C::CortexM0, LDM, row(16, 6, &[17, 16])),
        // 4 + N cycles, of which a branch that is not left off takes three.
        (C::CortexM0, POP_PC, row(16, 7, &[20, 19, 18, 17, 16])),
        (C::CortexM0Plus, PUSH, row(15, 7, &[16, 15])),
        (C::CortexM0Plus, POP, row(15, 7, &[16, 15])),
        (C::CortexM0Plus, STM, row(15, 6, &[16, 15])),
        (C::CortexM0Plus, LDM, row(15, 6, &[16, 15])),
        (C::CortexM0Plus, LDM_BASE, row(15, 7, &[16, 15])),
        (C::CortexM0Plus, POP_PC, row(15, 7, &[18, 17, 16, 15])),
        (C::CortexM3, PUSH, row(12, 7, &[13, 12])),
        (C::CortexM3, POP, row(12, 7, &[13, 12])),
        (C::CortexM3, STM, row(12, 6, &[13, 12])),
        (C::CortexM3, LDM, row(12, 6, &[13, 12])),
        (C::CortexM3, LDM_BASE, row(12, 7, &[13, 12])),
        // While the target is fetched, nothing holds an interrupt up any more.
        (C::CortexM3, POP_PC, row(12, 7, &[13, 12, 12, 12, 12])),
        (C::CortexM3, LDRD, row(12, 1, &[13, 12])),
        (C::CortexM3, UDIV, row(12, 10, &[])),
        (C::CortexM3, UMLAL, row(12, 7, &[])),
        (C::CortexM4F, PUSH, row(12, 7, &[13, 12])),
        (C::CortexM4F, LDM, row(12, 6, &[13, 12])),
        (C::CortexM4F, POP_PC, row(12, 7, &[13, 12, 12, 12, 12])),
        (C::CortexM4F, UDIV, row(12, 10, &[])),
        (C::CortexM4F, VLDM, row(12, 7, &[13, 12])),
        (C::CortexM4F, VPUSH, row(12, 7, &[13, 12])),
        (C::CortexM4F, VPOP, row(12, 7, &[13, 12])),
        // The floating-point unit goes on with it while the program does.
        (C::CortexM4F, VDIV, row(12, 1, &[])),
        (C::CortexM33, PUSH, row(12, 8, &[])),
        (C::CortexM33, LDM, row(12, 7, &[])),
        (C::CortexM33, LDM_BASE, row(12, 8, &[])),
        (C::CortexM33, POP_PC, row(12, 7, &[15, 14, 13, 12])),
        (C::CortexM33, UDIV, row(12, 10, &[])),
        (C::CortexM33, VLDM, row(12, 8, &[])),
        (C::CortexM33, VPUSH, row(12, 8, &[])),
        (C::CortexM33, VDIV, row(12, 14, &[])),
    ];
    let mut wrong = String::new();
    for (core, instruction, expected) in cases {
        let found = latencies(*core, instruction);
        if found != *expected {
            let _ = writeln!(wrong, "{core} {instruction:04X?}: {found:?}, not {expected:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Runs an instruction with an interrupt in its fourth cycle.
fn interrupted(core: CoreKind, before: &[u16], instruction: &[u16], handler: &[u16]) -> Running {
    let firmware = single_instruction(core, before, instruction, handler);
    let mut plain = firmware.on(core);
    plain.run(600);
    let mut running = firmware.on(core);
    running.machine.pend_interrupt(0, Cycles(plain.cycle("long") + 3 - interrupt_delay(core)));
    running.run(700);
    running
}

#[test]
fn abandoned_instructions_are_continued_or_restarted() {
    // The handler stores its return value over the first word: ldr r0, [sp] (the stacked
    // r0); mov r1, lr; str r1, [r0]
    let handler: &[u16] = &[0x9800, 0x4671, 0x6001];
    let first = |running: &Running| running.word(DATA);
    for core in [CoreKind::CortexM0, CoreKind::CortexM0Plus] {
        let running = interrupted(core, &[], STM, handler);
        assert_eq!(first(&running), 0xFEDC_BA98, "{core} stores r1 once more");
    }
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM33] {
        let running = interrupted(core, &[], STM, handler);
        assert!(first(&running) > 0xFFFF_FF00, "{core} does not store it again");
    }
}

#[test]
fn instructions_in_it_blocks_are_restarted() {
    // itt al; mov r8, r8; stm.w r0!, {r1-r7}: the mark is on the IT.
    let handler: &[u16] = &[0x9800, 0x4671, 0x6001];
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM33] {
        let block = [0xBFE4, PLAIN, 0xE8A0, 0x00FE];
        let mut values = Vec::new();
        for delay in 2..8 {
            let firmware = single_instruction(core, &[], &block, handler);
            let mut plain = firmware.on(core);
            plain.run(600);
            let mut running = firmware.on(core);
            running
                .machine
                .pend_interrupt(0, Cycles(plain.cycle("long") + delay - interrupt_delay(core)));
            running.run(700);
            values.push(running.word(DATA));
        }
        assert!(values.iter().all(|value| *value == 0xFEDC_BA98), "{core}: {values:X?}");
    }
}

#[test]
fn the_stacked_status_records_where_to_continue() {
    // ldr r0, [sp, #28]; ldr r1, [sp, #24] into the data
    let handler: &[u16] =
        &[0x9807, 0x9906, 0x4A00, 0xE001, DATA as u16, (DATA >> 16) as u16, 0xC203];
    let ici = |core, instruction| {
        let running = interrupted(core, &[], instruction, handler);
        running.word(DATA) >> 10 & 0x3F
    };
    for core in [CoreKind::CortexM3, CoreKind::CortexM33] {
        // Three words are through; the next one is r3 of {r0-r7}, r4 of {r1-r7}.
        assert_eq!(ici(core, PUSH), 3 << 2, "{core}");
        assert_eq!(ici(core, LDM), 4 << 2, "{core}");
        assert_eq!(ici(core, LDM_BASE), 0, "{core}: the base is the first");
        assert_eq!(ici(core, UDIV), 0, "{core}");
    }
    // s3 is in the second register of two words.
    assert_eq!(ici(CoreKind::CortexM4F, VLDM), 1 << 2);
    assert_eq!(ici(CoreKind::CortexM0Plus, LDM), 0);
}

#[test]
fn continuing_a_different_instruction_is_a_fault() {
    // The handler returns to the next instruction: ldr r0, [sp, #24]; adds r0, #2; str r0, [sp, #24]
    let handler: &[u16] = &[0x9806, 0x3002, 0x9006];
    for core in [CoreKind::CortexM3, CoreKind::CortexM33] {
        let mut firmware = single_instruction(core, &[], LDM, handler);
        firmware.handler(3).mark("hard").op(RETURN);
        let mut plain = firmware.on(core);
        plain.run(600);
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(plain.cycle("long") + 3 - interrupt_delay(core)));
        running.run(200);
        assert!(running.names().contains(&"hard"), "{core}: {:?}", running.names());
    }
}

#[test]
fn masked_interrupts_and_actlr_prevent_abandoning() {
    for &core in CoreKind::CORTEX_M {
        let firmware = single_instruction(core, &[CPSID_I], LDM, &[]);
        let mut plain = firmware.on(core);
        plain.run(600);
        let at = plain.cycle("long") + 3 - interrupt_delay(core);
        let mut masked = firmware.on(core);
        masked.machine.pend_interrupt(0, Cycles(at));
        masked.run(600);
        assert_eq!(masked.cycle("after"), plain.cycle("after"), "{core}: masked");
        // An interrupt that is not enabled.
        let firmware = single_instruction(core, &[], LDM, &[]);
        let mut other = firmware.on(core);
        other.machine.pend_interrupt(1, Cycles(at));
        other.run(600);
        assert_eq!(other.names(), ["long", "after"], "{core}");
        // The Cortex-M7's ACTLR has no such bit (DDI 0489, 3.3.2).
        if core.is_mainline() && core != CoreKind::CortexM7 {
            // DISMCYCINT: movw r6, #0xE008; movt r6, #0xE000; movs r7, #1; str r7, [r6]
            let set = [0xF24E, 0x0608, 0xF2CE, 0x0600, 0x2701, 0x6037];
            let firmware = single_instruction(core, &set, LDM, &[]);
            let mut plain = firmware.on(core);
            plain.run(600);
            let mut running = firmware.on(core);
            running
                .machine
                .pend_interrupt(0, Cycles(plain.cycle("long") + 1 - interrupt_delay(core)));
            running.run(600);
            let waits = plain.cycle("after") - plain.cycle("long") - 1;
            let latency =
                running.cycle("handler") - plain.cycle("long") - 1 + interrupt_delay(core);
            assert_eq!(latency, 12 + waits, "{core}: completes");
        }
    }
}

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// A list of some of the registers r0 to r6.
    fn list(&mut self) -> u16 {
        self.roll(127) as u16 + 1
    }
}

/// A program of what gives way and what does not; r7 leads to its data.
fn random(core: CoreKind, dice: &mut Dice) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(NVIC_IPR, 0x4080);
    if has_fpu(core) {
        firmware.fpu();
    }
    firmware.enable(3).set(7, DATA);
    for register in 0..7 {
        firmware.set(register, dice.roll(1 << 32) as u32);
    }
    let kinds = match core {
        _ if has_fpu(core) => 14,
        _ if core.is_mainline() => 10,
        _ => 5,
    };
    for _ in 0..90 {
        let list = dice.list();
        let back = 4 * list.count_ones() as u16;
        let [d, n, m] = [0; 3].map(|_: u16| dice.roll(7) as u16);
        let e = (d + 1) % 7;
        match dice.roll(kinds) {
            0 => firmware.op(&[0xB400 | list, 0x1800 | m << 6 | n << 3 | d, 0xBC00 | list]),
            1 => firmware.op(&[0xC700 | list, 0x3F00 | back]),
            2 => firmware.op(&[0xCF00 | list, 0x3F00 | back]),
            3 => firmware.op(&[0x1800 | m << 6 | n << 3 | d, 0x4040 | n << 3 | d]),
            4 => firmware.op(&[CPSID_I, 0xC700 | list, 0x3F00 | back, CPSIE_I]),
            5 => firmware.op(&[0xFBB0 | n, 0xF0F0 | d << 8 | m]),
            6 => firmware.op(&[0xFBA0 | n, e << 12 | d << 8 | m]),
            // ldrd, strd; mov r0, r7; ldm.w r0, {r0, r1, r2}
            7 => firmware.op(&[0xE9D7, d << 12 | e << 8, 0xE9C7, d << 12 | e << 8 | 4]),
            8 => firmware.op(&[0x4638, 0xE890, 0x0007]),
            // itt al; stm.w r7, {list}; ldm.w r7, {list}
            9 => firmware.op(&[0xBFE4, 0xE887, list | 0x300, 0xE897, list | 0x300]),
            10 => firmware.op(&[0xEC97, 0x0A08 | d << 12]),
            11 => firmware.op(&[0xEC87, 0x0A09 | d << 12]),
            // vpush, vpop {d0-d3}
            12 => firmware.op(&[0xED2D, 0x0B08, 0xECBD, 0x1B08]),
            _ => firmware.op(&[0xEE84, 0x4A05]),
        };
    }
    firmware.forever();
    // push {r4-r7, lr}; pop {r4-r7, pc}
    for exception in [16, 17] {
        firmware.handler(exception).op(&[0xB5F0, PLAIN, 0xBDF0]);
    }
    firmware
}

struct Nothing;
impl Observer for Nothing {}

fn slow(core: CoreKind) -> Soc {
    let mut soc = soc(core);
    for memory in &mut soc.memories {
        (memory.timing.wait_states, memory.timing.line_bytes) = (2, 16);
    }
    soc
}

#[test]
fn interrupts_do_not_change_results_in_any_mode() {
    const END: u64 = 40_000;
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    for &core in CoreKind::CORTEX_M {
        let mut left = 0;
        for (round, soc) in [soc(core), slow(core)].iter().cycle().take(24).enumerate() {
            let firmware = random(core, &mut dice);
            let mut plain = firmware.on_soc(soc);
            assert_eq!(plain.run(END), Stop::Limit, "{core}");
            let mut machine = firmware.on_soc(soc).machine;
            for _ in 0..60 {
                let (interrupt, at) = (dice.roll(2) as u16, 100 + dice.roll(1_500));
                machine.pend_interrupt(interrupt, Cycles(at));
            }
            let (mut pieces, mut observed) = (machine.clone(), machine.clone());
            assert_eq!(machine.run(Cycles(END)), Stop::Limit, "{core}");
            assert_eq!(state(&machine), state(&plain.machine), "{core}, round {round}");
            while pieces.cycles().0 < END {
                let until = (pieces.cycles().0 + 1 + dice.roll(40)).min(END);
                pieces.run(Cycles(until));
            }
            assert_eq!(observed.run_observed(Cycles(END), &mut Nothing), Stop::Limit);
            for other in [&pieces, &observed] {
                assert_eq!(other.cycles(), machine.cycles(), "{core}, round {round}");
                assert_eq!(other.instructions(), machine.instructions(), "{core}, round {round}");
                assert_eq!(
                    other.abandoned_instructions(),
                    machine.abandoned_instructions(),
                    "{core}, round {round}"
                );
                assert_eq!(other.peek(RAM, 0x4000), machine.peek(RAM, 0x4000), "{core}");
                assert_eq!(state(other), state(&machine), "{core}, round {round}");
            }
            left += machine.abandoned_instructions().0;
        }
        assert!(left > 60, "{core}: {left} instructions have given way");
    }
}

/// What an instruction may wait is what registers have set, whatever the soc file says of its
/// memories: a load of several words from flash gives way also late.
#[test]
fn configured_wait_states_count() {
    const ACR: u32 = 0x4002_3C00;
    let given = Soc::from_toml(include_str!("../../../../socs/stm32f405.toml")).expect("a soc");
    let mut silent = given.clone();
    for memory in &mut silent.memories {
        memory.timing.wait_states = 0;
    }
    let mut firmware = Firmware::new();
    // Seven wait states; r0 leads to flash.
    firmware.store(ACR, 7).enable(1).set(0, 0).op(&[PLAIN, PLAIN]);
    firmware.mark("long").op(LDM).mark("after").op(&[PLAIN; 40]).forever();
    firmware.handler(16).mark("handler").op(RETURN);
    let mut plain = firmware.on_soc(&given);
    plain.run(600);
    let (begins, ends) = (plain.cycle("long"), plain.cycle("after"));
    let longest = 33;
    assert!(ends - begins > longest, "{begins} to {ends}");
    let (mut late, mut at) = (0, begins);
    while at < ends {
        let entered = [&given, &silent].map(|soc| {
            let mut running = firmware.on_soc(soc);
            running.machine.pend_interrupt(0, Cycles(at));
            running.run(700);
            (running.cycle("handler"), running.machine.abandoned_instructions())
        });
        assert_eq!(entered[0], entered[1], "in cycle {at}, {} into it", at - begins);
        late += u64::from(at > begins + longest && entered[0].1.0 > 0);
        at += 1;
    }
    assert!(late > 0, "none gives way later than it could without wait states");
}

/// The cycles in which a timer's interrupt becomes pending and its handler begins, in a program of
/// register lists. Without the timer's own interrupt, it becomes pending from outside in a given cycle.
fn timed(soc: &Soc, count: u32, outside: Option<u64>) -> (u64, u64) {
    const TIMER: u32 = 0x4000_0000;
    const INTERRUPT: u16 = 8;
    let mut firmware = Firmware::new();
    firmware.enable(1 << INTERRUPT).store(TIMER + 4, count);
    // DDI 0479, 4.1: CTRL has the enable in bit 0, and the interrupt's in bit 3.
    firmware.store(TIMER, if outside.is_some() { 1 } else { 9 });
    firmware.set(0, DATA).op(&LDM.repeat(20)).forever();
    firmware.handler(16 + INTERRUPT).mark("handler").op(RETURN);
    let mut running = firmware.on_soc(soc);
    running.watch(Watch::Pend(16 + INTERRUPT), "pends");
    if let Some(at) = outside {
        running.machine.pend_interrupt(INTERRUPT, Cycles(at));
    }
    running.run(600);
    (running.cycle("pends"), running.cycle("handler"))
}

#[test]
fn a_devices_interrupt_waits_no_longer_than_one_from_outside() {
    let texts = [
        include_str!("../../../../socs/mps2-an385.toml"),
        include_str!("../../../../socs/mps2-an386.toml"),
    ];
    for text in texts {
        // Its code is in a RAM; here a program is there at reset.
        let text = text.replacen("kind = \"ram\"", "kind = \"flash\"", 1);
        let soc = small(&Soc::from_toml(&text).expect("a soc"));
        for count in 40..72 {
            let (pends, handler) = timed(&soc, count, None);
            assert_eq!(timed(&soc, count, Some(pends)), (pends, handler), "{} {count}", soc.name);
        }
    }
}
