//! The state of a machine: architecture, memories, devices and clocks, without any cache of code
//! but single decoded instructions.
//!
//! What executes operations, takes exceptions and passes time changes a [`State`], and is to be
//! found in [`crate::exec`], [`crate::exceptions`] and [`crate::engine`]; here is what it consists
//! of, and what can be asked of it while it stands.

mod access;
mod blocker;
mod core_state;
mod handlers;
mod landmarks;
mod loading;
mod masks;
mod predecode;
pub mod rtt;
mod session;
pub mod stop;
mod types;
mod watches;

use std::sync::Arc;

use rtmark_units::Hertz;

use crate::arch::armm::dwt::Spent;
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::scs::System;
use crate::devices::{Console, Devices};
use crate::isa::Features;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::timing::memo::{PipeState, PipelineMemo};
use crate::timing::{LineMemories, Predictor, Rules, SlowLines, pipeline};

pub use self::blocker::{BlockedInterval, Blocker};
pub use self::core_state::CoreState;
pub use self::handlers::Handlers;
pub use self::landmarks::Landmarks;
pub use self::loading::{AfterReset, program};
pub use self::masks::{MaskSite, MaskedInterval};
pub use self::predecode::{Decoder, Predecoded};
use self::rtt::Rtt;
pub use self::session::Session;
use self::stop::{FaultPolicy, InternalError};
pub use self::types::{
    Convention, FileCalls, Interrupted, LoadError, NoMemory, Register, ThreadStack,
};
pub use self::watches::{Besides, Counts, Hit, Watch, WatchId, Watches};

/// The state of a machine.
#[derive(Clone, Debug)]
pub struct State {
    pub cpu: Cpu,
    pub bus: Bus,
    pub predecoded: Predecoded,
    pub rules: &'static Rules,
    pub features: Features,
    pub system: System,
    /// Cycles since reset, up to the instruction that executes.
    pub cycles: u64,
    pub instructions: u64,
    /// When the next look at anything but instructions is due.
    pub deadline: u64,
    pub limit: u64,
    /// Cycles before something becomes pending from which on instructions are looked at one
    /// by one, see [`crate::exceptions::interruptible`].
    pub lead: u64,
    /// Instructions that have given way to an interrupt.
    pub gave_way: u64,
    /// Whether all of this is about to be taken back.
    pub trial: Trial,
    /// The mistake of the simulator that ends the run.
    pub failed: Option<Box<InternalError>>,
    /// How the pipeline stands: see [`crate::timing::memo`].
    pub pipe: PipeState,
    pub memo: PipelineMemo,
    /// What branches are foreseen to do, of a core that learns it.
    pub predictor: Predictor,
    /// An address of the line that code is fetched from, which are those that are equal to
    /// it under the mask; [`NO_LINE`] when it is to be entered anew.
    pub line: u32,
    pub line_mask: u32,
    pub lines: LineMemories,
    /// The memory whose lines the pipeline waits for.
    pub slow: SlowLines,
    /// The instruction that has been fetched before it entered the pipeline, or [`NOT_FETCHED`].
    pub fetched: u32,
    /// Accesses or instructions are looked at, see [`crate::exec::protect`].
    pub protected: bool,
    pub guards: Guards,
    /// What the DWT's counters are worked out from. Cycles and instructions are not
    /// kept here.
    pub spent: Spent,
    /// Accesses count as unprivileged whatever the mode.
    pub as_user: bool,
    /// Stores that nothing answers are dropped: their fault is known already.
    pub drops_stores: bool,
    pub has_bit_bands: bool,
    pub exclusive: bool,
    /// The event register of WFE and SEV.
    pub event: bool,
    pub sleeping: Option<Sleep>,
    pub reset_requested: bool,
    /// Exceptions that will become pending, with the cycle, the earliest first.
    pub scheduled: Vec<(u64, u16)>,
    /// Exceptions on their way to the core, with the cycle in which they come there, the
    /// earliest first.
    pub arrivals: Vec<(u64, u16)>,
    /// The first cycle in which the Code bus has no fetch left for the program that an exception
    /// is about to interrupt; past, where that is of no interest.
    pub code_free: u64,
    /// What a trap is about: the address of an access, or an EXC_RETURN value.
    pub trap_value: u32,
    pub console: Console,
    pub clock: Hertz,
    pub fault_policy: FaultPolicy,
    pub file_calls: FileCalls,
    /// How far the program has read what semihosting offers.
    pub features_read: u32,
    pub watches: Watches,
    pub devices: Devices,
    pub rtt: Rtt,
    /// Bytes that the image puts into RAM and registers, for [`Machine::reset`].
    pub initial: Vec<(u32, Vec<u8>)>,
    pub soc: Arc<Soc>,
}

impl State {
    /// A state with empty memories, whose timing lacks some rules.
    pub fn new(soc: &Soc, left_out: pipeline::LeftOut) -> Self {
        let features = Features::of(soc.core);
        let rules = Rules::of(soc.core);
        let bus = Bus::new(soc, |memory| {
            // Nobody is told of an access that ends quickly.
            memory.timing.wait_states == 0
                && (!rules.model_buses()
                    || pipeline::CoreBus::of_all(memory.range()) == Some(pipeline::CoreBus::USUAL))
        });
        let slow = SlowLines::of(soc, rules);
        let setup = pipeline::Setup {
            generation: soc.generation(),
            matrix: soc.bus_matrix,
            slow: slow.memory(),
            left_out,
        };
        let (watched, stops, landmarks, tells_leaps) =
            (Vec::new(), Vec::new(), None, slow.exists());
        let decoder = Decoder { rules, features, watched, stops, landmarks, tells_leaps };
        let mut state = Self {
            cpu: Cpu::new(),
            bus,
            predecoded: Predecoded::new(soc, decoder),
            rules,
            features,
            system: System::new(soc, features),
            cycles: 0,
            instructions: 0,
            deadline: 0,
            limit: 0,
            lead: 0,
            gave_way: 0,
            trial: Trial::No,
            failed: None,
            pipe: PipeState::refilling(true),
            memo: PipelineMemo::new(rules, setup),
            predictor: if rules.foresees { Predictor::new() } else { Predictor::default() },
            slow,
            line: NO_LINE,
            fetched: NOT_FETCHED,
            line_mask: u32::MAX,
            lines: LineMemories::new(slow.read_paths(soc)),
            protected: false,
            guards: Guards::default(),
            spent: Spent::default(),
            as_user: false,
            drops_stores: false,
            has_bit_bands: soc.has_bit_bands(),
            exclusive: false,
            event: false,
            sleeping: None,
            reset_requested: false,
            scheduled: Vec::new(),
            arrivals: Vec::new(),
            code_free: 0,
            trap_value: 0,
            console: Console::default(),
            clock: soc.clock,
            fault_policy: FaultPolicy::default(),
            file_calls: FileCalls::default(),
            features_read: 0,
            watches: Watches::default(),
            devices: Devices::new(soc),
            rtt: Rtt::default(),
            initial: Vec::new(),
            soc: Arc::new(soc.clone()),
        };
        state.update_lead();
        state
    }
}

/// How far the program has come: what every instruction changes. While a block executes,
/// this is known from its schedule and the machine's own copy rests.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPoint {
    /// The address of the next instruction, while one executes, and of the current one between.
    pub pc: u32,
    /// Cycles since reset, up to the instruction that executes.
    pub cycles: u64,
    pub instructions: u64,
    /// How the pipeline stands: see [`crate::timing::memo`].
    pub pipe: PipeState,
}

/// The address of no instruction.
pub(crate) const NOT_FETCHED: u32 = 1;
/// The address of a line of no memory.
pub(crate) const NO_LINE: u32 = 1;

/// What a sleeping core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    Interrupt,
    Event,
}

/// What wants to look, of all that closes the quick ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The memory protection unit, at everything.
    pub mpu: bool,
    /// Somebody else, at loads and stores, or at each instruction.
    pub data: bool,
    pub instructions: bool,
}

/// Whether what the machine does is tried out, and taken back then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    #[default]
    No,
    Goes,
    /// It came to where it could not have been taken back, and has gone no further: the states of
    /// the pipeline are to be numbered anew.
    Failed,
    /// It came there since an instruction has trapped.
    Trapped,
}
