//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos::spsc::Queue;
use lilos::time::{Millis, PeriodicGate, TickTime, sleep_for};
use rtmark_board::{Item, in_registers};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, begin_at_pend, end, end_at_return, end_at_sleep, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "timer.delay.1000ms" => run!(delay()),
        "timer.tick" => run!(wait()),
        "timer.wake" => run!(wake()),
        "timer.period.10ms" => run!(period()),
        "timer.now" => run!(now()),
        "timer.jitter" => run!(jitter(), load()),
        "timer.idle" => run!(idle()),
    }
}

// timer.delay.1000ms

const DELAYS: u32 = 4;

async fn delay() -> Infallible {
    for _ in 0..DELAYS {
        let before = TickTime::now();

        begin!("timer.delay.1000ms");
        sleep_for(Millis(1000)).await;
        end!("timer.delay.1000ms");

        scenario::expect("milliseconds passed", before.elapsed().0 as u32, 1000);
    }
    scenario::ok();
}

// timer.tick: the tick finds nothing to do. While tasks run, it is masked; so what it interrupts
// is the executor, which sleeps.

begin_at_pend!("timer.tick", 15);
end_at_return!("timer.tick", 15);

async fn wait() -> Infallible {
    sleep_for(Millis(u64::from(SAMPLES))).await;
    scenario::ok();
}

// timer.wake

begin_at_pend!("timer.wake", 15);

fn ticks() -> u32 {
    u64::from(TickTime::now()) as u32
}

async fn wake() -> Infallible {
    for sample in 0..=SAMPLES {
        sleep_for(Millis(1)).await;
        end!("timer.wake");
        scenario::expect("ticks", ticks(), sample + 1);
    }
    scenario::ok();
}

// timer.period.10ms

async fn period() -> Infallible {
    let mut gate = PeriodicGate::new_shift(Millis(10), Millis(10));
    for sample in 1..=SAMPLES {
        gate.next_time().await;
        end!("timer.period.10ms");
        begin!("timer.period.10ms");
        scenario::expect("ticks", ticks(), 10 * sample);
    }
    scenario::ok();
}

// timer.now

async fn now() -> Infallible {
    sleep_for(Millis(1)).await;
    for _ in 0..SAMPLES {
        begin!("timer.now");
        let ticks = in_registers(u64::from(TickTime::now()));
        end!("timer.now");

        scenario::expect("time has come", u32::from(in_registers(ticks) > 0), 1);
    }
    scenario::ok();
}

// timer.jitter: the load yields after each item.

const JITTER_TICKS: u32 = 1000;

begin_at_pend!("timer.jitter", 15);

async fn jitter() -> Infallible {
    let mut gate = PeriodicGate::new_shift(Millis(1), Millis(1));
    for sample in 1..=JITTER_TICKS {
        gate.next_time().await;
        end!("timer.jitter");
        scenario::expect("ticks", ticks(), sample);
    }
    scenario::ok();
}

async fn load() -> Infallible {
    const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let mut storage: [MaybeUninit<Item<10>>; 5] = [const { MaybeUninit::uninit() }; 5];
    let mut queue = Queue::new(&mut storage);
    let (mut pusher, mut popper) = queue.split();
    loop {
        let _ = pusher.try_push(ITEM);
        scenario::expect("other items", u32::from(popper.try_pop() != Some(ITEM)), 0);
        yield_cpu().await;
    }
}

// timer.idle

begin_at_pend!("timer.idle", 15);
end_at_sleep!("timer.idle");

async fn idle() -> Infallible {
    sleep_for(Millis(u64::from(SAMPLES) + 1)).await;
    scenario::ok();
}
