//! Event bits: polled while nobody sets one, and waited for.
//!
//! lilos has no event group. What does its work is a [`Watch`] of lilos-watch: it keeps a value,
//! here the bits, and tells its receivers that it has changed.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos_watch::{Receiver, Watch};
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    let events = Watch::new(0);

    scenarios! {
        "events.wait.poll_empty" => run!(wait(&events)),
        "events.get.poll" => run!(get(&events)),
        "events.post.immediate" => run!(immediate(&events)),
        "events.wait.immediate" => run!(immediate(&events)),
        "events.wait.blocking" => run!(waiting(&events), posting(&events)),
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

// events.post.immediate, events.wait.immediate: nobody waits; a bit is set.

/// Waits until any bit is set, and says which are.
async fn any(events: &mut Receiver<'_, u32>) -> u32 {
    loop {
        events.changed().await;
        let bits = events.copy_current_and_update();
        if bits & ALL_BITS != 0 {
            return bits;
        }
    }
}

async fn immediate(events: &Watch<u32>) -> Infallible {
    let mut receiver = events.subscribe();
    let sender = events.sender();
    for _ in 0..SAMPLES {
        begin!("events.post.immediate");
        sender.send_modify(|bits| *bits |= BIT);
        end!("events.post.immediate");

        begin!("events.wait.immediate");
        let bits = any(&mut receiver).await;
        end!("events.wait.immediate");

        scenario::expect("bits seen", bits, BIT);
        sender.send_modify(|bits| *bits &= !BIT);
    }
    scenario::ok();
}

// events.wait.blocking: the next task in the array runs then.

static TIMES: Counter = Counter::new();

async fn waiting(events: &Watch<u32>) -> Infallible {
    let mut receiver = events.subscribe();
    let sender = events.sender();
    loop {
        begin!("events.wait.blocking");
        let bits = any(&mut receiver).await;
        scenario::expect("bits seen", bits, BIT);
        TIMES.increment();
        sender.send_modify(|bits| *bits &= !BIT);
    }
}

async fn posting(events: &Watch<u32>) -> Infallible {
    // The first time, the next task is this one at its beginning.
    end!("events.wait.blocking");
    for sample in 1..SAMPLES {
        events.sender().send_modify(|bits| *bits |= BIT);
        yield_cpu().await;
        end!("events.wait.blocking");
        scenario::expect("times the other task ran", TIMES.get(), sample);
    }
    scenario::ok();
}
