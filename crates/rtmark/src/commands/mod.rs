//! One file for each command: its arguments and what it does.

use rtmark_runner::mistake;
use rtmark_sim::{Image, InternalError};

use crate::exit::Exit;
use crate::trouble::Trouble;

pub mod bisect;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod exit_codes;
pub mod export;
pub mod fairness;
pub mod footprint;
pub mod gate;
pub mod history;
pub mod import;
pub mod list;
pub mod log;
pub mod man;
pub mod merge;
pub mod name;
pub mod prune;
pub mod report;
pub mod rm;
pub mod run;
pub mod show;
pub mod sim;
pub mod study;
pub mod trace;
pub mod validate;
pub mod why;
pub mod worst;

/// The simulator was wrong in a run of this image.
fn mistaken(error: &InternalError, image: &Image, elf: &[u8]) -> Trouble {
    Trouble::new(Exit::Internal, mistake::told(error, image, elf), mistake::hint())
}
