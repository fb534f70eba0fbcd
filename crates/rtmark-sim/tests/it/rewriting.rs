//! Code in RAM that is written over: what is executed is what stands there, however it came there,
//! and nothing but that is forgotten.

use rtmark_sim::{CoreKind, Cycles, Machine, Register};

use crate::support::*;

/// How often the loop goes round.
const ROUNDS: u32 = 400;
/// More than it takes.
const LONG: Cycles = Cycles(20_000);
/// The interrupt whose handler writes over code.
const INTERRUPT: u16 = 8;
/// `ADDS R4, #n`
const ADDS: u16 = 0x3400;
/// What the program itself writes in turn.
const FIRST: u16 = 5;
const SECOND: u16 = 3;
/// What is written from outside.
const OUTSIDE: u16 = 7;

/// Which instruction is written over, counted in halfwords from the loop's beginning, where each
/// adds one at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    /// Before the store, in the block being executed.
    Behind = 0,
    /// Right behind the store.
    Next = 2,
    /// Further on in the same block.
    Later = 8,
}

impl Site {
    const ALL: [Self; 3] = [Self::Behind, Self::Next, Self::Later];

    const fn address(self, base: u32) -> u32 {
        base + 2 * self as u32
    }
}

/// A machine about to execute the loop at an address in RAM, which writes over a site.
fn machine(core: CoreKind, base: u32, site: Site) -> Machine {
    let later = Site::Later.address(base);
    let mut firmware = Firmware::new();
    firmware.enable(1 << INTERRUPT);
    firmware.set(0, site.address(base)).set(1, (ADDS | FIRST).into());
    firmware.set(2, (FIRST ^ SECOND).into()).set(6, ROUNDS).set(3, base | 1);
    // movs r4, #0; bx r3
    firmware.op(&[0x2400, 0x4718]);
    firmware.handler(16 + INTERRUPT).set(0, later).set(1, (ADDS | OUTSIDE).into());
    // strh r1, [r0]
    firmware.op(&[0x8001, BX_LR]);
    let mut machine = firmware.on(core).machine;
    // adds r4, #1; strh r1, [r0]; adds r4, #1; five NOPs; adds r4, #1
    let mut code = vec![ADDS | 1, 0x8001, ADDS | 1, NOP, NOP, NOP, NOP, NOP, ADDS | 1];
    // eors r1, r2; subs r6, #1; bne to the first; b to itself
    code.extend([0x4051, 0x3E01, 0xD1F3, FOREVER]);
    let code: Vec<u8> = code.into_iter().flat_map(u16::to_le_bytes).collect();
    machine.poke(base, &code).expect("in RAM");
    machine
}

/// Where the loop lies: within a page of decoded code, with a page's border before each of its
/// sites, and at the very end of RAM.
fn bases() -> impl Iterator<Item = u32> {
    let border = RAM + 0x1800;
    let across = Site::ALL.into_iter().map(move |site| border - 2 * site as u32);
    across.chain([RAM + 0x1010, border - 2, border - 6, RAM + 0x4000 - 26])
}

fn stepped(mut machine: Machine, until: Cycles) -> Machine {
    while machine.step(until).is_ok() {}
    assert_eq!(machine.register(Register::R(6)), 0, "all rounds");
    machine
}

/// What tells two runs apart.
fn outcome(machine: &Machine) -> [u64; 4] {
    let register = |number| u64::from(machine.register(Register::R(number)));
    [machine.cycles().0, machine.instructions().0, register(4), register(6)]
}

#[test]
fn written_code_executes_immediately() {
    let written = ROUNDS / 2 * u32::from(FIRST + SECOND);
    for &core in CoreKind::CORTEX_M {
        for base in bases() {
            for site in Site::ALL {
                let what = format!("{core} at {base:#x} {site:?}");
                let mut machine = machine(core, base, site);
                let stepped = stepped(machine.clone(), LONG);
                machine.run(LONG);
                // The site behind the store is executed with what the round before has written.
                let late = if site == Site::Behind { u32::from(SECOND) - 1 } else { 0 };
                let expected = 2 * ROUNDS + written - late;
                assert_eq!(machine.register(Register::R(4)), expected, "{what}");
                assert_eq!(outcome(&machine), outcome(&stepped), "{what}");
            }
        }
    }
}

#[test]
fn code_written_by_a_handler_executes_after_it() {
    for &core in CoreKind::CORTEX_M {
        // Not where the stack is.
        for base in bases().filter(|&base| base < STACK - 0x100) {
            for at in (600..1_800).step_by(97) {
                let mut machine = machine(core, base, Site::Next);
                machine.pend_interrupt(INTERRUPT, Cycles(at));
                let stepped = stepped(machine.clone(), LONG);
                machine.run(LONG);
                let what = format!("{core} at {base:#x}, cycle {at}");
                assert_eq!(outcome(&machine), outcome(&stepped), "{what}");
                let without = 2 * ROUNDS + ROUNDS / 2 * u32::from(FIRST + SECOND);
                assert!(machine.register(Register::R(4)) > without, "{what}: not written");
            }
        }
    }
}

/// Nor does what was decoded of it.
#[test]
fn code_written_while_looking_ahead_does_not_stay() {
    for &core in CoreKind::CORTEX_M {
        for base in bases().filter(|&base| base < STACK - 0x100) {
            for at in (600..1_800).step_by(97) {
                let mut machine = machine(core, base, Site::Next);
                machine.run(Cycles(at));
                let mut plain = machine.clone();
                plain.run(LONG);
                let what = format!("{core} at {base:#x}, cycle {at}");
                machine.look_ahead(|ahead| {
                    ahead.pend_interrupt(INTERRUPT, Cycles(at + 20));
                    ahead.run(LONG);
                    assert_ne!(outcome(ahead)[2], outcome(&plain)[2], "{what}: nothing written");
                });
                machine.run(LONG);
                assert_eq!(outcome(&machine), outcome(&plain), "{what}");
            }
        }
    }
}

/// From outside: all the code is new then, or one word of it.
#[test]
fn code_written_from_outside_executes_on_that_machine_only() {
    for &core in CoreKind::CORTEX_M {
        for base in bases() {
            let (site, next) = (Site::Later.address(base), Site::Next);
            let mut original = machine(core, base, next);
            original.run(Cycles(1_500));
            let mut poked = original.clone();
            let mut stored = original.clone();
            let left = original.register(Register::R(6));
            assert!((1..ROUNDS).contains(&left), "{core}: it is to be in the middle");
            poked.poke(site, &(ADDS | OUTSIDE).to_le_bytes()).expect("in RAM");
            let word = site & !3;
            let mut bytes = stored.peek(word, 4);
            let at = (site - word) as usize;
            bytes[at..at + 2].copy_from_slice(&(ADDS | OUTSIDE).to_le_bytes());
            let value = u32::from_le_bytes(bytes.try_into().expect("a word"));
            stored.store_word(word, value).expect("in RAM");
            let what = format!("{core} at {base:#x}");
            for other in [&mut poked, &mut stored] {
                let stepped = stepped(other.clone(), LONG);
                other.run(LONG);
                assert_eq!(outcome(other), outcome(&stepped), "{what}");
            }
            original.run(LONG);
            let without = 2 * ROUNDS + ROUNDS / 2 * u32::from(FIRST + SECOND);
            assert_eq!(original.register(Register::R(4)), without, "{what}: the original");
            for other in [&poked, &stored] {
                let more = other.register(Register::R(4)) - without;
                // The round that is under way may have passed the site.
                let rounds = more / u32::from(OUTSIDE - 1);
                assert!(rounds == left || rounds + 1 == left, "{what}: {rounds} of {left}");
            }
        }
    }
}

/// A function in RAM that begins in the middle of a word, before which nothing has executed there: a store of
/// that word, or of two of them, changes its first instruction.
#[test]
fn a_word_that_begins_before_all_code_changes_it() {
    let base = RAM + 0x1002;
    // str r1, [r0]; stmia r0!, {r1, r2}, from a word before.
    for (store, to) in [(0x6001, base - 2), (0xC006, base - 6)] {
        for &core in CoreKind::CORTEX_M {
            let mut firmware = Firmware::new();
            let written = u32::from(ADDS | FIRST) << 16;
            firmware.set(0, to).set(1, written).set(2, written).set(3, base | 1);
            // movs r4, #0; movs r6, #0; blx r3, ten times; the store; blx r3, ten times
            firmware
                .op(&[0x2400, 0x2600])
                .op(&[0x4798; 10])
                .op(&[store])
                .op(&[0x4798; 10])
                .forever();
            let mut machine = firmware.on(core).machine;
            let code = [ADDS | 1, BX_LR].map(u16::to_le_bytes).concat();
            machine.poke(base, &code).expect("in RAM");
            let stepped = stepped(machine.clone(), Cycles(1_000));
            machine.run(Cycles(1_000));
            for machine in [&machine, &stepped] {
                let sum = machine.register(Register::R(4));
                assert_eq!(sum, 10 + 10 * u32::from(FIRST), "{core}, {store:#x}");
            }
        }
    }
}

/// A machine about to call a loop in RAM twice for many rounds: `ADDS R4, #1`, over which it writes in between.
fn two_calls(core: CoreKind, base: u32, rounds: u32) -> Machine {
    let mut firmware = Firmware::new();
    firmware.set(0, base).set(1, (ADDS | FIRST).into()).set(3, base | 1).set(6, rounds);
    // movs r4, #0; blx r3; strh r1, [r0]
    firmware.op(&[0x2400, 0x4798, 0x8001]).set(6, rounds).op(&[0x4798]).mark("end").forever();
    let mut machine = firmware.on(core).machine;
    // adds r4, #1; subs r6, #1; bne to the first; bx lr
    let code = [ADDS | 1, 0x3E01, 0xD1FC, BX_LR].map(u16::to_le_bytes).concat();
    machine.poke(base, &code).expect("in RAM");
    machine
}

#[test]
fn code_that_has_executed_often_is_noticed_when_written_over() {
    const MANY: u32 = 3_000;
    for &core in CoreKind::CORTEX_M {
        for base in [RAM + 0x1010, RAM + 0x17FE, RAM + 0x17FC] {
            let mut machine = two_calls(core, base, MANY);
            machine.run(Cycles(100_000));
            let sum = machine.register(Register::R(4));
            assert_eq!(sum, MANY + MANY * u32::from(FIRST), "{core} at {base:#x}");
        }
    }
}

#[test]
fn a_reset_leaves_nothing_of_the_code_in_ram() {
    for &core in CoreKind::CORTEX_M {
        let base = RAM + 0x1010;
        let mut machine = two_calls(core, base, 200);
        machine.run(Cycles(10_000));
        machine.reset().expect("vectors");
        assert_eq!(machine.peek(base, 4), [0xA5; 4], "{core}: RAM at reset");
        // Without the loop this time: adds r4, #7; bx lr.
        let code = [ADDS | OUTSIDE, BX_LR].map(u16::to_le_bytes).concat();
        machine.poke(base, &code).expect("in RAM");
        let until = machine.cycles() + Cycles(1_000);
        machine.run(until);
        let sum = machine.register(Register::R(4));
        assert_eq!(sum, u32::from(OUTSIDE + FIRST), "{core}");
    }
}
