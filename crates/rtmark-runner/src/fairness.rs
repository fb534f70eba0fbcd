//! Finds the settings in which two firmwares differ, and what each single setting changes, by carrying
//! out the same plan again with one setting switched.

use std::fmt;
use std::str::FromStr;

use rtmark_firmware::{Kernel, SettingChanges, Variant, VariantError};
use rtmark_model::{
    AbsentValue, Answer, Catalogue, Effect, IdError, KernelId, Scenario, ScenarioId, Setting,
    Settings, Unequal, differences, setting_info,
};

use crate::plan::{Plan, Unit};
use crate::platform::Platform;

/// A kernel built in a certain way: `freertos`, `freertos:checked`, `embassy:product+lto=off`.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The kernel.
    pub kernel: KernelId,
    /// The build variant.
    pub variant: Variant,
}

/// A text that does not name a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Its first part is not a valid kernel name.
    #[error(transparent)]
    Kernel(#[from] IdError),
    /// Its second part is not a valid variant.
    #[error(transparent)]
    Variant(#[from] VariantError),
}

impl FromStr for Subject {
    type Err = SubjectError;
    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let (kernel, variant) = match text.split_once(':') {
            Some((kernel, variant)) => (kernel, variant.parse()?),
            None => (text, Variant::default()),
        };
        Ok(Self { kernel: kernel.parse()?, variant })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kernel, self.variant)
    }
}

/// A subject with a different value for one setting.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The index of the subject.
    pub subject: usize,
    /// The setting.
    pub setting: String,
    /// The other value.
    pub value: Setting,
    /// The firmware built that way.
    pub unit: Unit,
    /// What that firmware is compared with, if it is not the subject itself.
    pub base: Option<Base>,
}

/// What a trial is compared with if its value requires further settings to differ from the subject's.
#[derive(Clone, Debug)]
pub struct Base {
    /// These settings.
    pub with: Settings,
    /// The subject's firmware built with them.
    pub unit: Unit,
}

/// Returns the firmware that carrying out these trials takes.
pub fn firmware(trials: &[Trial]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for trial in trials {
        for unit in [Some(&trial.unit), trial.base.as_ref().map(|base| &base.unit)] {
            let Some(unit) = unit else { continue };
            let known = |other: &Unit| {
                other.kernel.manifest.id == unit.kernel.manifest.id && other.variant == unit.variant
            };
            if !units.iter().any(known) {
                units.push(unit.clone());
            }
        }
    }
    units
}

/// Plans the subjects' firmware with these scenarios of a catalogue.
pub fn plan(
    catalogue: &Catalogue,
    subjects: &[(&Kernel, &Subject)],
    platform: &Platform,
    scenarios: &[&Scenario],
) -> Plan {
    let unit = |(kernel, subject): &(&Kernel, &Subject)| {
        Unit::new(kernel, platform, &subject.variant, scenarios.iter().copied())
    };
    Plan::of_units(subjects.iter().map(unit).collect(), catalogue)
}

/// Returns the settings that a subject was built with, as found in its answers.
pub fn settings<'a>(answers: &'a [Answer], unit: &Unit) -> Option<&'a Settings> {
    let series = of(answers, unit).find_map(Answer::series)?;
    Some(&series.provenance.settings)
}

fn of<'a>(answers: &'a [Answer], unit: &Unit) -> impl Iterator<Item = &'a Answer> {
    let id = unit.kernel.manifest.id.clone();
    let variant = unit.variant.to_string();
    answers.iter().filter(move |answer| {
        let key = answer.key();
        key.kernel == id && key.profile == variant
    })
}

/// Returns the settings that differ, the most relevant first.
pub fn unequal(first: &Settings, second: &Settings) -> Vec<Unequal> {
    let mut list: Vec<_> = differences(first, second).iter().map(Unequal::from).collect();
    list.sort_by_key(|unequal| unequal.kind);
    list
}

/// Lists what has to be built to see what each setting changes: of two subjects, each one with the
/// other's value; of a single subject, every value that its kernel offers.
pub fn trials(units: &[Unit], found: &[&Settings]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (subject, (unit, own)) in units.iter().zip(found).enumerate() {
        let manifest = &unit.kernel.manifest;
        let core = unit.platform.core();
        let other = found.iter().enumerate().find(|(at, _)| *at != subject).map(|(_, other)| other);
        for id in manifest.switches.keys() {
            let Ok(values) = manifest.values(id, core) else { continue };
            let has = own.get(id).map(plain);
            let wanted = other.map(|other| {
                let default = || setting_info(id)?.absent_value.map(AbsentValue::value);
                other.get(id).map(plain).or_else(default)
            });
            let differs = |value: &&Setting| match &wanted {
                None => Some(*value) != has.as_ref(),
                Some(wanted) => Some(*value) == wanted.as_ref() && wanted != &has,
            };
            for value in values.iter().filter(differs) {
                let (variant, with) = switched(unit, id, value);
                let built = |variant: &Variant| {
                    let scenarios = unit.scenarios.iter().map(|(scenario, _)| scenario);
                    Unit::new(&unit.kernel, &unit.platform, variant, scenarios)
                };
                let base = (!with.is_empty()).then(|| {
                    let changed = with.iter().fold(unit.variant.clone(), |variant, (id, value)| {
                        variant.with(id, value.clone())
                    });
                    Base { unit: built(&changed), with }
                });
                let (setting, value, unit) = (id.clone(), value.clone(), built(&variant));
                trials.push(Trial { subject, setting, value, unit, base });
            }
        }
    }
    trials
}

/// Returns a unit's variant with another value of a setting, and the further settings that differ with it,
/// because they cannot remain as they are.
fn switched(unit: &Unit, id: &str, value: &Setting) -> (Variant, Settings) {
    let (manifest, core) = (&unit.kernel.manifest, unit.platform.core());
    let variant = unit.variant.clone().with(id, value.clone());
    let (Ok(before), Ok(after)) = (unit.variant.of(manifest, core), variant.of(manifest, core))
    else {
        return (variant, Settings::new());
    };
    let of = |changes: &SettingChanges, id: &str| {
        changes.get(id).or_else(|| manifest.default_of(id)).cloned()
    };
    let others = manifest.switches.keys().filter(|other| *other != id);
    let others: Vec<&String> =
        others.filter(|other| of(&before, other) != of(&after, other)).collect();
    let values = |changes: &SettingChanges| -> Settings {
        let value = |id: &&String| Some(((*id).clone(), of(changes, id)?));
        others.iter().filter_map(value).collect()
    };
    let kept = values(&before)
        .into_iter()
        .fold(variant.clone(), |variant, (id, value)| variant.with(&id, value));
    if kept.of(manifest, core).is_ok() {
        return (kept, Settings::new());
    }
    (variant, values(&after))
}

/// Returns a value in the form that `kernel.toml` offers: a compiler without its version, an
/// optimisation level without the exceptions of single source files.
fn plain(value: &Setting) -> Setting {
    match value {
        Setting::Text(text) => {
            let word = text.split([' ', ',']).next().unwrap_or_default();
            Setting::Text(word.to_owned())
        }
        other => other.clone(),
    }
}

/// Returns what the trials changed, as far as there are answers to compare.
pub fn effects(
    units: &[Unit],
    before: &[Answer],
    trials: &[Trial],
    after: &[Answer],
) -> Vec<Effect> {
    let mut effects = Vec::new();
    for trial in trials {
        let Some(unit) = units.get(trial.subject) else { continue };
        for (scenario, _) in &unit.scenarios {
            let id = &scenario.id;
            let before = match &trial.base {
                None => typical(before, unit, id),
                Some(base) => typical(after, &base.unit, id),
            };
            let Some(Ok((before, layouts_before))) = before else { continue };
            let (after, problem, layouts_after) = match typical(after, &trial.unit, id) {
                Some(Ok((after, layouts))) => (Some(after), None, layouts),
                Some(Err(problem)) => (None, Some(problem), layouts_before),
                None => continue,
            };
            let layouts = (layouts_before, layouts_after);
            effects.push(Effect {
                subject: format!("{}:{}", unit.kernel.manifest.id, unit.variant),
                setting: trial.setting.clone(),
                value: trial.value.clone(),
                scenario: id.to_string(),
                both_with: trial.base.as_ref().map(|base| base.with.clone()).unwrap_or_default(),
                before,
                after,
                problem,
                layouts: (layouts.0 != layouts.1).then_some(layouts),
            });
        }
    }
    effects
}

/// Returns a unit's typical sample, and in how many layouts it was measured.
fn typical(
    answers: &[Answer],
    unit: &Unit,
    scenario: &ScenarioId,
) -> Option<Result<(u64, u32), String>> {
    let answer = of(answers, unit).find(|answer| answer.key().scenario == *scenario)?;
    match answer {
        Answer::Measured(series) => {
            let layouts = u32::try_from(series.placements.len()).unwrap_or(u32::MAX).max(1);
            Some(Ok((series.statistics()?.typical(), layouts)))
        }
        Answer::NotApplicable { reason, .. } => Some(Err(reason.clone())),
        Answer::Failed { failure, .. } => {
            let telling = |line: &&str| line.contains("overflowed by") || line.contains("error");
            let line = failure.message.lines().find(telling);
            Some(Err(line.or(failure.message.lines().next()).unwrap_or_default().trim().to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socs;
    use rtmark_firmware::Manifest;
    use rtmark_model::{Catalogue, UnequalKind};
    use serde_json::json;

    fn kernel(id: &str, switches: &str) -> Kernel {
        let text = format!(
            "id = '{id}'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
             language = 'C'\nbuild = 'make'\nimages = ['thread']\ncores = ['cortex-m0plus']\n\
             [switches]\n{switches}"
        );
        Kernel {
            folder: "x".into(),
            manifest: Manifest::from_toml(&text).expect("good"),
            own: false,
        }
    }

    fn text(value: &str) -> Setting {
        Setting::Text(value.into())
    }

    /// clang comes without link-time optimisation: its trial is compared with GCC without that.
    #[test]
    fn one_setting_at_a_time_is_compared() {
        let soc = Platform::from(socs::find("stm32c031").expect("built in"));
        let catalogue = Catalogue::builtin().expect("good");
        let scenarios: Vec<_> = catalogue.scenarios().iter().take(1).collect();
        let kernel = kernel("one", "compiler = ['gcc', 'clang']\nlto = [false, true]");
        let units = |subject: &str| {
            let subject: Subject = subject.parse().expect("good");
            plan(&catalogue, &[(&kernel, &subject)], &soc, &scenarios).units
        };
        let tried = |units: &[Unit], lto: bool, compiler: &str| {
            let settings: Settings = [("lto", Setting::Switch(lto)), ("compiler", text(compiler))]
                .map(|(id, value)| (id.to_owned(), value))
                .into();
            trials(units, &[&settings])
        };
        let product = units("one:product");
        let found = tried(&product, true, "gcc 12.2.1");
        let [clang, no_lto] = found.as_slice() else { panic!("two: {found:?}") };
        assert_eq!(clang.unit.variant.to_string(), "product+compiler=clang");
        let base = clang.base.as_ref().expect("not the subject");
        assert_eq!(base.unit.variant.to_string(), "product+lto=off");
        assert_eq!(base.with, [("lto".to_owned(), Setting::Switch(false))].into());
        assert!(no_lto.base.is_none(), "one setting: {no_lto:?}");
        // Both are built, the second of them only once.
        let built: Vec<_> = firmware(&found).iter().map(|unit| unit.variant.to_string()).collect();
        assert_eq!(built, ["product+compiler=clang", "product+lto=off"]);
        // The other way, link-time optimisation stays off.
        let found = tried(&units("one:product+compiler=clang"), false, "clang 14.0.6");
        let gcc = found.iter().find(|trial| trial.setting == "compiler").expect("tried");
        assert_eq!(gcc.unit.variant.to_string(), "product+compiler=gcc+lto=off");
        assert!(gcc.base.is_none());
        let lto = found.iter().find(|trial| trial.setting == "lto").expect("tried");
        assert!(lto.unit.variant.of(&kernel.manifest, "cortex-m0plus").is_err(), "not possible");

        // The figures are those of the pair.
        let figures = |unit: &Unit, samples: u64, layouts: u32| {
            let placed = |layout| json!({"layout": layout, "elf_sha256": "", "samples": [{"value": samples}]});
            let series = json!({
                "key": {"soc": "stm32c031", "kernel": "one", "version": "1", "backend": "sim",
                        "profile": unit.variant.to_string(), "scenario": scenarios[0].id},
                "basis": "cycles",
                "span": {"from": "x", "to": "y", "switches": 1, "overhead": "none",
                         "ticks": 0, "interrupts": 0},
                "clock": 48_000_000,
                "readings": {"exact": [{"value": samples, "times": 3}]},
                "placements": (0..layouts).filter(|_| layouts > 1).map(placed).collect::<Vec<_>>(),
                "provenance": {"rtmark": "0", "soc_sha256": "", "core": "c", "settings": {}},
            });
            Answer::Measured(serde_json::from_value(series).expect("a series"))
        };
        let before = [figures(&product[0], 100, 9)];
        let after = [figures(&clang.unit, 130, 1), figures(&base.unit, 120, 9)];
        let found = tried(&product, true, "gcc 12.2.1");
        let effects = effects(&product, &before, &found, &after);
        let of = |at: usize| (effects[at].before, effects[at].after, effects[at].layouts);
        assert_eq!(of(0), (120, Some(130), Some((9, 1))));
        assert_eq!(of(1), (100, Some(120), None));
        assert!(effects[0].both_with == base.with && effects[1].both_with.is_empty());
    }

    #[test]
    fn each_subject_is_tried_with_the_other_subjects_value() {
        let soc = Platform::from(socs::find("stm32c031").expect("built in"));
        let catalogue = Catalogue::builtin().expect("good");
        let scenarios: Vec<_> = catalogue.scenarios().iter().take(1).collect();
        let one = kernel(
            "one",
            "asserts = [true, false]\nopt = ['2', '3', 's']\n\
                                 trace = [false, true]\ncompiler = ['gcc', 'clang']",
        );
        let two = kernel("two", "opt = ['s', '3']");
        let subjects: Vec<Subject> =
            ["one", "two:checked"].iter().map(|text| text.parse().expect("good")).collect();
        let pairs = [(&one, &subjects[0]), (&two, &subjects[1])];
        let units = plan(&catalogue, &pairs, &soc, &scenarios).units;
        let first: Settings = [
            ("opt", text("2, 3 in workload.c")),
            ("asserts", Setting::Switch(true)),
            ("trace", Setting::Switch(false)),
            ("compiler", text("gcc 12.2.1")),
        ]
        .map(|(id, value)| (id.to_owned(), value))
        .into();
        let second: Settings = [("opt", text("s")), ("compiler", text("rustc 1.95.0"))]
            .map(|(id, value)| (id.to_owned(), value))
            .into();
        let names = |trials: &[Trial]| -> Vec<String> {
            let name = |t: &Trial| format!("{}+{}={}", t.subject, t.setting, t.value);
            trials.iter().map(name).collect()
        };
        // The second kernel does not offer level 2, nor the other kernel's compiler.
        let trials_of_two = trials(&units, &[&first, &second]);
        assert_eq!(names(&trials_of_two), ["0+asserts=off", "0+opt=s"]);
        assert_eq!(trials_of_two[0].unit.variant.to_string(), "product+asserts=off");
        assert_eq!(
            names(&trials(&units[..1], &[&first])),
            ["0+asserts=off", "0+compiler=clang", "0+opt=3", "0+opt=s", "0+trace=on"]
        );
        let kinds: Vec<_> =
            unequal(&first, &second).into_iter().map(|u| (u.setting, u.kind)).collect();
        let matters = UnequalKind::Matters;
        assert_eq!(kinds, ["opt", "compiler", "asserts"].map(|id| (id.to_owned(), matters)));
        "One".parse::<Subject>().expect_err("no name");
        "one:product+opt".parse::<Subject>().expect_err("no value");
    }
}
