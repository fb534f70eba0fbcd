//! Any bytes as a log; the first byte chooses the format, or that it be recognised.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rtmark_import::{Format, Options, import};
use rtmark_model::Catalogue;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, log)) = bytes.split_first() else { return };
    let format = Format::ALL.get(usize::from(first) % (Format::ALL.len() + 1)).copied();
    let options = Options { format, ..Options::default() };
    if let Ok(imported) = import(log, "fuzz", &Catalogue::default(), &options) {
        for series in imported.answers.iter().filter_map(|answer| answer.series()) {
            let Some(summary) = series.readings.summarised() else { continue };
            assert!(summary.lengths().all(f64::is_finite));
            assert!(summary.typical().is_some() || !series.flags.is_empty());
        }
    }
});
