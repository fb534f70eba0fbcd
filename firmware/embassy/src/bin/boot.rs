//! From reset to the first task, which is `main`: once the HAL is set up, as everywhere.

#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};

use embassy_executor::Spawner;
use embassy_time::{Duration, Instant, Timer};
use rtmark_probe::{begin_at_reset, end, scenario, scenarios};

/// What startup code has to bring about before anything runs.
static INITIALISED: AtomicU32 = AtomicU32::new(0x600D_DA7A);
static CLEARED: AtomicU32 = AtomicU32::new(0);

begin_at_reset!("boot.first_task");

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(_spawner: Spawner) {
    rtmark_embassy::init();
    end!("boot.first_task");

    scenarios! {
        "boot.first_task" => check().await,
    }
}

/// The compiler must not know it.
fn value_of(variable: &AtomicU32) -> u32 {
    core::hint::black_box(variable).load(Ordering::Relaxed)
}

async fn check() {
    scenario::expect("initialised variable", value_of(&INITIALISED), 0x600D_DA7A);
    scenario::expect("cleared variable", value_of(&CLEARED), 0);
    let due = Instant::now() + Duration::from_millis(2);
    Timer::at(due).await;
    rtmark_embassy::expect_on_time(due);
    scenario::ok();
}
