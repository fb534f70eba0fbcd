//! Places in a program, in the program's own terms.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of a source file.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Line {
    /// The file's path as recorded by the compiler.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for Line {
    /// Formats `file:line`, with only the end of a long path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", shortened(&self.file), self.line)
    }
}

/// Returns the end of a path, as far as a table has room for it.
fn shortened(path: &str) -> &str {
    const MAX_PATH: usize = 40;
    let cut = path.len().saturating_sub(MAX_PATH);
    let from = path.char_indices().find(|&(at, c)| cut > 0 && at >= cut && c == '/');
    from.map_or(path, |(at, _)| &path[at + 1..])
}

/// The owner of a frame's code.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// The application's author.
    Author,
    /// A library: a crate of a registry, the language's own, a kernel, the compiler's.
    Library,
}

/// A function whose code is at an address: the one that contains the address, or one that is inlined
/// there.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Frame {
    /// The function as named in the source; absent if the debug information has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The line in it; for all but the innermost function, the line of the inlined call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// The owner of that source file.
    pub owner: Owner,
}

/// A place in the sources: a line, and the library function that the compiler has inlined there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The author's own line, if there is one.
    pub line: Line,
    /// The function that was inlined at that line, with the line in it.
    pub inlined: Option<Frame>,
}

impl Source {
    /// Selects the place from the functions at an address, the outermost first; returns `None` if no
    /// line is known.
    pub fn of(frames: &[Frame]) -> Option<Self> {
        let own = first(frames)?;
        Some(Self { line: frames[own].line.clone()?, inlined: frames.get(own + 1).cloned() })
    }
}

impl fmt::Display for Source {
    /// Formats `main.rs:41, in Channel<M,T>::try_send, src/channel.rs:512`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        let Some(inlined) = &self.inlined else { return Ok(()) };
        if let Some(function) = &inlined.function {
            write!(f, ", in {}", own_name(function))?;
        }
        inlined.line.iter().try_for_each(|line| write!(f, ", {line}"))
    }
}

/// Returns the index of the function to report first, of those at an address with the outermost first:
/// the innermost of the author's own, or the outermost if all belong to libraries.
fn first(frames: &[Frame]) -> Option<usize> {
    let is_own = |frame: &Frame| frame.owner == Owner::Author && frame.line.is_some();
    frames.iter().rposition(is_own).or((!frames.is_empty()).then_some(0))
}

/// The number of inlined functions named if nothing else is known about them: the outermost ones show
/// what is done, and those below only how.
const SHOWN: usize = 3;

/// Returns the end of a module path: `Channel<T>::try_send`.
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

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The instruction's address.
    pub address: u32,
    /// The function that contains it, from the symbols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The line in that function's source, from the debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// The functions that are inlined there, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<String>,
    /// The function and those inlined there, with their lines, the outermost first; empty without debug
    /// information.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// The callers, as far as they are known, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}

impl Place {
    /// Returns the line to report: the author's own if there is one, and what was inlined there.
    pub fn source(&self) -> Option<Source> {
        let plain = || Some(Source { line: self.line.clone()?, inlined: None });
        Source::of(&self.frames).or_else(plain)
    }
}

impl fmt::Display for Place {
    /// Formats `caller > function (line, in the inlined function, its line)`, as far as it is known. Of
    /// functions inlined into each other, the innermost of the author's own is named, with its line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reported = first(&self.frames).unwrap_or(0);
        // A function inlined into itself, as parts of functions are, is named once.
        let is_other = |frame: &&Frame| frame.function != self.function;
        let inlined = self.frames.get(reported).filter(|_| reported > 0).filter(is_other);
        // If the author's code was inlined into a library's, the library's function would come first.
        let is_reported = reported == 0 || self.frames[0].owner == Owner::Author;
        if is_reported {
            if let Some(caller) = self.callers.last() {
                write!(f, "{caller} > ")?;
            }
            match &self.function {
                Some(function) => f.write_str(function)?,
                None => write!(f, "{:#010x}", self.address)?,
            }
        }
        if let Some(function) = inlined.and_then(|frame| frame.function.as_deref()) {
            let before = if is_reported { " > " } else { "" };
            write!(f, "{before}{}", own_name(function))?;
        }
        if self.frames.is_empty() {
            let names = self.inlined.iter().take(SHOWN);
            names.into_iter().try_for_each(|name| write!(f, " > {}", own_name(name)))?;
        }
        self.source().map_or(Ok(()), |source| write!(f, " ({source})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_truncated_at_separators() {
        assert_eq!(own_name("critical_section::with"), "critical_section::with");
        assert_eq!(own_name("a::channel::Channel<b::M,T>::try_send"), "Channel<b::M,T>::try_send");
        assert_eq!(own_name("<a::B as c::D>::drop"), "<a::B as c::D>::drop");
        assert_eq!(own_name("vTaskDelay"), "vTaskDelay");
        let long = format!("/{}/tasks.c", "x".repeat(90));
        assert_eq!(Line { file: long, line: 7 }.to_string(), "tasks.c:7");
    }

    fn frame(function: &str, file: &str, line: u32, owner: Owner) -> Frame {
        let line = Some(Line { file: file.into(), line });
        Frame { function: Some(function.into()), line, owner }
    }

    fn place(frames: &[Frame]) -> Place {
        Place {
            address: 0x0800_0100,
            function: frames[0].function.clone(),
            line: frames[0].line.clone(),
            inlined: frames[1..].iter().filter_map(|frame| frame.function.clone()).collect(),
            frames: frames.to_vec(),
            callers: vec!["Reset".into()],
        }
    }

    #[test]
    fn the_authors_own_line_comes_first() {
        use Owner::{Author, Library};
        let main = frame("main", "main.rs", 30, Author);
        let helper = frame("app::send", "main.rs", 41, Author);
        let channel = frame("sync::channel::Channel<M>::try_send", "channel.rs", 512, Library);
        let mask = frame("cortex_m::write", "primask.rs", 9, Library);
        let executor = frame("executor::run", "exec.rs", 7, Library);
        let shown = |frames: &[&Frame]| {
            place(&frames.iter().map(|&frame| frame.clone()).collect::<Vec<_>>()).to_string()
        };
        assert_eq!(shown(&[&main]), "Reset > main (main.rs:30)");
        assert_eq!(shown(&[&main, &helper]), "Reset > main > app::send (main.rs:41)");
        let all = shown(&[&main, &helper, &channel, &mask]);
        let behind = "in Channel<M>::try_send, channel.rs:512)";
        assert_eq!(all, format!("Reset > main > app::send (main.rs:41, {behind}"));
        // The author's code inside a library's, like a task's inside its executor's.
        let all = shown(&[&executor, &helper, &channel]);
        assert_eq!(all, format!("app::send (main.rs:41, {behind}"));
        // Nothing belongs to the author.
        let all = shown(&[&executor, &channel, &mask]);
        assert_eq!(all, format!("Reset > executor::run (exec.rs:7, {behind}"));
    }

    #[test]
    fn places_stored_without_frames_are_shown_unchanged() {
        let text = r#"{"address": 1, "function": "f", "inlined": ["a::b::c", "d"],
            "line": {"file": "f.rs", "line": 9}}"#;
        let place: Place = serde_json::from_str(text).expect("a place");
        assert_eq!(place.to_string(), "f > b::c > d (f.rs:9)");
        let source = place.source().expect("its line");
        assert_eq!(source.to_string(), "f.rs:9");
    }
}
