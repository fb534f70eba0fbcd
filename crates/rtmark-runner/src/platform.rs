//! Where firmware runs, and what is counted there.

use std::path::Path;

use rtmark_firmware::{Counter, Probes, Region, Target, sha256};
use rtmark_model::{Backend, Basis, ScenarioId};
use rtmark_qemu::{Machine, MachineError, Role};
use rtmark_units::Hertz;

use crate::bench::{Bench, Rehearsal};
use crate::socs::{self, SocFile, SocFileError, nearest};

/// Where firmware runs, and what is counted there.
#[derive(Clone, Debug)]
pub enum Platform {
    /// The simulator, which knows cycles and instructions.
    Sim(Box<SocFile>, Basis),
    /// One of QEMU's machines, which knows instructions only.
    Qemu(Box<MachineFile>),
    /// The simulator, which runs what a board would: probes that read a counter of cycles.
    Rehearsal(Box<Rehearsal>),
    /// A board, whose firmware reads a counter of cycles.
    Board(Box<Bench>),
}

/// A machine of QEMU's and the file it was read from.
#[derive(Clone, Debug)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// What a build must know of it.
    pub target: Target,
    /// SHA-256 of the file, and of the soc file that it names, in hexadecimal.
    pub sha256: String,
    /// Where it comes from: a path, or the name of a file of this program's source.
    pub origin: String,
}

/// Why a machine could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineFileError {
    /// The file cannot be read.
    #[error("{origin}: {source}")]
    Read {
        /// The file.
        origin: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file was refused.
    #[error("{origin}: {source}")]
    Form {
        /// The file.
        origin: String,
        /// Why, with the line.
        source: MachineError,
    },
    /// The soc that the file names.
    #[error("{origin}: {source}")]
    Soc {
        /// The file.
        origin: String,
        /// What is wrong with the soc.
        source: SocFileError,
    },
    /// No machine has that name.
    #[error("QEMU has no machine for `{name}`{}", near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// The name asked for.
        name: String,
        /// One like it.
        near: Option<String>,
    },
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("machines/", $name), include_str!(concat!("../../../machines/", $name)))),*]
    };
}

const BUILTIN: &[(&str, &str)] = builtin![
    "stm32c031.toml",
    "stm32f100.toml",
    "stm32f405.toml",
    "mps2-an505.toml",
    "rv32-virt.toml",
    "a72-virt.toml",
    "a76-virt.toml",
    "zcu102-r5.toml",
];

/// A machine from the text of a machine file; `origin` names it in errors.
///
/// # Errors
/// When the text is refused, or the soc that it names is.
pub fn machine_from_text(origin: &str, text: &str) -> Result<MachineFile, MachineFileError> {
    let machine = Machine::from_toml(text)
        .map_err(|source| MachineFileError::Form { origin: origin.to_owned(), source })?;
    let mut hash = sha256(text.as_bytes());
    let mut target = match &machine.soc {
        Some(soc) => {
            let soc = socs::find(soc)
                .map_err(|source| MachineFileError::Soc { origin: origin.to_owned(), source })?;
            hash = sha256(format!("{hash}{}", soc.sha256).as_bytes());
            Target::from(&soc.soc)
        }
        None => own_target(&machine),
    };
    let region = |role| {
        let memory = machine.memory_for(role)?;
        Some(Region { base: memory.base, size: memory.size })
    };
    target.flash = region(Role::Flash).or(target.flash);
    target.ram = region(Role::Ram).or(target.ram);
    target.name.clone_from(&machine.name);
    target.without.clone_from(&machine.without);
    target.probes = Probes::Clocked(
        machine
            .counter
            .as_ref()
            .map(|counter| Counter { address: counter.address, start: counter.start.clone() }),
    );
    Ok(MachineFile { machine, target, sha256: hash, origin: origin.to_owned() })
}

fn own_target(machine: &Machine) -> Target {
    Target {
        name: machine.name.clone(),
        core: machine.core.clone().unwrap_or_default(),
        clock: Hertz(machine.clock_hz.unwrap_or_default()),
        flash: None,
        ram: None,
        interrupts: 0,
        priority_bits: 0,
        init: Vec::new(),
        probes: Probes::Addresses,
        console: None,
        without: Vec::new(),
    }
}

/// The machines that came with this program.
///
/// # Errors
/// Never for a program that was tested; the files are read like any other's.
pub fn machines() -> Result<Vec<MachineFile>, MachineFileError> {
    BUILTIN.iter().map(|(origin, text)| machine_from_text(origin, text)).collect()
}

/// A machine by its name, or by the path of its file: what ends in `.toml` or has a path
/// separator is a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or is refused.
pub fn find_machine(name_or_path: &str) -> Result<MachineFile, MachineFileError> {
    if socs::is_path(name_or_path) {
        let origin = name_or_path.to_owned();
        let text = std::fs::read_to_string(Path::new(name_or_path))
            .map_err(|source| MachineFileError::Read { origin, source })?;
        return machine_from_text(name_or_path, &text);
    }
    let machines = machines()?;
    let names = || machines.iter().map(|file| file.machine.name.as_str());
    let near = nearest(name_or_path, names()).map(str::to_owned);
    let found = machines.into_iter().find(|file| file.machine.name == name_or_path);
    let name = name_or_path.escape_debug().to_string();
    found.ok_or(MachineFileError::Unknown { name, near })
}

impl From<SocFile> for Platform {
    fn from(soc: SocFile) -> Self {
        Self::Sim(Box::new(soc), Basis::Cycles)
    }
}

impl From<MachineFile> for Platform {
    fn from(machine: MachineFile) -> Self {
        Self::Qemu(Box::new(machine))
    }
}

impl Platform {
    /// The name of the soc or machine.
    pub fn name(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.soc.name,
            Self::Qemu(file) => &file.machine.name,
            Self::Rehearsal(rehearsal) => &rehearsal.file.soc.name,
            Self::Board(bench) => &bench.file.soc.soc.name,
        }
    }

    /// The core, as `kernel.toml` names it.
    pub fn core(&self) -> &str {
        match self {
            Self::Sim(file, _) => file.soc.core.name(),
            Self::Qemu(file) => &file.target.core,
            Self::Rehearsal(rehearsal) => rehearsal.file.soc.core.name(),
            Self::Board(bench) => bench.file.soc.soc.core.name(),
        }
    }

    /// The clock of the core, of the kernel's timer on QEMU.
    pub fn clock(&self) -> Hertz {
        match self {
            Self::Sim(file, _) => file.soc.clock,
            Self::Qemu(file) => file.target.clock,
            Self::Rehearsal(rehearsal) => rehearsal.file.soc.clock,
            Self::Board(bench) => bench.file.clock(),
        }
    }

    /// SHA-256 of the file that describes it, in hexadecimal.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.sha256,
            Self::Qemu(file) => &file.sha256,
            Self::Rehearsal(rehearsal) => &rehearsal.file.sha256,
            Self::Board(bench) => &bench.file.sha256,
        }
    }

    /// Where the file that describes it comes from.
    pub fn origin(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.origin,
            Self::Qemu(file) => &file.origin,
            Self::Rehearsal(rehearsal) => &rehearsal.file.origin,
            Self::Board(bench) => &bench.file.origin,
        }
    }

    /// What a build must know of it.
    pub fn target(&self) -> Target {
        match self {
            Self::Sim(file, _) => Target::from(&file.soc),
            Self::Qemu(file) => file.target.clone(),
            Self::Rehearsal(rehearsal) => rehearsal.target.clone(),
            Self::Board(bench) => bench.target.clone(),
        }
    }

    /// The backend.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Sim(..) | Self::Rehearsal(_) => Backend::Sim,
            Self::Qemu(_) => Backend::Qemu,
            Self::Board(_) => Backend::Board,
        }
    }

    /// What is counted.
    pub fn basis(&self) -> Basis {
        match self {
            Self::Sim(_, basis) => *basis,
            Self::Qemu(_) => Basis::Instructions,
            Self::Rehearsal(_) | Self::Board(_) => Basis::Cycles,
        }
    }

    /// Why a scenario cannot be had there, whatever the kernel.
    pub fn not_applicable(&self, scenario: &ScenarioId) -> Option<&str> {
        match self {
            Self::Sim(..) | Self::Rehearsal(_) | Self::Board(_) => None,
            Self::Qemu(file) => file.machine.not_applicable(scenario),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_of_the_repository_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
        for entry in std::fs::read_dir(folder).expect("there") {
            let name = format!("machines/{}", entry.expect("there").file_name().display());
            assert!(BUILTIN.iter().any(|(builtin, _)| *builtin == name), "{name} is not built in");
        }
        assert_eq!(machines().expect("good").len(), BUILTIN.len());
    }

    #[test]
    fn a_machine_that_runs_a_socs_firmware_is_built_for_as_that() {
        let machine = find_machine("stm32f405").expect("built in");
        let soc = socs::find("stm32f405").expect("built in");
        let target = Target { probes: machine.target.probes.clone(), ..Target::from(&soc.soc) };
        assert_eq!(machine.target, target);
        let counter = Counter { address: 0x4000_0024, start: vec![(0x4000_0000, 1)] };
        assert_eq!(machine.target.probes, Probes::Clocked(Some(counter)));
        let error = find_machine("stm32f450").expect_err("unknown").to_string();
        assert!(error.contains("did you mean `stm32f405`?"), "{error}");
    }
}
