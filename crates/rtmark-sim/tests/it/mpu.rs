//! The memory protection unit of ARMv6-M and ARMv7-M. Sections are those of DDI 0403;
//! DDI 0419 says the same in B3.5 for ARMv6-M, where every fault is a HardFault.

mod maps;

use maps::MAPS;
use rtmark_sim::{CoreKind, FaultKind, FaultPolicy, Stop, Transfer};

use crate::support::*;

const PMSA7: &[CoreKind] = &[CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM4F];
const MAINLINE: &[CoreKind] = &[CoreKind::CortexM3, CoreKind::CortexM4F];
/// CTRL bits.
const ENABLE: u32 = 1;
const HFNMIENA: u32 = 2;
const PRIVDEFENA: u32 = 4;
/// RASR: never execute.
const XN: u32 = 1 << 28;
/// AP: everything for everybody.
const FULL: u32 = 3;
/// What the tests protect.
const GUARDED: u32 = RAM + 0x1000;
/// `ldr r1, [r2]`, `str r1, [r2]`.
const LDR: u16 = 0x6811;
const STR: u16 = 0x6011;

/// A program for which flash and RAM are regions 0 and 1, with everything allowed.
fn with_memories() -> Firmware {
    let mut firmware = Firmware::new();
    firmware.region(0, 0, 0x4000, FULL, 0).region(1, RAM, 0x4000, FULL, 0);
    firmware
}

/// Ends a program: the MPU goes on, then comes an access by way of r2.
fn and_access(firmware: &mut Firmware, control: u32, user: bool, address: u32, op: u16) {
    firmware.store(SHCSR, 1 << 16).store(MPU_CTRL, control);
    if user {
        firmware.unprivileged();
    }
    firmware.set(2, address).mark("access").op(&[op]).mark("beyond").forever();
    firmware.handler(3).mark("hard fault").forever();
    firmware.handler(4).mark("mem manage").load(4, CFSR).load(5, MMFAR).forever();
}

/// Whether the access was let through; otherwise it must have been refused as DDI 0403,
/// B3.2.15 says.
fn is_allowed(firmware: &Firmware, core: CoreKind, address: u32, what: &str) -> bool {
    let mut running = firmware.on(core);
    assert_eq!(running.run(3_000), Stop::Limit, "{core}: {what}");
    match running.names()[..] {
        ["access", "beyond"] => true,
        ["access", "mem manage"] if core != CoreKind::CortexM0Plus => {
            let registers = (running.r(4), running.r(5));
            assert_eq!(registers, (1 << 1 | 1 << 7, address), "{core}: {what}");
            assert_eq!(running.word(running.r(13) + 24), firmware.address("access"));
            false
        }
        ["access", "hard fault"] if core == CoreKind::CortexM0Plus => false,
        ref names => panic!("{core}: {what}: {names:?}"),
    }
}

#[test]
fn access_permissions_match_the_manuals_table() {
    // Table B3-15: what each AP allows to privileged and to unprivileged code.
    let table = [
        (0, "", ""),
        (1, "rw", ""),
        (2, "rw", "r"),
        (3, "rw", "rw"),
        (5, "r", ""),
        (6, "r", "r"),
        (7, "r", "r"),
    ];
    for &core in PMSA7 {
        for (ap, privileged, unprivileged) in table {
            for (user, allowed) in [(false, privileged), (true, unprivileged)] {
                for (op, letter) in [(LDR, 'r'), (STR, 'w')] {
                    let mut firmware = with_memories();
                    firmware.region(5, GUARDED, 256, ap, 0);
                    and_access(&mut firmware, ENABLE, user, GUARDED + 0xFC, op);
                    let what = format!("AP {ap}, unprivileged: {user}, {letter}");
                    let got = is_allowed(&firmware, core, GUARDED + 0xFC, &what);
                    assert_eq!(got, allowed.contains(letter), "{core}: {what}");
                }
            }
        }
    }
}

#[test]
fn regions_apply_at_their_addresses_and_privilege() {
    for map in MAPS {
        for &core in map.cores {
            let mut firmware = with_memories();
            (map.program)(&mut firmware);
            and_access(&mut firmware, map.control, map.user, map.address, LDR);
            let got = is_allowed(&firmware, core, map.address, map.what);
            assert_eq!(got, map.allowed, "{core}: {}", map.what);
        }
    }
}

#[test]
fn registers_read_back_implemented_bits() {
    for &core in PMSA7 {
        let mut firmware = Firmware::new();
        firmware.store(MPU_RBAR, 0x2000_12F5).store(MPU_RASR, u32::MAX).store(MPU_CTRL, 6);
        firmware.load(1, MPU_TYPE).load(2, MPU_CTRL).load(3, MPU_RNR);
        firmware.load(4, MPU_RBAR).load(5, MPU_RASR).forever();
        let mut running = firmware.on(core);
        running.run(1_000);
        let read = [1, 2, 3, 4, 5].map(|number| running.r(number));
        let (base, attributes) = match core {
            CoreKind::CortexM0Plus => (0x2000_1205, 0x1707_FF3F),
            _ => (0x2000_12E5, 0x173F_FF3F),
        };
        assert_eq!(read, [0x800, 6, 5, base, attributes], "{core}");
    }
}

#[test]
fn socs_can_have_no_mpu() {
    let mut firmware = Firmware::new();
    firmware.region(0, 0, 0x4000, 0, 0).store(MPU_CTRL, 5);
    firmware.load(1, MPU_TYPE).load(2, MPU_CTRL).load(3, MPU_RASR).mark("end").forever();
    let mut running =
        firmware.on_soc(&rtmark_sim::Soc { mpu_regions: Some(0), ..soc(CoreKind::CortexM3) });
    assert_eq!(running.run(1_000), Stop::Limit);
    assert_eq!([1, 2, 3].map(|number| running.r(number)), [0, 0, 0]);
    assert_eq!(running.names(), ["end"]);
}

/// Where the tests put code of their own, across the border of a region at 0x1200.
const BORDER: u32 = 0x1200;

#[test]
fn code_is_checked_at_region_boundaries() {
    // B3.5.7: XN. The border lies within a page of decoded code; the second instruction
    // of 32 bits lies across it.
    for &core in MAINLINE {
        for (base, start, faults_at) in [
            (BORDER, BORDER - 8, BORDER),
            (BORDER, BORDER - 6, BORDER - 2),
            (RAM + BORDER, RAM + BORDER - 8, RAM + BORDER),
            (RAM + BORDER, RAM + BORDER - 6, RAM + BORDER - 2),
        ] {
            let mut firmware = with_memories();
            firmware.region(2, base, 32, FULL, XN).store(SHCSR, 1 << 16);
            firmware.store(MPU_CTRL, ENABLE).set(0, start | 1).op(&[0x4700]); // bx r0
            firmware.handler(4).mark("mem manage").load(4, CFSR).forever();
            let mut running = firmware.on(core);
            let wide_nops = [0xAF, 0xF3, 0x00, 0x80].repeat(6);
            running.machine.poke(start, &wide_nops).expect("memory");
            assert_eq!(running.run(1_000), Stop::Limit, "{core}, {start:#x}");
            assert_eq!(running.names(), ["mem manage"], "{core}, {start:#x}");
            assert_eq!(running.r(4), 1, "IACCVIOL alone");
            assert_eq!(running.word(running.r(13) + 24), faults_at, "{core}, {start:#x}");
        }
    }
}

#[test]
fn code_that_cannot_be_read_cannot_be_executed() {
    // B3.5.7: fetching needs the right to read, for unprivileged code its own.
    for (ap, user, runs) in [(0, false, false), (1, false, true), (1, true, false), (2, true, true)]
    {
        let mut firmware = with_memories();
        firmware.region(2, BORDER, 256, ap, 0).store(SHCSR, 1 << 16).store(MPU_CTRL, ENABLE);
        if user {
            firmware.unprivileged();
        }
        firmware.set(0, BORDER | 1).op(&[0x4780]).mark("back").forever(); // blx r0
        firmware.handler(4).mark("mem manage").forever();
        let mut running = firmware.on(CoreKind::CortexM3);
        running.machine.poke(BORDER, &BX_LR.to_le_bytes()).expect("flash");
        assert_eq!(running.run(1_000), Stop::Limit);
        let expected = if runs { "back" } else { "mem manage" };
        assert_eq!(running.names(), [expected], "AP {ap}, unprivileged: {user}");
    }
}

#[test]
fn fault_handlers_bypass_the_mpu_unless_hfnmiena_is_set() {
    // B3.5.3: HFNMIENA decides for priorities below zero, FAULTMASK's included.
    for &core in PMSA7 {
        for (control, names) in
            [(ENABLE, &["hard fault", "beyond"][..]), (ENABLE | HFNMIENA, &["hard fault"])]
        {
            let mut firmware = with_memories();
            firmware.region(2, GUARDED, 256, 0, 0).store(MPU_CTRL, control).op(&[0xDE00]);
            firmware.handler(3).mark("hard fault").set(2, GUARDED).op(&[LDR]);
            firmware.mark("beyond").forever();
            let mut running = firmware.on(core);
            let stop = running.run(1_000);
            assert_eq!(running.names(), names, "{core}");
            match stop {
                Stop::Lockup(report) => assert_eq!(report.kind, FaultKind::DataProtection),
                stop => assert_eq!((stop, control), (Stop::Limit, ENABLE), "{core}"),
            }
        }
    }
    for (control, fault) in [(ENABLE, false), (ENABLE | HFNMIENA, true)] {
        let mut firmware = with_memories();
        firmware.region(2, GUARDED, 256, 0, 0).store(MPU_CTRL, control);
        firmware.set(0, 1).msr(19, 0).set(2, GUARDED).op(&[LDR]).mark("beyond");
        firmware.set(0, 0).msr(19, 0).op(&[LDR]).forever();
        firmware.handler(3).mark("hard fault").forever();
        let mut running = firmware.on(CoreKind::CortexM4F);
        let stop = running.run(1_000);
        if fault {
            assert!(matches!(stop, Stop::Lockup(_)), "{stop:?}");
        } else {
            assert_eq!(running.names(), ["beyond", "hard fault"]);
        }
    }
}

#[test]
fn a_disabled_mem_manage_is_escalated() {
    let mut firmware = with_memories();
    firmware.region(2, GUARDED, 256, 0, 0).store(MPU_CTRL, ENABLE);
    firmware.set(2, GUARDED).mark("access").op(&[STR]).forever();
    firmware.handler(3).mark("hard fault").load(4, CFSR).load(5, HFSR).load(6, MMFAR).forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.machine.set_fault_policy(FaultPolicy::Stop);
    let Stop::Fault(report) = running.clone().run(1_000) else { panic!() };
    assert_eq!((report.kind, report.address), (FaultKind::DataProtection, Some(GUARDED)));
    assert_eq!(report.pc, firmware.address("access"));
    running.machine.set_fault_policy(FaultPolicy::Deliver);
    assert_eq!(running.run(1_000), Stop::Limit);
    assert_eq!([4, 5, 6].map(|number| running.r(number)), [0x82, 1 << 30, GUARDED]);
}

#[test]
fn stacking_errors_are_stacking_faults() {
    // B1.5.11: the handler of the fault runs first, and SVCall, which is less urgent, is
    // still pending.
    for &core in MAINLINE {
        let mut firmware = with_memories();
        firmware.region(2, GUARDED, 256, 1, 0).store(SHCSR, 1 << 16).store(SHPR2, 0x8000_0000);
        firmware.store(MPU_CTRL, ENABLE).set(0, GUARDED + 0x80).msr(9, 0);
        firmware.set(0, 3).msr(20, 0).op(&[0xDF00]).forever(); // unprivileged on the process stack
        firmware.handler(4).mark("mem manage").load(4, CFSR).load(5, SHCSR).mrs(6, 9).op(&[BX_LR]);
        firmware.handler(11).mark("svc").forever();
        let mut running = firmware.on(core);
        running.run(1_000);
        assert_eq!(running.names(), ["mem manage", "svc"], "{core}");
        assert_eq!(running.r(4), 1 << 4, "MSTKERR");
        assert_eq!(running.r(5) & 0x8081, 0x8001, "SVCall pending, MemManage active");
        assert_eq!(running.r(6), GUARDED + 0x60, "the stack pointer has moved");
    }
}

#[test]
fn unstacking_errors_are_unstacking_faults() {
    // B1.5.8: the fault is chained to the return, on the same frame.
    for &core in MAINLINE {
        let mut firmware = with_memories();
        firmware.region(2, GUARDED, 256, FULL, 0).store(SHCSR, 1 << 16).store(MPU_CTRL, ENABLE);
        firmware.set(0, GUARDED + 0x80).msr(9, 0).set(0, 3).msr(20, 0).op(&[0xDF00]).forever();
        firmware.handler(11).mark("svc").store(MPU_RNR, 2);
        firmware.store(MPU_RASR, 1 << 24 | 7 << 1 | 1).op(&[BX_LR]); // privileged only now
        firmware.handler(4).mark("mem manage").op(&[0x4676]).load(4, CFSR).mrs(5, 9).mrs(7, 5);
        firmware.forever();
        let mut running = firmware.on(core);
        running.run(1_000);
        assert_eq!(running.names(), ["svc", "mem manage"], "{core}");
        assert_eq!(running.r(4), 1 << 3, "MUNSTKERR");
        assert_eq!(running.r(5), GUARDED + 0x60, "the frame is still there");
        assert_eq!(running.r(6), 0xFFFF_FFFD, "and would be returned to");
        assert_eq!((running.r(7), running.r(13)), (4, STACK), "no frame was stacked");
    }
}

#[test]
fn lazy_stacking_uses_the_rights_of_the_interrupted_code() {
    // B1.5.7: the thread's, although the handler is privileged.
    for ready in [true, false] {
        let mut firmware = with_memories();
        firmware.region(2, GUARDED, 256, FULL, 0).store(MPU_CTRL, ENABLE).fpu();
        firmware.store(SHCSR, if ready { 1 << 16 } else { 0 }).store(SHPR2, 0x8000_0000);
        firmware.set(0, GUARDED + 0x100).msr(9, 0).set(0, 3).msr(20, 0);
        firmware.op(&[0xEE30, 0x0A00, 0xDF00]).forever(); // vadd.f32 s0, s0, s0; svc
        firmware.handler(11).mark("svc").store(MPU_RNR, 2);
        firmware.store(MPU_RASR, 1 << 24 | 7 << 1 | 1); // privileged only now
        firmware.load(7, FPCCR).mark("float").op(&[0xEE30, 0x0A00]).mark("after").forever();
        for exception in [3, 4] {
            firmware.handler(exception).mark(if exception == 3 {
                "hard fault"
            } else {
                "mem manage"
            });
            firmware.load(4, CFSR).load(5, HFSR).forever();
        }
        let mut running = firmware.on(CoreKind::CortexM4F);
        running.run(1_000);
        let handler = if ready { "mem manage" } else { "hard fault" };
        assert_eq!(running.names(), ["svc", "float", handler]);
        assert_eq!(running.r(4), 1 << 5, "MLSPERR");
        assert_eq!(running.r(5), if ready { 0 } else { 1 << 30 }, "HFSR");
        let context = if ready { 0b11_1011 } else { 0b01_1011 };
        assert_eq!(running.r(7), 0xC000_0000 | context, "FPCCR");
        assert_eq!(running.word(running.r(13) + 24), firmware.address("float"), "to run again");
    }
}

#[test]
fn lazy_stacking_for_privileged_code_is_privileged() {
    // B1.5.7, as above; FPCCR.USER is 0.
    let mut firmware = with_memories();
    firmware.region(2, GUARDED, 256, 1, 0).store(MPU_CTRL, ENABLE).fpu(); // privileged only
    firmware.store(SHCSR, 1 << 16).set(0, GUARDED + 0x100).msr(9, 0).set(0, 2).msr(20, 0);
    firmware.op(&[0xEE30, 0x0A00, 0xDF00]).forever(); // vadd.f32 s0, s0, s0; svc
    firmware.handler(4).mark("mem manage").forever();
    firmware.handler(11).mark("svc").op(&[0xEE30, 0x0A00]).mark("after").load(7, FPCCR).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.names(), ["svc", "after"]);
    assert_eq!(running.r(7) & 0b11, 0, "FPCCR.USER and LSPACT");
}

#[test]
fn lazy_stacking_faults_wait_while_their_handler_cannot_run() {
    // B1.5.7: MemManage could be taken from the thread, but not from this handler, which
    // goes on.
    let mut firmware = with_memories();
    firmware.region(2, GUARDED, 256, FULL, 0).store(MPU_CTRL, ENABLE).fpu();
    firmware.store(SHCSR, 1 << 16).store(0xE000_ED18, 0x80);
    firmware.set(0, GUARDED + 0x100).msr(9, 0).set(0, 3).msr(20, 0);
    firmware.op(&[0xEE30, 0x0A00, 0xDF00]).forever();
    firmware.handler(11).mark("svc").store(MPU_RNR, 2).store(MPU_RASR, 1 << 24 | 7 << 1 | 1);
    firmware.op(&[0xEE30, 0x0A00]).mark("after").load(6, FPCCR);
    firmware.store(MPU_RASR, FULL << 24 | 7 << 1 | 1).mark("return").op(&[BX_LR]);
    firmware.handler(4).mark("mem manage").load(4, CFSR).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.names(), ["svc", "after", "return", "mem manage"]);
    assert_eq!((running.r(4), running.r(6) & 1), (1 << 5, 0));
}

#[test]
fn faults_in_it_blocks_stack_the_it_state() {
    // B1.4.2: ITSTATE on the stack is that of the instruction that faulted.
    let mut firmware = with_memories();
    firmware.region(2, GUARDED, 256, 0, 0).store(SHCSR, 1 << 16).store(MPU_CTRL, ENABLE);
    firmware.set(2, GUARDED).set(6, 0).op(&[0x2E00]); // cmp r6, #0
    firmware.op(&[0xBF01]).op(&[NOP, LDR, 0x3601, 0x3602]).mark("after").forever(); // itttt eq
    firmware.handler(4).mark("mem manage").store(MPU_CTRL, 0).mrs(0, 8).op(&[0x69C5, BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["mem manage", "after"]);
    assert_eq!(running.r(6), 3, "the rest of the block ran");
    let it = running.r(5) >> 25 & 3 | (running.r(5) >> 10 & 0x3F) << 2;
    assert_eq!(it, 0b0000_0010, "two more to come");
}

#[test]
fn mpu_checks_take_no_time() {
    // DDI 0337 and DDI 0439 give no cycle for the MPU: with everything allowed, code
    // takes what it takes without.
    for &core in PMSA7 {
        let cycles = [PRIVDEFENA, ENABLE | PRIVDEFENA].map(|control| {
            let mut firmware = with_memories();
            firmware.store(MPU_CTRL, control).mark("begin").set(2, GUARDED).set(3, 50);
            let top = firmware.here();
            firmware.op(&[LDR, STR, 0x3204, 0x3B01]); // adds r2, #4; subs r3, #1
            let back = (top as i32 - (firmware.here() as i32 + 4)) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF]).op(&[0xDF00]).mark("end").forever();
            firmware.handler(11).op(&[BX_LR]);
            let mut running = firmware.on(core);
            running.run(3_000);
            running.cycle("end") - running.cycle("begin")
        });
        assert_eq!(cycles[0], cycles[1], "{core}");
    }
}

#[test]
fn the_system_space_is_for_privileged_code() {
    // B3.1.1: a BusFault, precise, whether there is an MPU or not.
    for (op, address) in [(LDR, 0xE000_ED00), (STR, 0xE000_E100), (LDR, MPU_TYPE)] {
        let mut firmware = Firmware::new();
        firmware.store(SHCSR, 1 << 17).unprivileged().set(2, address).op(&[op]).forever();
        firmware.handler(5).mark("bus fault").load(4, CFSR).load(5, BFAR).forever();
        let mut running = firmware.on(CoreKind::CortexM3);
        running.run(1_000);
        assert_eq!(running.names(), ["bus fault"]);
        assert_eq!((running.r(4), running.r(5)), (1 << 9 | 1 << 15, address));
    }
}

#[test]
fn stacking_faults_stop_the_run_with_their_kind() {
    let mut firmware = with_memories();
    firmware.region(2, GUARDED, 256, 0, 0).store(MPU_CTRL, ENABLE).set(0, GUARDED + 0x80);
    firmware.op(&[0x4685, 0xDF00]).forever(); // mov sp, r0; svc
    let mut running = firmware.on(CoreKind::CortexM3);
    running.machine.set_fault_policy(FaultPolicy::Stop);
    let Stop::Fault(report) = running.run(1_000) else { panic!() };
    assert_eq!(report.kind, FaultKind::StackProtection(Transfer::Entry));
    assert_eq!((report.sp, report.address), (GUARDED + 0x80, Some(GUARDED + 0x60)));
}

#[test]
fn unprivileged_accesses_by_privileged_code_are_checked_as_unprivileged() {
    // A7.7.67 and its kin: LDRT and STRT. AP 1 is for privileged code alone.
    let accesses = [
        ("LDRT", [0xF852, 0x1E00], GUARDED, 4),
        ("LDRBT", [0xF812, 0x1E00], GUARDED, 4),
        ("LDRHT", [0xF832, 0x1E00], GUARDED, 4),
        ("LDRSBT", [0xF912, 0x1E00], GUARDED, 4),
        ("LDRSHT", [0xF932, 0x1E00], GUARDED, 4),
        ("STRT", [0xF842, 0x1E00], GUARDED, 4),
        ("STRBT", [0xF802, 0x1E00], GUARDED, 4),
        ("STRHT", [0xF822, 0x1E00], GUARDED, 4),
        ("LDRT of a system register", [0xF852, 0x1E00], 0xE000_ED00, 5),
        ("STRT of a system register", [0xF842, 0x1E00], 0xE000_E100, 5),
    ];
    for (what, op, address, exception) in accesses {
        for user_may in [true, false] {
            let mut firmware = with_memories();
            firmware.region(2, GUARDED, 256, if user_may { FULL } else { 1 }, 0);
            firmware.store(SHCSR, 3 << 16).store(MPU_CTRL, ENABLE).set(2, address);
            firmware.op(&op).mark("beyond").set(2, GUARDED).op(&[LDR]).mark("own").forever();
            firmware.handler(4).mark("mem manage").forever();
            firmware.handler(5).mark("bus fault").forever();
            let mut running = firmware.on(CoreKind::CortexM4F);
            running.run(1_000);
            let names: &[_] = match exception {
                4 if user_may => &["beyond", "own"],
                4 => &["mem manage"],
                _ => &["bus fault"],
            };
            assert_eq!(running.names(), names, "{what}");
        }
    }
}

#[test]
fn unprivileged_accesses_load_and_store_normally() {
    let mut firmware = Firmware::new();
    firmware.store(GUARDED, 0x8081_8283).set(2, GUARDED);
    firmware.op(&[0xF852, 0x1E00, 0xF812, 0x3E03, 0xF832, 0x4E02]);
    firmware.op(&[0xF912, 0x5E01, 0xF932, 0x6E00]);
    firmware.op(&[0xF842, 0x6E04, 0xF822, 0x6E08, 0xF802, 0x6E0C]).forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    let loaded = [1, 3, 4, 5, 6].map(|number| running.r(number));
    assert_eq!(loaded, [0x8081_8283, 0x80, 0x8081, 0xFFFF_FF82, 0xFFFF_8283]);
    let stored = [4, 8, 12].map(|offset| running.word(GUARDED + offset));
    assert_eq!(stored, [0xFFFF_8283, 0xA5A5_8283, 0xA5A5_A583]);
}

/// A region of PMSAv8, from `base` to the 32 bytes at `limit`, by way of r0 and r1.
fn v8_region(firmware: &mut Firmware, number: u32, base: u32, limit: u32) {
    firmware.store(MPU_RNR, number).store(MPU_RBAR, base).store(MPU_RASR, limit | 1);
}

/// RBAR of PMSAv8: AP for unprivileged code too, for loads alone.
const V8_ALL: u32 = 1 << 1;
const V8_READ_ONLY: u32 = 1 << 2;

#[test]
fn regions_of_armv8_m_must_not_overlap() {
    // DDI 0553, B10.1 and D1.2: MPU_RBAR and MPU_RLAR. The unit was compared with QEMU's
    // at random; these are its corners by name.
    let maps: [(&str, u32, u32, bool, u16, bool); 6] = [
        ("a region of its own", GUARDED | V8_ALL, GUARDED, true, STR, true),
        ("for loads alone", GUARDED | V8_ALL | V8_READ_ONLY, GUARDED, true, LDR, true),
        ("not for stores", GUARDED | V8_ALL | V8_READ_ONLY, GUARDED, true, STR, false),
        ("for privileged code alone", GUARDED, GUARDED, true, LDR, false),
        ("the last 32 bytes count", (GUARDED - 64) | V8_ALL, GUARDED, true, LDR, true),
        ("where two overlap", RAM | V8_ALL, GUARDED, true, LDR, false),
    ];
    for (what, base, limit, user, op, allowed) in maps {
        let mut firmware = Firmware::new();
        v8_region(&mut firmware, 0, V8_ALL, 0x3FE0);
        v8_region(&mut firmware, 1, (RAM + 0x800) | V8_ALL, RAM + 0x9E0);
        v8_region(&mut firmware, 2, (RAM + 0x2000) | V8_ALL, RAM + 0x3FE0);
        v8_region(&mut firmware, 3, base, limit);
        let address = if what == "where two overlap" { RAM + 0x800 } else { GUARDED };
        and_access(&mut firmware, ENABLE, user, address, op);
        assert_eq!(is_allowed(&firmware, CoreKind::CortexM33, address, what), allowed, "{what}");
    }
}

#[test]
fn armv8_m_registers_read_back_implemented_bits() {
    // DDI 0553, D1.2: aliases are those of the group of four around RNR; MAIR is kept.
    let mut firmware = Firmware::new();
    firmware.store(MPU_RNR, 5).store(MPU_RBAR + 8, 0x2000_0006).store(MPU_RASR + 8, 0x2000_00FF);
    firmware.store(0xE000_EDC0, 0x4422_FF00).store(MPU_RNR, 5).load(2, MPU_RBAR + 8);
    firmware.load(3, MPU_RASR + 8).load(4, 0xE000_EDC0).load(5, MPU_TYPE).forever();
    let mut running = firmware.on(CoreKind::CortexM33);
    running.run(1_000);
    let read = [2, 3, 4, 5].map(|number| running.r(number));
    assert_eq!(read, [0x2000_0006, 0x2000_00EF, 0x4422_FF00, 0x800]);
}
