//! Snapshots: a moment of a simulated run as a file's contents.
//!
//! A machine runs the same way each time, so contents that hold what the run was made of, the image
//! and the soc among it, and how far it had come, hold the moment. To resume is to run there again
//! at full speed, and to check that registers, memories and cycles are what they were. So a snapshot
//! is small, means the same on every computer, and depends on no detail of the simulator but its
//! timing model. (The idea is that of record and replay: what is kept of a deterministic run is its
//! inputs.)
//!
//! This crate knows the form and the check. It opens no files, does not know what the options mean
//! that a run was begun with, and runs nothing.

use rtmark_sim::{Cycles, Machine, MemoryKind, TIMING_MODEL};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const MAGIC: &[u8; 8] = b"RTMARKSN";
/// The version of the form.
const VERSION: u32 = 1;
/// Magic, version and the contents' SHA-256 in hexadecimal.
const HEADER: usize = 8 + 4 + 64;

/// What a run is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The path of the image, for messages.
    pub image_name: String,
    /// What the image's file held.
    pub image: Vec<u8>,
    /// Where the soc's file was, for messages.
    pub soc_name: String,
    /// The soc file's text.
    pub soc: String,
    /// Options that the run depends on, in the words of whoever began it.
    pub options: Vec<String>,
}

/// What a run is made of, and a moment of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    timing_model: String,
    begun: Begun,
    /// The cycle limit that it had come to, or something had ended it before.
    limit: u64,
    cycles: u64,
    instructions: u64,
    /// See [`digest`].
    state: String,
}

/// Why contents are no snapshot that this rtmark can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Shorter than what each begins with.
    #[error("too short for a snapshot of rtmark")]
    Short,
    /// It does not begin as they do.
    #[error("no snapshot of rtmark")]
    Foreign,
    /// Of another version of the form.
    #[error("a snapshot of version {0}; this rtmark reads {VERSION}")]
    Version(u32),
    /// Its checksum is that of other contents.
    #[error("a damaged or truncated snapshot")]
    Damaged,
    /// The checksum is right, the contents are not.
    #[error("a damaged snapshot: {0}")]
    Contents(String),
    /// Of other timing rules, by which cycles are others.
    #[error("made with timing model {0}; this rtmark has {TIMING_MODEL}, and cycles differ")]
    TimingModel(String),
}

impl SnapshotError {
    /// What to do about it.
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

/// A machine that was brought to a snapshot's moment stands elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it leads to another state: cycle {now} where cycle {kept} was kept")]
pub struct OtherState {
    /// The cycle at which the machine stands.
    pub now: u64,
    /// The cycle that the snapshot was made at.
    pub kept: u64,
}

/// A snapshot cannot be put into bytes, which is a defect of rtmark's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(String);

fn sha256(bytes: &[u8]) -> String {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Sha256::digest(bytes).iter().fold(String::new(), hex)
}

/// SHA-256 over everything that the program could see, in hexadecimal: cycles, instructions,
/// registers, memories.
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
    /// The moment at which a machine stands, of a run that was begun so and was to go on to a cycle
    /// limit.
    pub fn new(begun: Begun, machine: &Machine, limit: Cycles) -> Self {
        Self {
            timing_model: TIMING_MODEL.to_owned(),
            begun,
            limit: limit.0,
            cycles: machine.cycles().0,
            instructions: machine.instructions().0,
            state: digest(machine),
        }
    }

    /// Reads a file's contents.
    ///
    /// # Errors
    ///
    /// If they are no snapshot, a damaged one, or one of another form or timing model.
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

    /// What is to be in the file.
    ///
    /// # Errors
    ///
    /// If the serialiser refuses, which would be a defect.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let contents =
            postcard::to_allocvec(self).map_err(|error| EncodeError(error.to_string()))?;
        let checksum = sha256(&contents);
        Ok([MAGIC.as_slice(), &VERSION.to_le_bytes(), checksum.as_bytes(), &contents].concat())
    }

    /// What the run is made of.
    pub const fn begun(&self) -> &Begun {
        &self.begun
    }

    /// The cycle limit to which a run begun in that way leads to the moment.
    pub const fn limit(&self) -> Cycles {
        Cycles(self.limit)
    }

    /// Compares a machine that was brought to the moment with what was kept of it.
    ///
    /// # Errors
    ///
    /// If cycles, instructions, registers or memories are others.
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
