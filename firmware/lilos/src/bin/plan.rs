//! The task set of `firmware/board/plan.rs`: futures in an array, which the tick or an interrupt
//! releases, mutexes and queues between them.
//!
//! Periods and offsets are ticks, lilos' `Millis`: the tick is as long as the table says.

#![no_std]
#![no_main]

#[path = "../../../board/plan.rs"]
mod plan;

use core::cell::RefCell;
use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::pin::{Pin, pin};

use cortex_m::Peripherals;
use cortex_m_rt::entry;
use lilos::exec::Notify;
use lilos::mutex::{CancelSafe, Mutex};
use lilos::spsc::{Popper, Pusher, Queue};
use lilos::time::{Millis, PeriodicGate, TickTime};
use rtmark_board::Counter;
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::{begin, begin_at_pend, end, scenario, scenarios};

use crate::plan::{INTERRUPTS, ITEMS, Message, QUEUES, SET, TASKS, Task};

// The first of those that release tasks by interrupts.
begin_at_pend!("plan.interrupt", Interrupt::BENCH.exception());

/// The tick from which offsets count: by then every task waits.
const START: u64 = 2;

#[entry]
fn main() -> ! {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("main() was called twice");
    };
    rtmark_board::start();
    // lilos divides by a thousand: its tick is what such a clock takes for a millisecond.
    lilos::time::initialize_sys_tick(&mut core.SYST, SET.tick_cycles.get() * 1000);
    rtmark_board::unmask(Interrupt::BENCH);
    rtmark_board::unmask(Interrupt::PLAIN);

    scenarios! {
        "plan.set" => run(),
    }
}

/// What an interrupt's handler tells the task that it releases.
struct Event {
    /// How often it came.
    came: Counter,
    notify: Notify,
}

static RELEASED: [Event; INTERRUPTS] =
    [const { Event { came: Counter::new(), notify: Notify::new() } }; INTERRUPTS];

#[inline(always)]
fn handle(interrupt: usize) {
    SET.handle(interrupt);
    RELEASED[interrupt].came.increment();
    RELEASED[interrupt].notify.notify();
}

#[interrupt]
fn BENCH() {
    handle(0);
}

#[interrupt]
fn PLAIN() {
    handle(1);
}

/// What a task waits for.
enum Releases {
    /// The clock.
    Clock(PeriodicGate),
    /// An interrupt, and how often it has been waited for.
    Interrupt(&'static Event, u32),
}

impl Releases {
    fn of(task: &Task) -> Self {
        match task.offset() {
            Some(offset) => {
                let first = TickTime::from_millis_since_boot(START + u64::from(offset));
                let delay = first.millis_since(TickTime::now());
                Self::Clock(PeriodicGate::new_shift(Millis(task.period.get().into()), delay))
            }
            None => Self::Interrupt(&RELEASED[task.interrupt()], 0),
        }
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        match self {
            Self::Clock(gate) => gate.next_time().await,
            Self::Interrupt(event, seen) => {
                event.notify.until(|| event.came.get() != *seen).await;
                *seen = seen.wrapping_add(1);
            }
        }
    }
}

type Lock = Mutex<CancelSafe<()>>;

/// What tasks share.
struct Shared<'a> {
    locks: [Pin<&'a Lock>; 2],
    senders: [RefCell<Pusher<'a, Message>>; QUEUES],
    receivers: [RefCell<Popper<'a, Message>>; QUEUES],
}

/// A job: what it receives, its stretches, one after the other, and what it sends.
#[inline(always)]
async fn job(task: &Task, shared: &Shared<'_>) {
    for (queue, receiver) in shared.receivers.iter().enumerate() {
        if task.receives(queue) {
            let mut receiver = receiver.borrow_mut();
            plan::receive(queue, || receiver.try_pop());
        }
    }
    for stretch in task.stretches() {
        let rounds = stretch.rounds.get();
        let lock = stretch.lock.get() as usize;
        if lock == 0 {
            plan::burn(rounds);
        } else if let Some(lock) = shared.locks.get(lock - 1) {
            begin!("plan.take");
            let guard = lock.lock_assuming_cancel_safe().await;
            end!("plan.take");
            plan::burn(rounds);
            begin!("plan.give");
            drop(guard);
            end!("plan.give");
        } else {
            scenario::fail("there is no such lock");
        }
    }
    for (queue, sender) in shared.senders.iter().enumerate() {
        if task.sends(queue) {
            let mut sender = sender.borrow_mut();
            plan::send(queue, |message| sender.try_push(message).is_ok());
        }
    }
}

/// Tasks with probes of their own, and the array that has those of the table.
macro_rules! tasks {
    ($($name:ident: $number:literal, $probe:literal;)+) => {
        $(
            async fn $name(shared: &Shared<'_>) -> Infallible {
                let Some(task) = SET.task($number) else {
                    scenario::fail("a task was started that the table lacks");
                };
                let mut releases = Releases::of(task);
                loop {
                    releases.next().await;
                    begin!($probe);
                    job(task, shared).await;
                    end!($probe);
                }
            }
        )+

        fn start(shared: &Shared<'_>) -> ! {
            let tasks: &mut [rtmark_lilos::Task<'_>] = &mut [$(pin!($name(shared))),+];
            // They are the first ones of the table.
            let count = (0..TASKS).take_while(|number| SET.task(*number).is_some()).count();
            lilos::exec::run_tasks(&mut tasks[..count], lilos::exec::ALL_TASKS);
        }
    };
}

tasks! {
    first: 0, "plan.job.0";
    second: 1, "plan.job.1";
    third: 2, "plan.job.2";
    fourth: 3, "plan.job.3";
    fifth: 4, "plan.job.4";
    sixth: 5, "plan.job.5";
    seventh: 6, "plan.job.6";
    eighth: 7, "plan.job.7";
}

fn run() -> ! {
    lilos::create_mutex!(first, CancelSafe(()));
    lilos::create_mutex!(second, CancelSafe(()));
    // One place of a queue always stays empty.
    let mut storage: [[MaybeUninit<Message>; ITEMS + 1]; QUEUES] =
        [const { [const { MaybeUninit::uninit() }; ITEMS + 1] }; QUEUES];
    let mut queues = storage.each_mut().map(|storage| Queue::new(storage));
    let [a, b, c, d] = queues.each_mut().map(Queue::split);
    start(&Shared {
        locks: [first, second],
        senders: [a.0, b.0, c.0, d.0].map(RefCell::new),
        receivers: [a.1, b.1, c.1, d.1].map(RefCell::new),
    })
}
