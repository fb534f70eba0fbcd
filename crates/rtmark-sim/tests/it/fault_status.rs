//! What faults leave in the status registers, and what floating-point frames record for later faults.
//! Sections are those of DDI 0403 (ARMv7-M).

use rtmark_sim::CoreKind;

use crate::support::*;

const MAINLINE: &[CoreKind] =
    &[CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33];
const NOWHERE: u32 = 0x3000_0000;
/// In the Code region, beyond the flash.
const NO_CODE: u32 = 0x1000_0000;
/// SHCSR: MemManage, BusFault and UsageFault have handlers.
const MEMFAULTENA: u32 = 1 << 16;
const BUSFAULTENA: u32 = 1 << 17;
const USGFAULTENA: u32 = 1 << 18;
/// CFSR.
const IBUSERR: u32 = 1 << 8;
const PRECISERR: u32 = 1 << 9;
const IMPRECISERR: u32 = 1 << 10;
const UNSTKERR: u32 = 1 << 11;
const STKERR: u32 = 1 << 12;
const BFARVALID: u32 = 1 << 15;
const UNDEFINSTR: u32 = 1 << 16;
const NOCP: u32 = 1 << 19;
/// FPCCR.
const LSPACT: u32 = 1;
const USER: u32 = 1 << 1;
const THREAD: u32 = 1 << 3;
const HFRDY: u32 = 1 << 4;
const MMRDY: u32 = 1 << 5;
const BFRDY: u32 = 1 << 6;
const MONRDY: u32 = 1 << 8;
/// DEMCR: DebugMonitor is enabled.
const MON_EN: u32 = 1 << 16;
/// `vadd.f32 s0, s0, s0`
const VADD: &[u16] = &[0xEE30, 0x0A00];

/// Runs a program with a handler for each fault; returns the name of the one that ran, and CFSR.
fn status(core: CoreKind, prepare: impl Fn(&mut Firmware)) -> (&'static str, u32) {
    let mut firmware = Firmware::new();
    firmware.store(SHCSR, MEMFAULTENA | BUSFAULTENA | USGFAULTENA);
    prepare(&mut firmware);
    firmware.nops(4).forever();
    for (exception, name) in
        [(3, "hard fault"), (4, "mem manage"), (5, "bus fault"), (6, "usage fault")]
    {
        firmware.handler(exception).mark(name).load(4, CFSR).forever();
    }
    let mut running = firmware.on(core);
    running.run(1_000);
    (running.names().first().copied().unwrap_or("none"), running.r(4))
}

#[test]
fn bus_faults_say_which_access_failed() {
    // B3.2.15. DDI 0553 says the same of the Cortex-M33.
    for &core in MAINLINE {
        let fetched = status(core, |firmware| {
            firmware.set(0, NO_CODE + 1).op(&[0x4700]); // bx r0
        });
        assert_eq!(fetched, ("bus fault", IBUSERR), "{core}: a fetch");

        let process = |firmware: &mut Firmware, stack: u32| {
            firmware.set(0, stack).msr(9, 0).set(0, 2).msr(20, 0).op(&[0xF3BF, 0x8F6F, 0xDF00]);
        };
        let stacked = status(core, |firmware| process(firmware, NOWHERE + 0x100));
        assert_eq!(stacked, ("bus fault", STKERR), "{core}: an entry");

        let unstacked = status(core, |firmware| {
            process(firmware, RAM + 0x800);
            firmware.handler(11).set(0, NOWHERE).msr(9, 0).op(&[BX_LR]);
        });
        assert_eq!(unstacked, ("bus fault", UNSTKERR), "{core}: a return");
    }
}

#[test]
fn stores_to_the_code_region_are_not_buffered() {
    // DDI 0337 and DDI 0439, 3.3.2: the write buffer is on the System bus.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        for (address, expected) in [
            (NO_CODE, PRECISERR | BFARVALID),
            (NO_CODE + 4, PRECISERR | BFARVALID),
            (NOWHERE, IMPRECISERR),
            (NOWHERE + 4, IMPRECISERR),
        ] {
            let stored = status(core, |firmware| {
                firmware.store(address, 1);
            });
            assert_eq!(stored, ("bus fault", expected), "{core}: {address:#x}");
        }
    }
}

#[test]
fn stores_to_strongly_ordered_memory_are_not_buffered() {
    // DDI 0439, 3.3.2. RASR: TEX 0, C 0, B 0 is Strongly-ordered; C and B are Normal, write-back.
    for core in [CoreKind::CortexM3, CoreKind::CortexM4F] {
        for (attributes, expected) in [(0, PRECISERR | BFARVALID), (3 << 16, IMPRECISERR)] {
            let stored = status(core, |firmware| {
                firmware.region(0, 0, 0x4000, 3, 0).region(1, RAM, 0x4000, 3, 0);
                firmware.region(2, NOWHERE, 0x1000, 3, attributes).store(MPU_CTRL, 1);
                firmware.store(NOWHERE, 1);
            });
            assert_eq!(stored, ("bus fault", expected), "{core}: attributes {attributes:#x}");
        }
    }
}

#[test]
fn bus_faults_are_not_ignored_at_priority_zero() {
    // B3.2.8: CCR.BFHFNMIGN applies to priorities -1 and -2; PRIMASK raises to 0, at which BusFault becomes
    // HardFault.
    let loaded = status(CoreKind::CortexM4F, |firmware| {
        firmware.store(CCR, 1 << 9 | 1 << 8).op(&[CPSID_I]).load(1, NOWHERE);
    });
    assert_eq!(loaded, ("hard fault", PRECISERR | BFARVALID));
}

#[test]
fn coprocessor_instructions_without_coprocessor_are_usage_faults() {
    // A5.3.18: op1 0 and 1 are undefined; so is what is no coprocessor instruction.
    for (halves, expected) in [
        ([0xEC00, 0x0500], UNDEFINSTR),
        ([0xEC10, 0x0500], UNDEFINSTR),
        ([0xEC20, 0x0500], NOCP),
        ([0xEE00, 0x0500], NOCP),
        ([0xFC20, 0x0500], NOCP),
        ([0xF7F0, 0xA500], UNDEFINSTR),
    ] {
        let ran = status(CoreKind::CortexM3, |firmware| {
            firmware.op(&halves);
        });
        assert_eq!(ran, ("usage fault", expected), "{halves:#x?}");
    }
    // The FPU, while CPACR keeps it off and when it is on.
    let off = status(CoreKind::CortexM4F, |firmware| {
        firmware.op(VADD);
    });
    assert_eq!(off, ("usage fault", NOCP));
    let on = status(CoreKind::CortexM4F, |firmware| {
        firmware.fpu().op(VADD);
    });
    assert_eq!(on.0, "none");
}

/// FPCCR as SVCall's handler reads it, without the bits that enable stacking.
fn notes(prepare: impl Fn(&mut Firmware)) -> u32 {
    let mut firmware = Firmware::new();
    firmware.fpu();
    prepare(&mut firmware);
    firmware.op(VADD).op(&[0xDF00]).mark("end").forever();
    firmware.handler(11).load(4, FPCCR).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.names(), ["end"]);
    running.r(4) & 0x3FFF_FFFF
}

#[test]
fn deferred_frames_record_what_storing_them_will_need() {
    // B3.2.21: the state at the exception, and which faults a failure could be taken as then.
    let plain = LSPACT | THREAD | HFRDY;
    assert_eq!(notes(|_| {}), plain);
    assert_eq!(
        notes(|firmware| {
            firmware.unprivileged();
        }),
        plain | USER
    );
    for (enabled, ready) in [(MEMFAULTENA, MMRDY), (BUSFAULTENA, BFRDY)] {
        let recorded = notes(|firmware| {
            firmware.store(SHCSR, enabled);
        });
        assert_eq!(recorded, plain | ready, "SHCSR {enabled:#x}");
        // At priority 0x40, to which BASEPRI raises, an exception of priority 0x80 is not ready. SVCall is 0.
        let masked = notes(|firmware| {
            firmware.store(SHCSR, enabled).store(0xE000_ED18, 0x8080_8080).set(0, 0x40).msr(17, 0);
        });
        assert_eq!(masked, plain, "SHCSR {enabled:#x}");
    }
    let monitored = notes(|firmware| {
        firmware.store(DEMCR, MON_EN);
    });
    assert_eq!(monitored, plain | MONRDY);
}

#[test]
fn handlers_record_themselves_as_no_thread() {
    // B3.2.21: THREAD is the mode that the frame belongs to.
    let mut firmware = Firmware::new();
    firmware.fpu().store(SHPR2, 0x8000_0000).op(&[0xDF00]).mark("end").forever();
    firmware.handler(11).op(VADD).store(ICSR, 1 << 28).nops(8).op(&[BX_LR]);
    firmware.handler(14).load(4, FPCCR).op(&[BX_LR]);
    let mut running = firmware.on(CoreKind::CortexM4F);
    running.run(1_000);
    assert_eq!(running.names(), ["end"]);
    assert_eq!(running.r(4) & 0x3FFF_FFFF, LSPACT | HFRDY);
}

#[test]
fn a_deferred_frame_costs_its_17_cycles_when_it_is_stored() {
    // DDI 0439, 3.9: 17 words.
    let cycles = [0xC000_0000, 0x8000_0000].map(|control| {
        let mut firmware = Firmware::new();
        firmware.fpu().store(FPCCR, control).op(VADD).op(&[0xDF00]).mark("end").forever();
        // An instruction between them has the result of the first arrive in time.
        firmware.handler(11).nops(8).mark("first").op(VADD).mark("second").nops(1);
        firmware.mark("again").op(VADD).mark("third").nops(8).op(&[BX_LR]);
        let mut running = firmware.on(CoreKind::CortexM4F);
        running.run(1_000);
        let passed = |name: &str| running.cycle(name);
        (passed("second") - passed("first"), passed("third") - passed("again"))
    });
    let [(deferred, again), (stored, _)] = cycles;
    assert_eq!((deferred - stored, again), (17, stored));
}

#[test]
fn a_deferred_frame_that_cannot_be_stored_is_a_fault() {
    // B1.5.7: by FPCCR.MMRDY as MemManage with MLSPERR (B3.2.15), otherwise as HardFault.
    for (enabled, name) in [(MEMFAULTENA, "mem manage"), (0, "hard fault")] {
        let process = RAM + 0x800;
        let mut firmware = Firmware::new();
        firmware.region(0, 0, 0x4000, 3, 0).region(1, RAM, 0x4000, 3, 0).store(MPU_CTRL, 1);
        firmware.store(SHCSR, enabled).store(SHPR2, 0x8000_0000).fpu();
        firmware.set(0, process).msr(9, 0).set(0, 2).msr(20, 0).op(&[0xF3BF, 0x8F6F]);
        firmware.op(VADD).op(&[0xDF00]).forever();
        // The process stack becomes read-only, and the frame cannot be stored any more.
        firmware.handler(11).region(2, process - 0x100, 0x100, 6, 0).mark("use").op(VADD).forever();
        firmware.handler(3).mark("hard fault").load(4, CFSR).load(5, HFSR).load(6, FPCCR).forever();
        firmware.handler(4).mark("mem manage").load(4, CFSR).load(5, HFSR).load(6, FPCCR).forever();
        let mut running = firmware.on(CoreKind::CortexM4F);
        running.run(1_000);
        assert_eq!(running.names(), ["use", name]);
        assert_eq!(running.r(4), 1 << 5, "MLSPERR");
        assert_eq!(running.r(5), if enabled == 0 { 1 << 30 } else { 0 }, "FORCED");
        assert_eq!(running.r(6) & LSPACT, LSPACT, "the frame is still to be stored");
    }
}
