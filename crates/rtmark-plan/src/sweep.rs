//! Plans of one system at several clocks and tick rates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Document, KernelPlan, Verdict};
use crate::model::{Model, Timer};

/// The results of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The version of this format.
    pub schema_version: u32,
    /// The program that wrote the document.
    pub generator: String,
    /// SHA-256 of the system's file.
    pub file_sha256: String,
    /// The number of code layouts in which costs were measured.
    pub placements: u32,
    /// The clocks of the whole sweep, in hertz, and its ticks, of which this may be a part.
    pub clocks_hz: Vec<u64>,
    /// See `clocks_hz`; null is the tick that the file states.
    pub ticks_hz: Vec<Option<u64>>,
    /// SHA-256 of the soc's file.
    pub soc_sha256: String,
    /// The number of points in the whole sweep, of which this may be a part.
    pub points_in_all: usize,
    /// One plan for each tick and clock, in ascending order of the tick, then of the clock.
    pub points: Vec<Document>,
}

/// Why parts of a sweep cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// They belong to different sweeps.
    #[error(
        "the parts belong to different sweeps: {what} is {one} in one part and {other} in another"
    )]
    Different {
        /// What differs.
        what: &'static str,
        /// Its value in one part.
        one: String,
        /// Its value in another part.
        other: String,
    },
    /// Two parts contain the same point with different answers.
    #[error("two parts have different answers for {megahertz} MHz{tick}")]
    Contradictory {
        /// The point's clock.
        megahertz: String,
        /// Its tick, in words.
        tick: String,
    },
}

impl Document {
    /// Returns its sort key in a sweep.
    fn point(&self) -> (Option<u64>, u64) {
        (self.tick_hz, self.clock_hz)
    }
}

/// Formats a list for a message.
fn listed<T: std::fmt::Debug>(values: &[T]) -> String {
    format!("{values:?}")
}

impl Sweep {
    /// Returns the JSON schema.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// Returns whether it has all points.
    pub fn is_complete(&self) -> bool {
        self.points.len() == self.points_in_all
    }

    /// Adds another part of the same sweep; points in both are kept once.
    ///
    /// # Errors
    /// When the part belongs to another sweep, or has a different answer for a point.
    pub fn join(&mut self, part: Self) -> Result<(), JoinError> {
        let kernels = |sweep: &Self| {
            let plans = sweep.points.first().into_iter().flat_map(|point| &point.kernels);
            // The profile is left out because it includes the point's tick.
            let kernels =
                plans.map(|plan| format!("{} {} ({})", plan.kernel, plan.version, plan.compiler));
            kernels.collect::<Vec<_>>().join(", ")
        };
        let soc = |sweep: &Self| sweep.points.first().map(|point| point.soc.clone());
        let mut facts = vec![
            (
                "the format version",
                self.schema_version.to_string(),
                part.schema_version.to_string(),
            ),
            ("the program", self.generator.clone(), part.generator.clone()),
            ("the file's SHA-256", self.file_sha256.clone(), part.file_sha256.clone()),
            ("the soc's SHA-256", self.soc_sha256.clone(), part.soc_sha256.clone()),
            ("the list of clocks", listed(&self.clocks_hz), listed(&part.clocks_hz)),
            ("the list of ticks", listed(&self.ticks_hz), listed(&part.ticks_hz)),
            (
                "the number of code layouts",
                self.placements.to_string(),
                part.placements.to_string(),
            ),
            (
                "the number of points",
                self.points_in_all.to_string(),
                part.points_in_all.to_string(),
            ),
        ];
        if let (Some(one), Some(other)) = (soc(self), soc(&part)) {
            facts.push(("the soc", one, other));
            facts.push(("the list of kernels and compilers", kernels(self), kernels(&part)));
        }
        if let Some((what, one, other)) = facts.into_iter().find(|(_, one, other)| one != other) {
            return Err(JoinError::Different { what, one, other });
        }
        for point in part.points {
            match self.points.binary_search_by_key(&point.point(), Document::point) {
                Err(at) => self.points.insert(at, point),
                Ok(at) if self.points[at] == point => {}
                Ok(_) => {
                    let tick = point.tick_hz.map(|hertz| format!(" and a tick of {hertz} Hz"));
                    let megahertz = megahertz(point.clock_hz);
                    return Err(JoinError::Contradictory {
                        megahertz,
                        tick: tick.unwrap_or_default(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns whether any kernel holds at any point.
    pub fn holds_somewhere(&self) -> bool {
        self.rows().any(|(_, plan)| plan.verdict == Verdict::Holds)
    }

    /// Returns each plan with its point.
    pub fn rows(&self) -> impl Iterator<Item = (&Document, &KernelPlan)> {
        self.points.iter().flat_map(|point| point.kernels.iter().map(move |plan| (point, plan)))
    }

    /// Summarizes the sweep in one sentence per kernel, or per kernel and tick for kernels with a
    /// tick.
    pub fn sentences(&self) -> Vec<String> {
        let mut subjects: Vec<(&str, Option<u64>)> = Vec::new();
        for (point, plan) in self.rows() {
            let subject = (plan.kernel.as_str(), plan.tick(point));
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        subjects.into_iter().map(|(kernel, tick)| self.sentence(kernel, tick)).collect()
    }

    fn sentence(&self, kernel: &str, tick: Option<u64>) -> String {
        let mut clocks: BTreeMap<u64, bool> = BTreeMap::new();
        for (point, plan) in self.rows() {
            if plan.kernel == kernel && plan.tick(point) == tick {
                let holds = plan.verdict == Verdict::Holds;
                clocks.entry(point.clock_hz).and_modify(|all| *all &= holds).or_insert(holds);
            }
        }
        let clocks: Vec<(u64, bool)> = clocks.into_iter().collect();
        let who = match tick {
            Some(hertz) => format!("{kernel} with a tick of {hertz} Hz"),
            None => kernel.to_owned(),
        };
        let missed = clocks.iter().rposition(|(_, holds)| !holds);
        let first = missed.map_or(0, |at| at + 1);
        let Some((lowest, _)) = clocks.get(first) else {
            return match clocks.iter().find(|(_, holds)| *holds) {
                Some((clock, _)) => anomaly(&who, *clock, &clocks),
                None => format!("{who} holds at none of these clocks."),
            };
        };
        match clocks[..first].iter().find(|(_, holds)| *holds) {
            Some((clock, _)) => anomaly(&who, *clock, &clocks),
            None => {
                format!("{who} holds from {} MHz on{}.", megahertz(*lowest), self.reservation())
            }
        }
    }

    /// Returns what to add to a statement about all clocks: a point that is missing may contradict it.
    fn reservation(&self) -> String {
        if self.is_complete() {
            return String::new();
        }
        format!(", as far as {} of {} points show", self.points.len(), self.points_in_all)
    }
}

impl KernelPlan {
    /// Returns the point's tick if the answer depends on it: the kernel is built with it, or counts ticks of
    /// whatever length its clock is set to, which its build does not show.
    fn tick(&self, point: &Document) -> Option<u64> {
        let is_ticked = Model::of(&self.kernel).is_some_and(|model| model.timer == Timer::Tick);
        point.tick_hz.filter(|hertz| {
            let chosen = format!("tick_hz={hertz}");
            is_ticked || self.profile.split('+').any(|word| word == chosen)
        })
    }
}

/// Describes an anomaly: a slower clock holds, and a faster one does not.
fn anomaly(who: &str, holds: u64, clocks: &[(u64, bool)]) -> String {
    let faster = clocks.iter().find(|(clock, held)| *clock > holds && !held);
    let faster = faster.map_or(holds, |(clock, _)| *clock);
    format!(
        "{who} holds at {} MHz and not at {} MHz: more of the work is stated in time than in cycles, \
         or ticks fall differently.",
        megahertz(holds),
        megahertz(faster)
    )
}

/// Formats a clock in MHz, with as many decimals as necessary.
pub(crate) fn megahertz(hertz: u64) -> String {
    format!("{}", hertz as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::CostsOf;

    fn point(clock_hz: u64, tick_hz: Option<u64>, verdict: Verdict) -> Document {
        let plan = KernelPlan {
            kernel: "k".to_owned(),
            version: "1".to_owned(),
            compiler: "gcc 12.2.1".to_owned(),
            profile: String::new(),
            order: String::new(),
            verdict,
            costs_of: CostsOf::Suite,
            notes: Vec::new(),
            tasks: Vec::new(),
            utilisation_percent: 0.0,
            breakdown_percent: None,
            slowest_clock_percent: None,
            costs: Vec::new(),
            missing: Vec::new(),
            sensitivity: Vec::new(),
            curves: None,
            of_suite: None,
            run: None,
        };
        Document {
            schema_version: 1,
            generator: String::new(),
            file: String::new(),
            soc: String::new(),
            clock_hz,
            tick_hz,
            slack_percent_wanted: 0.0,
            kernels: vec![plan],
        }
    }

    fn sweep(points: Vec<Document>) -> Sweep {
        Sweep {
            schema_version: 1,
            generator: String::new(),
            file_sha256: String::new(),
            placements: 9,
            clocks_hz: points.iter().map(|point| point.clock_hz).collect(),
            ticks_hz: vec![None],
            soc_sha256: String::new(),
            points_in_all: points.len(),
            points,
        }
    }

    /// Parts join to the whole in any order and repeatedly; parts of another sweep or with a
    /// different answer are refused.
    #[test]
    fn parts_are_merged() {
        use Verdict::{Holds, Misses};
        let all = [(1, Some(10)), (2, Some(10)), (1, Some(20)), (2, Some(20))];
        let mut whole = sweep(all.iter().map(|&(clock, tick)| point(clock, tick, Holds)).collect());
        for (point, tick) in whole.points.iter_mut().zip([10, 10, 20, 20]) {
            point.kernels[0].profile = format!("product+tick_hz={tick}");
        }
        let part = |from: usize, to: usize| Sweep {
            points: whole.points[from..to].to_vec(),
            ..whole.clone()
        };
        let mut joined = part(3, 4);
        for (from, to) in [(0, 2), (1, 1), (2, 4), (0, 1)] {
            assert_eq!(joined.is_complete(), joined.points.len() == 4);
            joined.join(part(from, to)).expect("they belong together");
        }
        assert!(joined.is_complete());
        assert_eq!(joined, whole);
        let other = Sweep { file_sha256: "other".to_owned(), ..part(0, 1) };
        assert!(joined.join(other).is_err_and(|error| error.to_string().contains("SHA-256")));
        // As many points, but of other clocks, or in other numbers of layouts.
        let other = Sweep { clocks_hz: vec![3, 4], ..part(0, 1) };
        assert!(
            joined.join(other).is_err_and(|error| error.to_string().contains("list of clocks"))
        );
        let other = Sweep { placements: 1, ..part(0, 1) };
        assert!(joined.join(other).is_err_and(|error| error.to_string().contains("layouts")));
        // Another compiler makes another kernel of the same sources.
        let mut other = part(0, 1);
        other.points[0].kernels[0].compiler = "clang 19.1.7".to_owned();
        let error = joined.join(other).expect_err("another compiler").to_string();
        assert!(
            error.contains("k 1 (gcc 12.2.1)") && error.contains("k 1 (clang 19.1.7)"),
            "{error}"
        );
        let other = Sweep { points: vec![point(2, Some(10), Misses)], ..whole.clone() };
        let error = joined.join(other).expect_err("another answer").to_string();
        assert!(error.contains("0.000002 MHz and a tick of 10 Hz"), "{error}");
        assert_eq!(joined, whole);
    }

    /// A part that was written and read again is the same part, in every digit.
    #[test]
    fn a_part_survives_its_file() {
        let mut part = sweep(vec![point(1, None, Verdict::Holds)]);
        part.points[0].kernels[0].breakdown_percent = Some(99.685_176_470_588_23);
        let read = serde_json::to_string(&part).and_then(|text| serde_json::from_str(&text));
        assert_eq!(read.map_err(|error| error.to_string()), Ok(part));
    }

    #[test]
    fn the_lowest_clock_is_the_one_above_the_last_that_misses() {
        use Verdict::{Holds, Misses, Tight};
        let clocks = [(24_000_000, Misses), (48_000_000, Tight), (64_500_000, Holds)];
        let points = clocks.map(|(clock, verdict)| point(clock, Some(1000), verdict)).to_vec();
        let mut sweep = sweep(points);
        for point in &mut sweep.points {
            point.kernels[0].profile = "product+lto=off+tick_hz=1000".to_owned();
        }
        assert_eq!(sweep.sentences(), ["k with a tick of 1000 Hz holds from 64.5 MHz on."]);
        assert!(sweep.holds_somewhere());
    }

    /// The point that would contradict the sentence may be among those that are missing.
    #[test]
    fn a_part_claims_nothing_about_the_points_that_are_missing() {
        let points = [48, 72].map(|clock| point(clock * 1_000_000, None, Verdict::Holds)).to_vec();
        let part = Sweep { points_in_all: 8, ..sweep(points) };
        let sentence = "k holds from 48 MHz on, as far as 2 of 8 points show.";
        assert_eq!(part.sentences(), [sentence]);
    }

    /// A kernel without a tick gives the same answer whatever the tick of others.
    #[test]
    fn a_kernel_without_a_tick_has_one_sentence_for_all() {
        use Verdict::{Holds, Misses};
        let at = |tick, verdicts: [Verdict; 2]| {
            [24, 48].into_iter().zip(verdicts).map(move |(clock, verdict)| {
                let mut point = point(clock * 1_000_000, Some(tick), verdict);
                point.kernels[0].profile = "product".to_owned();
                point
            })
        };
        let all = sweep(at(100, [Misses, Holds]).chain(at(1000, [Misses, Holds])).collect());
        assert_eq!(all.sentences(), ["k holds from 48 MHz on."]);
        let all = sweep(at(100, [Misses, Holds]).chain(at(1000, [Misses, Misses])).collect());
        assert_eq!(all.sentences(), ["k holds at none of these clocks."]);
    }

    /// lilos counts ticks, whose length its build does not set: each tick has its own sentence.
    #[test]
    fn a_kernel_that_counts_ticks_has_a_sentence_for_each() {
        use Verdict::{Holds, Misses};
        let at = |tick, verdicts: [Verdict; 2]| {
            [24, 48].into_iter().zip(verdicts).map(move |(clock, verdict)| {
                let mut point = point(clock * 1_000_000, tick, verdict);
                let plan = &mut point.kernels[0];
                (plan.kernel, plan.profile) = ("lilos".to_owned(), "product".to_owned());
                point
            })
        };
        let all = at(Some(100), [Misses, Misses]).chain(at(Some(1000), [Misses, Holds]));
        let wanted = [
            "lilos with a tick of 100 Hz holds at none of these clocks.",
            "lilos with a tick of 1000 Hz holds from 48 MHz on.",
        ];
        assert_eq!(sweep(all.collect()).sentences(), wanted);
        let all = sweep(at(None, [Misses, Holds]).collect());
        assert_eq!(all.sentences(), ["lilos holds from 48 MHz on."]);
    }

    #[test]
    fn a_sweep_without_success_says_so() {
        let sweep = sweep(vec![point(1_000_000, None, Verdict::Unknown)]);
        assert_eq!(sweep.sentences(), ["k holds at none of these clocks."]);
        assert!(!sweep.holds_somewhere());
    }

    #[test]
    fn a_slower_clock_that_holds_alone_is_shown() {
        use Verdict::{Holds, Misses};
        let two = [(10_000_000, Holds), (20_000_000, Misses)];
        let three = [(10_000_000, Holds), (20_000_000, Misses), (30_000_000, Holds)];
        for clocks in [&two[..], &three[..]] {
            let points = clocks.iter().map(|&(clock, verdict)| point(clock, None, verdict));
            let sentence = sweep(points.collect()).sentences().remove(0);
            assert!(sentence.starts_with("k holds at 10 MHz and not at 20 MHz"), "{sentence}");
        }
    }

    /// The clock that is named misses, and is faster than the one that holds.
    #[test]
    fn an_anomaly_names_the_next_faster_clock_that_misses() {
        use Verdict::{Holds, Misses};
        let verdicts = [Misses, Holds, Holds, Misses, Misses];
        let points =
            (1..).zip(verdicts).map(|(clock, verdict)| point(clock * 10_000_000, None, verdict));
        let sentence = sweep(points.collect()).sentences().remove(0);
        assert!(sentence.starts_with("k holds at 20 MHz and not at 40 MHz"), "{sentence}");
    }
}
