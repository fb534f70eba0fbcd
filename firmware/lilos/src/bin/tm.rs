//! Thread-Metric's tests, those that there is something for.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::pin::Pin;

use cortex_m::peripheral::NVIC;
use cortex_m_rt::entry;
use lilos::exec::{Notify, yield_cpu};
use lilos::spsc::{Popper, Pusher, Queue};
use lilos_semaphore::{Semaphore, create_semaphore};
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, Interrupt, tm};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

type Item = [u32; 4];

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_semaphore!(semaphore, 1);
    let mut storage: [MaybeUninit<Item>; 11] = [MaybeUninit::uninit(); 11];
    let mut queue = Queue::new(&mut storage);
    let (pusher, popper) = queue.split();
    let [_, second, third, fourth, fifth] = &COUNTERS;

    scenarios! {
        "tm.basic" => run!(basic()),
        "tm.cooperative" => run!(first(), other(second), other(third), other(fourth), other(fifth)),
        "tm.interrupt" => run!(take()),
        "tm.message" => run!(message(pusher, popper)),
        "tm.sync" => run!(sync(semaphore)),
    }
}

async fn basic() -> Infallible {
    tm::basic_run();
}

// tm.cooperative

static COUNTERS: [Counter; 5] = [const { Counter::new() }; 5];

async fn other(counter: &Counter) -> Infallible {
    loop {
        counter.increment();
        yield_cpu().await;
    }
}

async fn first() -> Infallible {
    loop {
        end!("tm.cooperative");
        begin!("tm.cooperative");
        if COUNTERS[0].increment() > 2 * SAMPLES {
            break;
        }
        yield_cpu().await;
        COUNTERS[0].increment();
        yield_cpu().await;
    }
    for counter in &COUNTERS[1..] {
        scenario::expect("rounds", counter.get(), 2 * SAMPLES);
    }
    scenario::ok();
}

// tm.interrupt

static GIVEN: Notify = Notify::new();

#[interrupt]
fn PLAIN() {
    GIVEN.notify();
}

async fn take() -> Infallible {
    rtmark_board::unmask(Interrupt::PLAIN);
    for _ in 0..SAMPLES {
        begin!("tm.interrupt");
        NVIC::pend(Interrupt::PLAIN);
        GIVEN.until_next().await;
        end!("tm.interrupt");
    }
    scenario::ok();
}

// tm.message

async fn message(mut pusher: Pusher<'_, Item>, mut popper: Popper<'_, Item>) -> Infallible {
    for sample in 0..SAMPLES {
        let sent = [sample, 1, 2, 3];

        begin!("tm.message");
        pusher.reserve().await.push(sent);
        let received = popper.pop().await;
        end!("tm.message");

        scenario::expect("first word of the item", received[0], sample);
        scenario::expect("last word of the item", received[3], 3);
    }
    scenario::ok();
}

// tm.sync

async fn sync(semaphore: Pin<&Semaphore>) -> Infallible {
    for _ in 0..SAMPLES {
        begin!("tm.sync");
        semaphore.acquire().await;
        semaphore.release();
        end!("tm.sync");

        scenario::expect("permits left", semaphore.permits_available() as u32, 1);
    }
    scenario::ok();
}
