//! Curves of breakdown utilization against the number of tasks and against their periods.
//!
//! Both variations make a kernel cost more at the same demand: each additional job adds a switch,
//! and half the period means the same costs in half the time. Everything else about the set stays
//! as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::costs::Costs;
use crate::model::Model;
use crate::search;
use crate::set::{Release, Set, Task};

/// The numbers of parts into which tasks are divided.
const PARTS: [u64; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// The most tasks of a divided set: kernel costs were measured only up to this number.
const MAX_TASKS: usize = 64;

/// Factors by which periods are scaled, in ten-thousandths: from one sixteenth to 16.
const PACES: [u64; 9] = [625, 1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000];

/// The breakdown utilization of one kernel against tasks and periods, with the suite's costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// By number of tasks: the work of each task that the clock releases is divided among several.
    pub by_tasks: Vec<TasksPoint>,
    /// By period: all periods, deadlines, distances, jitter and the tick are scaled.
    pub by_period: Vec<PeriodPoint>,
}

/// A point of the curve by number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksPoint {
    /// The number of tasks.
    pub tasks: usize,
    /// The utilization at which the first deadline is missed, in percent; absent if there is no bound at
    /// all.
    pub breakdown_percent: Option<f64>,
}

/// A point of the curve by period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodPoint {
    /// The length of the periods, in percent of those in the file.
    pub period_percent: f64,
    /// The utilization at which the first deadline is missed, in percent; absent if there is no bound at
    /// all.
    pub breakdown_percent: Option<f64>,
}

impl Curves {
    /// Returns the sets for the points by number of tasks, limited to `most` tasks.
    pub fn divided(set: &Set, most: usize) -> Vec<Set> {
        let all = PARTS.into_iter().map(|parts| set.divided(parts));
        let mut sets: Vec<Set> = all.filter(|set| set.tasks.len() <= most.min(MAX_TASKS)).collect();
        sets.dedup();
        sets
    }

    /// Computes both curves of a set. `costs` supplies the kernel's costs for a given set.
    pub fn of(set: &Set, model: &Model, most: usize, costs: &dyn Fn(&Set) -> Costs) -> Self {
        let breakdown = |set: &Set, costs: &Costs| {
            let factor = search::breakdown(set, |set| model.holds(set, costs));
            (factor > 0).then(|| set.scaled(factor).utilisation_exact() * 100.0)
        };
        let by_tasks = Self::divided(set, most).into_iter().map(|set| TasksPoint {
            tasks: set.tasks.len(),
            breakdown_percent: breakdown(&set, &costs(&set)),
        });
        let own = costs(set);
        let by_period = PACES.into_iter().map(|pace| PeriodPoint {
            period_percent: pace as f64 / 100.0,
            // The timer's unit is the chip's.
            breakdown_percent: breakdown(&Set { granule: set.granule, ..set.clocked(pace) }, &own),
        });
        Self { by_tasks: by_tasks.collect(), by_period: by_period.collect() }
    }
}

impl Set {
    /// Returns a set with the same load divided among more tasks: each task that the clock releases
    /// becomes `parts` tasks with adjacent priorities. The first of them keeps the sections and
    /// messages, and at least as much work as those need.
    #[must_use]
    pub fn divided(&self, parts: u64) -> Self {
        let mut order: Vec<u32> = self.tasks.iter().map(|task| task.priority).collect();
        order.sort_unstable();
        order.dedup();
        let mut set = Self { tasks: Vec::new(), queues: Vec::new(), ..self.clone() };
        for task in &self.tasks {
            let rank = order.iter().position(|level| *level == task.priority).unwrap_or(0) as u64;
            let above = |part: u64| u32::try_from(rank * parts + parts - part).unwrap_or(u32::MAX);
            let first = Task { priority: above(0), ..task.clone() };
            if parts < 2 || task.release != Release::Clock || task.work < parts {
                set.tasks.push(first);
                continue;
            }
            let held: u64 = task.sections.iter().map(|section| section.cycles).sum();
            let own = (task.work - task.work / parts * (parts - 1)).max(held.min(task.work));
            set.tasks.push(Task { work: own, ..first });
            let (left, others) = (task.work - own, parts - 1);
            set.tasks.extend((1..parts).map(|part| Task {
                name: format!("{} {}", task.name, part + 1),
                priority: above(part),
                work: left / others + u64::from(part <= left % others),
                sections: Vec::new(),
                sends: 0,
                receives: 0,
                looks: 0,
                ..task.clone()
            }));
        }
        // Parts for which the sections leave no work are dropped.
        set.tasks.retain(|task| task.work > 0);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::Protocol;
    use crate::set::{Interrupt, Queue, Section};

    fn set() -> Set {
        let section = Section { lock: 0, cycles: 600, inside: None };
        let tasks = vec![
            Task { sections: vec![section], ..Task::new("a", 7, 1_000, 10_000) },
            Task::new("b", 3, 1_001, 20_000),
            Task { release: Release::Interrupt(0), ..Task::new("c", 5, 500, 30_000) },
        ];
        let interrupts = vec![Interrupt { name: "i".into(), distance: 30_000, work: 10 }];
        Set { tick: 1_000, tasks, locks: vec!["l".into()], interrupts, ..Set::default() }
    }

    /// The unit of the timer belongs to the chip: it stays a microsecond whatever the periods. At one sixteenth, a
    /// period of 100 us is 6.25 us, for which an alarm may be a whole unit late: 168 of 1050 cycles.
    #[test]
    fn other_periods_do_not_change_the_timer() {
        let tasks = vec![Task::new("a", 1, 1_680, 16_800)];
        let set = Set { tick: 16_800, granule: 168.into(), tasks, ..Set::default() };
        let model = Model::of("rtic").expect("known");
        let curves = Curves::of(&set, &model, 64, &|_| Costs::zero());
        let breakdown = |at: usize| curves.by_period[at].breakdown_percent.expect("bounded");
        assert!((breakdown(0) - 84.0).abs() < 0.2, "{}", breakdown(0));
        assert!((breakdown(8) - 100.0).abs() < 0.2, "{}", breakdown(8));
    }

    #[test]
    fn a_divided_set_has_the_same_load() {
        for parts in [1, 2, 3, 7] {
            let divided = set().divided(parts);
            assert_eq!(divided.tasks.len() as u64, 2 * parts + 1, "the interrupt's task stays one");
            assert!((divided.utilisation_exact() - set().utilisation_exact()).abs() < 1e-12);
            let mut levels: Vec<u32> = divided.tasks.iter().map(|task| task.priority).collect();
            levels.sort_unstable();
            levels.dedup();
            assert_eq!(levels.len(), divided.tasks.len(), "no two of one level");
            // The order of urgency is unchanged.
            let level = |of: &str| {
                let of = divided.tasks.iter().filter(|task| task.name.starts_with(of));
                let of = of.map(|task| task.priority);
                (of.clone().min(), of.max())
            };
            assert!(level("a").0 > level("c").1 && level("c").0 > level("b").1);
            let a = &divided.tasks[0];
            assert!(a.sections[0].cycles == 600 && a.work >= 600);
        }
    }

    /// What a part is, by hand: names, adjacent priorities, and work in which the first part keeps what its
    /// sections need.
    #[test]
    fn a_divided_task_is_its_first_part_with_others_below_it() {
        let parts = |set: &Set| -> Vec<(String, u32, u64)> {
            set.tasks.iter().map(|it| (it.name.clone(), it.priority, it.work)).collect()
        };
        let of = |name: &str, priority, work| (name.to_owned(), priority, work);
        let two = [
            of("a", 6, 600),
            of("a 2", 5, 400),
            of("b", 2, 501),
            of("b 2", 1, 500),
            of("c", 4, 500),
        ];
        assert_eq!(parts(&set().divided(2)), two);
        // 1001 in three parts are 335 and twice 333; 400 are left beside the section in a.
        let three = set().divided(3);
        assert_eq!(parts(&three)[..3], [of("a", 9, 600), of("a 2", 8, 200), of("a 3", 7, 200)]);
        assert_eq!(parts(&three)[3..6], [of("b", 3, 335), of("b 2", 2, 333), of("b 3", 1, 333)]);
        // What does not divide evenly goes to the first of the others.
        let mut uneven = set();
        uneven.tasks[0].work = 1_003;
        assert_eq!(parts(&uneven.divided(3))[1..3], [of("a 2", 8, 202), of("a 3", 7, 201)]);
    }

    #[test]
    fn sections_and_messages_stay_with_the_first_part_and_queues_are_left_out() {
        let mut whole = set();
        let queue = Queue { name: "q".into(), from: 0, to: 1, items: 9 };
        whole.connect(queue).expect("room");
        let divided = whole.divided(2);
        let count = |at: usize| {
            let task = &divided.tasks[at];
            (task.sections.len(), task.sends, task.receives, task.looks)
        };
        let received = whole.tasks[1].receives;
        assert_eq!([0, 1].map(count), [(1, 1, 0, 0), (0, 0, 0, 0)]);
        assert_eq!([2, 3].map(count), [(0, 0, received, 1), (0, 0, 0, 0)]);
        assert!(received > 0 && divided.queues.is_empty(), "their ends are other tasks now");
    }

    #[test]
    fn a_part_has_at_least_a_cycle_of_work() {
        let works = |work| -> Vec<u64> {
            let tasks = vec![Task::new("a", 1, work, 1_000)];
            let divided = Set { tasks, ..Set::default() }.divided(3);
            divided.tasks.iter().map(|task| task.work).collect()
        };
        assert_eq!((works(3), works(2)), (vec![1, 1, 1], vec![2]));
        // The section leaves no work for others.
        let section = Section { lock: 0, cycles: 9, inside: None };
        let tasks = vec![Task { sections: vec![section], ..Task::new("a", 1, 9, 1_000) }];
        assert_eq!(Set { tasks, ..Set::default() }.divided(3).tasks.len(), 1);
    }

    /// A kernel without costs breaks down at the same load however its work is divided; one with
    /// costs breaks down sooner with more tasks, and later with longer periods.
    #[test]
    fn costs_bend_the_curves() {
        let set = Set { interrupts: Vec::new(), tasks: set().tasks[..2].to_vec(), ..set() };
        let free = Curves::of(&set, &Model::ideal(Protocol::Ceiling), 64, &|_| Costs::zero());
        assert_eq!(free.by_tasks.len(), PARTS.len());
        let paces = free.by_period.iter().map(|point| point.period_percent);
        let paces: Vec<f64> = paces.collect();
        assert_eq!(paces, [6.25, 12.5, 25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0]);
        for point in &free.by_period {
            let breakdown = point.breakdown_percent.expect("bounded");
            assert!((breakdown - 100.0).abs() < 1.0, "{point:?}: harmonic periods");
        }
        let model = Model::of("freertos").expect("known");
        let dear = |_: &Set| {
            let mut costs = Costs::zero();
            for figure in costs.known.values_mut() {
                figure.cycles = 50;
            }
            costs
        };
        let dear = Curves::of(&set, &model, 64, &dear);
        let tasks: Vec<_> = dear.by_tasks.iter().map(|point| point.breakdown_percent).collect();
        // With 24 tasks, the releases alone may take longer than a tick.
        assert!(tasks[..6].is_sorted_by(|a, b| a > b), "{tasks:?}");
        assert_eq!(tasks[6..], [None, None]);
        let periods: Vec<_> = dear.by_period.iter().map(|point| point.breakdown_percent).collect();
        assert!(periods.is_sorted(), "{periods:?}");
        assert_eq!(Curves::divided(&set, 5).len(), 2, "no more tasks than there are levels");
    }
}
