//! Regular expressions for lines, compiled once.

use std::borrow::Cow;

use regex::{Captures, Regex};

use crate::row::Number;

/// The form of a line.
#[derive(Debug)]
pub struct Form(Option<Regex>);

/// A line that fits a form.
#[derive(Debug)]
pub struct Found<'t>(Captures<'t>);

impl Form {
    /// A form from a regular expression that was tested.
    pub fn new(pattern: &str) -> Self {
        let regex = Regex::new(pattern);
        debug_assert!(regex.is_ok(), "{regex:?}");
        Self(regex.ok())
    }

    /// The line's parts, if it fits.
    pub fn find<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        self.0.as_ref()?.captures(text).map(Found)
    }

    /// Whether the line fits.
    pub fn fits(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// The text without everything that fits.
    pub fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.as_ref().map_or(Cow::Borrowed(text), |regex| regex.replace_all(text, ""))
    }
}

impl<'t> Found<'t> {
    /// A part by its number; empty where it is not there.
    pub fn at(&self, group: usize) -> &'t str {
        self.0.get(group).map_or("", |found| found.as_str())
    }

    /// A part by its name; empty where it is not there.
    pub fn named(&self, group: &str) -> &'t str {
        self.0.name(group).map_or("", |found| found.as_str())
    }

    /// A part that is a number.
    pub fn number(&self, group: usize) -> Option<Number> {
        Number::read(self.at(group))
    }

    /// A part that is a count.
    pub fn count(&self, group: usize) -> Option<u64> {
        self.at(group).parse().ok()
    }
}

/// Names forms.
macro_rules! form {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)+) => {
        $($(#[$doc])*
        static $name: std::sync::LazyLock<$crate::form::Form> =
            std::sync::LazyLock::new(|| $crate::form::Form::new($pattern));)+
    };
}
pub(crate) use form;
