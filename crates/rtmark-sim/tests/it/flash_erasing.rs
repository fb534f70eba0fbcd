//! Erasing a flash, as the reference manuals say: a page by PER or SER, all of it by MER, and no code by the erasure
//! of something else. And what code loads from flash is what has been programmed last.

use rtmark_sim::{Cycles, Machine, Register, Soc};

const F100: &str = include_str!("../../../../socs/stm32f100.toml");
const F103: &str = include_str!("../../../../socs/stm32f103.toml");
const F405: &str = include_str!("../../../../socs/stm32f405.toml");
const G071: &str = include_str!("../../../../socs/stm32g071.toml");
const H743: &str = include_str!("../../../../socs/stm32h743.toml");

const FLASH: u32 = 0x0800_0000;
const MARK: [u8; 4] = [1, 2, 3, 4];
const ERASED: [u8; 4] = [0xFF; 4];

/// The stores that unlock the flash with this key register.
fn unlock(keys: u32) -> [(u32, u32); 2] {
    [(keys, 0x4567_0123), (keys, 0xCDEF_89AB)]
}

/// Which of some addresses are erased by stores to the flash's registers, and whether that is told of.
fn erased(text: &str, stores: &[(u32, u32)], addresses: &[u32]) -> (Vec<bool>, bool) {
    let mut machine = Machine::new(&Soc::from_toml(text).expect("a soc"));
    for address in addresses {
        machine.poke(*address, &MARK).expect("flash");
    }
    for (register, value) in stores {
        machine.store_word(*register, *value).expect("a register");
    }
    let is_erased = |address: &u32| {
        let found = machine.peek(*address, 4);
        assert!([MARK, ERASED].contains(&found[..].try_into().expect("a word")), "{found:?}");
        found == ERASED
    };
    let told = machine.unmodelled().any(|it| it.writes > 0);
    (addresses.iter().map(is_erased).collect(), told)
}

/// PM0075: CR at 0x10, AR at 0x14; PER 1, MER 2, OPTER 5, STRT 6.
#[test]
fn an_stm32f1_erases_the_page_that_per_selects() {
    let (cr, ar) = (0x4002_2010, 0x4002_2014);
    let addresses = [FLASH, FLASH + 0x13FC, FLASH + 0x1400, FLASH + 0x17FC, FLASH + 0x1800];
    let erased =
        |stores: &[(u32, u32)]| erased(F103, &[&unlock(0x4002_2004), stores].concat(), &addresses);
    let page = erased(&[(cr, 2), (ar, FLASH + 0x1523), (cr, 0x42)]);
    assert_eq!(page, (vec![false, false, true, true, false], true));
    assert_eq!(erased(&[(cr, 4), (cr, 0x44)]), (vec![true; 5], true));
    // Option bytes, with the address register at its reset value; and nothing selected.
    assert_eq!(erased(&[(cr, 0x20), (cr, 0x60)]), (vec![false; 5], true));
    assert_eq!(erased(&[(ar, FLASH), (cr, 0x40)]), (vec![false; 5], true));
    assert_eq!(erased(&[(ar, FLASH), (cr, 2)]), (vec![false; 5], false));
}

/// PM0075 and PM0063: EOP is bit 5 of SR at 0xC, set after an erasure and cleared by a one.
#[test]
fn an_stm32f1_says_that_an_erasure_has_ended() {
    let (sr, cr, ar) = (0x4002_200C, 0x4002_2010, 0x4002_2014);
    for text in [F100, F103] {
        let mut machine = Machine::new(&Soc::from_toml(text).expect("a soc"));
        // ldr r7, [r6]
        machine.poke(0x2000_0000, &0x6837_u16.to_le_bytes()).expect("RAM");
        let after = |machine: &mut Machine, stores: &[(u32, u32)]| {
            for (register, value) in stores {
                machine.store_word(*register, *value).expect("a register");
            }
            machine.set_register(Register::R(6), sr);
            machine.set_register(Register::Pc, 0x2000_0000);
            machine.step(Cycles::MAX).expect("a step");
            machine.register(Register::R(7))
        };
        let erase = [(cr, 2), (ar, FLASH), (cr, 0x42)];
        assert_eq!(after(&mut machine, &erase), 0, "it is locked");
        assert_eq!(after(&mut machine, &unlock(0x4002_2004)), 0);
        assert_eq!(after(&mut machine, &erase), 0x20);
        assert_eq!(after(&mut machine, &[(sr, 0x14)]), 0x20);
        assert_eq!(after(&mut machine, &[(sr, 0x20)]), 0);
    }
}

/// RM0090: CR at 0x10; SER 1, MER 2, SNB from 3, STRT 16. RM0444: CR at 0x14; PER 1, MER1 2, PNB from 3, STRT 16.
#[test]
fn sectors_and_pages_are_selected_by_number() {
    let addresses = [FLASH, FLASH + 0x4000, FLASH + 0x8000];
    let of_f405 = |value| {
        let stores = [&unlock(0x4002_3C04)[..], &[(0x4002_3C10, value)]].concat();
        erased(F405, &stores, &addresses)
    };
    assert_eq!(of_f405(0x1_000A), (vec![false, true, false], true));
    assert_eq!(of_f405(0x1_0004).0, [true; 3]);
    assert_eq!(of_f405(0x1_0008).0, [false; 3]);
    let addresses = [FLASH, FLASH + 0x800, FLASH + 0x1000];
    let of_g071 = |value| {
        let stores = [&unlock(0x4002_2008)[..], &[(0x4002_2014, value)]].concat();
        erased(G071, &stores, &addresses).0
    };
    assert_eq!(of_g071(0x1_000A), [false, true, false]);
    assert_eq!(of_g071(0x1_0004), [true; 3]);
}

/// RM0433: KEYR1 at 0x4, CR1 at 0xC, those of the second bank 0x100 further; LOCK 0, SER 2, START 7, SNB from 8.
#[test]
fn a_locked_flash_erases_nothing() {
    let flash = 0x5200_2000;
    let addresses = [FLASH, FLASH + 0x2_0000, FLASH + 0x10_0000, FLASH + 0x12_0000];
    for (bank, sector) in [(0, 1), (0x100, 3)] {
        let erase = (flash + bank + 0xC, 0x1B4);
        assert_eq!(erased(H743, &[erase], &addresses).0, [false; 4]);
        let unlocked =
            erased(H743, &[unlock(flash + bank + 4).as_slice(), &[erase]].concat(), &addresses).0;
        let expected: Vec<_> = (0..4).map(|at| at == sector).collect();
        assert_eq!(unlocked, expected, "{bank:#x}");
    }
    // The highest bit of CR, or bit 7 of an STM32F1's, is LOCK: no store but the keys' clears it.
    for (chip, cr, erase) in
        [(F103, 0x4002_2010, 0x44), (F405, 0x4002_3C10, 0x1_0004), (G071, 0x4002_2014, 0x1_0004)]
    {
        assert_eq!(erased(chip, &[(cr, 0), (cr, erase)], &[FLASH]), (vec![false], false));
    }
}

/// A literal is a word of flash like any other, even where the code that loads it has become native code.
#[test]
fn code_that_executes_often_loads_the_literal_that_was_programmed_last() {
    const NRF51: &str = include_str!("../../../../socs/nrf51822.toml");
    const NRF52: &str = include_str!("../../../../socs/nrf52840.toml");
    const ROUNDS: u32 = 200 << 5;
    // r1 sums the word at 0x140, in rounds of four instructions; then it is set to 0x00FF, and summed again.
    let code: [u16; 21] = [
        0x2100, 0x2702, // movs r1, #0; movs r7, #2
        0x23C8, 0x015B, // movs r3, #200; lsls r3, r3, #5
        0x480D, // ldr r0, [pc, #52]: 0x140
        0x1809, 0x3B01, 0xD1FB, // adds r1, r0; subs r3, #1; bne
        0x4C0C, 0x2501, 0x6025, // ldr r4, [pc, #48]: 0x144; movs r5, #1; str r5, [r4]
        0x4E0C, 0x25FF, 0x6035, // ldr r6, [pc, #48]: 0x148; movs r5, #255; str r5, [r6]
        0x2500, 0x6025, // movs r5, #0; str r5, [r4]
        0x3F01, 0xD1EF, // subs r7, #1; bne
        0xBF00, 0xE7FE, 0xBF00, // nop; b .; nop
    ];
    let words = [0x3FFF_u32, 0x4001_E504, 0x140];
    for soc in [NRF51, NRF52] {
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let poke = |machine: &mut Machine, at: u32, bytes: &[u8]| {
            machine.poke(at, bytes).expect("flash");
        };
        poke(&mut machine, 0, &[0x2000_1000_u32, 0x101].map(u32::to_le_bytes).concat());
        poke(&mut machine, 0x100, &code.map(u16::to_le_bytes).concat());
        poke(&mut machine, 0x140, &words.map(u32::to_le_bytes).concat());
        machine.reset().expect("vectors");
        machine.run(Cycles(400_000));
        assert_eq!(machine.peek(0x140, 4), 0xFF_u32.to_le_bytes());
        let sum = ROUNDS * (words[0] + (words[0] & 0xFF));
        assert_eq!(machine.register(Register::R(1)), sum, "{}", machine.register(Register::Pc));
    }
}
