//! A lock between three priorities: an asynchronous mutex, which knows no priorities, and a
//! blocking one, which masks interrupts. Each task is on an executor of its own.

#![no_std]
#![no_main]

use core::cell::Cell;

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, Spawner};
use embassy_sync::blocking_mutex::CriticalSectionMutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::rounds::work_rounds;
use rtmark_board::{Counter, soc};
use rtmark_probe::scenario::{self, POINT_SAMPLES};
use rtmark_probe::{begin_at_pend, end, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut core = rtmark_embassy::init();
    // Below the executor of the high task; devices are above both.
    // SAFETY: no critical section relies on a priority; they mask all interrupts.
    unsafe { core.NVIC.set_priority(Interrupt::RUN_LOW, 2 << (8 - soc::PRIORITY_BITS)) };
    rtmark_board::unmask(Interrupt::BENCH);
    EXECUTOR_MIDDLE.start(Interrupt::RUN_LOW).spawn(middle().unwrap());

    scenarios! {
        "priority.inversion.none" => {
            EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(high().unwrap());
            spawner.spawn(low().unwrap());
        },
        "priority.inversion.ceiling" => {
            EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(high_ceiling().unwrap());
            spawner.spawn(low_ceiling().unwrap());
        },
    }
}

static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static EXECUTOR_MIDDLE: InterruptExecutor = InterruptExecutor::new();
static HIGH: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static MIDDLE: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static HIGH_TIMES: Counter = Counter::new();
static MIDDLE_TIMES: Counter = Counter::new();

begin_at_pend!("priority.inversion.none", Interrupt::BENCH.exception());
begin_at_pend!("priority.inversion.ceiling", Interrupt::BENCH.exception());

#[interrupt]
fn BENCH() {
    MIDDLE.signal(());
    HIGH.signal(());
}

#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[interrupt]
unsafe fn RUN_LOW() {
    // SAFETY: as above.
    unsafe { EXECUTOR_MIDDLE.on_interrupt() }
}

#[embassy_executor::task]
async fn middle() {
    loop {
        MIDDLE.wait().await;
        work_rounds(scenario::point());
        MIDDLE_TIMES.increment();
    }
}

fn check(sample: u32, before: u32, middle_before: u32) {
    scenario::expect("times the high task held the lock", HIGH_TIMES.get(), sample);
    scenario::expect("times the middle task worked", MIDDLE_TIMES.get(), sample);
    scenario::expect("times it had before the high one", middle_before, before);
}

// priority.inversion.none

/// How often the middle task had worked when the high one last had the lock.
static LOCK: Mutex<CriticalSectionRawMutex, u32> = Mutex::new(0);

#[embassy_executor::task]
async fn high() {
    loop {
        HIGH.wait().await;
        let mut middle_before = LOCK.lock().await;
        end!("priority.inversion.none");
        *middle_before = MIDDLE_TIMES.get();
        HIGH_TIMES.increment();
    }
}

#[embassy_executor::task]
async fn low() {
    for sample in 1..=POINT_SAMPLES {
        // No tick comes before the next one.
        Timer::after_ticks(1).await;
        let guard = LOCK.lock().await;
        NVIC::pend(Interrupt::BENCH);
        work_rounds(1);
        scenario::expect("times the high task ran beside this one", HIGH_TIMES.get(), sample - 1);
        drop(guard);

        check(sample, sample, *LOCK.lock().await);
    }
    scenario::point_ok();
}

// priority.inversion.ceiling

static RECORD: CriticalSectionMutex<Cell<u32>> = CriticalSectionMutex::new(Cell::new(0));

#[embassy_executor::task]
async fn high_ceiling() {
    loop {
        HIGH.wait().await;
        RECORD.lock(|middle_before| {
            end!("priority.inversion.ceiling");
            middle_before.set(MIDDLE_TIMES.get());
            HIGH_TIMES.increment();
        });
    }
}

#[embassy_executor::task]
async fn low_ceiling() {
    for sample in 1..=POINT_SAMPLES {
        Timer::after_ticks(1).await;
        RECORD.lock(|_| {
            NVIC::pend(Interrupt::BENCH);
            work_rounds(1);
            scenario::expect(
                "times the high task ran while it was locked",
                HIGH_TIMES.get(),
                sample - 1,
            );
        });

        check(sample, sample - 1, RECORD.lock(Cell::get));
    }
    scenario::point_ok();
}
