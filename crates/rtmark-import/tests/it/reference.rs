//! Reads logs of others, if available, from the folder in `RTMARK_LOGS`.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use rtmark_import::{Imported, Options, import};
use rtmark_model::Catalogue;

fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("RTMARK_LOGS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference/logs"))
    });
    folder.is_dir().then_some(folder)
}

fn logs() -> BTreeMap<String, Imported> {
    let Some(folder) = folder() else {
        println!("skipped: no folder with logs; RTMARK_LOGS names one");
        return BTreeMap::new();
    };
    let catalogue = Catalogue::builtin().expect("good");
    let mut logs = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let file = BufReader::new(File::open(&path).expect("readable"));
        let imported = import(file, &name, &catalogue, &Options::default()).expect("read");
        logs.insert(name, imported);
    }
    logs
}

/// The results of manual inspection of each log: rows, flagged rows, and lines that look like rows but
/// are not (descriptions of a format instead of a log).
const EXPECTED: &[(&str, usize, usize, u64)] = &[
    ("cyclictest_histogram_format_reference.txt", 0, 0, 5),
    ("esp_idf_elapsed_time_format_reference.txt", 0, 0, 2),
    ("esp_idf_sched_yield_issue7256.txt", 1, 0, 0),
    ("freertos_ti_am64x_task_switch.txt", 3, 0, 0),
    ("rtos_benchmark_freertos_rp2350_m33_150mhz.txt", 32, 2, 0),
    ("rtos_benchmark_vxworks_kr260_bad_60hz_clock.txt", 6, 6, 0),
    ("rtos_benchmark_zephyr_tinyclunx33_litex_80mhz.txt", 24, 0, 0),
    ("rtosbench_format_reference.txt", 0, 0, 3),
    ("thread_metric_format_reference.txt", 0, 0, 2),
    ("zephyr_lm_2024_canaries_120mhz.txt", 47, 0, 0),
    ("zephyr_lm_2024_default_120mhz.txt", 47, 0, 0),
    ("zephyr_lm_2024_userspace_excerpt.txt", 15, 0, 0),
    ("zephyr_lm_2024_userspace_excerpt2.txt", 20, 0, 0),
    ("zephyr_lm_cortex_r82_10mhz_fpga_tick_error.txt", 11, 1, 0),
    ("zephyr_lm_v1.12_sam_e70_table.txt", 3, 0, 0),
    ("zephyr_lm_v1.13_sam_e70_table.txt", 2, 0, 0),
    ("zephyr_lm_v1.14.99_twr_ke18f_table.txt", 2, 0, 0),
    ("zephyr_lm_v1.7.99_table.txt", 8, 2, 0),
    ("zephyr_lm_v2.2_nrf52840_tick_error_table.txt", 4, 4, 0),
    ("zephyr_lm_v2.3_sentence_style.txt", 15, 0, 0),
    ("zephyr_lm_v2.3rc1_atsame54_table.txt", 2, 0, 0),
    ("zephyr_lm_v2.4_reel_board_sanitycheck.txt", 3, 0, 0),
    ("zephyr_lm_v3.5.0-3895_nrf52840dk_userspace_THREADstyle.txt", 5, 0, 0),
    ("zephyr_lm_v3.5rc1_sentence_style.txt", 17, 0, 0),
    ("zephyr_lm_v3.7.1_rt11xx.txt", 8, 0, 0),
    ("zephyr_lm_v4.4.0_qemu_cortex_a53.txt", 47, 0, 0),
    ("zephyr_sched_queues_v4.0_rec_rollover_bug.txt", 1, 1, 0),
    ("zephyr_timer_behavior_record_json.txt", 1, 0, 0),
    ("zephyr_timing_info_v1.12_sam_e70_mpu_off.txt", 15, 0, 0),
    ("zephyr_timing_info_v1.13rc1_frdm_k64f_userspace.txt", 15, 1, 0),
    ("zephyr_timing_info_v1.14_nrf52_wrong_ctx.txt", 11, 2, 0),
    ("zephyr_ztest_benchmark_kernel_latency_v4.4_partial.txt", 3, 0, 0),
];

#[test]
fn every_row_is_found_and_every_absurd_row_flagged() {
    let logs = logs();
    for (name, log) in &logs {
        let expected = EXPECTED.iter().find(|(known, ..)| known == name);
        let Some((_, rows, flagged, unreadable)) = expected else { continue };
        let found = (log.answers.len(), log.flagged(), log.unreadable);
        assert_eq!(found, (*rows, *flagged, *unreadable), "{name}: {:#?}", log.warnings);
        assert_eq!(log.warnings.len() as u64, log.unreadable, "{name}");
    }
}

#[test]
fn clocks_follow_from_cycles_and_nanoseconds() {
    let logs = logs();
    for (name, expected) in [
        ("zephyr_lm_2024_default_120mhz.txt", 120_000_000),
        ("zephyr_lm_v1.12_sam_e70_table.txt", 300_000_000),
        ("zephyr_lm_v2.4_reel_board_sanitycheck.txt", 64_000_000),
        ("zephyr_lm_v3.7.1_rt11xx.txt", 528_000_000),
        ("zephyr_lm_v4.4.0_qemu_cortex_a53.txt", 62_500_000),
        ("zephyr_timing_info_v1.14_nrf52_wrong_ctx.txt", 64_000_000),
    ] {
        let Some(log) = logs.get(name) else { continue };
        for series in log.answers.iter().filter_map(|answer| answer.series()) {
            assert_eq!(series.clock.0, expected, "{name}: {}", series.key.scenario);
        }
    }
}

#[test]
fn rows_with_an_equal_span_have_the_catalogues() {
    let catalogue = Catalogue::builtin().expect("good");
    for name in
        ["zephyr_lm_2024_default_120mhz.txt", "rtos_benchmark_freertos_rp2350_m33_150mhz.txt"]
    {
        let logs = logs();
        let Some(log) = logs.get(name) else { continue };
        let series: Vec<_> = log.answers.iter().filter_map(|answer| answer.series()).collect();
        let equal = |series: &&&rtmark_model::Series| {
            let source = series.provenance.log.as_ref().expect("a log");
            let found = catalogue.equal_to(source.suite, &source.row);
            found.is_some_and(|(scenario, _)| scenario.span.from == series.span.from)
        };
        let count = series.iter().filter(equal).count();
        assert!(count >= 12, "{name}: {count} of {}", series.len());
    }
}
