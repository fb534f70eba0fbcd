//! Interrupts of a Zynq UltraScale+'s Cortex-R5: the controller, a PL390, and what is between the vector
//! and a handler. As the core has one vector for all of them, code looks the handler up. Handlers run with
//! all others off, but for what they do in [`nest`].
//!
//! Registers: IHI 0048, chapter 4. Interrupts of peripherals have the numbers from 32 on there, from 0 on
//! here.

use core::arch::global_asm;

use rtmark_probe::scenario;

use crate::device::{HANDLERS, Handler, Interrupt};
use crate::soc;

/// The controller's distributor, and its interface to the core.
const DISTRIBUTOR: u32 = 0xF900_0000;
const INTERFACE: u32 = DISTRIBUTOR + 0x1000;

const GICD_CTLR: u32 = DISTRIBUTOR;
const GICD_ISENABLER: u32 = DISTRIBUTOR + 0x100;
const GICD_ISPENDR: u32 = DISTRIBUTOR + 0x200;
const GICD_IPRIORITYR: u32 = DISTRIBUTOR + 0x400;
const GICD_ITARGETSR: u32 = DISTRIBUTOR + 0x800;
const GICC_CTLR: u32 = INTERFACE;
const GICC_PMR: u32 = INTERFACE + 0x4;
const GICC_IAR: u32 = INTERFACE + 0xC;
const GICC_EOIR: u32 = INTERFACE + 0x10;

/// The number of a peripheral's first interrupt there.
const FIRST_SHARED: u32 = 32;

#[inline]
fn write(register: u32, value: u32) {
    // SAFETY: a register of the controller, which belongs to this module.
    unsafe { (register as *mut u32).write_volatile(value) };
}

/// Has the controller raise interrupts that are unmasked, and the core take them.
pub fn start_interrupts() {
    write(GICC_PMR, 0xFF);
    write(GICD_CTLR, 1);
    write(GICC_CTLR, 1);
    // SAFETY: the vector leads to their handlers, and no critical section has begun.
    unsafe { aarch32_cpu::interrupt::enable() };
}

/// The word of a bitmap of the controller's that holds an interrupt, and its bit there.
#[inline]
const fn bit(bitmap: u32, interrupt: u16) -> (u32, u32) {
    let number = FIRST_SHARED + interrupt as u32;
    (bitmap + number / 32 * 4, 1 << (number % 32))
}

/// Writes a register of the controller's that has a byte for each interrupt.
#[inline(always)]
fn write_byte(bytes: u32, interrupt: u16, value: u8) {
    let register = bytes + FIRST_SHARED + u32::from(interrupt);
    // SAFETY: a register of the controller's for this interrupt; it can be written by bytes.
    unsafe { (register as *mut u8).write_volatile(value) };
}

/// Lets the interrupt with this number happen.
pub fn unmask_number(interrupt: u16) {
    write_byte(GICD_ITARGETSR, interrupt, 1);
    let (register, bit) = bit(GICD_ISENABLER, interrupt);
    write(register, bit);
}

/// Lets an interrupt happen.
pub fn unmask(interrupt: Interrupt) {
    unmask_number(interrupt as u16);
}

/// Gives an interrupt the next priority below the highest, which all have after reset, if the controller has
/// more than one.
pub fn lower(interrupt: Interrupt) {
    let lower = 1_u8.unbounded_shl(8 - u32::from(soc::PRIORITY_BITS));
    write_byte(GICD_IPRIORITYR, interrupt as u16, lower);
}

/// Lets more urgent interrupts interrupt the rest of a handler, while `body` runs. The core masks them when it
/// enters a handler.
#[inline]
pub fn nest(body: impl FnOnce()) {
    // SAFETY: the vector has saved what the next interrupt overwrites, and handlers hold no critical section.
    unsafe { aarch32_cpu::interrupt::enable() };
    body();
    aarch32_cpu::interrupt::disable();
}

/// Waits until what was written has an effect: behind this, an interrupt that was pended has come.
#[inline]
pub fn barrier() {
    aarch32_cpu::asm::dsb();
    aarch32_cpu::asm::isb();
}

/// Pends an interrupt.
#[inline]
pub fn pend(interrupt: Interrupt) {
    let (register, bit) = bit(GICD_ISPENDR, interrupt as u16);
    write(register, bit);
}

// The interrupted code continues at LR - 4. Its address and status go to its own stack, where System mode
// also keeps the registers that a handler does not. That stack need not be aligned to eight bytes there.
global_asm!(
    ".pushsection .text.rtmark_interrupt, \"ax\", %progbits",
    ".arm",
    ".globl rtmark_interrupt",
    "rtmark_interrupt:",
    "   sub   lr, lr, #4",
    "   srsdb sp!, #0x1f",
    "   cps   #0x1f",
    "   push  {{r0-r3, r12, lr}}",
    "   and   r1, sp, #4",
    "   sub   sp, sp, r1",
    "   push  {{r1, r2}}",
    "   bl    rtmark_handle_interrupt",
    "   pop   {{r1, r2}}",
    "   add   sp, sp, r1",
    "   pop   {{r0-r3, r12, lr}}",
    "   rfeia sp!",
    ".popsection",
);

/// In place of a vector table.
static TABLE: [Handler; soc::INTERRUPTS as usize] = HANDLERS;

#[unsafe(no_mangle)]
extern "C" fn rtmark_handle_interrupt() {
    // SAFETY: a register of the controller, which belongs to this module; reading it acknowledges the
    // interrupt for which the vector was taken.
    let acknowledged = unsafe { (GICC_IAR as *const u32).read_volatile() };
    let interrupt = (acknowledged & 0x3FF).wrapping_sub(FIRST_SHARED);
    match TABLE.get(interrupt as usize) {
        // SAFETY: each is the handler of its interrupt.
        Some(handler) => unsafe { handler() },
        None => scenario::fail_with("nobody handles interrupt", acknowledged),
    }
    write(GICC_EOIR, acknowledged);
}

/// The handler of interrupts that an image has no other one for.
#[unsafe(export_name = "DefaultHandler")]
fn unexpected() {
    scenario::fail("an interrupt came that nobody handles");
}

/// Those of the interrupts that `rtmark worst` injects, where an image has no other one: they return at once.
#[unsafe(no_mangle)]
extern "Rust" fn rtmark_injected() {}

#[unsafe(no_mangle)]
extern "Rust" fn rtmark_injected_too() {}
