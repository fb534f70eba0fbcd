//! Maps addresses to functions by an image's symbols.

use std::collections::{BTreeSet, HashMap};

use rtmark_model::visible;
use rtmark_sim::Symbols;

use crate::landmarks::UNNAMED;

/// Values by address; a page lookup serves many of them.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    all: Vec<(u32, Box<[T]>)>,
    found: HashMap<u32, usize>,
    last: (u32, usize),
}

/// Values in a page, one for each halfword.
const PLACES: usize = 512;

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { all: Vec::new(), found: HashMap::new(), last: (0, 0) }
    }
}

impl<T: Copy + Default> Pages<T> {
    pub fn at(&mut self, address: u32) -> &mut T {
        let (page, within) = (address >> 10, (address >> 1) as usize % PLACES);
        if self.all.is_empty() || self.last.0 != page {
            let next = self.all.len();
            let at = *self.found.entry(page).or_insert(next);
            if at == next {
                self.all.push((page, vec![T::default(); PLACES].into_boxed_slice()));
            }
            self.last = (page, at);
        }
        &mut self.all[self.last.1].1[within]
    }
}

/// Returns a function's name in a form safe for folded stacks, without `;`. The body of an Embassy task
/// gets the task's own name.
pub(crate) fn display_name(symbol: &str) -> String {
    let name = in_one_line(symbol).replace(';', ":");
    as_written(&name).unwrap_or(name)
}

/// Returns a symbol's name safe to display, in tables and files of which each line is a record.
pub(crate) fn in_one_line(symbol: &str) -> String {
    visible(symbol.as_bytes()).replace(['\n', '\t'], " ")
}

/// Turns `a::__b_task::__b_task_inner_function::{{closure}}`, which Embassy's task macro generates,
/// into `a::b_task::{async}`.
pub(crate) fn as_written(name: &str) -> Option<String> {
    let body =
        name.strip_suffix("::{{closure}}").or_else(|| name.strip_suffix("::{async_fn#0}"))?;
    let (outer, inner) = body.rsplit_once("::")?;
    let task = inner.strip_prefix("__")?.strip_suffix("_inner_function")?;
    let path = outer.strip_suffix(task)?.strip_suffix("__")?;
    Some(format!("{path}{task}::{{async}}"))
}

/// The functions of an image, by address, each with a number.
///
/// Names are safe to display and contain no `;`, so that they can be used in folded stacks.
#[derive(Debug)]
pub struct Functions<'a> {
    symbols: &'a Symbols,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// For each number, where the functions with that name begin, as far as they have been looked up.
    entries: Vec<BTreeSet<u32>>,
    /// The number plus one for each address looked up.
    known: Pages<u32>,
}

impl<'a> Functions<'a> {
    /// Creates the functions of an image.
    pub fn new(symbols: &'a Symbols) -> Self {
        let (names, numbers, entries) = (Vec::new(), HashMap::new(), Vec::new());
        Self { symbols, names, numbers, entries, known: Pages::default() }
    }

    /// Returns the number of a name, whether a function's or another item's.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.entries.push(BTreeSet::new());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Returns the number of the function that contains an address. If no symbol covers it, every 256
    /// bytes count as a function.
    pub fn at(&mut self, address: u32) -> u32 {
        let known = *self.known.at(address);
        if known != 0 {
            return known - 1;
        }
        let (name, entry) = if let Some(location) = self.symbols.name_at(address) {
            (display_name(&location.symbol), address - location.offset)
        } else {
            let block = address & !(UNNAMED - 1);
            (format!("[{block:#010x}]"), block)
        };
        let function = self.number(&name);
        self.entries[function as usize].insert(entry);
        *self.known.at(address) = function + 1;
        function
    }

    /// Returns the name with a number.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// Returns where the functions with a number's name begin, if several have it: static functions of
    /// different files, or instances of one generic function. Only those looked up so far count.
    pub fn namesakes(&self, number: u32) -> Vec<u32> {
        let entries = self.entries.get(number as usize).filter(|entries| entries.len() > 1);
        entries.into_iter().flatten().copied().collect()
    }

    /// Returns the symbols that define the functions.
    pub(crate) fn symbols(&self) -> &'a Symbols {
        self.symbols
    }

    /// Returns all names, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Returns a name for a table: with the number of functions that have it, if there are several.
pub fn shared_name(name: &str, namesakes: &[u32]) -> String {
    match namesakes.len() {
        0 | 1 => name.to_owned(),
        count => format!("{name} ({count} functions)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_the_names_given_by_their_author() {
        let display_name = |name: &str| as_written(name).unwrap_or_else(|| name.to_owned());
        for body in ["{{closure}}", "{async_fn#0}"] {
            let name = format!("load::__slow_task::__slow_task_inner_function::{body}");
            assert_eq!(display_name(&name), "load::slow_task::{async}");
        }
        let root = "__blink::__blink_inner_function::{{closure}}";
        assert_eq!(display_name(root), "blink::{async}");
        for other in ["a::b::{{closure}}", "a::__b::__c_inner_function::{{closure}}", "main", ""] {
            assert_eq!(display_name(other), other);
        }
    }

    #[test]
    fn a_name_cannot_end_a_line_of_folded_stacks() {
        assert_eq!(
            display_name("<[u8; 4]>::a\nmain 7\t\u{1b}[2J"),
            "<[u8: 4]>::a main 7 \\u{1b}[2J"
        );
    }
}
