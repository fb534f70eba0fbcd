//! Sweeps over clocks and ticks: their points, and their parts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use rtmark_firmware::sha256;
use rtmark_plan::{Form, SCHEMA_VERSION, Sweep};
use rtmark_runner::input_file;
use rtmark_units::Share;

use super::{Format, Point, document, measured};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR};

/// Number of clocks in a range, both ends included.
const CLOCKS: u64 = 8;

/// The ticks that a range can contain: those for which every kernel with a tick can be built.
const TICKS: [u64; 3] = [100, 1_000, 10_000];

/// The values of one swept quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepValues {
    /// Clocks, in Hz.
    Clocks(Vec<u64>),
    /// Tick rates in Hz.
    Ticks(Vec<u64>),
}

impl FromStr for SweepValues {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            format!(
                "`{text}` is not a sweep: write clock=24..168 in MHz or tick=100..10000 in Hz, or \
                 comma-separated values such as clock=24,48,72"
            )
        };
        let (key, values) = text.split_once('=').ok_or_else(wanted)?;
        let scale = match key {
            "clock" => 1_000_000,
            "tick" => 1,
            _ => return Err(wanted()),
        };
        let number = |text: &str| {
            let value: u64 = text.trim().parse().map_err(|_| wanted())?;
            value.checked_mul(scale).filter(|value| *value > 0).ok_or_else(wanted)
        };
        let mut found = match values.split_once("..") {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(format!("`{text}`: the range ends before it begins"));
                }
                if key == "clock" { clocks(from, to, scale) } else { ticks(from, to) }
            }
            None => values.split(',').map(number).collect::<Result<_, _>>()?,
        };
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            return Err(format!(
                "`{text}`: a range of ticks selects among 100, 1000 and 10000 Hz, and this one \
                 contains none of them"
            ));
        }
        Ok(if key == "clock" { Self::Clocks(found) } else { Self::Ticks(found) })
    }
}

/// Returns clocks from `from` to `to`, in equal steps rounded to whole units.
fn clocks(from: u64, to: u64, unit: u64) -> Vec<u64> {
    (0..CLOCKS).map(|step| from + (to - from) / unit * step / (CLOCKS - 1) * unit).collect()
}

fn ticks(from: u64, to: u64) -> Vec<u64> {
    TICKS.into_iter().filter(|tick| (from..=to).contains(tick)).collect()
}

/// Computes the plans for a share of all points. A share consists of adjacent points, because those
/// with the same tick are measured together.
pub fn answer(
    path: &Path,
    bench: &measured::Bench<'_>,
    wanted: &[SweepValues],
    share: Share,
    format: Format,
) -> Result<Exit, CliError> {
    let (clocks, ticks) = grid(bench, wanted)?;
    let all = clocks.len() * ticks.len();
    let from = |number: usize| all * number / share.of;
    let own = from(share.number - 1)..from(share.number);
    let mut points = Vec::new();
    for (number, &tick) in ticks.iter().enumerate() {
        let here = (0..clocks.len()).filter(|at| own.contains(&(number * clocks.len() + at)));
        let mut here = here.map(|at| clocks[at]).peekable();
        if here.peek().is_none() {
            continue;
        }
        let system = match tick {
            Some(hertz) => bench.system.with_tick(hertz),
            None => bench.system.clone(),
        };
        let bench = measured::Bench { system: &system, ..*bench };
        let measured = bench.measured()?;
        for hertz in here {
            points.push(document(path, &bench, &measured, Point { hertz, tick_hz: tick })?);
        }
    }
    show(
        &Sweep {
            schema_version: SCHEMA_VERSION,
            generator: GENERATOR.to_owned(),
            file_sha256: sha256(bench.system.text().as_bytes()),
            placements: bench.placements,
            clocks_hz: clocks,
            ticks_hz: ticks,
            soc_sha256: bench.soc.sha256.clone(),
            points_in_all: all,
            points,
        },
        format,
    )
}

/// Returns the clocks and ticks of a sweep, both in ascending order.
fn grid(
    bench: &measured::Bench<'_>,
    wanted: &[SweepValues],
) -> Result<(Vec<u64>, Vec<Option<u64>>), CliError> {
    let own = bench.hertz();
    let (mut clocks, mut ticks) = (vec![own], vec![None]);
    for swept in wanted {
        match swept {
            SweepValues::Clocks(values) => clocks.clone_from(values),
            SweepValues::Ticks(values) => ticks = values.iter().copied().map(Some).collect(),
        }
    }
    if let Some(fast) = clocks.iter().find(|clock| **clock > own) {
        let message = format!("{fast} Hz is more than the {own} Hz of {}", bench.soc.soc.name);
        let hint = "sweep slower clocks, or name a soc file with a faster one";
        return Err(CliError::new(Exit::Usage, message, hint));
    }
    Ok((clocks, ticks))
}

/// Joins parts written as JSON, and shows the whole.
pub fn join(parts: &[PathBuf], format: Format) -> Result<Exit, CliError> {
    let mut whole: Option<Sweep> = None;
    for path in parts {
        let shown = path.display();
        let hint = "parts are what `rtmark plan --sweep ... --partition K/N --format json` writes";
        let refuse = |why: String| CliError::new(Exit::Usage, format!("{shown}: {why}"), hint);
        let text = input_file::read_text(path).map_err(|error| refuse(error.to_string()))?;
        let part: Sweep = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.join(part).map_err(|error| {
                let hint = "join parts of one sweep, made by one version from one file";
                CliError::new(Exit::Incomparable, format!("{shown}: {error}"), hint)
            })?,
        }
    }
    let Some(whole) = whole else { return Ok(Exit::NothingSelected) };
    let exit = show(&whole, format)?;
    if whole.is_complete() {
        return Ok(exit);
    }
    let (have, all) = (whole.points.len(), whole.points_in_all);
    let message = format!("parts are missing: {have} of {all} points are there");
    Ok(CliError::new(Exit::OutOfBudget, message, "give all parts").show())
}

/// Shows a sweep. It succeeds if any kernel holds at any point; a part always does.
fn show(sweep: &Sweep, format: Format) -> Result<Exit, CliError> {
    let text = match format {
        Format::Table => sweep.text(Form::Text),
        Format::Md => sweep.text(Form::Markdown),
        Format::Json => output::json(sweep)?,
    };
    output::data(&text)?;
    let fine = !sweep.is_complete() || sweep.holds_somewhere();
    Ok(if fine { Exit::Fine } else { Exit::Regression })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_parse() {
        let hertz = |megahertz: &[u64]| megahertz.iter().map(|it| it * 1_000_000).collect();
        let swept = |text: &str| text.parse::<SweepValues>();
        assert_eq!(swept("clock=48,24"), Ok(SweepValues::Clocks(hertz(&[24, 48]))));
        assert_eq!(
            swept("clock=24..168"),
            Ok(SweepValues::Clocks(hertz(&[24, 44, 65, 85, 106, 126, 147, 168])))
        );
        assert_eq!(swept("clock=16..18"), Ok(SweepValues::Clocks(hertz(&[16, 17, 18]))));
        assert_eq!(swept("tick=100..1000"), Ok(SweepValues::Ticks(vec![100, 1000])));
        assert_eq!(swept("tick=250"), Ok(SweepValues::Ticks(vec![250])));
    }

    #[test]
    fn invalid_sweeps_are_rejected() {
        for text in ["clock", "clocks=3", "clock=", "clock=0", "tick=9..1", "tick=2..3", "tick=x"] {
            let refusal = text.parse::<SweepValues>().expect_err(text);
            assert!(refusal.contains(text), "{refusal}");
        }
        assert!("clock=99999999999999999999".parse::<SweepValues>().is_err());
        assert!("clock=1..18446744073709".parse::<SweepValues>().is_ok());
    }
}
