//! Event bits: polled while nobody sets one, and waited for.
//!
//! rtic-sync has no event group. A [`Signal`] tells one task of a value, here of bits, once; a
//! [`Watch`] keeps it for whoever asks. A writer replaces all bits.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::signal::Signal;
    use rtic_sync::watch::Watch;
    use rtmark_board::Counter;
    use rtmark_probe::scenario::{self, POLLS, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

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

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "events.wait.poll_empty" => wait(),
            "events.get.poll" => get(),
            "events.post.immediate" => immediate().await,
            "events.wait.immediate" => immediate().await,
            "events.post.wake_any" => post(),
            "events.wait.blocking" => post(),
        }
    }

    /// As many as a FreeRTOS event group has.
    const ALL_BITS: u32 = 0x00FF_FFFF;
    const BIT: u32 = 1 << 7;

    // events.wait.poll_empty: wait for any bit, but not longer than no time at all.

    static SIGNAL: Signal<u32> = Signal::new();

    fn wait() {
        let (mut writer, mut reader) = SIGNAL.split();
        writer.write(BIT);
        scenario::expect("bits after setting one", reader.try_read().unwrap_or(0), BIT);

        let mut seen = 0;
        for _ in 0..POLLS {
            begin!("events.wait.poll_empty");
            let bits = reader.try_read();
            end!("events.wait.poll_empty");

            seen |= bits.unwrap_or(0);
        }
        scenario::expect("bits seen", seen, 0);
        scenario::ok();
    }

    // events.get.poll: read the bits, and test them in the program.

    static WATCH: Watch<u32> = Watch::new();

    fn get() {
        let (mut writer, mut reader) = WATCH.split();
        writer.write(BIT);
        scenario::expect("bits after setting one", reader.try_get().unwrap_or(0), BIT);
        writer.write(0);

        for _ in 0..POLLS {
            begin!("events.get.poll");
            let bits = reader.try_get().unwrap_or(0);
            if bits & ALL_BITS != 0 {
                scenario::fail("a bit is set that nobody set");
            }
            end!("events.get.poll");
        }
        scenario::ok();
    }

    // events.post.immediate, events.wait.immediate: nobody waits; bits are set.

    async fn immediate() {
        let (mut writer, mut reader) = SIGNAL.split();
        for _ in 0..SAMPLES {
            begin!("events.post.immediate");
            writer.write(BIT);
            end!("events.post.immediate");

            begin!("events.wait.immediate");
            let bits = reader.wait().await;
            end!("events.wait.immediate");

            scenario::expect("bits seen", bits, BIT);
        }
        scenario::ok();
    }

    // events.post.wake_any, events.wait.blocking: a task of higher priority waits.

    static TIMES: Counter = Counter::new();

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut signal = SIGNAL.take_reader();
        // The first time, nobody has set a bit yet.
        let mut bits = signal.wait().await;
        loop {
            end!("events.post.wake_any");
            scenario::expect("bits seen", bits, BIT);
            TIMES.increment();
            begin!("events.wait.blocking");
            bits = signal.wait().await;
        }
    }

    fn post() {
        let _ = high::spawn();
        let mut signal = SIGNAL.writer();
        for sample in 1..=SAMPLES {
            begin!("events.post.wake_any");
            signal.write(BIT);
            end!("events.wait.blocking");

            scenario::expect("times the other task ran", TIMES.get(), sample);
        }
        scenario::ok();
    }
}
