//! Clocked probes: the same probes by a counter, where nobody watches.
//!
//! With the feature `clock`, [`begin!`](crate::begin) and [`end!`](crate::end) are calls that
//! note which probe it is and what a counter says, in a ring in RAM. That is for machines whose
//! instructions nobody watches: boards, and QEMU. The ring is printed when it is nearly full,
//! always at the end of a span, and when the run ends. `rtmark_clock.h`, which does the same for
//! C, says in what form.
//!
//! On a Cortex-M the counter is DWT's CYCCNT, and SysTick where there is none; on RISC-V it is
//! `minstret`, and on AArch64 and Cortex-R that of the performance monitors. SysTick may at the same time be
//! the kernel's: then the vector table must have `rtmark_clock_tick` for its exception, which
//! keeps count and goes on in the handler `SysTick`. Periods for which its exception is held back
//! longer than from one tick to the next are lost.
//!
//! A probe keeps all registers but lr (t0 on RISC-V, x16 and x17 on AArch64) and the flags, masks interrupts for some twenty instructions, and
//! takes 16 to 20 bytes of stack; a printing takes a hundred and more.

use core::arch::global_asm;
use core::ffi::CStr;
use core::hint::black_box;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::semihosting;

/// A hundred spans, nearly: what still fits beside a kernel into 12 KiB of RAM.
const EVENTS: usize = 224;

struct Event {
    site: AtomicU32,
    count: AtomicU32,
}

// Used by the assembly language below. One event more than are counted: a count is stored
// before it is known whether there is room.
#[unsafe(no_mangle)]
#[used]
static rtmark_clock_ring: [Event; EVENTS + 1] =
    [const { Event { site: AtomicU32::new(0), count: AtomicU32::new(0) } }; EVENTS + 1];
#[unsafe(no_mangle)]
#[used]
static rtmark_clock_next: AtomicPtr<Event> =
    AtomicPtr::new((&raw const rtmark_clock_ring).cast_mut().cast());
#[unsafe(no_mangle)]
#[used]
static rtmark_clock_lost: AtomicU32 = AtomicU32::new(0);

// 32 events are left when the ring is printed at the end of a span: for begins that come
// before the next end.
macro_rules! routines {
    ($($lines:expr),+ $(,)?) => {
        global_asm!(
            ".equ RTMARK_RING_END, 224 * 8",
            ".equ RTMARK_RING_FULL, (224 - 32) * 8",
            $($lines,)+
            options(raw)
        );
    };
}

#[cfg(cortex_m)]
routines!(
    concat!(".equ RTMARK_COUNTER, ", env!("RTMARK_COUNTER")),
    ".macro rtmark_tick_handler",
    ".4byte SysTick",
    ".endm",
    include_str!("clock.s"),
);
#[cfg(all(target_arch = "arm", not(cortex_m)))]
routines!(include_str!("clock_armv7.s"));
#[cfg(target_arch = "riscv32")]
routines!(include_str!("clock_riscv.s"));
#[cfg(target_arch = "aarch64")]
routines!(include_str!("clock_aarch64.s"));

/// What is printed at once: as many words as the lines of `rtmark_clock.c` hold.
const WORDS: usize = 16;

struct Line {
    bytes: [u8; 2 + 9 * WORDS + 2],
    length: usize,
}

/// Over all words that were printed, so that whoever reads them sees if one was changed.
static SUM: AtomicU32 = AtomicU32::new(0);

impl Line {
    fn new(kind: u8) -> Self {
        let mut line = Self { bytes: [0; _], length: 0 };
        line.byte(b'@');
        line.byte(kind);
        line
    }

    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn word(&mut self, word: u32) {
        self.byte(b' ');
        for nibble in (0..8).rev() {
            let [.., digit] = (word >> (4 * nibble) & 0xF).to_be_bytes();
            self.byte(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit });
        }
        let sum = SUM.load(Ordering::Relaxed).rotate_left(1).wrapping_add(word);
        SUM.store(sum, Ordering::Relaxed);
    }

    fn print(mut self) {
        self.byte(b'\n');
        semihosting::write(CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default());
    }
}

/// Prints what the ring holds. Nobody may interrupt.
#[unsafe(no_mangle)]
extern "C" fn rtmark_clock_drain() {
    // While it prints, the kernel's time stands still: a tick would pass in it, or on a slow line
    // hundreds.
    #[cfg(cortex_m)]
    let time = counter::stop_systick();
    let next = rtmark_clock_next.load(Ordering::Relaxed);
    let mut line = Line::new(b'+');
    let mut words = 0;
    for event in &rtmark_clock_ring {
        if core::ptr::eq(event, next) {
            break;
        }
        if words == WORDS {
            core::mem::replace(&mut line, Line::new(b' ')).print();
            words = 0;
        }
        line.word(event.site.load(Ordering::Relaxed));
        line.word(event.count.load(Ordering::Relaxed));
        words += 2;
    }
    line.print();
    rtmark_clock_next.store((&raw const rtmark_clock_ring).cast_mut().cast(), Ordering::Relaxed);
    #[cfg(cortex_m)]
    counter::start_systick(time);
}

/// The counter of a Cortex-M, which the build names.
#[cfg(cortex_m)]
mod counter {
    use crate::words::each_write;

    /// SysTick's control and status register.
    const SYST_CSR: *mut u32 = 0xE000_E010 as *mut u32;

    /// Whether SysTick is the counter and a kernel has set it to its own ticks already: then it is
    /// left alone.
    fn kernel_has_started_it() -> bool {
        let is_systick = matches!(env!("RTMARK_COUNTER").as_bytes(), b"0xe000e018");
        // SAFETY: reading it only clears COUNTFLAG, before the scenario runs.
        is_systick && unsafe { SYST_CSR.read_volatile() } & 1 != 0
    }

    pub fn start() {
        if !kernel_has_started_it() {
            each_write(env!("RTMARK_COUNTER_START"), |address, value| {
                // SAFETY: registers of the counter, which nobody else uses.
                unsafe { (address as *mut u32).write_volatile(value) };
            });
        }
    }

    /// Stops SysTick, and says what it was set to. Nobody may interrupt until it is started.
    pub fn stop_systick() -> u32 {
        // SAFETY: SysTick goes on as it was.
        unsafe {
            let control = SYST_CSR.read_volatile();
            SYST_CSR.write_volatile(control & !1);
            control
        }
    }

    pub fn start_systick(control: u32) {
        // SAFETY: what it was before.
        unsafe { SYST_CSR.write_volatile(control) };
    }
}

/// The cycle counter of the performance monitors (DDI 0406, B4.1.113 and B4.1.117): reset and
/// enabled.
#[cfg(all(target_arch = "arm", not(cortex_m)))]
mod counter {
    pub fn start() {
        // SAFETY: nobody else uses it.
        unsafe {
            core::arch::asm!(
                "mcr p15, 0, {enable}, c9, c12, 1",
                "mcr p15, 0, {control}, c9, c12, 0",
                "isb",
                enable = in(reg) 1_u32 << 31,
                control = in(reg) 5_u32,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// `minstret` always counts.
#[cfg(target_arch = "riscv32")]
mod counter {
    pub fn start() {}
}

/// The cycle counter of the performance monitors (DDI 0487, D12): reset and enabled.
#[cfg(target_arch = "aarch64")]
mod counter {
    pub fn start() {
        // SAFETY: nobody else uses it.
        unsafe {
            core::arch::asm!(
                "msr pmcntenset_el0, {enable}",
                "msr pmcr_el0, {control}",
                "isb",
                enable = in(reg) 1_u64 << 31,
                control = in(reg) 5_u64,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// Begins the log, starts the counter and measures what probes cost. Before any other probe;
/// [`scenarios!`](crate::scenarios) calls it.
pub fn start(select: u32) {
    semihosting::write(c"\n");
    SUM.store(0, Ordering::Relaxed);
    let mut line = Line::new(b'^');
    line.word(select);
    line.print();
    counter::start();
    // The first rounds may find caches cold.
    for round in 0..4 {
        black_box(round);
        crate::begin!("rtmark.empty");
        crate::end!("rtmark.empty");

        crate::begin!("rtmark.begin");
        crate::begin!("rtmark.other");
        crate::end!("rtmark.begin");

        crate::begin!("rtmark.end");
        crate::end!("rtmark.other");
        crate::end!("rtmark.end");
    }
}

/// Prints what the ring holds, and how much was lost. No probe may come after it, nor an
/// interrupt; the ends of [`scenario`](crate::scenario) call it.
pub fn finish() {
    rtmark_clock_drain();
    let mut line = Line::new(b'.');
    line.word(rtmark_clock_lost.load(Ordering::Relaxed));
    let sum = SUM.load(Ordering::Relaxed);
    line.word(sum);
    line.print();
}
