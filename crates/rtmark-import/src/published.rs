//! Figures that others have published, as facts with their sources: `data/published.toml`.
//!
//! They are treated like rows from logs: with the spans of their suites, and with flags.

use rtmark_model::{Basis, Catalogue, Percentile, Suite};
use serde::Deserialize;

use crate::log::Log;
use crate::row::{Number, Row, Section, StatedFacts};
use crate::{ImportError, Imported, Options, judge, series};

/// The file with the facts.
const BUILTIN: &str = rtmark_files::text("data/published.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    report: Vec<Report>,
}

/// What one source states about one kernel on one board.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    source: String,
    kernel: String,
    version: String,
    board: String,
    #[serde(default)]
    core: Option<String>,
    #[serde(default)]
    clock_hz: Option<u32>,
    /// Silicon by default.
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    conditions: Option<String>,
    figures: Vec<Figure>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Silicon,
    Fpga,
    Qemu,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    #[serde(default = "default_suite")]
    suite: Suite,
    row: String,
    unit: Unit,
    #[serde(default)]
    mean: Option<f64>,
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
    #[serde(default)]
    sigma: Option<f64>,
    #[serde(default)]
    p50: Option<f64>,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    note: Option<String>,
}

const fn default_suite() -> Suite {
    Suite::Published
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Unit {
    #[serde(rename = "cycles")]
    Cycles,
    #[serde(rename = "ns")]
    Ns,
    #[serde(rename = "us")]
    Us,
    #[serde(rename = "per second")]
    PerSecond,
    #[serde(rename = "per 30 s")]
    PerPeriod,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "percent")]
    Percent,
}

/// A published figure that is not a time.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherFigure {
    /// The kernel with its version.
    pub kernel: String,
    /// The board.
    pub board: String,
    /// The quantity it measures.
    pub row: String,
    /// The figure.
    pub value: f64,
    /// `bytes` or `percent`.
    pub unit: &'static str,
    /// Its source.
    pub source: String,
}

/// All published figures.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// Times, as answers of backend `log`.
    pub times: Imported,
    /// Figures that are not times.
    pub others: Vec<OtherFigure>,
}

/// Returns the published figures that are built into this program.
///
/// # Errors
/// Never in a released program, as the file is covered by tests.
pub fn published(catalogue: &Catalogue, rtmark: &str) -> Result<Published, ImportError> {
    read(BUILTIN, catalogue, rtmark)
}

fn read(text: &str, catalogue: &Catalogue, rtmark: &str) -> Result<Published, ImportError> {
    let file: File =
        toml::from_str(text).map_err(|error| ImportError::Document(error.to_string()))?;
    let mut log = Log::new();
    let mut others = Vec::new();
    let mut files = Vec::new();
    log.sections.clear();
    for (number, report) in file.report.into_iter().enumerate() {
        log.sections.push(Section {
            kernel: Some(report.kernel.clone()),
            version: Some(report.version.clone()),
            soc: Some(report.board.clone()),
            core: report.core.clone(),
            ..Section::default()
        });
        for figure in &report.figures {
            match figure.row(&report) {
                Ok(mut row) => {
                    row.section = number;
                    log.rows.push(row);
                }
                Err(other) => others.push(other),
            }
        }
        files.push(report.source);
    }
    judge::judge(&mut log);
    let options = Options { rtmark: rtmark.to_owned(), ..Options::default() };
    Ok(Published { times: series::finish(log, 0, &files, catalogue, &options), others })
}

impl Figure {
    fn row(&self, report: &Report) -> Result<Row, OtherFigure> {
        let other = |unit| OtherFigure {
            kernel: format!("{} {}", report.kernel, report.version),
            board: report.board.clone(),
            row: self.row.clone(),
            value: self.mean.or(self.max).or(self.min).unwrap_or_default(),
            unit,
            source: report.source.clone(),
        };
        // A rate is converted to the time of one operation.
        let (basis, of): (Basis, fn(f64) -> f64) = match self.unit {
            Unit::Cycles => (Basis::Cycles, |value| value),
            Unit::Ns => (Basis::Ns, |value| value),
            Unit::Us => (Basis::Ns, |us| Number::of(us).shifted(3).value.unwrap_or(f64::NAN)),
            Unit::PerSecond => (Basis::Ns, |value| 1e9 / value),
            Unit::PerPeriod => (Basis::Ns, |value| 30e9 / value),
            Unit::Bytes => return Err(other("bytes")),
            Unit::Percent => return Err(other("percent")),
        };
        let mut row = Row::new(self.suite, self.row.as_str(), 0, basis);
        let scaled = |value: Option<f64>| value.and_then(|value| Number::of(of(value)).value);
        if let Some(summary) = row.summary_mut() {
            summary.mean = scaled(self.mean);
            summary.min = scaled(self.min);
            summary.max = scaled(self.max);
            summary.sigma = scaled(self.sigma);
            let median = scaled(self.p50).map(|value| Percentile { per_cent: 50.0, value });
            summary.percentiles.extend(median);
            summary.count = self.count;
        }
        row.stated = report
            .clock_hz
            .map(|clock| Box::new(StatedFacts { clock: Some(clock), ..StatedFacts::default() }));
        let kind = match report.kind {
            None | Some(Kind::Silicon) => None,
            Some(Kind::Fpga) => Some("an FPGA"),
            Some(Kind::Qemu) => Some("QEMU"),
        };
        for (name, text) in [
            ("measured_on", kind),
            ("conditions", report.conditions.as_deref()),
            ("note", self.note.as_deref()),
        ] {
            row.facts.extend(text.map(|text| (name.to_owned(), text.to_owned())));
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use rtmark_model::Answer;
    use rtmark_units::Hertz;

    use super::*;

    #[test]
    fn facts_parse_and_cite_their_sources() {
        let catalogue = Catalogue::builtin().expect("good");
        let published = published(&catalogue, "0").expect("tested");
        assert!(published.times.answers.len() > 400, "{}", published.times.answers.len());
        assert!(published.others.len() >= 8);
        let mut equal = 0;
        for answer in &published.times.answers {
            let series = answer.series().expect("a figure");
            let source = series.provenance.log.as_ref().expect("a source");
            assert!(!source.file.is_empty(), "{series:?}");
            equal += usize::from(catalogue.equal_to(source.suite, &source.row).is_some());
        }
        assert!(equal > 80, "{equal}");
        // The known absurd figure is flagged.
        let absurd = published.times.answers.iter().filter_map(|answer| answer.series());
        let mut absurd = absurd.filter(|series| {
            series.readings.summarised().is_some_and(|summary| summary.mean == Some(418_888.0))
        });
        assert!(absurd.all(|series| !series.flags.is_empty()));
    }

    /// As the source prints them, no more and no less.
    #[test]
    fn times_are_those_of_the_source_in_the_unit_of_an_answer() {
        let report = |figures: &str| {
            let text = format!(
                "[[report]]\nsource = \"https://example.org/showdown\"\nkernel = \"freertos\"\n\
                 version = \"2022-01\"\nboard = \"Nucleo-144\"\ncore = \"cortex-m4f\"\n\
                 clock_hz = 180000000\nconditions = \"C\"\nkind = \"fpga\"\nfigures = [{{ {figures} }}]\n"
            );
            let mut found = read(&text, &Catalogue::default(), "0").expect("facts").times.answers;
            let Some(Answer::Measured(series)) = found.pop() else { panic!("{found:?}") };
            series
        };
        let series = report(
            "row = \"interrupt time\", unit = \"us\", mean = 16.19, min = 2.5, max = 40, sigma = 0.2482, \
             p50 = 2.75, count = 8, note = \"as printed\"",
        );
        let summary = series.readings.summarised().expect("a summary");
        let median = summary.percentiles.iter().map(|p| (p.per_cent, p.value)).collect::<Vec<_>>();
        assert_eq!(
            (summary.min, summary.mean, summary.max),
            (Some(2_500.0), Some(16_190.0), Some(40_000.0))
        );
        assert_eq!(
            (summary.sigma, median, summary.count),
            (Some(248.2), vec![(50.0, 2_750.0)], Some(8))
        );
        let key = &series.key;
        let names = (key.kernel.as_str(), key.version.as_str(), key.soc.as_str());
        assert_eq!(names, ("freertos", "2022-01", "Nucleo-144"));
        assert_eq!(
            (series.clock, series.provenance.core.as_str()),
            (Hertz(180_000_000), "cortex-m4f")
        );
        assert_eq!(series.provenance.rtmark, "0");
        let facts: Vec<_> = series.facts.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(
            facts,
            [("conditions", "C"), ("measured_on", "an FPGA"), ("note", "as printed")]
        );
        for (unit, mean, basis, expected) in [
            ("cycles", 300, Basis::Cycles, 300.0),
            ("ns", 300, Basis::Ns, 300.0),
            ("us", 300, Basis::Ns, 300_000.0),
            ("per second", 500_000, Basis::Ns, 2_000.0),
            ("per 30 s", 3_000_000, Basis::Ns, 10_000.0),
        ] {
            let series = report(&format!("row = \"r\", unit = \"{unit}\", mean = {mean}"));
            let summary = series.readings.summarised().expect("a summary");
            assert_eq!((series.basis, summary.mean), (basis, Some(expected)), "{unit}");
        }
    }

    #[test]
    fn errors_are_reported() {
        let catalogue = Catalogue::default();
        let bad = "[[report]]\nsource = \"x\"\nkernel = \"k\"\nversion = \"1\"\nboard = \"b\"\n\
                   figures = [{ row = \"r\", unit = \"parsecs\", mean = 1 }]\n";
        let error = read(bad, &catalogue, "0").expect_err("refused").to_string();
        assert!(error.contains("parsecs") && error.contains("per second"), "{error}");
    }
}
