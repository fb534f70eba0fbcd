//! Files that hold a part of a search: one computer's share, or the state of an interrupted search.
//!
//! A part also contains the question, the firmware and the soc. Parts are merged only if all of these are
//! equal, and merging needs no other files.

use std::path::Path as FilePath;

use rtmark_firmware::sha256;
use rtmark_model::ScenarioId;
use rtmark_runner::socs;
use rtmark_sim::{Image, TIMING_MODEL};
use rtmark_worst::{Findings, Question};
use serde::{Deserialize, Serialize};

use super::subject::Subject;
use crate::commands::inputs::Inputs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::part_file::{Form, refuse};

const FORM: Form = Form {
    magic: b"RTMARKWC",
    version: 6,
    what: "a part of a search",
    made_by: "rtmark worst --state FILE",
};

/// A part of a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    timing_model: String,
    kernel: Option<String>,
    scenario: Option<String>,
    soc_name: String,
    soc: String,
    path: String,
    elf: Vec<u8>,
    pub question: Question,
    pub findings: Findings,
}

impl Part {
    pub fn new(subject: &Subject, question: &Question, findings: Findings) -> Self {
        Self {
            timing_model: TIMING_MODEL.to_owned(),
            kernel: subject.kernel.clone(),
            scenario: subject.scenario.as_ref().map(ToString::to_string),
            soc_name: subject.soc.origin.clone(),
            soc: subject.soc.text.clone(),
            path: subject.path.clone(),
            elf: subject.elf.clone(),
            question: question.clone(),
            findings,
        }
    }

    /// Returns whether both are parts of the same search. The image's path does not matter.
    pub fn is_same_search(&self, other: &Self) -> bool {
        (&self.timing_model, &self.scenario, &self.soc, &self.elf, &self.question)
            == (&other.timing_model, &other.scenario, &other.soc, &other.elf, &other.question)
    }

    /// Returns the program that is searched.
    pub fn subject(&self, path: &FilePath) -> Result<Subject, CliError> {
        let again = FORM.retry_hint();
        let image = Image::from_elf(&self.elf).map_err(|error| refuse(path, error, &again))?;
        let scenario: Option<ScenarioId> = match &self.scenario {
            Some(id) => Some(id.parse().map_err(|error| refuse(path, error, &again))?),
            None => None,
        };
        Ok(Subject {
            kernel: self.kernel.clone(),
            scenario,
            soc: socs::from_text(&self.soc_name, &self.soc)?.for_image(&image),
            path: self.path.clone(),
            elf: self.elf.clone(),
            image,
            sha256: sha256(&self.elf),
            may_call: None,
            until_output: None,
            inputs: Inputs::default(),
        })
    }

    /// Returns whether a file starts like a part.
    pub fn is_in(path: &FilePath) -> Result<bool, CliError> {
        FORM.is_of(path)
    }

    pub fn read(path: &FilePath) -> Result<Self, CliError> {
        let contents = FORM.read(path)?;
        let part: Self =
            postcard::from_bytes(&contents).map_err(|error| FORM.damaged(path, error))?;
        if part.timing_model != TIMING_MODEL {
            let problem = format!(
                "created with timing model {}, but this rtmark has {TIMING_MODEL}, whose cycles differ",
                part.timing_model
            );
            return Err(refuse(path, problem, FORM.retry_hint()));
        }
        Ok(part)
    }

    pub fn write(&self, path: &FilePath) -> Result<(), CliError> {
        let contents = postcard::to_allocvec(self).map_err(|error| {
            CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
        })?;
        FORM.write(path, &contents)
    }
}
