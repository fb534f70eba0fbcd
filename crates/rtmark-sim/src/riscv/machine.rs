//! A soc with a RISC-V core, and its runs.

use rtmark_units::Cycles;

use super::core::{CycleResult, PipelineObserver};
use super::inputs::{Drive, Input};
use super::state::State;
use super::system::PortWaits;
use crate::soc::Soc;
use crate::state::stop::Stop;

/// A soc with a RISC-V core that runs an image, and what only such a core has: see
/// [`Machine::riscv`](crate::Machine::riscv).
///
/// ```
/// use rtmark_sim::riscv::{Drive, Input};
/// use rtmark_sim::{Cycles, Machine, Register, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../../socs/generic-hazard3.toml"))?;
/// let mut machine = Machine::new(&soc);
/// // csrwi mie, 8: software interrupts are enabled, but not taken; wfi; j .
/// for (at, word) in [0x3044_5073_u32, 0x1050_0073, 0x0000_006F].into_iter().enumerate() {
///     machine.poke(0x8000_0000 + 4 * at as u32, &word.to_le_bytes())?;
/// }
/// let core = machine.riscv().expect("a RISC-V core");
/// core.drive(Input::Software, Drive::High, Cycles(50));
/// assert_eq!(machine.run(Cycles(100)), Stop::Limit);
/// assert_eq!(machine.register(Register::Pc), 0x8000_0008, "it has woken");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RiscV {
    pub(crate) state: State,
    /// The cycle up to which the machine is observed.
    pub(super) limit: Cycles,
    /// The boundary after a point, given by cycle, instructions and traps.
    pub(super) boundary: Option<((u64, u64, u64), u64)>,
}

impl RiscV {
    /// Creates a machine with empty memories. It starts at an image's entry point, or without one
    /// at the first memory's first address, or the vector address of the soc file; its trap vector
    /// is there in any case.
    pub(crate) fn new(soc: &Soc) -> Self {
        Self { state: State::new(soc), limit: Cycles(0), boundary: None }
    }

    /// Adds wait states to every fetch, load and store, in addition to those of the memories.
    pub fn set_port_waits(&mut self, waits: PortWaits) {
        self.state.core.system.ports = waits;
        self.state.core.forget_code();
    }

    /// Drives an interrupt input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, at: Cycles) {
        self.state.drive(input, drive, at);
    }

    /// Runs until the cycle count reaches `until` or something else ends the run.
    pub(super) fn run_on(&mut self, until: Cycles) -> Stop {
        self.state.core.graph.observe_at(None);
        loop {
            if self.state.core.cycle < until.0 {
                self.state.run_graph(until.0);
            }
            if self.state.core.cycle >= until.0 {
                return Stop::Limit;
            }
            if let Err(stop) = self.cycle(until) {
                return stop;
            }
        }
    }

    /// Advances by one cycle, or through a sleep.
    ///
    /// # Errors
    /// The reason why the run ends.
    pub(super) fn cycle(&mut self, until: Cycles) -> Result<CycleResult, Stop> {
        match self.state.due_stop() {
            Some(stop) => Err(stop),
            None => self.step_one_until(until),
        }
    }

    /// Advances by one cycle, or through a sleep, even where the run is to stop.
    pub(super) fn step_one_until(&mut self, until: Cycles) -> Result<CycleResult, Stop> {
        let passed = self.state.step_until(until.0)?;
        self.state.serve_call()?;
        Ok(passed)
    }

    pub(super) fn step_one(&mut self) -> Result<CycleResult, Stop> {
        self.step_one_until(self.limit)
    }

    /// Runs the core until a cycle count is reached or the follower is done. Ignores watches and
    /// stops.
    pub fn run_with_observer(&mut self, until: Cycles, observer: &mut impl PipelineObserver) {
        while self.state.core.cycle < until.0 && !observer.is_done() {
            if self.state.core.step_memoized(until.0, observer).is_none() {
                self.state.core.step_cycle(observer);
            }
        }
    }
}
