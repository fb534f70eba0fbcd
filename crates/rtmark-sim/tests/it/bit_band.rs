//! Bit-banding (DDI 0337 and DDI 0439, 3.7).

use rtmark_sim::{CoreKind, FaultKind, FaultPolicy, Soc, Stop};

use crate::support::*;

const CORES: &[CoreKind] = &[CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4F];

/// The alias of a bit of SRAM.
fn alias(address: u32, bit: u32) -> u32 {
    0x2200_0000 + (address - 0x2000_0000) * 32 + bit * 4
}

#[test]
fn ram_bits_have_alias_words() {
    for &core in CORES {
        let mut firmware = Firmware::new();
        firmware.store(RAM + 0x100, 0x8000_0002).load(2, alias(RAM + 0x100, 1));
        firmware.load(3, alias(RAM + 0x100, 2)).load(4, alias(RAM + 0x100, 31));
        firmware.load(5, alias(RAM + 0x103, 7));
        // Only bit 0 of what is stored counts; all else stays.
        firmware.store(alias(RAM + 0x100, 4), 0xFFFF_FFFF).store(alias(RAM + 0x102, 0), 1);
        firmware.store(alias(RAM + 0x100, 31), 0xFFFF_FFFE).forever();
        let mut running = firmware.on(core);
        running.run(1_000);
        assert_eq!([2, 3, 4, 5].map(|number| running.r(number)), [1, 0, 1, 1], "{core}");
        assert_eq!(running.word(RAM + 0x100), 0x0001_0012, "{core}");
    }
}

#[test]
fn bytes_and_halfwords_of_an_alias_access_the_bit() {
    let mut firmware = Firmware::new();
    firmware.store(RAM, 0x0000_FF00).set(0, alias(RAM, 8)).op(&[0x7802, 0x8803]); // ldrb, ldrh
    firmware.set(0, alias(RAM, 0)).set(1, 1).op(&[0x7001]).set(0, alias(RAM, 9)).set(1, 0);
    firmware.op(&[0x8001]).forever();
    let mut running = firmware.on(CoreKind::CortexM4);
    running.run(1_000);
    assert_eq!([running.r(2), running.r(3)], [1, 1]);
    assert_eq!(running.word(RAM), 0x0000_FD01);
}

#[test]
fn code_changed_through_an_alias_is_decoded_again() {
    let mut firmware = Firmware::new();
    // adds r7, #1 in RAM becomes adds r7, #5 by one bit; then bx lr.
    firmware.set(7, 0).store(RAM, 0x4770_3701).set(6, RAM | 1).op(&[0x47B0]);
    firmware.store(alias(RAM, 2), 1).op(&[0x47B0]).forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.r(7), 1 + 5);
}

#[test]
fn a_soc_may_have_no_bit_bands() {
    let without = Soc { bit_bands: Some(false), ..soc(CoreKind::CortexM4F) };
    for soc in [without, soc(CoreKind::CortexM0Plus), soc(CoreKind::CortexM33)] {
        let mut firmware = Firmware::new();
        firmware.set(0, alias(RAM, 0)).op(&[0x6801]).forever();
        let mut running = firmware.on_soc(&soc);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(1_000) else { panic!("{}", soc.core) };
        assert_eq!((report.kind, report.address), (FaultKind::DataAccess, Some(alias(RAM, 0))));
    }
    let text = "name = 'x'\ndescription = 'd'\ncore = 'cortex-m33'\nclock_hz = 1000\n\
        interrupts = 32\npriority_bits = 3\nbit_bands = true\n[[memory]]\nname = 'RAM'\n\
        kind = 'ram'\nbase = 0\nsize = 64\n";
    let error = Soc::from_toml(text).expect_err("refused").to_string();
    assert!(error.contains("cortex-m33 has no bit-banding"), "{error}");
}

#[test]
fn aliases_of_unmapped_memory_fault_at_the_alias_address() {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, 1 << 17).set(0, alias(RAM + 0x8000, 3)).op(&[0x6801]).forever();
    firmware.handler(5).mark("bus fault").load(4, CFSR).load(5, BFAR).forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!((running.r(4), running.r(5)), (1 << 9 | 1 << 15, alias(RAM + 0x8000, 3)));
}

#[test]
fn the_protection_unit_checks_the_alias_address() {
    for (base, names) in [(0x2200_0000, &["mem manage"][..]), (RAM + 0x1000, &["beyond"])] {
        let mut firmware = Firmware::new();
        firmware.region(0, 0, 0x8000_0000, 3, 0).region(1, base, 0x1000, 0, 0);
        firmware.store(SHCSR, 1 << 16).store(MPU_CTRL, 1);
        let address = if base == 0x2200_0000 { RAM + 0x10 } else { RAM + 0x1010 };
        firmware.set(0, alias(address, 0)).op(&[0x6801]).mark("beyond").forever();
        firmware.handler(4).mark("mem manage").forever();
        let mut running = firmware.on(CoreKind::CortexM4);
        running.run(1_000);
        assert_eq!(running.names(), names);
    }
}

/// Cycles from one load of the counter to another one with these instructions in between:
/// `r4` leads to RAM, `r5` to the alias of another word of it, stores are not buffered.
fn between(core: CoreKind, instructions: &[u16]) -> u32 {
    let mut firmware = Firmware::new();
    firmware.store(DEMCR, 1 << 24).store(0xE000_1000, 1).store(ACTLR, 2);
    firmware.set(4, RAM + 0x550).set(5, alias(RAM + 0x150, 0)).set(0, 0xE000_1000);
    while !firmware.here().is_multiple_of(16) {
        firmware.nops(1);
    }
    // isb; ldr r1, [r0, #4]; ...; ldr r2, [r0, #4]
    firmware.op(&[0xF3BF, 0x8F6F, 0x6841]).op(instructions).op(&[0x6842]).forever();
    let mut running = firmware.on(core);
    running.run(1_000);
    running.r(2).wrapping_sub(running.r(1))
}

#[test]
fn alias_writes_read_the_word_first() {
    const STORE: [u16; 2] = [0xF8C4, 0x7000]; // str.w r7, [r4]
    const LOAD: [u16; 2] = [0xF8D4, 0x6000]; // ldr.w r6, [r4]
    const STORE_BIT: [u16; 2] = [0xF8C5, 0x7004];
    const LOAD_BIT: [u16; 2] = [0xF8D5, 0x6004];
    // As a CC2650 took: a write of a bit keeps the bus for three cycles more, and begins
    // with a read, which waits for a write before it.
    let measured: &[(&[[u16; 2]], u32)] = &[
        (&[STORE_BIT], 7),
        (&[STORE_BIT, STORE], 8),
        (&[STORE_BIT, STORE_BIT], 12),
        (&[STORE_BIT, STORE, STORE_BIT], 13),
        (&[STORE_BIT, STORE_BIT, STORE_BIT], 17),
        (&[LOAD_BIT, LOAD_BIT], 5),
        (&[LOAD_BIT, STORE_BIT], 8),
        (&[LOAD_BIT, STORE_BIT, LOAD, STORE], 11),
        (&[LOAD_BIT, STORE_BIT, LOAD_BIT, STORE_BIT], 14),
        (&[STORE_BIT, LOAD_BIT], 9),
        (&[STORE_BIT, LOAD_BIT, STORE_BIT, LOAD_BIT], 15),
    ];
    for (instructions, cycles) in measured {
        let found = between(CoreKind::CortexM3, &instructions.concat());
        assert_eq!(found, *cycles, "{instructions:04X?}");
    }
}
