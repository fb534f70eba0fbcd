//! Polling event bits that nobody ever sets.
//!
//! rtic-sync has no event group. A [`Signal`] tells one task of a value, here of bits, once; a
//! [`Watch`] keeps it for whoever asks. A writer replaces all bits.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use rtic_sync::signal::Signal;
    use rtic_sync::watch::Watch;
    use rtmark_probe::scenario::{self, POLLS};
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
}
