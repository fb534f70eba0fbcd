//! The tools that must be installed before a plan can run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rtmark_firmware::{Builder, Kernel, MissingTool, SettingChanges};
use rtmark_qemu::Emulator;
use rtmark_runner::{Plan, Platform, Unit};

use crate::error::CliError;
use crate::exit::Exit;

/// Returns an error if a plan needs tools that are missing.
///
/// The hint says what to install, and which kernels can be measured without.
pub fn refuse_without_tools(builder: &Builder, plan: &Plan) -> Result<(), CliError> {
    let emulators = missing_emulators(plan);
    let tools = missing_tools(builder, &plan.units);
    // Without its emulator, no kernel of a platform can be measured.
    let rest = if emulators.is_empty() && !tools.is_empty() {
        buildable_kernels(builder, plan)
    } else {
        Vec::new()
    };
    let missing: Vec<_> = tools.into_iter().chain(emulators).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = missing.iter().map(ToString::to_string).collect();
    let mut commands: Vec<_> = missing.into_iter().map(|tool| tool.install).collect();
    commands.dedup();
    let commands: Vec<_> = commands.iter().map(|command| format!("  {command}")).collect();
    let mut hint = format!("install what is missing:\n{}", commands.join("\n"));
    if !rest.is_empty() {
        let _ = write!(
            hint,
            "\nor measure only kernels that do not need it: --kernel {}",
            rest.join(" ")
        );
    }
    Err(CliError::new(Exit::Missing, problems.join("\n"), hint))
}

/// Returns the tools that are missing to build the firmware of some units.
fn missing_tools(builder: &Builder, units: &[Unit]) -> Vec<MissingTool> {
    let needed = units.iter().filter(|unit| unit.needs_firmware());
    let needed: Vec<(&Kernel, &str, &SettingChanges)> =
        needed.map(|unit| (&unit.kernel, unit.platform.core(), &unit.setting_changes)).collect();
    builder.missing_tools(needed)
}

/// Returns the kernels of a plan for which all tools are present.
fn buildable_kernels(builder: &Builder, plan: &Plan) -> Vec<String> {
    let lacks = |unit: &&Unit| !missing_tools(builder, std::slice::from_ref(*unit)).is_empty();
    let lacking: BTreeSet<_> =
        plan.units.iter().filter(lacks).map(|unit| &unit.kernel.manifest.id).collect();
    let built = plan.units.iter().filter(|unit| unit.needs_firmware());
    let kernels: BTreeSet<_> = built.map(|unit| &unit.kernel.manifest.id).collect();
    kernels.difference(&lacking).map(ToString::to_string).collect()
}

/// Returns the QEMU programs that a plan needs and that are missing, each once.
fn missing_emulators(plan: &Plan) -> Vec<MissingTool> {
    let emulators: BTreeSet<_> = plan
        .units
        .iter()
        .filter_map(|unit| match &unit.platform {
            Platform::Qemu(file) => Some(file.machine.emulator),
            Platform::Sim(..) | Platform::Rehearsal(_) | Platform::Board(_) => None,
        })
        .collect();
    let missing = |emulator: Emulator| {
        let problem = emulator.version().err()?.to_string();
        let install = rtmark_firmware::debian_packages(emulator.package());
        Some(MissingTool { tool: emulator.program().to_owned(), problem, install })
    };
    emulators.into_iter().filter_map(missing).collect()
}
