//! A task that each interrupt notifies. Interrupts come in between the executor's rounds only.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m::peripheral::NVIC;
use cortex_m_rt::entry;
use lilos::exec::{Notify, yield_cpu};
use rtmark_board::Counter;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    rtmark_board::unmask(Interrupt::BENCH);

    scenarios! {
        "storm.distance" => run!(storming()),
        "storm.background" => run!(handling(), background()),
    }
}

static WORK: Notify = Notify::new();
static CAME: Counter = Counter::new();
static HANDLED: Counter = Counter::new();

begin_at_pend!("storm.background", Interrupt::BENCH.exception());

#[interrupt]
fn BENCH() {
    CAME.increment();
    WORK.notify();
}

/// Waits until an interrupt has come that was not handled.
async fn handle() {
    WORK.until(|| CAME.get() != HANDLED.get()).await;
    HANDLED.increment();
}

// storm.distance

async fn storming() -> Infallible {
    NVIC::pend(Interrupt::BENCH);
    for _ in 0..=SAMPLES {
        handle().await;
        end!("storm.distance");
        begin!("storm.distance");
        NVIC::pend(Interrupt::BENCH);
    }
    // The last one cannot have come before this task awaits.
    scenario::expect("interrupts", CAME.get(), HANDLED.get());
    scenario::expect("interrupts handled", HANDLED.get(), SAMPLES + 1);
    scenario::ok();
}

// storm.background: it awaits at once, or else no interrupt comes.

async fn handling() -> Infallible {
    loop {
        handle().await;
    }
}

async fn background() -> Infallible {
    for sample in 1..=SAMPLES {
        NVIC::pend(Interrupt::BENCH);
        yield_cpu().await;
        end!("storm.background");

        scenario::expect("interrupts", CAME.get(), sample);
        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}
