//! Exception entries at their limits: vectors, stacks, and memories that wait.
//! Sections are those of DDI 0403 (ARMv7-M) unless another manual is named.

use rtmark_sim::{CoreKind, Cycles, Soc, Stop, Watch};

use crate::support::*;

const MSPLIM: u16 = 10;
/// CFSR: the Thumb bit was clear; the stack limit was exceeded (ARMv8-M).
const INVSTATE: u32 = 1 << 17;
const STKOF: u32 = 1 << 20;
/// SHCSR: UsageFault has a handler.
const USGFAULTENA: u32 = 1 << 18;

#[test]
fn a_vector_without_the_thumb_bit_faults_at_the_handlers_first_instruction() {
    // B1.5.6: the vector's bit 0 becomes EPSR.T, without which no instruction executes. On ARMv6-M
    // the fault is a HardFault (DDI 0419, B1.5.6).
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        if core.is_mainline() {
            firmware.store(SHCSR, USGFAULTENA).store(NVIC_IPR, 0x80);
        }
        firmware.enable(1).forever();
        firmware.handler(16).mark("handler").forever();
        let handler = firmware.address("handler");
        firmware.vector(16, handler);
        firmware.handler(3).mark("hard fault").forever();
        firmware.handler(6).mark("usage fault").load(4, CFSR).forever();
        let mut running = firmware.on(core);
        running.machine.pend_interrupt(0, Cycles(60));
        running.run(300);
        if core.is_mainline() {
            assert_eq!(running.names(), ["usage fault"], "{core}");
            assert_eq!(running.r(4), INVSTATE, "{core}");
        } else {
            assert_eq!(running.names(), ["hard fault"], "{core}");
        }
        let frame = running.machine.register(rtmark_sim::Register::Msp);
        assert_eq!(running.word(frame + 24), handler, "{core}: the handler did not begin");
    }
}

/// Cycles from an interrupt becoming pending to its handler in RAM, by a vector in RAM or in flash that waits.
fn entry_by(soc: &Soc, table: u32) -> u64 {
    let mut firmware = Firmware::new();
    firmware.store(VTOR, table).enable(1).set(2, RAM + 0x100).op(&[0x3201, 0x4710]);
    let mut running = firmware.on_soc(soc);
    for at in [table, 0] {
        running.machine.poke_word(at + 16 * 4, RAM + 0x201).expect("a memory");
    }
    // nops and a branch to the first; the handler's nops
    for at in (0x100..0x180).chain(0x200..0x220).step_by(4) {
        running.machine.poke_word(RAM + at, u32::from(NOP) << 16 | u32::from(NOP)).expect("RAM");
    }
    running.machine.poke(RAM + 0x180, &FOREVER.to_le_bytes()).expect("RAM");
    let id = running.machine.watch(Watch::Execute(RAM + 0x200));
    let pended = running.machine.watch(Watch::Pend(16));
    running.machine.run(Cycles(200));
    running.machine.take_hits();
    running.machine.pend_interrupt(0, Cycles(210));
    running.machine.run(Cycles(300));
    let hits = running.machine.take_hits();
    let cycle = |watch| hits.iter().find(|hit| hit.watch == watch).expect("it happened").cycle.0;
    cycle(id) - cycle(pended)
}

#[test]
fn a_vector_in_slow_memory_delays_the_handler() {
    // DDI 0484, 1.3: the 15 cycles are those of memories without wait states.
    for core in [CoreKind::CortexM0Plus, CoreKind::CortexM33] {
        let mut soc = soc(core);
        soc.memories[0].timing.wait_states = 3;
        let [fast, slow] = [RAM, 0].map(|table| entry_by(&soc, table));
        assert_eq!(slow - fast, 3, "{core}");
    }
}

/// Cycles from an interrupt becoming pending to its handler, and from the handler's return to what it
/// interrupted, with a stack in RAM with wait states; floating-point registers are on it, too, if there are any.
fn there_and_back(core: CoreKind, wait_states: u8) -> [u64; 2] {
    let mut soc = soc(core);
    soc.memories[1].timing.wait_states = wait_states;
    let mut firmware = Firmware::new();
    if core.has_fpu() {
        // FPCCR.ASPEN without LSPEN; vmov.f32 s0, #1
        firmware.fpu().store(FPCCR, 1 << 31).op(&[0xEEB7, 0x0A00]);
    }
    firmware.enable(1).nops(1).mark("loop").op(&[FOREVER]);
    firmware.handler(16).mark("handler").nops(8).mark("return").op(&[BX_LR]);
    let mut running = firmware.on_soc(&soc);
    running.watch(Watch::Pend(16), "pended");
    running.machine.pend_interrupt(0, Cycles(100));
    running.run(400);
    let [pended, handler, back] = ["pended", "handler", "return"].map(|name| running.cycle(name));
    let again = running.passed.iter().find(|mark| mark.0 == "loop" && mark.1 > back);
    [handler - pended, again.expect("it goes on").1 - back]
}

#[test]
fn each_word_of_a_frame_waits_for_a_slow_stack() {
    for &core in CoreKind::CORTEX_M {
        let [entry, exit] = there_and_back(core, 0);
        // B1.5.7: eight registers; S0 to S15 and FPSCR. The reserved word is not written.
        let words = if core.has_fpu() { 8 + 17 } else { 8 };
        for waits in 1..5 {
            let more = words * u64::from(waits);
            assert_eq!(there_and_back(core, waits), [entry + more, exit + more], "{core}, {waits}");
        }
    }
}

#[test]
fn a_frame_may_end_at_the_stack_limit() {
    // DDI 0553, B3.21: the limit is violated by a stack pointer below it.
    for (limit, names) in [(STACK - 32, ["svc", "end"]), (STACK - 24, ["usage fault"; 2])] {
        let mut firmware = Firmware::new();
        firmware.store(SHCSR, USGFAULTENA).set(0, limit).msr(MSPLIM, 0).op(&[0xDF00]);
        firmware.mark("end").forever();
        firmware.handler(11).mark("svc").op(&[BX_LR]);
        firmware.handler(6).set(0, 0).msr(MSPLIM, 0).mark("usage fault").load(4, CFSR).forever();
        let mut running = firmware.on(CoreKind::CortexM33);
        running.run(300);
        let expected = if limit == STACK - 32 { &names[..] } else { &names[..1] };
        assert_eq!(running.names(), expected, "limit {limit:#x}");
        let status = if limit == STACK - 32 { 0 } else { STKOF };
        assert_eq!(running.r(4), status, "limit {limit:#x}");
    }
}

#[test]
fn nmi_without_a_vector_locks_up() {
    // B1.5.12: a vector read for NMI or HardFault that fails leads to lockup, any other to HardFault.
    let mut firmware = Firmware::new();
    firmware.store(VTOR, 0x1000_0000).mark("nmi").store(ICSR, 1 << 31).nops(8).forever();
    firmware.handler(3).mark("hard fault").forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    let stop = running.run(300);
    assert!(matches!(stop, Stop::Lockup(_)), "{stop:?}");
}

/// Cycles from the beginning of a program to its handler of interrupt 0, which a store of `value` to ISPR
/// and, if given, a signal in some cycle make pending.
fn pended(core: CoreKind, value: u32, signal: Option<u64>) -> Option<(u64, u64)> {
    let mut firmware = Firmware::new();
    firmware.enable(1).set(0, NVIC_ISPR).set(1, value).nops(8).mark("store").op(&[0x6001]);
    firmware.nops(60).forever();
    firmware.handler(16).mark("handler").nops(60).op(&[BX_LR]);
    let mut running = firmware.on(core);
    if let Some(cycle) = signal {
        running.machine.pend_interrupt(0, Cycles(cycle));
    }
    running.run(120);
    let handler = running.passed.iter().find(|mark| mark.0 == "handler")?;
    let store = running.passed.iter().find(|mark| mark.0 == "store").map_or(0, |mark| mark.1);
    Some((store, handler.1))
}

#[test]
fn a_store_makes_its_interrupt_pending_in_its_data_phase() {
    // A CC2650's programs execute the instructions that enter the execute stage in the two cycles after the
    // store's data phase; the frame's nine cycles follow. Other cores take the interrupt at the end of the
    // instruction after the store.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let (store, handler) = pended(core, 1, None).expect("it was requested");
        assert_eq!(handler - store, 1 + 1 + 2 + 9, "{core}");
    }
}

#[test]
fn whichever_request_comes_first_is_served() {
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        let (store, alone) = pended(core, 1, None).expect("it was requested");
        for cycle in store - 6..store + 8 {
            let (_, signalled) = pended(core, 0, Some(cycle)).expect("it was signalled");
            let (_, both) = pended(core, 1, Some(cycle)).expect("requested twice");
            assert_eq!(both, alone.min(signalled), "{core}: signalled in cycle {cycle}");
        }
    }
}

#[test]
fn an_interrupt_cleared_on_its_way_does_not_take_others_along() {
    // B3.4.5: ICPR clears what it names.
    for &core in CoreKind::CORTEX_M {
        let mut firmware = Firmware::new();
        firmware.enable(3).set(0, NVIC_ISPR).set(1, 3).set(2, NVIC_ISPR + 0x80).set(3, 1);
        // str r1, [r0]; str r3, [r2]
        firmware
            .op(&[CPSID_I, 0x6001, 0x6013])
            .nops(8)
            .op(&[CPSIE_I])
            .nops(8)
            .mark("end")
            .forever();
        firmware.handler(16).mark("first").op(&[BX_LR]);
        firmware.handler(17).mark("second").op(&[BX_LR]);
        let mut running = firmware.on(core);
        running.run(300);
        assert_eq!(running.names(), ["second", "end"], "{core}");
    }
}

/// Cycles from the last of three stores, which requests an interrupt, to its handler: the first requests it
/// or not, the second takes that back.
fn after_a_request_taken_back(core: CoreKind, first: u32, nops: usize) -> u64 {
    let mut firmware = Firmware::new();
    firmware.enable(1).set(0, NVIC_ISPR).set(1, 1).set(2, NVIC_ISPR + 0x80).set(3, first);
    // str r3, [r0]; str r1, [r2]; str r1, [r0]
    firmware.op(&[0x6003, 0x6011]).nops(nops).mark("store").op(&[0x6001]).nops(40).forever();
    firmware.handler(16).mark("handler").nops(40).op(&[BX_LR]);
    let mut running = firmware.on(core);
    running.run(150);
    assert_eq!(running.names(), ["store", "handler"], "{core}: requested and taken once");
    running.cycle("handler") - running.cycle("store")
}

#[test]
fn a_request_taken_back_does_not_hasten_the_next() {
    // Those of a Cortex-M3 and M4 reach the core some cycles after the store.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        for nops in 0..4 {
            let [twice, once] = [1, 0].map(|first| after_a_request_taken_back(core, first, nops));
            assert_eq!(twice, once, "{core}, {nops} NOPs");
        }
    }
}

#[test]
fn nothing_pending_reads_as_zero() {
    // B3.2.4: ICSR.VECTPENDING and ISRPENDING; B3.4: registers of interrupts that a soc lacks are zero.
    for &core in CoreKind::CORTEX_M {
        let mut soc = soc(core);
        soc.interrupts = 5;
        let mut firmware = Firmware::new();
        firmware.load(4, ICSR).op(&[CPSID_I]).enable(u32::MAX).store(NVIC_ISPR, u32::MAX);
        firmware.load(5, NVIC_ISER).load(6, NVIC_ISPR).mark("end").forever();
        let mut running = firmware.on_soc(&soc);
        running.run(300);
        assert_eq!(running.names(), ["end"], "{core}");
        assert_eq!([4, 5, 6].map(|number| running.r(number)), [0, 0x1F, 0x1F], "{core}");
    }
}
