//! Switching between tasks: by yielding, and by waiting.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::exec::{Notify, yield_cpu};
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "thread.yield" => run!(first(), second()),
        "thread.yield.alone" => run!(alone()),
        "thread.resume.immediate" => run!(waiting(), waking()),
        "thread.suspend" => run!(waiting(), waking()),
    }
}

// thread.yield: two tasks yield to each other. The executor polls tasks in their order: the
// second one is reached in the same round, the first one in the next, between which interrupts
// may come and timers are looked at.

static SWITCHES: Counter = Counter::new();

async fn first() -> Infallible {
    loop {
        begin!("thread.yield");
        yield_cpu().await;
        end!("thread.yield");
        switched(0);
    }
}

async fn second() -> Infallible {
    loop {
        end!("thread.yield");
        switched(1);
        begin!("thread.yield");
        yield_cpu().await;
    }
}

/// Checks that the tasks were reached in turn: `second` by odd switches, `first` by even ones.
fn switched(odd: u32) {
    let switches = SWITCHES.increment();
    scenario::expect("turn", switches % 2, odd);
    if switches == SAMPLES {
        scenario::ok();
    }
}

// thread.yield.alone: nobody else is ready.

async fn alone() -> Infallible {
    for _ in 0..SAMPLES {
        begin!("thread.yield.alone");
        yield_cpu().await;
        end!("thread.yield.alone");
        SWITCHES.increment();
    }
    scenario::expect("yields", SWITCHES.get(), SAMPLES);
    scenario::ok();
}

// thread.resume.immediate, thread.suspend: a task wakes another one, which runs when the waking
// one yields, and then waits again.

static RESUME: Notify = Notify::new();
static RESUMED: Counter = Counter::new();

async fn waiting() -> Infallible {
    // The first time, nobody has woken this task yet.
    RESUME.until_next().await;
    loop {
        RESUMED.increment();
        begin!("thread.suspend");
        RESUME.until_next().await;
    }
}

async fn waking() -> Infallible {
    for sample in 1..=SAMPLES {
        begin!("thread.resume.immediate");
        RESUME.notify();
        end!("thread.resume.immediate");

        scenario::expect("times the task ran before", RESUMED.get(), sample - 1);
        yield_cpu().await;
        end!("thread.suspend");
        scenario::expect("times the task ran", RESUMED.get(), sample);
    }
    scenario::ok();
}
