//! The mixed load of `rtmark_board::load`: the binary `load` has it for `rtmark worst --load`,
//! `duty` for many hyperperiods.
//!
//! lilos' queue has one sender, so each source has a queue of its own, and the consumer receives
//! from all of them. Of what lilos has, an interrupt may use notifications only, and the queue's
//! sending end if it has that to itself: so a task gives to the server what the alarm gives.

use core::cell::RefCell;
use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::pin::Pin;

use cortex_m::interrupt::{Mutex as Masked, free};
use cortex_m::peripheral::NVIC;
use cortex_m::singleton;
use embassy_futures::join::join3;
use lilos::create_mutex;
use lilos::exec::Notify;
use lilos::mutex::{CancelSafe, Mutex};
use lilos::spsc::{Popper, Pusher, Queue};
use lilos::time::{Millis, PeriodicGate, TickTime, sleep_for, sleep_until};
use lilos_semaphore::{Semaphore, create_semaphore};
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_board::load::{self, Item, LOAD, Record, Source};
use rtmark_lilos::run;
use rtmark_probe::{begin, end, scenario};

use crate::HYPERPERIODS;

type Guarded = Mutex<CancelSafe<Record>>;
type Sending = Masked<RefCell<Option<Pusher<'static, Item>>>>;

/// Sets everything up and runs the tasks.
pub fn run() -> ! {
    let mut core = rtmark_lilos::init();
    load::start_ticks(&mut core.SYST);
    rtmark_board::unmask(Interrupt::BENCH);

    let (devices, from_device) = queue(
        singleton!(: Room = ROOM),
        |room| singleton!(: Queue<'static, Item> = Queue::new(room)),
    );
    let (alarms, from_alarm) = queue(
        singleton!(: Room = ROOM),
        |room| singleton!(: Queue<'static, Item> = Queue::new(room)),
    );
    let (sender, from_middle) = queue(
        singleton!(: Room = ROOM),
        |room| singleton!(: Queue<'static, Item> = Queue::new(room)),
    );
    free(|section| {
        DEVICE.borrow(section).replace(Some(devices));
        ALARM.borrow(section).replace(Some(alarms));
    });
    create_mutex!(record, CancelSafe(Record::new()));
    create_semaphore!(work, 0);

    run!(
        urgent(),
        fast(),
        middle(record, sender),
        consumer(from_device, from_middle, from_alarm),
        given_by_alarm(work),
        server(work),
        every(work),
        once(work),
        slow(record),
        judge(record),
    )
}

// One place of a queue always stays empty.
type Room = [MaybeUninit<Item>; load::ITEMS + 1];
const ROOM: Room = [MaybeUninit::uninit(); load::ITEMS + 1];

/// The ends of a queue that stays for ever.
fn queue(
    room: Option<&'static mut Room>,
    make: impl FnOnce(&'static mut Room) -> Option<&'static mut Queue<'static, Item>>,
) -> (Pusher<'static, Item>, Popper<'static, Item>) {
    match room.and_then(make) {
        Some(queue) => queue.split(),
        None => scenario::fail("main() was called twice"),
    }
}

static DEVICE: Sending = Masked::new(RefCell::new(None));
static ALARM: Sending = Masked::new(RefCell::new(None));
static WAKE: Notify = Notify::new();
static GIVE: Notify = Notify::new();
static ONCE: Notify = Notify::new();

fn send(source: Source, sender: &mut Pusher<'_, Item>) {
    LOAD.was_sent(source, sender.try_push(LOAD.next(source)).is_ok());
}

fn send_from_handler(source: Source, sender: &Sending) {
    free(|section| {
        if let Some(sender) = sender.borrow(section).borrow_mut().as_mut() {
            send(source, sender);
        }
    });
}

/// The device.
#[interrupt]
fn BENCH() {
    send_from_handler(Source::Device, &DEVICE);
}

/// The alarm.
#[interrupt]
fn INJECTED() {
    send_from_handler(Source::Alarm, &ALARM);
    LOAD.given_by_alarm.increment();
    GIVE.notify();
    LOAD.wakes.increment();
    WAKE.notify();
    LOAD.count_event();
}

async fn urgent() -> Infallible {
    begin!("load.mixed");
    loop {
        WAKE.until(|| LOAD.woken.get() != LOAD.wakes.get()).await;
        LOAD.woken.increment();
    }
}

/// Waits for ever, when a task has done its jobs.
async fn done() -> Infallible {
    core::future::pending().await
}

fn each(ticks: u32) -> PeriodicGate {
    let period = Millis(ticks.into());
    PeriodicGate::new_shift(period, period)
}

async fn fast() -> Infallible {
    let mut gate = each(load::FAST);
    for _ in 0..HYPERPERIODS * load::FAST_JOBS {
        gate.next_time().await;
        crate::fast_runs();
        LOAD.count_event();
        NVIC::pend(Interrupt::BENCH);
        LOAD.fast.increment();
    }
    done().await
}

async fn middle(record: Pin<&Guarded>, mut sender: Pusher<'static, Item>) -> Infallible {
    let mut gate = each(load::MIDDLE);
    for _ in 0..HYPERPERIODS * load::MIDDLE_JOBS {
        gate.next_time().await;
        {
            let mut record = record.lock_assuming_cancel_safe().await;
            record.first += 1;
            LOAD.count_event();
            record.second += 1;
        }
        send(Source::Middle, &mut sender);
        LOAD.middle.increment();
    }
    done().await
}

async fn slow(record: Pin<&Guarded>) -> Infallible {
    let mut gate = each(load::SLOW);
    for _ in 0..HYPERPERIODS * load::SLOW_JOBS {
        gate.next_time().await;
        let next = TickTime::now() + Millis(1);
        ONCE.notify();
        {
            let mut record = record.lock_assuming_cancel_safe().await;
            record.first += 1;
            sleep_until(next).await;
            record.second += 1;
        }
        LOAD.count_event();
        LOAD.slow.increment();
    }
    done().await
}

async fn every(work: Pin<&Semaphore>) -> Infallible {
    let mut gate = each(load::TIMER);
    for _ in 0..HYPERPERIODS * load::TIMER_JOBS {
        gate.next_time().await;
        LOAD.timers.increment();
        work.release();
    }
    done().await
}

async fn once(work: Pin<&Semaphore>) -> Infallible {
    loop {
        ONCE.until_next().await;
        sleep_for(Millis(1)).await;
        LOAD.timers.increment();
        work.release();
    }
}

async fn given_by_alarm(work: Pin<&Semaphore>) -> Infallible {
    let mut given = 0;
    loop {
        GIVE.until(|| given != LOAD.given_by_alarm.get()).await;
        given += 1;
        work.release();
    }
}

async fn receive(mut queue: Popper<'static, Item>) -> Infallible {
    loop {
        LOAD.received(queue.pop().await);
    }
}

async fn consumer(
    device: Popper<'static, Item>,
    middle: Popper<'static, Item>,
    alarm: Popper<'static, Item>,
) -> Infallible {
    join3(receive(device), receive(middle), receive(alarm)).await.0
}

async fn server(work: Pin<&Semaphore>) -> Infallible {
    loop {
        work.acquire().await;
        LOAD.taken.increment();
    }
}

async fn judge(record: Pin<&Guarded>) -> Infallible {
    sleep_for(Millis(load::end(HYPERPERIODS).into())).await;
    for tick in 0.. {
        // In one go: an alarm after the look would not be dealt with.
        free(|_| {
            if LOAD.is_quiet(HYPERPERIODS) || tick == load::GRACE {
                end!("load.mixed");
                let record = record.try_lock_assuming_cancel_safe();
                LOAD.judge(HYPERPERIODS, record.as_deref());
            }
        });
        sleep_for(Millis(1)).await;
    }
    done().await
}
