//! The differences between the cores: a table of rules for each.
//!
//! A core consists of a [`Rules`] table and a pipeline in `timing`. Instructions, registers, traps
//! and the system outside the core are the same for all of them, unless a rule says otherwise.

use crate::soc::CoreKind;

/// A set of instructions that a core may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extension {
    /// RV32I with Zicsr and Zifencei.
    Base,
    M,
    A,
    C,
    Zcb,
    Zcmp,
    Zba,
    Zbb,
    Zbs,
    Zbkb,
    Xh3bextm,
    Xh3power,
    /// Fences with nonzero reserved fields for finer-grained fences, which base implementations
    /// ignore (unprivileged specification, 2.7, and Zifencei).
    Fences,
    /// Not instructions, but refusals of reserved encodings that some cores execute.
    Strict,
}

/// A set of extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extensions(u32);

impl Extensions {
    const fn of(extensions: &[Extension]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < extensions.len() {
            set |= 1 << extensions[at] as u32;
            at += 1;
        }
        Self(set)
    }

    /// Returns whether an extension is in the set.
    pub const fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u32 & 1 == 1
    }
}

/// The pipelines, each in a folder of `timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stages {
    /// Stages X and M: an access waits in the stage after that in which its instruction executes.
    Hazard3,
    /// Stage ID/EX alone: an instruction stays there until its access completes.
    Ibex,
}

/// How a load or store is handled if its address is not a multiple of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misaligned {
    /// It raises an exception.
    Refused,
    /// It is performed, with two transfers if it crosses a word boundary.
    Split,
}

/// Extra cycles of stage X, for instructions that calculate longer than one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Calculation {
    /// MUL; 0 if it takes no extra cycles.
    pub multiply: u8,
    /// The upper half of a product.
    pub multiply_high: u8,
    /// Divisions and remainders.
    pub divide: u8,
    /// Extra cycles for a negative dividend.
    pub negative_dividend: u8,
    /// Divisions by zero.
    pub divide_by_zero: u8,
}

/// How interrupts reach the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupts {
    /// Through Hazard3's own controller, Xh3irq. Timer and software interrupts arrive a cycle later
    /// than others.
    Xh3irq,
    /// Each through its own line: 15 fast ones and then the external one, controlled by MIE and
    /// MIP.
    Lines,
}

/// The control and status registers, and their writable bits and reset values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers {
    pub set: RegisterSet,
    pub misa: u32,
    pub mvendorid: u32,
    pub marchid: u32,
    pub mimpid: u32,
    /// MSTATUS after a reset.
    pub mstatus: u32,
    /// The writable bits of MIE.
    pub mie: u32,
    /// The writable bits of MTVEC, and those that are always set.
    pub mtvec: (u32, u32),
    /// The writable bits of MCAUSE.
    pub mcause: u32,
    /// The writable bits of MCOUNTEREN.
    pub mcounteren: u32,
    /// MCOUNTINHIBIT after a reset.
    pub mcountinhibit: u32,
    /// A write to one of these is followed by a cycle in which nothing executes, so that interrupts
    /// that it enables are seen.
    pub drains: &'static [u16],
}

/// A set of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterSet {
    /// With protection, triggers, Xh3irq and Xh3power; MTVAL is 0.
    Hazard3,
    /// Without protection and triggers; with MTVAL and CPUCTRLSTS.
    Ibex,
}

/// Whether MINSTRET counts ECALL and EBREAK as retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallRetirement {
    Counted,
    NotCounted,
}

/// The rules of a core.
#[derive(Debug)]
pub struct Rules {
    pub extensions: Extensions,
    pub stages: Stages,
    pub misaligned: Misaligned,
    pub calculation: Calculation,
    pub interrupts: Interrupts,
    pub registers: Registers,
    pub calls: CallRetirement,
    /// The offset of the first instruction from the vectors.
    pub entry: u32,
}

impl Rules {
    /// Returns the rules of a soc's core.
    pub const fn of(core: CoreKind) -> &'static Self {
        match core {
            CoreKind::Ibex => &IBEX,
            _ => &HAZARD3,
        }
    }

    /// Returns the cycle in which the data phase of an access ends, from the cycle in which its
    /// instruction leaves the stage that executes it.
    pub const fn data_phase_end(&self, leaves: u64, waits: u8) -> u64 {
        match self.stages {
            Stages::Hazard3 => leaves + 1 + waits as u64,
            Stages::Ibex => leaves,
        }
    }
}

/// Hazard3 as in RP2350. Sources: its documentation (RP2350 datasheet, 3.8), and traces of its RTL
/// at commit 86fc4e3f.
pub static HAZARD3: Rules = Rules {
    extensions: Extensions::of(&[
        Extension::Base,
        Extension::M,
        Extension::A,
        Extension::C,
        Extension::Zcb,
        Extension::Zcmp,
        Extension::Zba,
        Extension::Zbb,
        Extension::Zbs,
        Extension::Zbkb,
        Extension::Xh3bextm,
        Extension::Xh3power,
    ]),
    stages: Stages::Hazard3,
    misaligned: Misaligned::Refused,
    // 32 bits, two per cycle; a negative dividend takes one more (RTL traces; the documentation
    // says 18 or 19 in all).
    calculation: Calculation {
        multiply: 0,
        multiply_high: 0,
        divide: 17,
        negative_dividend: 1,
        divide_by_zero: 17,
    },
    interrupts: Interrupts::Xh3irq,
    registers: Registers {
        set: RegisterSet::Hazard3,
        // MXL 1, and the letters A, C, I, M, U, X.
        misa: 1 << 30 | 1 << 23 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2 | 1,
        // Raspberry Pi's JEDEC number, and the revision of the RTL (RP2350 datasheet, 3.8.9).
        mvendorid: 0x0000_0493,
        marchid: 27,
        mimpid: 0x86FC_4E3F,
        mstatus: 3 << 11,
        mie: 0x888,
        mtvec: (!2, 0),
        mcause: 0x8000_000F,
        mcounteren: 7,
        mcountinhibit: 0b101,
        drains: &[],
    },
    calls: CallRetirement::Counted,
    entry: 0,
};

/// Ibex in its configuration "small": two stages, RV32IMC, the fast multi-cycle multiplier, no
/// branch target ALU, no cache, no protection. Sources: the Ibex Reference Guide, cited by page;
/// runs of the RTL at commit 5da1679f, which `make rtl` repeats.
pub static IBEX: Rules = Rules {
    // "Standards Compliance".
    extensions: Extensions::of(&[
        Extension::Base,
        Extension::M,
        Extension::C,
        Extension::Fences,
        Extension::Strict,
    ]),
    stages: Stages::Ibex,
    // "Load-Store Unit": Misaligned Accesses.
    misaligned: Misaligned::Split,
    // "Pipeline Details": MUL stalls for 2 cycles, MULH for 3, a division by zero for 1. For other
    // divisions the page says 37; the RTL stalls for 36.
    calculation: Calculation {
        multiply: 2,
        multiply_high: 3,
        divide: 36,
        negative_dividend: 0,
        divide_by_zero: 1,
    },
    // "Exceptions and Interrupts".
    interrupts: Interrupts::Lines,
    // "Control and Status Registers".
    registers: Registers {
        set: RegisterSet::Ibex,
        // MXL 1, and the letters C, I, M, U.
        misa: 1 << 30 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2,
        mvendorid: 0,
        marchid: 22,
        mimpid: 0,
        mstatus: 1 << 7,
        mie: 0x7FFF_0888,
        mtvec: (!0xFF, 1),
        mcause: 0x8000_001F,
        mcounteren: 0,
        mcountinhibit: 0,
        drains: &[0x300, 0x304],
    },
    // According to "Performance Counters", retired instructions are counted; the RTL does not count
    // these.
    calls: CallRetirement::NotCounted,
    // "Exceptions and Interrupts": the reset vector is 0x80 after the boot address.
    entry: 0x80,
};
