//! Registers of the system control space: what they read as after reset, and which bits
//! of them can be written (DDI 0403, B3.2 and B4; DDI 0553, D1.2).

use rtmark_sim::{CoreKind, Stop};

use crate::support::*;

const ICTR: u32 = 0xE000_E004;
const CPUID: u32 = 0xE000_ED00;
const STIR: u32 = 0xE000_EF00;
const DHCSR: u32 = 0xE000_EDF0;

/// What a program reads at some addresses, four at a time.
fn read(core: CoreKind, addresses: &[u32], prepare: impl Fn(&mut Firmware)) -> Vec<u32> {
    let mut values = Vec::new();
    for some in addresses.chunks(4) {
        let mut firmware = Firmware::new();
        prepare(&mut firmware);
        for (&address, register) in some.iter().zip(4..) {
            firmware.load(register, address);
        }
        firmware.mark("end").forever();
        let mut running = firmware.on(core);
        assert_eq!(running.run(2_000), Stop::Limit);
        assert_eq!(running.names(), ["end"], "{core}");
        values.extend((4u8..).take(some.len()).map(|register| running.r(register)));
    }
    values
}

#[test]
fn cores_identify_themselves() {
    // DDI 0432, 0484, 0337, 0439 and 100230, the tables of their system control registers.
    let features: Vec<u32> =
        (0xE000_ED40..=0xE000_ED70).step_by(4).chain([0xE000_EF40, 0xE000_EF44]).collect();
    let m3: &[u32] = &[
        0x30,
        0x200,
        0x10_0000,
        0,
        0x30,
        0,
        0x0100_0000,
        0,
        0x0114_1110,
        0x0211_1000,
        0x2111_2231,
        0x0111_1110,
        0x0131_0102,
        0,
        0,
    ];
    let m4f: &[u32] = &[
        0x30,
        0x200,
        0x10_0000,
        0,
        0x30,
        0,
        0x0100_0000,
        0,
        0x0114_1110,
        0x0211_2000,
        0x2123_2231,
        0x0111_1131,
        0x0131_0132,
        0x1011_0021,
        0x1100_0011,
    ];
    let m33: &[u32] = &[
        0x30,
        0x210,
        0x20_0000,
        0,
        0x0010_1F40,
        0,
        0x0100_0000,
        0,
        0x0110_1110,
        0x0221_2000,
        0x2023_2232,
        0x0111_1131,
        0x0131_0132,
        0x1011_0021,
        0x1100_0011,
    ];
    let m7: &[u32] = &[
        0x0000_0030,
        0x0000_0200,
        0x0010_0000,
        0,
        0x0010_0030,
        0,
        0x0100_0000,
        0,
        0x0110_1110,
        0x0211_2000,
        0x2023_2231,
        0x0111_1131,
        0x0131_0132,
        0x1011_0221,
        0x1200_0011,
    ];
    for (core, part, registers) in [
        (CoreKind::CortexM0, 0xC20, None),
        (CoreKind::CortexM0Plus, 0xC60, None),
        (CoreKind::CortexM3, 0xC23, Some(m3)),
        (CoreKind::CortexM4F, 0xC24, Some(m4f)),
        (CoreKind::CortexM7, 0xC27, Some(m7)),
        (CoreKind::CortexM33, 0xD21, Some(m33)),
    ] {
        let cpuid = read(core, &[CPUID], |_| {})[0];
        assert_eq!((cpuid >> 24, cpuid >> 4 & 0xFFF), (0x41, part), "{core}");
        if let Some(registers) = registers {
            assert_eq!(read(core, &features, |_| {}), registers, "{core}");
        }
    }
}

#[test]
fn writes_change_only_implemented_bits() {
    // Register, what is written, what it then reads as.
    let table: &[(&str, CoreKind, u32, u32, u32)] = &[
        ("CCR", CoreKind::CortexM3, CCR, u32::MAX, 0x31B),
        ("CCR", CoreKind::CortexM0Plus, CCR, 0, 0x208),
        ("ACTLR", CoreKind::CortexM3, ACTLR, u32::MAX, 0x7),
        ("ACTLR", CoreKind::CortexM4F, ACTLR, u32::MAX, 0x307),
        ("SCR", CoreKind::CortexM4, SCR, u32::MAX, 0x16),
        ("VTOR", CoreKind::CortexM3, VTOR, u32::MAX, 0xFFFF_FF80),
        ("VTOR", CoreKind::CortexM0Plus, VTOR, u32::MAX, 0xFFFF_FF00),
        ("VTOR, which it has not", CoreKind::CortexM0, VTOR, u32::MAX, 0),
        ("AIRCR without its key", CoreKind::CortexM3, AIRCR, 0x0000_0700, 0xFA05_0000),
        ("AIRCR", CoreKind::CortexM3, AIRCR, 0x05FA_0500, 0xFA05_0500),
        ("CPACR without an FPU", CoreKind::CortexM4, CPACR, u32::MAX, 0),
        ("CPACR", CoreKind::CortexM4F, CPACR, u32::MAX, 0x00F0_0000),
        ("FPCCR", CoreKind::CortexM4F, FPCCR, 0, 0),
        ("SHCSR", CoreKind::CortexM3, SHCSR, 7 << 16, 7 << 16),
        ("ICTR", CoreKind::CortexM3, ICTR, u32::MAX, 0),
        ("DHCSR with its key", CoreKind::CortexM3, DHCSR, 0xA05F_0003, 0x0301_0000),
        ("DCRDR", CoreKind::CortexM4, 0xE000_EDF8, 0x1234_5678, 0x1234_5678),
        ("MMFAR", CoreKind::CortexM3, MMFAR, 0x1234_5678, 0x1234_5678),
    ];
    for &(what, core, address, value, expected) in table {
        let values = read(core, &[address], |firmware| {
            firmware.store(address, value);
        });
        assert_eq!(values, [expected], "{core}: {what}");
    }
    let twice = read(CoreKind::CortexM3, &[DHCSR, DHCSR], |_| {});
    assert_eq!(twice, [0x0301_0000, 0x0101_0000], "S_RESET_ST is told once (C1.6.2)");
}

#[test]
fn a_cortex_m0_has_no_unprivileged_code() {
    for (core, expected) in [(CoreKind::CortexM0, 0), (CoreKind::CortexM0Plus, 1)] {
        let mut firmware = Firmware::new();
        firmware.unprivileged().mrs(4, 20).mark("end").forever();
        let mut running = firmware.on(core);
        running.run(1_000);
        assert_eq!((running.names(), running.r(4)), (vec!["end"], expected), "{core}");
    }
}

#[test]
fn unprivileged_code_can_trigger_interrupts_if_allowed() {
    // B3.2.26 and CCR.USERSETMPEND.
    for (allows, names) in [(2, &["interrupt", "after"][..]), (0, &["hard fault"])] {
        let mut firmware = Firmware::new();
        firmware.enable(1 << 3).store(CCR, 1 << 9 | allows).unprivileged();
        firmware.store(STIR, 3).nops(3).mark("after").forever();
        firmware.handler(16 + 3).mark("interrupt").op(&[BX_LR]);
        firmware.handler(3).mark("hard fault").forever();
        let mut running = firmware.on(CoreKind::CortexM3);
        running.run(1_000);
        assert_eq!(running.names(), names);
    }
}

#[test]
fn active_state_is_cleared_on_request() {
    // B3.2.6, AIRCR.VECTCLRACTIVE.
    let mut firmware = Firmware::new();
    firmware.op(&[0xDF00]).forever();
    firmware.handler(11).load(4, SHCSR).store(AIRCR, 0x05FA_0002).load(5, SHCSR).mrs(6, 5);
    firmware.mark("end").forever();
    let mut running = firmware.on(CoreKind::CortexM4);
    running.run(1_000);
    assert_eq!(running.names(), ["end"]);
    assert_eq!([4, 5, 6].map(|number| running.r(number)), [1 << 7, 0, 0]);
}

/// A Cortex-M3 of a revision.
fn revised(revision: &str) -> rtmark_sim::Soc {
    let text = include_str!("../../../../socs/generic-cortex-m3.toml");
    let line = "core = \"cortex-m3\"";
    let text = text.replace(line, &format!("{line}\nrevision = \"{revision}\""));
    rtmark_sim::Soc::from_toml(&text).expect("a known revision")
}

#[test]
fn revisions_identify_themselves() {
    // CPUID of r1p1 and r2p1 (DDI 0337, CPUID: variant and revision); ACTLR came with r2p0;
    // STKALIGN is set at reset from r2p0 on (IHI 0046B, 2.3.3).
    for (revision, cpuid, auxiliary, configuration) in
        [("r1p1", 0x411F_C231, 0, 0), ("r2p1", 0x412F_C231, 7, 1 << 9)]
    {
        let mut firmware = Firmware::new();
        firmware.store(ACTLR, 7).load(4, CPUID).load(5, ACTLR).load(6, CCR).mark("end").forever();
        let mut running = firmware.on_soc(&revised(revision));
        running.run(1_000);
        assert_eq!(running.names(), ["end"]);
        let values = [4, 5, 6].map(|number| running.r(number));
        assert_eq!(values, [cpuid, auxiliary, configuration], "{revision}");
    }
}

#[test]
fn early_revisions_buffer_stores_regardless_of_actlr() {
    // On an STM32F100 (r1p1) programs take the same cycles with ACTLR.DISDEFWBUF as without.
    // On a CC2650 (r2p1) a store that is not buffered takes longer.
    let cycles = |revision: &str, auxiliary: u32| {
        let mut firmware = Firmware::new();
        firmware.store(ACTLR, auxiliary).set(0, RAM).op(&[0xF3BF, 0x8F6F]).mark("begin");
        // STR r1, [r0]; ADD r2, r2, #1
        for _ in 0..4 {
            firmware.op(&[0x6001, 0xF102, 0x0201]);
        }
        firmware.mark("end").forever();
        let mut running = firmware.on_soc(&revised(revision));
        running.run(1_000);
        running.cycle("end") - running.cycle("begin")
    };
    assert_eq!(cycles("r1p1", 0), cycles("r1p1", 2));
    assert_eq!(cycles("r1p1", 0), cycles("r2p1", 0), "the buffer itself is the same");
    assert!(cycles("r2p1", 0) < cycles("r2p1", 2));
}
