//! Response times: the recurrences, over named terms.
//!
//! A [`Question`] says what a job of one task may have to wait for, each thing by itself. [`Question::bound`]
//! finds the longest busy period that this allows and the longest response in it, and splits that up
//! into the terms that it was made of. Nothing here knows a kernel, a lock or a file.
//!
//! The recurrences are those of Joseph and Pandya (1986) with the busy period of Lehoczky (1990), blocking
//! and jitter as Audsley, Burns, Richardson, Tindell and Wellings have them (1993), and final
//! stretches that cannot be preempted as Bril, Lukkien and Verhaegh have them (2009).

use crate::term::{Kind, Part, Term};

/// Jobs of one busy period that are looked at before a bound is given up.
const MOST_JOBS: u64 = 100_000;

/// Rounds of a recurrence before it is given up.
const MOST_ROUNDS: u32 = 1_000_000;

/// The longest window that is looked at, in cycles.
const LONGEST: u64 = 1 << 50;

/// How often something comes in a window that begins at the worst moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At a distance, each a little late or not.
    Every {
        /// Cycles from one to the next.
        period: u64,
        /// Cycles by which each may be late.
        jitter: u64,
        /// Cycles that lie between two however late the first one is; 0 where that is not known.
        distance: u64,
    },
    /// As often as those two of which there are fewer: ticks, and arrivals that ticks bring.
    Fewer {
        /// Cycles from one tick to the next.
        tick: u64,
        /// Period and jitter of each kind of arrival.
        of: Vec<(u64, u64)>,
    },
    /// What remains of the arrivals beyond one for each tick.
    Beyond {
        /// Cycles from one tick to the next.
        tick: u64,
        /// Period and jitter of each kind of arrival.
        of: Vec<(u64, u64)>,
    },
    /// At a distance, and never more often than this: what has to wait its turn as well.
    AtMost {
        /// Cycles from one to the next.
        period: u64,
        /// Cycles by which each may be late.
        jitter: u64,
        /// How often at most.
        most: u64,
    },
}

impl Arrivals {
    /// One each period, never late.
    pub const fn every(period: u64) -> Self {
        Self::Every { period, jitter: 0, distance: 0 }
    }

    /// How many come before a window of this length ends, the window half open.
    fn before(&self, window: u64) -> u64 {
        let every = |period: u64, jitter: u64| window.saturating_add(jitter).div_ceil(period);
        self.counted(every, window)
    }

    /// How many come until the end of a window, which is part of it.
    fn until(&self, window: u64) -> u64 {
        let every = |period: u64, jitter: u64| window.saturating_add(jitter) / period + 1;
        self.counted(every, window.saturating_add(1))
    }

    fn counted(&self, every: impl Fn(u64, u64) -> u64, window: u64) -> u64 {
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

    /// How often at most in a long time, as a share of one cycle.
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

/// What comes again and again while a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What each of them takes.
    pub parts: Vec<Part>,
    /// How often they come.
    pub arrivals: Arrivals,
}

impl Stream {
    fn cycles(&self) -> u64 {
        total(&self.parts)
    }
}

/// What a job of one task may have to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Cycles from one of its jobs to the next, at least.
    pub period: u64,
    /// Cycles by which a job may become ready later than it should.
    pub jitter: u64,
    /// What each job takes by itself.
    pub own: Vec<Part>,
    /// Cycles at the end of a job in which nothing can preempt it.
    pub last: u64,
    /// What delays it once.
    pub once: Vec<Part>,
    /// What delays it again and again.
    pub streams: Vec<Stream>,
}

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbounded {
    /// More is asked for than there is time.
    #[error("it and what goes before it ask for {} % of the processor", percent(*per_mille))]
    Overload {
        /// Thousandths of the processor.
        per_mille: u64,
    },
    /// The busy period is longer than is looked at.
    #[error("its busy period has not ended after {cycles} cycles")]
    Long {
        /// Cycles that were looked at.
        cycles: u64,
    },
}

fn percent(per_mille: u64) -> String {
    format!("{}.{}", per_mille / 10, per_mille % 10)
}

/// The longest that a task's job can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Cycles from when a job should become ready to its end.
    pub response: u64,
    /// Cycles from the beginning of the busy period to the end of each of its jobs.
    pub windows: Vec<u64>,
    /// Which of them takes that long, counted from 0.
    pub job: usize,
    /// What the response is made of, in the order of the question.
    pub terms: Vec<Term>,
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.cycles))
}

impl Question {
    /// Finds the longest response.
    ///
    /// # Errors
    /// When there is none: the processor is asked for more than all of its time, or the busy
    /// period does not end.
    pub fn bound(&self) -> Result<Bound, Unbounded> {
        let own = total(&self.own);
        let demand: f64 = own as f64 / self.period as f64
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
        let busy = Self::fixed_point(blocked.saturating_add(own), |window| {
            let jobs = jobs_until(window).saturating_mul(own);
            self.interference(window, End::Open).saturating_add(blocked).saturating_add(jobs)
        })?;
        let jobs = jobs_until(busy);
        if jobs > MOST_JOBS {
            return Err(Unbounded::Long { cycles: busy });
        }
        let mut windows = Vec::new();
        let (mut response, mut worst, mut at) = (0, 0, 0);
        let mut start = 0;
        for job in 0..jobs {
            let (window, until) = self.window(job, own, blocked, start)?;
            start = until;
            windows.push(window);
            let taken = (window + self.jitter).saturating_sub(job * self.period);
            if taken > response {
                (response, worst, at) = (taken, windows.len() - 1, until);
            }
        }
        Ok(Bound { response, terms: self.terms(worst as u64, at), windows, job: worst })
    }

    /// When a job ends, and how far interference counts for it.
    fn window(&self, job: u64, own: u64, blocked: u64, from: u64) -> Result<(u64, u64), Unbounded> {
        let end = self.end();
        let last = self.last.min(own);
        let fixed = blocked.saturating_add(own.saturating_mul(job + 1)) - last;
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
        for _ in 0..MOST_ROUNDS {
            let after = next(window).max(from);
            if after == window {
                return Ok(window);
            }
            if after > LONGEST {
                break;
            }
            window = after;
        }
        Err(Unbounded::Long { cycles: window.min(LONGEST) })
    }

    /// What the response of a job consists of, interference being counted up to `until`.
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
        for part in &self.own {
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

/// Whether what comes at the very end of a window counts.
#[derive(Clone, Copy)]
enum End {
    /// It does not: the job is done.
    Open,
    /// It does: the job has not begun its last stretch.
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
