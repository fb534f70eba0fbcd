//! The simulator as its users hold it: what cores do, what it costs, and what can be seen of it.
//!
//! One program, since each would link the whole simulator.

mod armv8m;
mod bit_band;
mod buses;
mod caches;
mod clocks;
mod code_in_ram;
mod cortex_r5;
mod cortex_r5_modes;
mod cuts;
mod debug;
mod exception_entries;
mod exception_returns;
mod exceptions;
mod exclusives;
mod fault_status;
mod faults;
mod float_stacking;
mod hazard3;
mod hostile;
mod ibex;
mod inject;
mod internal_error;
mod interruptible;
mod loops;
mod masking;
mod modes;
mod mpu;
mod narrow_writes;
mod observe;
mod pipeline_bounds;
mod rewriting;
mod riscv_modes;
mod robustness;
mod rom;
mod rv32;
mod sleep;
mod stm32_timers;
mod support;
mod system;
mod timing;
mod trace;
mod unmodelled;
mod watching;
mod windows;
