//! DebugMonitor and the registers of the debug architecture (DDI 0403, C1) as far as a
//! program without a debugger has to do with them.

use rtmark_sim::{CoreKind, Cycles, FaultPolicy, Observer, Register, Stop};

use crate::support::*;

const MON_EN: u32 = 1 << 16;
const MON_PEND: u32 = 1 << 17;
/// SHPR3: DebugMonitor's priority.
const MONITOR_PRIORITY: u32 = SHPR3;
const BKPT: u16 = 0xBE01;

#[test]
fn breakpoints_enter_the_monitor_if_enabled() {
    // C1.4.1 and C1.6.5: also under the policy that stops at breakpoints.
    for policy in [FaultPolicy::Stop, FaultPolicy::Deliver] {
        let mut firmware = Firmware::new();
        firmware.store(DEMCR, MON_EN).mark("breakpoint").op(&[BKPT]).mark("after").forever();
        firmware.handler(12).mark("monitor").load(4, DFSR).store(DFSR, 2).load(5, DFSR);
        firmware.load(7, SHCSR).mrs(0, 8).op(&[0x6986]); // ldr r6, [r0, #24]
        firmware.op(&[0x1CB1, 0x6181, BX_LR]); // adds r1, r6, #2; str r1, [r0, #24]
        let mut running = firmware.on(CoreKind::CortexM4F);
        running.machine.set_fault_policy(policy);
        assert_eq!(running.run(1_000), Stop::Limit);
        assert_eq!(running.names(), ["breakpoint", "monitor", "after"]);
        let taken = running.cycle("monitor") - running.cycle("breakpoint");
        assert_eq!(taken, 1 + 9, "its own, and those of the frame: see `interrupt_delay`");
        assert_eq!([running.r(4), running.r(5)], [1 << 1, 0], "DFSR.BKPT, and its clearing");
        assert_eq!(running.r(6), firmware.address("breakpoint"), "the frame's return address");
        assert_eq!(running.r(7) & 1 << 8, 1 << 8, "SHCSR.MONITORACT");
    }
}

#[test]
fn breakpoints_the_monitor_cannot_take_are_hard_faults() {
    // C1.4.1: HFSR.DEBUGEVT, whether the monitor is off or not urgent enough.
    for (control, priority) in [(0, 0), (MON_EN, 0x80)] {
        let mut firmware = Firmware::new();
        firmware.store(MONITOR_PRIORITY, priority).store(DEMCR, control);
        firmware.set(0, 0x40).msr(17, 0).mark("breakpoint").op(&[BKPT]).forever();
        firmware.handler(3).mark("hard fault").load(4, HFSR).load(5, DFSR).forever();
        firmware.handler(12).mark("monitor").forever();
        let mut running = firmware.on(CoreKind::CortexM3);
        assert_eq!(running.run(1_000), Stop::Limit);
        assert_eq!(running.names(), ["breakpoint", "hard fault"]);
        assert_eq!([running.r(4), running.r(5)], [1 << 31, 1 << 1]);
    }
}

#[test]
fn software_can_pend_the_monitor() {
    // C1.6.5: MON_PEND, which is pending whether enabled or not.
    let mut firmware = Firmware::new();
    firmware.store(DEMCR, MON_PEND).nops(4).load(4, DEMCR).store(DEMCR, 0).load(5, DEMCR);
    firmware.mark("not yet").store(DEMCR, MON_EN | MON_PEND).nops(4).mark("after").forever();
    firmware.handler(12).mark("monitor").load(6, DEMCR).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["not yet", "monitor", "after"]);
    assert_eq!([4, 5, 6].map(|number| running.r(number)), [MON_PEND, 0, MON_EN]);
}

struct NullObserver;

impl Observer for NullObserver {}

/// A stop is no fault: it ends the run also where faults are the program's own to handle, in every
/// way to run. In an IT block it does so where the instruction would be executed.
#[test]
fn fault_stops_do_not_depend_on_the_handler() {
    const PLAIN: &[u16] = &[NOP];
    const PASSES: &[u16] = &[0x2000, 0x2800, 0xBF04]; // movs r0, #0; cmp r0, #0; itt eq
    const FAILS: &[u16] = &[0x2000, 0x2800, 0xBF0C]; // ite eq
    let cases = [
        (CoreKind::CortexM0Plus, PLAIN, true),
        (CoreKind::CortexM3, PLAIN, true),
        (CoreKind::CortexM3, PASSES, true),
        (CoreKind::CortexM3, FAILS, false),
        (CoreKind::CortexM33, PASSES, true),
        (CoreKind::CortexM33, FAILS, false),
    ];
    for policy in [FaultPolicy::Stop, FaultPolicy::Deliver] {
        for (core, before, stops) in cases {
            let what = format!("{core} {before:04x?} {policy:?}");
            let mut firmware = Firmware::new();
            // nop; movs r1, #3
            firmware.op(before).op(&[NOP]).mark("there").op(&[0x2103]).forever();
            firmware.handler(3).forever();
            let there = firmware.address("there");
            let mut machine = firmware.on(core).machine;
            machine.set_fault_policy(policy);
            machine.stop_before(there);
            let mut observed = machine.clone();
            let stop = machine.run(Cycles(100));
            let expected = if stops { Stop::Breakpoint(there) } else { Stop::Limit };
            assert_eq!(stop, expected, "{what}");
            assert_eq!(observed.run_observed(Cycles(100), &mut NullObserver), expected, "{what}");
            assert_eq!(machine.cycles(), observed.cycles(), "{what}");
            let executed = if stops { 0 } else { machine.register(Register::R(1)) };
            assert_eq!(machine.register(Register::R(1)), executed, "{what}");
        }
    }
}
