//! What a comparison says where the code of its figures cannot be compared.

mod decided;
mod program;

use std::path::Path;

use rtmark_cause::{KeptImages, note};
use rtmark_compare::{Pair, RunLabel, compare};
use rtmark_firmware::Cache;
use rtmark_model::{Answer, Catalogue};
use rtmark_runner::socs;
use serde_json::json;

const ARM: u16 = 40;
const RISCV: u16 = 243;
/// `$t` and `$a` begin Thumb and A32 code in files for Arm (IHI 0044, 5.5.5).
const THUMB: &str = "$t";
const A32: &str = "$a";

/// An executable of one function at an address of flash, with no probes.
fn elf(machine: u16, mapping: &str, address: u32, code: &[u16]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let size = text.len() as u32;
    let strings = format!("\0f\0{mapping}\0").into_bytes();
    let names = b"\0.text\0.rtmark\0.symtab\0.strtab\0.shstrtab\0".to_vec();
    // name, value, size, then info, other and section
    let mut symbols: Vec<u8> = words(&[0; 4]);
    symbols.extend(words(&[3, address, 0, 0x1_0000]) as Vec<u8>);
    symbols.extend(words(&[1, address | 0x1, size, 0x1_0012]) as Vec<u8>);
    let parts: [&[u8]; 5] = [&text, &[], &symbols, &strings, &names];
    let mut at = 52 + 32;
    let offsets = parts.map(|part| {
        let here = at;
        at += part.len().next_multiple_of(4) as u32;
        here
    });
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    let headers = at;
    file.extend(
        words(&[u32::from(machine) << 16 | 0x2, 1, address | 0x1, 52, headers, 0]) as Vec<u8>
    );
    file.extend(words(&[0x20_0034, 0x28_0001, 0x5_0006]) as Vec<u8>);
    file.extend(words(&[1, offsets[0], address, address, size, size, 5, 4]) as Vec<u8>);
    for part in parts {
        file.extend(part);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    let section = |name: u32, kind: u32, flags: u32, at: usize, link: u32, entry: u32| {
        let begin = if at == 0 { address } else { 0 };
        let length = parts[at].len() as u32;
        let info = if kind == 2 { 2 } else { 0 };
        words(&[name, kind, flags, begin, offsets[at], length, link, info, 4, entry]) as Vec<u8>
    };
    file.extend(words(&[0; 10]) as Vec<u8>);
    file.extend(section(1, 1, 6, 0, 0, 0));
    file.extend(section(7, 1, 0, 1, 0, 0));
    file.extend(section(15, 2, 0, 2, 4, 16));
    file.extend(section(23, 3, 0, 3, 0, 0));
    file.extend(section(31, 3, 0, 4, 0, 0));
    file
}

/// A Thumb function that sets a register to this value and returns.
fn thumb(address: u32, value: u16) -> Vec<u8> {
    elf(ARM, THUMB, address, &[0x2000 | value, 0x4770])
}

/// Keeps an image as a build does, and returns its digest.
fn keep(cache: &Cache, elf: &[u8]) -> String {
    let digest = rtmark_firmware::sha256(elf);
    let folder = cache.folder().join("kept");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join(&digest).with_extension("elf"), elf).expect("written");
    digest
}

/// A series of the simulator, of an image on a soc.
fn series(
    scenario: &str,
    soc: &str,
    soc_sha256: &str,
    image: &str,
    readings: &serde_json::Value,
) -> serde_json::Value {
    json!({
        "key": {"soc": soc, "kernel": "k", "version": "1", "profile": "product",
                "scenario": scenario, "backend": "sim"},
        "basis": "cycles",
        "span": {"from": "x", "to": "y", "switches": 1, "overhead": "none",
                 "ticks": 0, "interrupts": 0},
        "clock": 48_000_000,
        "readings": {"exact": readings},
        "provenance": {"rtmark": "0", "timing_model": "2", "soc_sha256": soc_sha256,
                       "core": "c", "settings": {},
                       "firmware": {"image": "thread", "elf_sha256": image,
                                    "flash_bytes": 1, "ram_bytes": 1}},
    })
}

/// An answer with one figure.
fn answer(scenario: &str, soc: &str, soc_sha256: &str, image: &str, figure: u64) -> Answer {
    let readings = json!([{"value": figure}, {"value": figure, "times": 9}]);
    let series = series(scenario, soc, soc_sha256, image, &readings);
    Answer::Measured(serde_json::from_value(series).expect("a series"))
}

struct Case {
    scenario: &'static str,
    soc: &'static str,
    /// The digest of the soc's file, if it is not the one that comes with rtmark.
    soc_sha256: Option<&'static str>,
    /// The images before and after, and which of them are still kept.
    images: [Vec<u8>; 2],
    kept: [bool; 2],
}

impl Default for Case {
    fn default() -> Self {
        let images = [1, 2].map(|value| thumb(0x0800_0000, value));
        Self {
            scenario: "thread.yield",
            soc: "stm32c031",
            soc_sha256: None,
            images,
            kept: [true; 2],
        }
    }
}

fn noted(case: &Case) -> Pair {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path() as &Path);
    let digests = [0, 1].map(|at| {
        let image = &case.images[at];
        if case.kept[at] { keep(&cache, image) } else { rtmark_firmware::sha256(image) }
    });
    let own = socs::find(case.soc).map(|file| file.sha256).unwrap_or_default();
    let sha256 = case.soc_sha256.unwrap_or(&own);
    let [before, after] = [0, 1].map(|at| {
        vec![answer(case.scenario, case.soc, sha256, &digests[at], 100 + 10 * at as u64)]
    });
    let label = |id: &str| RunLabel { id: id.into(), revision: None };
    let mut comparison = compare((label("a"), &before), (label("b"), &after), &[]);
    let catalogue = Catalogue::builtin().expect("good");
    let kept = KeptImages { cache, catalogue, own: Vec::new(), socs: Vec::new() };
    note(&mut comparison, &before, &after, &kept);
    comparison.pairs.remove(0)
}

#[track_caller]
fn says(case: &Case, reason: &str) {
    let pair = noted(case);
    assert!(pair.changed.is_empty() && pair.cause.is_none(), "{pair:?}");
    let expected = format!("judged by the number of instructions alone: {reason}");
    assert_eq!(pair.notes, [expected]);
}

#[test]
fn images_that_are_no_longer_kept_are_named() {
    let lost = |kept| Case { kept, ..Case::default() };
    says(&lost([false, false]), "the build folder no longer holds either image");
    says(&lost([false, true]), "the build folder no longer holds the earlier image");
    says(&lost([true, false]), "the build folder no longer holds the later image");
}

#[test]
fn code_that_cannot_be_compared_is_named() {
    let of = |soc, images| Case { soc, images, ..Case::default() };
    let riscv = [1, 2].map(|value| elf(RISCV, THUMB, 0, &[value, 0]));
    says(&of("generic-hazard3", riscv), "only Thumb code is compared, not that for RISC-V");
    let a32 = [1, 2].map(|value| elf(ARM, A32, 0, &[value, 0xE3A0]));
    says(&of("zynqmp-r5", a32), "only Thumb code is compared, not A32");
    let damaged = [b"\x7fELF\x01\x01\x01".to_vec(), b"\x7fELF\x01\x01\x02".to_vec()];
    let pair = noted(&of("stm32c031", damaged));
    assert!(pair.notes[0].contains("the earlier image: it cannot be read: "), "{:?}", pair.notes);
}

#[test]
fn a_soc_file_that_was_edited_is_named() {
    let edited = Case { soc_sha256: Some("00"), ..Case::default() };
    says(&edited, "the soc file of `stm32c031` has been edited since");
    let unknown = Case { soc: "my-chip", soc_sha256: Some("00"), ..Case::default() };
    says(
        &unknown,
        "there is no soc file for `my-chip`; name it under `soc` in rtmark.toml, as in \
         soc = [\"path/to/it.toml\"]",
    );
}

#[test]
fn a_scenario_that_is_gone_is_named() {
    let gone = Case { scenario: "own.one", ..Case::default() };
    says(&gone, "the catalogue no longer has `own.one`");
}

#[test]
fn a_run_that_cannot_be_repeated_is_named() {
    // No memory of the chip is there.
    let elsewhere = [1, 2].map(|value| thumb(0x0900_0000, value));
    let pair = noted(&Case { images: elsewhere, ..Case::default() });
    assert!(pair.notes[0].contains("the earlier run cannot be repeated: "), "{:?}", pair.notes);
}

/// The judge: without a changed function there is nothing to run, and the figure moved.
#[test]
fn equal_code_needs_no_run() {
    let image = thumb(0x0800_0000, 1);
    let case = Case { images: [image.clone(), image], ..Case::default() };
    let pair = noted(&case);
    assert_eq!((pair.verdict, pair.notes.len()), (rtmark_compare::Verdict::Moved, 0), "{pair:?}");
}
