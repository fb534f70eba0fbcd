//! `rtmark merge`

use std::path::PathBuf;

use clap::Args;

use super::worst::{Format, Part, found_of, show};
use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;

/// Join the parts of a search that several computers have made, and show the whole
///
/// The result is that of a search in one go. Parts are files that `rtmark worst --partition
/// K/N --state FILE` has written; each may be given more than once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtmark merge part-*.worst
  rtmark merge part-*.worst --format json > worst.json

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The parts
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Draw the latencies along the path in SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Arguments {
    pub fn run(self, _: Verbosity) -> Result<Exit, CliError> {
        let mut joined: Option<(Part, &PathBuf)> = None;
        for path in &self.parts {
            let part = Part::read(path)?;
            let Some((whole, first)) = &mut joined else {
                joined = Some((part, path));
                continue;
            };
            if !whole.belongs_with(&part) {
                let message =
                    format!("{} and {} are of different searches", first.display(), path.display());
                let hint = "join parts of the same firmware, soc, scenario and interrupt";
                return Err(CliError::new(Exit::Incomparable, message, hint));
            }
            if part.findings.pieces.is_subset(&whole.findings.pieces) {
                continue;
            }
            if !part.findings.pieces.is_disjoint(&whole.findings.pieces) {
                let message =
                    format!("{} holds pieces that another part holds, too", path.display());
                let hint = "give each part of one partition once";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            whole.findings.absorb(part.findings);
        }
        let Some((whole, first)) = joined else { return Ok(Exit::NothingSelected) };
        let found = found_of(&whole, first)?;
        let complete = found.complete;
        show(vec![found], self.format, self.picture.as_deref())?;
        if complete {
            return Ok(Exit::Fine);
        }
        let message = "parts are missing: what is shown is about a part of the points";
        Ok(CliError::new(Exit::OutOfBudget, message, "give all parts, each searched to its end")
            .show())
    }
}
