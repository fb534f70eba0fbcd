//! What semihosting answers about memory, and that what it stores may be code.

use rtmark_sim::{CoreKind, Cycles, Image, Machine, Register, Stop};

use crate::support::*;

/// A breakpoint that asks the host.
const CALL: u16 = 0xBEAB;

/// SYS_HEAPINFO: a C library's start-up takes its stack and heap from the block (newlib's `rdimon`).
#[test]
fn heap_and_stack_are_the_ram_behind_the_image() {
    let mut firmware = Firmware::new();
    // r1: the address of a word that has the address of the block.
    firmware.store(RAM + 0x10, RAM + 0x100).set(0, 0x16).set(1, RAM + 0x10).op(&[CALL]);
    firmware.mark("end").forever();
    let image = Image::from_raw(&firmware.image(), 0).expect("an image");
    let mut machine = Machine::new(&soc(CoreKind::CortexM3));
    machine.load(&image).expect("it fits");
    assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
    let block = machine.peek(RAM + 0x100, 16);
    let words: Vec<u32> =
        block.chunks(4).map(|it| u32::from_le_bytes(it.try_into().expect("a word"))).collect();
    assert_eq!(words, [RAM, STACK, STACK, RAM]);
    assert_eq!(machine.register(Register::R(0)), 0);
}

/// SYS_ELAPSED over a function in RAM that has run: it is forgotten.
#[test]
fn code_that_a_call_overwrites_is_forgotten() {
    let mut firmware = Firmware::new();
    // The function: adds r4, #1; bx lr, twice bx lr.
    firmware.store(RAM + 0x200, 0x4770_3401).store(RAM + 0x204, 0x4770_4770).set(4, 0);
    firmware.set(5, RAM + 0x201).op(&[0x47A8, 0x47A8]); // blx r5, twice
    firmware.set(0, 0x30).set(1, RAM + 0x1FC).op(&[CALL]);
    // Now the function's first word is the upper word of the count, which is zero: twice movs r0, r0.
    firmware.op(&[0x47A8]).mark("end").forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["end"]);
    assert_eq!(running.r(4), 2, "the old function does not run again");
}
