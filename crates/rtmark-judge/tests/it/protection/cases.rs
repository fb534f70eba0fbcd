//! Ways into faults.

use crate::support::*;

/// A way into a fault: what runs before its handler notes what it finds, and ends.
pub struct Case {
    pub what: &'static str,
    pub program: fn(&mut Firmware),
    /// Whether the fault has a stack frame of its own to examine.
    pub frame: bool,
}

pub const NOWHERE: u32 = 0x7000_0000;
pub const ENABLE: u32 = 1;
/// Thread mode is unprivileged and on the process stack.
const USER_ON_PSP: u32 = 3;
/// Two places for a process stack: one that regions forbid, one that they allow.
const FORBIDDEN: u32 = RAM + 0x1000;
const ALLOWED: u32 = RAM + 0x1800;

fn memories(firmware: &mut Firmware) -> &mut Firmware {
    firmware.region(0, 0, 0x2_0000, 3, 0).region(1, RAM, 0x1_0000, 3, 0)
}

/// Enables the MPU with a region for privileged code only, then continues in the given thread mode.
fn thread_on(firmware: &mut Firmware, psp: u32, control: u32) -> &mut Firmware {
    memories(firmware).region(2, FORBIDDEN, 0x400, 1, 0).store(MPU_CTRL, ENABLE);
    firmware.set(0, psp).msr(9, 0).set(0, control).msr(20, 0).op(&[0xF3BF, 0x8F6F])
}

/// SVCall's handler returns by this value.
fn returns_by(firmware: &mut Firmware, exc_return: u32) {
    firmware.op(&[0xDF00]).forever();
    firmware.handler(11).set(0, exc_return).op(&[0x4700]);
}

pub const CASES: &[Case] = &[
    Case {
        what: "UDF",
        program: |f| {
            f.op(&[0xDE00]);
        },
        frame: true,
    },
    Case {
        what: "UDF in an IT block",
        program: |f| {
            f.op(&[0x4280, 0xBF01, NOP, 0xDE00, NOP, NOP]); // cmp r0, r0; itttt eq
        },
        frame: true,
    },
    Case {
        what: "a coprocessor",
        program: |f| {
            f.op(&[0xEE00, 0x0F10]);
        },
        frame: true,
    },
    Case {
        what: "floating point with the FPU off or absent",
        program: |f| {
            f.op(&[0xEE30, 0x0A00]);
        },
        frame: true,
    },
    Case {
        what: "Advanced SIMD",
        program: |f| {
            f.op(&[0xEF00, 0x0A10]);
        },
        frame: true,
    },
    Case {
        what: "Arm state",
        program: |f| {
            f.set(0, 0x200).op(&[0x4700]);
        },
        frame: true,
    },
    Case {
        what: "a division by zero",
        program: |f| {
            f.store(CCR, 1 << 9 | 1 << 4).set(1, 0).op(&[0xFBB0, 0xF0F1]);
        },
        frame: true,
    },
    Case {
        what: "an unaligned LDM",
        program: |f| {
            f.set(0, RAM + 2).op(&[0xC806]);
        },
        frame: true,
    },
    Case {
        what: "a load from nowhere",
        program: |f| {
            f.set(0, NOWHERE).op(&[0x6801]);
        },
        frame: true,
    },
    Case {
        what: "code from nowhere",
        program: |f| {
            f.set(0, NOWHERE | 1).op(&[0x4700]);
        },
        frame: true,
    },
    Case {
        what: "code in the range of devices",
        program: |f| {
            f.set(0, 0xA000_0001).op(&[0x4700]);
        },
        frame: true,
    },
    Case {
        what: "unprivileged code and the system space",
        program: |f| {
            f.unprivileged().set(0, 0xE000_ED00).op(&[0x6801]);
        },
        frame: true,
    },
    Case {
        what: "SVC that BASEPRI holds back",
        program: |f| {
            f.store(SHPR2, 0x4000_0000).set(0, 0x20).msr(17, 0).op(&[0xDF00]);
        },
        // B1.5.6: HardFault is reported at the SVC itself. QEMU reports the next instruction.
        frame: false,
    },
    Case {
        what: "UDF that BASEPRI holds back",
        program: |f| {
            f.store(0xE000_ED18, 0x0040_0000).set(0, 0x20).msr(17, 0).op(&[0xDE00]);
        },
        frame: true,
    },
    Case {
        what: "a fault in a handler that is as urgent",
        program: |f| {
            f.store(SHPR2, 0).op(&[0xDF00]);
            f.handler(11).op(&[0xDE00]);
        },
        frame: true,
    },
    Case {
        what: "a fault in a handler that is less urgent",
        program: |f| {
            f.store(SHPR2, 0x8000_0000).op(&[0xDF00]);
            f.handler(11).op(&[0xDE00]);
        },
        frame: true,
    },
    Case {
        what: "a frame on a stack that is forbidden, for a less urgent exception",
        program: |f| {
            f.store(SHPR2, 0x8000_0000);
            thread_on(f, FORBIDDEN + 0x100, USER_ON_PSP).op(&[0xDF00]);
        },
        frame: false,
    },
    Case {
        what: "a frame on a stack that is forbidden, for a fault of the same kind",
        program: |f| {
            thread_on(f, FORBIDDEN + 0x100, USER_ON_PSP).set(0, FORBIDDEN).op(&[0x6801]);
        },
        frame: false,
    },
    Case {
        what: "a frame on a stack that is forbidden, for another fault",
        program: |f| {
            thread_on(f, FORBIDDEN + 0x100, USER_ON_PSP).op(&[0xDE00]);
        },
        frame: false,
    },
    Case {
        what: "a frame half on a stack that is forbidden",
        program: |f| {
            f.store(SHPR2, 0x8000_0000);
            thread_on(f, FORBIDDEN + 0x410, USER_ON_PSP).op(&[0xDF00]);
        },
        frame: false,
    },
    Case {
        what: "a stack nowhere",
        program: |f| {
            f.store(SHPR2, 0x8000_0000).set(0, NOWHERE + 0x100).msr(9, 0);
            f.set(0, 2).msr(20, 0).op(&[0xDF00]);
        },
        frame: false,
    },
    Case {
        what: "a return to a stack that is forbidden",
        program: |f| {
            thread_on(f, ALLOWED, USER_ON_PSP).op(&[0xDF00]);
            f.handler(11).set(0, FORBIDDEN + 0x100).msr(9, 0).op(&[BX_LR]);
        },
        frame: false,
    },
    Case {
        what: "a return to a stack nowhere",
        program: |f| {
            thread_on(f, ALLOWED, 2).op(&[0xDF00]);
            f.handler(11).set(0, NOWHERE).msr(9, 0).op(&[BX_LR]);
        },
        frame: false,
    },
    Case {
        what: "a return to thread mode past an active exception",
        program: |f| {
            f.store(SHPR3, 0x00C0_0000).store(ICSR, 1 << 28).op(&[0xF3BF, 0x8F6F]).forever();
            f.handler(14).op(&[0xDF00]);
            f.handler(11).set(0, 0xFFFF_FFF9).op(&[0x4700]);
        },
        frame: false,
    },
    Case {
        what: "a return to a handler that is none",
        program: |f| returns_by(f, 0xFFFF_FFF1),
        frame: false,
    },
    Case { what: "no such return", program: |f| returns_by(f, 0xFFFF_FFF5), frame: false },
    Case {
        what: "an access in a handler to what it must not touch",
        program: |f| {
            f.store(SHPR2, 0x8000_0000);
            memories(f).region(2, FORBIDDEN, 0x400, 0, 0).store(MPU_CTRL, ENABLE).op(&[0xDF00]);
            f.handler(11).set(2, FORBIDDEN).op(&[0x6011]);
        },
        frame: true,
    },
    Case {
        what: "LDM across the border of a region",
        program: |f| {
            memories(f).region(2, FORBIDDEN, 0x400, 0, 0).store(MPU_CTRL, ENABLE);
            f.set(2, FORBIDDEN - 4).op(&[0xCA18]); // ldm r2!, {r3, r4}
        },
        frame: true,
    },
    Case {
        what: "a word across the border of a region",
        program: |f| {
            memories(f).region(2, FORBIDDEN, 0x400, 0, 0).store(MPU_CTRL, ENABLE);
            f.set(2, FORBIDDEN - 2).op(&[0x6811]);
        },
        frame: true,
    },
];
