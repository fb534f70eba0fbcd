//! A semaphore, free and taken.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::pin::Pin;

use cortex_m_rt::entry;
use lilos_semaphore::{Semaphore, create_semaphore};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_semaphore!(semaphore, 0);

    scenarios! {
        "semaphore.give.immediate" => run!(give(semaphore)),
        "semaphore.take.immediate" => run!(take(semaphore)),
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
