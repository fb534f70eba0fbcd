//! Regular expressions for lines, compiled once.

use std::borrow::Cow;

use regex::{Captures, Regex};

use crate::row::Number;

/// A regular expression for lines.
#[derive(Debug)]
pub struct Form(Option<Regex>);

/// The parts of a matching line.
#[derive(Debug)]
pub struct Found<'t>(Captures<'t>);

impl Form {
    /// Compiles a regular expression that is known to be valid.
    pub fn new(pattern: &str) -> Self {
        let regex = Regex::new(pattern);
        debug_assert!(regex.is_ok(), "{regex:?}");
        Self(regex.ok())
    }

    /// Returns the line's parts if it matches.
    pub fn find<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        // Most lines match nothing, and looking for the parts allocates memory before it fails.
        self.0.as_ref().filter(|regex| regex.is_match(text))?.captures(text).map(Found)
    }

    /// Tells whether the line matches.
    pub fn fits(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns the text with other texts in place of all matches.
    pub fn replaced<'t>(&self, text: &'t str, mut by: impl FnMut(&str) -> String) -> Cow<'t, str> {
        let by = |found: &Captures<'_>| by(found.get(0).map_or("", |found| found.as_str()));
        self.0.as_ref().map_or(Cow::Borrowed(text), |regex| regex.replace_all(text, by))
    }

    /// Returns the text without all matches.
    pub fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.as_ref().map_or(Cow::Borrowed(text), |regex| regex.replace_all(text, ""))
    }
}

impl<'t> Found<'t> {
    /// Returns a part by its number; empty if it did not take part in the match.
    pub fn at(&self, group: usize) -> &'t str {
        self.0.get(group).map_or("", |found| found.as_str())
    }

    /// Returns a part by its name; empty if it did not take part in the match.
    pub fn named(&self, group: &str) -> &'t str {
        self.0.name(group).map_or("", |found| found.as_str())
    }

    /// Returns a part as a number.
    pub fn number(&self, group: usize) -> Option<Number> {
        Number::read(self.at(group))
    }

    /// Returns a part as a count.
    pub fn count(&self, group: usize) -> Option<u64> {
        self.at(group).parse().ok()
    }
}

/// Defines named forms.
macro_rules! form {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)+) => {
        $($(#[$doc])*
        static $name: std::sync::LazyLock<$crate::form::Form> =
            std::sync::LazyLock::new(|| $crate::form::Form::new($pattern));)+
    };
}
pub(crate) use form;
