//! Hazard3, with three stages: F fetches ([`fetch`]), X decodes and executes, M waits for memory
//! ([`pipeline`]).

mod fetch;
mod pipeline;

pub use pipeline::ThreeStages;
