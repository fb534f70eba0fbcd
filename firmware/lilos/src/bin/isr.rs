//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! isr.entry.task and isr.wake.notify are the same program as isr.wake.thread; they differ in the
//! span. The executor masks interrupts while it polls tasks: the one that comes here while a task
//! runs has to wait until that task awaits, which it does at once, and until the round is over. In
//! isr.entry it comes when nothing is left to do.

#![no_std]
#![no_main]

use core::cell::RefCell;
use core::convert::Infallible;
use core::mem::MaybeUninit;

use cortex_m::interrupt::{Mutex, free};
use cortex_m::peripheral::NVIC;
use cortex_m::singleton;
use cortex_m_rt::entry;
use lilos::exec::{Notify, yield_cpu};
use lilos::spsc::{Pusher, Queue};
use rtmark_board::device::interrupt;
use rtmark_board::{Counter, Interrupt, Item};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_entry, end_at_return, scenarios};

#[entry]
fn main() -> ! {
    let mut core = rtmark_lilos::init();
    rtmark_board::lower(Interrupt::BELOW, &mut core.NVIC);

    scenarios! {
        "isr.entry" => lilos::exec::run_tasks_with_idle(
            &mut [core::pin::pin!(waiting())],
            lilos::exec::ALL_TASKS,
            fall_asleep,
        ),
        "isr.entry.task" => run!(handling(), busy(Interrupt::BENCH, &HANDLED)),
        "isr.wake.thread" => run!(handling(), busy(Interrupt::BENCH, &HANDLED)),
        "isr.wake.notify" => run!(handling(), busy(Interrupt::BENCH, &HANDLED)),
        "isr.wake.queue" => run!(receiving(), busy(Interrupt::BENCH_QUEUE, &HANDLED)),
        "isr.round_trip" => run!(busy(Interrupt::PLAIN, &PLAIN_COUNT)),
        "isr.return" => run!(busy(Interrupt::PLAIN, &PLAIN_COUNT)),
        "isr.tail_chain" => run!(busy(Interrupt::BESIDE, &PLAIN_COUNT)),
        "isr.nested" => run!(busy(Interrupt::BELOW, &PLAIN_COUNT)),
    }
}

begin_at_pend!("isr.entry", Interrupt::BENCH.exception());
end_at_entry!("isr.entry", "BENCH");

/// What the executor does when nothing is left to do: in its stead, and as it does, but for the
/// interrupt.
fn fall_asleep() {
    NVIC::pend(Interrupt::BENCH);
    cortex_m::asm::wfi();
    cortex_m::asm::isb();
}

async fn waiting() -> Infallible {
    rtmark_board::unmask(Interrupt::BENCH);
    for _ in 0..SAMPLES {
        WORK.until_next().await;
    }
    scenario::ok();
}

begin_at_pend!("isr.entry.task", Interrupt::BENCH.exception());
end_at_entry!("isr.entry.task", "BENCH");

begin_at_pend!("isr.wake.thread", Interrupt::BENCH.exception());
begin_at_pend!("isr.wake.notify", Interrupt::BENCH.exception());

static WORK: Notify = Notify::new();
static HANDLED: Counter = Counter::new();

#[interrupt]
fn BENCH() {
    WORK.notify();
}

async fn handling() -> Infallible {
    loop {
        WORK.until_next().await;
        end!("isr.wake.thread");
        end!("isr.wake.notify");
        HANDLED.increment();
    }
}

async fn busy(interrupt: Interrupt, handled: &Counter) -> Infallible {
    rtmark_board::unmask(Interrupt::PLAIN);
    rtmark_board::unmask(interrupt);

    for sample in 1..=SAMPLES {
        NVIC::pend(interrupt);
        yield_cpu().await;

        scenario::expect("interrupts handled", handled.get(), sample);
    }
    scenario::ok();
}

// isr.wake.queue: the handler has the sending end to itself.

const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
static ITEMS: Mutex<RefCell<Option<Pusher<'static, Item<10>>>>> = Mutex::new(RefCell::new(None));

begin_at_pend!("isr.wake.queue", Interrupt::BENCH_QUEUE.exception());

#[interrupt]
fn BENCH_QUEUE() {
    free(|section| {
        if let Some(items) = ITEMS.borrow(section).borrow_mut().as_mut() {
            let _ = items.try_push(ITEM);
        }
    });
}

async fn receiving() -> Infallible {
    let storage =
        singleton!(STORAGE: [MaybeUninit<Item<10>>; 5] = [const { MaybeUninit::uninit() }; 5]);
    let queue = storage
        .and_then(|storage| singleton!(ITEMS: Queue<'static, Item<10>> = Queue::new(storage)));
    let Some(queue) = queue else {
        scenario::fail("this task was started twice");
    };
    let (pusher, mut popper) = queue.split();
    free(|section| ITEMS.borrow(section).replace(Some(pusher)));
    loop {
        let item = popper.pop().await;
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
