//! A task that each interrupt signals, on an executor above the one that is interrupted. On a Cortex-R5, which has no
//! such executor, both share one: the interrupted task waits at once until the other one has run.

#![no_std]
#![no_main]
#![cfg_attr(
    cortex_r,
    expect(
        non_snake_case,
        clippy::no_mangle_with_rust_abi,
        reason = "handlers have their interrupts' names, and are called from Rust"
    )
)]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::{SendSpawner, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
#[cfg(cortex_m)]
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, Interrupt, pend};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();
    rtmark_board::unmask(Interrupt::BENCH);
    let high = above(spawner);

    scenarios! {
        "storm.distance" => high.spawn(storming().unwrap()),
        "storm.background" => {
            high.spawn(handling().unwrap());
            spawner.spawn(background().unwrap());
        },
    }
}

/// The executor of what the handler wakes.
#[cfg(cortex_m)]
fn above(_: Spawner) -> SendSpawner {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH)
}

#[cfg(cortex_r)]
fn above(spawner: Spawner) -> SendSpawner {
    spawner.make_send()
}

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static WORK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static CAME: Counter = Counter::new();
static HANDLED: Counter = Counter::new();

begin_at_pend!("storm.background", Interrupt::BENCH.exception());

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BENCH() {
    CAME.increment();
    WORK.signal(());
}

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

// storm.distance

#[embassy_executor::task]
async fn storming() {
    pend(Interrupt::BENCH);
    for _ in 0..=SAMPLES {
        WORK.wait().await;
        end!("storm.distance");
        begin!("storm.distance");
        pend(Interrupt::BENCH);
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
        #[cfg(cortex_r)]
        DONE.signal(());
    }
}

#[cfg(cortex_r)]
static DONE: Signal<CriticalSectionRawMutex, ()> = Signal::new();

#[embassy_executor::task]
async fn background() {
    for sample in 1..=SAMPLES {
        pend(Interrupt::BENCH);
        // Behind these it has come.
        #[cfg(cortex_m)]
        cortex_m::asm::dsb();
        #[cfg(cortex_m)]
        cortex_m::asm::isb();
        #[cfg(cortex_r)]
        DONE.wait().await;
        end!("storm.background");

        scenario::expect("interrupts", CAME.get(), sample);
        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}
