//! What tells the cores apart: a table of rules for each.
//!
//! A core is a line of [`Rules`] and a pipeline in `timing`. Instructions, registers, traps and what is
//! behind the ports are the same for all of them, as far as no rule says otherwise.

use crate::soc::CoreKind;

/// A set of instructions that a core has or lacks.
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
    /// Fences with anything in the fields that are reserved for finer ones, which base implementations
    /// ignore (unprivileged specification, 2.7, and Zifencei).
    Fences,
    /// No instructions, but refusals: of encodings that are reserved and that some cores execute.
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

    /// Whether an extension is in the set.
    pub const fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u32 & 1 == 1
    }
}

/// The pipelines, each in a folder of `timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stages {
    /// Stages X and M: an access is waited for behind the stage in which its instruction executes.
    Hazard3,
    /// Stage ID/EX alone: an instruction stays there until its access has been answered.
    Ibex,
}

/// What becomes of a load or store whose address is no multiple of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misaligned {
    /// It raises an exception.
    Refused,
    /// It is made; where it crosses a word's end by two transfers.
    Split,
}

/// Cycles of stage X behind the first, where an instruction calculates longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Calculation {
    /// MUL; 0 where it takes no longer.
    pub multiply: u8,
    /// The upper half of a product.
    pub multiply_high: u8,
    /// Divisions and remainders.
    pub divide: u8,
    /// What a negative dividend adds to these.
    pub negative_dividend: u8,
    /// Where the divisor is zero.
    pub divide_by_zero: u8,
}

/// How interrupts reach the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupts {
    /// By Hazard3's own controller, Xh3irq; those of timer and software a cycle later than others.
    Xh3irq,
    /// Each by a line of its own: 15 fast ones and then the external one, by MIE and MIP.
    Lines,
}

/// Which registers there are for control and status, and what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers {
    pub set: RegisterSet,
    pub misa: u32,
    pub mvendorid: u32,
    pub marchid: u32,
    pub mimpid: u32,
    /// MSTATUS after a reset.
    pub mstatus: u32,
    /// The bits of MIE that can be set.
    pub mie: u32,
    /// The bits of MTVEC that can be changed, and those that are always set.
    pub mtvec: (u32, u32),
    /// The bits of MCAUSE that can be set.
    pub mcause: u32,
    /// The bits of MCOUNTEREN that can be set.
    pub mcounteren: u32,
    /// MCOUNTINHIBIT after a reset.
    pub mcountinhibit: u32,
    /// A write of these is followed by a cycle in which nothing executes, so that interrupts which it
    /// lets through are seen.
    pub drains: &'static [u16],
}

/// The sets of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterSet {
    /// With protection, triggers, Xh3irq and Xh3power; MTVAL is 0.
    Hazard3,
    /// Without protection and triggers; with MTVAL and CPUCTRLSTS.
    Ibex,
}

/// Whether ECALL and EBREAK count as retired in MINSTRET.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Calls {
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
    pub calls: Calls,
    /// Where the first instruction is, from the place of the vectors.
    pub entry: u32,
}

impl Rules {
    /// The rules of the core that a soc has.
    pub const fn of(core: CoreKind) -> &'static Self {
        match core {
            CoreKind::Ibex => &IBEX,
            _ => &HAZARD3,
        }
    }

    /// The cycle in which the data of an access comes or has gone, by the one in which its instruction
    /// leaves the stage that executes it.
    pub const fn data_ends(&self, leaves: u64, waits: u8) -> u64 {
        match self.stages {
            Stages::Hazard3 => leaves + 1 + waits as u64,
            Stages::Ibex => leaves,
        }
    }
}

/// Hazard3 as in RP2350. Sources: its documentation (RP2350 datasheet, 3.8), and traces of its RTL at
/// commit 86fc4e3f.
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
    // 32 bits, two at a time; a negative dividend takes one more (RTL traces; the documentation says
    // 18 or 19 in all).
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
    calls: Calls::Counted,
    entry: 0,
};

/// Ibex in its configuration "small": two stages, RV32IMC, the fast multiplier of several cycles, no
/// branch target ALU, no cache, no protection. Sources: the Ibex Reference Guide, named by its pages;
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
    // "Pipeline Details": MUL stalls for 2 cycles, MULH for 3, a division by zero for 1. The page has
    // 37 for other divisions; the RTL stalls for 36.
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
    // "Performance Counters" counts instructions that retire; the RTL leaves those out.
    calls: Calls::NotCounted,
    // "Exceptions and Interrupts": the reset vector is 0x80 behind the boot address.
    entry: 0x80,
};
