//! Switching between tasks by yielding.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "thread.yield" => run!(first(), second()),
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
