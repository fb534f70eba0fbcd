//! Two of each object, and one more of what the feature says: the two images' difference is what it
//! takes. Two, because what is called from one place is compiled into it.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use core::future::pending;

    use rtic_sync::make_channel;
    use rtmark_probe::{scenario, scenarios};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = low::spawn();
        (Shared {}, Local {})
    }

    /// It owns a word while it waits.
    async fn work(mut state: u32) {
        loop {
            state = core::hint::black_box(state + 1);
            pending::<()>().await;
        }
    }

    #[task(priority = 1)]
    async fn one(_: one::Context, state: u32) {
        work(state).await;
    }

    #[task(priority = 1)]
    async fn second(_: second::Context, state: u32) {
        work(state).await;
    }

    #[cfg(feature = "one_more_task")]
    #[task(priority = 1)]
    async fn other(_: other::Context, state: u32) {
        work(state).await;
    }

    macro_rules! queue {
        ($item:expr) => {{
            let (mut sender, _receiver) = make_channel!([u8; 10], 4);
            let _ = sender.try_send([$item; 10]);
        }};
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "objects.all" => all().await,
        }
    }

    async fn all() {
        let _ = one::spawn(1);
        queue!(1);
        let _ = second::spawn(2);
        queue!(2);
        #[cfg(feature = "one_more_task")]
        let _ = other::spawn(3);
        #[cfg(feature = "one_more_queue")]
        queue!(3);
        embassy_futures::yield_now().await;
        embassy_futures::yield_now().await;
        scenario::ok();
    }
}
