//! Ways to build a kernel: a profile, and single settings that differ from it.
//!
//! A kernel's `kernel.toml` lists the settings that can be chosen. What the three common profiles ask
//! for is defined here, once for all kernels.

use std::collections::BTreeSet;
use std::fmt;

use rtmark_model::{DEFAULT_PROFILE, Setting, Settings, setting_info};

use crate::manifest::TICK_HZ;
use crate::target::Timer;
use crate::{Manifest, Target};

/// The settings of each kernel's own template or examples: the first value of each of its `switches`.
const DOCUMENTED: &str = "documented";

/// With asserts and stack checks, and otherwise like a release.
const CHECKED: &str = "checked";

/// The profiles that every kernel has.
pub const PROFILES: [&str; 3] = [DEFAULT_PROFILE, DOCUMENTED, CHECKED];

/// Former names of profiles, and their successors.
const FORMER: [(&str, &str); 3] =
    [("default", DOCUMENTED), ("lean", DEFAULT_PROFILE), ("safe", CHECKED)];

/// What `product` asks of every kernel that has the choice, and what `checked` asks instead. Everything
/// else is as documented.
const PROFILE_SETTINGS: &[(&str, &str, &str)] = &[
    ("opt", "2", "2"),
    ("lto", "on", "on"),
    ("asserts", "off", "on"),
    ("stack_check", "0", "2"),
    ("heap_clear", "off", "off"),
    ("trace", "off", "off"),
    ("overflow_checks", "off", "on"),
    ("debug_assertions", "off", "on"),
];

/// The settings of Rust firmware that are keys of Cargo's release profile.
const CARGO_PROFILE: [&str; 4] = ["opt", "lto", "overflow_checks", "debug_assertions"];

/// The settings of Rust firmware that its target, its linker script or a build script determines.
const NO_FEATURES: [&str; 3] = ["fpu", "code_in", "branch_prediction"];

/// The compiler whose link-time optimisation the linker does not support.
const NO_LTO: &str = "clang";

/// Returns the successor of a renamed profile.
pub fn successor(profile: &str) -> Option<&'static str> {
    FORMER.iter().find(|(former, _)| *former == profile).map(|(_, now)| *now)
}

/// Returns what a profile asks of every kernel.
fn requested_settings(profile: &str) -> impl Iterator<Item = (&str, Setting)> {
    let chosen = move |(id, product, checked): &(&'static str, &'static str, &'static str)| {
        let value = match profile {
            DEFAULT_PROFILE => product,
            CHECKED => checked,
            _ => return None,
        };
        Some((*id, setting_info(id)?.parse(value).ok()?))
    };
    PROFILE_SETTINGS.iter().filter_map(chosen)
}

/// A way to build any kernel: a profile, and individually chosen settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    profile: String,
    chosen: Settings,
}

/// A text that does not name a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}")]
pub struct VariantError {
    text: String,
    problem: String,
}

impl VariantError {
    /// Returns the name of a setting that there is not, if that is the problem.
    pub fn unknown_setting(&self) -> Option<&str> {
        let (id, _) = self.text.split_once('=')?;
        setting_info(id).is_none().then_some(id)
    }
}

/// The changes that a build has to make to a kernel's default settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingChanges(Settings);

impl Default for Variant {
    fn default() -> Self {
        Self::profile(DEFAULT_PROFILE)
    }
}

impl fmt::Display for Variant {
    /// Formats the name under which its series are stored: `product`,
    /// `documented+opt=3+time_slicing=off`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.profile)?;
        self.chosen.iter().try_for_each(|(id, value)| write!(f, "+{id}={value}"))
    }
}

impl std::str::FromStr for Variant {
    type Err = VariantError;
    fn from_str(text: &str) -> Result<Self, VariantError> {
        let mut words = text.split('+');
        let profile = words.next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if profile.is_empty() || !profile.chars().all(plain) {
            let problem = "is not a profile: write a lower-case name, then `+setting=value` as often as needed";
            return Err(VariantError {
                text: text.escape_debug().collect(),
                problem: problem.into(),
            });
        }
        words.try_fold(Self::profile(profile), |variant, word| {
            let (id, value) = chosen(word)?;
            Ok(variant.with(id, value))
        })
    }
}

/// Parses a setting and its chosen value, as in `time_slicing=off`.
///
/// # Errors
/// When the setting is unknown, or the value is not valid for it.
pub fn chosen(text: &str) -> Result<(&str, Setting), VariantError> {
    let refuse =
        |problem: String| Err(VariantError { text: text.escape_debug().collect(), problem });
    let Some((id, value)) = text.split_once('=') else {
        return refuse("lacks a value: write setting=value".into());
    };
    let Some(info) = setting_info(id) else {
        return refuse("names no setting".into());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match info.parse(value) {
        Ok(setting) if value.chars().all(plain) => Ok((id, setting)),
        Ok(_) => refuse("is not a plain word".into()),
        Err(wanted) => refuse(format!("has no such value: {id} wants {wanted}")),
    }
}

impl Variant {
    /// Returns a profile without further choices.
    pub fn profile(name: &str) -> Self {
        Self { profile: name.to_owned(), chosen: Settings::new() }
    }

    /// Changes one setting of this variant.
    #[must_use]
    pub fn with(mut self, id: &str, value: Setting) -> Self {
        self.chosen.insert(id.to_owned(), value);
        self
    }

    /// Returns the profile's name.
    pub fn profile_name(&self) -> &str {
        &self.profile
    }

    /// Returns the individually chosen settings.
    pub fn chosen(&self) -> &Settings {
        &self.chosen
    }

    /// Returns the changes to a kernel's default settings that this variant means on a core.
    ///
    /// # Errors
    /// When the kernel cannot be built this way, with the reason in one sentence.
    pub fn of(&self, manifest: &Manifest, core: &str) -> Result<SettingChanges, String> {
        let name = &manifest.name;
        let own = manifest.profiles.get(&self.profile);
        if own.is_none() && !PROFILES.contains(&self.profile.as_str()) {
            return Err(format!("{name} has no profile {}.", self.profile));
        }
        let mut changes = Settings::new();
        let own = own.into_iter().flatten().map(|(id, value)| (id.as_str(), value.clone()));
        for (id, value) in requested_settings(&self.profile).chain(own) {
            // A profile does not ask for what a core or a kernel cannot have.
            if manifest.values(id, core).is_ok_and(|values| values.contains(&value)) {
                changes.insert(id.to_owned(), value);
            }
        }
        let text = |value: &Setting| value.to_string();
        if self.chosen.get("compiler").map(text).as_deref() == Some(NO_LTO) {
            if self.chosen.get("lto") == Some(&Setting::Switch(true)) {
                return Err(format!(
                    "rtmark does not support link-time optimisation with {NO_LTO}."
                ));
            }
            if manifest.values("lto", core).is_ok() {
                changes.insert("lto".to_owned(), Setting::Switch(false));
            }
        }
        for (id, value) in &self.chosen {
            let values = manifest.values(id, core)?;
            if !values.contains(value) {
                let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                let values = values.join(", ");
                return Err(format!("{name} can be built with {id} {values}, but not {value}."));
            }
            changes.insert(id.clone(), value.clone());
        }
        // A value equal to the default is not a change, so that such builds share their folder.
        changes.retain(|id, value| manifest.default_of(id) != Some(value));
        Ok(SettingChanges(changes))
    }
}

impl SettingChanges {
    /// Returns the changed settings.
    pub fn settings(&self) -> &Settings {
        &self.0
    }

    /// Returns the value of a setting if it is changed.
    pub fn get(&self, id: &str) -> Option<&Setting> {
        self.0.get(id)
    }

    /// Adapts the settings to the target: without a timer that the kernel has a driver for, time is
    /// counted by SysTick.
    #[must_use]
    pub fn at(mut self, manifest: &Manifest, target: &Target) -> Self {
        let driven = manifest.time_bases.is_empty() || manifest.driver(target).is_some();
        if !driven && let Some(ticks) = manifest.tick_by_systick() {
            self.0.entry(TICK_HZ.to_owned()).or_insert_with(|| ticks.clone());
        }
        self
    }

    /// Returns the feature with the driver of the timer that is the time base.
    fn driver<'a>(&self, manifest: &'a Manifest, target: &Target) -> Option<&'a str> {
        manifest.driver(target).filter(|_| !self.0.contains_key(TICK_HZ))
    }

    /// Returns the time base, if a kernel has a choice.
    pub(crate) fn time_base(&self, manifest: &Manifest, target: &Target) -> Option<Setting> {
        if manifest.time_bases.is_empty() {
            return None;
        }
        let timer = self.driver(manifest, target).and_then(|_| target.timer());
        Some(Setting::Text(timer.map_or_else(|| "SysTick".to_owned(), Timer::described)))
    }

    /// Returns the folder for such builds: `documented`, `asserts-off.opt-3`.
    pub fn folder(&self) -> String {
        if self.0.is_empty() {
            return DOCUMENTED.to_owned();
        }
        let words: Vec<_> = self.0.iter().map(|(id, value)| format!("{id}-{value}")).collect();
        words.join(".")
    }

    /// Formats the settings for makefiles: `ASSERTS=0 OPT=3`.
    pub(crate) fn words(&self) -> String {
        let word = |(id, value): (&String, &Setting)| {
            let id = id.to_ascii_uppercase();
            match value {
                Setting::Switch(on) => format!("{id}={}", u8::from(*on)),
                other => format!("{id}={other}"),
            }
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Formats the settings for Cargo: overrides of its release profile, and features such as
    /// `tick_hz_100`.
    pub(crate) fn cargo(&self, manifest: &Manifest, target: &Target) -> Vec<String> {
        let mut arguments = Vec::new();
        for (key, value) in self.cargo_profile(manifest) {
            arguments.push("--config".to_owned());
            arguments.push(format!("profile.release.{key}={value}"));
        }
        // Features are additive, so a choice of one requires naming all of them.
        let by_feature = |id: &&String| {
            let id = id.as_str();
            !CARGO_PROFILE.contains(&id) && !NO_FEATURES.contains(&id)
        };
        let by_feature: BTreeSet<&String> = manifest.switches.keys().filter(by_feature).collect();
        let driver = self.driver(manifest, target);
        if driver.is_some() || self.0.keys().any(|id| by_feature.contains(id)) {
            let feature = |id: &&String| {
                let value = self.0.get(*id).or_else(|| manifest.default_of(id))?;
                Some(format!("{id}_{value}"))
            };
            let driver = driver.map(str::to_owned);
            let features: Vec<_> = by_feature.iter().filter_map(feature).chain(driver).collect();
            arguments.extend(["--no-default-features".into(), "--features".into()]);
            arguments.push(features.join(","));
        }
        arguments
    }
}

impl SettingChanges {
    /// Returns the keys of Cargo's release profile that such a build sets, with their values in TOML.
    pub(crate) fn cargo_profile(&self, manifest: &Manifest) -> Vec<(&'static str, String)> {
        let mut keys = Vec::new();
        for id in CARGO_PROFILE {
            let Some(value) = self.0.get(id).or_else(|| manifest.default_of(id)) else { continue };
            match (id, value) {
                ("opt", level) => {
                    let level = level.to_string();
                    let number = level.parse::<u8>().is_ok();
                    keys.push(("opt-level", if number { level } else { format!("\"{level}\"") }));
                }
                ("lto", Setting::Switch(true)) => {
                    keys.extend([("lto", "\"fat\"".to_owned()), ("codegen-units", "1".into())]);
                }
                // Cargo's own defaults.
                ("lto", _) => {
                    keys.extend([("lto", "false".to_owned()), ("codegen-units", "16".into())]);
                }
                ("overflow_checks", Setting::Switch(on)) => {
                    keys.push(("overflow-checks", on.to_string()));
                }
                ("debug_assertions", Setting::Switch(on)) => {
                    keys.push(("debug-assertions", on.to_string()));
                }
                _ => {}
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Backend;
    use rtmark_sim::PeripheralKind;

    const CORE: &str = "cortex-m0plus";

    fn manifest() -> Manifest {
        Manifest::from_toml(
            r#"
id = "k"
name = "K"
version = "1"
license = "MIT"
source = "here"
language = "Rust"
build = "cargo"
package = "rtmark-k"
images = ["thread"]
cores = ["cortex-m0plus", "cortex-m4f"]
[profiles.own]
tick_hz = 100
[switches]
asserts = [true, false]
opt = ["s", "2", "3"]
tick_hz = [1000, 100]
overflow_checks = [false, true]
debug_assertions = [false, true]
lto = [false, true]
fpu = { values = [true, false], cores = ["cortex-m4f"], reason = "No FPU." }
"#,
        )
        .expect("good")
    }

    fn of(text: &str) -> Result<SettingChanges, String> {
        text.parse::<Variant>().expect("a variant").of(&manifest(), CORE)
    }

    #[test]
    fn variants_have_one_name_and_one_folder_each() {
        let variant: Variant = "product+tick_hz=100+opt=3".parse().expect("good");
        assert_eq!(variant.to_string(), "product+opt=3+tick_hz=100");
        assert_eq!(
            of("product+tick_hz=100+opt=3").expect("possible").folder(),
            "asserts-off.lto-on.opt-3.tick_hz-100"
        );
        // A choice without an effect shares the folder of the unchanged build.
        for same in ["documented", "documented+opt=s", "documented+asserts=on+tick_hz=1000"] {
            assert_eq!(of(same).expect("possible").folder(), "documented", "{same}");
        }
        assert_eq!(of("own").expect("possible").words(), "TICK_HZ=100");
    }

    #[test]
    fn profiles_have_plain_names() {
        for good in ["product", "low-power", "low_power", "2"] {
            assert_eq!(good.parse::<Variant>().expect(good).to_string(), good);
        }
        for bad in ["", "Product", "a b", "../x", "ä", "+opt=3"] {
            let error = bad.parse::<Variant>().expect_err("no profile").to_string();
            assert!(error.contains("is not a profile"), "{error}");
        }
    }

    fn stm32c031() -> Target {
        let text = include_str!("../../../socs/stm32c031.toml");
        Target::from(&rtmark_sim::Soc::from_toml(text).expect("good"))
    }

    #[test]
    fn timers_count_time_if_a_driver_exists() {
        let manifest = |time_bases: &str| {
            let text = format!(
                "id = 'k'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
                 language = 'Rust'\nbuild = 'cargo'\npackage = 'k'\nimages = []\n\
                 cores = ['cortex-m0plus']\n[switches]\ntick_hz = [0, 1000, 100]\n\
                 [time_bases]\n{time_bases}\n[[not_applicable]]\nscenario = 'timer.tick'\n\
                 with = {{ tick_hz = 0 }}\nreason = 'No tick.'\n"
            );
            Manifest::from_toml(&text).expect("good")
        };
        let named = stm32c031();
        let unnamed = Target { timer: None, ..named.clone() };
        let clocked = named.clone().clocked(rtmark_sim::CoreKind::CortexM0Plus);
        let choose = |time_bases: &str, variant: &str, target: &Target| {
            let manifest = manifest(time_bases);
            let variant: Variant = variant.parse().expect("a variant");
            let changes = variant.of(&manifest, CORE).expect("possible").at(&manifest, target);
            let tick = "timer.tick".parse().expect("good");
            let excuse = manifest.not_applicable(&tick, CORE, &changes, Backend::Sim);
            let base = changes.time_base(&manifest, target).expect("a choice").to_string();
            (base, changes.cargo(&manifest, target).join(" "), excuse.is_some())
        };
        let features = "--no-default-features --features tick_hz_0,drv".to_owned();
        let by_timer = ("TIM3".to_owned(), features, true);
        let by_tick = |hz: &str| {
            let features = format!("--no-default-features --features tick_hz_{hz}");
            ("SysTick".to_owned(), features, false)
        };
        assert_eq!(choose("any = 'drv'", "documented", &named), by_timer);
        assert_eq!(choose("stm32c031 = 'drv'", "documented+tick_hz=0", &named), by_timer);
        for target in [&unnamed, &clocked] {
            assert_eq!(choose("any = 'drv'", "documented", target), by_tick("1000"));
        }
        assert_eq!(choose("other = 'drv'", "documented", &named), by_tick("1000"));
        // A driver may be for one kind of timer; if that does not count microseconds, its rate is
        // passed on.
        assert_eq!(choose("stm32-timer = 'drv'\nany = 'x'", "documented", &named), by_timer);
        assert_eq!(choose("nrf-rtc = 'drv'", "documented", &named), by_tick("1000"));
        let timer = named.timer.clone();
        let timer = timer.map(|timer| Timer { kind: PeripheralKind::NrfRtc, ..timer });
        let slow = Target { timer, ..named.clone() };
        let (base, features, no_tick) = by_timer;
        let by_slow_timer = (format!("{base}, 32768 Hz"), features, no_tick);
        assert_eq!(choose("nrf-rtc = 'drv'", "documented", &slow), by_slow_timer);
        assert_eq!(choose("any = 'drv'", "documented+tick_hz=100", &named), by_tick("100"));
    }

    #[test]
    fn profiles_request_the_same_settings_of_every_kernel() {
        let folder = |text: &str| of(text).expect("possible").folder();
        assert_eq!(folder("product"), "asserts-off.lto-on.opt-2");
        assert_eq!(folder("checked"), "debug_assertions-on.lto-on.opt-2.overflow_checks-on");
        assert_eq!(folder("product+lto=off+asserts=on"), "opt-2");
        // Everything that is asked for is a valid setting, and `checked` asks for each of them.
        for profile in [DEFAULT_PROFILE, CHECKED] {
            assert_eq!(requested_settings(profile).count(), PROFILE_SETTINGS.len(), "{profile}");
        }
        assert_eq!(requested_settings(DOCUMENTED).count(), 0);
        assert_eq!(successor("lean"), Some("product"));
        assert_eq!(successor("product"), None);
    }

    #[test]
    fn kernels_default_to_their_build_systems_capabilities() {
        let text = "id = 'k'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
                    language = 'C'\nbuild = 'make'\nimages = []\ncores = ['cortex-m3']\n";
        let make = Manifest::from_toml(text).expect("good");
        let words = |text: &str, manifest: &Manifest| {
            text.parse::<Variant>().expect("good").of(manifest, CORE).map(|made| made.words())
        };
        assert_eq!(words("product", &make).as_deref(), Ok("LTO=1 OPT=2"));
        assert_eq!(words("documented", &make).as_deref(), Ok(""), "as its makefile says");
        let cargo = text.replace("'make'", "'cargo'\npackage = 'k'");
        let cargo = Manifest::from_toml(&cargo).expect("good");
        let checked: Variant = "checked".parse().expect("good");
        let keys = checked.of(&cargo, CORE).expect("possible").cargo_profile(&cargo);
        assert_eq!(keys.len(), 5, "{keys:?}");
        let documented: Variant = DOCUMENTED.parse().expect("good");
        assert!(
            documented.of(&cargo, CORE).expect("possible").cargo(&cargo, &stm32c031()).is_empty()
        );
        // A kernel that declares that there is no choice is believed.
        let never = Manifest::from_toml(&format!("{text}[switches]\nlto = [false]\n"));
        assert_eq!(words("product", &never.expect("good")).as_deref(), Ok("OPT=2"));
    }

    #[test]
    fn clang_has_no_link_time_optimisation() {
        let mut manifest = manifest();
        let values = vec![Setting::Text("gcc".into()), Setting::Text("clang".into())];
        manifest.switches.insert("compiler".into(), crate::manifest::Choice::Everywhere(values));
        let of = |text: &str| text.parse::<Variant>().expect("good").of(&manifest, CORE);
        let uses_clang = of("product+compiler=clang").expect("possible");
        assert_eq!(uses_clang.get("lto"), None, "off, as documented");
        let both = of("product+compiler=clang+lto=on").expect_err("impossible");
        assert!(both.contains("with clang"), "{both}");
    }

    #[test]
    fn unavailable_choices_are_reported() {
        let reason = |text: &str| of(text).expect_err("impossible");
        assert_eq!(reason("mean"), "K has no profile mean.");
        assert_eq!(reason("product+opt=7"), "K can be built with opt s, 2, 3, but not 7.");
        assert_eq!(reason("product+trace=on"), "K has no setting trace to choose.");
        assert_eq!(reason("product+fpu=off"), "No FPU.");
        let refused = |text: &str| text.parse::<Variant>().expect_err("refused").to_string();
        assert!(refused("").contains("is not a profile"));
        assert!(refused("product+speed=9").contains("names no setting"));
        assert!(refused("product+asserts=3").contains("`on` or `off`"));
        assert!(refused("product+opt=../x").contains("plain word"));
        assert!(refused("product+opt").contains("lacks a value"));
    }

    #[test]
    fn cargo_is_configured_by_profile_and_features() {
        let manifest = manifest();
        let target = stm32c031();
        let arguments =
            |text: &str| of(text).expect("possible").cargo(&manifest, &target).join(" ");
        let release = "--config profile.release.";
        assert_eq!(
            arguments("documented+opt=2"),
            format!(
                "{release}opt-level=2 {release}lto=false {release}codegen-units=16 \
                 {release}overflow-checks=false {release}debug-assertions=false"
            )
        );
        assert!(arguments("documented").contains("opt-level=\"s\""));
        assert!(
            arguments("product").contains("lto=\"fat\" --config profile.release.codegen-units=1 ")
        );
        assert!(arguments("checked").contains("overflow-checks=true"));
        let features = arguments("documented+tick_hz=100");
        assert!(features.ends_with("--no-default-features --features asserts_on,tick_hz_100"));
    }
}
