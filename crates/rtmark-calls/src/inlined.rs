//! Functions of the kernel that the compiler has inlined, by the debug information.

use std::collections::BTreeMap;

use rtmark_observe::{Lines, Map};

use crate::addresses::Addresses;
use crate::api::{Api, Kind};
use crate::paid::InlinedCall;

/// Where they are, and what they take.
#[derive(Debug)]
pub struct Inlined<'a, 'elf> {
    api: &'a Api,
    lines: Option<&'a Lines<'elf>>,
    /// The addresses seen that hold such code.
    holding: Addresses,
    /// Where the code is that the cycles from now on are for, if it was inlined.
    current: Option<u32>,
    /// What such code took, by an address of it.
    cycles: BTreeMap<u32, u64>,
}

impl<'a, 'elf> Inlined<'a, 'elf> {
    /// Without lines nothing is known of what was inlined.
    pub fn new(api: &'a Api, lines: Option<&'a Lines<'elf>>) -> Self {
        Self { api, lines, holding: Addresses::default(), current: None, cycles: BTreeMap::new() }
    }

    pub const fn lines(&self) -> Option<&'a Lines<'elf>> {
        self.lines
    }

    /// Where code of the kernel's begins or ends that was inlined.
    pub fn borders(&self) -> Vec<u32> {
        let mut borders = self.lines.map(Lines::inlined_borders).unwrap_or_default();
        let mut before = None;
        borders.retain(|border| {
            let here = self.at(*border).map(|(_, name)| name);
            let changes = here != before;
            before = here;
            changes
        });
        borders
    }

    /// The kernel's function whose code was inlined at an address of another's; the outermost, as those
    /// inlined into it are behind it.
    fn at(&self, address: u32) -> Option<(Kind, String)> {
        let frames = self.lines?.inlined_at(address);
        let names = frames.into_iter().rev().skip(1).filter_map(|frame| frame.function);
        let mut kernels = names.filter_map(|name| Some((self.api.kind(&name)?, name)));
        kernels.find(|(kind, _)| *kind != Kind::Application)
    }

    /// Looks at an address for the first time.
    pub fn meet(&mut self, address: u32) {
        if self.at(address).is_some() {
            self.holding.insert(address);
        }
    }

    /// Whether an address that was met holds such code.
    pub fn hold(&mut self, address: u32) -> bool {
        self.holding.contains(address)
    }

    /// Whose the cycles from now on are: code's at an address, or none's.
    pub const fn go_on_at(&mut self, address: Option<u32>) {
        self.current = address;
    }

    /// Cycles have passed.
    pub fn count(&mut self, cycles: u64) {
        if let Some(address) = self.current {
            *self.cycles.entry(address).or_default() += cycles;
        }
    }

    /// What was executed where it was inlined, the most cycles first.
    pub fn calls(&self, map: Map<'_, '_>) -> Vec<InlinedCall> {
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (&address, cycles) in &self.cycles {
            if let Some((Kind::Called, name)) = self.at(address)
                && let Some(caller) = map.function(address)
            {
                let name = self.api.shown(&name).to_owned();
                *found.entry((name, caller)).or_default() += cycles;
            }
        }
        let call = |((function, caller), cycles)| InlinedCall { function, caller, cycles };
        let mut calls: Vec<InlinedCall> = found.into_iter().map(call).collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.cycles));
        calls
    }
}
