//! Switching between tasks: between equals by yielding, and upwards by waking.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
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
        "thread.yield" => {
            // The task that was spawned last runs first.
            spawner.spawn(second().unwrap());
            spawner.spawn(first().unwrap());
        },
        "thread.resume.preempt" => resume(spawner),
        "thread.suspend" => resume(spawner),
        "thread.yield.alone" => spawner.spawn(alone().unwrap()),
        "thread.resume.immediate" => {
            spawner.spawn(waking().unwrap());
            spawner.spawn(waiting().unwrap());
        },
        "thread.create" => spawner.spawn(creating(spawner).unwrap()),
        "thread.start" => start(spawner),
        "thread.end" => start(spawner),
    }
}

// thread.yield: two tasks of one executor yield to each other.
//
// The executor polls the tasks that are ready in batches, and those of a batch in the reverse
// order of their wakes. Two tasks that do nothing but yield therefore take turns like this:
//
//     first second | second first | first second | ...
//
// The first of each batch yields to the other task: this is the sample. The last of each batch
// yields to the executor, which begins the next batch with this same task; no other task runs
// in between, so this is none.

static SWITCHES: Counter = Counter::new();

#[embassy_executor::task]
async fn first() {
    loop {
        begin!("thread.yield");
        yield_now().await;
        end!("thread.yield");
        switched(0);

        yield_now().await;
    }
}

#[embassy_executor::task]
async fn second() {
    loop {
        end!("thread.yield");
        switched(1);

        yield_now().await;

        begin!("thread.yield");
        yield_now().await;
    }
}

/// Checks that the tasks were reached in turn: `second` by odd switches, `first` by even ones.
fn switched(odd: u32) {
    let switches = SWITCHES.increment();
    scenario::expect("turn", switches % 2, odd);
    if switches == SAMPLES {
        scenario::ok();
    }
}

// thread.resume.preempt: a task wakes another one, whose executor runs in an interrupt and so
// preempts it at once.

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static RESUME: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static RESUMED: Counter = Counter::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
fn resume(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(high().unwrap());
    spawner.spawn(low().unwrap());
}

#[cfg(not(cortex_m))]
fn resume(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn high() {
    // The first time, nobody has woken this task yet.
    RESUME.wait().await;
    loop {
        end!("thread.resume.preempt");
        RESUMED.increment();
        begin!("thread.suspend");
        RESUME.wait().await;
    }
}

#[embassy_executor::task]
async fn low() {
    for sample in 1..=SAMPLES {
        begin!("thread.resume.preempt");
        RESUME.signal(());
        end!("thread.suspend");

        scenario::expect("times the task was resumed", RESUMED.get(), sample);
    }
    scenario::ok();
}

// thread.yield.alone: nobody else is ready.

#[embassy_executor::task]
async fn alone() {
    for _ in 0..SAMPLES {
        begin!("thread.yield.alone");
        yield_now().await;
        end!("thread.yield.alone");
        SWITCHES.increment();
    }
    scenario::expect("yields", SWITCHES.get(), SAMPLES);
    scenario::ok();
}

// thread.resume.immediate: the task that is woken is on the same executor.

#[embassy_executor::task]
async fn waiting() {
    loop {
        RESUME.wait().await;
        RESUMED.increment();
    }
}

#[embassy_executor::task]
async fn waking() {
    for sample in 1..=SAMPLES {
        begin!("thread.resume.immediate");
        RESUME.signal(());
        end!("thread.resume.immediate");

        scenario::expect("times the task ran before", RESUMED.get(), sample - 1);
        yield_now().await;
        yield_now().await;
        scenario::expect("times the task ran", RESUMED.get(), sample);
    }
    scenario::ok();
}

// thread.create: the new task is on the same executor.

#[embassy_executor::task]
async fn created() {
    SWITCHES.increment();
}

#[embassy_executor::task]
async fn creating(spawner: Spawner) {
    for sample in 1..=SAMPLES {
        begin!("thread.create");
        spawner.spawn(created().unwrap());
        end!("thread.create");

        scenario::expect("tasks that ran before", SWITCHES.get(), sample - 1);
        // It runs, and ends; then there is room for the next one.
        yield_now().await;
        yield_now().await;
        scenario::expect("tasks that ran", SWITCHES.get(), sample);
    }
    scenario::ok();
}

// thread.start, thread.end: the new task is on an executor of higher priority.

#[embassy_executor::task]
async fn started() {
    end!("thread.start");
    SWITCHES.increment();
    begin!("thread.end");
}

#[cfg(cortex_m)]
fn start(spawner: Spawner) {
    spawner.spawn(starting().unwrap());
}

#[cfg(not(cortex_m))]
fn start(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[cfg(cortex_m)]
#[embassy_executor::task]
async fn starting() {
    let spawner = EXECUTOR_HIGH.start(Interrupt::RUN_HIGH);
    for sample in 1..=SAMPLES {
        begin!("thread.start");
        spawner.spawn(started().unwrap());
        end!("thread.end");

        scenario::expect("tasks that ran", SWITCHES.get(), sample);
    }
    scenario::ok();
}
