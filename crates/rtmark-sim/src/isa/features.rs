//! The features of a core, by the architecture that it implements.

use crate::soc::{CoreKind, Soc};

/// The architectural features that a core has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// ARMv7-M: IT blocks, wide instructions, BASEPRI, FAULTMASK, configurable faults.
    pub mainline: bool,
    /// Unprivileged code and VTOR, options of ARMv6-M that a Cortex-M0 does not have (DDI 0419, B1.3.1 and B3.2.5;
    /// DDI 0432).
    pub v6m_options: bool,
    /// The DSP extension.
    pub dsp: bool,
    /// Single-precision floating point.
    pub fp: bool,
    /// The additions of FPv5 to FPv4.
    pub fp5: bool,
    /// The Cortex-M7's caches and tightly coupled memories.
    pub caches: bool,
    /// Double precision.
    pub double: bool,
    /// ARMv8-M with the Security Extension, in Secure state: stack limits, acquire and release, different
    /// exception returns.
    pub v8m: bool,
    /// Coprocessors that a chip adds to its core.
    pub coprocessors: bool,
}

impl Features {
    /// Returns the features of a core.
    pub const fn of(core: CoreKind) -> Self {
        Self {
            mainline: core.is_mainline(),
            v6m_options: !matches!(core, CoreKind::CortexM0),
            dsp: core.has_dsp(),
            fp: core.has_fpu(),
            fp5: matches!(core, CoreKind::CortexM7 | CoreKind::CortexM33),
            caches: matches!(core, CoreKind::CortexM7),
            double: core.has_double_precision(),
            v8m: matches!(core, CoreKind::CortexM33),
            coprocessors: false,
        }
    }

    /// Returns the features of a chip's core.
    pub const fn of_chip(soc: &Soc) -> Self {
        Self { coprocessors: soc.coprocessors.is_some(), ..Self::of(soc.core) }
    }
}
