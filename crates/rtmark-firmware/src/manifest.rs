//! `kernel.toml`: what a kernel is, how its firmware is built, what it cannot do.

use std::collections::BTreeMap;

use rtmark_model::{Backend, KernelId, Pattern, ScenarioId, Setting, Settings, setting_info};
use rtmark_sim::Soc;
use serde::Deserialize;

use crate::{PROFILES, Switched, Target};

/// The language that a kernel and its firmware are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Language {
    /// C.
    C,
    /// Rust.
    Rust,
}

impl Language {
    /// The language's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Rust => "Rust",
        }
    }
}

/// What builds a kernel's firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildSystem {
    /// `make`, with arm-none-eabi-gcc.
    Make,
    /// `cargo`, with rustc's target for the core.
    Cargo,
}

/// The setting that says how often a second the tick interrupts; 0 where nothing ticks.
pub(crate) const TICK_HZ: &str = "tick_hz";

/// Scenarios that a kernel has no primitive for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotApplicable {
    /// Which.
    pub scenario: Pattern,
    /// On which cores; on all, without any.
    #[serde(default)]
    pub cores: Vec<String>,
    /// On which backend; on all, without one.
    #[serde(default)]
    pub backend: Option<Backend>,
    /// Built with which values of settings; with any, without one.
    #[serde(default)]
    pub with: Settings,
    /// Why, in one sentence.
    pub reason: String,
}

/// A `kernel.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The kernel's name on the command line and in results.
    pub id: KernelId,
    /// Its own name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// Its licence.
    pub license: String,
    /// Where its source comes from.
    pub source: String,
    /// What it is written in.
    pub language: Language,
    /// What builds its firmware.
    pub build: BuildSystem,
    /// The Cargo package of its firmware.
    #[serde(default)]
    pub package: Option<String>,
    /// The images that a build brings, one for each group of scenarios.
    pub images: Vec<String>,
    /// Whether there is an image `load` besides, the mixed load of worst-case searches.
    #[serde(default)]
    pub load: bool,
    /// Whether there is an image `plan` besides, of task sets that are written into it.
    #[serde(default)]
    pub plan: bool,
    /// The cores that it supports.
    pub cores: Vec<String>,
    /// Why it does not support some other cores.
    #[serde(default)]
    pub unsupported: BTreeMap<String, String>,
    /// Profiles of its own: what they change of what is documented.
    #[serde(default)]
    pub profiles: BTreeMap<String, Settings>,
    /// The settings that a build can choose.
    #[serde(default)]
    pub switches: BTreeMap<String, Choice>,
    /// Where the first value of each of them stands: in which template or example of the
    /// kernel's own, in its words.
    #[serde(default)]
    pub documented: BTreeMap<String, String>,
    /// What its build system can choose where `switches` says nothing.
    #[serde(skip)]
    by_build: BTreeMap<String, Vec<Setting>>,
    /// Cargo's features that bring a driver which counts time by the soc's time base, by the soc's
    /// name, by the timer's kind, or under `any` for all.
    #[serde(default)]
    pub time_bases: BTreeMap<String, String>,
    /// Images that find room in so much RAM only, in bytes: on smaller socs they are not built.
    #[serde(default)]
    pub least_ram: BTreeMap<String, u32>,
    /// Images that a core has nothing to run with, by core: they are not built for it.
    #[serde(default)]
    pub without: BTreeMap<String, Vec<String>>,
    /// What neither image nor build can tell of its settings.
    #[serde(default)]
    pub settings: Settings,
    /// The most urgent priority at which an interrupt may call the kernel, as the number of
    /// the level from 0, by core. 0 where nothing is said: the kernel masks by PRIMASK.
    #[serde(default)]
    pub interrupt_level: BTreeMap<String, u8>,
    /// Objects whose memory is measured by images with and without one more of them: what each is,
    /// in a few words.
    #[serde(default)]
    pub objects: BTreeMap<String, String>,
    /// Why it has no such object.
    #[serde(default)]
    pub no_objects: BTreeMap<String, String>,
    /// What it has no primitive for.
    #[serde(default)]
    pub not_applicable: Vec<NotApplicable>,
}

/// The values that a setting can have; the first one is the default.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of values, or a table with `values`, `cores` and `reason`"
)]
pub enum Choice {
    /// On all cores.
    Everywhere(Vec<Setting>),
    /// On some cores only.
    Somewhere {
        /// The values.
        values: Vec<Setting>,
        /// The cores.
        cores: Vec<String>,
        /// Why the others have no choice, in one sentence.
        reason: String,
    },
}

impl Choice {
    fn values(&self) -> &[Setting] {
        match self {
            Self::Everywhere(values) | Self::Somewhere { values, .. } => values,
        }
    }
}

/// What `firmware/c/image.mk` and Cargo's release profile offer, whatever kernel it is. What they
/// come to when nobody chooses, its own makefile or `Cargo.toml` says.
fn by_build(build: BuildSystem) -> BTreeMap<String, Vec<Setting>> {
    let levels = ["s", "2", "3"].map(|level| Setting::Text(level.into())).to_vec();
    let switch = || vec![Setting::Switch(true), Setting::Switch(false)];
    let both = [("opt", levels), ("lto", switch())];
    let rust = [("overflow_checks", switch()), ("debug_assertions", switch())];
    let rust = rust.into_iter().filter(|_| build == BuildSystem::Cargo);
    both.into_iter().chain(rust).map(|(id, values)| (id.to_owned(), values)).collect()
}

impl Manifest {
    /// The most urgent priority at which an interrupt may call the kernel, as the byte that
    /// priority registers hold.
    pub fn most_urgent_caller(&self, soc: &Soc) -> u8 {
        // Frameworks and models count four bits at most.
        let held = |level: u8| level << (8 - soc.priority_bits.min(4));
        let level = self.interrupt_level.get(soc.core.name()).copied();
        level.map_or(soc.core.most_urgent_priority(), held)
    }

    /// Why an image finds no room on a soc with so much RAM, in bytes; `None` where it does.
    pub fn no_room(&self, image: &str, ram: u32) -> Option<String> {
        let least = *self.least_ram.get(image)?;
        (ram < least).then(|| {
            format!("{}'s image needs {least} bytes of RAM; this soc has {ram}.", self.name)
        })
    }

    /// Reads a `kernel.toml`.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key, lacks one, or cannot be;
    /// the message shows the line.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let mut manifest: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if manifest.build == BuildSystem::Cargo && manifest.package.is_none() {
            return Err("build = \"cargo\" needs the key `package`".into());
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if let Some(image) = manifest.images.iter().find(|i| i.is_empty() || !i.chars().all(plain))
        {
            return Err(format!("image `{}` is not a plain lower-case name", image.escape_debug()));
        }
        for (id, choice) in &manifest.switches {
            if setting_info(id).is_none() {
                return Err(format!("no setting is called `{}`", id.escape_debug()));
            }
            if choice.values().is_empty() {
                return Err(format!("the setting {id} has no value to choose"));
            }
        }
        if let Some(id) = manifest.documented.keys().find(|id| !manifest.switches.contains_key(*id))
        {
            return Err(format!("`documented` has {id}, which `switches` does not offer"));
        }
        for (profile, settings) in &manifest.profiles {
            if PROFILES.contains(&profile.as_str()) {
                return Err(format!("profile {profile} is the same for all kernels"));
            }
            for (id, value) in settings {
                if !manifest.switches.get(id).is_some_and(|c| c.values().contains(value)) {
                    return Err(format!(
                        "profile {profile} wants {id} {value}, which `switches` does not offer"
                    ));
                }
            }
        }
        manifest.by_build = by_build(manifest.build);
        manifest.by_build.retain(|id, _| !manifest.switches.contains_key(id));
        for entry in &manifest.not_applicable {
            for (id, value) in &entry.with {
                if !manifest.switches.get(id).is_some_and(|c| c.values().contains(value)) {
                    return Err(format!(
                        "`{}` is not applicable with {id} {value}, which `switches` does not offer",
                        entry.scenario
                    ));
                }
            }
        }
        let tickless = manifest.default_of(TICK_HZ) == Some(&Setting::Number(0));
        let has_drivers = !manifest.time_bases.is_empty();
        if tickless != has_drivers || tickless && manifest.tick_by_systick().is_none() {
            return Err(
                "`time_bases` goes with tick_hz 0, which stands for no tick, as the first of \
                        the `switches`, and another value behind it for socs without a time base"
                    .into(),
            );
        }
        Ok(manifest)
    }

    /// How often SysTick ticks where time is counted by it.
    pub(crate) fn tick_by_systick(&self) -> Option<&Setting> {
        let values = self.switches.get(TICK_HZ)?.values();
        values.iter().find(|value| **value != Setting::Number(0))
    }

    /// The values that a setting can have on a core, the default first.
    ///
    /// # Errors
    /// When there is nothing to choose, in one sentence.
    pub fn values(&self, id: &str, core: &str) -> Result<&[Setting], String> {
        let by_build = || self.by_build.get(id).map(Vec::as_slice);
        match self.switches.get(id) {
            None => {
                by_build().ok_or_else(|| format!("{} has no setting {id} to choose.", self.name))
            }
            Some(Choice::Somewhere { cores, reason, .. })
                if !cores.iter().any(|known| known == core) =>
            {
                Err(reason.clone())
            }
            Some(choice) => Ok(choice.values()),
        }
    }

    /// The value that a setting has when nobody chooses another, where `switches` says it.
    pub fn default_of(&self, id: &str) -> Option<&Setting> {
        self.switches.get(id)?.values().first()
    }

    /// The feature that brings a driver which counts time by this target's time base.
    pub(crate) fn driver(&self, target: &Target) -> Option<&str> {
        let kind = target.timer()?.kind_name();
        let of = |name: &str| self.time_bases.get(name).map(String::as_str);
        of(&target.name).or_else(|| of(kind)).or_else(|| of("any"))
    }

    /// Why the kernel has no answer to a scenario on a core, built in a variant and run by a backend,
    /// when it says so.
    pub fn not_applicable(
        &self,
        scenario: &ScenarioId,
        core: &str,
        switched: &Switched,
        backend: Backend,
    ) -> Option<&str> {
        let built = |(id, value): (&String, &Setting)| {
            switched.get(id).or_else(|| self.default_of(id)) == Some(value)
        };
        let on = |entry: &&NotApplicable| {
            (entry.cores.is_empty() || entry.cores.iter().any(|known| known == core))
                && entry.backend.is_none_or(|known| known == backend)
                && entry.with.iter().all(built)
        };
        self.reason(scenario, on)
    }

    /// Why a scenario does not apply wherever the kernel runs: no image of it can hold the scenario.
    pub fn never_applicable(&self, scenario: &ScenarioId) -> Option<&str> {
        self.reason(scenario, |entry| {
            entry.cores.is_empty() && entry.backend.is_none() && entry.with.is_empty()
        })
    }

    fn reason(
        &self,
        scenario: &ScenarioId,
        holds: impl Fn(&&NotApplicable) -> bool,
    ) -> Option<&str> {
        let mut entries = self.not_applicable.iter().filter(holds);
        entries
            .find(|entry| entry.scenario.matches(scenario.as_str()))
            .map(|entry| entry.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
id = "k"
name = "K"
version = "1.0"
license = "MIT"
source = "here"
language = "Rust"
build = "cargo"
package = "rtmark-k"
images = ["thread"]
cores = ["cortex-m0plus"]
[unsupported]
cortex-m33 = "Not for ARMv8-M."
[settings]
tick_hz = 1000
asserts = false
[[not_applicable]]
scenario = "queue.*"
reason = "It has no queue."
[[not_applicable]]
scenario = "isr.*"
cores = ["cortex-m33"]
reason = "Nothing interrupts it there."
[[not_applicable]]
scenario = "timer.*"
backend = "qemu"
reason = "It never sleeps there."
"#;

    #[test]
    fn a_manifest_is_read_and_its_errors_are_told() {
        let manifest = Manifest::from_toml(GOOD).expect("good");
        let at = |id: &str, core, backend| {
            manifest.not_applicable(&id.parse().expect("good"), core, &Switched::default(), backend)
        };
        let on = |id: &str, core| at(id, core, Backend::Sim);
        let reason = |id: &str| on(id, "cortex-m0plus");
        assert_eq!(reason("timer.tick"), None);
        let on_qemu = at("timer.tick", "cortex-m0plus", Backend::Qemu);
        assert_eq!(on_qemu, Some("It never sleeps there."));
        let never = |id: &str| manifest.never_applicable(&id.parse().expect("good"));
        assert_eq!((never("timer.tick"), never("isr.entry")), (None, None));
        assert_eq!(never("queue.send.immediate"), Some("It has no queue."));
        assert_eq!(reason("queue.send.immediate"), Some("It has no queue."));
        assert_eq!((reason("thread.yield"), reason("isr.entry")), (None, None));
        assert_eq!(on("isr.entry", "cortex-m33"), Some("Nothing interrupts it there."));
        assert_eq!(manifest.unsupported["cortex-m33"], "Not for ARMv8-M.");
        assert_eq!(manifest.settings["asserts"], Setting::Switch(false));

        let refusal = |from: &str, to: &str| {
            assert!(GOOD.contains(from));
            Manifest::from_toml(&GOOD.replace(from, to)).expect_err("refused")
        };
        assert!(refusal("source", "sauce").contains("unknown field `sauce`"));
        assert!(refusal("package = \"rtmark-k\"", "").contains("package"));
        assert!(refusal("[\"thread\"]", "[\"../x\"]").contains("plain lower-case"));
        assert!(refusal("\"Rust\"", "\"Ada\"").contains("Ada"));
        let switches = |text: &str| refusal("[settings]", &format!("{text}\n[settings]"));
        assert!(switches("[switches]\nspeed = [1]").contains("`speed`"));
        assert!(switches("[switches]\nopt = []").contains("no value"));
        assert!(switches("[profiles.ours]\ntrace = true").contains("`switches` does not offer"));
        assert!(switches("[profiles.product]\n").contains("same for all kernels"));
        assert!(switches("[documented]\nopt = 'x'").contains("`switches` does not offer"));
        let without_tick = "[switches]\ntick_hz = [0, 1000]";
        assert!(switches(without_tick).contains("`time_bases` goes with"));
        assert!(switches("[time_bases]\nany = \"x\"").contains("`time_bases` goes with"));
        let only_zero = "[switches]\ntick_hz = [0]\n[time_bases]\nany = \"x\"";
        assert!(switches(only_zero).contains("another value behind it"));
        let with = "\nscenario = \"queue.*\"\nwith = { tick_hz = 5 }";
        let with = refusal("\nscenario = \"queue.*\"", with);
        assert!(with.contains("`queue.*` is not applicable with tick_hz 5"), "{with}");
    }
}
