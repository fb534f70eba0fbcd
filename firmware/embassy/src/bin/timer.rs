//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_time::{Instant, Timer};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "timer.delay.1000ms" => spawner.spawn(delay().unwrap()),
        "timer.tick" => spawner.spawn(spin().unwrap()),
    }
}

// timer.delay.1000ms

const DELAYS: u32 = 4;

#[embassy_executor::task]
async fn delay() {
    for _ in 0..DELAYS {
        let before = Instant::now();

        begin!("timer.delay.1000ms");
        Timer::after_millis(1000).await;
        end!("timer.delay.1000ms");

        scenario::expect("milliseconds passed", before.elapsed().as_millis() as u32, 1000);
    }
    scenario::ok();
}

// timer.tick: the tick finds nothing to do, and returns to the task that spins.

begin_at_pend!("timer.tick", 15);
end_at_return!("timer.tick", 15);

#[embassy_executor::task]
async fn spin() {
    while Instant::now() < Instant::from_ticks(u64::from(SAMPLES)) {}
    scenario::ok();
}
