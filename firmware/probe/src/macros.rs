//! How probes are written.
//!
//! All directives of a record follow a comment and are parted by carriage returns. To the
//! assembler a carriage return ends a line. LLVM, when it estimates how long inline assembly
//! may become, counts lines by line feeds and takes each for an instruction of four bytes,
//! directives too; here it sees a single line of comment, that is, nothing. Otherwise code
//! near a probe might get longer branches, or its constants in another place, than the same
//! code without a probe.

/// A span begins here: the next instruction is the first one inside.
///
/// A statement, for use inside a function. The name is a string literal; see the
/// [crate's page](crate#names) for what it may hold and [what lies inside a
/// span](crate#what-lies-inside-a-span).
///
/// ```
/// # fn send(_: u8) {}
/// rtmark_probe::begin!("uart.send");
/// send(b'x');
/// rtmark_probe::end!("uart.send");
/// ```
#[macro_export]
macro_rules! begin {
    ($name:literal) => {
        $crate::__probe_here!(1, $name)
    };
}

/// A span ends here: the next instruction is the first one outside.
///
/// A statement, for use inside a function. As the first statement after an `.await` it marks
/// the moment in which the task runs again:
///
/// ```
/// # async fn wait_for_work() {}
/// # let _ = async {
/// wait_for_work().await;
/// rtmark_probe::end!("work.wake");
/// # };
/// ```
#[macro_export]
macro_rules! end {
    ($name:literal) => {
        $crate::__probe_here!(2, $name)
    };
}

/// A span begins at the first instruction of a function, before its prologue.
///
/// An item, for use beside functions. It takes the function's symbol as a string literal:
/// the function must be `#[unsafe(no_mangle)]` or have an `export_name`, as interrupt
/// handlers do. A function that is inlined into its callers is not reached there.
///
/// ```
/// # #[unsafe(no_mangle)] extern "C" fn decode() {}
/// rtmark_probe::begin_at_entry!("frame.decode", "decode");
/// ```
///
/// This one relies on how LLVM's linker treats the address of a Thumb function: with GNU ld
/// the record would carry an odd address, which rtmark refuses to read.
#[macro_export]
macro_rules! begin_at_entry {
    ($name:literal, $function:literal) => {
        $crate::__probe_at_entry!(1, $name, $function);
    };
}

/// A span ends at the first instruction of a function, before its prologue.
///
/// The way to measure how long an interrupt takes until its handler runs: [`end!`] inside
/// the handler would come after the registers that the compiler saves. For use beside
/// functions, with the handler's symbol as a string literal, which is the handler's name
/// with cortex-m-rt's `#[interrupt]` and `#[exception]`:
///
/// ```
/// # #[unsafe(no_mangle)] extern "C" fn TIM3() {}
/// rtmark_probe::begin_at_pend!("tim3.latency", 16 + 16);
/// rtmark_probe::end_at_entry!("tim3.latency", "TIM3");
/// ```
///
/// The remarks on [`begin_at_entry!`] hold here too.
#[macro_export]
macro_rules! end_at_entry {
    ($name:literal, $function:literal) => {
        $crate::__probe_at_entry!(2, $name, $function);
    };
}

/// A span begins in the cycle in which an exception becomes pending.
///
/// An item, for use beside functions. The exception is a constant: external interrupt n is
/// `16 + n`, SysTick is 15, PendSV is 14.
///
/// ```
/// const UART1: u16 = 27;
/// rtmark_probe::begin_at_pend!("uart1.latency", 16 + UART1);
/// ```
#[macro_export]
macro_rules! begin_at_pend {
    ($name:literal, $exception:expr) => {
        $crate::__probe_at_exception!(3, $name, $exception);
    };
}

/// A span ends at the first instruction that executes after an exception has returned.
///
/// An item, for use beside functions, with the exception as for [`begin_at_pend!`]. The two
/// together measure what an interrupt costs the code that it interrupts, entry and return
/// included:
///
/// ```
/// rtmark_probe::begin_at_pend!("tick.cost", 15);
/// rtmark_probe::end_at_return!("tick.cost", 15);
/// ```
#[macro_export]
macro_rules! end_at_return {
    ($name:literal, $exception:expr) => {
        $crate::__probe_at_exception!(4, $name, $exception);
    };
}

/// A span ends when the core falls asleep, by WFI, by a WFE that finds no event, or at the end
/// of a handler with SLEEPONEXIT.
///
/// An item, for use beside functions. How long a tick keeps an idle core awake:
///
/// ```
/// rtmark_probe::begin_at_pend!("tick.idle", 15);
/// rtmark_probe::end_at_sleep!("tick.idle");
/// ```
#[macro_export]
macro_rules! end_at_sleep {
    ($name:literal) => {
        $crate::__record!(7, "0", $name,);
    };
}

/// A span begins with the reset: in cycle 0 of a run.
///
/// An item, for use beside functions. How long it takes from power-on to the main loop:
///
/// ```
/// rtmark_probe::begin_at_reset!("app.start");
/// ```
#[macro_export]
macro_rules! begin_at_reset {
    ($name:literal) => {
        $crate::__record!(8, "0", $name,);
    };
}

/// Tells what a setting of this build is, such as how often a second it ticks.
///
/// An item, for use beside functions. The value is a `u32` constant; on is 1, off is 0. The
/// names are those of rtmark's `docs/settings.md`.
///
/// ```
/// const TICK_HZ: u32 = 1000;
/// rtmark_probe::setting!("tick_hz", TICK_HZ);
/// ```
#[macro_export]
macro_rules! setting {
    ($name:literal, $value:expr) => {
        $crate::__record!(6, "{value}", $name, value = const $value);
    };
}

/// Runs the one of several scenarios that the word `rtmark_select` names.
///
/// That word, a `u32` of this symbol in flash, is zero as built. Whoever runs the firmware
/// overwrites it, in memory or in a copy of the ELF.
///
/// An expression, for use where the firmware starts; each arm is what its scenario does, and
/// all arms have the same type. The scenarios are numbered from zero in the order of the
/// arms, and the numbers are recorded beside the probes, so that rtmark can select by name.
/// Only the probes of the scenario that runs are watched. Use it once in a firmware. The upper
/// half of the word is what [`scenario::point`](crate::scenario::point) says.
///
/// ```no_run
/// use rtmark_probe::{begin, end, scenario, scenarios};
///
/// fn main() {
///     scenarios! {
///         "sort.random" => sort([5, 3, 8, 1]),
///         "sort.sorted" => sort([1, 3, 5, 8]),
///     }
/// }
///
/// fn sort(mut list: [u32; 4]) {
///     // ...
/// # /*
///     begin!("sort.random");
/// # */
///     list.sort_unstable();
/// # /*
///     end!("sort.random");
/// # */
///     scenario::expect("smallest", list[0], 1);
///     scenario::ok();
/// }
/// ```
///
/// It works in async code as well: `"uart.echo" => spawner.spawn(echo().unwrap())`.
///
/// When the word names no scenario, the firmware says so on the console and exits as failed.
#[macro_export]
macro_rules! scenarios {
    ($($name:literal => $run:expr),+ $(,)?) => {{
        #[unsafe(no_mangle)]
        #[used]
        static rtmark_select: u32 = 0;

        let selected = $crate::scenario::selected(&rtmark_select);
        $crate::__scenarios!(selected, 0u32, $($name => $run,)+)
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __scenarios {
    ($selected:ident, $index:expr,) => {
        $crate::scenario::unknown($selected, $index)
    };
    ($selected:ident, $index:expr, $name:literal => $run:expr, $($rest:tt)*) => {
        if $selected == $index {
            // A module, because the assembler's directives are an item and no statement.
            mod record {
                $crate::__record!(5, "{index}", $name, index = const $index);
            }
            $crate::scenario::enter(&$name);
            $run
        } else {
            $crate::__scenarios!($selected, $index + 1, $($rest)*)
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __probe_at_exception {
    ($kind:literal, $name:literal, $exception:expr) => {
        const _: () = $crate::private::check_exception($exception);
        $crate::__record!($kind, "{number}", $name, number = const $exception);
    };
}

/// A function's symbol is the address plus the bit that marks Thumb code, hence the `- 1`.
/// The relocation without that bit, `R_ARM_ABS32_NOI`, is unknown to LLVM's linker.
#[cfg(all(cortex_m, not(feature = "clock")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_at_entry {
    ($kind:literal, $name:literal, $function:literal) => {
        $crate::__record!($kind, concat!($function, " - 1"), $name,);
    };
}

/// A function's symbol is its address.
#[cfg(all(not(cortex_m), not(feature = "clock")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_at_entry {
    ($kind:literal, $name:literal, $function:literal) => {
        $crate::__record!($kind, $function, $name,);
    };
}

/// Nothing in Rust can put a call before a function's prologue: there is no such probe.
#[cfg(feature = "clock")]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_at_entry {
    ($kind:literal, $name:literal, $function:literal) => {
        const _: () = $crate::private::check_name($name);
    };
}

#[cfg(any(target_arch = "arm", target_os = "none"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __record {
    ($kind:literal, $where:expr, $name:literal, $($operand:tt)*) => {
        const _: () = $crate::private::check_name($name);
        ::core::arch::global_asm!(
            ::core::concat!(
                ".pushsection .rtmark, \"\", %progbits\n",
                ".balign 4\n",
                ".4byte 0x524D0000 + ", $kind, "\n",
                ".4byte ", $where, "\n",
                ".asciz \"", $name, "\"\n",
                ".balign 4\n",
                ".popsection",
            ),
            $($operand)*
        );
    };
}

#[cfg(not(any(target_arch = "arm", target_os = "none")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __record {
    ($kind:literal, $where:expr, $name:literal, $($operand:tt)*) => {
        const _: () = $crate::private::check_name($name);
    };
}

/// An empty comment of the assembler's, on a line of its own.
#[cfg(target_arch = "arm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __empty_comment {
    () => {
        "@\r"
    };
}

#[cfg(target_arch = "riscv32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __empty_comment {
    () => {
        "#\r"
    };
}

/// Numeric labels may be defined any number of times: `773b` is the last one. No option
/// tells the compiler that this touches no memory; that is the barrier.
#[cfg(all(any(target_arch = "arm", target_arch = "riscv32"), not(feature = "clock")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_here {
    ($kind:literal, $name:literal) => {{
        const _: () = $crate::private::check_name($name);
        // SAFETY: a label and data for another section. Nothing executes.
        unsafe {
            ::core::arch::asm!(
                ::core::concat!(
                    $crate::__empty_comment!(),
                    "773:\r",
                    ".pushsection .rtmark, \"\", %progbits\r",
                    ".balign 4\r",
                    ".4byte 0x524D0000 + ",
                    $kind,
                    "\r",
                    ".4byte 773b\r",
                    ".asciz \"",
                    $name,
                    "\"\r",
                    ".balign 4\r",
                    ".popsection",
                ),
                options(nostack, preserves_flags)
            );
        }
    }};
}

/// A call that reads a counter: the record's address is that after it. The routine uses the
/// stack, and keeps all registers but those that the call itself changes.
#[cfg(all(any(target_arch = "arm", target_os = "none"), feature = "clock"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_here {
    ($kind:literal, $name:literal) => {{
        const _: () = $crate::private::check_name($name);
        $crate::__call_clock!(
            $kind,
            ::core::concat!(
                "773:\n",
                ".pushsection .rtmark, \"\", %progbits\n",
                ".balign 4\n",
                ".4byte 0x524D0000 + ",
                $kind,
                "\n",
                ".4byte 773b\n",
                ".asciz \"",
                $name,
                "\"\n",
                ".balign 4\n",
                ".popsection",
            )
        );
    }};
}

#[cfg(all(target_arch = "arm", feature = "clock"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __call_clock {
    ($kind:literal, $record:expr) => {
        // SAFETY: the routine keeps all registers but those named here, and writes only to the
        // ring of this crate.
        unsafe {
            ::core::arch::asm!(::core::concat!("bl rtmark_clock_", $kind), $record, out("lr") _);
        }
    };
}

#[cfg(all(target_arch = "riscv32", feature = "clock"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __call_clock {
    ($kind:literal, $record:expr) => {
        // SAFETY: as on Arm.
        unsafe {
            ::core::arch::asm!(
                // One instruction, which no linker relaxes.
                ".option push",
                ".option norvc",
                ".option norelax",
                ::core::concat!("jal t0, rtmark_clock_", $kind),
                ".option pop",
                $record,
                out("t0") _
            );
        }
    };
}

#[cfg(all(target_arch = "aarch64", feature = "clock"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __call_clock {
    ($kind:literal, $record:expr) => {
        // SAFETY: as on Arm's other cores.
        unsafe {
            ::core::arch::asm!(
                "adr x17, 773f",
                ::core::concat!("b rtmark_clock_", $kind),
                $record,
                out("x16") _,
                out("x17") _
            );
        }
    };
}

#[cfg(not(any(
    target_arch = "arm",
    target_arch = "riscv32",
    all(target_os = "none", feature = "clock")
)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_here {
    ($kind:literal, $name:literal) => {{
        const _: () = $crate::private::check_name($name);
        ::core::sync::atomic::compiler_fence(::core::sync::atomic::Ordering::SeqCst);
    }};
}
