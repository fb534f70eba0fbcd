//! Any bytes as a bundle: as they are, or with the last line that makes them one.
#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use rtmark_store::Store;
use rtmark_store::bundle::{Packing, export, import};
use sha2::{Digest, Sha256};

/// Lines in the form of a bundle, with counts and digest that are right.
fn completed(lines: &[u8]) -> Vec<u8> {
    let mut whole = b"{\"rtmark_bundle\":1,\"generator\":\"fuzz\"}\n".to_vec();
    whole.extend(
        lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .flat_map(|line| line.iter().copied().chain([b'\n'])),
    );
    let count = |kind: &[u8]| whole.split(|b| *b == b'\n').filter(|l| l.starts_with(kind)).count();
    let (runs, answers) = (count(b"{\"run\":"), count(b"{\"answer\":"));
    let digest = Sha256::digest(&whole);
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let _ = writeln!(
        whole,
        "{{\"end\":{{\"runs\":{runs},\"answers\":{answers},\"sha256\":\"{sha256}\"}}}}"
    );
    whole
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let bundle = if first % 2 == 0 { rest.to_vec() } else { completed(rest) };
    let store = Store::open(":memory:").expect("opens");
    let imported = import(&store, bundle.as_slice());
    let runs = store.runs().expect("readable");
    match imported {
        // All of it or nothing.
        Err(_) => assert!(runs.is_empty()),
        // What came in goes out again, and is the same for whoever reads it.
        Ok(imported) => {
            assert_eq!(imported.added.len(), runs.len());
            let mut again = Vec::new();
            let answers =
                export(&store, &runs, "fuzz", Packing::Plain, &mut again).expect("writes");
            let other = Store::open(":memory:").expect("opens");
            let there = import(&other, again.as_slice()).expect("reads what was written");
            assert_eq!((there.added.len(), there.answers), (runs.len(), answers));
        }
    }
});
