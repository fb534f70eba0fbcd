//! What releases a task: the monotonic, or a signal that an interrupt's handler writes.

use rtic_sync::signal::{Signal, SignalReader};
use rtmark_rtic::prelude::*;
use rtmark_rtic::{Duration, Instant, Mono};

use crate::plan::{INTERRUPTS, SET, Task};

/// The microsecond from which offsets count: by then every task waits.
const START: u32 = 1000;

static RELEASED: [Signal<()>; INTERRUPTS] = [const { Signal::new() }; INTERRUPTS];

/// What an interrupt's handler does.
#[inline(always)]
pub fn handle(interrupt: usize) {
    SET.handle(interrupt);
    RELEASED[interrupt].writer().write(());
}

/// What a task waits for.
pub enum Releases {
    /// The clock, as often as the period says.
    Clock {
        /// The next release.
        next: Instant,
        /// From one to the next.
        period: Duration,
    },
    /// An interrupt.
    Interrupt(SignalReader<'static, ()>),
}

impl Releases {
    /// Those of a task.
    pub fn of(task: &Task) -> Self {
        match task.offset() {
            Some(offset) => Self::Clock {
                next: Instant::from_ticks((START + offset).into()),
                period: Duration::from_ticks(task.period.get().into()),
            },
            None => Self::Interrupt(RELEASED[task.interrupt()].take_reader()),
        }
    }

    /// Waits for the next one.
    #[inline(always)]
    pub async fn next(&mut self) {
        match self {
            Self::Clock { next, period } => {
                Mono::delay_until(*next).await;
                *next += *period;
            }
            Self::Interrupt(released) => released.wait().await,
        }
    }
}
