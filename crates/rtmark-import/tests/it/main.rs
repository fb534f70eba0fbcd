//! Well-formed logs, hostile logs, and logs of others.

mod forms;
mod hostile;
mod reference;
