//! A mutex that tasks wait for, and a critical section.

#![no_std]
#![no_main]

use core::cell::Cell;

use critical_section::Mutex as Section;
#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use rtmark_board::Counter;
#[cfg(cortex_m)]
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "mutex.lock.immediate" => spawner.spawn(lock().unwrap()),
        "mutex.unlock.immediate" => spawner.spawn(lock().unwrap()),
        "mutex.lock.poll_taken" => spawner.spawn(lock().unwrap()),
        "mutex.lock.blocking" => contend(spawner),
        "mutex.unlock.wake+ctx" => contend(spawner),
        "mutex.critical_section" => spawner.spawn(critical().unwrap()),
    }
}

static MUTEX: Mutex<CriticalSectionRawMutex, u32> = Mutex::new(0);

// mutex.lock.immediate, mutex.lock.poll_taken, mutex.unlock.immediate. Who holds it does not
// matter: a task can no more lock it again than others can lock it.

#[embassy_executor::task]
async fn lock() {
    for sample in 0..SAMPLES {
        begin!("mutex.lock.immediate");
        let mut guard = MUTEX.lock().await;
        end!("mutex.lock.immediate");

        scenario::expect("what it guards", *guard, sample);
        *guard += 1;

        begin!("mutex.lock.poll_taken");
        let again = MUTEX.try_lock();
        end!("mutex.lock.poll_taken");

        scenario::expect("locked again", u32::from(again.is_ok()), 0);
        drop(again);

        begin!("mutex.unlock.immediate");
        drop(guard);
        end!("mutex.unlock.immediate");
    }
    scenario::ok();
}

// mutex.lock.blocking, mutex.unlock.wake+ctx: a task of a higher-priority executor waits for it.

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static GO: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static TIMES: Counter = Counter::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
fn contend(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(contending().unwrap());
    spawner.spawn(holding().unwrap());
}

#[cfg(not(cortex_m))]
fn contend(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn contending() {
    loop {
        GO.wait().await;
        begin!("mutex.lock.blocking");
        let guard = MUTEX.lock().await;
        end!("mutex.unlock.wake+ctx");
        TIMES.increment();
        drop(guard);
    }
}

#[embassy_executor::task]
async fn holding() {
    for sample in 1..=SAMPLES {
        let guard = MUTEX.lock().await;
        GO.signal(());
        end!("mutex.lock.blocking");

        scenario::expect("times the other task held the mutex", TIMES.get(), sample - 1);

        begin!("mutex.unlock.wake+ctx");
        drop(guard);

        scenario::expect("times the other task held the mutex", TIMES.get(), sample);
    }
    scenario::ok();
}

// mutex.critical_section

static SECTION: Section<Cell<u32>> = Section::new(Cell::new(0));

#[embassy_executor::task]
async fn critical() {
    for sample in 1..=SAMPLES {
        begin!("mutex.critical_section");
        critical_section::with(|token| {
            let counter = SECTION.borrow(token);
            counter.set(counter.get() + 1);
        });
        end!("mutex.critical_section");

        scenario::expect("increments", critical_section::with(|t| SECTION.borrow(t).get()), sample);
    }
    scenario::ok();
}
