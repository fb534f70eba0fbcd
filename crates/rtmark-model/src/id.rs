//! Names of kernels and scenarios, and patterns that select them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: {reason}")]
pub struct IdError {
    text: String,
    what: &'static str,
    reason: &'static str,
}

/// The longest name that is accepted, in bytes.
pub const LONGEST_ID: usize = 96;

fn check(text: &str, what: &'static str, extra: &str) -> Result<(), IdError> {
    let refuse = |reason| Err(IdError { text: text.escape_debug().collect(), what, reason });
    if text.is_empty() {
        return refuse("it is empty");
    }
    if text.len() > LONGEST_ID {
        return refuse("it is longer than 96 bytes");
    }
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return refuse("it does not begin with a lower-case letter");
    }
    let known = |c: char| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-') || extra.contains(c)
    };
    if !text.chars().all(known) {
        return refuse(
            "only lower-case letters, digits, `_`, `-` and (in scenarios) `.` and `+` may occur",
        );
    }
    if text.ends_with('.') || text.contains("..") {
        return refuse("a segment between dots is empty");
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $extra:literal, $current:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                check(text, $what, $extra).map(|()| Self($current(text).to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

id! {
    /// The stable name of a kernel: `floor`, `freertos`, `embassy`.
    KernelId, "kernel id", "", current_kernel_name
}

id! {
    /// The stable dotted name of a scenario, the same in every kernel: `semaphore.give.wake+ctx`.
    ScenarioId, "scenario id", ".+", std::convert::identity
}

/// The kernels that were renamed: the former name, and the current one. A former name is never
/// given to another kernel.
const RENAMED_KERNELS: [(&str, &str); 1] = [("evloop", "ring")];

/// Returns the current name of a kernel that may be given by a former one.
///
/// [`KernelId`] applies this to whatever it is made from, so that stored results, baselines and command
/// lines from before a renaming keep working.
///
/// ```
/// let id: rtmark_model::KernelId = "evloop".parse()?;
/// assert_eq!(id.as_str(), "ring");
/// # Ok::<(), rtmark_model::IdError>(())
/// ```
pub fn current_kernel_name(name: &str) -> &str {
    RENAMED_KERNELS.iter().find(|(former, _)| *former == name).map_or(name, |(_, current)| current)
}

impl KernelId {
    /// Returns the name, then the names that the kernel had before.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let former = RENAMED_KERNELS.iter().filter(|(_, current)| *current == self.0);
        std::iter::once(self.as_str()).chain(former.map(|(former, _)| *former))
    }

    /// Tells whether a pattern matches the name, or one that the kernel had before.
    pub fn matches(&self, pattern: &Pattern) -> bool {
        self.names().any(|name| pattern.matches(name))
    }
}

impl ScenarioId {
    /// Returns the first segment: scenarios of one group share a firmware image.
    ///
    /// ```
    /// let id: rtmark_model::ScenarioId = "semaphore.give.wake+ctx".parse()?;
    /// assert_eq!(id.group(), "semaphore");
    /// # Ok::<(), rtmark_model::IdError>(())
    /// ```
    pub fn group(&self) -> &str {
        self.0.split('.').next().unwrap_or(&self.0)
    }

    /// Returns the curve and the position on it, if the last segment is a number: a measurement against
    /// a count has one scenario for each.
    ///
    /// ```
    /// let id: rtmark_model::ScenarioId = "growth.tick.delayed.16".parse()?;
    /// let (curve, n) = id.point().expect("a point of a curve");
    /// assert_eq!((curve.as_str(), n), ("growth.tick.delayed", 16));
    /// # Ok::<(), rtmark_model::IdError>(())
    /// ```
    pub fn point(&self) -> Option<(Self, u32)> {
        let (curve, n) = self.0.rsplit_once('.')?;
        // Without leading zeros, so that each position has only one name.
        let plain = n.starts_with(|c: char| ('1'..='9').contains(&c));
        Some((curve.parse().ok()?, n.parse().ok().filter(|_| plain)?))
    }

    /// Returns the scenario at position `n` of the curve with this name.
    ///
    /// # Errors
    /// When the name becomes too long.
    pub fn at(&self, n: u32) -> Result<Self, IdError> {
        format!("{self}.{n}").parse()
    }
}

/// A name, or a pattern of names: `*` stands for any text, `?` for any character,
/// `{a,b}` for either, `[0-9]` for one of a set.
///
/// ```
/// let timers: rtmark_model::Pattern = "timer.*".parse()?;
/// assert!(timers.matches("timer.delay.1000ms"));
/// assert!(!timers.matches("thread.yield"));
/// # Ok::<(), rtmark_model::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: globset::GlobMatcher,
}

/// A pattern that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pattern: {reason}")]
pub struct PatternError {
    text: String,
    reason: String,
}

impl Pattern {
    /// Tells whether a name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = PatternError;
    fn from_str(text: &str) -> Result<Self, PatternError> {
        match globset::Glob::new(text) {
            Ok(glob) => Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() }),
            Err(error) => Err(PatternError {
                text: text.escape_debug().collect(),
                reason: error.kind().to_string(),
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["thread.yield", "semaphore.give.wake+ctx", "timer.delay.1000ms"] {
            assert_eq!(good.parse::<ScenarioId>().expect("a name").as_str(), good);
        }
        for bad in
            ["", ".", "a.", "a..b", "A.b", "1a", "a b", "a/b", "a\u{1b}[2J", "thread.yield\n"]
        {
            bad.parse::<ScenarioId>().expect_err(bad);
        }
        let longest = "a".repeat(LONGEST_ID);
        assert_eq!(longest.parse::<ScenarioId>().expect("a name").as_str(), longest);
        format!("{longest}a").parse::<ScenarioId>().expect_err("one byte too long");
        "free.rtos".parse::<KernelId>().expect_err("kernels have no dots");
        let error = "\u{1b}[2Jx".parse::<KernelId>().expect_err("refused").to_string();
        assert!(!error.contains('\u{1b}'), "escape sequences never reach a message");
    }

    #[test]
    fn a_former_name_is_the_current_one_wherever_it_is_read() {
        let parsed: KernelId = "evloop".parse().expect("a name");
        let stored: KernelId = serde_json::from_str("\"evloop\"").expect("a name");
        let current: KernelId = "ring".parse().expect("a name");
        assert_eq!([&parsed, &stored], [&current, &current]);
        assert_eq!(serde_json::to_string(&stored).expect("text"), "\"ring\"");
        assert_eq!(current.names().collect::<Vec<_>>(), ["ring", "evloop"]);

        let fits = |pattern: &str| current.matches(&pattern.parse().expect("a pattern"));
        assert!(fits("ring") && fits("evloop") && fits("ev*") && !fits("evloop-pool"));
        let other: KernelId = "evloop-pool".parse().expect("a name");
        assert_eq!(other.names().collect::<Vec<_>>(), ["evloop-pool"]);
        assert!(!other.matches(&"evloop".parse().expect("a pattern")));
    }

    #[test]
    fn patterns_match_whole_names() {
        let matches = |pattern: &str, name| pattern.parse::<Pattern>().expect("good").matches(name);
        assert!(matches("thread.yield", "thread.yield"));
        assert!(!matches("thread", "thread.yield"));
        assert!(matches("*.wake+ctx", "semaphore.give.wake+ctx"));
        assert!(matches("{isr,timer}.*", "timer.tick"));
        "[".parse::<Pattern>().expect_err("unclosed");
    }
}
