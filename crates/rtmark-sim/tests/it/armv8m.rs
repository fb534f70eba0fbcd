//! What only ARMv8-M has, as DDI 0553 says it: stack limits, Secure floating-point
//! state, instructions of the Security Extension, exception returns. Sections in
//! parentheses are the manual's.

use rtmark_sim::{CoreKind, FaultKind, FaultPolicy, Register, Stop};

use crate::support::*;

const M33: CoreKind = CoreKind::CortexM33;
const MSPLIM: u16 = 10;
const PSPLIM: u16 = 11;
const CONTROL: u16 = 20;
const CCR: u32 = 0xE000_ED14;
const SFSR: u32 = 0xE000_EDE4;
const FPCAR: u32 = 0xE000_EF38;
const USAGE_FAULT_ENABLED: u32 = 1 << 18;
const SECURE_FAULT_ENABLED: u32 = 1 << 19;
const STKOF: u32 = 1 << 20;
const BX_LR: u16 = 0x4770;

/// Thread mode on the process stack at `psp`, with a limit; UsageFault's handler notes
/// CFSR in r4, the process stack pointer in r5 and EXC_RETURN in r6.
fn limited(psp: u32, limit: u32, act: &[u16]) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, USAGE_FAULT_ENABLED);
    firmware.set(0, psp).msr(9, 0).set(0, limit).msr(PSPLIM, 0);
    firmware.set(0, 2).msr(CONTROL, 0).op(&[0xF3BF, 0x8F6F]);
    firmware.mark("faulting").op(act).mark("after").forever();
    firmware.handler(6).mark("fault").load(4, CFSR).mrs(5, 9).op(&[0x4676]).forever();
    firmware
}

#[test]
fn a_stack_pointer_does_not_go_below_its_limit() {
    let (top, limit) = (RAM + 0x400, RAM + 0x300);
    // Each takes the pointer below (B3.21); where there are two instructions, the first
    // one leaves room for a frame and no more.
    let acts: [(&[u16], u32); 6] = [
        (&[0xB0C1], 0),                    // sub sp, #0x104
        (&[0xF5AD, 0x7D82], 0),            // sub.w sp, sp, #0x104
        (&[0x2000, 0x4685], 0),            // movs r0, #0; mov sp, r0
        (&[0xB0B8, 0xB5FF], 0xE0),         // sub sp, #0xe0; push {r0-r7, lr}
        (&[0xB0B8, 0xE92D, 0x01FF], 0xE0), // sub sp, #0xe0; push.w {r0-r8}
        (&[0xB0B8, 0xF84D, 0x0D24], 0xE0), // sub sp, #0xe0; str r0, [sp, #-0x24]!
    ];
    for (act, moved) in acts {
        let mut running = limited(top, limit, act).on(M33);
        running.machine.poke(limit - 64, &[0x5A; 64]).expect("RAM");
        running.run(500);
        assert_eq!(running.names().last(), Some(&"fault"), "{act:x?}");
        assert_eq!(running.r(4), STKOF, "{act:x?}");
        // The frame lies where the pointer was before the faulting instruction.
        assert_eq!(running.r(5), top - moved - 32, "{act:x?}");
        assert_eq!(running.machine.peek(limit - 64, 64), [0x5A; 64], "{act:x?}");
    }
}

#[test]
fn stacks_within_the_limit_do_not_fault() {
    let (top, limit) = (RAM + 0x400, RAM + 0x300);
    // sub sp, #0x100: onto the limit. A load or a store through the pointer without
    // write-back may go anywhere: ldr r0, [sp, #-4] is written as a negative offset.
    for act in [&[0xB0C0u16] as &[u16], &[0xB0C0, 0xF85D, 0x0C04], &[0xB0C0, 0xB040]] {
        let mut running = limited(top, limit, act).on(M33);
        running.run(500);
        assert_eq!(running.names(), ["faulting", "after"], "{act:x?}");
    }
}

#[test]
fn stack_limits_apply_to_the_stack_in_use_and_are_multiples_of_eight() {
    let mut firmware = Firmware::new();
    firmware.set(0, RAM + 0x307).msr(MSPLIM, 0).msr(PSPLIM, 0).mrs(4, MSPLIM).mrs(5, PSPLIM);
    // The main stack lies above; a process stack pointer below its limit is not in use.
    firmware.set(0, RAM).msr(9, 0).op(&[0xB081, 0xB001]).mark("main").forever();
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!((running.r(4), running.r(5)), (RAM + 0x300, RAM + 0x300));
    assert_eq!(running.names(), ["main"]);
}

#[test]
fn a_frame_below_the_limit_is_not_stored() {
    // SVC with 16 bytes left: nothing is stored, the pointer is the limit, and STKOF is
    // a fault of the entry's own (B3.18, B3.21).
    let (top, limit) = (RAM + 0x310, RAM + 0x300);
    let mut firmware = limited(top, limit, &[0xDF00]);
    firmware.handler(11).mark("svc").forever();
    let mut running = firmware.on(M33);
    running.machine.poke(RAM + 0x2F0, &[0x5A; 32]).expect("RAM");
    running.run(500);
    assert_eq!(running.names(), ["faulting", "fault"]);
    assert_eq!((running.r(4), running.r(5)), (STKOF, limit));
    assert_eq!(running.machine.peek(RAM + 0x2F0, 32), [0x5A; 32]);
}

#[test]
fn limits_can_be_ignored_while_hard_fault_is_handled() {
    // CCR.STKOFHFNMIGN (D1.2): HardFault's handler may use the stack below the limit.
    for (ccr, expected) in [(0x400u32, "beyond"), (0, "hard")] {
        let mut firmware = Firmware::new();
        firmware.store(CCR, ccr).set(0, STACK - 0x80).msr(MSPLIM, 0).op(&[0xDE00]).forever();
        firmware.handler(3).mark("hard").op(&[0xB0C0]).mark("beyond").forever();
        let mut running = firmware.on(M33);
        let stop = running.run(500);
        assert_eq!(running.names().last(), Some(&expected), "{ccr:#x}: {stop:?}");
        assert_eq!(matches!(stop, Stop::Lockup(_)), ccr == 0);
    }
}

#[test]
fn unaligned_acquires_and_releases_fault_regardless_of_ccr() {
    // C2.4: LDA, LDAH, STL, STLH and the exclusives are always aligned.
    for (second, faults) in [(0x0FAFu16, true), (0x0F9F, true), (0x0F8F, false)] {
        for first in [0xE8D1u16, 0xE8C1] {
            let mut firmware = Firmware::new();
            firmware.store(SHCSR, USAGE_FAULT_ENABLED).set(1, RAM + 1).op(&[first, second]);
            firmware.mark("after").forever();
            firmware.handler(6).mark("fault").forever();
            let mut running = firmware.on(M33);
            running.run(500);
            let expected = if faults { "fault" } else { "after" };
            assert_eq!(running.names(), [expected], "{first:x} {second:x}");
        }
    }
}

#[test]
fn non_secure_state_is_a_secure_fault() {
    // BXNS and BLXNS to an even address leave Secure state; nothing there is Non-secure
    // (B3.9: SFSR.INVEP).
    for branch in [0x4704u16, 0x4784] {
        let mut firmware = Firmware::new();
        firmware.store(SHCSR, SECURE_FAULT_ENABLED).set(0, 0x100).op(&[branch]).forever();
        firmware.handler(7).mark("secure fault").load(4, SFSR).forever();
        let mut running = firmware.on(M33);
        running.run(500);
        assert_eq!((running.names(), running.r(4)), (vec!["secure fault"], 1), "{branch:#x}");

        let mut firmware = Firmware::new();
        firmware.set(0, 0x100).op(&[branch]).forever();
        let mut running = firmware.on(M33);
        running.machine.set_fault_policy(FaultPolicy::Stop);
        let Stop::Fault(report) = running.run(500) else { panic!("{branch:#x}") };
        assert_eq!(report.kind, FaultKind::NonSecure);
    }
}

#[test]
fn test_target_reports_mpu_regions() {
    // D1.2, TT_RESP: one region, read-only, as number 2; the rest by the default map.
    let mut firmware = Firmware::new();
    firmware.store(0xE000_ED98, 2).store(0xE000_ED9C, RAM | 0b110).store(0xE000_EDA0, RAM | 0xFE1);
    firmware.store(0xE000_ED94, 5); // PRIVDEFENA and ENABLE
    firmware.set(1, RAM).op(&[0xE841, 0xF400, 0xE841, 0xF540, 0xE841, 0xF680]); // tt, ttt, tta
    firmware.set(1, RAM + 0x2000).op(&[0xE841, 0xF700]).mark("done").forever();
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!(running.names(), ["done"]);
    let (secure, write, read, region) = (1 << 22, 1 << 19, 1 << 18, 1 << 16);
    let answers = [4, 5, 6, 7].map(|at| running.r(at));
    let in_region = secure | read | region | 2;
    assert_eq!(answers, [in_region, in_region, secure | write | read, secure | write | read]);
}

#[test]
fn test_target_does_not_depend_on_counters() {
    let mut firmware = Firmware::new();
    // DWT_CTRL: LSUEVTENA and CYCCNTENA. The MPU is off.
    firmware.store(DEMCR, 1 << 24).store(0xE000_1000, 1 << 20 | 1);
    firmware.set(1, RAM).op(&[0xE841, 0xF400]).mark("done").forever(); // tt r4, r1
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!(running.names(), ["done"]);
    assert_eq!(running.r(4), 1 << 22 | 1 << 19 | 1 << 18, "secure, writable, readable");
}

#[test]
fn floating_point_state_can_be_secure() {
    // CONTROL.SFPA follows FPCA, and stands in the stacked status (B3.19, RETPSR).
    let mut firmware = Firmware::new();
    firmware.fpu().mrs(4, CONTROL).op(&[0xEE30, 0x0A00]).mrs(5, CONTROL); // vadd.f32 s0, s0, s0
    firmware.op(&[0xDF00]).mrs(7, CONTROL).mark("after").forever();
    // ldr r6, [sp, #28]; r8: EXC_RETURN, r9: FPCCR, r10: FPCAR, r11: CONTROL
    firmware.handler(11).op(&[0x9E07, 0x46F0]).mrs(3, CONTROL).op(&[0x469B]);
    firmware.load(1, FPCCR).load(2, FPCAR).op(&[0x4689, 0x4692, BX_LR]);
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!(running.names(), ["after"]);
    assert_eq!(running.r(8), 0xFFFF_FFE9, "EXC_RETURN with FType clear (B3.20)");
    assert_eq!((running.r(4), running.r(5)), (0, 0xC));
    assert_eq!(running.r(6) >> 20 & 1, 1, "RETPSR.SFPA");
    assert_eq!(running.r(11), 0, "the handler has no such state");
    // LSPACT, S, THREAD and HFRDY; no other fault has a handler of its own.
    assert_eq!(running.r(9) & 0x7FF, 1 | 1 << 2 | 1 << 3 | 1 << 4);
    assert_eq!(running.r(10), STACK - 0x68 + 0x20);
    assert_eq!(running.r(7), 0xC, "and the program has it again");
}

#[test]
fn secure_frames_stack_all_registers() {
    // FPCCR.TS: S16 to S31 too, 0xA8 bytes in all (B3.19); they do not outlive their
    // being stored.
    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, 0xC400_0004).set(0, 0x1234_5678);
    firmware.op(&[0xEE0F, 0x0A10, 0xEE00, 0x0A10]); // vmov s30, r0; vmov s0, r0
    firmware.op(&[0xDF00, 0xEE1F, 0x7A10]).mark("after").forever(); // vmov r7, s30
    firmware.handler(11).op(&[0xEE1F, 0x4A10]).mark("handler").op(&[0x466D, BX_LR]); // vmov r4, s30
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!(running.names(), ["handler", "after"]);
    assert_eq!(running.r(5), STACK - 0xA8);
    assert_eq!((running.r(4), running.r(7)), (0, 0x1234_5678));
    // S30 stands after S0 to S15, the status, a word, and S16 to S29.
    assert_eq!(running.word(STACK - 0xA8 + 0x68 + 14 * 4), 0x1234_5678);
}

#[test]
fn returns_are_checked_against_the_frame() {
    // B3.20: from a nested handler straight to thread mode is no fault in itself, but
    // the frame must be thread mode's.
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, USAGE_FAULT_ENABLED).store(0xE000_ED18, 0);
    firmware.store(0xE000_ED1C, 0x8000_0000).op(&[0xDF00]).forever();
    firmware.handler(11).store(ICSR, 1 << 31).op(&[0xF3BF, 0x8F6F]).forever();
    firmware.handler(2).set(0, 0xFFFF_FFF9).op(&[0x4700]);
    firmware.handler(6).mark("fault").load(4, CFSR).forever();
    let mut running = firmware.on(M33);
    running.run(500);
    assert_eq!(running.names(), ["fault"]);
    assert_eq!(running.r(4), 1 << 18, "INVPC");
}

#[test]
fn handler_mode_returns_by_armv8m_exc_return_values() {
    // B3.20: EXC_RETURN begins with 0xFF; 0xF1… is an address like any other, where
    // nothing may be executed. In thread mode 0xFFFFFFFF is one, too.
    let mut firmware = Firmware::new();
    firmware.op(&[0xDF00]).mark("after").forever();
    firmware.handler(11).set(0, 0xF1FF_FFF9).op(&[0x4700]);
    firmware.handler(3).mark("hard").forever();
    for (core, name) in [(CoreKind::CortexM4F, "after"), (M33, "hard")] {
        let mut running = firmware.on(core);
        running.run(500);
        // ARMv7-M: bits 27 to 4 that are not ones are UNPREDICTABLE; here it is refused.
        let expected = if core == M33 { name } else { "hard" };
        assert_eq!(running.names(), [expected], "{core}");
    }
    let mut machine = Firmware::new().op(&[BX_LR]).on(M33);
    machine.machine.stop_before(0xFFFF_FFFE);
    assert_eq!(machine.machine.register(Register::R(14)), u32::MAX);
    machine.machine.set_fault_policy(FaultPolicy::Stop);
    assert_eq!(machine.run(100), Stop::Breakpoint(0xFFFF_FFFE));
}

#[test]
fn spsel_is_noted_in_handler_mode() {
    // B3.5: CONTROL.SPSEL may be written in handler mode, has no effect there, and is
    // replaced by EXC_RETURN's.
    let mut firmware = Firmware::new();
    firmware.op(&[0xDF00]).mrs(5, CONTROL).mark("after").forever();
    firmware.handler(11).set(0, 2).msr(CONTROL, 0).mrs(4, CONTROL).op(&[BX_LR]);
    for (core, noted) in [(CoreKind::CortexM4F, 0), (M33, 2)] {
        let mut running = firmware.on(core);
        running.run(500);
        assert_eq!(running.names(), ["after"], "{core}");
        assert_eq!((running.r(4), running.r(5)), (noted, 0), "{core}");
    }
}

/// `VLSTM r2`, and `VLLDM r2`.
const VLSTM: [u16; 2] = [0xEC22, 0x0A00];
const VLLDM: [u16; 2] = [0xEC32, 0x0A00];
/// `vmov s0, r0`, and `vmov r7, s0`.
const SET_S0: [u16; 2] = [0xEE00, 0x0A10];
const GET_S0: [u16; 2] = [0xEE10, 0x7A10];
const LSPACT: u32 = 1;

/// A program with floating-point state that executes instructions with an address in r2. FPCCR's bits
/// are ASPEN (31), LSPEN (30) and S (2).
fn hands_over(fpccr: u32, address: u32, act: impl FnOnce(&mut Firmware)) -> Running {
    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, fpccr).store(SHCSR, USAGE_FAULT_ENABLED | SECURE_FAULT_ENABLED);
    firmware.set(0, 0x1234_5678).op(&SET_S0).set(2, address);
    act(&mut firmware);
    firmware.mark("after").forever();
    firmware.handler(6).load(4, CFSR).mark("usage").forever();
    firmware.handler(7).load(4, SFSR).mark("secure").forever();
    let mut running = firmware.on(M33);
    running.run(500);
    running
}

#[test]
fn deferred_hand_overs_are_taken_back_without_storing() {
    // DDI 0553, VLSTM and VLLDM: with LSPEN, space is reserved, and the registers stay.
    let running = hands_over(0xC000_0004, RAM + 0x100, |firmware| {
        firmware.op(&VLSTM).mrs(3, CONTROL).load(4, FPCCR).load(5, FPCAR);
        firmware.op(&VLLDM).mrs(6, CONTROL).op(&GET_S0).load(1, FPCCR);
    });
    assert_eq!(running.names(), ["after"]);
    assert_eq!((running.r(3), running.r(6)), (8, 0xC), "SFPA; and FPCA again");
    assert_eq!((running.r(4) & LSPACT, running.r(5)), (LSPACT, RAM + 0x100));
    assert_eq!((running.r(1) & LSPACT, running.r(7)), (0, 0x1234_5678));
    assert_eq!(running.word(RAM + 0x100), 0xA5A5_A5A5, "as at reset");
}

#[test]
fn registers_handed_over_at_once_are_stored_and_loaded() {
    // Without LSPEN. What the called code does to the registers is lost.
    let running = hands_over(0x8000_0004, RAM + 0x100, |firmware| {
        firmware.op(&VLSTM).mrs(3, CONTROL).load(4, FPCCR).set(0, 7).op(&SET_S0);
        firmware.op(&VLLDM).mrs(6, CONTROL).op(&GET_S0);
    });
    assert_eq!(running.names(), ["after"]);
    assert_eq!((running.r(3), running.r(6), running.r(4) & LSPACT), (8, 0xC, 0));
    assert_eq!((running.word(RAM + 0x100), running.r(7)), (0x1234_5678, 0x1234_5678));
}

#[test]
fn hand_overs_to_unaligned_addresses_and_twice_are_faults() {
    // DDI 0553, VLSTM: the address is a multiple of eight. UFSR.UNALIGNED is bit 24 of CFSR.
    for fpccr in [0x8000_0004, 0xC000_0004] {
        let running = hands_over(fpccr, RAM + 0x104, |firmware| _ = firmware.op(&VLSTM));
        assert_eq!((running.names(), running.r(4)), (vec!["usage"], 1 << 24), "{fpccr:#x}");
        let running = hands_over(fpccr, RAM + 0x104, |firmware| _ = firmware.op(&VLLDM));
        assert_eq!((running.names(), running.r(4)), (vec!["usage"], 1 << 24), "{fpccr:#x}");
    }
    // SFSR.LSERR: the state that was deferred first would be lost.
    let running = hands_over(0xC000_0004, RAM + 0x100, |firmware| {
        firmware.op(&VLSTM).op(&VLSTM);
    });
    assert_eq!((running.names(), running.r(4)), (vec!["secure"], 1 << 7));
}
