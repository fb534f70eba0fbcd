//! The memories of a soc: what trials take back, and which path accesses take.

use super::*;

const FLASH: u32 = 0;
/// Two RAMs side by side, and one that the fast path does not admit.
const RAM: u32 = 0x2000_0000;
const OTHER: u32 = RAM + SIZE;
const SLOW: u32 = 0x3000_0000;
const SIZE: u32 = 0x400;

fn bus() -> Bus {
    let memory = |name: &str, kind: &str, base: u32, more: &str| {
        format!(
            "[[memory]]\nname = \"{name}\"\nkind = \"{kind}\"\nbase = {base}\nsize = {SIZE}\n{more}\n"
        )
    };
    let text = format!(
        "name = \"bus\"\ndescription = \"\"\ncore = \"cortex-m3\"\nclock_hz = 1_000_000\n\
         interrupts = 8\npriority_bits = 3\n{}{}{}{}",
        memory("FLASH", "flash", FLASH, ""),
        memory("RAM", "ram", RAM, ""),
        memory("OTHER", "ram", OTHER, ""),
        memory("SLOW", "ram", SLOW, "timing = { wait_states = 1 }"),
    );
    let soc = Soc::from_toml(&text).expect("valid");
    Bus::new(&soc, |memory| memory.timing.wait_states == 0)
}

/// Everything that is in memory.
fn contents(bus: &Bus) -> Vec<Vec<u8>> {
    let memory = |base| {
        let mut bytes = vec![0; SIZE as usize];
        assert_eq!(bus.peek(base, &mut bytes), bytes.len());
        bytes
    };
    [FLASH, RAM, OTHER, SLOW].map(memory).into()
}

#[test]
fn what_a_trial_stores_is_taken_back() {
    let mut bus = bus();
    bus.open_main_ram(true);
    for base in [FLASH, RAM, OTHER, SLOW] {
        assert_eq!(bus.program(base + 8, &[1, 2, 3, 4, 5]), 5);
        assert_eq!(bus.program(base + 100, &[6, 7]), 2);
    }
    bus.code_place(FLASH + 4).expect("flash");
    let copy = bus.clone();
    let before = bus.begin_trial();
    bus.open_main_ram(true);
    assert_eq!(bus.ram_load::<4>(RAM + 8), None, "nothing is stored past the journal");
    for base in [RAM, OTHER, SLOW] {
        // Places that overlap, so that the order counts.
        for (at, byte) in [(8, 0x11_u8), (9, 0x22), (8, 0x33)] {
            bus.store(base + at, [byte; 4]).expect("RAM");
        }
    }
    assert!(bus.store(FLASH + 8, [0; 4]).is_none(), "flash accepts no stores");
    bus.program(FLASH + 10, &[7; 9]);
    bus.code_place(OTHER).expect("RAM");
    for _ in 0..ASTRAY {
        let place = bus.place(OTHER).expect("RAM");
        bus.note_slow(OTHER, place);
    }
    bus.reset();
    assert_ne!(contents(&bus), contents(&copy));
    assert!(bus.end_trial(before), "flash was programmed");
    assert_eq!(contents(&bus), contents(&copy));
    bus.open_main_ram(true);
    for address in [FLASH + 4, RAM, OTHER, SLOW] {
        assert_eq!(bus.is_near_code(address), copy.is_near_code(address), "{address:#x}");
        assert_eq!(bus.ram_load::<4>(address), copy.ram_load(address), "{address:#x}");
    }
    // Stores are not recorded any more.
    bus.store(RAM, [9; 4]).expect("RAM");
    assert!(bus.journal.is_none());
}

#[test]
fn a_trial_tells_whether_code_may_have_changed() {
    let changes = |store: &dyn Fn(&mut Bus)| {
        let mut bus = bus();
        bus.code_writes.cover(RAM + 0x10); // as far as 0x14
        let before = bus.begin_trial();
        store(&mut bus);
        bus.end_trial(before)
    };
    let word = |address| {
        changes(&move |bus: &mut Bus| {
            bus.store(address, [0; 4]).expect("RAM");
        })
    };
    assert!(!changes(&|_| {}));
    assert_eq!(
        [0xC, 0xD, 0x10, 0x13, 0x14].map(|at| word(RAM + at)),
        [false, true, true, true, false]
    );
    assert_eq!([OTHER + 0x10, SLOW + 0x10].map(word), [false, false]);
    assert!(changes(&|bus| assert_eq!(bus.program(FLASH, &[0]), 1)), "flash counts as code");
}

#[test]
fn a_trial_leaves_known_code_known() {
    let mut bus = bus();
    bus.code_writes.cover(RAM + 0x10);
    let before = bus.begin_trial();
    bus.store(RAM + 0x10, [0; 4]).expect("RAM");
    assert!(bus.code_writes.dirty);
    bus.end_trial(before);
    assert!(!bus.code_writes.dirty, "what was stored is gone");
}

#[test]
fn stores_where_code_ran_do_not_take_the_fast_path() {
    let mut bus = bus();
    bus.open_main_ram(true);
    bus.code_writes.cover(RAM + 0x20);
    bus.code_writes.cover(RAM + 0x10);
    // From 0x10 to 0x24.
    let quickly = [0xC, 0x10, 0x18, 0x20, 0x24].map(|at| bus.ram_store(RAM + at, [0; 4]));
    assert_eq!(quickly, [true, false, false, false, true]);
    let words = [(0x8, 2), (0x8, 3), (0x14, 1), (0x20, 1), (0x24, 2)];
    let quickly = words.map(|(at, count)| bus.ram_words_mut(RAM + at, count).is_some());
    assert_eq!(quickly, [true, false, false, false, true]);
    assert_eq!(bus.ram_words_mut(RAM, 3).map(|words| words.len()), Some(3));
    // Words are aligned, and all in the RAM.
    for (at, count) in [(1, 1), (2, 1), (3, 1), (SIZE - 4, 2), (SIZE, 1)] {
        assert!(bus.ram_words(RAM + at, count).is_none(), "{at}, {count}");
        assert!(bus.ram_words_mut(RAM + at, count).is_none(), "{at}, {count}");
    }
    assert_eq!(bus.ram_words(RAM + SIZE - 8, 2), Some(&[[RAM_AT_RESET; 4]; 2][..]));
}

#[test]
fn memories_side_by_side_are_told_apart() {
    let mut bus = bus();
    let place = |memory, offset| Some(Place { memory, offset });
    assert_eq!(bus.code_place(RAM), place(1, 0));
    assert_eq!(bus.code_place(OTHER - 2), place(1, SIZE - 2));
    assert!(bus.is_near_code(OTHER - 1) && !bus.is_near_code(OTHER));
    assert_eq!(bus.near_data::<4>(OTHER), None);
    assert_eq!(bus.code_place(OTHER), place(2, 0));
    assert!(bus.is_near_code(OTHER) && !bus.is_near_code(OTHER - 1));
    assert_eq!(bus.near_data::<4>(OTHER + 4), Some(([RAM_AT_RESET; 4], place(2, 4).expect("one"))));
    assert_eq!(bus.near_data::<4>(OTHER + SIZE - 2), None, "not all there");
    assert_eq!(bus.code_place(OTHER + SIZE), None);
}

#[test]
fn the_ram_that_is_used_most_gets_the_fast_path() {
    let mut bus = bus();
    bus.open_main_ram(true);
    let quick = |bus: &Bus| [RAM, OTHER, SLOW].map(|base| bus.ram_load::<4>(base).is_some());
    let access = |bus: &mut Bus, address| {
        let place = bus.place(address).expect("RAM");
        bus.note_slow(address, place);
    };
    // Neither a RAM that has to be asked how long it takes, nor the present one.
    for base in [SLOW, RAM] {
        (0..=ASTRAY).for_each(|_| access(&mut bus, base));
    }
    assert_eq!((quick(&bus), bus.astray), ([true, false, false], 0));
    for _ in 1..ASTRAY {
        access(&mut bus, OTHER + 8);
    }
    assert_eq!(quick(&bus), [true, false, false]);
    access(&mut bus, OTHER + 8);
    assert_eq!((quick(&bus), bus.astray), ([false, true, false], 0));
    // The contents are where they were.
    assert!(bus.ram_store(OTHER + SIZE - 4, [1, 2, 3, 4]));
    assert_eq!(bus.load::<4>(OTHER + SIZE - 4).map(|(bytes, _)| bytes), Some([1, 2, 3, 4]));
}

#[test]
fn copies_share_flash_until_one_is_programmed() {
    let (mut bus, bytes) = (bus(), [1, 2, 3]);
    let copy = bus.clone();
    assert_eq!(bus.program(FLASH + SIZE - 2, &bytes), 2, "as much as there is room for");
    assert_eq!(bus.program(OTHER - 2, &bytes), 2);
    assert_ne!(contents(&bus)[..2], contents(&copy)[..2]);
    assert_eq!(contents(&copy)[0], [0xFF; SIZE as usize]);
    assert_eq!(bus.peek_len(OTHER + 8), SIZE as usize - 8);
    assert_eq!(bus.find_in_ram(&[1, 2]), None, "only at a word's beginning");
    assert_eq!(bus.program(SLOW + 8, &bytes), 3);
    assert_eq!(bus.find_in_ram(&bytes), Some(SLOW + 8));
    // At reset RAM is as new, and flash keeps what it has.
    let flash = contents(&bus).swap_remove(0);
    bus.open_main_ram(true);
    bus.reset();
    assert_eq!(contents(&bus)[0], flash);
    assert_eq!(contents(&bus)[1..], contents(&copy)[1..]);
}
