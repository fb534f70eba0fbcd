//! Measures a finished firmware image, built by somebody else, as a column of the table.
//!
//! The image runs twice: at full speed until it ends or announces its end, to collect what it prints;
//! and observed, to record the calls of its kernel's functions. Calls that match a scenario's span
//! become samples of that scenario. All other calls, and the rows that a benchmark program prints,
//! become answers of backend `log`, which state what they resemble and why they cannot be compared.

mod answers;
mod console;
mod observed;
mod watched;

use std::collections::BTreeSet;
use std::path::Path;

use rtmark_firmware::probes::{self, Record, SECTION};
use rtmark_firmware::sha256;
use rtmark_import::Program;
use rtmark_model::{Answer, Catalogue, IdError, KernelId, Pattern, Scenario, visible};
use rtmark_observe::{ClockOrigin, RunClock};
use rtmark_sim::{Image, Machine};
use rtmark_units::{Cycles, Hertz};

use crate::input_file;
use crate::socs::SocFile;

pub use observed::ImageFootprint;

/// Seconds of its clock after which a benchmark program is stopped.
const PROGRAM_SECONDS: u64 = 60;

/// A foreign firmware image and the name of its column.
#[derive(Clone, Debug)]
pub struct ForeignImage {
    /// The column's name.
    pub name: KernelId,
    path: String,
    elf: Vec<u8>,
    image: Image,
    sha256: String,
    /// The probe records, if the image is one of rtmark's own.
    records: Vec<Record>,
    /// The core's clock, if it is given.
    clock: Option<Hertz>,
    /// The board's crystal, if it is given.
    crystal: Option<Hertz>,
}

/// The reason why a file cannot become a column.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// The name for the column is not valid.
    #[error(transparent)]
    Name(#[from] IdError),
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// It is not an ELF file for a 32-bit core.
    #[error("{path}: {problem}")]
    Image {
        /// Its path.
        path: String,
        /// What is wrong with the file.
        problem: String,
    },
}

/// The measurements requested of each image.
#[derive(Clone, Debug)]
pub struct ColumnOptions<'a> {
    /// The scenario definitions.
    pub catalogue: &'a Catalogue,
    /// The scenarios to measure; all if empty.
    pub scenarios: &'a [Pattern],
    /// The cycles after which a run is cut off. Without it, a known benchmark program may run for 60
    /// seconds of its clock, any other for one second. The observed run is as long if the program
    /// announces its end within 100 million instructions, otherwise it is one second.
    pub max_cycles: Option<Cycles>,
    /// The version of rtmark, for the provenance.
    pub rtmark: &'a str,
    /// SHA-256 of rtmark's executable, in hexadecimal.
    pub rtmark_sha256: Option<&'a str>,
}

/// The result of measuring an image on a soc.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Series of scenarios, then calls and rows that match no scenario, then failures.
    pub answers: Vec<Answer>,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
}

impl ColumnOptions<'_> {
    fn includes(&self, scenario: &Scenario) -> bool {
        let names = [scenario.id.as_str(), scenario.in_firmware().as_str()];
        let fits = |pattern: &Pattern| names.iter().any(|name| pattern.matches(name));
        self.scenarios.is_empty() || self.scenarios.iter().any(fits)
    }
}

impl ForeignImage {
    /// Reads an image.
    ///
    /// # Errors
    /// When the name is not valid, or the file cannot be read or is not an ELF file for a 32-bit core.
    pub fn read(name: &str, path: &Path) -> Result<Self, ColumnError> {
        let name = name.parse()?;
        let shown = visible(path.display().to_string().as_bytes());
        let elf = input_file::read_bytes(path)
            .map_err(|error| ColumnError::File { path: shown.clone(), error })?;
        let refuse = |problem: String| ColumnError::Image { path: shown.clone(), problem };
        let image = Image::from_elf(&elf).map_err(|error| refuse(error.to_string()))?;
        let records = image.section(SECTION).map_or(Ok(Vec::new()), probes::parse);
        let records = records.map_err(|error| refuse(error.to_string()))?;
        let sha256 = sha256(&elf);
        Ok(Self { name, path: shown, elf, image, sha256, records, clock: None, crystal: None })
    }

    /// Returns the image with a core's clock that is given instead of found.
    #[must_use]
    pub fn at_clock(self, clock: Option<Hertz>) -> Self {
        Self { clock, ..self }
    }

    /// Returns the image on a board with another crystal than the soc's file has.
    #[must_use]
    pub fn with_crystal(self, crystal: Option<Hertz>) -> Self {
        Self { crystal, ..self }
    }

    /// Returns the soc on which the image runs.
    fn soc(&self, soc: &SocFile) -> SocFile {
        let given = match (self.clock, self.crystal) {
            (Some(clock), _) => soc.at_clock(clock).ok(),
            (None, Some(crystal)) => soc.with_crystal(crystal).ok().flatten(),
            (None, None) => None,
        };
        given.as_ref().unwrap_or(soc).for_image(&self.image)
    }

    /// Returns the path of its file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the SHA-256 of its file, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Identifies the benchmark program in the image, if it is a known one.
    fn known_program(&self) -> Option<Program> {
        let names: BTreeSet<String> = self.image.symbols().names().collect();
        Program::recognise(|name| names.contains(name))
    }

    /// Runs the image on a soc and measures its calls and its output. `advanced` is called now and then
    /// with the cycles that have passed and the total.
    pub fn measure(
        &self,
        soc: &SocFile,
        options: &ColumnOptions<'_>,
        mut advanced: impl FnMut(Cycles, Cycles),
    ) -> Column {
        self.measure_at(&self.soc(soc), None, options, &mut advanced)
    }

    /// Measures the image on a soc, or once more on the same soc with times at the clock that the core
    /// turns out to have; `notes` are what the first run has shown of it.
    fn measure_at(
        &self,
        soc: &SocFile,
        notes: Option<Vec<String>>,
        options: &ColumnOptions<'_>,
        advanced: &mut impl FnMut(Cycles, Cycles),
    ) -> Column {
        let mut machine = Machine::new(&soc.soc);
        if let Err(error) = machine.load(&self.image) {
            return self.rejected(soc, &error.to_string());
        }
        if probes::scenarios(&self.records).next().is_some() {
            return self.measure_own(soc, &machine, options, advanced);
        }
        let program = self.known_program();
        if let Some(program) = &program {
            // On a soc without a UART the program waits for ever, and the report says so.
            let _ = machine.connect_uart(None, program.sent.as_bytes());
        }
        let limit = options.max_cycles.unwrap_or(usual_limit(soc, program.as_ref()));
        let printed = console::run(machine.clone(), &self.image, program.as_ref(), limit, advanced);
        let is_first = notes.is_none();
        let notes = notes.unwrap_or_else(|| clock_notes(soc, &printed.clock));
        if is_first && let Some(timed) = self.soc_at(soc, &printed.clock) {
            return self.measure_at(&timed, Some(notes), options, advanced);
        }
        let mut column =
            self.program(soc, &machine, (program.as_ref(), &printed), options, advanced);
        let notes = notes.into_iter().chain(printed.stack_overflow).chain(printed.without_model);
        column.notes.extend(notes.map(|note| format!("{}: {note}", self.name)));
        column
    }

    /// Returns the soc with times at the clock that a run has shown, if that is another clock.
    fn soc_at(&self, soc: &SocFile, clock: &RunClock) -> Option<SocFile> {
        let main = clock.main();
        match clock.origin {
            _ if main == soc.soc.clock => None,
            ClockOrigin::Registers => Some(soc.timed_at(main)),
            _ => soc.at_clock(main).ok().map(|soc| soc.for_image(&self.image)),
        }
    }
}

/// Returns what a user should know of the clock of an image's run.
fn clock_notes(soc: &SocFile, clock: &RunClock) -> Vec<String> {
    let main = clock.main();
    let mut notes = match clock.origin {
        // Peripherals run at this clock, too.
        ClockOrigin::Program(symbol) if soc.soc.clock_tree.is_none() => {
            return if main == soc.soc.clock {
                Vec::new()
            } else {
                vec![format!("times are at {main}, as its {symbol} states")]
            };
        }
        ClockOrigin::Registers if main != soc.soc.clock || clock.history.changes().len() > 1 => {
            vec![format!(
                "times are at {main}; by its clock registers, the core runs at {}",
                clock.describe()
            )]
        }
        _ => Vec::new(),
    };
    notes.extend(clock.notes.iter().map(ToString::to_string));
    notes
}

/// Returns the cycles after which a run at full speed is cut off.
fn usual_limit(soc: &SocFile, program: Option<&Program>) -> Cycles {
    let second = u64::from(soc.soc.clock.0);
    Cycles(program.map_or(second, |_| second * PROGRAM_SECONDS))
}
