//! The way to the sources of the FreeRTOS kernel.
//!
//! The sources come from a crate, so that a plain `cargo` fetches them in a fixed version
//! and with a checksum. This is the only place that knows which crate. Whoever has another
//! tree, a newer release or one with changes of their own, names it in the environment
//! variable [`OVERRIDE`].
//!
//! It knows nothing of how the kernel is configured or compiled.

use std::fmt;
use std::path::{Path, PathBuf};

/// Environment variable that names another tree than the crate's.
pub const OVERRIDE: &str = "RTMARK_FREERTOS_KERNEL";

/// What must be there for a directory to count as the kernel's.
const LANDMARKS: [&str; 4] =
    ["tasks.c", "include/FreeRTOS.h", "portable/MemMang/heap_4.c", "portable/GCC"];

/// A directory that holds the kernel: `tasks.c`, `include/`, `portable/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    directory: PathBuf,
}

/// Why a directory cannot serve as the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAKernel {
    directory: PathBuf,
    missing: &'static str,
    overridden: bool,
}

impl KernelSource {
    /// The tree that `overriding` names, or else the one that the crate carries.
    ///
    /// # Errors
    /// If the directory lacks what every FreeRTOS kernel tree has.
    pub fn find(overriding: Option<&Path>) -> Result<Self, NotAKernel> {
        let directory = overriding.unwrap_or(Path::new(env!("FREERTOS_KERNEL_OF_CRATE")));
        match LANDMARKS.into_iter().find(|landmark| !directory.join(landmark).exists()) {
            None => Ok(Self { directory: directory.to_owned() }),
            Some(missing) => Err(NotAKernel {
                directory: directory.to_owned(),
                missing,
                overridden: overriding.is_some(),
            }),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the tree calls itself, for instance `V11.2.0`, if it says so.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let header = std::fs::read_to_string(self.directory.join("include/task.h")).ok()?;
        header.lines().find_map(|line| {
            let value = line.trim().strip_prefix("#define tskKERNEL_VERSION_NUMBER")?;
            Some(value.trim().trim_matches('"').to_owned())
        })
    }
}

impl fmt::Display for NotAKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (directory, missing) = (self.directory.display(), self.missing);
        if self.overridden {
            write!(
                f,
                "{OVERRIDE} names `{directory}`, which is not a FreeRTOS kernel tree: it has no \
                 `{missing}`. Name the directory that holds tasks.c, as in a checkout of \
                 FreeRTOS-Kernel (or Source/ of a whole FreeRTOS), or unset the variable to use \
                 the tree that rtmark brings"
            )
        } else {
            write!(
                f,
                "the FreeRTOS tree in `{directory}` is incomplete: it has no `{missing}`. Remove \
                 that directory, so that cargo fetches the crate again, or name another tree in \
                 {OVERRIDE}"
            )
        }
    }
}

impl std::error::Error for NotAKernel {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_the_crate_is_the_stated_version() {
        let source = KernelSource::find(None).expect("the crate carries a kernel");
        assert_eq!(source.version().as_deref(), Some("V11.2.0"));
        for port in ["ARM_CM0", "ARM_CM4F"] {
            assert!(source.directory().join("portable/GCC").join(port).join("port.c").exists());
        }
    }

    #[test]
    fn another_directory_is_refused_with_advice() {
        let error = KernelSource::find(Some(Path::new("src"))).expect_err("src is no kernel");
        let text = error.to_string();
        assert!(text.contains("RTMARK_FREERTOS_KERNEL names `src`"), "{text}");
        assert!(text.contains("tasks.c"), "{text}");
        assert!(text.contains("unset the variable"), "{text}");
    }

    #[test]
    fn a_named_tree_is_taken() {
        let crates = KernelSource::find(None).expect("the crate carries a kernel");
        let named = KernelSource::find(Some(crates.directory())).expect("the same tree by name");
        assert_eq!(named, crates);
    }
}
