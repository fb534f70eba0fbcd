//! A main stack that grows beyond the memory that the program has for it. The judges: where a descending
//! stack of so many words has to be, and single steps, which show each store.

use rtmark_sim::{CoreKind, Cycles, Machine, Register, StackOverflow};

use crate::support::*;

/// `push {r0-r3}`, 16 bytes.
const PUSH: u16 = 0xB40F;
const BYTES: u32 = 16;
/// `b` back to the instruction before.
const BACK: u16 = 0xE7FD;

const END: u32 = STACK - 10 * BYTES;

/// A program that pushes for ever, from the top of its stack.
fn pushing(core: CoreKind) -> Running {
    let mut firmware = Firmware::new();
    firmware.mark("push").op(&[PUSH, BACK]);
    firmware.handler(16).mark("handler").op(&[BX_LR]);
    firmware.on(core)
}

/// Steps a machine until its stack is lower than an address; returns the cycle in which that step began.
fn step_below(machine: &mut Machine, address: u32) -> Cycles {
    loop {
        let before = machine.cycles();
        machine.step(Cycles::MAX).expect("a step");
        if machine.register(Register::Sp) < address {
            return before;
        }
    }
}

#[test]
fn a_push_beyond_the_end_is_found_where_it_happens() {
    for &core in CoreKind::CORTEX_M {
        let mut running = pushing(core);
        let mut machine = running.machine.clone();
        let mut plain = machine.clone();
        machine.watch_stack(END, STACK);
        let mut stepped = machine.clone();
        machine.run(Cycles(2_000));
        let found = machine.stack_overflow().expect("an overflow");
        let StackOverflow { cycle, pc, reached, end } = found;
        assert_eq!((reached, end), (END - BYTES, END), "{core}");
        let push = running.machine.register(Register::Pc);
        assert!((push..push + 4).contains(&pc), "{core}: {pc:#x}");

        let began = step_below(&mut stepped, END);
        assert_eq!(stepped.stack_overflow(), Some(found), "{core}");
        assert!(cycle.0.abs_diff(began.0) <= 8, "{core}: {cycle}, {began}");
        // Nothing else changes.
        plain.run(Cycles(2_000));
        let seen = |machine: &Machine| (machine.cycles(), machine.register(Register::Sp));
        assert_eq!(seen(&machine), seen(&plain), "{core}");
        assert_eq!(plain.stack_overflow(), None);

        // A stack that just fits is none.
        running.machine.watch_stack(END, STACK);
        step_below(&mut running.machine, END + 1);
        assert_eq!(running.machine.register(Register::Sp), END, "{core}");
        assert_eq!(running.machine.stack_overflow(), None, "{core}");
    }
}

/// Nothing but the store itself fills the stretch next to the end.
#[test]
fn a_store_across_the_end_of_a_stack_of_which_little_was_used_is_found() {
    for &core in CoreKind::CORTEX_M {
        for (lower, found) in [(12, true), (0, false), (STACK - END, false)] {
            let mut firmware = Firmware::new();
            firmware.op(&[PUSH]).mark("waits").forever();
            let mut machine = firmware.on(core).machine;
            // As a function does that has that much on its stack.
            let sp = END + BYTES - lower;
            machine.set_register(Register::Sp, sp);
            machine.watch_stack(END, STACK);
            machine.run(Cycles(500));
            let reached = machine.stack_overflow().map(|overflow| overflow.reached);
            assert_eq!(reached, found.then_some(sp - BYTES), "{core}: {lower}");
        }
    }
}

/// As a kernel with a stack of its own for interrupts does. The first stack has been filled to its end.
#[test]
fn a_stack_that_the_program_has_set_is_another_one() {
    const MSP: u16 = 8;
    let other = END - 1024;
    for &core in CoreKind::CORTEX_M {
        let reached = |program: &dyn Fn(&mut Firmware)| {
            let mut firmware = Firmware::new();
            firmware.op(&[PUSH; 10]);
            program(&mut firmware);
            firmware.mark("waits").forever();
            let mut machine = firmware.on(core).machine;
            machine.watch_stack(END, STACK);
            machine.run(Cycles(1_000));
            machine.stack_overflow().map(|overflow| overflow.reached)
        };
        let elsewhere = reached(&|it| {
            it.set(4, other).msr(MSP, 4).op(&[PUSH]).set(4, other - 48).msr(MSP, 4).op(&[PUSH]);
        });
        assert_eq!(elsewhere, None, "{core}");
        let back = reached(&|it| {
            it.set(4, other).msr(MSP, 4).op(&[PUSH]).set(4, END + BYTES).msr(MSP, 4).op(&[PUSH; 2]);
        });
        assert_eq!(back, Some(END - BYTES), "{core}");
        let further_down = reached(&|it| {
            it.set(4, END - 48).msr(MSP, 4).op(&[PUSH]);
        });
        assert_eq!(further_down, Some(END - 48 - BYTES), "{core}");
    }
}

#[test]
fn a_frame_that_the_stack_limit_forbids_is_none() {
    let core = CoreKind::CortexM33;
    for (limit, found) in [(0, true), (END, false)] {
        let mut firmware = Firmware::new();
        // MSPLIM
        firmware.set(0, limit).msr(10, 0).enable(1).op(&[PUSH; 9]).mark("waits").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut machine = firmware.on(core).machine;
        machine.watch_stack(END, STACK);
        machine.pend_interrupt(0, Cycles(600));
        machine.run(Cycles(1_000));
        assert_eq!(machine.stack_overflow().is_some(), found, "{limit:#x}");
    }
}

#[test]
fn a_frame_of_an_exception_beyond_the_end_is_found() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).op(&[PUSH; 9]).mark("waits").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut machine = firmware.on(core).machine;
        machine.watch_stack(END, STACK);
        machine.run(Cycles(500));
        assert_eq!(machine.stack_overflow(), None, "{core}: one push is left");
        // What is tried, and taken back, leaves nothing behind.
        let mut tried = machine.clone();
        let seen = tried.look_ahead(|ahead| {
            ahead.pend_interrupt(0, Cycles(600));
            ahead.run(Cycles(1_000));
            ahead.stack_overflow()
        });
        assert_eq!((seen.is_some(), tried.stack_overflow()), (true, None), "{core}");

        machine.pend_interrupt(0, Cycles(600));
        machine.run(Cycles(1_000));
        let found = machine.stack_overflow().expect("an overflow");
        // Eight words.
        assert_eq!(found.reached, END + BYTES - 32, "{core}");
        assert!((600..640).contains(&found.cycle.0), "{core}: {found:?}");
        assert_eq!(seen, Some(found), "{core}");
    }
}

#[test]
fn other_stacks_below_the_end_are_none_of_the_main_stacks() {
    for &core in CoreKind::CORTEX_M {
        // A task on the process stack.
        let mut firmware = Firmware::new();
        firmware.set(0, END - 0x100).msr(9, 0).set(1, 2).msr(20, 1).op(&[PUSH, BACK]);
        let mut running = firmware.on(core);
        // The stretch next to the end has been written.
        running.machine.poke(END, &[0; 64]).expect("RAM");
        running.machine.watch_stack(END, STACK);
        running.run(500);
        assert_eq!(running.machine.stack_overflow(), None, "{core}");
        assert!(running.machine.register(Register::Psp) < END - 0x200, "{core}: it pushes");

        // The main stack pointer moved to another stack, while the first one is hardly used.
        let mut moved = pushing(core);
        moved.machine.set_register(Register::Sp, END - 0x100);
        let mut full = moved.machine.clone();
        moved.machine.watch_stack(END, STACK);
        moved.run(500);
        assert_eq!(moved.machine.stack_overflow(), None, "{core}");
        // It cannot be told from growth where that is full.
        full.poke(END, &[0; 64]).expect("RAM");
        full.watch_stack(END, STACK);
        full.run(Cycles(500));
        assert!(full.stack_overflow().is_some(), "{core}");
    }
}
