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

/// The line buffer of flash.
#[derive(Clone, Copy)]
enum Buffer {
    /// Of so many bytes.
    On(u32),
    Off,
}

/// A core, such as `cortex-m3` or `cortex-m3 r1p1`, with these memories; a read of flash waits for two
/// cycles, for each line anew.
fn machine(core: &str, buffer: Buffer) -> Machine {
    let (core, revision) = core.split_once(' ').unwrap_or((core, ""));
    let revision = match revision {
        "" => String::new(),
        revision => format!("revision = \"{revision}\"\n"),
    };
    let memory = |name: &str, base: u32, more: &str| {
        format!(
            "[[memory]]\nname = \"{name}\"\nkind = \"ram\"\nbase = {base}\nsize = 0x1000\n{more}\n"
        )
    };
    let lines = match buffer {
        Buffer::On(bytes) => format!("line_bytes = {bytes}"),
        Buffer::Off => "line_buffer = false".to_owned(),
    };
    let timing = format!("timing = {{ wait_states = 2, {lines} }}");
    // The buses of the chip that was measured: an STM32F100 or a CC2650, whose code in RAM is not
    // looked at here, and a CC2652.
    let ti = core == "cortex-m4";
    let text = format!(
        "name = \"window\"\ndescription = \"\"\ncore = \"{core}\"\nclock_hz = 48_000_000\n\
         interrupts = 32\npriority_bits = 3\n{revision}\
         bus_matrix = {{ stores_wait_for_fetches = {ti}, given_up_fetches_stay = {ti} }}\n{}{}{}",
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
    let end = at.wrapping_add(landing);
    machine.poke(at, &bytes(&[&ISB[..], &FIRST[..], body].concat())).expect("RAM");
    machine.poke(end, &bytes(&LAST)).expect("RAM");
    machine.set_register(Register::R(0), 0xE000_1000);
    machine.set_register(Register::R(1), 4);
    for (number, value) in (4..).zip(r) {
        machine.set_register(Register::R(number), value);
    }
    machine.set_register(Register::Xpsr, 1 << 24);
    machine.set_register(Register::Pc, at);
    while machine.register(Register::Pc) != end + 4 {
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
fn fetches_wait_for_a_preceding_store_to_the_same_ram() {
    let m3 = machine("cortex-m3", Buffer::On(8));
    let data = [0, 0x0123_4567, CODE + 0x800, 0];
    // str r5, [r6, r7]; strb.w r5, [r6, r7]; strd r4, r5, [r6]; str.w r5, [r6]. A CC2650.
    assert_eq!(rising(&m3, CODE + 0x50, &[0x51F5], 6, data), [4, 6, 9, 11, 14, 16]);
    assert_eq!(rising(&m3, CODE + 0x60, &[0xF806, 0x5007], 5, data)[2..], [9, 12, 15]);
    assert_eq!(rising(&m3, CODE + 0x20, &[0xE9C6, 0x4500], 5, data), [5, 9, 13, 17, 21]);
    assert_eq!(rising(&m3, CODE + 0x20, &[0xF886, 0x5000], 7, data), [4, 5, 6, 10, 12, 13, 17]);
}

#[test]
fn double_word_loads_wait_for_their_line_once() {
    let from_flash = [0, 0, 0, FLASH + 0x290];
    // ldrd r5, r6, [r7]. A CC2650 with its line buffer on, and off.
    let pairs = |buffer| {
        let m3 = machine("cortex-m3", buffer);
        rising(&m3, CODE + 0x10, &[0xE9D7, 0x5600], 5, from_flash)
    };
    assert_eq!(pairs(Buffer::On(8)), [7, 10, 13, 16, 19]);
    assert_eq!(pairs(Buffer::Off), [9, 16, 23, 30, 37]);
}

#[test]
fn stores_and_fetches_on_a_cc2652s_system_bus_wait_for_each_other() {
    let data = [0, 0x81, RAM + 0x800, 0];
    // str.w r5, [r6]: an STM32F100 and a CC2652.
    for (core, cycles) in [("cortex-m3", [4, 7, 10, 13]), ("cortex-m4", [5, 8, 11, 14])] {
        let core = machine(core, Buffer::On(8));
        assert_eq!(rising(&core, RAM + 0x30, &[0xF8C6, 0x5000], 4, data), cycles);
    }
}

#[test]
fn cancelled_fetches_free_an_stm32f100s_system_bus() {
    // bx r5, to a word and across two: an STM32F100 and a CC2652.
    for (core, cycles) in [("cortex-m3", [6, 8]), ("cortex-m4", [8, 10])] {
        let windows = [0x20, 0x22].map(|landing| {
            let r = [0, (RAM + 0x10 + landing) | 1, 0, 0];
            window(machine(core, Buffer::On(8)), RAM + 0x10, &[0x4728], landing, r)
        });
        assert_eq!(windows, cycles, "{core}");
    }
}

#[test]
fn the_queue_feeds_the_core_while_flash_reads_a_line() {
    // mul.w r5, r6, r7, of a CC2652 with its line buffer of sixteen bytes on, and off.
    let products =
        |buffer| rising(&machine("cortex-m4", buffer), FLASH + 0x20, &[0xFB06, 0xF507], 10, [0; 4]);
    assert_eq!(products(Buffer::On(16)), [3, 5, 6, 7, 8, 11, 12, 13, 14, 17]);
    assert_eq!(products(Buffer::Off), [6, 9, 12, 15, 18, 21, 24, 27, 30, 33]);
}

#[test]
fn data_read_from_flash_is_not_buffered_as_code() {
    // ldr.w r5, [r5], of a list in flash on a CC2652: what is read as data is not there as code.
    let mut m4 = machine("cortex-m4", Buffer::On(16));
    for at in (FLASH + 0x800..).step_by(4).take(8) {
        m4.poke(at, &(at + 4).to_le_bytes()).expect("RAM");
    }
    let list = [0, FLASH + 0x800, 0, 0];
    assert_eq!(rising(&m4, FLASH + 0x50, &[0xF8D5, 0x5000], 3, list), [8, 10, 16]);
    // ldr.w r6, [r7] and nop, without the buffer.
    let data = [0, 0, 0, FLASH + 0x810];
    let m4 = machine("cortex-m4", Buffer::Off);
    assert_eq!(window(m4, FLASH + 0x80, &[0xF8D7, 0x6000, 0xBF00], 14, data), 11);
}

#[test]
fn jump_tables_in_flash_share_the_code_buffer() {
    // tbb [pc, r6], behind which comes its table, and ten times adds r7, #1: a CC2652.
    let windows = [(0, 23), (1, 22), (2, 22), (3, 21)].map(|(index, cycles)| {
        let table = [0x0605, 0x0807, 0x0A09, 0x0C0B, 0x0E0D];
        let body = [&[0xE8DF, 0xF006], &table[..], &[0x3701; 10]].concat();
        let (m4, at) = (machine("cortex-m4", Buffer::On(16)), FLASH + 0xA0);
        (window(m4, at, &body, 8 + 2 * body.len() as u32, [0, 0, index, 0]), cycles)
    });
    assert_eq!(windows.map(|(cycles, _)| cycles), windows.map(|(_, measured)| measured));
}

#[test]
fn barriers_refetch_the_following_instructions() {
    // isb; adds.w r4, r4, r4; umull r5, r4, r4, r5; ldr.w r6, [r7]; nop.w; beq.w, not taken;
    // nop.w; nop.w: a CC2650.
    let body = [
        0xF3BF, 0x8F6F, 0xEB14, 0x0404, 0xFBA4, 0x5405, 0xF8D7, 0x6000, 0xF3AF, 0x8000, 0xF000,
        0x8004, 0xF3AF, 0x8000, 0xF3AF, 0x8000,
    ];
    let m3 = machine("cortex-m3", Buffer::On(8));
    let cycles = window(m3, CODE + 0x10, &body, 8 + 32, [4, 0, 0, CODE + 0x800]);
    assert_eq!(cycles, 16);
}

#[test]
fn returns_fetch_the_wanted_half_of_a_word_that_had_to_wait() {
    // movs r3, r3 and mov pc, lr in one word, to a word and to the second half of one, while a fetch
    // occupies the System bus: a CC2650.
    let windows = [0x1A, 0x1C, 0x22].map(|landing| {
        let mut machine = machine("cortex-m4", Buffer::On(8));
        machine.set_register(Register::R(14), RAM + 0x50 + landing);
        window(machine, RAM + 0x50, &[0x461B, 0x46F7], landing, [0; 4])
    });
    assert_eq!(windows, [10, 8, 10]);
}

#[test]
fn a_return_leaves_the_fetch_that_it_gives_up_in_its_line() {
    // movs r7, #0; addw lr, pc, #28; orr lr, lr, #1; movs r7, #0; it eq; blx lr: a CC2650. While the
    // return is decoded, the second word of the line behind it is on its way.
    let body = [0x2700, 0xF20F, 0x0E1C, 0xF04E, 0x0E01, 0x2700, 0xBF08, 0x47F0];
    let m3 = machine("cortex-m3", Buffer::On(8));
    assert_eq!(window(m3, FLASH + 0x2A0, &body, 0x28, [0; 4]), 15);
}

#[test]
fn a_return_not_taken_has_read_a_line() {
    // The same as it ne, and four nop.w; then again with #26, and both once more: a CC2650, where the
    // code after each return has to be read again.
    let nops = [0xF3AF, 0x8000].repeat(4);
    let skipped = |distance| [0x2700, 0xF20F, distance, 0xF04E, 0x0E01, 0x2700, 0xBF18, 0x47F0];
    let [far, near] = [skipped(0x0E1C), skipped(0x0E1A)];
    let body = [&far[..], &nops, &near[1..], &nops, &far[1..], &nops, &near[1..], &nops].concat();
    let m3 = machine("cortex-m3", Buffer::On(8));
    assert_eq!(window(m3, FLASH + 0x3E0, &body, 8 + 2 * body.len() as u32, [0; 4]), 77);
}

/// The cycles of a window that jumps along these addresses: `bx r4`, `bx r5` and so on, the last one
/// behind the window.
fn jumps(core: &str, buffer: Buffer, path: &[u32]) -> u32 {
    let mut machine = machine(core, buffer);
    let jump = |number: usize| 0x4720 + 8 * number as u16;
    let [first, between @ .., last] = path else { panic!("no jump in {path:?}") };
    for (number, address) in (1..).zip(between) {
        machine.poke(*address, &jump(number).to_le_bytes()).expect("RAM");
    }
    let mut targets = path[1..].iter().map(|target| target | 1);
    let r = std::array::from_fn(|_| targets.next().unwrap_or_default());
    let at = first - 8;
    window(machine, at, &[jump(0)], last.wrapping_sub(at), r)
}

#[test]
fn fetches_from_one_bus_wait_for_those_from_the_other() {
    // From and to the zero-wait flash of an STM32F100.
    let cycles = |path: &[u32]| jumps("cortex-m3", Buffer::On(8), path);
    assert_eq!(cycles(&[CODE + 0x838, RAM, RAM + 0x20]), 10);
    assert_eq!(cycles(&[CODE + 0x858, RAM + 0x90, CODE + 0x860, CODE + 0x880]), 13);
    assert_eq!(cycles(&[CODE + 0x908, RAM + 0xA0, CODE + 0x910, RAM + 0xB0, RAM + 0xD0]), 19);
    assert_eq!(cycles(&[RAM + 0xB8, CODE + 0x780, CODE + 0x7A0]), 9);
    assert_eq!(cycles(&[RAM + 0xD8, CODE + 0x810, RAM + 0xE0, RAM + 0x100]), 15);
    assert_eq!(cycles(&[RAM + 0x188, CODE + 0x820, RAM + 0x190, CODE + 0x830, CODE + 0x850]), 18);
}

#[test]
fn flash_keeps_its_line_while_code_runs_elsewhere() {
    // From and to the flash of a CC2652: the window's second line is there when it returns.
    let cycles = |path: &[u32]| jumps("cortex-m4", Buffer::On(16), path);
    assert_eq!(cycles(&[FLASH + 0x808, RAM, RAM + 0x20]), 14);
    assert_eq!(cycles(&[FLASH + 0x828, RAM + 0x90, FLASH + 0x830, FLASH + 0x850]), 19);
    assert_eq!(cycles(&[RAM + 0xB8, FLASH + 0x750, FLASH + 0x770]), 15);
    assert_eq!(cycles(&[RAM + 0xD8, FLASH + 0x7E0, RAM + 0xE0, RAM + 0x100]), 21);
}

#[test]
fn a_return_not_taken_has_read_its_targets_line() {
    // movs r7, #0; adr lr; orr lr, #1; movs r7, #0; it ne; bxne lr; nop.w..., of a CC2652: the link
    // register points into the line that follows.
    let nop = [0xF3AF, 0x8000];
    let skipped = [0x2700, 0xF20F, 0x0E1C, 0xF04E, 0x0E01, 0x2700, 0xBF18, 0x4770];
    let body = [&skipped[..], &nop.repeat(4)].concat();
    let m4 = machine("cortex-m4", Buffer::On(16));
    assert_eq!(window(m4, FLASH + 0x760, &body, 0x28, [0; 4]), 14);
}

#[test]
fn a_return_behind_a_load_of_its_target_and_other_transfers_branches_late() {
    // ldr.w lr, [r6], then up to three of these, then bx lr, 20 bytes behind which lr points: a CC2652, its
    // line buffer off.
    let load = [0xF8D5, 0x7000]; // ldr.w r7, [r5]
    let nop = [0xF3AF, 0x8000];
    let cycles = |at, between: &[[u16; 2]]| {
        let mut m4 = machine("cortex-m4", Buffer::Off);
        let body = [&[[0xF8D6, 0xE000]], between].concat().concat();
        let landing = 8 + 2 * body.len() as u32 + 20;
        m4.store_word(RAM + 4, (at + landing) | 1).expect("RAM");
        let body = [&body[..], &[0x4770]].concat();
        window(m4, at, &body, landing, [0, RAM, RAM + 4, 0])
    };
    assert_eq!(cycles(0x778, &[]), 15);
    assert_eq!(cycles(0x7B8, &[load]), 18);
    assert_eq!(cycles(0x7FC, &[nop]), 18);
    assert_eq!(cycles(0x840, &[load, load]), 21);
    assert_eq!(cycles(0x888, &[load, nop]), 21);
    assert_eq!(cycles(0x960, &[load, load, load]), 24);
    // Not behind two instructions of which the first is no load or store.
    assert_eq!(cycles(0x8D0, &[nop, load]), 18);
    assert_eq!(cycles(0x918, &[nop, nop]), 18);
    assert_eq!(cycles(0x9FC, &[load, nop, load]), 21);
    assert_eq!(cycles(0xA48, &[nop, load, load]), 21);
}

#[test]
fn returns_save_as_much_to_another_memory_as_to_their_own() {
    // bx lr against bx r4: the decode stage fetches the target of the first, over the target's bus.
    // No chip was measured with returns to another memory.
    for core in ["cortex-m3", "cortex-m4"] {
        for from in [CODE, RAM, FLASH] {
            let saved = [CODE, RAM].map(|to| {
                let mut machine = machine(core, Buffer::Off);
                let [at, target] = [from + 0x100, to + 0x240];
                machine.set_register(Register::R(14), target | 1);
                let landing = target.wrapping_sub(at);
                let cycles =
                    |body| window(machine.clone(), at, &[body], landing, [target | 1, 0, 0, 0]);
                cycles(0x4720) - cycles(0x4770)
            });
            assert_eq!(saved[0], saved[1], "{core}, from {from:#x}");
        }
    }
}

#[test]
fn the_core_goes_on_while_the_bus_writes_a_bit() {
    let m3 = machine("cortex-m3", Buffer::On(8));
    let data = [1, 1, 0x2200_0000 + 32 * 0x800, 0];
    let cycles =
        |body: &[u16]| window(m3.clone(), CODE + 0x10, body, 8 + 2 * body.len() as u32, data);
    // str.w r5, [r6, #4]; adds r4, r4, r5. A CC2650.
    let (bit, add) = ([0xF8C6, 0x5004], [0x1964]);
    assert_eq!(cycles(&bit), 7);
    assert_eq!(cycles(&[&bit[..], &add].concat()), 7);
    assert_eq!(cycles(&[&add[..], &bit].concat()), 8);
    assert_eq!(cycles(&[&bit[..], &bit].concat()), 12);
    assert_eq!(cycles(&[&bit[..], &bit, &add].concat()), 12);
}

#[test]
fn a_cortex_m4_writes_a_bit_later_behind_a_transfer() {
    // A CC2650 and a CC2652, from flash: ldr.w r4, [r6, #4]; str.w r5, [r6, #4], twice; then adds r4, r4, r5.
    let pair = [0xF8D6, 0x4004, 0xF8C6, 0x5004];
    let body = [&pair[..], &pair, &[0x1964]].concat();
    let data = [1, 1, 0x2200_0000 + 32 * 0x800, RAM + 0x800];
    let m3 = machine("cortex-m3", Buffer::On(8));
    let m4 = machine("cortex-m4", Buffer::On(16));
    assert_eq!(window(m3, FLASH + 0x55E, &body, 26, data), 15);
    assert_eq!(window(m4.clone(), FLASH + 0xA1E, &body, 26, data), 16);
    // A CC2652: str.w r5, [r6, #4]; str.w r5, [r7]; str.w r5, [r6, #4].
    let between = [&pair[2..], &[0xF8C7, 0x5000], &pair[2..]].concat();
    assert_eq!(window(m4, FLASH + 0xAAE, &between, 20, data), 14);
}

#[test]
fn a_cortex_m4_writes_a_bit_no_later_behind_a_bit_or_another_bus() {
    // From RAM of the Code region: str.w r5, [r6, #4], twice (a CC2650 took 12); ldr.w r4, [r7] and str.w
    // r4, [r7], each before it, with the data on the System bus, and beside the code.
    let bit = [0xF8C6, 0x5004];
    let (load, store) = ([0xF8D7, 0x4000], [0xF8C7, 0x4000]);
    let cycles = |core: &str, before: [u16; 2], data: u32| {
        let registers = [1, 1, 0x2200_0000 + 32 * 0x800, data];
        let body = [before, bit].concat();
        window(machine(core, Buffer::On(8)), CODE + 0x10, &body, 16, registers)
    };
    for (before, data, behind) in [
        (bit, RAM + 0x900, 0),
        (load, CODE + 0x900, 0),
        (store, CODE + 0x900, 0),
        (load, RAM + 0x900, 1),
        (store, RAM + 0x900, 1),
    ] {
        let [m3, m4] = ["cortex-m3", "cortex-m4"].map(|core| cycles(core, before, data));
        assert_eq!(m4, m3 + behind, "{before:04X?}, {data:#x}");
    }
    assert_eq!(cycles("cortex-m4", bit, RAM), 12);
}

#[test]
fn it_folding_differs_before_r2p0() {
    // cmp.w r2, r2; then two and four times these; an STM32F100, from flash, and (nop) a CC2650.
    let cycles = |core: &str, once: &[u16]| {
        let machine = machine(core, Buffer::Off);
        [2, 4].map(|times| {
            let body = [&[0xEBB2, 0x0F02], &once.repeat(times)[..]].concat();
            let landing = 8 + 2 * body.len() as u32;
            window(machine.clone(), CODE + 0xE8, &body, landing, [0, RAM + 0x800, 1, 1])
        })
    };
    // ldr r7, [r5]; nop; it eq; orreq.w r7, r7, #1.
    let nop = [0x682F, 0xBF00, 0xBF08, 0xF047, 0x0701];
    assert_eq!(cycles("cortex-m3 r1p1", &nop), [9, 15]);
    assert_eq!(cycles("cortex-m3 r2p1", &nop), [11, 19]);
    // it eq; addeq r6, r1, r7; it eq; orreq.w r7, r7, #1; no revision folds the second IT.
    let blocks = [0xBF08, 0x19CE, 0xBF08, 0xF047, 0x0701];
    assert_eq!(cycles("cortex-m3 r1p1", &blocks), [11, 19]);
    assert_eq!(cycles("cortex-m3 r2p1", &blocks), [11, 19]);
}

#[test]
fn code_in_ram_is_not_fetched_ahead_of_a_compare_and_branch() {
    let m4 = machine("cortex-m4", Buffer::Off);
    // ldr.w r6, [r7], from flash; nop; cbz or cbnz r5. A CC2652, from SRAM.
    let cycles = |branch: &[u16], landing| {
        let body = [&[0xF8D7, 0x6000, 0xBF00], branch].concat();
        window(m4.clone(), RAM + 0x130, &body, landing, [0, 0, 0, FLASH + 0x760])
    };
    let (wide, narrow) = ([0xF3AF, 0x8000], [0xBF00]);
    assert_eq!(cycles(&[0xB10D], 20), 11);
    assert_eq!(cycles(&[0xB115], 22), 13);
    assert_eq!(cycles(&[&[0xB915], &wide[..], &narrow].concat(), 22), 11);
    assert_eq!(cycles(&[&[0xB92D], &wide[..], &wide, &wide].concat(), 28), 13);
}

#[test]
fn stores_without_a_gap_pass_the_fetch_that_waits_for_them() {
    let m3 = machine("cortex-m3", Buffer::Off);
    // Rising numbers of strb r5, [r6], from SRAM to SRAM of an STM32F100.
    let chip = [4, 7, 10, 11, 12, 13, 18, 19, 21, 24, 27];
    let data = [0, RAM + 0x800, RAM + 0x800, 0];
    assert_eq!(rising(&m3, RAM + 0xA0, &[0x7035], 11, data), chip);
    // strd r4, r5, [r6], which nothing follows without a gap.
    assert_eq!(rising(&m3, RAM + 0x60, &[0xE9C6, 0x4500], 3, data)[2], 18);
}
