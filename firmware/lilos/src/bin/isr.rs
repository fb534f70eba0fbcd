//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! Both scenarios are the same program; they differ in where the span ends. The executor masks
//! interrupts while it polls tasks: the one that comes here while a task runs has to wait until
//! that task awaits, which it does at once.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m::peripheral::NVIC;
use cortex_m_rt::entry;
use lilos::exec::{Notify, yield_cpu};
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, Interrupt};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin_at_pend, end, end_at_entry, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "isr.entry" => run!(handling(), busy()),
        "isr.wake.thread" => run!(handling(), busy()),
    }
}

begin_at_pend!("isr.entry", 16);
end_at_entry!("isr.entry", "BENCH");

begin_at_pend!("isr.wake.thread", 16);

static WORK: Notify = Notify::new();
static HANDLED: Counter = Counter::new();

#[interrupt]
fn BENCH() {
    WORK.notify();
}

async fn handling() -> Infallible {
    loop {
        WORK.until_next().await;
        end!("isr.wake.thread");
        HANDLED.increment();
    }
}

async fn busy() -> Infallible {
    rtmark_board::unmask(Interrupt::BENCH);

    for sample in 1..=SAMPLES {
        NVIC::pend(Interrupt::BENCH);
        yield_cpu().await;

        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}
