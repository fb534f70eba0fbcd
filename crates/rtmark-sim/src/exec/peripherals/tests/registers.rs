//! What registers without a model of their own hold, and which writes start something that has none. The judges
//! are the reference manuals and the vendors' headers.

use super::*;

/// Stores, then a register's address and value, and whether anything was told of.
type Row<'a> = (&'a [(u32, u32)], u32, u32, bool);

fn check(mut machine: Rig, rows: &[Row<'_>]) {
    for (stores, address, value, told) in rows {
        for (register, stored) in *stores {
            machine.write(*register, *stored);
        }
        assert_eq!(machine.read(*address), *value, "{stores:x?}: {address:#x}");
        let counted = machine.0.unmodelled().count() > 0;
        assert_eq!(counted, *told, "{stores:x?}: {address:#x}");
    }
}

#[test]
fn rp2040_start_up_code_finds_what_it_waits_for() {
    let [xip_ssi, sie_ctrl, adc, rtc] = [0x1800_0000, 0x5011_004C, 0x4004_C000, 0x4005_C000];
    // The flash is never busy; its identity is not known.
    check(machine!("rp2040"), &[(&[(xip_ssi + 0x60, 5)], xip_ssi + 0x60, 0, true)]);
    check(
        machine!("rp2040"),
        &[
            (&[(sie_ctrl + 0x2000, 0x4_0000)], sie_ctrl, 0x4_0000, false),
            (&[(adc, 1)], adc, 0x101, false),
            (&[], 0x4003_000C, 0x1F, false),
            (&[], 0x4001_C004, 0x56, false),
            (&[(0x4001_C004 + 0x3000, 0x40)], 0x4001_C004, 0x16, false),
            (&[(rtc + 4, 0x7E_4605)], rtc + 4, 0x7E_4605, false),
            (&[(adc, 5)], adc, 0x101, true),
        ],
    );
    for start in [(sie_ctrl, 0x1_0000), (rtc + 0xC, 1), (0x4000_8078, 0x1FF), (0x4000_8048, 0x820)]
    {
        check(machine!("rp2040"), &[(&[start], 0x4003_000C, 0x1F, true)]);
    }
}

#[test]
fn rp2350_start_up_code_finds_what_it_waits_for() {
    check(
        machine!("rp2350"),
        &[
            (&[(0x5011_204C, 0x4_0000)], 0x5011_004C, 0x4_8000, false),
            (&[(0x1BFF_C000, 0), (0x1800_0000, 0)], 0x4003_8004, 0x116, false),
            (&[(0x4010_0004, 0x5AFE_00C0)], 0xD000_0004, 0, false),
            (&[], 0x4001_003C, 0x41, false),
            // Spinlocks are held until they are released.
            (&[], 0xD000_0104, 2, false),
            (&[], 0xD000_0104, 0, false),
            (&[], 0xD000_005C, 2, false),
            (&[(0xD000_0104, 0)], 0xD000_005C, 0, false),
            // A pin's level is that of OUT where OE is one.
            (&[(0xD000_0018, 6), (0xD000_0038, 3)], 0xD000_0004, 2, false),
            (&[(0xD000_0028, 3)], 0xD000_0010, 5, false),
            // The other core is sent words, zero among them.
            (&[(0xD000_0054, 0)], 0xD000_0050, 2, true),
        ],
    );
    // STATUS of pin 0, CTRL of the first and of the last one: no function is selected.
    for (machine, bank, last) in
        [(machine!("rp2040"), 0x4001_4000, 29), (machine!("rp2350"), 0x4002_8000, 47)]
    {
        let [status, first, last] = [0, 4, 8 * last + 4].map(|at| bank + at);
        check(
            machine,
            &[
                (&[], status, 0, false),
                (&[], first, 0x1F, false),
                (&[(first, 5)], first, 5, false),
                (&[], last, 0x1F, false),
            ],
        );
    }
    check(machine!("rp2350"), &[(&[(0xD000_00AC, 0)], 0xD000_0000, 0, false)]);
    check(machine!("rp2350"), &[(&[(0xD000_00AC, 1)], 0xD000_0000, 0, true)]);
}

#[test]
fn stm32_ports_and_clocks_have_their_reset_values() {
    let ports = |base: u32| [base, base + 0x400, base + 0x800];
    for (machine, base, modes) in [
        (machine!("stm32f405"), 0x4002_0000, [0xA800_0000, 0x280, 0]),
        (machine!("stm32g431"), 0x4800_0000, [0xABFF_FFFF, 0xFFFF_FEBF, u32::MAX]),
        (machine!("stm32h743"), 0x5802_0000, [0xABFF_FFFF, 0xFFFF_FEBF, u32::MAX]),
        (machine!("stm32g071"), 0x5000_0000, [0xEBFF_FFFF, u32::MAX, u32::MAX]),
    ] {
        let rows: Vec<Row<'_>> = ports(base)
            .into_iter()
            .zip(modes)
            .map(|(at, mode)| (&[][..], at, mode, false))
            .collect();
        check(machine, &rows);
    }
    check(machine!("stm32f405"), &[(&[], 0x4002_3830, 0x10_0000, false)]);
}

/// Of each STM32: GPIOC, and the register with the flags of the last reset, their value after power-on, and the bit
/// that clears them.
fn stm32s() -> [(Rig, u32, u32, u32, u8); 10] {
    [
        (machine!("stm32c031"), 0x5000_0800, 0x4002_1060, 0x0C00_0000, 23),
        (machine!("stm32f100"), 0x4001_1000, 0x4002_1024, 0x0C00_0000, 24),
        (machine!("stm32f103"), 0x4001_1000, 0x4002_1024, 0x0C00_0000, 24),
        (machine!("stm32f405"), 0x4002_0800, 0x4002_3874, 0x0E00_0000, 24),
        (machine!("stm32f411"), 0x4002_0800, 0x4002_3874, 0x0E00_0000, 24),
        (machine!("stm32f446"), 0x4002_0800, 0x4002_3874, 0x0E00_0000, 24),
        (machine!("stm32g071"), 0x5000_0800, 0x4002_1060, 0x0C00_0000, 23),
        (machine!("stm32g431"), 0x4800_0800, 0x4002_1094, 0x0C00_0000, 23),
        (machine!("stm32h743"), 0x5802_0800, 0x5802_44D0, 0x00FA_0000, 16),
        (machine!("stm32l432"), 0x4800_0800, 0x4002_1094, 0x0C00_0000, 23),
    ]
}

/// RM0008, RM0090, RM0394, RM0433, RM0440, RM0444, GPIOx_BSRR: a pin that is set and reset at once is set.
#[test]
fn setting_an_output_precedes_resetting_it() {
    for (mut machine, port, ..) in stm32s() {
        let soc = machine.0.soc().name.clone();
        let output = port + if soc.starts_with("stm32f10") { 0xC } else { 0x14 };
        machine.write(output, 0b1110);
        machine.write(output + 4, 0b0110 << 16 | 0b0011);
        assert_eq!(machine.read(output), 0b1011, "{soc}");
    }
}

#[test]
fn the_flags_of_the_last_reset_can_be_cleared() {
    for (mut machine, _, register, flags, clear) in stm32s() {
        let soc = machine.0.soc().name.clone();
        let settings = machine.read(register) & 0xFFFF;
        assert_eq!(machine.read(register), flags | settings, "{soc}");
        machine.write(register, 1 << clear | settings);
        let cleared = machine.read(register);
        assert_eq!(cleared & !(1 << clear), settings, "{soc}");
        // RM0090: RMVF has no value to read.
        assert_eq!(cleared >> clear & 1, u32::from(!soc.starts_with("stm32f4")), "{soc}");
    }
}

/// What the factory writes: flash sizes in KiB, and one-time programmable and option bytes that nobody has programmed.
#[test]
fn factory_data_can_be_read() {
    check(
        machine!("stm32h743"),
        &[(&[], 0x1FF1_E880, 0xFFFF_0800, false), (&[], 0x1FF1_E800, 0x0020_0031, false)],
    );
    check(
        machine!("stm32g071"),
        &[
            (&[], 0x1FFF_7800, 0xFFFF_FEAA, false),
            (&[], 0x1FFF_7804, 0x0000_0155, false),
            (&[(0x1FFF_7000, 0)], 0x1FFF_7000, u32::MAX, false),
        ],
    );
    check(machine!("stm32f405"), &[(&[], 0x1FFF_79FC, u32::MAX, false)]);
}

/// Nothing is attached: a button between a pin and ground is not pressed.
#[test]
fn inputs_are_pulled_up_and_outputs_are_as_they_are_set() {
    for (machine, port) in [
        (machine!("stm32f405"), 0x4002_0800),
        (machine!("stm32l432"), 0x4800_0000),
        (machine!("stm32h743"), 0x5802_0800),
        (machine!("stm32g071"), 0x5000_0800),
    ] {
        let [mode, pull, input, output, set] = [0, 0xC, 0x10, 0x14, 0x18].map(|it| port + it);
        check(
            machine,
            &[
                // Pin 0 is an output, the others are inputs: 1 pulled up, 2 pulled down, 3 not pulled; 4 is
                // pulled up, and analog.
                (
                    &[(mode, 0b11_0000_0001), (pull, 0b01_0010_0100), (output, 0b1001)],
                    input,
                    0b0011,
                    false,
                ),
                (&[(set, 0b1 << 16)], input, 0b0010, false),
                (&[(mode, 0b11_0000_0101)], input, 0, false),
                (&[(set, 0b10)], input, 0b0010, false),
            ],
        );
    }
    for (machine, pads) in [(machine!("rp2040"), 0x4001_C000), (machine!("rp2350"), 0x4003_8000)] {
        let [set_output, enable] = if pads == 0x4001_C000 { [0x14, 0x24] } else { [0x18, 0x38] };
        let [levels, set_output, enable] = [4, set_output, enable].map(|it| 0xD000_0000 + it);
        check(
            machine,
            &[
                // PUE of pin 1 by the alias that sets bits; then the pin is an output.
                (&[(pads + 8 + 0x2000, 8)], levels, 0b10, false),
                (&[(enable, 0b11)], levels, 0, false),
                (&[(set_output, 0b01)], levels, 0b01, false),
                (&[(pads + 12, 8), (pads + 8 + 0x3000, 8)], levels, 0b101, false),
            ],
        );
    }
}

/// The settings of a PLL stay while it is on.
#[test]
fn plls_that_run_keep_their_settings() {
    let (f4_cr, f4_pll) = (0x4002_3800, 0x4002_3804);
    check(
        machine!("stm32f405"),
        &[
            (
                &[(f4_pll, 0x0740_5408), (f4_cr, 0x0101_0083), (f4_pll, 0)],
                f4_pll,
                0x0040_5408,
                false,
            ),
            (&[(f4_cr, 0x0001_0083), (f4_pll, 0x0300_3010)], f4_pll, 0x0300_3010, false),
        ],
    );
    let (f1_cr, f1_cfgr) = (0x4002_1000, 0x4002_1004);
    let kept = [(f1_cfgr, 0x001D_0400), (f1_cr, 0x0101_0083), (f1_cfgr, 0x0400)];
    check(machine!("stm32f103"), &[(&kept, f1_cfgr, 0x001D_0400, false)]);
    let (g4_cr, g4_pll) = (0x4002_1000, 0x4002_100C);
    let kept = [(g4_pll, 0x5533), (g4_cr, 0x0100_0500), (g4_pll, 0x0100_0000)];
    check(machine!("stm32g431"), &[(&kept, g4_pll, 0x0100_5533, false)]);
}

/// Interrupts and erasures that never come.
#[test]
fn what_stm32_programs_would_wait_for_is_told_of() {
    let rng = 0x5006_0800;
    check(
        machine!("stm32f405"),
        &[(&[(rng, 4)], rng + 4, 1, false), (&[(rng, 12)], rng, 12, true)],
    );
    let cir = 0x4002_380C;
    check(
        machine!("stm32f411"),
        &[(&[(cir, 0x9F_0000)], cir, 0, false), (&[(cir, 0x9F_1000)], cir, 0x1000, true)],
    );
    for address in [0x4001_0200, 0x4001_0300] {
        check(machine!("stm32g431"), &[(&[], address, 0, true)]);
    }
    let bank = 0x5200_4000;
    check(
        machine!("stm32h743"),
        &[(&[(bank, 0x30D2)], bank, 0x30D2, false), (&[(bank, 0x30DB)], bank, 0x30DB, true)],
    );
    // Lines of EXTI that nothing drives here: the USB's wake-up on an F405, a USART's on a G071.
    let lines = [
        (0x4001_3C00, 1 << 18, machine!("stm32f405")),
        (0x4002_1880, 1 << 25, machine!("stm32g071")),
    ];
    for (mask, line, machine) in lines {
        check(
            machine,
            &[(&[(mask, 1)], mask, 1, false), (&[(mask, line | 1)], mask, line | 1, true)],
        );
    }
}

/// DS60001527, CKGR_MOR: MOSCXTBY sets PMC_SR.MOSCXTS, as a crystal does that has started (MOSCXTEN); with both clear it
/// is 0.
#[test]
fn a_same70_takes_a_clock_on_xin_for_a_crystal_that_is_ready() {
    let [mor, status] = [0x400E_0620, 0x400E_0668];
    check(
        machine!("same70"),
        &[
            (&[(mor, 0x37_FF28)], status, 0x3_000A, false),
            (&[(mor, 0x37_FF29)], status, 0x3_000B, false),
            (&[(mor, 0x37_FF28)], status, 0x3_000A, false),
            (&[(mor, 0x37_FF2A)], status, 0x3_000B, false),
            (&[(mor, 0x37_FF28)], status, 0x3_000A, false),
        ],
    );
}
