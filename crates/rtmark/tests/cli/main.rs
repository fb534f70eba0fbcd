//! The command line as users meet it: run as a process of its own.

mod common;
mod import;
mod look;
mod plain;
mod run;
mod sim;
mod store;
mod study;
mod worst;
