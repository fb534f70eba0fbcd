//! The tools that firmware is built with: whether they are installed, which version, and how to install
//! them.

use std::path::Path;
use std::process::{Command, Stdio};

/// A tool that a build needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// `make`.
    Make,
    /// `arm-none-eabi-gcc`, or the compiler in `CROSS_COMPILE`.
    ArmGcc,
    /// newlib's headers for that compiler.
    Newlib,
    /// `riscv64-unknown-elf-gcc`.
    RiscvGcc,
    /// picolibc for that compiler.
    Picolibc,
    /// `aarch64-linux-gnu-gcc`, used without its C library.
    Aarch64Gcc,
    /// `xtensa-lx106-elf-gcc`, which has no C library.
    XtensaGcc,
    /// `clang`, or the compiler in `CLANG`: a second compiler, used on request. It takes headers,
    /// libraries and linker from [`Tool::ArmGcc`].
    Clang,
    /// `cargo` and `rustc`.
    Cargo,
    /// Rust's core library for a target.
    RustTarget(&'static str),
}

/// A tool that is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tool} is missing: {problem}")]
pub struct MissingTool {
    /// The tool's name.
    pub tool: String,
    /// What was tried, and the result.
    pub problem: String,
    /// The command that installs it.
    pub install: String,
}

/// Returns the Rust target of a core; none if Rust firmware is not built for it.
pub fn rust_target(core: &str) -> Option<&'static str> {
    Some(match core {
        "cortex-m0" | "cortex-m0plus" => "thumbv6m-none-eabi",
        "cortex-m3" => "thumbv7m-none-eabi",
        "cortex-m4" => "thumbv7em-none-eabi",
        "cortex-m4f" | "cortex-m7" => "thumbv7em-none-eabihf",
        "cortex-m33" => "thumbv8m.main-none-eabihf",
        "rv32imac" | "hazard3" => "riscv32imac-unknown-none-elf",
        // Without floating-point registers, as for C.
        "cortex-a72" => "aarch64-unknown-none-softfloat",
        // Likewise; see `rust_flags`.
        "cortex-r5" => "armv7a-none-eabi",
        _ => return None,
    })
}

/// Returns what a core adds to rustc's arguments.
///
/// `armv7r-none-eabi`, the target that is made for a Cortex-R5, is not in every distribution of Rust.
/// `armv7a-none-eabi` is the same instruction set, and with these it differs by nothing: the core's own
/// instructions and build attributes, and accesses to words at any address, which profile R has and that
/// target does not assume. Only the core library was compiled without them.
pub(crate) fn rust_flags(core: &str) -> &'static [&'static str] {
    match core {
        "cortex-r5" => &["-Ctarget-cpu=cortex-r5", "-Ctarget-feature=-strict-align"],
        _ => &[],
    }
}

/// Returns the tools that compile C for a core.
pub(crate) fn c_tools(core: &str) -> Vec<Tool> {
    if core.starts_with("rv32") || core == "hazard3" {
        vec![Tool::RiscvGcc, Tool::Picolibc]
    } else if core.starts_with("cortex-a") {
        vec![Tool::Aarch64Gcc]
    } else if core == "lx106" {
        vec![Tool::XtensaGcc]
    } else {
        vec![Tool::ArmGcc, Tool::Newlib]
    }
}

fn arm_gcc() -> String {
    std::env::var("CROSS_COMPILE").unwrap_or_else(|_| "arm-none-eabi-".into()) + "gcc"
}

fn clang() -> String {
    std::env::var("CLANG").unwrap_or_else(|_| "clang".into())
}

/// Removes Cargo's variables for the build of rtmark itself, and those of a `make` that runs rtmark, as
/// they must not reach firmware builds.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    const FOREIGN: &[&str] = &[
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_MAKEFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "MAKEOVERRIDES",
        "GNUMAKEFLAGS",
    ];
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
}

fn output_of(program: &str, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let shown = format!("`{program} {}`", arguments.join(" "));
    let output = clean(&mut command).output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("{shown} failed: {}", stderr.lines().next().unwrap_or("without a word")))
    }
}

const RISCV_GCC: &str = "riscv64-unknown-elf-gcc";
const AARCH64_GCC: &str = "aarch64-linux-gnu-gcc";
const XTENSA_GCC: &str = "xtensa-lx106-elf-gcc";

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Tells whether a program is on the search path.
fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// Returns how to install the Debian packages with these names.
pub fn debian_packages(names: &str) -> String {
    if has("apt-get") {
        format!("sudo apt-get install {names}")
    } else {
        format!("install what Debian calls {names}")
    }
}

/// Returns how to install packages here, named for several package managers.
fn packages(apt: &str, dnf: &str, pacman: &str, brew: &str) -> String {
    if has("apt-get") {
        format!("sudo apt-get install {apt}")
    } else if has("dnf") {
        format!("sudo dnf install {dnf}")
    } else if has("pacman") {
        format!("sudo pacman -S {pacman}")
    } else if has("brew") {
        format!("brew install {brew}")
    } else {
        format!("install {apt} with your system's package manager")
    }
}

impl Tool {
    /// Tells whether it compiles code.
    pub fn is_compiler(self) -> bool {
        !matches!(self, Self::Make | Self::Newlib | Self::Picolibc | Self::RustTarget(_))
    }

    /// The tool's name.
    pub fn name(self) -> String {
        match self {
            Self::Make => "make".into(),
            Self::ArmGcc => arm_gcc(),
            Self::Newlib => "newlib for Arm".into(),
            Self::RiscvGcc => RISCV_GCC.into(),
            Self::Picolibc => "picolibc for RISC-V".into(),
            Self::Aarch64Gcc => AARCH64_GCC.into(),
            Self::XtensaGcc => XTENSA_GCC.into(),
            Self::Clang => clang(),
            Self::Cargo => "cargo".into(),
            Self::RustTarget(target) => format!("the Rust target {target}"),
        }
    }

    /// The command that installs it here.
    pub fn install(self) -> String {
        match self {
            Self::Make => packages("make", "make", "make", "make"),
            Self::ArmGcc | Self::Newlib => packages(
                "gcc-arm-none-eabi libnewlib-arm-none-eabi",
                "arm-none-eabi-gcc-cs arm-none-eabi-newlib",
                "arm-none-eabi-gcc arm-none-eabi-newlib",
                "--cask gcc-arm-embedded",
            ),
            Self::RiscvGcc | Self::Picolibc => {
                debian_packages("gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
            }
            Self::Aarch64Gcc => debian_packages("gcc-aarch64-linux-gnu"),
            Self::XtensaGcc => debian_packages("gcc-xtensa-lx106"),
            Self::Clang => packages("clang", "clang", "clang", "llvm"),
            Self::Cargo => "install Rust from https://rustup.rs".into(),
            Self::RustTarget(target) => format!("rustup target add {target}"),
        }
    }

    /// Returns the tool's version as it prints it.
    ///
    /// # Errors
    /// When it is missing or does not run. `folder` is where builds run it, which matters for Rust's
    /// tools.
    pub fn version(self, folder: &Path) -> Result<String, MissingTool> {
        let answer = match self {
            Self::Make => version_of("make", folder),
            Self::ArmGcc => version_of(&arm_gcc(), folder),
            Self::Newlib => library(&arm_gcc(), &["-print-file-name=libc.a"], folder),
            Self::RiscvGcc => version_of(RISCV_GCC, folder),
            Self::Picolibc => library(RISCV_GCC, &["-print-file-name=picolibc.specs"], folder),
            Self::Aarch64Gcc => version_of(AARCH64_GCC, folder),
            Self::XtensaGcc => version_of(XTENSA_GCC, folder),
            Self::Clang => clang_for_arm(folder),
            Self::Cargo => output_of("cargo", &["--version"], folder)
                .and_then(|_| output_of("rustc", &["--version"], folder)),
            Self::RustTarget(target) => core_library(target, folder),
        };
        answer.map_err(|problem| MissingTool {
            tool: self.name(),
            problem,
            install: self.install(),
        })
    }
}

fn version_of(program: &str, folder: &Path) -> Result<String, String> {
    output_of(program, &["--version"], folder).map(|text| first_line(&text))
}

/// Checks that clang has a back end for Arm, which not every build of it has.
fn clang_for_arm(folder: &Path) -> Result<String, String> {
    let clang = clang();
    let targets = output_of(&clang, &["--print-targets"], folder)?;
    if targets.lines().any(|line| line.trim_start().starts_with("thumb ")) {
        version_of(&clang, folder)
    } else {
        Err(format!("{clang} has no target thumb"))
    }
}

/// Checks that a compiler has a file of its C library.
fn library(gcc: &str, question: &[&str], folder: &Path) -> Result<String, String> {
    let found = output_of(gcc, question, folder)?;
    // gcc prints the bare name if it does not find the file.
    if Path::new(&found).is_absolute() { Ok(found) } else { Err(format!("{gcc} finds no {found}")) }
}

fn core_library(target: &str, folder: &Path) -> Result<String, String> {
    let found = output_of("rustc", &["--print", "target-libdir", "--target", target], folder)?;
    if Path::new(&found).is_dir() { Ok(found) } else { Err(format!("there is no {found}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_targets_are_reported_with_the_install_command() {
        let missing =
            Tool::RustTarget("thumbv9-none").version(Path::new(".")).expect_err("missing");
        assert_eq!(missing.install, "rustup target add thumbv9-none");
        assert_eq!(missing.tool, "the Rust target thumbv9-none");
        assert!(missing.to_string().contains("thumbv9-none"));
    }

    /// The compilers' own lists of targets are longer; these are those of the socs.
    #[test]
    fn each_core_has_its_compilers() {
        let gcc = [Tool::ArmGcc, Tool::Newlib];
        let riscv = [Tool::RiscvGcc, Tool::Picolibc];
        let cores: [(&str, &[Tool], Option<&str>); 9] = [
            ("cortex-m0plus", &gcc, Some("thumbv6m-none-eabi")),
            ("cortex-m3", &gcc, Some("thumbv7m-none-eabi")),
            ("cortex-m4f", &gcc, Some("thumbv7em-none-eabihf")),
            ("cortex-m33", &gcc, Some("thumbv8m.main-none-eabihf")),
            ("cortex-r5", &gcc, Some("armv7a-none-eabi")),
            ("hazard3", &riscv, Some("riscv32imac-unknown-none-elf")),
            ("rv32imac", &riscv, Some("riscv32imac-unknown-none-elf")),
            ("cortex-a72", &[Tool::Aarch64Gcc], Some("aarch64-unknown-none-softfloat")),
            ("lx106", &[Tool::XtensaGcc], None),
        ];
        for (core, c, rust) in cores {
            assert_eq!((&c_tools(core)[..], rust_target(core)), (c, rust), "{core}");
            assert_eq!(rust_flags(core).is_empty(), core != "cortex-r5", "{core}");
            assert!(c[0].is_compiler() && c[1..].iter().all(|library| !library.is_compiler()));
        }
    }

    #[test]
    fn tools_answer_with_their_version_or_a_reason() {
        let here = Path::new(".");
        // The tests run under it.
        let rustc = Tool::Cargo.version(here).expect("there");
        assert!(rustc.starts_with("rustc 1."), "{rustc}");
        let cargo = version_of("cargo", here).expect("there");
        assert!(cargo.starts_with("cargo 1.") && cargo.lines().count() == 1, "{cargo}");
        let missing = output_of("no-such-tool", &["--version"], here).expect_err("missing");
        assert!(missing.starts_with("`no-such-tool --version`: "), "{missing}");
        let failed = output_of("cargo", &["no-such-command"], here).expect_err("fails");
        let words = "`cargo no-such-command` failed: error: no such command";
        assert!(failed.starts_with(words) && failed.lines().count() == 1, "{failed}");
    }
}
