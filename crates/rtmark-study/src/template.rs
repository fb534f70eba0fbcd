//! Texts with figures in them, such as `accept {division.c} cycles` or `{100 * part / whole:0} %`.
//!
//! Each pair of braces contains a formula, optionally followed by a colon and the number of digits
//! after the point.

use crate::formula::{Formula, FormulaError};
use crate::number;

/// A text whose numbers are formulas.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Figure(Formula, Option<usize>),
}

impl Template {
    /// Parses a template. An opening brace without a closing one extends to the end of the text.
    ///
    /// # Errors
    /// When braces do not contain a formula.
    pub fn read(text: &str) -> Result<Self, FormulaError> {
        // A text of several lines is one paragraph.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').unwrap_or((after, ""));
            let (formula, digits) = match inside.split_once(':') {
                Some((formula, digits)) => (formula, digits.parse().ok().filter(|d| *d < 10)),
                None => (inside, None),
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Figure(Formula::read(formula)?, digits));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Returns its formulas.
    pub fn formulas(&self) -> impl Iterator<Item = &Formula> {
        self.0.iter().filter_map(|part| match part {
            Part::Figure(formula, _) => Some(formula),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with its figures filled in; a missing figure becomes `n/a`.
    pub fn fill(&self, of: impl Fn(&str) -> Result<f64, String>) -> String {
        let render = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Figure(formula, digits) => match (formula.value(&of), digits) {
                (Ok(value), Some(digits)) => number::fixed(value, *digits),
                (Ok(value), None) => number::number(value),
                (Err(_), _) => "n/a".to_owned(),
            },
        };
        self.0.iter().map(render).collect()
    }

    /// Returns the pieces of text between its figures.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Figure(..) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_filled_in() {
        let of = |name: &str| if name == "a" { Ok(1.5) } else { Err("none".to_owned()) };
        let fill = |text: &str| Template::read(text).expect("good").fill(of);
        assert_eq!(fill("It is {a} or\n  {100 * a:1}, not {b}."), "It is 1.50 or 150.0, not n/a.");
        assert_eq!(fill("plain"), "plain");
        assert!(Template::read("{a").is_ok(), "an unclosed brace ends with the text");
        Template::read("{}").expect_err("no formula");
        Template::read("{a +}").expect_err("no formula");
    }
}
