//! Formulas over measured figures, such as `(evloop.one - evloop.single) / 202336`.
//!
//! The syntax has numbers, names, `+ - * /`, brackets, `min(a, b)` and `max(a, b)`; comparing two
//! formulas makes a condition. The caller gives names their values.

use std::fmt;

/// The deepest nesting accepted in a formula.
const DEEPEST: usize = 32;

/// A formula that cannot be read or has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormulaError(String);

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Pair(Operation, Box<(Node, Node)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Least,
    Most,
    Below,
    Above,
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn refuse<T>(&self, problem: &str) -> Result<T, FormulaError> {
        let at = self.text.len() - self.rest.len();
        let shown = self.text.escape_debug();
        Err(FormulaError(format!("`{shown}`: {problem} at character {}", at + 1)))
    }

    fn accept(&mut self, sign: char) -> bool {
        self.rest = self.rest.trim_start();
        let taken = self.rest.strip_prefix(sign);
        self.rest = taken.unwrap_or(self.rest);
        taken.is_some()
    }

    fn expect_sign(&mut self, sign: char) -> Result<(), FormulaError> {
        if self.accept(sign) { Ok(()) } else { self.refuse(&format!("`{sign}` is wanted")) }
    }

    fn word(&mut self, part: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c: char| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    fn condition(&mut self) -> Result<Node, FormulaError> {
        let left = self.sum()?;
        for (sign, operation) in [('<', Operation::Below), ('>', Operation::Above)] {
            if self.accept(sign) {
                return Ok(Node::Pair(operation, Box::new((left, self.sum()?))));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Node, FormulaError> {
        let mut left = self.product()?;
        loop {
            let operation = if self.accept('+') {
                Operation::Add
            } else if self.accept('-') {
                Operation::Subtract
            } else {
                return Ok(left);
            };
            left = Node::Pair(operation, Box::new((left, self.product()?)));
        }
    }

    fn product(&mut self) -> Result<Node, FormulaError> {
        let mut left = self.value()?;
        loop {
            let operation = if self.accept('*') {
                Operation::Multiply
            } else if self.accept('/') {
                Operation::Divide
            } else {
                return Ok(left);
            };
            left = Node::Pair(operation, Box::new((left, self.value()?)));
        }
    }

    fn value(&mut self) -> Result<Node, FormulaError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.refuse("nested too deeply");
        }
        let value = self.simple();
        self.depth -= 1;
        value
    }

    fn simple(&mut self) -> Result<Node, FormulaError> {
        if self.accept('(') {
            let inner = self.sum()?;
            self.expect_sign(')')?;
            return Ok(inner);
        }
        let Some(first) = self.rest.chars().next() else {
            return self.refuse("a number or a name is wanted");
        };
        if first.is_ascii_digit() {
            let digits = self.word(|c| c.is_ascii_digit() || c == '.' || c == '_').replace('_', "");
            return match digits.parse() {
                Ok(number) => Ok(Node::Number(number)),
                Err(_) => self.refuse("this is not a number"),
            };
        }
        if !first.is_ascii_lowercase() {
            return self.refuse("a number or a name is wanted");
        }
        let name =
            self.word(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '_');
        let operation = match name.as_str() {
            "min" => Operation::Least,
            "max" => Operation::Most,
            _ => return Ok(Node::Name(name)),
        };
        self.expect_sign('(')?;
        let left = self.sum()?;
        self.expect_sign(',')?;
        let right = self.sum()?;
        self.expect_sign(')')?;
        Ok(Node::Pair(operation, Box::new((left, right))))
    }
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// When the text is not a formula; the message says what is expected where.
    pub fn read(text: &str) -> Result<Self, FormulaError> {
        let mut reader = Reader { text, rest: text, depth: 0 };
        let root = reader.condition()?;
        reader.rest = reader.rest.trim_start();
        if reader.rest.is_empty() {
            return Ok(Self { text: text.to_owned(), root });
        }
        reader.refuse("the end is wanted")
    }

    /// Evaluates the formula, given the values of names. A condition is 1 if it holds, and 0
    /// otherwise.
    ///
    /// # Errors
    /// When a name has no value (the reason is the caller's), on division by zero, and when the value is too large
    /// for a number.
    pub fn value(&self, of: impl Fn(&str) -> Result<f64, String>) -> Result<f64, FormulaError> {
        let value = self.root.value(&self.text, &of).map_err(FormulaError)?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(FormulaError(format!("`{}` is too large", self.text)))
    }

    /// Returns the names it uses.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// Returns whether it is a condition.
    pub fn is_condition(&self) -> bool {
        matches!(self.root, Node::Pair(Operation::Below | Operation::Above, _))
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    fn value(&self, whole: &str, of: &impl Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
        let (operation, both) = match self {
            Self::Number(number) => return Ok(*number),
            Self::Name(name) => return of(name),
            Self::Pair(operation, both) => (operation, both),
        };
        let (a, b) = (both.0.value(whole, of)?, both.1.value(whole, of)?);
        Ok(match operation {
            // `min`, `max` and comparisons would hide it.
            Operation::Divide if b == 0.0 => return Err(format!("`{whole}` divides by zero")),
            Operation::Add => a + b,
            Operation::Subtract => a - b,
            Operation::Multiply => a * b,
            Operation::Divide => a / b,
            Operation::Least => a.min(b),
            Operation::Most => a.max(b),
            Operation::Below => f64::from(u8::from(a < b)),
            Operation::Above => f64::from(u8::from(a > b)),
        })
    }

    fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => into.push(name),
            Self::Pair(_, both) => {
                both.0.names(into);
                both.1.names(into);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let known = |name: &str| match name {
            "a.b" => Ok(6.0),
            "c" => Ok(4.0),
            other => Err(format!("no {other}")),
        };
        let formula = Formula::read(text).map_err(|error| error.to_string())?;
        formula.value(known).map_err(|error| error.to_string())
    }

    #[test]
    fn formulas_follow_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(a.b - c) / 2", 1.0),
            ("a.b - c - 1", 1.0),
            ("24 / a.b / c", 1.0),
            ("max(a.b, c) + min(1.5, 2)", 7.5),
            ("202_336", 202_336.0),
            ("a.b > c", 1.0),
            ("2 * c < a.b + 1", 0.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn invalid_formulas_are_rejected_with_their_position() {
        for (text, message) in [
            ("", "wanted at character 1"),
            ("1 +", "wanted at character 4"),
            ("(1", "`)` is wanted"),
            ("1 2", "the end is wanted at character 3"),
            ("1.2.3", "not a number"),
            ("max(1)", "`,` is wanted"),
            ("a < b < c", "the end"),
            ("é", "wanted"),
            ("d + 1", "no d"),
            ("1 / (c - 4)", "divides by zero"),
            ("min(0 / (c - 4), a.b)", "divides by zero"),
            ("1 / (c - 4) > 1", "divides by zero"),
            ("1 / (1 / (c - 4))", "divides by zero"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
        let deep = "(".repeat(100_000);
        assert!(value(&deep).expect_err("deep").contains("deeply"));
    }

    #[test]
    fn names_are_listed() {
        let formula = Formula::read("max(a, b.c) - a > 3").expect("good");
        assert_eq!(formula.names(), ["a", "b.c", "a"]);
        assert!(formula.is_condition());
    }
}
