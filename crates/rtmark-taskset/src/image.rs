//! The image of task sets, and the table in it: `firmware/c/plan.h` describes both.

use rtmark_firmware::probes::{self, Kind, Record, SECTION};
use rtmark_firmware::{SelectError, select};
use rtmark_sim::{Image, LoadError, Machine, Soc};

/// The most tasks that the table holds.
pub const MOST_TASKS: usize = 8;

/// The most locks.
pub const MOST_LOCKS: usize = 2;

/// The most interrupts.
pub const MOST_INTERRUPTS: usize = 2;

/// The most stretches of a job.
const MOST_STRETCHES: usize = 5;

/// The tick from which offsets count.
pub(crate) const START: u64 = 2;

/// The longest period of SysTick, in cycles.
const LONGEST_TICK: u64 = 1 << 24;

/// Why a set cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The image is not what it should be.
    #[error("the image of task sets: {0}")]
    Image(String),
    /// The set does not go into the table.
    #[error("{0}")]
    Unfit(String),
    /// The run did not go on to its end.
    #[error("the run ended in cycle {cycle}: {how}")]
    Ended {
        /// When.
        cycle: u64,
        /// How.
        how: String,
    },
    /// What was to be measured did not happen.
    #[error("{0} was not seen in a run that measures it")]
    Unseen(&'static str),
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

/// A stretch of a job: rounds of the loop, with a lock or without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub rounds: u64,
    /// The lock, from 0.
    pub lock: Option<usize>,
}

/// A task as the table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub priority: u64,
    /// In ticks.
    pub period: u64,
    /// In ticks.
    pub offset: u64,
    /// What releases it instead of the clock, from 0.
    pub interrupt: Option<usize>,
    pub stretches: Vec<Stretch>,
}

/// What goes into the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub tick: u64,
    pub rows: Vec<Row>,
    pub interrupts: Vec<Pended>,
}

/// An interrupt that is pended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pended {
    /// What its handler goes through.
    pub rounds: u64,
    /// Cycles from one to the next.
    pub distance: u64,
    /// Cycles from the tick of the first releases to the first one.
    pub offset: u64,
}

/// The probes of the image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    /// Where jobs of each task begin.
    pub begins: Vec<Vec<u32>>,
    /// Where they end.
    pub ends: Vec<Vec<u32>>,
    /// Before and after a lock is taken.
    pub take: [Vec<u32>; 2],
    /// Before and after it is given back.
    pub give: [Vec<u32>; 2],
}

/// A kernel's image of task sets on a soc.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) fresh: Machine,
    pub(crate) probes: Probes,
    table: u32,
}

impl Bench {
    /// Takes an image, as [`rtmark_firmware::Builder::build_plan`] brings it.
    ///
    /// # Errors
    /// When it is none, or does not fit the soc.
    pub fn new(soc: &Soc, elf: &[u8]) -> Result<Self, SetError> {
        let wrong = |error: &dyn std::fmt::Display| SetError::Image(error.to_string());
        let image = Image::from_elf(elf).map_err(|error| wrong(&error))?;
        let section = image.section(SECTION).unwrap_or_default();
        let records = probes::parse(section).map_err(|error| wrong(&error))?;
        let mut fresh = Machine::new(soc);
        fresh.load(&image)?;
        let scenario = "plan.set".parse().map_err(|error| wrong(&error))?;
        select(&mut fresh, &image, &records, &scenario)?;
        let table = image.symbols().address_of("rtmark_plan");
        let table = table.ok_or_else(|| wrong(&"it has no symbol rtmark_plan"))?;
        Ok(Self { fresh, probes: Probes::of(&records)?, table })
    }

    /// A machine that is about to run a set.
    pub(crate) fn machine(&self, table: &Table) -> Result<Machine, SetError> {
        let mut machine = self.fresh.clone();
        let mut at = self.table;
        let mut word = |value: u64| {
            let value = u32::try_from(value)
                .map_err(|_| SetError::Unfit(format!("{value} is more than the table holds")))?;
            let written = machine.poke_word(at, value);
            at += 4;
            written.map_err(|_| SetError::Image("its table is in no memory".to_owned()))
        };
        word(table.tick)?;
        for at in 0..MOST_INTERRUPTS {
            word(table.interrupts.get(at).map_or(0, |pended| pended.rounds))?;
        }
        for row in &table.rows {
            word(row.priority)?;
            word(row.period)?;
            word(row.offset)?;
            word(row.interrupt.map_or(0, |interrupt| interrupt as u64 + 1))?;
            word(row.stretches.len() as u64)?;
            for at in 0..MOST_STRETCHES {
                let stretch = row.stretches.get(at).copied().unwrap_or_default();
                word(stretch.rounds)?;
                word(stretch.lock.map_or(0, |lock| lock as u64 + 1))?;
            }
        }
        Ok(machine)
    }
}

impl Table {
    /// Refuses what the table does not hold.
    pub fn check(&self) -> Result<(), SetError> {
        let unfit = |text: String| Err(SetError::Unfit(text));
        if self.rows.len() > MOST_TASKS {
            return unfit(format!("{} tasks; the image has {MOST_TASKS}", self.rows.len()));
        }
        if !(2..=LONGEST_TICK).contains(&self.tick) {
            return unfit(format!("a tick of {} cycles; SysTick has 24 bits", self.tick));
        }
        if self.interrupts.len() > MOST_INTERRUPTS {
            return unfit(format!("more than {MOST_INTERRUPTS} interrupts"));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let interrupt = row.interrupt.is_some_and(|interrupt| {
                self.rows[..at].iter().any(|other| other.interrupt == Some(interrupt))
            });
            if interrupt {
                return unfit("an interrupt that releases two tasks".to_owned());
            }
            if row.stretches.len() > MOST_STRETCHES {
                return unfit(format!(
                    "a job of {} stretches; the image has {MOST_STRETCHES}",
                    row.stretches.len()
                ));
            }
            let lock = row.stretches.iter().filter_map(|stretch| stretch.lock).max();
            if lock.is_some_and(|lock| lock >= MOST_LOCKS) {
                return unfit(format!("more than {MOST_LOCKS} locks"));
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
        let jobs = |end| -> Result<Vec<Vec<u32>>, SetError> {
            (0..MOST_TASKS).map(|n| named(&format!("plan.job.{n}"), end)).collect()
        };
        Ok(Self {
            begins: jobs(false)?,
            ends: jobs(true)?,
            take: [named("plan.take", false)?, named("plan.take", true)?],
            give: [named("plan.give", false)?, named("plan.give", true)?],
        })
    }
}
