//! What faults, on which cores, and what is told of it.

use rtmark_sim::{CoreKind, FaultKind};

use crate::support::*;

pub const M0: &[CoreKind] = &[CoreKind::CortexM0, CoreKind::CortexM0Plus];
pub const M4F: &[CoreKind] = &[CoreKind::CortexM4F];
pub const MAINLINE: &[CoreKind] =
    &[CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4F, CoreKind::CortexM33];
pub const ALL: &[CoreKind] = CoreKind::CORTEX_M;
/// Where no memory and no device is.
pub const NOWHERE: u32 = 0x6000_0000;

/// A fault: what runs before it, the instruction itself, what is reported.
pub struct Fault {
    pub what: &'static str,
    pub cores: &'static [CoreKind],
    pub prepare: fn(&mut Firmware),
    pub instruction: &'static [u16],
    pub kind: FaultKind,
    pub address: Option<u32>,
    /// CFSR as the mainline shows it.
    pub status: u32,
}

pub const NONE: fn(&mut Firmware) = |_| {};
pub const TO_NOWHERE: fn(&mut Firmware) = |firmware| {
    firmware.set(0, NOWHERE);
};
pub const TO_ODD: fn(&mut Firmware) = |firmware| {
    firmware.set(0, RAM + 1);
};
pub const TO_HALF: fn(&mut Firmware) = |firmware| {
    firmware.set(0, RAM + 2);
};
pub const TO_FLASH: fn(&mut Firmware) = |firmware| {
    firmware.set(0, 0x1000);
};

pub const FAULTS: &[Fault] = &[
    Fault {
        what: "UDF",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xDE00],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "UDF.W",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xF7F0, 0xA000],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "UDIV on ARMv6-M",
        cores: M0,
        prepare: NONE,
        instruction: &[0xFBB0, 0xF0F1],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 0,
    },
    Fault {
        what: "a floating-point instruction with the FPU off (B1.5.14)",
        cores: M4F,
        prepare: NONE,
        instruction: &[0xEE30, 0x0A00],
        kind: FaultKind::NoCoprocessor,
        address: None,
        status: 1 << 19,
    },
    Fault {
        what: "a load from nowhere",
        cores: ALL,
        prepare: TO_NOWHERE,
        instruction: &[0x6801],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "a coprocessor that no core has (A5.3.18)",
        cores: MAINLINE,
        prepare: NONE,
        instruction: &[0xEE00, 0x0F10], // mcr p15, 0, r0, c0, c0, 0
        kind: FaultKind::AbsentCoprocessor,
        address: None,
        status: 1 << 19,
    },
    Fault {
        what: "the same by the other half of the encodings",
        cores: MAINLINE,
        prepare: NONE,
        instruction: &[0xFD90, 0x5500], // ldc2 p5, c5, [r0]
        kind: FaultKind::AbsentCoprocessor,
        address: None,
        status: 1 << 19,
    },
    Fault {
        what: "floating point on a core without (A5.3.18)",
        cores: &[CoreKind::CortexM3],
        prepare: NONE,
        instruction: &[0xEE30, 0x0A00],
        kind: FaultKind::NoCoprocessor,
        address: None,
        status: 1 << 19,
    },
    Fault {
        what: "Advanced SIMD, which no core has and no coprocessor is (A5.3.18)",
        cores: MAINLINE,
        prepare: NONE,
        instruction: &[0xEF00, 0x0A10],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "double precision on an FPU that is on (A6.4)",
        cores: M4F,
        prepare: |firmware| {
            firmware.fpu();
        },
        instruction: &[0xEE30, 0x0B00],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 1 << 16,
    },
    Fault {
        what: "coprocessors of ARMv6-M, which knows none (DDI 0419, A5.3)",
        cores: M0,
        prepare: NONE,
        instruction: &[0xEE00, 0x0F10],
        kind: FaultKind::UndefinedInstruction,
        address: None,
        status: 0,
    },
    Fault {
        what: "a store to nowhere with the write buffer off (DDI 0439, ACTLR.DISDEFWBUF)",
        cores: &[CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4F],
        prepare: |firmware| {
            firmware.store(ACTLR, 2).set(0, NOWHERE);
        },
        instruction: &[0x6041],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE + 4),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "a store to nowhere",
        cores: M0,
        prepare: TO_NOWHERE,
        instruction: &[0x6041],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE + 4),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "a store to flash",
        cores: ALL,
        prepare: TO_FLASH,
        instruction: &[0x6001],
        kind: FaultKind::DataAccess,
        address: Some(0x1000),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "an unaligned word on ARMv6-M (DDI 0419, A3.2)",
        cores: M0,
        prepare: TO_HALF,
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 0,
    },
    Fault {
        what: "an unaligned halfword on ARMv6-M",
        cores: M0,
        prepare: TO_ODD,
        instruction: &[0x8001],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 0,
    },
    Fault {
        what: "LDM (A3.2.1)",
        cores: ALL,
        prepare: TO_HALF,
        instruction: &[0xC806],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "STM (A3.2.1)",
        cores: ALL,
        prepare: TO_ODD,
        instruction: &[0xC006],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 1 << 24,
    },
    Fault {
        what: "LDRD (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE9D0, 0x1200],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "STRD (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE9C0, 0x1200],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "LDREX (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_HALF,
        instruction: &[0xE850, 0x1F00],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "LDREXH (A3.2.1)",
        cores: MAINLINE,
        prepare: TO_ODD,
        instruction: &[0xE8D0, 0x1F5F],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 1),
        status: 1 << 24,
    },
    Fault {
        what: "VLDR (A3.2.1)",
        cores: M4F,
        prepare: |firmware| {
            firmware.fpu().set(0, RAM + 2);
        },
        instruction: &[0xED90, 0x0A00],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "an unaligned word where CCR.UNALIGN_TRP forbids it (B3.2.8)",
        cores: MAINLINE,
        prepare: |firmware| {
            firmware.store(CCR, 1 << 3).set(0, RAM + 2);
        },
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "an unaligned word of a device on ARMv8-M (DDI 0553, B6.6)",
        cores: &[CoreKind::CortexM33],
        prepare: |firmware| {
            firmware.set(0, 0x4000_0002);
        },
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(0x4000_0002),
        status: 1 << 24,
    },
    Fault {
        what: "an unaligned word of what MAIR calls Device",
        cores: &[CoreKind::CortexM33],
        prepare: |firmware| {
            // Regions of attribute 0, Normal, for the memories, and of 1, Device.
            firmware.store(0xE000_EDC0, 0x04FF).store(MPU_RNR, 0).store(MPU_RBAR, 2);
            firmware.store(MPU_RASR, 0x3FE1).store(MPU_RNR, 1).store(MPU_RBAR, RAM + 0x1002);
            firmware.store(MPU_RASR, RAM + 0x3FE1).store(MPU_RNR, 2).store(MPU_RBAR, RAM + 2);
            firmware.store(MPU_RASR, RAM + 0xFE3).store(MPU_CTRL, 1).set(0, RAM + 2);
        },
        instruction: &[0x6801],
        kind: FaultKind::Unaligned,
        address: Some(RAM + 2),
        status: 1 << 24,
    },
    Fault {
        what: "a division by zero where CCR.DIV_0_TRP forbids it (B3.2.8)",
        cores: MAINLINE,
        prepare: |firmware| {
            firmware.store(CCR, 1 << 4).set(1, 0);
        },
        instruction: &[0xFBB0, 0xF0F1],
        kind: FaultKind::DivideByZero,
        address: None,
        status: 1 << 25,
    },
    Fault {
        what: "an unaligned load of what is not there: BFAR is the address asked for (B3.2.18)",
        cores: MAINLINE,
        prepare: |firmware| {
            firmware.set(0, NOWHERE + 3);
        },
        instruction: &[0x8801],
        kind: FaultKind::DataAccess,
        address: Some(NOWHERE + 3),
        status: 1 << 9 | 1 << 15,
    },
    Fault {
        what: "BKPT without a debugger (C1.3)",
        cores: ALL,
        prepare: NONE,
        instruction: &[0xBE01],
        kind: FaultKind::Breakpoint,
        address: None,
        status: 0,
    },
    Fault {
        what: "SVC that is masked (B1.5.8)",
        cores: ALL,
        prepare: |firmware| {
            firmware.op(&[CPSID_I]);
        },
        instruction: &[0xDF00],
        kind: FaultKind::SupervisorCall,
        address: None,
        status: 0,
    },
];
