//! Plans of one system at several clocks and ticks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Document, KernelPlan, Verdict};

/// The answers of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The version of this form.
    pub schema_version: u32,
    /// The program that wrote it.
    pub generator: String,
    /// A plan for each clock and tick: the ticks in their order, and for each the clocks in theirs.
    pub points: Vec<Document>,
}

impl Sweep {
    /// The schema of its JSON.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// Whether some kernel holds somewhere.
    pub fn holds_somewhere(&self) -> bool {
        self.rows().any(|(_, plan)| plan.verdict == Verdict::Holds)
    }

    /// Each plan with the point that it belongs to.
    pub fn rows(&self) -> impl Iterator<Item = (&Document, &KernelPlan)> {
        self.points.iter().flat_map(|point| point.kernels.iter().map(move |plan| (point, plan)))
    }

    /// What follows, a sentence for each kernel and tick.
    pub fn sentences(&self) -> Vec<String> {
        let mut subjects: Vec<(&str, Option<u64>)> = Vec::new();
        for (point, plan) in self.rows() {
            let subject = (plan.kernel.as_str(), point.tick_hz);
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        subjects.into_iter().map(|(kernel, tick)| self.sentence(kernel, tick)).collect()
    }

    fn sentence(&self, kernel: &str, tick: Option<u64>) -> String {
        let of = |row: &(&Document, &KernelPlan)| row.1.kernel == kernel && row.0.tick_hz == tick;
        let mut clocks: Vec<(u64, bool)> = self
            .rows()
            .filter(of)
            .map(|(point, plan)| (point.clock_hz, plan.verdict == Verdict::Holds))
            .collect();
        clocks.sort_unstable();
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
            None => format!("{who} holds from {} MHz on.", megahertz(*lowest)),
        }
    }
}

/// A faster clock misses what a slower one holds.
fn anomaly(who: &str, holds: u64, clocks: &[(u64, bool)]) -> String {
    let faster = clocks.iter().find(|(clock, held)| *clock > holds && !held);
    let faster = faster.map_or(holds, |(clock, _)| *clock);
    format!(
        "{who} holds at {} MHz and not at {} MHz: more of the work is stated in time than in cycles, \
         or a tick falls otherwise.",
        megahertz(holds),
        megahertz(faster)
    )
}

/// A clock in MHz, with as many decimals as it has.
pub(crate) fn megahertz(hertz: u64) -> String {
    format!("{}", hertz as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(clock_hz: u64, tick_hz: Option<u64>, verdict: Verdict) -> Document {
        let plan = KernelPlan {
            kernel: "k".to_owned(),
            version: String::new(),
            profile: String::new(),
            order: String::new(),
            verdict,
            tasks: Vec::new(),
            utilisation_percent: 0.0,
            breakdown_percent: None,
            slowest_clock_percent: None,
            costs: Vec::new(),
            missing: Vec::new(),
            sensitivity: Vec::new(),
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
        Sweep { schema_version: 1, generator: String::new(), points }
    }

    #[test]
    fn the_lowest_clock_is_the_one_above_the_last_that_misses() {
        use Verdict::{Holds, Misses, Tight};
        let clocks = [(24_000_000, Misses), (48_000_000, Tight), (64_500_000, Holds)];
        let points = clocks.map(|(clock, verdict)| point(clock, Some(1000), verdict)).to_vec();
        let sweep = sweep(points);
        assert_eq!(sweep.sentences(), ["k with a tick of 1000 Hz holds from 64.5 MHz on."]);
        assert!(sweep.holds_somewhere());
    }

    #[test]
    fn nothing_that_holds_is_said_so() {
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
}
