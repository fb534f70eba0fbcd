//! The task set of `firmware/board/plan.rs`: tasks of one executor, which a timer or an interrupt
//! releases, mutexes and channels between them.

#![no_std]
#![no_main]

#[path = "../../../board/plan.rs"]
mod plan;

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, Ticker, Timer};
use rtmark_board::device::{Interrupt, interrupt};
use rtmark_probe::{begin, begin_at_pend, end, scenario, scenarios};

use crate::plan::{INTERRUPTS, ITEMS, Message, QUEUES, SET, Task};

// What releases tasks is the time driver's interrupt.
begin_at_pend!("plan.clock", rtmark_embassy::EXCEPTION);
// The first of those that release tasks by interrupts.
begin_at_pend!("plan.interrupt", Interrupt::BENCH.exception());

/// The microsecond from which offsets count: by then every task waits.
const START: u32 = 1000;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();
    rtmark_board::unmask(Interrupt::BENCH);
    rtmark_board::unmask(Interrupt::PLAIN);

    scenarios! {
        "plan.set" => start(spawner),
    }
}

static LOCKS: [Mutex<CriticalSectionRawMutex, ()>; 2] = [const { Mutex::new(()) }; 2];
static CHANNELS: [Channel<CriticalSectionRawMutex, Message, ITEMS>; QUEUES] =
    [const { Channel::new() }; QUEUES];
static RELEASED: [Signal<CriticalSectionRawMutex, ()>; INTERRUPTS] =
    [const { Signal::new() }; INTERRUPTS];

#[inline(always)]
fn handle(interrupt: usize) {
    SET.handle(interrupt);
    RELEASED[interrupt].signal(());
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
    /// The clock, for the first time.
    First(Instant, Duration),
    /// The clock, as often as the period says.
    Clock(Ticker),
    /// An interrupt.
    Interrupt(&'static Signal<CriticalSectionRawMutex, ()>),
}

impl Releases {
    fn of(task: &Task) -> Self {
        match task.offset() {
            Some(offset) => Self::First(
                Instant::from_ticks((START + offset).into()),
                Duration::from_ticks(task.period.get().into()),
            ),
            None => Self::Interrupt(&RELEASED[task.interrupt()]),
        }
    }

    /// Waits for the next one.
    #[inline(always)]
    async fn next(&mut self) {
        match self {
            Self::First(first, period) => {
                let mut ticker = Ticker::every(*period);
                ticker.reset_at(*first);
                Timer::at(*first).await;
                *self = Self::Clock(ticker);
            }
            Self::Clock(ticker) => ticker.next().await,
            Self::Interrupt(released) => released.wait().await,
        }
    }
}

/// A job: what it receives, its stretches, one after the other, and what it sends.
#[inline(always)]
async fn job(task: &Task) {
    for (queue, channel) in CHANNELS.iter().enumerate() {
        if task.receives(queue) {
            plan::receive(queue, || channel.try_receive().ok());
        }
    }
    for stretch in task.stretches() {
        let rounds = stretch.rounds.get();
        let lock = stretch.lock.get() as usize;
        if lock == 0 {
            plan::burn(rounds);
        } else if let Some(lock) = LOCKS.get(lock - 1) {
            begin!("plan.take");
            let guard = lock.lock().await;
            end!("plan.take");
            plan::burn(rounds);
            begin!("plan.give");
            drop(guard);
            end!("plan.give");
        } else {
            scenario::fail("there is no such lock");
        }
    }
    for (queue, channel) in CHANNELS.iter().enumerate() {
        if task.sends(queue) {
            plan::send(queue, |message| channel.try_send(message).is_ok());
        }
    }
}

/// Tasks with probes of their own, and what starts those that the table has.
macro_rules! tasks {
    ($($name:ident: $number:literal, $probe:literal;)+) => {
        $(
            #[embassy_executor::task]
            async fn $name(task: &'static Task) {
                let mut releases = Releases::of(task);
                loop {
                    releases.next().await;
                    begin!($probe);
                    job(task).await;
                    end!($probe);
                }
            }
        )+

        fn start(spawner: Spawner) {
            $(
                if let Some(task) = SET.task($number) {
                    spawner.spawn($name(task).unwrap());
                }
            )+
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
