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
        "thread.create.static" => spawner.spawn(creating_static(spawner).unwrap()),
        "thread.start" => start(spawner),
        "thread.start.static" => start_static(spawner),
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
// A batch is a round: each task yields once. The first of a batch yields to the other task, the
// last one to the executor, which begins the next batch with this same task.

static SWITCHES: Counter = Counter::new();

#[embassy_executor::task]
async fn first() {
    loop {
        begin!("thread.yield");
        yield_now().await;
        end!("thread.yield");
        switched([0, 3]);
    }
}

#[embassy_executor::task]
async fn second() {
    loop {
        end!("thread.yield");
        switched([1, 2]);
        begin!("thread.yield");
        yield_now().await;
    }
}

/// Checks that each task runs once in each round: it is reached by these of every four switches.
fn switched(by: [u32; 2]) {
    let switches = SWITCHES.increment();
    scenario::expect("turn", u32::from(by.contains(&(switches % 4))), 1);
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

// thread.create, thread.create.static: the new task is on the same executor. A place for it is
// found in the pool of its kind, which is static and has one place. Each scenario has a kind of its
// own, which is spawned at one place, as most tasks are.

macro_rules! creating {
    ($creating:ident, $created:ident, $scenario:literal) => {
        #[embassy_executor::task]
        async fn $created() {
            SWITCHES.increment();
        }

        #[embassy_executor::task]
        async fn $creating(spawner: Spawner) {
            for sample in 1..=SAMPLES {
                begin!($scenario);
                spawner.spawn($created().unwrap());
                end!($scenario);

                scenario::expect("tasks that ran before", SWITCHES.get(), sample - 1);
                // It runs, and ends; then there is room for the next one.
                yield_now().await;
                yield_now().await;
                scenario::expect("tasks that ran", SWITCHES.get(), sample);
            }
            scenario::ok();
        }
    };
}

creating!(creating, created, "thread.create");
creating!(creating_static, created_static, "thread.create.static");

// thread.start, thread.start.static, thread.end: the new task is on an executor of higher priority.

macro_rules! starting {
    ($start:ident, $starting:ident, $started:ident, $scenario:literal) => {
        #[cfg(cortex_m)]
        #[embassy_executor::task]
        async fn $started() {
            end!($scenario);
            SWITCHES.increment();
            begin!("thread.end");
        }

        #[cfg(cortex_m)]
        #[embassy_executor::task]
        async fn $starting() {
            let spawner = EXECUTOR_HIGH.start(Interrupt::RUN_HIGH);
            for sample in 1..=SAMPLES {
                begin!($scenario);
                spawner.spawn($started().unwrap());
                // The interrupt comes up to two instructions behind the store that pends it.
                cortex_m::asm::nop();
                cortex_m::asm::nop();
                end!("thread.end");

                scenario::expect("tasks that ran", SWITCHES.get(), sample);
            }
            scenario::ok();
        }

        #[cfg(cortex_m)]
        fn $start(spawner: Spawner) {
            spawner.spawn($starting().unwrap());
        }

        #[cfg(not(cortex_m))]
        fn $start(_: Spawner) {
            rtmark_embassy::no_executor_above();
        }
    };
}

starting!(start, starting, started, "thread.start");
starting!(start_static, starting_static, started_static, "thread.start.static");
