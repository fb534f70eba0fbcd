//! Pins driven from outside: their registers, and interrupts on their edges.

use super::*;
use crate::{Level, PinChange, UnknownPin};

fn changes(of: &[(u64, u8)]) -> Vec<PinChange> {
    let level = |level| if level == 0 { Level::Low } else { Level::High };
    of.iter().map(|&(cycle, to)| PinChange { cycle, level: level(to) }).collect()
}

#[test]
fn input_registers_show_driven_pins_and_configured_ones() {
    let mut f405 = machine!("stm32f405");
    let (input, output) = (0x4002_0810, 0x4002_0814);
    f405.0.drive_pin("pc13", &changes(&[(100, 1), (200, 0)])).expect("it has it");
    f405.write(0x4002_0800, 1 << 4);
    f405.write(output, 1 << 13 | 1 << 2);
    assert_eq!(f405.read(input), 1 << 2, "low before the first change, whatever ODR says");
    f405.until(98);
    assert_eq!(f405.read(input), 1 << 2);
    f405.until(101);
    assert_eq!(f405.read(input), 1 << 13 | 1 << 2);
    f405.until(201);
    assert_eq!(f405.read(input), 1 << 2);
    assert_eq!(f405.read(0x4002_0010), 0xA000, "port A has pull-ups of its debugger alone");
    let error = f405.0.drive_pin("PA16", &[]).expect_err("there are sixteen");
    assert!(matches!(&error, UnknownPin { name, .. } if name == "PA16"));
    assert!(error.to_string().contains("PA0 to PA15, PB0 to PB15"), "{error}");
}

#[test]
fn every_family_shows_its_input_pins() {
    let pins = [
        (machine!("nrf52840"), "P1.09", None, 0),
        (machine!("nrf52840"), "P1.9", Some(0x5000_0810), 9),
        (machine!("nrf52840"), "P0.31", Some(0x5000_0510), 31),
        (machine!("rp2040"), "GPIO29", Some(0xD000_0004), 29),
        (machine!("rp2350"), "GPIO3", Some(0xD000_0004), 3),
        (machine!("stm32f100"), "PB7", Some(0x4001_0C08), 7),
        (machine!("stm32l432"), "PA0", Some(0x4800_0010), 0),
        (machine!("stm32c031"), "PF2", Some(0x5000_1410), 2),
        (machine!("stm32g071"), "PD3", Some(0x5000_0C10), 3),
        (machine!("lm3s6965"), "PA0", None, 0),
    ];
    for (mut machine, pin, register, bit) in pins {
        let soc = machine.0.soc().name.clone();
        let driven = machine.0.drive_pin(pin, &changes(&[(50, 1)]));
        let Some(register) = register else {
            assert!(driven.is_err(), "{soc} {pin}");
            continue;
        };
        driven.expect("it has it");
        if soc.starts_with("stm32") && soc != "stm32f100" {
            // Pins that are analog, as after reset, read as zero.
            machine.until(60);
            let mode = register - 0x10;
            assert_eq!(machine.read(register) >> bit & 1, 0, "{soc} {pin}");
            machine.write(mode, 0);
            assert_eq!(machine.read(register) >> bit & 1, 1, "{soc} {pin}");
            continue;
        }
        if soc.starts_with("nrf") {
            // Inputs are disconnected after reset, and read as zero until PIN_CNF connects them.
            let configuration = register + 0x1F0 + 4 * bit;
            machine.until(60);
            assert_eq!(machine.read(register) >> bit & 1, 0, "{soc} {pin}");
            machine.write(configuration, 0);
            assert_eq!(machine.read(register) >> bit & 1, 1, "{soc} {pin}");
            continue;
        }
        let others = machine.read(register);
        assert_eq!(others >> bit & 1, 0, "{soc} {pin}");
        machine.until(60);
        assert_eq!(machine.read(register), others | 1 << bit, "{soc} {pin}");
    }
}

#[test]
fn edges_pend_the_interrupt_of_the_line_routed_to_their_port() {
    let mut f405 = machine!("stm32f405");
    let (select, exti) = (0x4001_3814, 0x4001_3C00);
    let (mask, rising, falling, pending) = (exti, exti + 8, exti + 0xC, exti + 0x14);
    f405.0.drive_pin("PC13", &changes(&[(100, 1), (200, 0), (300, 1), (400, 0)])).expect("one");
    f405.0.drive_pin("PA13", &changes(&[(500, 1)])).expect("one");
    f405.write(select, 2 << 4);
    f405.write(rising, 1 << 13);
    f405.until(150);
    assert_eq!((f405.read(pending), f405.pending(40)), (1 << 13, false), "masked");
    f405.write(mask, 1 << 13);
    assert!(f405.pending(40), "EXTI15_10");
    f405.write(pending, 1 << 13);
    assert_eq!(f405.read(pending), 0);
    f405.until(250);
    assert_eq!(f405.read(pending), 0, "no falling ones");
    f405.write(rising, 0);
    f405.write(falling, 1 << 13);
    f405.until(398);
    assert_eq!(f405.read(pending), 0, "no rising ones any more");
    f405.until(401);
    assert_eq!(f405.read(pending), 1 << 13);
    f405.write(pending, 1 << 13);
    f405.write(rising, 1 << 13);
    f405.until(600);
    assert_eq!(f405.read(pending), 0, "PA13 is not the line's");
}

#[test]
fn programs_can_pend_an_exti_line() {
    let mut f100 = machine!("stm32f100");
    let exti = 0x4001_0400;
    f100.write(exti + 0x10, 1 << 3);
    assert_eq!((f100.read(exti + 0x14), f100.read(exti + 0x10)), (0, 1 << 3), "it is masked");
    f100.write(exti + 0x14, 1 << 3);
    f100.write(exti, 1 << 3);
    f100.write(exti + 0x10, 1 << 3);
    assert_eq!(f100.read(exti + 0x14), 1 << 3);
    assert!(f100.pending(9) && !f100.pending(10), "EXTI3");
    f100.write(exti + 0x14, 1 << 3);
    assert_eq!((f100.read(exti + 0x14), f100.read(exti + 0x10)), (0, 0));
}

#[test]
fn newer_families_distinguish_rising_from_falling_edges() {
    let mut c031 = machine!("stm32c031");
    let exti = 0x4002_1800;
    c031.0.drive_pin("PB1", &changes(&[(100, 1), (200, 0)])).expect("it has it");
    c031.write(exti, 1 << 1);
    c031.write(exti + 4, 1 << 1);
    c031.write(exti + 0x60, 1 << 8);
    c031.write(exti + 0x80, 1 << 1);
    assert_eq!(c031.read(exti + 0x60), 1 << 8);
    c031.until(150);
    assert_eq!((c031.read(exti + 0xC), c031.read(exti + 0x10)), (1 << 1, 0));
    assert!(c031.pending(5) && !c031.pending(6), "EXTI0_1");
    c031.until(250);
    assert_eq!((c031.read(exti + 0xC), c031.read(exti + 0x10)), (1 << 1, 1 << 1));
    c031.write(exti + 0xC, 1 << 1);
    assert_eq!((c031.read(exti + 0xC), c031.read(exti + 0x10)), (0, 1 << 1));
    c031.write(exti + 0x10, 1 << 1);
    assert_eq!(c031.read(exti + 0x10), 0);
}

/// RM0433, EXTI registers: V2's triggers and masks with one pending bit, and ports in SYSCFG.
#[test]
fn stm32h7_pends_the_interrupt_of_a_line() {
    let mut h743 = machine!("stm32h743");
    let (select, exti) = (0x5800_0408, 0x5800_0000);
    let (mask, pending) = (exti + 0x80, exti + 0x88);
    h743.0.drive_pin("PC2", &changes(&[(100, 1), (200, 0)])).expect("one");
    h743.0.drive_pin("PA2", &changes(&[(300, 1)])).expect("one");
    assert_eq!(h743.read(mask), 0xFFC0_0000);
    h743.write(select, 2 << 8);
    h743.write(exti, 1 << 2);
    h743.write(exti + 4, 1 << 2);
    h743.until(150);
    assert_eq!((h743.read(pending), h743.pending(8)), (1 << 2, false), "masked");
    h743.write(mask, 0xFFC0_0004);
    assert!(h743.pending(8) && !h743.pending(7), "EXTI2");
    h743.write(pending, 1 << 2);
    assert_eq!(h743.read(pending), 0);
    h743.until(250);
    assert_eq!(h743.read(pending), 1 << 2, "the falling one");
    h743.write(pending, 1 << 2);
    h743.until(350);
    assert_eq!(h743.read(pending), 0, "PA2 is not the line's");
    h743.write(exti + 8, 1 << 12);
    assert_eq!((h743.read(exti + 8), h743.read(pending)), (0, 1 << 12), "by the program");
    assert_eq!(h743.0.unmodelled().count(), 0);
}

#[test]
fn rp2040_distinguishes_levels_from_edges() {
    let banks =
        [(machine!("rp2040"), 0x4001_40F0, 0x10, 13), (machine!("rp2350"), 0x4002_8230, 0x18, 21)];
    for (mut pico, raw, step, irq) in banks {
        let (enable, force, status) = (raw + step, raw + 2 * step, raw + 3 * step);
        pico.0.drive_pin("gpio9", &changes(&[(100, 1), (200, 0)])).expect("it has it");
        let pin = |events: u32| 0x1111_1101 | events << 4;
        assert_eq!(pico.read(raw + 4), pin(0b0001), "low");
        pico.write(enable + 4, 0b1000 << 4);
        pico.until(98);
        assert!(!pico.pending(irq));
        pico.until(101);
        assert!(pico.pending(irq));
        assert_eq!((pico.read(raw + 4), pico.read(status + 4)), (pin(0b1010), 0b1000 << 4));
        pico.write(raw + 4, 0b1010 << 4);
        assert_eq!(pico.read(raw + 4), pin(0b0010), "a level stays");
        assert_eq!(pico.read(status + 4), 0);
        pico.write(enable + 4, 0b0010 << 4);
        assert_eq!(pico.read(status + 4), 0b0010 << 4);
        pico.until(250);
        assert_eq!((pico.read(raw + 4), pico.read(status + 4)), (pin(0b0101), 0));
        pico.write(force, 1);
        assert_eq!(pico.read(status), 1);
        // Through the alias that sets bits.
        pico.write(enable + 0x2000, 0xF0);
        assert_eq!(pico.read(enable), 0xF0);
    }
}

/// The input stage of a pin works in every mode but the analog one.
#[test]
fn a_programs_own_outputs_have_edges() {
    for (mut machine, [mode, output], ports, exti, irqs) in [
        (machine!("stm32f405"), [0x4002_0800, 0x4002_0814], (0x4001_3814, 2 << 4), 0x4001_3C00, 40),
        (machine!("stm32f103"), [0x4001_1004, 0x4001_100C], (0x4001_0014, 2 << 4), 0x4001_0400, 40),
        (machine!("stm32l432"), [0x4800_0800, 0x4800_0814], (0x4001_0014, 2 << 4), 0x4001_0400, 40),
    ] {
        let soc = machine.0.soc().name.clone();
        let (mask, rising, falling, pending) = (exti, exti + 8, exti + 0xC, exti + 0x14);
        machine.write(mode, 1 << 26);
        machine.write(rising, 1 << 13);
        machine.write(mask, 1 << 13);
        machine.write(output, 1 << 13);
        assert_eq!(machine.read(pending), 0, "{soc}: the line is of port A");
        machine.write(output, 0);
        machine.write(ports.0, ports.1);
        machine.write(output, 1 << 13 | 1 << 12);
        assert_eq!(machine.read(pending), 1 << 13, "{soc}");
        assert!(machine.pending(irqs), "{soc}");
        machine.write(pending, 1 << 13);
        machine.write(output, 0);
        assert_eq!(machine.read(pending), 0, "{soc}: falling edges are not selected");
        machine.write(falling, 1 << 13);
        machine.write(output, 1 << 13);
        machine.write(pending, 1 << 13);
        machine.write(output, 0);
        assert_eq!(machine.read(pending), 1 << 13, "{soc}");
        // What drives a pin from outside determines its level.
        machine.write(pending, 1 << 13);
        machine.0.drive_pin("PC13", &changes(&[(100_000, 1)])).expect("it has it");
        machine.write(output, 1 << 13);
        assert_eq!(machine.read(pending), 0, "{soc}");
    }
}

#[test]
fn outputs_and_pulls_raise_the_events_of_a_bank() {
    // INTR0 and PROC0_INTE0; the pad of pin 1; OUT and OE of SIO.
    for (mut machine, raw, enable, pad, pads_reset, [output, output_enable], irq) in [
        (
            machine!("rp2040"),
            0x4001_40F0,
            0x4001_4100,
            0x4001_C008,
            0x56,
            [0xD000_0010, 0xD000_0020],
            13,
        ),
        (
            machine!("rp2350"),
            0x4002_8230,
            0x4002_8248,
            0x4003_8008,
            0x116,
            [0xD000_0010, 0xD000_0030],
            21,
        ),
    ] {
        let soc = machine.0.soc().name.clone();
        machine.write(output_enable, 1 << 2);
        assert_eq!(machine.read(raw) & 0xF00, 0x100, "{soc}: low");
        machine.write(enable, 0x800);
        machine.write(output, 1 << 2);
        assert_eq!(machine.read(raw) & 0xF00, 0xA00, "{soc}: high, and an edge");
        assert!(machine.pending(irq), "{soc}");
        machine.write(raw, 0x800);
        machine.write(output, 0);
        assert_eq!(machine.read(raw) & 0xF00, 0x500, "{soc}");
        // PUE in place of PDE.
        machine.write(pad, pads_reset & !4 | 8);
        assert_eq!(machine.read(raw) & 0xF0, 0xA0, "{soc}: pulled up");
        machine.0.drive_pin("GPIO2", &[]).expect("it has it");
        machine.write(output, 1 << 2);
        assert_eq!(machine.read(raw) & 0xF00, 0x500, "{soc}: low from outside");
    }
}
