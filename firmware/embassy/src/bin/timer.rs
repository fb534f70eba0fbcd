//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Instant, Ticker, Timer};
#[cfg(cortex_m)]
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::{Item, in_registers};
use rtmark_embassy::{EXCEPTION, expect_on_time};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, end_at_sleep, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "timer.delay.1000ms" => spawner.spawn(delay().unwrap()),
        "timer.tick" => spawner.spawn(spin().unwrap()),
        "timer.wake" => spawner.spawn(wake().unwrap()),
        "timer.period.10ms" => spawner.spawn(period().unwrap()),
        "timer.now" => spawner.spawn(now().unwrap()),
        "timer.jitter" => above_load(spawner),
        "timer.idle" => spawner.spawn(idle().unwrap()),
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

// timer.delay.1000ms

const DELAYS: u32 = 4;

#[embassy_executor::task]
async fn delay() {
    for _ in 0..DELAYS {
        let before = Instant::now();

        begin!("timer.delay.1000ms");
        Timer::after_millis(1000).await;
        end!("timer.delay.1000ms");

        scenario::expect("milliseconds passed", before.elapsed().as_millis() as u32, 1000);
    }
    scenario::ok();
}

// timer.tick, where there is one: the tick finds nothing to do, and returns to the task that spins.

begin_at_pend!("timer.tick", EXCEPTION);
end_at_return!("timer.tick", EXCEPTION);

#[embassy_executor::task]
async fn spin() {
    while Instant::now() < Instant::from_ticks(u64::from(SAMPLES)) {}
    scenario::ok();
}

// timer.wake

begin_at_pend!("timer.wake", EXCEPTION);

#[embassy_executor::task]
async fn wake() {
    let mut next = Instant::now();
    for _ in 0..=SAMPLES {
        next += MILLISECOND;
        Timer::at(next).await;
        end!("timer.wake");
        expect_on_time(next);
    }
    scenario::ok();
}

// timer.period.10ms

#[embassy_executor::task]
async fn period() {
    const PERIOD: Duration = Duration::from_millis(10);
    let mut next = Instant::now();
    let mut ticker = Ticker::every(PERIOD);
    for _ in 0..SAMPLES {
        ticker.next().await;
        end!("timer.period.10ms");
        begin!("timer.period.10ms");
        next += PERIOD;
        expect_on_time(next);
    }
    scenario::ok();
}

// timer.now

#[embassy_executor::task]
async fn now() {
    Timer::after(MILLISECOND).await;
    for _ in 0..SAMPLES {
        begin!("timer.now");
        let ticks = in_registers(Instant::now().as_ticks());
        end!("timer.now");

        scenario::expect("time has come", u32::from(in_registers(ticks) > 0), 1);
    }
    scenario::ok();
}

// timer.jitter: on an executor above the load's.

const JITTER_PERIODS: u32 = 1000;

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static ITEMS: Channel<CriticalSectionRawMutex, Item<10>, 4> = Channel::new();

begin_at_pend!("timer.jitter", EXCEPTION);

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[cfg(cortex_m)]
fn above_load(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(jitter().unwrap());
    spawner.spawn(load().unwrap());
}

#[cfg(not(cortex_m))]
fn above_load(_: Spawner) {
    rtmark_embassy::no_executor_above();
}

#[embassy_executor::task]
async fn jitter() {
    let mut next = Instant::now();
    let mut ticker = Ticker::every(MILLISECOND);
    for _ in 0..JITTER_PERIODS {
        ticker.next().await;
        end!("timer.jitter");
        next += MILLISECOND;
        expect_on_time(next);
    }
    scenario::ok();
}

#[embassy_executor::task]
async fn load() {
    const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    loop {
        let _ = ITEMS.try_send(ITEM);
        let received = ITEMS.try_receive();
        scenario::expect("other items", u32::from(received != Ok(ITEM)), 0);
    }
}

// timer.idle, where there is a tick

begin_at_pend!("timer.idle", EXCEPTION);
end_at_sleep!("timer.idle");

#[embassy_executor::task]
async fn idle() {
    Timer::after_ticks(u64::from(SAMPLES) + 1).await;
    scenario::ok();
}
