//! Exceptions on every core: what is taken when, what is saved, what it costs.
//! Sections are those of DDI 0403 (ARMv7-M) and DDI 0419 (ARMv6-M).

use rtmark_sim::{CoreKind, Cycles, Register, Stop, Watch};

use crate::support::*;

const M4F: CoreKind = CoreKind::CortexM4F;
/// `BX LR` as the way out of a handler.
const RETURN: &[u16] = &[BX_LR];

/// Interrupts 0 and 1 with these priorities, enabled; handlers with marks inside and at their ends.
/// DDI 0432, 5.3.1: 16 cycles; DDI 0484, 1.3: 15 cycles; DDI 0439, 3.9: 12 cycles.
fn entry(core: CoreKind) -> u64 {
    match core {
        CoreKind::CortexM0 => 16,
        CoreKind::CortexM0Plus => 15,
        _ => 12,
    }
}

fn two_interrupts(first: u32, second: u32) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(NVIC_IPR, first | second << 8).enable(3);
    firmware.mark("ready").forever();
    firmware.handler(16).mark("first").nops(20).mark("first ends").op(RETURN);
    firmware.handler(17).mark("second").nops(20).mark("second ends").op(RETURN);
    firmware
}

#[test]
fn interrupt_entry_takes_the_manuals_cycles() {
    for &core in CoreKind::CORTEX_M {
        let entry = entry(core);
        let mut firmware = Firmware::new();
        firmware.enable(1).nops(200).forever();
        firmware.handler(16).mark("handler").op(RETURN);
        let mut running = firmware.on(core);
        running.watch(Watch::Pend(16), "pended");
        running.watch(Watch::Return(16), "returned");
        for at in 40..60 {
            let mut running = running.clone();
            running.machine.pend_interrupt(0, Cycles(at));
            running.run(200);
            assert_eq!(running.names(), ["pended", "handler", "returned"], "{core}");
            let taken = running.cycle("handler") - running.cycle("pended");
            assert_eq!(taken, entry, "{core}: pended in cycle {at}, among one-cycle instructions");
        }
    }
}

#[test]
fn interrupts_wait_for_the_current_instruction() {
    // An interrupt in any cycle of an LDR is taken after it, on a core whose manual says no
    // more. What gives way to interrupts is in interruptible.rs, and so are loads of the Cortex-M3
    // and M4.
    for &core in CoreKind::CORTEX_M.iter().filter(|core| interrupt_delay(**core) == 0) {
        let mut firmware = Firmware::new();
        firmware
            .enable(1)
            .set(0, RAM)
            .nops(4)
            .mark("long")
            .op(&[0x6801])
            .op(&[0x46C0; 50])
            .forever();
        firmware.handler(16).mark("handler").op(RETURN);
        let mut trial = firmware.on(core);
        trial.run(100);
        let long = trial.cycle("long");
        // Cortex-M7 and M33 are taken to load in a cycle.
        let in_one = matches!(core, CoreKind::CortexM7 | CoreKind::CortexM33);
        let length = if in_one { 1 } else { 2 };
        for at in long..long + length {
            let mut running = firmware.on(core);
            running.machine.pend_interrupt(0, Cycles(at));
            running.run(100);
            let entry = entry(core);
            // The first chance is before the LDM itself.
            let boundary = if at == long { long } else { long + length };
            assert_eq!(running.cycle("handler"), boundary + entry, "{core}: pended at {at}");
        }
    }
}

#[test]
fn loads_in_their_address_phase_are_abandoned() {
    // As a CC2650 does: interrupts that come to the core in a load's first cycle or a cycle
    // later are taken at once, and the load begins anew; from then on it completes.
    for core in CoreKind::CORTEX_M.iter().copied().filter(|core| interrupt_delay(*core) > 0) {
        let mut firmware = Firmware::new();
        firmware.enable(1).set(0, RAM).nops(4).mark("long").op(&[0x6801]);
        firmware.op(&[0x46C0; 50]).forever();
        firmware.handler(16).mark("handler").op(RETURN);
        let mut trial = firmware.on(core);
        trial.run(100);
        let long = trial.cycle("long");
        for comes in long - 2..long + 4 {
            let mut running = firmware.on(core);
            running.machine.pend_interrupt(0, Cycles(comes - interrupt_delay(core)));
            running.run(200);
            assert_eq!(running.cycle("handler"), comes + 9, "{core}: comes in {comes}");
            let before = running.names().first() == Some(&"long");
            assert_eq!(before, comes > long + 1, "{core}: comes in {comes}");
            let times = running.names().iter().filter(|name| **name == "long").count();
            assert_eq!(times, 1, "{core}: comes in {comes}");
        }
    }
}

#[test]
fn the_frame_holds_the_caller_saved_registers() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.set(0, 0x101).set(1, 0x202).set(2, 0x303).set(3, 0x404);
        firmware.op(&[0x4684]); // mov r12, r0
        firmware.set(4, 0x777).op(&[0x46A6, 0x42A4]); // mov lr, r4; cmp r4, r4
        firmware.op(&[0xDF2A]).mark("after").forever();
        firmware.handler(11).mark("svc").forever();
        let mut running = firmware.on(core);
        running.run(100);
        let frame = STACK - 32;
        assert_eq!(running.r(13), frame, "{core}");
        let saved: Vec<_> = (0..8).map(|at| running.word(frame + at * 4)).collect();
        let after = firmware.address("after");
        let flags = 0x6000_0000 | 1 << 24;
        assert_eq!(saved, [0x101, 0x202, 0x303, 0x404, 0x101, 0x777, after, flags], "{core}");
        assert_eq!(running.r(14), 0xFFFF_FFF9, "{core}: to thread mode, main stack");
        assert_eq!(running.machine.register(Register::Xpsr) & 0x1FF, 11);
    }
}

#[test]
fn misaligned_stacks_are_aligned_and_restored() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[0xB081, 0xDF00]).mark("after").forever(); // sub sp, #4; svc
        firmware.handler(11).mark("svc").op(RETURN);
        let mut running = firmware.on(core);
        running.run(100);
        assert_eq!(running.names()[..2], ["svc", "after"]);
        assert_eq!(running.r(13), STACK - 4, "{core}");
        let frame = STACK - 4 - 4 - 32;
        assert_eq!(running.word(frame + 28) >> 9 & 1, 1, "{core}: bit 9 tells (B1.5.7)");
    }
}

#[test]
fn more_urgent_interrupts_nest_and_others_wait() {
    for &core in CoreKind::CORTEX_M {
        let mut running = two_interrupts(0x80, 0x40).on(core);
        running.run(100);
        let now = running.machine.cycles().0;
        running.machine.pend_interrupt(0, Cycles(now + 10));
        running.machine.pend_interrupt(1, Cycles(now + 30));
        running.run(200);
        let nested = ["ready", "first", "second", "second ends", "first ends"];
        let names: Vec<_> = running.names();
        assert_eq!(names[names.len() - 4..], nested[1..], "{core}");

        let mut running = two_interrupts(0x40, 0x40).on(core);
        running.run(100);
        let now = running.machine.cycles().0;
        running.machine.pend_interrupt(0, Cycles(now + 10));
        running.machine.pend_interrupt(1, Cycles(now + 30));
        running.run(200);
        let names = running.names();
        let row = ["first", "first ends", "second", "second ends"];
        assert_eq!(names[names.len() - 4..], row, "{core}: equals do not preempt");
    }
}

#[test]
fn handlers_tail_chain() {
    let mut running = two_interrupts(0x40, 0x40).on(M4F);
    running.run(100);
    let now = running.machine.cycles().0;
    running.machine.pend_interrupt(0, Cycles(now + 10));
    running.machine.pend_interrupt(1, Cycles(now + 20));
    running.run(200);
    // DDI 0439, 3.9: six cycles, after the BX of one.
    let gap = running.cycle("second") - running.cycle("first ends");
    assert_eq!(gap, 1 + 6);
}

#[test]
fn late_arrivals_take_over_the_entry() {
    for &core in CoreKind::CORTEX_M {
        let mut running = two_interrupts(0x80, 0x40).on(core);
        running.run(100);
        let now = running.machine.cycles().0;
        running.machine.pend_interrupt(0, Cycles(now + 10));
        running.machine.pend_interrupt(1, Cycles(now + 12));
        running.run(200);
        let names = running.names();
        let order = ["second", "second ends", "first", "first ends"];
        assert_eq!(names[names.len() - 4..], order, "{core} (B1.5.13)");
        let entry = entry(core);
        let taken = running.cycle("second") - (now + 10);
        assert!(
            (entry..entry + 3).contains(&taken),
            "{core}: {taken} cycles, with the first's stacking"
        );
    }
}

#[test]
fn primask_blocks_all_but_nmi() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(1).op(&[CPSID_I]).store(NVIC_ISPR, 1).nops(10);
        firmware.mark("masked").store(ICSR, 1 << 31).nops(5).mark("still masked");
        firmware.op(&[CPSIE_I]).mark("open").nops(5).mark("end").forever();
        firmware.handler(2).mark("nmi").op(RETURN);
        firmware.handler(16).mark("interrupt").op(RETURN);
        let mut running = firmware.on(core);
        running.run(300);
        let names = running.names();
        let order = ["masked", "nmi", "still masked", "interrupt", "open", "end"];
        assert_eq!(names, order, "{core}: taken right after CPSIE");
    }
}

#[test]
fn basepri_blocks_exceptions_that_are_not_more_urgent() {
    let mut firmware = Firmware::new();
    firmware.store(NVIC_IPR, 0x4080).enable(3).set(2, 0x80).msr(17, 2); // basepri
    firmware.store(NVIC_ISPR, 1).nops(5).mark("equal waits");
    firmware.store(NVIC_ISPR, 2).nops(5).mark("urgent taken");
    firmware.set(2, 0).msr(17, 2).mark("open").forever();
    firmware.handler(16).mark("first").op(RETURN);
    firmware.handler(17).mark("second").op(RETURN);
    let mut running = firmware.on(M4F);
    running.run(300);
    let names = running.names();
    assert_eq!(names[..5], ["equal waits", "second", "urgent taken", "first", "open"]);
}

#[test]
fn basepri_max_only_raises() {
    let mut firmware = Firmware::new();
    firmware.set(0, 0x40).msr(17, 0).set(0, 0x80).msr(18, 0).mrs(1, 17);
    firmware.set(0, 0x20).msr(18, 0).mrs(2, 17).forever();
    let mut running = firmware.on(M4F);
    running.run(100);
    assert_eq!((running.r(1), running.r(2)), (0x40, 0x20), "B5.2.3");
}

#[test]
fn subpriorities_order_but_do_not_preempt() {
    // AIRCR.PRIGROUP = 6: one bit of group priority, three bits below it.
    let mut firmware = Firmware::new();
    firmware.store(AIRCR, 0x05FA_0600).store(NVIC_IPR, 0x10_4050).enable(7);
    firmware.nops(100).forever();
    firmware.handler(16).mark("0x50").nops(20).mark("0x50 ends").op(RETURN);
    firmware.handler(17).mark("0x40").nops(5).op(RETURN);
    firmware.handler(18).mark("0x10").nops(5).op(RETURN);
    let mut running = firmware.on(M4F);
    running.machine.pend_interrupt(0, Cycles(60));
    running.machine.pend_interrupt(1, Cycles(80));
    running.machine.pend_interrupt(2, Cycles(80));
    running.run(300);
    assert_eq!(running.names(), ["0x50", "0x50 ends", "0x10", "0x40"], "B1.5.4");
}

#[test]
fn systick_interrupts_every_reload_plus_one_cycles() {
    for &core in CoreKind::CORTEX_M {
        for reload in [99u32, 100, 1023] {
            let mut firmware = Firmware::new();
            firmware.store(SYST_RVR, reload).store(SYST_CVR, 0).store(SYST_CSR, 7);
            firmware.mark("started").forever();
            firmware.handler(15).mark("tick").op(RETURN);
            let mut running = firmware.on(core);
            running.watch(Watch::Pend(15), "pended");
            running.run(u64::from(reload + 1) * 60);
            let pended: Vec<_> = running
                .passed
                .iter()
                .filter(|mark| mark.0 == "pended")
                .map(|mark| mark.1)
                .collect();
            assert!(pended.len() >= 58, "{core}: {} ticks", pended.len());
            let period = u64::from(reload) + 1;
            assert!(pended.windows(2).all(|two| two[1] - two[0] == period), "{core}: {pended:?}");
            let ticks = running.names().iter().filter(|name| **name == "tick").count();
            assert!(ticks + 1 >= pended.len(), "{core}: every one is taken");
        }
    }
}

#[test]
fn pendsv_runs_after_all_other_exceptions() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.store(SHPR3, 0x00FF_0000); // PendSV is the least urgent
        firmware.op(&[0xDF01]).mark("after").forever();
        firmware.handler(11).mark("svc").store(ICSR, 1 << 28).nops(5).mark("svc ends").op(RETURN);
        firmware.handler(14).mark("pendsv").op(RETURN);
        let mut running = firmware.on(core);
        running.run(200);
        assert_eq!(running.names()[..4], ["svc", "svc ends", "pendsv", "after"], "{core}");
    }
}

#[test]
fn pended_exceptions_can_be_cleared() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[CPSID_I]).store(ICSR, 1 << 28).load(3, ICSR).store(ICSR, 1 << 27);
        firmware.load(4, ICSR).op(&[CPSIE_I]).nops(5).mark("end").forever();
        firmware.handler(14).mark("pendsv").op(RETURN);
        let mut running = firmware.on(core);
        running.run(100);
        assert_eq!(running.names()[..1], ["end"], "{core}");
        assert_eq!((running.r(3) >> 28 & 1, running.r(4) >> 28 & 1), (1, 0), "{core}");
        assert_eq!(running.r(3) >> 12 & 0x1FF, 14, "{core}: VECTPENDING");
    }
}

#[test]
fn supervisor_calls_pass_their_number_and_return_in_r0() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.op(&[0xDF37]).mark("after").forever();
        // mrs r0, msp; ldr r1, [r0, #24]; subs r1, #2; ldrb r1, [r1]; str r1, [r0]
        firmware.handler(11).mrs(0, 8).op(&[0x6981, 0x3902, 0x7809, 0x6001]).op(RETURN);
        let mut running = firmware.on(core);
        running.run(100);
        assert_eq!(running.r(0), 0x37, "{core}");
    }
}

#[test]
fn thread_mode_can_use_the_process_stack() {
    for &core in CoreKind::CORTEX_M {
        let process = RAM + 0x800;
        let mut firmware = Firmware::new();
        firmware.set(0, process).msr(9, 0).set(0, 2).msr(20, 0).op(&[0xF3BF, 0x8F6F]);
        firmware.op(&[0xDF00]).mark("after").forever();
        firmware.handler(11).mark("svc").op(&[0x4670, 0x466A]).op(RETURN); // mov r0, lr; mov r2, sp
        let mut running = firmware.on(core);
        while running.names().last() != Some(&"svc") {
            running.run(1);
        }
        assert_eq!(running.machine.register(Register::Psp), process - 32, "{core}");
        assert_eq!(running.r(13), STACK, "{core}: the handler uses the main one");
        assert_eq!(running.r(14), 0xFFFF_FFFD, "{core}");
        running.run(100);
        assert_eq!(running.r(13), process, "{core}");
        assert_eq!(running.machine.register(Register::Control) & 2, 2, "{core}");
    }
}

#[test]
fn the_vector_table_can_be_relocated() {
    // A Cortex-M0 has no VTOR.
    for &core in CoreKind::CORTEX_M.iter().filter(|core| **core != CoreKind::CortexM0) {
        let mut firmware = Firmware::new();
        let table = RAM + 0x400;
        firmware.store(VTOR, table).op(&[0xDF00]).forever();
        firmware.handler(16).mark("moved").forever();
        let mut running = firmware.on(core);
        let moved = firmware.address("moved") | 1;
        running.machine.poke_word(table + 11 * 4, moved).expect("in RAM");
        running.run(100);
        assert_eq!(running.names(), ["moved"], "{core}");
    }
}

#[test]
fn unimplemented_priority_bits_ignore_writes() {
    // B1.4.4: unimplemented priority bits read as zero and ignore writes.
    for (core, kept) in [(CoreKind::CortexM0Plus, 0xC0C0_C0C0), (M4F, 0xF0F0_F0F0u32)] {
        let mut firmware = Firmware::new();
        firmware.store(NVIC_IPR, u32::MAX).load(3, NVIC_IPR);
        firmware.store(SHPR2, u32::MAX).load(4, SHPR2).forever();
        let mut running = firmware.on(core);
        running.run(100);
        assert_eq!((running.r(3), running.r(4)), (kept, kept & 0xFF00_0000), "{core}");
    }
}

#[test]
fn programs_can_request_a_reset() {
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.mark("start").nops(5).store(AIRCR, 0x05FA_0004).forever();
        let mut running = firmware.on(core);
        assert_eq!(running.run(100), Stop::ResetRequested, "{core}");
        running.machine.reset().expect("the same vectors");
        assert_eq!(running.run(3), Stop::Limit);
        assert_eq!(running.names(), ["start", "start"], "{core}");
    }
}

/// BASEPRI, and BASEPRI_MAX behind it, as a program reads the mask in the end.
fn basepri_of(core: CoreKind, first: u32, then: u32) -> u32 {
    let mut firmware = Firmware::new();
    firmware.set(0, first).msr(17, 0).set(0, then).msr(18, 0).mrs(4, 17).mark("end").forever();
    let mut running = firmware.on(core);
    running.run(1_000);
    assert_eq!(running.names(), ["end"]);
    running.r(4)
}

#[test]
fn basepri_max_compares_the_written_value() {
    // DDI 0403, B5.2.3: UInt(R[n]<7:0>) < UInt(BASEPRI<7:0>), before the bits are lost that the
    // soc has no priorities for: 1 becomes 0, which masks nothing. A CC2650 says so.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33] {
        assert_eq!(basepri_of(core, 0x80, 1), 0, "{core}");
        assert_eq!(basepri_of(core, 0x80, 0), 0x80, "{core}");
        assert_eq!(basepri_of(core, 0, 0x80), 0x80, "{core}");
        assert_eq!(basepri_of(core, 1, 0x80), 0x80, "{core}");
        assert_eq!(basepri_of(core, 0x80, 0xC0), 0x80, "{core}");
        assert_eq!(basepri_of(core, 0x80, 0x40), 0x40, "{core}");
        assert_eq!(basepri_of(core, 0x80, 0x8F), 0x80, "{core}");
        assert_eq!(basepri_of(core, 0x80, 0x17F), 0x70, "{core}: no more than a byte");
    }
}

#[test]
fn rettobase_is_set_only_in_handlers() {
    // DDI 0403, B3.2.4: whether another exception is active than the one that IPSR tells.
    const RETTOBASE: u32 = 1 << 11;
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33] {
        let mut firmware = Firmware::new();
        firmware.load(4, ICSR).op(&[0xDF00]).mark("end").forever();
        // SVC's handler, which UDF interrupts: a HardFault, whose handler returns behind it.
        firmware.handler(11).load(5, ICSR).op(&[0xDE00, BX_LR]);
        firmware.handler(3).load(6, ICSR).op(&[0xF3EF, 0x8008]); // mrs r0, msp
        firmware.op(&[0x6981, 0x3102, 0x6181, BX_LR]);
        let mut running = firmware.on(core);
        running.run(1_000);
        assert_eq!(running.names(), ["end"], "{core}");
        let told = [4, 5, 6].map(|register| running.r(register) & (RETTOBASE | 0x1FF));
        assert_eq!(told, [0, RETTOBASE | 0xB, 3], "{core}");
    }
}

#[test]
fn a_reset_counts_exceptions_from_zero_again() {
    let mut firmware = Firmware::new();
    firmware.store(SYST_RVR, 99).store(SYST_CVR, 0).store(SYST_CSR, 7).forever();
    firmware.handler(15).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM4);
    running.run(1000);
    assert!(running.machine.overhead().exceptions > 0);
    running.machine.reset().expect("it starts again");
    assert_eq!(running.machine.overhead().exceptions, 0);
}
