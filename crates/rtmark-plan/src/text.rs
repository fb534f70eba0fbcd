//! Plans as tables, for terminals and as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::answer::{
    CostFigure, CostsOf, Document, KernelPlan, QueueRun, RunPlan, TaskPlan, WakePlan,
};
use crate::sweep::{Sweep, megahertz};
use crate::term::Kind;

/// A table: rows of cells, the first row being the heading.
struct Columns {
    rows: Vec<Vec<String>>,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text for terminals.
    Text,
    /// GitHub-flavoured Markdown.
    Markdown,
}

impl Columns {
    fn new(heads: &[&str]) -> Self {
        Self { rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()] }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A name may contain characters that would end the cell.
        let plain = |cell: String| cell.replace(['\n', '\r', '\t'], " ").replace('|', "/");
        self.rows.push(cells.into_iter().map(plain).collect());
    }

    /// Renders the table: columns of numbers are right-aligned, others and the first column
    /// left-aligned.
    fn render(&self, form: Form) -> String {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let numbers = |at: usize| {
            let looks = |text: &str| {
                text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            };
            at > 0 && self.rows[1..].iter().all(|row| looks(&cell(row, at)))
        };
        let width = |at: usize| {
            self.rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or(0)
        };
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = (0..count).map(|at| {
                let (cell, width) = (cell(row, at), width(at));
                if numbers(at) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let cells: Vec<_> = cells.collect();
            match form {
                Form::Text => {
                    let _ = writeln!(text, "{}", cells.join("  ").trim_end());
                }
                Form::Markdown => {
                    let _ = writeln!(text, "| {} |", cells.join(" | "));
                    if number == 0 {
                        let rule = |at| if numbers(at) { "--:" } else { "---" };
                        let rules: Vec<_> = (0..count).map(rule).collect();
                        let _ = writeln!(text, "|{}|", rules.join("|"));
                    }
                }
            }
        }
        text
    }
}

/// Formats a number with its digits in groups of three.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

fn cycles(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| grouped(number as i64))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.1}"))
}

impl Document {
    /// Renders it for people or pages.
    pub fn text(&self, form: Form) -> String {
        let mut text = String::new();
        let title =
            format!("{} on {} at {} Hz", self.file, self.soc, grouped(self.clock_hz as i64));
        let _ = match form {
            Form::Text => writeln!(text, "{title}\n"),
            Form::Markdown => writeln!(text, "# {title}\n"),
        };
        let mut columns = Columns::new(&SUMMARY);
        for plan in &self.kernels {
            columns.row(plan.summary());
        }
        text.push_str(&columns.render(form));
        for plan in &self.kernels {
            text.push_str(&plan.text(form));
        }
        text
    }
}

/// The columns of the summary, which has one row per kernel.
const SUMMARY: [&str; 9] = [
    "kernel",
    "verdict",
    "costs of",
    "load %",
    "breakdown %",
    "clock %",
    "slack",
    "slack %",
    "worst task",
];

impl Sweep {
    /// Renders it for people or pages.
    pub fn text(&self, form: Form) -> String {
        let mut text = String::new();
        if let Some(first) = self.points.first() {
            let title = format!("{} on {}, by clock and tick", first.file, first.soc);
            let _ = match form {
                Form::Text => writeln!(text, "{title}\n"),
                Form::Markdown => writeln!(text, "# {title}\n"),
            };
        }
        let heads: Vec<&str> = ["clock MHz", "tick Hz"].into_iter().chain(SUMMARY).collect();
        let mut columns = Columns::new(&heads);
        for (point, plan) in self.rows() {
            let tick = point.tick_hz.map_or_else(|| "-".to_owned(), |hertz| hertz.to_string());
            columns.row([megahertz(point.clock_hz), tick].into_iter().chain(plan.summary()));
        }
        text.push_str(&columns.render(form));
        text.push('\n');
        let mut notes: Vec<_> = self.rows().flat_map(|(_, plan)| plan.notes.clone()).collect();
        notes.sort();
        notes.dedup();
        for sentence in self.sentences().into_iter().chain(notes) {
            let _ = match form {
                Form::Text => writeln!(text, "{sentence}"),
                Form::Markdown => writeln!(text, "- {sentence}"),
            };
        }
        text
    }
}

impl KernelPlan {
    /// Returns the cells of the columns in [`SUMMARY`].
    fn summary(&self) -> [String; 9] {
        let worst = self.worst();
        [
            self.kernel.clone(),
            self.verdict.name().to_owned(),
            self.costs_of.name().to_owned(),
            percent(Some(self.utilisation_percent)),
            percent(self.breakdown_percent),
            percent(self.slowest_clock_percent),
            worst.and_then(|task| task.slack).map_or_else(|| "-".to_owned(), grouped),
            percent(worst.and_then(TaskPlan::slack_percent)),
            worst.map(|task| task.name.clone()).unwrap_or_default(),
        ]
    }

    fn text(&self, form: Form) -> String {
        let mut text = String::new();
        let title = format!("{} {} ({}): {}", self.kernel, self.version, self.profile, self.order);
        let _ = match form {
            Form::Text => writeln!(text, "\n{title}\n"),
            Form::Markdown => writeln!(text, "\n## {title}\n"),
        };
        text.push_str(&self.bounds().render(form));
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        for task in &self.tasks {
            if let Some(why) = &task.no_bound {
                let _ = writeln!(text, "\n{} has no bound: {why}.", task.name);
            }
        }
        let bounded: Vec<_> = self.tasks.iter().filter(|task| task.response.is_some()).collect();
        if !bounded.is_empty() {
            text.push_str("\nTerms of the bounds, in cycles:\n\n");
            text.push_str(&bars(&bounded).render(form));
        }
        if !self.costs.is_empty() {
            let _ = writeln!(text, "\nCosts of the kernel, {}:\n", self.costs_of.description());
            text.push_str(&costs(&self.costs).render(form));
        }
        for missing in &self.missing {
            let _ = writeln!(text, "\n{missing}.");
        }
        if let Some(first) = self.sensitivity.first() {
            let _ = writeln!(
                text,
                "\nWithout {}, the least slack would be {} cycles larger.",
                first.cost.name(),
                grouped(first.cycles)
            );
        }
        if let Some(run) = &self.run {
            text.push_str(&ran(run, self.utilisation_percent, form));
            let of_suite = self.of_suite.iter().flat_map(|suite| &suite.tasks);
            for (task, run) in of_suite.zip(&run.tasks) {
                if task.response.is_some_and(|bound| run.longest > bound) {
                    let _ = writeln!(
                        text,
                        "\n{} took longer than the bound made with the suite's costs: the kernel \
                         costs more in this image.",
                        task.name
                    );
                }
            }
        }
        text
    }

    /// Returns the table of bounds. If the bounds rest on the image's costs, an extra column has
    /// those from the suite's costs.
    fn bounds(&self) -> Columns {
        let heads = ["task", "priority", "deadline", "bound", "slack", "slack %"];
        let beside = self.of_suite.as_ref().map(|_| "bound, suite's costs");
        let mut columns = Columns::new(&heads.into_iter().chain(beside).collect::<Vec<_>>());
        for (at, task) in self.tasks.iter().enumerate() {
            let suite = self
                .of_suite
                .as_ref()
                .map(|suite| cycles(suite.tasks.get(at).and_then(|task| task.response)));
            let cells = [
                task.name.clone(),
                task.priority.to_string(),
                cycles(Some(task.deadline)),
                cycles(task.response),
                task.slack.map_or_else(|| "-".to_owned(), grouped),
                percent(task.slack_percent()),
            ];
            columns.row(cells.into_iter().chain(suite));
        }
        columns
    }
}

impl CostsOf {
    /// Describes where the costs were measured, and what that means for the verdict.
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Suite => {
                "measured in the suite's images: at other code addresses it may cost more, and \
                 `--run` measures the image that runs"
            }
            Self::Image => "measured in the image that ran the set",
        }
    }
}

fn costs(costs: &[CostFigure]) -> Columns {
    let mut columns = Columns::new(&["cost", "cycles", "least", "samples", "measured as"]);
    for cost in costs {
        let figure = &cost.figure;
        columns.row([
            cost.what.clone(),
            grouped(figure.cycles as i64),
            grouped(figure.least as i64),
            grouped(figure.samples as i64),
            figure.scenario.clone(),
        ]);
    }
    columns
}

/// Renders the results of runs. `load` is the load that the file states, in percent.
fn ran(run: &RunPlan, load: f64, form: Form) -> String {
    if let Some(why) = &run.not_run {
        return format!("\nNot run: {why}.\n");
    }
    let mut text = format!(
        "\nThe set on the kernel's own binary, from {} combinations of offsets, with bounds from \
         that image's costs:\n\n",
        run.offsets_tried
    );
    let mut columns =
        Columns::new(&["task", "longest", "bound", "gap %", "jobs", "job", "released in"]);
    for task in &run.tasks {
        let witness = task.witness.as_ref();
        columns.row([
            task.name.clone(),
            grouped(task.longest as i64),
            cycles(task.bound),
            percent(task.gap_percent()),
            grouped(task.jobs as i64),
            cycles(witness.map(|it| it.job)),
            cycles(witness.map(|it| it.released)),
        ]);
    }
    text.push_str(&columns.render(form));
    for task in run.tasks.iter().filter(|task| task.exceeds_bound()) {
        let _ = writeln!(
            text,
            "\n{} took longer than its bound: either the analysis is wrong, or the kernel does \
             something that it does not know.",
            task.name
        );
    }
    for queue in &run.queues {
        let _ = writeln!(text, "\n{}", queue.sentence());
    }
    if let Some(wake) = run.wake {
        let _ = writeln!(text, "\n{}", wake.sentence(load));
    }
    if let Some(share) = run.breakdown_percent {
        let _ =
            writeln!(text, "\nIn runs, the first deadline is missed above a load of {share:.1} %.");
    }
    text
}

impl QueueRun {
    /// Describes the queue's traffic in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { name, sent, received, lost } = self;
        let (sent, received) = (grouped(*sent as i64), grouped(*received as i64));
        let traffic = format!(
            "{sent} messages were sent through {name}, and {received} of them had been received \
             when the runs ended"
        );
        if *lost == 0 {
            return format!("{traffic}; none was lost.");
        }
        format!("{traffic}. LOST: {}, because the queue was full.", grouped(*lost as i64))
    }
}

impl WakePlan {
    /// Describes the awake time in a sentence. `load` is the load stated for tasks and handlers, in
    /// percent.
    pub(crate) fn sentence(self, load: f64) -> String {
        if self.awake == self.cycles {
            return "In runs, the processor never sleeps: it is never idle, or the kernel's idle \
                    task spins."
                .to_owned();
        }
        let awake = self.awake_percent();
        format!(
            "In runs, the processor is awake for {awake:.1} % of the time and asleep for {:.1} %; \
             tasks and handlers demand {load:.1} %.",
            100.0 - awake
        )
    }
}

/// Returns the table of terms: a row per kind, a column per task.
fn bars(tasks: &[&TaskPlan]) -> Columns {
    let heads = std::iter::once("term").chain(tasks.iter().map(|task| task.name.as_str()));
    let mut columns = Columns::new(&heads.collect::<Vec<_>>());
    let of = |task: &TaskPlan| {
        let mut sums: BTreeMap<Kind, i64> = BTreeMap::new();
        for term in &task.terms {
            *sums.entry(term.kind).or_default() += term.cycles;
        }
        sums
    };
    let all: Vec<_> = tasks.iter().map(|task| of(task)).collect();
    for kind in Kind::ALL {
        if all.iter().any(|sums| sums.contains_key(&kind)) {
            let cells =
                all.iter().map(|sums| sums.get(&kind).copied().map_or_else(String::new, grouped));
            columns.row(std::iter::once(kind.name().to_owned()).chain(cells));
        }
    }
    columns
}
