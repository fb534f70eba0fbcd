//! nRF52840's CLOCK, according to the Product Specification, 5.4.

use super::*;

const CLOCK: u32 = 0x4000_0000;
const HFCLKSTARTED: u32 = 0x100;
const LFCLKSTARTED: u32 = 0x104;
const INTENSET: u32 = 0x304;
const INTENCLR: u32 = 0x308;
const RESETREAS: u32 = 0x400;
const HFCLKRUN: u32 = 0x408;
const HFCLKSTAT: u32 = 0x40C;
const LFCLKRUN: u32 = 0x414;
const LFCLKSTAT: u32 = 0x418;
const LFCLKSRCCOPY: u32 = 0x41C;
const LFCLKSRC: u32 = 0x518;
/// STATE, and the source of the high-frequency clock.
const RUNNING: u32 = 1 << 16;
const CRYSTAL: u32 = 1;

/// 5.4.1: the core runs from the internal oscillator until HFCLKSTART, and again after HFCLKSTOP.
#[test]
fn the_crystal_runs_between_its_start_and_its_stop() {
    let mut nrf = machine!("nrf52840");
    let shows = |nrf: &mut Rig| [HFCLKRUN, HFCLKSTAT, HFCLKSTARTED].map(|at| nrf.read(CLOCK + at));
    assert_eq!(shows(&mut nrf), [0, RUNNING, 0]);
    nrf.write(CLOCK, 0);
    assert_eq!(shows(&mut nrf), [0, RUNNING, 0], "a task is triggered by a one");
    nrf.write(CLOCK, 1);
    assert_eq!(shows(&mut nrf), [1, RUNNING | CRYSTAL, 1]);
    nrf.write(CLOCK + 4, 1);
    assert_eq!(shows(&mut nrf), [0, RUNNING, 1], "its event stays");
    assert_eq!(nrf.read(CLOCK), 0, "tasks read as zero");
}

/// 5.4.2: the low-frequency clock and the source that it was started with.
#[test]
fn the_low_frequency_clock_shows_its_source() {
    let mut nrf = machine!("nrf52840");
    let shows = |nrf: &mut Rig| [LFCLKRUN, LFCLKSTAT, LFCLKSTARTED].map(|at| nrf.read(CLOCK + at));
    nrf.write(CLOCK + LFCLKSRC, 1);
    assert_eq!(shows(&mut nrf), [0, 0, 0]);
    assert_eq!(nrf.read(CLOCK + LFCLKSRCCOPY), 0, "not started");
    nrf.write(CLOCK + 8, 1);
    assert_eq!(shows(&mut nrf), [1, RUNNING | 1, 1]);
    assert_eq!((nrf.read(CLOCK + LFCLKSRCCOPY), nrf.read(CLOCK + LFCLKSRC)), (1, 1));
    // Another source is copied by the next start.
    nrf.write(CLOCK + LFCLKSRC, 2);
    assert_eq!((nrf.read(CLOCK + LFCLKSRCCOPY), nrf.read(CLOCK + LFCLKSTAT)), (1, RUNNING | 1));
    nrf.write(CLOCK + 0xC, 1);
    assert_eq!(shows(&mut nrf), [0, 0, 1]);
    nrf.write(CLOCK + 8, 1);
    assert_eq!((nrf.read(CLOCK + LFCLKSRCCOPY), nrf.read(CLOCK + LFCLKSTAT)), (2, RUNNING | 2));
}

/// 5.4.3: INTENSET and INTENCLR by bit; POWER_CLOCK is interrupt 0.
#[test]
fn a_started_oscillator_interrupts_if_enabled() {
    for (enabled, disabled, pending) in [(0b01, 0, true), (0b10, 0, false), (0b11, 0b01, false)] {
        let mut nrf = machine!("nrf52840");
        nrf.write(CLOCK + INTENSET, enabled);
        nrf.write(CLOCK + INTENCLR, disabled);
        for register in [INTENSET, INTENCLR] {
            assert_eq!(nrf.read(CLOCK + register), enabled & !disabled);
        }
        nrf.write(CLOCK, 1);
        assert_eq!(nrf.pending(0), pending, "{enabled:b} {disabled:b}");
    }
}

/// 5.4.3: DONE follows CAL. CTTO follows CTSTART after CTIV quarters of a second, once, and unless CTSTOP comes
/// first; CTSTARTED and CTSTOPPED follow at once.
#[test]
fn calibration_ends_and_its_timer_times_out() {
    let mut nrf = machine!("nrf52840");
    assert_eq!(nrf.read(CLOCK + 0x10C), 0);
    nrf.write(CLOCK + 0x010, 1);
    assert_eq!(nrf.read(CLOCK + 0x10C), 1);
    nrf.write(CLOCK + INTENSET, 1 << 4);
    nrf.write(CLOCK + 0x538, 2);
    nrf.until(1_000);
    nrf.write(CLOCK + 0x014, 1);
    assert_eq!([0x110, 0x128, 0x12C].map(|at| nrf.read(CLOCK + at)), [0, 1, 0]);
    nrf.until(32_000_990);
    assert!(!nrf.pending(0));
    nrf.until(32_001_010);
    assert!(nrf.pending(0) && nrf.read(CLOCK + 0x110) == 1, "half a second at 64 MHz");
    nrf.write(CLOCK + 0x110, 0);
    nrf.until(100_000_000);
    assert_eq!(nrf.read(CLOCK + 0x110), 0, "it is to be started again");
    nrf.write(CLOCK + 0x014, 1);
    nrf.write(CLOCK + 0x018, 1);
    nrf.until(200_000_000);
    assert_eq!([0x110, 0x12C].map(|at| nrf.read(CLOCK + at)), [0, 1]);
}

/// 5.3.7: ones clear RESETREAS; GPREGRET keeps its value. All RAM is on, and POWERSET and POWERCLR change POWER.
#[test]
fn registers_of_power_are_kept_or_cleared() {
    let mut nrf = machine!("nrf52840");
    assert_eq!([0x900, 0x980, 0x524].map(|at| nrf.read(CLOCK + at)), [0xFFFF, 0xFFFF, 3]);
    nrf.write(CLOCK + 0x908, 0x0F);
    nrf.write(CLOCK + 0x904, 0x01);
    assert_eq!(
        [0x900, 0x904, 0x908, 0x910].map(|at| nrf.read(CLOCK + at)),
        [0xFFF1, 0xFFF1, 0xFFF1, 0xFFFF]
    );
    nrf.write(CLOCK + 0x500, 0);
    assert_eq!(nrf.0.unmodelled().count(), 0);
    nrf.write(CLOCK + 0x500, 1);
    let told: Vec<u32> = nrf.0.unmodelled().map(|it| it.address).collect();
    assert_eq!(told, [CLOCK + 0x500], "System OFF");
    nrf.write(CLOCK + RESETREAS, u32::MAX);
    nrf.write(CLOCK + 0x51C, 0x5A);
    assert_eq!((nrf.read(CLOCK + RESETREAS), nrf.read(CLOCK + 0x51C)), (0, 0x5A));
}
