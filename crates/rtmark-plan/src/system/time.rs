//! Times in a system file: cycles, or a number with a unit.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A time as written: `1200` and `"1200 cycles"` are cycles of the soc's own clock, `"120us"` is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Cycles of the soc's own clock.
    Cycles(u64),
    /// Picoseconds.
    Picoseconds(u64),
}

/// How a time that is no whole number of cycles is rounded. A bound stays one only if demand is rounded up, and
/// distances and deadlines are rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Work, critical sections, jitter.
    Up,
    /// Periods, distances, deadlines.
    Down,
    /// What kernels program themselves, such as the tick, and what no bound depends on.
    Nearest,
}

impl Time {
    /// Converts to cycles of a clock of `hertz`, of which stated cycles are.
    pub fn cycles(self, hertz: u64, rounding: Rounding) -> u64 {
        self.cycles_at(hertz, hertz, rounding)
    }

    /// Converts to cycles of a slower `clock` than the soc's `own`, both in Hz. It remains the same time: stated
    /// cycles are those of the soc's own clock.
    pub fn cycles_at(self, clock: u64, own: u64, rounding: Rounding) -> u64 {
        const SECOND: u64 = 1_000_000_000_000;
        let (time, second) = match self {
            Self::Cycles(cycles) => (cycles, own.max(1)),
            Self::Picoseconds(time) => (time, SECOND),
        };
        let (product, second) = (u128::from(time) * u128::from(clock), u128::from(second));
        let cycles = match rounding {
            Rounding::Up => product.div_ceil(second),
            Rounding::Down => product / second,
            Rounding::Nearest => (product + second / 2) / second,
        };
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Parses a time.
    ///
    /// # Errors
    /// With the expected form.
    pub fn read(text: &str) -> Result<Self, String> {
        let wanted = || {
            let text = text.escape_debug();
            format!(
                "`{text}` is not a time: write cycles as 1200, or a time as \"120us\" or \"1.5ms\""
            )
        };
        let cycles = ["cycles", "cycle"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        if let Some(number) = cycles {
            return number.trim().replace('_', "").parse().map(Self::Cycles).map_err(|_| wanted());
        }
        let time = rtmark_units::picoseconds(text).and_then(|time| u64::try_from(time).ok());
        time.map(Self::Picoseconds).ok_or_else(wanted)
    }
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cycles as 1200, or a time as \"120us\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Time, E> {
        u64::try_from(value).map(Time::Cycles).map_err(|_| E::custom("a time cannot be negative"))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Time, E> {
        Ok(Time::Cycles(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Time, E> {
        Time::read(value).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeVisitor)
    }
}

fn time_schema() -> Schema {
    json_schema!({
        "description": "Cycles, or a time with its unit",
        "oneOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^ *[0-9_]+(\\.[0-9_]+)? *(ns|us|\u{b5}s|ms|s|cycles?) *$" },
        ],
    })
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        time_schema()
    }
}

/// What a job executes: a stated time, a function of the user's own ELF file, or a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A stated time.
    Time(Time),
    /// The longest call of a function in a run of its firmware.
    Function(Function),
    /// The largest sample of one of this kernel's scenarios.
    Scenario(String),
}

/// A function of firmware that runs on the soc.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// The ELF file, relative to the folder of the system's file.
    pub elf: String,
    /// The function's name in that file.
    pub function: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Measured {
    elf: Option<String>,
    function: Option<String>,
    scenario: Option<String>,
}

struct WorkVisitor;

impl<'de> Visitor<'de> for WorkVisitor {
    type Value = Work;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time, { elf = \"...\", function = \"...\" } or { scenario = \"...\" }")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Work, E> {
        TimeVisitor.visit_i64(value).map(Work::Time)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Work, E> {
        TimeVisitor.visit_str(value).map(Work::Time)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Work, A::Error> {
        let measured = Measured::deserialize(de::value::MapAccessDeserializer::new(map))?;
        match measured {
            Measured { elf: Some(elf), function: Some(function), scenario: None } => {
                Ok(Work::Function(Function { elf, function }))
            }
            Measured { elf: None, function: None, scenario: Some(scenario) } => {
                Ok(Work::Scenario(scenario))
            }
            _ => Err(de::Error::custom("expected either `elf` and `function`, or `scenario`")),
        }
    }
}

impl<'de> Deserialize<'de> for Work {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WorkVisitor)
    }
}

impl JsonSchema for Work {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Work".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Time>();
        let function = generator.subschema_for::<Function>();
        json_schema!({
            "description": "What a job executes: a time, a function of a firmware of your own, or a scenario",
            "anyOf": [
                time,
                function,
                {
                    "type": "object",
                    "properties": { "scenario": { "type": "string" } },
                    "required": ["scenario"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
