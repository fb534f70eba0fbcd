//! Spans: the events between which something is timed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::samples::Disturbance;

/// The section of an image in which its probes record the spans.
pub const PROBES_SECTION: &str = ".rtmark";

/// The symbol of the word that selects the scenario. Only images that rtmark builds have it.
pub const SELECT_SYMBOL: &str = "rtmark_select";

/// The events between which a scenario is timed. Two figures are comparable only if their spans are
/// equal; a name is not a span.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The event with which it begins.
    pub from: String,
    /// The event with which it ends.
    pub to: String,
    /// Which of its cycles count.
    #[serde(default, skip_serializing_if = "Counted::is_all")]
    pub counted: Counted,
    /// The number of context switches inside.
    pub switches: u32,
    /// How the cost of measuring is treated.
    pub overhead: Overhead,
    /// The number of SysTick handlers that belong inside.
    pub ticks: Expected,
    /// The number of external interrupt handlers that belong inside.
    pub interrupts: Expected,
}

impl Span {
    /// Returns what disturbed a sample beyond what belongs to the span, given the handlers entered
    /// while it ran.
    pub fn disturbance(&self, ticks: u64, interrupts: u64) -> Disturbance {
        Disturbance {
            tick: self.ticks.exceeded_by(ticks),
            interrupt: self.interrupts.exceeded_by(interrupts),
        }
    }
}

/// Which of a span's cycles count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Every cycle from its begin to its end.
    #[default]
    All,
    /// The cycles in which the core was not asleep. Only the simulator can observe that.
    Awake,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::All => "all",
            Self::Awake => "awake",
        })
    }
}

impl Counted {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

/// How the cost of measuring is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overhead {
    /// There is none: probes are addresses that the simulator watches.
    None,
    /// The cost of reading the clock was measured and subtracted from each sample.
    Subtracted,
    /// The cost of reading the clock is part of each sample.
    Included,
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Subtracted => "subtracted",
            Self::Included => "included",
        })
    }
}

/// The number of handlers of a kind that belong inside a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// Exactly this many; each additional one is a disturbance.
    Exactly(u32),
    /// Any number: the span is long, or the kernel works through them.
    Any,
}

impl Expected {
    /// Tells whether there were more than belong.
    pub fn exceeded_by(self, seen: u64) -> bool {
        match self {
            Self::Exactly(count) => seen > u64::from(count),
            Self::Any => false,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "{count}"),
            Self::Any => f.write_str("any"),
        }
    }
}

// Written as a number or as the word `any`, in TOML and in JSON alike.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number or \"any\"")]
enum ExpectedForm {
    Count(u32),
    Word(Word),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    Any,
}

impl Serialize for Expected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exactly(count) => ExpectedForm::Count(*count),
            Self::Any => ExpectedForm::Word(Word::Any),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match ExpectedForm::deserialize(deserializer)? {
            ExpectedForm::Count(count) => Self::Exactly(count),
            ExpectedForm::Word(Word::Any) => Self::Any,
        })
    }
}

impl JsonSchema for Expected {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expected".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = ExpectedForm::json_schema(generator);
        schema.insert("description".into(), "This many, or any number.".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(ticks: Expected, interrupts: Expected) -> Span {
        Span {
            from: "give".to_owned(),
            to: "taken".to_owned(),
            counted: Counted::Awake,
            switches: 1,
            overhead: Overhead::None,
            ticks,
            interrupts,
        }
    }

    #[test]
    fn handlers_beyond_those_that_belong_inside_disturb() {
        let disturbed = |span: &Span, ticks, interrupts| {
            let Disturbance { tick, interrupt } = span.disturbance(ticks, interrupts);
            (tick, interrupt)
        };
        let one = span(Expected::Exactly(0), Expected::Exactly(2));
        assert_eq!(disturbed(&one, 0, 2), (false, false));
        assert_eq!((disturbed(&one, 1, 1), disturbed(&one, 0, 3)), ((true, false), (false, true)));
        let any = span(Expected::Any, Expected::Exactly(0));
        assert_eq!(disturbed(&any, 9, 1), (false, true));
    }

    #[test]
    fn files_keep_which_cycles_count() {
        let awake = span(Expected::Any, Expected::Exactly(2));
        let json = serde_json::to_string(&awake).expect("it has a form");
        assert_eq!(serde_json::from_str::<Span>(&json).expect("its own form"), awake);
    }
}
