//! From addresses to functions, by an image's symbols.

use std::collections::HashMap;

use rtmark_model::visible;
use rtmark_sim::Symbols;

use crate::landmarks::UNNAMED;

/// Values by address, a page found once for many of them.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    all: Vec<(u32, Box<[T]>)>,
    found: HashMap<u32, usize>,
    last: (u32, usize),
}

/// Values of a page: one for each halfword.
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

/// A function's name as it may stand in a folded stack: safe, and without `;`. The body of a task of
/// Embassy's is called by the task's own name.
pub(crate) fn shown(symbol: &str) -> String {
    let name = visible(symbol.as_bytes()).replace(';', ":");
    as_written(&name).unwrap_or(name)
}

/// `a::b_task::{async}` for `a::__b_task::__b_task_inner_function::{{closure}}`, which the macro of
/// Embassy's tasks makes of it.
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
/// Names are safe to show and have no `;`, so that they can stand in folded stacks.
#[derive(Debug)]
pub struct Functions<'a> {
    symbols: &'a Symbols,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The number plus one of each address that was asked for.
    known: Pages<u32>,
}

impl<'a> Functions<'a> {
    /// Those of an image.
    pub fn new(symbols: &'a Symbols) -> Self {
        let (names, numbers) = (Vec::new(), HashMap::new());
        Self { symbols, names, numbers, known: Pages::default() }
    }

    /// The number of a name, which is a function's or anything else's.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of the function that holds an address. Where no symbol does, that is
    /// one for each 256 bytes.
    pub fn at(&mut self, address: u32) -> u32 {
        let known = *self.known.at(address);
        if known != 0 {
            return known - 1;
        }
        let name = match self.symbols.name_at(address) {
            Some(location) => shown(&location.symbol),
            None => format!("[{:#010x}]", address & !(UNNAMED - 1)),
        };
        let function = self.number(&name);
        *self.known.at(address) = function + 1;
        function
    }

    /// The name that a number stands for.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// The symbols that they are told by.
    pub(crate) fn symbols(&self) -> &'a Symbols {
        self.symbols
    }

    /// Every name, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_the_name_that_its_author_gave_it() {
        let shown = |name: &str| as_written(name).unwrap_or_else(|| name.to_owned());
        for body in ["{{closure}}", "{async_fn#0}"] {
            let name = format!("load::__slow_task::__slow_task_inner_function::{body}");
            assert_eq!(shown(&name), "load::slow_task::{async}");
        }
        let root = "__blink::__blink_inner_function::{{closure}}";
        assert_eq!(shown(root), "blink::{async}");
        for other in ["a::b::{{closure}}", "a::__b::__c_inner_function::{{closure}}", "main", ""] {
            assert_eq!(shown(other), other);
        }
    }
}
