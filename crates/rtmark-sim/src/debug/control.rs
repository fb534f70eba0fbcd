//! What a debugger does to a machine besides reading and writing it: start a
//! function instead of the whole program, and stop before an instruction.
//!
//! Nothing here costs the program a cycle or changes a byte that it could read.

use crate::engine::CortexM;
use crate::image::Image;
use crate::isa::Disassembly;
use crate::state::stop::InternalError;
use crate::state::{LoadError, NoMemory, Register};

/// The link register of a function that [`Machine::load_and_call`](crate::Machine::load_and_call) has called: as
/// after a reset. Nothing can stand at the address.
pub const RETURN: u32 = u32::MAX;

impl CortexM {
    /// See [`Machine::load_and_call`](crate::Machine::load_and_call).
    pub fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        match self.state.load(image) {
            // A reset that finds no vector to jump to has done everything else.
            Ok(()) | Err(LoadError::NoVectors { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut sp = [0; 4];
        self.state.bus.peek(self.state.system.vector_table, &mut sp);
        self.state.set_register(Register::Msp, u32::from_le_bytes(sp));
        self.state.set_register(Register::R(14), RETURN);
        self.state.set_register(Register::Pc, entry);
        self.stop_before(RETURN & !1);
        Ok(())
    }

    /// See [`Machine::stop_before`](crate::Machine::stop_before).
    pub fn stop_before(&mut self, address: u32) {
        let stops = &mut self.state.predecoded.decoder.stops;
        if let Err(at) = stops.binary_search(&(address & !1)) {
            stops.insert(at, address & !1);
            self.state.predecoded.forget_all();
        }
    }

    /// See [`Machine::go_through`](crate::Machine::go_through).
    pub fn go_through(&mut self, address: u32) {
        let stops = &mut self.state.predecoded.decoder.stops;
        if let Ok(at) = stops.binary_search(&(address & !1)) {
            stops.remove(at);
            self.state.predecoded.forget_all();
        }
    }

    /// See [`Machine::internal_error`](crate::Machine::internal_error).
    pub fn internal_error(&self) -> Option<&InternalError> {
        self.state.failed.as_deref()
    }

    /// See [`Machine::limit_code`](crate::Machine::limit_code).
    pub fn limit_code(&mut self, steps: usize, states: usize) {
        self.code.limit(steps);
        self.state.memo.limit(states);
    }

    /// See [`Machine::evictions`](crate::Machine::evictions).
    pub const fn evictions(&self) -> u64 {
        self.code.evictions
    }

    /// See [`Machine::sabotage`](crate::Machine::sabotage).
    pub fn sabotage(&mut self, address: u32) {
        self.state.memo.sabotage(address);
        self.state.predecoded.forget_all();
    }

    /// See [`Machine::store_word`](crate::Machine::store_word).
    pub fn store_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        let (control, cycles, facts) = (self.state.cpu.control, self.state.cycles, self.state.pipe);
        self.state.cpu.control = 0;
        let stored = self.state.write_aligned_word(address, value);
        (self.state.cpu.control, self.state.cycles) = (control, cycles);
        self.state.pipe = self.state.pipe.with_facts_of(facts);
        self.state.predecoded.forget_all();
        stored.map_err(|_| NoMemory(address))
    }

    /// See [`Machine::has_register`](crate::Machine::has_register).
    pub fn has_register(&self, register: Register) -> bool {
        match register {
            Register::R(number) => number < 15,
            Register::Basepri | Register::Faultmask => self.state.features.mainline,
            Register::S(number) => self.state.features.fp && number < 32,
            Register::Fpscr => self.state.features.fp,
            Register::Argument(number) => number < 4,
            Register::Csr(_) => false,
            _ => true,
        }
    }

    /// See [`Machine::disassembly`](crate::Machine::disassembly).
    pub fn disassembly(&self, address: u32) -> Option<Disassembly> {
        self.state.disassembly(address)
    }

    /// See [`Machine::exceptions_taken`](crate::Machine::exceptions_taken).
    pub fn exceptions_taken(&self) -> u64 {
        self.state.watches.taken
    }
}
