//! A cycle-model simulator for embedded cores (Arm Cortex-M and Cortex-R5, RISC-V), usable on its own.
//!
//! The main types, in the order in which you meet them:
//!
//! - a [`Soc`] describes a chip: its core, clock, memories and peripherals, read from TOML;
//! - an [`Image`] is firmware, read from the bytes of an ELF, Intel HEX, UF2, DfuSe or raw file;
//! - a [`Machine`] is a soc that runs an image. It is a value: clone it, and both copies continue
//!   identically;
//! - a [`Watch`] asks the machine to record each time an address is reached, or an exception becomes
//!   pending or returns, without costing the program a cycle; each such record is a [`Hit`];
//! - an [`Observer`] follows a run instruction by instruction, for traces, profiles and debuggers.
//!   Observed runs have a loop of their own, so other runs pay nothing for it;
//! - an [`Advance`] is the result of one step of a run. Between steps, an interrupt's entry can be tried
//!   and taken back ([`Machine::try_entry`]), and the machine can report what would hold it back
//!   ([`Blocker`]);
//! - a [`Stop`] is the reason why a run ended, with a [`FaultReport`] if the program faulted.
//!
//! ```
//! use rtmark_sim::{Cycles, Image, Machine, Soc, Stop, Watch};
//!
//! let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml"))?;
//! // The stack pointer and the reset vector, then code that counts down from three and loops forever.
//! let mut bytes = [0x2000_1000_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
//! for opcode in [0x2003_u16, 0x3801, 0xD1FD, 0xE7FE] {
//!     bytes.extend(opcode.to_le_bytes()); // movs r0, #3; subs r0, #1; bne; b .
//! }
//! let mut machine = Machine::new(&soc);
//! machine.load(&Image::from_bytes(&bytes, 0x0800_0000)?)?;
//! machine.watch(Watch::Execute(0x0800_000A)); // the subtraction
//! assert_eq!(machine.run(Cycles(100)), Stop::Limit);
//! let times: Vec<_> = machine.take_hits().iter().map(|hit| hit.cycle.0).take(3).collect();
//! assert_eq!((times[1] - times[0], times[2] - times[1]), (3, 3)); // 1 + 2: a taken branch
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The library performs no input or output, reads no clock, and knows no kernel and no benchmark. The
//! same image takes the same number of cycles on every host, in every version with the same
//! [`TIMING_MODEL`].
//!
//! Inside, each folder is a layer that uses only the layers before it. `soc` and `image` hold the
//! descriptions that come from outside; `isa` decodes instructions; `arch`, `memory`, `timing` and
//! `devices` are values without knowledge of a machine; `state` is everything a machine consists of, and
//! `host` serves semihosting and RTT; `exec` defines what operations do, and `exceptions` how the core
//! enters and leaves handlers; `engine` executes basic blocks quickly; `debug` observes runs and tries
//! interrupts; `machine` is the public interface. The other core families, `riscv` and `armr`, have
//! layers of their own.

#![expect(
    clippy::inline_always,
    reason = "the run loop compiles to one function; its parts measured slower when called"
)]
#![expect(
    clippy::struct_excessive_bools,
    clippy::match_same_arms,
    reason = "registers consist of bits, and tables have one line for each fact"
)]

mod arch;
mod armr;
mod debug;
mod devices;
mod engine;
mod exceptions;
mod exec;
mod host;
mod image;
mod isa;
mod machine;
mod memory;
pub mod riscv;
mod soc;
mod state;
mod superblock;
mod timing;

pub use debug::{Access, AccessKind, Advance, Bound, Elapsed, Instruction, TrialOutcome};
pub use devices::{
    ClockChange, ClockHistory, Level, PinChange, SendFault, Strictness, UnknownClock, Unmodelled,
    WatchdogCause,
};
pub use host::Host;
pub use image::{
    Architecture, Image, ImageError, ImageFormat, Location, Segment, Symbols, source_name,
};
pub use isa::{Disassembly, check as isa_check};
pub use machine::{LandmarkObserver, Machine, Observer, UnknownPin, UnknownUart};
pub use memory::RAM_AT_RESET;
pub use rtmark_units::{Cycles, Hertz, Instructions};
pub use soc::{
    Act, ActHow, Burst, BusMatrix, CacheSizes, ClockCondition, ClockControl, ClockFactor,
    ClockField, ClockNode, ClockOperand, ClockTree, Contents, Control, CoreKind, DmaRequest,
    EnableHow, Erase, Follow, FollowHow, Generation, InitWrite, Memory, MemoryKind, MemoryTiming,
    OutputLine, Peripheral, PeripheralClock, PeripheralKind, PeripheralOutput, PeripheralRegister,
    Pins, Program, PullUp, Pulled, Revision, Routes, Scale, SlowRead, Soc, SocError, SpiInput,
    Tier, TimeBase, TimeBaseEnable, TimingBasis,
};
pub use state::stop::{
    ExitStatus, FaultKind, FaultPolicy, FaultReport, InternalError, Stop, Transfer,
};
pub use state::{
    BlockedInterval, Blocker, Convention, FileCalls, Hit, Interrupted, Irq, Landmarks, LoadError,
    MaskSite, MaskedInterval, Overhead, Register, StackOverflow, ThreadStack, UnknownIrq,
    UnmappedAddress, Watch, WatchId,
};
pub use timing::{Rule, Score, TIMING_MODEL};
