//! Reads the JSON form.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{COLUMNS, Fields, Parsed, Series, flag_unreadable, report};
use crate::Suite;
use crate::lines::Line;
use crate::log::Log;
use crate::row::Number;

/// The supported version of the format.
const VERSION: u64 = 1;

/// The JSON format, read as a whole.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document<'a> {
    rtmark_import: u64,
    /// Defaults for all rows.
    #[serde(borrow, default)]
    defaults: Option<&'a RawValue>,
    #[serde(borrow)]
    rows: Vec<&'a RawValue>,
}

impl<'a> Document<'a> {
    /// Tells whether the beginning of a file may be that of this format.
    pub fn may_begin_with(head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
    }

    /// Tells whether a file that may be of this format looks like it.
    pub fn is_recognised(bytes: &[u8]) -> bool {
        String::from_utf8_lossy(bytes).contains("\"rtmark_import\"")
    }

    /// Parses the frame; rows are parsed separately, so that a bad one does not affect the others.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let document: Self = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| error.to_string())?;
        if document.rtmark_import == VERSION {
            Ok(document)
        } else {
            let found = document.rtmark_import;
            Err(format!(
                "it has version {found} of the `rtmark_import` format; this rtmark reads version {VERSION}"
            ))
        }
    }

    /// Passes the rows to a log.
    pub fn read(&self, text: &str, log: &mut Log) {
        let mut finder = Finder::new(text);
        let mut defaults = Fields::default();
        if let Some(raw) = self.defaults {
            match fields(raw.get()) {
                Ok((found, _)) => defaults = found,
                Err(problem) => {
                    log.warn(
                        finder.line_of(raw),
                        format!("defaults: {problem}; they are passed over"),
                    );
                }
            }
        }
        for raw in &self.rows {
            let number = finder.line_of(raw);
            let line =
                Line { number, raw: raw.get().chars().take(120).collect(), ..Line::default() };
            let (mut found, samples) = match fields(raw.get()) {
                Ok(read) => read,
                Err(problem) => {
                    log.report_unreadable(&line, Suite::Rtmark, &problem);
                    continue;
                }
            };
            for (name, text) in &defaults.texts {
                if found.get(name).is_empty() {
                    found.texts.push((name, text.clone()));
                }
            }
            match found.row(samples.is_some(), number) {
                Ok(Parsed { mut row, power, mut unreadable }) => {
                    if let Some(values) = samples {
                        let mut series = Series::new(row, power);
                        for value in values {
                            match Number::read(value.get()) {
                                Some(number) => series.push(number),
                                None => unreadable.push(flag_unreadable(
                                    &mut series.row,
                                    "a sample",
                                    value.get(),
                                )),
                            }
                        }
                        row = series.finish(log);
                    }
                    log.row(row);
                    unreadable.dedup();
                    report(&unreadable, &line, log);
                }
                Err(problem) => log.report_unreadable(&line, Suite::Rtmark, &problem),
            }
        }
    }
}

/// Finds the line numbers of values borrowed from a text, in order.
struct Finder<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
}

impl<'a> Finder<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, offset: 0, line: 1 }
    }

    fn line_of(&mut self, raw: &RawValue) -> u64 {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        let between = self.text.get(self.offset..offset).unwrap_or_default();
        self.line += between.matches('\n').count() as u64;
        self.offset += between.len();
        self.line
    }
}

/// Returns the fields of a JSON object, and its samples.
fn fields(text: &str) -> Result<(Fields, Option<Vec<&RawValue>>), String> {
    let object: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut fields = Fields::default();
    let mut samples = None;
    for (name, raw) in object {
        let is_absent = raw.get() == "null" || (name == "flag" && raw.get() == "false");
        if name == "samples" && !is_absent {
            samples = Some(
                serde_json::from_str(raw.get()).map_err(|_| "samples is not a list".to_owned())?,
            );
            continue;
        }
        let known = ["samples"].iter().chain(COLUMNS);
        let column = known.copied().find(|column| *column == name && *column != "value");
        let column = column.ok_or_else(|| {
            format!("unknown key `{}`", name.chars().take(40).collect::<String>().escape_debug())
        })?;
        if is_absent {
            continue;
        }
        if raw.get().starts_with(['{', '[']) {
            return Err(format!("{name} must be a text or a number"));
        }
        let text = match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => text,
            Err(_) => raw.get().to_owned(),
        };
        fields.texts.push((column, text));
    }
    Ok((fields, samples))
}
