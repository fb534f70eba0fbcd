//! Compares a Cortex-R5's encodings and mnemonics in A32 and T32 with GNU objdump.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtmark_judge::armr::text::{
    EncodingComparison, all_narrow, compare_a32, compare_t32, some_a32, some_wide,
};

/// Mnemonics that were added after Armv7-R, or with extensions that it cannot have.
const OTHERS: &[&str] = &[
    "clrm", "crc32b", "crc32cb", "crc32ch", "crc32cw", "crc32h", "crc32w", "hvc", "ldaexd", "mcr2",
    "mcrr2", "mrc2", "mrrc2", "smc", "stl", "stlb", "stlex", "stlexb", "stlexd", "stlexh", "stlh",
];

fn assert_same(reading: &EncodingComparison, least: usize) {
    // One of each kind is more informative than many of the same.
    let mut kinds = BTreeMap::new();
    let kind = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    for (encoding, ours, theirs) in &reading.differing {
        let known: &mut (u32, _) =
            kinds.entry((kind(ours), kind(theirs))).or_insert((0, (encoding, ours, theirs)));
        known.0 += 1;
    }
    let mut shown = String::new();
    for (count, (encoding, ours, theirs)) in kinds.values().take(100) {
        let _ = writeln!(shown, "{count:6} {encoding:08x}  {ours:40}  {theirs}");
    }
    let (differing, compared) = (reading.differing.len(), reading.compared);
    let missing = reading.missing.iter().filter(|name| !OTHERS.contains(&name.as_str()));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "{missing:?}\n{differing} of {compared}\n{shown}");
    assert_eq!(differing, 0, "of {compared}\n{shown}");
    assert!(compared > least, "{compared}");
}

#[test]
fn every_halfword_disassembles_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let reading = compare_t32(&all_narrow(), folder.path()).expect("the tools work");
    assert_same(&reading, 50_000);
}

#[test]
fn a_dense_sample_of_wide_encodings_disassembles_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let reading = compare_t32(&some_wide(20, 1), folder.path()).expect("the tools work");
    assert_same(&reading, 35_000);
}

#[test]
fn a_dense_sample_of_a32_disassembles_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let reading = compare_a32(&some_a32(20, 2), folder.path()).expect("the tools work");
    assert_same(&reading, 40_000);
}
