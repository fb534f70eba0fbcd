//! The rules of the pipeline model by name, so that each can be left out to see what it is worth.

/// A rule of the pipeline model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {}

impl Rule {
    /// Every rule there is.
    pub const ALL: &[Self] = &[];

    /// Its name, in a few words.
    pub const fn name(self) -> &'static str {
        match self {}
    }

    /// What shows it: a manual's section, or the measurements.
    pub const fn source(self) -> &'static str {
        match self {}
    }
}
