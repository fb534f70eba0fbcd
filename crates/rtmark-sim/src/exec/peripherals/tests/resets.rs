//! Peripherals that a program resets.

use super::*;
use crate::soc::{ClockCondition, Peripheral, PeripheralKind};
use crate::{Level, PinChange};

/// The register and the bit that hold a peripheral in its reset.
fn reset_bit(condition: &ClockCondition) -> (u32, u32) {
    assert_eq!((condition.field.width, condition.value), (1, 1), "{condition}");
    (condition.field.address, 1 << condition.field.bit)
}

/// Ends or begins the reset of a peripheral.
fn hold(machine: &mut Rig, (register, bit): (u32, u32), is_held: bool) {
    let others = machine.read(register) & !bit;
    machine.write(register, if is_held { others | bit } else { others });
}

fn reset(machine: &mut Rig, by: (u32, u32)) {
    hold(machine, by, true);
    hold(machine, by, false);
}

/// The registers of a peripheral, as they read one after the other.
fn registers(machine: &mut Rig, peripheral: &Peripheral) -> Vec<u32> {
    let random =
        |offset| peripheral.registers.iter().any(|it| it.offset == offset && it.random != 0);
    let offsets = (0..0x100).step_by(4).filter(|offset| !random(*offset));
    offsets.map(|offset| machine.read(peripheral.base + offset)).collect()
}

#[test]
fn a_reset_peripheral_is_as_after_power_on() {
    let machines = [
        machine!("lm3s6965"),
        machine!("rp2040"),
        machine!("rp2350"),
        machine!("stm32c031"),
        machine!("stm32f100"),
        machine!("stm32f103"),
        machine!("stm32f405"),
        machine!("stm32f411"),
        machine!("stm32f446"),
        machine!("stm32g071"),
        machine!("stm32g431"),
        machine!("stm32h743"),
        machine!("stm32l432"),
    ];
    for new in machines {
        let soc = new.0.soc().clone();
        let mut tried = 0;
        for peripheral in &soc.peripherals {
            // Its microseconds are never the same.
            let is_time = peripheral.kind == PeripheralKind::Rp2040Timer
                || peripheral.kind == PeripheralKind::Rp2350Timer;
            let Some(condition) = peripheral.reset_by.as_ref().filter(|_| !is_time) else {
                continue;
            };
            let expected = registers(&mut Rig(new.0.clone()), peripheral);
            for value in [u32::MAX, 0x5A5A_5A5A, 1] {
                let mut machine = Rig(new.0.clone());
                hold(&mut machine, reset_bit(condition), false);
                for offset in (0..0x100).step_by(4) {
                    machine.write(peripheral.base + offset, value);
                }
                reset(&mut machine, reset_bit(condition));
                let found = registers(&mut machine, peripheral);
                assert_eq!(found, expected, "{} {} {value:#x}", soc.name, peripheral.name);
            }
            tried += 1;
        }
        let least = if soc.name == "lm3s6965" { 3 } else { 9 };
        assert!(tried >= least, "{}: {tried}", soc.name);
    }
}

/// RM0008: TIM1 has bit 11 of APB2RSTR; PSC is at 0x28, ARR at 0x2C, CNT at 0x24.
#[test]
fn a_timer_stops_and_counts_anew() {
    let (mut f103, timer, by) = (machine!("stm32f103"), 0x4001_2C00, (0x4002_100C, 1 << 11));
    let interrupt = 25;
    f103.write(timer + 0x2C, 99);
    f103.write(timer + 0xC, 1);
    f103.write(timer, 1);
    f103.until(50);
    assert_eq!(f103.read(timer + 0x24), 50);
    hold(&mut f103, by, true);
    f103.until(60);
    f103.write(timer, 1);
    assert_eq!(f103.read(by.0), by.1);
    f103.until(70);
    hold(&mut f103, by, false);
    assert_eq!([0, 0xC, 0x24, 0x2C].map(|at| f103.read(timer + at)), [0, 0, 0, 0xFFFF]);
    f103.until(1000);
    assert!(!f103.pending(interrupt), "nothing is due any more");
    f103.write(timer, 1);
    f103.until(1010);
    assert_eq!(f103.read(timer + 0x24), 10);
}

/// RP2040 datasheet, 2.14: RESET has a bit for each block; the timer is block 21, PADS_BANK0 8, UART0 22.
#[test]
fn rp2040s_time_begins_anew_when_a_reset_ends() {
    let mut pico = machine!("rp2040");
    let resets = 0x4000_C000;
    let time = |pico: &mut Rig| pico.read(0x4005_4028);
    let second = u64::from(pico.0.soc().clock.0);
    // The reset since power-on makes no difference.
    hold(&mut pico, (resets, 1 << 21), false);
    pico.until(second);
    assert_eq!(time(&mut pico), 1_000_000);
    reset(&mut pico, (resets, 1 << 21));
    pico.until(3 * second + 9);
    assert_eq!(time(&mut pico), 2_000_000);
    // What has arrived and was not read is still on its way.
    let (uart, by) = (0x4003_4000, (resets, 1 << 22));
    hold(&mut pico, by, false);
    pico.0.connect_uart(Some("UART0"), b"rt").expect("it has it");
    reset(&mut pico, by);
    for (register, value) in [(0x24, 1), (0x2C, 0x70), (0x30, 0x301)] {
        pico.write(uart + register, value);
    }
    pico.until(4 * second);
    assert_eq!(pico.read(uart), b'r'.into());
    pico.until(5 * second);
    assert_eq!(pico.read(uart), b't'.into());
}

/// RM0090: SYSCFG, which connects lines of EXTI to ports, has bit 14 of APB2RSTR; it does not reset EXTI.
#[test]
fn lines_of_exti_are_at_port_a_again() {
    let (mut f405, syscfg, exti) = (machine!("stm32f405"), 0x4001_3800, 0x4001_3C00);
    let rising = [PinChange { cycle: 100, level: Level::High }];
    f405.0.drive_pin("PC0", &rising).expect("it has it");
    f405.write(syscfg + 8, 2);
    f405.write(exti, 1);
    f405.write(exti + 8, 1);
    let mut reset_before = Rig(f405.0.clone());
    reset(&mut reset_before, (0x4002_3824, 1 << 14));
    for (mut machine, pends) in [(f405, true), (reset_before, false)] {
        machine.until(200);
        assert_eq!(machine.pending(6), pends);
        assert_eq!(machine.read(exti), 1, "its mask");
    }
}

/// RM0394: FLASH has bit 8 of AHB1RSTR, GPIOA bit 0 of AHB2RSTR.
#[test]
fn only_a_reset_flash_interface_changes_how_long_a_flash_takes() {
    let (flash, port) = ((0x4002_1028, 1 << 8), (0x4002_102C, 1));
    for (by, lasts) in [(flash, false), (port, true)] {
        let mut l432 = machine!("stm32l432");
        l432.write(0x4002_2000, 0x604);
        let waits = |machine: &mut Rig| machine.0.cortex_m_state().lines[0].clone();
        let before = waits(&mut l432);
        l432.0.cortex_m_state().line = 0x0800_0000;
        reset(&mut l432, by);
        assert_eq!(l432.0.cortex_m_state().line == 0x0800_0000, lasts);
        assert_eq!(format!("{:?}", waits(&mut l432)) == format!("{before:?}"), lasts);
        assert_eq!(l432.read(0x4002_2000), if lasts { 0x604 } else { 0x600 });
    }
}
