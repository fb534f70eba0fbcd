//! Event bits: polled while nobody sets one, and waited for.
//!
//! embassy-sync has no event group. What does its work is a [`Watch`]: it keeps a value, here
//! the bits, that senders modify and that several receivers can wait for until it fulfils a
//! condition, here that any of certain bits is set. Unlike an event group it clears no bits on
//! behalf of the one who waited.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::watch::{Receiver, Watch};
use rtmark_board::Counter;
#[cfg(cortex_m)]
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "events.wait.poll_empty" => spawner.spawn(wait().unwrap()),
        "events.get.poll" => spawner.spawn(get().unwrap()),
        "events.post.immediate" => spawner.spawn(immediate().unwrap()),
        "events.wait.immediate" => spawner.spawn(immediate().unwrap()),
        "events.post.wake_any" => wake(spawner, Wanted::Any),
        "events.post.wake_all" => wake(spawner, Wanted::All),
        "events.wait.blocking" => wake(spawner, Wanted::Any),
    }
}

/// As many as a FreeRTOS event group has.
const ALL_BITS: u32 = 0x00FF_FFFF;

const RECEIVERS: usize = 1;
static EVENTS: Watch<CriticalSectionRawMutex, u32, RECEIVERS> = Watch::new_with(0);

type Events = Receiver<'static, CriticalSectionRawMutex, u32, RECEIVERS>;

/// A receiver of events that work: a bit that is set is seen, once it is cleared it is not.
fn checked_events() -> Events {
    const BIT: u32 = 1 << 7;
    let Some(mut events) = EVENTS.receiver() else {
        scenario::fail("no receiver left for the events");
    };
    let sender = EVENTS.sender();
    let any = |bits: &u32| bits & ALL_BITS != 0;

    sender.send_modify(|bits| *bits = bits.map(|bits| bits | BIT));
    scenario::expect("bits after setting one", events.try_get().unwrap_or(0), BIT);
    scenario::expect("bits waited for", events.try_get_and(any).unwrap_or(0), BIT);
    sender.send_modify(|bits| *bits = bits.map(|bits| bits & !ALL_BITS));
    scenario::expect("bits after clearing", events.try_get().unwrap_or(ALL_BITS), 0);
    events
}

// events.wait.poll_empty: wait for any bit, but not longer than no time at all.

#[embassy_executor::task]
async fn wait() {
    let mut events = checked_events();
    let mut seen = 0;

    for _ in 0..POLLS {
        begin!("events.wait.poll_empty");
        let bits = events.try_get_and(|bits| bits & ALL_BITS != 0);
        end!("events.wait.poll_empty");

        seen |= bits.unwrap_or(0);
    }
    scenario::expect("bits seen", seen, 0);
    scenario::ok();
}

// events.get.poll: read the bits, and test them in the program.

#[embassy_executor::task]
async fn get() {
    let mut events = checked_events();

    for _ in 0..POLLS {
        begin!("events.get.poll");
        let bits = events.try_get().unwrap_or(0);
        if bits & ALL_BITS != 0 {
            scenario::fail("a bit is set that nobody set");
        }
        end!("events.get.poll");
    }
    scenario::ok();
}

// events.post.immediate, events.wait.immediate: nobody waits; a bit is set.

fn set(set: u32) {
    EVENTS.sender().send_modify(|bits| *bits = bits.map(|bits| bits | set));
}

fn clear(clear: u32) {
    EVENTS.sender().send_modify(|bits| *bits = bits.map(|bits| bits & !clear));
}

#[embassy_executor::task]
async fn immediate() {
    let mut events = checked_events();
    for _ in 0..SAMPLES {
        begin!("events.post.immediate");
        set(1 << 3);
        end!("events.post.immediate");

        begin!("events.wait.immediate");
        let bits = events.get_and(|bits| bits & ALL_BITS != 0).await;
        end!("events.wait.immediate");

        scenario::expect("bits seen", bits, 1 << 3);
        clear(ALL_BITS);
    }
    scenario::ok();
}

// events.post.wake_any, events.post.wake_all, events.wait.blocking: a task of a higher-priority
// executor waits for one or for both of two bits.

const FIRST: u32 = 1 << 0;
const SECOND: u32 = 1 << 1;

#[derive(Clone, Copy)]
enum Wanted {
    Any,
    All,
}

impl Wanted {
    fn are_in(self, bits: u32) -> bool {
        let found = bits & (FIRST | SECOND);
        match self {
            Self::Any => found != 0,
            Self::All => found == FIRST | SECOND,
        }
    }
}

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static TIMES: Counter = Counter::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
fn wake(spawner: Spawner, wanted: Wanted) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(waiting(wanted).unwrap());
    spawner.spawn(posting(wanted).unwrap());
}

#[cfg(not(cortex_m))]
fn wake(_: Spawner, _: Wanted) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn waiting(wanted: Wanted) {
    let mut events = checked_events();
    // The first time, nobody has set a bit yet.
    events.get_and(|bits| wanted.are_in(*bits)).await;
    loop {
        end!("events.post.wake_any");
        end!("events.post.wake_all");
        TIMES.increment();
        clear(FIRST | SECOND);
        begin!("events.wait.blocking");
        events.get_and(|bits| wanted.are_in(*bits)).await;
    }
}

#[embassy_executor::task]
async fn posting(wanted: Wanted) {
    for sample in 1..=SAMPLES {
        if matches!(wanted, Wanted::All) {
            set(FIRST);
            scenario::expect("times the other task ran", TIMES.get(), sample - 1);
        }
        begin!("events.post.wake_any");
        begin!("events.post.wake_all");
        set(SECOND);
        end!("events.wait.blocking");

        scenario::expect("times the other task ran", TIMES.get(), sample);
    }
    scenario::ok();
}
