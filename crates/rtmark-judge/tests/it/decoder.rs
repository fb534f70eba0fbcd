//! Compares the set of valid encodings with an independent decoder.

use rtmark_judge::decoder::{Agreement, Comparison};
use rtmark_sim::CoreKind;

fn assert_agreed(core: CoreKind, agreement: &Agreement) {
    assert_no_difference(core, agreement);
    for (why, uses) in &agreement.excused {
        assert!(*uses > 0, "{core}: not needed any more: {why}");
    }
}

fn assert_no_difference(core: CoreKind, agreement: &Agreement) {
    let differing: Vec<_> = agreement
        .disagreements
        .iter()
        .map(|(encoding, ours)| format!("{encoding:08x} {}", if *ours { "ours" } else { "theirs" }))
        .collect();
    assert!(
        differing.is_empty(),
        "{core}: {} of {} encodings differ without an excuse: {}",
        differing.len(),
        agreement.compared,
        differing[..differing.len().min(40)].join(", ")
    );
}

#[test]
fn every_halfword_decodes_the_same() {
    for &core in CoreKind::CORTEX_M {
        let narrow = Comparison::new(core).all_narrow();
        assert_agreed(core, &narrow);
        // The halfwords that begin 32-bit encodings are covered by the samples below.
        assert_eq!(narrow.compared + (0x10000 - 0xE800), 65_536);
    }
}

#[test]
fn a_dense_sample_of_wide_encodings_decodes_the_same() {
    let samples = [
        (CoreKind::CortexM0, 100),
        (CoreKind::CortexM0Plus, 100),
        (CoreKind::CortexM3, 330),
        (CoreKind::CortexM4, 330),
        (CoreKind::CortexM4F, 330),
        (CoreKind::CortexM7, 330),
        (CoreKind::CortexM33, 330),
    ];
    assert_eq!(samples.map(|(core, _)| core), CoreKind::CORTEX_M);
    for (seed, (core, seconds)) in (1..).zip(samples) {
        let wide = Comparison::new(core).sample_wide(seconds, seed);
        assert_eq!(wide.compared, 0x1800 * (u64::from(seconds) + 2));
        assert_agreed(core, &wide);
    }
}
