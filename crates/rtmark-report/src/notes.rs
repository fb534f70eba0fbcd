//! Notes below a table: why a kernel has no answer, and what went wrong.

use rtmark_model::{
    Answer, Failure, FailureKind, HeldInterval, Key, LONE_ENDS_FACT, Provenance, Series,
    WITHOUT_MODEL_FACT, visible,
};

use crate::matrix::grouped;

/// The notes of one table, each text once, numbered from 1.
#[derive(Clone, Debug, Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// Returns the number of a note, adding it if it is new.
    pub fn number(&mut self, text: &str) -> usize {
        let text = one_line(text);
        let index = self.0.iter().position(|note| *note == text).unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        index + 1
    }

    /// Returns the notes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.iter().enumerate().map(|(index, note)| (index + 1, note.as_str()))
    }
}

/// Renders text from outside as one harmless line.
pub fn one_line(text: &str) -> String {
    visible(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names what the cycles of a timing model rest on, one word for each part of it.
pub fn rests_on(provenance: &Provenance) -> Option<String> {
    provenance.timing_basis.map(|basis| format!("timing: {basis}"))
}

/// Returns what a table shows in place of figures: the word, and the note that explains it.
pub fn without_figures(answer: &Answer) -> Option<(&'static str, String)> {
    match answer {
        Answer::Measured(series) if !series.flags.is_empty() => {
            let id = format!("{} {}", series.key.kernel, series.key.scenario);
            let flags: Vec<_> = series.flags.iter().map(ToString::to_string).collect();
            Some(("flagged", format!("{id}: {}", flags.join("; "))))
        }
        Answer::Measured(series) if series.statistics().is_none() && summary(series).is_none() => {
            Some(("no sample", "The series is empty.".into()))
        }
        Answer::Measured(_) => None,
        // Without the kernel's name, as several kernels may share the reason.
        Answer::NotApplicable { reason, .. } => Some(("n/a", reason.clone())),
        Answer::Failed { key, failure } => Some(("FAILED", failure_note(key, failure))),
    }
}

/// Describes a failure. A build fails for many scenarios at once, so the note about it names none of them, and
/// ends before the command, which stderr shows.
fn failure_note(key: &Key, failure: &Failure) -> String {
    if matches!(failure.kind, FailureKind::Build | FailureKind::ToolMissing) {
        format!("{}: {}", key.kernel, failure.problem())
    } else {
        format!("{} {}: {failure}", key.kernel, key.scenario)
    }
}

/// Returns the figure of a summary, and the statistic that it is.
pub fn summary(series: &Series) -> Option<String> {
    let (statistic, value) = series.readings.summarised()?.typical()?;
    let value = if value.fract() == 0.0 && value.abs() < 1e15 {
        grouped(value.abs() as u64)
    } else {
        format!("{value:.1}")
    };
    Some(format!("{statistic} {value}"))
}

/// Returns the remarks about a series: what is unusual about it, and where its figure comes from.
pub fn remarks(series: &Series) -> impl Iterator<Item = String> {
    let of_samples =
        [unpaired_note, hit_note, model_note].into_iter().filter_map(|note| note(series));
    of_samples.chain(series.clock_note()).chain(where_held(series))
}

/// Describes where an interrupt was held back for longest.
fn where_held(series: &Series) -> Option<String> {
    let HeldInterval { by, from, to, .. } = series.held.as_ref()?;
    let Key { kernel, scenario, .. } = &series.key;
    Some(format!("{kernel} {scenario}: by {}, from {from} to {to}", by.join(" and ")))
}

/// Describes that a figure is of few samples, because a tick or an interrupt hit most of them: perhaps it belongs
/// to the span, and the scenario does not say so.
fn hit_note(series: &Series) -> Option<String> {
    let statistics = series.statistics()?;
    let hit = statistics.disturbed?.count;
    let others = statistics.steady.map_or(0, |steady| steady.count);
    let figure = match others {
        0 => "theirs".to_owned(),
        1 => "that of one other sample".to_owned(),
        others => format!("that of {others} other samples"),
    };
    let Key { kernel, scenario, .. } = &series.key;
    (hit > others).then(|| {
        format!(
            "{kernel} {scenario}: a tick or another interrupt hit {hit} of {} samples, and the figure is {figure}; \
             if it belongs to the span, say so with `ticks` or `interrupts` of the scenario.",
            statistics.count
        )
    })
}

/// Says what the program of a series has used that has no model.
fn model_note(series: &Series) -> Option<String> {
    let what = series.facts.get(WITHOUT_MODEL_FACT)?;
    Some(format!("{} {}: {}.", series.key.kernel, series.key.scenario, one_line(what)))
}

/// Describes the hits of a series' probes that are no samples.
fn unpaired_note(series: &Series) -> Option<String> {
    let restarted = match series.unpaired.restarted {
        0 => None,
        1 => Some("1 span was restarted before the end, and not counted".to_owned()),
        spans => Some(format!("{spans} spans were restarted before the end, and not counted")),
    };
    let ends = series.facts.get(LONE_ENDS_FACT).map(|ends| {
        let (spans, were) = if ends == "1" { ("span", "was") } else { ("spans", "were") };
        format!("{} {spans} ended without a begin, and {were} not counted", one_line(ends))
    });
    let parts: Vec<_> = restarted.into_iter().chain(ends).collect();
    let id = format!("{} {}", series.key.kernel, series.key.scenario);
    (!parts.is_empty()).then(|| format!("{id}: {}.", parts.join("; ")))
}
