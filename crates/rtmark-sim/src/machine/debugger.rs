//! What a debugger does to a machine besides reading and writing it: call a single function instead of
//! running the whole program, stop before an instruction, disassemble one.
//!
//! Nothing here costs the program a cycle or changes a byte that it could read.

use crate::debug::{Access, Controlled, Roles};
use crate::image::Image;
use crate::isa::Disassembly;
use crate::machine::{Machine, on};
use crate::state::stop::{InternalError, Stop};
use crate::state::{
    Blocker, CoreState, Interrupted, LoadError, MaskedInterval, Register, StackOverflow,
    UnmappedAddress,
};
use rtmark_units::Cycles;

impl Machine {
    /// The address to which a function called by [`Machine::load_and_call`] returns.
    pub const RETURN_ADDRESS: u32 = crate::debug::RETURN & !1;

    /// Loads an image as [`Machine::load`] does, then sets up a call to the function at `entry`. When that
    /// function returns, [`Machine::run`] ends with [`Stop::Breakpoint`](crate::Stop::Breakpoint) at
    /// [`Machine::RETURN_ADDRESS`].
    ///
    /// On a Cortex-M, the stack pointer is taken from the vector table unchecked, and a reset vector is not
    /// needed. On other cores, the stack begins at the end of the last RAM.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories.
    pub fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        on!(&mut self.core, core => core.load_and_call(image, entry))
    }

    /// Makes [`Machine::run`] end with [`Stop::Breakpoint`](crate::Stop::Breakpoint) when the instruction
    /// at `address` is about to execute.
    ///
    /// It acts like a breakpoint in place of the instruction, but memory keeps its contents. The stop takes
    /// precedence over a watch of the same address and over observers. It does not end the run when the
    /// instruction's condition fails.
    pub fn stop_before(&mut self, address: u32) {
        on!(&mut self.core, core => core.state.stop_before(address & !1));
    }

    /// Removes the stop that [`Machine::stop_before`] set at an address.
    pub fn remove_stop(&mut self, address: u32) {
        on!(&mut self.core, core => core.state.remove_stop(address & !1));
    }

    /// Makes [`Machine::run`] end once, with [`Stop::Resumed`](crate::Stop::Resumed), when the code that an
    /// exception has interrupted resumes.
    ///
    /// Any exception return counts that leads to the same address, with the same stack pointer, in the same
    /// handler or in none. Another exception may still be taken before the next instruction of that code.
    /// Reaching the code by a jump rather than an exception return is not noticed.
    pub fn stop_at_resumption(&mut self, interrupted: Interrupted) {
        on!(&mut self.core, core => core.state.watches_mut().awaited = Some(interrupted));
    }

    /// Returns the simulator's internal error if the run met one: see
    /// [`Stop::Internal`](crate::Stop::Internal).
    pub fn internal_error(&self) -> Option<&InternalError> {
        on!(&self.core, core => core.internal_error())
    }

    /// Makes the pipeline model of this machine and its clones stall at the instruction at `address`, for
    /// tests of how internal errors are handled, which cannot be provoked otherwise. Has no effect on cores
    /// without such a model.
    #[doc(hidden)]
    pub fn inject_pipeline_stall(&mut self, address: u32) {
        on!(&mut self.core, core => core.inject_pipeline_stall(address));
    }

    /// Translates nothing into native code, for tests: that affects speed and nothing else.
    #[doc(hidden)]
    pub fn use_no_native_code(&mut self) {
        on!(&mut self.core, core => core.use_no_native_code());
    }

    /// Limits how many steps of translated code and how many pipeline states are kept, for tests: the
    /// limits affect speed and nothing else.
    #[doc(hidden)]
    pub fn limit_code(&mut self, steps: usize, states: usize) {
        on!(&mut self.core, core => core.limit_code(steps, states));
    }

    /// Returns how often translated code has been evicted for lack of room, for tests.
    #[doc(hidden)]
    pub fn evictions(&self) -> u64 {
        on!(&self.core, core => core.evictions())
    }

    /// Stores a word as privileged code would, in zero time, including to the core's own registers and to
    /// devices.
    ///
    /// # Errors
    /// When the address is not aligned, or nothing there accepts a store.
    pub fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        on!(&mut self.core, core => core.store_word(address, value))
    }

    /// Returns whether the core has a register.
    pub fn has_register(&self, register: Register) -> bool {
        on!(&self.core, core => core.has_register(register))
    }

    /// Returns every core register that a debugger shows, with its name; the integer registers and the
    /// program counter come first.
    pub fn named_registers(&self) -> Vec<(&'static str, Register)> {
        on!(&self.core, core => core.named_registers())
    }

    /// Disassembles the instruction at `address`, or returns `None` where there is no memory. The
    /// instruction at the program counter is shown with the condition that an enclosing IT block gives it.
    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
        on!(&self.core, core => core.disassembly(address))
    }

    /// Returns how many handlers have been entered so far, for any exception.
    pub fn exceptions_taken(&self) -> u64 {
        on!(&self.core, core => core.exceptions_taken())
    }

    /// Starts looking for the main stack, which begins below `top`, to grow below `end`, on a Cortex-M. This
    /// costs the program no cycle and hardly slows the run.
    ///
    /// Other stacks that the program gives itself among its data are not taken for growth, as long as the lowest
    /// quarter of the first one is as at reset.
    pub fn watch_stack(&mut self, end: u32, top: u32) {
        on!(&mut self.core, core => core.watch_stack(end, top));
    }

    /// Returns where the main stack first grew below the address given to [`Machine::watch_stack`].
    pub fn stack_overflow(&self) -> Option<StackOverflow> {
        on!(&self.core, core => core.stack_overflow())
    }

    /// Starts looking for the longest masked interval. This costs the program no cycle and hardly slows the
    /// run.
    pub fn watch_masks(&mut self) {
        on!(&mut self.core, core => core.watch_masks());
    }

    /// Returns the longest interval, between the first and the last hit of any [`Watch`], during which
    /// PRIMASK, FAULTMASK or BASEPRI held interrupts back; the first one if several are equally long.
    /// Returns `None` if there was none, or if [`Machine::watch_masks`] was not called.
    ///
    /// [`Watch`]: crate::Watch
    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        on!(&self.core, core => core.longest_masked())
    }

    /// Returns the most urgent priority that the program has held back by BASEPRI, as the priority registers
    /// hold it. Returns `None` if it never set BASEPRI, or if [`Machine::watch_masks`] was not called.
    pub fn most_urgent_basepri(&self) -> Option<u8> {
        on!(&self.core, core => core.most_urgent_basepri())
    }

    /// Returns the strongest of the mask registers that currently hold interrupts back.
    pub fn mask(&self) -> Option<Blocker> {
        on!(&self.core, core => core.mask())
    }

    /// Returns what would hold back an enabled interrupt with this value in its priority register, or
    /// `None` if nothing would. If both a mask register and a handler would, the mask register is returned.
    ///
    /// Among external interrupts of this priority, the one meant is that with the lowest number, which is
    /// taken first of those that are pending.
    pub fn priority_blocker(&self, priority: u8) -> Option<Blocker> {
        on!(&self.core, core => core.priority_blocker(priority))
    }

    /// Returns whether an interrupt that is held back would still wake the core, now that it is asleep: one
    /// with this value in its priority register, or, without a priority, any that masks alone hold back.
    ///
    /// What holds back a handler does not always keep the core asleep. On a Cortex-M, an interrupt ends WFI
    /// under PRIMASK, but not under BASEPRI or FAULTMASK or in a handler of the same priority, and WFE not
    /// even under PRIMASK (DDI 0403, B1.5.18 and B1.5.19).
    pub fn would_wake(&self, priority: Option<u8>) -> bool {
        on!(&self.core, core => core.would_wake(priority))
    }

    /// Executes one instruction, even one before which the run is to stop, after handling whatever is due
    /// before it: an exception that is taken first, or a sleep that ends no later than `until`.
    ///
    /// # Errors
    /// Returns whatever would have ended a run. No instruction has executed then, unless it is the
    /// instruction that ended the run.
    pub fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        on!(&mut self.core, core => core.step(until))
    }

    /// Returns the memory access that the instruction at the program counter will perform, or `None` if it
    /// accesses no memory. A load or store of several registers counts as a single access, limited to the
    /// part that is still to be executed. What exception entry and return save and restore is not included.
    pub fn next_access(&self) -> Option<Access> {
        on!(&self.core, core => core.next_access())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cycles, Soc, Stop};

    const BASE: u32 = 0x0800_0000;

    fn machine() -> Machine {
        let text = include_str!("../../../../socs/stm32f405.toml");
        Machine::new(&Soc::from_toml(text).expect("good"))
    }

    fn image(code: &[u16]) -> Image {
        let words = [0x2000_0400_u32, BASE | 9].map(u32::to_le_bytes).concat();
        let code = code.iter().flat_map(|half| half.to_le_bytes());
        Image::from_raw(&words.into_iter().chain(code).collect::<Vec<_>>(), BASE).expect("good")
    }

    #[test]
    fn functions_can_be_called_and_return() {
        // adds r0, r0, r1; bx lr
        let image = image(&[0x1840, 0x4770]);
        let mut machine = machine();
        machine.load_and_call(&image, BASE + 8).expect("it fits");
        machine.set_register(Register::R(0), 40);
        machine.set_register(Register::R(1), 2);
        assert_eq!(machine.run(Cycles(1000)), Stop::Breakpoint(Machine::RETURN_ADDRESS));
        assert_eq!(machine.register(Register::R(0)), 42);
        assert_eq!(machine.register(Register::R(13)), 0x2000_0400);
        assert_eq!(machine.instructions().0, 2);
    }

    #[test]
    fn stops_change_neither_time_nor_memory() {
        // nop; nop; b .
        let image = image(&[0xBF00, 0xBF00, 0xE7FE]);
        let mut machine = machine();
        machine.load(&image).expect("it fits");
        machine.stop_before(BASE + 0xA);
        assert_eq!(machine.run(Cycles(1000)), Stop::Breakpoint(BASE + 0xA));
        assert_eq!((machine.instructions().0, machine.register(Register::Pc)), (1, BASE + 0xA));
        assert_eq!(machine.peek(BASE + 0xA, 2), [0x00, 0xBF]);
    }

    #[test]
    fn stops_work_in_ram() {
        let mut machine = machine();
        machine.load_and_call(&image(&[0xE7FE]), 0x2000_0000).expect("it fits");
        machine.poke(0x2000_0000, &[0x00, 0xBF, 0x70, 0x47]).expect("RAM");
        machine.stop_before(0x2000_0002);
        assert_eq!(machine.run(Cycles(1000)), Stop::Breakpoint(0x2000_0002));
    }

    #[test]
    fn stores_reach_the_cores_own_registers() {
        let mut machine = machine();
        machine.load(&image(&[0xE7FE])).expect("it fits");
        machine.store_word(0xE000_ED88, 0x00F0_0000).expect("CPACR");
        assert_eq!(machine.cycles().0, 0);
        assert_eq!(machine.store_word(0x6000_0000, 0), Err(UnmappedAddress(0x6000_0000)));
        assert_eq!(machine.store_word(0xE000_ED89, 0), Err(UnmappedAddress(0xE000_ED89)));
        assert!(machine.has_register(Register::S(31)) && !machine.has_register(Register::R(15)));
    }
}
