//! The work of `tm.basic`, in which no kernel takes part.

use core::sync::atomic::{AtomicU32, Ordering};

use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end};

const WORDS: usize = 256;

static ARRAY: [AtomicU32; WORDS] = [const { AtomicU32::new(0) }; WORDS];

/// One round of Thread-Metric's basic processing. A call, so that its loop does not begin at the
/// probe.
#[inline(never)]
fn basic_round(counter: u32) {
    for word in &ARRAY {
        let value = word.load(Ordering::Relaxed);
        word.store(value.wrapping_add(counter) ^ word.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// As many rounds as make [`SAMPLES`] spans from one to the next.
#[inline]
pub fn basic_run() -> ! {
    for round in 0..=SAMPLES {
        end!("tm.basic");
        begin!("tm.basic");
        basic_round(round);
    }
    let [first, .., last] = &ARRAY;
    let sum = first.load(Ordering::Relaxed).wrapping_add(last.load(Ordering::Relaxed));
    scenario::ok_with(&[("sum", sum)]);
}
