//! Records how an image was linked, with a wrapper script for the linker, and repeats it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::builder::{at, no_image, show};
use crate::host::CARGO;
use crate::tools::{clean, rust_target};
use crate::{BuildSystem, FirmwareError, Kernel, Target};

/// The wrapper script for the linker.
const LINKER_WRAPPER: &str = include_str!("keep.sh");

/// Writes the wrapper into a folder under the names by which compilers look for a linker; none on hosts
/// that have no shell for it.
pub(crate) fn make_linker(folder: &Path) -> Result<Option<PathBuf>, FirmwareError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder.join("linker");
        for name in ["ld", "rust-lld"] {
            let path = folder.join(name);
            if std::fs::read(&path).is_ok_and(|known| known == LINKER_WRAPPER.as_bytes()) {
                continue;
            }
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
            // It gets its final name only when it is executable.
            let thread = std::thread::current().id();
            let part = folder.join(format!("{name}.{}.{thread:?}.part", std::process::id()));
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::write(&part, LINKER_WRAPPER)
                .and_then(|()| std::fs::set_permissions(&part, executable))
                .and_then(|()| std::fs::rename(&part, &path))
                .map_err(at(&path))?;
        }
        Ok(Some(folder))
    }
    #[cfg(not(unix))]
    {
        let _ = (folder, LINKER_WRAPPER);
        Ok(None)
    }
}

/// Returns the folder in which a build records what its images were linked from.
pub(crate) fn records_folder(kernel: &Kernel, target: &Target, out: &Path) -> PathBuf {
    match kernel.manifest.build {
        BuildSystem::Make => out.to_owned(),
        BuildSystem::Cargo => {
            let triple = rust_target(&target.core).unwrap_or_default();
            out.join(CARGO).join(triple).join("release").join("deps")
        }
    }
}

/// The record of how an image was linked.
pub(crate) struct LinkRecord {
    arguments: Vec<String>,
    folder: PathBuf,
    linker: PathBuf,
    /// The environment of GCC's link-time optimisation: the compiler, its options.
    compiler: String,
    options: String,
}

/// Returns the record of how an image was linked, identified by its name and contents; none if there is
/// no record.
pub(crate) fn record_of(folder: &Path, name: &str, elf: &[u8]) -> Option<LinkRecord> {
    // Cargo's file names end in a hash, and there may be several.
    let fits = |path: &PathBuf| {
        let stem = path.file_name().and_then(|file| file.to_str());
        let rest = stem.and_then(|stem| stem.strip_prefix(name)?.strip_suffix(".link"));
        rest.is_some_and(|rest| rest == ".elf" || rest.starts_with('-'))
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(fits).find_map(|record| {
        let linked = record.with_extension("");
        (std::fs::read(linked).ok()? == elf).then(|| LinkRecord::read(&record))?
    })
}

/// Tells whether a file name is that of an object.
fn is_object(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "o")
}

impl LinkRecord {
    fn read(record: &Path) -> Option<Self> {
        let text = |file: &str| std::fs::read_to_string(record.join(file)).ok();
        let line = |file: &str| Some(text(file)?.trim_end_matches('\n').to_owned());
        Some(Self {
            arguments: text("arguments")?.lines().map(str::to_owned).collect(),
            folder: line("folder")?.into(),
            linker: line("linker")?.into(),
            compiler: line("compiler")?,
            options: line("options")?,
        })
    }

    /// Returns the values of an option that may be written as one word or two.
    fn values<'a>(&'a self, short: &'a str, long: &'a str) -> impl Iterator<Item = &'a str> {
        let mut next = false;
        self.arguments.iter().filter_map(move |word| {
            if std::mem::take(&mut next) {
                return Some(word.as_str());
            }
            let rest = word.strip_prefix(short).or_else(|| word.strip_prefix(long))?;
            next = rest.is_empty();
            (!next).then(|| rest.trim_start_matches('='))
        })
    }

    /// Returns the text of the linker script, wherever the linker found it.
    pub fn script(&self) -> Option<String> {
        let folders: Vec<&str> = self.values("-L", "--library-path").collect();
        let named = |name: &str| {
            let below = folders.iter().map(|folder| self.folder.join(folder).join(name));
            std::iter::once(self.folder.join(name)).chain(below).find(|path| path.is_file())
        };
        let mut scripts = self.values("-T", "--script").filter_map(named);
        scripts.find_map(|path| {
            std::fs::read_to_string(path).ok().filter(|text| text.contains(super::ALL))
        })
    }

    /// Links again into a file, with another script if one is given; returns the file and a map.
    pub fn link(
        &self,
        kernel: &Kernel,
        target: &Target,
        script: Option<&Path>,
        to: &Path,
    ) -> Result<(Vec<u8>, String), FirmwareError> {
        let map = to.with_extension("map");
        let mut command = Command::new(&self.linker);
        command.args(self.rewritten(script, to)).arg(format!("-Map={}", map.display()));
        if !self.options.is_empty() {
            // Keep the results of link-time optimisation, see `compiled`.
            let kept = if self.options.contains("'-flto") { "'-save-temps' " } else { "" };
            command.env("COLLECT_GCC_OPTIONS", format!("{kept}{}", self.options));
            command.env("COLLECT_GCC", &self.compiler);
        }
        clean(&mut command).current_dir(&self.folder).stdin(Stdio::null());
        let output = command.output().map_err(at(&self.linker))?;
        if !output.status.success() {
            return Err(FirmwareError::Build {
                kernel: kernel.manifest.id.clone(),
                soc: target.name.clone(),
                command: show(&command),
                output: String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
            });
        }
        let elf = std::fs::read(to).map_err(|source| no_image(kernel, to, source))?;
        let text = std::fs::read(&map).map_err(|source| no_image(kernel, &map, source))?;
        let _ = std::fs::remove_file(&map);
        Ok((elf, String::from_utf8_lossy(&text).into_owned()))
    }

    /// Replaces the objects by the results of link-time optimisation, from the map of a link that
    /// performed it, so that nothing is compiled any more. Returns itself if there were none.
    pub fn compiled(self, map: &str) -> Self {
        let optimised = |word: &String| is_object(word) && is_intermediate(Path::new(word));
        let Some(first) = self.arguments.iter().position(optimised) else { return self };
        let loaded = map.lines().filter_map(|line| line.strip_prefix("LOAD "));
        let made = loaded
            .filter(|file| is_object(file) && !self.arguments.iter().any(|word| word == file));
        let mut words: Vec<String> = Vec::new();
        let mut arguments = self.arguments.iter().enumerate();
        while let Some((at, word)) = arguments.next() {
            if at == first {
                words.extend(made.clone().map(str::to_owned));
            } else if word == "-plugin" {
                arguments.next();
            } else if !word.starts_with("-plugin-opt=") && !optimised(word) {
                words.push(word.clone());
            }
        }
        Self { arguments: words, options: String::new(), ..self }
    }

    /// Returns the arguments with another output file and, in place of the script that places
    /// functions, another script.
    fn rewritten(&self, script: Option<&Path>, to: &Path) -> Vec<String> {
        let mut words = Vec::new();
        let mut arguments = self.arguments.iter().peekable();
        let mut replaced = false;
        while let Some(word) = arguments.next() {
            if word == "-o" {
                arguments.next();
                words.extend(["-o".to_owned(), to.display().to_string()]);
                continue;
            }
            let rest = word.strip_prefix("-T").or_else(|| word.strip_prefix("--script"));
            let Some((rest, script)) = rest.zip(script).filter(|_| !replaced) else {
                words.push(word.clone());
                continue;
            };
            if rest.is_empty() {
                arguments.next();
            }
            replaced = true;
            words.push(format!("-T{}", script.display()));
        }
        words
    }
}

/// Tells whether an object holds input for GCC's link-time optimisation, and no code.
fn is_intermediate(object: &Path) -> bool {
    use object::{Object, ObjectSection};
    let bytes = std::fs::read(object).unwrap_or_default();
    object::File::parse(bytes.as_slice()).is_ok_and(|file| {
        let is = |name: &str| name.starts_with(".gnu.lto_");
        file.sections().any(|section| section.name().is_ok_and(is))
    })
}

#[cfg(test)]
mod tests;
