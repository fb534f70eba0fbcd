//! What differs between nRF51822, nRF52832 and nRF52840 in peripherals of the same kind (nRF51822 PS v3.1,
//! nRF52832 PS v1.4 and nRF52840 PS v1.7, tables of instances).

use super::*;

impl Rig {
    /// Returns whether a register has a model: it is read, and not told of.
    fn has(&mut self, address: u32) -> bool {
        self.read(address);
        self.0.unmodelled().all(|it| it.address != address)
    }
}

#[test]
fn registers_beyond_a_chips_channels_are_reported() {
    let (timers, rtcs) = ([0x4000_8000, 0x4000_9000, 0x4000_A000], [0x4000_B000, 0x4001_1000]);
    let (gpiote, ppi, port_1) = (0x4000_6000, 0x4001_F000, 0x5000_0810);
    let modelled = |rig: &mut Rig, first: u32, count: u32| {
        (0..count).filter(|at| rig.has(first + 4 * at)).count()
    };
    for (mut nrf, pins, free, groups, forks, has_port_1) in [
        (machine!("nrf51822"), 4, 16, 4, 0, false),
        (machine!("nrf52832"), 8, 20, 6, 32, false),
        (machine!("nrf52840"), 8, 20, 6, 32, true),
    ] {
        for timer in timers {
            // Tasks CAPTURE, events COMPARE, registers CC.
            assert_eq!([0x40, 0x140, 0x540].map(|at| modelled(&mut nrf, timer + at, 6)), [4; 3]);
        }
        for (rtc, channels) in rtcs.into_iter().zip([3, 4]) {
            assert_eq!([0x140, 0x540].map(|at| modelled(&mut nrf, rtc + at, 4)), [channels; 2]);
        }
        assert_eq!([0x100, 0x510].map(|at| modelled(&mut nrf, gpiote + at, 8)), [pins; 2]);
        assert_eq!(nrf.has(gpiote + 0x30), pins == 8, "a task SET");
        // Ends of channels, both of those that are fixed; tasks and registers of groups; forks.
        assert_eq!(modelled(&mut nrf, ppi + 0x510, 64), 2 * (free + 12));
        assert_eq!(modelled(&mut nrf, ppi, 12), 2 * groups);
        assert_eq!(modelled(&mut nrf, ppi + 0x800, 6), groups);
        assert_eq!(modelled(&mut nrf, ppi + 0x910, 32), forks);
        nrf.write(ppi + 0x500, u32::MAX);
        assert_eq!(nrf.read(ppi + 0x500), 0xFFF0_0000 | ((1 << free) - 1));
        assert_eq!(nrf.has(port_1), has_port_1);
    }
    // The two others of nRF52 have six compare registers.
    for mut nrf in [machine!("nrf52832"), machine!("nrf52840")] {
        let channels = [0x4001_A540, 0x4001_B540].map(|first| modelled(&mut nrf, first, 6));
        assert_eq!(channels, [6, 6]);
    }
}

/// MAXCNT of nRF52832 has 8 bits, and CONFIG no STOP.
#[test]
fn uarte_has_the_widths_of_its_chip() {
    let uarte = 0x4000_2000;
    for (mut nrf, counts, configuration) in
        [(machine!("nrf52832"), 0x2C, 0x0F), (machine!("nrf52840"), 300, 0x1F)]
    {
        nrf.write(uarte + 0x548, 300);
        nrf.write(uarte + 0x538, 300);
        nrf.write(uarte + 0x56C, u32::MAX);
        let found = [0x538, 0x548, 0x56C].map(|at| nrf.read(uarte + at));
        assert_eq!(found, [counts, counts, configuration]);
    }
}

/// Nordic's SystemInit recognises the variants that INFO.VARIANT names, and takes the ROM table's word where the
/// factory data say nothing. Watchdogs are configured, and do not run.
#[test]
fn factory_data_name_the_revision_and_watchdogs_rest() {
    for (mut nrf, part) in [(machine!("nrf52832"), [6, 6]), (machine!("nrf52840"), [8, 4])] {
        assert_eq!([0x1000_0130, 0x1000_0134].map(|at| nrf.read(at)), part);
    }
    let mut nrf = machine!("nrf52832");
    assert_eq!([0xF000_0FE0, 0xF000_0FE8].map(|at| nrf.read(at)), [0x06, 0x60]);
    for mut nrf in [machine!("nrf51822"), machine!("nrf52832"), machine!("nrf52840")] {
        let shows =
            |nrf: &mut Rig| [0x400, 0x404, 0x504, 0x508].map(|at| nrf.read(0x4001_0000 + at));
        assert_eq!(shows(&mut nrf), [0, 1, u32::MAX, 1]);
        nrf.write(0x4001_0000, 1);
        assert_eq!(shows(&mut nrf), [1, 1, u32::MAX, 1]);
    }
}

/// nRF52840 PS, 6.19.4: VALRDY tells of a number once the generator has been started.
#[test]
fn random_numbers_come_once_the_generator_has_been_started() {
    for mut nrf in [machine!("nrf51822"), machine!("nrf52832"), machine!("nrf52840")] {
        let ready = 0x4000_D100;
        assert_eq!(nrf.read(ready), 0);
        nrf.write(0x4000_D000, 1);
        assert_eq!(nrf.read(ready), 1);
        nrf.write(ready, 0);
        assert_eq!(nrf.read(ready), 1, "the next one");
        nrf.write(0x4000_D004, 1);
        assert_eq!(nrf.read(ready), 0);
    }
}
