//! What a debugger does to a Cortex-M machine besides reading and writing it: call a single function
//! instead of running the whole program, and stop before an instruction.
//!
//! Nothing here costs the program a cycle or changes a byte that it could read.

use rtmark_units::Cycles;

use super::core_model::{Controlled, CoreModel};
use super::observe::Access;
use crate::engine::CortexM;
use crate::host::Host;
use crate::image::Image;
use crate::isa::Disassembly;
use crate::state::stop::{InternalError, Stop};
use crate::state::{Blocker, CoreState, FileCalls, LoadError, Register, State, UnmappedAddress};

/// The link register of a function called by [`Machine::load_and_call`](crate::Machine::load_and_call),
/// which is its value after a reset. No instruction can be at this address.
pub const RETURN: u32 = u32::MAX;

impl CoreModel for CortexM {
    type State = State;

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn run(&mut self, until: Cycles) -> Stop {
        self.run_blocks(until)
    }

    fn without_model(&self) -> Vec<&'static str> {
        let deep = "deep sleep (SCR.SLEEPDEEP): the core's clock and SysTick run on";
        self.state.slept_deeply.then_some(deep).into_iter().collect()
    }

    fn reason(&self, stop: Stop) -> Stop {
        self.final_stop(stop)
    }
}

impl Controlled for CortexM {
    fn load_and_call(&mut self, image: &Image, entry: u32) -> Result<(), LoadError> {
        match self.state.load(image) {
            // A reset that finds no reset vector has done everything else.
            Ok(()) | Err(LoadError::NoVectors { .. }) => {}
            Err(error) => return Err(error),
        }
        self.state.set_register(Register::R(14), RETURN);
        self.state.set_register(Register::Pc, entry);
        self.state.stop_before(RETURN & !1);
        Ok(())
    }

    fn internal_error(&self) -> Option<&InternalError> {
        self.state.failed.as_deref()
    }

    fn use_no_native_code(&mut self) {
        self.code.native_pages.switch_off();
    }

    fn limit_code(&mut self, steps: usize, states: usize) {
        self.code.limit(steps);
        self.state.memo.limit(states);
    }

    fn evictions(&self) -> u64 {
        self.code.evictions
    }

    fn inject_pipeline_stall(&mut self, address: u32) {
        self.state.memo.inject_pipeline_stall(address);
        self.state.predecoded.forget_all();
    }

    fn store_word(&mut self, address: u32, value: u32) -> Result<(), UnmappedAddress> {
        let (control, cycles, facts) = (self.state.cpu.control, self.state.cycles, self.state.pipe);
        self.state.cpu.control = 0;
        let stored = self.state.write_aligned_word(address, value);
        (self.state.cpu.control, self.state.cycles) = (control, cycles);
        self.state.pipe = self.state.pipe.with_facts_of(facts);
        self.state.predecoded.forget_all();
        stored.map_err(|_| UnmappedAddress(address))
    }

    fn has_register(&self, register: Register) -> bool {
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

    fn disassembly(&self, address: u32) -> Option<Disassembly> {
        self.state.disassembly(address)
    }

    fn step(&mut self, until: Cycles) -> Result<(), Stop> {
        let result = self.step_once(until);
        self.or_internal_error(result)
    }

    fn next_access(&self) -> Option<Access> {
        self.access_at_pc()
    }

    fn mask(&self) -> Option<Blocker> {
        self.state.mask()
    }

    fn priority_blocker(&self, priority: u8) -> Option<Blocker> {
        let (nvic, masks) = (&self.state.system.nvic, self.state.masks());
        let group_of = |priority: u8| nvic.group_of(i16::from(nvic.mask_priority(priority)));
        let group = group_of(priority);
        let mask = Blocker::of(masks).filter(|mask| match mask {
            Blocker::Basepri => group >= group_of(masks.basepri),
            _ => true,
        });
        let handled = group >= nvic.active_priority();
        mask.or_else(|| handled.then_some(Blocker::Active(self.state.cpu.ipsr)))
            .or_else(|| nvic.first_pending_before(priority).map(Blocker::Pending))
    }

    fn would_wake(&self, priority: Option<u8>) -> bool {
        self.state.would_wake(priority)
    }

    fn take_defmt(&mut self) -> Vec<u8> {
        self.state.take_defmt()
    }

    fn set_file_calls(&mut self, calls: FileCalls) {
        self.state.file_calls = calls;
    }

    fn serve(&mut self, host: &mut impl Host) {
        self.state.serve(host);
    }
}
