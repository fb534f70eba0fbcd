//! The search for ten primes alone, with a yield for each division and nobody to yield to, and
//! with another task that counts the yields it takes. Each prime ends a span and begins one.

#![no_std]
#![no_main]

#[path = "../time_driver.rs"]
mod time_driver;

use core::cell::Cell;
use core::panic::PanicInfo;

// Its critical sections are all that is wanted of it.
use cortex_m as _;
use critical_section::Mutex;
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use rtmark_probe::{begin, end, scenario, scenarios};

#[allow(dead_code, reason = "not everything of it is needed here")]
mod soc {
    include!(concat!(env!("RTMARK_GEN"), "/rtmark_soc.rs"));
}

/// What the search finds, from 0xFFFFFFF upward.
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

/// The search, with something to do for each division. A macro, because it may be something to
/// wait for.
macro_rules! search {
    ($span:literal, $step:block) => {{
        let (mut n, mut divisions) = (268_435_455_u64, 0_u32);
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
        scenario::expect("trial divisions", divisions, 202_336);
        divisions
    }};
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    for &(register, value) in soc::INIT {
        // SAFETY: the soc's own settings, such as wait states, which the soc file lists.
        unsafe { (register as *mut u32).write_volatile(value) };
    }
    time_driver::start(soc::CLOCK_HZ);
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

static COUNTER: Mutex<Cell<u32>> = Mutex::new(Cell::new(0));

#[embassy_executor::task]
async fn counter() {
    let mut count = 0_u32;
    loop {
        count += 1;
        critical_section::with(|cs| COUNTER.borrow(cs).set(count));
        yield_now().await;
    }
}

#[embassy_executor::task]
async fn two_tasks() {
    let divisions = search!("stamps.prime.two_tasks", { yield_now().await });
    let counted = critical_section::with(|cs| COUNTER.borrow(cs).get());
    scenario::expect("counter", counted, divisions);
    scenario::ok();
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    scenario::fail("panic");
}
