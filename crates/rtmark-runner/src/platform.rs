//! Where firmware runs, and what is counted there.

use rtmark_firmware::{Counter, Probes, Region, Target, sha256};
use rtmark_model::{Backend, Basis, ScenarioId};
use rtmark_qemu::{Machine, Role};
use rtmark_units::Hertz;

use crate::bench::{Bench, Rehearsal};
use crate::described::{self, Described, FileError, FileKind};
use crate::socs::{self, SocFile};

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

impl Described for MachineFile {
    const KIND: FileKind = FileKind::Machine;
    const BUILTIN: &'static [(&'static str, &'static str)] = described::files_of![
        "machines":
        "stm32c031.toml",
        "stm32f100.toml",
        "stm32f405.toml",
        "mps2-an505.toml",
        "rv32-virt.toml",
        "a72-virt.toml",
        "a76-virt.toml",
        "zcu102-r5.toml",
    ];

    fn from_text(origin: &str, text: &str) -> Result<Self, FileError> {
        let machine = Machine::from_toml(text).map_err(|source| Self::refused(origin, source))?;
        let mut hash = sha256(text.as_bytes());
        let mut target = match &machine.soc {
            Some(soc) => {
                let soc = socs::find(soc).map_err(|source| Self::wrong_soc(origin, source))?;
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
        Ok(Self { machine, target, sha256: hash, origin: origin.to_owned() })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.machine.name.as_str())
    }
}

/// A machine from the text of a machine file; `origin` names it in errors.
///
/// # Errors
/// When the text is refused, or the soc that it names is.
pub fn machine_from_text(origin: &str, text: &str) -> Result<MachineFile, FileError> {
    MachineFile::from_text(origin, text)
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
pub fn machines() -> Result<Vec<MachineFile>, FileError> {
    described::builtin()
}

/// A machine by its name, or by the path of its file: what ends in `.toml` or has a path
/// separator is a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or is refused.
pub fn find_machine(name_or_path: &str) -> Result<MachineFile, FileError> {
    described::find(name_or_path)
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
    fn a_machine_that_runs_a_socs_firmware_is_built_for_as_that() {
        let machine = find_machine("stm32f405").expect("built in");
        let soc = socs::find("stm32f405").expect("built in");
        let target = Target { probes: machine.target.probes.clone(), ..Target::from(&soc.soc) };
        assert_eq!(machine.target, target);
        let counter = Counter { address: 0x4000_0024, start: vec![(0x4000_0000, 1)] };
        assert_eq!(machine.target.probes, Probes::Clocked(Some(counter)));
    }
}
