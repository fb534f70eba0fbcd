//! Attributes cycles to kernel functions that the compiler has inlined, by the debug information.

use std::collections::BTreeMap;

use rtmark_observe::{Lines, Map};

use crate::addresses::Addresses;
use crate::api::Kind;
use crate::cost::InlinedCall;
use crate::roles::Roles;

/// The locations and costs of inlined kernel code.
#[derive(Debug)]
pub struct Inlined<'a, 'elf> {
    lines: Option<&'a Lines<'elf>>,
    /// The addresses seen so far that contain such code.
    holding: Addresses,
    /// The address of the code that the current cycles belong to, if it was inlined.
    current: Option<u32>,
    /// The cycles of such code, by one of its addresses.
    cycles: BTreeMap<u32, u64>,
}

impl<'a, 'elf> Inlined<'a, 'elf> {
    /// Creates the tracker; without lines nothing is known about inlined code.
    pub fn new(lines: Option<&'a Lines<'elf>>) -> Self {
        Self { lines, holding: Addresses::default(), current: None, cycles: BTreeMap::new() }
    }

    pub const fn lines(&self) -> Option<&'a Lines<'elf>> {
        self.lines
    }

    /// Returns the addresses at which inlined kernel code begins or ends.
    pub fn borders(&self, roles: &Roles<'_>) -> Vec<u32> {
        let mut borders = self.lines.map(Lines::inlined_borders).unwrap_or_default();
        let mut before = None;
        borders.retain(|border| {
            let here = self.at(roles, *border).map(|(_, name)| name);
            let changes = here != before;
            before = here;
            changes
        });
        borders
    }

    /// Returns the kernel function whose code was inlined at an address of another function; the
    /// outermost one, since others are nested inside it.
    fn at(&self, roles: &Roles<'_>, address: u32) -> Option<(Kind, String)> {
        let frames = self.lines?.inlined_at(address);
        let inlined = frames.into_iter().rev().skip(1);
        let mut kernels =
            inlined.filter_map(|frame| Some((roles.of_inlined(&frame)?, frame.function?)));
        kernels.find(|(kind, _)| *kind != Kind::Application)
    }

    /// Examines an address for the first time.
    pub fn classify(&mut self, roles: &Roles<'_>, address: u32) {
        if self.at(roles, address).is_some() {
            self.holding.insert(address);
        }
    }

    /// Tells whether a known address contains such code.
    pub fn contains(&mut self, address: u32) -> bool {
        self.holding.contains(address)
    }

    /// Sets the owner of the following cycles: the code at an address, or none.
    pub const fn set_owner_at(&mut self, address: Option<u32>) {
        self.current = address;
    }

    /// Adds cycles to the current owner.
    pub fn count(&mut self, cycles: u64) {
        if let Some(address) = self.current {
            *self.cycles.entry(address).or_default() += cycles;
        }
    }

    /// Returns what was executed in inlined form, the most cycles first.
    pub fn calls(&self, roles: &Roles<'_>, map: Map<'_, '_>) -> Vec<InlinedCall> {
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (&address, cycles) in &self.cycles {
            if let Some((Kind::Called, name)) = self.at(roles, address)
                && let Some(caller) = map.function(address)
            {
                let name = roles.api().display_name(&name).to_owned();
                *found.entry((name, caller)).or_default() += cycles;
            }
        }
        let call = |((function, caller), cycles)| InlinedCall { function, caller, cycles };
        let mut calls: Vec<InlinedCall> = found.into_iter().map(call).collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.cycles));
        calls
    }
}
