//! A mutex that tasks hold while they wait for something, and a critical section.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::pin::Pin;

use cortex_m_rt::entry;
use lilos::create_mutex;
use lilos::exec::{Notify, yield_cpu};
use lilos::mutex::{CancelSafe, Mutex};
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

type Guarded = Mutex<CancelSafe<u32>>;

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_mutex!(mutex, CancelSafe(0));

    scenarios! {
        "mutex.lock.immediate" => run!(lock(mutex)),
        "mutex.unlock.immediate" => run!(lock(mutex)),
        "mutex.lock.poll_taken" => run!(lock(mutex)),
        "mutex.lock.blocking" => run!(holding(mutex), contending(mutex)),
        "mutex.critical_section" => run!(critical()),
        "mutex.condvar.wait.blocking" => run!(seeing(), telling()),
    }
}

// mutex.lock.immediate, mutex.lock.poll_taken, mutex.unlock.immediate. Who holds it does not
// matter: a task can no more lock it again than others can lock it.

async fn lock(mutex: Pin<&Guarded>) -> Infallible {
    for sample in 0..SAMPLES {
        begin!("mutex.lock.immediate");
        let mut guard = mutex.lock_assuming_cancel_safe().await;
        end!("mutex.lock.immediate");

        scenario::expect("what it guards", *guard, sample);
        *guard += 1;

        begin!("mutex.lock.poll_taken");
        let again = mutex.try_lock_assuming_cancel_safe();
        end!("mutex.lock.poll_taken");

        scenario::expect("locked again", u32::from(again.is_some()), 0);
        drop(again);

        begin!("mutex.unlock.immediate");
        drop(guard);
        end!("mutex.unlock.immediate");
    }
    scenario::ok();
}

// mutex.lock.blocking: the holder yields, and the other task waits for it.

static TIMES: Counter = Counter::new();

async fn holding(mutex: Pin<&Guarded>) -> Infallible {
    for sample in 1..=SAMPLES {
        let guard = mutex.lock_assuming_cancel_safe().await;
        yield_cpu().await;
        end!("mutex.lock.blocking");
        drop(guard);

        // The other task is woken for the next round, in which this one comes first.
        yield_cpu().await;
        yield_cpu().await;
        scenario::expect("times the other task held the mutex", TIMES.get(), sample);
    }
    scenario::ok();
}

async fn contending(mutex: Pin<&Guarded>) -> Infallible {
    loop {
        begin!("mutex.lock.blocking");
        let guard = mutex.lock_assuming_cancel_safe().await;
        TIMES.increment();
        drop(guard);
        yield_cpu().await;
    }
}

// mutex.critical_section: interrupts are masked already while tasks run; so this asks, masks,
// and leaves it at that.

async fn critical() -> Infallible {
    let mut counter = 0;
    for sample in 1..=SAMPLES {
        begin!("mutex.critical_section");
        cortex_m::interrupt::free(|_| counter = core::hint::black_box(counter + 1));
        end!("mutex.critical_section");

        scenario::expect("increments", counter, sample);
    }
    scenario::ok();
}

// mutex.condvar.wait.blocking: what protects the condition is that no task preempts another.

static CONDITION: Notify = Notify::new();
static TOLD: Counter = Counter::new();
static SEEN: Counter = Counter::new();

async fn seeing() -> Infallible {
    loop {
        begin!("mutex.condvar.wait.blocking");
        CONDITION.until(|| TOLD.get() > SEEN.get()).await;
        SEEN.increment();
    }
}

async fn telling() -> Infallible {
    // The first time, the next task is this one at its beginning.
    end!("mutex.condvar.wait.blocking");
    for sample in 1..SAMPLES {
        TOLD.increment();
        CONDITION.notify();
        // The other task comes first in the next round.
        yield_cpu().await;
        end!("mutex.condvar.wait.blocking");
        scenario::expect("times the condition was seen", SEEN.get(), sample);
    }
    scenario::ok();
}
