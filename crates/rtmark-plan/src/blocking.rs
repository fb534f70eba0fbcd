//! Blocking: how long locks held by lower-priority tasks can delay a job.
//!
//! Priority inheritance follows Sha, Rajkumar and Lehoczky (1990): at most one section per lock and
//! one per lower-priority task, whichever sum is less. Priority ceilings follow Baker (1991): one
//! section at most, and none once the job has begun.

use crate::set::{Section, Set, Task};

/// How a kernel's locks treat the priority of a blocked task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The holder keeps its own priority.
    None,
    /// The holder inherits the priority of the task it blocks, but does not pass it on to the
    /// holder of a lock that it waits for itself.
    Inheritance,
    /// The holder runs at the priority of the lock's most urgent user.
    Ceiling,
    /// No other task runs while a lock is held, since tasks yield only between polls.
    Cooperative,
}

/// A critical section of a lower-priority task that delays a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// The task that holds the lock.
    pub task: String,
    /// The lock.
    pub lock: String,
    /// Length of the section in cycles.
    pub cycles: u64,
    /// Number of locks taken in it, its own included.
    pub locks: u64,
}

impl Blocker {
    /// Returns the cycles by which it delays a job, the kernel's included.
    const fn delay(&self, kernel: LockCycles) -> u64 {
        let locks = self.locks.saturating_mul(kernel.per_lock);
        self.cycles.saturating_add(locks).saturating_add(kernel.per_wait)
    }
}

/// What a kernel adds to a section that delays a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCycles {
    /// Cycles for each lock taken in the section and released.
    pub per_lock: u64,
    /// Cycles for the switches to the holder and back.
    pub per_wait: u64,
}

/// A chain of tasks and locks through which a job's wait is unbounded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Chain(pub String);

/// Returns the sections of lower-priority tasks that delay a job of `task` in the worst case, what
/// the kernel adds to them included.
///
/// # Errors
/// When tasks that do not take the lock can prolong the wait without limit.
pub fn blockers(
    set: &Set,
    task: usize,
    protocol: Protocol,
    kernel: LockCycles,
) -> Result<Vec<Blocker>, Chain> {
    let level = set.tasks[task].priority;
    match protocol {
        Protocol::Cooperative => Ok(Vec::new()),
        Protocol::Ceiling => {
            let all = candidates(set, level, &shared(set, level).collect::<Vec<_>>());
            Ok(all.into_iter().max_by_key(|blocker| blocker.delay(kernel)).into_iter().collect())
        }
        Protocol::None => {
            if let Some(chain) = inversion(set, task) {
                return Err(chain);
            }
            Ok(inherited(set, level, kernel))
        }
        Protocol::Inheritance => {
            if let Some(chain) = intransitive_chain(set, task) {
                return Err(chain);
            }
            Ok(inherited(set, level, kernel))
        }
    }
}

fn lower(set: &Set, level: u32) -> impl Iterator<Item = &Task> {
    set.tasks.iter().filter(move |task| task.priority < level)
}

/// Returns the locks taken by tasks at this priority level or above.
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

/// Returns the locks for which a task at this level or above may have to wait: those it takes
/// itself, and those that their holders wait for in turn.
fn contended_locks(set: &Set, level: u32) -> Vec<usize> {
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

/// Returns every section of a lower-priority task that holds one of these locks.
fn candidates(set: &Set, level: u32, locks: &[usize]) -> Vec<Blocker> {
    let of = |task| {
        let held = locks.iter().flat_map(|&lock| {
            Task::holds(task, lock).map(move |section| blocker(set, task, lock, section))
        });
        held.collect::<Vec<_>>()
    };
    lower(set, level).flat_map(of).collect()
}

/// Returns one section per lock or one per lower-priority task, whichever sum is less.
fn inherited(set: &Set, level: u32, kernel: LockCycles) -> Vec<Blocker> {
    let all = candidates(set, level, &contended_locks(set, level));
    let longest_by = |name: fn(&Blocker) -> &str| {
        let mut longest: Vec<Blocker> = Vec::new();
        for blocker in &all {
            match longest.iter_mut().find(|known| name(known) == name(blocker)) {
                Some(known) if known.delay(kernel) < blocker.delay(kernel) => {
                    *known = blocker.clone();
                }
                Some(_) => {}
                None => longest.push(blocker.clone()),
            }
        }
        longest
    };
    let by_task = longest_by(|blocker| &blocker.task);
    let nested = |task: &Task| task.sections.iter().any(|section| section.inside.is_some());
    if set.tasks.iter().any(nested) {
        // With nesting, a job also waits for holders of inner locks, so only the count by task is
        // safe.
        return by_task;
    }
    let by_lock = longest_by(|blocker| &blocker.lock);
    let sum = |all: &[Blocker]| all.iter().map(|blocker| blocker.delay(kernel)).sum::<u64>();
    if sum(&by_lock) < sum(&by_task) { by_lock } else { by_task }
}

/// Finds a priority inversion without inheritance: a task of intermediate priority that preempts
/// the holder and so prolongs the wait.
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
                     preempts {} whenever it is released",
                    waits.name, set.locks[lock], holder.name, between.name, holder.name
                )));
            }
        }
    }
    None
}

/// Finds a chain in which inheritance is not transitive: the holder of the outer lock waits for the
/// inner one, whose holder inherits only the outer holder's base priority.
fn intransitive_chain(set: &Set, index: usize) -> Option<Chain> {
    let level = set.tasks[index].priority;
    let waited = contended_locks(set, level);
    for middle in lower(set, level) {
        for inner in &middle.sections {
            let Some(outer) = inner.inside.filter(|outer| waited.contains(outer)) else { continue };
            let holder =
                set.tasks.iter().find(|it| it.priority < middle.priority && it.takes(inner.lock));
            // Tasks more urgent than `index` count as preemption anyway.
            let between =
                set.tasks.iter().find(|it| it.priority > middle.priority && it.priority < level);
            if let (Some(holder), Some(between)) = (holder, between) {
                return Some(Chain(format!(
                    "{} waits for lock {} held by {}, which waits for lock {} held by {}; the \
                     latter inherits only the base priority of {}, and {} preempts it whenever it \
                     is released",
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
