//! The pipeline of Cortex-M3 and M4, cycle by cycle.
//!
//! It consists of three stages, the latches between them, and the ports to the buses, each with a
//! type of its own:
//!
//! ```text
//!              FetchToDecode             (enter)
//!   Prefetch ----------------> Decoding ---------> Execute: older, younger
//!    ^    |                       |                   |        ^     |
//!    |    |        ToFetch        |      ToFetch      |        |     | address
//!    |    | <---------------------+-------------------+   data |     v
//!    |    v address                                           DataPort
//!    +-- FetchPort <------------- arbitration -------------------^
//!   word
//! ```
//!
//! Beside the execute stage there is the floating-point unit, if the core has one.
//!
//! A [`Pipeline`] value is a state between two instructions: the earlier one has just entered the
//! execute stage. [`Pipeline::advance`] steps clock by clock until the next one has followed. In
//! each cycle the stages decide, decode first, and then the ports; at the edge that ends the cycle
//! all of it takes effect, and the decode stage may hand its instruction on.
//!
//! The pipeline knows nothing of what instructions do, of memory contents or of interrupts. An
//! instruction is a [`Step`], and what only its execution can show are its [`Facts`]. The
//! differences between chips are in their [`Setup`].
//!
//! Sources: DDI 0337G and DDI 0439 (1.2 prefetch unit, 12 buses, 15.3 branch status, 18.3
//! load/store timings), IHI 0033 (AHB-Lite), and the measurements that the scores come from. Each
//! [`Rule`] names its own. Several of the mechanisms were first found by the CMEmu project, which
//! measured a CC2650 and a CC2652; see NOTICE.

mod decode;
mod drain;
mod execute;
mod fetch;
mod float_unit;
mod lines;
mod overlap;
mod ports;
mod rule;
mod settle;
mod setup;
mod stalled;
mod step;

pub use float_unit::{FloatUnit, FloatUse};
pub use lines::{CodeMemory, DataRead, FarLine, SlowMemory};
pub use rule::{DisabledRules, Rule};
pub use setup::Setup;
pub use stalled::{LONGEST_WAIT, Stalled};
pub use step::{Condition, CoreBus, Facts, Step, Unit, has};

use decode::Decoding;
use execute::{Execute, InFlight};
use fetch::{Prefetch, ToFetch};
use lines::BufferedLine;
use ports::{DataPort, FetchPort, READ_FIRST};

/// Cycles from a branch in the execute stage to its target there, when nothing makes it longer.
const REFILL: u8 = 3;

/// The first address whose code comes over the System bus (DDI 0337G, 12.4).
const SYSTEM: u32 = 0x2000_0000;

/// Returns whether code at an address comes over the System bus.
const fn is_on_system_bus(address: u32) -> bool {
    address >= SYSTEM
}

/// The pipeline between two instructions: the earlier one has just entered the execute stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline {
    setup: Setup,
    prefetch: Prefetch,
    execute: Execute,
    float_unit: FloatUnit,
    fetch_port: FetchPort,
    data_port: DataPort,
    /// Whether the decode stage held its instruction in the cycle before, because a register of its
    /// address was missing or an exception is under way.
    decode_waits: bool,
    /// Whether the newest instruction folded the IT that follows it.
    folded: bool,
    /// Cycles until the next entry that have been counted already. No instruction enters during
    /// them. Negative if the entry before took longer than was counted.
    paid: i8,
    /// Whether the write buffer is on.
    pub buffers: bool,
    /// The line that the slow memory read last.
    buffered: BufferedLine,
    /// Whether the fetches are those of a return's target, which is not known yet.
    returns_unseen: bool,
    /// Whether a line of such a target has been requested.
    asked_unseen: bool,
    /// The distance in bytes from the newest instruction's end to its jump target, if only its
    /// execution could show that.
    leap: Option<u32>,
}

impl Pipeline {
    /// Returns the pipeline as it is when an ISB has just entered the execute stage. On memories of
    /// the Code region without wait states the next instruction enters at once, as far as cycles
    /// are counted: the cost of the refill has been counted by what led here.
    pub fn refilling(setup: Setup, buffers: bool) -> Self {
        Self::refilled(setup, buffers, REFILL)
    }

    /// Returns a pipeline during a refill of which `paid` cycles have been counted. No instruction
    /// enters within them.
    pub fn refilled(setup: Setup, buffers: bool, paid: u8) -> Self {
        let isb = Step { unit: Unit::Barrier, traits: has::WIDE, ..Step::default() };
        let mut isb = InFlight::entering(isb, Condition::None, true);
        isb.branches_late = true;
        Self {
            setup,
            execute: Execute { older: Some(isb), ..Execute::default() },
            paid: paid.try_into().unwrap_or(i8::MAX),
            buffers,
            ..Self::default()
        }
    }

    /// Records what only the execution of the newest instruction could show.
    pub fn learn(&mut self, facts: Facts) {
        if let Some(newest) = self.execute.newest_mut() {
            let bus = facts.bus.unwrap_or(newest.step.bus);
            newest.facts = Facts { bus: Some(bus), reads: DataRead::Nothing, ..facts };
            newest.reads = facts.reads;
        }
    }

    /// Adds `by` to the addresses that are fetched next: they count from 0 between instructions,
    /// and are absolute while the pipeline advances.
    pub fn move_addresses(&mut self, by: u32) {
        self.fetch_port.move_wanted(by);
        self.prefetch.move_addresses(by);
    }

    /// Adds `by` to the addresses of fetches that have been given up. They lie behind the newest
    /// instruction, wherever it jumps.
    pub fn move_given_up(&mut self, by: u32) {
        self.fetch_port.move_given_up(by);
    }

    /// Records that the newest instruction's entry took `taken` cycles, but that `counted` have been
    /// counted for it.
    pub fn correct_count(&mut self, counted: u32, taken: u32) {
        self.paid += (i64::from(counted) - i64::from(taken)) as i8;
    }

    /// Returns whether the newest instruction is a return whose target was fetched before it was
    /// known which half of the word is wanted.
    pub fn is_returning(&self) -> bool {
        self.execute.older.is_some_and(|it| {
            it.step.unit == Unit::Return && !it.branches_late && !it.is_skipped() && it.cycle == 0
        })
    }

    /// Records that a return's target is the second half of its word.
    pub fn return_to_second_half(&mut self, pc: u32) {
        if !self.prefetch.plan.narrow(pc) && !self.fetch_port.narrow(pc & !3) {
            self.prefetch.drop_half();
        }
    }

    /// Runs until `step`, at `pc`, enters the execute stage. Returns the cycles since the previous
    /// instruction's entry. `taken` tells whether a branch that the decode stage makes is taken.
    ///
    /// # Errors
    ///
    /// Fails when the step never enters, which is a fault of this model.
    pub fn advance(
        &mut self,
        pc: u32,
        step: &Step,
        condition: Condition,
        taken: bool,
        target: u32,
    ) -> Result<u32, Stalled> {
        if std::mem::take(&mut self.folded) && step.is(has::IT) {
            return Ok(0);
        }
        let mut decoding = Decoding::new(pc, step, condition, taken, target);
        let paid = i32::from(std::mem::take(&mut self.paid));
        for cycles in 1..=LONGEST_WAIT {
            decoding.is_held = (cycles as i32) < paid;
            if self.cycle(Some(&mut decoding)) {
                return Ok(cycles.saturating_add_signed(-paid));
            }
        }
        Err(self.stalled(format_args!("{decoding:?} to enter the execute stage")))
    }

    /// Runs one cycle. Returns whether the decoded instruction has entered the execute stage.
    fn cycle(&mut self, mut decoding: Option<&mut Decoding<'_>>) -> bool {
        let mut to_fetch = ToFetch::default();
        if let Some(it) = &mut decoding {
            self.decode(it, &mut to_fetch);
        }
        self.execute(decoding.as_deref().map_or(0, |it| it.pc), &mut to_fetch);
        self.fetch(to_fetch, decoding.as_deref());
        let arriving = self.run_ports(decoding.as_deref_mut());
        // The clock's edge.
        self.execute.clock();
        self.float_unit.clock();
        if to_fetch.clear {
            self.prefetch.to_decode.clear();
        }
        let decoding = decoding.as_deref();
        self.decode_waits = decoding.is_some_and(Decoding::waits);
        let entering = decoding.filter(|it| self.accepts(it));
        if let Some(it) = entering {
            self.enter(it);
        }
        self.prefetch.to_decode.clock(entering.map_or(0, Decoding::leaving), arriving);
        entering.is_some()
    }
}
