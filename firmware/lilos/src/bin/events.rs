//! Polling event bits that nobody ever sets.
//!
//! lilos has no event group. What does its work is a [`Watch`] of lilos-watch: it keeps a value,
//! here the bits, and tells its receivers that it has changed.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos_watch::Watch;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, POLLS};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    let events = Watch::new(0);

    scenarios! {
        "events.wait.poll_empty" => run!(wait(&events)),
        "events.get.poll" => run!(get(&events)),
    }
}

/// As many as a FreeRTOS event group has.
const ALL_BITS: u32 = 0x00FF_FFFF;
const BIT: u32 = 1 << 7;

// events.wait.poll_empty: wait for any bit, but not longer than no time at all.

async fn wait(events: &Watch<u32>) -> Infallible {
    let mut receiver = events.subscribe();
    events.sender().send_modify(|bits| *bits |= BIT);
    scenario::expect("changes seen", u32::from(receiver.is_changed()), 1);
    scenario::expect("bits after setting one", receiver.copy_current_and_update(), BIT);

    let mut seen = 0;
    for _ in 0..POLLS {
        begin!("events.wait.poll_empty");
        if receiver.is_changed() {
            seen |= receiver.copy_current_and_update();
        }
        end!("events.wait.poll_empty");
    }
    scenario::expect("bits seen", seen, 0);
    scenario::ok();
}

// events.get.poll: read the bits, and test them in the program.

async fn get(events: &Watch<u32>) -> Infallible {
    let receiver = events.subscribe();
    events.sender().send_modify(|bits| *bits |= BIT);
    scenario::expect("bits after setting one", receiver.copy_current(), BIT);
    events.sender().send_modify(|bits| *bits &= !ALL_BITS);

    for _ in 0..POLLS {
        begin!("events.get.poll");
        if receiver.copy_current() & ALL_BITS != 0 {
            scenario::fail("a bit is set that nobody set");
        }
        end!("events.get.poll");
    }
    scenario::ok();
}
