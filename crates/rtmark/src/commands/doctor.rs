//! `rtmark doctor`

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rtmark_firmware::{BuildSystem, MissingTool, Tool, Tree, tools_for};
use rtmark_qemu::Emulator;
use rtmark_runner::{machines, socs};

use crate::config::Config;
use crate::exit::Exit;
use crate::output;
use crate::sources::{self, Place};
use crate::trouble::Trouble;

/// Check that all tools are there, and say how to install what is missing
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark doctor                              exit code 13 when something is missing
  rtmark doctor --firmware ~/rtmark/firmware")]
pub struct Arguments {
    /// The folder with the kernels' firmware sources [default: that of a checkout of rtmark here or
    /// above, else those that came with the program]
    #[arg(long, value_name = "FOLDER")]
    firmware: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, Trouble> {
        let config = Config::load()?;
        let tree = sources::tree(self.firmware.as_deref(), self.place.cache(&config), &config);
        let folder = tree.as_ref().map_or(Path::new("."), Tree::root);
        let mut text = String::new();
        let mut complete = tree.is_ok();
        let mut install = BTreeSet::new();
        for tool in all_tools()? {
            match tool.version(folder) {
                Ok(version) => {
                    let _ = writeln!(text, "ok       {}: {version}", tool.name());
                }
                Err(missing) => {
                    complete = false;
                    let _ = writeln!(text, "MISSING  {}: {}", missing.tool, missing.problem);
                    install.insert(missing.install);
                }
            }
        }
        // For those who ask for it with --compiler.
        let _ = match Tool::Clang.version(folder) {
            Ok(version) => writeln!(text, "ok       {}: {version}", Tool::Clang.name()),
            Err(MissingTool { tool, problem, install }) => {
                writeln!(text, "absent   {tool}: {problem}: `--compiler clang` needs it: {install}")
            }
        };
        // Not needed by the default suite: absence is told and no failure.
        for emulator in emulators()? {
            let name = emulator.program();
            let _ = match emulator.version() {
                Ok(version) => writeln!(text, "ok       {name}: {version}"),
                Err(error) => {
                    let install = rtmark_firmware::debian_packages(emulator.package());
                    writeln!(text, "absent   {error}: `--backend qemu` needs it: {install}")
                }
            };
        }
        match &tree {
            Ok(tree) => {
                let kernels = tree.kernels()?;
                let names: Vec<_> =
                    kernels.iter().map(|kernel| kernel.manifest.id.to_string()).collect();
                let _ = writeln!(
                    text,
                    "ok       firmware: {} ({})",
                    tree.root().display(),
                    names.join(", ")
                );
                let _ = writeln!(text, "ok       builds: {}", tree.cache().folder().display());
            }
            Err(error) => {
                let _ = writeln!(text, "MISSING  {error}");
            }
        }
        match rtmark_store::default_path() {
            Ok(path) => {
                let _ = writeln!(text, "ok       store: {}", path.display());
            }
            Err(error) => {
                complete = false;
                let _ = writeln!(text, "MISSING  {error}");
            }
        }
        if !install.is_empty() {
            text.push_str("\nInstall what is missing:\n");
            for command in install {
                let _ = writeln!(text, "  {command}");
            }
        }
        output::data(&text)?;
        Ok(if complete { Exit::Fine } else { Exit::Missing })
    }
}

/// The programs of QEMU that machine files name.
fn emulators() -> Result<BTreeSet<Emulator>, Trouble> {
    Ok(machines::builtin()?.into_iter().map(|file| file.machine.emulator).collect())
}

/// The tools that the kernels of all kinds take on the socs that there are.
fn all_tools() -> Result<BTreeSet<Tool>, Trouble> {
    let mut tools = BTreeSet::new();
    for file in socs::builtin()? {
        for build in [BuildSystem::Make, BuildSystem::Cargo] {
            tools.extend(tools_for(build, file.soc.core.name()));
        }
    }
    Ok(tools)
}
