//! A cycle-model simulator of Arm Cortex-M, usable on its own.
//!
//! The nouns, in the order in which you meet them:
//!
//! - a [`Soc`] is a chip: a core, its clock and its memories, read from TOML;
//! - an [`Image`] is firmware, read from a file's bytes: ELF, Intel HEX, UF2 or raw;
//! - a [`Machine`] is a soc that runs an image. It is a value: clone it and both
//!   copies run on identically;
//! - a [`Watch`] asks the machine to note each time an address is reached, an
//!   exception becomes pending or returns, at no cost in cycles; a [`Hit`] is one
//!   such note;
//! - an [`Observer`] follows a run instruction by instruction, for traces, profiles
//!   and debuggers, in a loop of its own so that other runs pay nothing;
//! - an [`Advance`] is one step of a run, between which an interrupt can be tried out
//!   ([`Machine::try_entry`]) and what holds it back be asked for ([`Blocker`]);
//! - a [`Stop`] says why a run came back, with a [`FaultReport`] when it went wrong.
//!
//! ```
//! use rtmark_sim::{Cycles, Image, Machine, Soc, Stop, Watch};
//!
//! let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml"))?;
//! // The stack pointer and the reset vector, then code: count down from three, and stay.
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
//! The library does no input or output, reads no clock, and knows no kernel and
//! no benchmark. The same image gives the same cycles on every host, for ever, or
//! [`TIMING_MODEL`] changes.
//!
//! Inside, folders are layers, each of which uses only those before it: `soc` and `image` are data
//! from outside; `isa` decodes; `arch`, `memory`, `timing` and `devices` are values; `state` is what
//! a machine consists of, with `host` for how programs print and end; `exec` says what operations
//! do, `exceptions` how the core is interrupted; `engine` executes blocks of code quickly; `debug`
//! looks at runs; and `machine` is the public face.

#![expect(
    clippy::inline_always,
    reason = "the run loop is one function; what it is made of was measured to be slower when called"
)]
#![expect(
    clippy::struct_excessive_bools,
    clippy::match_same_arms,
    reason = "registers are made of bits, and tables have one line for each thing they tell"
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
mod timing;

pub use debug::{Access, AccessKind, Advance, Bound, Instruction, Taken, Tried};
pub use devices::{Level, PinChange, Strictness, Unmodelled};
pub use host::Host;
pub use image::{Architecture, Image, ImageError, ImageFormat, Location, Segment, Symbols};
pub use isa::{Disassembly, check as isa_check};
pub use machine::{LandmarkObserver, Machine, NoPin, NoUart, Observer};
pub use rtmark_units::{Cycles, Hertz, Instructions};
pub use soc::{
    Act, ActHow, BusMatrix, Contents, Control, CoreKind, EnableHow, Erase, Follow, FollowHow,
    Generation, InitWrite, Memory, MemoryKind, MemoryTiming, Peripheral, PeripheralClock,
    PeripheralKind, PeripheralRegister, Pins, Program, Revision, Routes, Scale, SlowRead, Soc,
    SocError, Tier, TimeBase, TimeBaseEnable, TimingBasis,
};
pub use state::stop::{
    ExitStatus, FaultKind, FaultPolicy, FaultReport, InternalError, Stop, Transfer,
};
pub use state::{
    Besides, BlockedInterval, Blocker, Convention, FileCalls, Hit, Interrupted, Landmarks,
    LoadError, MaskSite, MaskedInterval, NoMemory, Register, ThreadStack, Watch, WatchId,
};
pub use timing::{Rule, Score, TIMING_MODEL};
