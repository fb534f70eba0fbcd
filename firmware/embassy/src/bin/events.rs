//! Polling event bits that nobody ever sets.
//!
//! embassy-sync has no event group. What does its work is a [`Watch`]: it keeps a value, here
//! the bits, that senders modify and that several receivers can wait for until it fulfils a
//! condition, here that any of certain bits is set. Unlike an event group it clears no bits on
//! behalf of the one who waited.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::watch::{Receiver, Watch};
use rtmark_probe::scenario::{self, POLLS};
use rtmark_probe::{begin, end, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "events.wait.poll_empty" => spawner.spawn(wait().unwrap()),
        "events.get.poll" => spawner.spawn(get().unwrap()),
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
