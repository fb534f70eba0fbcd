//! Registers of RP2040, RP2350, LM3S6965 and STM32s by which firmware recognises the chip, for which it waits, or
//! which start something without a model.

use super::*;
use crate::{Level, PinChange};

/// RP2350 datasheet, the lists of registers of ROSC, CLOCKS, SYSINFO, WATCHDOG and SIO.
#[test]
fn rp2350_is_a_chip_whose_oscillators_run() {
    let mut rp = machine!("rp2350");
    let [sysinfo, clocks, rosc, watchdog] = [0x4000_0000, 0x4001_0000, 0x400E_8000, 0x400D_8000];
    assert_eq!((rp.read(sysinfo), rp.read(sysinfo + 8)), (0x2000_4927, 2), "no FPGA");
    assert_eq!((rp.read(rosc + 0x18), rp.read(rosc + 0x1C)), (8, 0x8000_1000));
    assert_eq!(rp.read(clocks + 0xA4), 1 << 4, "FC0_STATUS.DONE");
    rp.write(watchdog, 0x4000_0000);
    assert_eq!(rp.read(watchdog), 0x4000_0000);
    rp.write(watchdog, 0x8000_0000);
    assert_eq!(rp.read(watchdog), 0, "TRIGGER cannot be read");
    for at in 0..32 {
        assert_eq!(rp.read(0xD000_0100 + 4 * at), 1 << at, "spinlock {at}");
    }
}

/// RP2040 datasheet, appendix A: what ones clear is cleared by a plain write or through the alias that clears. Of
/// a timer INTR and ARMED, of IO_BANK0 INTR, of a UART UARTICR.
#[test]
fn the_alias_that_clears_reaches_what_ones_clear() {
    for (mut rp, timer, intr, bank, uart, microsecond) in [
        (machine!("rp2040"), 0x4005_4000, 0x34, 0x4001_40F0, 0x4003_4000, 125),
        (machine!("rp2350"), 0x400B_0000, 0x3C, 0x4002_8230, 0x4007_0000, 150),
    ] {
        let clear = 0x3000;
        let rise = PinChange { cycle: 100, level: Level::High };
        rp.write(timer + 0x10, 10);
        rp.write(timer + 0x14, 10);
        rp.write(timer + 0x18, 1 << 20);
        rp.0.drive_pin("GPIO0", &[rise]).expect("it has one");
        rp.write(uart + 0x30, 0x301);
        rp.write(uart + 0x24, 1);
        rp.write(uart, 0);
        rp.until(20 * microsecond);
        assert_eq!([rp.read(timer + intr), rp.read(timer + 0x20)], [0b011, 0b100]);
        rp.write(timer + intr + clear, 0b001);
        rp.write(timer + 0x20 + clear, 0b100);
        assert_eq!([rp.read(timer + intr), rp.read(timer + 0x20)], [0b010, 0]);
        assert_eq!(rp.read(bank) & 0xF, 0b1010);
        rp.write(bank + clear, 0b1000);
        assert_eq!(rp.read(bank) & 0xF, 0b0010);
        assert_eq!(rp.read(uart + 0x3C), 1 << 5, "UARTRIS: sent");
        rp.write(uart + 0x44 + clear, 1 << 5);
        assert_eq!(rp.read(uart + 0x3C), 0);
        // Others are read, changed and written.
        rp.write(timer + intr + 4, 0b111);
        rp.write(timer + intr + 4 + clear, 0b010);
        assert_eq!(rp.read(timer + intr + 4), 0b101);
        assert_eq!(rp.0.unmodelled().count(), 0);
    }
}

/// RP2040 datasheet, DIV_CSR: a written result ends the division; reading the quotient clears DIRTY.
#[test]
fn a_written_result_ends_rp2040s_division() {
    let mut rp = machine!("rp2040");
    let sio = 0xD000_0000;
    assert_eq!(rp.read(sio + 0x78), 0b01, "ready");
    rp.write(sio + 0x60, 100);
    rp.write(sio + 0x64, 7);
    assert_eq!(rp.read(sio + 0x78), 0b10, "dirty");
    rp.write(sio + 0x74, 5);
    rp.write(sio + 0x70, 6);
    assert_eq!(rp.read(sio + 0x78), 0b11);
    assert_eq!([0x74, 0x70, 0x78].map(|at| rp.read(sio + at)), [5, 6, 0b01]);
}

#[test]
fn both_files_of_rp2350_describe_the_same_peripherals() {
    let arm = include_str!("../../../../../../socs/rp2350.toml");
    let riscv = include_str!("../../../../../../socs/rp2350-riscv.toml");
    let [arm, riscv] = [arm, riscv].map(|text| Soc::from_toml(text).expect("good"));
    let mut shared = riscv.peripherals;
    for (one, other) in arm.peripherals.iter().zip(&mut shared) {
        if one.name == "BOOTRAM" {
            // A return of each instruction set.
            let code = [one.registers[0].reset, other.registers[0].reset];
            assert_eq!(code, [0x4770, 0x8082]);
            other.registers[0].reset = one.registers[0].reset;
        }
        assert_eq!(one, other);
    }
    assert_eq!(arm.peripherals.len(), shared.len());
}

/// The part's number, LM3S6965-IQC50-A2, and RCC2, which selects the internal oscillator as RCC does.
#[test]
fn lm3s6965_is_revision_a2() {
    let mut lm3s = machine!("lm3s6965");
    let found = [0x000, 0x004, 0x060, 0x070].map(|at| lm3s.read(0x400F_E000 + at));
    assert_eq!(found, [0x1001_0002, 0x1073_402E, 0x078E_3AD1, 0x0780_2810]);
}

/// RM0433, RCC_PLLCKSELR: the hardware keeps the divisor of a PLL that is on, and the source while any is.
#[test]
fn stm32h743s_plls_keep_their_input_while_they_run() {
    let mut h743 = machine!("stm32h743");
    let (control, select) = (0x5802_4400, 0x5802_4428);
    h743.write(select, 0x0040_4042);
    let off = h743.read(control);
    h743.write(control, off | 1 << 24);
    h743.write(select, 0);
    assert_eq!(h743.read(select), 0x0000_0042, "PLL1 is on");
    h743.write(control, off | 1 << 28);
    h743.write(select, 0x0120_5051);
    assert_eq!(h743.read(select), 0x0000_5052, "PLL3 is on");
    h743.write(control, off);
    h743.write(select, 0x0120_5051);
    assert_eq!(h743.read(select), 0x0120_5051);
}

/// What a program waits for in vain, or what would happen to it, is told: transfers by DMA, a window watchdog, another core,
/// a timer that is always on.
#[test]
fn what_has_no_model_is_told_when_it_starts() {
    let starts = [
        (machine!("stm32c031"), vec![(0x4002_0008, 0x81)]),
        (
            machine!("stm32f405"),
            vec![(0x4002_60B8, 1 << 25 | 1), (0x4002_6410, 1), (0x4000_2C00, 0xFF)],
        ),
        (machine!("stm32f411"), vec![(0x4002_6010, 1 << 25 | 1)]),
        (machine!("stm32f446"), vec![(0x4002_6028, 1)]),
        (machine!("stm32g071"), vec![(0x4002_0080, 1)]),
        (machine!("stm32g431"), vec![(0x4002_046C, 1)]),
        (machine!("stm32l432"), vec![(0x4002_0408, 1)]),
        (machine!("rp2040"), vec![(0xD000_0054, 1)]),
        (machine!("rp2350"), vec![(0xD000_0054, 1), (0x4010_0088, 0x5AFE_0002)]),
    ];
    for (mut machine, writes) in starts {
        for (told, (address, value)) in writes.into_iter().enumerate() {
            let soc = &machine.0.soc().name;
            assert_eq!(machine.0.unmodelled().count(), told, "{soc} before {address:#010x}");
            machine.write(address, value);
            let last = machine.0.unmodelled().any(|one| (one.address, one.writes) == (address, 1));
            assert!(last, "{} {address:#010x}", machine.0.soc().name);
        }
    }
}

/// Data sheets and device files of the vendors.
#[test]
fn registers_that_programs_change_bit_by_bit_have_their_reset_values() {
    for (mut chip, values) in [
        // OPTCR, AHB1LPENR.
        (machine!("stm32f405"), &[(0x4002_3C14, 0x0FFF_AAED), (0x4002_3850, 0x7E67_91FF)][..]),
        // AHBENR, OBR, RLR.
        (
            machine!("stm32f103"),
            &[(0x4002_1014, 0x14), (0x4002_201C, 0x03FF_FFFC), (0x4000_3008, 0xFFF)],
        ),
        // OPTR, APB1ENR1.
        (machine!("stm32g431"), &[(0x4002_2020, 0xFFEF_F8AA), (0x4002_1058, 0x400)]),
        // DC1, RCGC0.
        (machine!("lm3s6965"), &[(0x400F_E010, 0x0011_33FF), (0x400F_E100, 0x40)]),
        // The frequency of SPI and TWI, and a pin.
        (machine!("nrf52840"), &[(0x4000_3524, 0x0400_0000), (0x4000_3508, 0xFFFF_FFFF)]),
        // PWR_CR1, and the divisors of PLL2.
        (machine!("stm32h743"), &[(0x5802_4800, 0xF000_C000), (0x5802_4438, 0x0101_0280)]),
        // ACCESSCTRL's DMA; ATRANS1 of QMI.
        (machine!("rp2350"), &[(0x4006_0044, 0xFC), (0x400D_0038, 0x0400_0400)]),
        // What the FPGA's image is.
        (machine!("mps2-an505"), &[(0x5030_0FFC, 0x4104_5050), (0x4030_0FFC, 0x4104_5050)]),
        // The control of the flash's clock pin.
        (machine!("rp2040"), &[(0x4001_8004, 0x1F), (0x4006_0000, 0xAA0)]),
    ] {
        for (address, value) in values {
            assert_eq!(chip.read(*address), *value, "{} {address:#x}", chip.0.soc().name);
        }
    }
}

/// What does not respond reads as zero, and zeros change nothing there.
#[test]
fn peripherals_that_are_used_before_they_are_enabled_are_told_of() {
    let told = |machine: &Machine| -> Vec<String> {
        machine.not_enabled().map(|(name, by)| format!("{name}: {by}")).collect()
    };
    // RCC_APB1ENR; USART2 and its CR1 (RM0090).
    let (enable, control) = (0x4002_3840, 0x4000_440C);
    let mut f405 = machine!("stm32f405");
    f405.write(control, 0);
    assert_eq!(f405.read(control), 0);
    assert!(told(&f405.0).is_empty());
    f405.write(control, 1 << 13);
    f405.write(enable, 1 << 17);
    f405.write(control, 0);
    assert_eq!(told(&f405.0), ["USART2: RCC.APB1ENR[17] = 0x1"]);
    let mut f405 = machine!("stm32f405");
    f405.write(enable, 1 << 17);
    f405.write(control, 1 << 13);
    f405.write(enable, 0);
    f405.write(control, 0);
    assert!(told(&f405.0).is_empty());
    // RESETS.RESET, and UART0's UARTCR, which does not read as zero after reset (RP2040 datasheet).
    let mut pico = machine!("rp2040");
    assert_eq!(pico.read(0x4003_4030), 0x300);
    assert_eq!(told(&pico.0), ["UART0: RESETS.RESET[22] = 0x0"]);
}
