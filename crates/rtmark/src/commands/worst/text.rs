//! Formats the findings of a search as text.

use std::fmt::Write as _;

use rtmark_model::Place;
use rtmark_sim::{Hertz, Irq};
use rtmark_worst::{SLICES, Share};

use super::report::{Found, SecondReport, Stretch, WorstCase, called};
use crate::output::count;

/// The maximum number of races that are shown.
const RACES: usize = 10;
/// The maximum number of functions that are named as not executed.
const NOT_EXECUTED: usize = 12;

/// Writes how many points have no result, and why.
fn write_missing(text: &mut String, points: u64, first: Option<u64>, why: &[(String, u64)]) {
    let why: Vec<_> = why.iter().map(|(why, points)| format!("; at {points}: {why}")).collect();
    let first = first.unwrap_or_default();
    let _ = writeln!(
        text,
        "    no result at {}, the first in cycle {first}{}",
        count(points, "point"),
        why.concat()
    );
}

impl Found {
    /// Returns the title of the findings.
    pub fn title(&self) -> String {
        let name = match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario}"),
            (_, Some(scenario)) => format!("{} {scenario}", self.image),
            _ => self.image.clone(),
        };
        format!("{name} on {} ({})", self.soc, self.core)
    }

    /// Formats all findings; `part` is the part of the search that was asked for and is complete.
    pub fn text(&self, part: Option<Share>) -> String {
        let mut text = String::new();
        self.write_question(part, &mut text);
        self.write_latencies(&mut text);
        if let Some(second) = &self.second {
            second.write(&mut text, self.interrupt);
        }
        if let Some(checked) = self.checked {
            self.write_races(&mut text, checked);
        }
        for timed in &self.latencies {
            let _ = writeln!(text, "\n{}, along the path (maximum of each section)", timed.text);
            let _ = writeln!(text, "  {}", spark(&timed.along_the_path));
            let mut word = "worst";
            for witness in timed.witnesses.iter().take(3) {
                // Of a worst case that could not be run again there is no witness.
                if witness.cycles < timed.max {
                    word = "next ";
                }
                witness.write(&mut text, word);
                word = "next ";
            }
        }
        let held = [
            ("longest stretches in which the interrupt was held back", &self.held_back),
            ("longest stretch of each cause alone", &self.held_back_by_one),
        ];
        for (title, stretches) in held {
            if !stretches.is_empty() {
                let _ = writeln!(text, "\n{title}");
            }
            for stretch in stretches {
                stretch.write(&mut text);
            }
        }
        self.write_reach(&mut text);
        text
    }

    /// Writes the question, and how much of it was searched.
    fn write_question(&self, part: Option<Share>, text: &mut String) {
        let part = match part {
            _ if self.complete => "all searched".to_owned(),
            Some(part) if self.points == 0 => format!("part {part}, which has nothing to search"),
            Some(part) => format!("all of part {part} searched"),
            None => "INCOMPLETE: only some searched".to_owned(),
        };
        let second = self.second.as_ref();
        let later = |later: Option<u8>| {
            later.map_or_else(String::new, |later| {
                format!(", later set to {later:#04x} by the program")
            })
        };
        let beside = second.map(|second| {
            let (priority, later) = (second.priority, later(second.later_priority));
            format!(" and {} at {priority:#04x}{later}", second.interrupt)
        });
        let pairs = second.map(|second| format!("{} from ", count(second.pairs, "pair")));
        let _ = writeln!(
            text,
            "{} · interrupt{} {} at priority {:#04x}{}{} · {}{} in {}, {part}",
            self.title(),
            if beside.is_some() { "s" } else { "" },
            self.interrupt,
            self.priority,
            later(self.later_priority),
            beside.unwrap_or_default(),
            pairs.unwrap_or_default(),
            count(self.points, "point"),
            count(self.windows, "window"),
        );
    }

    fn write_latencies(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:<46}{:>7}{:>7}{:>7}{:>7}{:>7}  chance that 1000 random tries meet max",
            "latency in cycles", "min", "p50", "p90", "p99", "max"
        );
        for timed in &self.latencies {
            let _ = writeln!(
                text,
                "{:<46}{:>7}{:>7}{:>7}{:>7}{:>7}  {:>6.2} %",
                timed.text,
                timed.min,
                timed.p50,
                timed.p90,
                timed.p99,
                timed.max,
                timed.chance_in_1000 * 100.0
            );
            if timed.missing > 0 {
                write_missing(text, timed.missing, timed.first_missing, &timed.unserved);
            }
        }
        for never in &self.unanswered {
            let _ = writeln!(text, "{:<46}{:>7}", never.text, "never");
            write_missing(text, never.missing, never.first_missing, &never.unserved);
        }
    }

    fn write_races(&self, text: &mut String, checked: u64) {
        let _ = match self.races.len() {
            0 => writeln!(
                text,
                "\nno race: the program succeeded after each of {}",
                count(checked, "point")
            ),
            places => {
                let points: u64 = self.races.iter().map(|race| race.points).sum();
                writeln!(
                    text,
                    "\nRACES: {points} of {} do harm, at {}",
                    count(checked, "point"),
                    count(places, "place")
                )
            }
        };
        for race in self.races.iter().take(RACES) {
            let _ = writeln!(
                text,
                "  {}: pended in cycle {} before {}, {}",
                race.what,
                race.point,
                at(&race.at),
                count(race.points, "point")
            );
            if !race.stack.is_empty() {
                let _ = writeln!(text, "        in   {}", race.stack.join(" > "));
            }
        }
    }

    /// Writes what the findings cover, and which functions they do not cover.
    fn write_reach(&self, text: &mut String) {
        let functions = if self.functions_unknown {
            "which functions were not executed is unknown: the image names none".to_owned()
        } else {
            format!("not executed: {} of the image", count(self.not_executed.len(), "function"))
        };
        let _ = writeln!(text, "\n{}; {functions}", self.reach);
        let (named, rest) = self.not_executed.split_at(self.not_executed.len().min(NOT_EXECUTED));
        if !named.is_empty() {
            let more = if rest.is_empty() { "" } else { ", ... (--format json lists all)" };
            let _ = writeln!(text, "  {}{more}", named.join(", "));
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
    }
}

impl SecondReport {
    fn write(&self, text: &mut String, first: Irq) {
        let reach = match self.distance {
            Some(distance) => format!("up to {distance} cycles apart"),
            None => "until the earlier one's handler has returned".to_owned(),
        };
        let _ = writeln!(
            text,
            "\n{:<52}{:>12}  {}: p50 max  {}: p50 max",
            format!("how they met, {reach}"),
            "pairs",
            called(first),
            called(self.interrupt)
        );
        for meeting in &self.meetings {
            let _ = write!(text, "{:<52}{:>12}", meeting.text, meeting.pairs);
            for timed in &meeting.latencies {
                let _ = write!(text, "  {:>10}{:>6}", timed.p50, timed.max);
            }
            text.push('\n');
        }
    }
}

impl Stretch {
    fn write(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{:>7} cycles by {}, {}: from {} to {}{}",
            self.cycles,
            self.held_by,
            count(self.count, "time"),
            self.from,
            if self.open { "the end of the run, at " } else { "" },
            self.to
        );
        if !self.stack.is_empty() {
            let _ = writeln!(text, "        in   {}", self.stack.join(" > "));
        }
    }
}

/// Formats an address and the function there. A place without a function already shows its address.
fn at(place: &Place) -> String {
    match place.function {
        Some(_) => format!("{:#010x} {place}", place.address),
        None => place.to_string(),
    }
}

impl WorstCase {
    fn write(&self, text: &mut String, word: &str) {
        let _ = writeln!(
            text,
            "  {word} {} cycles, {} ns at {}: pended in cycle {} at {}",
            self.cycles,
            self.nanoseconds,
            Hertz(self.clock_hz),
            self.point,
            at(&self.at)
        );
        if !self.stack.is_empty() {
            let _ = writeln!(text, "        in   {}", self.stack.join(" > "));
        }
        if let Some(other) = &self.other {
            let apart = other.point.cast_signed() - self.point.cast_signed();
            let when = if apart < 0 { "earlier" } else { "later" };
            let how = other.how.map(|how| format!(": {}", how.replace('_', " ")));
            let _ = writeln!(
                text,
                "        with {} pended {} {when}{}",
                called(other.interrupt),
                count(apart.unsigned_abs(), "cycle"),
                how.unwrap_or_default()
            );
        }
        if !self.held.is_empty() {
            let held: Vec<_> =
                self.held.iter().map(|(what, cycles)| format!("{what} {cycles}")).collect();
            let _ = writeln!(text, "        held by {}", held.join(", "));
        }
    }
}

/// Draws a path as a line of blocks, each the maximum of its section.
fn spark(path: &[(u32, i64, i64)]) -> String {
    const WIDTH: u64 = 80;
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = path.iter().map(|(_, _, most)| *most).max().unwrap_or(1).max(1);
    let mut line = vec![None; WIDTH as usize];
    for (slice, _, value) in path {
        let at = (u64::from(*slice) * WIDTH / SLICES).min(WIDTH - 1) as usize;
        line[at] = line[at].max(Some(*value));
    }
    line.into_iter()
        .map(|value: Option<i64>| match value {
            Some(value) => BLOCKS[(value.max(0) * 7 / most).clamp(0, 7) as usize],
            None => ' ',
        })
        .collect()
}
