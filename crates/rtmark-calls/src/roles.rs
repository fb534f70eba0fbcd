//! Decides which functions of an image are a kernel's: by their names, and where a name leaves it open, by
//! their source files.

use std::collections::BTreeSet;

use rtmark_model::{Frame, Owner};
use rtmark_observe::Lines;
use rtmark_sim::Symbols;

use crate::api::{Api, Kind};

/// The roles of an image's functions.
#[derive(Debug)]
pub struct Roles<'a> {
    api: &'a Api,
    /// Whether the kernel's source files can be told from those of the application's author.
    separates: bool,
    /// Functions in files of the author's that are named like functions of the kernel's.
    lookalikes: BTreeSet<String>,
}

impl<'a> Roles<'a> {
    /// Finds them. Without lines, names decide alone; so they do where the kernel's files are beside the
    /// application's.
    pub fn new(api: &'a Api, symbols: &Symbols, lines: Option<&Lines<'_>>) -> Self {
        let mut roles = Self { api, separates: false, lookalikes: BTreeSet::new() };
        let Some(lines) = lines else { return roles };
        let functions: Vec<(String, Owner)> = symbols
            .functions()
            .filter_map(|function| {
                let name = symbols.name_at(function.start)?.symbol;
                let frame = lines.inlined_at(function.start & !1).pop()?;
                frame.line.is_some().then_some((name, frame.owner))
            })
            .collect();
        let mut identifying = functions.iter().filter(|(name, _)| api.identifies(name)).peekable();
        roles.separates =
            identifying.peek().is_some() && identifying.all(|(_, owner)| *owner == Owner::Library);
        let is_lookalike = |(name, owner): &&(String, Owner)| roles.is_lookalike(name, *owner);
        roles.lookalikes =
            functions.iter().filter(is_lookalike).map(|(name, _)| name.clone()).collect();
        roles
    }

    /// Returns the kernel's names.
    pub const fn api(&self) -> &'a Api {
        self.api
    }

    /// Tells whether a function is named like the kernel's, but is the author's.
    fn is_lookalike(&self, name: &str, owner: Owner) -> bool {
        self.separates && owner == Owner::Author && self.api.is_open(name)
    }

    /// Returns the role of a function with a symbol; `None` if it belongs to whoever called it.
    pub fn of(&self, function: &str) -> Option<Kind> {
        self.api.kind(function).filter(|_| !self.lookalikes.contains(function))
    }

    /// Returns the role of a function that the compiler has inlined.
    pub fn of_inlined(&self, frame: &Frame) -> Option<Kind> {
        let name = frame.function.as_deref()?;
        self.api.kind(name).filter(|_| !self.is_lookalike(name, frame.owner))
    }

    /// Returns the functions with symbols that are the author's, although they are named like the kernel's.
    pub fn lookalikes(&self) -> impl Iterator<Item = &str> {
        self.lookalikes.iter().map(String::as_str)
    }
}
