//! Compares the Ibex with its RTL, if `scripts/rtl` has built it.

use std::io::Write as _;
use std::path::Path;

use rtmark_judge::rtl;

#[test]
fn the_ibex_matches_its_rtl_cycle_for_cycle() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rtl/ibex/bench");
    if !bench.is_file() {
        let mut say = std::io::stderr();
        writeln!(say, "not compared: scripts/rtl builds {}", bench.display()).expect("told");
        return;
    }
    let scores = rtl::run(&bench, 200_000, 1).expect("compared");
    assert!(scores.instructions() >= 200_000);
    assert!(!scores.differ(), "{scores}");
}
