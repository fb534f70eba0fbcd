//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::time::{Millis, TickTime, sleep_for};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "timer.delay.1000ms" => run!(delay()),
        "timer.tick" => run!(wait()),
    }
}

// timer.delay.1000ms

const DELAYS: u32 = 4;

async fn delay() -> Infallible {
    for _ in 0..DELAYS {
        let before = TickTime::now();

        begin!("timer.delay.1000ms");
        sleep_for(Millis(1000)).await;
        end!("timer.delay.1000ms");

        scenario::expect("milliseconds passed", before.elapsed().0 as u32, 1000);
    }
    scenario::ok();
}

// timer.tick: the tick finds nothing to do. While tasks run, it is masked; so what it interrupts
// is the executor, which sleeps.

begin_at_pend!("timer.tick", 15);
end_at_return!("timer.tick", 15);

async fn wait() -> Infallible {
    sleep_for(Millis(u64::from(SAMPLES))).await;
    scenario::ok();
}
