//! A queue of ten items of ten bytes.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::zerocopy_channel;
#[cfg(cortex_m)]
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::{Counter, Item, Odd};
use rtmark_probe::scenario::{self, POLLS, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "queue.send.immediate" => spawner.spawn(send().unwrap()),
        "queue.receive.immediate" => spawner.spawn(receive().unwrap()),
        "queue.receive.poll_empty" => spawner.spawn(poll().unwrap()),
        "queue.send.poll_full" => spawner.spawn(full().unwrap()),
        "queue.send.wake+ctx" => send_wake(spawner),
        "queue.receive.blocking" => send_wake(spawner),
        "queue.receive.wake+ctx" => receive_wake(spawner),
        "queue.send.blocking" => receive_wake(spawner),
        "queue.handover" => {
            spawner.spawn(asking().unwrap());
            spawner.spawn(answering().unwrap());
        },
        "queue.send.4b" => spawner.spawn(sized_4().unwrap()),
        "queue.receive.4b" => spawner.spawn(sized_4().unwrap()),
        "queue.send.16b" => spawner.spawn(sized_16().unwrap()),
        "queue.receive.16b" => spawner.spawn(sized_16().unwrap()),
        "queue.send.64b" => spawner.spawn(sized_64().unwrap()),
        "queue.receive.64b" => spawner.spawn(sized_64().unwrap()),
        "queue.send.256b" => spawner.spawn(sized_256().unwrap()),
        "queue.receive.256b" => spawner.spawn(sized_256().unwrap()),
        "queue.send.16b.unaligned" => spawner.spawn(unaligned().unwrap()),
        "queue.zerocopy.send.256b" => spawner.spawn(zerocopy().unwrap()),
        "queue.zerocopy.receive.256b" => spawner.spawn(zerocopy().unwrap()),
    }
}

static QUEUE: Channel<CriticalSectionRawMutex, Item<10>, 10> = Channel::new();

// queue.send.immediate: nobody waits, and there is room.

#[embassy_executor::task]
async fn send() {
    for sample in 0..SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.send.immediate");
        let result = QUEUE.try_send(sent);
        end!("queue.send.immediate");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        if QUEUE.try_receive() != Ok(Item::of(sample)) {
            scenario::fail_with("another item was received than sent in sample", sample);
        }
    }
    scenario::ok();
}

// queue.receive.immediate: an item is there.

#[embassy_executor::task]
async fn receive() {
    for sample in 0..SAMPLES {
        scenario::expect("items refused", u32::from(QUEUE.try_send(Item::of(sample)).is_err()), 0);

        begin!("queue.receive.immediate");
        let received = QUEUE.receive().await;
        end!("queue.receive.immediate");

        expect_item(&received, sample);
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

// queue.send.poll_full

/// Sends items until there is no room.
fn fill() {
    for number in 0..10 {
        scenario::expect("items refused", u32::from(QUEUE.try_send(Item::of(number)).is_err()), 0);
    }
}

#[embassy_executor::task]
async fn full() {
    fill();
    for sample in 0..SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.send.poll_full");
        let result = QUEUE.try_send(sent);
        end!("queue.send.poll_full");

        scenario::expect("items refused", u32::from(result.is_err()), 1);
    }
    scenario::ok();
}

// queue.send.wake+ctx, queue.receive.blocking: a task of a higher-priority executor receives, and
// waits for the next item.

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
fn send_wake(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(receiving().unwrap());
    spawner.spawn(sending().unwrap());
}

#[cfg(not(cortex_m))]
fn send_wake(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

fn expect_item<const BYTES: usize>(received: &Item<BYTES>, sample: u32) {
    if *received != Item::of(sample) {
        scenario::fail_with("another item was received than sent in sample", sample);
    }
}

#[embassy_executor::task]
async fn receiving() {
    // The first time, nobody has sent anything yet.
    let mut received = QUEUE.receive().await;
    loop {
        end!("queue.send.wake+ctx");
        expect_item(&received, TIMES.increment());
        begin!("queue.receive.blocking");
        received = QUEUE.receive().await;
    }
}

#[embassy_executor::task]
async fn sending() {
    for sample in 1..=SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.send.wake+ctx");
        QUEUE.send(sent).await;
        end!("queue.receive.blocking");

        scenario::expect("items received", TIMES.get(), sample);
    }
    scenario::ok();
}

// queue.receive.wake+ctx, queue.send.blocking: a task of a higher-priority executor keeps the
// queue full, and waits for room.

#[cfg(cortex_m)]
fn receive_wake(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(crowding().unwrap());
    spawner.spawn(relieving().unwrap());
}

#[cfg(not(cortex_m))]
fn receive_wake(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn crowding() {
    fill();
    QUEUE.send(Item::of(10)).await;
    loop {
        end!("queue.receive.wake+ctx");
        let sent = Item::of(10 + TIMES.increment());
        begin!("queue.send.blocking");
        QUEUE.send(sent).await;
    }
}

#[embassy_executor::task]
async fn relieving() {
    for sample in 1..=SAMPLES {
        begin!("queue.receive.wake+ctx");
        let received = QUEUE.receive().await;
        end!("queue.send.blocking");

        scenario::expect("items sent", TIMES.get(), sample);
        expect_item(&received, sample - 1);
    }
    scenario::ok();
}

// queue.handover: two tasks of one executor, and a queue for each way.

static ANSWERS: Channel<CriticalSectionRawMutex, Item<10>, 1> = Channel::new();

#[embassy_executor::task]
async fn answering() {
    loop {
        let received = QUEUE.receive().await;
        end!("queue.handover");
        TIMES.increment();
        ANSWERS.send(received).await;
    }
}

#[embassy_executor::task]
async fn asking() {
    for sample in 1..=SAMPLES {
        let sent = Item::of(sample);

        begin!("queue.handover");
        QUEUE.send(sent).await;
        let received = ANSWERS.receive().await;

        scenario::expect("items received", TIMES.get(), sample);
        expect_item(&received, sample);
    }
    scenario::ok();
}

// queue.send.<size>b, queue.receive.<size>b

macro_rules! sized {
    ($task:ident, $size:literal, $send:literal, $receive:literal) => {
        #[embassy_executor::task]
        async fn $task() {
            static QUEUE: Channel<CriticalSectionRawMutex, Item<$size>, 4> = Channel::new();
            for sample in 0..SAMPLES {
                let item = Item::of(sample);

                begin!($send);
                let result = QUEUE.try_send(item);
                end!($send);

                begin!($receive);
                let received = QUEUE.receive().await;
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

#[embassy_executor::task]
async fn unaligned() {
    static QUEUE: Channel<CriticalSectionRawMutex, [u8; 16], 4> = Channel::new();
    for sample in 0..SAMPLES {
        let item = Odd::of(sample);

        begin!("queue.send.16b.unaligned");
        let result = QUEUE.try_send(item.bytes);
        end!("queue.send.16b.unaligned");

        scenario::expect("items refused", u32::from(result.is_err()), 0);
        expect_item(&Item(QUEUE.receive().await), sample);
    }
    scenario::ok();
}

// queue.zerocopy.*: the item is written and read where it lies.

#[embassy_executor::task]
async fn zerocopy() {
    let mut places = [const { Item([0_u8; 256]) }; 4];
    let mut channel: zerocopy_channel::Channel<'_, CriticalSectionRawMutex, Item<256>> =
        zerocopy_channel::Channel::new(&mut places);
    let (mut sender, mut receiver) = channel.split();
    for sample in 0..SAMPLES {
        begin!("queue.zerocopy.send.256b");
        let place = sender.send().await;
        place.0[0] = sample as u8;
        place.0[255] = sample as u8;
        sender.send_done();
        end!("queue.zerocopy.send.256b");

        begin!("queue.zerocopy.receive.256b");
        let place = receiver.receive().await;
        let sum = u32::from(place.0[0]) + u32::from(place.0[255]);
        receiver.receive_done();
        end!("queue.zerocopy.receive.256b");

        scenario::expect("sum of the bytes", sum, 2 * sample);
    }
    scenario::ok();
}
