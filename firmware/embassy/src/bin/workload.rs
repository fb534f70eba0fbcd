//! One computation in three surroundings: alone, with a yield for each step and nobody to
//! yield to, and with another task that takes every yield.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::yield_now;
use rtmark_embassy::Counter;
use rtmark_probe::scenario;
use rtmark_probe::{begin, end, scenarios};

#[embassy_executor::main]
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

const START: u64 = 268_435_455;
const PRIMES: [u64; 10] = [
    268_435_459,
    268_435_463,
    268_435_493,
    268_435_523,
    268_435_537,
    268_435_561,
    268_435_577,
    268_435_579,
    268_435_597,
    268_435_631,
];
const NUMBERS: u32 = 177;
const DIVISIONS: u32 = 202_336;

/// What a search has found, and how much work it was.
struct Found {
    primes: [u64; PRIMES.len()],
    count: u32,
    numbers: u32,
    divisions: u32,
}

/// The first ten primes from [`START`] upward by trial division, with something to do for
/// each division. A macro, because it may be something to wait for, and then again may not.
macro_rules! prime_search {
    ($step:block) => {{
        let mut found = Found { primes: [0; PRIMES.len()], count: 0, numbers: 0, divisions: 0 };
        let mut n = START;
        for place in &mut found.primes {
            loop {
                let mut is_prime = true;
                let mut i = 2;
                while i * i <= n {
                    found.divisions += 1;
                    $step
                    if n % i == 0 {
                        is_prime = false;
                        break;
                    }
                    i += 1;
                }
                found.numbers += 1;
                n += 1;
                if is_prime {
                    break;
                }
            }
            *place = n - 1;
            found.count += 1;
        }
        found
    }};
}

impl Found {
    /// Checks everything that the search counted and found.
    fn check(&self) {
        if self.primes != PRIMES {
            scenario::fail("these are not the primes");
        }
        scenario::expect("number of primes", self.count, PRIMES.len() as u32);
        scenario::expect("numbers tested", self.numbers, NUMBERS);
        scenario::expect("trial divisions", self.divisions, DIVISIONS);
    }

    /// What to say about it at the end.
    fn facts(&self) -> [(&'static str, u32); 4] {
        [
            ("primes", self.count),
            ("numbers", self.numbers),
            ("divisions", self.divisions),
            ("last", self.primes[PRIMES.len() - 1] as u32),
        ]
    }
}

#[embassy_executor::task]
async fn single() {
    begin!("workload.prime.single");
    let found = prime_search!({});
    end!("workload.prime.single");

    found.check();
    scenario::ok_with(&found.facts());
}

#[embassy_executor::task]
async fn one_task() {
    begin!("workload.prime.one_task");
    let found = prime_search!({ yield_now().await });
    end!("workload.prime.one_task");

    found.check();
    scenario::ok_with(&found.facts());
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

    found.check();
    scenario::expect("counter", COUNTER.get(), DIVISIONS);
    let [primes, numbers, divisions, last] = found.facts();
    scenario::ok_with(&[primes, numbers, divisions, last, ("counter", COUNTER.get())]);
}
