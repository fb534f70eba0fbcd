//! The QEMU machines built into this program, and those that users provide as files.

use rtmark_firmware::{Counter, Probes, Region, Target, sha256};
use rtmark_qemu::{Machine, Role};
use rtmark_units::Hertz;

use crate::description_file::{self, DescriptionFile, FileError, FileKind};
use crate::socs;

/// A QEMU machine and the file it was read from.
#[derive(Clone, Debug)]
pub struct MachineFile {
    /// The machine.
    pub machine: Machine,
    /// What a build needs to know about it.
    pub target: Target,
    /// SHA-256 of the file and of the soc file that it names, in hexadecimal.
    pub sha256: String,
    /// Where it comes from: a path, or the name of a file built into this program.
    pub origin: String,
}

impl DescriptionFile for MachineFile {
    const KIND: FileKind = FileKind::Machine;
    const BUILTIN: &'static [(&'static str, &'static str)] = description_file::files_of![
        "machines":
        "stm32c031.toml",
        "stm32f100.toml",
        "stm32f405.toml",
        "mps2-an505.toml",
        "rv32-virt.toml",
        "a72-virt.toml",
        "a76-virt.toml",
        "zcu102-r5.toml",
        "lx106-sim.toml",
    ];

    fn from_text(origin: &str, text: &str) -> Result<Self, FileError> {
        let machine = Machine::from_toml(text).map_err(|source| Self::invalid(origin, source))?;
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

fn own_target(machine: &Machine) -> Target {
    Target {
        name: machine.name.clone(),
        core: machine.core.clone().unwrap_or_default(),
        clock: Hertz(machine.clock_hz.unwrap_or_default()),
        flash: None,
        ram: None,
        interrupts: 0,
        priority_bits: 0,
        timer: None,
        init: Vec::new(),
        probes: Probes::Addresses,
        console: None,
        mtime: None,
        without: Vec::new(),
    }
}

/// Returns the machines that are built into this program.
///
/// # Errors
/// Never in a released program: tests read every built-in file. They are parsed like a user's files.
pub fn builtin() -> Result<Vec<MachineFile>, FileError> {
    description_file::builtin()
}

/// Finds a machine by its name or by the path of its file. A name that ends in `.toml` or contains a
/// path separator is taken as a path.
///
/// # Errors
/// When the name is unknown, or the file cannot be read or parsed.
pub fn find(name_or_path: &str) -> Result<MachineFile, FileError> {
    description_file::find(name_or_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Catalogue;

    #[test]
    fn machines_state_why_scenarios_are_missing() {
        let catalogue = Catalogue::builtin().expect("built in");
        for file in builtin().expect("built in") {
            let left_out = |group: &str| file.machine.without.iter().any(|image| image == group);
            for scenario in catalogue.scenarios().iter().filter(|it| left_out(it.id.group())) {
                let excuse = file.machine.not_applicable(&scenario.id);
                assert!(excuse.is_some(), "{}: {}", file.machine.name, scenario.id);
            }
        }
    }

    #[test]
    fn machines_that_run_a_socs_firmware_use_its_build() {
        let machine = find("stm32f405").expect("built in");
        let soc = socs::find("stm32f405").expect("built in");
        let target = Target { probes: machine.target.probes.clone(), ..Target::from(&soc.soc) };
        assert_eq!(machine.target, target);
        let counter = Counter { address: 0x4000_0024, start: vec![(0x4000_0000, 1)] };
        assert_eq!(machine.target.probes, Probes::Clocked(Some(counter)));
    }
}
