//! `--image NAME=FILE` of `rtmark run` and others: columns from images that rtmark did not build.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use rtmark_model::{Answer, Basis};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{ColumnError, ColumnOptions, ForeignImage, Platform};
use rtmark_units::Cycles;

use super::clock::ClockArgs;
use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;
use crate::progress;

/// The images to show as columns.
#[derive(Debug, Args)]
pub struct Images {
    /// ELF files built elsewhere, each shown as a column of this name, as in zephyr=lat.elf; kernels
    /// are then included only if --kernel names them (docs/images.md)
    #[arg(long, value_name = "NAME=FILE", num_args = 1.., requires = "soc")]
    image: Vec<OsString>,
    #[command(flatten)]
    clock: ClockArgs,
}

impl Images {
    /// Returns whether any image is given.
    pub fn any(&self) -> bool {
        !self.image.is_empty()
    }

    /// Refuses options that do not apply to a soc on which an image is to run.
    pub fn check(&self, soc: &SocFile) -> Result<(), CliError> {
        self.clock.apply(soc.clone()).map(drop)
    }

    /// Reads the images that are to run on platforms.
    pub fn read(&self, platforms: &[Platform]) -> Result<Vec<ForeignImage>, CliError> {
        simulated(platforms).try_for_each(|soc| self.check(soc))?;
        let mut names = BTreeSet::new();
        let read = |given: &OsString| {
            let refuse =
                |message: String, hint: &str| Err(CliError::new(Exit::Usage, message, hint));
            let Some((name, path)) = named(given) else {
                let message = format!("--image {}: the name is missing", given.display());
                return refuse(
                    message,
                    "put the column's name before the file, as in zephyr=lat.elf",
                );
            };
            if !names.insert(name.clone()) {
                let message = format!("--image: the name {name} is given twice");
                return refuse(message, "give each image a different name");
            }
            let image = ForeignImage::read(&name, &path);
            let timed = |image: ForeignImage| self.clock.of(image);
            image.map(timed).map_err(|error| {
                let hint = match &error {
                    ColumnError::Name(_) => {
                        "choose another name before the equals sign, as in zephyr=lat.elf"
                    }
                    ColumnError::File { .. } => "check the path after the equals sign",
                    ColumnError::Image { .. } => "give the ELF file that the linker wrote",
                };
                CliError::new(Exit::Usage, error, hint)
            })
        };
        self.image.iter().map(read).collect()
    }
}

/// Splits `NAME=FILE`. The file's name need not be UTF-8 where the operating system allows that.
fn named(given: &OsStr) -> Option<(String, PathBuf)> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;

        let bytes = given.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=')?;
        let name = String::from_utf8_lossy(&bytes[..at]).into_owned();
        Some((name, PathBuf::from(OsStr::from_bytes(&bytes[at + 1..]))))
    }
    #[cfg(not(unix))]
    {
        let (name, path) = given.to_str()?.split_once('=')?;
        Some((name.to_owned(), PathBuf::from(path)))
    }
}

/// Returns the socs among the platforms that are simulated in cycles.
fn simulated(platforms: &[Platform]) -> impl Iterator<Item = &SocFile> {
    platforms.iter().filter_map(|platform| match platform {
        Platform::Sim(file, Basis::Cycles) => Some(&**file),
        _ => None,
    })
}

/// Runs each image on each soc, and passes each answer to `keep` as soon as it is known.
pub fn measure<E>(
    images: &[ForeignImage],
    platforms: &[Platform],
    options: &ColumnOptions<'_>,
    verbosity: Verbosity,
    mut keep: impl FnMut(&Answer) -> Result<(), E>,
) -> Result<Vec<Answer>, E> {
    let mut answers = Vec::new();
    for soc in simulated(platforms) {
        for image in images {
            let bar = progress::bar(verbosity, format!("{} on {}", image.name, soc.soc.name));
            let column = image.measure(soc, options, |Cycles(now), Cycles(limit)| {
                bar.set_length(limit);
                bar.set_position(now.min(limit));
            });
            bar.finish_and_clear();
            for answer in &column.answers {
                keep(answer)?;
            }
            if !verbosity.quiet {
                column.notes.iter().for_each(say);
            }
            answers.extend(column.answers);
        }
    }
    Ok(answers)
}
