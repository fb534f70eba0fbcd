//! Thread-Metric's tests, those that there is something for.

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
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::semaphore::{GreedySemaphore, Semaphore};
use embassy_sync::signal::Signal;
#[cfg(any(cortex_m, cortex_r))]
use rtmark_board::Interrupt;
#[cfg(cortex_m)]
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, tm};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "tm.basic" => tm::basic_run(),
        "tm.cooperative" => {
            for counter in &COUNTERS[1..] {
                spawner.spawn(other(counter).unwrap());
            }
            spawner.spawn(first().unwrap());
        },
        "tm.interrupt" => interrupted(spawner),
        "tm.interrupt_preempt" => preempt(spawner),
        "tm.message" => spawner.spawn(message().unwrap()),
        "tm.sync" => spawner.spawn(sync().unwrap()),
    }
}

// tm.cooperative

static COUNTERS: [Counter; 5] = [const { Counter::new() }; 5];

#[embassy_executor::task(pool_size = 4)]
async fn other(counter: &'static Counter) {
    loop {
        counter.increment();
        yield_now().await;
    }
}

#[embassy_executor::task]
async fn first() {
    loop {
        end!("tm.cooperative");
        begin!("tm.cooperative");
        if COUNTERS[0].increment() > 2 * SAMPLES {
            break;
        }
        yield_now().await;
        COUNTERS[0].increment();
        yield_now().await;
    }
    // Tasks that are ready take turns back and forth: the others are within a round.
    for counter in &COUNTERS[1..] {
        scenario::expect("rounds off", u32::from(counter.get().abs_diff(2 * SAMPLES) > 1), 0);
    }
    scenario::ok();
}

// tm.interrupt

static GIVEN: Signal<CriticalSectionRawMutex, ()> = Signal::new();

#[cfg(any(cortex_m, cortex_r))]
#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn PLAIN() {
    GIVEN.signal(());
}

#[cfg(any(cortex_m, cortex_r))]
fn interrupted(spawner: Spawner) {
    spawner.spawn(take().unwrap());
}

#[cfg(not(any(cortex_m, cortex_r)))]
fn interrupted(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[cfg(any(cortex_m, cortex_r))]
#[embassy_executor::task]
async fn take() {
    rtmark_board::unmask(Interrupt::PLAIN);
    for _ in 0..SAMPLES {
        begin!("tm.interrupt");
        rtmark_board::pend(Interrupt::PLAIN);
        GIVEN.wait().await;
        end!("tm.interrupt");
    }
    scenario::ok();
}

// tm.interrupt_preempt

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static RESUME: Signal<CriticalSectionRawMutex, ()> = Signal::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
#[interrupt]
fn BENCH() {
    RESUME.signal(());
}

#[cfg(cortex_m)]
fn preempt(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(preempting().unwrap());
    spawner.spawn(preempted().unwrap());
}

#[cfg(not(cortex_m))]
fn preempt(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn preempting() {
    loop {
        RESUME.wait().await;
        COUNTERS[1].increment();
    }
}

#[cfg(cortex_m)]
#[embassy_executor::task]
async fn preempted() {
    rtmark_board::unmask(Interrupt::BENCH);
    for sample in 1..=SAMPLES {
        begin!("tm.interrupt_preempt");
        rtmark_board::pend(Interrupt::BENCH);
        while COUNTERS[1].get() != sample {}
        end!("tm.interrupt_preempt");

        scenario::expect("times the other task ran", COUNTERS[1].get(), sample);
    }
    scenario::ok();
}

// tm.message

static QUEUE: Channel<CriticalSectionRawMutex, [u32; 4], 10> = Channel::new();

#[embassy_executor::task]
async fn message() {
    for sample in 0..SAMPLES {
        let sent = [sample, 1, 2, 3];

        begin!("tm.message");
        QUEUE.send(sent).await;
        let received = QUEUE.receive().await;
        end!("tm.message");

        scenario::expect("first word of the item", received[0], sample);
        scenario::expect("last word of the item", received[3], 3);
    }
    scenario::ok();
}

// tm.sync

static SEMAPHORE: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(1);

#[embassy_executor::task]
async fn sync() {
    for _ in 0..SAMPLES {
        begin!("tm.sync");
        let Ok(permit) = SEMAPHORE.acquire(1).await;
        drop(permit);
        end!("tm.sync");

        scenario::expect("permits left", u32::from(SEMAPHORE.try_acquire(1).is_some()), 1);
    }
    scenario::ok();
}
