//! The median of five readings.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[allow(dead_code, reason = "not everything of it is needed here")]
mod soc {
    include!(concat!(env!("RTMARK_GEN"), "/rtmark_soc.rs"));
}

#[entry]
fn main() -> ! {
    for &(register, value) in soc::INIT {
        // SAFETY: the soc's own settings, such as wait states, which the soc file lists.
        unsafe { (register as *mut u32).write_volatile(value) };
    }
    scenarios! {
        "filter.median" => filter(),
    }
}

#[inline(never)]
fn median(mut readings: [i32; 5]) -> i32 {
    readings.sort_unstable();
    readings[2]
}

fn filter() -> ! {
    for _ in 0..SAMPLES {
        let readings = black_box([18, 23, 4, 17, 90]);

        begin!("filter.median");
        let middle = black_box(median(readings));
        end!("filter.median");

        scenario::expect("median", middle as u32, 18);
    }
    scenario::ok();
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    scenario::fail("panic");
}
