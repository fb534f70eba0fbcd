//! One file for each command: its arguments and what it does.

pub mod completions;
pub mod doctor;
pub mod exit_codes;
pub mod list;
pub mod man;
pub mod run;
pub mod sim;
