//! Finds firmware sources, and the kernels in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use crate::builder::named_place;
use crate::cache::Cache;
use crate::manifest::Manifest;
use crate::{FirmwareError, Language, known};

/// The environment variable that sets the firmware tree.
pub const TREE_VARIABLE: &str = "RTMARK_FIRMWARE";

/// The environment variable that lists folders with the user's own kernels.
pub const OWN_VARIABLE: &str = "RTMARK_OWN";

/// The file with the user's own scenarios.
const SCENARIOS: &str = "scenarios.toml";

/// A file that distinguishes rtmark's `firmware` folder from others of that name.
const LANDMARK: &str = "c/image.mk";

/// Sources that came with the program: the path of each file, with slashes and beginning with
/// `firmware`, and its contents.
pub type Sources = &'static [(&'static str, &'static [u8])];

/// A folder with a subfolder for each kernel, and folders with the user's own kernels.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    own: Vec<PathBuf>,
    cache: Cache,
    /// The name of the folder for its builds.
    key: String,
    origin: Origin,
    digest: Arc<OnceLock<Option<String>>>,
}

/// Where a tree comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A folder of the user's.
    Folder,
    /// The program, which has unpacked it.
    Program,
}

/// A kernel of a tree.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its folder.
    pub folder: PathBuf,
    /// What its `kernel.toml` says.
    pub manifest: Manifest,
    /// Whether it is a user's own kernel outside the tree, which need not support every scenario.
    pub own: bool,
}

impl Tree {
    /// Finds the tree: the given one, or that of `$RTMARK_FIRMWARE`, or a folder `firmware` of rtmark's
    /// in this folder or above, or the one beside which this program was built.
    ///
    /// # Errors
    /// When there is none, or the requested one contains no kernel.
    pub fn find(given: Option<&Path>) -> Result<Self, FirmwareError> {
        Self::find_or(given, Cache::default(), None)
    }

    /// Finds a tree and a location for its builds. If none is given or found in this folder or above,
    /// the tree is that of the sources that came with the program, if any, unpacked into that location.
    ///
    /// # Errors
    /// Those of [`Tree::find`], and when the sources cannot be unpacked.
    pub fn find_or(
        given: Option<&Path>,
        cache: Cache,
        sources: Option<Sources>,
    ) -> Result<Self, FirmwareError> {
        let variable = std::env::var_os(TREE_VARIABLE).filter(|value| !value.is_empty());
        if let Some(root) = given.map(Path::to_owned).or_else(|| variable.map(PathBuf::from)) {
            return if contains_kernels(&root) {
                Ok(Self::of(root, cache, Origin::Folder))
            } else {
                Err(FirmwareError::NoTree { looked_in: vec![root] })
            };
        }
        let here = std::env::current_dir().unwrap_or_default();
        let mut places: Vec<_> = here.ancestors().map(|folder| folder.join("firmware")).collect();
        let ours = |place: &&PathBuf| place.join(LANDMARK).is_file() && contains_kernels(place);
        if let Some(root) = places.iter().find(ours) {
            return Ok(Self::of(root.clone(), cache, Origin::Folder));
        }
        if let Some(files) = sources {
            let root = cache.unpack(files)?.join("firmware");
            return Ok(Self::of(root, cache, Origin::Program));
        }
        let built_beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
        if contains_kernels(&built_beside) {
            return Ok(Self::of(built_beside, cache, Origin::Folder));
        }
        places.push(built_beside);
        Err(FirmwareError::NoTree { looked_in: places })
    }

    fn of(root: PathBuf, cache: Cache, origin: Origin) -> Self {
        let root = absolute(root);
        let key = match origin {
            Origin::Folder => named_place(&root),
            // Unpacked sources are named after their contents.
            Origin::Program => {
                let named = root.parent().and_then(Path::file_name).unwrap_or_default();
                format!("rtmark-{}", named.to_string_lossy())
            }
        };
        Self { root, own: Vec::new(), cache, key, origin, digest: Arc::default() }
    }

    /// Returns the cache for its builds.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns the name of the folder for its builds.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns a digest of all its files; none for a tree that may use other files as well.
    pub(crate) fn digest(&self) -> Option<&str> {
        let digest = || {
            let ours = self.root.join(LANDMARK).is_file();
            ours.then(|| known::digest_of(&self.root)).flatten()
        };
        self.digest.get_or_init(digest).as_deref()
    }

    /// Tells whether the files are still those of the digest.
    pub(crate) fn is_as_digested(&self) -> bool {
        self.digest().is_some_and(|digest| known::digest_of(&self.root).as_deref() == Some(digest))
    }

    /// The tree's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Adds the user's own kernels to the tree: each folder is a kernel, or contains some.
    ///
    /// # Errors
    /// When a folder contains no kernel.
    pub fn with_own(mut self, folders: &[PathBuf]) -> Result<Self, FirmwareError> {
        for folder in folders {
            if !is_kernel(folder) && !contains_kernels(folder) {
                return Err(FirmwareError::NoTree { looked_in: vec![folder.clone()] });
            }
            self.own.push(absolute(folder.clone()));
        }
        Ok(self)
    }

    /// Returns the kernels: the floor first, then those in C, then those in Rust, with the tree's
    /// before the user's own.
    ///
    /// # Errors
    /// When a folder or a `kernel.toml` cannot be read, or two kernels have the same name.
    pub fn kernels(&self) -> Result<Vec<Kernel>, FirmwareError> {
        let mut kernels = Vec::new();
        for folder in kernels_in(&self.root)? {
            kernels.push(Kernel { manifest: manifest_of(&folder)?, folder, own: false });
        }
        for place in &self.own {
            let folders = if is_kernel(place) { vec![place.clone()] } else { kernels_in(place)? };
            for folder in folders {
                kernels.push(Kernel { manifest: manifest_of(&folder)?, folder, own: true });
            }
        }
        kernels.sort_by_key(|kernel| {
            let manifest = &kernel.manifest;
            let not_floor = manifest.id.as_str() != "floor";
            (kernel.own, not_floor, manifest.language == Language::Rust, manifest.id.clone())
        });
        for kernel in kernels.iter().filter(|kernel| kernel.own) {
            let id = &kernel.manifest.id;
            if kernels.iter().filter(|other| other.manifest.id == *id).count() > 1 {
                let problem = format!("another kernel is called {id}; choose another id");
                let path = kernel.folder.join("kernel.toml");
                return Err(FirmwareError::Manifest { path, problem });
            }
        }
        Ok(kernels)
    }

    /// Returns the user's own scenarios, as names and texts of files: those beside the user's own
    /// kernels and in the folders that contain them.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn own_scenarios(&self) -> Result<Vec<(String, String)>, FirmwareError> {
        let kernels = self.kernels()?;
        let kernels = kernels.iter().filter(|kernel| kernel.own).map(|kernel| &kernel.folder);
        let mut files: Vec<_> = self.own.iter().chain(kernels).map(|f| f.join(SCENARIOS)).collect();
        files.sort();
        files.dedup();
        files.retain(|file| file.is_file());
        let read = |file: PathBuf| {
            let text = std::fs::read_to_string(&file).map_err(io(&file))?;
            Ok((file.display().to_string(), text))
        };
        files.into_iter().map(read).collect()
    }

    /// Returns the commit that is checked out, with `+` if the tree differs from it; `None` outside a
    /// git repository.
    pub fn commit(&self) -> Option<String> {
        let git = |arguments: &[&str]| {
            let output =
                Command::new("git").arg("-C").arg(&self.root).args(arguments).output().ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        // The folder into which it was unpacked may be in an unrelated repository.
        if self.origin == Origin::Program {
            return None;
        }
        let commit = git(&["rev-parse", "HEAD"])?;
        let changed =
            git(&["status", "--porcelain", "--", "."]).is_some_and(|list| !list.is_empty());
        Some(if changed { commit + "+" } else { commit })
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FirmwareError + use<> {
    let path = path.to_owned();
    move |source| FirmwareError::Io { path, source }
}

/// Returns the folders with a `kernel.toml` in a folder.
fn kernels_in(place: &Path) -> Result<Vec<PathBuf>, FirmwareError> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(place).map_err(io(place))? {
        let folder = entry.map_err(io(place))?.path();
        if is_kernel(&folder) {
            folders.push(folder);
        }
    }
    Ok(folders)
}

fn manifest_of(folder: &Path) -> Result<Manifest, FirmwareError> {
    let path = folder.join("kernel.toml");
    let text = std::fs::read_to_string(&path).map_err(io(&path))?;
    Manifest::from_toml(&text).map_err(|problem| FirmwareError::Manifest { path, problem })
}

fn is_kernel(folder: &Path) -> bool {
    folder.join("kernel.toml").is_file()
}

/// Returns the folder in a folder that has kernels in it, such as a project's `kernels`.
pub(crate) fn within(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| contains_kernels(path))
}

fn contains_kernels(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| is_kernel(&entry.path()))
}

#[cfg(test)]
mod tests;
