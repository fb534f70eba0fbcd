//! What programs wait for, and look at, in RP2040 and RP2350.

use super::*;

/// The bases of peripherals that both chips have.
struct Rp {
    rig: Rig,
    psm: u32,
    /// As many bits as PSM has.
    powered: u32,
    random_bit: u32,
    dormant: [u32; 2],
    /// STATUS of the flash's select pin, its pad, and its bit in GPIO_HI_IN.
    select: (u32, u32, u32),
}

fn both() -> [Rp; 2] {
    let (rp2040, rp2350) = (machine!("rp2040"), machine!("rp2350"));
    [
        Rp {
            rig: rp2040,
            psm: 0x4001_0000,
            powered: 0x0001_FFFF,
            random_bit: 0x4006_001C,
            dormant: [0x4002_4008, 0x4006_000C],
            select: (0x4001_8008, 0x4002_0018, 1),
        },
        Rp {
            rig: rp2350,
            psm: 0x4001_8000,
            powered: 0x01FF_FFFF,
            random_bit: 0x400E_8020,
            dormant: [0x4004_8008, 0x400E_8010],
            select: (0x4003_0018, 0x4004_0018, 27),
        },
    ]
}

/// RP2040 datasheet, 2.13, and RP2350 datasheet, 7.4: a program that restarts the other core waits for DONE to fall.
#[test]
fn what_is_forced_off_is_not_done() {
    for Rp { mut rig, psm, powered, .. } in both() {
        assert_eq!(rig.read(psm + 0xC), powered);
        let other_core = powered & !(powered >> 1);
        rig.write(psm + 0x2004, other_core);
        assert_eq!(rig.read(psm + 0xC), powered & !other_core);
        rig.write(psm + 0x3004, other_core);
        assert_eq!(rig.read(psm + 0xC), powered);
    }
}

/// RP2040 datasheet, 2.17.5: a program makes numbers of these bits.
#[test]
fn the_random_bit_of_the_ring_oscillator_changes() {
    for Rp { mut rig, random_bit, .. } in both() {
        let bits: Vec<_> = (0..64).map(|_| rig.read(random_bit)).collect();
        assert!(bits.contains(&0) && bits.contains(&1) && bits.iter().all(|bit| *bit < 2));
    }
}

/// MicroPython changes the clock of an RP2350's flash when OUTTOPAD says that the select pin is driven high.
#[test]
fn no_transfer_of_the_flash_is_under_way_when_the_program_looks() {
    let [_, Rp { mut rig, select: (status, ..), .. }] = both();
    assert_eq!(rig.read(status), 0x2_2200);
}

/// A Pico's BOOTSEL button pulls the select pin low, which its pad pulls up.
#[test]
fn nobody_presses_the_button_at_the_flashs_select_pin() {
    for Rp { mut rig, select: (status, pad, bit), .. } in both() {
        let (levels, out, enable) = match bit {
            1 => (0xD000_0008, 0xD000_0030, 0xD000_0040),
            _ => (0xD000_0008, 0xD000_0014, 0xD000_0034),
        };
        assert_eq!(rig.read(status) >> 17 & 1, 1);
        assert_eq!(rig.read(pad) & 0xFF, 0x5A);
        assert_eq!(rig.read(levels) >> bit & 1, 1);
        rig.write(enable, 1 << bit);
        assert_eq!(rig.read(levels) >> bit & 1, 0, "driven");
        rig.write(out, 1 << bit);
        assert_eq!(rig.read(levels) >> bit & 1, 1);
        rig.write(out, 0);
        rig.write(enable, 0);
        rig.write(pad + 0x3000, 1 << 3);
        assert_eq!(rig.read(levels) >> bit & 1, 0, "no longer pulled up");
    }
}

/// RP2040 datasheet, 2.16.5 and 2.17.7: a chip that sleeps until a pin wakes it has no model.
#[test]
fn an_oscillator_that_is_stopped_is_told_of() {
    let [coma, wake] = [b"coma", b"wake"].map(|word| u32::from_be_bytes(*word));
    for (at, oscillator) in [(0, "XOSC"), (1, "ROSC")] {
        for Rp { mut rig, dormant, .. } in both() {
            assert_eq!(rig.read(dormant[at]), wake, "{oscillator}");
            rig.write(dormant[at], wake);
            assert_eq!(rig.0.unmodelled().count(), 0);
            rig.write(dormant[at], coma);
            assert_eq!(rig.0.unmodelled().count(), 1);
            assert_eq!(rig.read(dormant[at]), wake, "it goes on at once");
        }
    }
}

/// RP2350 datasheet, 3.1.8: Arm cores have the timer of the RISC-V cores as well.
#[test]
fn the_risc_v_timer_interrupts_an_arm_core() {
    let mut rp = machine!("rp2350");
    let [control, time, compare] = [0x1A4, 0x1B0, 0x1B8].map(|at| 0xD000_0000 + at);
    assert_eq!([control, compare, compare + 4].map(|at| rp.read(at)), [0xD, u32::MAX, u32::MAX]);
    // Microseconds at 150 MHz.
    rp.until(150 * 40);
    assert_eq!((rp.read(time), rp.read(time + 4)), (40, 0));
    rp.write(compare, 50);
    rp.write(compare + 4, 0);
    rp.until(150 * 50 - 2);
    assert!(!rp.pending(29));
    rp.until(150 * 50);
    assert!(rp.pending(29), "at MTIMECMP");
    // With FULLSPEED it counts cycles.
    rp.write(control, 0xF);
    rp.until(150 * 50 + 11);
    let before = rp.read(time);
    rp.until(150 * 50 + 1_011);
    assert_eq!(rp.read(time), before + 1_000);
    rp.write(0xD000_01A0, 1);
    assert_eq!(rp.0.unmodelled().count(), 0);
    rp.write(control, 0xE);
    assert_eq!(rp.0.unmodelled().count(), 1, "it cannot stand still");
}
