//! What a debugger does to a machine besides reading and writing it: start a function instead of
//! the whole program, stop before an instruction, look at one.
//!
//! Nothing here costs the program a cycle or changes a byte that it could read.

use crate::debug::{Access, Controlled, Roles};
use crate::image::Image;
use crate::isa::Disassembly;
use crate::machine::{Machine, on};
use crate::state::stop::{InternalError, Stop};
use crate::state::{
    Blocker, CoreState, Interrupted, LoadError, MaskedInterval, NoMemory, Register,
};
use rtmark_units::Cycles;

impl Machine {
    /// Where a function called by [`Machine::load_and_call`] returns to.
    pub const RETURN_ADDRESS: u32 = crate::debug::RETURN & !1;

    /// Loads as [`Machine::load`] does, and begins the run at `entry`, as a call: when the
    /// function returns, [`Machine::run`] comes back with
    /// [`Stop::Breakpoint`](crate::Stop::Breakpoint) of [`Machine::RETURN_ADDRESS`].
    /// The stack pointer is what the vector table says, whatever that is; a reset
    /// vector is not needed.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories.
    pub fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        on!(&mut self.core, core => core.load_and_call(image, entry))
    }

    /// Has [`Machine::run`] come back with
    /// [`Stop::Breakpoint`](crate::Stop::Breakpoint) when the instruction at an
    /// address is about to execute, as if a breakpoint stood in its place, while
    /// the memory keeps its contents. It goes before a watch of the same address and
    /// before observers, and ends nothing where a condition skips the instruction.
    pub fn stop_before(&mut self, address: u32) {
        on!(&mut self.core, core => core.state.stop_before(address & !1));
    }

    /// Takes back [`Machine::stop_before`] of an address.
    pub fn go_through(&mut self, address: u32) {
        on!(&mut self.core, core => core.state.go_through(address & !1));
    }

    /// Has [`Machine::run`] come back with [`Stop::Resumed`](crate::Stop::Resumed), once, when what an
    /// exception has interrupted is returned to, by whatever return: at the same address, with the same
    /// stack pointer, in the same handler or in none. Another exception may be taken in place of its next
    /// instruction. Code that is not returned to, but jumped to, is not noticed.
    pub fn stop_at_resumption(&mut self, interrupted: Interrupted) {
        on!(&mut self.core, core => core.state.watches_mut().awaited = Some(interrupted));
    }

    /// The mistake of the simulator that was met, if one was: see
    /// [`Stop::Internal`](crate::Stop::Internal).
    pub fn internal_error(&self) -> Option<&InternalError> {
        on!(&self.core, core => core.internal_error())
    }

    /// Has the pipeline's model of this machine and its clones stall at the instruction at an
    /// address. For tests of what becomes of a mistake of the simulator's, which cannot be had
    /// otherwise; of cores without such a model nothing comes of it.
    #[doc(hidden)]
    pub fn sabotage(&mut self, address: u32) {
        on!(&mut self.core, core => core.sabotage(address));
    }

    /// Keeps no more than so many steps of prepared code and so many states of the pipeline, for
    /// tests: what is kept changes speed and nothing else.
    #[doc(hidden)]
    pub fn limit_code(&mut self, steps: usize, states: usize) {
        on!(&mut self.core, core => core.limit_code(steps, states));
    }

    /// How often prepared code has been forgotten for want of room, for tests.
    #[doc(hidden)]
    pub fn evictions(&self) -> u64 {
        on!(&self.core, core => core.evictions())
    }

    /// Stores a word as privileged code would, in no time: also to the core's own
    /// registers and to devices.
    ///
    /// # Errors
    /// When the address is not aligned, or nothing there takes a store.
    pub fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        on!(&mut self.core, core => core.store_word(address, value))
    }

    /// Whether the core has a register.
    pub fn has_register(&self, register: Register) -> bool {
        on!(&self.core, core => core.has_register(register))
    }

    /// Every register that a debugger shows of the core, by name: the integer registers and the
    /// program counter first.
    pub fn named_registers(&self) -> Vec<(&'static str, Register)> {
        on!(&self.core, core => core.named_registers())
    }

    /// The instruction at an address in assembly language, or `None` where there is no
    /// memory. The one at the program counter has the condition that an IT block
    /// around it gives.
    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
        on!(&self.core, core => core.disassembly(address))
    }

    /// How many times a handler has been entered so far, of whatever exception.
    pub fn exceptions_taken(&self) -> u64 {
        on!(&self.core, core => core.exceptions_taken())
    }

    /// Looks from now on for the longest masked interval. Costs the program no cycle, and
    /// the run next to nothing.
    pub fn watch_masks(&mut self) {
        on!(&mut self.core, core => core.watch_masks());
    }

    /// The longest interval between the first and the last hit of any [`Watch`] for which
    /// PRIMASK, FAULTMASK or BASEPRI held interrupts back; of equal ones the first. `None`
    /// where there was none, or [`Machine::watch_masks`] was not called.
    ///
    /// [`Watch`]: crate::Watch
    pub fn longest_masked(&self) -> Option<MaskedInterval> {
        on!(&self.core, core => core.longest_masked())
    }

    /// The mask register that holds interrupts back now, the strongest of them.
    pub fn mask(&self) -> Option<Blocker> {
        on!(&self.core, core => core.mask())
    }

    /// What would hold back an enabled interrupt that has this value in its priority
    /// register, if anything would; a mask register rather than a handler where both do. Of the
    /// external interrupts of this priority it is the one with the lowest number, which is taken
    /// first of those that are pending.
    pub fn holds_back_priority(&self, priority: u8) -> Option<Blocker> {
        on!(&self.core, core => core.holds_back_priority(priority))
    }

    /// Executes one instruction, also one before which the run is to stop, after
    /// whatever is due before it: an exception that is taken first, or a sleep that
    /// ends no later than `until`.
    ///
    /// # Errors
    /// Whatever would have ended a run, with no instruction executed unless it is the
    /// instruction that ends it.
    pub fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        on!(&mut self.core, core => core.step(until))
    }

    /// What the instruction at the program counter will access, as far as it is
    /// executed: of a load or store of several registers all of them. `None` when it
    /// accesses no memory. What an exception saves and restores is not told.
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
    fn a_function_is_called_and_returns() {
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
    fn a_stop_leaves_time_and_memory_alone() {
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
    fn code_in_ram_stops_too() {
        let mut machine = machine();
        machine.load_and_call(&image(&[0xE7FE]), 0x2000_0000).expect("it fits");
        machine.poke(0x2000_0000, &[0x00, 0xBF, 0x70, 0x47]).expect("RAM");
        machine.stop_before(0x2000_0002);
        assert_eq!(machine.run(Cycles(1000)), Stop::Breakpoint(0x2000_0002));
    }

    #[test]
    fn words_reach_the_core_itself() {
        let mut machine = machine();
        machine.load(&image(&[0xE7FE])).expect("it fits");
        machine.store_word(0xE000_ED88, 0x00F0_0000).expect("CPACR");
        assert_eq!(machine.cycles().0, 0);
        assert_eq!(machine.store_word(0x6000_0000, 0), Err(NoMemory(0x6000_0000)));
        assert_eq!(machine.store_word(0xE000_ED89, 0), Err(NoMemory(0xE000_ED89)));
        assert!(machine.has_register(Register::S(31)) && !machine.has_register(Register::R(15)));
    }
}
