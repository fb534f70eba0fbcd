//! The search for ten primes alone, with a yield for each division and nobody to yield to, and
//! with another task that counts the yields it takes. Each prime ends a span and begins one.

#![no_std]
#![no_main]

#[path = "../time_driver.rs"]
mod time_driver;

use embassy_executor::Spawner;
use embassy_futures::yield_now;
use rtmark_board::Counter;
use rtmark_board::prime::{DIVISIONS, PRIMES, START};
use rtmark_probe::{begin, end, scenario, scenarios};

/// The search, with something to do for each division. A macro, because it may be something to
/// wait for.
macro_rules! search {
    ($span:literal, $step:block) => {{
        let (mut n, mut divisions) = (START, 0_u32);
        for prime in PRIMES {
            begin!($span);
            loop {
                let mut is_prime = true;
                let mut i = 2;
                while i * i <= n {
                    divisions += 1;
                    $step
                    if n % i == 0 {
                        is_prime = false;
                        break;
                    }
                    i += 1;
                }
                n += 1;
                if is_prime {
                    break;
                }
            }
            end!($span);
            if n - 1 != prime {
                scenario::fail("this is not the prime");
            }
        }
        scenario::expect("trial divisions", divisions, DIVISIONS);
        divisions
    }};
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_board::start();
    time_driver::start();
    scenarios! {
        "stamps.prime.single" => spawner.must_spawn(single()),
        "stamps.prime.one_task" => spawner.must_spawn(one_task()),
        "stamps.prime.two_tasks" => {
            // The task that was spawned last runs first.
            spawner.must_spawn(counter());
            spawner.must_spawn(two_tasks());
        },
    }
}

#[embassy_executor::task]
async fn single() {
    search!("stamps.prime.single", {});
    scenario::ok();
}

#[embassy_executor::task]
async fn one_task() {
    search!("stamps.prime.one_task", { yield_now().await });
    scenario::ok();
}

static COUNTER: Counter = Counter::new();

#[embassy_executor::task]
async fn counter() {
    loop {
        COUNTER.increment();
        yield_now().await;
    }
}

#[embassy_executor::task]
async fn two_tasks() {
    let divisions = search!("stamps.prime.two_tasks", { yield_now().await });
    scenario::expect("counter", COUNTER.get(), divisions);
    scenario::ok();
}
