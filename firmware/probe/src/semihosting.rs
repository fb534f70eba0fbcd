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

const SYS_WRITE0: u32 = 0x04;
const SYS_EXIT: u32 = 0x18;

/// Prints a text on the host's console.
///
/// # Panics
/// On anything but an Arm core, which has no host to ask.
pub fn write(text: &CStr) {
    call(SYS_WRITE0, text.as_ptr() as usize);
}

/// Ends the run.
///
/// # Panics
/// On anything but an Arm core, which has no host to ask.
pub fn exit(how: Exit) -> ! {
    loop {
        // A debugger may go on after it; ask again then.
        call(SYS_EXIT, how as usize);
    }
}

#[cfg(target_arch = "arm")]
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

#[cfg(not(target_arch = "arm"))]
fn call(operation: u32, argument: usize) {
    panic!("semihosting call {operation:#x} with {argument:#x}: only an Arm core has a host");
}
