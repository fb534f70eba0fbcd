//! What makes a comparison unfair: the settings in which two firmwares differ, and what each of them
//! was measured to change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Difference, Setting, Settings, Weight};

/// The version of [`Fairness`]'s schema; see [`crate::SCHEMA_VERSION`] for when it is incremented.
pub const FAIRNESS_VERSION: u32 = 1;

/// The differences between one or two ways of building, and what single settings change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// The version of this schema.
    pub schema_version: u32,
    /// The program that wrote it, with its version.
    pub generator: String,
    /// The soc.
    pub soc: String,
    /// What is compared: one kernel in one variant, or two.
    pub subjects: Vec<String>,
    /// The settings that differ; none if there is only one subject.
    pub differences: Vec<Unequal>,
    /// What single settings change, if it was measured.
    pub effects: Vec<Effect>,
}

/// A setting that differs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unequal {
    /// Its name.
    pub setting: String,
    /// What it means, if it has a meaning beyond one kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// The first subject's value, unless it has no such setting.
    pub first: Option<Setting>,
    /// The second subject's value, unless it has no such setting.
    pub second: Option<Setting>,
    /// The kind of difference.
    pub kind: UnequalKind,
    /// How it changes figures, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The kind of a difference in a setting.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum UnequalKind {
    /// Somebody chose it, and it is known to change figures.
    Matters,
    /// It is known to change figures, but comes with the kernel or its language.
    Inherent,
    /// It is not known to change figures.
    #[serde(rename = "told")]
    Informational,
}

/// The effect of one setting on one scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The subject that was built with another value.
    pub subject: String,
    /// The setting.
    pub setting: String,
    /// The other value.
    pub value: Setting,
    /// The scenario.
    pub scenario: String,
    /// Further settings of both builds, in which the subject itself differs: the other value is only possible
    /// with them, and one setting at a time is compared.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub both_with: Settings,
    /// The typical sample before, in cycles.
    pub before: u64,
    /// The typical sample with the other value, in cycles; none if it could not be measured.
    pub after: Option<u64>,
    /// The reason why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// In how many layouts of its code each build was measured, before and after, if these numbers differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<(u32, u32)>,
}

impl From<&Difference<'_>> for Unequal {
    fn from(difference: &Difference<'_>) -> Self {
        let weight = difference.info.map(|info| info.weight);
        let (kind, why) = match weight {
            Some(Weight::Matters(why)) => (UnequalKind::Matters, Some(why.to_owned())),
            Some(Weight::Inherent(why)) => (UnequalKind::Inherent, Some(why.to_owned())),
            Some(Weight::Informational) | None => (UnequalKind::Informational, None),
        };
        Self {
            setting: difference.id.to_owned(),
            meaning: difference.info.map(|info| info.meaning.to_owned()),
            first: difference.first.cloned(),
            second: difference.second.cloned(),
            kind,
            why,
        }
    }
}

impl Fairness {
    /// Returns the JSON schema of this document.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Fairness)
    }
}
