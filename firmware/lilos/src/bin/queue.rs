//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos::spsc::{Popper, Pusher, Queue};
use rtmark_board::{Counter, Item, Odd};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    // One place always stays empty.
    let mut storage: [MaybeUninit<Item<10>>; 11] = [const { MaybeUninit::uninit() }; 11];
    let mut queue = Queue::new(&mut storage);
    let (pusher, popper) = queue.split();
    let mut answer_storage: [MaybeUninit<Item<10>>; 2] = [const { MaybeUninit::uninit() }; 2];
    let mut answer_queue = Queue::new(&mut answer_storage);
    let (answer, answers) = answer_queue.split();

    scenarios! {
        "queue.send.immediate" => run!(send(pusher, popper)),
        "queue.receive.immediate" => run!(receive(pusher, popper)),
        "queue.receive.poll_empty" => run!(poll(popper)),
        "queue.send.poll_full" => run!(full(pusher)),
        "queue.receive.blocking" => run!(answering(popper, answer), asking(pusher, answers)),
        "queue.handover" => run!(answering(popper, answer), asking(pusher, answers)),
        "queue.send.blocking" => run!(crowding(pusher), relieving(popper)),
        "queue.send.4b" => run!(sized_4()),
        "queue.receive.4b" => run!(sized_4()),
        "queue.send.16b" => run!(sized_16()),
        "queue.receive.16b" => run!(sized_16()),
        "queue.send.64b" => run!(sized_64()),
        "queue.receive.64b" => run!(sized_64()),
        "queue.send.256b" => run!(sized_256()),
        "queue.receive.256b" => run!(sized_256()),
        "queue.send.16b.unaligned" => run!(unaligned()),
    }
}

// queue.send.immediate: nobody waits, and there is room.

async fn send(mut pusher: Pusher<'_, Item<10>>, mut popper: Popper<'_, Item<10>>) -> Infallible {
    for sample in 0..SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.send.immediate");
        let result = pusher.try_push(sent);
        end!("queue.send.immediate");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        if popper.try_pop() != Some(Item::of(sample)) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::ok();
}

// queue.receive.immediate: an item is there.

async fn receive(mut pusher: Pusher<'_, Item<10>>, mut popper: Popper<'_, Item<10>>) -> Infallible {
    for sample in 0..SAMPLES {
        let sent = pusher.try_push(Item::of(sample));
        scenario::expect("items refused", u32::from(sent.is_err()), 0);

        begin!("queue.receive.immediate");
        let received = popper.pop().await;
        end!("queue.receive.immediate");

        expect_item(&received, sample);
    }
    scenario::expect("items left", u32::from(popper.can_pop()), 0);
    scenario::ok();
}

// queue.receive.poll_empty: nobody ever sends.

async fn poll(mut popper: Popper<'_, Item<10>>) -> Infallible {
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

// queue.send.poll_full

/// Sends items until there is no room.
fn fill(pusher: &mut Pusher<'_, Item<10>>) {
    for number in 0..10 {
        scenario::expect("items refused", u32::from(pusher.try_push(Item::of(number)).is_err()), 0);
    }
}

async fn full(mut pusher: Pusher<'_, Item<10>>) -> Infallible {
    fill(&mut pusher);
    for sample in 0..SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.send.poll_full");
        let result = pusher.try_push(sent);
        end!("queue.send.poll_full");

        scenario::expect("items refused", u32::from(result.is_err()), 1);
    }
    scenario::ok();
}

// queue.handover, queue.receive.blocking: two tasks, and a queue for each way.

static TIMES: Counter = Counter::new();

fn expect_item<const BYTES: usize>(received: &Item<BYTES>, sample: u32) {
    if *received != Item::of(sample) {
        scenario::fail_with("another item was received than sent in sample", sample);
    }
}

async fn answering(
    mut popper: Popper<'_, Item<10>>,
    mut answer: Pusher<'_, Item<10>>,
) -> Infallible {
    // The first time, nobody has sent anything yet.
    let mut received = popper.pop().await;
    loop {
        end!("queue.handover");
        TIMES.increment();
        answer.reserve().await.push(received);
        begin!("queue.receive.blocking");
        received = popper.pop().await;
    }
}

async fn asking(mut pusher: Pusher<'_, Item<10>>, mut answers: Popper<'_, Item<10>>) -> Infallible {
    for sample in 1..=SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.handover");
        pusher.reserve().await.push(sent);
        let received = answers.pop().await;
        end!("queue.receive.blocking");

        scenario::expect("items received", TIMES.get(), sample);
        expect_item(&received, sample);
    }
    scenario::ok();
}

// queue.send.blocking: a task keeps the queue full, and waits for room.

async fn crowding(mut pusher: Pusher<'_, Item<10>>) -> Infallible {
    fill(&mut pusher);
    loop {
        let sent = Item::of(10 + TIMES.get());
        begin!("queue.send.blocking");
        pusher.reserve().await.push(sent);
        TIMES.increment();
    }
}

async fn relieving(mut popper: Popper<'_, Item<10>>) -> Infallible {
    // The first time, the next task is this one at its beginning.
    end!("queue.send.blocking");
    for sample in 1..SAMPLES {
        expect_item(&popper.pop().await, sample - 1);
        // The other task comes first in the next round.
        yield_cpu().await;
        end!("queue.send.blocking");
        scenario::expect("items sent", TIMES.get(), sample);
    }
    scenario::ok();
}

// queue.send.<size>b, queue.receive.<size>b

macro_rules! sized {
    ($task:ident, $size:literal, $send:literal, $receive:literal) => {
        async fn $task() -> Infallible {
            let mut storage: [MaybeUninit<Item<$size>>; 5] = [const { MaybeUninit::uninit() }; 5];
            let mut queue = Queue::new(&mut storage);
            let (mut pusher, mut popper) = queue.split();
            for sample in 0..SAMPLES {
                let item = Item::of(sample);

                begin!($send);
                let result = pusher.try_push(item);
                end!($send);

                begin!($receive);
                let received = popper.pop().await;
                end!($receive);

                scenario::expect("items refused", u32::from(result.is_err()), 0);
                expect_item(&received, sample);
            }
            scenario::ok();
        }
    };
}

sized!(sized_4, 4, "queue.send.4b", "queue.receive.4b");
sized!(sized_16, 16, "queue.send.16b", "queue.receive.16b");
sized!(sized_64, 64, "queue.send.64b", "queue.receive.64b");
sized!(sized_256, 256, "queue.send.256b", "queue.receive.256b");

// queue.send.16b.unaligned

async fn unaligned() -> Infallible {
    let mut storage: [MaybeUninit<[u8; 16]>; 5] = [MaybeUninit::uninit(); 5];
    let mut queue = Queue::new(&mut storage);
    let (mut pusher, mut popper) = queue.split();
    for sample in 0..SAMPLES {
        let item = Odd::of(sample);

        begin!("queue.send.16b.unaligned");
        let result = pusher.try_push(item.bytes);
        end!("queue.send.16b.unaligned");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        expect_item(&Item(popper.pop().await), sample);
    }
    scenario::ok();
}
