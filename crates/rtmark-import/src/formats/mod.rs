//! Readers, one for each family of logs. A reader sees every line and decides which are its own, so
//! logs of several suites, or with anything else in between, need no special treatment.

mod chibios;
mod cyclictest;
mod esp_idf;
mod own;
mod riot;
mod rtos_benchmark;
mod rtosbench;
mod thread_metric;
mod ti;
mod zephyr;
mod zephyr_app_kernel;
mod zephyr_sched;
mod zephyr_sys_kernel;
mod zephyr_timer;
mod ztest;

use crate::Format;
use crate::lines::Line;
use crate::log::Log;

pub use own::Document;

/// Whether a line belongs to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineMatch {
    /// It does, and no other reader needs to see it.
    Consumed,
    /// It does not.
    NotMine,
}

/// A reader of one family of logs.
pub trait Reader {
    /// Receives the log's name, such as that of its file, before its lines.
    fn named(&mut self, _name: &str) {}

    /// Examines a line.
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch;

    /// Examines a line that no reader took, to report it if it resembles one of this reader's rows.
    fn unmatched(&mut self, _line: &Line, _log: &mut Log) -> LineMatch {
        LineMatch::NotMine
    }

    /// Finishes what was begun at the end of the log.
    fn end(&mut self, _log: &mut Log) {}
}

/// Returns the readers for a format, or all that recognise their lines.
pub fn readers(format: Option<Format>) -> Vec<Box<dyn Reader>> {
    let one = |format: Format| -> Option<Box<dyn Reader>> {
        Some(match format {
            Format::Zephyr => Box::new(zephyr::Zephyr::default()),
            Format::ZephyrSched => Box::new(zephyr_sched::ZephyrSched::default()),
            Format::ZephyrSysKernel => Box::new(zephyr_sys_kernel::ZephyrSysKernel::default()),
            Format::ZephyrAppKernel => Box::new(zephyr_app_kernel::ZephyrAppKernel::default()),
            Format::ZephyrTimer => Box::new(zephyr_timer::ZephyrTimer),
            Format::Ztest => Box::new(ztest::Ztest::default()),
            Format::RtosBenchmark => Box::new(rtos_benchmark::RtosBenchmark::default()),
            Format::ThreadMetric => Box::new(thread_metric::ThreadMetric::default()),
            Format::EspIdf => Box::new(esp_idf::EspIdf::default()),
            Format::Riot => Box::new(riot::Riot::default()),
            Format::Cyclictest => Box::new(cyclictest::Cyclictest::default()),
            Format::Chibios => Box::new(chibios::Chibios::default()),
            Format::Ti => Box::new(ti::Ti::default()),
            Format::Rtosbench => Box::new(rtosbench::Rtosbench::default()),
            Format::Csv => Box::new(own::Csv::default()),
            Format::Json => return None,
        })
    };
    match format {
        Some(format) => one(format).into_iter().collect(),
        None => Format::ALL.iter().copied().filter_map(one).collect(),
    }
}
