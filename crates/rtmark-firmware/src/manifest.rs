//! `kernel.toml`: what a kernel is, how its firmware is built, and what it does not support.

use std::collections::BTreeMap;

use rtmark_model::{Backend, KernelId, Pattern, ScenarioId, Setting, Settings, setting_info};
use rtmark_sim::Soc;
use serde::Deserialize;

use crate::{PROFILES, SettingChanges, Target};

/// The language that a kernel and its firmware are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Language {
    /// C.
    C,
    /// Rust.
    Rust,
}

impl Language {
    /// Returns the language's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Rust => "Rust",
        }
    }
}

/// The build system of a kernel's firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildSystem {
    /// `make`, with arm-none-eabi-gcc.
    Make,
    /// `cargo`, with rustc's target for the core.
    Cargo,
}

/// The setting for the tick rate in hertz; 0 if nothing ticks.
pub(crate) const TICK_HZ: &str = "tick_hz";

/// Scenarios for which a kernel has no primitive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotApplicable {
    /// The scenarios.
    pub scenario: Pattern,
    /// The cores concerned; all if empty.
    #[serde(default)]
    pub cores: Vec<String>,
    /// The backend concerned; all if none is given.
    #[serde(default)]
    pub backend: Option<Backend>,
    /// The settings' values concerned; any if none are given.
    #[serde(default)]
    pub with: Settings,
    /// The reason, in one sentence.
    pub reason: String,
}

/// A `kernel.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The kernel's name on the command line and in results.
    pub id: KernelId,
    /// Its full name.
    pub name: String,
    /// The kernel's version.
    pub version: String,
    /// Its licence.
    pub license: String,
    /// Where its source comes from.
    pub source: String,
    /// The language it is written in.
    pub language: Language,
    /// The build system of its firmware.
    pub build: BuildSystem,
    /// The Cargo package of its firmware.
    #[serde(default)]
    pub package: Option<String>,
    /// The images that a build produces, one for each group of scenarios.
    pub images: Vec<String>,
    /// Whether there is also an image `load`, the mixed load for worst-case searches.
    #[serde(default)]
    pub load: bool,
    /// Whether there is also an image `plan`, into which task sets are written.
    #[serde(default)]
    pub plan: bool,
    /// The cores that it supports.
    pub cores: Vec<String>,
    /// Why it does not support some other cores.
    #[serde(default)]
    pub unsupported: BTreeMap<String, String>,
    /// Its own profiles: their changes to the documented settings.
    #[serde(default)]
    pub profiles: BTreeMap<String, Settings>,
    /// The settings that a build can choose.
    #[serde(default)]
    pub switches: BTreeMap<String, Choice>,
    /// The source of the first value of each of them: the kernel's template or example, in its own
    /// terms.
    #[serde(default)]
    pub documented: BTreeMap<String, String>,
    /// The choices that its build system offers where `switches` gives none.
    #[serde(skip)]
    by_build: BTreeMap<String, Vec<Setting>>,
    /// Cargo features with a driver that counts time by the soc's time base; keyed by the soc's name,
    /// by the timer's kind, or by `any`.
    #[serde(default)]
    pub time_bases: BTreeMap<String, String>,
    /// The RAM in bytes that an image needs: on smaller socs it is not built.
    #[serde(default)]
    pub least_ram: BTreeMap<String, u32>,
    /// Images that cannot run on a core, by core: they are not built for it.
    #[serde(default)]
    pub without: BTreeMap<String, Vec<String>>,
    /// Settings that neither the image nor the build reports.
    #[serde(default)]
    pub settings: Settings,
    /// The most urgent priority at which an interrupt may call the kernel, as a level counted from 0,
    /// by core. The default 0 means that the kernel masks with PRIMASK.
    #[serde(default)]
    pub interrupt_level: BTreeMap<String, u8>,
    /// Objects whose memory is measured with an additional one, each with a short description.
    #[serde(default)]
    pub objects: BTreeMap<String, String>,
    /// Why it has no such object.
    #[serde(default)]
    pub no_objects: BTreeMap<String, String>,
    /// The scenarios for which it has no primitive.
    #[serde(default)]
    pub not_applicable: Vec<NotApplicable>,
}

/// The possible values of a setting; the first one is the default.
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
        /// Why other cores have no choice, in one sentence.
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

/// Returns what `firmware/c/image.mk` and Cargo's release profile offer for any kernel. The defaults
/// are in its own makefile or `Cargo.toml`.
fn by_build(build: BuildSystem) -> BTreeMap<String, Vec<Setting>> {
    let levels = ["s", "2", "3"].map(|level| Setting::Text(level.into())).to_vec();
    let switch = || vec![Setting::Switch(true), Setting::Switch(false)];
    let both = [("opt", levels), ("lto", switch())];
    let rust = [("overflow_checks", switch()), ("debug_assertions", switch())];
    let rust = rust.into_iter().filter(|_| build == BuildSystem::Cargo);
    both.into_iter().chain(rust).map(|(id, values)| (id.to_owned(), values)).collect()
}

impl Manifest {
    /// Returns the most urgent priority at which an interrupt may call the kernel, as the byte in
    /// priority registers.
    pub fn most_urgent_caller(&self, soc: &Soc) -> u8 {
        // Cortex-M frameworks use four bits at most, although models have more.
        let used = if soc.core.is_cortex_m() { 4 } else { 8 };
        let held = |level: u8| level << (8 - soc.priority_bits.min(used));
        let level = self.interrupt_level.get(soc.core.name()).copied();
        level.map_or(soc.core.most_urgent_priority(), held)
    }

    /// Returns why an image does not fit into this much RAM, in bytes; `None` if it does.
    pub fn ram_shortage(&self, image: &str, ram: u32) -> Option<String> {
        let least = *self.least_ram.get(image)?;
        (ram < least).then(|| {
            format!("{}'s image needs {least} bytes of RAM; this soc has {ram}.", self.name)
        })
    }

    /// Parses a `kernel.toml`.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key, lacks one, or contradicts itself; the message
    /// shows the line.
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
        if let Some((place, core)) = manifest.unknown_core() {
            return Err(format!(
                "{place} names the core `{}`, which neither `cores` nor `unsupported` does",
                core.escape_debug()
            ));
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
                        the `switches`, and another value after it for socs without a time base"
                    .into(),
            );
        }
        Ok(manifest)
    }

    /// Returns a core that is named somewhere although the kernel says nothing else of it, which is a mistyped
    /// name, and where that is.
    fn unknown_core(&self) -> Option<(String, &str)> {
        let switches = self.switches.iter().flat_map(|(id, choice)| {
            let cores = match choice {
                Choice::Everywhere(_) => &[][..],
                Choice::Somewhere { cores, .. } => cores,
            };
            cores.iter().map(move |core| (format!("the setting {id}"), core))
        });
        let levels = self.interrupt_level.keys().map(|core| ("`interrupt_level`".to_owned(), core));
        let refused = self.not_applicable.iter().flat_map(|entry| {
            let place = || format!("`not_applicable` for {}", entry.scenario);
            entry.cores.iter().map(move |core| (place(), core))
        });
        let is_known =
            |core: &String| self.cores.contains(core) || self.unsupported.contains_key(core);
        let mut named = switches.chain(levels).chain(refused);
        named.find(|(_, core)| !is_known(core)).map(|(place, core)| (place, core.as_str()))
    }

    /// Returns the tick rate of a kernel that counts time by SysTick.
    pub(crate) fn tick_by_systick(&self) -> Option<&Setting> {
        let values = self.switches.get(TICK_HZ)?.values();
        values.iter().find(|value| **value != Setting::Number(0))
    }

    /// Returns the possible values of a setting on a core, the default first.
    ///
    /// # Errors
    /// When there is no choice, with the reason in one sentence.
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

    /// Returns the default of a setting, if `switches` states it.
    pub fn default_of(&self, id: &str) -> Option<&Setting> {
        self.switches.get(id)?.values().first()
    }

    /// Returns the feature with a driver that counts time by this target's time base.
    pub(crate) fn driver(&self, target: &Target) -> Option<&str> {
        let kind = target.timer()?.kind_name();
        let of = |name: &str| self.time_bases.get(name).map(String::as_str);
        of(&target.name).or_else(|| of(kind)).or_else(|| of("any"))
    }

    /// Returns why the kernel does not support a scenario on a core, in a variant and with a backend,
    /// if it says so.
    pub fn not_applicable(
        &self,
        scenario: &ScenarioId,
        core: &str,
        changes: &SettingChanges,
        backend: Backend,
    ) -> Option<&str> {
        let built = |(id, value): (&String, &Setting)| {
            changes.get(id).or_else(|| self.default_of(id)) == Some(value)
        };
        let on = |entry: &&NotApplicable| {
            (entry.cores.is_empty() || entry.cores.iter().any(|known| known == core))
                && entry.backend.is_none_or(|known| known == backend)
                && entry.with.iter().all(built)
        };
        self.reason(scenario, on)
    }

    /// Returns why a scenario never applies, on any target: no image of the kernel can contain it.
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
    fn manifests_parse_and_report_errors() {
        let manifest = Manifest::from_toml(GOOD).expect("good");
        let at = |id: &str, core, backend| {
            manifest.not_applicable(
                &id.parse().expect("good"),
                core,
                &SettingChanges::default(),
                backend,
            )
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
        for image in ["../x", "", "Thread", "a b"] {
            assert!(
                refusal("[\"thread\"]", &format!("[\"{image}\"]")).contains("plain lower-case")
            );
        }
        let images = GOOD.replace("[\"thread\"]", "[\"two-words\", \"two_words\", \"2\"]");
        assert_eq!(Manifest::from_toml(&images).expect("good").images.len(), 3);
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
        assert!(switches(only_zero).contains("another value after it"));
        let misspelt = refusal("cores = [\"cortex-m33\"]", "cores = [\"cortex-m33f\"]");
        assert!(
            misspelt.contains("`not_applicable` for isr.* names the core `cortex-m33f`"),
            "{misspelt}"
        );
        let there = "values = [2, 3], reason = \"It is so.\" }";
        let somewhere =
            format!("[switches]\nopt = {{ cores = [\"cortex-m0plus\", \"cortex-m1\"], {there}");
        assert!(switches(&somewhere).contains("the setting opt names the core `cortex-m1`"));
        let level = "[interrupt_level]\ncortex-m0plus = 2\ncortex-m5 = 2";
        assert!(switches(level).contains("`interrupt_level` names the core `cortex-m5`"));
        let with = "\nscenario = \"queue.*\"\nwith = { tick_hz = 5 }";
        let with = refusal("\nscenario = \"queue.*\"", with);
        assert!(with.contains("`queue.*` is not applicable with tick_hz 5"), "{with}");
    }

    #[test]
    fn a_setting_may_have_values_on_some_cores_alone() {
        let fpu = "[switches]\nfpu = { values = [true, false], cores = [\"cortex-m4f\"], reason = \"No FPU.\" }";
        let cores = GOOD.replace("[\"cortex-m0plus\"]", "[\"cortex-m0plus\", \"cortex-m4f\"]");
        let manifest = cores.replace("[settings]", &format!("{fpu}\n[settings]"));
        let manifest = Manifest::from_toml(&manifest).expect("good");
        let values = [Setting::Switch(true), Setting::Switch(false)];
        assert_eq!(manifest.values("fpu", "cortex-m4f"), Ok(&values[..]));
        assert_eq!(manifest.values("fpu", "cortex-m0plus"), Err("No FPU.".to_owned()));
        assert_eq!(
            manifest.values("heap", "cortex-m4f"),
            Err("K has no setting heap to choose.".to_owned())
        );
    }

    /// Levels are the upper bits of a priority's byte (DDI 0403, B1.5.4).
    #[test]
    fn interrupt_levels_are_upper_bits_of_priorities() {
        let stm32f405 = include_str!("../../../socs/stm32f405.toml");
        let socs = [
            (include_str!("../../../socs/stm32c031.toml"), 2, 0x80),
            (stm32f405, 4, 0x20),
            (include_str!("../../../socs/zynqmp-r5.toml"), 5, 0x10),
        ];
        let cores = "cores = [\"cortex-m0plus\", \"cortex-m4f\", \"cortex-r5\"]\n\
                     interrupt_level = { cortex-m0plus = 2, cortex-m4f = 2, cortex-r5 = 2 }";
        let manifest = GOOD.replace("cores = [\"cortex-m0plus\"]", cores);
        let manifest = Manifest::from_toml(&manifest).expect("good");
        for (text, bits, priority) in socs {
            let soc = Soc::from_toml(text).expect("good");
            assert_eq!(soc.priority_bits, bits);
            assert_eq!(manifest.most_urgent_caller(&soc), priority, "{}", soc.name);
        }
        // Frameworks for Cortex-M use four bits at most.
        let mut soc = Soc::from_toml(stm32f405).expect("good");
        soc.priority_bits = 8;
        assert_eq!(manifest.most_urgent_caller(&soc), 0x20);
        // A kernel that masks everything, on cores where smaller or greater values are more urgent.
        let plain = Manifest::from_toml(GOOD).expect("good");
        let most_urgent =
            |text: &str| plain.most_urgent_caller(&Soc::from_toml(text).expect("good"));
        assert_eq!(most_urgent(stm32f405), 0);
        assert_eq!(most_urgent(include_str!("../../../socs/generic-hazard3.toml")), 0xF0);
    }

    #[test]
    fn an_image_is_not_built_for_less_ram_than_it_needs() {
        let text = GOOD.replace("[settings]", "[least_ram]\nqueue = 4096\n[settings]");
        let manifest = Manifest::from_toml(&text).expect("good");
        let shortage = "K's image needs 4096 bytes of RAM; this soc has 4095.";
        assert_eq!(manifest.ram_shortage("queue", 4095).as_deref(), Some(shortage));
        assert_eq!(manifest.ram_shortage("queue", 4096), None);
        assert_eq!(manifest.ram_shortage("thread", 1), None);
    }
}
