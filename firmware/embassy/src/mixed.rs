//! The mixed load of `rtmark_board::load`: the binary `load` has it for `rtmark worst --load`,
//! `duty` for many hyperperiods.
//!
//! Urgent and fast are on an executor of their own, which an interrupt runs; the others share
//! the one of thread mode. On a Cortex-R5, which has no such executor, all share one.

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::{SendSpawner, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::semaphore::{GreedySemaphore, Semaphore};
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Ticker, Timer};
#[cfg(cortex_m)]
use rtmark_board::device::interrupt;
use rtmark_board::load::{self, Item, LOAD, Record, Source};
use rtmark_board::{Interrupt, pend};
use rtmark_probe::{begin, end};

use crate::HYPERPERIODS;

fn ticks(count: u32) -> Duration {
    rtmark_embassy::load_ticks(count, load::TICK_CYCLES)
}

/// Sets everything up and starts the tasks.
pub fn start(spawner: Spawner) {
    prepare();
    rtmark_board::unmask(Interrupt::BENCH);

    let high = above(spawner);
    high.spawn(urgent().unwrap());
    high.spawn(fast().unwrap());
    spawner.spawn(judge().unwrap());
    spawner.spawn(slow().unwrap());
    spawner.spawn(server().unwrap());
    spawner.spawn(every().unwrap());
    spawner.spawn(once().unwrap());
    spawner.spawn(middle().unwrap());
    spawner.spawn(consumer().unwrap());
}

/// Starts what counts time. The device is less urgent than the alarm.
#[cfg(cortex_m)]
fn prepare() {
    let mut core = rtmark_embassy::init();
    rtmark_embassy::start_ticks_for_load(&mut core.SYST);
    rtmark_board::lower(Interrupt::BENCH, &mut core.NVIC);
}

#[cfg(cortex_r)]
fn prepare() {
    rtmark_embassy::init();
    rtmark_embassy::start_ticks_for_load();
    rtmark_board::lower(Interrupt::BENCH);
}

/// The executor of urgent and fast.
#[cfg(cortex_m)]
fn above(_: Spawner) -> SendSpawner {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH)
}

#[cfg(cortex_r)]
fn above(spawner: Spawner) -> SendSpawner {
    spawner.make_send()
}

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static ITEMS: Channel<CriticalSectionRawMutex, Item, { load::ITEMS }> = Channel::new();
static WORK: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(0);
static RECORD: Mutex<CriticalSectionRawMutex, Record> = Mutex::new(Record::new());
static ALARM: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static ONCE: Signal<CriticalSectionRawMutex, ()> = Signal::new();

#[cfg(cortex_m)]
#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

fn send(source: Source) {
    LOAD.was_sent(source, ITEMS.try_send(LOAD.next(source)).is_ok());
}

/// The device.
#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BENCH() {
    send(Source::Device);
}

/// The alarm.
#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn INJECTED() {
    send(Source::Alarm);
    LOAD.given_by_alarm.increment();
    WORK.release(1);
    LOAD.wakes.increment();
    ALARM.signal(());
    LOAD.count_event();
}

#[embassy_executor::task]
async fn urgent() {
    begin!("load.mixed");
    loop {
        ALARM.wait().await;
        LOAD.woken.increment();
    }
}

#[embassy_executor::task]
async fn fast() {
    let mut ticker = Ticker::every(ticks(load::FAST));
    for _ in 0..HYPERPERIODS * load::FAST_JOBS {
        ticker.next().await;
        crate::fast_runs();
        LOAD.count_event();
        pend(Interrupt::BENCH);
        LOAD.fast.increment();
    }
}

#[embassy_executor::task]
async fn middle() {
    let mut ticker = Ticker::every(ticks(load::MIDDLE));
    for _ in 0..HYPERPERIODS * load::MIDDLE_JOBS {
        ticker.next().await;
        {
            let mut record = RECORD.lock().await;
            record.first += 1;
            LOAD.count_event();
            record.second += 1;
        }
        send(Source::Middle);
        LOAD.middle.increment();
    }
}

#[embassy_executor::task]
async fn slow() {
    let mut ticker = Ticker::every(ticks(load::SLOW));
    for _ in 0..HYPERPERIODS * load::SLOW_JOBS {
        ticker.next().await;
        ONCE.signal(());
        {
            let mut record = RECORD.lock().await;
            record.first += 1;
            Timer::after(ticks(1)).await;
            record.second += 1;
        }
        LOAD.count_event();
        LOAD.slow.increment();
    }
}

#[embassy_executor::task]
async fn every() {
    let mut ticker = Ticker::every(ticks(load::TIMER));
    for _ in 0..HYPERPERIODS * load::TIMER_JOBS {
        ticker.next().await;
        LOAD.timers.increment();
        WORK.release(1);
    }
}

#[embassy_executor::task]
async fn once() {
    loop {
        ONCE.wait().await;
        Timer::after(ticks(1)).await;
        LOAD.timers.increment();
        WORK.release(1);
    }
}

#[embassy_executor::task]
async fn consumer() {
    loop {
        LOAD.received(ITEMS.receive().await);
    }
}

#[embassy_executor::task]
async fn server() {
    loop {
        let Ok(permit) = WORK.acquire(1).await;
        permit.disarm();
        LOAD.taken.increment();
    }
}

#[embassy_executor::task]
async fn judge() {
    Timer::after(ticks(load::end(HYPERPERIODS))).await;
    for tick in 0.. {
        // In one go: an alarm after the look would not be dealt with.
        critical_section::with(|_| {
            if LOAD.is_quiet(HYPERPERIODS) || tick == load::GRACE {
                end!("load.mixed");
                let record = RECORD.try_lock();
                LOAD.judge(HYPERPERIODS, record.ok().as_deref());
            }
        });
        Timer::after(ticks(1)).await;
    }
}
