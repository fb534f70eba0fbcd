//! One file for each command: its arguments and what it does.

pub mod bisect;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod exit_codes;
pub mod export;
pub mod fairness;
pub mod footprint;
pub mod gate;
pub mod history;
pub mod import;
pub mod list;
pub mod log;
pub mod man;
pub mod merge;
pub mod name;
pub mod prune;
pub mod report;
pub mod rm;
pub mod run;
pub mod show;
pub mod sim;
pub mod study;
pub mod trace;
pub mod why;
pub mod worst;
