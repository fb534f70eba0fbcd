//! Sums up a run in sentences. Each is written by a rule from the run's figures, and links to them; a
//! rule without figures writes nothing.

use rtmark_model::{HeldInterval, Line, Place, ScenarioId, Victim};
use rtmark_units::{Cycles, Hertz};

use crate::groups::Group;
use crate::matrix::{Block, FLOOR, KernelColumn, grouped, short_time};
use crate::notes::one_line;
use crate::rank::{Ranking, times};

/// Returns the scenario whose figure is the longest wait of an interrupt under the mixed load.
pub const fn held_scenario(victim: Victim) -> &'static str {
    match victim {
        Victim::MostUrgent => "load.held.most_urgent",
        Victim::MayCall => "load.held.may_call",
    }
}

/// A sentence, and the figures behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The sentence.
    pub text: String,
    /// The part of the report that shows its figures.
    pub evidence: Evidence,
}

/// A part of a report that a sentence links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The row of a scenario.
    Row(String),
    /// The table of all scenarios.
    Table,
}

/// The longest wait of an interrupt with one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'a> {
    /// The kernel's column.
    pub column: KernelColumn<'a>,
    /// The chip's clock.
    pub clock: Hertz,
    /// How long the interrupt was held back, and where.
    pub held: &'a HeldInterval,
}

/// Returns the longest waits of one interrupt, by column.
pub fn waits<'a>(block: &Block<'a>, victim: Victim) -> Vec<Wait<'a>> {
    let named = |scenario: &&&ScenarioId| scenario.as_str() == held_scenario(victim);
    let Some(scenario) = block.scenarios.iter().find(named) else { return Vec::new() };
    let wait = |column: &KernelColumn<'a>| {
        let series = block.answer(scenario, *column)?.series()?;
        let held = series.held.as_ref().filter(|_| series.flags.is_empty())?;
        Some(Wait { column: *column, clock: series.clock, held })
    };
    block.kernels.iter().filter_map(wait).collect()
}

/// Formats the lines between which an interrupt is held back: `at src/exec.rs:545`, or `from one to
/// another`.
pub fn lines(held: &HeldInterval) -> Option<String> {
    let first = &held.from.source()?.line;
    let from = spot(&held.from, first);
    match held.to.source().map(|source| source.line).as_ref().filter(|last| *last != first) {
        // If both are in the same file, its name appears once.
        Some(last) if last.file == first.file => Some(format!("from {from} to {}", last.line)),
        Some(last) => Some(format!("from {from} to {}", spot(&held.to, last))),
        None => Some(format!("at {from}")),
    }
}

/// The folder in which Rust keeps the sources of its own library.
const LIBRARY: &str = "/library/";

/// Formats a line with the last parts of its file's path. A line of the language's own library means
/// little without the function that it was inlined into.
fn spot(place: &Place, line: &Line) -> String {
    if let Some((_, own)) = line.file.rsplit_once(LIBRARY) {
        let of_library =
            |name: &&String| ["core::", "alloc::", "std::"].iter().any(|of| name.starts_with(of));
        let mut inner = place.callers.iter().chain(&place.function);
        let function = inner.rfind(|name| !of_library(name)).or(place.function.as_ref());
        let function = function.and_then(|name| name.split('<').next()).unwrap_or_default();
        return one_line(&format!("{function} ({own}:{})", line.line));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in line.file.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    // A folder called `src` carries no information, but the crate's name does.
    let sources = parts.len() > 2 && parts[parts.len() - 2] == "src";
    let kept = if sources { 3 } else { 2 };
    let file = parts[parts.len().saturating_sub(kept)..].join("/");
    one_line(&format!("{file}:{}", line.line))
}

/// Returns the sentences of a block, at most one of each rule.
pub fn findings(block: &Block<'_>) -> Vec<Finding> {
    [held(block), fastest(block), widest(block)].into_iter().flatten().collect()
}

/// Compares how long the kernels hold back the most urgent interrupt, and names the responsible line.
fn held(block: &Block<'_>) -> Option<Finding> {
    let mut waits = waits(block, Victim::MostUrgent);
    waits.retain(|wait| wait.column.0.as_str() != FLOOR);
    waits.sort_by_key(|wait| wait.held.cycles);
    let (least, most) = (waits.first()?, waits.last()?);
    let long = |wait: &Wait<'_>| {
        let cycles = wait.held.cycles;
        let time = short_time(Cycles(cycles).at(wait.clock));
        format!("{} cycles ({time})", grouped(cycles))
    };
    let line =
        |wait: &Wait<'_>| lines(wait.held).map(|lines| format!(", {lines}")).unwrap_or_default();
    let (best, worst) = (block.name(least.column), block.name(most.column));
    let text = if waits.len() == 1 {
        format!(
            "Under a mixed load, {best} holds back the most urgent interrupt for up to {}{}.",
            long(least),
            line(least)
        )
    } else if least.held.cycles == most.held.cycles {
        format!(
            "Under one mixed load, every kernel holds back the most urgent interrupt for up to {}.",
            long(least)
        )
    } else if least.held.by == ["one instruction"] {
        format!(
            "Under one mixed load, {best} never holds back the most urgent interrupt for longer \
             than one instruction takes; {worst} does so for up to {}{}.",
            long(most),
            line(most)
        )
    } else {
        format!(
            "Under one mixed load, {best} holds back the most urgent interrupt least, for {} cycles; \
             {worst} does so most, for {}{}.",
            grouped(least.held.cycles),
            long(most),
            line(most)
        )
    };
    let row = held_scenario(Victim::MostUrgent).to_owned();
    Some(Finding { text, evidence: Evidence::Row(row) })
}

/// Names the kernel that is most often the fastest.
fn fastest(block: &Block<'_>) -> Option<Finding> {
    let mut wins: Vec<(KernelColumn<'_>, u64)> = Vec::new();
    let mut contested = 0_u64;
    for scenario in block.rows() {
        let Some(ranking) = Ranking::of(block, scenario) else { continue };
        contested += u64::from(ranking.figures().len() > 1);
        for winner in ranking.winners() {
            match wins.iter_mut().find(|(column, _)| *column == winner) {
                Some((_, count)) => *count += 1,
                None => wins.push((winner, 1)),
            }
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (winner, most) = *wins.first().filter(|_| contested > 1)?;
    let first = format!("{} is the fastest in {most}", block.name(winner));
    let others = wins.iter().skip(1).take(2);
    let others: Vec<_> =
        others.map(|(column, count)| format!("{} in {count}", block.name(*column))).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        [one] => format!(" and {one}"),
        several => format!(", {}", several.join(" and ")),
    };
    let text = format!("Of {contested} operations that several kernels offer, {first}{others}.");
    Some(Finding { text, evidence: Evidence::Table })
}

/// Names the operation in which the kernels differ most, among those that represent a group and that
/// more than half of the kernels have.
fn widest(block: &Block<'_>) -> Option<Finding> {
    let all = block.kernels.iter().filter(|column| column.0.as_str() != FLOOR).count();
    let mut widest: Option<(f64, _, _, _)> = None;
    for headline in Group::ALL.iter().flat_map(|group| group.headlines()) {
        let mut rows = block.rows();
        let Some(scenario) = rows.find(|id| id.as_str() == headline.scenario) else { continue };
        let ranking = Ranking::of(block, scenario);
        let common = ranking.filter(|ranking| ranking.figures().len() * 2 > all);
        let extremes = common.and_then(|ranking| ranking.extremes());
        let Some([fast, slow]) = extremes.filter(|[fast, _]| fast.1 > 0) else { continue };
        let ratio = slow.1 as f64 / fast.1 as f64;
        if widest.as_ref().is_none_or(|(known, ..)| ratio > *known) {
            widest = Some((ratio, headline, fast, slow));
        }
    }
    let (_, headline, fast, slow) = widest?;
    let unit = block.basis.map_or("", |basis| basis.name());
    let text = format!(
        "{} takes {} {} {unit}, but {} {}: {} times as many.",
        headline.activity,
        block.name(fast.0),
        grouped(fast.1),
        block.name(slow.0),
        grouped(slow.1),
        times(slow.1, fast.1)
    );
    Some(Finding { text, evidence: Evidence::Row(headline.scenario.to_owned()) })
}
