//! Places in a program, told in its own words.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of a source file.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Line {
    /// The file's path as the compiler noted it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for Line {
    /// `file:line`, of a long path only the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", shortened(&self.file), self.line)
    }
}

/// The end of a path, as far as a table has room for it.
fn shortened(path: &str) -> &str {
    const LONGEST: usize = 40;
    let cut = path.len().saturating_sub(LONGEST);
    let from = path.char_indices().find(|&(at, c)| cut > 0 && at >= cut && c == '/');
    from.map_or(path, |(at, _)| &path[at + 1..])
}

/// How many inlined functions a line of text names: the outermost ones say what is done,
/// those below only how.
const SHOWN: usize = 3;

/// The end of a path of modules: `Channel<T>::try_send`.
fn own_name(path: &str) -> &str {
    let mut depth = 0_i32;
    let mut parts = 0;
    for (at, c) in path.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            ':' if depth == 0 && path[..at].ends_with(':') => {
                parts += 1;
                if parts == 2 {
                    return &path[at + 1..];
                }
            }
            _ => {}
        }
    }
    path
}

/// Where in a program something happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The instruction's address.
    pub address: u32,
    /// The function that holds it, by the symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where in that function's source, by the debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// The functions that the compiler has inlined there, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<String>,
    /// Those that have called it, as far as they are known, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}

impl fmt::Display for Place {
    /// `caller > function > inlined (file:line)`, as far as it is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(caller) = self.callers.last() {
            write!(f, "{caller} > ")?;
        }
        match &self.function {
            Some(function) => f.write_str(function)?,
            None => write!(f, "{:#010x}", self.address)?,
        }
        for inlined in self.inlined.iter().take(SHOWN) {
            write!(f, " > {}", own_name(inlined))?;
        }
        match &self.line {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_where_they_may_be() {
        assert_eq!(own_name("critical_section::with"), "critical_section::with");
        assert_eq!(own_name("a::channel::Channel<b::M,T>::try_send"), "Channel<b::M,T>::try_send");
        assert_eq!(own_name("<a::B as c::D>::drop"), "<a::B as c::D>::drop");
        assert_eq!(own_name("vTaskDelay"), "vTaskDelay");
        let long = format!("/{}/tasks.c", "x".repeat(90));
        assert_eq!(Line { file: long, line: 7 }.to_string(), "tasks.c:7");
    }
}
