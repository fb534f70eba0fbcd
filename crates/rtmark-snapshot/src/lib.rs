//! Snapshots: a moment of a simulated run, stored in a file.
//!
//! A machine runs the same way every time, so the moment is determined by the run's inputs, including
//! the image and the soc, and by how far it had come. To resume is to run to that point again at full
//! speed, and to check that registers, memories and cycles are the same. So a snapshot is small, means
//! the same on every computer, and depends on no detail of the simulator but its timing model. (The
//! idea is that of record and replay: a deterministic run is represented by its inputs.)
//!
//! This crate implements the format and the check. It opens no files, does not interpret the options
//! with which a run was started, and runs nothing.

use rtmark_sim::{Cycles, Machine, MemoryKind, TIMING_MODEL};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const MAGIC: &[u8; 8] = b"RTMARKSN";
/// The version of the format.
const VERSION: u32 = 1;
/// Magic, version and the SHA-256 of the contents in hexadecimal.
const HEADER: usize = 8 + 4 + 64;

/// The inputs of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInputs {
    /// The path of the image, for messages.
    pub image_name: String,
    /// The contents of the image's file.
    pub image: Vec<u8>,
    /// The path of the soc's file, for messages.
    pub soc_name: String,
    /// The text of the soc file.
    pub soc: String,
    /// The options that the run depends on, as the caller wrote them.
    pub options: Vec<String>,
}

/// The inputs of a run, and a moment of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    timing_model: String,
    inputs: RunInputs,
    /// The cycle limit that it had reached, unless something ended it before.
    limit: u64,
    cycles: u64,
    instructions: u64,
    /// See [`digest`].
    state: String,
}

/// The reason why a file is not a usable snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It is shorter than a snapshot's header.
    #[error("too short for an rtmark snapshot")]
    Short,
    /// It does not begin like a snapshot.
    #[error("not an rtmark snapshot")]
    Foreign,
    /// It has another format version.
    #[error("a snapshot of version {0}; this rtmark reads {VERSION}")]
    Version(u32),
    /// Its checksum does not match its contents.
    #[error("a damaged or truncated snapshot")]
    Damaged,
    /// The checksum is correct, but the contents are not valid.
    #[error("a damaged snapshot: {0}")]
    Contents(String),
    /// It was made with other timing rules, which give other cycles.
    #[error("made with timing model {0}; this rtmark has {TIMING_MODEL}, and cycles differ")]
    TimingModel(String),
}

impl SnapshotError {
    /// Returns what to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Foreign => "give a file that --snapshot wrote",
            Self::Version(_) | Self::TimingModel(_) => {
                "make it again with this rtmark, or use the one that made it"
            }
            Self::Short | Self::Damaged | Self::Contents(_) => {
                "make it again with --snapshot, and copy it whole"
            }
        }
    }
}

/// A machine that was brought to a snapshot's moment is in another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it leads to another state: cycle {now} instead of {kept}")]
pub struct OtherState {
    /// The cycle of the machine.
    pub now: u64,
    /// The cycle of the snapshot.
    pub kept: u64,
}

/// A snapshot cannot be serialised, which is a bug in rtmark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(String);

fn sha256(bytes: &[u8]) -> String {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Sha256::digest(bytes).iter().fold(String::new(), hex)
}

/// Returns the SHA-256 of everything that the program can observe, in hexadecimal: cycles,
/// instructions, registers, memories.
pub fn digest(machine: &Machine) -> String {
    let mut bytes = Vec::new();
    bytes.extend(machine.cycles().0.to_le_bytes());
    bytes.extend(machine.instructions().0.to_le_bytes());
    for (_, register) in machine.named_registers() {
        bytes.extend(machine.register(register).to_le_bytes());
    }
    for memory in &machine.soc().memories {
        let writable = memory.kind == MemoryKind::Ram;
        bytes.push(u8::from(writable));
        bytes.extend(machine.peek(memory.base, memory.size as usize));
    }
    sha256(&bytes)
}

impl Snapshot {
    /// Creates a snapshot of a machine, with the inputs of its run and the cycle limit that the run was
    /// to reach.
    pub fn new(inputs: RunInputs, machine: &Machine, limit: Cycles) -> Self {
        Self {
            timing_model: TIMING_MODEL.to_owned(),
            inputs,
            limit: limit.0,
            cycles: machine.cycles().0,
            instructions: machine.instructions().0,
            state: digest(machine),
        }
    }

    /// Parses a file's contents.
    ///
    /// # Errors
    ///
    /// When they are not a snapshot, damaged, or of another format version or timing model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (header, contents) = bytes.split_at_checked(HEADER).ok_or(SnapshotError::Short)?;
        let (magic, rest) = header.split_at(MAGIC.len());
        let (version, checksum) = rest.split_at(4);
        if magic != MAGIC {
            return Err(SnapshotError::Foreign);
        }
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(SnapshotError::Version(version));
        }
        if sha256(contents).as_bytes() != checksum {
            return Err(SnapshotError::Damaged);
        }
        let snapshot: Self = postcard::from_bytes(contents)
            .map_err(|error| SnapshotError::Contents(error.to_string()))?;
        if snapshot.timing_model != TIMING_MODEL {
            return Err(SnapshotError::TimingModel(snapshot.timing_model));
        }
        Ok(snapshot)
    }

    /// Returns the contents of the file.
    ///
    /// # Errors
    ///
    /// When the serialiser fails, which would be a bug.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let contents =
            postcard::to_allocvec(self).map_err(|error| EncodeError(error.to_string()))?;
        let checksum = sha256(&contents);
        Ok([MAGIC.as_slice(), &VERSION.to_le_bytes(), checksum.as_bytes(), &contents].concat())
    }

    /// Returns the inputs of the run.
    pub const fn inputs(&self) -> &RunInputs {
        &self.inputs
    }

    /// Returns the cycle limit with which a run with these inputs leads to the moment.
    pub const fn limit(&self) -> Cycles {
        Cycles(self.limit)
    }

    /// Returns whether the moment is still to come for a machine in the same cycle: several instructions
    /// may complete in one.
    pub fn is_later_than(&self, machine: &Machine) -> bool {
        machine.cycles().0 == self.cycles && machine.instructions().0 < self.instructions
    }

    /// Compares a machine that was brought to the moment with the snapshot.
    ///
    /// # Errors
    ///
    /// When cycles, instructions, registers or memories differ.
    pub fn check(&self, machine: &Machine) -> Result<(), OtherState> {
        let there = (machine.cycles().0, machine.instructions().0);
        if there == (self.cycles, self.instructions) && digest(machine) == self.state {
            Ok(())
        } else {
            Err(OtherState { now: there.0, kept: self.cycles })
        }
    }
}

#[cfg(test)]
mod tests;
