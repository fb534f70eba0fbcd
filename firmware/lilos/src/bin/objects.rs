//! Two of each object, and one more of what the feature says: the two images' difference is what it
//! takes. Two, because what is called from one place is compiled into it.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::future::pending;
use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use lilos::exec::yield_cpu;
use lilos::spsc::Queue;
use rtmark_lilos::run;
use rtmark_probe::{scenario, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();

    scenarios! {
        "objects.all" => all(),
    }
}

/// It owns a word while it waits.
async fn one(mut state: u32) -> Infallible {
    loop {
        state = core::hint::black_box(state + 1);
        pending::<()>().await;
    }
}

async fn end() -> Infallible {
    yield_cpu().await;
    scenario::ok();
}

macro_rules! queue {
    ($item:expr) => {
        // One place always stays empty.
        let mut storage: [MaybeUninit<[u8; 10]>; 5] = [MaybeUninit::uninit(); 5];
        let mut queue = Queue::new(&mut storage);
        let (mut pusher, _popper) = queue.split();
        let _ = pusher.try_push([$item; 10]);
    };
}

fn all() -> ! {
    queue!(1);
    queue!(2);
    #[cfg(feature = "one_more_queue")]
    queue!(3);
    #[cfg(feature = "one_more_task")]
    run!(one(1), one(2), one(3), end());
    #[cfg(not(feature = "one_more_task"))]
    run!(one(1), one(2), end());
}
