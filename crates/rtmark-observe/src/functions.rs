//! From addresses to functions, by an image's symbols.

use std::collections::HashMap;

use rtmark_model::visible;
use rtmark_sim::Symbols;

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

    /// Every address of the pages with its value, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.all.iter().flat_map(|(page, places)| {
            let addresses = (page << 10..).step_by(2);
            addresses.zip(places.iter())
        })
    }
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
            Some(location) => visible(location.symbol.as_bytes()).replace(';', ":"),
            None => format!("[{:#010x}]", address & !0xFF),
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
