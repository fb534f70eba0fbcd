//! Returns from exceptions: what they restore, which values they refuse, and what they cost.
//! Sections are those of DDI 0403 (ARMv7-M) unless another manual is named.

use rtmark_sim::{CoreKind, Cycles, Register};

use crate::support::*;

const MAINLINE: &[CoreKind] =
    &[CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33];
const FAULTMASK: u16 = 19;
const CONTROL: u16 = 20;
const CPSID_F: u16 = 0xB671;
/// Requests NMI, and PendSV.
const NMIPENDSET: u32 = 1 << 31;
const PENDSVSET: u32 = 1 << 28;
/// `mov r0, lr; movs r1, #4; orrs r0, r1; bx r0`: a return that names the process stack.
const RETURN_WITH_SPSEL: &[u16] = &[0x4670, 0x2104, 0x4308, 0x4700];
/// `mov r0, lr; movs r1, #2; orrs r0, r1; bx r0`: a return with the reserved bit set.
const INVALID_RETURN: &[u16] = &[0x4670, 0x2102, 0x4308];
const BX_R0: u16 = 0x4700;

/// Cycles of a return beyond those of `BX`: as `rtmark-silicon exceptions` measured it for the Cortex-M3, by
/// the cores' rules for the others.
fn exit(core: CoreKind) -> u64 {
    match core {
        CoreKind::CortexM0 => 14,
        CoreKind::CortexM0Plus => 13,
        CoreKind::CortexM7 | CoreKind::CortexM33 => 10,
        _ => 9,
    }
}

/// Cycles of a tail chain beyond those of `BX` (DDI 0337, 5.2: six).
fn tail_chain(core: CoreKind) -> u64 {
    match core {
        CoreKind::CortexM0 => 8,
        CoreKind::CortexM0Plus => 7,
        _ => 6,
    }
}

#[test]
fn a_return_takes_the_cores_cycles() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.nops(8).op(&[0xDF00]).mark("after").forever();
        firmware.handler(11).nops(8).mark("ends").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(200);
        let taken = running.cycle("after") - running.cycle("ends");
        assert_eq!(taken, 1 + exit(core), "{core}");
    }
}

#[test]
fn an_invalid_return_chains_to_its_fault() {
    // B1.5.8: the fault is taken by tail-chaining, on the frame that is still there.
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[0xDF00]).forever();
        firmware.handler(11).nops(8).op(INVALID_RETURN).mark("ends").op(&[BX_R0]);
        firmware.handler(3).mark("fault").mrs(7, 8).forever();
        let mut running = firmware.on(core);
        running.run(200);
        assert_eq!(running.names(), ["ends", "fault"], "{core}");
        let taken = running.cycle("fault") - running.cycle("ends");
        assert_eq!(taken, 1 + tail_chain(core), "{core}");
        assert_eq!(running.r(7), STACK - 32, "{core}: no second frame");
    }
}

#[test]
fn faultmask_is_cleared_by_returns_except_from_nmi() {
    // B1.4.3: a return from any exception except NMI clears FAULTMASK.
    for (&core, priority) in MAINLINE.iter().flat_map(|core| [(core, 0), (core, 0x4000_0000)]) {
        let mut firmware = Firmware::new();
        firmware
            .store(SHPR2, priority)
            .op(&[0xDF00])
            .mrs(4, FAULTMASK)
            .store(ICSR, NMIPENDSET)
            .nops(4);
        firmware.mrs(5, FAULTMASK).mark("end").forever();
        firmware.handler(11).op(&[CPSID_F]).mrs(6, FAULTMASK).op(&[BX_LR]);
        // At a priority of -2 FAULTMASK cannot be set; what was set before stays.
        firmware.handler(2).mrs(7, FAULTMASK).op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(300);
        assert_eq!(running.names(), ["end"], "{core}");
        assert_eq!((running.r(6), running.r(4)), (1, 0), "{core}: SVCall");
        assert_eq!((running.r(7), running.r(5)), (0, 0), "{core}: nothing was set");

        let mut firmware = Firmware::new();
        firmware.op(&[CPSID_F]).store(ICSR, NMIPENDSET).nops(4);
        firmware.mrs(5, FAULTMASK).mark("end").forever();
        firmware.handler(2).mark("nmi").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(300);
        assert_eq!(running.names(), ["nmi", "end"], "{core}");
        assert_eq!(running.r(5), 1, "{core}: NMI leaves FAULTMASK as it is");
    }
}

#[test]
fn threads_stay_unprivileged_across_exceptions() {
    // B1.4.4: exceptions do not write CONTROL.nPRIV.
    for &core in MAINLINE {
        let mut firmware = Firmware::new();
        firmware.unprivileged().op(&[0xDF00]).mrs(4, CONTROL).mark("end").forever();
        firmware.handler(11).mrs(5, CONTROL).op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(200);
        assert_eq!(running.names(), ["end"], "{core}");
        assert_eq!((running.r(4), running.r(5)), (1, 1), "{core}");
    }
}

/// SVCall's handler, which PendSV interrupts from an unprivileged thread on the process stack; CONTROL as
/// SVCall's handler reads it afterwards.
fn nested_return(core: CoreKind, way: &[u16]) -> (Vec<&'static str>, u32) {
    let process = RAM + 0x800;
    let mut firmware = Firmware::new();
    firmware.store(SHPR2, 0x8000_0000).set(0, process).msr(9, 0).set(0, 3).msr(CONTROL, 0);
    firmware.op(&[0xF3BF, 0x8F6F, 0xDF00]).mark("end").forever();
    firmware.handler(11).mark("svc").store(ICSR, PENDSVSET).nops(4).mrs(4, CONTROL).mark("on");
    firmware.op(&[BX_LR]);
    firmware.handler(14).mark("pendsv").op(way);
    firmware.handler(3).mark("fault").forever();
    let mut running = firmware.on(core);
    running.run(400);
    (running.names(), running.r(4))
}

#[test]
fn returns_to_handlers_name_the_main_stack_before_armv8m() {
    let through = ["svc", "pendsv", "on", "end"];
    for &core in MAINLINE {
        assert_eq!(nested_return(core, &[BX_LR]), (through.to_vec(), 1), "{core}");
        let (names, control) = nested_return(core, RETURN_WITH_SPSEL);
        if core == CoreKind::CortexM33 {
            // DDI 0553, B3.16 (ExceptionReturn): CONTROL.SPSEL takes EXC_RETURN's bit, without effect in
            // a handler.
            assert_eq!((names, control), (through.to_vec(), 3), "{core}");
        } else {
            // B1.5.8: of the values for handlers, only 0xFFFFFFF1 and 0xFFFFFFE1 are valid.
            assert_eq!(names, ["svc", "pendsv", "fault"], "{core}");
        }
    }
}

#[test]
fn returns_to_handlers_unstack_with_privilege() {
    // B1.5.8 (PopStack): the frame is loaded in the mode that the return leads to.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let process = RAM + 0x800;
        let mut firmware = Firmware::new();
        firmware.region(0, 0, 0x4000, 3, 0).region(1, RAM, 0x4000, 1, 0);
        firmware.region(2, process - 0x100, 0x100, 3, 0).store(MPU_CTRL, 1);
        firmware.store(SHPR2, 0x8000_0000).set(0, process).msr(9, 0).set(0, 3).msr(CONTROL, 0);
        firmware.op(&[0xF3BF, 0x8F6F, 0xDF00]).mark("end").forever();
        firmware.handler(11).mark("svc").store(ICSR, PENDSVSET).nops(4).mark("on").op(&[BX_LR]);
        firmware.handler(14).mark("pendsv").op(&[BX_LR]);
        firmware.handler(3).mark("fault").forever();
        let mut running = firmware.on(core);
        running.run(600);
        assert_eq!(running.names(), ["svc", "pendsv", "on", "end"], "{core}");
    }
}

#[test]
fn an_interrupt_during_a_return_is_chained_to() {
    // DDI 0337, 5.1 (pop pre-emption): an interrupt that reaches the core while the frame is restored is
    // served without a frame of its own. One that comes after that waits for an entry.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let mut firmware = Firmware::new();
        firmware.enable(3).mark("ready").nops(100).forever();
        firmware.handler(16).nops(8).mark("ends").op(&[BX_LR]);
        firmware.handler(17).mark("second").nops(8).op(&[BX_LR]);
        let mut trial = firmware.on(core);
        trial.machine.pend_interrupt(0, Cycles(60));
        trial.run(200);
        let left = trial.cycle("ends") + 1;
        for reaches in left + 1..left + 9 {
            let mut running = firmware.on(core);
            running.machine.pend_interrupt(0, Cycles(60));
            running.machine.pend_interrupt(1, Cycles(reaches - interrupt_delay(core)));
            running.run(300);
            let taken = running.cycle("second") - reaches;
            assert_eq!(taken, tail_chain(core), "{core}: {} cycles into it", reaches - left);
        }
    }
}

#[test]
fn sleep_on_exit_needs_the_last_active_exception() {
    // B1.5.8: SLEEPONEXIT takes effect when no exception is active any more. With CCR.NONBASETHRDENA a
    // handler can return to thread mode below another one.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let mut firmware = Firmware::new();
        firmware.store(CCR, 1).store(SCR, 2).store(SHPR2, 0x8000_0000).op(&[0xDF00]).forever();
        firmware.handler(11).mark("svc").store(ICSR, PENDSVSET).nops(4).forever();
        // PendSV's handler makes its frame one of thread mode, and returns there, to "thread".
        firmware.handler(14).mark("pendsv").mrs(2, 8).op(&[0x69D0]); // ldr r0, [r2, #28]
        firmware.op(&[0x0A40, 0x0240, 0x61D0]); // lsrs r0, #9; lsls r0, #9; str r0, [r2, #28]
        firmware.op(&[0x4670, 0x2108, 0x4308, BX_R0]); // mov r0, lr; movs r1, #8; orrs r0, r1; bx r0
        let mut running = firmware.on(core);
        running.run(500);
        assert_eq!(running.names(), ["svc", "pendsv"], "{core}");
        assert_eq!(running.machine.register(Register::Xpsr) & 0x1FF, 0, "{core}: thread mode");
        assert!(!running.machine.is_asleep(), "{core}: SVCall is still active");
    }
}

#[test]
fn privileged_threads_are_returned_to_with_privilege() {
    // B1.5.8 (PopStack): the frame is loaded with the thread's own privilege.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let mut firmware = Firmware::new();
        firmware.region(0, 0, 0x4000, 3, 0).region(1, RAM, 0x4000, 1, 0).store(MPU_CTRL, 1);
        firmware.op(&[0xDF00]).mark("end").forever();
        firmware.handler(11).op(&[BX_LR]);
        firmware.handler(3).mark("fault").forever();
        let mut running = firmware.on(core);
        running.run(300);
        assert_eq!(running.names(), ["end"], "{core}");
    }
}

#[test]
fn cores_without_an_fpu_refuse_returns_to_extended_frames() {
    // B1.5.8: EXC_RETURN[4] is a one without the floating-point extension.
    for core in [CoreKind::CortexM0, CoreKind::CortexM0Plus, CoreKind::CortexM3, CoreKind::CortexM4]
    {
        let mut firmware = Firmware::new();
        firmware.op(&[0xDF00]).mark("end").forever();
        // movs r1, #16; mov r0, lr; bics r0, r1; bx r0
        firmware.handler(11).op(&[0x2110, 0x4670, 0x4388, BX_R0]);
        firmware.handler(3).mark("fault").forever();
        let mut running = firmware.on(core);
        running.run(300);
        assert_eq!(running.names(), ["fault"], "{core}");
    }
}

#[test]
fn threads_without_floating_point_return_without_it() {
    // B1.5.8 (PopStack): CONTROL.FPCA is the inverse of EXC_RETURN[4], whatever the handler has used.
    let mut firmware = Firmware::new();
    firmware.fpu().op(&[0xDF00]).mrs(4, CONTROL).mark("end").forever();
    firmware.handler(11).op(&[0xEE30, 0x0A00]).mrs(5, CONTROL).op(&[BX_LR]); // vadd s0, s0, s0
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(300);
    assert_eq!(running.names(), ["end"]);
    assert_eq!((running.r(5) & 4, running.r(4) & 4), (4, 0));
}

#[test]
fn armv8m_returns_deactivate_hard_fault_whatever_ipsr_says() {
    // NMI's handler makes HardFault's code continue with the exception number of interrupt 0, which is
    // active below it. B1.5.8, DeActivate: the exception that IPSR names is deactivated. DDI 0553, B3.22:
    // at a priority of -1, HardFault is.
    const NVIC_IABR: u32 = 0xE000_E300;
    const UDF: u16 = 0xDE00;
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.store(NVIC_IPR, 0x0080).enable(3).store(NVIC_ISPR, 1).nops(4).forever();
        firmware.handler(16).op(&[UDF]);
        if core.is_mainline() {
            firmware.load(4, NVIC_IABR);
        }
        firmware.store(NVIC_ISPR, 2).nops(4).mark("back").forever();
        firmware.handler(17).mark("urgent").op(&[BX_LR]);
        // ldr r0, [sp, #24]; adds r0, #2; str r0, [sp, #24]: continues after the undefined instruction.
        firmware.handler(3).op(&[0x9806, 0x3002, 0x9006]).store(ICSR, NMIPENDSET).nops(4);
        firmware.mrs(5, 5).op(&[BX_LR]);
        // ldr r0, [sp, #28]; lsrs r0, #9; lsls r0, #9; adds r0, #16; str r0, [sp, #28]
        firmware.handler(2).op(&[0x9807, 0x0A40, 0x0240, 0x3010, 0x9007, BX_LR]);
        let mut running = firmware.on(core);
        running.run(400);
        assert_eq!(running.r(5), 16, "{core}: IPSR in HardFault's code");
        let v8m = core == CoreKind::CortexM33;
        let expected: &[&str] = if v8m { &["urgent", "back"] } else { &["back"] };
        assert_eq!(running.names(), expected, "{core}: HardFault's priority holds others back");
        if core.is_mainline() {
            assert_eq!(running.r(4), u32::from(v8m), "{core}: interrupt 0 is active");
        }
    }
}
