//! Attributes cycles to kernel functions that the compiler has inlined, and to what of the application's it has
//! inlined into those, by the debug information.

use std::collections::BTreeMap;

use rtmark_observe::{Lines, Map};

use crate::addresses::Addresses;
use crate::api::Kind;
use crate::cost::InlinedCall;
use crate::roles::Roles;

/// Whose inlined code is at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inline {
    /// The kernel's: the outermost function, since others are part of it.
    Kernel(Kind, String),
    /// The application's, which a function of the kernel's around it calls back.
    Application,
}

/// The locations and costs of inlined kernel code.
#[derive(Debug)]
pub struct Inlined<'a, 'elf> {
    lines: Option<&'a Lines<'elf>>,
    /// The addresses seen so far that contain such code.
    holding: Addresses,
    /// Those that contain code which the kernel calls back.
    called_back: Addresses,
    /// The address of the code that the current cycles belong to, if it was inlined.
    current: Option<u32>,
    /// The cycles of such code, by one of its addresses.
    cycles: BTreeMap<u32, u64>,
}

impl<'a, 'elf> Inlined<'a, 'elf> {
    /// Creates the tracker; without lines nothing is known about inlined code.
    pub fn new(lines: Option<&'a Lines<'elf>>) -> Self {
        Self {
            lines,
            holding: Addresses::default(),
            called_back: Addresses::default(),
            current: None,
            cycles: BTreeMap::new(),
        }
    }

    pub const fn lines(&self) -> Option<&'a Lines<'elf>> {
        self.lines
    }

    /// Returns the addresses at which inlined kernel code begins or ends, or what it calls back.
    pub fn borders(&self, roles: &Roles<'_>) -> Vec<u32> {
        let mut borders = self.lines.map(Lines::inlined_borders).unwrap_or_default();
        let mut before = None;
        borders.retain(|border| {
            let here = self.at(roles, *border);
            let changes = here != before;
            before = here;
            changes
        });
        borders
    }

    /// Returns whose inlined code is at an address of another function; `None` if it is whose that function is.
    ///
    /// In a function of the kernel's that calls the application, other functions are called back, as are those with
    /// symbols. What kernels in Rust are made of is not, nor is a closure of the function itself, if that is a handler:
    /// macros write it, as RTIC's do around tasks. Names alone decide, as files change from line to line.
    fn at(&self, roles: &Roles<'_>, address: u32) -> Option<Inline> {
        let frames = self.lines?.inlined_at(address);
        let outermost = frames.last().and_then(|frame| frame.function.clone()).unwrap_or_default();
        let (mut found, mut calls_back) = (None, false);
        for (depth, frame) in frames.into_iter().rev().enumerate() {
            let kind = roles.of_inlined(&frame);
            let Some(name) = frame.function else { continue };
            match kind {
                Some(Kind::Application) => {
                    (found, calls_back) = (found.and(Some(Inline::Application)), false);
                }
                Some(kind) => {
                    calls_back = roles.api().calls_application(&name);
                    let is_outermost = !matches!(found, Some(Inline::Kernel(..)));
                    if depth > 0 && is_outermost {
                        found = Some(Inline::Kernel(kind, name));
                    }
                }
                None => {
                    if calls_back && !is_library(&name) && !is_closure_of(&outermost, &name) {
                        (found, calls_back) = (Some(Inline::Application), false);
                    }
                }
            }
        }
        found
    }

    /// Examines an address for the first time.
    pub fn classify(&mut self, roles: &Roles<'_>, address: u32) {
        match self.at(roles, address) {
            Some(Inline::Kernel(..)) => self.holding.insert(address),
            Some(Inline::Application) => self.called_back.insert(address),
            None => false,
        };
    }

    /// Tells whether a known address contains such code.
    pub fn contains(&mut self, address: u32) -> bool {
        self.holding.contains(address)
    }

    /// Tells whether a known address contains code of the application's within the kernel's.
    pub fn calls_back(&mut self, address: u32) -> bool {
        self.called_back.contains(address)
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
            if let Some(Inline::Kernel(Kind::Called, name)) = self.at(roles, address)
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

/// Tells whether a function is one of the crates with which Rust's kernels themselves are written, or a trait's.
fn is_library(name: &str) -> bool {
    const CRATES: [&str; 7] =
        ["core", "alloc", "heapless", "cortex_m", "vcell", "volatile_register", "bare_metal"];
    let of_crate = name.split_once("::").map_or("", |(of_crate, _)| of_crate);
    name.starts_with('<') || CRATES.contains(&of_crate)
}

/// Tells whether a function is a closure in another one, a handler: the symbol of that has no path.
fn is_closure_of(handler: &str, name: &str) -> bool {
    let parent = name.split_once("::{").map_or("", |(path, _)| path);
    !handler.contains("::") && parent.rsplit("::").next() == Some(handler)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kernels_are_made_of_is_told_by_its_crate() {
        for name in ["heapless::spsc::Queue<T,_>::dequeue", "<usize as core::ops::Add>::add"] {
            assert!(is_library(name), "{name}");
        }
        for name in ["load::core::run", "core", "corewar::run"] {
            assert!(!is_library(name), "{name}");
        }
    }

    /// RTIC's dispatchers have the interrupts' names.
    #[test]
    fn closures_of_handlers_are_told_from_those_of_functions() {
        assert!(is_closure_of("SSI0", "load::app::SSI0::{{closure}}"));
        assert!(!is_closure_of("SSI0", "load::app::foo::{{closure}}"));
        assert!(!is_closure_of("SSI0", "load::app::SSI0"));
        assert!(!is_closure_of("load::app::foo", "load::app::foo::{{closure}}"));
    }
}
