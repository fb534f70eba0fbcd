//! What things cost against how many there are.
//!
//! An application declares its tasks one by one; so what is counted here are futures that one task
//! awaits together. To the timer queue and to those who wake they are as many waiters.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use core::future::poll_fn;
    use core::pin::pin;
    use core::task::Poll;

    use embassy_futures::yield_now;
    use rtic_sync::arbiter::Arbiter;
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;
    use rtic_sync::signal::Signal;
    use rtmark_board::{Counter, soc};
    use rtmark_probe::scenario::{self, POINT_SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};
    use rtmark_rtic::prelude::*;
    use rtmark_rtic::{EXCEPTION, Group, Mono, expect_on_time, millis};

    const LENGTH: usize = 64;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        sender: Sender<'static, u32, LENGTH>,
        receiver: Receiver<'static, u32, LENGTH>,
    }

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let (sender, receiver) = make_channel!(u32, LENGTH);
        let _ = low::spawn();
        (Shared {}, Local { sender, receiver })
    }

    #[task(priority = 1, local = [sender, receiver])]
    async fn low(cx: low::Context) {
        scenarios! {
            "growth.tick.delayed" => spin().await,
            "growth.tick.due" => due().await,
            "growth.delay.delayed" => meanwhile(),
            "growth.wake.one" => release().await,
            "growth.queue.send" => depth(cx.local.sender, cx.local.receiver).await,
            "growth.queue.receive" => depth(cx.local.sender, cx.local.receiver).await,
        }
    }

    static TIMES: Counter = Counter::new();

    // growth.tick.delayed, where there is a tick

    begin_at_pend!("growth.tick.delayed", 15);
    end_at_return!("growth.tick.delayed", 15);

    const LONG_DELAY: u32 = 10_000;

    async fn spin() {
        let now = Mono::now();
        let mut delays =
            pin!(Group::new(|number| Mono::delay_until(now + millis(LONG_DELAY + number))));
        delays.as_mut().start().await;
        // No look at the clock: that masks the tick for a moment.
        cortex_m::asm::delay(soc::CLOCK_HZ / 1000 * (1 + POINT_SAMPLES));
        scenario::point_ok();
    }

    // growth.tick.due: in the tick, or by the alarm

    begin_at_pend!("growth.tick.due", EXCEPTION);

    async fn due() {
        let mut next = Mono::now();
        for _ in 0..=POINT_SAMPLES {
            next += millis(2);
            let mut delays = pin!(Group::new(|_| Mono::delay_until(next)));
            delays.as_mut().start().await;
            // Only the delays' end has it polled again; to begin with, nothing was due.
            let mut due = false;
            poll_fn(|cx| {
                if core::mem::replace(&mut due, true) {
                    end!("growth.tick.due");
                }
                if delays.as_mut().poll(cx) == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            expect_on_time(next);
        }
        scenario::point_ok();
    }

    // growth.delay.delayed: the others are due a millisecond earlier.

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut next = Mono::now();
        for _ in 0..POINT_SAMPLES {
            next += millis(2);
            let mut delays = pin!(Group::new(|_| Mono::delay_until(next)));
            delays.as_mut().start().await;
            next += millis(1);

            begin!("growth.delay.delayed");
            Mono::delay_until(next).await;

            expect_on_time(next);
            delays.as_mut().finish().await;
        }
        scenario::point_ok();
    }

    fn meanwhile() {
        let _ = high::spawn();
        loop {
            end!("growth.delay.delayed");
            cortex_m::asm::nop();
        }
    }

    // growth.wake.one: an arbiter, which many wait for.

    static ARBITER: Arbiter<u32> = Arbiter::new(0);
    static GO: Signal<()> = Signal::new();
    static STARTED: Counter = Counter::new();

    #[task(priority = 1)]
    async fn second(_: second::Context) {
        let mut go = GO.take_reader();
        loop {
            go.wait().await;
            let mut accesses = pin!(Group::new(|_| async {
                *ARBITER.access().await += 1;
                TIMES.increment();
            }));
            accesses.as_mut().start().await;
            STARTED.increment();
            accesses.as_mut().finish().await;
        }
    }

    async fn release() {
        let _ = second::spawn();
        for sample in 1..=POINT_SAMPLES {
            let access = ARBITER.access().await;
            GO.writer().write(());
            while STARTED.get() < sample {
                yield_now().await;
            }
            scenario::expect("accesses", *access, (sample - 1) * scenario::point());

            begin!("growth.wake.one");
            drop(access);
            end!("growth.wake.one");

            while TIMES.get() < sample * scenario::point() {
                yield_now().await;
            }
        }
        scenario::point_ok();
    }

    // growth.queue.send, growth.queue.receive

    async fn depth(
        sender: &mut Sender<'static, u32, LENGTH>,
        receiver: &mut Receiver<'static, u32, LENGTH>,
    ) {
        if scenario::point() as usize > LENGTH {
            scenario::no_room("items");
        }
        let refused = |result: Result<(), _>| u32::from(result.is_err());
        for number in 1..scenario::point() {
            scenario::expect("items refused", refused(sender.try_send(number)), 0);
        }
        for sample in 0..POINT_SAMPLES {
            begin!("growth.queue.send");
            let result = sender.try_send(scenario::point() + sample);
            end!("growth.queue.send");

            scenario::expect("items refused", refused(result), 0);

            begin!("growth.queue.receive");
            let received = receiver.recv().await;
            end!("growth.queue.receive");

            scenario::expect("item", received.unwrap_or(0), sample + 1);
        }
        scenario::point_ok();
    }
}
