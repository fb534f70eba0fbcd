//! Interrupts a firmware at every moment of a run, and finds the worst one.
//!
//! The terms, in the order in which you meet them:
//!
//! - a [`Question`] names an interrupt, the windows of a run in which it becomes pending, and what to
//!   measure: only when its handler begins; or also when the task that it wakes runs, when the
//!   interrupted code continues, and how much later a span ends; or whether the program still reaches
//!   its end with its own check passing;
//! - a *point* is one cycle in which the interrupt becomes pending. Every cycle of a window is a point,
//!   including those inside multi-cycle instructions;
//! - a [`Path`] is the run without the interrupt, divided into [`Piece`]s that are searched separately;
//! - [`Findings`] are the results of a search, in a form that does not depend on the order in which
//!   pieces were searched. Findings of parts add up to those of the whole;
//! - a [`Witness`] is one point, run again with every step recorded.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use rtmark_sim::{CoreKind, Machine, Soc};
//! use rtmark_worst::{Aspect, Control, Findings, Path, Question, Reach, Share, Window, search};
//!
//! let soc = Soc::from_toml(include_str!("../../../socs/generic-cortex-m3.toml"))?;
//! let mut machine = Machine::new(&soc);
//! // The stack pointer, reset's vector and that of interrupt 0; cpsid i, four nops, cpsie i, and
//! // back to the first; then the handler, which returns at once.
//! for (address, word) in [(0, 0x2000_1000), (4, 0x81), (0x40, 0x91)] {
//!     machine.poke_word(address, word)?;
//! }
//! for (address, opcode) in [0xB672_u16, 0xBF00, 0xBF00, 0xBF00, 0xBF00, 0xB662, 0xE7F8, 0, 0x4770]
//!     .into_iter()
//!     .enumerate()
//! {
//!     machine.poke(0x80 + 2 * address as u32, &opcode.to_le_bytes())?;
//! }
//! machine.reset()?;
//! let question = Question {
//!     interrupt: 0.into(),
//!     priority: 0,
//!     windows: vec![Window { from: 100, to: 200 }],
//!     reach: Reach::Entry,
//!     patience: 1_000,
//!     woken: None,
//!     ends: Vec::new(),
//!     second: None,
//! };
//! let path = Path::new(machine, question)?;
//! let cancelled = AtomicBool::new(false);
//! let control = Control { cancelled: &cancelled, share: Share::WHOLE, budget: u64::MAX };
//! let found = search(&path, &control, Findings::default(), |_| ())?;
//! let latencies = &found.aspects[&Aspect::Handler];
//! println!("{:?} to {:?} cycles", latencies.least(), latencies.worst());
//! # assert!(latencies.worst().is_some_and(|worst| worst.cycles > 16));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Many points share the same answer. An interrupt that becomes pending between two instruction
//! boundaries is seen at the second one, and while it is held back, the program runs on as if it were
//! not there, unless the program reads what is pending (see [`rtmark_sim::Machine::can_observe_pending`]). So
//! one entry, tried out where the interrupt is no longer held back, answers for all points since the
//! last boundary at which it was free. The tests compare this with runs from reset, one for each point.
//!
//! Two interrupts ([`PairedInterrupt`]) are searched in two nested steps: points of the earlier one that share
//! an answer lead to the same run, and the later one has points along that run. [`Interleaving`]
//! describes how the two met.
//!
//! Findings are exact for the path that a program takes. They are not a bound over all inputs. Inside
//! an instruction that gives way to interrupts, or that reads what is pending, each point is examined
//! separately. If a handler begins sooner than the core allows, the search ends with an error.

mod alone;
mod border;
mod findings;
mod fork;
mod held;
mod meet;
mod pairs;
mod path;
mod search;
mod spans;
mod sweep;
mod witness;

pub use findings::{Aspect, Case, Failure, Findings, Latencies, SLICES, Slice};
pub use fork::{Outcome, Unserved, Verdict};
pub use held::{HeldBack, Stretches};
pub use meet::Interleaving;
pub use path::{PairedInterrupt, Path, PathError, Piece, Question, Reach, Window, find_handlers};
pub use rtmark_units::Share;
pub use search::{Control, search};
pub use spans::{Spans, spans};
pub use witness::{Moment, Witness, WitnessStep};
