//! Whether the program was started with stdout closed, as by `>&-` in a shell.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed stdout, so that everything written
//! there is lost without an error. Only code that runs before the runtime can tell.

use std::io;

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_CLOSED: AtomicBool = AtomicBool::new(false);

    // SAFETY: The section holds pointers to functions that the C library calls once before `main`, by the
    // C calling convention (System V ABI, "Initialization and Termination Functions"); its further
    // arguments may be ignored. The function needs nothing of Rust's runtime and does not unwind.
    #[used]
    #[expect(unsafe_code, reason = "the place of the pointer is what makes the function run")]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = look;

    extern "C" fn look() {
        let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
        IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    /// Returns whether stdout was closed before `main`.
    pub fn was_closed() -> bool {
        IS_CLOSED.load(Ordering::Relaxed)
    }
}

/// Returns stdout.
///
/// # Errors
/// If it was closed when the program started: what a write to it would have returned. Only Linux tells.
pub fn stdout() -> io::Result<io::Stdout> {
    #[cfg(target_os = "linux")]
    if linux::was_closed() {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(io::stdout())
}
