//! Task sets in cycles: the input of both analysis and runs.

/// The tasks, locks and interrupts of one system, with all times in processor cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Cycles per tick, for kernels that have one.
    pub tick: u64,
    /// The timer resolution of kernels without a tick.
    pub granule: Granule,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// The names of the locks.
    pub locks: Vec<String>,
    /// The interrupts other than the kernel's own.
    pub interrupts: Vec<Interrupt>,
    /// The queues between tasks. [`Set::connect`] adds one together with the messages of both ends.
    pub queues: Vec<Queue>,
}

/// The unit in which kernels without a tick set timers, in cycles. It may be no whole number of them: then it lies
/// between the two, and no time in whole cycles is a multiple of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granule {
    /// The unit, rounded down; 0: timers are set to the cycle.
    pub least: u64,
    /// The unit, rounded up: releases may be late by this much.
    pub most: u64,
}

impl Granule {
    /// Returns the unit where a clock of `hertz` counts time in parts of a second.
    pub const fn of(hertz: u64, parts: u64) -> Self {
        Self { least: hertz / parts, most: hertz.div_ceil(parts) }
    }

    /// Returns whether a time is a multiple of it.
    pub const fn divides(self, cycles: u64) -> bool {
        self.most == 0 || self.least == self.most && cycles.is_multiple_of(self.most)
    }
}

impl From<u64> for Granule {
    fn from(cycles: u64) -> Self {
        Self { least: cycles, most: cycles }
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Least cycles from one job to the next.
    pub period: u64,
    /// Relative deadline in cycles.
    pub deadline: u64,
    /// Cycles from the start to its first release.
    pub offset: u64,
    /// Release jitter in cycles.
    pub jitter: u64,
    /// Priority: larger is more urgent.
    pub priority: u32,
    /// Execution time of a job in cycles, without the kernel's costs.
    pub work: u64,
    /// The critical sections within its work.
    pub sections: Vec<Section>,
    /// Messages sent by each job.
    pub sends: u64,
    /// Messages received by each job.
    pub receives: u64,
    /// Queues that each job drains: it looks into each once more than there are messages.
    pub looks: u64,
    /// What releases its jobs.
    pub release: Release,
}

/// What releases a task's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The kernel's clock.
    Clock,
    /// An interrupt, by its index in the set.
    Interrupt(usize),
}

/// A critical section: a stretch of a job that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The lock, by its index in the set.
    pub lock: usize,
    /// Length in cycles, as part of the job's work.
    pub cycles: u64,
    /// The lock whose section encloses this one, if any.
    pub inside: Option<usize>,
}

/// An interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its name.
    pub name: String,
    /// Least cycles from one to the next.
    pub distance: u64,
    /// Execution time of its handler in cycles, without the kernel's costs.
    pub work: u64,
}

/// A queue: each job of one task sends a message, and each job of another receives all that have
/// accumulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// The sending task, by its index in the set.
    pub from: usize,
    /// The receiving task, by its index in the set.
    pub to: usize,
    /// Its capacity in messages.
    pub items: u64,
}

impl Task {
    /// Returns a task that the clock releases, with an implicit deadline (equal to the period).
    pub fn new(name: &str, priority: u32, work: u64, period: u64) -> Self {
        Self {
            name: name.to_owned(),
            period,
            deadline: period,
            offset: 0,
            jitter: 0,
            priority,
            work,
            sections: Vec::new(),
            sends: 0,
            receives: 0,
            looks: 0,
            release: Release::Clock,
        }
    }

    /// Returns the outermost sections in which it holds this lock.
    pub fn holds(&self, lock: usize) -> impl Iterator<Item = &Section> {
        let with_lock = self.sections.iter().filter(move |section| section.lock == lock);
        with_lock.map(|section| self.outermost(section))
    }

    fn outermost<'a>(&'a self, section: &'a Section) -> &'a Section {
        let mut outer = section;
        // A chain of sections is no longer than their number.
        for _ in 0..self.sections.len() {
            let around = outer.inside.and_then(|lock| {
                self.sections.iter().filter(|other| other.lock == lock).max_by_key(|it| it.cycles)
            });
            match around {
                Some(around) => outer = around,
                None => break,
            }
        }
        outer
    }

    /// Returns whether it takes this lock.
    pub fn takes(&self, lock: usize) -> bool {
        self.sections.iter().any(|section| section.lock == lock)
    }
}

impl Set {
    /// Returns the tasks other than the one at `index`, each with its own index.
    pub(crate) fn others(&self, index: usize) -> impl Iterator<Item = (usize, &Task)> {
        self.tasks.iter().enumerate().filter(move |(number, _)| *number != index)
    }

    /// Returns the most messages that accumulate from one job's look into a queue to the end of the
    /// next job's, if both ends meet their deadlines.
    ///
    /// A job of the sender may send at any time until its deadline, so jobs released before the
    /// look may send after it. The first look finds everything sent since the start.
    pub fn accumulated(&self, from: usize, to: usize) -> u64 {
        let (from, to) = (&self.tasks[from], &self.tasks[to]);
        let between = to.period.saturating_add(to.deadline).saturating_add(from.deadline);
        let first = to.offset.saturating_add(to.deadline).saturating_sub(from.offset);
        between.max(first).div_ceil(from.period.max(1))
    }

    /// Adds a queue, with the messages that jobs of both ends send and receive.
    ///
    /// # Errors
    /// When more messages can accumulate than the queue holds; the error is their number.
    pub fn connect(&mut self, queue: Queue) -> Result<(), u64> {
        let accumulated = self.accumulated(queue.from, queue.to);
        if accumulated > queue.items {
            return Err(accumulated);
        }
        self.tasks[queue.from].sends += 1;
        self.tasks[queue.to].receives += accumulated;
        self.tasks[queue.to].looks += 1;
        self.queues.push(queue);
        Ok(())
    }

    /// Returns what the bounds take for granted that the system's file does not promise, as sentences.
    pub fn assumptions(&self) -> Vec<String> {
        let of = |queue: &Queue| {
            let to = self.tasks.get(queue.to)?;
            let Release::Interrupt(number) = to.release else { return None };
            let interrupt = self.interrupts.get(number)?;
            Some(format!(
                "{} takes the messages of {} when interrupt {} comes, which is assumed to be as often as its distance \
                 says: if it comes less often, more messages accumulate than are counted",
                to.name, queue.name, interrupt.name
            ))
        };
        self.queues.iter().filter_map(of).collect()
    }

    /// Returns the utilization by tasks and handlers in thousandths, rounded up.
    pub fn utilisation(&self) -> u64 {
        (self.utilisation_exact() * 1000.0 - 1e-6).ceil().max(0.0) as u64
    }

    /// Returns the utilization by tasks and handlers as a share of the processor.
    pub fn utilisation_exact(&self) -> f64 {
        let tasks = self.tasks.iter().map(|task| task.work as f64 / task.period as f64);
        let handlers = self.interrupts.iter().map(|it| it.work as f64 / it.distance as f64);
        tasks.chain(handlers).sum()
    }

    /// Returns the set with execution times and critical sections scaled by a factor in
    /// ten-thousandths. No time falls below one cycle.
    #[must_use]
    pub fn scaled(&self, ten_thousandths: u64) -> Self {
        let scale = |cycles: u64| {
            let scaled = u128::from(cycles) * u128::from(ten_thousandths) / 10_000;
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        let mut set = self.clone();
        for task in &mut set.tasks {
            task.work = scale(task.work);
            for section in &mut task.sections {
                section.cycles = scale(section.cycles).min(task.work);
            }
        }
        set
    }

    /// Returns the set for a processor whose clock is scaled by a factor in ten-thousandths: times
    /// scale with it, execution in cycles stays the same. Whole ticks stay whole ticks.
    #[must_use]
    pub fn clocked(&self, ten_thousandths: u64) -> Self {
        let scale = |cycles: u64| {
            let scaled = u128::from(cycles) * u128::from(ten_thousandths) / 10_000;
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        let tick = scale(self.tick);
        let time = |cycles: u64| {
            let whole = self.tick > 0 && cycles.is_multiple_of(self.tick);
            if whole { cycles / self.tick * tick } else { scale(cycles) }
        };
        let mut set = self.clone();
        set.tick = tick;
        set.granule = Granule {
            least: self.granule.least * ten_thousandths / 10_000,
            most: (self.granule.most * ten_thousandths).div_ceil(10_000),
        };
        for task in &mut set.tasks {
            (task.period, task.offset) = (time(task.period), time(task.offset));
            task.deadline = time(task.deadline);
            // Rounded up: it is in the way of others.
            let jitter = u128::from(task.jitter) * u128::from(ten_thousandths);
            task.jitter = u64::try_from(jitter.div_ceil(10_000)).unwrap_or(u64::MAX);
        }
        for interrupt in &mut set.interrupts {
            interrupt.distance = scale(interrupt.distance);
        }
        // A task released by an interrupt has that interrupt's distance as its period.
        for task in &mut set.tasks {
            if let Release::Interrupt(number) = task.release {
                task.period = set.interrupts.get(number).map_or(task.period, |it| it.distance);
            }
        }
        set
    }

    /// Returns the time after which all releases by the clock repeat, or `None` if it is longer
    /// than `most` cycles.
    pub fn hyperperiod(&self, most: u64) -> Option<u64> {
        self.tasks.iter().try_fold(1, |so_far: u64, task| {
            let common = so_far.checked_mul(task.period / gcd(so_far, task.period))?;
            (common <= most).then_some(common)
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
