//! A task that each interrupt signals, on an executor above the one that is interrupted.

#![no_std]
#![no_main]

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use rtmark_board::Counter;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();
    rtmark_board::unmask(Interrupt::BENCH);
    let high = EXECUTOR_HIGH.start(Interrupt::RUN_HIGH);

    scenarios! {
        "storm.distance" => high.spawn(storming().unwrap()),
        "storm.background" => {
            high.spawn(handling().unwrap());
            spawner.spawn(background().unwrap());
        },
    }
}

static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static WORK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static CAME: Counter = Counter::new();
static HANDLED: Counter = Counter::new();

begin_at_pend!("storm.background", Interrupt::BENCH.exception());

#[interrupt]
fn BENCH() {
    CAME.increment();
    WORK.signal(());
}

#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

// storm.distance

#[embassy_executor::task]
async fn storming() {
    NVIC::pend(Interrupt::BENCH);
    for _ in 0..=SAMPLES {
        WORK.wait().await;
        end!("storm.distance");
        begin!("storm.distance");
        NVIC::pend(Interrupt::BENCH);
        HANDLED.increment();
    }
    scenario::expect("interrupts", CAME.get(), HANDLED.get() + 1);
    scenario::ok();
}

// storm.background

#[embassy_executor::task]
async fn handling() {
    loop {
        WORK.wait().await;
        HANDLED.increment();
    }
}

#[embassy_executor::task]
async fn background() {
    for sample in 1..=SAMPLES {
        NVIC::pend(Interrupt::BENCH);
        // Behind these it has come.
        cortex_m::asm::dsb();
        cortex_m::asm::isb();
        end!("storm.background");

        scenario::expect("interrupts", CAME.get(), sample);
        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}
