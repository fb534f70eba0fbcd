//! The two calls to the host that a scenario needs: print a text, and end the run.
//!
//! Semihosting is how firmware asks whatever runs it, a simulator, QEMU or a debugger, for a
//! service, by a breakpoint instruction of an agreed number. On a board without a debugger
//! that breakpoint is a fault.

use core::ffi::CStr;

/// How a run ended, by the reason codes of `SYS_EXIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Exit {
    /// `ADP_Stopped_ApplicationExit`: all is well.
    Ok = 0x2_0026,
    /// `ADP_Stopped_RunTimeErrorUnknown`: something failed.
    Failed = 0x2_0023,
}

#[cfg(not(rtmark_uart))]
const SYS_WRITE0: u32 = 0x04;
#[cfg(not(rtmark_uart))]
const SYS_EXIT: u32 = 0x18;

/// Prints a text on the host's console.
///
/// # Panics
/// On a core that has no host to ask, such as the one that tests run on.
#[cfg(not(rtmark_uart))]
pub fn write(text: &CStr) {
    call(SYS_WRITE0, text.as_ptr() as usize);
}

/// Ends the run.
///
/// # Panics
/// On a core that has no host to ask, such as the one that tests run on.
#[cfg(not(rtmark_uart))]
pub fn exit(how: Exit) -> ! {
    // With words of 64 bits the reason is in a block, and the status beside it.
    let block = [Exit::Ok as usize, usize::from(how != Exit::Ok)];
    let wide = size_of::<usize>() == 8;
    let argument = if wide { block.as_ptr() as usize } else { how as usize };
    loop {
        // A debugger may go on after it; ask again then.
        call(SYS_EXIT, argument);
    }
}

#[cfg(all(cortex_m, not(rtmark_uart)))]
fn call(operation: u32, argument: usize) {
    // SAFETY: both operations only read: `SYS_WRITE0` a text that `CStr` ends with a zero,
    // `SYS_EXIT` nothing. The answer is in r0, and no other register changes.
    unsafe {
        core::arch::asm!(
            "bkpt #0xab",
            inout("r0") operation => _,
            in("r1") argument,
            options(nostack, preserves_flags)
        );
    }
}

/// In A32 code of the A and R profiles it is a supervisor call, which a debugger takes before the
/// core does; in Supervisor mode the core would change lr.
#[cfg(all(target_arch = "arm", not(cortex_m), not(rtmark_uart)))]
fn call(operation: u32, argument: usize) {
    // SAFETY: as on Cortex-M.
    unsafe {
        core::arch::asm!(
            "svc #0x123456",
            inout("r0") operation => _,
            in("r1") argument,
            out("lr") _,
            options(nostack, preserves_flags)
        );
    }
}

/// The sequence by which a breakpoint is known as a call, uncompressed and within one page.
#[cfg(all(target_arch = "riscv32", target_os = "none", not(rtmark_uart)))]
fn call(operation: u32, argument: usize) {
    // SAFETY: as on Arm; the answer is in a0.
    unsafe {
        core::arch::asm!(
            ".balign 16",
            ".option push",
            ".option norvc",
            "slli zero, zero, 0x1f",
            "ebreak",
            "srai zero, zero, 7",
            ".option pop",
            inout("a0") operation => _,
            in("a1") argument,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(all(target_arch = "aarch64", target_os = "none", not(rtmark_uart)))]
fn call(operation: u32, argument: usize) {
    // SAFETY: as on Arm's other cores; the block of `SYS_EXIT` is there while it is read.
    unsafe {
        core::arch::asm!(
            "hlt #0xf000",
            inout("x0") u64::from(operation) => _,
            in("x1") argument,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(not(any(target_arch = "arm", target_os = "none")))]
fn call(operation: u32, argument: usize) {
    panic!("semihosting call {operation:#x} with {argument:#x}: nobody listens here");
}

/// The UART that prints where no debugger answers, as the build describes it.
#[cfg(all(rtmark_uart, cortex_m))]
mod uart {
    use super::Exit;
    use crate::words::{each_write, number};
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicBool, Ordering};

    const CONSOLE: &str = env!("RTMARK_CONSOLE");
    static STARTED: AtomicBool = AtomicBool::new(false);

    /// Prints a text.
    pub fn write(text: &CStr) {
        if !STARTED.load(Ordering::Relaxed) {
            each_write(CONSOLE, |address, value| {
                // SAFETY: registers of the UART and its pins, which nobody else uses.
                unsafe { (address as *mut u32).write_volatile(value) };
            });
            STARTED.store(true, Ordering::Relaxed);
        }
        let [data, status, mask, ready] = [0, 1, 2, 3].map(|at| number(CONSOLE, at));
        for &byte in text.to_bytes() {
            // SAFETY: as above.
            unsafe {
                while (status as *const u32).read_volatile() & mask != ready {}
                (data as *mut u32).write_volatile(u32::from(byte));
            }
        }
    }

    /// Ends the run with a line that says how.
    pub fn exit(how: Exit) -> ! {
        write(if how == Exit::Ok { c"@! 0\n" } else { c"@! 1\n" });
        loop {
            // SAFETY: it only waits.
            unsafe { core::arch::asm!("wfi", options(nomem, nostack, preserves_flags)) };
        }
    }
}

#[cfg(all(rtmark_uart, cortex_m))]
pub use uart::{exit, write};
