//! A lock that many tasks hold for reading, or one for writing.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::pin::Pin;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos::util::CancelSafe;
use lilos_rwlock::{RwLock, create_rwlock};
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

type Guarded = RwLock<CancelSafe<u32>>;

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_rwlock!(lock, CancelSafe(0));

    scenarios! {
        "rwlock.read.immediate" => run!(read(lock)),
        "rwlock.read.shared" => run!(read(lock)),
        "rwlock.read.unlock" => run!(read(lock)),
        "rwlock.write.poll_read" => run!(read(lock)),
        "rwlock.write.immediate" => run!(write(lock)),
        "rwlock.write.unlock" => run!(write(lock)),
        "rwlock.write.blocking" => run!(reading(lock), writing(lock)),
    }
}

// rwlock.read.immediate, rwlock.read.shared, rwlock.write.poll_read, rwlock.read.unlock. Which task reads does
// not matter to the lock.

async fn read(lock: Pin<&Guarded>) -> Infallible {
    for _ in 0..SAMPLES {
        begin!("rwlock.read.immediate");
        let guard = lock.lock_shared().await;
        end!("rwlock.read.immediate");

        begin!("rwlock.read.shared");
        let other = lock.lock_shared().await;
        end!("rwlock.read.shared");

        begin!("rwlock.write.poll_read");
        let writing = lock.try_lock_exclusive();
        end!("rwlock.write.poll_read");

        scenario::expect("locked for writing", u32::from(writing.is_ok()), 0);
        drop(writing);
        scenario::expect("what two readers see", guard.0 + other.0, 0);
        drop(other);

        begin!("rwlock.read.unlock");
        drop(guard);
        end!("rwlock.read.unlock");
    }
    scenario::ok();
}

// rwlock.write.immediate, rwlock.write.unlock

async fn write(lock: Pin<&Guarded>) -> Infallible {
    for sample in 0..SAMPLES {
        begin!("rwlock.write.immediate");
        let mut guard = lock.lock_exclusive_assuming_cancel_safe().await;
        end!("rwlock.write.immediate");

        scenario::expect("what it guards", *guard, sample);
        *guard += 1;
        scenario::expect("locked for reading", u32::from(lock.try_lock_shared().is_ok()), 0);

        begin!("rwlock.write.unlock");
        drop(guard);
        end!("rwlock.write.unlock");
    }
    scenario::ok();
}

// rwlock.write.blocking: the reader yields, and the other task waits for it.

static TIMES: Counter = Counter::new();

async fn reading(lock: Pin<&Guarded>) -> Infallible {
    for sample in 1..=SAMPLES {
        let guard = lock.lock_shared().await;
        yield_cpu().await;
        end!("rwlock.write.blocking");
        drop(guard);

        // The other task is woken for the next round, in which this one comes first.
        yield_cpu().await;
        yield_cpu().await;
        scenario::expect("times the lock was held for writing", TIMES.get(), sample);
    }
    scenario::ok();
}

async fn writing(lock: Pin<&Guarded>) -> Infallible {
    loop {
        begin!("rwlock.write.blocking");
        let mut guard = lock.lock_exclusive_assuming_cancel_safe().await;
        TIMES.increment();
        *guard += 1;
        drop(guard);
        yield_cpu().await;
    }
}
