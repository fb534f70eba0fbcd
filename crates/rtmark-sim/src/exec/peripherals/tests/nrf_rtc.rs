//! nRF52840's real-time counters, according to the Product Specification.

use super::*;

const RTC: u32 = 0x4001_1000;
const START: u32 = 0;
const COMPARE: u32 = 0x140;
const COUNTER: u32 = 0x504;
const CC: u32 = 0x540;

impl Rig {
    /// Starts a real-time counter without a prescaler, with an interrupt from its first compare register.
    fn start_rtc(&mut self) {
        self.write(RTC + 0x304, 1 << 16);
        self.write(RTC + START, 1);
    }

    /// Advances to the middle of this count of the low-frequency clock, counted from cycle 0.
    fn until_count(&mut self, count: u64) {
        self.until((2 * count + 1) * 64_000_000 / 65_536);
    }
}

/// 6.22.7: an event is guaranteed from N + 2 on; N and N + 1 may be missed, which programs must expect.
#[test]
fn the_rtc_matches_compare_values_written_two_counts_ahead() {
    for (ahead, meets) in [(0, false), (1, false), (2, true), (3, true)] {
        let mut nrf = machine!("nrf52840");
        nrf.start_rtc();
        nrf.until_count(10);
        assert_eq!(nrf.read(RTC + COUNTER), 10);
        nrf.write(RTC + CC, 10 + ahead);
        nrf.until_count(20);
        assert_eq!((nrf.pending(17), nrf.read(RTC + COMPARE)), (meets, meets.into()), "{ahead}");
        // It occurs one round of the counter later in any case.
        nrf.write(RTC + COMPARE, 0);
        nrf.until_count((1 << 24) + 20);
        assert!(nrf.pending(17), "{ahead}");
    }
    // A compare value that came too late is forgotten with the next write, and one that keeps its value is
    // never late.
    let mut nrf = machine!("nrf52840");
    nrf.write(RTC + CC, 1);
    nrf.start_rtc();
    nrf.until_count(1);
    assert!(nrf.pending(17), "written before the start");
    nrf.write(RTC + COMPARE, 0);
    nrf.write(RTC + CC, 2);
    nrf.write(RTC + CC, 4);
    nrf.until_count(4);
    assert_eq!(nrf.read(RTC + COMPARE), 1);
}

/// 6.22.8: five periods of 16 MHz, of which a load takes two cycles anyway.
#[test]
fn reading_the_rtc_counter_stalls_the_core() {
    let mut nrf = machine!("nrf52840");
    nrf.0.cortex_m_state().cycles = 100;
    nrf.read(RTC + CC);
    nrf.write(RTC + COUNTER, 0);
    assert_eq!(nrf.0.cortex_m_state().cycles, 100);
    nrf.read(RTC + COUNTER);
    assert_eq!(nrf.0.cortex_m_state().cycles, 118);
}
