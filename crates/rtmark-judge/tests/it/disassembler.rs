//! Compares the disassembler's text with GNU objdump's.

use std::fmt::Write as _;

use rtmark_judge::disassembler::{all_narrow, compare, some_wide};
use rtmark_sim::CoreKind;

fn assert_same(core: CoreKind, encodings: &[(u16, u16)]) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let comparison = compare(core, encodings, folder.path()).expect("the tools work");
    let mut shown = String::new();
    // One of each kind is more informative than many of the same.
    let mut kinds = std::collections::BTreeSet::new();
    let kind = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let mut differing = comparison.differing.clone();
    differing.retain(|(_, ours, theirs)| kinds.insert((kind(ours), kind(theirs))));
    for (encoding, ours, theirs) in differing.iter().take(60) {
        let _ = writeln!(shown, "{encoding:08x}  {ours:40}  {theirs}");
    }
    let (differing, compared) = (comparison.differing.len(), comparison.compared);
    assert_eq!(differing, 0, "{core}: of {compared}\n{shown}");
    compared
}

#[test]
fn every_halfword_disassembles_the_same() {
    for &core in CoreKind::CORTEX_M {
        assert!(assert_same(core, &all_narrow(core)) > 50_000);
    }
}

#[test]
fn a_dense_sample_of_wide_encodings_disassembles_the_same() {
    let samples = [
        (CoreKind::CortexM0, 25, 5_000),
        (CoreKind::CortexM0Plus, 25, 5_000),
        (CoreKind::CortexM3, 20, 25_000),
        (CoreKind::CortexM4, 20, 25_000),
        (CoreKind::CortexM4F, 40, 50_000),
        (CoreKind::CortexM7, 40, 50_000),
        (CoreKind::CortexM33, 40, 50_000),
    ];
    assert_eq!(samples.map(|(core, ..)| core), CoreKind::CORTEX_M);
    for (seed, (core, seconds, least)) in (1..).zip(samples) {
        assert!(assert_same(core, &some_wide(core, seconds, seed)) > least, "{core}");
    }
}
