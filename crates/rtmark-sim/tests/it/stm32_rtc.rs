//! What the calendars of STM32's real-time clocks do by their reference manuals (RM0090, RM0394, RM0433, RM0440,
//! RM0444 and RM0490, "Real-time clock (RTC)"), and what is reported of the rest. Times are counted by hand, in periods
//! of a crystal of 32768 Hz.

mod bench;
mod counter;
mod interrupts;

use bench::*;
use rtmark_sim::{ClockControl, Hertz};

/// The values that the chips' SVD files give for a reset.
#[test]
fn registers_have_their_reset_values() {
    for chip in WITH_WAKEUP {
        let mut bench = Bench::without_clock(chip);
        let control = bench.control();
        let subseconds = bench.subseconds();
        let values = [
            (TR, 0),
            (DR, 0x2101),
            (control, 0),
            (ISR, 7),
            (PRER, 0x7F_00FF),
            (WUTR, 0xFFFF),
            (WPR, 0),
            (subseconds, 0),
            (0x2C, 0),
            (0x30, 0),
            (0x34, 0),
            (0x38, 0),
            (0x1C, 0),
            (0x28, 0),
        ];
        for (offset, value) in values {
            let is_there = !(chip.has_flag_registers && offset == 0x1C);
            assert!(!is_there || bench.read(offset) == value, "{offset:#x}");
        }
        for offset in [bench.alarm(0), bench.alarm(1)].concat() {
            assert_eq!(bench.read(offset), 0, "{offset:#x}");
        }
    }
    let mut bench = Bench::without_clock(C031);
    let values = [(TR, 0), (DR, 0x2101), (PRER, 0x7F_00FF), (0x18, 0), (0x40, 0), (0x44, 0)];
    assert!(values.into_iter().all(|(offset, value)| bench.read(offset) == value));
    assert_eq!(bench.unmodelled(), []);
    // There is one alarm, and no wake-up timer.
    for offset in [WUTR, 0x48, 0x4C] {
        bench.read(offset);
    }
    assert_eq!(bench.unmodelled(), [WUTR, 0x48, 0x4C]);
}

#[test]
fn a_second_takes_as_many_periods_as_the_dividers_say() {
    for chip in WITH_WAKEUP.into_iter().chain([C031]) {
        let mut bench = Bench::set(chip, 0x23_5958, 0x23_F231);
        let (control, subseconds) = (bench.control(), bench.subseconds());
        bench.write(control, BYPSHAD);
        for (tick, time, date, left) in [
            (0, 0x23_5958, 0x23_F231, 255),
            (127, 0x23_5958, 0x23_F231, 255),
            (129, 0x23_5958, 0x23_F231, 254),
            (32_767, 0x23_5958, 0x23_F231, 0),
            (32_769, 0x23_5959, 0x23_F231, 255),
            (65_535, 0x23_5959, 0x23_F231, 0),
            (65_537, 0, NEW_YEAR, 255),
        ] {
            bench.run_to_tick(tick);
            assert_eq!(bench.read(subseconds), left, "{tick}");
            assert_eq!((bench.read(TR), bench.read(DR)), (time, date), "{tick}");
        }
        assert_eq!(bench.unmodelled(), []);
    }
}

/// RM0090, 26.3.1: the crystal's 32768 Hz, the internal 32 kHz, and an external crystal divided by RTCPRE.
#[test]
fn registers_of_the_rcc_select_the_clock() {
    const RCC: u32 = 0x4002_3800;
    // RTCSEL, a period in nanoseconds.
    for (select, period) in [(1, 30_517.578), (2, 31_250.0), (3, 1_000.0)] {
        let mut bench = Bench::beside(F405, Hertz(168_000_000), ClockControl::Fixed);
        bench.allow_writing();
        // HSEON; RTCPRE = 8; LSION.
        bench.store(RCC, 1 << 16 | 0x83);
        bench.store(RCC + 0x08, 8 << 16);
        bench.store(RCC + 0x74, 1);
        bench.store(F405.backup_control, LSEON | select << 8 | RTCEN);
        bench.unlock();
        bench.write(ISR, INIT);
        let wait = (2.0 * period * bench.clock as f64 / 1e9) as u64;
        let begin = bench.machine.cycles().0;
        bench.run_until(begin + wait - 300);
        assert_eq!(bench.read(ISR) & INITF, 0, "{select}");
        bench.run_until(begin + wait + 100);
        assert_eq!(bench.read(ISR) & INITF, INITF, "{select}");
    }
    // Without a clock, nothing happens.
    for control in [0, LSEON | LSE, LSE | RTCEN, LSEON | RTCEN, 2 << 8 | RTCEN] {
        let mut bench = Bench::without_clock(F405);
        bench.allow_writing();
        bench.store(F405.backup_control, control);
        bench.unlock();
        bench.write(ISR, INIT);
        bench.run_ticks(1_000);
        assert_eq!(bench.read(ISR) & (INITF | INIT | RSF), INIT, "{control:#x}");
    }
    // Once selected, it changes only by a reset of the backup domain.
    let mut bench = Bench::start(F405);
    bench.store(F405.backup_control, LSEON | 2 << 8 | RTCEN);
    assert_eq!(bench.load(F405.backup_control), LSEON | 2 | LSE | RTCEN);
    bench.store(F405.backup_control, BDRST | LSE | RTCEN);
    assert_eq!(bench.load(F405.backup_control), BDRST);
    bench.store(F405.backup_control, 2 << 8 | RTCEN);
    assert_eq!(bench.load(F405.backup_control), 2 << 8 | RTCEN);
}

#[test]
fn writes_need_the_backup_domain_and_the_keys() {
    let attempt = |bench: &mut Bench| {
        bench.write(ISR, INIT);
        let control = bench.control();
        bench.write(control, BYPSHAD);
        bench.run_ticks(3);
        (bench.read(ISR) & (INIT | INITF), bench.read(control))
    };
    for chip in WITH_WAKEUP {
        let mut bench = Bench::without_clock(chip);
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        assert_eq!(bench.load(chip.backup_control), 0, "without DBP");
        bench.allow_writing();
        bench.store(chip.backup_control, LSEON | LSE | RTCEN);
        bench.store(chip.power.expect("DBP"), 0);
        bench.unlock();
        assert_eq!(attempt(&mut bench), (0, 0), "without DBP");
        bench.allow_writing();
        assert_eq!(attempt(&mut bench), (0, 0), "without keys");
        for keys in [[0x53, 0xCA], [0xCA, 0x00], [0xCA, 0xCA]] {
            for key in keys {
                bench.write(WPR, key);
            }
            assert_eq!(attempt(&mut bench), (0, 0), "{keys:x?}");
        }
        bench.write(WPR, 0x12);
        bench.unlock();
        assert_eq!(attempt(&mut bench), (INIT | INITF, BYPSHAD));
        // Any other key locks them again.
        bench.write(WPR, 0xFF);
        bench.write(ISR, 0);
        assert_eq!(bench.read(ISR) & INIT, INIT);
        // TR, DR and PRER change in initialization only.
        bench.unlock();
        bench.write(ISR, 0);
        for (offset, value) in [(TR, 0x12_0000), (DR, NEW_YEAR), (PRER, 0)] {
            bench.write(offset, value);
        }
        assert_eq!([TR, DR, PRER].map(|it| bench.read(it)), [0, 0x2101, 0x7F_00FF]);
    }
}

#[test]
fn initialization_and_copies_take_periods_of_the_clock() {
    let mut bench = Bench::start(F405);
    assert_eq!(bench.read(ISR), 7);
    bench.run_to_tick(2);
    assert_eq!(bench.read(ISR), 7 | RSF, "a copy each two periods");
    bench.write(ISR, !RSF & !INIT);
    assert_eq!(bench.read(ISR), 7);
    bench.run_to_tick(4);
    assert_eq!(bench.read(ISR), 7 | RSF);
    bench.write(ISR, !0);
    assert_eq!(bench.read(ISR), 7 | RSF | INIT, "around two periods");
    bench.run_to_tick(6);
    assert_eq!(bench.read(ISR), 7 | INIT | INITF);
    bench.run_to_tick(50);
    for (offset, value) in [(PRER, 0), (TR, 0x12_3456), (DR, NEW_YEAR)] {
        bench.write(offset, value);
    }
    bench.write(ISR, 0);
    assert_eq!(bench.read(ISR), 7 | 1 << 4, "INITS: the year is set");
    // Until the first copy, what has been copied before is there; it begins four periods later.
    assert_eq!((bench.read(TR), bench.read(DR)), (0, 0x2101));
    bench.run_to_tick(55);
    assert_eq!(bench.read(ISR) & RSF, 0);
    bench.run_to_tick(56);
    assert_eq!(bench.read(ISR) & RSF, RSF);
    // Each period is a second now.
    assert_eq!((bench.read(TR), bench.read(DR)), (0x12_3458, NEW_YEAR));
    bench.run_to_tick(57);
    assert_eq!(bench.read(TR), 0x12_3458);
    bench.read(DR);
    bench.run_to_tick(58);
    assert_eq!(bench.read(TR), 0x12_3500);
}

#[test]
fn what_has_been_read_locks_what_is_read_next() {
    let mut bench = Bench::set(F405, 0x23_5959, 0x23_F231);
    bench.run_to_tick(32_760);
    assert_eq!(bench.read(0x28), 0);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x23_5959, 0x23_F231), "locked by SSR");
    assert_eq!((bench.read(0x28), bench.read(TR), bench.read(DR)), (254, 0, NEW_YEAR));
    let mut bench = Bench::set(F405, 0x23_5959, 0x23_F231);
    bench.run_to_tick(32_760);
    bench.read(TR);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x28), bench.read(DR)), (254, 0x23_F231), "locked by TR");
    assert_eq!(bench.read(DR), NEW_YEAR);
    // What TR has locked does not hold TR itself.
    bench.read(TR);
    bench.run_ticks(32_768);
    assert_eq!((bench.read(TR), bench.read(DR)), (1, NEW_YEAR));
}

#[test]
fn hours_may_be_twelve() {
    let mut bench = Bench::start(L432);
    bench.write(ISR, INIT);
    bench.run_ticks(3);
    // FMT, only now.
    bench.write(0x08, 1 << 6 | BYPSHAD);
    // A second is 4 periods.
    bench.initialize(0x51_5959, NEW_YEAR, 3);
    assert_eq!(bench.read(0x08), 1 << 6 | BYPSHAD);
    bench.run_to_tick(1);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x51_5959, NEW_YEAR));
    bench.run_to_tick(5);
    assert_eq!((bench.read(TR), bench.read(DR)), (0x12_0000, 0x24_4102));
    bench.run_to_tick(5 + 12 * 3_600 * 4);
    assert_eq!(bench.read(TR), 0x52_0000);
    bench.write(0x08, BYPSHAD);
    assert_eq!(bench.read(0x08), 1 << 6 | BYPSHAD);
}

#[test]
fn a_reset_of_the_backup_domain_resets_everything() {
    for chip in WITH_WAKEUP {
        let mut bench = Bench::set(chip, 0x12_0000, NEW_YEAR);
        let backup = match chip.interrupts[0] {
            2 => 0x4000_B100,
            _ if chip.has_flag_registers => 0x4000_2500,
            _ => chip.rtc + 0x50,
        };
        bench.store(backup, 0x1234_5678);
        assert_eq!(bench.load(backup), 0x1234_5678);
        bench.store(chip.power.expect("DBP"), 0);
        bench.store(backup, 0);
        assert_eq!(bench.load(backup), 0x1234_5678, "without DBP");
        bench.allow_writing();
        bench.store(chip.backup_control, BDRST);
        bench.store(chip.backup_control, 0);
        assert_eq!(bench.load(backup), 0);
        assert_eq!([DR, ISR].map(|it| bench.read(it)), [0x2101, 7]);
        bench.write(PRER, 0);
        bench.write(ISR, INIT);
        assert_eq!(bench.read(ISR), 7, "it is locked again");
        assert_eq!(bench.machine.unmodelled().count(), 0);
    }
}

#[test]
fn backup_registers_need_no_keys_and_are_as_many_as_the_manual_says() {
    for (chip, count) in [(F405, 20), (F411, 20), (F446, 20), (L432, 32), (H743, 32)] {
        let mut bench = Bench::without_clock(chip);
        bench.write(0x50, 1);
        assert_eq!(bench.read(0x50), 0, "without DBP");
        bench.allow_writing();
        let last = 0x50 + 4 * (count - 1);
        bench.write(last, 0xFFFF_FFFF);
        assert_eq!((bench.read(last), bench.unmodelled()), (0xFFFF_FFFF, vec![]));
        bench.read(last + 4);
        assert_eq!(bench.unmodelled(), [last + 4]);
    }
}

/// 16 MHz after reset, 8 MHz from the crystal later: seconds stay seconds.
#[test]
fn the_core_s_clock_makes_no_difference() {
    let mut bench = Bench::beside(F405, Hertz(16_000_000), ClockControl::Registers);
    bench.allow_writing();
    bench.store(F405.backup_control, LSEON | LSE | RTCEN);
    bench.unlock();
    bench.write(0x08, BYPSHAD);
    let begin = bench.machine.cycles().0;
    bench.run_until(begin + 8_000_000);
    bench.store(0x4002_3800, 1 << 16 | 0x83);
    bench.store(0x4002_3808, 1);
    bench.run_until(begin + 8_000_000 + 3_990_000);
    assert_eq!(bench.read(TR), 0);
    bench.run_until(begin + 8_000_000 + 4_010_000);
    assert_eq!(bench.read(TR), 1);
    bench.run_until(begin + 8_000_000 + 4_010_000 + 8 * 8_000_000);
    assert_eq!(bench.read(TR), 9);
}

#[test]
fn a_copy_of_a_machine_goes_on_alike() {
    let mut bench = Bench::set(G431, 0x12_0000, NEW_YEAR);
    bench.run_to_tick(1_000);
    let mut copy = bench.machine.clone();
    bench.read(0x08);
    std::mem::swap(&mut copy, &mut bench.machine);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x08), bench.read(TR)), (254, 0x12_0001), "nothing is locked here");
    bench.read(DR);
    std::mem::swap(&mut copy, &mut bench.machine);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(0x08), bench.read(TR)), (254, 0x12_0000));
}

#[test]
fn what_has_no_model_is_reported() {
    const TSE: u32 = 1 << 11;
    let cases: [(u32, u32); 9] = [
        (0x08, TSE),
        (0x08, 1 << 15),
        (0x08, 1 << 16),
        (0x08, 1 << 17),
        (0x18, 0x1F),
        (0x2C, 1 << 31),
        (0x3C, 1 << 15),
        (0x3C, 0x1FF),
        (0x40, 1),
    ];
    for (offset, value) in cases {
        let mut bench = Bench::set(F405, 0, NEW_YEAR);
        bench.write(offset, 0);
        assert_eq!(bench.unmodelled(), []);
        bench.write(offset, value);
        assert_eq!(bench.unmodelled(), [offset], "{value:#x}");
    }
    // In the other layout.
    for (offset, value) in [(0x18, TSE), (0x28, 1), (0x2C, 1), (WUTR, 1 << 16)] {
        let mut bench = Bench::set(G071, 0, NEW_YEAR);
        bench.write(offset, value);
        assert_eq!(bench.unmodelled(), [offset], "{value:#x}");
    }
    // Dates and times that there are not stand still. Programs that leave out the weekday are many.
    for (time, date) in [(0x24_0000, NEW_YEAR), (0, 0x23_2229)] {
        let mut bench = Bench::set(F405, time, date);
        assert_eq!(bench.unmodelled(), [ISR], "{time:#x} {date:#x}");
        bench.run_to_tick(32_900);
        assert_eq!((bench.read(TR), bench.read(DR)), (time, date));
    }
    let mut bench = Bench::set(F405, 0x23_5959, 0x24_0101);
    bench.run_to_tick(32_900);
    assert_eq!((bench.read(TR), bench.read(DR)), (0, 0x24_2102));
    assert_eq!(bench.unmodelled(), []);
    // A wake-up timer that counts each second period may not have the value 0.
    let mut bench = Bench::set(F405, 0, NEW_YEAR);
    bench.write(0x08, 3);
    bench.write(WUTR, 0);
    bench.write(0x08, 0x403);
    assert_eq!(bench.unmodelled(), [0x08]);
}
