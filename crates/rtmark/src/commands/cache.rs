//! `rtmark cache`

use std::fmt::Write as _;
use std::time::Duration;

use clap::{Args, Subcommand};
use rtmark_firmware::{Cache, UNUSED};

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, count};
use crate::sources::BuildPlace;

/// Show how much disk space builds take, or remove builds
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark cache                         show where builds are, and their size
  rtmark cache prune                   remove builds unused for 30 days
  rtmark cache prune --days 0          remove all builds that are not in use
  rtmark cache prune --most 5GB        also remove the oldest, until at most 5 GB are left

All projects of a user share one build folder. Once a day, builds unused for 30 days are removed
automatically. Results are kept elsewhere: see `rtmark prune`.")]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: BuildPlace,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Remove unused builds
    Prune(Prune),
}

#[derive(Debug, Args)]
struct Prune {
    /// Remove builds unused for this many days
    #[arg(long, value_name = "N", default_value_t = UNUSED.as_secs() / DAY)]
    days: u64,
    /// Limit for the total size of the remaining builds, in bytes, kB, MB or GB, such as 5GB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    most: Option<u64>,
}

/// Seconds in a day.
const DAY: u64 = 24 * 60 * 60;

/// The units of sizes, in bytes.
const UNITS: [(&str, u64); 4] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("", 1)];

fn bytes(text: &str) -> Result<u64, String> {
    let of = |(unit, factor): &(&str, u64)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*factor)
    };
    UNITS
        .iter()
        .find_map(of)
        .ok_or_else(|| "expected a whole number, optionally followed by kB, MB or GB".into())
}

/// Formats a size for people.
fn format_size(bytes: u64) -> String {
    let fits = |(_, factor): &&(&str, u64)| bytes >= *factor;
    match UNITS[..3].iter().find(fits) {
        Some((unit, factor)) => format!("{:.1} {unit}", bytes as f64 / *factor as f64),
        None => format!("{bytes} bytes"),
    }
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let cache = self.place.cache(&Config::load()?);
        match self.action {
            None => output::data(&show(&cache))?,
            Some(Action::Prune(prune)) => {
                let unused = Duration::from_secs(prune.days.saturating_mul(DAY));
                let removed = cache.prune(unused, prune.most)?;
                if !verbosity.quiet {
                    let what = count(removed.folders, "folder");
                    output::say(format!("removed {what}, {}", format_size(removed.bytes)));
                    if removed.busy > 0 {
                        let busy = count(removed.busy, "build");
                        output::say(format!("kept {busy} in progress"));
                    }
                }
            }
        }
        Ok(Exit::Fine)
    }
}

fn show(cache: &Cache) -> String {
    let mut text = format!("{}\n", cache.folder().display());
    let mut total = 0;
    for part in cache.parts() {
        let name = part.folder.file_name().unwrap_or_default().display().to_string();
        let _ = writeln!(text, "  {name:9} {:>5}  {:>10}", part.count, format_size(part.bytes));
        total += part.bytes;
    }
    let _ = writeln!(text, "  {:9} {:>5}  {:>10}", "total", "", format_size(total));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_written() {
        assert_eq!(bytes("5GB"), Ok(5_000_000_000));
        assert_eq!(bytes("20 MB"), Ok(20_000_000));
        assert_eq!(bytes("7"), Ok(7));
        for wrong in ["", "GB", "-1", "1.5GB", "1TB", "99999999999999GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format_size(1_250_000_000), "1.2 GB");
        assert_eq!(format_size(999), "999 bytes");
    }
}
