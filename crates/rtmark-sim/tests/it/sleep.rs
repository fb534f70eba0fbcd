//! WFI, WFE, SEV and what wakes a sleeping core (DDI 0403, B1.5.18 and B1.5.19).

use rtmark_sim::{CoreKind, Cycles, Stop, Watch};

use crate::support::*;

#[test]
fn interrupts_wake_and_are_taken() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).op(&[WFI]).mark("awake").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(5_000));
        running.run(10_000);
        assert_eq!(running.names()[..2], ["handler", "awake"], "{core}");
        let entry = match core {
            CoreKind::CortexM0 => 16,
            CoreKind::CortexM0Plus => 15,
            _ => 12,
        };
        assert_eq!(running.cycle("handler"), 5_000 + entry, "{core}: sleep adds nothing");
    }
}

#[test]
fn sleep_can_be_watched_and_an_event_prevents_it() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        // The first WFE finds the event and goes on.
        firmware.enable(1).op(&[SEV, WFE]).mark("went on").op(&[WFE]).mark("awake").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.watch(Watch::Sleep, "asleep");
        running.machine.pend_interrupt(0, Cycles(5_000));
        running.run(10_000);
        assert_eq!(running.names()[..4], ["went on", "asleep", "handler", "awake"], "{core}");
        assert!(running.cycle("asleep") < 1_000, "{core}: when it falls asleep, not when it wakes");
    }
}

#[test]
fn masked_interrupts_wake_and_stay_pending() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).op(&[CPSID_I, WFI]).mark("awake").nops(3).op(&[CPSIE_I]);
        firmware.mark("open").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(500));
        running.run(1_000);
        assert_eq!(running.names()[..3], ["awake", "handler", "open"], "{core}");
        assert!(running.cycle("awake") >= 500);
    }
}

/// SCR.SLEEPDEEP is bit 2. A chip stops the core's clock then; here nothing stops, which is told of.
#[test]
fn deep_sleep_is_told_of() {
    for &core in CoreKind::CORTEX_M {
        for (control, told) in [(0, 0), (4, 1)] {
            let mut firmware = Firmware::new();
            firmware.store(0xE000_ED10, control).op(&[WFI]).forever();
            let mut running = firmware.on(core);
            running.machine.run(Cycles(1_000));
            assert_eq!(running.machine.core_without_model().len(), told, "{core}: {control}");
        }
    }
}

#[test]
fn disabled_interrupts_do_not_wake() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[WFI]).mark("awake").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(500));
        assert_eq!(running.run(1_000), Stop::Asleep, "{core}");
        assert!(running.passed.is_empty(), "{core}");
    }
}

#[test]
fn systick_wakes_and_time_asleep_is_counted() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.store(SYST_RVR, 9_999).store(SYST_CVR, 0).store(SYST_CSR, 7);
        let top = firmware.here();
        firmware.op(&[WFI]).mark("awake");
        let back = (i64::from(top) - i64::from(firmware.here()) - 4) / 2;
        firmware.op(&[0xE000 | (back as u16 & 0x7FF)]);
        firmware.handler(15).mark("tick").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(105_000);
        let ticks: Vec<_> =
            running.passed.iter().filter(|mark| mark.0 == "tick").map(|mark| mark.1).collect();
        assert_eq!(ticks.len(), 10, "{core}");
        assert!(ticks.windows(2).all(|two| two[1] - two[0] == 10_000), "{core}: {ticks:?}");
        assert!(running.machine.instructions().0 < 100, "{core}: sleeping executes nothing");
    }
}

#[test]
fn a_core_that_nothing_can_wake_stops_as_asleep() {
    for &core in CoreKind::CORTEX_M {
        for sleep in [WFI, WFE] {
            let mut firmware = Firmware::new();
            firmware.op(&[sleep]).mark("awake").forever();
            let mut running = firmware.on(core);
            assert_eq!(running.run(u64::MAX / 2), Stop::Asleep, "{core}");
            assert!(running.passed.is_empty(), "{core}");
        }
    }
}

#[test]
fn the_event_register_holds_one_event() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[SEV, WFE]).mark("first").op(&[WFE]).mark("second").forever();
        let mut running = firmware.on(core);
        assert_eq!(running.run(1_000), Stop::Asleep, "{core}");
        assert_eq!(running.names(), ["first"], "{core}");
    }
}

#[test]
fn exception_return_sets_the_event_register() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[0xDF00, WFE]).mark("awake").op(&[WFE]).mark("again").forever();
        firmware.handler(11).op(&[BX_LR]);
        let mut running = firmware.on(core);
        assert_eq!(running.run(1_000), Stop::Asleep, "{core}");
        assert_eq!(running.names(), ["awake"], "{core}");
    }
}

#[test]
fn sevonpend_makes_pending_an_event() {
    for &core in CoreKind::CORTEX_M {
        // SEVONPEND: even an interrupt that is not enabled wakes WFE.
        let mut firmware = Firmware::new();
        firmware.store(SCR, 0x10).op(&[WFE]).mark("awake").forever();
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(500));
        assert_eq!(running.run(1_000), Stop::Limit, "{core}");
        assert_eq!(running.names()[..1], ["awake"], "{core}");
    }
}

#[test]
fn already_pending_interrupts_are_not_events() {
    // B1.5.18: only becoming pending is, and what a first WFE has taken is gone.
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.store(NVIC_ISPR, 1).store(SCR, 0x10).nops(2).op(&[WFE]).mark("awake").forever();
        let mut running = firmware.on(core);
        assert_eq!(running.run(1_000), Stop::Asleep, "{core}");
        assert!(running.passed.is_empty(), "{core}");
    }
}

#[test]
fn sleep_on_exit_never_returns_to_thread_mode() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).store(SCR, 2).op(&[WFI]).mark("thread").forever();
        firmware.handler(16).mark("handler").op(&[BX_LR]);
        let mut running = firmware.on(core);
        for at in [500, 1_000, 1_500] {
            running.machine.pend_interrupt(0, Cycles(at));
        }
        assert_eq!(running.run(10_000), Stop::Asleep, "{core}");
        assert_eq!(running.names(), ["handler"; 3], "{core}");
    }
}

#[test]
fn a_sleep_that_ends_immediately_takes_two_cycles() {
    // DDI 0484, 3.3: WFI and WFE take two cycles; the interrupt is already there.
    let mut firmware = Firmware::new();
    firmware.enable(1).op(&[CPSID_I]).store(NVIC_ISPR, 1).nops(3);
    firmware.mark("before").op(&[WFI]).mark("after").forever();
    let mut running = firmware.on(CoreKind::CortexM0Plus);
    running.run(200);
    assert_eq!(running.cycle("after") - running.cycle("before"), 2);
}

#[test]
fn primask_keeps_wfe_asleep_but_not_wfi() {
    // DUI 0553, 2.6.2: only an exception that would be entered wakes from WFE.
    for &core in CoreKind::CORTEX_M {
        for (sleep, control, wakes) in [(WFI, 0, true), (WFE, 0, false), (WFE, 0x10, true)] {
            let mut firmware = Firmware::new();
            firmware.enable(1).store(SCR, control).op(&[CPSID_I, sleep]).mark("awake").forever();
            let mut running = firmware.on(core);
            running.run(300);
            assert!(running.machine.is_asleep(), "{core}");
            for priority in [None, Some(0), Some(0xC0)] {
                assert_eq!(running.machine.would_wake(priority), wakes, "{core}");
            }
            running.machine.pend_interrupt(0, Cycles(500));
            let stop = running.run(1_000);
            assert_eq!(stop == Stop::Limit, wakes, "{core} {sleep:#x} {control:#x}: {stop:?}");
            assert_eq!(running.names() == ["awake"], wakes, "{core} {sleep:#x} {control:#x}");
        }
    }
}

#[test]
fn basepri_and_handlers_keep_less_urgent_interrupts_from_waking() {
    for &core in CoreKind::CORTEX_M.iter().filter(|core| core.is_mainline()) {
        let asleep = |firmware: &mut Firmware, at| {
            let mut running = firmware.on(core);
            running.machine.pend_interrupt(0, Cycles(at));
            running.run(300);
            assert!(running.machine.is_asleep(), "{core}");
            running.machine
        };
        let mut masked = Firmware::new();
        masked.op(&[0x2080]).msr(17, 0).op(&[WFI]).forever();
        let machine = asleep(&mut masked, 1_000);
        let wakes = [None, Some(0x80), Some(0x60)].map(|priority| machine.would_wake(priority));
        assert_eq!(wakes, [false, false, true], "{core}");

        let mut handled = Firmware::new();
        handled.store(NVIC_IPR, 0x80).enable(1).forever();
        handled.handler(16).op(&[WFI]).forever();
        let machine = asleep(&mut handled, 150);
        let wakes = [None, Some(0x80), Some(0x60)].map(|priority| machine.would_wake(priority));
        assert_eq!(wakes, [true, false, true], "{core}: no mask is set");
    }
}
