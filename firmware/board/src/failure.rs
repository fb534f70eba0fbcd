//! Where panics and unexpected exceptions end: on the console, and with a failed exit.

use core::panic::PanicInfo;

#[cfg(cortex_m)]
use cortex_m_rt::{ExceptionFrame, exception};
use rtmark_probe::scenario;

/// Says the message if it is a plain text. Formatting others would make every image larger by
/// a tenth, and naming the source file would put paths of the machine that built it into the
/// image, which then were another one on each machine.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    match info.message().as_str() {
        Some(message) => scenario::fail_for("panic", message),
        None => scenario::fail("panic"),
    }
}

/// Every fault arrives here, because the separate fault handlers are not enabled.
#[cfg(cortex_m)]
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    scenario::fail_at("HardFault", frame.pc());
}

#[cfg(cortex_m)]
#[exception]
unsafe fn DefaultHandler(number: i16) -> ! {
    // External interrupts are numbered from zero here.
    scenario::fail_with("nobody handles exception number", (16 + i32::from(number)).unsigned_abs());
}
