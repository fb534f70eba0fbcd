//! Well-formed logs, hostile logs, and logs of others.

mod ambiguous;
mod cyclictest;
mod forms;
mod hostile;
mod noise;
mod own;
mod pieces;
mod reference;
mod sched;
mod thread_metric;
