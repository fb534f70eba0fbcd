//! Logs: well-formed, hostile, and those of others.

mod forms;
mod hostile;
mod reference;
