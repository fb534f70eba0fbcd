//! Cortex-M33.
use super::{Rules, cortex_m4};

pub const RULES: Rules = Rules { ..cortex_m4::RULES };
