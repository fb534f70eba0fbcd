//! Where firmware sources are, and which kernels they hold.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::manifest::Manifest;
use crate::{FirmwareError, Language};

/// The environment variable that names the firmware tree.
pub const TREE_VARIABLE: &str = "RTMARK_FIRMWARE";

/// A folder with one folder for each kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    root: PathBuf,
}

/// A kernel of a tree.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its folder.
    pub folder: PathBuf,
    /// What its `kernel.toml` says.
    pub manifest: Manifest,
}

impl Tree {
    /// Finds the tree: the one given, else that of `$RTMARK_FIRMWARE`, else a
    /// folder `firmware` here or above, else the one that this program was built beside.
    ///
    /// # Errors
    /// When there is none, or the one asked for holds no kernel.
    pub fn find(given: Option<&Path>) -> Result<Self, FirmwareError> {
        let variable = std::env::var_os(TREE_VARIABLE).filter(|value| !value.is_empty());
        if let Some(root) = given.map(Path::to_owned).or_else(|| variable.map(PathBuf::from)) {
            return if holds_kernels(&root) {
                Ok(Self { root: absolute(root) })
            } else {
                Err(FirmwareError::NoTree { looked_in: vec![root] })
            };
        }
        let here = std::env::current_dir().unwrap_or_default();
        let built_beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
        let above = here.ancestors().map(|folder| folder.join("firmware"));
        let places: Vec<_> = above.chain([built_beside]).collect();
        match places.iter().find(|place| holds_kernels(place)) {
            Some(root) => Ok(Self { root: absolute(root.clone()) }),
            None => Err(FirmwareError::NoTree { looked_in: places }),
        }
    }

    /// The tree's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The kernels: the floor first, then those in C, then those in Rust.
    ///
    /// # Errors
    /// When the folder or a `kernel.toml` cannot be read.
    pub fn kernels(&self) -> Result<Vec<Kernel>, FirmwareError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FirmwareError::Io { path, source }
        };
        let mut kernels = Vec::new();
        for entry in std::fs::read_dir(&self.root).map_err(io(&self.root))? {
            let folder = entry.map_err(io(&self.root))?.path();
            let file = folder.join("kernel.toml");
            if !file.is_file() {
                continue;
            }
            let text = std::fs::read_to_string(&file).map_err(io(&file))?;
            let manifest = Manifest::from_toml(&text)
                .map_err(|problem| FirmwareError::Manifest { path: file, problem })?;
            kernels.push(Kernel { folder, manifest });
        }
        kernels.sort_by_key(|kernel| {
            let manifest = &kernel.manifest;
            let not_floor = manifest.id.as_str() != "floor";
            (not_floor, manifest.language == Language::Rust, manifest.id.clone())
        });
        Ok(kernels)
    }

    /// The commit that is checked out, with `+` when the tree differs from it.
    /// `None` outside a git repository.
    pub fn commit(&self) -> Option<String> {
        let git = |arguments: &[&str]| {
            let output =
                Command::new("git").arg("-C").arg(&self.root).args(arguments).output().ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let commit = git(&["rev-parse", "HEAD"])?;
        let changed =
            git(&["status", "--porcelain", "--", "."]).is_some_and(|list| !list.is_empty());
        Some(if changed { commit + "+" } else { commit })
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

fn holds_kernels(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().join("kernel.toml").is_file())
}
