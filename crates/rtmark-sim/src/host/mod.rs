//! How programs print and end without a peripheral: semihosting and Real Time Transfer.

mod calls;
mod rtt;
pub mod semihosting;

pub use self::calls::{CallEnvironment, CallResult};
pub use self::semihosting::Host;
