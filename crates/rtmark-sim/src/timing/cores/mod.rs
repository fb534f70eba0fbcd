//! The timing rules of each core, with their sources.

mod cortex_m0;
mod cortex_m0plus;
mod cortex_m3;
mod cortex_m33;
mod cortex_m4;
mod cortex_m7;

pub use self::cortex_m0::RULES as CORTEX_M0;
pub use self::cortex_m0plus::RULES as CORTEX_M0PLUS;
pub use self::cortex_m3::RULES as CORTEX_M3;
pub use self::cortex_m4::RULES as CORTEX_M4;
pub use self::cortex_m7::RULES as CORTEX_M7;
pub use self::cortex_m33::RULES as CORTEX_M33;
