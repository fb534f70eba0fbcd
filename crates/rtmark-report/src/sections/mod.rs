//! The parts of a report besides the matrix, each as a list of sheets.

mod built;
mod cold;
mod curves;
mod environment;
mod held;
mod history;
mod worst;

pub use built::{provenance, settings};
pub use cold::cold;
pub use curves::curves;
pub use environment::environment;
pub use held::held;
pub use history::{History, HistoryPoint, histories};
pub use worst::worst_cases;
