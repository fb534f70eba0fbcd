//! `rtmark footprint`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Variant};
use rtmark_model::{Answer, Firmware, Key, Pattern};
use rtmark_observe::{Size, SizeGroup, StackKind, StackUse};
use rtmark_runner::{Footprint, ForeignImage, Object, ObjectCost, Plan, Platform, Selection};
use rtmark_units::Cycles;
use serde::Serialize;

use super::columns::Images;
use super::limit::Limit;
use super::run::{show_failures, simulated, suite};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR};
use crate::progress::{self, Progress};
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Show how much memory kernels take: flash, RAM, stacks, and one more task, queue or timer
///
/// Flash and RAM are those of the whole image that holds a scenario, including its tasks, stacks and
/// heap. Stack use is observed at every instruction while the scenario runs: it is what was used,
/// not a bound on what could be. The cost of one more object is the difference between two images,
/// one with it and one without.
#[derive(Debug, Args)]
#[command(mut_arg("lasts", |arg| arg.requires("image")))]
#[command(mut_arg("max_cycles", |arg| arg.requires("image")))]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark footprint --soc stm32c031
  rtmark footprint -k freertos embassy -s thread.yield queue.handover --format json
  rtmark footprint --image app=app.elf --soc stm32f405    any firmware, for one second of its clock
  rtmark footprint --image app=app.elf --soc stm32f405 --by crate

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Kernels, by name or pattern [default: all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios to observe, by name or pattern
    #[arg(short, long, value_name = "GLOB", num_args = 1..,
          default_values = ["thread.yield", "queue.handover", "isr.wake.thread", "timer.wake"])]
    scenario: Vec<Pattern>,
    /// Socs, by name, pattern or path of a soc file [default: the socs of the default suite]
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<String>,
    /// Build profile, optionally with settings, as in `product+opt=3`
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: Variant,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    images: Images,
    /// With --image: also split its flash and RAM by crate or folder, source file, or symbol
    #[arg(long, value_enum, requires = "image")]
    by: Option<By>,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Crate, or the folder of a file that belongs to none
    Crate,
    /// Source file, by the debug information
    File,
    /// Function or variable
    Symbol,
}

impl From<By> for SizeGroup {
    fn from(by: By) -> Self {
        match by {
            By::Crate => Self::Crate,
            By::File => Self::File,
            By::Symbol => Self::Symbol,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text tables, sizes in bytes
    Table,
    /// JSON: docs/schema/footprint.schema.json
    Json,
}

/// The version of [`Document`].
const SCHEMA_VERSION: u32 = 1;

/// The output of `rtmark footprint --format json`. Fields may be added; `schema_version` increases when
/// one changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema_version: u32,
    /// The program that wrote it, with its version.
    generator: &'static str,
    /// The footprints, one for each kernel and scenario.
    footprints: Vec<Entry<'a>>,
    /// The cost of one more kernel object, one entry for each kernel and object.
    objects: Vec<ObjectFootprint<'a>>,
    /// The footprints of foreign images, one for each image and soc.
    images: &'a [OfImage],
}

/// The memory that a foreign image used in a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfImage {
    /// The name of its column.
    name: String,
    /// The path of its file.
    file: String,
    /// SHA-256 of the file, in hexadecimal.
    sha256: String,
    soc: String,
    /// The size of code, constants and initial values of variables, in bytes.
    flash_bytes: u64,
    /// The statically allocated RAM, in bytes.
    ram_bytes: u64,
    /// The number of cycles for which it was observed.
    cycles: u64,
    /// How the run ended.
    ended: String,
    /// Where its main stack grew into other data, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack_overflow: Option<String>,
    /// The stacks of the run.
    stacks: Vec<StackUse>,
    /// With --by: what the flash and RAM belong to, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartOfImage>,
}

/// The flash and RAM of a crate, file or symbol, in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartOfImage {
    name: String,
    flash_bytes: u64,
    ram_bytes: u64,
}

impl From<Size> for PartOfImage {
    fn from(Size { name, flash_bytes, ram_bytes }: Size) -> Self {
        Self { name, flash_bytes, ram_bytes }
    }
}

/// The cost of one more kernel object, or why the kernel has no such object. Sizes are in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ObjectFootprint<'a> {
    soc: &'a str,
    kernel: &'a str,
    /// `task`, `queue` or `timer`.
    object: &'a str,
    /// A description of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'a str>,
    /// Code and constants, including the call that creates the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    flash_bytes: Option<i64>,
    /// The RAM that it occupies permanently.
    #[serde(skip_serializing_if = "Option::is_none")]
    ram_bytes: Option<i64>,
    /// The additional use of the main stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    main_stack_bytes: Option<i64>,
    /// Why the kernel has no such object.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> From<&'a Object> for ObjectFootprint<'a> {
    fn from(object: &'a Object) -> Self {
        let cost = object.cost.as_ref();
        let found = cost.ok();
        Self {
            soc: &object.soc,
            kernel: object.kernel.as_str(),
            object: &object.object,
            what: found.map(|cost| cost.what.as_str()),
            flash_bytes: found.map(|cost| cost.flash_bytes),
            ram_bytes: found.map(|cost| cost.ram_bytes),
            main_stack_bytes: found.map(|cost| cost.main_stack_bytes),
            reason: cost.err().map(String::as_str),
        }
    }
}

/// The memory that a kernel uses in one scenario. All sizes are in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry<'a> {
    /// The scenario, kernel and soc.
    key: &'a Key,
    /// The image that holds the scenario, with its flash and RAM.
    firmware: &'a Firmware,
    /// The stacks of the run.
    stacks: &'a [StackUse],
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&Config::load()?)?;
        let socs = simulated(&self.soc)?;
        let images = self.images.read(&socs)?;
        let of_images = self.of_images(&images, &socs, verbosity)?;
        // With images, only kernels that the command line names are included.
        let alone = !images.is_empty() && self.kernel.is_empty();
        let kernels = if alone { Vec::new() } else { kernels };
        let selection = Selection { kernels: self.kernel, scenarios: self.scenario };
        let plan = Plan::new(
            &catalogue,
            &kernels,
            &socs,
            std::slice::from_ref(&self.profile),
            &selection,
        )?;
        let suite = suite(tree, None);
        refuse_without_tools(&suite.builder, &plan)?;
        let mut progress = Progress::new(verbosity);
        let answers = suite.footprints(&plan, &mut progress);
        let objects = measure_objects(&suite.builder, &plan);
        progress.finish();
        // What has been observed is shown, whatever the objects' images do.
        let (objects, failed) = match objects {
            Ok(objects) => (objects, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(footprint) => found.push(footprint),
                Err(Answer::NotApplicable { .. }) => {}
                Err(answer) => others.push(answer),
            }
        }
        match self.format {
            Format::Json => {
                let footprints = found.iter().map(|footprint| {
                    let Footprint { key, firmware, stacks } = footprint;
                    Entry { key, firmware, stacks }
                });
                let document = Document {
                    schema_version: SCHEMA_VERSION,
                    generator: GENERATOR,
                    footprints: footprints.collect(),
                    objects: objects.iter().map(ObjectFootprint::from).collect(),
                    images: &of_images,
                };
                output::data(&output::json(&document)?)?;
            }
            Format::Table => {
                let parts = [table(&found), objects_table(&objects), images_table(&of_images)];
                let shown = parts.iter().filter(|part| !part.is_empty());
                let shown: Vec<_> = shown.map(|part| part.trim_start_matches('\n')).collect();
                output::data(&shown.join("\n"))?;
            }
        }
        let exit = show_failures(&others);
        Ok(failed.map_or(exit, CliError::show))
    }
}

impl Arguments {
    /// Measures the footprint of each image on each soc.
    fn of_images(
        &self,
        images: &[ForeignImage],
        socs: &[Platform],
        verbosity: Verbosity,
    ) -> Result<Vec<OfImage>, CliError> {
        let limit = self.limit.of_observed();
        let mut found = Vec::new();
        for platform in socs {
            let Platform::Sim(file, _) = platform else { continue };
            for image in images {
                let bar = progress::bar(verbosity, format!("{} on {}", image.name, file.soc.name));
                let footprint = image.footprint(file, limit, |Cycles(now), Cycles(limit)| {
                    bar.set_length(limit);
                    bar.set_position(now.min(limit));
                });
                bar.finish_and_clear();
                let footprint = footprint.map_err(|failure| {
                    CliError::new(Exit::from(failure.kind), failure.message, failure.hint)
                })?;
                let sizes = self.by.map(|by| image.sizes(file, by.into())).unwrap_or_default();
                let parts = sizes.into_iter().map(PartOfImage::from);
                found.push(OfImage {
                    name: image.name.to_string(),
                    file: image.path().to_owned(),
                    sha256: image.sha256().to_owned(),
                    soc: file.soc.name.clone(),
                    flash_bytes: footprint.flash_bytes,
                    ram_bytes: footprint.ram_bytes,
                    cycles: footprint.ran.0,
                    ended: footprint.ended,
                    stack_overflow: footprint.stack_overflow,
                    stacks: footprint.stacks,
                    parts: parts.collect(),
                });
            }
        }
        Ok(found)
    }
}

/// The maximum number of an image's parts in a table.
const MAX_PARTS: usize = 30;

/// Formats the images' footprints: sizes, how the run ended, and one line per stack.
fn images_table(images: &[OfImage]) -> String {
    let mut text = String::new();
    for image in images {
        let OfImage { name, file, soc, flash_bytes, ram_bytes, ended, stacks, parts, .. } = image;
        let before = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{before}{soc}, {name} ({file}): sizes in bytes");
        let _ = writeln!(text, "{flash_bytes:>9} flash, {ram_bytes} RAM; {ended}");
        if let Some(overflow) = &image.stack_overflow {
            let _ = writeln!(text, "{:9} {overflow}", "");
        }
        stack_lines(&mut text, 3, stacks);
        part_lines(&mut text, parts);
    }
    text
}

/// Writes one line per part of an image.
fn part_lines(text: &mut String, parts: &[PartOfImage]) {
    if !parts.is_empty() {
        let _ = writeln!(text, "\n{:>9} {:>9}  of", "flash", "RAM");
    }
    let mut line = |flash: u64, ram: u64, name: &str| {
        let _ = writeln!(text, "{flash:>9} {ram:>9}  {name}");
    };
    let (shown, rest) = parts.split_at(parts.len().min(MAX_PARTS));
    for PartOfImage { name, flash_bytes, ram_bytes } in shown {
        line(*flash_bytes, *ram_bytes, name);
    }
    if !rest.is_empty() {
        let sum = |bytes: fn(&PartOfImage) -> u64| rest.iter().map(bytes).sum();
        let name = format!("{} more; --format json lists all", rest.len());
        line(sum(|part| part.flash_bytes), sum(|part| part.ram_bytes), &name);
    }
}

/// Writes one line per stack.
fn stack_lines(text: &mut String, indent: usize, stacks: &[StackUse]) {
    for StackUse { name, kind, bytes, .. } in stacks {
        let kind = match kind {
            StackKind::Main => "main stack, from",
            StackKind::Task => "task",
            StackKind::Interrupt => "interrupt",
        };
        let _ = writeln!(text, "{:indent$}{:>6}  {kind} {name}", "", bytes.0);
    }
}

/// Measures what one more of each object takes, for every kernel of a plan.
fn measure_objects(builder: &Builder, plan: &Plan) -> Result<Vec<Object>, CliError> {
    let mut objects = Vec::new();
    for unit in &plan.units {
        let Platform::Sim(file, _) = &unit.platform else { continue };
        if unit.needs_firmware() {
            let of_kernel =
                rtmark_runner::objects(builder, &unit.kernel, &file.soc, &unit.setting_changes);
            objects.extend(of_kernel.map_err(|failure| {
                CliError::new(Exit::BuildFailed, failure.message, failure.hint)
            })?);
        }
    }
    objects.sort_by(|a, b| (&a.soc, &a.object).cmp(&(&b.soc, &b.object)));
    Ok(objects)
}

/// Formats the cost of one more object, one line per object and kernel.
fn objects_table(objects: &[Object]) -> String {
    let mut text = String::new();
    let mut soc = "";
    for Object { soc: on, kernel, object, cost } in objects {
        if on != soc {
            soc = on;
            let _ = writeln!(text, "\n{soc}, the cost of one more object, in bytes");
            let _ = writeln!(
                text,
                "{:<8} {:<10} {:>8} {:>8} {:>10}",
                "object", "kernel", "flash", "RAM", "main stack"
            );
        }
        let kernel = kernel.as_str();
        let _ = match cost {
            Ok(ObjectCost { what, flash_bytes, ram_bytes, main_stack_bytes }) => writeln!(
                text,
                "{object:<8} {kernel:<10} {flash_bytes:>8} {ram_bytes:>8} {main_stack_bytes:>10}  {what}"
            ),
            Err(reason) => {
                writeln!(
                    text,
                    "{object:<8} {kernel:<10} {:>8} {:>8} {:>10}  {reason}",
                    "n/a", "", ""
                )
            }
        };
    }
    text
}

/// Formats the footprints of scenarios in bytes: one line per kernel and scenario, then one per stack.
fn table(footprints: &[Footprint]) -> String {
    let mut text = String::new();
    let mut soc = "";
    for Footprint { key, firmware, stacks } in footprints {
        if key.soc != soc {
            soc = &key.soc;
            let before = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{before}{soc}, sizes in bytes");
            let _ = writeln!(
                text,
                "{:<20} {:<10} {:>8} {:>8}  stack used, by",
                "scenario", "kernel", "flash", "RAM"
            );
        }
        let _ = writeln!(
            text,
            "{:<20} {:<10} {:>8} {:>8}",
            key.scenario.as_str(),
            key.kernel.as_str(),
            firmware.flash_bytes,
            firmware.ram_bytes
        );
        stack_lines(&mut text, 50, stacks);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("footprint", &schemars::schema_for!(Document<'_>));
    }
}
