//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use lilos::spsc::{Popper, Pusher, Queue};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

type Item = [u8; 10];

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    // One place always stays empty.
    let mut storage: [MaybeUninit<Item>; 11] = [MaybeUninit::uninit(); 11];
    let mut queue = Queue::new(&mut storage);
    let (pusher, popper) = queue.split();

    scenarios! {
        "queue.send.immediate" => run!(send(pusher, popper)),
        "queue.receive.immediate" => run!(receive(pusher, popper)),
        "queue.receive.poll_empty" => run!(poll(popper)),
    }
}

/// An item that no other sample has.
fn item(sample: u32) -> Item {
    core::array::from_fn(|byte| (3 * sample + byte as u32) as u8)
}

// queue.send.immediate: nobody waits, and there is room.

async fn send(mut pusher: Pusher<'_, Item>, mut popper: Popper<'_, Item>) -> Infallible {
    for sample in 0..SAMPLES {
        let sent = item(sample);

        begin!("queue.send.immediate");
        let result = pusher.try_push(sent);
        end!("queue.send.immediate");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        if popper.try_pop() != Some(item(sample)) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::ok();
}

// queue.receive.immediate: an item is there.

async fn receive(mut pusher: Pusher<'_, Item>, mut popper: Popper<'_, Item>) -> Infallible {
    for sample in 0..SAMPLES {
        let sent = pusher.try_push(item(sample));
        scenario::expect("items refused", u32::from(sent.is_err()), 0);

        begin!("queue.receive.immediate");
        let received = popper.pop().await;
        end!("queue.receive.immediate");

        if received != item(sample) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::expect("items left", u32::from(popper.can_pop()), 0);
    scenario::ok();
}

// queue.receive.poll_empty: nobody ever sends.

async fn poll(mut popper: Popper<'_, Item>) -> Infallible {
    let mut received = 0;
    for _ in 0..POLLS {
        begin!("queue.receive.poll_empty");
        let result = popper.try_pop();
        end!("queue.receive.poll_empty");

        received += u32::from(result.is_some());
    }
    scenario::expect("items received from an empty queue", received, 0);
    scenario::ok();
}
