//! Random and malicious logs: bounded versions of the fuzz target.

use std::io::{BufReader, Read};

use proptest::prelude::*;
use rtmark_import::{Format, Imported, LONGEST_LINE, LONGEST_LOG, Options, import};
use rtmark_model::{Answer, Catalogue, Document, LONGEST_ID};

fn read(bytes: &[u8], format: Option<Format>) -> Imported {
    let options = Options { format, ..Options::default() };
    let imported = import(bytes, "x", &Catalogue::default(), &options);
    imported.unwrap_or_default()
}

#[test]
fn negative_figures_are_kept_but_not_compared() {
    for log in [
        "a.b - c : -5 cycles , 1000 ns :\n",
        "a.b - c : 5 cycles , -1000 ns :\n",
        "tcs = timer clock cycles: 1 tcs is 10 nsec\n| Average time -5 tcs = -50 nsec |\n",
        "metric,cycles,nanoseconds\na.b - c,-5,-50\n",
    ] {
        let imported = read(log.as_bytes(), None);
        assert_eq!((imported.answers.len(), imported.flagged()), (1, 1), "{log}: {imported:?}");
    }
}

/// Checks what must hold for every log.
fn check(imported: &Imported) {
    for answer in &imported.answers {
        assert!(answer.key().scenario.as_str().len() <= LONGEST_ID);
        let Answer::Measured(series) = answer else { continue };
        if let Some(summary) = series.readings.summarised() {
            assert!(summary.lengths().all(f64::is_finite), "{summary:?}");
            let any = summary.typical().is_some();
            assert!(any || !series.flags.is_empty(), "no figure and no flag: {series:?}");
        }
    }
    // The results can be written and read again.
    let text = serde_json::to_string(&Document::new("x", imported.answers.clone())).expect("JSON");
    let back: Document = serde_json::from_str(&text).expect("reads back");
    assert_eq!(back.answers.len(), imported.answers.len());
}

fn fixtures() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("one").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "found"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

fn format() -> impl Strategy<Value = Option<Format>> {
    proptest::option::of(proptest::sample::select(Format::ALL))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..2000), format in format()) {
        check(&read(&bytes, format));
    }

    #[test]
    fn damaged_logs_are_handled(
        which in any::<proptest::sample::Index>(),
        cuts in proptest::collection::vec((any::<proptest::sample::Index>(), 0_u8..7, any::<u8>()), 1..12),
        format in format(),
    ) {
        let fixtures = fixtures();
        let mut bytes = which.get(&fixtures).clone();
        for (at, what, byte) in cuts {
            if bytes.is_empty() { break; }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => bytes.insert(at, b"0123456789-.,: \n"[usize::from(byte) % 16]),
                3 => { bytes.remove(at); }
                4 => { let tail = bytes[at..].to_vec(); bytes.extend(&tail[..tail.len().min(300)]); }
                5 => { bytes.splice(at..at, b"99999999999999999999999999".iter().copied()); }
                _ => { bytes.splice(at..at, b"\x1b[2J<script>\xff".iter().copied()); }
            }
        }
        check(&read(&bytes, format));
    }
}

#[test]
fn names_from_logs_are_sanitised() {
    let log = "** <script>alert(1)</script>\u{1b}]0;x\u{7} stats [avg, min, max] in nanoseconds **\n\
               ../../etc/passwd\u{202e} : 1, 1, 2\n";
    let imported = read(log.as_bytes(), None);
    assert_eq!(imported.answers.len(), 1, "{imported:?}");
    let id = imported.answers[0].key().scenario.as_str();
    assert!(!id.contains(['<', '/', '\u{1b}', '\u{202e}']), "{id}");
    check(&imported);
}

#[test]
fn endless_lines_take_bounded_memory() {
    // Half of what is read of a log, from a reader that generates it.
    let row = " Give (no context switch) : 10, 10, 10\n";
    let head = "** Semaphore stats [avg, min, max] in nanoseconds **\n".as_bytes();
    let long = std::io::repeat(b'7').take(LONGEST_LOG / 2);
    let reader =
        BufReader::with_capacity(1 << 16, head.chain(long).chain(&b"\n"[..]).chain(row.as_bytes()));
    let options = Options::default();
    let imported = import(reader, "x", &Catalogue::default(), &options).expect("read");
    assert_eq!((imported.answers.len(), imported.lines), (1, 3));
    const { assert!(LONGEST_LINE <= 1 << 20) };
    let endless = BufReader::with_capacity(1 << 16, std::io::repeat(b'7'));
    let refused = import(endless, "x", &Catalogue::default(), &options).expect_err("no end");
    assert_eq!(refused.to_string(), "it holds more than 256 MiB");
}

#[test]
fn rows_beyond_the_limit_are_skipped() {
    let mut log = String::from("** A stats [avg, min, max] in nanoseconds **\n");
    for _ in 0..rtmark_import::MAX_ROWS + 5 {
        log.push_str("a : 1,1,1\n");
    }
    let imported = read(log.as_bytes(), None);
    assert_eq!(imported.answers.len(), rtmark_import::MAX_ROWS);
    assert!(imported.warnings.iter().any(|w| w.message.contains("passed over")));
}

#[test]
fn numbers_beyond_64_bits_are_flagged() {
    let log = "x.y - z : 99999999999999999999999999 cycles , 1 ns :\n\
               x.z - z : 18446744073709551615 cycles , 18446744073709551615 ns :\n\
               x.w - z : -5 cycles , 1 ns :\n";
    let imported = read(log.as_bytes(), None);
    assert_eq!((imported.answers.len(), imported.flagged(), imported.unreadable), (3, 3, 0));
}
