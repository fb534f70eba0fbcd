//! `--defmt`: writes a program's defmt frames to a file or to stdout.
//!
//! Frames are not decoded here: `defmt-print`, defmt's own decoder, does that.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::PathBuf;

use super::observers::write_error;
use super::prepare::wrong;
use super::{Arguments, Format, file};
use crate::error::CliError;
use crate::output;

/// Receives the defmt frames of a running program.
pub struct Frames {
    to: Option<(PathBuf, Option<File>)>,
    bytes: u64,
    written: io::Result<()>,
}

impl Frames {
    pub fn new(arguments: &Arguments) -> Result<Self, CliError> {
        let Some(path) = &arguments.defmt else {
            return Ok(Self { to: None, bytes: 0, written: Ok(()) });
        };
        let named = file(path);
        let trace = arguments.trace.as_deref();
        let other = if arguments.format == Format::Json {
            Some("the JSON result")
        } else {
            trace.filter(|path| file(path).is_none()).map(|_| "the trace")
        };
        if let (None, Some(other)) = (named, other) {
            let problem = format!("{other} already goes to stdout");
            return Err(wrong("--defmt", problem, "write the log to a file: --defmt=FILE"));
        }
        let created =
            named.map(|path| File::create(path).map_err(|error| write_error(path, &error)));
        let to = Some((path.clone(), created.transpose()?));
        Ok(Self { to, bytes: 0, written: Ok(()) })
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if bytes.is_empty() || self.written.is_err() {
            return;
        }
        self.written = match &mut self.to {
            None => Ok(()),
            Some((_, Some(file))) => file.write_all(bytes),
            Some((_, None)) => output::raw(bytes),
        };
    }

    /// Returns how many bytes were logged, if any.
    pub fn finish(self) -> Result<Option<NonZeroU64>, CliError> {
        let path = self.to.map(|(path, _)| path).unwrap_or_default();
        self.written.map_err(|error| write_error(&path, &error))?;
        Ok(NonZeroU64::new(self.bytes))
    }
}
