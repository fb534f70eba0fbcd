//! Windows of instructions that chips were measured with, between two loads of CYCCNT: what
//! the buses do that no manual tells.
//!
//! Each is as the chip ran it: behind ISB, without the write buffer. The second load's data
//! phase ends the window.

use rtmark_sim::{Cycles, Machine, Register, Soc};

const ISB: [u16; 2] = [0xF3BF, 0x8F6F];
/// `ldr.w r2, [r0, r1]` and `ldr.w r3, [r0, r1]`, of CYCCNT.
const FIRST: [u16; 2] = [0xF850, 0x2001];
const LAST: [u16; 2] = [0xF850, 0x3001];
/// RAM of the Code region, RAM behind the System bus, slow flash.
const CODE: u32 = 0x1100_0000;
const RAM: u32 = 0x2000_0000;
const FLASH: u32 = 0;

/// A core with these memories; a read of flash waits for two cycles, for each line anew.
fn machine(core: &str, line_bytes: u32) -> Machine {
    let memory = |name: &str, base: u32, more: &str| {
        format!(
            "[[memory]]\nname = \"{name}\"\nkind = \"ram\"\nbase = {base}\nsize = 0x1000\n{more}\n"
        )
    };
    let timing =
        format!("timing = {{ wait_states = 2, line_bytes = {line_bytes}, data_lines = 1 }}");
    let text = format!(
        "name = \"window\"\ndescription = \"\"\ncore = \"{core}\"\nclock_hz = 48_000_000\n\
         interrupts = 32\npriority_bits = 3\n{}{}{}",
        memory("FLASH", FLASH, &timing),
        memory("CODE", CODE, ""),
        memory("RAM", RAM, ""),
    );
    let mut machine = Machine::new(&Soc::from_toml(&text).expect("valid"));
    // DEMCR.TRCENA, DWT_CTRL.CYCCNTENA, ACTLR.DISDEFWBUF.
    for (address, value) in [(0xE000_EDFC, 1 << 24), (0xE000_1000, 1), (0xE000_E008, 2)] {
        machine.store_word(address, value).expect("there");
    }
    machine
}

/// The cycles of a window: its body, with the last load at `landing` behind the ISB.
fn window(mut machine: Machine, at: u32, body: &[u16], landing: u32, r: [u32; 4]) -> u32 {
    let bytes = |code: &[u16]| code.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<_>>();
    machine.poke(at, &bytes(&[&ISB[..], &FIRST[..], body].concat())).expect("RAM");
    machine.poke(at + landing, &bytes(&LAST)).expect("RAM");
    machine.set_register(Register::R(0), 0xE000_1000);
    machine.set_register(Register::R(1), 4);
    for (number, value) in (4..).zip(r) {
        machine.set_register(Register::R(number), value);
    }
    machine.set_register(Register::Xpsr, 1 << 24);
    machine.set_register(Register::Pc, at);
    while machine.register(Register::Pc) != at + landing + 4 {
        machine.step(Cycles(1_000)).expect("runs");
    }
    machine.register(Register::R(3)) - machine.register(Register::R(2))
}

/// The cycles of one, two, three... times the same.
fn rising(of: &Machine, at: u32, once: &[u16], times: u32, r: [u32; 4]) -> Vec<u32> {
    let windows = (1..=times).map(|times| {
        let body = once.repeat(times as usize);
        window(of.clone(), at, &body, 8 + 2 * body.len() as u32, r)
    });
    windows.collect()
}

#[test]
fn a_fetch_waits_for_the_store_before_it_in_the_same_ram() {
    let m3 = machine("cortex-m3", 8);
    let data = [0, 0x0123_4567, CODE + 0x800, 0];
    // str r5, [r6, r7]; strb.w r5, [r6, r7]; strd r4, r5, [r6]; str.w r5, [r6]. A CC2650.
    assert_eq!(rising(&m3, CODE + 0x50, &[0x51F5], 6, data), [4, 6, 9, 11, 14, 16]);
    assert_eq!(rising(&m3, CODE + 0x60, &[0xF806, 0x5007], 5, data)[2..], [9, 12, 15]);
    assert_eq!(rising(&m3, CODE + 0x20, &[0xE9C6, 0x4500], 5, data), [5, 9, 13, 17, 21]);
    assert_eq!(rising(&m3, CODE + 0x20, &[0xF886, 0x5000], 7, data), [4, 5, 6, 10, 12, 13, 17]);
}

#[test]
fn words_of_a_pair_wait_for_their_line_once() {
    let from_flash = [0, 0, 0, FLASH + 0x290];
    // ldrd r5, r6, [r7]. A CC2650 with its line buffer on, and off.
    let pairs = |line_bytes| {
        let m3 = machine("cortex-m3", line_bytes);
        rising(&m3, CODE + 0x10, &[0xE9D7, 0x5600], 5, from_flash)
    };
    assert_eq!(pairs(8), [7, 10, 13, 16, 19]);
    assert_eq!(pairs(4), [9, 16, 23, 30, 37]);
}

#[test]
fn on_the_system_bus_a_store_of_the_cortex_m4_waits_for_the_fetch_that_waits_for_it() {
    let data = [0, 0x81, RAM + 0x800, 0];
    // str.w r5, [r6]: an STM32F100 and a CC2652.
    for (core, cycles) in [("cortex-m3", [4, 7, 10, 13]), ("cortex-m4", [5, 8, 11, 14])] {
        let core = machine(core, 8);
        assert_eq!(rising(&core, RAM + 0x30, &[0xF8C6, 0x5000], 4, data), cycles);
    }
}

#[test]
fn on_the_system_bus_a_fetch_that_a_branch_gives_up_makes_way_on_the_cortex_m3() {
    // bx r5, to a word and across two: an STM32F100 and a CC2652.
    for (core, cycles) in [("cortex-m3", [6, 8]), ("cortex-m4", [8, 10])] {
        let windows = [0x20, 0x22].map(|landing| {
            let r = [0, (RAM + 0x10 + landing) | 1, 0, 0];
            window(machine(core, 8), RAM + 0x10, &[0x4728], landing, r)
        });
        assert_eq!(windows, cycles, "{core}");
    }
}
