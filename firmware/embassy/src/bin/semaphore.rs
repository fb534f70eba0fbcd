//! A semaphore: free and taken, and with a task waiting for it.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::semaphore::{GreedySemaphore, Semaphore, SemaphoreReleaser};
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
        "semaphore.give.immediate" => spawner.spawn(give().unwrap()),
        "semaphore.take.immediate" => spawner.spawn(take().unwrap()),
        "semaphore.take.poll_empty" => spawner.spawn(poll().unwrap()),
        "semaphore.give.wake+ctx" => wake(spawner),
        "semaphore.take.blocking" => wake(spawner),
        "semaphore.handover" => {
            spawner.spawn(asking().unwrap());
            spawner.spawn(answering().unwrap());
        },
    }
}

/// Created empty. A permit gives itself back when dropped, unless it is disarmed: then it was
/// taken for good, as from a semaphore of other kernels.
static SEMAPHORE: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(0);

/// How many permits there are, which this takes all.
fn take_all() -> u32 {
    let permits = SEMAPHORE.try_acquire_all(1).map_or(0, SemaphoreReleaser::disarm);
    u32::try_from(permits).unwrap_or(u32::MAX)
}

// semaphore.give.immediate: nobody waits.

#[embassy_executor::task]
async fn give() {
    for _ in 0..SAMPLES {
        begin!("semaphore.give.immediate");
        SEMAPHORE.release(1);
        end!("semaphore.give.immediate");

        scenario::expect("permits after the give", take_all(), 1);
    }
    scenario::ok();
}

// semaphore.take.immediate: it is available.

#[embassy_executor::task]
async fn take() {
    for _ in 0..SAMPLES {
        SEMAPHORE.release(1);

        begin!("semaphore.take.immediate");
        let Ok(permit) = SEMAPHORE.acquire(1).await;
        end!("semaphore.take.immediate");

        scenario::expect("permits taken", permit.disarm() as u32, 1);
        scenario::expect("permits after the take", take_all(), 0);
    }
    scenario::ok();
}

// semaphore.take.poll_empty: it is not available, and nobody waits for it.

#[embassy_executor::task]
async fn poll() {
    for _ in 0..SAMPLES {
        begin!("semaphore.take.poll_empty");
        let permit = SEMAPHORE.try_acquire(1);
        end!("semaphore.take.poll_empty");

        scenario::expect("permits taken", u32::from(permit.is_some()), 0);
    }
    scenario::ok();
}

// semaphore.give.wake+ctx, semaphore.take.blocking: a task of a higher-priority executor waits,
// runs at once, and waits again.

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static TAKEN: Counter = Counter::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
fn wake(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(waiting().unwrap());
    spawner.spawn(waking().unwrap());
}

#[cfg(not(cortex_m))]
fn wake(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn waiting() {
    // The first time, nobody has given it yet.
    let Ok(mut permit) = SEMAPHORE.acquire(1).await;
    loop {
        end!("semaphore.give.wake+ctx");
        permit.disarm();
        TAKEN.increment();
        begin!("semaphore.take.blocking");
        Ok(permit) = SEMAPHORE.acquire(1).await;
    }
}

#[embassy_executor::task]
async fn waking() {
    for sample in 1..=SAMPLES {
        begin!("semaphore.give.wake+ctx");
        SEMAPHORE.release(1);
        end!("semaphore.take.blocking");

        scenario::expect("times the waiting task took the semaphore", TAKEN.get(), sample);
    }
    scenario::ok();
}

// semaphore.handover: two tasks of one executor, and a semaphore for each way.

static ANSWER: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(0);

#[embassy_executor::task]
async fn answering() {
    loop {
        let Ok(permit) = SEMAPHORE.acquire(1).await;
        end!("semaphore.handover");
        permit.disarm();
        TAKEN.increment();
        ANSWER.release(1);
    }
}

#[embassy_executor::task]
async fn asking() {
    for sample in 1..=SAMPLES {
        begin!("semaphore.handover");
        SEMAPHORE.release(1);
        let Ok(permit) = ANSWER.acquire(1).await;

        permit.disarm();
        scenario::expect("times the other task took the semaphore", TAKEN.get(), sample);
    }
    scenario::ok();
}
