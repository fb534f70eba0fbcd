//! How programs print and end without a peripheral: semihosting and Real Time Transfer.

mod rtt;
pub mod semihosting;

pub use self::semihosting::{Call, Host, Reply};
