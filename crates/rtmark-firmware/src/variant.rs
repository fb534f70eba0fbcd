//! Ways to build a kernel: a profile, and single settings that are to differ from it.
//!
//! A kernel's `kernel.toml` says which settings can be chosen and what a profile means there.

use std::collections::BTreeSet;
use std::fmt;

use rtmark_model::{Setting, Settings, setting_info};

use crate::manifest::TICK_HZ;
use crate::{Manifest, Target};

/// The profile that kernels' own documents ship.
pub const DEFAULT_PROFILE: &str = "default";

/// The profiles that every kernel has. One whose `kernel.toml` says nothing about a profile has
/// nothing that it would change.
pub const PROFILES: [&str; 3] = [DEFAULT_PROFILE, "lean", "safe"];

/// Settings of Rust firmware that Cargo learns otherwise than by a feature.
const NO_FEATURES: [&str; 5] = ["opt", "overflow_checks", "debug_assertions", "fpu", "code_in"];

/// A way to build any kernel: a profile and the settings chosen besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    profile: String,
    chosen: Settings,
}

/// A text that names no variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}")]
pub struct VariantError {
    text: String,
    problem: String,
}

/// What a build has to change of a kernel's default settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switched(Settings);

impl Default for Variant {
    fn default() -> Self {
        Self::profile(DEFAULT_PROFILE)
    }
}

impl fmt::Display for Variant {
    /// The name under which its series are kept: `lean`, `default+opt=3+time_slicing=off`.
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
            let problem =
                "is no profile: a lower-case name, then `+setting=value` as often as needed";
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

/// A setting and the value chosen for it, as in `time_slicing=off`.
///
/// # Errors
/// When no such setting is known, or the value cannot be one of it.
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
        Ok(_) => refuse("is no plain word".into()),
        Err(wanted) => refuse(format!("has no such value: {id} wants {wanted}")),
    }
}

impl Variant {
    /// A profile as it is.
    pub fn profile(name: &str) -> Self {
        Self { profile: name.to_owned(), chosen: Settings::new() }
    }

    /// The same with another value of one setting.
    #[must_use]
    pub fn with(mut self, id: &str, value: Setting) -> Self {
        self.chosen.insert(id.to_owned(), value);
        self
    }

    /// The profile's name.
    pub fn profile_name(&self) -> &str {
        &self.profile
    }

    /// The settings chosen besides.
    pub fn chosen(&self) -> &Settings {
        &self.chosen
    }

    /// What building a kernel for a core this way has to change of its default settings.
    ///
    /// # Errors
    /// When the kernel cannot be built this way, in one sentence.
    pub fn of(&self, manifest: &Manifest, core: &str) -> Result<Switched, String> {
        let name = &manifest.name;
        let own = manifest.profiles.get(&self.profile);
        if own.is_none() && !PROFILES.contains(&self.profile.as_str()) {
            return Err(format!("{name} has no profile {}.", self.profile));
        }
        let mut switched = Settings::new();
        for (id, value) in own.into_iter().flatten() {
            // What a core cannot have, no profile asks of it.
            if manifest.values(id, core).is_ok() {
                switched.insert(id.clone(), value.clone());
            }
        }
        for (id, value) in &self.chosen {
            let values = manifest.values(id, core)?;
            if !values.contains(value) {
                let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                let values = values.join(", ");
                return Err(format!("{name} is built with {id} {values} and not {value}."));
            }
            switched.insert(id.clone(), value.clone());
        }
        // What is as it would be anyhow is no change: such builds share their folder.
        switched.retain(|id, value| manifest.default_of(id) != Some(value));
        Ok(Switched(switched))
    }
}

impl Switched {
    /// The changed settings.
    pub fn settings(&self) -> &Settings {
        &self.0
    }

    /// The value of a setting if it is changed.
    pub fn get(&self, id: &str) -> Option<&Setting> {
        self.0.get(id)
    }

    /// The same where it will run: where there is no timer that the kernel has a driver for, time is
    /// counted by SysTick.
    #[must_use]
    pub fn at(mut self, manifest: &Manifest, target: &Target) -> Self {
        let driven = manifest.time_bases.is_empty() || manifest.driver(target).is_some();
        if !driven && let Some(ticks) = manifest.tick_by_systick() {
            self.0.entry(TICK_HZ.to_owned()).or_insert_with(|| ticks.clone());
        }
        self
    }

    /// The feature that brings the driver of the timer which time is counted by.
    fn driver<'a>(&self, manifest: &'a Manifest, target: &Target) -> Option<&'a str> {
        manifest.driver(target).filter(|_| !self.0.contains_key(TICK_HZ))
    }

    /// What time is counted by, where a kernel has a choice.
    pub(crate) fn time_base(&self, manifest: &Manifest, target: &Target) -> Option<Setting> {
        if manifest.time_bases.is_empty() {
            return None;
        }
        let timer = self.driver(manifest, target).and_then(|_| target.timer());
        Some(Setting::Text(timer.map_or("SysTick", |timer| timer.name.as_str()).to_owned()))
    }

    /// The folder for such builds: `default`, `asserts-off.opt-3`.
    pub fn folder(&self) -> String {
        if self.0.is_empty() {
            return DEFAULT_PROFILE.to_owned();
        }
        let words: Vec<_> = self.0.iter().map(|(id, value)| format!("{id}-{value}")).collect();
        words.join(".")
    }

    /// For makefiles: `ASSERTS=0 OPT=3`.
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

    /// For Cargo: overrides of its release profile, and features such as `tick_hz_100`.
    pub(crate) fn cargo(&self, manifest: &Manifest, target: &Target) -> Vec<String> {
        let mut arguments = Vec::new();
        let text = |key: &str, value: &str| format!("profile.release.{key}={value}");
        for (id, value) in &self.0 {
            let overridden = match (id.as_str(), value) {
                ("opt", level) => match level.to_string().parse::<u8>() {
                    Ok(level) => text("opt-level", &level.to_string()),
                    Err(_) => text("opt-level", &format!("\"{level}\"")),
                },
                ("overflow_checks", Setting::Switch(on)) => {
                    text("overflow-checks", &on.to_string())
                }
                ("debug_assertions", Setting::Switch(on)) => {
                    text("debug-assertions", &on.to_string())
                }
                _ => continue,
            };
            arguments.extend(["--config".to_owned(), overridden]);
        }
        // Features only add up: whoever takes one of them names all.
        let by_feature: BTreeSet<&String> =
            manifest.switches.keys().filter(|id| !NO_FEATURES.contains(&id.as_str())).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Backend;

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
[profiles.lean]
asserts = false
fpu = false
[profiles.own]
tick_hz = 100
[switches]
asserts = [true, false]
opt = ["s", "2", "3"]
tick_hz = [1000, 100]
overflow_checks = [false, true]
fpu = { values = [true, false], cores = ["cortex-m4f"], reason = "No FPU." }
"#,
        )
        .expect("good")
    }

    fn of(text: &str) -> Result<Switched, String> {
        text.parse::<Variant>().expect("a variant").of(&manifest(), CORE)
    }

    #[test]
    fn variants_have_one_name_and_one_folder_each() {
        let variant: Variant = "lean+tick_hz=100+opt=3".parse().expect("good");
        assert_eq!(variant.to_string(), "lean+opt=3+tick_hz=100");
        assert_eq!(
            of("lean+tick_hz=100+opt=3").expect("possible").folder(),
            "asserts-off.opt-3.tick_hz-100"
        );
        // What changes nothing is built where nothing is changed.
        for same in ["default", "safe", "default+opt=s", "default+asserts=on+tick_hz=1000"] {
            assert_eq!(of(same).expect("possible").folder(), "default", "{same}");
        }
        assert_eq!(of("own").expect("possible").words(), "TICK_HZ=100");
    }

    fn stm32c031() -> Target {
        let text = include_str!("../../../socs/stm32c031.toml");
        Target::from(&rtmark_sim::Soc::from_toml(text).expect("good"))
    }

    #[test]
    fn time_is_counted_by_a_timer_where_there_is_a_driver_for_it() {
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
        let told = |time_bases: &str, variant: &str, target: &Target| {
            let manifest = manifest(time_bases);
            let variant: Variant = variant.parse().expect("a variant");
            let switched = variant.of(&manifest, CORE).expect("possible").at(&manifest, target);
            let tick = "timer.tick".parse().expect("good");
            let excuse = manifest.not_applicable(&tick, CORE, &switched, Backend::Sim);
            let base = switched.time_base(&manifest, target).expect("a choice").to_string();
            (base, switched.cargo(&manifest, target).join(" "), excuse.is_some())
        };
        let features = "--no-default-features --features tick_hz_0,drv".to_owned();
        let by_timer = ("TIM3".to_owned(), features, true);
        let by_tick = |hz: &str| {
            let features = format!("--no-default-features --features tick_hz_{hz}");
            ("SysTick".to_owned(), features, false)
        };
        assert_eq!(told("any = 'drv'", "default", &named), by_timer);
        assert_eq!(told("stm32c031 = 'drv'", "default+tick_hz=0", &named), by_timer);
        for target in [&unnamed, &clocked] {
            assert_eq!(told("any = 'drv'", "default", target), by_tick("1000"));
        }
        assert_eq!(told("other = 'drv'", "default", &named), by_tick("1000"));
        assert_eq!(told("any = 'drv'", "default+tick_hz=100", &named), by_tick("100"));
    }

    #[test]
    fn what_cannot_be_chosen_is_told() {
        let reason = |text: &str| of(text).expect_err("impossible");
        assert_eq!(reason("mean"), "K has no profile mean.");
        assert_eq!(reason("default+opt=7"), "K is built with opt s, 2, 3 and not 7.");
        assert_eq!(reason("default+trace=on"), "K has no setting trace to choose.");
        assert_eq!(reason("default+fpu=off"), "No FPU.");
        let refused = |text: &str| text.parse::<Variant>().expect_err("refused").to_string();
        assert!(refused("").contains("is no profile"));
        assert!(refused("lean+speed=9").contains("names no setting"));
        assert!(refused("lean+asserts=3").contains("`on` or `off`"));
        assert!(refused("lean+opt=../x").contains("plain word"));
        assert!(refused("lean+opt").contains("lacks a value"));
    }

    #[test]
    fn cargo_is_told_by_profile_and_features() {
        let manifest = manifest();
        let target = stm32c031();
        let arguments =
            |text: &str| of(text).expect("possible").cargo(&manifest, &target).join(" ");
        assert_eq!(arguments("default+opt=2"), "--config profile.release.opt-level=2");
        assert_eq!(
            arguments("default+overflow_checks=on"),
            "--config profile.release.overflow-checks=true"
        );
        let features = arguments("default+tick_hz=100");
        assert_eq!(features, "--no-default-features --features asserts_on,tick_hz_100");
    }
}
