//! The state of a Cortex-M machine: architecture, memories, devices and clocks. The only code it keeps is
//! single decoded instructions.
//!
//! The code that executes operations, takes exceptions and advances time changes a [`State`]; it is in
//! [`crate::exec`], [`crate::exceptions`] and [`crate::engine`]. This module defines what a state consists
//! of, and what can be asked of it between instructions.

mod access;
mod blocker;
mod call_state;
mod chain;
mod core_caches;
mod core_state;
mod data_timing;
mod handlers;
mod irq;
mod landmarks;
mod loading;
mod masks;
mod predecode;
pub mod rtt;
mod session;
mod stack_watch;
pub mod stop;
mod types;
mod watches;

use std::sync::Arc;

use crate::arch::armm::dwt::CycleCounts;
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::scs::System;
use crate::devices::{Console, Devices};
use crate::image::Beginning;
use crate::isa::Features;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::timing::memo::{PipeState, PipelineMemo};
use crate::timing::pipeline::FloatUnit;
use crate::timing::{LineMemories, Predictor, Rules, SlowLines, pipeline};

pub use self::blocker::{BlockedInterval, Blocker};
pub use self::call_state::CallState;
pub use self::chain::Chain;
pub use self::core_state::CoreState;
pub use self::handlers::Handlers;
pub use self::irq::{Irq, UnknownIrq};
pub use self::landmarks::Landmarks;
pub use self::loading::{AfterReset, program};
pub use self::masks::{MaskSite, MaskedInterval};
pub use self::predecode::{Decoder, Predecoded};
use self::rtt::Rtt;
pub use self::session::Session;
pub use self::stack_watch::{StackOverflow, StackWatch};
use self::stop::{FaultPolicy, InternalError};
pub use self::types::{
    Convention, FileCalls, Interrupted, LoadError, Register, ThreadStack, UnmappedAddress,
};
pub use self::watches::{Counts, Hit, Overhead, Watch, WatchId, Watches};

/// The state of a machine.
#[derive(Clone, Debug)]
pub struct State {
    pub cpu: Cpu,
    pub bus: Bus,
    pub predecoded: Predecoded,
    pub rules: &'static Rules,
    pub features: Features,
    pub system: System,
    /// Cycles since reset, up to the currently executing instruction.
    pub cycles: u64,
    pub instructions: u64,
    /// How far native code has come.
    #[cfg_attr(
        not(all(feature = "native-code", target_arch = "x86_64", target_os = "linux")),
        expect(dead_code, reason = "there is no native code")
    )]
    pub chain: Chain,
    /// The cycle in which anything other than instructions must be checked next.
    pub deadline: u64,
    pub limit: u64,
    /// From this many cycles before something becomes pending, instructions are checked one by one: see
    /// [`crate::exceptions::interruptible`].
    pub lead: u64,
    /// Instructions that have been abandoned for an interrupt.
    pub abandoned_instructions: u64,
    /// Whether everything that happens now will be taken back.
    pub trial: Trial,
    /// The internal error that ends the run.
    pub failed: Option<Box<InternalError>>,
    /// The state of the pipeline: see [`crate::timing::memo`].
    pub pipe: PipeState,
    pub memo: PipelineMemo,
    /// The branch predictor's state, for a core that has one.
    pub predictor: Predictor,
    /// An address in the line from which code is being fetched; the line consists of the addresses that are
    /// equal to it under the mask. [`NO_LINE`] if the line must be entered anew.
    pub line: u32,
    pub line_mask: u32,
    pub lines: LineMemories,
    /// The memory for whose lines the pipeline waits.
    pub slow: SlowLines,
    /// The address of the instruction that was fetched before it entered the pipeline, or [`NOT_FETCHED`].
    pub fetched: u32,
    /// Accesses or instructions must be checked: see [`crate::exec::protect`].
    pub protected: bool,
    pub guards: Guards,
    /// The counts from which the DWT's counters are derived, except cycles and instructions, which are not
    /// kept here.
    pub spent: CycleCounts,
    /// Accesses count as unprivileged whatever the mode.
    pub as_user: bool,
    /// Stores to addresses that do not respond are dropped, because their fault is already known.
    pub drops_stores: bool,
    pub has_bit_bands: bool,
    pub exclusive: bool,
    /// The event register of WFE and SEV.
    pub event: bool,
    pub sleeping: Option<Sleep>,
    /// The core has slept with SCR.SLEEPDEEP set, which makes no difference here.
    pub slept_deeply: bool,
    pub reset_requested: bool,
    /// Exceptions that will become pending, with the cycle, earliest first.
    pub scheduled: Vec<(u64, u16)>,
    /// Exceptions that have become pending but not yet reached the core, with the cycle in which they do,
    /// earliest first.
    pub arrivals: Vec<(u64, u16)>,
    /// The first cycle in which the Code bus has no fetch left for the program that an exception is about
    /// to interrupt. In the past where it does not matter.
    pub code_free: u64,
    /// The floating-point unit of a core whose pipeline is modelled, as it was in a cycle: when an instruction
    /// entered after which an exception was entered or left. It has not received anything since.
    pub float_unit: (u64, FloatUnit),
    /// The value that belongs to a trap: the address of an access, or an EXC_RETURN value.
    pub trap_value: u32,
    pub console: Console,
    pub fault_policy: FaultPolicy,
    pub file_calls: FileCalls,
    /// What semihosting keeps between calls.
    pub calls: CallState,
    pub watches: Watches,
    pub devices: Devices,
    pub rtt: Rtt,
    /// Bytes that the image puts into RAM and registers, for [`Machine::reset`].
    pub initial: Vec<(u32, Arc<[u8]>)>,
    /// Where the boot ROM lets the image begin, if it says so.
    pub boot: Beginning,
    pub soc: Arc<Soc>,
}

impl State {
    /// Creates a state with empty memories, whose timing lacks some rules.
    pub fn new(soc: &Soc, disabled_rules: pipeline::DisabledRules) -> Self {
        let features = Features::of_chip(soc);
        let rules = Rules::of(soc.core);
        let bus = Bus::new(soc, |memory| {
            // Accesses that end without waiting need not be reported to the memory's timing model.
            memory.timing.wait_states == 0
                && (!rules.model_buses()
                    || pipeline::CoreBus::of_all(memory.range()) == Some(pipeline::CoreBus::USUAL))
        });
        let slow = SlowLines::of(soc, rules);
        let setup = pipeline::Setup {
            generation: soc.generation(),
            matrix: soc.bus_matrix,
            slow: slow.memory(),
            disabled_rules,
        };
        let (watched, stops, landmarks, stops_at_jumps) =
            (Vec::new(), Vec::new(), None, slow.exists());
        let decoder = Decoder { rules, features, watched, stops, landmarks, stops_at_jumps };
        let mut state = Self {
            cpu: Cpu::new(),
            bus,
            predecoded: Predecoded::new(soc, decoder),
            rules,
            features,
            system: System::new(soc, features),
            cycles: 0,
            instructions: 0,
            chain: Chain::default(),
            deadline: 0,
            limit: 0,
            lead: 0,
            abandoned_instructions: 0,
            trial: Trial::Inactive,
            failed: None,
            pipe: PipeState::refilling(true),
            memo: PipelineMemo::new(rules, setup),
            predictor: if rules.predicts_branches {
                Predictor::new()
            } else {
                Predictor::default()
            },
            slow,
            line: NO_LINE,
            fetched: NOT_FETCHED,
            line_mask: u32::MAX,
            lines: slow.read_paths(soc),
            protected: false,
            guards: Guards::default(),
            spent: CycleCounts::default(),
            as_user: false,
            drops_stores: false,
            has_bit_bands: soc.has_bit_bands(),
            exclusive: false,
            event: false,
            sleeping: None,
            slept_deeply: false,
            reset_requested: false,
            scheduled: Vec::new(),
            arrivals: Vec::new(),
            code_free: 0,
            float_unit: (0, FloatUnit::default()),
            trap_value: 0,
            console: Console::default(),
            fault_policy: FaultPolicy::default(),
            file_calls: FileCalls::default(),
            calls: CallState::default(),
            watches: Watches::default(),
            devices: Devices::new(soc),
            rtt: Rtt::default(),
            initial: Vec::new(),
            boot: Beginning::default(),
            soc: Arc::new(soc.clone()),
        };
        state.update_lead();
        state
    }
}

/// A program's progress: what every instruction changes. While a block executes, its schedule determines
/// these values, and the machine's own copy is not updated.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPoint {
    /// The address of the current instruction; while one executes, that of the next.
    pub pc: u32,
    /// Cycles since reset, up to the currently executing instruction.
    pub cycles: u64,
    pub instructions: u64,
    /// The state of the pipeline: see [`crate::timing::memo`].
    pub pipe: PipeState,
}

/// An address at which no instruction can be.
pub(crate) const NOT_FETCHED: u32 = 1;
/// An address that is in no memory's lines.
pub(crate) const NO_LINE: u32 = 1;

/// What a sleeping core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    Interrupt,
    Event,
}

/// The checks that prevent the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The memory protection unit checks every access and fetch.
    pub mpu: bool,
    /// Something else checks loads and stores, or every instruction.
    pub data: bool,
    pub instructions: bool,
}

/// Whether the machine's actions are a trial that will be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    #[default]
    Inactive,
    Active,
    /// The trial reached an action that could not be taken back, and went no further; the pipeline's states
    /// must be numbered anew.
    Failed,
    /// The trial reached such an action because an instruction trapped.
    Trapped,
}
