//! Wrappers of a kernel's functions that the compiler has not inlined, such as `k_sem_take.constprop.0`
//! around Zephyr's `z_impl_k_sem_take`.
//!
//! A wrapper is nothing more than the call, which therefore belongs to whoever calls the wrapper, as if
//! it had been inlined.

use std::collections::{BTreeSet, HashMap};

use rtmark_sim::Symbols;

use crate::api::{Api, base_name};

/// The wrappers in an image, and where each thread called its last one.
#[derive(Debug)]
pub struct Wrappers<'a> {
    symbols: &'a Symbols,
    names: BTreeSet<&'a str>,
    /// Their first instructions.
    entries: BTreeSet<u32>,
    /// The calling instruction, by the thread's stack.
    sites: HashMap<Option<u64>, u32>,
}

impl<'a> Wrappers<'a> {
    /// Finds the wrappers of a kernel's functions.
    pub fn new(api: &Api, symbols: &'a Symbols) -> Self {
        let all: BTreeSet<&str> = symbols.iter().map(|(_, name)| base_name(name)).collect();
        let wraps =
            |name: &&str| api.wrapped(name).is_some_and(|function| all.contains(function.as_str()));
        let names: BTreeSet<&str> = all.iter().copied().filter(wraps).collect();
        let is_entry = |(_, name): &(u32, &str)| names.contains(base_name(name));
        let entries = symbols.iter().filter(is_entry).map(|(address, _)| address & !1).collect();
        Self { symbols, names, entries, sites: HashMap::new() }
    }

    /// Tells whether a function is a wrapper.
    pub fn contains(&self, function: &str) -> bool {
        self.names.contains(base_name(function))
    }

    /// Records the call of a function on a stack, if that is a wrapper.
    pub fn called(&mut self, entry: u32, stack: Option<u64>, site: u32) {
        if self.entries.contains(&entry) {
            self.sites.insert(stack, site);
        }
    }

    /// Returns the instruction by which a caller called: if that is in a wrapper, the one that called
    /// the wrapper.
    pub fn outer_site(&self, site: u32, stack: Option<u64>) -> u32 {
        let is_within = || {
            let function = self.symbols.name_at(site);
            function.is_some_and(|at| self.contains(&at.symbol))
        };
        match self.sites.get(&stack) {
            Some(outer) if is_within() => *outer,
            _ => site,
        }
    }
}
