//! Decides whether two series may be compared at all.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rtmark_model::{Readings, Series, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An aspect in which two series must be alike.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// The events between which they were timed.
    Span,
    /// What is counted.
    Basis,
    /// Exact, sampled, or a summary.
    Readings,
    /// The flags of one of them.
    Flags,
    /// Whether there is a figure at all.
    Answer,
    /// The core's clock.
    Clock,
    /// The core.
    Core,
    /// The description of the soc.
    Soc,
    /// The version of the simulator's timing model.
    TimingModel,
    /// In how many layouts the code was measured: the figure is that of the middle one.
    Placements,
    /// A setting of the kernel that matters.
    Settings,
}

impl Aspect {
    /// The aspects across which a caller may choose to compare.
    pub const CROSSABLE: [Self; 6] =
        [Self::Clock, Self::Core, Self::Soc, Self::TimingModel, Self::Placements, Self::Settings];

    /// Returns the word used in tables, files and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Basis => "basis",
            Self::Readings => "readings",
            Self::Flags => "flags",
            Self::Answer => "answer",
            Self::Clock => "clock",
            Self::Core => "core",
            Self::Soc => "soc",
            Self::TimingModel => "timing-model",
            Self::Placements => "placements",
            Self::Settings => "settings",
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Aspect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::CROSSABLE.into_iter().find(|aspect| aspect.name() == text);
        found.ok_or_else(|| {
            let names = Self::CROSSABLE.map(Self::name).join(", ");
            format!("nothing can be compared across `{text}`, only across {names}")
        })
    }
}

/// A difference between two series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The aspect.
    pub aspect: Aspect,
    /// The part of it, if it has several: `to`, `tick_hz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// The earlier value.
    pub before: String,
    /// The later value.
    pub after: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.aspect)?;
        if let Some(what) = &self.what {
            write!(f, " {what}")?;
        }
        write!(f, ": {} before, {} after", self.before, self.after)
    }
}

const UNSTATED: &str = "not stated";

/// Returns all relevant differences between two series, starting with those that always prevent a
/// comparison.
pub(crate) fn differences(before: &Series, after: &Series) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |aspect, what: Option<&str>, before: String, after: String| {
        if before != after {
            found.push(Difference { aspect, what: what.map(str::to_owned), before, after });
        }
    };
    // Every field of a span counts: one that is added has to be compared as well.
    let Span { from, to, counted, switches, overhead, ticks, interrupts } = &before.span;
    let is = &after.span;
    let mut span = |what, before: &dyn fmt::Display, after: &dyn fmt::Display| {
        add(Aspect::Span, Some(what), before.to_string(), after.to_string());
    };
    span("from", from, &is.from);
    span("to", to, &is.to);
    span("counted", counted, &is.counted);
    span("switches", switches, &is.switches);
    span("overhead", overhead, &is.overhead);
    span("ticks", ticks, &is.ticks);
    span("interrupts", interrupts, &is.interrupts);
    add(Aspect::Basis, None, before.basis.to_string(), after.basis.to_string());
    let kind = |series: &Series| match series.readings {
        Readings::Exact(_) => "exact".to_owned(),
        Readings::Sampled(_) => "sampled".to_owned(),
        Readings::Summarised(_) => "a summary".to_owned(),
    };
    add(Aspect::Readings, None, kind(before), kind(after));
    let flags = |series: &Series| {
        let flags: Vec<_> = series.flags.iter().map(|flag| flag.kind.name()).collect();
        if flags.is_empty() { "none".to_owned() } else { flags.join(", ") }
    };
    add(Aspect::Flags, None, flags(before), flags(after));
    let clock = |series: &Series| match series.clock.0 {
        0 => UNSTATED.to_owned(),
        _ => series.clock.to_string(),
    };
    add(Aspect::Clock, None, clock(before), clock(after));
    let (was, is) = (&before.provenance, &after.provenance);
    add(Aspect::Core, None, was.core.clone(), is.core.clone());
    let digest = |text: &str| match text.get(..12) {
        Some(begin) => format!("file {begin}"),
        None => UNSTATED.to_owned(),
    };
    add(Aspect::Soc, None, digest(&was.soc_sha256), digest(&is.soc_sha256));
    let model = |model: &Option<String>| model.clone().unwrap_or_else(|| UNSTATED.to_owned());
    add(Aspect::TimingModel, None, model(&was.timing_model), model(&is.timing_model));
    let layouts = |series: &Series| series.placements.len().max(1).to_string();
    add(Aspect::Placements, None, layouts(before), layouts(after));
    let names: BTreeSet<_> = was.settings.keys().chain(is.settings.keys()).collect();
    for name in names {
        let value = |settings: &std::collections::BTreeMap<String, rtmark_model::Setting>| {
            settings.get(name).map_or_else(|| UNSTATED.to_owned(), ToString::to_string)
        };
        add(Aspect::Settings, Some(name), value(&was.settings), value(&is.settings));
    }
    found
}

impl Difference {
    /// Tells whether it prevents a comparison. A setting that only one side states does not, as it may
    /// have been recorded later or no longer; it is shown.
    pub(crate) fn prevents_comparison(&self, across: &[Aspect]) -> bool {
        let unstated = self.before == UNSTATED || self.after == UNSTATED;
        let written_down = self.aspect == Aspect::Settings && unstated;
        !written_down && !across.contains(&self.aspect)
    }
}
