//! The images of a plan's units: what they are built for, checked against what the kernel declares, and
//! ready to run.

use std::collections::BTreeMap;

use rtmark_firmware::probes::{CodeAlignment, Kind, Record};
use rtmark_firmware::{Builder, BuiltImage, Executable, FirmwareError, Layouts, probes};
use rtmark_model::{Failure, FailureKind, Firmware, Setting, Settings};
use rtmark_sim::Image;

use crate::judge::Clocked;
use crate::measure::Probed;
use crate::plan::{LOAD, Unit};
use crate::platform::Platform;

/// An image that has been built, read and checked.
pub(crate) struct Ready {
    pub(crate) program: Program,
    pub(crate) firmware: Firmware,
    pub(crate) compiler: rtmark_model::Compiler,
    pub(crate) settings: Settings,
    /// The version of the emulator that runs it.
    pub(crate) emulator: Option<String>,
    /// The same image in other code layouts.
    pub(crate) placed: Vec<Ready>,
}

/// How the begins and ends of spans are detected.
pub(crate) enum Program {
    /// By the simulator, which watches addresses.
    Observed(Probed),
    /// By the image's own probes, which read a clock.
    Clocked(Clocked),
}

impl Program {
    pub(crate) fn records(&self) -> &[Record] {
        match self {
            Self::Observed(image) => &image.records,
            Self::Clocked(image) => &image.records,
        }
    }
}

/// The images of a unit, by group, each ready or with the reason why it is not.
pub(crate) type Images = BTreeMap<String, Result<Ready, Failure>>;

/// Builds the images that a unit's scenarios need.
///
/// # Errors
/// Those of [`Builder::build`].
pub(crate) fn build(
    unit: &Unit,
    builder: &Builder,
) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
    let mut images = BTreeMap::new();
    let asks = |load: bool| {
        unit.applicable_scenarios().any(|scenario| (scenario.id.group() == LOAD) == load)
    };
    if asks(false) {
        images = builder.build(&unit.kernel, unit.target(), &unit.setting_changes)?;
    }
    if asks(true) {
        images.extend(builder.build_load(
            &unit.kernel,
            unit.platform.target(),
            &unit.setting_changes,
        )?);
    }
    Ok(images)
}

pub(crate) fn failure_of(error: &FirmwareError) -> Failure {
    let kind = match error {
        FirmwareError::Tool(_) => FailureKind::ToolMissing,
        _ => FailureKind::Build,
    };
    Failure { kind, message: error.to_string(), hint: error.hint(), console: String::new() }
}

pub(crate) fn every_image(unit: &Unit, failure: &Failure) -> Images {
    let load = std::iter::once(LOAD.to_owned());
    let names = unit.kernel.manifest.images.iter().cloned().chain(load);
    names.map(|name| (name, Err(failure.clone()))).collect()
}

pub(crate) fn check(
    unit: &Unit,
    built: BTreeMap<String, BuiltImage>,
    mut layouts: Layouts,
) -> Images {
    let all = built.into_iter().map(|(name, image)| {
        let placed = layouts.remove(&name).unwrap_or_default();
        let all = ready(unit, &name, image).and_then(|own| with_layouts(unit, &name, own, placed));
        (name, all)
    });
    all.collect()
}

/// Prepares an image together with its other layouts. Its memory use is that of the linker's own
/// layout, as gaps belong to the measurement.
fn with_layouts(
    unit: &Unit,
    name: &str,
    mut own: Ready,
    placed: Vec<BuiltImage>,
) -> Result<Ready, Failure> {
    for (layout, built) in (1..).zip(placed) {
        let mut other = ready(unit, name, built)?;
        let elf_sha256 = std::mem::take(&mut other.firmware.elf_sha256);
        other.firmware = Firmware { elf_sha256, layout, ..own.firmware.clone() };
        own.placed.push(other);
    }
    Ok(own)
}

/// Collects the settings of an image: those that the kernel declares, those that its build reports, and
/// those that the image itself reports. They must not contradict each other.
fn settings(
    unit: &Unit,
    records: &[Record],
    section: &[u8],
    of_build: Settings,
) -> Result<Settings, String> {
    let manifest = &unit.kernel.manifest;
    let mut settings = manifest.settings.clone();
    let mut of_image = probes::settings(section).map_err(|error| error.to_string())?;
    let place = records.iter().find_map(|record| match record.kind {
        Kind::Begin(address) | Kind::End(address) => Some(address),
        _ => None,
    });
    if let Some(address) = place {
        let memory = unit.platform.target().code_in(address);
        of_image.insert("code_in".into(), Setting::Text(memory.into()));
    }
    for (id, value) in of_build.into_iter().chain(of_image) {
        match settings.insert(id.clone(), value.clone()) {
            Some(claimed) if claimed != value => {
                return Err(format!(
                    "kernel.toml declares {id} {claimed}, but it is built with {value}"
                ));
            }
            _ => {}
        }
    }
    // As far as the build reports it, what was requested is what was built.
    for (id, wanted) in unit.setting_changes.settings() {
        match settings.get(id) {
            Some(built) if id != "compiler" && built != wanted => {
                return Err(format!("{id} {wanted} was requested, but it was built with {built}"));
            }
            _ => {}
        }
    }
    Ok(settings)
}

fn ready(unit: &Unit, name: &str, built: BuiltImage) -> Result<Ready, Failure> {
    let path = built.path.display().to_string();
    let refuse = |problem: String| Failure {
        kind: FailureKind::Build,
        message: format!("{}: {problem}", built.path.display()),
        hint: format!("check how the firmware of {} is linked", unit.kernel.manifest.id),
        console: String::new(),
    };
    let no_probes =
        || refuse(format!("no section {}: its probes were dropped by the linker", probes::SECTION));
    let parsed = |section: &[u8]| {
        let code = CodeAlignment::of_core(unit.platform.core());
        let records = probes::parse_of(section, code).map_err(|e| refuse(e.to_string()))?;
        let of_build = built.settings.clone();
        let settings = settings(unit, &records, section, of_build).map_err(refuse)?;
        Ok::<_, Failure>((records, settings))
    };
    let (program, settings, sizes, emulator) = match &unit.platform {
        Platform::Sim(file, _) => {
            let image = Image::from_elf(&built.elf).map_err(|error| refuse(error.to_string()))?;
            let section = image.section(probes::SECTION).ok_or_else(no_probes)?;
            let (records, settings) = parsed(section)?;
            let sizes = (image.flash_bytes(), image.ram_bytes(&file.soc));
            let probed = Probed { image, elf: built.elf.clone(), records, path };
            (Program::Observed(probed), settings, sizes, None)
        }
        Platform::Qemu(_) | Platform::Rehearsal(_) | Platform::Board(_) => {
            let elf = Executable::read(&built.elf).map_err(|error| refuse(error.to_string()))?;
            let section = elf.section(probes::SECTION).ok_or_else(no_probes)?;
            let (records, settings) = parsed(section)?;
            let sizes = (elf.flash_bytes(), elf.ram_bytes());
            // Without QEMU there is no answer, and the failure will say so.
            let version = match &unit.platform {
                Platform::Qemu(file) => file.machine.emulator.version().ok(),
                _ => None,
            };
            let clocked = Clocked { elf: built.elf.clone(), records, path };
            (Program::Clocked(clocked), settings, sizes, version)
        }
    };
    let firmware = Firmware {
        image: name.to_owned(),
        elf_sha256: built.sha256,
        layout: 0,
        flash_bytes: sizes.0,
        ram_bytes: sizes.1,
    };
    if let Some(stray) =
        probes::scenarios(program.records()).find(|scenario| scenario.group() != name)
    {
        return Err(refuse(format!("scenario {stray} belongs in the image {}", stray.group())));
    }
    let (compiler, placed) = (built.compiler, Vec::new());
    Ok(Ready { program, firmware, compiler, settings, emulator, placed })
}
