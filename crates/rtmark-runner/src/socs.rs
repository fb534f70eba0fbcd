//! The socs built into this program, and those that users provide as files.

use rtmark_firmware::sha256;
use rtmark_sim::{Image, Soc};
use rtmark_units::Hertz;

use crate::description_file::{self, DescriptionFile, FileError, FileKind};

/// A soc and the file it was read from.
#[derive(Clone, Debug)]
pub struct SocFile {
    /// The soc.
    pub soc: Soc,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The text of the file.
    pub text: String,
    /// Where it comes from: a path, or the name of a file built into this program.
    pub origin: String,
}

/// The socs of the default suite: a small core and a large one.
const SUITE: [&str; 2] = ["stm32c031", "stm32f405"];

/// The name of the core's clock in the tree of a soc for which a user has given it.
const GIVEN_CLOCK: &str = "the given clock";

impl DescriptionFile for SocFile {
    const KIND: FileKind = FileKind::Soc;
    const BUILTIN: &'static [(&'static str, &'static str)] = description_file::files_of![
        "socs":
        "stm32c031.toml",
        "stm32g071.toml",
        "stm32f100.toml",
        "stm32f103.toml",
        "stm32f405.toml",
        "stm32f411.toml",
        "stm32f446.toml",
        "stm32g431.toml",
        "mps2-an385.toml",
        "mps2-an386.toml",
        "mps2-an505.toml",
        "nrf51822.toml",
        "nrf52832.toml",
        "nrf52840.toml",
        "rp2040.toml",
        "stm32l432.toml",
        "generic-cortex-m0.toml",
        "generic-cortex-m0plus.toml",
        "generic-cortex-m3.toml",
        "generic-cortex-m4.toml",
        "generic-cortex-m4f.toml",
        "generic-cortex-m7.toml",
        "generic-cortex-m33.toml",
        "generic-hazard3.toml",
        "generic-ibex.toml",
        "zynqmp-r5.toml",
        "lm3s6965.toml",
        "rp2350.toml",
        "rp2350-riscv.toml",
        "stm32h743.toml",
        "imxrt1062.toml",
        "same70.toml",
    ];

    fn from_text(origin: &str, text: &str) -> Result<Self, FileError> {
        let soc = Soc::from_toml(text).map_err(|source| Self::invalid(origin, source))?;
        let (sha256, text, origin) = (sha256(text.as_bytes()), text.to_owned(), origin.to_owned());
        Ok(Self { soc, sha256, text, origin })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.soc.name.as_str())
    }
}

impl SocFile {
    /// Returns the same soc with another clock of its core, which no register changes.
    ///
    /// # Errors
    /// When a soc cannot have that clock.
    pub fn at_clock(&self, clock: Hertz) -> Result<Self, FileError> {
        let hertz = toml::Value::from(i64::from(clock.0));
        let mut soc: toml::Table = self.text.parse().unwrap_or_default();
        soc.insert("clock_hz".to_owned(), hertz.clone());
        let core = toml::Value::from(GIVEN_CLOCK);
        let node =
            toml::Table::from_iter([("name".to_owned(), core.clone()), ("hz".to_owned(), hertz)]);
        // The others stay, since peripherals may count them.
        let tree = soc.get("clock_tree").and_then(|tree| tree.get("clock"));
        let mut clocks = tree.and_then(toml::Value::as_array).cloned().unwrap_or_default();
        clocks.retain(|clock| clock.get("name") != Some(&core));
        clocks.push(node.into());
        let tree = [("core".to_owned(), core), ("clock".to_owned(), clocks.into())];
        soc.insert("clock_tree".to_owned(), toml::Table::from_iter(tree).into());
        self.changed(&soc)
    }

    /// Returns whether its clock is one that a user has given.
    pub fn has_given_clock(&self) -> bool {
        self.soc.clock_tree.as_ref().is_some_and(|tree| tree.core == GIVEN_CLOCK)
    }

    /// Returns the same soc with another crystal. `None` if its clock tree has no crystal.
    ///
    /// # Errors
    /// When a soc cannot have that crystal.
    pub fn with_crystal(&self, crystal: Hertz) -> Result<Option<Self>, FileError> {
        let mut soc: toml::Table = self.text.parse().unwrap_or_default();
        let clocks = soc.get_mut("clock_tree").and_then(|tree| tree.get_mut("clock"));
        let mut clocks = clocks.and_then(toml::Value::as_array_mut).into_iter().flatten();
        let Some(found) = clocks.find_map(|clock| clock.get_mut("crystal_hz")) else {
            return Ok(None);
        };
        *found = i64::from(crystal.0).into();
        self.changed(&soc).map(Some)
    }

    fn changed(&self, soc: &toml::Table) -> Result<Self, FileError> {
        from_text(&self.origin, &soc.to_string())
    }

    /// Returns the soc for running an image, which decides what the core's clock follows.
    #[must_use]
    pub fn for_image(&self, image: &Image) -> Self {
        let clock_control = rtmark_observe::clock_control(image);
        Self { soc: Soc { clock_control, ..self.soc.clone() }, ..self.clone() }
    }

    /// Returns the same soc, whose times are of another clock. What its core's clock follows is unchanged.
    #[must_use]
    pub fn timed_at(&self, clock: Hertz) -> Self {
        Self { soc: Soc { clock, ..self.soc.clone() }, ..self.clone() }
    }
}

/// Parses the text of a soc file; `origin` names it in errors.
///
/// # Errors
/// When the text is rejected.
pub fn from_text(origin: &str, text: &str) -> Result<SocFile, FileError> {
    SocFile::from_text(origin, text)
}

/// Returns the socs that are built into this program.
///
/// # Errors
/// Never in a released program: tests read every built-in file. They are parsed like a user's files.
pub fn builtin() -> Result<Vec<SocFile>, FileError> {
    description_file::builtin()
}

/// Returns the socs that are measured if none is named.
///
/// # Errors
/// Those of [`builtin`].
pub fn suite() -> Result<Vec<SocFile>, FileError> {
    let mut socs = builtin()?;
    socs.retain(|file| SUITE.contains(&file.soc.name.as_str()));
    Ok(socs)
}

/// Finds a soc by its name or by the path of its file. A name that ends in `.toml` or contains a path
/// separator is taken as a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or parsed.
pub fn find(name_or_path: &str) -> Result<SocFile, FileError> {
    description_file::find(name_or_path)
}
