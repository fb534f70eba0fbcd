//! Blocking: how long tasks of lower priority can hold a job up by locks.
//!
//! Inheritance after Sha, Rajkumar and Lehoczky (1990): at most once for each lock and once for each
//! lower task, whichever comes to less. Ceilings after Baker (1991): once, and not at all after the
//! job has begun.

use crate::set::{Section, Set, Task};

/// What a kernel's lock does to the priority of whom it blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Nothing.
    None,
    /// The holder inherits the priority of whom it blocks, and does not pass it on to whom it waits for.
    Inheritance,
    /// The holder runs at the priority of the most urgent user.
    Ceiling,
    /// Nobody else runs while a lock is held, as tasks give way nowhere else than between polls.
    Cooperative,
}

/// A section of a lower task that holds a job up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The task that holds the lock.
    pub task: String,
    /// The lock.
    pub lock: String,
    /// Cycles of the section.
    pub cycles: u64,
    /// How many locks are taken in it.
    pub locks: u64,
}

/// A chain of tasks and locks along which a job waits for ever longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Chain(pub String);

/// Which sections of lower tasks hold a job of a task up, at the worst.
///
/// # Errors
/// When tasks that take no lock can prolong the wait without limit.
pub fn blockers(set: &Set, task: usize, protocol: Protocol) -> Result<Vec<Blocker>, Chain> {
    let level = set.tasks[task].priority;
    match protocol {
        Protocol::Cooperative => Ok(Vec::new()),
        Protocol::Ceiling => {
            let all = candidates(set, level, &shared(set, level).collect::<Vec<_>>());
            Ok(all.into_iter().max_by_key(|blocker| blocker.cycles).into_iter().collect())
        }
        Protocol::None => {
            if let Some(chain) = inversion(set, task) {
                return Err(chain);
            }
            Ok(inherited(set, level))
        }
        Protocol::Inheritance => {
            if let Some(chain) = passed_on(set, task) {
                return Err(chain);
            }
            Ok(inherited(set, level))
        }
    }
}

fn lower(set: &Set, level: u32) -> impl Iterator<Item = &Task> {
    set.tasks.iter().filter(move |task| task.priority < level)
}

/// Locks that somebody of this level or above takes.
fn shared(set: &Set, level: u32) -> impl Iterator<Item = usize> {
    let above = move |lock: &usize| {
        set.tasks.iter().any(|task| task.priority >= level && task.takes(*lock))
    };
    (0..set.locks.len()).filter(above)
}

fn blocker(set: &Set, task: &Task, lock: usize, section: &Section) -> Blocker {
    let within = task.sections.iter().filter(|it| it.inside.is_some()).count() as u64;
    let nested = task.sections.iter().any(|it| it.inside == Some(section.lock));
    Blocker {
        task: task.name.clone(),
        lock: set.locks[lock].clone(),
        cycles: section.cycles,
        locks: if nested { within + 1 } else { 1 },
    }
}

/// Locks for which somebody of this level or above may have to wait: those that it takes, and those
/// for which their holders wait in turn.
fn waited_for(set: &Set, level: u32) -> Vec<usize> {
    let mut locks: Vec<usize> = shared(set, level).collect();
    let mut at = 0;
    while let Some(&outer) = locks.get(at) {
        for section in lower(set, level).flat_map(|task| &task.sections) {
            if section.inside == Some(outer) && !locks.contains(&section.lock) {
                locks.push(section.lock);
            }
        }
        at += 1;
    }
    locks
}

/// Every section of a lower task with one of these locks.
fn candidates(set: &Set, level: u32, locks: &[usize]) -> Vec<Blocker> {
    let of = |task| {
        let held = locks.iter().filter_map(|&lock| {
            Task::holds(task, lock).map(|section| blocker(set, task, lock, section))
        });
        held.collect::<Vec<_>>()
    };
    lower(set, level).flat_map(of).collect()
}

/// Once for each lock or once for each lower task, whichever is less.
fn inherited(set: &Set, level: u32) -> Vec<Blocker> {
    let all = candidates(set, level, &waited_for(set, level));
    let longest_by = |name: fn(&Blocker) -> &str| {
        let mut longest: Vec<Blocker> = Vec::new();
        for blocker in &all {
            match longest.iter_mut().find(|known| name(known) == name(blocker)) {
                Some(known) if known.cycles < blocker.cycles => *known = blocker.clone(),
                Some(_) => {}
                None => longest.push(blocker.clone()),
            }
        }
        longest
    };
    let by_task = longest_by(|blocker| &blocker.task);
    let nested = |task: &Task| task.sections.iter().any(|section| section.inside.is_some());
    if set.tasks.iter().any(nested) {
        // Through a nested lock another one's holder is waited for: only tasks can be counted.
        return by_task;
    }
    let by_lock = longest_by(|blocker| &blocker.lock);
    let sum = |all: &[Blocker]| all.iter().map(|blocker| blocker.cycles).sum::<u64>();
    if sum(&by_lock) < sum(&by_task) { by_lock } else { by_task }
}

/// Without inheritance, tasks in between prolong the wait.
fn inversion(set: &Set, index: usize) -> Option<Chain> {
    let level = set.tasks[index].priority;
    for lock in shared(set, level) {
        let waits = set.tasks.iter().filter(|it| it.priority >= level && it.takes(lock));
        let waits = waits.min_by_key(|it| it.priority)?;
        for holder in lower(set, level).filter(|it| it.takes(lock)) {
            let between = set
                .tasks
                .iter()
                .find(|it| it.priority > holder.priority && it.priority < waits.priority);
            if let Some(between) = between {
                return Some(Chain(format!(
                    "{} waits for lock {}, which {} holds without inheriting its priority, and {} \
                     preempts {} as often as it comes",
                    waits.name, set.locks[lock], holder.name, between.name, holder.name
                )));
            }
        }
    }
    None
}

/// Inheritance that is not passed on: the holder of the outer lock waits for the inner one, whose
/// holder inherits from it what priority it has by itself.
fn passed_on(set: &Set, index: usize) -> Option<Chain> {
    let level = set.tasks[index].priority;
    let waited = waited_for(set, level);
    for middle in lower(set, level) {
        for inner in &middle.sections {
            let Some(outer) = inner.inside.filter(|outer| waited.contains(outer)) else { continue };
            let holder =
                set.tasks.iter().find(|it| it.priority < middle.priority && it.takes(inner.lock));
            // Whoever is more urgent than the task itself is counted anyhow.
            let between =
                set.tasks.iter().find(|it| it.priority > middle.priority && it.priority < level);
            if let (Some(holder), Some(between)) = (holder, between) {
                return Some(Chain(format!(
                    "{} waits for lock {} of {}, which waits for lock {} of {}; that one inherits \
                     from {} only what it has by itself, and {} preempts it as often as it comes",
                    set.tasks[index].name,
                    set.locks[outer],
                    middle.name,
                    set.locks[inner.lock],
                    holder.name,
                    middle.name,
                    between.name
                )));
            }
        }
    }
    None
}
