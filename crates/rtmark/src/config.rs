//! `rtmark.toml`: defaults for options that neither a flag nor the environment sets.
//!
//! Two files are read: the user's (`rtmark/rtmark.toml` in the configuration directory), and the
//! nearest `rtmark.toml` from the current folder upwards, whose keys take precedence.
//! `RTMARK_CONFIG` names a single file to read instead of both. A flag takes precedence over its
//! environment variable, and the variable over any file.

use std::path::{Path, PathBuf};

use rtmark_model::Pattern;
use rtmark_runner::input_file;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::error::CliError;
use crate::exit::Exit;

/// The name of the configuration files.
const FILE: &str = "rtmark.toml";
/// The environment variable that names a single file to read instead.
const VARIABLE: &str = "RTMARK_CONFIG";

/// The merged contents of the configuration files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The file that keeps results.
    #[serde(deserialize_with = "path")]
    pub store: Option<PathBuf>,
    /// The folder with the kernels' firmware sources.
    #[serde(deserialize_with = "path")]
    pub firmware: Option<PathBuf>,
    /// The folder for builds.
    #[serde(deserialize_with = "path")]
    pub build: Option<PathBuf>,
    /// Folders with the user's own kernels.
    #[serde(deserialize_with = "paths")]
    pub own: Vec<PathBuf>,
    /// A folder with catalogue files.
    #[serde(deserialize_with = "path")]
    pub catalogue: Option<PathBuf>,
    /// What `rtmark run` measures by default.
    pub run: RunSection,
    /// What `rtmark gate` compares by default.
    pub gate: GateSection,
}

/// The table `[run]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunSection {
    /// Kernels, by name or pattern.
    pub kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern.
    pub scenario: Vec<Pattern>,
    /// Socs, by name, pattern or path.
    pub soc: Vec<String>,
    /// Build profiles.
    pub profile: Vec<String>,
}

/// The table `[gate]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateSection {
    /// The run to compare others with.
    pub baseline: Option<String>,
    /// The file with budgets.
    #[serde(deserialize_with = "path")]
    pub budget: Option<PathBuf>,
}

/// Reads a path, which must not be empty.
fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    not_empty(PathBuf::deserialize(deserializer)?).map(Some)
}

/// Reads a list of paths, none of which may be empty.
fn paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    Vec::deserialize(deserializer)?.into_iter().map(not_empty).collect()
}

fn not_empty<E: Error>(path: PathBuf) -> Result<PathBuf, E> {
    if path.as_os_str().is_empty() {
        return Err(E::custom(
            "the path is empty: leave the key out, or write \".\" for this folder",
        ));
    }
    Ok(path)
}

impl Config {
    /// Reads and merges the files that apply in the current folder.
    ///
    /// # Errors
    /// If a file cannot be read, is not valid TOML, or has an unknown key.
    pub fn load() -> Result<Self, CliError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = variable(VARIABLE) {
            return Self::read(Path::new(&path));
        }
        let user = variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")))
            .map(|folder| folder.join("rtmark").join(FILE));
        let here = std::env::current_dir().unwrap_or_default();
        let project = here.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file());
        let read = |path: Option<PathBuf>| match path.filter(|path| path.is_file()) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        };
        Ok(read(project)?.merge(read(user)?))
    }

    fn read(path: &Path) -> Result<Self, CliError> {
        let refuse = |problem: &dyn std::fmt::Display, hint: &str| {
            CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
        };
        let text = input_file::read_text(path)
            .map_err(|error| refuse(&error, "check the file, or the path in RTMARK_CONFIG"))?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|error| refuse(&error, "docs/config.md lists every key"))?;
        config.resolve_paths(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Makes the paths of a file relative to its folder.
    fn resolve_paths(&mut self, folder: &Path) {
        let paths = [&mut self.store, &mut self.firmware, &mut self.build, &mut self.catalogue];
        let paths = paths.into_iter().chain([&mut self.gate.budget]);
        for path in paths.flatten().chain(&mut self.own) {
            *path = folder.join(&path);
        }
        for soc in &mut self.run.soc {
            if Path::new(&soc).extension().is_some() {
                *soc = folder.join(&soc).display().to_string();
            }
        }
    }

    /// Merges two files; the keys of `self` take precedence.
    fn merge(self, below: Self) -> Self {
        fn list<T>(above: Vec<T>, below: Vec<T>) -> Vec<T> {
            if above.is_empty() { below } else { above }
        }
        Self {
            store: self.store.or(below.store),
            firmware: self.firmware.or(below.firmware),
            build: self.build.or(below.build),
            own: list(self.own, below.own),
            catalogue: self.catalogue.or(below.catalogue),
            run: RunSection {
                kernel: list(self.run.kernel, below.run.kernel),
                scenario: list(self.run.scenario, below.run.scenario),
                soc: list(self.run.soc, below.run.soc),
                profile: list(self.run.profile, below.run.profile),
            },
            gate: GateSection {
                baseline: self.gate.baseline.or(below.gate.baseline),
                budget: self.gate.budget.or(below.gate.budget),
            },
        }
    }
}
