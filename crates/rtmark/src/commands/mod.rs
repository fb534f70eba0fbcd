//! The commands: one file or folder each, with the command's arguments and its `run`.

use rtmark_runner::internal_error;
use rtmark_sim::{Image, InternalError};

use crate::error::CliError;
use crate::exit::Exit;

pub mod bisect;
pub mod cache;
pub mod calls;
pub mod clock;
pub mod columns;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod exit_codes;
pub mod export;
pub mod failures;
pub mod fairness;
pub mod footprint;
pub mod gate;
pub mod history;
pub mod import;
pub mod init;
pub mod inputs;
pub mod limit;
pub mod list;
pub mod log;
pub mod man;
pub mod merge;
pub mod name;
pub mod plan;
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

/// Returns the error for a bug in the simulator that a run of this image has revealed.
fn internal_error(error: &InternalError, image: &Image, elf: &[u8]) -> CliError {
    CliError::new(
        Exit::Internal,
        internal_error::describe(error, image, elf),
        internal_error::hint(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Symbols;
    use rtmark_sim::Cycles;

    #[test]
    fn internal_errors_show_location_state_and_how_to_report_them() {
        let error = InternalError {
            pc: 0x0800_0124,
            instruction: Some("str.w r1, [r0, #1]".to_owned()),
            cycle: Cycles(1_234),
            state: "data bus empty".to_owned(),
        };
        let image = Image::from_bytes(&[0; 8], 0x0800_0000).expect("raw");
        let shown = internal_error(&error, &image, &[]);
        assert_eq!(shown.exit, Exit::Internal);
        let shown = shown.rendered(Symbols::Unicode);
        for part in ["internal error", "0x08000124", "str.w r1, [r0, #1]", "cycle 1234"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        for part in ["data bus empty", "bug in rtmark", "ELF file", "timing model"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
