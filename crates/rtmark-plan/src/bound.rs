//! Response times: the recurrences, over named terms.
//!
//! A [`Question`] lists everything that a job of one task may have to wait for. [`Question::bound`]
//! finds the longest busy period that this allows and the longest response in it, and splits that
//! response into its terms. This module knows no kernels, locks or files.
//!
//! The recurrences are those of Joseph and Pandya (1986), with the busy period of Lehoczky (1990),
//! blocking and jitter after Audsley, Burns, Richardson, Tindell and Wellings (1993), and final
//! non-preemptive stretches after Bril, Lukkien and Verhaegh (2009).

use crate::term::{Kind, Part, Term};

/// Most jobs examined in one busy period before the search for a bound gives up.
const MAX_JOBS: u64 = 100_000;

/// Most iterations of a recurrence before the search gives up.
const MAX_ROUNDS: u32 = 1_000_000;

/// The longest window examined, in cycles.
const MAX_WINDOW: u64 = 1 << 50;

/// How often an event occurs in a window that begins at the worst moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Periodically, each with jitter.
    Every {
        /// Cycles from one to the next.
        period: u64,
        /// Cycles by which each may be late.
        jitter: u64,
        /// Least distance between two in cycles, whatever the jitter of the first; 0 where unknown.
        distance: u64,
    },
    /// The lesser of two counts: that of ticks, and that of arrivals that ticks release.
    Fewer {
        /// Cycles from one tick to the next.
        tick: u64,
        /// Period and jitter of each kind of arrival.
        of: Vec<(u64, u64)>,
    },
    /// The arrivals in excess of one per tick.
    Beyond {
        /// Cycles from one tick to the next.
        tick: u64,
        /// Period and jitter of each kind of arrival.
        of: Vec<(u64, u64)>,
    },
    /// Periodically, but at most `most` times: work that has to wait its turn as well.
    AtMost {
        /// Cycles from one to the next.
        period: u64,
        /// Cycles by which each may be late.
        jitter: u64,
        /// The most occurrences.
        most: u64,
    },
}

impl Arrivals {
    /// Returns arrivals once per period without jitter.
    pub const fn every(period: u64) -> Self {
        Self::Every { period, jitter: 0, distance: 0 }
    }

    /// Returns how many arrive in a half-open window of this length.
    fn before(&self, window: u64) -> u64 {
        let every = |period: u64, jitter: u64| window.saturating_add(jitter).div_ceil(period);
        self.arrivals(every, window)
    }

    /// Returns how many arrive in a closed window of this length.
    fn until(&self, window: u64) -> u64 {
        let every = |period: u64, jitter: u64| window.saturating_add(jitter) / period + 1;
        self.arrivals(every, window.saturating_add(1))
    }

    fn arrivals(&self, every: impl Fn(u64, u64) -> u64, window: u64) -> u64 {
        let all = |of: &[(u64, u64)]| {
            of.iter()
                .fold(0, |sum: u64, &(period, jitter)| sum.saturating_add(every(period, jitter)))
        };
        match self {
            Self::Every { period, jitter, distance: 0 } => every(*period, *jitter),
            Self::Every { period, jitter, distance } => {
                every(*period, *jitter).min(window.div_ceil(*distance))
            }
            Self::Fewer { tick, of } => every(*tick, 0).min(all(of)),
            Self::Beyond { tick, of } => all(of).saturating_sub(every(*tick, 0)),
            Self::AtMost { period, jitter, most } => every(*period, *jitter).min(*most),
        }
    }

    /// Returns the long-term rate of arrivals per cycle.
    fn rate(&self) -> f64 {
        match self {
            Self::Every { period, .. } => 1.0 / *period as f64,
            Self::Fewer { tick, of } => {
                let all: f64 = of.iter().map(|(period, _)| 1.0 / *period as f64).sum();
                all.min(1.0 / *tick as f64)
            }
            Self::Beyond { tick, of } => {
                let all: f64 = of.iter().map(|(period, _)| 1.0 / *period as f64).sum();
                (all - 1.0 / *tick as f64).max(0.0)
            }
            Self::AtMost { .. } => 0.0,
        }
    }
}

/// Work that recurs while a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What each arrival costs.
    pub parts: Vec<Part>,
    /// How often it arrives.
    pub arrivals: Arrivals,
}

impl Stream {
    fn cycles(&self) -> u64 {
        total(&self.parts)
    }
}

/// Everything that a job of one task may have to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Least cycles from one of its jobs to the next.
    pub period: u64,
    /// Release jitter in cycles.
    pub jitter: u64,
    /// What each job itself costs.
    pub own: Vec<Part>,
    /// What a job costs after its end, before the task's next one can begin.
    pub after: Vec<Part>,
    /// Cycles at the end of a job that cannot be preempted.
    pub last: u64,
    /// Delays that occur once.
    pub once: Vec<Part>,
    /// Delays that recur.
    pub streams: Vec<Stream>,
}

/// Why a question has no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbounded {
    /// The demand exceeds the processor's capacity.
    #[error("it and the tasks that go before it demand {} % of the processor", percent(*per_mille))]
    Overload {
        /// Demand in thousandths of the processor.
        per_mille: u64,
    },
    /// The busy period is longer than the limit of the search.
    #[error("its busy period has not ended after {cycles} cycles")]
    Long {
        /// Cycles examined.
        cycles: u64,
    },
}

fn percent(per_mille: u64) -> String {
    format!("{}.{}", per_mille / 10, per_mille % 10)
}

/// The worst-case response time of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Cycles from a job's nominal release to its end.
    pub response: u64,
    /// For each job of the busy period, cycles from the period's start to the job's end.
    pub windows: Vec<u64>,
    /// Index of the job with the longest response, from 0.
    pub job: usize,
    /// The terms of the response, in the order of the question.
    pub terms: Vec<Term>,
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.cycles))
}

impl Question {
    /// Finds the longest response.
    ///
    /// # Errors
    /// When there is none: the demand exceeds the processor's capacity, or the busy period does not
    /// end within the limits of the search.
    pub fn bound(&self) -> Result<Bound, Unbounded> {
        let (own, after) = (total(&self.own), total(&self.after));
        let whole = own.saturating_add(after);
        let demand: f64 = whole as f64 / self.period as f64
            + self
                .streams
                .iter()
                .map(|stream| stream.cycles() as f64 * stream.arrivals.rate())
                .sum::<f64>();
        if demand > 1.0 + 1e-9 {
            return Err(Unbounded::Overload { per_mille: (demand * 1000.0).ceil() as u64 });
        }
        let blocked = total(&self.once);
        let jobs_until =
            |window: u64| window.saturating_add(self.jitter).div_ceil(self.period).max(1);
        // A job that ends just before the next release still delays that by what follows its end.
        let busy = Self::fixed_point(blocked.saturating_add(whole), |window| {
            let jobs = jobs_until(window).saturating_mul(whole);
            self.interference(window, End::Open).saturating_add(blocked).saturating_add(jobs)
        })?;
        let jobs = jobs_until(busy);
        if jobs > MAX_JOBS {
            return Err(Unbounded::Long { cycles: busy });
        }
        let mut windows = Vec::new();
        let (mut response, mut worst, mut at) = (0, 0, 0);
        let mut start = 0;
        for job in 0..jobs {
            let (window, until) = self.window(job, (own, after), blocked, start)?;
            start = until;
            windows.push(window);
            let taken = (window + self.jitter).saturating_sub(job * self.period);
            if taken > response {
                (response, worst, at) = (taken, windows.len() - 1, until);
            }
        }
        Ok(Bound { response, terms: self.terms(worst as u64, at), windows, job: worst })
    }

    /// Returns when a job ends, and up to which point interference counts for it.
    fn window(
        &self,
        job: u64,
        (own, after): (u64, u64),
        blocked: u64,
        from: u64,
    ) -> Result<(u64, u64), Unbounded> {
        let end = self.end();
        let last = self.last.min(own);
        let jobs = own.saturating_mul(job + 1).saturating_add(after.saturating_mul(job));
        let fixed = blocked.saturating_add(jobs) - last;
        let found = Self::fixed_point(fixed.max(from), |window| {
            self.interference(window, end).saturating_add(fixed)
        })?;
        Ok((found.saturating_add(last), found))
    }

    fn end(&self) -> End {
        if self.last == 0 { End::Open } else { End::Closed }
    }

    fn interference(&self, window: u64, end: End) -> u64 {
        self.streams.iter().fold(0, |sum: u64, stream| {
            sum.saturating_add(end.count(&stream.arrivals, window).saturating_mul(stream.cycles()))
        })
    }

    fn fixed_point(from: u64, next: impl Fn(u64) -> u64) -> Result<u64, Unbounded> {
        let mut window = from;
        for _ in 0..MAX_ROUNDS {
            let after = next(window).max(from);
            if after == window {
                return Ok(window);
            }
            if after > MAX_WINDOW {
                break;
            }
            window = after;
        }
        Err(Unbounded::Long { cycles: window.min(MAX_WINDOW) })
    }

    /// Returns the terms of a job's response, with interference counted up to `until`.
    fn terms(&self, job: u64, until: u64) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        let mut add = |part: &Part, times: u64| {
            if part.cycles > 0 && times > 0 {
                terms.push(Term::of(part, times));
            }
        };
        for part in &self.own {
            add(part, 1);
        }
        for part in &self.once {
            add(part, 1);
        }
        for part in self.own.iter().chain(&self.after) {
            add(&Part { kind: Kind::Earlier, ..part.clone() }, job);
        }
        for stream in &self.streams {
            let times = self.end().count(&stream.arrivals, until);
            for part in &stream.parts {
                add(part, times);
            }
        }
        if self.jitter > 0 {
            add(&Part::stated(Kind::Jitter, "released late", self.jitter), 1);
        }
        // A later job of the busy period was released after its beginning.
        if job > 0 {
            terms.push(Term::before_release(job * self.period));
        }
        terms
    }
}

/// Whether an arrival at the very end of a window counts.
#[derive(Clone, Copy)]
enum End {
    /// It does not: the job has ended.
    Open,
    /// It does: the job has not yet begun its non-preemptive stretch.
    Closed,
}

impl End {
    fn count(self, arrivals: &Arrivals, window: u64) -> u64 {
        match self {
            Self::Open => arrivals.before(window),
            Self::Closed => arrivals.until(window),
        }
    }
}
