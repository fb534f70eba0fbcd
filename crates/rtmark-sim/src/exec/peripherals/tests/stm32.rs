//! What programs wait for, and look at, in STM32s.

use super::*;

/// RM0390, RCC_CR.
#[test]
fn every_pll_of_stm32f446_becomes_ready() {
    let mut f446 = machine!("stm32f446");
    for pll in [24, 26, 28] {
        let before = f446.read(0x4002_3800);
        f446.write(0x4002_3800, before | 1 << pll);
        assert_eq!(f446.read(0x4002_3800) >> pll & 3, 0b11, "{pll}");
    }
}

/// A transfer that has begun keeps its channel enabled, and is told of: BDMA and MDMA have no model.
#[test]
fn channels_of_dma_stay_enabled() {
    let mut h743 = machine!("stm32h743");
    let controls = [0x5802_5408, 0x5802_5494, 0x5200_004C, 0x5200_040C];
    for multiplexer in [0x5802_5800, 0x5802_581C] {
        h743.write(multiplexer, 5);
        assert_eq!(h743.read(multiplexer), 5, "{multiplexer:#x}");
    }
    for (told, control) in controls.into_iter().enumerate() {
        h743.write(control + 4, 16);
        assert_eq!(h743.0.unmodelled().count(), told, "{control:#x}");
        h743.write(control, 1 << 4 | 1);
        assert_eq!(h743.read(control), 1 << 4 | 1, "{control:#x}");
        assert_eq!(h743.0.unmodelled().count(), told + 1, "{control:#x}");
    }
}

/// RM0090, OTG_FS: what drivers wait for at their start, and what they find without a cable.
#[test]
fn a_usb_device_without_a_cable_is_initialised() {
    for mut chip in [machine!("stm32f405"), machine!("stm32f411"), machine!("stm32f446")] {
        let usb = 0x5000_0000;
        let (reset, interrupts, device_control) = (usb + 0x10, usb + 0x14, usb + 0x804);
        assert_eq!(chip.read(reset), 0x8000_0000, "the bus is idle");
        for (written, read) in [(1, 0), (1 << 4, 0), (0x10 << 6 | 1 << 5, 0x10 << 6)] {
            chip.write(reset, written);
            assert_eq!(chip.read(reset), 0x8000_0000 | read, "done at once");
        }
        assert_eq!(chip.read(interrupts), 0x0400_0020);
        chip.write(interrupts, 0xBFFF_FFFF);
        assert_eq!(chip.read(interrupts), 0x0400_0020, "empty buffers");
        chip.write(usb + 8, 1);
        chip.write(usb + 0xC, 1 << 30 | 0x1440);
        assert_eq!(chip.read(usb + 0xC), 1 << 30 | 0x1440);
        // An endpoint is disabled as soon as a driver asks, with SNAK and CNAK.
        for (nak, status) in [(1 << 27, 1 << 17), (1 << 26, 0)] {
            chip.write(usb + 0xB00, 1 << 30 | nak);
            assert_eq!(chip.read(usb + 0xB00), 1 << 15 | status);
        }
        // The global NAK is in effect at once: SGONAK, GONSTS, GOUTNAKEFF.
        chip.write(device_control, 1 << 9);
        assert_eq!(chip.read(interrupts), 0x0400_00A0);
        chip.write(device_control, 1 << 10);
        assert_eq!(chip.read(interrupts), 0x0400_0020);
        chip.write(usb + 0x910, 0x7F);
        assert_eq!(chip.read(usb + 0x910), 0x7F);
        chip.write(device_control, 2);
        assert_eq!(chip.read(device_control), 2);
        assert_eq!(chip.0.unmodelled().count(), 0);
        // Nothing is connected: the transceiver (PWRDWN) is what can begin.
        chip.write(usb + 0x38, 1 << 16);
        assert_eq!(chip.read(usb + 0x38), 1 << 16);
        assert_eq!(chip.0.unmodelled().count(), 1);
    }
}

/// RM0090 and RM0444, SR and the other registers of basic timers and of those with one or two channels.
#[test]
fn timers_have_the_channels_of_their_chip() {
    for (mut chip, timer, channels) in [
        (machine!("stm32f405"), 0x4000_1000, 0),
        (machine!("stm32h743"), 0x4000_1400, 0),
        (machine!("stm32g071"), 0x4000_2000, 1),
        (machine!("stm32f411"), 0x4001_4400, 1),
        (machine!("stm32g431"), 0x4001_4400, 1),
        (machine!("stm32f446"), 0x4001_4000, 2),
        (machine!("stm32l432"), 0x4001_4000, 2),
        (machine!("stm32f103"), 0x4000_0400, 4),
    ] {
        let there = (1_u32 << channels) - 1;
        let name = chip.0.soc().name.clone();
        chip.write(timer + 0x14, 0x1E);
        assert_eq!(chip.read(timer + 0x10), there << 1, "{name}: SR after events of the program's");
        chip.write(timer + 0x10, 0);
        chip.write(timer + 0xC, 0x1E);
        assert_eq!(chip.read(timer + 0xC), there << 1, "{name}: DIER");
        chip.write(timer + 0xC, 0);
        for at in 0..4 {
            let (compare, value) = (timer + 0x34 + 4 * at, 7 + at);
            chip.write(compare, value);
            let kept = if at < channels { value } else { 0 };
            assert_eq!(chip.read(compare), kept, "{name}: CCR{}", at + 1);
        }
        for (at, mode) in [(0, timer + 0x18), (2, timer + 0x1C)] {
            chip.write(mode, 0x6868);
            let kept = [0, 0x68, 0x6868][(channels.max(at) - at).min(2) as usize];
            assert_eq!(chip.read(mode), kept, "{name}: CCMR at {mode:#x}");
        }
        chip.write(timer + 0x20, 0x1111);
        assert_eq!(
            chip.read(timer + 0x20),
            0x1111 & ((1_u32 << (4 * channels)) - 1),
            "{name}: CCER"
        );
        // Those with fewer only count up.
        chip.write(timer, 0x10);
        assert_eq!(chip.read(timer), if channels == 4 { 0x10 } else { 0 }, "{name}: CR1");
        chip.write(timer, 0);
        chip.write(timer + 0x2C, 99);
        chip.write(timer, 1);
        chip.until(200);
        assert_eq!(chip.read(timer + 0x10) & 0x1E & !(there << 1), 0, "{name}: SR of a period");
        assert_eq!(chip.read(timer + 0x10) & 1, 1, "{name}: it counts");
        assert_eq!(chip.0.unmodelled().count(), 0, "{name}");
    }
}

/// RM0090, TIMx_SMCR: encoders are SMS 1 to 3, an external clock is 7 or ECE. Nothing turns.
#[test]
fn counters_of_edges_stand_still() {
    let (timer, slave, count) = (0x4000_0400, 0x4000_0408, 0x4000_0424);
    for (mode, counts) in
        [(0, true), (1, false), (3, false), (4, true), (7, false), (1 << 14, false)]
    {
        let mut f405 = machine!("stm32f405");
        f405.write(slave, mode);
        f405.write(timer, 1);
        f405.until(500);
        let counted = f405.read(count);
        assert_eq!(counted > 0, counts, "{mode:#x}: {counted}");
        // It goes on with its clock, and stops again.
        f405.write(slave, 0);
        f405.until(600);
        let counted = f405.read(count) - counted;
        assert!((98..=102).contains(&counted), "{mode:#x}: {counted}");
        f405.write(slave, mode);
        let before = f405.read(count);
        f405.until(700);
        assert_eq!(f405.read(count) > before + 2, counts, "{mode:#x}");
    }
}
