//! What things cost against how many there are.
//!
//! One kind of task does all that is counted, so that its memory serves every scenario.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::semaphore::{FairSemaphore, Semaphore};
use embassy_sync::watch::Watch;
use embassy_time::{Duration, Instant, Timer};
use rtmark_board::{Counter, soc};
use rtmark_embassy::EXCEPTION;
use rtmark_probe::scenario::{self, POINT_SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};

/// How many tasks are counted at most.
const MOST: usize = if soc::RAM_BYTES < 12 * 1024 { 32 } else { 64 };

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "growth.yield.ready" => {
            crowd(spawner, Work::Yield);
            spawner.spawn(yielding().unwrap());
        },
        "growth.tick.delayed" => {
            crowd(spawner, Work::Delayed);
            spawner.spawn(spin().unwrap());
        },
        "growth.tick.due" => crowd(spawner, Work::Due),
        "growth.delay.delayed" => {
            crowd(spawner, Work::Earlier);
            spawner.spawn(later().unwrap());
            spawner.spawn(meanwhile().unwrap());
        },
        "growth.wake.one" => {
            crowd(spawner, Work::Take);
            spawner.spawn(give().unwrap());
        },
        "growth.wake.all" => {
            crowd(spawner, Work::Wait);
            spawner.spawn(post().unwrap());
        },
        "growth.queue.send" => spawner.spawn(depth().unwrap()),
        "growth.queue.receive" => spawner.spawn(depth().unwrap()),
    }
}

/// What the tasks do that are counted.
#[derive(Clone, Copy)]
enum Work {
    Yield,
    Delayed,
    Due,
    Earlier,
    Take,
    Wait,
}

#[embassy_executor::task(pool_size = MOST)]
async fn one(work: Work, number: u32) {
    match work {
        Work::Yield => yields().await,
        Work::Delayed => delayed(number).await,
        Work::Due => due().await,
        Work::Earlier => earlier().await,
        Work::Take => take().await,
        Work::Wait => wait().await,
    }
}

/// As many tasks as the point says.
fn crowd(spawner: Spawner, work: Work) {
    if scenario::point() as usize > MOST {
        scenario::no_room("tasks");
    }
    for number in 0..scenario::point() {
        spawner.spawn(one(work, number).unwrap());
    }
}

static TIMES: Counter = Counter::new();

/// Milliseconds since the start.
fn now() -> u64 {
    Instant::now().as_millis()
}

/// Waits for so many milliseconds since the start, or as little more as the timer can tell.
async fn until(time: u64) {
    Timer::at(Instant::MIN + Duration::from_millis(time)).await;
}

// growth.yield.ready

#[embassy_executor::task]
async fn yielding() {
    yields().await;
}

async fn yields() {
    // In the first round nothing ends: each task begins the span anew.
    loop {
        begin!("growth.yield.ready");
        yield_now().await;
        end!("growth.yield.ready");
        if TIMES.increment() == scenario::point_yields() {
            scenario::point_ok();
        }
    }
}

// growth.tick.delayed, where there is a tick

begin_at_pend!("growth.tick.delayed", EXCEPTION);
end_at_return!("growth.tick.delayed", EXCEPTION);

const LONG_DELAY: u64 = 10_000;

async fn delayed(number: u32) {
    TIMES.increment();
    until(LONG_DELAY + u64::from(number)).await;
    scenario::fail("a delay was over that was not due");
}

#[embassy_executor::task]
async fn spin() {
    // All others have begun to wait when this is over.
    Timer::after_millis(1).await;
    scenario::expect("tasks delayed", TIMES.get(), scenario::point());
    let last = now() + u64::from(POINT_SAMPLES);
    while now() <= last {}
    scenario::point_ok();
}

// growth.tick.due: in the tick, or by the alarm. The first of the tasks that run ends the span. The others may take longer than
// until the next tick, with which another one begins.

begin_at_pend!("growth.tick.due", EXCEPTION);

/// How many tasks are given a millisecond in which all of them have run. Each is put into a queue that it looks
/// through.
const IN_A_MILLISECOND: u32 = if soc::CLOCK_HZ < 24_000_000 { 4 } else { 8 };

/// Tasks that are due and have not run yet.
static LEFT: Counter = Counter::new();

async fn due() {
    // Long enough that all have run before the next one.
    let period = 1 + u64::from(scenario::point() / IN_A_MILLISECOND);
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

// growth.delay.delayed: in each period, the others are due a millisecond earlier than the task that
// measures, and have been delayed again when that one delays itself.

fn period() -> u64 {
    3 + u64::from(scenario::point() / 4)
}

async fn earlier() {
    let mut next = 0;
    loop {
        next += period();
        until(next).await;
        TIMES.increment();
    }
}

#[embassy_executor::task]
async fn later() {
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

#[embassy_executor::task]
async fn meanwhile() {
    loop {
        yield_now().await;
        end!("growth.delay.delayed");
    }
}

// growth.wake.one

static SEMAPHORE: FairSemaphore<CriticalSectionRawMutex, MOST> = FairSemaphore::new(0);

async fn take() {
    loop {
        match SEMAPHORE.acquire(1).await {
            Ok(permit) => permit.disarm(),
            Err(_) => scenario::fail("the semaphore has no room for those that wait"),
        };
        TIMES.increment();
    }
}

/// The others run, and wait again.
async fn let_others_run() {
    Timer::after_millis(2 + u64::from(scenario::point() / 8)).await;
}

#[embassy_executor::task]
async fn give() {
    for sample in 0..POINT_SAMPLES {
        let_others_run().await;
        scenario::expect("times the semaphore was taken", TIMES.get(), sample);

        begin!("growth.wake.one");
        SEMAPHORE.release(1);
        end!("growth.wake.one");
    }
    scenario::point_ok();
}

// growth.wake.all

static EVENTS: Watch<CriticalSectionRawMutex, u32, MOST> = Watch::new();

async fn wait() {
    let Some(mut events) = EVENTS.receiver() else {
        scenario::fail("no receiver left for the events");
    };
    loop {
        events.changed().await;
        TIMES.increment();
    }
}

#[embassy_executor::task]
async fn post() {
    for sample in 0..POINT_SAMPLES {
        let_others_run().await;
        scenario::expect("times tasks were woken", TIMES.get(), sample * scenario::point());

        begin!("growth.wake.all");
        EVENTS.sender().send(sample);
        end!("growth.wake.all");
    }
    scenario::point_ok();
}

// growth.queue.send, growth.queue.receive

const LENGTH: usize = 64;

static QUEUE: Channel<CriticalSectionRawMutex, u32, LENGTH> = Channel::new();

#[embassy_executor::task]
async fn depth() {
    if scenario::point() as usize > LENGTH {
        scenario::no_room("items");
    }
    for number in 1..scenario::point() {
        QUEUE.send(number).await;
    }
    for sample in 0..POINT_SAMPLES {
        begin!("growth.queue.send");
        QUEUE.send(scenario::point() + sample).await;
        end!("growth.queue.send");

        scenario::expect("items", QUEUE.len() as u32, scenario::point());

        begin!("growth.queue.receive");
        let received = QUEUE.receive().await;
        end!("growth.queue.receive");

        scenario::expect("item", received, sample + 1);
    }
    scenario::point_ok();
}
