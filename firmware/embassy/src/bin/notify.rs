//! A signal: what one task or handler tells one task.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
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
        "notify.give.immediate" => spawner.spawn(immediate().unwrap()),
        "notify.take.immediate" => spawner.spawn(immediate().unwrap()),
        "notify.take.poll_empty" => spawner.spawn(immediate().unwrap()),
        "notify.give.wake+ctx" => wake(spawner),
        "notify.take.blocking" => wake(spawner),
        "notify.handover" => {
            spawner.spawn(asking().unwrap());
            spawner.spawn(answering().unwrap());
        },
    }
}

static SIGNAL: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static ANSWER: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static TIMES: Counter = Counter::new();

// notify.give.immediate, notify.take.immediate, notify.take.poll_empty

#[embassy_executor::task]
async fn immediate() {
    for _ in 0..SAMPLES {
        begin!("notify.take.poll_empty");
        let none = SIGNAL.try_take();
        end!("notify.take.poll_empty");

        begin!("notify.give.immediate");
        SIGNAL.signal(());
        end!("notify.give.immediate");

        scenario::expect("signals before", u32::from(none.is_some()), 0);
        scenario::expect("signals", u32::from(SIGNAL.signaled()), 1);

        begin!("notify.take.immediate");
        SIGNAL.wait().await;
        end!("notify.take.immediate");

        scenario::expect("signals after", u32::from(SIGNAL.signaled()), 0);
    }
    scenario::ok();
}

// notify.give.wake+ctx, notify.take.blocking: a task of a higher-priority executor waits.

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();

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
    // The first time, nobody has signalled yet.
    SIGNAL.wait().await;
    loop {
        end!("notify.give.wake+ctx");
        TIMES.increment();
        begin!("notify.take.blocking");
        SIGNAL.wait().await;
    }
}

#[embassy_executor::task]
async fn waking() {
    for sample in 1..=SAMPLES {
        begin!("notify.give.wake+ctx");
        SIGNAL.signal(());
        end!("notify.take.blocking");

        scenario::expect("times the task was notified", TIMES.get(), sample);
    }
    scenario::ok();
}

// notify.handover: two tasks of one executor.

#[embassy_executor::task]
async fn answering() {
    loop {
        SIGNAL.wait().await;
        end!("notify.handover");
        TIMES.increment();
        ANSWER.signal(());
    }
}

#[embassy_executor::task]
async fn asking() {
    for sample in 1..=SAMPLES {
        begin!("notify.handover");
        SIGNAL.signal(());
        ANSWER.wait().await;

        scenario::expect("times the other task was notified", TIMES.get(), sample);
    }
    scenario::ok();
}
