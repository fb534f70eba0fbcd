//! The end of a program's main stack, and what to say if the stack has grown beyond it.

use rtmark_sim::{Image, Machine, Memory, Register, StackOverflow};

/// The symbols by which linker scripts name the end of the main stack, or of the data below it: those of
/// cortex-m-rt, CMSIS, rtmark's own firmware, STM32CubeIDE, GNU's scripts and Zephyr.
const ENDS: [&str; 6] =
    ["_stack_end", "__StackLimit", "firmware_bss_end", "_ebss", "__bss_end__", "__bss_end"];

/// Lets a machine look for the main stack to grow beyond its end, if the image says where that is.
///
/// The first symbol that the image has decides. A stack that lies below the data cannot grow into it, and is not
/// looked at; nor is that of a program whose symbol is no address of that memory, because it uses the main stack
/// pointer for other stacks as well.
pub fn watch_main_stack(machine: &mut Machine, image: &Image) {
    let soc = machine.soc();
    if !soc.core.is_cortex_m() || machine.stack_overflow().is_some() {
        return;
    }
    let top = machine.register(Register::Msp);
    let mut rams = soc.memories.iter().map(Memory::range);
    let Some(ram) = rams.find(|ram| ram.contains(&u64::from(top.wrapping_sub(4)))) else { return };
    let named = ENDS.iter().find_map(|name| image.symbols().address_of(name));
    if let Some(end) = named.filter(|&end| ram.contains(&u64::from(end)) && end < top) {
        machine.watch_stack(end, top);
    }
}

/// Describes the overflow that a machine has found, if it has; `place` formats an address.
pub fn stack_overflow(machine: &Machine, place: impl Fn(u32) -> String) -> Option<String> {
    let StackOverflow { cycle, pc, reached, end } = machine.stack_overflow()?;
    Some(format!(
        "the main stack grew to {reached:#010x} in cycle {}, {} bytes beyond its end at {end:#010x}, in {}: \
         from then on it has overwritten other data",
        cycle.0,
        end - reached,
        place(pc)
    ))
}
