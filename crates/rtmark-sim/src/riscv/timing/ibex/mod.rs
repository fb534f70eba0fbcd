//! Ibex with two stages: IF fetches ([`fetch`]), ID/EX decodes, executes and waits for memory
//! ([`pipeline`]).

mod fetch;
mod pipeline;

pub use pipeline::TwoStages;
