//! The settings of the chips during the measurements.
//!
//! The line buffer of the CC26xx's flash, its cache, and the core's write buffer can be switched
//! off, and tests did so. Later files of measurements state the settings in each row; for the
//! earlier ones, `settings.jsonl` beside them has a line for each test and code placement. Rows
//! merged from several settings are split again here.
//!
//! A merged row has the registers of one of its measurements, which was made with the test's own
//! setting. Measurements with another setting may have had other operands, so they are left out
//! where cycles depend on operands.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::corpus::{CorpusError, Row};

/// The file of settings.
const FILE: &str = "settings.jsonl";

/// The state of a switchable part of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The chip has no such part.
    #[default]
    Absent,
    On,
    Off,
}

impl Part {
    const fn of(said: Option<bool>) -> Self {
        match said {
            None => Self::Absent,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }

    /// Parses `on` or `off`.
    fn named(word: &str) -> Option<Self> {
        match word {
            "on" => Some(Self::On),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

/// The settings of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting {
    /// The buffer of the flash line read last.
    pub line_buffer: Part,
    /// The cache in front of the flash. Its replacement is random: its contents depend on
    /// everything that ran before.
    pub cache: Part,
    /// The core's write buffer (ACTLR.DISDEFWBUF switches it off).
    pub write_buffer: Part,
}

impl Setting {
    /// Returns the setting named by a text such as `line_buffer on, cache on`; parts that it does
    /// not name stay unchanged, except that the cache is off.
    fn with(mut self, text: &str) -> Option<Self> {
        self.cache = Part::Off;
        for part in text.split(", ") {
            let (name, word) = part.split_once(' ')?;
            let part = match name {
                "line_buffer" => &mut self.line_buffer,
                "cache" => &mut self.cache,
                "write_buffer" => &mut self.write_buffer,
                _ => return None,
            };
            *part = Part::named(word)?;
        }
        Some(self)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            match self.line_buffer {
                Part::Absent => "",
                Part::On => "line buffer on",
                Part::Off => "line buffer off",
            },
            if self.cache == Part::On { "cache on" } else { "" },
            if self.write_buffer == Part::On { "write buffer on" } else { "" },
        ];
        let said: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&said.join(", "))
    }
}

/// Settings as written in files; a part that the chip lacks is null.
#[derive(Debug, Deserialize)]
struct Stated {
    line_buffer: Option<bool>,
    cache: Option<bool>,
    write_buffer: Option<bool>,
}

impl Stated {
    const fn setting(&self) -> Setting {
        Setting {
            line_buffer: Part::of(self.line_buffer),
            cache: Part::of(self.cache),
            write_buffer: Part::of(self.write_buffer),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Line {
    file: String,
    test: String,
    code: String,
    settings: Stated,
    /// For each merged row, its number and cycles, and how many of its measurements were made with
    /// which setting.
    #[serde(default)]
    rows_of_several_settings: Vec<(u64, u64, BTreeMap<String, u64>)>,
}

/// File, test and code placement.
type Key = (String, String, String);
/// A row's number and cycles.
type RowCycles = (u64, u64);

/// The chips' settings for each row.
#[derive(Debug, Default)]
pub struct Settings {
    tests: HashMap<Key, Setting>,
    divided: HashMap<(Key, RowCycles), Vec<(Setting, u64)>>,
}

impl Settings {
    /// Reads the settings of the measurements in a directory.
    pub fn read(folder: &Path) -> Result<Self, CorpusError> {
        let path = folder.join(FILE);
        let failed = |source| CorpusError::File { path: path.clone(), source };
        let mut settings = Self::default();
        for (at, line) in BufReader::new(File::open(&path).map_err(failed)?).lines().enumerate() {
            let line: Line = serde_json::from_str(&line.map_err(failed)?)
                .map_err(|source| CorpusError::Line { path: path.clone(), line: at + 1, source })?;
            settings
                .add(line)
                .ok_or_else(|| CorpusError::Setting { path: path.clone(), line: at + 1 })?;
        }
        Ok(settings)
    }

    /// Adds a line; returns `None` if it names an unknown setting.
    fn add(&mut self, line: Line) -> Option<()> {
        let setting = line.settings.setting();
        let key = (line.file, line.test, line.code);
        for (number, cycles, parts) in line.rows_of_several_settings {
            let parts = parts.into_iter().map(|(name, count)| Some((setting.with(&name)?, count)));
            let parts = parts.collect::<Option<_>>()?;
            self.divided.insert((key.clone(), (number, cycles)), parts);
        }
        self.tests.insert(key, setting);
        Some(())
    }

    /// Returns the settings of a row with the number of measurements made with each that the row's
    /// registers are certain to describe, or `None` if the settings of the row are unknown.
    pub fn of(&self, file: &str, row: &Row) -> Option<Vec<(Setting, u64)>> {
        if row.line_buffer.is_some() {
            let stated = Stated {
                line_buffer: row.line_buffer,
                cache: row.cache,
                write_buffer: row.write_buffer,
            };
            return Some(vec![(stated.setting(), row.count)]);
        }
        let key = (file.to_owned(), row.test.clone(), row.code.clone());
        let setting = *self.tests.get(&key)?;
        let divided = self.divided.get(&(key, (row.number, row.cycles)));
        let mut parts = divided.cloned().unwrap_or_else(|| vec![(setting, row.count)]);
        if row.times_operands() {
            parts.retain(|&(of_part, _)| of_part == setting);
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        serde_json::from_str(text).expect("a row")
    }

    const ROW: &str = r#""test":"a/b#1","i":4,"code":"sram","cycles":9,"count":6,"lead":"",
        "regs":"","steps":[]"#;

    /// Settings in which row 4 of nine cycles, with its line buffer on, is merged from these parts.
    fn merged(parts: &str) -> Settings {
        let line = format!(
            r#"{{"file":"f","test":"a/b#1","code":"sram","settings":{{"line_buffer":true,
            "cache":false,"write_buffer":false}},"rows_of_several_settings":[[4,9,{{{parts}}}]]}}"#
        );
        let mut settings = Settings::default();
        settings.add(serde_json::from_str(&line).expect("a line")).expect("known settings");
        settings
    }

    #[test]
    fn rows_with_several_settings_are_split() {
        let settings = merged(r#""line_buffer on, cache on":1,"line_buffer off":5"#);
        let on = Setting { line_buffer: Part::On, cache: Part::Off, write_buffer: Part::Off };
        let off = Setting { line_buffer: Part::Off, ..on };
        let cached = Setting { cache: Part::On, ..on };
        let whole = row(&format!("{{{ROW}}}"));
        assert_eq!(settings.of("f", &whole), Some(vec![(off, 5), (cached, 1)]));
        assert_eq!(settings.of("g", &whole), None, "another file");
        let other = row(&format!("{{{ROW}}}").replace("\"cycles\":9", "\"cycles\":8"));
        assert_eq!(settings.of("f", &other), Some(vec![(on, 6)]), "a row of one setting");
    }

    #[test]
    fn measurements_whose_operands_are_unknown_are_left_out() {
        let settings = merged(r#""line_buffer on":1,"line_buffer off":5"#);
        let on = Setting { line_buffer: Part::On, cache: Part::Off, write_buffer: Part::Off };
        for opcode in ["fbb5f5f6", "fb95f5f6", "fba56506", "fb856506", "fbe56506", "fbc56506"] {
            let step = format!("\"steps\":[[\"100\",\"{opcode}\",\"\"]]");
            let divides = row(&format!("{{{ROW}}}").replace("\"steps\":[]", &step));
            assert_eq!(settings.of("f", &divides), Some(vec![(on, 1)]), "{opcode}");
        }
        let step = r#""steps":[["100","fb05f506",""]]"#;
        let multiplies = row(&format!("{{{ROW}}}").replace("\"steps\":[]", step));
        let parts = settings.of("f", &multiplies).expect("known");
        assert_eq!(parts.len(), 2, "MUL takes one cycle");
    }

    #[test]
    fn settings_stated_by_a_row_take_effect() {
        let said = r#","line_buffer":false,"cache":true,"write_buffer":true"#;
        let settings = Settings::default().of("f", &row(&format!("{{{ROW}{said}}}")));
        let settings = settings.expect("said");
        let expected = Setting { line_buffer: Part::Off, cache: Part::On, write_buffer: Part::On };
        assert_eq!(settings, vec![(expected, 6)]);
        assert_eq!(expected.to_string(), "line buffer off, cache on, write buffer on");
    }

    #[test]
    fn an_unknown_setting_is_rejected() {
        let line = r#"{"file":"f","test":"t","code":"sram","settings":{"line_buffer":null,
            "cache":null,"write_buffer":false},"rows_of_several_settings":[[1,2,{"turbo on":3}]]}"#;
        assert_eq!(Settings::default().add(serde_json::from_str(line).expect("a line")), None);
    }
}
