//! What memory a kernel's firmware takes: flash, RAM, the stacks of a run, and what one more task,
//! queue or timer adds.

use rtmark_firmware::{Builder, BuiltImage, Kernel, NOTHING_MORE, Switched, select};
use rtmark_model::{Failure, FailureKind, KernelId, Scenario, visible};
use rtmark_observe::{StackKind, StackUse, Stacks};
use rtmark_sim::{Image, Soc};
use rtmark_units::Cycles;

use crate::images::failure_of;
use crate::measure::Probed;
use crate::mistake;
use crate::run::{Ending, Session};

/// Runs a scenario to its end and tells how much of their stacks its tasks and interrupts
/// have used.
///
/// # Errors
/// When the image does not fit the soc, or the run does not end by itself.
pub fn stacks(
    soc: &Soc,
    probed: &Probed,
    scenario: &Scenario,
    budget: Cycles,
) -> Result<Vec<StackUse>, Failure> {
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
    let ending = session.run_observed(budget, &mut stacks, |machine| {
        machine.take_console();
    });
    match ending {
        Ending::Exit(_) => Ok(stacks.uses()),
        Ending::Internal(error) => Err(Failure {
            hint: mistake::hint(),
            ..fail(FailureKind::Internal, mistake::told(&error, &probed.image, &probed.elf))
        }),
        other => Err(fail(FailureKind::Budget, session.tell(&other))),
    }
}

/// What one more object takes: the difference of two images, one with it and one without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The soc.
    pub soc: String,
    /// The kernel.
    pub kernel: KernelId,
    /// What there is one more of: `task`, `queue`, `timer`.
    pub object: String,
    /// What it takes, or why the kernel has no such thing.
    pub cost: Result<ObjectCost, String>,
}

/// What one more object takes, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCost {
    /// What exactly it is.
    pub what: String,
    /// Code and constants, with the call that creates it.
    pub flash_bytes: i64,
    /// Memory that it has for ever.
    pub ram_bytes: i64,
    /// What more of main's stack was in use, where objects lie there.
    pub main_stack_bytes: i64,
}

/// The memory of an image of objects: flash, RAM, main's stack as far as its run has used it.
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
        other => return Err(format!("{}: {}", session.tell(&other), visible(&console))),
    }
    let of_main = stacks.uses().into_iter().filter(|used| used.kind == StackKind::Main);
    let main = of_main.map(|used| used.bytes.0).max().unwrap_or_default();
    Ok([image.flash_bytes() as i64, image.ram_bytes() as i64, main as i64])
}

/// Builds the images that show what one more of each object takes, and runs them.
///
/// # Errors
/// When one cannot be built, or does not end well.
pub fn objects(
    builder: &Builder,
    kernel: &Kernel,
    soc: &Soc,
    switched: &Switched,
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
        let images =
            builder.build_objects(kernel, soc, switched).map_err(|error| failure_of(&error))?;
        let memory = |name: &str| {
            let image = images.get(name).ok_or_else(|| format!("no image has {name}"));
            image.and_then(|image| memory_of(soc, image)).map_err(|message| Failure {
                kind: FailureKind::Check,
                message: format!("{} with one more {name}: {message}", manifest.id),
                hint: "see the kernel's objects.c or objects.rs".into(),
                console: String::new(),
            })
        };
        let without = memory(NOTHING_MORE)?;
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
