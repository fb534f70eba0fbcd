//! What goes wrong, and how it is told: to the caller, and to the program's own handlers.
//! Sections are those of DDI 0403 (ARMv7-M) and DDI 0419 (ARMv6-M).

mod support;

use rtmark_sim::{CoreKind, ExitStatus, FaultKind, FaultPolicy, Stop, Transfer};
use support::*;

const M0: &[CoreKind] = &[CoreKind::CortexM0Plus];
const M4F: &[CoreKind] = &[CoreKind::CortexM4F];
const MAINLINE: &[CoreKind] = &[CoreKind::CortexM3, CoreKind::CortexM4F];
const ALL: &[CoreKind] = CoreKind::ALL;
/// Where no memory and no device is.
const NOWHERE: u32 = 0x6000_0000;

/// A fault: what runs before it, the instruction itself, what is reported.
struct Fault {
    what: &'static str,
    cores: &'static [CoreKind],
    prepare: fn(&mut Firmware),
    instruction: &'static [u16],
    kind: FaultKind,
    address: Option<u32>,
    /// CFSR as the mainline shows it.
    status: u32,
}

const NONE: fn(&mut Firmware) = |_| {};
const TO_NOWHERE: fn(&mut Firmware) = |firmware| {
    firmware.set(0, NOWHERE);
};
const TO_ODD: fn(&mut Firmware) = |firmware| {
    firmware.set(0, RAM + 1);
};
const TO_HALF: fn(&mut Firmware) = |firmware| {
    firmware.set(0, RAM + 2);
};
const TO_FLASH: fn(&mut Firmware) = |firmware| {
    firmware.set(0, 0x1000);
};

const FAULTS: &[Fault] = &[
    Fault {
        what: "UDF",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xDE00],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "UDF.W",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xF7F0, 0xA000],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "UDIV on ARMv6-M",
        cores: M0,
        prepare: NONE,
        instruction: &[0xFBB0, 0xF0F1],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 0,
    },
    Fault {
        what: "a floating-point instruction with the FPU off (B1.5.14)",
        cores: M4F,
        prepare: NONE,
        instruction: &[0xEE30, 0x0A00],
        kind: FaultKind::NoCoprocessor,
        address: None,
        status: 1 << 19,
    },
    Fault {
        what: "a load from nowhere",
        cores: ALL,
        prepare: TO_NOWHERE,
        instruction: &[0x6801],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "a store to nowhere",
        cores: ALL,
        prepare: TO_NOWHERE,
        instruction: &[0x6041],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE + 4),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "a store to flash",
        cores: ALL,
        prepare: TO_FLASH,
        instruction: &[0x6001],
        kind: FaultKind::DataAccess,
        address: Some(0x1000),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "an unaligned word on ARMv6-M (DDI 0419, A3.2)",
        cores: M0,
        prepare: TO_HALF,
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 0,
    },
    Fault {
        what: "an unaligned halfword on ARMv6-M",
        cores: M0,
        prepare: TO_ODD,
        instruction: &[0x8001],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 0,
    },
    Fault {
        what: "LDM (A3.2.1)",
        cores: ALL,
        prepare: TO_HALF,
        instruction: &[0xC806],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "STM (A3.2.1)",
        cores: ALL,
        prepare: TO_ODD,
        instruction: &[0xC006],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 1 << 24,
    },
    Fault {
        what: "LDRD (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE9D0, 0x1200],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "STRD (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE9C0, 0x1200],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "LDREX (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE850, 0x1F00],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "LDREXH (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_ODD,
        instruction: &[0xE8D0, 0x1F5F],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 1 << 24,
    },
    Fault {
        what: "VLDR (A3.2.1)",
        cores: M4F,
        prepare: |firmware| {
            firmware.fpu().set(0, RAM + 2);
        },
        instruction: &[0xED90, 0x0A00],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "an unaligned word where CCR.UNALIGN_TRP forbids it (B3.2.8)",
        cores: MAINLINE,
        prepare: |firmware| {
            firmware.store(CCR, 1 << 3).set(0, RAM + 2);
        },
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "a division by zero where CCR.DIV_0_TRP forbids it (B3.2.8)",
        cores: MAINLINE,
        prepare: |firmware| {
            firmware.store(CCR, 1 << 4).set(1, 0);
        },
        instruction: &[0xFBB0, 0xF0F1],
        kind: FaultKind::DivideByZero,
        address: None,
        status: 1 << 25,
    },
    Fault {
        what: "BKPT without a debugger (C1.3)",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xBE01],
        kind: FaultKind::Breakpoint,
        address: None,
        status: 0,
    },
    Fault {
        what: "SVC that is masked (B1.5.8)",
        cores: ALL,
        prepare: |firmware| {
            firmware.op(&[CPSID_I]);
        },
        instruction: &[0xDF00],
        kind: FaultKind::SupervisorCall,
        address: None,
        status: 0,
    },
];

fn firmware_of(fault: &Fault) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.nops(1);
    (fault.prepare)(&mut firmware);
    firmware.mark("fault").op(fault.instruction).mark("beyond").forever();
    firmware.handler(3).mark("hard fault").forever();
    firmware
}

#[test]
fn the_run_stops_before_the_handler_and_says_what_and_where() {
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
            assert!(report.to_string().contains(&format!("{at:#010x}")), "{report}");
            assert_eq!(running.names().last(), Some(&"fault"), "{core}: {}", fault.what);
        }
    }
}

#[test]
fn delivered_faults_reach_the_handler_with_their_frame_and_status() {
    for fault in FAULTS {
        for &core in fault.cores {
            let firmware = firmware_of(fault);
            let mut running = firmware.on(core);
            assert_eq!(running.run(1_000), Stop::Limit, "{core}: {}", fault.what);
            assert_eq!(running.names(), ["fault", "hard fault"], "{core}: {}", fault.what);
            let stacked = running.word(running.r(13) + 24);
            assert_eq!(stacked, firmware.address("fault"), "{core}: {}", fault.what);
            if core != CoreKind::CortexM0Plus {
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
fn a_branch_to_arm_code_faults_at_its_target() {
    // A4.1.1: bit 0 clear; the branch itself completes.
    for &core in CoreKind::ALL {
        let mut firmware = Firmware::new();
        firmware.set(0, 0x2000).mark("branch").op(&[0x4700]).forever();
        let mut running = firmware.on(core);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(1_000) else { panic!("{core}") };
        assert_eq!((report.kind, report.pc), (FaultKind::InvalidState, 0x2000), "{core}");
    }
}

#[test]
fn code_beyond_memory_cannot_be_fetched() {
    for &core in CoreKind::ALL {
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
fn most_accesses_need_no_alignment_on_the_mainline() {
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
fn a_usage_fault_has_a_handler_of_its_own_when_enabled() {
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
fn a_bus_fault_has_a_handler_of_its_own_when_enabled() {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, 1 << 17).set(0, NOWHERE).op(&[0x6801]).forever();
    firmware.handler(5).mark("bus fault").load(4, CFSR).load(5, BFAR).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    assert_eq!(running.run(1_000), Stop::Limit);
    assert_eq!(running.names(), ["bus fault"]);
    assert_eq!((running.r(4), running.r(5)), (1 << 9 | 1 << 15, NOWHERE));
}

#[test]
fn a_fault_of_too_little_priority_is_escalated() {
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
fn a_handler_may_step_over_the_fault() {
    for &core in CoreKind::ALL {
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
fn a_fault_within_hard_fault_locks_the_core_up() {
    // B1.5.15
    for &core in CoreKind::ALL {
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
fn a_stack_outside_memory_is_a_fault_of_its_own() {
    for &core in CoreKind::ALL {
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
fn a_return_that_fits_no_state_is_refused() {
    // B1.5.8: thread mode is returned to while another exception is active.
    for &core in CoreKind::ALL {
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
fn a_program_ends_itself_by_semihosting() {
    for &core in CoreKind::ALL {
        for (reason, status) in [(0x20026, 0), (0x20023, 1)] {
            let mut firmware = Firmware::new();
            firmware.set(0, 0x18).set(1, reason).op(&[0xBEAB]).mark("beyond").forever();
            let mut running = firmware.on(core);
            assert_eq!(running.run(1_000), Stop::Exit(ExitStatus(status)), "{core}");
            assert!(running.passed.is_empty(), "{core}");
        }
    }
}
