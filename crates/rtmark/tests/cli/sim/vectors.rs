//! Where a program's vectors are: `sim --vectors`, and raw binaries that bring their own.

use super::Scratch;
use crate::common::{EXIT, FLASH, raw, run_rtmark, to_hex};

#[test]
fn applications_for_a_bootloader_start_from_their_own_vectors() {
    let scratch = Scratch::new();
    let mut application = raw(EXIT);
    application[4..8].copy_from_slice(&(FLASH + 0x2041).to_le_bytes());
    std::fs::write(scratch.path("app.bin"), &application).expect("writable");
    let result = scratch.sim("app.bin", &["--base", "0x08002000"]);
    assert_eq!(result.code, 0, "{result:#?}");
    // The same behind a bootloader's place that is empty.
    let whole = [vec![0xFF; 0x2000], application].concat();
    std::fs::write(scratch.path("app.hex"), to_hex(&whole)).expect("writable");
    let result = scratch.sim("app.hex", &[]);
    result.assert_error(2, &["no vector table at 0x08000000", "with --vectors 0x08002000"]);
    // Nothing like a table is where its functions are elsewhere.
    let mut stray = whole.clone();
    stray[0x2004..0x2008].copy_from_slice(&(FLASH + 0x3041).to_le_bytes());
    std::fs::write(scratch.path("stray.hex"), to_hex(&stray)).expect("writable");
    scratch.sim("stray.hex", &[]).assert_error(2, &["with --vectors, if"]);
    assert_eq!(scratch.sim("app.hex", &["--vectors", "0x08002000"]).code, 0);
    // 32 interrupts and 16 exceptions take 48 words (ARMv7-M ARM, B1.5.3).
    for unaligned in ["0x08002004", "0x08002040", "0x08002080"] {
        let result = scratch.sim("app.hex", &["--vectors", unaligned]);
        result.assert_error(2, &["--vectors", "is not a multiple of 256", "48 vectors"]);
    }
    // A raw binary that has its own table, but where the core cannot use it.
    let mut application = raw(EXIT);
    application[4..8].copy_from_slice(&(FLASH + 0x20C1).to_le_bytes());
    std::fs::write(scratch.path("odd.bin"), &application).expect("writable");
    scratch
        .sim("odd.bin", &["--base", "0x08002080"])
        .assert_error(2, &["--base", "is not a multiple of 256"]);
}

/// ARMv6-M: a Cortex-M0 has no VTOR, so no bootloader can set it.
#[test]
fn a_core_without_vtor_has_its_vectors_at_one_place() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("app.bin"), raw(EXIT)).expect("writable");
    let sim = |vectors: &str| {
        let arguments = ["sim", "app.bin", "--soc", "generic-cortex-m0", "--vectors", vectors];
        run_rtmark(&scratch.path(""), &arguments)
    };
    sim("0x1000").assert_error(2, &["a Cortex-M0 has no VTOR", "0x00000000", "--entry"]);
    let usual = sim("0");
    assert!(!usual.stderr.contains("VTOR"), "{usual:#?}");
}

/// On RISC-V the program begins at the vectors that are given, not where the core begins after a reset.
#[test]
fn applications_for_a_bootloader_start_on_risc_v() {
    let scratch = Scratch::new();
    // li a0, 0x18; lui a1, 0x20; addi a1, a1, 0x26; slli zero, zero, 31; ebreak; srai zero, zero, 7; j .
    let exit =
        [0x0180_0513_u32, 0x0002_05B7, 0x0265_8593, 0x01F0_1013, 0x0010_0073, 0x4070_5013, 0x6F];
    // An Ibex begins 0x80 behind its vectors (Ibex Reference Guide, "Exceptions and Interrupts").
    for (soc, first) in [("generic-hazard3", 0x1000), ("generic-ibex", 0x1080)] {
        let application = [vec![0; first], exit.map(u32::to_le_bytes).concat()].concat();
        std::fs::write(scratch.path("app.bin"), application).expect("writable");
        let sim = |vectors: &[&str]| {
            let arguments = ["sim", "app.bin", "--soc", soc, "--base", "0x80000000"];
            run_rtmark(&scratch.path(""), &[&arguments, vectors].concat())
        };
        assert_eq!(sim(&[]).code, 11, "{soc}: nothing is at its reset address");
        let result = sim(&["--vectors", "0x80001000"]);
        assert_eq!(result.code, 0, "{soc}: {result:#?}");
        // MTVEC: bits 31 to 2 (RP2350 datasheet, 3.8.9), or 31 to 8 (Ibex Reference Guide, "Control and
        // Status Registers").
        let (unaligned, unit) =
            if soc == "generic-ibex" { ("0x80001040", "256") } else { ("0x80001002", "4") };
        sim(&["--vectors", unaligned])
            .assert_error(2, &[&format!("is not a multiple of {unit}: "), "MTVEC"]);
    }
}
