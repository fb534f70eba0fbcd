//! Where firmware runs, and what is counted there.

use rtmark_firmware::Target;
use rtmark_model::{Backend, Basis, ScenarioId, Tier, TimingBasis};
use rtmark_units::Hertz;

use crate::boards::{Bench, Rehearsal};
use crate::machines::MachineFile;
use crate::socs::SocFile;

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

    /// What cycles rest on that are counted there; none where no model counts them.
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
