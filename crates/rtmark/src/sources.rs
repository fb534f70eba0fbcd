//! Where kernels and scenarios come from: rtmark's own, and the user's.

use std::path::{Path, PathBuf};

use clap::Args;
use rtmark_cause::KeptImages;
use rtmark_firmware::{BUILD_VARIABLE, Cache, Kernel, Tree};
use rtmark_model::Catalogue;
use rtmark_runner::{input_file, socs};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;

/// Options that select kernels' sources, for every command that builds firmware.
#[derive(Debug, Args)]
pub struct Sources {
    /// Folder with the kernels' firmware sources [default: firmware/ of a checkout of rtmark in this
    /// folder or above, else the sources built into the program]
    #[arg(long, value_name = "FOLDER", env = "RTMARK_FIRMWARE")]
    firmware: Option<PathBuf>,
    /// Folders with additional kernels and scenarios of your own: each has a kernel.toml, or subfolders
    /// with one (docs/own.md)
    #[arg(long, value_name = "FOLDER", num_args = 1.., env = rtmark_firmware::OWN_VARIABLE,
          value_delimiter = ':')]
    own: Vec<PathBuf>,
    /// Folder with catalogue files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
    #[command(flatten)]
    place: BuildPlace,
}

/// Where firmware is built, for every command that builds firmware or inspects builds.
#[derive(Debug, Args)]
pub struct BuildPlace {
    /// Folder for builds [default: rtmark in the user's cache directory]
    #[arg(long, value_name = "FOLDER", env = BUILD_VARIABLE)]
    build_dir: Option<PathBuf>,
}

impl BuildPlace {
    /// Returns the build cache in the selected folder.
    pub fn cache(&self, config: &Config) -> Cache {
        let named = self.build_dir.as_deref().or(config.build.as_deref());
        named.map_or_else(Cache::default, Cache::at)
    }
}

/// The firmware sources built into this program, if any.
const SOURCES: Option<rtmark_firmware::Sources> = {
    #[cfg(feature = "sources")]
    {
        Some(rtmark_sources::FILES)
    }
    #[cfg(not(feature = "sources"))]
    {
        None
    }
};

/// Opens the firmware tree of a folder, or the default one.
pub fn tree(folder: Option<&Path>, cache: Cache, config: &Config) -> Result<Tree, CliError> {
    Ok(Tree::find_or(folder.or(config.firmware.as_deref()), cache, SOURCES)?)
}

/// The kernels and scenarios that were found.
pub struct FoundSources {
    pub tree: Tree,
    pub kernels: Vec<Kernel>,
    pub catalogue: Catalogue,
}

impl Sources {
    /// Finds all kernels and scenarios.
    pub fn find(&self, config: &Config) -> Result<FoundSources, CliError> {
        let tree = tree(self.firmware.as_deref(), self.place.cache(config), config)?;
        let tree = tree.with_own(self.own(config))?;
        let kernels = tree.kernels()?;
        let mut catalogue = self.catalogue(config)?;
        for (file, text) in tree.own_scenarios()? {
            catalogue.add_own(&file, &text)?;
        }
        Ok(FoundSources { tree, kernels, catalogue })
    }

    /// Returns access to the kept firmware of earlier measurements.
    pub fn kept_images(&self, config: &Config) -> Result<KeptImages, CliError> {
        let files = config.run.soc.iter().filter_map(|soc| socs::find(soc).ok());
        Ok(KeptImages {
            cache: self.place.cache(config),
            catalogue: self.with_own_scenarios(config)?,
            own: self.own(config).to_vec(),
            socs: files.collect(),
        })
    }

    fn own<'a>(&'a self, config: &'a Config) -> &'a [PathBuf] {
        if self.own.is_empty() { &config.own } else { &self.own }
    }

    /// Reads the catalogue, including the scenarios of the user's own kernels.
    pub fn with_own_scenarios(&self, config: &Config) -> Result<Catalogue, CliError> {
        if self.own(config).is_empty() {
            return self.catalogue(config);
        }
        Ok(self.find(config)?.catalogue)
    }

    /// Reads the catalogue without the user's own scenarios.
    pub fn catalogue(&self, config: &Config) -> Result<Catalogue, CliError> {
        catalogue(self.catalogue.as_deref().or(config.catalogue.as_deref()))
    }
}

/// Reads the catalogue of a folder, or the built-in one.
pub fn catalogue(folder: Option<&Path>) -> Result<Catalogue, CliError> {
    let Some(folder) = folder else { return Ok(Catalogue::builtin()?) };
    let unreadable = |path: &Path, error: std::io::Error| {
        CliError::new(Exit::Usage, format!("{}: {error}", path.display()), "check the path")
    };
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    if paths.is_empty() {
        let message = format!("{}: the folder has no .toml file", folder.display());
        return Err(CliError::new(Exit::Usage, message, "give a folder with catalogue files"));
    }
    let mut files = Vec::new();
    for path in paths {
        let text = input_file::read_text(&path).map_err(|error| unreadable(&path, error))?;
        files.push((path.display().to_string(), text));
    }
    Ok(Catalogue::from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))?)
}
