//! `--snapshot` and `--resume`: saves a point of a run in a file, and continues from it.
//!
//! `rtmark-snapshot` defines the file's format. This module turns options into text and back, reads and
//! writes the files, and repeats a run up to the point.

use std::path::Path;

use clap::{Args as _, FromArgMatches as _};
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Ending, Session, input_file};
use rtmark_sim::{Cycles, Machine};
use rtmark_snapshot::{RunInputs, Snapshot};

use super::Arguments;
use super::prepare::refuse;
use super::values::Place;
use crate::cli::Verbosity;
use crate::commands::internal_error;
use crate::error::CliError;
use crate::exit::Exit;
use crate::replacement::replace;

fn place(place: &Place) -> String {
    match place {
        Place::Address(address) => format!("{address:#x}"),
        Place::Symbol { name, offset } => format!("{name}+{offset:#x}"),
    }
}

impl Arguments {
    /// Formats the options that affect the run as text.
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
        let arms =
            self.arm.iter().map(|arm| format!("--arm={}={:#04x}", arm.interrupt, arm.priority));
        options.extend(arms);
        options.extend(self.strict.then(|| "--strict".to_owned()));
        options.extend(self.deliver_faults.then(|| "--deliver-faults".to_owned()));
        options.extend(self.select.as_ref().map(|scenario| format!("--select={scenario}")));
        options
    }

    /// Saves the current state of a machine that these arguments set up, with the contents of the image's
    /// file and the soc.
    pub(super) fn keep(
        &self,
        machine: &Machine,
        limit: Cycles,
        (image, soc): (&[u8], &SocFile),
        file: &Path,
    ) -> Result<(), CliError> {
        let begun = RunInputs {
            image_name: self.image().display().to_string(),
            image: image.to_vec(),
            soc_name: soc.origin.clone(),
            soc: soc.text.clone(),
            options: self.options(),
        };
        let bytes = Snapshot::new(begun, machine, limit).to_bytes().map_err(|error| {
            CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
        })?;
        replace(file, &bytes)
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, clap::Error> {
    let command = Arguments::augment_args(clap::Command::new("sim"));
    let matches = command.try_get_matches_from(words)?;
    Arguments::from_arg_matches(&matches)
}

/// Runs a command line, whose first word is `sim`, up to a cycle, and saves a snapshot.
pub fn keep_moment(
    words: &[String],
    image: &[u8],
    soc: &SocFile,
    cycle: u64,
    file: &Path,
) -> Result<(), CliError> {
    let arguments = parse(words.iter().cloned())
        .map_err(|error| CliError::new(Exit::Internal, error, "report this as a bug in rtmark"))?;
    let verbosity = Verbosity { quiet: true, verbose: 0 };
    let loaded = arguments.load(image, &soc.soc, verbosity)?;
    let (mut session, _, _) = arguments.ready(&soc.soc, &loaded)?;
    let ended = session.run(Cycles(cycle), |machine| drop(machine.take_console()));
    if let Ending::Internal(error) = &ended {
        return Err(internal_error(error, &loaded, image));
    }
    arguments.keep(&session.machine, Cycles(cycle), (image, soc), file)
}

/// Reads a snapshot's file.
pub fn read(path: &Path) -> Result<Snapshot, CliError> {
    let bytes =
        input_file::read_bytes(path).map_err(|error| refuse(path, error, "check the path"))?;
    Snapshot::from_bytes(&bytes).map_err(|error| refuse(path, &error, error.hint()))
}

/// Returns the soc of a snapshot.
pub fn soc(snapshot: &Snapshot) -> Result<SocFile, CliError> {
    let begun = snapshot.inputs();
    Ok(socs::from_text(&begun.soc_name, &begun.soc)?)
}

/// Parses the arguments of the original run.
pub fn arguments(snapshot: &Snapshot, path: &Path) -> Result<Arguments, CliError> {
    let begun = snapshot.inputs();
    let words = ["sim", &begun.image_name, "--soc", &begun.soc_name].map(str::to_owned);
    parse(words.into_iter().chain(begun.options.iter().cloned())).map_err(|_| {
        let problem = "this rtmark does not know the options in the snapshot";
        refuse(path, problem, "create the snapshot again with this rtmark")
    })
}

/// Runs a prepared machine to the snapshot's point, discarding its output.
///
/// Returns the ending, if the program had ended by then.
pub fn replay(
    snapshot: &Snapshot,
    session: &mut Session<'_>,
    path: &Path,
) -> Result<Option<Ending>, CliError> {
    let ended = session.run(snapshot.limit(), |machine| drop(machine.take_console()));
    while snapshot.is_later_than(&session.machine) && session.machine.advance(Cycles::MAX).is_ok() {
    }
    snapshot.check(&session.machine).map_err(|error| {
        let hint = "use the rtmark that created the snapshot; if this is the one, report a bug";
        refuse(path, error, hint)
    })?;
    Ok(Some(ended).filter(|ended| {
        matches!(
            ended,
            Ending::Exit(_) | Ending::Reset | Ending::Watchdog { .. } | Ending::Internal(_)
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_snapshots_are_rejected() {
        let soc = socs::find("stm32c031").expect("there");
        let machine = Machine::new(&soc.soc);
        let texts = ["", "name =", "\u{0}", "--", "--soc", "--set=r0", "--irq=@", "a.bin", "-h"];
        let mut refused = 0;
        for text in texts {
            for (soc_name, soc, option) in
                [("s", "", text), (text, "", "--strict"), ("s", text, "--strict")]
            {
                let begun = RunInputs {
                    image_name: text.to_owned(),
                    image: vec![1, 2, 3],
                    soc_name: soc_name.to_owned(),
                    soc: soc.to_owned(),
                    options: vec![option.to_owned()],
                };
                let snapshot = Snapshot::new(begun, &machine, Cycles(5));
                refused += u32::from(arguments(&snapshot, Path::new("x")).is_err());
                refused += u32::from(super::soc(&snapshot).is_err());
            }
        }
        assert!(refused > texts.len() as u32 * 3, "{refused}");
    }
}
