//! The mixed load of `rtmark_board::load`: the binary `load` has it for `rtmark worst --load`,
//! `duty` for many hyperperiods.
//!
//! RTIC has no semaphore: what is given to the server is counted, and a signal tells it to look.

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::arbiter::Arbiter;
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;
    use rtic_sync::signal::Signal;
    use rtmark_board::Interrupt;
    use rtmark_board::load::{self, Item, LOAD, Record, Source};
    use rtmark_probe::{begin, end};
    use rtmark_rtic::prelude::*;
    use rtmark_rtic::{Duration, Mono};

    use crate::HYPERPERIODS;

    type Items = Sender<'static, Item, { load::ITEMS }>;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        device: Items,
        alarm: Items,
        sender: Items,
        receiver: Receiver<'static, Item, { load::ITEMS }>,
    }

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start_for_load(cx.core.SYST, load::TICK_CYCLES);
        let (sender, receiver) = make_channel!(Item, { load::ITEMS });
        crate::choose(start);
        (Shared {}, Local { device: sender.clone(), alarm: sender.clone(), sender, receiver })
    }

    fn ticks(count: u32) -> Duration {
        rtmark_rtic::load_ticks(count, load::TICK_CYCLES)
    }

    fn start() {
        let _ = urgent::spawn();
        let _ = fast::spawn();
        let _ = middle::spawn();
        let _ = slow::spawn();
        let _ = every::spawn();
        let _ = once::spawn();
        let _ = consumer::spawn();
        let _ = server::spawn();
        let _ = judge::spawn();
    }

    /// As RTIC's book has it for those who want to sleep.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            rtic::export::wfi();
        }
    }

    static WORK: Signal<()> = Signal::new();
    static ALARM: Signal<()> = Signal::new();
    static ONCE: Signal<()> = Signal::new();
    static RECORD: Arbiter<Record> = Arbiter::new(Record::new());

    fn send(source: Source, sender: &mut Items) {
        LOAD.was_sent(source, sender.try_send(LOAD.next(source)).is_ok());
    }

    /// The device.
    #[task(binds = BENCH, priority = 3, local = [device])]
    fn bench(cx: bench::Context) {
        send(Source::Device, cx.local.device);
    }

    /// The alarm.
    #[task(binds = INJECTED, priority = 3, local = [alarm])]
    fn injected(cx: injected::Context) {
        send(Source::Alarm, cx.local.alarm);
        LOAD.given_by_alarm.increment();
        WORK.writer().write(());
        LOAD.wakes.increment();
        ALARM.writer().write(());
        LOAD.count_event();
    }

    #[task(priority = 2)]
    async fn urgent(_: urgent::Context) {
        begin!("load.mixed");
        let mut alarm = ALARM.take_reader();
        loop {
            alarm.wait().await;
            LOAD.woken.increment();
        }
    }

    #[task(priority = 2)]
    async fn fast(_: fast::Context) {
        let mut next = Mono::now();
        for _ in 0..HYPERPERIODS * load::FAST_JOBS {
            next += ticks(load::FAST);
            Mono::delay_until(next).await;
            crate::fast_runs();
            LOAD.count_event();
            rtic::pend(Interrupt::BENCH);
            LOAD.fast.increment();
        }
    }

    #[task(priority = 1, local = [sender])]
    async fn middle(cx: middle::Context) {
        let mut next = Mono::now();
        for _ in 0..HYPERPERIODS * load::MIDDLE_JOBS {
            next += ticks(load::MIDDLE);
            Mono::delay_until(next).await;
            {
                let mut record = RECORD.access().await;
                record.first += 1;
                LOAD.count_event();
                record.second += 1;
            }
            send(Source::Middle, cx.local.sender);
            LOAD.middle.increment();
        }
    }

    #[task(priority = 1)]
    async fn slow(_: slow::Context) {
        let mut next = Mono::now();
        for _ in 0..HYPERPERIODS * load::SLOW_JOBS {
            next += ticks(load::SLOW);
            Mono::delay_until(next).await;
            ONCE.writer().write(());
            {
                let mut record = RECORD.access().await;
                record.first += 1;
                Mono::delay_until(next + ticks(1)).await;
                record.second += 1;
            }
            LOAD.count_event();
            LOAD.slow.increment();
        }
    }

    #[task(priority = 1)]
    async fn every(_: every::Context) {
        let mut next = Mono::now();
        for _ in 0..HYPERPERIODS * load::TIMER_JOBS {
            next += ticks(load::TIMER);
            Mono::delay_until(next).await;
            LOAD.timers.increment();
            WORK.writer().write(());
        }
    }

    #[task(priority = 1)]
    async fn once(_: once::Context) {
        let mut once = ONCE.take_reader();
        loop {
            once.wait().await;
            Mono::delay_until(Mono::now() + ticks(1)).await;
            LOAD.timers.increment();
            WORK.writer().write(());
        }
    }

    #[task(priority = 1, local = [receiver])]
    async fn consumer(cx: consumer::Context) {
        while let Ok(item) = cx.local.receiver.recv().await {
            LOAD.received(item);
        }
    }

    #[task(priority = 1)]
    async fn server(_: server::Context) {
        let mut work = WORK.take_reader();
        loop {
            work.wait().await;
            while LOAD.taken.get() != LOAD.given() {
                LOAD.taken.increment();
            }
        }
    }

    #[task(priority = 1)]
    async fn judge(_: judge::Context) {
        let mut next = Mono::now() + ticks(load::end(HYPERPERIODS));
        for tick in 0.. {
            Mono::delay_until(next).await;
            next += ticks(1);
            // In one go: an alarm after the look would not be dealt with.
            cortex_m::interrupt::free(|_| {
                if LOAD.is_quiet(HYPERPERIODS) || tick == load::GRACE {
                    end!("load.mixed");
                    let record = RECORD.try_access();
                    LOAD.judge(HYPERPERIODS, record.as_deref());
                }
            });
        }
    }
}
