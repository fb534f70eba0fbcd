//! A pipe of bytes.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;
#[cfg(cortex_m)]
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::{Counter, Item};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "stream.send.immediate" => spawner.spawn(immediate().unwrap()),
        "stream.receive.immediate" => spawner.spawn(immediate().unwrap()),
        "stream.send.wake+ctx" => wake(spawner),
        "stream.receive.blocking" => wake(spawner),
    }
}

const BYTES: usize = 16;

/// A multiple of a sample, none of which therefore wraps around.
static PIPE: Pipe<CriticalSectionRawMutex, 96> = Pipe::new();
static TIMES: Counter = Counter::new();

fn expect_bytes(received: &[u8], sample: u32) {
    if received != Item::<BYTES>::of(sample).0 {
        scenario::fail_with("other bytes were received than sent in sample", sample);
    }
}

// stream.send.immediate, stream.receive.immediate

#[embassy_executor::task]
async fn immediate() {
    let mut received = Item([0; BYTES]);
    for sample in 0..SAMPLES {
        let sent = Item::<BYTES>::of(sample);

        begin!("stream.send.immediate");
        let count = PIPE.try_write(&sent.0);
        end!("stream.send.immediate");

        begin!("stream.receive.immediate");
        let length = PIPE.read(&mut received.0).await;
        end!("stream.receive.immediate");

        scenario::expect("bytes sent", count.unwrap_or(0) as u32, BYTES as u32);
        expect_bytes(&received.0[..length], sample);
    }
    scenario::ok();
}

// stream.send.wake+ctx, stream.receive.blocking: a task of a higher-priority executor receives.

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
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(receiving().unwrap());
    spawner.spawn(sending().unwrap());
}

#[cfg(not(cortex_m))]
fn wake(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn receiving() {
    let mut received = Item([0; BYTES]);
    // The first time, nobody has sent anything yet.
    let mut length = PIPE.read(&mut received.0).await;
    loop {
        end!("stream.send.wake+ctx");
        expect_bytes(&received.0[..length], TIMES.increment());
        begin!("stream.receive.blocking");
        length = PIPE.read(&mut received.0).await;
    }
}

#[embassy_executor::task]
async fn sending() {
    for sample in 1..=SAMPLES {
        let sent = Item::<BYTES>::of(sample);

        begin!("stream.send.wake+ctx");
        let written = PIPE.try_write(&sent.0);
        end!("stream.receive.blocking");

        scenario::expect("bytes sent", written.unwrap_or(0) as u32, BYTES as u32);
        scenario::expect("times bytes were received", TIMES.get(), sample);
    }
    scenario::ok();
}
