//! Runs that take long: Ctrl-C ends one and its result is shown; before that, somebody who waits learns why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rtmark_runner::{Ending, Session};
use rtmark_units::Cycles;

use super::waiting::polling_hint;
use crate::output::say;

/// Whether Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a process that Ctrl-C ends, as shells have it: 128 and SIGINT's number.
pub const INTERRUPT_CODE: i32 = 130;

/// How many cycles pass between looks for Ctrl-C: moments, even on a slow host.
const PART: u64 = 2_000_000;

/// After how long somebody wonders.
const WONDER: Duration = Duration::from_secs(10);

/// How long a run has taken, and whether something was said of that.
#[derive(Debug)]
pub struct Patience {
    began: Instant,
    is_quiet: bool,
}

impl Patience {
    /// Begins to wait for a run.
    pub fn begin(is_quiet: bool) -> Self {
        Self { began: Instant::now(), is_quiet }
    }

    /// Runs up to a limit, or until Ctrl-C is pressed; `run` runs up to a cycle. From here on, the first Ctrl-C
    /// ends the run rather than the process, and a second one the process.
    pub fn run(
        &mut self,
        session: &mut Session<'_>,
        limit: u64,
        mut run: impl FnMut(&mut Session<'_>, u64) -> Ending,
    ) -> Ending {
        // It fails if this was done before; if it cannot be done, Ctrl-C ends the process at once.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPT_CODE);
            }
        });
        loop {
            let until = session.machine.cycles().0.saturating_add(PART).min(limit);
            let ending = run(session, until);
            if !matches!(ending, Ending::Limit) || until == limit || was_interrupted() {
                return ending;
            }
            if !self.is_quiet && self.began.elapsed() > WONDER {
                self.is_quiet = true;
                say(still_running(session, limit));
            }
        }
    }
}

/// Returns whether Ctrl-C was pressed.
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Says how far a run is, and what it may be waiting for in vain.
fn still_running(session: &Session<'_>, limit: u64) -> String {
    let machine = &session.machine;
    let percent = machine.cycles().0 as f64 * 100.0 / limit as f64;
    let polled = polling_hint(&rtmark_observe::unmodelled(machine))
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    let (cycles, limit) = (machine.cycles(), Cycles(limit));
    format!(
        "still running: {cycles} of at most {limit} ({percent:.1} %), at {}; Ctrl-C ends the run and shows its \
         result{polled}",
        session.location()
    )
}
