//! A task set in cycles: what analysis and runs are made of.

/// Tasks, locks and interrupts of one system, every time in cycles of its processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Cycles from one tick to the next, for kernels that have one.
    pub tick: u64,
    /// Cycles of the unit in which other kernels set their timer: by so much releases may be late.
    pub granule: u64,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// Names of the locks.
    pub locks: Vec<String>,
    /// The interrupts besides the kernel's own.
    pub interrupts: Vec<Interrupt>,
    /// Queues between tasks: [`Set::connect`] adds one, with the messages of its ends.
    pub queues: Vec<Queue>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Cycles from one job to the next, at least.
    pub period: u64,
    /// Cycles after which a job must be done.
    pub deadline: u64,
    /// Cycles after which its first job is released.
    pub offset: u64,
    /// Cycles by which a release may be late.
    pub jitter: u64,
    /// How urgent it is: larger is more urgent.
    pub priority: u32,
    /// Cycles that a job executes, without any of the kernel's.
    pub work: u64,
    /// For how many of them it holds locks.
    pub sections: Vec<Section>,
    /// Messages that a job sends.
    pub sends: u64,
    /// Messages that a job receives.
    pub receives: u64,
    /// Queues that a job looks into until it finds nothing: once more than there are messages, each.
    pub looks: u64,
    /// What releases its jobs.
    pub release: Release,
}

/// What releases a task's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The kernel's clock.
    Clock,
    /// An interrupt, by its place in the set.
    Interrupt(usize),
}

/// A stretch of a job in which it holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Which lock, by its place in the set.
    pub lock: usize,
    /// Cycles of the job's work for which it is held.
    pub cycles: u64,
    /// The lock within whose section it is taken.
    pub inside: Option<usize>,
}

/// An interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its name.
    pub name: String,
    /// Cycles from one to the next, at least.
    pub distance: u64,
    /// Cycles that its handler executes, without any of the kernel's.
    pub work: u64,
}

/// A queue: each job of one task sends a message, each of another receives what has gathered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// The task that sends, by its place in the set.
    pub from: usize,
    /// The task that receives.
    pub to: usize,
    /// How many messages it holds.
    pub items: u64,
}

impl Task {
    /// A task that the clock releases, with its deadline at the next release.
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

    /// The longest of its sections that hold this lock, those around it included.
    pub fn holds(&self, lock: usize) -> Option<&Section> {
        let with_lock = self.sections.iter().filter(|section| section.lock == lock);
        with_lock.map(|section| self.outermost(section)).max_by_key(|section| section.cycles)
    }

    fn outermost<'a>(&'a self, section: &'a Section) -> &'a Section {
        let mut outer = section;
        // No chain is longer than there are sections.
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

    /// Whether it takes this lock.
    pub fn takes(&self, lock: usize) -> bool {
        self.sections.iter().any(|section| section.lock == lock)
    }
}

impl Set {
    /// The most messages that gather from one job's look into a queue to the end of the next one's, where
    /// both ends meet their deadlines.
    ///
    /// A job of the sender's may send at any time until its deadline: those that were released before the look may send
    /// behind it. The first look has in front of it what was sent since the start.
    pub fn gathered(&self, from: usize, to: usize) -> u64 {
        let (from, to) = (&self.tasks[from], &self.tasks[to]);
        let between = to.period.saturating_add(to.deadline).saturating_add(from.deadline);
        let first = to.offset.saturating_add(to.deadline).saturating_sub(from.offset);
        between.max(first).div_ceil(from.period.max(1))
    }

    /// Adds a queue, with the messages that jobs of both ends send and receive.
    ///
    /// # Errors
    /// Where more can gather than it holds: how many.
    pub fn connect(&mut self, queue: Queue) -> Result<(), u64> {
        let gathered = self.gathered(queue.from, queue.to);
        if gathered > queue.items {
            return Err(gathered);
        }
        self.tasks[queue.from].sends += 1;
        self.tasks[queue.to].receives += gathered;
        self.tasks[queue.to].looks += 1;
        self.queues.push(queue);
        Ok(())
    }

    /// Thousandths of the processor that tasks and handlers ask for, rounded up.
    pub fn utilisation(&self) -> u64 {
        (self.utilisation_exact() * 1000.0 - 1e-6).ceil().max(0.0) as u64
    }

    /// The share of the processor that tasks and handlers ask for.
    pub fn utilisation_exact(&self) -> f64 {
        let tasks = self.tasks.iter().map(|task| task.work as f64 / task.period as f64);
        let handlers = self.interrupts.iter().map(|it| it.work as f64 / it.distance as f64);
        tasks.chain(handlers).sum()
    }

    /// The same set with its tasks' execution times, and the sections in them, at so many
    /// ten-thousandths of what they are; no time falls below one cycle.
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

    /// The same set on a processor whose clock is so many ten-thousandths of what it is: all times
    /// are fewer cycles, and what is executed is as many. Whole ticks stay whole ticks.
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
        for task in &mut set.tasks {
            (task.period, task.offset) = (time(task.period), time(task.offset));
            task.deadline = time(task.deadline);
            task.jitter = if task.jitter > 0 { scale(task.jitter) } else { 0 };
        }
        for interrupt in &mut set.interrupts {
            interrupt.distance = scale(interrupt.distance);
        }
        // What an interrupt releases comes as often as that one.
        for task in &mut set.tasks {
            if let Release::Interrupt(number) = task.release {
                task.period = set.interrupts.get(number).map_or(task.period, |it| it.distance);
            }
        }
        set
    }

    /// The least time after which all releases by the clock repeat; `None` where that is longer
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
