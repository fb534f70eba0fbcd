//! Why the code of a figure cannot be compared.

use std::fmt;

use rtmark_firmware::code::CodeError;
use rtmark_model::ScenarioId;
use rtmark_runner::Build;

/// Why the code that two figures' spans execute cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotComparable {
    /// Neither image is kept any more.
    NeitherKept,
    /// One of the runs cannot be repeated.
    Run(Build, NotRepeatable),
    /// One of the images has code that cannot be compared.
    Code(Build, CodeError),
}

/// Why a run cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRepeatable {
    /// Its image is not kept any more.
    NotKept,
    /// Its image cannot be read, and why.
    Image(String),
    /// The catalogue does not have the scenario.
    Scenario(ScenarioId),
    /// There is no file for this soc.
    NoSocFile(String),
    /// The file for this soc is not the one that was used.
    OtherSocFile(String),
    /// It did not run.
    Failed(String),
}

fn word(build: Build) -> &'static str {
    match build {
        Build::Earlier => "earlier",
        Build::Later => "later",
    }
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeitherKept => f.write_str("the build folder no longer holds either image"),
            Self::Run(build, NotRepeatable::NotKept) => {
                write!(f, "the build folder no longer holds the {} image", word(*build))
            }
            Self::Run(build, NotRepeatable::Image(error)) => {
                write!(f, "the {} image cannot be read: {error}", word(*build))
            }
            Self::Run(_, NotRepeatable::Scenario(id)) => {
                write!(f, "the catalogue no longer has `{id}`")
            }
            Self::Run(_, NotRepeatable::NoSocFile(soc)) => write!(
                f,
                "there is no soc file for `{soc}`; name it under `soc` in rtmark.toml, as in \
                 soc = [\"path/to/it.toml\"]"
            ),
            Self::Run(_, NotRepeatable::OtherSocFile(soc)) => {
                write!(f, "the soc file of `{soc}` has been edited since")
            }
            Self::Run(build, NotRepeatable::Failed(error)) => {
                write!(f, "the {} run cannot be repeated: {error}", word(*build))
            }
            Self::Code(build, error @ CodeError::Unreadable(_)) => {
                write!(f, "the {} image: {error}", word(*build))
            }
            Self::Code(_, error) => error.fmt(f),
        }
    }
}
