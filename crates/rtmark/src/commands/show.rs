//! `rtmark show`, and the output of log rows, shared with `rtmark import`

use std::io;

use clap::Args;
use rtmark_model::{Answer, Catalogue};
use rtmark_report::ImportedRows;
use rtmark_store::{Kind, RunInfo, Store};

use crate::cli::Verbosity;
use crate::commands::run::{Format, render};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::shelf::{self, Filter, StoreFlag, Unmatched, answers, moment, run_of, short};

/// Show the results of a run in the store
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark show                                the newest complete run
  rtmark show imported                       the newest import
  rtmark show latest~1 --format csv          the run before the newest, for a spreadsheet
  rtmark show v1.0 -k freertos -s 'queue.*'  some results of the run at a tag")]
pub struct Arguments {
    /// Run: `latest`, `latest~1`, `imported`, a name, the start of an id, or a commit
    #[arg(default_value = "latest", value_name = "RUN")]
    run: String,
    #[command(flatten)]
    filter: Filter,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let store = self.store.clone().open_existing(&Config::load()?)?;
        let run = run_of(&store, &self.run, verbosity)?;
        let rows = match self.format {
            _ if run.kind != Kind::Imported => None,
            Format::Table => Some(Rows::Table),
            Format::Json => Some(Rows::Json),
            Format::Csv => Some(Rows::Csv),
            _ => None,
        };
        if let Some(rows) = rows {
            self.rows(rows, &store, &run)?;
        } else {
            let answers = answers(&store, &[&run], &self.filter)?.concat();
            output::data(&render(self.format, &answers)?)?;
        }
        if !verbosity.quiet {
            let state = if run.finished_ms.is_some() { "" } else { ", incomplete" };
            let commit =
                run.revision.map(|commit| format!(", commit {commit}")).unwrap_or_default();
            let when = moment(run.started_ms);
            say(format!("run {} of {when} UTC{commit}{state}", short(&run.id)));
        }
        Ok(Exit::Fine)
    }

    /// Shows imported rows in their original order, one page at a time.
    fn rows(&self, rows: Rows, store: &Store, run: &RunInfo) -> Result<(), CliError> {
        let (mut behind, mut failed) = (0, None);
        let mut unmatched = Unmatched::new(&self.filter);
        let mut pages = std::iter::from_fn(|| {
            loop {
                let page = match store.page(run, behind, PAGE) {
                    Ok(page) => page,
                    Err(error) => {
                        failed = Some(error);
                        return None;
                    }
                };
                behind = page.last()?.0;
                let wanted = |(_, answer): (i64, Answer)| {
                    unmatched.see(answer.key());
                    self.filter.accepts_key(answer.key()).then_some(answer)
                };
                let page: Vec<_> = page.into_iter().filter_map(wanted).collect();
                if !page.is_empty() {
                    return Some(page);
                }
            }
        });
        let Some(first) = pages.next() else {
            return Err(match failed {
                Some(error) => error.into(),
                None => unmatched.error(store, &[run]).unwrap_or_else(|| shelf::no_match(run)),
            });
        };
        rows.show(std::iter::once(first).chain(pages), &Catalogue::builtin()?)?;
        let failed = failed.map(CliError::from).or_else(|| unmatched.error(store, &[run]));
        failed.map_or(Ok(()), Err)
    }
}

/// How many rows are read at a time; column widths are computed per page.
pub const PAGE: usize = 1024;

/// The output formats of log rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Table,
    Json,
    Csv,
}

impl Rows {
    /// Prints pages of rows.
    pub fn show(
        self,
        pages: impl Iterator<Item = Vec<Answer>>,
        catalogue: &Catalogue,
    ) -> Result<(), CliError> {
        match self {
            Self::Table => {
                let mut rows = ImportedRows::new(catalogue, output::width());
                for page in pages {
                    output::data(&rows.add(&page))?;
                }
            }
            Self::Csv => {
                let mut head = 0;
                for page in pages {
                    let text = rtmark_report::csv(&page).map_err(|error| {
                        CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
                    })?;
                    output::data(text.get(head..).unwrap_or_default())?;
                    // Only the first page has a header line.
                    head = text.find('\n').map_or(0, |end| end + 1);
                }
            }
            Self::Json => rtmark_report::json_to(Stdout, GENERATOR, pages.flatten())?,
        }
        Ok(())
    }
}

/// Stdout as a writer that ignores a closed pipe.
struct Stdout;

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        output::raw(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
