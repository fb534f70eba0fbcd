//! What a scenario says at its end: one line on the console, and an exit status.
//!
//! ```text
//! thread.yield ok
//! workload.prime.single ok primes=10 numbers=177
//! queue.send.immediate FAILED: items received is 7, expected 101
//! ```
//!
//! A scenario checks what it measured, so that it can fail: a kernel that loses an item is
//! not fast. Nothing is printed before the end, because printing takes time. The text is put
//! together without `core::fmt`, which would be larger than many a kernel.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::semihosting::{self, Exit};

/// How many samples a scenario takes unless its catalogue entry says otherwise: the first,
/// which finds caches and prefetch buffers cold, and a hundred more.
pub const SAMPLES: u32 = 1 + 100;

/// How often the scenarios that poll do so.
pub const POLLS: u32 = 100_000;

/// The same for each point of a curve.
pub const POINT_SAMPLES: u32 = 1 + 8;

/// Reads the word `rtmark_select` as it is now, not as it was compiled. Its lower half is the
/// scenario's index, its upper half the count at which the scenario measures.
#[doc(hidden)]
pub fn selected(word: &u32) -> u32 {
    // SAFETY: a reference is valid, aligned and initialised. Volatile, so that the compiler
    // does not believe the zero.
    let word = unsafe { core::ptr::read_volatile(word) };
    POINT.store(word >> 16, Ordering::Relaxed);
    #[cfg(all(feature = "clock", target_os = "none"))]
    crate::clock::start(word);
    word & 0xFFFF
}

/// The count at which the scenario measures.
static POINT: AtomicU32 = AtomicU32::new(0);

/// Where a scenario is measured against a count: how many, and at least one.
pub fn point() -> u32 {
    POINT.load(Ordering::Relaxed).max(1)
}

/// How many yields are measured where so many threads are ready beside the one that yields: the
/// first, and whole rounds with no fewer samples than a point has.
pub fn point_yields() -> u32 {
    let threads = point() + 1;
    1 + (1 + POINT_SAMPLES / threads) * threads
}

/// Ends the run as ok, and tells the count at which it measured.
pub fn point_ok() -> ! {
    ok_with(&[("n", point())])
}

/// Ends the run: there is no memory for so many of these things.
#[cold]
pub fn no_room(what: &str) -> ! {
    mask_interrupts();
    let mut line = Line::new();
    line.text(name());
    line.text(" n/a: no room for ");
    line.number(point());
    line.text(" ");
    line.text(what);
    line.text(" in the RAM of this soc");
    line.end(Exit::Ok)
}

/// The name of the scenario that runs: a pointer to a `&'static str`, or null before.
static NAME: AtomicPtr<&'static str> = AtomicPtr::new(core::ptr::null_mut());

/// The name of the scenario that runs, `unknown` before one does.
pub fn name() -> &'static str {
    // SAFETY: it is null or what `enter` stored, which is valid for ever and never written.
    unsafe { NAME.load(Ordering::Relaxed).as_ref() }.copied().unwrap_or("unknown")
}

#[doc(hidden)]
pub fn enter(name: &'static &'static str) {
    NAME.store(core::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
}

#[doc(hidden)]
#[cold]
pub fn unknown(selected: u32, count: u32) -> ! {
    let mut line = failure();
    line.text("rtmark_select is ");
    line.number(selected);
    line.text(", but this image has only ");
    line.number(count);
    line.text(" scenarios");
    line.end(Exit::Failed)
}

/// Ends the run with the line `<name> ok`.
pub fn ok() -> ! {
    ok_with(&[])
}

/// Ends the run with the line `<name> ok key=value …`.
///
/// A fact must not depend on timing, because the same firmware has to print the same on a
/// simulator, in QEMU and on a board. One that does depend on it carries a key that starts
/// with `~`, and is left out of such comparisons.
pub fn ok_with(facts: &[(&str, u32)]) -> ! {
    mask_interrupts();
    let mut line = Line::new();
    line.text(name());
    line.text(" ok");
    for (key, value) in facts {
        line.text(" ");
        line.text(key);
        line.text("=");
        line.number(*value);
    }
    line.end(Exit::Ok)
}

/// Ends the run with the line `<name> FAILED: <what>`.
#[cold]
pub fn fail(what: &str) -> ! {
    let mut line = failure();
    line.text(what);
    line.end(Exit::Failed)
}

/// Ends the run with the line `<name> FAILED: <what>: <reason>`.
#[cold]
pub fn fail_for(what: &str, reason: &str) -> ! {
    let mut line = failure();
    line.text(what);
    line.text(": ");
    line.text(reason);
    line.end(Exit::Failed)
}

/// Ends the run with the line `<name> FAILED: <what> <number>`.
#[cold]
pub fn fail_with(what: &str, number: u32) -> ! {
    let mut line = failure();
    line.text(what);
    line.text(" ");
    line.number(number);
    line.end(Exit::Failed)
}

/// Ends the run with the line `<name> FAILED: <what> at 0x08001234`.
#[cold]
pub fn fail_at(what: &str, address: u32) -> ! {
    let mut line = failure();
    line.text(what);
    line.text(" at 0x");
    line.address(address);
    line.end(Exit::Failed)
}

/// Ends the run as failed unless both values are equal.
#[inline]
pub fn expect(what: &str, value: u32, expected: u32) {
    if value != expected {
        unexpected(what, value, expected);
    }
}

#[cold]
#[inline(never)]
fn unexpected(what: &str, value: u32, expected: u32) -> ! {
    let mut line = failure();
    line.text(what);
    line.text(" is ");
    line.number(value);
    line.text(", expected ");
    line.number(expected);
    line.end(Exit::Failed)
}

fn failure() -> Line {
    mask_interrupts();
    let mut line = Line::new();
    line.text(name());
    line.text(" FAILED: ");
    line
}

/// From here on nobody else may run: the line would be cut by another one.
fn mask_interrupts() {
    #[cfg(target_os = "none")]
    // SAFETY: the run ends with interrupts masked; nothing relies on them any more.
    unsafe {
        #[cfg(target_arch = "arm")]
        core::arch::asm!("cpsid i", options(nostack, preserves_flags));
        #[cfg(target_arch = "riscv32")]
        core::arch::asm!("csrci mstatus, 8", options(nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("msr daifset, #3", options(nostack, preserves_flags));
    }
}

/// Room for the longest line of the catalogue, twice. What exceeds it is cut off.
const LONGEST: usize = 192;

/// A line that is put together before any of it is printed.
struct Line {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Line {
    const fn new() -> Self {
        Self { bytes: [0; LONGEST], length: 0 }
    }

    fn byte(&mut self, byte: u8) {
        // Two bytes are kept for the line feed and the zero.
        if self.length < LONGEST - 2
            && let Some(place) = self.bytes.get_mut(self.length)
        {
            *place = byte;
            self.length += 1;
        }
    }

    fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.byte(byte);
        }
    }

    fn number(&mut self, number: u32) {
        let mut unit = 1;
        while number / unit >= 10 {
            unit *= 10;
        }
        while unit != 0 {
            self.digit(number / unit % 10);
            unit /= 10;
        }
    }

    fn address(&mut self, address: u32) {
        for nibble in (0..8).rev() {
            self.digit(address >> (4 * nibble) & 0xF);
        }
    }

    fn digit(&mut self, digit: u32) {
        let [.., digit] = digit.to_be_bytes();
        self.byte(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit });
    }

    /// The whole line with its end, as the host wants it.
    fn finish(&mut self) -> &CStr {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = b'\n';
        }
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    fn end(mut self, how: Exit) -> ! {
        #[cfg(all(feature = "clock", target_os = "none"))]
        crate::clock::finish();
        semihosting::write(self.finish());
        semihosting::exit(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Line)) -> ([u8; LONGEST], usize) {
        let mut line = Line::new();
        write(&mut line);
        let length = line.finish().count_bytes();
        (line.bytes, length)
    }

    #[test]
    fn lines_are_text_with_an_end() {
        for (number, text) in [
            (0, "0\n"),
            (9, "9\n"),
            (10, "10\n"),
            (202_336, "202336\n"),
            (u32::MAX, "4294967295\n"),
        ] {
            let (bytes, length) = written(|line| line.number(number));
            assert_eq!(&bytes[..length], text.as_bytes());
        }
        let (bytes, length) = written(|line| line.address(0x0800_12AF));
        assert_eq!(&bytes[..length], b"080012af\n");
    }

    #[test]
    fn a_long_line_is_cut_and_still_ends() {
        let (bytes, length) = written(|line| (0..100).for_each(|_| line.text("four")));
        assert_eq!(length, LONGEST - 1);
        assert_eq!(bytes[LONGEST - 2..], [b'\n', 0]);
    }

    #[test]
    fn the_name_is_the_one_that_was_entered() {
        assert_eq!(name(), "unknown");
        enter(&"thread.yield");
        assert_eq!(name(), "thread.yield");
        assert_eq!(selected(&7), 7);
        assert_eq!(point(), 1);
        // After the first sample, whole rounds of two and of 65 threads.
        assert_eq!(point_yields(), 1 + 5 * 2);
        assert_eq!((selected(&0x40_0002), point()), (2, 64));
        assert_eq!(point_yields(), 1 + 65);
    }

    #[test]
    fn probes_compile_to_nothing_here() {
        crate::begin!("a.b");
        crate::end!("a.b");
    }
}
