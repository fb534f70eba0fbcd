//! A firmware image that somebody else has built, as a kernel's column.
//!
//! It is run twice: at full speed, until it ends or its output says so, for what it prints; and observed,
//! for its calls of its kernel's functions. Calls that have a scenario's span become samples of that
//! scenario; all others, and the rows that a benchmark program prints, are answers of backend `log`,
//! which say what they are like and what keeps them from being compared.

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
use rtmark_sim::{Image, Machine};
use rtmark_units::Cycles;

use crate::given;
use crate::socs::SocFile;

pub use observed::ImageFootprint;

/// A firmware image of somebody else's, and what its column is called.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// What the column is called.
    pub name: KernelId,
    path: String,
    elf: Vec<u8>,
    image: Image,
    sha256: String,
    /// Where scenarios begin and end, in an image of rtmark's own.
    records: Vec<Record>,
}

/// Why a file cannot be a column.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// What is to be its name is none.
    #[error(transparent)]
    Name(#[from] IdError),
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no ELF file of a 32-bit core.
    #[error("{path}: {problem}")]
    Image {
        /// Its path.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// What is asked of each image.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What scenarios mean.
    pub catalogue: &'a Catalogue,
    /// The scenarios that are wanted; all without.
    pub scenarios: &'a [Pattern],
    /// Cycles after which a run is cut, instead of 60 seconds of a benchmark program's clock, one
    /// second of any other's, and a second of each that is observed.
    pub max_cycles: Option<Cycles>,
    /// The version of the program, for the provenance.
    pub rtmark: &'a str,
    /// SHA-256 of the program, in hexadecimal.
    pub rtmark_sha256: Option<&'a str>,
}

/// What an image brought on a soc.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Series of scenarios; then calls and rows that are no scenario's; then what went wrong.
    pub answers: Vec<Answer>,
    /// What else is to be said, a sentence each.
    pub notes: Vec<String>,
}

impl Asked<'_> {
    fn wants(&self, scenario: &Scenario) -> bool {
        let names = [scenario.id.as_str(), scenario.in_firmware().as_str()];
        let fits = |pattern: &Pattern| names.iter().any(|name| pattern.matches(name));
        self.scenarios.is_empty() || self.scenarios.iter().any(fits)
    }
}

impl Foreign {
    /// Reads an image.
    ///
    /// # Errors
    /// When the name is none, or the file cannot be read or is no ELF file of a 32-bit core.
    pub fn read(name: &str, path: &Path) -> Result<Self, ColumnError> {
        let name = name.parse()?;
        let shown = visible(path.display().to_string().as_bytes());
        let elf = given::read_bytes(path)
            .map_err(|error| ColumnError::File { path: shown.clone(), error })?;
        let refuse = |problem: String| ColumnError::Image { path: shown.clone(), problem };
        let image = Image::from_elf(&elf).map_err(|error| refuse(error.to_string()))?;
        let records = image.section(SECTION).map_or(Ok(Vec::new()), probes::parse);
        let records = records.map_err(|error| refuse(error.to_string()))?;
        let sha256 = sha256(&elf);
        Ok(Self { name, path: shown, elf, image, sha256, records })
    }

    /// Its file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// SHA-256 of its file, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The benchmark program that it is, if it is a known one.
    fn known_program(&self) -> Option<Program> {
        let names: BTreeSet<String> = self.image.symbols().names().collect();
        Program::recognised(|name| names.contains(name))
    }

    /// Runs it on a soc, and measures what it calls and prints. `advanced` is told now and then how
    /// many cycles of how many have passed.
    pub fn measure(
        &self,
        soc: &SocFile,
        asked: &Asked<'_>,
        mut advanced: impl FnMut(Cycles, Cycles),
    ) -> Column {
        let mut machine = Machine::new(&soc.soc);
        if let Err(error) = machine.load(&self.image) {
            return self.refused(soc, &error.to_string());
        }
        if probes::scenarios(&self.records).next().is_some() {
            return self.own(soc, &machine, asked, &mut advanced);
        }
        let program = self.known_program();
        if let Some(program) = &program {
            // On a soc without a UART it waits for ever, which is told of it then.
            let _ = machine.connect_uart(None, program.sent.as_bytes());
        }
        self.program(soc, &machine, program.as_ref(), asked, &mut advanced)
    }
}
