//! `--clock` and `--crystal`, and the core's clock in results.

use clap::Args;
use rtmark_observe::{ClockNote, RunClock};
use rtmark_runner::ForeignImage;
use rtmark_runner::socs::SocFile;
use rtmark_sim::ClockHistory;
use rtmark_units::Hertz;
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;

/// Parses a clock, with a unit or in hertz.
pub fn parse(text: &str) -> Result<Hertz, String> {
    let lower = text.trim().to_lowercase();
    let (number, scale) = match lower.strip_suffix("hz") {
        None => (lower.as_str(), 1.0),
        Some(rest) => [('g', 1e9), ('m', 1e6), ('k', 1e3)]
            .into_iter()
            .find_map(|(prefix, scale)| Some((rest.strip_suffix(prefix)?, scale)))
            .unwrap_or((rest, 1.0)),
    };
    let hertz = number.trim().parse::<f64>().ok().map(|number| (number * scale).round());
    let fits = |hertz: &f64| (1.0..=f64::from(u32::MAX)).contains(hertz);
    hertz.filter(fits).map(|hertz| Hertz(hertz as u32)).ok_or_else(|| {
        "expected a clock such as 168MHz, 32.768kHz, 1GHz or 48000000, of up to 4294967295 Hz"
            .to_owned()
    })
}

/// The options for the core's clock in a run of an image.
#[derive(Clone, Debug, Default, Args)]
pub struct ClockArgs {
    /// Clock of the core, such as 96MHz [default: what the image sets]
    ///
    /// By default, times follow the clock registers that the image sets, if the soc's file says how
    /// (docs/socs.md); otherwise they are of the clock that the image states (SystemCoreClock and
    /// others, docs/images.md), or else of the soc's. Cycles are the same, except for peripherals that
    /// count time.
    #[arg(long, value_parser = parse, requires = "image")]
    clock: Option<Hertz>,
    /// Crystal of the board, such as 25MHz [default: that of the soc's file]
    #[arg(long, value_parser = parse, requires = "image", conflicts_with = "clock")]
    crystal: Option<Hertz>,
}

impl ClockArgs {
    /// Gives a soc the clock and the crystal of the options.
    pub fn apply(&self, soc: SocFile) -> Result<SocFile, CliError> {
        if let Some(clock) = self.clock {
            return Ok(soc.at_clock(clock)?);
        }
        let Some(crystal) = self.crystal else { return Ok(soc) };
        on_crystal(&soc, crystal)
    }

    /// Gives an image that becomes a column the clock and the crystal of the options.
    pub fn of(&self, image: ForeignImage) -> ForeignImage {
        image.at_clock(self.clock).with_crystal(self.crystal)
    }

    /// Returns what a user who has given no clock should know of a run's.
    pub fn notes<'a>(&self, clock: &'a RunClock) -> &'a [ClockNote] {
        if self.clock.is_some() { &[] } else { &clock.notes }
    }
}

/// Gives a soc the crystal of `--crystal`.
pub fn on_crystal(soc: &SocFile, crystal: Hertz) -> Result<SocFile, CliError> {
    soc.with_crystal(crystal)?.ok_or_else(|| {
        let message = format!("--crystal: the clock tree of {} has no crystal", soc.soc.name);
        CliError::new(Exit::Usage, message, "leave it out, or give the core's clock with --clock")
    })
}

/// A frequency of the core, in a document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockPeriod {
    /// The first cycle with this frequency, since reset.
    from_cycle: u64,
    /// The frequency in hertz.
    clock_hz: u32,
}

/// Lists the frequencies that the core had in a run.
pub fn periods(history: &ClockHistory) -> Vec<ClockPeriod> {
    let periods = history.changes();
    periods.map(|it| ClockPeriod { from_cycle: it.cycle.0, clock_hz: it.clock.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_parse_as_written() {
        for (text, hertz) in [
            ("168MHz", 168_000_000),
            ("32.768 kHz", 32_768),
            ("48000000", 48_000_000),
            ("10hz", 10),
            ("1GHz", 1_000_000_000),
            ("1.008 GHz", 1_008_000_000),
        ] {
            assert_eq!(parse(text), Ok(Hertz(hertz)), "{text}");
        }
        for bad in ["", "0", "fast", "5GHz", "1GMHz", "ghz", "-1", "1e400MHz"] {
            parse(bad).expect_err(bad);
        }
    }
}
