//! Floating-point state across exceptions: lazily saved, saved at once, or not at all
//! (DDI 0403, B1.5.7, B3.2.20 to B3.2.23).

use rtmark_sim::{CoreKind, Cycles, Register};

use crate::support::*;

const M4F: CoreKind = CoreKind::CortexM4F;
/// FPCCR: automatic and lazy, automatic at once, neither.
const LAZY: u32 = 0xC000_0000;
const AT_ONCE: u32 = 0x8000_0000;
const MANUAL: u32 = 0;

/// S0 to S31 hold `100 + n` as bits when SVC is called; its handler changes all of them.
fn firmware(control: u32, handler_uses_fp: bool) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, control);
    firmware.set(2, 0x0380_0000).op(&[0xEEE1, 0x2A10]); // vmsr fpscr, r2
    for register in 0..32u16 {
        firmware.op(&[0x2264 + register]); // movs r2, #
        firmware.op(&[0xEE00 | register >> 1, 0x2A10 | (register & 1) << 7]); // vmov s, r2
    }
    firmware.mark("call").op(&[0xDF00]).mark("after").forever();
    firmware.handler(11).mark("handler").nops(1);
    if handler_uses_fp {
        firmware.op(&[0x2207]);
        for register in 0..32u16 {
            firmware.op(&[0xEE00 | register >> 1, 0x2A10 | (register & 1) << 7]);
        }
    }
    firmware.mark("leave").op(&[BX_LR]);
    firmware
}

fn singles(running: &Running) -> Vec<u32> {
    (0..32).map(|number| running.machine.register(Register::S(number))).collect()
}

#[test]
fn caller_saved_fp_registers_survive_handlers_that_use_the_fpu() {
    for control in [LAZY, AT_ONCE] {
        let mut running = firmware(control, true).on(M4F);
        running.run(1_000);
        assert_eq!(running.names(), ["call", "handler", "leave", "after"]);
        let expected: Vec<_> = (0..16).map(|n| 100 + n).chain([7; 16]).collect();
        assert_eq!(
            singles(&running),
            expected,
            "{control:#x}: S16 to S31 are the handler's to save"
        );
        assert_eq!(running.machine.register(Register::Fpscr), 0x0380_0000, "{control:#x}");
        assert_eq!(
            running.machine.register(Register::Control) & 4,
            4,
            "{control:#x}: FPCA is back"
        );
        assert_eq!(running.r(13), STACK);
    }
}

#[test]
fn fp_state_is_not_saved_unless_enabled() {
    let mut running = firmware(MANUAL, true).on(M4F);
    running.run(1_000);
    assert_eq!(singles(&running), [7; 32]);
    assert_eq!(running.word(STACK - 32 + 28) >> 24, 0x01, "a frame of eight words");
}

#[test]
fn the_extended_frame_has_26_words_and_clears_exc_return_ftype() {
    for control in [LAZY, AT_ONCE] {
        let mut running = firmware(control, false).on(M4F);
        while running.names().last() != Some(&"handler") {
            running.run(1);
        }
        assert_eq!(
            running.r(14),
            0xFFFF_FFE9,
            "{control:#x}: EXC_RETURN tells of the extended frame"
        );
        assert_eq!(running.r(13), STACK - 26 * 4, "{control:#x}");
        assert_eq!(running.machine.register(Register::Control) & 4, 0, "{control:#x}");
        let first = running.word(STACK - 26 * 4 + 32);
        let untouched = 0xA5A5_A5A5;
        assert_eq!(first, if control == LAZY { untouched } else { 100 }, "{control:#x}");
        running.run(500);
        assert_eq!(singles(&running), (100..132).collect::<Vec<_>>());
    }
}

#[test]
fn pending_lazy_stacking_is_visible() {
    let mut firmware = Firmware::new();
    firmware.fpu().op(&[0xEE30, 0x0A00]).op(&[0xDF00]).forever(); // vadd s0, s0, s0
    firmware.handler(11).load(4, FPCCR).load(5, 0xE000_EF38);
    firmware.op(&[0xEE30, 0x0A00]).load(6, FPCCR).op(&[BX_LR]);
    let mut running = firmware.on(M4F);
    running.run(500);
    assert_eq!(running.r(4) & 1, 1, "LSPACT");
    assert_eq!(running.r(5), STACK - 26 * 4 + 32, "FPCAR: where S0 belongs");
    assert_eq!(running.r(6) & 1, 0, "saved by the first instruction that uses the FPU");
}

#[test]
fn handlers_without_floating_point_cost_no_more() {
    // DDI 0439, 3.9: lazy stacking keeps the latency of 12 cycles; at once it takes 29. Three of
    // them are an interrupt's way to the core, which SVC does not go.
    for (control, entry) in [(LAZY, 9), (AT_ONCE, 26)] {
        let mut running = firmware(control, false).on(M4F);
        running.run(1_000);
        let taken = running.cycle("handler") - running.cycle("call");
        // SVC itself takes one cycle.
        assert_eq!(taken, 1 + entry, "{control:#x}");
    }
}

#[test]
fn nested_handlers_have_separate_fp_state() {
    let mut firmware = Firmware::new();
    firmware.fpu().store(SHPR2, 0x8000_0000).enable(1); // SVC gives way to interrupt 0
    firmware.op(&[0x2201, 0xEE00, 0x2A10]); // s0 = 1
    firmware.op(&[0xDF00]).op(&[0xEE10, 0x4A10]).forever(); // vmov r4, s0
    firmware.handler(11).op(&[0x2202, 0xEE00, 0x2A10]); // s0 = 2
    firmware.store(NVIC_ISPR, 1).nops(5);
    firmware.op(&[0xEE10, 0x5A10, BX_LR]); // vmov r5, s0
    firmware.handler(16).op(&[0x2203, 0xEE00, 0x2A10, 0xEE10, 0x6A10, BX_LR]); // s0 = 3; r6
    let mut running = firmware.on(M4F);
    running.run(1_000);
    assert_eq!([running.r(4), running.r(5), running.r(6)], [1, 2, 3]);
}

const VDIV: &[u16] = &[0xEE80, 0x2A01]; // vdiv.f32 s4, s0, s2
const VMOV: &[u16] = &[0xEEB0, 0x3A40]; // vmov.f32 s6, s0
const PLAIN: &[u16] = &[0x46C0, 0x46C0]; // mov r8, r8; mov r8, r8
/// The cycles for which VDIV occupies the floating-point unit (DDI 0439, 7.2.3).
const DIVISION: u64 = 14;

/// A program that divides, and a handler of interrupt 0 that begins with an instruction.
fn dividing(control: u32, first: &[u16]) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, control).enable(1);
    firmware.op(&[0xEEB7, 0x0A00, 0xEEB0, 0x1A08]); // vmov.f32 s0, #1; vmov.f32 s2, #3
    firmware.op(PLAIN).op(PLAIN).mark("division").op(VDIV).nops(40).forever();
    firmware.handler(16).mark("handler").op(first).op(&[BX_LR]);
    firmware
}

/// Arm's erratum 776924: VDIV is not terminated by an interrupt, and completes while the frame is stacked or
/// in the handler. So an instruction of the handler that needs the unit waits for it.
#[test]
fn handlers_wait_for_a_division_in_progress() {
    for (control, waits) in [(LAZY, true), (MANUAL, true), (AT_ONCE, false)] {
        let mut waited = 0;
        for at in 1..DIVISION + 4 {
            let begins = |first| {
                let firmware = dividing(control, first);
                let mut plain = firmware.on(M4F);
                plain.run(500);
                let mut running = firmware.on(M4F);
                let division = plain.cycle("division");
                let pends = division + at - interrupt_delay(M4F);
                running.machine.pend_interrupt(0, Cycles(pends));
                running.run(500);
                assert_eq!(running.machine.register(Register::S(4)), 0x3EAA_AAAB, "1 / 3");
                (division, running.cycle("handler"))
            };
            let ((division, free), (_, needing)) = (begins(PLAIN), begins(VMOV));
            assert_eq!(needing, free.max(division + DIVISION), "{control:#x}, {at} cycles later");
            waited += needing - free;
        }
        assert_eq!(waited > 0, waits, "{control:#x}");
    }
}

/// The same on the way back, and from one handler to the next.
#[test]
fn a_handlers_division_goes_on_while_it_returns() {
    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, MANUAL);
    firmware.op(&[0xEEB7, 0x0A00, 0xEEB0, 0x1A08]).op(PLAIN);
    firmware.op(&[0xDF00]).mark("back").op(VMOV).forever();
    firmware.handler(11).op(PLAIN).mark("division").op(VDIV).op(&[BX_LR]);
    let mut running = firmware.on(M4F);
    running.run(500);
    // BX takes one cycle, and the return nine.
    assert_eq!(running.cycle("back") - running.cycle("division"), DIVISION);

    let mut firmware = Firmware::new();
    firmware.fpu().store(FPCCR, MANUAL).enable(1);
    firmware.op(&[0xEEB7, 0x0A00, 0xEEB0, 0x1A08]).op(PLAIN).op(&[0xDF00]).forever();
    firmware.handler(11).store(NVIC_ISPR, 1).nops(4);
    firmware.mark("division").op(VDIV).op(&[BX_LR]);
    firmware.handler(16).mark("next").op(VMOV).op(&[BX_LR]);
    let mut running = firmware.on(M4F);
    running.run(500);
    assert_eq!(running.cycle("next") - running.cycle("division"), DIVISION);
}
