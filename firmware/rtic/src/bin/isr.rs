//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! isr.entry and isr.wake.* are the same program; they differ in where the span ends.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;
    use rtic_sync::signal::Signal;
    use rtmark_board::{Counter, Interrupt, Item};
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, end_at_entry, end_at_return, scenarios};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        sender: Sender<'static, Item<10>, 4>,
        receiver: Receiver<'static, Item<10>, 4>,
    }

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let (sender, receiver) = make_channel!(Item<10>, 4);
        let _ = low::spawn();
        (Shared {}, Local { sender, receiver })
    }

    begin_at_pend!("isr.entry", Interrupt::BENCH.exception());
    end_at_entry!("isr.entry", "BENCH");
    begin_at_pend!("isr.entry.task", Interrupt::BENCH.exception());
    end_at_entry!("isr.entry.task", "BENCH");

    begin_at_pend!("isr.wake.thread", Interrupt::BENCH.exception());
    begin_at_pend!("isr.wake.notify", Interrupt::BENCH.exception());

    static WORK: Signal<()> = Signal::new();
    static HANDLED: Counter = Counter::new();

    #[task(binds = BENCH, priority = 3)]
    fn bench(_: bench::Context) {
        WORK.writer().write(());
    }

    #[task(priority = 2, local = [receiver])]
    async fn high(cx: high::Context, interrupt: Interrupt) {
        match interrupt {
            Interrupt::BENCH_QUEUE => receiving(cx.local.receiver).await,
            _ => handling().await,
        }
    }

    async fn handling() {
        let mut work = WORK.take_reader();
        loop {
            work.wait().await;
            end!("isr.wake.thread");
            end!("isr.wake.notify");
            HANDLED.increment();
        }
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "isr.entry" => wake(Interrupt::BENCH),
            "isr.entry.task" => wake(Interrupt::BENCH),
            "isr.wake.thread" => wake(Interrupt::BENCH),
            "isr.wake.notify" => wake(Interrupt::BENCH),
            "isr.wake.queue" => wake(Interrupt::BENCH_QUEUE),
            "isr.round_trip" => busy(Interrupt::PLAIN, &PLAIN_COUNT),
            "isr.return" => busy(Interrupt::PLAIN, &PLAIN_COUNT),
            "isr.tail_chain" => busy(Interrupt::BESIDE, &PLAIN_COUNT),
            "isr.nested" => busy(Interrupt::BELOW, &PLAIN_COUNT),
        }
    }

    fn wake(interrupt: Interrupt) {
        let _ = high::spawn(interrupt);
        busy(interrupt, &HANDLED);
    }

    fn busy(interrupt: Interrupt, handled: &Counter) {
        for sample in 1..=SAMPLES {
            rtic::pend(interrupt);

            // The interrupt arrives while this task is busy with something of its own.
            cortex_m::asm::delay(50);

            scenario::expect("interrupts handled", handled.get(), sample);
        }
        scenario::ok();
    }

    // isr.wake.queue

    const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

    begin_at_pend!("isr.wake.queue", Interrupt::BENCH_QUEUE.exception());

    #[task(binds = BENCH_QUEUE, priority = 3, local = [sender])]
    fn bench_queue(cx: bench_queue::Context) {
        let _ = cx.local.sender.try_send(ITEM);
    }

    async fn receiving(receiver: &mut Receiver<'static, Item<10>, 4>) {
        loop {
            let item = receiver.recv().await;
            end!("isr.wake.queue");
            scenario::expect("other items", u32::from(item.ok() != Some(ITEM)), 0);
            HANDLED.increment();
        }
    }

    // What wakes no task: an interrupt that counts, and two that pend it.

    begin_at_pend!("isr.round_trip", Interrupt::PLAIN.exception());
    end_at_return!("isr.round_trip", Interrupt::PLAIN.exception());
    end_at_return!("isr.return", Interrupt::PLAIN.exception());
    end_at_entry!("isr.tail_chain", "PLAIN");
    begin_at_pend!("isr.nested", Interrupt::PLAIN.exception());
    end_at_entry!("isr.nested", "PLAIN");

    static PLAIN_COUNT: Counter = Counter::new();

    #[task(binds = PLAIN, priority = 3)]
    fn plain(_: plain::Context) {
        PLAIN_COUNT.increment();
        begin!("isr.return");
    }

    #[task(binds = BELOW, priority = 2)]
    fn below(_: below::Context) {
        rtic::pend(Interrupt::PLAIN);
        cortex_m::asm::isb();
    }

    #[task(binds = BESIDE, priority = 3)]
    fn beside(_: beside::Context) {
        rtic::pend(Interrupt::PLAIN);
        begin!("isr.tail_chain");
    }
}
