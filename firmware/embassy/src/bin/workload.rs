//! One computation in three surroundings: alone, with a yield for each step and nobody to
//! yield to, and with another task that takes every yield.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::yield_now;
use rtmark_board::{Counter, prime_search};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "workload.prime.single" => spawner.spawn(single().unwrap()),
        "workload.prime.one_task" => spawner.spawn(one_task().unwrap()),
        "workload.prime.two_tasks" => {
            // The task that was spawned last runs first.
            spawner.spawn(counter().unwrap());
            spawner.spawn(search().unwrap());
        },
    }
}

#[embassy_executor::task]
async fn single() {
    begin!("workload.prime.single");
    let found = prime_search!({});
    end!("workload.prime.single");

    found.done();
}

#[embassy_executor::task]
async fn one_task() {
    begin!("workload.prime.one_task");
    let found = prime_search!({ yield_now().await });
    end!("workload.prime.one_task");

    found.done();
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
async fn search() {
    begin!("workload.prime.two_tasks");
    let found = prime_search!({ yield_now().await });
    end!("workload.prime.two_tasks");

    found.done_with(COUNTER.get());
}
