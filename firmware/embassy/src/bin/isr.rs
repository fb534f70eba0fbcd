//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! isr.entry and isr.wake.* are the same program; they differ in where the span ends. The task that a
//! handler wakes is on an executor above that of the interrupted one. On a Cortex-R5, which has no such
//! executor, both share one: the interrupted task waits at once until the other one has run.

#![no_std]
#![no_main]
#![cfg_attr(
    cortex_r,
    expect(
        non_snake_case,
        clippy::no_mangle_with_rust_abi,
        reason = "handlers have their interrupts' names, and are called from Rust"
    )
)]

#[cfg(cortex_m)]
use embassy_executor::InterruptExecutor;
use embassy_executor::{SendSpawner, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::semaphore::{GreedySemaphore, Semaphore};
use embassy_sync::signal::Signal;
#[cfg(cortex_m)]
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, Interrupt, Item, pend};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_entry, end_at_return, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    #[cfg(cortex_m)]
    {
        let mut core = rtmark_embassy::init();
        rtmark_board::lower(Interrupt::BELOW, &mut core.NVIC);
    }
    #[cfg(cortex_r)]
    {
        rtmark_embassy::init();
        rtmark_board::lower(Interrupt::BELOW);
    }

    scenarios! {
        "isr.entry" => start(spawner),
        "isr.entry.task" => start(spawner),
        "isr.wake.thread" => start(spawner),
        "isr.wake.notify" => start(spawner),
        "isr.wake.semaphore" => {
            above(spawner).spawn(taking().unwrap());
            spawner.spawn(busy(Interrupt::BENCH_SEMAPHORE).unwrap());
        },
        "isr.wake.queue" => {
            above(spawner).spawn(receiving().unwrap());
            spawner.spawn(busy(Interrupt::BENCH_QUEUE).unwrap());
        },
        "isr.round_trip" => spawner.spawn(plain(Interrupt::PLAIN).unwrap()),
        "isr.return" => spawner.spawn(plain(Interrupt::PLAIN).unwrap()),
        "isr.tail_chain" => spawner.spawn(plain(Interrupt::BESIDE).unwrap()),
        "isr.nested" => spawner.spawn(plain(Interrupt::BELOW).unwrap()),
    }
}

fn start(spawner: Spawner) {
    above(spawner).spawn(handling().unwrap());
    spawner.spawn(busy(Interrupt::BENCH).unwrap());
}

/// The executor of what handlers wake.
#[cfg(cortex_m)]
fn above(_: Spawner) -> SendSpawner {
    EXECUTOR_HIGH.start(Interrupt::RUN_HIGH)
}

#[cfg(cortex_r)]
fn above(spawner: Spawner) -> SendSpawner {
    spawner.make_send()
}

/// Counts what was handled, and tells who was interrupted.
#[inline]
fn handled() {
    HANDLED.increment();
    #[cfg(cortex_r)]
    DONE.signal(());
}

#[cfg(cortex_r)]
static DONE: Signal<CriticalSectionRawMutex, ()> = Signal::new();

begin_at_pend!("isr.entry", Interrupt::BENCH.exception());
end_at_entry!("isr.entry", "BENCH");
begin_at_pend!("isr.entry.task", Interrupt::BENCH.exception());
end_at_entry!("isr.entry.task", "BENCH");

begin_at_pend!("isr.wake.thread", Interrupt::BENCH.exception());
begin_at_pend!("isr.wake.notify", Interrupt::BENCH.exception());

#[cfg(cortex_m)]
static EXECUTOR_HIGH: InterruptExecutor = InterruptExecutor::new();
static WORK: Signal<CriticalSectionRawMutex, ()> = Signal::new();
static HANDLED: Counter = Counter::new();

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BENCH() {
    WORK.signal(());
}

#[cfg(cortex_m)]
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
        handled();
    }
}

#[embassy_executor::task]
async fn busy(interrupt: Interrupt) {
    rtmark_board::unmask(interrupt);

    for sample in 1..=SAMPLES {
        pend(interrupt);

        // The interrupt arrives while this task is busy with something of its own.
        #[cfg(cortex_m)]
        cortex_m::asm::delay(50);
        #[cfg(cortex_r)]
        DONE.wait().await;

        scenario::expect("interrupts handled", HANDLED.get(), sample);
    }
    scenario::ok();
}

// isr.wake.semaphore

static PERMITS: GreedySemaphore<CriticalSectionRawMutex> = GreedySemaphore::new(0);

begin_at_pend!("isr.wake.semaphore", Interrupt::BENCH_SEMAPHORE.exception());

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BENCH_SEMAPHORE() {
    PERMITS.release(1);
}

#[embassy_executor::task]
async fn taking() {
    loop {
        let Ok(permit) = PERMITS.acquire(1).await;
        end!("isr.wake.semaphore");
        permit.disarm();
        handled();
    }
}

// isr.wake.queue

const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
static ITEMS: Channel<CriticalSectionRawMutex, Item<10>, 4> = Channel::new();

begin_at_pend!("isr.wake.queue", Interrupt::BENCH_QUEUE.exception());

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BENCH_QUEUE() {
    let _ = ITEMS.try_send(ITEM);
}

#[embassy_executor::task]
async fn receiving() {
    loop {
        let item = ITEMS.receive().await;
        end!("isr.wake.queue");
        scenario::expect("other items", u32::from(item != ITEM), 0);
        handled();
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

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn PLAIN() {
    PLAIN_COUNT.increment();
    begin!("isr.return");
}

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BELOW() {
    #[cfg(cortex_m)]
    {
        pend(Interrupt::PLAIN);
        cortex_m::asm::isb();
    }
    #[cfg(cortex_r)]
    rtmark_board::nest(|| {
        pend(Interrupt::PLAIN);
        rtmark_board::barrier();
    });
}

#[cfg_attr(cortex_m, interrupt)]
#[cfg_attr(cortex_r, unsafe(no_mangle))]
fn BESIDE() {
    pend(Interrupt::PLAIN);
    begin!("isr.tail_chain");
}

#[embassy_executor::task]
async fn plain(interrupt: Interrupt) {
    rtmark_board::unmask(Interrupt::PLAIN);
    rtmark_board::unmask(interrupt);

    for sample in 1..=SAMPLES {
        pend(interrupt);
        #[cfg(cortex_m)]
        cortex_m::asm::delay(50);
        #[cfg(cortex_r)]
        rtmark_board::rounds::work_rounds(1);
        scenario::expect("interrupts counted", PLAIN_COUNT.get(), sample);
    }
    scenario::ok();
}
