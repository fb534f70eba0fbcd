//! A semaphore: free and taken, and with a task waiting for it.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::pin::Pin;

use cortex_m_rt::entry;
use lilos_semaphore::{Semaphore, create_semaphore};
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_semaphore!(semaphore, 0);
    create_semaphore!(answer, 0);

    scenarios! {
        "semaphore.give.immediate" => run!(give(semaphore)),
        "semaphore.take.immediate" => run!(take(semaphore)),
        "semaphore.take.poll_empty" => run!(poll(semaphore)),
        "semaphore.take.blocking" => run!(answering(semaphore, answer), asking(semaphore, answer)),
        "semaphore.handover" => run!(answering(semaphore, answer), asking(semaphore, answer)),
    }
}

// semaphore.give.immediate: nobody waits.

async fn give(semaphore: Pin<&Semaphore>) -> Infallible {
    for _ in 0..SAMPLES {
        begin!("semaphore.give.immediate");
        semaphore.release();
        end!("semaphore.give.immediate");

        scenario::expect("permits after the give", semaphore.permits_available() as u32, 1);
        scenario::expect("takes refused", u32::from(semaphore.try_acquire().is_err()), 0);
    }
    scenario::ok();
}

// semaphore.take.immediate: it is available.

async fn take(semaphore: Pin<&Semaphore>) -> Infallible {
    for _ in 0..SAMPLES {
        semaphore.release();

        begin!("semaphore.take.immediate");
        semaphore.acquire().await;
        end!("semaphore.take.immediate");

        scenario::expect("permits after the take", semaphore.permits_available() as u32, 0);
    }
    scenario::ok();
}

// semaphore.take.poll_empty: it is not available, and nobody waits for it.

async fn poll(semaphore: Pin<&Semaphore>) -> Infallible {
    for _ in 0..SAMPLES {
        begin!("semaphore.take.poll_empty");
        let taken = semaphore.try_acquire();
        end!("semaphore.take.poll_empty");

        scenario::expect("permits taken", u32::from(taken.is_ok()), 0);
    }
    scenario::ok();
}

// semaphore.handover, semaphore.take.blocking: two tasks, and a semaphore for each way.

static TAKEN: Counter = Counter::new();

async fn answering(semaphore: Pin<&Semaphore>, answer: Pin<&Semaphore>) -> Infallible {
    // The first time, nobody has given it yet.
    semaphore.acquire().await;
    loop {
        end!("semaphore.handover");
        TAKEN.increment();
        answer.release();
        begin!("semaphore.take.blocking");
        semaphore.acquire().await;
    }
}

async fn asking(semaphore: Pin<&Semaphore>, answer: Pin<&Semaphore>) -> Infallible {
    for sample in 1..=SAMPLES {
        begin!("semaphore.handover");
        semaphore.release();
        answer.acquire().await;
        end!("semaphore.take.blocking");

        scenario::expect("times the other task took the semaphore", TAKEN.get(), sample);
    }
    scenario::ok();
}
