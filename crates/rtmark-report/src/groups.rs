//! The groups in which a report shows scenarios, and the scenarios that represent a group.

use rtmark_model::ScenarioId;

/// The subject of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Switching, waking and creating threads.
    Switch,
    /// Semaphores, locks, events.
    Synchronise,
    /// Queues and streams.
    Pass,
    /// Interrupts, timers, and what holds interrupts back.
    Interrupts,
    /// Allocation.
    Memory,
    /// Programs that combine several of these.
    Programs,
    /// Scenarios that are not in rtmark's catalogue.
    Own,
}

/// A scenario that represents its group.
#[derive(Clone, Copy, Debug)]
pub struct Headline {
    pub scenario: &'static str,
    /// The operation, as a label.
    pub label: &'static str,
    /// The operation, as the subject of a sentence.
    pub activity: &'static str,
}

const fn headline(scenario: &'static str, label: &'static str, activity: &'static str) -> Headline {
    Headline { scenario, label, activity }
}

const SWITCH: &[Headline] = &[
    headline("thread.yield", "yield to another thread", "Yielding to another thread"),
    headline(
        "semaphore.give.wake+ctx",
        "give a semaphore, until the waiter runs",
        "Waking a thread with a semaphore",
    ),
    headline(
        "thread.resume.preempt",
        "resume a more urgent thread",
        "Resuming a more urgent thread",
    ),
];
const SYNCHRONISE: &[Headline] = &[
    headline("mutex.lock.immediate", "lock a free mutex", "Locking a free mutex"),
    headline(
        "semaphore.give.immediate",
        "give a semaphore",
        "Giving a semaphore that nobody waits for",
    ),
    headline(
        "mutex.critical_section",
        "enter a critical section",
        "Entering and leaving a critical section",
    ),
];
const PASS: &[Headline] = &[
    headline("queue.send.16b", "send 16 bytes", "Sending 16 bytes"),
    headline("queue.handover", "hand over an item", "Handing an item to a waiting thread"),
    headline("queue.send.immediate", "send an item", "Sending an item"),
];
const INTERRUPTS: &[Headline] = &[
    headline(
        "isr.wake.thread",
        "interrupt to the woken thread",
        "Waking a thread from an interrupt",
    ),
    headline("timer.wake", "timer to the woken thread", "Waking a thread by a timer"),
    headline("isr.entry", "interrupt to its handler", "Entering a handler"),
];
const MEMORY: &[Headline] = &[
    headline("heap.malloc.16b", "allocate 16 bytes", "Allocating 16 bytes"),
    headline("heap.free.16b", "free 16 bytes", "Freeing 16 bytes"),
];

impl Group {
    /// All groups, in page order.
    pub const ALL: [Self; 7] = [
        Self::Switch,
        Self::Synchronise,
        Self::Pass,
        Self::Interrupts,
        Self::Memory,
        Self::Programs,
        Self::Own,
    ];

    /// Returns the group of a scenario, by the first word of its name.
    pub fn of(scenario: &ScenarioId) -> Self {
        match scenario.as_str().split('.').next().unwrap_or_default() {
            "thread" | "boot" => Self::Switch,
            "semaphore" | "mutex" | "rwlock" | "events" | "notify" | "async" | "priority" => {
                Self::Synchronise
            }
            "queue" | "stream" => Self::Pass,
            "isr" | "load" | "timer" | "duty" | "storm" => Self::Interrupts,
            "heap" | "pool" => Self::Memory,
            "tm" | "workload" => Self::Programs,
            _ => Self::Own,
        }
    }

    /// Returns its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Switch => "Switch and wake",
            Self::Synchronise => "Synchronise",
            Self::Pass => "Pass data",
            Self::Interrupts => "Interrupts and time",
            Self::Memory => "Memory",
            Self::Programs => "Whole programs",
            Self::Own => "Others",
        }
    }

    /// Returns its name in links.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Synchronise => "synchronise",
            Self::Pass => "pass",
            Self::Interrupts => "interrupts",
            Self::Memory => "allocate",
            Self::Programs => "programs",
            Self::Own => "others",
        }
    }

    /// Returns the scenarios that represent it if they were measured, the best first.
    pub const fn headlines(self) -> &'static [Headline] {
        match self {
            Self::Switch => SWITCH,
            Self::Synchronise => SYNCHRONISE,
            Self::Pass => PASS,
            Self::Interrupts => INTERRUPTS,
            Self::Memory => MEMORY,
            Self::Programs | Self::Own => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use rtmark_model::Catalogue;

    use super::*;

    #[test]
    fn every_scenario_has_a_group_and_every_headline_is_a_scenario() {
        let catalogue = Catalogue::builtin().expect("good");
        for scenario in catalogue.scenarios().iter().filter(|scenario| scenario.point.is_none()) {
            assert_ne!(Group::of(&scenario.id), Group::Own, "{}", scenario.id);
        }
        for headline in Group::ALL.iter().flat_map(|group| group.headlines()) {
            let id = headline.scenario.parse().expect("a name");
            assert!(catalogue.get(&id).is_some(), "{id}");
        }
    }
}
