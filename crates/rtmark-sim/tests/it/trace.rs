//! The trace units: counters and comparators of the DWT (DDI 0403, C1.8), stimulus ports
//! of the ITM (C1.7).

use rtmark_sim::{CoreKind, Stop};

use crate::support::*;

const MAINLINE: &[CoreKind] =
    &[CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4F, CoreKind::CortexM33];
const TRCENA: u32 = 1 << 24;
const MON_EN: u32 = 1 << 16;
const DWT_CTRL: u32 = 0xE000_1000;
const CYCCNT: u32 = 0xE000_1004;
const CPICNT: u32 = 0xE000_1008;
const EXCCNT: u32 = 0xE000_100C;
const PCSR: u32 = 0xE000_101C;
/// CTRL: CYCCNT and the five events.
const COUNT_ALL: u32 = 0b11_1110 << 16 | 1;
const ITM_TER: u32 = 0xE000_0E00;
const ITM_TPR: u32 = 0xE000_0E40;
const ITM_TCR: u32 = 0xE000_0E80;
const ITM_LAR: u32 = 0xE000_0FB0;
const ITM_LSR: u32 = 0xE000_0FB4;

/// A program that counts what `work` takes, in r1 to r6 the registers from CYCCNT on.
fn counting(work: impl Fn(&mut Firmware)) -> Firmware {
    let mut firmware = Firmware::new();
    firmware.store(DEMCR, TRCENA).set(0, DWT_CTRL).set(1, COUNT_ALL).op(&[0x6001]);
    work(&mut firmware);
    // Nothing counts while the registers are read.
    firmware.set(0, DWT_CTRL).set(1, 0).op(&[0x6001]);
    // ldr r1, [r0, #4] and so on, to r6 from FOLDCNT
    firmware.op(&[0x6841, 0x6882, 0x68C3, 0x6904, 0x6945, 0x6986]).mark("read").forever();
    firmware
}

/// CYCCNT, CPICNT, EXCCNT, SLEEPCNT, LSUCNT, FOLDCNT of a program.
fn counts(firmware: &Firmware, core: CoreKind) -> [u32; 6] {
    let mut running = firmware.on(core);
    assert_eq!(running.run(5_000), Stop::Limit);
    assert_eq!(running.names(), ["read"], "{core}");
    [1, 2, 3, 4, 5, 6].map(|number| running.r(number))
}

#[test]
fn the_profiling_counters_classify_cycles() {
    // C1.8.3: cycles are instructions and the overheads, without what was folded.
    for &core in MAINLINE {
        let mut firmware = counting(|firmware| {
            firmware.store(SHPR2, 0).set(2, RAM).op(&[0x6811, 0xCA0F, 0xDF00, 0x4348]);
        });
        firmware.handler(11).op(&[BX_LR]);
        let [cycles, base, exceptions, sleep, load_store, folded] = counts(&firmware, core);
        // Entry and return by EXCCNT as measured on a Cortex-M3 with its vectors in the Code
        // region.
        let counted = if core == CoreKind::CortexM33 { 11 + 9 } else { 9 + 9 };
        assert_eq!((exceptions, sleep), (counted, 0), "{core}");
        // LDM alone takes four cycles more, on the Cortex-M33 three.
        let least = if core == CoreKind::CortexM33 { 3 } else { 5 };
        assert!(load_store >= least, "{core}: {load_store}");
        // The instructions between: 4 loads, a store, 2 loads, SVC, BX, MUL, and the last
        // three, of which the store has not retired when the counters stop.
        let retired = 3 + 1 + 1 + 2 + 3 + 2;
        assert_eq!(cycles + folded, retired + base + exceptions + sleep + load_store, "{core}");
    }
}

#[test]
fn tail_chains_are_counted_as_exceptions() {
    // DDI 0337, 5.2: six cycles from one handler to the next, without a frame.
    for &core in MAINLINE {
        let overhead = if core == CoreKind::CortexM33 { 11 + 9 } else { 9 + 9 };
        let mut firmware = counting(|firmware| {
            firmware.store(SHPR2, 0).op(&[0xDF00]);
        });
        firmware.handler(11).store(ICSR, 1 << 28).nops(8).op(&[BX_LR]);
        firmware.handler(14).op(&[BX_LR]);
        let [_, _, exceptions, ..] = counts(&firmware, core);
        assert_eq!(exceptions, overhead + 6, "{core}: a return that finds PendSV pending");

        let mut firmware = counting(|firmware| {
            firmware.op(&[0xDF00]);
        });
        // mov r0, lr; movs r1, #2; orrs r0, r1; bx r0: HardFault, whose handler returns properly
        firmware.handler(11).op(&[0x4670, 0x2102, 0x4308, 0x4700]);
        // movs r1, #2; mov r0, lr; bics r0, r1; bx r0
        firmware.handler(3).op(&[0x2102, 0x4670, 0x4388, 0x4700]);
        let [_, _, exceptions, ..] = counts(&firmware, core);
        assert_eq!(exceptions, overhead + 6, "{core}: an invalid return");
    }
}

#[test]
fn sleep_is_counted_as_sleep() {
    for &core in MAINLINE {
        let mut firmware = counting(|firmware| {
            firmware.store(SYST_RVR, 99).store(SYST_CVR, 0).store(SYST_CSR, 3).op(&[WFI]);
        });
        firmware.handler(15).store(SYST_CSR, 0).op(&[BX_LR]);
        let [cycles, _, _, sleep, ..] = counts(&firmware, core);
        assert!((60..105).contains(&sleep), "{core}: {sleep} of {cycles}");
    }
}

#[test]
fn a_counter_begins_at_zero_and_wraps_at_eight_bits() {
    // C1.8.8: enabling the event clears the counter.
    let mut firmware = Firmware::new();
    firmware.store(DEMCR, TRCENA).store(DWT_CTRL, 1 << 18).store(EXCCNT, 0xFA).op(&[0xDF00]);
    firmware.load(4, EXCCNT).store(DWT_CTRL, 0).store(DWT_CTRL, 1 << 18).load(5, EXCCNT);
    firmware.load(6, DWT_CTRL).load(7, CPICNT).forever();
    firmware.handler(11).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!([4, 5].map(|number| running.r(number)), [(0xFA + 18) & 0xFF, 0]);
    assert_eq!(running.r(6), 4 << 28 | 1 << 18, "four comparators, nothing missing");
    assert_eq!(running.r(7), 0, "not enabled");
}

#[test]
fn counting_each_instruction_changes_no_cycle() {
    for &core in MAINLINE {
        let cycles = [0, COUNT_ALL].map(|control| {
            let mut firmware = Firmware::new();
            firmware.store(DEMCR, TRCENA).store(DWT_CTRL, control).mark("begin").set(3, 40);
            firmware.set(2, RAM);
            let top = firmware.here();
            firmware.op(&[0x6811, 0x4288, 0xBF08, 0x3101, 0x6011, 0xC20F, 0x3B01]); // it eq
            let back = (top as i32 - (firmware.here() as i32 + 4)) / 2;
            firmware.op(&[0xD100 | back as u16 & 0xFF, 0xDF00]).mark("end").forever();
            firmware.handler(11).op(&[BX_LR]);
            let mut running = firmware.on(core);
            running.run(5_000);
            running.cycle("end") - running.cycle("begin")
        });
        assert_eq!(cycles[0], cycles[1], "{core}");
    }
}

#[test]
fn without_trace_power_registers_read_as_zero() {
    // C1.6.5, DEMCR.TRCENA.
    let mut firmware = Firmware::new();
    firmware.store(DWT_CTRL, 1).load(4, DWT_CTRL).load(5, CYCCNT);
    firmware.store(DEMCR, TRCENA).load(6, DWT_CTRL).load(7, PCSR).mark("after").forever();
    let mut running = firmware.on(CoreKind::CortexM4);
    running.run(1_000);
    assert_eq!([4, 5, 6].map(|number| running.r(number)), [0, 0, 4 << 28]);
    assert_eq!(running.r(7), firmware.address("after"), "the instruction after the sample");
}

#[test]
fn comparators_wake_the_monitor() {
    // C1.8.17: FUNCTION 4 an instruction, 5 loads, 6 stores, 7 both.
    let watched = RAM + 0x100;
    for (function, load, store) in [(5, true, false), (6, false, true), (7, true, true)] {
        for (op, expected) in [(0x6811, load), (0x6011, store), (0x6851, false), (0x7891, load)] {
            let mut firmware = Firmware::new();
            firmware.store(DEMCR, TRCENA | MON_EN).store(0xE000_1030, watched);
            firmware.store(0xE000_1034, 0).store(0xE000_1038, function).set(2, watched);
            firmware.op(&[op]).mark("next").forever();
            firmware.handler(12).mark("monitor").load(4, DFSR).load(5, 0xE000_1038);
            firmware.load(6, 0xE000_1038).op(&[BX_LR]);
            let mut running = firmware.on(CoreKind::CortexM3);
            running.run(1_000);
            // The third load is of the word after; the last is of a byte within.
            let expected = expected && op != 0x7891;
            let names: &[_] = if expected { &["monitor", "next"] } else { &["next"] };
            assert_eq!(running.names(), names, "FUNCTION {function}, {op:#x}");
            if expected {
                assert_eq!(running.r(4), 1 << 2, "DFSR.DWTTRAP");
                assert_eq!([running.r(5), running.r(6)], [1 << 24 | function, function]);
            }
        }
    }
}

#[test]
fn comparators_watch_instructions_and_ranges() {
    let mut firmware = Firmware::new();
    firmware.store(DEMCR, TRCENA | MON_EN).store(0xE000_1020, 0x2000_0300);
    firmware.store(0xE000_1024, 4).store(0xE000_1028, 6).set(2, 0x2000_030C);
    firmware.op(&[0x6011]).mark("inside").op(&[0x6051]).mark("outside").forever();
    firmware.handler(12).mark("monitor").op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!(running.names(), ["monitor", "inside", "outside"], "16 bytes, by MASK");

    let mut firmware = Firmware::new();
    let here = firmware.here();
    firmware.store(DEMCR, TRCENA | MON_EN).store(0xE000_1040, here + 0x20);
    firmware.store(0xE000_1048, 4).op(&[0xBF00; 24]).mark("after").forever();
    firmware.handler(12).mark("monitor").mrs(0, 8).op(&[0x6984, BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.names(), ["monitor", "after"]);
    assert_eq!(running.r(4), here + 0x22, "after the instruction");
}

#[test]
fn the_debug_monitor_single_steps() {
    // C1.6.5, MON_STEP: one instruction of what is less urgent, then the monitor.
    let mut firmware = Firmware::new();
    firmware.set(7, 0).set(6, 0).store(DEMCR, MON_EN | 1 << 18);
    firmware.op(&[0x3601; 5]).store(DEMCR, 0).mark("free").op(&[0x3601; 5]).mark("end").forever();
    firmware.handler(12).op(&[0x3701]).load(4, DFSR).op(&[BX_LR]); // adds r7, #1
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(2_000);
    assert_eq!(running.names(), ["free", "end"]);
    assert_eq!((running.r(6), running.r(4)), (10, 1), "DFSR.HALTED");
    assert_eq!(running.r(7), 5 + 2, "five additions, and the loads before the last store");
}

#[test]
fn every_stimulus_port_can_be_written() {
    let mut firmware = Firmware::new();
    firmware.store(0xE000_0000, u32::from_le_bytes(*b"ITM\n")).store(0xE000_007C, 0x4443_4241);
    firmware.set(0, 0xE000_0004).set(1, u32::from(b'x')).op(&[0x7001]).set(1, 0x6261);
    firmware.op(&[0x8001]).load(4, 0xE000_0004).load(5, ITM_TCR).load(6, ITM_TER).forever();
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.machine.take_console(), b"ITM\n");
    assert_eq!(running.machine.take_stimulus(31), b"ABCD");
    assert_eq!(running.machine.take_stimulus(1), b"xab", "a byte and a halfword");
    assert!(
        running.machine.take_stimulus(1).is_empty() && running.machine.take_stimulus(0).is_empty()
    );
    assert_eq!([running.r(4), running.r(5) & 1, running.r(6)], [1, 1, u32::MAX]);
}

#[test]
fn itm_control_is_locked() {
    // C1.7.6: LAR takes the key; nothing is written before.
    let mut firmware = Firmware::new();
    firmware.load(3, ITM_LSR).store(ITM_TER, 0).load(4, ITM_TER);
    firmware.store(ITM_LAR, 0xC5AC_CE55).load(5, ITM_LSR).store(ITM_TER, 1 << 3);
    firmware.store(0xE000_0000, 1).load(6, 0xE000_0000).store(0xE000_000C, 0x21).forever();
    let mut running = firmware.on(CoreKind::CortexM3);
    running.run(1_000);
    assert_eq!([3, 4, 5, 6].map(|number| running.r(number)), [3, u32::MAX, 1, 0]);
    assert!(running.machine.take_console().is_empty(), "port 0 is off");
    assert_eq!(running.machine.take_stimulus(3), [0x21, 0, 0, 0]);
}

#[test]
fn unprivileged_code_writes_to_permitted_ports() {
    // C1.7.4: ITM_TPR by eight ports. Other writes are ignored, and no fault.
    let mut firmware = Firmware::new();
    firmware.store(ITM_LAR, 0xC5AC_CE55).store(ITM_TPR, 0b0001).unprivileged();
    firmware.store(0xE000_0000, 1).store(0xE000_0020, 2).store(ITM_TCR, 0).store(ITM_TER, 0);
    firmware.load(4, ITM_TCR).load(5, ITM_TER).set(0, DWT_CTRL).mark("dwt").op(&[0x6801]).forever();
    firmware.handler(3).mark("hard fault").forever();
    let mut running = firmware.on(CoreKind::CortexM4);
    running.run(1_000);
    assert!(running.machine.take_console().is_empty());
    assert_eq!(running.machine.take_stimulus(8), [2, 0, 0, 0]);
    assert_eq!([running.r(4) & 1, running.r(5)], [1, 0xFF]);
    assert_eq!(running.names(), ["dwt", "hard fault"], "the rest is for privileged code");
}
