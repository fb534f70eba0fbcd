//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! Both scenarios are the same program; they differ in where the span ends.

#![no_std]
#![no_main]

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use rtmark_board::Counter;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin_at_pend, end, end_at_entry, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "isr.entry" => start(spawner),
        "isr.wake.thread" => start(spawner),
    }
}

fn start(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(handling().unwrap());
    spawner.spawn(busy().unwrap());
}

begin_at_pend!("isr.entry", 16);
end_at_entry!("isr.entry", "BENCH");

begin_at_pend!("isr.wake.thread", 16);

static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static WORK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static HANDLED: Counter = Counter::new();

#[interrupt]
fn BENCH() {
    WORK.signal(());
}

#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[embassy_executor::task]
async fn handling() {
    loop {
        WORK.wait().await;
        end!("isr.wake.thread");
        HANDLED.increment();
    }
}

#[embassy_executor::task]
async fn busy() {
    rtmark_board::unmask(Interrupt::BENCH);

    for sample in 1..=SAMPLES {
        NVIC::pend(Interrupt::BENCH);

        // The interrupt arrives while this task is busy with something of its own.
        cortex_m::asm::delay(50);

        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}
