//! Maps of regions, and what they let through.

use rtmark_sim::CoreKind;

use super::{ENABLE, FULL, GUARDED, MAINLINE, PMSA7, PRIVDEFENA};
use crate::support::*;

/// An access to a map of regions: what is programmed beyond the memories, what is
/// accessed, and whether that is let through.
pub struct Map {
    pub what: &'static str,
    pub cores: &'static [CoreKind],
    pub program: fn(&mut Firmware),
    pub control: u32,
    pub user: bool,
    pub address: u32,
    pub allowed: bool,
}

pub const MAPS: &[Map] = &[
    Map {
        what: "the region with the higher number counts (B3.5.3)",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED, 256, 0, 0).region(3, GUARDED, 256, FULL, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: true,
    },
    Map {
        what: "whatever the order in which they are programmed",
        cores: PMSA7,
        program: |f| {
            f.region(3, GUARDED, 256, 0, 0).region(2, GUARDED, 256, FULL, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: false,
    },
    Map {
        what: "a region ends where its size says",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED, 256, 0, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED + 256,
        allowed: true,
    },
    Map {
        what: "a base is cut to the region's size",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED + 0x300, 0x400, 0, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: false,
    },
    Map {
        what: "32 bytes are the least",
        cores: MAINLINE,
        program: |f| {
            f.region(2, GUARDED + 32, 32, 0, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED + 60,
        allowed: false,
    },
    Map {
        what: "256 bytes are the least on ARMv6-M (DDI 0419, B3.5.8)",
        cores: &[CoreKind::CortexM0Plus],
        program: |f| {
            f.region(2, GUARDED, 128, 0, 0);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: true,
    },
    Map {
        what: "a disabled subregion lets the region below through (B3.5.1)",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED, 0x800, 0, 1 << (8 + 3));
        },
        control: ENABLE,
        user: false,
        address: GUARDED + 0x3FC,
        allowed: true,
    },
    Map {
        what: "the subregion beside it counts",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED, 0x800, 0, 1 << (8 + 3));
        },
        control: ENABLE,
        user: false,
        address: GUARDED + 0x400,
        allowed: false,
    },
    Map {
        what: "regions below 256 bytes have no subregions (B3.5.8)",
        cores: MAINLINE,
        program: |f| {
            f.region(2, GUARDED, 128, 0, 0xFF << 8);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: false,
    },
    Map {
        what: "no region, no access",
        cores: PMSA7,
        program: |_| {},
        control: ENABLE,
        user: false,
        address: 0x4000_0000,
        allowed: false,
    },
    Map {
        what: "the background region is there for privileged code (B3.5.5)",
        cores: PMSA7,
        program: |_| {},
        control: ENABLE | PRIVDEFENA,
        user: false,
        address: 0x4000_0000,
        allowed: true,
    },
    Map {
        what: "and for nobody else",
        cores: PMSA7,
        program: |_| {},
        control: ENABLE | PRIVDEFENA,
        user: true,
        address: 0x4000_0000,
        allowed: false,
    },
    Map {
        what: "the private peripheral bus is beyond all regions (B3.5.1)",
        cores: PMSA7,
        program: |f| {
            f.region(7, 0xE000_0000, 1 << 28, 0, 0);
        },
        control: ENABLE,
        user: false,
        address: 0xE000_ED00,
        allowed: true,
    },
    Map {
        what: "one region may be all there is",
        cores: PMSA7,
        program: |f| {
            f.store(MPU_RBAR, 0x17).store(MPU_RASR, 31 << 1 | 1 | FULL << 24);
        },
        control: ENABLE,
        user: true,
        address: 0x5000_0000,
        allowed: true,
    },
    Map {
        what: "a unit that is off checks nothing",
        cores: PMSA7,
        program: |f| {
            f.region(2, GUARDED, 256, 0, 0);
        },
        control: PRIVDEFENA,
        user: true,
        address: GUARDED,
        allowed: true,
    },
    Map {
        what: "aliases of RBAR and RASR program several regions (B3.5.10)",
        cores: MAINLINE,
        program: |f| {
            f.store(MPU_RBAR + 8, GUARDED | 1 << 4 | 4).store(MPU_RASR + 8, 7 << 1 | 1);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: false,
    },
    Map {
        what: "RNR selects where RBAR does not",
        cores: PMSA7,
        program: |f| {
            f.store(MPU_RNR, 6).store(MPU_RBAR, GUARDED).store(MPU_RASR, 7 << 1 | 1);
        },
        control: ENABLE,
        user: false,
        address: GUARDED,
        allowed: false,
    },
];
