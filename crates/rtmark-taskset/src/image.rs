//! The image of task sets and the table in it; `firmware/c/plan.h` describes both.

use rtmark_firmware::probes::{self, Kind, Record, SECTION};
use rtmark_firmware::{SelectError, select};
use rtmark_observe::watch_main_stack;
use rtmark_plan::{Model, Order, Protocol};
use rtmark_sim::{Image, LoadError, Machine, Soc};

use crate::run::{EventFilter, FIRST_INTERRUPT, Mark, Traffic};

/// The most tasks in the table; an image may have fewer.
pub const MAX_TASKS: usize = 8;

/// The most locks.
pub const MAX_LOCKS: usize = 2;

/// The most interrupts.
pub const MAX_INTERRUPTS: usize = 2;

/// The most queues.
pub const MAX_QUEUES: usize = 4;

/// The largest capacity of a queue.
pub const MAX_ITEMS: u64 = 32;

/// Words of traffic counters per queue.
const TRAFFIC_WORDS: usize = 3;

/// The most stretches per job.
const MAX_STRETCHES: usize = 5;

/// Words per task in the table.
const ROW_WORDS: usize = 7 + 2 * MAX_STRETCHES;

/// The tick from which offsets count.
pub(crate) const START: u64 = 2;

/// The microsecond from which offsets count if a timer is set to releases.
const ALARM_START: u64 = 1000;

/// Counts per second of such a timer.
const ALARM_HZ: u64 = 1_000_000;

/// The exception number of SysTick.
pub(crate) const SYSTICK: u16 = 15;

/// The longest period of SysTick, in cycles.
const LONGEST_TICK: u64 = 1 << 24;

/// Why a set cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The image is not a valid image of task sets.
    #[error("the image of task sets: {0}")]
    Image(String),
    /// The set does not fit the table.
    #[error("{0}")]
    DoesNotFit(String),
    /// The run ended early.
    #[error("the run ended in cycle {cycle}: {how}")]
    Ended {
        /// The cycle in which it ended.
        cycle: u64,
        /// How it ended.
        how: String,
    },
    /// The image's main stack grew into other data.
    #[error("{0}")]
    StackOverflow(String),
    /// An event to be measured did not occur.
    #[error("{0} did not occur in a run that measures it")]
    NotObserved(&'static str),
}

impl From<LoadError> for SetError {
    fn from(error: LoadError) -> Self {
        Self::Image(error.to_string())
    }
}

impl From<SelectError> for SetError {
    fn from(error: SelectError) -> Self {
        Self::Image(error.to_string())
    }
}

/// A stretch of a job: rounds of the loop, with or without a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub rounds: u64,
    /// The lock, from 0.
    pub lock: Option<usize>,
    /// The lock taken in the middle of this section, for the rounds of the next entry.
    pub inner: Option<usize>,
}

impl Stretch {
    /// Returns the locks it takes, in order.
    pub fn locks(&self) -> impl Iterator<Item = usize> {
        self.lock.into_iter().chain(self.inner)
    }
}

/// A task as represented in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub priority: u64,
    /// Period in ticks.
    pub period: u64,
    /// Offset in ticks.
    pub offset: u64,
    /// The interrupt that releases it instead of the clock, from 0.
    pub interrupt: Option<usize>,
    pub stretches: Vec<Stretch>,
}

/// The contents of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub tick: u64,
    pub rows: Vec<Row>,
    pub interrupts: Vec<InterruptSource>,
    pub queues: Vec<Channel>,
}

/// A queue as represented in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    /// The row whose jobs send, from 0.
    pub from: usize,
    /// The row whose jobs receive.
    pub to: usize,
    /// Its capacity in messages.
    pub items: u64,
}

/// An interrupt pended from outside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterruptSource {
    /// Loop rounds of its handler.
    pub rounds: u64,
    /// Cycles from one to the next.
    pub distance: u64,
    /// Cycles from the tick of the first releases to the first interrupt.
    pub offset: u64,
}

/// The addresses of the image's probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    /// Where jobs of each task begin.
    pub begins: Vec<Vec<u32>>,
    /// Where they end.
    pub ends: Vec<Vec<u32>>,
    /// Before and after a lock is taken.
    pub take: [Vec<u32>; 2],
    /// Before and after a lock is released.
    pub give: [Vec<u32>; 2],
}

/// What releases tasks in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// SysTick, set to the table's tick.
    Tick,
    /// A timer set to the next release.
    Alarm(Alarm),
}

/// A timer set to the next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm {
    /// Its exception.
    pub exception: u16,
    /// Cycles per count.
    pub granule: u64,
    /// The cycle from which offsets count, the same in every run.
    pub start: u64,
}

/// A kernel's image of task sets on a soc.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) fresh: Machine,
    pub(crate) probes: Probes,
    pub(crate) clock: Clock,
    pub(crate) order: Order,
    pub(crate) protocol: Protocol,
    /// The exception number of the first interrupt that releases tasks.
    pub(crate) interrupts_from: u16,
    table: u32,
    traffic: u32,
}

impl Bench {
    /// Loads an image built by [`rtmark_firmware::Builder::build_plan`] for a kernel with this
    /// model.
    ///
    /// # Errors
    /// When it is not such an image, does not fit the soc, or counts time in ticks although the
    /// model has alarms.
    pub fn new(soc: &Soc, elf: &[u8], model: &Model) -> Result<Self, SetError> {
        let wrong = |error: &dyn std::fmt::Display| SetError::Image(error.to_string());
        let image = Image::from_elf(elf).map_err(|error| wrong(&error))?;
        let section = image.section(SECTION).unwrap_or_default();
        let records = probes::parse(section).map_err(|error| wrong(&error))?;
        let mut fresh = Machine::new(soc);
        fresh.load(&image)?;
        watch_main_stack(&mut fresh, &image);
        let scenario = "plan.set".parse().map_err(|error| wrong(&error))?;
        select(&mut fresh, &image, &records, &scenario)?;
        let address_of = |name: &str| {
            let address = image.symbols().address_of(name);
            address.ok_or_else(|| SetError::Image(format!("it has no symbol {name}")))
        };
        let (table, traffic) = (address_of("rtmark_plan")?, address_of("rtmark_plan_traffic")?);
        let exception_of = |name: &str| {
            records.iter().find_map(|record| match record.kind {
                Kind::BeginAtPend(exception) if record.scenario.as_str() == name => Some(exception),
                _ => None,
            })
        };
        let alarm = exception_of("plan.clock");
        let interrupts_from = exception_of("plan.interrupt").unwrap_or(FIRST_INTERRUPT);
        let clock = match alarm {
            None => Clock::Tick,
            Some(SYSTICK) => {
                let name = &soc.name;
                return Err(SetError::DoesNotFit(format!(
                    "{name} names no time base that counts microseconds, and without one {} counts \
                     by a tick, for which there is no model",
                    model.kernel
                )));
            }
            Some(exception) => {
                let granule = u64::from(soc.clock.0) / ALARM_HZ;
                Clock::Alarm(Alarm { exception, granule: granule.max(1), start: 0 })
            }
        };
        let probes = Probes::of(&records)?;
        let (order, protocol) = (model.order, model.protocol);
        let mut bench =
            Self { fresh, probes, clock, order, protocol, interrupts_from, table, traffic };
        if let Clock::Alarm(alarm) = clock {
            let start = bench.first_alarm(alarm)?;
            bench.clock = Clock::Alarm(Alarm { start, ..alarm });
        }
        Ok(bench)
    }

    /// Returns the cycle of the first release at offset 0, which does not depend on the table: the
    /// timer is started before anything reads the table.
    fn first_alarm(&self, alarm: Alarm) -> Result<u64, SetError> {
        let row = Row {
            priority: 1,
            period: 10 * ALARM_START,
            offset: 0,
            interrupt: None,
            stretches: Vec::new(),
        };
        let table = Table { tick: alarm.granule, rows: vec![row], ..Table::default() };
        let marks = self.marks(&table, 2 * ALARM_START, EventFilter::Jobs)?;
        let begin = marks.iter().position(|(mark, _)| *mark == Mark::Begin(0));
        let before = &marks[..begin.ok_or(SetError::NotObserved("the first release"))?];
        let pended = before.iter().rev().find(|(mark, _)| *mark == Mark::Tick);
        pended.map(|(_, cycle)| *cycle).ok_or(SetError::NotObserved("the first alarm"))
    }

    /// Returns the number of tasks in the image.
    pub fn tasks(&self) -> usize {
        self.probes.begins.len()
    }

    /// Returns the number of the exception that releases tasks.
    pub(crate) fn exception(&self) -> u16 {
        match self.clock {
            Clock::Tick => SYSTICK,
            Clock::Alarm(alarm) => alarm.exception,
        }
    }

    /// Returns which of the image's tasks each row is. If priority levels belong to the image, the
    /// most urgent row is its last task; if rounds follow the order of an array, it is the first.
    pub(crate) fn slots(&self, rows: &[Row]) -> Vec<usize> {
        if self.order == Order::Rounds {
            let place = |at: usize| (std::cmp::Reverse(rows[at].priority), at);
            let before =
                |at: usize| (0..rows.len()).filter(|other| place(*other) < place(at)).count();
            return (0..rows.len()).map(before).collect();
        }
        let below = |row: &Row| rows.iter().filter(|other| other.priority < row.priority).count();
        match self.protocol {
            Protocol::Ceiling => {
                let free = self.tasks().saturating_sub(rows.len());
                rows.iter().map(|row| free + below(row)).collect()
            }
            _ => (0..rows.len()).collect(),
        }
    }

    /// Returns a machine ready to run a set.
    pub(crate) fn machine(&self, table: &Table) -> Result<Machine, SetError> {
        let mut machine = self.fresh.clone();
        let slots = self.slots(&table.rows);
        // With priority ceilings, a lock is numbered after its most urgent user.
        let number = |lock: usize| match self.protocol {
            Protocol::Ceiling => {
                let users = table.rows.iter().zip(&slots).filter(|(row, _)| row.takes(lock));
                users.map(|(_, slot)| *slot + 1).max().unwrap_or(0)
            }
            _ => lock + 1,
        };
        // Times in a row are in units of the image.
        let units = match self.clock {
            Clock::Tick => 1,
            Clock::Alarm(alarm) => table.tick / alarm.granule,
        };
        let mut words = vec![table.tick];
        let rounds = |at: usize| table.interrupts.get(at).map_or(0, |pended| pended.rounds);
        words.extend((0..MAX_INTERRUPTS).map(rounds));
        let items = |at: usize| table.queues.get(at).map_or(0, |queue| queue.items);
        words.extend((0..MAX_QUEUES).map(items));
        for slot in 0..MAX_TASKS {
            let at = slots.iter().position(|of| *of == slot);
            match at {
                Some(at) => words.extend(table.row_words(at, units, number)),
                None => words.extend([0; ROW_WORDS]),
            }
        }
        for (at, value) in (0_u32..).map(|at| self.table + 4 * at).zip(words) {
            let value = u32::try_from(value).map_err(|_| {
                SetError::DoesNotFit(format!("{value} is out of the table's range"))
            })?;
            machine
                .poke_word(at, value)
                .map_err(|_| SetError::Image("its table is outside of all memories".to_owned()))?;
        }
        Ok(machine)
    }

    /// Reads the traffic of a table's queues from the machine.
    pub(crate) fn traffic(&self, machine: &Machine, table: &Table) -> Vec<Traffic> {
        let bytes = machine.peek(self.traffic, 4 * TRAFFIC_WORDS * table.queues.len());
        let words = bytes.as_chunks().0.iter().map(|word| u64::from(u32::from_le_bytes(*word)));
        let words: Vec<u64> = words.collect();
        let of = |words: &[u64; TRAFFIC_WORDS]| {
            let [sent, received, lost] = *words;
            Traffic { sent, received, lost }
        };
        words.as_chunks().0.iter().map(of).collect()
    }

    /// Rejects a table that exceeds the capacity of the table format or the image.
    pub(crate) fn check(&self, table: &Table) -> Result<(), SetError> {
        let unfit = |text: String| Err(SetError::DoesNotFit(text));
        let most = self.tasks();
        if table.rows.len() > most {
            return unfit(format!("{} tasks; the image has {most}", table.rows.len()));
        }
        match self.clock {
            Clock::Tick if !(2..=LONGEST_TICK).contains(&table.tick) => {
                return unfit(format!("a tick of {} cycles; SysTick has 24 bits", table.tick));
            }
            Clock::Alarm(alarm) if !table.tick.is_multiple_of(alarm.granule) => {
                return unfit("its times are not whole microseconds".to_owned());
            }
            _ => {}
        }
        let mut slots = self.slots(&table.rows);
        slots.sort_unstable();
        slots.dedup();
        if slots.len() < table.rows.len() {
            return unfit("two tasks of one level; the image has one on each".to_owned());
        }
        table.check()
    }
}

impl Row {
    fn takes(&self, lock: usize) -> bool {
        self.stretches.iter().any(|stretch| stretch.locks().any(|own| own == lock))
    }
}

impl Table {
    /// Encodes a row as the image expects it, with its units of time and its numbering of locks.
    fn row_words(
        &self,
        at: usize,
        units: u64,
        number: impl Fn(usize) -> usize,
    ) -> [u64; ROW_WORDS] {
        let row = &self.rows[at];
        let queues = |is_end: fn(&Channel, usize) -> bool| {
            let bits = self.queues.iter().enumerate();
            bits.fold(0, |bits, (queue, of)| bits | u64::from(is_end(of, at)) << queue)
        };
        let mut words = [0; ROW_WORDS];
        words[0] = row.priority;
        words[1] = row.period.saturating_mul(units);
        words[2] = row.offset.saturating_mul(units);
        words[3] = row.interrupt.map_or(0, |interrupt| interrupt as u64 + 1);
        words[4] = queues(|queue, at| queue.to == at);
        words[5] = queues(|queue, at| queue.from == at);
        words[6] = row.stretches.len() as u64;
        for (at, stretch) in row.stretches.iter().take(MAX_STRETCHES).enumerate() {
            words[7 + 2 * at] = stretch.rounds;
            let number = |lock: Option<usize>| lock.map_or(0, |lock| number(lock) as u64);
            words[8 + 2 * at] = number(stretch.lock) | number(stretch.inner) << 8;
        }
        words
    }

    fn check(&self) -> Result<(), SetError> {
        let unfit = |text: String| Err(SetError::DoesNotFit(text));
        if self.interrupts.len() > MAX_INTERRUPTS {
            return unfit(format!("more than {MAX_INTERRUPTS} interrupts"));
        }
        if self.queues.len() > MAX_QUEUES {
            return unfit(format!("{} queues; the image has {MAX_QUEUES}", self.queues.len()));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let interrupt = row.interrupt.is_some_and(|interrupt| {
                self.rows[..at].iter().any(|other| other.interrupt == Some(interrupt))
            });
            if interrupt {
                return unfit("an interrupt that releases two tasks".to_owned());
            }
            if row.stretches.len() > MAX_STRETCHES {
                return unfit(format!(
                    "a job of {} stretches; the image has {MAX_STRETCHES}",
                    row.stretches.len()
                ));
            }
            let lock = row.stretches.iter().flat_map(Stretch::locks).max();
            if lock.is_some_and(|lock| lock >= MAX_LOCKS) {
                return unfit(format!("more than {MAX_LOCKS} locks"));
            }
        }
        Ok(())
    }
}

impl Probes {
    fn of(records: &[Record]) -> Result<Self, SetError> {
        let named = |name: &str, end: bool| -> Result<Vec<u32>, SetError> {
            let found = records.iter().filter(|record| record.scenario.as_str() == name);
            let found = found.filter_map(|record| match record.kind {
                Kind::Begin(address) if !end => Some(address),
                Kind::End(address) if end => Some(address),
                _ => None,
            });
            let found: Vec<_> = found.collect();
            if found.is_empty() {
                return Err(SetError::Image(format!("it has no probe {name}")));
            }
            Ok(found)
        };
        let name = |n: usize| format!("plan.job.{n}");
        let has = |n: &usize| records.iter().any(|record| record.scenario.as_str() == name(*n));
        let tasks = (0..MAX_TASKS).take_while(has).count();
        if tasks == 0 {
            return Err(SetError::Image("it has no tasks".to_owned()));
        }
        let jobs = |end| -> Result<Vec<Vec<u32>>, SetError> {
            (0..tasks).map(|n| named(&name(n), end)).collect()
        };
        Ok(Self {
            begins: jobs(false)?,
            ends: jobs(true)?,
            take: [named("plan.take", false)?, named("plan.take", true)?],
            give: [named("plan.give", false)?, named("plan.give", true)?],
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
