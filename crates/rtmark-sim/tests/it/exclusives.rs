//! Exclusive loads and stores, and those with acquire and release: what they leave in registers and memory
//! (DDI 0403, A3.4; DDI 0553, B7.3), by the fast path to RAM and by the slow one.

use rtmark_sim::{CoreKind, Soc};

use crate::support::*;

const CORES: [CoreKind; 4] =
    [CoreKind::CortexM3, CoreKind::CortexM4F, CoreKind::CortexM7, CoreKind::CortexM33];
const WORD: u32 = RAM + 0x100;
const STORED: u32 = 0xD4C3_B2A1;
const CLREX: [u16; 2] = [0xF3BF, 0x8F2F];
const LDREX_R2: [u16; 2] = [0xE850, 0x2F00];

/// A soc whose RAM answers at once, and one whose RAM has to be asked each time.
fn socs(core: CoreKind) -> [Soc; 2] {
    let mut slow = soc(core);
    slow.memories[1].timing.wait_states = 1;
    [soc(core), slow]
}

/// `STREX Rd, R1, [R0]`
const fn strex(rd: u16) -> [u16; 2] {
    [0xE840, 0x1000 | rd << 8]
}

/// R0 points to a word of `0xA5`; R1 holds what is stored.
fn firmware() -> Firmware {
    let mut firmware = Firmware::new();
    firmware.set(0, WORD).set(1, STORED);
    firmware
}

#[test]
fn only_a_marked_word_is_stored_to_and_only_once() {
    for soc in CORES.into_iter().flat_map(socs) {
        let mut firmware = firmware();
        firmware.op(&strex(3)).op(&[0x6806]); // ldr r6, [r0]
        firmware.op(&LDREX_R2).op(&strex(4)).op(&[0x2109]).op(&strex(5)).forever(); // movs r1, #9
        let mut running = firmware.on_soc(&soc);
        running.run(200);
        let results = [3, 4, 5].map(|register| running.r(register));
        assert_eq!(results, [1, 0, 1], "{}", soc.core);
        assert_eq!([running.r(6), running.r(2)], [0xA5A5_A5A5; 2], "{}", soc.core);
        assert_eq!(running.word(WORD), STORED, "{}", soc.core);
    }
}

#[test]
fn clrex_and_exceptions_clear_the_mark() {
    for soc in CORES.into_iter().flat_map(socs) {
        let mut firmware = firmware();
        firmware.op(&LDREX_R2).op(&CLREX).op(&strex(3));
        firmware.op(&LDREX_R2).op(&[0xDF00]).op(&strex(4)).mark("end").forever();
        // The handler marks the word itself, and its return clears that.
        firmware.handler(11).op(&strex(5)).op(&LDREX_R2).op(&[BX_LR]);
        // The frame of SVC has the handler's R0 to R3: it changes none of them that are looked at.
        let mut running = firmware.on_soc(&soc);
        running.run(300);
        assert_eq!(running.names(), ["end"], "{}", soc.core);
        let results = [3, 4, 5].map(|register| running.r(register));
        assert_eq!(results, [1; 3], "{}", soc.core);
        assert_eq!(running.word(WORD), 0xA5A5_A5A5, "{}", soc.core);
    }
}

/// Loads to R2, a store of R1 with its result in R3, and what they load and leave in memory.
fn assert_pair(soc: &Soc, load: u16, store: u16, kept: u32, loaded: u32) {
    let mut firmware = firmware();
    firmware.set(3, 5).op(&[0xE8D0, 0x2F00 | load, 0xE8C0, 0x1F00 | store]).forever();
    let mut running = firmware.on_soc(soc);
    running.run(200);
    assert_eq!((running.r(2), running.word(WORD)), (loaded, kept), "{} {load:#x}", soc.core);
    // The result of an exclusive store, or what was there.
    let result = if store & 15 == 3 { 0 } else { 5 };
    assert_eq!(running.r(3), result, "{} {store:#x}", soc.core);
}

#[test]
fn bytes_and_halfwords_are_exclusive_too() {
    for soc in CORES.into_iter().flat_map(socs) {
        assert_pair(&soc, 0x4F, 0x43, 0xA5A5_A5A1, 0xA5);
        assert_pair(&soc, 0x5F, 0x53, 0xA5A5_B2A1, 0xA5A5);
    }
}

#[test]
fn acquire_and_release_load_and_store_as_usual() {
    for soc in socs(CoreKind::CortexM33) {
        // LDAB, LDAH, LDA with STLB, STLH, STL; the exclusive ones.
        assert_pair(&soc, 0x8F, 0x8F, 0xA5A5_A5A1, 0xA5);
        assert_pair(&soc, 0x9F, 0x9F, 0xA5A5_B2A1, 0xA5A5);
        assert_pair(&soc, 0xAF, 0xAF, STORED, 0xA5A5_A5A5);
        assert_pair(&soc, 0xCF, 0xC3, 0xA5A5_A5A1, 0xA5);
        assert_pair(&soc, 0xDF, 0xD3, 0xA5A5_B2A1, 0xA5A5);
        assert_pair(&soc, 0xEF, 0xE3, STORED, 0xA5A5_A5A5);
    }
}
