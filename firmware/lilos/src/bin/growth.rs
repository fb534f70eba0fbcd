//! What things cost against how many there are.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::pin::Pin;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos::spsc::Queue;
use lilos::time::{Millis, TickTime, sleep_for, sleep_until};
use lilos_semaphore::{Semaphore, create_semaphore};
use lilos_watch::Watch;
use rtmark_board::Counter;
use rtmark_lilos::{crowd, run};
use rtmark_probe::scenario::{self, POINT_SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    create_semaphore!(semaphore, 0);
    let events = Watch::new(0);

    scenarios! {
        "growth.yield.ready" => crowd!(|_| yields(); yields()),
        "growth.tick.delayed" => crowd!(delayed; wait_ticks()),
        "growth.tick.due" => crowd!(|_| due(); idle()),
        "growth.delay.delayed" => crowd!(|_| earlier(); later(), meanwhile()),
        "growth.wake.one" => crowd!(|_| take(semaphore); give(semaphore)),
        "growth.wake.all" => crowd!(|_| wait(&events); post(&events)),
        "growth.queue.send" => run!(depth()),
        "growth.queue.receive" => run!(depth()),
    }
}

static TIMES: Counter = Counter::new();

fn now() -> u64 {
    u64::from(TickTime::now())
}

async fn until(tick: u64) {
    sleep_until(TickTime::from_millis_since_boot(tick)).await;
}

// growth.yield.ready

async fn yields() -> Infallible {
    // In the first round nothing ends: each task begins the span anew.
    loop {
        begin!("growth.yield.ready");
        yield_cpu().await;
        end!("growth.yield.ready");
        if TIMES.increment() == scenario::point_yields() {
            scenario::point_ok();
        }
    }
}

// growth.tick.delayed: while tasks run, the tick is masked; so what it interrupts is the
// executor, which sleeps.

begin_at_pend!("growth.tick.delayed", 15);
end_at_return!("growth.tick.delayed", 15);

const LONG_DELAY: u64 = 10_000;

async fn delayed(number: u32) -> Infallible {
    TIMES.increment();
    until(LONG_DELAY + u64::from(number)).await;
    scenario::fail("a delay was over that was not due");
}

async fn wait_ticks() -> Infallible {
    sleep_for(Millis(u64::from(POINT_SAMPLES) + 2)).await;
    scenario::expect("tasks delayed", TIMES.get(), scenario::point());
    scenario::point_ok();
}

// growth.tick.due: the first of the tasks that run ends the span. The others may take longer than
// until the next tick, with which another one begins.

begin_at_pend!("growth.tick.due", 15);

/// Tasks that are due and have not run yet.
static LEFT: Counter = Counter::new();

async fn idle() -> Infallible {
    until(LONG_DELAY).await;
    scenario::fail("the others did not come to their end");
}

async fn due() -> Infallible {
    // Long enough that all have run before the next one.
    let period = 1 + u64::from(scenario::point() / 8);
    let mut next = 0;
    loop {
        next += period;
        until(next).await;
        if LEFT.get() == 0 {
            end!("growth.tick.due");
            LEFT.set(scenario::point());
        }
        LEFT.set(LEFT.get() - 1);
        scenario::expect("periods", (now() / period) as u32, (next / period) as u32);
        if TIMES.increment() == scenario::point() * (POINT_SAMPLES + 1) {
            scenario::point_ok();
        }
    }
}

// growth.delay.delayed: in each period, the others are due one tick earlier than the task that
// measures, and have been delayed again when that one delays itself.

fn period() -> u64 {
    3 + u64::from(scenario::point() / 4)
}

async fn earlier() -> Infallible {
    let mut next = 0;
    loop {
        next += period();
        until(next).await;
        TIMES.increment();
    }
}

async fn later() -> Infallible {
    let mut next = period() - 1;
    until(next).await;
    for sample in 1..=POINT_SAMPLES + 1 {
        next += period();
        begin!("growth.delay.delayed");
        until(next).await;
        scenario::expect("times the others waited", TIMES.get(), sample * scenario::point());
    }
    scenario::point_ok();
}

async fn meanwhile() -> Infallible {
    loop {
        yield_cpu().await;
        end!("growth.delay.delayed");
    }
}

// growth.wake.one

async fn take(semaphore: Pin<&Semaphore>) -> Infallible {
    loop {
        semaphore.acquire().await;
        TIMES.increment();
    }
}

/// The others run, and wait again.
async fn let_others_run() {
    sleep_for(Millis(2 + u64::from(scenario::point() / 8))).await;
}

async fn give(semaphore: Pin<&Semaphore>) -> Infallible {
    for sample in 0..POINT_SAMPLES {
        let_others_run().await;
        scenario::expect("times the semaphore was taken", TIMES.get(), sample);

        begin!("growth.wake.one");
        semaphore.release();
        end!("growth.wake.one");
    }
    scenario::point_ok();
}

// growth.wake.all

async fn wait(events: &Watch<u32>) -> Infallible {
    let mut events = events.subscribe();
    loop {
        events.changed().await;
        events.copy_current_and_update();
        TIMES.increment();
    }
}

async fn post(events: &Watch<u32>) -> Infallible {
    for sample in 0..POINT_SAMPLES {
        let_others_run().await;
        scenario::expect("times tasks were woken", TIMES.get(), sample * scenario::point());

        begin!("growth.wake.all");
        events.sender().send_modify(|value| *value += 1);
        end!("growth.wake.all");
    }
    scenario::point_ok();
}

// growth.queue.send, growth.queue.receive

const LENGTH: usize = 64;

async fn depth() -> Infallible {
    if scenario::point() as usize > LENGTH {
        scenario::no_room("items");
    }
    // One place always stays empty.
    let mut storage: [MaybeUninit<u32>; LENGTH + 1] = [MaybeUninit::uninit(); LENGTH + 1];
    let mut queue = Queue::new(&mut storage);
    let (mut pusher, mut popper) = queue.split();
    for number in 1..scenario::point() {
        pusher.reserve().await.push(number);
    }
    for sample in 0..POINT_SAMPLES {
        begin!("growth.queue.send");
        pusher.reserve().await.push(scenario::point() + sample);
        end!("growth.queue.send");

        begin!("growth.queue.receive");
        let received = popper.pop().await;
        end!("growth.queue.receive");

        scenario::expect("item", received, sample + 1);
    }
    scenario::point_ok();
}
