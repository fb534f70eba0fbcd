//! The cores that a soc may have, with their names and features.

use std::fmt;

use serde::Deserialize;

/// The exception number of the first interrupt of the core's own, where the interrupt controller has some
/// besides those of peripherals: sixteen software-generated ones, then private ones. No chip has so many
/// others.
pub const FIRST_PRIVATE: u16 = 1024;

/// The cores that the simulator models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CoreKind {
    /// Arm Cortex-M0 (ARMv6-M).
    CortexM0,
    /// Arm Cortex-M0+ (ARMv6-M).
    CortexM0Plus,
    /// Arm Cortex-M3 (ARMv7-M).
    CortexM3,
    /// Arm Cortex-M4 without FPU (ARMv7E-M).
    CortexM4,
    /// Arm Cortex-M4 with FPU (ARMv7E-M, FPv4-SP).
    CortexM4F,
    /// Arm Cortex-M7 with FPU (ARMv7E-M, FPv5 with double precision).
    CortexM7,
    /// Arm Cortex-M33 with DSP, FPU and Security Extension, always in Secure state (ARMv8-M Mainline,
    /// FPv5-SP).
    CortexM33,
    /// Arm Cortex-R5 with FPU (Armv7-R, VFPv3-D16), for real-time systems.
    CortexR5,
    /// Hazard3, the RISC-V core of RP2350, as configured there.
    Hazard3,
    /// Ibex, lowRISC's RISC-V core, in its configuration "small": RV32IMC in two stages.
    Ibex,
}

impl CoreKind {
    /// Every core, in the order in which lists show them.
    pub const ALL: &[Self] = &[
        Self::CortexM0,
        Self::CortexM0Plus,
        Self::CortexM3,
        Self::CortexM4,
        Self::CortexM4F,
        Self::CortexM7,
        Self::CortexM33,
        Self::CortexR5,
        Self::Hazard3,
        Self::Ibex,
    ];

    /// Arm's cores for microcontrollers.
    pub const CORTEX_M: &[Self] = &[
        Self::CortexM0,
        Self::CortexM0Plus,
        Self::CortexM3,
        Self::CortexM4,
        Self::CortexM4F,
        Self::CortexM7,
        Self::CortexM33,
    ];

    /// Returns the name used in soc files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CortexM0 => "cortex-m0",
            Self::CortexM0Plus => "cortex-m0plus",
            Self::CortexM3 => "cortex-m3",
            Self::CortexM4 => "cortex-m4",
            Self::CortexM4F => "cortex-m4f",
            Self::CortexM7 => "cortex-m7",
            Self::CortexM33 => "cortex-m33",
            Self::CortexR5 => "cortex-r5",
            Self::Hazard3 => "hazard3",
            Self::Ibex => "ibex",
        }
    }

    /// Returns the core's architecture, as its manual names it.
    pub const fn architecture(self) -> &'static str {
        match self {
            Self::CortexM0 | Self::CortexM0Plus => "ARMv6-M",
            Self::CortexM3 => "ARMv7-M",
            Self::CortexM4 => "ARMv7E-M",
            Self::CortexM4F => "ARMv7E-M with FPv4-SP",
            Self::CortexM7 => "ARMv7E-M with FPv5-D16",
            Self::CortexM33 => "ARMv8-M Mainline with DSP and FPv5-SP",
            Self::CortexR5 => "Armv7-R with VFPv3-D16",
            Self::Hazard3 => {
                "RV32IMAC with Zba, Zbb, Zbs, Zbkb, Zcb, Zcmp, Zicsr, Zifencei, Xh3bextm, Xh3irq, Xh3pmpm and Xh3power, machine and user mode"
            }
            Self::Ibex => "RV32IMC with Zicsr and Zifencei, machine and user mode",
        }
    }

    /// Returns whether the core implements a mainline architecture: ARMv7-M or ARMv8-M Mainline, not
    /// ARMv6-M.
    pub const fn is_mainline(self) -> bool {
        self.is_cortex_m() && !matches!(self, Self::CortexM0 | Self::CortexM0Plus)
    }

    /// Returns whether the core is one of Arm's for microcontrollers.
    pub const fn is_cortex_m(self) -> bool {
        !matches!(self, Self::CortexR5) && !self.is_riscv()
    }

    /// Returns whether the core is a RISC-V core.
    pub const fn is_riscv(self) -> bool {
        matches!(self, Self::Hazard3 | Self::Ibex)
    }

    /// Returns the most urgent priority that an interrupt can have, as a priority register holds it: 0,
    /// except on a core where greater values are more urgent, of which the upper four bits count.
    pub const fn most_urgent_priority(self) -> u8 {
        match self {
            Self::Hazard3 => 0xF0,
            _ => 0,
        }
    }

    /// Returns whether the core has the DSP extension.
    pub const fn has_dsp(self) -> bool {
        matches!(self, Self::CortexM4 | Self::CortexM4F | Self::CortexM7 | Self::CortexM33)
    }

    /// Returns whether the core has a floating-point unit.
    pub const fn has_fpu(self) -> bool {
        matches!(self, Self::CortexM4F | Self::CortexM7 | Self::CortexM33 | Self::CortexR5)
    }

    /// Returns whether its floating-point unit supports double precision.
    pub const fn has_double_precision(self) -> bool {
        matches!(self, Self::CortexM7 | Self::CortexR5)
    }

    /// Returns whether the core can be configured with bit-banding.
    pub const fn may_have_bit_bands(self) -> bool {
        matches!(self, Self::CortexM3 | Self::CortexM4 | Self::CortexM4F)
    }

    /// Returns the name of an exception on this core, as its architecture names it (DDI 0403, B1.5.2;
    /// RISC-V privileged specification, 3.1.15), or an external interrupt by its own number.
    ///
    /// Exceptions have the numbers of a Cortex-M; an exception of another core has the number of the
    /// Cortex-M exception with the same role.
    pub fn exception_name(self, exception: u16) -> String {
        let name = match (self, exception) {
            (Self::CortexR5, FIRST_PRIVATE..) => {
                let id = exception - FIRST_PRIVATE;
                return if id < 16 { format!("SGI {id}") } else { format!("PPI {id}") };
            }
            (_, 16..) => return format!("IRQ {}", exception - 16),
            (Self::CortexR5, 3) => "abort or undefined instruction",
            (Self::CortexR5, 11) => "SVC",
            (Self::Hazard3 | Self::Ibex, 3) => "exception",
            (Self::Hazard3 | Self::Ibex, 11) => "ECALL",
            (Self::Hazard3 | Self::Ibex, 14) => "software interrupt",
            (Self::Hazard3 | Self::Ibex, 15) => "timer interrupt",
            (_, 2) => "NMI",
            (_, 3) => "HardFault",
            (_, 4) => "MemManage",
            (_, 5) => "BusFault",
            (_, 6) => "UsageFault",
            (_, 7) => "SecureFault",
            (_, 11) => "SVCall",
            (_, 12) => "DebugMonitor",
            (_, 14) => "PendSV",
            (_, 15) => "SysTick",
            _ => return format!("exception {exception}"),
        };
        name.to_owned()
    }

    /// Returns what the core's timing model is based on.
    pub const fn timing_basis(self) -> &'static str {
        match self {
            Self::CortexM0 => {
                "documented: cycle table of the Cortex-M0 manual (DDI 0432), not scored on silicon"
            }
            Self::CortexM0Plus => {
                "documented: cycle table of the Cortex-M0+ manual (DDI 0484), not yet scored on silicon"
            }
            Self::CortexM3 => "measured: a model of its pipeline, scored on silicon",
            Self::CortexM4 | Self::CortexM4F => {
                "measured: a model of its pipeline, scored on silicon, except DSP and floating point, which are from the manual (DDI 0439)"
            }
            Self::CortexM7 => {
                "measured: rules derived from published measurements on an STM32H743 and an STM32H730, because no cycle table is published, each rule with loops that show it; branch prediction, divisions and exceptions estimated; compared with a published interrupt latency of 12 cycles"
            }
            Self::CortexM33 => {
                "measured: rules derived from published measurements on an RP2350, because no cycle table is published, each rule with loops that show it; divisions and exceptions estimated; compared with published figures: interrupt latency (12 of 12 cycles), CoreMark/MHz (0.837 of a Cortex-M4's cycles for 0.846) and FreeRTOS on an RP2350 (a yield in 158 cycles for 160)"
            }
            Self::CortexR5 => {
                "documented: the tables of the Cortex-R4's and R5's manuals (DDI 0363, DDI 0460) as far as they could be read; dual issue and floating point from GCC's description of the core; status registers, exceptions and branch prediction estimated; not scored on silicon"
            }
            Self::Hazard3 => {
                "measured: the model agrees in every cycle with 11,760 runs of its RTL at the revision that RP2350 reports, with wait states and interrupts"
            }
            Self::Ibex => {
                "measured: against its RTL in the configuration \"small\"; `make rtl` compares every cycle of random programs with wait states, traps and interrupts"
            }
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|core| core.name() == name)
    }
}

impl fmt::Display for CoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<'de> Deserialize<'de> for CoreKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|core| core.name()).collect();
            serde::de::Error::custom(format!(
                "unknown core `{name}`, expected one of {}",
                known.join(", ")
            ))
        })
    }
}

/// Coprocessors that a chip adds to its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoprocessorSet {
    /// Those of an RP2350: pins, double precision, redundancy.
    Rp2350,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cortex_m_lists_every_cortex_m_core() {
        let arms = CoreKind::ALL.iter().filter(|core| core.is_cortex_m());
        assert!(arms.eq(CoreKind::CORTEX_M));
    }
}
