//! Firmware: where its sources are, how it is built, and what its probes mean.
//!
//! A [`Tree`] contains [`Kernel`]s; a [`Builder`] produces the ELF images of one for a soc with the
//! kernel's own build system. [`probes::parse`] reads what an image says about its spans.
//!
//! This crate runs compilers but no firmware, and prints nothing.

mod builder;
mod cache;
pub mod code;
mod collect;
mod flags;
mod generate;
mod host;
mod kept;
mod known;
mod layout;
mod manifest;
pub mod probes;
mod select;
mod target;
#[cfg(test)]
mod tests;
mod tools;
mod tree;
mod variant;
mod view;

use std::path::PathBuf;

use rtmark_model::KernelId;

pub use builder::{BASE_IMAGE, Builder, BuiltImage, PLAN, sha256, tools_for, tools_for_variant};
pub use cache::{BUILD_VARIABLE, Cache, Part, Removed, UNUSED};
pub use layout::Layouts;
pub use manifest::{BuildSystem, Choice, Language, Manifest, NotApplicable};
pub use rtmark_model::DEFAULT_PROFILE;
pub use select::{Executable, NoExecutable, SelectError, select, select_in_elf, select_word};
pub use target::{Console, Counter, Probes, Region, Target, Timer, TimerEnable};
pub use tools::{MissingTool, Tool, debian_packages, rust_target};
pub use tree::{Kernel, OWN_VARIABLE, Sources, TREE_VARIABLE, Tree};
pub use variant::{PROFILES, SettingChanges, Variant, VariantError, chosen, successor};

/// The reason why firmware is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FirmwareError {
    /// No folder with kernels was found.
    #[error("no firmware sources: no folder with a kernel.toml found in {}", list(looked_in))]
    NoTree {
        /// The folders that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// A `kernel.toml` that was rejected.
    #[error("{}: {problem}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        problem: String,
    },
    /// A tool is missing.
    #[error(transparent)]
    Tool(#[from] MissingTool),
    /// Firmware cannot be built for the soc.
    #[error("no firmware for {soc}: {problem}")]
    Soc {
        /// The soc.
        soc: String,
        /// Why.
        problem: String,
    },
    /// The build failed.
    #[error("building {kernel} for {soc} failed\n{output}\n\ncommand: {command}")]
    Build {
        /// The kernel.
        kernel: KernelId,
        /// The soc.
        soc: String,
        /// The command that was run.
        command: String,
        /// Its output.
        output: String,
    },
    /// The build succeeded without producing an image.
    #[error("the build of {kernel} did not produce {}: {source}", path.display())]
    NoImage {
        /// The kernel.
        kernel: KernelId,
        /// The missing file.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl FirmwareError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NoTree { looked_in } => {
                let project = match looked_in.as_slice() {
                    [folder] => tree::within(folder),
                    _ => None,
                };
                project.map_or_else(
                    || format!("name the folder with --firmware or {TREE_VARIABLE}; for --own, one with a kernel.toml"),
                    |kernels| format!("name {}, which has some", kernels.display()),
                )
            }
            Self::Manifest { .. } => {
                "correct the file; the other kernels' files show every key".into()
            }
            Self::Tool(missing) => format!("install it:  {}", missing.install),
            Self::Soc { .. } => "correct the soc file".into(),
            Self::Build { .. } => {
                "the compiler's words are above; `rtmark doctor` checks the tools".into()
            }
            Self::NoImage { .. } => {
                "see what kernel.toml and the build say of it; `rtmark doctor` checks the tools"
                    .into()
            }
            Self::Io { source, .. } if cache::is_write_protected(source) => format!(
                "name a folder of your own for builds, with --build-dir or {BUILD_VARIABLE}"
            ),
            Self::Io { .. } => "check the path and the room on the disk".into(),
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
