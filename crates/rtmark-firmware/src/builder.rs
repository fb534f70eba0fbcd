//! Builds firmware: one kernel for one soc in one variant.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rtmark_model::{Compiler, Setting, Settings};
use sha2::{Digest, Sha256};

use crate::cache::{Cache, lock, short, touch_build};
use crate::host::CargoCode;
use crate::layout::{self, make_linker};
use crate::tools::{Tool, c_tools, clean, rust_flags, rust_target};
use crate::{
    BuildSystem, Console, FirmwareError, Kernel, MissingTool, Probes, SettingChanges,
    TREE_VARIABLE, Target, Tree, generate, host, known, view,
};

/// The name of the image with objects but no additional one.
pub const BASE_IMAGE: &str = "nothing";

/// Builds the firmware of a tree.
#[derive(Clone, Debug)]
pub struct Builder {
    tree: Tree,
    cache: Cache,
    /// How many compilers one build may run in parallel.
    pub jobs: usize,
}

/// An ELF file produced by a build.
#[derive(Clone, Debug)]
pub struct BuiltImage {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub elf: Vec<u8>,
    /// SHA-256 of its contents, in hexadecimal.
    pub sha256: String,
    /// The compiler that produced it.
    pub compiler: Compiler,
    /// The settings reported by the build.
    pub settings: Settings,
}

/// Returns the SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Sha256::digest(bytes).iter().fold(String::new(), hex)
}

/// Returns the tools needed to build a kernel for a core.
pub fn tools_for(build: BuildSystem, core: &str) -> Vec<Tool> {
    match build {
        BuildSystem::Make => [vec![Tool::Make], c_tools(core)].concat(),
        BuildSystem::Cargo => {
            std::iter::once(Tool::Cargo).chain(rust_target(core).map(Tool::RustTarget)).collect()
        }
    }
}

/// Returns the tools needed to build a variant of a kernel for a core.
pub fn tools_for_variant(build: BuildSystem, core: &str, changes: &SettingChanges) -> Vec<Tool> {
    let mut tools = tools_for(build, core);
    if uses_clang(changes) {
        tools.push(Tool::Clang);
    }
    tools
}

fn uses_clang(changes: &SettingChanges) -> bool {
    matches!(changes.get("compiler"), Some(Setting::Text(name)) if name == "clang")
}

impl Builder {
    /// Creates a builder for a tree that builds in the tree's cache.
    pub fn new(tree: Tree) -> Self {
        let cache = tree.cache().clone();
        Self { tree, cache, jobs: 1 }
    }

    /// Moves this builder's cache to another folder.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        Self { cache: Cache::at(folder), ..self }
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the cache in which it builds.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Returns the missing tools for these kernels, cores and variants, each once.
    pub fn missing_tools<'a>(
        &self,
        wanted: impl IntoIterator<Item = (&'a Kernel, &'a str, &'a SettingChanges)>,
    ) -> Vec<MissingTool> {
        let mut tools: Vec<_> = wanted
            .into_iter()
            .flat_map(|(kernel, core, changes)| {
                tools_for_variant(kernel.manifest.build, core, changes)
            })
            .collect();
        tools.sort_unstable();
        tools.dedup();
        tools.into_iter().filter_map(|tool| tool.version(self.tree.root()).err()).collect()
    }

    /// Builds all images of a kernel, or finds that they are up to date.
    ///
    /// # Errors
    /// When a tool is missing, the build fails, or it does not produce the images that `kernel.toml`
    /// lists.
    pub fn build(
        &self,
        kernel: &Kernel,
        target: impl Into<Target>,
        changes: &SettingChanges,
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        let mut target = target.into();
        let ram = target.ram.map_or(u32::MAX, |ram| ram.size);
        let images = kernel.manifest.images.iter();
        let large = images.filter(|image| kernel.manifest.ram_shortage(image, ram).is_some());
        target.without.extend(large.cloned());
        target
            .without
            .extend(kernel.manifest.without.get(&target.core).into_iter().flatten().cloned());
        self.build_goal(kernel, &target, changes, Goal::Scenarios)
    }

    /// Builds the image of the kernel's mixed load.
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn build_load(
        &self,
        kernel: &Kernel,
        target: impl Into<Target>,
        changes: &SettingChanges,
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        self.build_goal(kernel, &target.into(), changes, Goal::Load)
    }

    /// Builds the image for task sets.
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn build_plan(
        &self,
        kernel: &Kernel,
        target: impl Into<Target>,
        changes: &SettingChanges,
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        self.build_goal(kernel, &target.into(), changes, Goal::Plan)
    }

    /// Builds the images that show the memory cost of objects: for each object in `kernel.toml`, one
    /// image with an additional one; and [`BASE_IMAGE`].
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn build_objects(
        &self,
        kernel: &Kernel,
        target: impl Into<Target>,
        changes: &SettingChanges,
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        let target = target.into();
        let mut images = BTreeMap::new();
        let objects = kernel.manifest.objects.keys().map(String::as_str);
        for object in std::iter::once(BASE_IMAGE).chain(objects) {
            let built = self.build_goal(kernel, &target, changes, Goal::Object(object))?;
            images.extend(built.into_values().map(|image| (object.to_owned(), image)));
        }
        Ok(images)
    }

    fn build_goal(
        &self,
        kernel: &Kernel,
        target: &Target,
        changes: &SettingChanges,
        goal: Goal<'_>,
    ) -> Result<BTreeMap<String, BuiltImage>, FirmwareError> {
        let changes = &changes.clone().at(&kernel.manifest, target);
        let build = kernel.manifest.build;
        let mut tools = Vec::new();
        let mut compiler_version = String::new();
        // The last tool in the list is the compiler.
        for tool in tools_for_variant(build, &target.core, changes) {
            let version = tool.version(self.tree.root())?;
            if tool.is_compiler() {
                compiler_version.clone_from(&version);
            }
            tools.push(version);
        }
        let out = self.out_folder(kernel, target, changes);
        let generated = out.join("generated");
        let files = generate::files(target)
            .map_err(|problem| FirmwareError::Soc { soc: target.name.clone(), problem })?;
        let key = self.key(kernel, target, changes, goal, &(&tools, &files));
        let mut turn = None;
        // Two builds in the same folder would overwrite each other: the second one waits.
        let held = lock(&out)?;
        let of_key = |key: &String| known::find(&out, key);
        if let Some(images) = key.as_ref().and_then(of_key) {
            touch_build(&out);
            for image in images.values() {
                self.keep(image);
            }
            return Ok(images);
        }
        if held.is_none() {
            return Err(self.unwritable_error());
        }
        for (name, text) in files {
            write_if_changed(&generated.join(name), text.as_bytes())?;
        }
        touch_build(&out);
        self.cache.tidy();

        let folder = self.cache.folder();
        let linker = if layout::of_target(target) { make_linker(folder)? } else { None };
        let root = self.tree.root().to_owned();
        // Make cannot handle names with spaces.
        let (root, here, made_in, generated, linker) = match build {
            BuildSystem::Cargo => (root, kernel.folder.clone(), out.clone(), generated, linker),
            BuildSystem::Make => {
                let root = view::work_folder(&self.cache, &root)?;
                let here = match kernel.folder.strip_prefix(self.tree.root()) {
                    Ok(within) => root.join(within),
                    Err(_) => view::work_folder(&self.cache, &kernel.folder)?,
                };
                let name = |folder: &Path| view::name_of(&self.cache, folder);
                let linker = linker.as_deref().map(name).transpose()?;
                (root, here, name(&out)?, name(&generated)?, linker)
            }
        };
        let clocked = matches!(target.probes, Probes::Clocked(_));
        let (counter, start, console) = for_rust(target);
        let host = view::name_of(&self.cache, &self.cache.host(&self.source(kernel)))?;
        let variables: [(&str, OsString); 13] = [
            (TREE_VARIABLE, root.clone().into()),
            ("RTMARK_HOST", host.into()),
            ("RTMARK_COUNTER", counter.into()),
            ("RTMARK_COUNTER_START", start.into()),
            ("RTMARK_CONSOLE", console.into()),
            ("RTMARK_SOC", target.name.clone().into()),
            ("RTMARK_CORE", target.core.clone().into()),
            ("RTMARK_CLOCK_HZ", target.clock.0.to_string().into()),
            ("RTMARK_CLOCKED", if clocked { "1" } else { "" }.into()),
            ("RTMARK_WITHOUT", target.without.join(" ").into()),
            ("RTMARK_SET", changes.words().into()),
            ("RTMARK_OUT", made_in.into()),
            ("RTMARK_GEN", generated.into()),
        ];
        let mut command = match build {
            BuildSystem::Make => self.make(&here, &variables, linker.as_deref(), goal),
            BuildSystem::Cargo => {
                let code = CargoCode::of(kernel, target, changes);
                // If this fails, the build only takes longer.
                turn = host::take_over(&self.cache, &out, &code).unwrap_or_default();
                let mut command = self.cargo(kernel, target, &out, changes, goal);
                // A user's own kernel may use another linker.
                if let (Some(linker), false) = (linker, kernel.own) {
                    let triple = rust_target(&target.core).unwrap_or_default();
                    let path = toml::Value::from(linker.join("rust-lld").display().to_string());
                    command.args(["--config", &format!("target.{triple}.linker={path}")]);
                }
                command
            }
        };
        // Cargo searches for its configuration from here upwards.
        command.envs(variables).current_dir(if kernel.own { &here } else { &root });
        run(kernel, target, &mut command)?;

        let images = self.collect((kernel, target), changes, goal, (&out, &compiler_version))?;
        for image in images.values() {
            self.keep(image);
        }
        // What was edited meanwhile may or may not be in the images.
        if let Some(key) = key.filter(|_| self.tree.is_as_digested()) {
            known::note(&out, &key, &images);
        }
        drop(held);
        // Only now can others take over this build's host code.
        drop(turn);
        Ok(images)
    }

    /// Returns the folder of a build.
    pub(crate) fn out_folder(
        &self,
        kernel: &Kernel,
        target: &Target,
        changes: &SettingChanges,
    ) -> PathBuf {
        let folder = self.cache.builds().join(self.source(kernel)).join(target.folder());
        folder.join(changes.folder()).join(kernel.manifest.id.as_str())
    }

    /// Returns the name of the folder for builds of the tree's kernels, or of a user's own kernel.
    fn source(&self, kernel: &Kernel) -> String {
        if kernel.own { named_place(&kernel.folder) } else { self.tree.key().to_owned() }
    }

    /// Returns a digest of everything that the images of a build depend on; none if that is unknown
    /// because sources outside the tree are involved.
    fn key(
        &self,
        kernel: &Kernel,
        target: &Target,
        changes: &SettingChanges,
        goal: Goal<'_>,
        read: &dyn std::fmt::Debug,
    ) -> Option<String> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if kernel.own || named(KERNEL_VARIABLE).is_some() {
            return None;
        }
        let sources = self.tree.digest()?;
        let within = kernel.folder.strip_prefix(self.tree.root()).ok()?;
        let heeded = ["CROSS_COMPILE", "CLANG", "RUSTUP_TOOLCHAIN"].map(named);
        let linked = layout::of_target(target);
        let read = (FORM, sources, within, target, changes.words(), goal, read, heeded, linked);
        Some(short(format!("{read:?}").as_bytes()))
    }

    /// Returns the error that nothing can be built here.
    fn unwritable_error(&self) -> FirmwareError {
        let source = io::ErrorKind::PermissionDenied.into();
        FirmwareError::Io { path: self.cache.folder().to_owned(), source }
    }

    fn make(
        &self,
        here: &Path,
        variables: &[(&str, OsString)],
        linker: Option<&Path>,
        goal: Goal<'_>,
    ) -> Command {
        let mut command = Command::new("make");
        command.arg("-C").arg(here).arg("--no-print-directory");
        command.arg(format!("-j{}", self.jobs.max(1)));
        // Also on the command line, so that no makefile overrides them.
        for (name, value) in variables {
            let mut assignment = OsString::from(format!("{name}="));
            assignment.push(value);
            command.arg(assignment);
        }
        if let Some(linker) = linker {
            let mut assignment = OsString::from("RTMARK_LINKER=");
            assignment.push(linker);
            command.arg(assignment);
        }
        match goal {
            Goal::Scenarios => command.arg("all"),
            Goal::Load => command.arg(LOAD),
            Goal::Plan => command.arg(PLAN),
            Goal::Object(object) => command.arg(format!("RTMARK_OBJECT={object}")).arg("object"),
        };
        command
    }

    /// Returns the folder of the Cargo workspace that a kernel's package belongs to.
    pub(crate) fn workspace<'a>(&'a self, kernel: &'a Kernel) -> &'a Path {
        if kernel.own { &kernel.folder } else { self.tree.root() }
    }

    fn cargo(
        &self,
        kernel: &Kernel,
        target: &Target,
        out: &Path,
        changes: &SettingChanges,
        goal: Goal<'_>,
    ) -> Command {
        let mut command = Command::new("cargo");
        command.args(["build", "--quiet", "--release", "--color", "never"]);
        let workspace = self.workspace(kernel);
        if workspace.join("Cargo.lock").is_file() {
            command.arg("--locked");
        }
        command.arg(format!("-j{}", self.jobs.max(1)));
        command.arg("--manifest-path").arg(workspace.join("Cargo.toml"));
        command.arg("-p").arg(kernel.manifest.package.as_deref().unwrap_or_default());
        match goal {
            Goal::Scenarios | Goal::Load | Goal::Plan => {
                for image in goal.images(kernel, target) {
                    command.args(["--bin", &image]);
                }
            }
            Goal::Object(object) => {
                command.args(["--bin", OBJECTS, "--features", &format!("one_more_{object}")]);
            }
        }
        if matches!(target.probes, Probes::Clocked(_)) {
            command.args(["--features", "rtmark-probe/clock"]);
        }
        let triple = rust_target(&target.core).unwrap_or_default();
        command.arg("--target").arg(triple);
        let flags = rust_flags(&target.core);
        if !flags.is_empty() {
            command.args(["--config", &format!("target.{triple}.rustflags={flags:?}")]);
        }
        command.args(changes.cargo(&kernel.manifest, target));
        if kernel.own && uses_probe_crate(workspace) {
            let probe = toml::Value::from(self.tree.root().join("probe").display().to_string());
            command.args(["--config", &format!("patch.crates-io.{PROBE}.path={probe}")]);
        }
        // Host code without debug information takes a third of the space; without checks, it is the same
        // for firmware with and without them.
        for key in ["debug=false", "debug-assertions=false", "overflow-checks=false"] {
            command.args(["--config", &format!("profile.release.build-override.{key}")]);
        }
        command.args(["--config", "profile.release.build-override.strip='debuginfo'"]);
        // A separate folder for each build, so that builds for several socs can run in parallel.
        command.arg("--target-dir").arg(out.join(host::CARGO));
        command
    }
}

/// The crate that provides probes for Rust firmware.
const PROBE: &str = "rtmark-probe";

/// Tells whether a package takes that crate from rtmark, rather than from a path.
fn uses_probe_crate(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let wanted = manifest.get("dependencies").and_then(|all| all.get(PROBE));
    wanted.is_some_and(|wanted| wanted.get("path").or_else(|| wanted.get("git")).is_none())
}

/// The variable that selects another FreeRTOS kernel tree than the published one.
const KERNEL_VARIABLE: &str = "RTMARK_FREERTOS_KERNEL";

/// Incremented when the same sources are built in another way.
const FORM: u32 = 1;

/// Returns the folder name for builds of sources that somebody edits: derived from the sources' name
/// and location.
pub(crate) fn named_place(folder: &Path) -> String {
    let parent = folder.parent().and_then(Path::file_name).unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let name: String = parent.to_string_lossy().chars().filter(plain).take(24).collect();
    format!("{name}-{}", short(folder.as_os_str().as_encoded_bytes()))
}

/// The kind of image to build.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal<'a> {
    /// The images with scenarios.
    Scenarios,
    /// The image of the mixed load.
    Load,
    /// The image of task sets.
    Plan,
    /// The image of objects, with an additional one of this kind.
    Object(&'a str),
}

/// The image of a kernel's mixed load, and the make goal that builds it.
pub const LOAD: &str = "load";

/// The image of a kernel's task sets, and the make goal that builds it.
pub const PLAN: &str = "plan";

/// The program that has some of each object, and an additional one of one kind.
const OBJECTS: &str = "objects";

impl Goal<'_> {
    /// Returns the names of the images.
    pub(crate) fn images(self, kernel: &Kernel, target: &Target) -> Vec<String> {
        let wanted = |name: &&String| !target.without.contains(name);
        match self {
            Self::Scenarios => kernel.manifest.images.iter().filter(wanted).cloned().collect(),
            Self::Load => vec![LOAD.to_owned()],
            Self::Plan => vec![PLAN.to_owned()],
            Self::Object(object) => vec![format!("{OBJECTS}_{object}")],
        }
    }

    /// Returns Cargo's name for an image.
    pub(crate) fn program(self, image: &str) -> &str {
        match self {
            Self::Scenarios | Self::Load | Self::Plan => image,
            Self::Object(_) => OBJECTS,
        }
    }
}

/// Returns the counter, its start-up writes and the console in the form that the crate `rtmark-probe`
/// expects.
fn for_rust(target: &Target) -> (String, String, String) {
    let writes = |list: &[(u32, u32)]| {
        let writes: Vec<_> = list.iter().map(|(at, value)| format!("{at:#x}={value:#x}")).collect();
        writes.join(",")
    };
    let (counter, start) = match &target.probes {
        Probes::Clocked(Some(counter)) => {
            (format!("{:#x}", counter.address), writes(&counter.start))
        }
        Probes::Clocked(None) | Probes::Addresses => (String::new(), String::new()),
    };
    let console = target.console.as_ref().map_or_else(String::new, |console| {
        let Console { start, data, status, mask, ready } = console;
        format!("{data:#x},{status:#x},{mask:#x},{ready:#x},{}", writes(start))
    });
    (counter, start, console)
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> FirmwareError + use<> {
    let path = path.to_owned();
    move |source| FirmwareError::Io { path, source }
}

pub(crate) fn no_image(kernel: &Kernel, path: &Path, source: io::Error) -> FirmwareError {
    FirmwareError::NoImage { kernel: kernel.manifest.id.clone(), path: path.to_owned(), source }
}

fn run(kernel: &Kernel, target: &Target, command: &mut Command) -> Result<(), FirmwareError> {
    let shown = format!("{} (in {})", show(command), kernel.folder.display());
    let output = clean(command)
        .stdin(Stdio::null())
        .output()
        .map_err(at(Path::new(command.get_program())))?;
    if output.status.success() {
        return Ok(());
    }
    let mut output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    output_text.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(FirmwareError::Build {
        kernel: kernel.manifest.id.clone(),
        soc: target.name.clone(),
        command: shown,
        output: output_text.trim_end().to_owned(),
    })
}

pub(crate) fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Writes a file through a temporary one, so that no reader sees half of it, and leaves it alone if its
/// contents are the same, so that nothing is rebuilt.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), FirmwareError> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    let thread = std::thread::current().id();
    let part = path.with_extension(format!("{}.{thread:?}.part", std::process::id()));
    std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path)).map_err(at(path))
}

#[cfg(test)]
mod tests;
