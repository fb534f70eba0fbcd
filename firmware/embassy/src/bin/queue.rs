//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "queue.send.immediate" => spawner.spawn(send().unwrap()),
        "queue.receive.immediate" => spawner.spawn(receive().unwrap()),
        "queue.receive.poll_empty" => spawner.spawn(poll().unwrap()),
    }
}

type Item = [u8; 10];

static QUEUE: Channel<CriticalSectionRawMutex, Item, 10> = Channel::new();

/// An item that no other sample has.
fn item(sample: u32) -> Item {
    core::array::from_fn(|byte| (3 * sample + byte as u32) as u8)
}

// queue.send.immediate: nobody waits, and there is room.

#[embassy_executor::task]
async fn send() {
    for sample in 0..SAMPLES {
        let sent = item(sample);

        begin!("queue.send.immediate");
        let result = QUEUE.try_send(sent);
        end!("queue.send.immediate");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        if QUEUE.try_receive() != Ok(item(sample)) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::ok();
}

// queue.receive.immediate: an item is there.

#[embassy_executor::task]
async fn receive() {
    for sample in 0..SAMPLES {
        scenario::expect("items refused", u32::from(QUEUE.try_send(item(sample)).is_err()), 0);

        begin!("queue.receive.immediate");
        let received = QUEUE.receive().await;
        end!("queue.receive.immediate");

        if received != item(sample) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::expect("items left", QUEUE.len() as u32, 0);
    scenario::ok();
}

// queue.receive.poll_empty: nobody ever sends.

#[embassy_executor::task]
async fn poll() {
    let mut received = 0;
    for _ in 0..POLLS {
        begin!("queue.receive.poll_empty");
        let result = QUEUE.try_receive();
        end!("queue.receive.poll_empty");

        received += u32::from(result.is_ok());
    }
    scenario::expect("items received from an empty queue", received, 0);
    scenario::ok();
}
