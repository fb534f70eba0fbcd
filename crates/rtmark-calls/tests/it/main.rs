//! Judges what is recorded of calls by programs whose calls are known.

mod cycles;
mod executors;
mod handlers;
mod inlined;
mod lookalikes;
mod names;
mod program;
mod rules;
mod system_calls;
mod threads;
mod wrappers;
