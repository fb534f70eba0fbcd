//! Measures the memory that a kernel's firmware uses: flash, RAM, the stacks during a run, and what one
//! more task, queue or timer adds.

use rtmark_firmware::{BASE_IMAGE, Builder, BuiltImage, Kernel, SettingChanges, select};
use rtmark_model::{Failure, FailureKind, KernelId, Scenario, visible};
use rtmark_observe::{StackKind, StackUse, Stacks};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;

use crate::images::failure_of;
use crate::internal_error;
use crate::measure::{Probed, Verdict, verdict};
use crate::run::{Ending, Session};

/// Runs a scenario to its end and reports how much of their stacks its tasks and interrupts used, or why
/// the firmware declined a point of a curve.
///
/// # Errors
/// When the image does not fit the soc, the run does not end by itself, or the firmware does not succeed.
pub fn stacks(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
) -> Result<Result<Vec<StackUse>, String>, Failure> {
    let fail = |kind, message: String| Failure {
        kind,
        message,
        hint: "`rtmark run` shows whether the scenario can be measured".into(),
        console: String::new(),
    };
    let load = |message: String| fail(FailureKind::Load, message);
    let mut session = Session::new(soc, &probed.image).map_err(|error| load(error.to_string()))?;
    select(&mut session.machine, &probed.image, &probed.records, &scenario.id)
        .map_err(|error| load(error.to_string()))?;
    let mut stacks = Stacks::new(&session.machine, probed.image.symbols());
    let mut console = Vec::new();
    let ending =
        session.run_observed(budget, &mut stacks, |machine| console.extend(machine.take_console()));
    match ending {
        Ending::Exit(status) => {
            let point = scenario.point.as_ref().map_or(0, |point| point.n);
            let failed = |problem| Failure {
                console: visible(&console),
                ..fail(FailureKind::Check, problem)
            };
            match verdict(scenario.in_firmware(), point, &console).map_err(failed)? {
                Verdict::Declined(reason) => Ok(Err(reason)),
                Verdict::Ok(_) if status.0 == 0 => Ok(Ok(stacks.uses())),
                Verdict::Ok(_) => Err(failed(format!(
                    "it printed ok, but ended with {}",
                    session.describe(&ending)
                ))),
            }
        }
        Ending::Internal(error) => Err(Failure {
            hint: internal_error::hint(),
            ..fail(
                FailureKind::Internal,
                internal_error::describe(&error, &probed.image, &probed.elf),
            )
        }),
        other => Err(fail(FailureKind::Budget, session.describe(&other))),
    }
}

/// The memory cost of one more object: the difference between an image with it and one without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The soc.
    pub soc: String,
    /// The kernel.
    pub kernel: KernelId,
    /// The kind of object: `task`, `queue`, `timer`.
    pub object: String,
    /// Its cost, or why the kernel has no such object.
    pub cost: Result<ObjectCost, String>,
}

/// The memory cost of one more object, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCost {
    /// What exactly the object is.
    pub what: String,
    /// Code and constants, including the call that creates it.
    pub flash_bytes: i64,
    /// Statically allocated memory.
    pub ram_bytes: i64,
    /// The additional use of main's stack, for kernels that keep objects there.
    pub main_stack_bytes: i64,
}

/// Returns the memory of an image with objects: flash, RAM, and main's stack as far as the run used it.
fn memory_of(soc: &Soc, built: &BuiltImage) -> Result<[i64; 3], String> {
    let image = Image::from_elf(&built.elf).map_err(|error| error.to_string())?;
    let mut session = Session::new(soc, &image).map_err(|error| error.to_string())?;
    let mut stacks = Stacks::new(&session.machine, image.symbols());
    let mut console = Vec::new();
    let ending =
        session.run_observed(Cycles(u64::from(soc.clock.0) / 10), &mut stacks, |machine| {
            console.extend(machine.take_console());
        });
    match ending {
        Ending::Exit(status) if status.0 == 0 => {}
        other => return Err(format!("{}: {}", session.describe(&other), visible(&console))),
    }
    let of_main = stacks.uses().into_iter().filter(|used| used.kind == StackKind::Main);
    let main = of_main.map(|used| used.bytes.0).max().unwrap_or_default();
    Ok([image.flash_bytes() as i64, image.ram_bytes(soc) as i64, main as i64])
}

/// Builds the images that show what one more of each object costs, and runs them.
///
/// # Errors
/// When an image cannot be built, or its run does not succeed.
pub fn objects(
    builder: &Builder,
    kernel: &Kernel,
    soc: &Soc,
    setting_changes: &SettingChanges,
) -> Result<Vec<Object>, Failure> {
    let manifest = &kernel.manifest;
    let object = |object: &str, cost| Object {
        soc: soc.name.clone(),
        kernel: manifest.id.clone(),
        object: object.to_owned(),
        cost,
    };
    let mut found: Vec<_> = manifest
        .no_objects
        .iter()
        .map(|(name, reason)| object(name, Err(reason.clone())))
        .collect();
    if !manifest.objects.is_empty() {
        let images = builder
            .build_objects(kernel, soc, setting_changes)
            .map_err(|error| failure_of(&error))?;
        let memory = |name: &str| {
            let image = images.get(name).ok_or_else(|| format!("no image has {name}"));
            image.and_then(|image| memory_of(soc, image)).map_err(|message| Failure {
                kind: FailureKind::Check,
                message: format!("{} with one more {name}: {message}", manifest.id),
                hint: "check the kernel's objects.c or objects.rs".into(),
                console: String::new(),
            })
        };
        let without = memory(BASE_IMAGE)?;
        for (name, what) in &manifest.objects {
            let with = memory(name)?;
            let [flash_bytes, ram_bytes, main_stack_bytes] =
                std::array::from_fn(|at| with[at] - without[at]);
            let what = what.clone();
            let cost = ObjectCost { what, flash_bytes, ram_bytes, main_stack_bytes };
            found.push(object(name, Ok(cost)));
        }
    }
    found.sort_by(|a, b| a.object.cmp(&b.object));
    Ok(found)
}

#[cfg(test)]
mod tests;
