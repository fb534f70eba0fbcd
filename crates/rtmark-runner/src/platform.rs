//! The platforms on which firmware runs, and what is counted there.

use rtmark_firmware::Target;
use rtmark_model::{Backend, Basis, ScenarioId, Tier, TimingBasis};
use rtmark_units::Hertz;

use crate::boards::{Bench, Rehearsal};
use crate::machines::MachineFile;
use crate::socs::SocFile;

/// A platform on which firmware runs, and what is counted there.
#[derive(Clone, Debug)]
pub enum Platform {
    /// The simulator, which counts cycles or instructions.
    Sim(Box<SocFile>, Basis),
    /// A QEMU machine, which counts instructions only.
    Qemu(Box<MachineFile>),
    /// The simulator running what a board would: probes that read a cycle counter.
    Rehearsal(Box<Rehearsal>),
    /// A board, whose firmware reads a cycle counter.
    Board(Box<Bench>),
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
    /// Returns the name of the soc or machine.
    pub fn name(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.soc.name,
            Self::Qemu(file) => &file.machine.name,
            Self::Rehearsal(rehearsal) => &rehearsal.file.soc.name,
            Self::Board(bench) => &bench.file.soc.soc.name,
        }
    }

    /// Returns the core as named in `kernel.toml`.
    pub fn core(&self) -> &str {
        match self {
            Self::Sim(file, _) => file.soc.core.name(),
            Self::Qemu(file) => &file.target.core,
            Self::Rehearsal(rehearsal) => rehearsal.file.soc.core.name(),
            Self::Board(bench) => bench.file.soc.soc.core.name(),
        }
    }

    /// Returns the clock of the core; on QEMU, that of the kernel's timer.
    pub fn clock(&self) -> Hertz {
        match self {
            Self::Sim(file, _) => file.soc.clock,
            Self::Qemu(file) => file.target.clock,
            Self::Rehearsal(rehearsal) => rehearsal.file.soc.clock,
            Self::Board(bench) => bench.file.clock(),
        }
    }

    /// Returns the SHA-256 of the file that describes it, in hexadecimal.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.sha256,
            Self::Qemu(file) => &file.sha256,
            Self::Rehearsal(rehearsal) => &rehearsal.file.sha256,
            Self::Board(bench) => &bench.file.sha256,
        }
    }

    /// Returns where the file that describes it comes from.
    pub fn origin(&self) -> &str {
        match self {
            Self::Sim(file, _) => &file.origin,
            Self::Qemu(file) => &file.origin,
            Self::Rehearsal(rehearsal) => &rehearsal.file.origin,
            Self::Board(bench) => &bench.file.origin,
        }
    }

    /// Returns what a build needs to know about it.
    pub fn target(&self) -> Target {
        match self {
            Self::Sim(file, _) => Target::from(&file.soc),
            Self::Qemu(file) => file.target.clone(),
            Self::Rehearsal(rehearsal) => rehearsal.target.clone(),
            Self::Board(bench) => bench.target.clone(),
        }
    }

    /// Returns the backend.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Sim(..) | Self::Rehearsal(_) => Backend::Sim,
            Self::Qemu(_) => Backend::Qemu,
            Self::Board(_) => Backend::Board,
        }
    }

    /// Returns the basis of the cycles counted there; none if no timing model counts them.
    pub fn timing_basis(&self) -> Option<TimingBasis> {
        let soc = match self {
            Self::Sim(file, Basis::Cycles) => &file.soc,
            Self::Rehearsal(rehearsal) => &rehearsal.file.soc,
            Self::Sim(..) | Self::Qemu(_) | Self::Board(_) => return None,
        };
        let tier = |tier| match tier {
            rtmark_sim::Tier::Measured => Tier::Measured,
            rtmark_sim::Tier::Documented => Tier::Documented,
            rtmark_sim::Tier::Estimated => Tier::Estimated,
        };
        let rtmark_sim::TimingBasis { core, memory, exceptions } = soc.timing_basis();
        Some(TimingBasis { core: tier(core), memory: tier(memory), exceptions: tier(exceptions) })
    }

    /// Returns the unit that is counted.
    pub fn basis(&self) -> Basis {
        match self {
            Self::Sim(_, basis) => *basis,
            Self::Qemu(_) => Basis::Instructions,
            Self::Rehearsal(_) | Self::Board(_) => Basis::Cycles,
        }
    }

    /// Returns why a scenario cannot run there with any kernel, if so.
    pub fn not_applicable(&self, scenario: &ScenarioId) -> Option<&str> {
        match self {
            Self::Sim(..) | Self::Rehearsal(_) | Self::Board(_) => None,
            Self::Qemu(file) => file.machine.not_applicable(scenario),
        }
    }
}
