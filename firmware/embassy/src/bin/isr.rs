//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! isr.entry and isr.wake.* are the same program; they differ in where the span ends.

#![no_std]
#![no_main]

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::semaphore::{GreedySemaphore, Semaphore};
use embassy_sync::signal::Signal;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::{Counter, Item};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_entry, end_at_return, scenarios};

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut core = rtmark_embassy::init();
    rtmark_board::lower(Interrupt::BELOW, &mut core.NVIC);

    scenarios! {
        "isr.entry" => start(spawner),
        "isr.entry.task" => start(spawner),
        "isr.wake.thread" => start(spawner),
        "isr.wake.notify" => start(spawner),
        "isr.wake.semaphore" => {
            EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(taking().unwrap());
            spawner.spawn(busy(Interrupt::BENCH_SEMAPHORE).unwrap());
        },
        "isr.wake.queue" => {
            EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(receiving().unwrap());
            spawner.spawn(busy(Interrupt::BENCH_QUEUE).unwrap());
        },
        "isr.round_trip" => spawner.spawn(plain(Interrupt::PLAIN).unwrap()),
        "isr.return" => spawner.spawn(plain(Interrupt::PLAIN).unwrap()),
        "isr.tail_chain" => spawner.spawn(plain(Interrupt::BESIDE).unwrap()),
        "isr.nested" => spawner.spawn(plain(Interrupt::BELOW).unwrap()),
    }
}

fn start(spawner: Spawner) {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH).spawn(handling().unwrap());
    spawner.spawn(busy(Interrupt::BENCH).unwrap());
}

begin_at_pend!("isr.entry", Interrupt::BENCH.exception());
end_at_entry!("isr.entry", "BENCH");
begin_at_pend!("isr.entry.task", Interrupt::BENCH.exception());
end_at_entry!("isr.entry.task", "BENCH");

begin_at_pend!("isr.wake.thread", Interrupt::BENCH.exception());
begin_at_pend!("isr.wake.notify", Interrupt::BENCH.exception());

static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static WORK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static HANDLED: Counter = Counter::new();

#[interrupt]
fn BENCH() {
    WORK.signal(());
}

#[interrupt]
unsafe fn RUN_HIGH() {
    // SAFETY: called from its interrupt only, which `start` enables.
    unsafe { EXECUTOR_HIGH.on_interrupt() }
}

#[embassy_executor::task]
async fn handling() {
    loop {
        WORK.wait().await;
        end!("isr.wake.thread");
        end!("isr.wake.notify");
        HANDLED.increment();
    }
}

#[embassy_executor::task]
async fn busy(interrupt: Interrupt) {
    rtmark_board::unmask(interrupt);

    for sample in 1..=SAMPLES {
        NVIC::pend(interrupt);

        // The interrupt arrives while this task is busy with something of its own.
        cortex_m::asm::delay(50);

        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}

// isr.wake.semaphore

static PERMITS: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(0);

begin_at_pend!("isr.wake.semaphore", Interrupt::BENCH_SEMAPHORE.exception());

#[interrupt]
fn BENCH_SEMAPHORE() {
    PERMITS.release(1);
}

#[embassy_executor::task]
async fn taking() {
    loop {
        let Ok(permit) = PERMITS.acquire(1).await;
        end!("isr.wake.semaphore");
        permit.disarm();
        HANDLED.increment();
    }
}

// isr.wake.queue

const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
static ITEMS: Channel<CriticalSectionRawMutex, Item<10>, 4> = Channel::new();

begin_at_pend!("isr.wake.queue", Interrupt::BENCH_QUEUE.exception());

#[interrupt]
fn BENCH_QUEUE() {
    let _ = ITEMS.try_send(ITEM);
}

#[embassy_executor::task]
async fn receiving() {
    loop {
        let item = ITEMS.receive().await;
        end!("isr.wake.queue");
        scenario::expect("other items", u32::from(item != ITEM), 0);
        HANDLED.increment();
    }
}

// What no kernel takes part in: an interrupt that counts, and two that pend it.

begin_at_pend!("isr.round_trip", Interrupt::PLAIN.exception());
end_at_return!("isr.round_trip", Interrupt::PLAIN.exception());
end_at_return!("isr.return", Interrupt::PLAIN.exception());
end_at_entry!("isr.tail_chain", "PLAIN");
begin_at_pend!("isr.nested", Interrupt::PLAIN.exception());
end_at_entry!("isr.nested", "PLAIN");

static PLAIN_COUNT: Counter = Counter::new();

#[interrupt]
fn PLAIN() {
    PLAIN_COUNT.increment();
    begin!("isr.return");
}

#[interrupt]
fn BELOW() {
    NVIC::pend(Interrupt::PLAIN);
    cortex_m::asm::isb();
}

#[interrupt]
fn BESIDE() {
    NVIC::pend(Interrupt::PLAIN);
    begin!("isr.tail_chain");
}

#[embassy_executor::task]
async fn plain(interrupt: Interrupt) {
    rtmark_board::unmask(Interrupt::PLAIN);
    rtmark_board::unmask(interrupt);

    for sample in 1..=SAMPLES {
        NVIC::pend(interrupt);
        cortex_m::asm::delay(50);
        scenario::expect("interrupts counted", PLAIN_COUNT.get(), sample);
    }
    scenario::ok();
}
