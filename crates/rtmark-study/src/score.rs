//! The scoreboard: every published figure, what we measure in its place, and whether the two agree.
//!
//! A figure with the same span has a band for the ratio; a ratio outside it signals a change to
//! examine. A figure whose span or program differs has no ratio, and one that nothing measures
//! states the reason. Nothing is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Report, rounded};
use crate::figures::Figures;
use crate::formula::{Formula, FormulaError};
use crate::markdown::escaped;
use crate::number::{fixed, number, times};

/// The ratios that count as agreement: up to one tenth more, or less by the same factor.
const AGREES: (f64, f64) = (1.0 / 1.1, 1.1);

/// A published figure in a study's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFile {
    /// What it measures.
    pub what: String,
    /// The figure as published.
    pub published: f64,
    /// The unit of the published figure and of ours.
    #[serde(default)]
    pub unit: String,
    /// The formula of our figure.
    #[serde(default)]
    pub measured: Option<String>,
    /// Variants of the formula for other settings, if the published settings are unknown.
    #[serde(default)]
    pub others: Vec<String>,
    /// The band expected for the ratio of measured to published.
    #[serde(default)]
    pub band: Option<(f64, f64)>,
    /// How the span or program differs, so that there is no ratio.
    #[serde(default)]
    pub differs: Option<String>,
    /// Why the figures disagree, or why ours is missing.
    #[serde(default)]
    pub why: Option<String>,
    /// The chip it was published for, if that is the simulated one.
    #[serde(default)]
    pub chip: Option<String>,
}

/// A published figure and its measured counterpart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// A description of the figure.
    pub what: String,
    /// The figure as published.
    pub published: f64,
    /// The unit of both figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Our figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The formula that computes our figure from the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Our figure divided by the published one, if both have the same span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The least and largest ratio over settings that the publication does not state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratios: Option<(f64, f64)>,
    /// The range in which the ratio is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<(f64, f64)>,
    /// Why the span or the program differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Why the figures do not agree, or why there is no measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The chip of both figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// Why the formula has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a published figure and ours compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// They agree within one tenth.
    Agrees,
    /// They differ by a stated ratio.
    Differs,
    /// The ratio has left its stated band.
    OutOfBand,
    /// A ratio is expected, but the formula of ours has no value.
    NoValue,
    /// The span or program differs.
    NotComparable,
    /// We have no measurement of it.
    Missing,
}

impl Verdict {
    const ALL: [Self; 6] = [
        Self::Agrees,
        Self::Differs,
        Self::OutOfBand,
        Self::NoValue,
        Self::NotComparable,
        Self::Missing,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::Agrees => "covered",
            Self::Differs => "not covered",
            Self::OutOfBand => "out of its band",
            Self::NoValue => "no value",
            Self::NotComparable => "another span",
            Self::Missing => "not measured",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Agrees => "covered: ours is within a tenth of it",
            Self::Differs => "not covered: ours is further off, by what is stated",
            Self::OutOfBand => "out of the band that is stated",
            Self::NoValue => "without a value of ours, although a band is stated",
            Self::NotComparable => "of another span or program, without ratio",
            Self::Missing => "not measured",
        }
    }
}

impl ScoreFile {
    /// Checks that the entry is complete and consistent.
    pub(crate) fn check(&self) -> Result<(), String> {
        let refuse = |problem: &str| Err(format!("score `{}`: {problem}", self.what));
        if !self.published.is_finite() || self.published <= 0.0 {
            return refuse("`published` is not a positive figure");
        }
        match (&self.measured, self.band, &self.differs) {
            (Some(_), Some((least, most)), None) => {
                let agrees = AGREES.0 <= least && most <= AGREES.1;
                if !most.is_finite() || least.is_nan() || least <= 0.0 || least >= most {
                    return refuse("`band` needs two positive ratios, the smaller one first");
                }
                if !agrees && self.why.is_none() {
                    return refuse("a band beyond a tenth needs a `why`");
                }
                Ok(())
            }
            (_, None, Some(_)) if self.others.is_empty() => Ok(()),
            (None, None, None) if self.why.is_some() && self.others.is_empty() => Ok(()),
            _ => refuse(
                "it needs `measured` with a `band`, or what `differs`, or `why` nothing is measured",
            ),
        }
    }

    /// Parses all its formulas.
    pub(crate) fn formulas(&self) -> Result<Vec<Formula>, FormulaError> {
        self.measured.iter().chain(&self.others).map(|text| Formula::read(text)).collect()
    }

    /// Computes the score from the figures.
    pub(crate) fn score(&self, figures: &Figures) -> Result<Score, FormulaError> {
        let mut values = Vec::new();
        for formula in self.formulas()? {
            values.push(formula.value(|name| figures.value(name)));
        }
        let ours = self.measured.as_ref().and_then(|_| values.first());
        let measured = ours.and_then(|value| value.as_ref().ok()).copied().map(rounded);
        let reason = ours.and_then(|value| value.as_ref().err()).map(ToString::to_string);
        let of = |value: f64| rounded(value / self.published);
        let ratio = measured.filter(|_| self.differs.is_none()).map(of);
        let all = values.iter().filter_map(|value| value.as_ref().ok().copied().map(of));
        let ratios = all.fold(None, |found: Option<(f64, f64)>, ratio| {
            Some(found.map_or((ratio, ratio), |(a, b)| (a.min(ratio), b.max(ratio))))
        });
        Ok(Score {
            what: self.what.clone(),
            published: self.published,
            unit: self.unit.clone(),
            measured,
            formula: self.measured.clone(),
            ratio,
            ratios: ratios.filter(|_| ratio.is_some() && !self.others.is_empty()),
            band: self.band,
            differs: self.differs.clone(),
            why: self.why.clone(),
            chip: self.chip.clone(),
            reason,
        })
    }
}

impl Score {
    /// Compares the two figures.
    pub fn verdict(&self) -> Verdict {
        let within = |(least, most): (f64, f64), ratio: f64| least <= ratio && ratio <= most;
        match (self.ratio, self.band) {
            (Some(ratio), Some(band)) if !within(band, ratio) => Verdict::OutOfBand,
            (Some(ratio), _) if within(AGREES, ratio) => Verdict::Agrees,
            (Some(_), _) => Verdict::Differs,
            (None, None) if self.differs.is_some() => Verdict::NotComparable,
            (None, Some(_)) => Verdict::NoValue,
            (None, None) => Verdict::Missing,
        }
    }

    /// Returns the cells: figure, published, measured, ratio, and verdict with its reason.
    fn cells(&self) -> [String; 5] {
        let with = |value: f64| format!("{} {}", number(value), self.unit).trim_end().to_owned();
        let verdict = self.verdict();
        let mut verdict_text = verdict.words().to_owned();
        if let (Verdict::OutOfBand, Some((least, most))) = (verdict, self.band) {
            let _ = write!(verdict_text, ", which is {} to {}", times(least), times(most));
        }
        let reasons = [self.differs.as_deref(), self.why.as_deref(), self.reason.as_deref()];
        let reasons: Vec<_> = reasons.into_iter().flatten().collect();
        if !reasons.is_empty() {
            let _ = write!(verdict_text, ": {}", reasons.join("; "));
        }
        let mut ratio = self.ratio.map(times).unwrap_or_default();
        if let Some((least, most)) = self.ratios {
            let _ = write!(ratio, " ({} to {})", fixed(least, 2), fixed(most, 2));
        }
        let measured = self.measured.map_or_else(|| "n/a".to_owned(), with);
        [self.what.clone(), with(self.published), measured, ratio, verdict_text]
    }
}

/// Renders the scores of one or several studies, each after the study's name if there is one.
fn lines(scores: &[(Option<&str>, &Score)]) -> String {
    let named = scores.iter().any(|(study, _)| study.is_some());
    let mut page = String::new();
    page.push_str(if named { "| study " } else { "" });
    page.push_str("| figure | published | measured | measured / published | |\n");
    page.push_str(if named { "|---" } else { "" });
    page.push_str("|---|--:|--:|--:|---|\n");
    for (study, score) in scores {
        if let Some(study) = study {
            let _ = write!(page, "| [{study}]({study}.md) ");
        }
        let cells = score.cells().map(|cell| escaped(&cell));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    let verdicts: Vec<_> = scores.iter().map(|(_, score)| score.verdict()).collect();
    let _ = write!(page, "\n{}\n", counts(&verdicts));
    page
}

/// Renders how many figures have which verdict.
fn counts(verdicts: &[Verdict]) -> String {
    let each = Verdict::ALL.iter().filter_map(|verdict| {
        let count = verdicts.iter().filter(|one| *one == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.description()))
    });
    let figures = if verdicts.len() == 1 { "figure" } else { "figures" };
    format!("{} published {figures}: {}.", verdicts.len(), each.collect::<Vec<_>>().join("; "))
}

/// Renders the spread of ratios of one chip, or of all.
fn spread(page: &mut String, chip: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    // The smallest ratio at or above that share of all, as everywhere in reports.
    let at = |part: f64| {
        let rank = (part * ratios.len() as f64).ceil().max(1.0) as usize;
        ratios.get(rank - 1).copied().map(times).unwrap_or_default()
    };
    let within = |factor: f64| {
        let near = ratios.iter().filter(|ratio| 1.0 / factor <= **ratio && **ratio <= factor);
        near.count().to_string()
    };
    let quantiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(at);
    let counts = [1.1, 1.25, 1.5, 2.0].map(within);
    let _ = writeln!(
        page,
        "| {} | {} | {} | {} |",
        escaped(chip),
        ratios.len(),
        quantiles.join(" | "),
        counts.join(" | ")
    );
}

impl Report {
    /// Returns the scores whose ratio has left the stated band, or that have none although a band is stated.
    pub fn out_of_band(&self) -> impl Iterator<Item = &Score> {
        let fails =
            |score: &Score| matches!(score.verdict(), Verdict::OutOfBand | Verdict::NoValue);
        self.scores.iter().filter(move |score| fails(score))
    }

    /// Returns whether it compares published rows with the chips they were published for.
    pub(crate) fn of_boards(&self) -> bool {
        self.scores.iter().any(|score| score.chip.is_some())
    }

    /// Renders the part of the page that lists every published figure.
    pub(crate) fn scores_page(&self, page: &mut String) {
        if self.scores.is_empty() {
            return;
        }
        let mut chips: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for score in &self.scores {
            if let (Some(chip), Some(ratio)) = (&score.chip, score.ratio) {
                chips.entry(chip).or_default().push(ratio);
            }
        }
        if !chips.is_empty() {
            page.push_str(
                "\n## The ratios by chip\n\nMeasured / published, of figures with equal spans.\n\n",
            );
            page.push_str("| chip | figures | least | lower quartile | middle | upper quartile | most | within 10 % | within 25 % | within 1.5× | within 2× |\n");
            page.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
            for (chip, ratios) in &chips {
                spread(page, chip, ratios.clone());
            }
            if chips.len() > 1 {
                spread(page, "all", chips.values().flatten().copied().collect());
            }
        }
        page.push_str("\n## Every published figure\n\n");
        let scores: Vec<_> = self.scores.iter().map(|score| (None, score)).collect();
        page.push_str(&lines(&scores));
    }

    /// Renders the scores for a terminal.
    pub(crate) fn scores_text(&self, text: &mut String) {
        for score in &self.scores {
            let [what, published, measured, ratio, verdict_text] = score.cells();
            let _ = write!(text, "\n{what}\n  published {published}, measured {measured}");
            if !ratio.is_empty() {
                let _ = write!(text, ", {ratio}");
            }
            let _ = writeln!(text, "\n  {verdict_text}");
        }
        if !self.scores.is_empty() {
            let verdicts: Vec<_> = self.scores.iter().map(Score::verdict).collect();
            let _ = write!(text, "\n{}\n", counts(&verdicts));
        }
    }
}

/// Renders a page with one table of every figure that the studies' sources published.
pub fn scoreboard(reports: &[Report]) -> String {
    let mut page = String::from(
        "# Scoreboard\n\nEvery figure that the write-ups published, beside ours. Written by \
         `rtmark study --all --out docs/studies`, which ends with exit code 3 when a ratio leaves \
         the band that its study states.\n\n",
    );
    let mut scores = Vec::new();
    for report in reports {
        scores.extend(report.scores.iter().map(|score| (Some(report.id.as_str()), score)));
    }
    page.push_str(&lines(&scores));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(ratio: Option<f64>, band: Option<(f64, f64)>) -> Score {
        Score {
            what: "w".to_owned(),
            published: 10.0,
            unit: "ms".to_owned(),
            measured: ratio.map(|ratio| ratio * 10.0),
            formula: None,
            ratio,
            ratios: None,
            band,
            differs: None,
            why: None,
            chip: None,
            reason: None,
        }
    }

    #[test]
    fn a_ratio_outside_its_band_is_reported_even_if_it_agrees() {
        for (ratio, band, expected) in [
            (1.02, (0.95, 1.05), Verdict::Agrees),
            (0.92, (0.9, 1.0), Verdict::Agrees),
            (0.905, (0.9, 1.0), Verdict::Differs),
            (1.02, (1.05, 1.2), Verdict::OutOfBand),
            (1.3, (1.2, 1.4), Verdict::Differs),
            (1.41, (1.2, 1.4), Verdict::OutOfBand),
        ] {
            assert_eq!(score(Some(ratio), Some(band)).verdict(), expected, "{ratio} in {band:?}");
        }
        assert_eq!(score(None, None).verdict(), Verdict::Missing);
        let unlike = Score { differs: Some("d".to_owned()), ..score(None, None) };
        assert_eq!(unlike.verdict(), Verdict::NotComparable);
    }

    /// A figure that a change of the program removed is not one that agrees.
    #[test]
    fn a_score_with_a_band_and_without_a_value_fails() {
        let reason = Some("nothing matches".to_owned());
        let missing = Score { reason, ..score(None, Some((0.9, 1.1))) };
        assert_eq!(missing.verdict(), Verdict::NoValue);
        assert_eq!(missing.cells()[2..], ["n/a", "", "no value: nothing matches"]);
        let page = lines(&[(None, &missing)]);
        assert!(page.contains("1 published figure: 1 without a value of ours"), "{page}");
    }

    #[test]
    fn a_score_must_be_complete() {
        let check = |text: &str| {
            let file: ScoreFile = toml::from_str(text).expect(text);
            file.check()
        };
        let base = "what = 'w'\npublished = 3.0\n";
        let checked = |rest: &str| check(&format!("{base}{rest}"));
        checked("measured = 'a'\nband = [0.95, 1.05]").expect("agrees");
        checked("measured = 'a'\ndiffers = 'd'").expect("another span");
        checked("why = 'y'").expect("not measured");
        for bad in [
            "",
            "measured = 'a'",
            "measured = 'a'\nband = [0.5, 0.6]",
            "measured = 'a'\nband = [1.05, 0.95]",
            "measured = 'a'\nband = [0.9, 1.1]\ndiffers = 'd'",
            "band = [0.9, 1.1]",
            "measured = 'a'\nband = [0.5, inf]\nwhy = 'y'",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
        checked("measured = 'a'\nband = [0.5, 0.6]\nwhy = 'y'").expect("explained");
        for published in ["nan", "inf", "0.0", "-3.0"] {
            let text = format!("what = 'w'\npublished = {published}\nwhy = 'y'");
            assert!(check(&text).is_err(), "{published}");
        }
    }

    #[test]
    fn ratios_are_summarized_by_rank() {
        let mut page = String::new();
        spread(&mut page, "x", vec![2.5, 0.5, 1.0, 1.2]);
        assert_eq!(page, "| x | 4 | 0.50× | 0.50× | 1.00× | 1.20× | 2.50× | 1 | 2 | 2 | 3 |\n");
    }
}
