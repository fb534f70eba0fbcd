//! Alarms, the wake-up timer, and their ways through EXTI.

use super::bench::*;

#[test]
fn alarms_interrupt_by_their_lines() {
    for chip in WITH_WAKEUP {
        for alarm in [0, 1] {
            // A second is 2048 periods.
            let mut bench = Bench::start(chip);
            bench.initialize(0x12_0000, NEW_YEAR, 0x7F_000F);
            bench.enable_lines();
            let [time, subseconds] = bench.alarm(alarm);
            let control = bench.control();
            // Each minute, in its third second.
            bench.write(time, 0x8080_8003);
            bench.write(subseconds, 0);
            bench.write(control, 0x1100 << alarm);
            assert_eq!(bench.read(ISR) & 3, 2 >> alarm, "a running alarm cannot be changed");
            bench.write(time, 0);
            assert_eq!(bench.read(time), 0x8080_8003);
            let expected = [3, 63, 123].map(|at| bench.start + bench.cycles(at * 2_048));
            let rises = bench.rises(chip.interrupts[0], 125 * 2_048);
            let same =
                rises.iter().zip(expected).all(|(is, at)| (at..at + bench.cycles(65)).contains(is));
            assert!(same && rises.len() == 3, "{rises:?} instead of {expected:?}");
            // Without its interrupt there is still the flag.
            bench.write(control, 0x100 << alarm);
            assert_eq!(bench.rises(chip.interrupts[0], 190 * 2_048), []);
            assert_eq!(bench.flags() & 7, 1 << alarm);
            // Two periods after it has been switched off, it can be changed.
            bench.write(control, 0);
            assert_eq!(bench.read(ISR) & 3, 2 >> alarm);
            bench.run_ticks(2);
            assert_eq!(bench.read(ISR) & 3, 3);
            assert_eq!(bench.unmodelled(), []);
        }
    }
}

#[test]
fn alarms_may_compare_fractions_of_a_second() {
    let mut bench = Bench::set(G071, 0x12_0000, NEW_YEAR);
    // Of 256 counts, those of which the lower six bits are 10: four a second.
    bench.write(0x44, 0x0600_000A);
    bench.write(0x40, 0x8080_8080);
    bench.write(0x18, 0x1100);
    let rises = bench.rises(2, 65_536);
    let seconds = rises.iter().map(|at| (at - bench.start) as f64 / bench.clock as f64);
    let expected = [53, 117, 181, 245, 309, 373, 437, 501].map(|count| f64::from(count) / 256.0);
    assert_eq!(rises.len(), 8);
    for (is, at) in seconds.zip(expected) {
        assert!((0.0..0.003).contains(&(is - at)), "{is} instead of {at}");
    }
}

#[test]
fn the_wakeup_timer_interrupts_by_its_line() {
    for chip in WITH_WAKEUP {
        // WUCKSEL, WUTR, periods until the first wake-up and between two.
        for (clock, reload, period) in [(0, 99, 1_600), (3, 999, 2_000), (4, 0, 32_768)] {
            let mut bench = Bench::set(chip, 0x12_0000, NEW_YEAR);
            bench.enable_lines();
            let control = bench.control();
            bench.write(control, clock);
            bench.write(WUTR, reload);
            bench.run_to_tick(0);
            bench.write(control, clock | 0x4400);
            assert_eq!(bench.read(ISR) & 4, 0);
            bench.write(WUTR, 7);
            bench.write(control, 7 | 0x4400);
            assert_eq!((bench.read(WUTR), bench.read(control)), (reload, clock | 0x4400));
            let expected: Vec<_> =
                (1..=3).map(|it| bench.start + bench.cycles(it * period)).collect();
            let rises = bench.rises(chip.interrupts[1], 3 * period + 100);
            let late = bench.cycles(65);
            let same = rises.iter().zip(&expected).all(|(is, at)| (*at..at + late).contains(is));
            assert!(same && rises.len() == 3, "{clock}: {rises:?} instead of {expected:?}");
            bench.write(control, 0);
            assert_eq!(bench.read(ISR) & 4, 0);
            bench.run_ticks(2);
            assert_eq!(bench.read(ISR) & 4, 4);
            assert_eq!(bench.unmodelled(), []);
        }
    }
}

#[test]
fn a_line_of_exti_interrupts_only_if_it_is_selected() {
    let mut bench = Bench::set(F405, 0x12_0000, NEW_YEAR);
    bench.write(0x1C, 0x8080_8080);
    bench.write(0x08, 0x1100);
    bench.store(EXTI_F4[0], 1 << 17);
    assert_eq!(bench.rises(41, 2 * 32_768), [], "no edge is selected");
    bench.store(EXTI_F4[1], 1 << 17);
    bench.store(EXTI_F4[0], 0);
    bench.clear_flags(7);
    assert_eq!(bench.rises(41, 4 * 32_768), [], "it is masked");
    assert_eq!(bench.load(EXTI_F4[2]), 1 << 17, "but pending");
    assert_eq!(bench.machine.unmodelled().count(), 0);
    // Lines of peripherals without a model are still reported.
    bench.store(EXTI_F4[0], 1 << 18);
    assert_eq!(bench.machine.unmodelled().count(), 1);
}

/// The values that the chips' SVD files give for a reset.
#[test]
fn lines_of_other_peripherals_are_enabled_after_a_reset() {
    let values = [(F405, 0), (L432, 0xFF82_0000), (G431, 0xFF82_0000), (H743, 0xFFC0_0000)];
    for (chip, value) in values {
        let mut bench = Bench::without_clock(chip);
        let ([mask, ..], _) = chip.lines.expect("lines");
        assert_eq!(bench.load(mask), value);
    }
}
