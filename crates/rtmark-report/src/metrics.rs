//! Writes figures in the formats of continuous-benchmarking services.

use std::fmt::Write as _;

use rtmark_model::{Answer, Backend, DEFAULT_PROFILE, Series, Statistics};
use serde_json::{Map, Value, json};

use crate::notes::one_line;

/// Returns the series that have a figure and no flag, with their names in these formats.
fn figures(answers: &[Answer]) -> impl Iterator<Item = (String, &Series, Statistics)> {
    let series = answers.iter().filter_map(Answer::series);
    series.filter(|series| series.flags.is_empty()).filter_map(|series| {
        let key = &series.key;
        let mut name = format!("{}/{}/{}", key.soc, key.kernel, key.scenario);
        if key.profile != DEFAULT_PROFILE {
            let _ = write!(name, "/{}", key.profile);
        }
        if key.backend != Backend::Sim {
            let _ = write!(name, "/{}", key.backend);
        }
        Some((one_line(&name), series, series.statistics()?))
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The JSON that github-action-benchmark reads as `customSmallerIsBetter`: a list of
/// `name`, `unit`, `value`, and `extra` with the other figures.
pub fn benchmark_action(answers: &[Answer]) -> String {
    let entry = |(name, series, statistics): (String, &Series, Statistics)| {
        let max = statistics.largest();
        let extra = format!(
            "first {}\nmax {max}\n{} samples\nversion {}",
            statistics.first,
            statistics.count,
            one_line(&series.key.version)
        );
        json!({"name": name, "unit": series.basis.name(), "value": statistics.typical(), "extra": extra})
    };
    pretty(&figures(answers).map(entry).collect())
}

/// The Bencher Metric Format: for each name the measure, with the typical sample and the
/// smallest and largest steady one.
pub fn bencher(answers: &[Answer]) -> String {
    let entry = |(name, series, statistics): (String, &Series, Statistics)| {
        let mut metric = Map::new();
        metric.insert("value".into(), statistics.typical().into());
        if let Some(steady) = statistics.steady {
            metric.insert("lower_value".into(), steady.min.into());
            metric.insert("upper_value".into(), steady.max.into());
        }
        (name, json!({ series.basis.name(): metric }))
    };
    pretty(&Value::Object(figures(answers).map(entry).collect()))
}
