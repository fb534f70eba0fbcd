//! `rtmark doctor`

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use rtmark_firmware::{BuildSystem, MissingTool, Tool, Tree, tools_for};
use rtmark_qemu::Emulator;
use rtmark_runner::{machines, socs};
use rtmark_sim::CoreKind;

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::shelf::StoreFlag;
use crate::sources::{self, BuildPlace};

/// Check for the tools that Cortex-M firmware needs, and show how to install missing ones
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark doctor                              exits with code 13 if a tool for Cortex-M is missing
  rtmark doctor --fix                        install what needs no password
  rtmark doctor --firmware ~/rtmark/firmware")]
pub struct Arguments {
    /// Folder with the kernels' firmware sources [default: firmware/ of a checkout of rtmark in this
    /// folder or above, else the sources built into the program]
    #[arg(long, value_name = "FOLDER")]
    firmware: Option<PathBuf>,
    /// Install what is missing if that needs no password: packages only as root, Rust targets as any
    /// user
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    place: BuildPlace,
    #[command(flatten)]
    store: StoreFlag,
}

/// Whether a file or folder can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// It can be written, or created.
    Write,
    /// It exists and cannot be written.
    Read,
    /// It does not exist and cannot be created.
    None,
}

impl Access {
    /// Determines it for a file or a folder, and leaves nothing behind.
    fn of(path: &Path) -> Self {
        let found = path.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
        let taken = if found.is_dir() {
            tempfile::tempfile_in(found).is_ok()
        } else {
            found == path && File::options().append(true).open(found).is_ok()
        };
        match taken {
            true => Self::Write,
            false if found == path => Self::Read,
            false => Self::None,
        }
    }
}

/// Describes the place of builds or results; returns whether it can be used.
fn describe_place(
    text: &mut String,
    (name, path): (&str, &Path),
    (limit, options): (&str, &str),
) -> bool {
    let access = Access::of(path);
    let path = path.display();
    let _ = match access {
        Access::Write => writeln!(text, "ok       {name}: {path}"),
        Access::Read => writeln!(text, "ok       {name}: {path} (read-only: {limit})"),
        Access::None => {
            writeln!(text, "MISSING  {name}: {path} cannot be created: name another with {options}")
        }
    };
    access != Access::None
}

/// Installs the missing tools that can be installed without a prompt.
fn fix() -> Result<(), CliError> {
    let here = Path::new(".");
    let missing = tools_of(CoreKind::is_cortex_m)?
        .into_iter()
        .filter_map(|tool| Some(tool.version(here).err()?.install))
        .collect();
    let root = is_root();
    for command in joined(missing).iter().filter_map(|install| without_password(install, root)) {
        output::say(format!("running: {command}"));
        let mut words = command.split(' ');
        let ended = Command::new(words.next().unwrap_or_default())
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(std::io::stderr())
            .status();
        match ended {
            Ok(status) if status.success() => {}
            Ok(status) => output::say(format!("failed: {status}")),
            Err(error) => output::say(format!("failed: {error}")),
        }
    }
    Ok(())
}

const ADD_TARGET: &str = "rustup target add ";

/// Returns commands that install the same, with one command for all Rust targets.
fn joined(install: BTreeSet<String>) -> BTreeSet<String> {
    let (targets, mut others): (BTreeSet<_>, BTreeSet<_>) =
        install.into_iter().partition(|command| command.starts_with(ADD_TARGET));
    if !targets.is_empty() {
        let names: Vec<_> =
            targets.iter().filter_map(|command| command.strip_prefix(ADD_TARGET)).collect();
        others.insert(format!("{ADD_TARGET}{}", names.join(" ")));
    }
    others
}

/// Returns the command that installs something without a prompt, if there is one.
fn without_password(install: &str, root: bool) -> Option<String> {
    if install.starts_with("rustup ") {
        return Some(install.to_owned());
    }
    let command = install.strip_prefix("sudo ").filter(|_| root)?;
    // Each package manager has its own flag to suppress prompts.
    let unasked = [
        ("apt-get install", " -y --no-install-recommends"),
        ("dnf install", " -y"),
        ("pacman -S", " --noconfirm"),
    ];
    unasked
        .into_iter()
        .find_map(|(begin, flag)| Some(format!("{begin}{flag}{}", command.strip_prefix(begin)?)))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

impl Arguments {
    pub fn run(self) -> Result<Exit, CliError> {
        if self.fix {
            fix()?;
        }
        let config = Config::load()?;
        let tree = sources::tree(self.firmware.as_deref(), self.place.cache(&config), &config);
        let folder = tree.as_ref().map_or(Path::new("."), Tree::root);
        let mut text = String::new();
        let mut complete = tree.is_ok();
        let mut install = BTreeSet::new();
        let required = tools_of(CoreKind::is_cortex_m)?;
        for &tool in &required {
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
        for tool in tools_of(|core| !core.is_cortex_m())?.difference(&required) {
            let _ = match tool.version(folder) {
                Ok(version) => writeln!(text, "ok       {}: {version}", tool.name()),
                Err(MissingTool { tool, problem, install }) => writeln!(
                    text,
                    "optional {tool}: {problem}; only cores other than Cortex-M need it: {install}"
                ),
            };
        }
        // Clang is optional: only `--compiler clang` needs it.
        let _ = match Tool::Clang.version(folder) {
            Ok(version) => writeln!(text, "ok       {}: {version}", Tool::Clang.name()),
            Err(MissingTool { tool, problem, install }) => {
                writeln!(
                    text,
                    "optional {tool}: {problem}; only `--compiler clang` needs it: {install}"
                )
            }
        };
        // The default suite does not need QEMU: its absence is shown but is not a failure.
        for emulator in emulators()? {
            let name = emulator.program();
            let _ = match emulator.version() {
                Ok(version) => writeln!(text, "ok       {name}: {version}"),
                Err(error) => {
                    let install = rtmark_firmware::debian_packages(emulator.package());
                    writeln!(text, "optional {error}; only `--backend qemu` needs it: {install}")
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
                complete &= describe_place(
                    &mut text,
                    ("builds", tree.cache().folder()),
                    ("what is built already is used", "--build-dir or RTMARK_BUILD"),
                );
            }
            Err(error) => {
                let _ = writeln!(text, "MISSING  firmware: {}", error.in_one_line());
            }
        }
        match self.store.path(&config) {
            Ok(path) => {
                complete &= describe_place(
                    &mut text,
                    ("store", &path),
                    ("results are shown, and none are kept", "--store or RTMARK_STORE"),
                );
            }
            Err(error) => {
                complete = false;
                let _ = writeln!(text, "MISSING  store: {}", error.in_one_line());
            }
        }
        if !install.is_empty() {
            text.push_str("\nTo install what is missing (or try `rtmark doctor --fix`):\n");
            for command in joined(install) {
                let _ = writeln!(text, "  {command}");
            }
        }
        output::data(&text)?;
        Ok(if complete { Exit::Fine } else { Exit::Missing })
    }
}

/// Returns the QEMU programs that machine files name.
fn emulators() -> Result<BTreeSet<Emulator>, CliError> {
    Ok(machines::builtin()?.into_iter().map(|file| file.machine.emulator).collect())
}

/// Returns the tools that any kernel needs on the built-in socs whose core is of some kind.
fn tools_of(is_meant: impl Fn(CoreKind) -> bool) -> Result<BTreeSet<Tool>, CliError> {
    let mut tools = BTreeSet::new();
    for file in socs::builtin()?.into_iter().filter(|file| is_meant(file.soc.core)) {
        for build in [BuildSystem::Make, BuildSystem::Cargo] {
            tools.extend(tools_for(build, file.soc.core.name()));
        }
    }
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_without_prompts_are_run() {
        let apt = "sudo apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi";
        let unasked = "apt-get install -y --no-install-recommends gcc-arm-none-eabi \
                       libnewlib-arm-none-eabi";
        assert_eq!(without_password(apt, true).as_deref(), Some(unasked));
        assert_eq!(without_password(apt, false), None);
        let target = "rustup target add thumbv6m-none-eabi";
        assert_eq!(without_password(target, false).as_deref(), Some(target));
        assert_eq!(without_password("install Rust from https://rustup.rs", true), None);
    }

    #[test]
    fn places_are_tried_and_left_as_they_were() {
        let home = tempfile::tempdir().expect("a folder");
        let (file, new) = (home.path().join("file"), home.path().join("new/folder"));
        std::fs::write(&file, "kept").expect("writable");
        assert_eq!([&file, &new].map(|it| Access::of(it)), [Access::Write; 2]);
        assert_eq!(Access::of(home.path()), Access::Write);
        assert_eq!(Access::of(&file.join("below")), Access::None);
        assert_eq!(std::fs::read(&file).expect("readable"), b"kept");
        assert_eq!(std::fs::read_dir(home.path()).expect("readable").count(), 1);

        let mut text = String::new();
        let words = ("no more", "--there");
        assert!(describe_place(&mut text, ("builds", &new), words));
        assert!(!describe_place(&mut text, ("store", &file.join("below")), words));
        let (new, below) = (new.display(), file.join("below"));
        let below = below.display();
        let expected = format!(
            "ok       builds: {new}\nMISSING  store: {below} cannot be created: name another with --there\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn rust_targets_are_added_by_one_command() {
        let commands =
            ["install Rust", "rustup target add b", "rustup target add a"].map(String::from);
        let joined: Vec<_> = joined(commands.into()).into_iter().collect();
        assert_eq!(joined, ["install Rust", "rustup target add a b"]);
    }

    #[test]
    fn only_cortex_m_is_required() {
        let required = tools_of(CoreKind::is_cortex_m).expect("the built-in socs are valid");
        assert!(required.contains(&Tool::ArmGcc) && required.contains(&Tool::Cargo));
        assert!(!required.contains(&Tool::RiscvGcc));
    }
}
