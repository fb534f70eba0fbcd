//! From reset to the first task, which `init` has spawned.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use core::sync::atomic::{AtomicU32, Ordering};

    use rtmark_probe::{begin_at_reset, end, scenario, scenarios};
    use rtmark_rtic::Mono;
    use rtmark_rtic::prelude::*;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    begin_at_reset!("boot.first_task");

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = first::spawn();
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn first(_: first::Context) {
        end!("boot.first_task");

        scenarios! {
            "boot.first_task" => check().await,
        }
    }

    /// What startup code has to bring about before anything runs.
    static INITIALISED: AtomicU32 = AtomicU32::new(0x600D_DA7A);
    static CLEARED: AtomicU32 = AtomicU32::new(0);

    /// The compiler must not know it.
    fn value_of(variable: &AtomicU32) -> u32 {
        core::hint::black_box(variable).load(Ordering::Relaxed)
    }

    async fn check() {
        scenario::expect("initialised variable", value_of(&INITIALISED), 0x600D_DA7A);
        scenario::expect("cleared variable", value_of(&CLEARED), 0);
        let next = Mono::now() + rtmark_rtic::millis(2);
        Mono::delay_until(next).await;
        rtmark_rtic::expect_on_time(next);
        scenario::ok();
    }
}
