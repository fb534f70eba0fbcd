//! Two of each object, and one more of what the feature says: the two images' difference is what it
//! takes. Two, because what is called from one place is compiled into it.

#![no_std]
#![no_main]

use core::future::pending;

use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use rtmark_probe::{scenario, scenarios};

const TASKS: usize = 2 + cfg!(feature = "one_more_task") as usize;

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "objects.all" => all(spawner).await,
    }
}

/// It owns a word while it waits.
#[embassy_executor::task(pool_size = TASKS)]
async fn one(mut state: u32) {
    loop {
        state = core::hint::black_box(state + 1);
        pending::<()>().await;
    }
}

macro_rules! queue {
    ($item:expr) => {{
        static QUEUE: Channel<CriticalSectionRawMutex, [u8; 10], 4> = Channel::new();
        let _ = QUEUE.try_send([$item; 10]);
    }};
}

async fn all(spawner: Spawner) {
    spawner.spawn(one(1).unwrap());
    queue!(1);
    spawner.spawn(one(2).unwrap());
    queue!(2);
    #[cfg(feature = "one_more_task")]
    spawner.spawn(one(3).unwrap());
    #[cfg(feature = "one_more_queue")]
    queue!(3);
    embassy_futures::yield_now().await;
    embassy_futures::yield_now().await;
    scenario::ok();
}
