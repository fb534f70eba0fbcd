//! The measured chips, and machines set up like them.

use std::collections::BTreeSet;
use std::path::Path;

use rtmark_sim::{Machine, Rule, Soc};

use crate::Failure;
use crate::corpus::{self, CorpusError, Row};
use crate::replay::{self, WriteBuffer};
use crate::settings::{Part, Setting, Settings};

/// A chip with the files of its measurements.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    pub name: &'static str,
    /// The files' names up to the first dot.
    files: &'static [&'static str],
    soc: &'static str,
}

/// All measured chips.
pub const CHIPS: [Chip; 3] = [
    Chip {
        name: "stm32f100",
        files: &["stm32f100-cortex-m3"],
        soc: include_str!("../socs/stm32f100.toml"),
    },
    Chip {
        name: "cc2650",
        files: &["cc2650-gpram-cortex-m3", "cc2650-sram-flash-cortex-m3"],
        soc: include_str!("../socs/cc2650.toml"),
    },
    Chip { name: "cc2652", files: &["cc2652-cortex-m4"], soc: include_str!("../socs/cc2652.toml") },
];

/// A window with the chip's settings, and how often it was measured with them.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The index of its row among the chip's rows.
    row: usize,
    /// The memories that hold its code.
    pub place: String,
    pub setting: Setting,
    pub count: u64,
}

/// All measurements of a chip.
#[derive(Debug)]
pub struct Measurements {
    pub chip: Chip,
    rows: Vec<Row>,
    pub samples: Vec<Sample>,
}

impl Measurements {
    pub fn row(&self, sample: &Sample) -> &Row {
        &self.rows[sample.row]
    }
}

/// Returns the memories that hold a window's code, by their names in the soc file.
fn place(soc: &Soc, row: &Row) -> Option<String> {
    let memories = row.steps()?.into_iter().map(|step| {
        let address = u64::from(step.address);
        let found = soc.memories.iter().find(|memory| memory.range().contains(&address));
        found.map(|memory| match memory.name.as_str() {
            "RAM" => "sram".to_owned(),
            name => name.to_lowercase(),
        })
    });
    let memories: BTreeSet<_> = memories.collect::<Option<_>>()?;
    if memories.len() > 1 { Some("several".to_owned()) } else { memories.into_iter().next() }
}

impl Chip {
    /// Returns the soc description of the chip.
    pub fn soc(&self) -> Result<Soc, Failure> {
        Ok(Soc::from_toml(self.soc)?)
    }

    /// Reads the chip's measurements from a directory.
    pub fn read(self, folder: &Path, settings: &Settings) -> Result<Measurements, Failure> {
        let soc = self.soc()?;
        let mut measured = Measurements { chip: self, rows: Vec::new(), samples: Vec::new() };
        for name in self.files {
            let file = format!("{name}.jsonl.xz");
            for row in corpus::read::<Row>(&folder.join(&file))? {
                let said = settings.of(&file, &row).ok_or_else(|| CorpusError::Unset {
                    file: file.clone(),
                    test: row.test.clone(),
                    code: row.code.clone(),
                })?;
                let place = place(&soc, &row).unwrap_or_else(|| "nowhere".to_owned());
                measured.samples.extend(said.into_iter().map(|(setting, count)| Sample {
                    row: measured.rows.len(),
                    place: place.clone(),
                    setting,
                    count,
                }));
                measured.rows.push(row);
            }
        }
        Ok(measured)
    }

    /// Prepares machines for all settings of the chip, without one rule of the timing model if
    /// `without` names it.
    pub fn prepare(&self, without: Option<Rule>) -> Result<PreparedMachines, Failure> {
        let soc = self.soc()?;
        let ready = |line_buffer, write_buffer| {
            replay::prepare(&with_line_buffer(&soc, line_buffer), write_buffer, without)
        };
        let mut ideal = soc.clone();
        for memory in &mut ideal.memories {
            memory.timing.wait_states = 0;
        }
        Ok(PreparedMachines {
            usual: ready(Part::On, WriteBuffer::Off)?,
            without_line_buffer: ready(Part::Off, WriteBuffer::Off)?,
            buffered: ready(Part::On, WriteBuffer::On)?,
            buffered_without_line_buffer: ready(Part::Off, WriteBuffer::On)?,
            ideal: replay::prepare(&ideal, WriteBuffer::Off, without)?,
            ideal_buffered: replay::prepare(&ideal, WriteBuffer::On, without)?,
        })
    }
}

/// Returns the soc with the flash's line buffer as a test set it. Without the line buffer, every
/// word from flash takes its wait states.
fn with_line_buffer(soc: &Soc, part: Part) -> Soc {
    let mut soc = soc.clone();
    if part == Part::Off {
        for memory in &mut soc.memories {
            (memory.timing.line_buffer, memory.timing.line_bytes) = (false, 4);
        }
    }
    soc
}

/// Machines ready to run the windows of a chip.
#[derive(Debug)]
pub struct PreparedMachines {
    usual: Machine,
    without_line_buffer: Machine,
    buffered: Machine,
    buffered_without_line_buffer: Machine,
    /// With a cache in which every access hits.
    ideal: Machine,
    ideal_buffered: Machine,
}

impl PreparedMachines {
    /// Returns the model's cycles for a window, or `None` if it cannot run it. Every access to a
    /// cache is taken to miss.
    pub fn cycles(&self, row: &Row, setting: Setting) -> Option<u64> {
        let machine = match (setting.line_buffer, setting.write_buffer) {
            (Part::Off, Part::On) => &self.buffered_without_line_buffer,
            (Part::Off, _) => &self.without_line_buffer,
            (_, Part::On) => &self.buffered,
            _ => &self.usual,
        };
        replay::cycles(machine, row)
    }

    /// Returns the model's cycles for a window if every access to a cache hits: the least it can
    /// take.
    pub fn least(&self, row: &Row, setting: Setting) -> Option<u64> {
        let on = setting.write_buffer == Part::On;
        replay::cycles(if on { &self.ideal_buffered } else { &self.ideal }, row)
    }
}
