//! What goes wrong, and how it is told: to the caller, and to the program's own handlers.
//! Sections are those of DDI 0403 (ARMv7-M) and DDI 0419 (ARMv6-M).

mod causes;

use causes::*;
use rtmark_sim::{CoreKind, ExitStatus, FaultKind, FaultPolicy, Memory, Soc, Stop, Transfer};

use crate::support::*;

fn firmware_of(fault: &Fault) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.nops(1);
    (fault.prepare)(&mut firmware);
    firmware.mark("fault").op(fault.instruction).mark("beyond").forever();
    firmware.handler(3).mark("hard fault").forever();
    firmware
}

#[test]
fn fault_stops_come_before_the_handler_and_report_cause_and_location() {
    for fault in FAULTS {
        for &core in fault.cores {
            let firmware = firmware_of(fault);
            let mut running = firmware.on(core);
            running.machine.set_fault_policy(FaultPolicy::Stop);
            let stop = running.run(1_000);
            let at = firmware.address("fault");
            if fault.kind == FaultKind::Breakpoint {
                assert_eq!(stop, Stop::Breakpoint(at), "{core}: {}", fault.what);
                continue;
            }
            let Stop::Fault(report) = stop else { panic!("{core}: {}: {stop:?}", fault.what) };
            assert_eq!(report.kind, fault.kind, "{core}: {}", fault.what);
            assert_eq!(report.pc, at, "{core}: {}", fault.what);
            assert_eq!(report.address, fault.address, "{core}: {}", fault.what);
            assert_eq!((report.handler, report.sp), (0, STACK), "{core}: {}", fault.what);
            let address = fault.address.map(|it| format!(", address {it:#010x}"));
            let state = format!("(lr {:#010x}, sp {STACK:#010x}, thread mode", report.lr);
            let (address, cycle) = (address.unwrap_or_default(), report.cycle.0);
            let text = format!("{} at pc {at:#010x}{address} {state}, cycle {cycle})", fault.kind);
            assert_eq!(report.to_string(), text, "{core}");
            assert_eq!(running.names().last(), Some(&"fault"), "{core}: {}", fault.what);
        }
    }
}

#[test]
fn delivered_faults_have_their_frame_and_status() {
    for fault in FAULTS {
        for &core in fault.cores {
            let firmware = firmware_of(fault);
            let mut running = firmware.on(core);
            assert_eq!(running.run(1_000), Stop::Limit, "{core}: {}", fault.what);
            assert_eq!(running.names(), ["fault", "hard fault"], "{core}: {}", fault.what);
            let stacked = running.word(running.r(13) + 24);
            // The judge is QEMU, and NuttX and Zephyr, which count on it on chips.
            let returns_to = match fault.kind {
                FaultKind::SupervisorCall => "beyond",
                _ => "fault",
            };
            assert_eq!(stacked, firmware.address(returns_to), "{core}: {}", fault.what);
            if core.is_mainline() {
                let mut reader = firmware_of(fault);
                reader.handler(3).load(4, CFSR).load(5, HFSR).load(6, BFAR).forever();
                let mut running = reader.on(core);
                running.run(1_000);
                assert_eq!(running.r(4), fault.status, "{}", fault.what);
                if fault.status != 0 {
                    assert_eq!(running.r(5), 1 << 30, "{}: HFSR.FORCED", fault.what);
                }
                if let (FaultKind::DataAccess, Some(address)) = (fault.kind, fault.address) {
                    assert_eq!(running.r(6), address, "{}: BFAR", fault.what);
                }
            }
        }
    }
}

#[test]
fn branches_to_arm_code_fault_at_the_target() {
    // A4.1.1: bit 0 clear; the branch itself completes.
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.set(0, 0x2000).mark("branch").op(&[0x4700]).forever();
        let mut running = firmware.on(core);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(1_000) else { panic!("{core}") };
        assert_eq!((report.kind, report.pc), (FaultKind::InvalidState, 0x2000), "{core}");
    }
}

#[test]
fn fetches_outside_memory_fault() {
    for &core in CoreKind::CORTEX_M {
        // The last two are never executable, whatever is there (B3.1).
        for (target, kind) in [
            (0x4000, FaultKind::InstructionAccess),
            (NOWHERE, FaultKind::InstructionAccess),
            (RAM + 0x4000, FaultKind::InstructionAccess),
            (0x4000_0000, FaultKind::InstructionProtection),
            (0xE000_E000, FaultKind::InstructionProtection),
        ] {
            let mut firmware = Firmware::new();
            firmware.set(0, target | 1).op(&[0x4700]).forever();
            let mut running = firmware.on(core);
            running.machine.set_fault_policy(FaultPolicy::Stop);
            let Stop::Fault(report) = running.run(1_000) else { panic!("{core}: {target:#x}") };
            assert_eq!(report.kind, kind, "{core}: {target:#x}");
            assert_eq!((report.pc, report.address), (target, Some(target)), "{core}");
        }
    }
}

#[test]
fn most_unaligned_accesses_work_on_mainline_cores() {
    // A3.2.1: LDR, LDRH, STR, STRH and their kin.
    let mut firmware = Firmware::new();
    firmware.store(RAM, 0x4433_2211).store(RAM + 4, 0x8877_6655).set(0, RAM + 1);
    firmware.op(&[0x6801]); // ldr r1, [r0]
    firmware.op(&[0x8842]); // ldrh r2, [r0, #2]
    firmware.op(&[0xF9B0, 0x3006]); // ldrsh.w r3, [r0, #6]
    firmware.set(4, 0xAABB_CCDD).op(&[0x6004]).forever(); // str r4, [r0]
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(200);
    assert_eq!([running.r(1), running.r(2)], [0x5544_3322, 0x5544]);
    assert_eq!(running.r(3), 0xFFFF_A588, "the last byte is what RAM held at reset");
    assert_eq!([running.word(RAM), running.word(RAM + 4)], [0xBBCC_DD11, 0x8877_66AA]);
}

#[test]
fn usage_faults_have_their_own_handler_if_enabled() {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, 1 << 18).op(&[0xDE00]).forever();
    firmware.handler(3).mark("hard fault").forever();
    firmware.handler(6).mark("usage fault").load(4, CFSR).load(5, HFSR).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.machine.set_fault_policy(FaultPolicy::Stop);
    assert_eq!(running.run(1_000), Stop::Limit, "its own handler is no reason to stop");
    assert_eq!(running.names(), ["usage fault"]);
    assert_eq!((running.r(4), running.r(5)), (1 << 16, 0));
}

#[test]
fn bus_faults_have_their_own_handler_if_enabled() {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, 1 << 17).set(0, NOWHERE).op(&[0x6801]).forever();
    firmware.handler(5).mark("bus fault").load(4, CFSR).load(5, BFAR).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    assert_eq!(running.run(1_000), Stop::Limit);
    assert_eq!(running.names(), ["bus fault"]);
    assert_eq!((running.r(4), running.r(5)), (1 << 9 | 1 << 15, NOWHERE));
}

/// A program that stores to nowhere, with and without write-back, and goes on.
fn lost_store(prepare: impl Fn(&mut Firmware)) -> Firmware {
    let mut firmware = Firmware::new();
    prepare(&mut firmware);
    firmware.set(0, NOWHERE).mark("store").op(&[0xF840, 0x1F04]).mark("next"); // str r1, [r0, #4]!
    firmware.op(&[0x1C47]).mark("later").forever(); // adds r7, r0, #1
    firmware.handler(3).mark("hard fault").load(4, CFSR).load(5, HFSR).forever();
    firmware.handler(5).mark("bus fault").load(4, CFSR).load(5, HFSR).mrs(6, 8).op(&[BX_LR]);
    firmware
}

#[test]
fn faults_of_buffered_stores_come_after_the_instruction() {
    // B1.5.14 and DDI 0439, 3.3.2: asynchronous, on the instructions after the store, with
    // no address in BFAR.
    for &core in MAINLINE {
        let firmware = lost_store(|_| {});
        let mut running = firmware.on(core);
        assert_eq!(running.run(1_000), Stop::Limit);
        assert_eq!(running.names(), ["store", "hard fault"], "{core}");
        assert_eq!((running.r(4), running.r(5)), (1 << 10, 1 << 30), "IMPRECISERR");
        let frame = running.r(13);
        assert_eq!(running.word(frame + 24), firmware.address("next"), "{core}");
        assert_eq!(running.word(frame), NOWHERE + 4, "the base is written back");

        let mut running = firmware.on(core);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(1_000) else { panic!("{core}") };
        assert_eq!((report.pc, report.address), (firmware.address("store"), Some(NOWHERE + 4)));

        let mut running = lost_store(|firmware| {
            firmware.store(SHCSR, 1 << 17);
        })
        .on(core);
        running.run(1_000);
        assert_eq!(running.names(), ["store", "bus fault", "next", "later"], "{core}");
        assert_eq!((running.r(4), running.r(5)), (1 << 10, 0));
    }
}

#[test]
fn imprecise_faults_wait_for_their_priority() {
    // B1.5.14: it stays pending while what runs is as urgent.
    let mut firmware = lost_store(|firmware| {
        firmware.store(SHCSR, 1 << 17).store(0xE000_ED18, 0x4000).set(0, 0x20).msr(17, 0);
    });
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["store", "next", "later"]);
    firmware = lost_store(|firmware| {
        firmware.store(SHCSR, 1 << 17).store(0xE000_ED18, 0x1000).set(0, 0x20).msr(17, 0);
    });
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["store", "bus fault", "next", "later"]);
}

#[test]
fn bus_faults_can_be_ignored_at_negative_priorities() {
    // B3.2.8, CCR.BFHFNMIGN.
    for (ignores, beyond) in [(1 << 8, true), (0, false)] {
        let mut firmware = Firmware::new();
        firmware.store(CCR, 1 << 9 | ignores).op(&[0xDE00]).forever();
        firmware.handler(3).set(0, NOWHERE).set(1, 7).mark("load").op(&[0x6801]).mark("beyond");
        firmware.op(&[0x6001]).mark("stored").forever();
        let mut running = firmware.on(CoreKind::CortexM4F);
        let stop = running.run(1_000);
        if beyond {
            assert_eq!(running.names(), ["load", "beyond", "stored"]);
            assert_eq!(running.r(1), 0);
        } else {
            assert!(matches!(stop, Stop::Lockup(_)), "{stop:?}");
            assert_eq!(running.names(), ["load"]);
        }
    }
}

#[test]
fn frames_cannot_be_stacked_in_device_memory() {
    // A stack pointer in the range of devices: what is stored there is not kept.
    for &core in CoreKind::CORTEX_M {
        for stack in [0x4000_1000, 0xE000_1000] {
            let mut firmware = Firmware::new();
            firmware.set(0, stack).op(&[0x4685, 0xDF00]).forever(); // mov sp, r0; svc
            firmware.handler(11).mark("svc").forever();
            let mut running = firmware.on(core);
            running.machine.set_fault_policy(FaultPolicy::Stop);
            let Stop::Fault(report) = running.run(1_000) else { panic!("{core}") };
            assert_eq!(report.kind, FaultKind::Stack(Transfer::Entry), "{core}: {stack:#x}");
        }
    }
}

#[test]
fn exceptions_without_a_vector_become_hard_faults() {
    // B1.5.12: HFSR.VECTTBL; the exception stays pending.
    let mut firmware = Firmware::new();
    firmware.store(VTOR, 0x3F80).mark("svc").op(&[0xDF00]).forever();
    firmware.handler(3).mark("hard fault").load(4, HFSR).load(5, SHCSR).forever();
    // The table ends with memory, between the vectors of HardFault and SVCall.
    let mut running =
        firmware.on_soc(&Soc { memories: shorter_flash(), ..soc(CoreKind::CortexM3) });
    let vector = running.machine.peek(12, 4);
    running.machine.poke(0x3F80 + 12, &vector).expect("flash");
    running.run(1_000);
    assert_eq!(running.names(), ["svc", "hard fault"]);
    assert_eq!((running.r(4), running.r(5) >> 15 & 1), (1 << 1, 1));
}

/// The bench's memories, with a flash that ends 32 bytes after a vector table's beginning.
fn shorter_flash() -> Vec<Memory> {
    let mut memories = soc(CoreKind::CortexM3).memories;
    memories[0].size = 0x3FA0;
    memories
}

#[test]
fn faults_of_rejected_returns_tail_chain_on_the_frame() {
    // B1.5.8: DeActivate, INVPC, and UsageFault with the EXC_RETURN in LR, without a
    // frame of its own.
    for exc_return in [0xFFFF_FFF1_u32, 0xFFFF_FFF3, 0xFFFF_FFF5] {
        let mut firmware = Firmware::new();
        firmware.store(SHCSR, 1 << 18).op(&[0xDF00]).forever();
        firmware.handler(11).mrs(7, 8).set(0, exc_return).op(&[0x4700]);
        firmware.handler(6).mark("usage fault").op(&[0x4676]).load(4, CFSR).load(5, SHCSR);
        firmware.forever();
        let mut running = firmware.on(CoreKind::CortexM3);
        running.run(1_000);
        assert_eq!(running.names(), ["usage fault"], "{exc_return:#x}");
        assert_eq!((running.r(4), running.r(6)), (1 << 18, exc_return));
        assert_eq!(running.r(5) & 0x88, 1 << 3, "UsageFault is active, SVCall is not");
        assert_eq!(running.r(13), running.r(7), "on SVCall's frame");
    }
}

#[test]
fn nonbasethrdena_allows_return_to_thread_mode_from_nested_handlers() {
    // B3.2.8, CCR.NONBASETHRDENA: SVCall returns to thread mode from within PendSV.
    for (allows, names) in
        [(1, &["pendsv", "svc", "thread"][..]), (0, &["pendsv", "svc", "usage fault"])]
    {
        let mut firmware = Firmware::new();
        firmware.store(CCR, 1 << 9 | allows).store(SHPR3, 0x00C0_0000).store(SHCSR, 1 << 18);
        firmware.store(ICSR, 1 << 28).nops(8).forever();
        firmware.handler(14).mark("pendsv").op(&[0xDF00]).mark("thread").load(4, SHCSR).forever();
        // SVCall's frame says that it interrupted PendSV: that is cleared first.
        firmware.handler(11).mark("svc").mrs(0, 8).op(&[0x69C1]); // ldr r1, [r0, #28]
        firmware.op(&[0x0A49, 0x0249, 0x61C1]).set(0, 0xFFFF_FFF9).op(&[0x4700]);
        firmware.handler(6).mark("usage fault").forever();
        let mut running = firmware.on(CoreKind::CortexM4F);
        running.run(1_000);
        assert_eq!(running.names(), names);
        if allows == 1 {
            assert_eq!(running.r(4) >> 10 & 1, 1, "PendSV is active still");
        }
    }
}

#[test]
fn faults_of_insufficient_priority_are_escalated() {
    // B1.5.10: UsageFault is enabled, but BASEPRI holds it back.
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, 1 << 18).set(1, 0x10).store(0xE000_ED18, 0x0020_0000);
    firmware.set(1, 0x10).msr(17, 1).op(&[0xDE00]).forever();
    firmware.handler(3).mark("hard fault").forever();
    firmware.handler(6).mark("usage fault").forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    assert_eq!(running.run(1_000), Stop::Limit);
    assert_eq!(running.names(), ["hard fault"]);
}

#[test]
fn handlers_can_skip_the_faulting_instruction() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[0xDE00]).mark("after").forever();
        // mrs r0, msp; ldr r1, [r0, #24]; adds r1, #2; str r1, [r0, #24]
        firmware.handler(3).mrs(0, 8).op(&[0x6981, 0x3102, 0x6181, BX_LR]);
        let mut running = firmware.on(core);
        assert_eq!(running.run(1_000), Stop::Limit, "{core}");
        assert_eq!(running.names(), ["after"], "{core}");
    }
}

#[test]
fn faults_within_hard_fault_lock_up_the_core() {
    // B1.5.15
    for &core in CoreKind::CORTEX_M {
        for policy in [FaultPolicy::Stop, FaultPolicy::Deliver] {
            let mut firmware = Firmware::new();
            firmware.store(ICSR, 1 << 31).nops(5).forever();
            firmware.handler(2).mark("nmi").op(&[0xDE00]).forever();
            let mut running = firmware.on(core);
            running.machine.set_fault_policy(policy);
            let Stop::Lockup(report) = running.run(1_000) else { panic!("{core}") };
            assert_eq!(report.kind, FaultKind::UndefinedInstruction, "{core}");
            assert_eq!((report.pc, report.handler), (firmware.address("nmi"), 2), "{core}");
        }
        let mut firmware = Firmware::new();
        firmware.op(&[0xDE00]).forever();
        firmware.handler(3).mark("handler").op(&[0xDE00]).forever();
        let mut running = firmware.on(core);
        let Stop::Lockup(report) = running.run(1_000) else { panic!("{core}") };
        assert_eq!((report.pc, report.handler), (firmware.address("handler"), 3), "{core}");
    }
}

#[test]
fn stacks_outside_memory_are_stacking_faults() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.set(0, NOWHERE + 0x1000).op(&[0x4685, 0xDF00]).forever(); // mov sp, r0; svc
        firmware.handler(11).mark("svc").forever();
        let mut running = firmware.on(core);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(1_000) else { panic!("{core}") };
        let kind = FaultKind::Stack(Transfer::Entry);
        assert_eq!((report.kind, report.sp), (kind, NOWHERE + 0x1000), "{core}");
        assert!(running.passed.is_empty(), "{core}");
    }
}

#[test]
fn returns_that_match_no_state_are_rejected() {
    // B1.5.8: thread mode is returned to while another exception is active.
    for &core in CoreKind::CORTEX_M {
        for exc_return in [0xFFFF_FFF1u32, 0xFFFF_FFF5, 0xFFFF_FF01] {
            let mut firmware = Firmware::new();
            firmware.op(&[0xDF00]).mark("after").forever();
            firmware.handler(11).set(0, exc_return).op(&[0x4700]);
            let mut running = firmware.on(core);
            running.machine.set_fault_policy(FaultPolicy::Stop);
            let Stop::Fault(report) = running.run(1_000) else { panic!("{core}: {exc_return:#x}") };
            assert_eq!(report.kind, FaultKind::InvalidReturn, "{core}: {exc_return:#x}");
        }
    }
}

#[test]
fn programs_can_exit_by_semihosting() {
    for &core in CoreKind::CORTEX_M {
        for (reason, status) in [(0x20026, 0), (0x20023, 1)] {
            let mut firmware = Firmware::new();
            firmware.set(0, 0x18).set(1, reason).op(&[0xBEAB]).mark("beyond").forever();
            let mut running = firmware.on(core);
            assert_eq!(running.run(1_000), Stop::Exit(ExitStatus(status)), "{core}");
            assert!(running.passed.is_empty(), "{core}");
        }
    }
}
