//! An address told in the program's own words.

use std::fmt;

use rtmark_model::visible;
use rtmark_sim::Symbols;
use schemars::JsonSchema;
use serde::Serialize;

use crate::lines::{Line, Lines};

/// Where in a program something happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The instruction's address.
    pub address: u32,
    /// The function that holds it, by the symbols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source line that it was compiled from, by the debug information; of inlined
    /// functions the innermost.
    #[serde(flatten)]
    pub line: Option<Line>,
}

impl Place {
    /// What is known of an address.
    pub fn of(address: u32, symbols: &Symbols, lines: Option<&Lines<'_>>) -> Self {
        let function = symbols.name_at(address).map(|at| visible(at.symbol.as_bytes()));
        Self { address, function, line: lines.and_then(|lines| lines.at(address)) }
    }
}

impl fmt::Display for Place {
    /// `function (file:line)`, as far as it is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => write!(f, "{:#010x}", self.address)?,
        }
        match &self.line {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}
