//! A lock that many tasks hold for reading, or one for writing.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::rwlock::RwLock;
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
        "rwlock.read.immediate" => spawner.spawn(read().unwrap()),
        "rwlock.read.shared" => spawner.spawn(read().unwrap()),
        "rwlock.read.unlock" => spawner.spawn(read().unwrap()),
        "rwlock.write.poll_read" => spawner.spawn(read().unwrap()),
        "rwlock.write.immediate" => spawner.spawn(write().unwrap()),
        "rwlock.write.unlock" => spawner.spawn(write().unwrap()),
        "rwlock.write.blocking" => contend(spawner),
        "rwlock.read.unlock.wake+ctx" => contend(spawner),
    }
}

static LOCK: RwLock<CriticalSectionRawMutex, u32> = RwLock::new(0);

// rwlock.read.immediate, rwlock.read.shared, rwlock.write.poll_read, rwlock.read.unlock. Which task reads does
// not matter to the lock.

#[embassy_executor::task]
async fn read() {
    for _ in 0..SAMPLES {
        begin!("rwlock.read.immediate");
        let guard = LOCK.read().await;
        end!("rwlock.read.immediate");

        begin!("rwlock.read.shared");
        let other = LOCK.read().await;
        end!("rwlock.read.shared");

        begin!("rwlock.write.poll_read");
        let writing = LOCK.try_write();
        end!("rwlock.write.poll_read");

        scenario::expect("locked for writing", u32::from(writing.is_ok()), 0);
        drop(writing);
        scenario::expect("what two readers see", *guard + *other, 0);
        drop(other);

        begin!("rwlock.read.unlock");
        drop(guard);
        end!("rwlock.read.unlock");
    }
    scenario::ok();
}

// rwlock.write.immediate, rwlock.write.unlock

#[embassy_executor::task]
async fn write() {
    for sample in 0..SAMPLES {
        begin!("rwlock.write.immediate");
        let mut guard = LOCK.write().await;
        end!("rwlock.write.immediate");

        scenario::expect("what it guards", *guard, sample);
        *guard += 1;
        scenario::expect("locked for reading", u32::from(LOCK.try_read().is_ok()), 0);

        begin!("rwlock.write.unlock");
        drop(guard);
        end!("rwlock.write.unlock");
    }
    scenario::ok();
}

// rwlock.write.blocking, rwlock.read.unlock.wake+ctx: a task of a higher-priority executor writes.

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
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(writing().unwrap());
    spawner.spawn(reading().unwrap());
}

#[cfg(not(cortex_m))]
fn contend(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn writing() {
    loop {
        GO.wait().await;
        begin!("rwlock.write.blocking");
        let mut guard = LOCK.write().await;
        end!("rwlock.read.unlock.wake+ctx");
        TIMES.increment();
        *guard += 1;
        drop(guard);
    }
}

#[embassy_executor::task]
async fn reading() {
    for sample in 1..=SAMPLES {
        let guard = LOCK.read().await;
        GO.signal(());
        end!("rwlock.write.blocking");

        scenario::expect("times the lock was held for writing", TIMES.get(), sample - 1);
        scenario::expect("what the reader sees", *guard, sample - 1);

        begin!("rwlock.read.unlock.wake+ctx");
        drop(guard);

        scenario::expect("times the lock was held for writing", TIMES.get(), sample);
    }
    scenario::ok();
}
