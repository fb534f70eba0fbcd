//! What lilos' images share: the start.

#![no_std]

use cortex_m::Peripherals;
use rtmark_board::soc;
use rtmark_probe::scenario;

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    rtmark_board::start();
    lilos::time::initialize_sys_tick(&mut core.SYST, soc::CLOCK_HZ);
    core
}

/// Runs tasks, all of which are ready at first.
#[macro_export]
macro_rules! run {
    ($($task:expr),+ $(,)?) => {
        lilos::exec::run_tasks(
            &mut [$(core::pin::pin!($task)),+],
            lilos::exec::ALL_TASKS,
        )
    };
}
