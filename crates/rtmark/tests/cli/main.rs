//! The command line as users meet it: run as a process of its own.

#[cfg(unix)]
mod boards;
mod calls;
mod common;
mod debugger;
mod handlers;
mod import;
mod look;
mod main_stack;
mod plain;
mod plan;
mod run;
mod sim;
mod store;
mod study;
mod trace;
#[cfg(target_os = "linux")]
mod typed;
mod windows;
mod worst;
