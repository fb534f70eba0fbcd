//! A notification: what tells tasks to look again at the condition that they wait for.

#![no_std]
#![no_main]

use core::cell::Cell;
use core::convert::Infallible;

use cortex_m_rt::entry;
use lilos::exec::Notify;
use rtmark_board::Counter;
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    let (signal, answer) = (Signal::default(), Signal::default());

    scenarios! {
        "notify.give.immediate" => run!(immediate(&signal)),
        "notify.take.immediate" => run!(immediate(&signal)),
        "notify.take.poll_empty" => run!(immediate(&signal)),
        "notify.take.blocking" => run!(answering(&signal, &answer), asking(&signal, &answer)),
        "notify.handover" => run!(answering(&signal, &answer), asking(&signal, &answer)),
    }
}

/// A condition, and the notification that goes with it.
#[derive(Default)]
struct Signal {
    is_set: Cell<bool>,
    changed: Notify,
}

impl Signal {
    fn set(&self) {
        self.is_set.set(true);
        self.changed.notify();
    }

    fn take(&self) -> bool {
        self.is_set.take()
    }

    async fn wait(&self) {
        self.changed.until(|| self.take()).await;
    }
}

// notify.give.immediate, notify.take.immediate, notify.take.poll_empty

async fn immediate(signal: &Signal) -> Infallible {
    for _ in 0..SAMPLES {
        begin!("notify.take.poll_empty");
        let none = signal.take();
        end!("notify.take.poll_empty");

        begin!("notify.give.immediate");
        signal.set();
        end!("notify.give.immediate");

        scenario::expect("signals before", u32::from(none), 0);

        begin!("notify.take.immediate");
        signal.wait().await;
        end!("notify.take.immediate");

        scenario::expect("signals after", u32::from(signal.take()), 0);
    }
    scenario::ok();
}

// notify.handover, notify.take.blocking

static TIMES: Counter = Counter::new();

async fn answering(signal: &Signal, answer: &Signal) -> Infallible {
    // The first time, nobody has notified this task yet.
    signal.wait().await;
    loop {
        end!("notify.handover");
        TIMES.increment();
        answer.set();
        begin!("notify.take.blocking");
        signal.wait().await;
    }
}

async fn asking(signal: &Signal, answer: &Signal) -> Infallible {
    for sample in 1..=SAMPLES {
        begin!("notify.handover");
        signal.set();
        answer.wait().await;
        end!("notify.take.blocking");

        scenario::expect("times the other task was notified", TIMES.get(), sample);
    }
    scenario::ok();
}
