//! Which encodings are instructions, by the simulator and by an independent decoder.

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
fn every_halfword_agrees() {
    for &core in CoreKind::ALL {
        let narrow = Comparison::new(core).all_narrow();
        assert_agreed(core, &narrow);
        // The halfwords that begin 32-bit encodings are covered by the samples below.
        assert_eq!(narrow.compared + (0x10000 - 0xE800), 65_536);
    }
}

#[test]
fn a_dense_sample_of_wide_encodings_agrees_on_cortex_m4f() {
    let wide = Comparison::new(CoreKind::CortexM4F).sample_wide(330, 1);
    assert!(wide.compared > 2_000_000);
    assert_agreed(CoreKind::CortexM4F, &wide);
}

#[test]
fn a_dense_sample_of_wide_encodings_agrees_on_cortex_m0plus() {
    let wide = Comparison::new(CoreKind::CortexM0Plus).sample_wide(100, 2);
    assert_agreed(CoreKind::CortexM0Plus, &wide);
}

#[test]
fn a_dense_sample_of_wide_encodings_agrees_on_cortex_m3() {
    // Excuses that only an FPU or the DSP extension makes necessary go unused.
    let wide = Comparison::new(CoreKind::CortexM3).sample_wide(330, 3);
    assert_no_difference(CoreKind::CortexM3, &wide);
}
