//! What a debugger does to a machine besides reading and writing it: start a
//! function instead of the whole program, and stop before an instruction.
//!
//! Nothing here costs the program a cycle or changes a byte that it could read.

use crate::engine::Machine;
use crate::image::Image;
use crate::isa::Disassembly;
use crate::state::stop::InternalError;
use crate::state::{LoadError, NoMemory, Register};

/// The link register of a function that [`Machine::load_and_call`] has called: as
/// after a reset. Nothing can stand at the address.
const RETURN: u32 = u32::MAX;

impl Machine {
    /// Where a function called by [`Machine::load_and_call`] returns to.
    pub const RETURN_ADDRESS: u32 = RETURN & !1;

    /// Loads as [`Machine::load`] does, and begins the run at `entry`, as a call: when the
    /// function returns, [`Machine::run`] comes back with
    /// [`Stop::Breakpoint`](crate::Stop::Breakpoint) of [`Machine::RETURN_ADDRESS`].
    /// The stack pointer is what the vector table says, whatever that is; a reset
    /// vector is not needed.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories.
    pub fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        match self.load(image) {
            // A reset that finds no vector to jump to has done everything else.
            Ok(()) | Err(LoadError::NoVectors { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut sp = [0; 4];
        self.state.bus.peek(self.state.system.vector_table, &mut sp);
        self.set_register(Register::Msp, u32::from_le_bytes(sp));
        self.set_register(Register::R(14), RETURN);
        self.set_register(Register::Pc, entry);
        self.stop_before(Self::RETURN_ADDRESS);
        Ok(())
    }

    /// Has [`Machine::run`] come back with
    /// [`Stop::Breakpoint`](crate::Stop::Breakpoint) when the instruction at an
    /// address is about to execute, as if a breakpoint stood in its place, while
    /// the memory keeps its contents. It goes before a watch of the same address and
    /// before observers, and ends nothing where a condition skips the instruction.
    pub fn stop_before(&mut self, address: u32) {
        let stops = &mut self.state.predecoded.decoder.stops;
        if let Err(at) = stops.binary_search(&(address & !1)) {
            stops.insert(at, address & !1);
            self.state.predecoded.forget_all();
        }
    }

    /// Takes back [`Machine::stop_before`] of an address.
    pub fn go_through(&mut self, address: u32) {
        let stops = &mut self.state.predecoded.decoder.stops;
        if let Ok(at) = stops.binary_search(&(address & !1)) {
            stops.remove(at);
            self.state.predecoded.forget_all();
        }
    }

    /// The mistake of the simulator that was met, if one was: see
    /// [`Stop::Internal`](crate::Stop::Internal).
    pub fn internal_error(&self) -> Option<&InternalError> {
        self.state.failed.as_deref()
    }

    /// Has the pipeline's model of this machine and its clones stall at the instruction at an
    /// address. For tests of what becomes of a mistake of the simulator's, which cannot be had
    /// otherwise; of cores without such a model nothing comes of it.
    #[doc(hidden)]
    pub fn sabotage(&mut self, address: u32) {
        self.state.memo.sabotage(address);
        self.state.predecoded.forget_all();
    }

    /// Stores a word as privileged code would, in no time: also to the core's own
    /// registers and to devices.
    ///
    /// # Errors
    /// When the address is not aligned, or nothing there takes a store.
    pub fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        let (control, cycles, facts) = (self.state.cpu.control, self.state.cycles, self.state.pipe);
        self.state.cpu.control = 0;
        let stored = self.state.write_aligned_word(address, value);
        (self.state.cpu.control, self.state.cycles) = (control, cycles);
        self.state.pipe = self.state.pipe.with_facts_of(facts);
        self.state.predecoded.forget_all();
        stored.map_err(|_| NoMemory(address))
    }

    /// Whether the core has a register.
    pub fn has_register(&self, register: Register) -> bool {
        match register {
            Register::R(number) => number < 15,
            Register::Basepri | Register::Faultmask => self.state.features.mainline,
            Register::S(number) => self.state.features.fp && number < 32,
            Register::Fpscr => self.state.features.fp,
            _ => true,
        }
    }

    /// The instruction at an address in assembly language, or `None` where there is no
    /// memory. The one at the program counter has the condition that an IT block
    /// around it gives.
    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
        self.state.disassembly(address)
    }

    /// How many times a handler has been entered so far, of whatever exception.
    pub fn exceptions_taken(&self) -> u64 {
        self.state.watches.taken
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
