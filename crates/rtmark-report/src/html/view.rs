//! The unit that a page shows at a time: a chip in one build of one run.

use rtmark_model::{Backend, Basis, Series};

use crate::matrix::{Block, KernelColumn, blocks_by_profile};
use crate::notes::{one_line, rests_on};
use crate::report::{Report, RunFacts};

/// A chip in one build of one run.
#[derive(Debug)]
pub struct View<'a> {
    /// Counted from 1, in page order.
    pub number: usize,
    /// The run that it belongs to.
    pub run: Option<&'a RunFacts>,
    /// Its answers.
    pub block: Block<'a>,
    /// Its name among chips.
    pub chip: String,
    /// Its name among the builds of the same chip.
    pub build: String,
}

impl<'a> View<'a> {
    /// Returns the id of a part of the view.
    pub fn id(&self, part: &str) -> String {
        format!("{part}-{}", self.number)
    }

    /// Returns the id of a scenario's row or other part.
    pub fn id_of(&self, part: &str, scenario: &str) -> String {
        format!("{part}{}-{scenario}", self.number)
    }

    /// Returns what is counted, in one word.
    pub fn unit(&self) -> &'static str {
        self.block.basis.map_or("", Basis::name)
    }

    /// Returns the name of a column.
    pub fn name(&self, column: KernelColumn<'a>) -> String {
        self.block.name(column)
    }

    /// Returns the clock in hertz, if cycles are counted.
    pub fn clock(&self) -> Option<u32> {
        let series = self.block.any_series()?;
        (series.basis == Basis::Cycles && series.clock.0 > 0).then_some(series.clock.0)
    }

    /// Describes how the figures were made, in one line.
    pub fn about(&self) -> String {
        let block = &self.block;
        let profile = one_line(block.profile().unwrap_or_default());
        let built = crate::unequal::built(block);
        let build = format!("profile {profile}{built}");
        let Some(series) = block.any_series() else { return build };
        let core = one_line(&series.provenance.core);
        format!("{core} at {}, {build}", series.clock)
    }

    /// Describes what the figures rest on, in a sentence.
    pub fn rests_on(&self) -> String {
        let block = &self.block;
        let backend = match block.backend {
            Backend::Sim => "Counted by the simulator".to_owned(),
            other => format!("Counted on backend {other}"),
        };
        let Some(series) = block.any_series() else { return backend + "." };
        let of = |series: &Series| {
            let model = series.provenance.timing_model.as_deref();
            let model = model.map(|model| format!(", timing model {}", one_line(model)));
            let basis = rests_on(&series.provenance).map(|basis| format!("; {basis}"));
            model.unwrap_or_default() + &basis.unwrap_or_default()
        };
        format!("{backend}{}.", of(series))
    }
}

/// Returns the views of a report in the order of its runs.
pub fn views<'a>(report: &Report<'a>) -> Vec<View<'a>> {
    let mut views: Vec<View<'a>> = Vec::new();
    let first = (report.run, report.answers);
    let runs = std::iter::once(first)
        .chain(report.runs.iter().map(|other| (Some(&other.run), other.answers.as_slice())));
    for (run, answers) in runs {
        for block in blocks_by_profile(answers) {
            let number = views.len() + 1;
            let chip = chip(&block);
            views.push(View { number, run, block, chip, build: String::new() });
        }
    }
    let builds: Vec<String> = views.iter().map(|view| build(view, &views)).collect();
    for (view, build) in views.iter_mut().zip(builds) {
        view.build = build;
    }
    views
}

fn chip(block: &Block<'_>) -> String {
    let mut name = one_line(block.soc);
    if block.backend != Backend::Sim {
        name = format!("{name}, {}", block.backend);
    }
    match block.basis {
        Some(Basis::Instructions) if block.backend == Backend::Sim => name + ", instructions",
        _ => name,
    }
}

/// Returns what distinguishes a view from the others: its profile if they have several, its commit, or
/// its run.
fn build(view: &View<'_>, all: &[View<'_>]) -> String {
    let profile = |view: &View<'_>| one_line(view.block.profile().unwrap_or_default());
    let commit = |view: &View<'_>| {
        let commit = view.run.and_then(|run| run.revision.as_deref()).unwrap_or_default();
        one_line(commit).chars().take(8).collect::<String>()
    };
    let run = |view: &View<'_>| view.run.map(|run| one_line(&run.id)).unwrap_or_default();
    let differs = |of: &dyn Fn(&View<'_>) -> String| all.iter().any(|other| of(other) != of(view));
    // Runs are distinguished only if profiles and commits are equal.
    let alike = |other: &&View<'_>| {
        profile(other) == profile(view) && commit(other) == commit(view) && run(other) != run(view)
    };
    let mut parts = Vec::new();
    if differs(&profile) || !differs(&commit) {
        parts.push(profile(view));
    }
    if differs(&commit) {
        parts.push(format!("commit {}", commit(view)));
    }
    if all.iter().any(|other| alike(&other)) {
        parts.push(format!("run {}", run(view)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}
