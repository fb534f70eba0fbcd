//! What exceptions are called (DDI 0403, B1.5.2).

/// An exception by its number: the architecture's name, or the interrupt's number.
pub fn exception_name(exception: u16) -> String {
    let name = match exception {
        2 => "NMI",
        3 => "HardFault",
        4 => "MemManage",
        5 => "BusFault",
        6 => "UsageFault",
        7 => "SecureFault",
        11 => "SVCall",
        12 => "DebugMonitor",
        14 => "PendSV",
        15 => "SysTick",
        16.. => return format!("IRQ {}", exception - 16),
        _ => return format!("exception {exception}"),
    };
    name.to_owned()
}
