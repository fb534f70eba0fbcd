//! Snapshots: a moment of a run in a file of its own.
//!
//! A machine runs the same way each time, so a file that holds what the run was made
//! of, the image and the soc among it, and how far it had come, holds the moment. To
//! resume is to run there again at full speed, and to check that registers, memories
//! and cycles are what they were. So a snapshot is small, means the same on every
//! computer, and depends on no detail of the simulator but its timing model.

use std::path::Path;

use clap::{Args as _, FromArgMatches as _};
use rtmark_firmware::sha256;
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Ending, Session};
use rtmark_sim::{Cycles, Machine, MemoryKind, TIMING_MODEL};
use serde::{Deserialize, Serialize};

use super::setup::refuse;
use super::values::Place;
use super::{Arguments, outcome};
use crate::cli::Talk;
use crate::commands::mistaken;
use crate::exit::Exit;
use crate::trouble::Trouble;

const MAGIC: &[u8; 8] = b"RTMARKSN";
/// The version of the file's form.
const VERSION: u32 = 1;
/// Magic, version and the contents' SHA-256 in hexadecimal.
const HEADER: usize = 8 + 4 + 64;

/// What a run is made of, and a moment of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapshot {
    timing_model: String,
    /// The path of the image, for messages, and what it held.
    image_name: String,
    pub image: Vec<u8>,
    /// The same of the soc.
    soc_name: String,
    soc: String,
    /// Options that the run depends on.
    options: Vec<String>,
    /// The cycle limit that it had come to, or something had ended it before.
    limit: u64,
    cycles: u64,
    instructions: u64,
    /// See [`digest`].
    state: String,
}

/// SHA-256 over everything that the program could see: cycles, instructions, registers,
/// memories.
pub fn digest(machine: &Machine) -> String {
    let mut bytes = Vec::new();
    bytes.extend(machine.cycles().0.to_le_bytes());
    bytes.extend(machine.instructions().0.to_le_bytes());
    for (_, value) in outcome::registers(machine) {
        bytes.extend(value.to_le_bytes());
    }
    for memory in &machine.soc().memories {
        let writable = memory.kind == MemoryKind::Ram;
        bytes.push(u8::from(writable));
        bytes.extend(machine.peek(memory.base, memory.size as usize));
    }
    sha256(&bytes)
}

fn place(place: &Place) -> String {
    match place {
        Place::Address(address) => format!("{address:#x}"),
        Place::Symbol { name, offset } => format!("{name}+{offset:#x}"),
    }
}

impl Arguments {
    /// The options that say how a run goes, as text again.
    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        options.extend(self.base.map(|base| format!("--base={base:#x}")));
        let vectors = self.vectors.as_ref().map(|at| format!("--vectors={}", place(at)));
        options.extend(vectors);
        options.extend(self.entry.as_ref().map(|at| format!("--entry={}", place(at))));
        options.extend(self.until.as_ref().map(|at| format!("--until={}", place(at))));
        let sets = self.set.iter().map(|set| format!("--set={}={:#x}", set.name, set.value));
        options.extend(sets);
        let irqs = self.irq.iter().map(|irq| format!("--irq={}@{}", irq.interrupt, irq.cycle));
        options.extend(irqs);
        options.extend(self.strict.then(|| "--strict".to_owned()));
        options.extend(self.deliver_faults.then(|| "--deliver-faults".to_owned()));
        options.extend(self.select.as_ref().map(|scenario| format!("--select={scenario}")));
        options
    }

    /// The moment at which a machine stands that these arguments have brought there.
    pub(super) fn snapshot(
        &self,
        machine: &Machine,
        limit: Cycles,
        image: &[u8],
        soc: &SocFile,
    ) -> Snapshot {
        Snapshot {
            timing_model: TIMING_MODEL.to_owned(),
            image_name: self.image().display().to_string(),
            image: image.to_vec(),
            soc_name: soc.origin.clone(),
            soc: soc.text.clone(),
            options: self.options(),
            limit: limit.0,
            cycles: machine.cycles().0,
            instructions: machine.instructions().0,
            state: digest(machine),
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, clap::Error> {
    let command = Arguments::augment_args(clap::Command::new("sim"));
    let matches = command.try_get_matches_from(words)?;
    Arguments::from_arg_matches(&matches)
}

/// Writes the moment to a file in which a run begun with these words, `sim` first, comes to
/// a cycle.
pub fn keep_moment(
    words: &[String],
    image: &[u8],
    soc: &SocFile,
    cycle: u64,
    file: &Path,
) -> Result<(), Trouble> {
    let arguments = parse(words.iter().cloned())
        .map_err(|error| Trouble::new(Exit::Internal, error, "report this as a defect"))?;
    let talk = Talk { quiet: true, verbose: 0 };
    let loaded = arguments.load(image, &soc.soc, talk)?;
    let (mut session, _, _) = arguments.ready(&soc.soc, &loaded)?;
    let ended = session.run(Cycles(cycle), |machine| drop(machine.take_console()));
    if let Ending::Internal(error) = &ended {
        return Err(mistaken(error, &loaded, image));
    }
    arguments.snapshot(&session.machine, Cycles(cycle), image, soc).write(file)
}

impl Snapshot {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Trouble> {
        let bytes = std::fs::read(path).map_err(|error| refuse(path, error, "check the path"))?;
        Self::from_bytes(&bytes).map_err(|(problem, hint)| refuse(path, problem, hint))
    }

    /// Reads a file's contents; otherwise what is wrong, and what to do.
    fn from_bytes(bytes: &[u8]) -> Result<Self, (String, &'static str)> {
        let again = "make it again with --snapshot, and copy it whole";
        let Some((header, contents)) = bytes.split_at_checked(HEADER) else {
            return Err(("too short for a snapshot of rtmark".to_owned(), again));
        };
        let (magic, rest) = header.split_at(MAGIC.len());
        let (version, checksum) = rest.split_at(4);
        if magic != MAGIC {
            return Err(("no snapshot of rtmark".to_owned(), "give a file that --snapshot wrote"));
        }
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            let problem = format!("a snapshot of version {version}; this rtmark reads {VERSION}");
            return Err((problem, "make it again with this rtmark, or use the one that made it"));
        }
        if sha256(contents).as_bytes() != checksum {
            return Err(("a damaged or truncated snapshot".to_owned(), again));
        }
        let snapshot: Self = postcard::from_bytes(contents)
            .map_err(|error| (format!("a damaged snapshot: {error}"), again))?;
        if snapshot.timing_model != TIMING_MODEL {
            let problem = format!(
                "made with timing model {}; this rtmark has {TIMING_MODEL}, and cycles differ",
                snapshot.timing_model
            );
            return Err((problem, "make it again with this rtmark, or use the one that made it"));
        }
        Ok(snapshot)
    }

    fn to_bytes(&self) -> Result<Vec<u8>, Trouble> {
        let contents = postcard::to_allocvec(self)
            .map_err(|error| Trouble::new(Exit::Internal, error, "report this as a defect"))?;
        let checksum = sha256(&contents);
        Ok([MAGIC.as_slice(), &VERSION.to_le_bytes(), checksum.as_bytes(), &contents].concat())
    }

    /// Writes a file.
    pub fn write(&self, path: &Path) -> Result<(), Trouble> {
        let hint = "choose a file that can be written";
        std::fs::write(path, self.to_bytes()?).map_err(|error| refuse(path, error, hint))
    }

    /// The soc that it was made on.
    pub fn soc(&self) -> Result<SocFile, Trouble> {
        Ok(socs::from_text(&self.soc_name, &self.soc)?)
    }

    /// The arguments that the run was begun with.
    pub fn arguments(&self, path: &Path) -> Result<Arguments, Trouble> {
        let words = ["sim", &self.image_name, "--soc", &self.soc_name].map(str::to_owned);
        parse(words.into_iter().chain(self.options.iter().cloned())).map_err(|_| {
            let problem = "its options are none of this rtmark";
            refuse(path, problem, "make it again with this rtmark")
        })
    }

    /// Brings a prepared machine to the moment, without a word of what it prints. Answers
    /// the end of the program if it had ended by then.
    pub fn replay(
        &self,
        session: &mut Session<'_>,
        path: &Path,
    ) -> Result<Option<Ending>, Trouble> {
        let ended = session.run(Cycles(self.limit), |machine| drop(machine.take_console()));
        let machine = &session.machine;
        let there = (machine.cycles().0, machine.instructions().0);
        if there != (self.cycles, self.instructions) || digest(machine) != self.state {
            let problem = format!(
                "it leads to another state: cycle {} where cycle {} was kept",
                there.0, self.cycles
            );
            let hint = "use the rtmark that made it; if that is this one, report a defect";
            return Err(refuse(path, problem, hint));
        }
        Ok(Some(ended)
            .filter(|ended| matches!(ended, Ending::Exit(_) | Ending::Reset | Ending::Internal(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            timing_model: TIMING_MODEL.to_owned(),
            image_name: "a.bin".to_owned(),
            image: vec![1, 2, 3],
            soc_name: "socs/stm32c031.toml".to_owned(),
            soc: String::new(),
            options: vec!["--strict".to_owned()],
            limit: 5,
            cycles: 6,
            instructions: 7,
            state: "8".to_owned(),
        }
    }

    #[test]
    fn files_come_back() {
        let bytes = snapshot().to_bytes().expect("written");
        let read = Snapshot::from_bytes(&bytes).expect("read");
        assert_eq!((read.image.as_slice(), read.cycles), ([1, 2, 3].as_slice(), 6));
    }

    #[test]
    fn other_files_are_refused() {
        let problem = |bytes: &[u8]| Snapshot::from_bytes(bytes).expect_err("refused").0;
        let good = snapshot().to_bytes().expect("written");
        assert!(problem(b"").contains("too short"));
        assert!(problem(&[0; 200]).contains("no snapshot"));
        let mut newer = good.clone();
        newer[8] = 2;
        assert!(problem(&newer).contains("version 2"));
        for at in HEADER..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 1;
            assert!(problem(&damaged).contains("damaged"));
            assert!(problem(&good[..at]).contains("damaged"));
        }
        let mut other = snapshot();
        other.timing_model = "0".to_owned();
        assert!(problem(&other.to_bytes().expect("written")).contains("timing model 0"));
    }

    #[test]
    fn contents_that_nobody_wrote_do_no_harm() {
        let good = snapshot().to_bytes().expect("written");
        let mut read = 0;
        for at in HEADER..good.len() {
            for value in [0, 1, 0x7F, 0x80, 0xFF, good[at] ^ 1, good[at].wrapping_add(1)] {
                let mut bytes = good.clone();
                bytes[at] = value;
                let checksum = sha256(&bytes[HEADER..]);
                bytes[12..HEADER].copy_from_slice(checksum.as_bytes());
                if let Ok(snapshot) = Snapshot::from_bytes(&bytes) {
                    let _ = snapshot.arguments(Path::new("x"));
                    let _ = snapshot.soc();
                    read += 1;
                }
            }
        }
        assert!(read > 100, "{read}");
    }
}
