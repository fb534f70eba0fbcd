//! The registers of the real-time clocks with a calendar, and their bits.

/// The register layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtcLayout {
    /// Flags are in ISR, where zeros clear them; backup registers are part of the block (RM0090, RM0394 and RM0433,
    /// "RTC registers").
    V2,
    /// Flags are in SR, and SCR clears them (RM0444, RM0440 and RM0490, "RTC registers").
    V3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtcRegister {
    Time,
    Date,
    Subseconds,
    Control,
    Status,
    Dividers,
    WakeupReload,
    Alarm(usize),
    AlarmSubseconds(usize),
    Protection,
    Flags,
    EnabledFlags,
    ClearFlags,
    Backup(usize),
    /// The time of an event on a pin, which never occurs.
    TimeStamp,
    /// Registers of functions without a model.
    Shift,
    Calibration,
    CoarseCalibration,
    Tamper,
    /// What the outputs at pins are.
    Outputs,
}

impl RtcLayout {
    pub const fn register(self, offset: u32) -> Option<RtcRegister> {
        use RtcRegister as R;
        let at = (offset >> 2) as usize;
        Some(match (self, offset) {
            (_, 0x00) => R::Time,
            (_, 0x04) => R::Date,
            (_, 0x0C) => R::Status,
            (_, 0x10) => R::Dividers,
            (_, 0x14) => R::WakeupReload,
            (_, 0x24) => R::Protection,
            (_, 0x2C) => R::Shift,
            (_, 0x30 | 0x34 | 0x38) => R::TimeStamp,
            (Self::V2, 0x08) | (Self::V3, 0x18) => R::Control,
            (Self::V2, 0x28) | (Self::V3, 0x08) => R::Subseconds,
            (Self::V2, 0x3C) | (Self::V3, 0x28) => R::Calibration,
            (Self::V2, 0x1C | 0x20) => R::Alarm(at - 7),
            (Self::V2, 0x44 | 0x48) => R::AlarmSubseconds(at - 17),
            (Self::V2, 0x18) => R::CoarseCalibration,
            (Self::V2, 0x40) => R::Tamper,
            (Self::V2, 0x4C) => R::Outputs,
            (Self::V2, 0x50..=0xCC) => R::Backup(at - 20),
            (Self::V3, 0x40 | 0x48) => R::Alarm(at / 2 - 8),
            (Self::V3, 0x44 | 0x4C) => R::AlarmSubseconds(at / 2 - 8),
            (Self::V3, 0x50) => R::Flags,
            (Self::V3, 0x54) => R::EnabledFlags,
            (Self::V3, 0x5C) => R::ClearFlags,
            _ => return None,
        })
    }
}

/// Bits of CR.
pub mod control {
    /// WUCKSEL.
    pub const WAKEUP_CLOCK: u32 = 7;
    /// REFCKON and DCE.
    pub const CALIBRATES: u32 = 1 << 4 | 1 << 7;
    /// BYPSHAD.
    pub const DIRECT: u32 = 1 << 5;
    /// FMT.
    pub const TWELVE_HOURS: u32 = 1 << 6;
    /// ALRAE and, above it, ALRBE.
    pub const ALARM: u32 = 1 << 8;
    /// WUTE.
    pub const WAKEUP: u32 = 1 << 10;
    /// The lowest of ALRAIE, ALRBIE and WUTIE, in the order of the flags.
    pub const INTERRUPTS: u32 = 12;
    /// ADD1H and SUB1H, which read as zero.
    pub const HOUR: u32 = 1 << 16 | 1 << 17;
    /// TSE, TSIE, and what only the layout with SR has of them: ITSE, TAMPTS and TAMPOE.
    pub const TIME_STAMPS: u32 = 1 << 11 | 1 << 15 | 7 << 24;
}

/// Bits of ISR and ICSR.
pub mod status {
    /// ALRAWF and, above it, ALRBWF.
    pub const ALARM_WRITABLE: u32 = 1;
    /// WUTWF.
    pub const WAKEUP_WRITABLE: u32 = 1 << 2;
    /// INITS.
    pub const IS_SET: u32 = 1 << 4;
    /// RSF.
    pub const SYNCHRONIZED: u32 = 1 << 5;
    /// INITF.
    pub const STOPPED: u32 = 1 << 6;
    /// INIT.
    pub const STOP: u32 = 1 << 7;
    /// The lowest of ALRAF, ALRBF and WUTF in ISR.
    pub const FLAGS: u32 = 8;
}
