//! When watchdogs reset the chip. The judges: ST's formula for an IWDG, periods x prescaler x (RLR + 1) of its LSI
//! (RM0394, "Independent watchdog (IWDG)"), and Nordic's for a WDT, (CRV + 1) / 32768 seconds (nRF52840 PS, "WDT -
//! Watchdog timer"). RP2040's and RP2350's SDK states how to load theirs: a tick takes two counts of RP2040's
//! (RP2040-E1), one of RP2350's.

use rtmark_sim::{Cycles, Machine, Register, Soc, Stop, WatchdogCause};

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
const WINR: u32 = 0x10;
const WDT: u32 = 0x4001_0000;
const START: u32 = 0x0;
const REQUESTS: u32 = 0x404;
const CRV: u32 = 0x504;
const RREN: u32 = 0x508;
const RR: u32 = 0x600;
const RELOAD: u32 = 0x6E52_4635;

/// Creates a chip that executes an endless loop in RAM.
fn looping(soc: &str) -> Machine {
    let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
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
/// take.
fn assert_at(machine: &Machine, cycle: u64, periods: u64, hertz: u64) {
    let core = u64::from(machine.soc().clock.0);
    let (exact, period) = (core * periods / hertz, core / hertz + 10);
    assert!((exact - period..=exact + period).contains(&cycle), "{cycle} rather than {exact}");
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
    for (after, early) in [(300, true), (500, false)] {
        let mut machine = looping(L432);
        // The counter begins with 999, a count takes a millisecond; the window begins at 599.
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
    write(&mut machine, WDT, &[(0x304, 1), (CRV, 99), (START, 1)]);
    // Once it has timed out, a request changes nothing.
    assert_eq!(machine.run(Cycles(core * 101 / 32_768)), Stop::Limit);
    write(&mut machine, WDT, &[(RR, RELOAD)]);
    let (cycle, _) = resets(&mut machine).expect("it is not reloaded");
    assert_at(&machine, cycle, 102, 32_768);
    assert_eq!(load_word(&mut machine, 0xE000_E200) >> 16 & 1, 1, "NVIC_ISPR0");
    // A watchdog that stands still asleep has no model.
    let mut machine = looping(NRF);
    write(&mut machine, WDT, &[(0x50C, 0), (START, 1)]);
    assert_eq!(machine.unmodelled().count(), 1);
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
const SCRATCH0: u32 = 0xC;
const ENABLE: u32 = 1 << 30;

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
