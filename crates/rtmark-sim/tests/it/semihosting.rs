//! What semihosting answers about memory, and that what it stores may be code.

use rtmark_sim::{CoreKind, Cycles, Image, Machine, Register, Soc, Stop};

use crate::rv32::EBREAK;
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

/// A program for a core other than a Cortex-M.
struct Case {
    soc: &'static str,
    /// A function in RAM that adds 1 to a register: its address, its bytes, and the register.
    function: u32,
    bytes: [u8; 8],
    counter: u8,
    /// Where the program is, how it calls the function, what asks the host, and what stays there.
    program: u32,
    calls: u32,
    asks: &'static [u32],
    stays: u32,
    /// The registers of the operation, of the parameter, and of the function's address.
    registers: [u8; 3],
}

const CASES: [Case; 2] = [
    Case {
        soc: include_str!("../../../../socs/zynqmp-r5.toml"),
        function: 0x0020_0100,
        // add r4, r4, #1; bx lr
        bytes: [0x01, 0x40, 0x84, 0xE2, 0x1E, 0xFF, 0x2F, 0xE1],
        counter: 4,
        program: 0x0010_0000,
        // blx r5; svc 0x123456; b .
        calls: 0xE12F_FF35,
        asks: &[0xEF12_3456],
        stays: 0xEAFF_FFFE,
        registers: [0, 1, 5],
    },
    Case {
        soc: include_str!("../../../../socs/generic-hazard3.toml"),
        function: 0x8010_0100,
        // c.addi a2, 1; c.jr ra
        bytes: [0x05, 0x06, 0x82, 0x80, 0, 0, 0, 0],
        counter: 12,
        program: 0x8000_0000,
        // jalr ra, a3; slli zero, zero, 31; ebreak; srai zero, zero, 7; j .
        calls: 0x0006_80E7,
        asks: &[0x01F0_1013, EBREAK, 0x4070_5013],
        stays: 0x0000_006F,
        registers: [10, 11, 13],
    },
];

impl Case {
    /// A machine that is about to call the function some times, to ask the host, and to call it again.
    fn machine(&self, times: usize, operation: u32, parameter: u32) -> Machine {
        let mut words = vec![self.calls; times];
        words.extend(self.asks);
        words.extend([self.calls, self.stays]);
        let program: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let image = Image::from_raw(&program, self.program).expect("an image");
        let mut machine = Machine::new(&Soc::from_toml(self.soc).expect("a soc"));
        machine.load(&image).expect("it fits");
        machine.poke(self.function, &self.bytes).expect("RAM");
        machine.set_register(Register::Pc, self.program);
        for (register, value) in
            self.registers.into_iter().zip([operation, parameter, self.function])
        {
            machine.set_register(Register::R(register), value);
        }
        machine.set_register(Register::R(self.counter), 0);
        machine
    }
}

/// The last byte of SYS_ELAPSED's count, a zero, is the function's first: it no longer adds 1.
#[test]
fn other_cores_also_forget_code_that_a_call_overwrites() {
    for case in &CASES {
        let mut machine = case.machine(40, 0x30, case.function - 7);
        machine.run(Cycles(20_000));
        assert_eq!(machine.peek(case.function, 1), [0], "{}", machine.soc().name);
        let counted = machine.register(Register::R(case.counter));
        assert_eq!(counted, 40, "{}: the old function does not run again", machine.soc().name);
    }
}

/// What newlib's `rdimon` asks at its start: the memory that is free, and whether SYS_EXIT_EXTENDED is there.
#[test]
fn other_cores_have_a_heap_and_the_features_file_and_no_other_files() {
    for case in &CASES {
        let (block, name) = (case.function + 0x400, case.function + 0x500);
        let answer = |operation, words: [u32; 3], text: &[u8]| {
            let mut machine = case.machine(0, operation, block);
            machine.poke(name, text).expect("RAM");
            for (at, word) in (block..).step_by(4).zip(words) {
                machine.poke_word(at, word).expect("RAM");
            }
            machine.run(Cycles(2_000));
            (machine.register(Register::R(case.registers[0])), machine.peek(block + 0x40, 16))
        };
        let (result, heap) = answer(0x16, [block + 0x40, 0, 0], b"");
        assert_eq!((result, &heap[0..4], &heap[4..8]), (0, &heap[12..16], &heap[8..12]));
        assert!(heap[0..4] != heap[4..8] && heap[0..4] != [0xA5; 4], "{heap:X?}");
        assert_eq!(answer(0x01, [name, 0, 21], b":semihosting-features\0").0, 2);
        assert_eq!(answer(0x0C, [2, 0, 0], b"").0, 5);
        assert_eq!(answer(0x01, [name, 0, 3], b"log\0").0, u32::MAX);
        assert_eq!(answer(0x05, [3, name, 2], b"ab").0, 2, "nothing of a file is written");
    }
}
