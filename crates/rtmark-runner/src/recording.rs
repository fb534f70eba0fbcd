//! Recordings: what boards printed, kept so that it can be read again without the board.
//!
//! A recording is a text file with one JSON value per line: first the program that wrote it, then the
//! runs. Besides the console output, each run holds everything that its samples depend on (the
//! scenario, its image, the addresses of its probes), so that neither the board nor the image is
//! needed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, BufRead, Read as _, Write};

use rtmark_firmware::probes::{Kind, Record};
use rtmark_model::{
    Answer, Backend, Basis, Catalogue, Failure, FailureKind, Key, Overhead, Provenance, Readings,
    Sampled, Scenario, ScenarioId, Series,
};
use rtmark_units::Hertz;
use serde::{Deserialize, Serialize};

use crate::judge::{Clocked, RunEnd, judge};

/// The version of the file format.
pub const VERSION: u32 = 1;

/// The length to which the first line is read, in bytes.
const LONGEST_HEADER: u64 = 0x1000;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    rtmark_recording: u32,
    generator: String,
}

/// One run of one scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// What the run measured.
    pub key: Key,
    /// The core's clock.
    pub clock: Hertz,
    /// What produced it.
    pub provenance: Provenance,
    /// The word that selected the scenario.
    pub select: u32,
    /// The addresses of the image's probes.
    pub sites: Vec<Site>,
    /// The console output, with bytes that are not UTF-8 replaced by replacement characters.
    pub console: String,
}

/// A probe of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The return address of its call.
    pub at: u32,
    /// The end of the span that it marks.
    pub is: End,
    /// The span's scenario.
    pub of: ScenarioId,
}

/// An end of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Where it begins.
    Begin,
    /// Where it ends.
    End,
}

/// A recording that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A line is not part of a valid recording.
    #[error("line {line}: {problem}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// Writes the first line of a recording.
///
/// # Errors
/// When the file cannot be written.
pub fn begin(file: &mut dyn Write, generator: &str) -> io::Result<()> {
    let header = Header { rtmark_recording: VERSION, generator: generator.to_owned() };
    append(file, &header)
}

fn append(file: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

/// Reads a recording.
///
/// # Errors
/// When it is not a recording, has a newer version, or holds a run twice or without a clock.
pub fn read(mut file: impl BufRead) -> Result<Vec<Recorded>, RecordingError> {
    let mut runs: Vec<Recorded> = Vec::new();
    let mut lines = HashMap::new();
    let mut begun = false;
    // What is no recording may be endless, as a device is.
    let mut first = String::new();
    file.by_ref().take(LONGEST_HEADER).read_line(&mut first)?;
    let first = (!first.is_empty()).then_some(Ok(first));
    for (index, line) in first.into_iter().chain(file.lines()).enumerate() {
        let line = line?;
        let refuse = |problem: String| RecordingError::Line { line: index + 1, problem };
        if !begun {
            let header: Header = serde_json::from_str(&line)
                .map_err(|error| refuse(format!("this is not an rtmark recording: {error}")))?;
            if header.rtmark_recording != VERSION {
                let version = header.rtmark_recording;
                return Err(refuse(format!("it is of version {version}, not {VERSION}")));
            }
            begun = true;
        } else if !line.trim().is_empty() {
            let run: Recorded =
                serde_json::from_str(&line).map_err(|error| refuse(error.to_string()))?;
            let Key { kernel, scenario, .. } = &run.key;
            if run.clock == Hertz(0) {
                return Err(refuse(format!("the clock of {kernel}'s {scenario} is 0 Hz")));
            }
            match lines.entry(run.key.clone()) {
                Entry::Vacant(vacant) => vacant.insert(index + 1),
                Entry::Occupied(earlier) => {
                    let earlier = earlier.get();
                    return Err(refuse(format!("{kernel}'s {scenario} is in line {earlier}, too")));
                }
            };
            runs.push(run);
        }
    }
    if begun {
        Ok(runs)
    } else {
        Err(RecordingError::Line { line: 1, problem: "the file is empty".to_owned() })
    }
}

impl Recorded {
    /// Records a run.
    pub(crate) fn new(
        key: Key,
        clock: Hertz,
        provenance: Provenance,
        image: &Clocked,
        scenario: &Scenario,
        console: &[u8],
    ) -> Self {
        let site = |record: &Record| {
            let (at, is) = match record.kind {
                Kind::Begin(at) => (at, End::Begin),
                Kind::End(at) => (at, End::End),
                _ => return None,
            };
            Some(Site { at, is, of: record.scenario.clone() })
        };
        Self {
            key,
            clock,
            provenance,
            select: image.word(scenario).unwrap_or_default(),
            sites: image.records.iter().filter_map(site).collect(),
            console: String::from_utf8_lossy(console).into_owned(),
        }
    }

    /// Appends the run to a recording.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, file: &mut dyn Write) -> io::Result<()> {
        append(file, self)
    }

    /// Returns the run's answer.
    pub fn answer(&self, catalogue: &Catalogue) -> Answer {
        let key = self.key.clone();
        let found = catalogue.scenarios().iter().find(|scenario| scenario.id == key.scenario);
        let Some(scenario) = found else {
            let failure = Failure {
                kind: FailureKind::Check,
                message: format!("the catalogue has no scenario {}", key.scenario),
                hint: "name the catalogue that it was recorded with: --catalogue".to_owned(),
                console: String::new(),
            };
            return Answer::Failed { key, failure };
        };
        let kind = |site: &Site| match site.is {
            End::Begin => Kind::Begin(site.at),
            End::End => Kind::End(site.at),
        };
        let probes =
            self.sites.iter().map(|site| Record { kind: kind(site), scenario: site.of.clone() });
        let selected = Record {
            kind: Kind::Scenario(self.select & 0xFFFF),
            scenario: scenario.in_firmware().clone(),
        };
        let image = Clocked {
            elf: Vec::new(),
            records: probes.chain([selected]).collect(),
            path: format!("{} of {}", self.provenance.firmware.image, key.kernel),
        };
        let (ending_text, place) = ("the end of the recording", "as recorded");
        let ended = RunEnd { ending_text, succeeded: true, place, counter: None };
        let measured = match judge(self.console.as_bytes(), ended, &image, scenario) {
            Err(failure) => return Answer::Failed { key, failure },
            Ok(measured) => measured,
        };
        if let Some(reason) = measured.declined {
            return Answer::NotApplicable { key, reason };
        }
        let mut span = scenario.span.clone();
        span.overhead = Overhead::Subtracted;
        let readings = if key.backend == Backend::Board {
            let samples = measured.samples.0;
            Readings::Sampled(Sampled { resolution: 1, samples })
        } else {
            Readings::Exact(measured.samples)
        };
        Answer::Measured(Box::new(Series {
            key,
            basis: Basis::Cycles,
            span,
            clock: self.clock,
            readings,
            executed: measured.executed,
            unpaired: measured.unpaired,
            facts: measured.facts,
            flags: Vec::new(),
            masked: None,
            held: None,
            emptied: None,
            placements: Vec::new(),
            no_multiple: scenario.no_multiple.clone(),
            provenance: self.provenance.clone(),
        }))
    }
}

#[cfg(test)]
mod tests;
