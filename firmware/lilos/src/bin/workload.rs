//! One computation in three surroundings: alone, with a yield for each step and nobody to
//! yield to, and with another task that takes every yield.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use rtmark_board::{Counter, prime_search};
use rtmark_lilos::run;
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "workload.prime.single" => run!(single()),
        "workload.prime.one_task" => run!(one_task()),
        "workload.prime.two_tasks" => run!(search(), counter()),
    }
}

async fn single() -> Infallible {
    begin!("workload.prime.single");
    let found = prime_search!({});
    end!("workload.prime.single");

    found.done();
}

async fn one_task() -> Infallible {
    begin!("workload.prime.one_task");
    let found = prime_search!({ yield_cpu().await });
    end!("workload.prime.one_task");

    found.done();
}

static COUNTER: Counter = Counter::new();

async fn counter() -> Infallible {
    loop {
        COUNTER.increment();
        yield_cpu().await;
    }
}

async fn search() -> Infallible {
    begin!("workload.prime.two_tasks");
    let found = prime_search!({ yield_cpu().await });
    end!("workload.prime.two_tasks");

    found.done_with(COUNTER.get());
}
