//! When watchdogs reset the chip. The judges: ST's formula for an IWDG, periods x prescaler x (RLR + 1) of its LSI
//! (RM0394, "Independent watchdog (IWDG)"), and Nordic's for a WDT, (CRV + 1) / 32768 seconds (nRF52840 PS, "WDT -
//! Watchdog timer"). RP2040's and RP2350's SDK states how to load theirs: a tick takes two counts of RP2040's
//! (RP2040-E1), one of RP2350's.

use rtmark_sim::{ClockControl, Cycles, Machine, Register, Soc, Stop, WatchdogCause};

use crate::support::load_word;

const L432: &str = include_str!("../../../../socs/stm32l432.toml");
const F103: &str = include_str!("../../../../socs/stm32f103.toml");
const H743: &str = include_str!("../../../../socs/stm32h743.toml");
const NRF: &str = include_str!("../../../../socs/nrf52840.toml");
const RP2040: &str = include_str!("../../../../socs/rp2040.toml");
const RP2350: &str = include_str!("../../../../socs/rp2350.toml");
const RISC_V: &str = include_str!("../../../../socs/rp2350-riscv.toml");
const IWDG: u32 = 0x4000_3000;
const KR: u32 = 0x0;
const PR: u32 = 0x4;
const RLR: u32 = 0x8;
const SR: u32 = 0xC;
const WINR: u32 = 0x10;
const WDT: u32 = 0x4001_0000;
const START: u32 = 0x0;
const TIMEOUT: u32 = 0x100;
const INTENSET: u32 = 0x304;
const INTENCLR: u32 = 0x308;
const RUNNING: u32 = 0x400;
const REQUESTS: u32 = 0x404;
const CRV: u32 = 0x504;
const RREN: u32 = 0x508;
const CONFIG: u32 = 0x50C;
const RR: u32 = 0x600;
const RELOAD: u32 = 0x6E52_4635;

/// Creates a chip that executes an endless loop in RAM.
fn looping(soc: &str) -> Machine {
    looping_with(soc, ClockControl::Fixed)
}

fn looping_with(soc: &str, clock_control: ClockControl) -> Machine {
    let mut soc = Soc::from_toml(soc).expect("a soc");
    soc.clock_control = clock_control;
    let mut machine = Machine::new(&soc);
    loop_in_ram(&mut machine);
    machine
}

fn loop_in_ram(machine: &mut Machine) {
    let ram =
        machine.soc().memories.iter().find(|memory| memory.name == "RAM").expect("it has RAM").base;
    let is_arm = machine.soc().core.is_cortex_m();
    let branch: u16 = if is_arm { 0xE7FE } else { 0xA001 };
    machine.poke(ram, &branch.to_le_bytes()).expect("RAM");
    machine.set_register(Register::Pc, ram);
}

/// Reads a register by an instruction, and goes on with the loop.
fn read(machine: &mut Machine, address: u32) -> u32 {
    if machine.soc().core.is_cortex_m() {
        let value = load_word(machine, address);
        loop_in_ram(machine);
        return value;
    }
    // `c.lw a5, 0(a4)`.
    machine.poke(0x2000_0000, &0x431C_u16.to_le_bytes()).expect("RAM");
    machine.set_register(Register::R(14), address);
    machine.set_register(Register::Pc, 0x2000_0000);
    machine.step(Cycles::MAX).expect("a step");
    loop_in_ram(machine);
    machine.register(Register::R(15))
}

fn write(machine: &mut Machine, base: u32, writes: &[(u32, u32)]) {
    for (offset, value) in writes {
        machine.store_word(base + offset, *value).expect("a register");
    }
}

/// Runs until a watchdog resets the chip, and returns the cycle; at most two seconds.
fn resets(machine: &mut Machine) -> Option<(u64, WatchdogCause)> {
    let limit = machine.cycles() + Cycles(2 * u64::from(machine.soc().clock.0));
    match machine.run(limit) {
        Stop::Watchdog { cause, .. } => Some((machine.cycles().0, cause)),
        Stop::Limit => None,
        other => panic!("{other:?}"),
    }
}

/// Asserts that a cycle is at most as much later than a fraction of a second as a branch and a period of the clock
/// take, and not earlier.
fn assert_at(machine: &Machine, cycle: u64, periods: u64, hertz: u64) {
    let core = u64::from(machine.soc().clock.0);
    let (exact, period) = (core * periods / hertz, core / hertz + 10);
    assert!((exact..=exact + period).contains(&cycle), "{cycle} rather than {exact}");
}

fn assert_modelled(machine: &Machine) {
    assert_eq!(machine.unmodelled().map(|register| register.address).collect::<Vec<_>>(), []);
}

#[test]
fn an_iwdg_resets_the_chip_after_the_time_of_sts_formula() {
    for (soc, base, lsi, prescaler, reload) in [
        (L432, IWDG, 32_000, None, None),
        (L432, IWDG, 32_000, Some(3), Some(99)),
        (L432, IWDG, 32_000, Some(7), Some(24)),
        (F103, IWDG, 40_000, Some(0), Some(999)),
        (H743, 0x5800_4800, 32_000, Some(1), Some(99)),
    ] {
        let mut machine = looping(soc);
        write(&mut machine, base, &[(KR, 0x5555)]);
        let set = [(PR, prescaler), (RLR, reload)];
        let set: Vec<_> = set.iter().filter_map(|(at, value)| Some((*at, (*value)?))).collect();
        write(&mut machine, base, &set);
        write(&mut machine, base, &[(KR, 0xCCCC)]);
        let periods =
            u64::min(4 << prescaler.unwrap_or(0), 256) * (reload.map_or(4095, u64::from) + 1);
        let (cycle, cause) = resets(&mut machine).expect("it is never refreshed");
        assert_eq!(cause, WatchdogCause::Expired);
        assert_at(&machine, cycle, periods, lsi);
        assert!(machine.unmodelled().next().is_none());
    }
}

#[test]
fn a_refreshed_iwdg_begins_anew_with_what_has_been_unlocked() {
    let mut machine = looping(L432);
    // Locked: 4 x 4096 periods remain.
    write(&mut machine, IWDG, &[(RLR, 9), (PR, 1), (KR, 0xCCCC)]);
    let core = u64::from(machine.soc().clock.0);
    assert_eq!(machine.run(Cycles(core / 2)), Stop::Limit);
    // 8 x 4000 periods from now on. Starting it again does nothing.
    write(&mut machine, IWDG, &[(KR, 0x5555), (PR, 1), (RLR, 3999), (KR, 0xAAAA), (KR, 0xCCCC)]);
    let (cycle, cause) = resets(&mut machine).expect("it is not refreshed again");
    assert_eq!(cause, WatchdogCause::Expired);
    assert_at(&machine, cycle, 16_000 + 32_000, 32_000);
    // A reset stops it; there are no vectors here.
    assert!(machine.reset().is_err());
    loop_in_ram(&mut machine);
    assert_eq!(resets(&mut machine), None);
}

#[test]
fn an_iwdg_may_be_refreshed_within_its_window_only() {
    let core = u64::from(looping(L432).soc().clock.0);
    for (after, early) in [(300, true), (399, true), (400, false), (500, false)] {
        let mut machine = looping(L432);
        // The counter begins with 999, a count takes a millisecond; a refresh is early while it exceeds 599.
        let set = [(KR, 0xCCCC), (KR, 0x5555), (PR, 3), (RLR, 999), (WINR, 599)];
        write(&mut machine, IWDG, &set);
        assert_eq!(machine.run(Cycles(core / 1000 * after)), Stop::Limit);
        write(&mut machine, IWDG, &[(KR, 0xAAAA)]);
        let (cycle, cause) = resets(&mut machine).expect("it is not refreshed again");
        if early {
            assert_eq!(cause, WatchdogCause::RefreshedEarly);
            assert_at(&machine, cycle, after, 1000);
        } else {
            assert_eq!(cause, WatchdogCause::Expired);
            assert_at(&machine, cycle, after + 1000, 1000);
        }
    }
}

#[test]
fn an_iwdg_that_has_been_started_is_not_started_again() {
    let mut machine = looping(L432);
    let core = u64::from(machine.soc().clock.0);
    write(&mut machine, IWDG, &[(KR, 0xCCCC)]);
    assert_eq!(machine.run(Cycles(core / 4)), Stop::Limit);
    write(&mut machine, IWDG, &[(KR, 0xCCCC)]);
    let (cycle, _) = resets(&mut machine).expect("it is never refreshed");
    assert_at(&machine, cycle, 4 * 4096, 32_000);
}

#[test]
fn an_iwdgs_registers_keep_their_bits_until_they_are_unlocked() {
    let mut machine = looping(L432);
    let all = |machine: &mut Machine| [KR, PR, RLR, SR, WINR].map(|at| read(machine, IWDG + at));
    assert_eq!(all(&mut machine), [0, 0, 0xFFF, 0, 0xFFF], "after reset");
    write(&mut machine, IWDG, &[(KR, 0x5555), (PR, 0xFFFD), (RLR, 0x1_2345), (WINR, 0x1_2FED)]);
    assert_eq!(all(&mut machine), [0, 5, 0x345, 0, 0xFED]);
    // Any other value locks them again; SR is read-only.
    write(&mut machine, IWDG, &[(KR, 0xAAAA), (PR, 1), (RLR, 1), (WINR, 1), (SR, 7)]);
    assert_eq!(all(&mut machine), [0, 5, 0x345, 0, 0xFED]);
    assert_modelled(&machine);
}

/// An IWDG counts LSI whatever the core does: here a tenth of a second at 4 MHz, MSI's after reset, and the rest at
/// 16 MHz, HSI's.
#[test]
fn an_iwdg_keeps_its_time_beside_a_core_at_another_frequency() {
    let mut machine = looping_with(L432, ClockControl::Registers);
    write(&mut machine, IWDG, &[(KR, 0xCCCC)]);
    assert_eq!(machine.run(Cycles(400_000)), Stop::Limit);
    write(&mut machine, 0x4002_1000, &[(0, 0x163), (8, 1)]);
    let (cycle, _) = resets(&mut machine).expect("it is never refreshed");
    // 16384 periods of 32 kHz are 512 ms.
    let exact = 400_000 + 412 * 16_000;
    assert!((exact - 500..=exact + 500).contains(&cycle), "{cycle} rather than {exact}");
}

#[test]
fn a_wdt_resets_the_chip_unless_all_requests_are_written() {
    let core = u64::from(looping(NRF).soc().clock.0);
    for (requests, last) in [(&[(RR, RELOAD)][..], 0), (&[(RR + 4, RELOAD), (RR, RELOAD)], 16_384)]
    {
        let mut machine = looping(NRF);
        write(&mut machine, WDT, &[(CRV, 32_767), (RREN, 3), (START, 1), (CRV, 9), (RREN, 1)]);
        assert_eq!(machine.run(Cycles(core / 2)), Stop::Limit);
        write(&mut machine, WDT, &[(RR, 1)]);
        write(&mut machine, WDT, requests);
        let (cycle, cause) = resets(&mut machine).expect("it is not reloaded again");
        assert_eq!(cause, WatchdogCause::Expired);
        assert_at(&machine, cycle, 32_768 + last, 32_768);
        assert!(machine.unmodelled().next().is_none());
    }
    let mut machine = looping(NRF);
    assert_eq!(load_word(&mut machine, WDT + REQUESTS), 1);
    let mut machine = looping(NRF);
    // Its interrupt delays the reset by two periods.
    write(&mut machine, WDT, &[(INTENSET, 1), (CRV, 99), (START, 1)]);
    // Once it has timed out, a request changes nothing.
    assert_eq!(machine.run(Cycles(core * 101 / 32_768)), Stop::Limit);
    write(&mut machine, WDT, &[(RR, RELOAD)]);
    let (cycle, _) = resets(&mut machine).expect("it is not reloaded");
    assert_at(&machine, cycle, 102, 32_768);
    assert_eq!(load_word(&mut machine, 0xE000_E200) >> 16 & 1, 1, "NVIC_ISPR0");
    // A watchdog that stands still asleep has no model.
    let mut machine = looping(NRF);
    write(&mut machine, WDT, &[(CONFIG, 0), (START, 1)]);
    assert_eq!(machine.unmodelled().count(), 1);
}

#[test]
fn a_wdts_registers_read_as_the_specification_says() {
    const ALL: [u32; 8] = [START, INTENSET, INTENCLR, RUNNING, CRV, RREN, CONFIG, RR];
    let mut machine = looping(NRF);
    let all = |machine: &mut Machine| ALL.map(|at| read(machine, WDT + at));
    assert_eq!(all(&mut machine), [0, 0, 0, 0, u32::MAX, 1, 1, 0], "after reset");
    write(&mut machine, WDT, &[(INTENSET, 0xFE), (START, 0)]);
    assert_eq!(all(&mut machine), [0, 0, 0, 0, u32::MAX, 1, 1, 0], "bits without a meaning");
    let set = [(INTENSET, 1), (CRV, 1000), (RREN, 0x103), (CONFIG, 0xFF), (START, 1)];
    write(&mut machine, WDT, &set);
    assert_eq!(all(&mut machine), [0, 1, 1, 1, 1000, 3, 9, 0]);
    assert_eq!(read(&mut machine, WDT + REQUESTS), 3);
    write(&mut machine, WDT, &[(RR, RELOAD), (INTENCLR, 0xFE)]);
    assert_eq!([REQUESTS, INTENSET].map(|at| read(&mut machine, WDT + at)), [2, 1]);
    // It has been started: only its interrupt can still be changed.
    let ignored = [(START, 1), (RUNNING, 0), (REQUESTS, 0), (CRV, 9), (RREN, 1), (CONFIG, 0)];
    write(&mut machine, WDT, &ignored);
    write(&mut machine, WDT, &[(INTENCLR, 1)]);
    assert_eq!(all(&mut machine), [0, 0, 0, 1, 1000, 3, 9, 0]);
    assert_eq!(read(&mut machine, WDT + REQUESTS), 2);
    assert_modelled(&machine);
}

#[test]
fn a_wdt_is_neither_started_again_nor_reloaded_by_a_disabled_request() {
    let mut machine = looping(NRF);
    let core = u64::from(machine.soc().clock.0);
    write(&mut machine, WDT, &[(CRV, 15), (RREN, 0), (START, 1)]);
    assert_eq!(machine.run(Cycles(core / 4096)), Stop::Limit);
    write(&mut machine, WDT, &[(START, 1), (RR, RELOAD)]);
    let (cycle, _) = resets(&mut machine).expect("it is not reloaded");
    assert_at(&machine, cycle, 16, 32_768);
}

/// By channels of the PPI, an event starts it, and a counter counts its event.
#[test]
fn a_wdts_task_and_event_have_channels() {
    const PPI: u32 = 0x4001_F000;
    const EGU: u32 = 0x4001_4000;
    const TIMER: u32 = 0x4000_9000;
    let mut machine = looping(NRF);
    let core = u64::from(machine.soc().clock.0);
    write(&mut machine, WDT, &[(INTENSET, 1), (CRV, 15)]);
    let channels = [(0x510, EGU + 0x100), (0x514, WDT + START), (0x518, WDT + TIMEOUT)];
    write(&mut machine, PPI, &channels);
    write(&mut machine, PPI, &[(0x51C, TIMER + 8), (0x504, 3)]);
    // MODE, START.
    write(&mut machine, TIMER, &[(0x504, 2), (0, 1)]);
    write(&mut machine, EGU, &[(0, 1)]);
    // The interrupt leaves two periods until the reset.
    assert_eq!(machine.run(Cycles(core * 17 / 32_768)), Stop::Limit);
    write(&mut machine, TIMER, &[(0x40, 1)]);
    assert_eq!([TIMER + 0x540, WDT + TIMEOUT].map(|at| read(&mut machine, at)), [1, 1]);
    write(&mut machine, WDT, &[(TIMEOUT, 0)]);
    assert_eq!(read(&mut machine, WDT + TIMEOUT), 0);
    let (cycle, _) = resets(&mut machine).expect("it is not reloaded");
    assert_at(&machine, cycle, 18, 32_768);
    assert_modelled(&machine);
    // Other registers are no ends of channels.
    let mut machine = looping(NRF);
    write(&mut machine, PPI, &[(0x510, EGU + 0x100), (0x514, WDT + CRV), (0x504, 1)]);
    assert_eq!(machine.unmodelled().map(|it| it.address).collect::<Vec<_>>(), [WDT + CRV]);
}

/// A chip of Raspberry Pi's: how its watchdog's tick comes from the crystal of 12 MHz, once a microsecond.
struct Rp {
    soc: &'static str,
    watchdog: u32,
    crystal: [(u32, u32); 2],
    tick: &'static [(u32, u32)],
    /// PSM's WDSEL, and the bit of core 0.
    selects: (u32, u32),
    counts_per_tick: u32,
}

const RPS: [Rp; 3] = [
    Rp {
        soc: RP2040,
        watchdog: 0x4005_8000,
        crystal: [(0x4002_4000, 0x00FA_BAA0), (0x4000_8030, 2)],
        tick: &[(0x4005_802C, 0x20C)],
        selects: (0x4001_0008, 1 << 15),
        counts_per_tick: 2,
    },
    Rp {
        soc: RP2350,
        watchdog: 0x400D_8000,
        crystal: [(0x4004_8000, 0x00FA_BAA0), (0x4001_0030, 2)],
        tick: &[(0x4010_8034, 12), (0x4010_8030, 1)],
        selects: (0x4001_8008, 1 << 23),
        counts_per_tick: 1,
    },
    Rp {
        soc: RISC_V,
        watchdog: 0x400D_8000,
        crystal: [(0x4004_8000, 0x00FA_BAA0), (0x4001_0030, 2)],
        tick: &[(0x4010_8034, 12), (0x4010_8030, 1)],
        selects: (0x4001_8008, 1 << 23),
        counts_per_tick: 1,
    },
];
const CTRL: u32 = 0x0;
const LOAD: u32 = 0x4;
const REASON: u32 = 0x8;
const SCRATCH0: u32 = 0xC;
const TICK: u32 = 0x2C;
const ENABLE: u32 = 1 << 30;
const PAUSES: u32 = 7 << 24;
const TICK_RUNNING: u32 = 1 << 10;
const TICK_ENABLE: u32 = 1 << 9;

#[test]
fn an_rp_watchdog_resets_the_chip_unless_it_is_loaded() {
    for Rp { soc, watchdog, crystal, tick, selects, counts_per_tick } in RPS {
        let mut machine = looping(soc);
        let core = u64::from(machine.soc().clock.0);
        write(&mut machine, 0, &crystal);
        write(&mut machine, 0, tick);
        write(&mut machine, 0, &[selects]);
        let load = (LOAD, 100_000 * counts_per_tick);
        write(&mut machine, watchdog, &[(SCRATCH0, 0x1234), load, (CTRL, ENABLE)]);
        assert_eq!(machine.run(Cycles(core / 20)), Stop::Limit);
        let left = read(&mut machine, watchdog + CTRL) & 0xFF_FFFF;
        assert_eq!(read(&mut machine, watchdog + SCRATCH0), 0x1234);
        assert!((49_990..=50_010).contains(&(left / counts_per_tick)), "{left}");
        write(&mut machine, watchdog, &[load]);
        assert_eq!(machine.run(Cycles(core / 10)), Stop::Limit);
        // It stands still while it is not enabled, and then goes on.
        write(&mut machine, watchdog, &[(CTRL, 0)]);
        assert_eq!(machine.run(Cycles(core / 5)), Stop::Limit);
        write(&mut machine, watchdog, &[(CTRL, ENABLE)]);
        let (cycle, cause) = resets(&mut machine).expect("it is not loaded again");
        assert_eq!(cause, WatchdogCause::Expired);
        assert_at(&machine, cycle, 250_000, 1_000_000);
        assert!(machine.unmodelled().next().is_none());
        // TRIGGER resets at once; without a tick nothing else does.
        let mut machine = looping(soc);
        write(&mut machine, 0, &[selects]);
        write(&mut machine, watchdog, &[(LOAD, 9), (CTRL, ENABLE)]);
        assert_eq!(resets(&mut machine), None);
        let before = machine.cycles().0;
        write(&mut machine, watchdog, &[(CTRL, 1 << 31)]);
        let (cycle, cause) = resets(&mut machine).expect("it is triggered");
        assert_eq!(cause, WatchdogCause::Triggered);
        assert!(cycle - before < 10);
    }
}

#[test]
fn an_rp_watchdogs_registers_read_as_the_datasheets_say() {
    for Rp { soc, watchdog, selects, .. } in RPS {
        let mut machine = looping(soc);
        let scratch: Vec<_> = (0..8).map(|at| (SCRATCH0 + 4 * at, 0x100 + at)).collect();
        write(&mut machine, watchdog, &scratch);
        write(&mut machine, watchdog, &[(REASON, 3), (LOAD, 0x1234_5678)]);
        for (at, value) in scratch {
            assert_eq!(read(&mut machine, watchdog + at), value);
        }
        // LOAD is write-only, and there has been no reset.
        assert_eq!([LOAD, REASON].map(|at| read(&mut machine, watchdog + at)), [0, 0]);
        assert_eq!(
            read(&mut machine, watchdog + CTRL),
            PAUSES | 0x34_5678,
            "after reset, and TIME"
        );
        // Nothing starts.
        write(&mut machine, watchdog, &[(CTRL, PAUSES)]);
        assert_modelled(&machine);
        // What it resets is not the core: that has no model.
        write(&mut machine, watchdog, &[(CTRL, ENABLE)]);
        assert_eq!(machine.unmodelled().count(), 1);
        let mut machine = looping(soc);
        write(&mut machine, 0, &[selects]);
        write(&mut machine, watchdog, &[(LOAD, 0x1234), (CTRL, ENABLE | PAUSES)]);
        assert_eq!(read(&mut machine, watchdog + CTRL), ENABLE | PAUSES | 0x1234, "without a tick");
        assert_modelled(&machine);
    }
}

/// The tick of RP2040's watchdog is its own (datasheet, 4.7.6, TICK); RP2350's is that of a block beside it.
#[test]
fn an_rp2040_divides_the_reference_clock_for_its_watchdog_and_shows_what_is_left() {
    let Rp { soc, watchdog, crystal, selects, .. } = RPS[0];
    let mut machine = looping_with(soc, ClockControl::Registers);
    // The core has the reference clock, so that a count of TICK is a cycle.
    write(&mut machine, 0, &crystal);
    write(&mut machine, 0, &[selects]);
    write(&mut machine, watchdog, &[(TICK, TICK_ENABLE | 0x1F4)]);
    let tick = read(&mut machine, watchdog + TICK);
    assert_eq!(tick & 0x7FF, TICK_RUNNING | TICK_ENABLE | 0x1F4);
    let began = machine.cycles().0;
    for _ in 0..3 {
        assert_eq!(machine.run(Cycles(machine.cycles().0 + 135)), Stop::Limit);
        let left = read(&mut machine, watchdog + TICK) >> 11;
        let (counted, passed) = (u64::from((tick >> 11) - left), machine.cycles().0 - began);
        assert!(counted.abs_diff(passed) <= 1, "{counted} rather than {passed}");
    }
    // Without the bit that enables it, nothing is counted.
    write(&mut machine, watchdog, &[(TICK, 12), (LOAD, 9), (CTRL, ENABLE)]);
    assert_eq!(read(&mut machine, watchdog + TICK), 12);
    assert_eq!(resets(&mut machine), None);
    assert_modelled(&machine);
    let Rp { soc, watchdog, .. } = RPS[1];
    let mut machine = looping(soc);
    read(&mut machine, watchdog + TICK);
    assert_eq!(machine.unmodelled().count(), 1, "an RP2350 has no such register");
}

/// The crystal's microseconds stay what they are while the core's clock, the crystal's 12 MHz, is divided by two.
#[test]
fn an_rp_watchdog_keeps_its_time_beside_a_core_at_another_frequency() {
    let [rp2040, rp2350, _] = RPS;
    for (Rp { soc, watchdog, crystal, tick, selects, counts_per_tick }, [undivided, divided]) in [
        (rp2040, [(0x4000_803C, 0), (0x4000_8040, 2 << 8)]),
        (rp2350, [(0x4001_003C, 0), (0x4001_0040, 2 << 16)]),
    ] {
        let mut machine = looping_with(soc, ClockControl::Registers);
        write(&mut machine, 0, &crystal);
        write(&mut machine, 0, tick);
        write(&mut machine, 0, &[selects, undivided]);
        write(&mut machine, watchdog, &[(LOAD, 100_000 * counts_per_tick), (CTRL, ENABLE)]);
        let began = machine.cycles().0;
        assert_eq!(machine.run(Cycles(began + 600_000)), Stop::Limit);
        write(&mut machine, 0, &[divided]);
        let (cycle, _) = resets(&mut machine).expect("it is not loaded again");
        assert!((899_900..=900_100).contains(&(cycle - began)), "{}", cycle - began);
    }
}
