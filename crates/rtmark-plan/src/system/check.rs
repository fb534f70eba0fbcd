//! Checks of system files, and their conversion to cycles.

use std::ops::Range;

use toml::Spanned;

use super::{LockFile, Priority, QueueFile, Rounding, System, TaskFile, Time, Work};
use crate::set::{Granule, Interrupt, Queue, Release, Section, Set, Task};

/// The most tasks, interrupts or locks in a file.
const MAX_ENTRIES: usize = 1_000;

/// Timer units per second for kernels that do not count ticks.
const MICROSECONDS: u64 = 1_000_000;

/// The default stack size in bytes.
const STACK: u64 = 512;

/// The properties of a soc that a system has to fit.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// The soc's clock in Hz, which converts work stated in units of time to cycles.
    pub hertz: u64,
    /// The clock at which it runs, in Hz: lower than `hertz` when a plan is asked about a slower
    /// clock.
    pub clock: u64,
    /// RAM in bytes.
    pub ram: u64,
}

/// An error in a system file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {key}: {problem}")]
pub struct SystemError {
    /// The file.
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The key, with the name of the object it belongs to.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub hint: String,
}

fn line(text: &str, span: &Range<usize>) -> usize {
    let before = text.get(..span.start).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

impl System {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// When it is not valid TOML, has an unknown key, lacks a required one, or contradicts itself.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SystemError> {
        let read = toml::from_str::<Self>(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let key = text.get(span.clone()).filter(|it| !it.contains('\n')).unwrap_or_default();
            SystemError {
                file: file.to_owned(),
                line: line(text, &span),
                key: if key.is_empty() { "the file".to_owned() } else { key.trim().to_owned() },
                problem: error.message().to_owned(),
                hint: "correct it; `rtmark plan --init` shows every key".to_owned(),
            }
        })?;
        let system = Self { text: text.to_owned(), file: file.to_owned(), ..read };
        system.check()?;
        Ok(system)
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the system with another tick, in Hz.
    #[must_use]
    pub fn with_tick(&self, hertz: u64) -> Self {
        let span = self.tick.as_ref().map_or(0..0, Spanned::span);
        let time = Time::Picoseconds(1_000_000_000_000 / hertz.max(1));
        Self { tick: Some(Spanned::new(span, time)), ..self.clone() }
    }

    /// Returns whether priorities are to be assigned automatically.
    pub fn assigns_priorities(&self) -> bool {
        self.task.iter().any(|task| matches!(task.priority.get_ref(), Priority::Word(_)))
    }

    fn refuse<T>(
        &self,
        at: &Spanned<T>,
        key: impl Into<String>,
        problem: impl Into<String>,
        hint: &str,
    ) -> SystemError {
        SystemError {
            file: self.file.clone(),
            line: line(&self.text, &at.span()),
            key: key.into(),
            problem: problem.into(),
            hint: hint.to_owned(),
        }
    }

    /// Returns an error about something the file names that the caller resolved: its soc, kernels
    /// or functions.
    pub fn refusal<T>(
        &self,
        at: &Spanned<T>,
        key: &str,
        problem: impl Into<String>,
    ) -> SystemError {
        self.refuse(at, key, problem, "correct it, or leave it out")
    }

    fn check(&self) -> Result<(), SystemError> {
        if self.task.is_empty() {
            let problem = "there is no [[task]]";
            return Err(self.refuse(&self.soc, "task", problem, "add at least one [[task]]"));
        }
        if self.kernels.is_empty() {
            let problem = "no kernel is named";
            let hint = "name one, for example [\"freertos\"]";
            return Err(self.refuse(&self.soc, "kernels", problem, hint));
        }
        if self.task.len().max(self.interrupt.len()).max(self.locks.len()) > MAX_ENTRIES {
            let problem = format!("more than {MAX_ENTRIES} tasks, interrupts or locks");
            return Err(self.refuse(&self.soc, "task", problem, "split the system"));
        }
        self.unique(self.task.iter().map(|task| &task.name), "task")?;
        self.unique(self.interrupt.iter().map(|it| &it.name), "interrupt")?;
        self.unique(self.queue.iter().map(|it| &it.name), "queue")?;
        self.unique(self.locks.iter(), "locks")?;
        self.unique(self.kernels.iter(), "kernels")?;
        if let Some(slack) = &self.slack_percent
            && !(0.0..100.0).contains(slack.get_ref())
        {
            let problem = format!("{} is not a percentage from 0 to below 100", slack.get_ref());
            return Err(self.refuse(slack, "slack_percent", problem, "state one in this range"));
        }
        for task in &self.task {
            self.check_task(task)?;
        }
        for queue in &self.queue {
            for (key, end) in [("from", &queue.from), ("to", &queue.to)] {
                if !self.task.iter().any(|task| task.name.get_ref() == end.get_ref()) {
                    let key = format!("{key} of queue {}", queue.name.get_ref());
                    let problem = format!("there is no task `{}`", end.get_ref());
                    return Err(self.refuse(end, key, problem, "name one of the tasks"));
                }
            }
            if *queue.items.get_ref() == 0 {
                let key = format!("items of queue {}", queue.name.get_ref());
                let problem = "a queue without room holds no messages";
                return Err(self.refuse(
                    &queue.items,
                    key,
                    problem,
                    "give it room for at least one",
                ));
            }
        }
        self.check_lock_order()
    }

    fn unique<'a>(
        &self,
        mut names: impl Iterator<Item = &'a Spanned<String>>,
        key: &str,
    ) -> Result<(), SystemError> {
        let mut known = std::collections::BTreeSet::new();
        names.try_for_each(|name| {
            let text = name.get_ref();
            if text.is_empty() || text.len() > 64 || text.chars().any(char::is_control) {
                let problem = "a name has from 1 to 64 characters, and no control characters";
                return Err(self.refuse(name, key, problem, "give it another name"));
            }
            if known.insert(text) {
                return Ok(());
            }
            let problem = format!("`{text}` occurs twice");
            Err(self.refuse(name, key, problem, "give one of them another name"))
        })
    }

    fn check_task(&self, task: &TaskFile) -> Result<(), SystemError> {
        let name = task.name.get_ref();
        let of = |key: &str| format!("{key} of task {name}");
        match (&task.period, &task.on) {
            (Some(_), None) => {}
            (None, Some(on)) => {
                if !self.interrupt.iter().any(|it| it.name.get_ref() == on.get_ref()) {
                    let problem = format!("there is no interrupt `{}`", on.get_ref());
                    return Err(self.refuse(on, of("on"), problem, "name an [[interrupt]]"));
                }
            }
            (Some(period), Some(_)) => {
                let problem = "its jobs are released by the clock and by an interrupt";
                let hint = "remove either `period` or `on`";
                return Err(self.refuse(period, of("period"), problem, hint));
            }
            (None, None) => {
                let problem = "nothing releases its jobs";
                let hint = "state its `period`, or with `on` the interrupt that releases it";
                return Err(self.refuse(&task.name, of("period"), problem, hint));
            }
        }
        match task.priority.get_ref() {
            Priority::Word(word) if word != "assign" => {
                let problem = format!("`{word}` is neither a number nor \"assign\"");
                return Err(self.refuse(&task.priority, of("priority"), problem, "correct it"));
            }
            Priority::Level(_) if self.assigns_priorities() => {
                let problem =
                    "it is a number, but the priorities of other tasks are to be assigned";
                let hint = "write \"assign\" for every task, or for none";
                return Err(self.refuse(&task.priority, of("priority"), problem, hint));
            }
            _ => {}
        }
        for lock in &task.lock {
            for name in std::iter::once(&lock.name).chain(&lock.inside) {
                if !self.locks.iter().any(|known| known.get_ref() == name.get_ref()) {
                    let problem = format!("`{}` is not among the `locks`", name.get_ref());
                    return Err(self.refuse(name, of("lock"), problem, "add it there"));
                }
            }
            if let Some(inside) = &lock.inside {
                let outer = task.lock.iter().find(|it| it.name.get_ref() == inside.get_ref());
                if outer.is_none_or(|outer| outer.name.get_ref() == lock.name.get_ref()) {
                    let problem =
                        format!("the task does not hold `{}` at that point", inside.get_ref());
                    let hint = "state the outer section as well, with another lock";
                    return Err(self.refuse(inside, of("lock"), problem, hint));
                }
            }
        }
        Ok(())
    }

    /// Checks that nested locks are always taken in the same order.
    fn check_lock_order(&self) -> Result<(), SystemError> {
        let nested: Vec<(&TaskFile, &LockFile, &Spanned<String>)> = self
            .task
            .iter()
            .flat_map(|task| task.lock.iter().map(move |lock| (task, lock)))
            .filter_map(|(task, lock)| Some((task, lock, lock.inside.as_ref()?)))
            .collect();
        for (task, lock, outer) in &nested {
            // Walk outwards from the inner lock; reaching it again closes a cycle.
            let mut chain = vec![outer.get_ref().as_str()];
            let mut at = 0;
            while at < chain.len() {
                let here = chain[at];
                let around = nested.iter().filter(|(_, inner, _)| inner.name.get_ref() == here);
                for (_, _, further) in around {
                    let further = further.get_ref().as_str();
                    if further == lock.name.get_ref() {
                        let problem = format!(
                            "{} is taken inside {}, and elsewhere the other way round: tasks that \
                             wait for each other deadlock",
                            lock.name.get_ref(),
                            outer.get_ref()
                        );
                        let key = format!("lock of task {}", task.name.get_ref());
                        let hint = "take the locks in the same order everywhere";
                        return Err(self.refuse(outer, key, problem, hint));
                    }
                    if !chain.contains(&further) {
                        chain.push(further);
                    }
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Converts the system to cycles. `measured` returns the cycles of work that has to be
    /// measured, or `None` if they are not known yet: such work counts as one cycle, and checks
    /// that depend on it are skipped.
    ///
    /// # Errors
    /// When the system does not fit the chip, demands more than the whole processor, or refers to
    /// something that cannot be measured.
    pub fn set(
        &self,
        chip: Chip,
        measured: &mut dyn FnMut(&Work) -> Result<Option<u64>, String>,
    ) -> Result<Set, SystemError> {
        let mut cycles = |of: &str, at: &Spanned<Work>| -> Result<Option<u64>, SystemError> {
            let found = match at.get_ref() {
                Work::Time(time) => Ok(Some(time.cycles(chip.hertz, Rounding::Up))),
                other => measured(other),
            };
            let hint = match at.get_ref() {
                Work::Function(_) => {
                    "`elf` is a path relative to this file's folder, and `function` a symbol in \
                     that ELF file"
                }
                Work::Scenario(_) | Work::Time(_) => "`rtmark list scenarios` names the scenarios",
            };
            let found =
                found.map_err(|problem| self.refuse(at, format!("work of {of}"), problem, hint))?;
            if found == Some(0) {
                let hint = "state at least one cycle";
                return Err(self.refuse(at, format!("work of {of}"), "it is zero", hint));
            }
            Ok(found)
        };
        let mut set = Set {
            tick: self.tick(chip)?,
            granule: Granule::of(chip.clock, MICROSECONDS),
            locks: self.locks.iter().map(|lock| lock.get_ref().clone()).collect(),
            ..Set::default()
        };
        for interrupt in &self.interrupt {
            let name = interrupt.name.get_ref().clone();
            let of = format!("interrupt {name}");
            set.interrupts.push(Interrupt {
                distance: self.positive(
                    &interrupt.distance,
                    &format!("distance of {of}"),
                    chip,
                    Rounding::Down,
                )?,
                work: cycles(&of, &interrupt.work)?.unwrap_or(1),
                name,
            });
        }
        for task in &self.task {
            let work = cycles(&format!("task {}", task.name.get_ref()), &task.work)?;
            set.tasks.push(self.task(task, work, chip, &set)?);
        }
        for queue in &self.queue {
            self.messages(queue, &mut set)?;
        }
        // At a slower clock, overload is a valid result rather than an error.
        if set.utilisation() > 1000 && chip.clock == chip.hertz {
            let problem = format!(
                "tasks and handlers demand {:.1} % of the processor",
                set.utilisation_exact() * 100.0
            );
            let first = &self.task[0].work;
            return Err(self.refuse(
                first,
                "work of all tasks",
                problem,
                "reduce the work, or choose a faster soc",
            ));
        }
        let stack = |task: &TaskFile| task.stack.as_ref().map_or(STACK, |stack| *stack.get_ref());
        let stacks = self.task.iter().fold(0, |sum: u64, task| sum.saturating_add(stack(task)));
        if stacks > chip.ram {
            let problem = format!(
                "all stacks together are {stacks} bytes, but the soc has {} of RAM",
                chip.ram
            );
            let most = self.task.iter().max_by_key(|task| stack(task)).unwrap_or(&self.task[0]);
            let key = format!("stack of task {}", most.name.get_ref());
            let hint = "make stacks smaller, or choose another soc";
            return Err(match &most.stack {
                Some(at) => self.refuse(at, key, problem, hint),
                None => self.refuse(&most.name, key, problem, hint),
            });
        }
        Ok(set)
    }

    /// Adds a queue: each job of its sender sends a message, and each job of its receiver takes all
    /// that have accumulated.
    fn messages(&self, queue: &QueueFile, set: &mut Set) -> Result<(), SystemError> {
        let place = |end: &Spanned<String>| {
            set.tasks.iter().position(|task| task.name == *end.get_ref()).unwrap_or(0)
        };
        let (from, to) = (place(&queue.from), place(&queue.to));
        let (name, items) = (queue.name.get_ref().clone(), *queue.items.get_ref());
        set.connect(Queue { name, from, to, items }).map_err(|accumulated| {
            let key = format!("items of queue {}", queue.name.get_ref());
            let problem = format!(
                "{accumulated} messages can accumulate from one job of {} to the end of the next, \
                 but it holds {items}",
                queue.to.get_ref()
            );
            let hint = "give it more room, or shorten the receiver's period";
            self.refuse(&queue.items, key, problem, hint)
        })
    }

    fn positive(
        &self,
        at: &Spanned<Time>,
        key: &str,
        chip: Chip,
        rounding: Rounding,
    ) -> Result<u64, SystemError> {
        match self.within_limit(at, key, chip, rounding)? {
            0 => Err(self.refuse(at, key, "0 cycles are too short", "state another time")),
            cycles => Ok(cycles),
        }
    }

    /// Converts a time, up to a limit that keeps sums of times far below the range of `u64`.
    fn within_limit(
        &self,
        at: &Spanned<Time>,
        key: &str,
        chip: Chip,
        rounding: Rounding,
    ) -> Result<u64, SystemError> {
        let cycles = at.get_ref().cycles_at(chip.clock, chip.hertz, rounding);
        if cycles > 1 << 46 {
            let problem = format!("{cycles} cycles are too long");
            return Err(self.refuse(at, key, problem, "state another time"));
        }
        Ok(cycles)
    }

    fn optional(
        &self,
        at: Option<&Spanned<Time>>,
        key: &str,
        chip: Chip,
        rounding: Rounding,
    ) -> Result<Option<u64>, SystemError> {
        at.map(|at| self.positive(at, key, chip, rounding)).transpose()
    }

    /// Returns the cycles of a tick. At a slower clock, a kernel sets its counter to the whole cycles of
    /// one.
    fn tick(&self, chip: Chip) -> Result<u64, SystemError> {
        let Some(at) = &self.tick else { return Ok(chip.clock / 1000) };
        let own = Chip { clock: chip.hertz, ..chip };
        let cycles = self.positive(at, "tick", own, Rounding::Nearest)?;
        let slower = Time::Cycles(cycles).cycles_at(chip.clock, chip.hertz, Rounding::Down);
        if slower == 0 {
            let problem = format!("it is less than a cycle at {} Hz", chip.clock);
            return Err(self.refuse(
                at,
                "tick",
                problem,
                "state another time, or sweep faster clocks",
            ));
        }
        Ok(slower)
    }

    /// Returns how many ticks a time is, if it is a whole number of them at the soc's own clock, whatever part
    /// of a cycle the file's numbers miss.
    fn whole_ticks(&self, time: Time, chip: Chip) -> Option<u64> {
        let tick = self
            .tick
            .as_ref()
            .map_or(chip.hertz / 1000, |tick| tick.get_ref().cycles(chip.hertz, Rounding::Nearest));
        let cycles = time.cycles(chip.hertz, Rounding::Nearest);
        (tick > 0 && cycles.is_multiple_of(tick)).then(|| cycles / tick)
    }

    fn task(
        &self,
        file: &TaskFile,
        work: Option<u64>,
        chip: Chip,
        set: &Set,
    ) -> Result<Task, SystemError> {
        let name = file.name.get_ref();
        let of = |key: &str| format!("{key} of task {name}");
        let (period, release) = match (&file.period, &file.on) {
            (Some(period), _) => {
                let cycles = self.positive(period, &of("period"), chip, Rounding::Down)?;
                let ticks = self.whole_ticks(*period.get_ref(), chip);
                (ticks.map_or(cycles, |ticks| ticks * set.tick), Release::Clock)
            }
            (None, on) => {
                let index = on
                    .as_ref()
                    .and_then(|on| set.interrupts.iter().position(|it| it.name == *on.get_ref()));
                // Reading the file has checked that the interrupt exists.
                let index = index.unwrap_or(0);
                let distance = set.interrupts.get(index).map_or(1, |it| it.distance);
                (distance, Release::Interrupt(index))
            }
        };
        let deadline = self
            .optional(file.deadline.as_ref(), &of("deadline"), chip, Rounding::Down)?
            .unwrap_or(period);
        let or_zero = |time: &Option<Spanned<Time>>, key, rounding| {
            let cycles = time.as_ref().map(|at| self.within_limit(at, &of(key), chip, rounding));
            cycles.transpose().map(Option::unwrap_or_default)
        };
        let lock_of = |name: &Spanned<String>| {
            set.locks.iter().position(|lock| lock == name.get_ref()).unwrap_or(0)
        };
        let mut sections = Vec::new();
        let mut outermost: u64 = 0;
        for lock in &file.lock {
            let own = Chip { clock: chip.hertz, ..chip };
            let cycles = self.positive(&lock.length, &of("lock"), own, Rounding::Up)?;
            let outer = lock.inside.as_ref().and_then(|inside| {
                file.lock.iter().find(|it| it.name.get_ref() == inside.get_ref())
            });
            let around = outer.map(|outer| outer.length.get_ref().cycles(chip.hertz, Rounding::Up));
            if let Some(room) = around.or(work).filter(|room| cycles > *room) {
                let problem = format!(
                    "`{}` is held for {cycles} cycles, but only {room} are available",
                    lock.name.get_ref()
                );
                let hint = "a section is part of the task's `work`, or of the section around it";
                return Err(self.refuse(&lock.length, of("lock"), problem, hint));
            }
            outermost = outermost.saturating_add(if outer.is_none() { cycles } else { 0 });
            let inside = lock.inside.as_ref().map(lock_of);
            sections.push(Section { lock: lock_of(&lock.name), cycles, inside });
        }
        if let Some(work) = work.filter(|work| outermost > *work) {
            let problem =
                format!("locks are held for {outermost} cycles, but the task's work is {work}");
            return Err(self.refuse(
                &file.name,
                of("lock"),
                problem,
                "hold them for less time, or mark nested ones with `inside`",
            ));
        }
        let late = work.filter(|work| deadline < *work && chip.clock == chip.hertz);
        if let Some(work) = late {
            let problem =
                format!("{deadline} cycles are less than the {work} cycles of a job's work");
            let at = file.deadline.as_ref().or(file.period.as_ref());
            let hint = "no kernel can meet that";
            return Err(match at {
                Some(at) => self.refuse(at, of("deadline"), problem, hint),
                None => self.refuse(&file.name, of("deadline"), problem, hint),
            });
        }
        let priority = match file.priority.get_ref() {
            Priority::Level(level) => *level,
            Priority::Word(_) => 0,
        };
        // The kernel sets a timer for the offset, as it does for the tick.
        let offset = or_zero(&file.offset, "offset", Rounding::Nearest)?;
        let ticks = file.offset.as_ref().and_then(|at| self.whole_ticks(*at.get_ref(), chip));
        Ok(Task {
            name: name.clone(),
            period,
            deadline,
            offset: ticks.map_or(offset, |ticks| ticks * set.tick),
            jitter: or_zero(&file.jitter, "jitter", Rounding::Up)?,
            priority,
            work: work.unwrap_or(1),
            sections,
            sends: 0,
            receives: 0,
            looks: 0,
            release,
        })
    }
}
