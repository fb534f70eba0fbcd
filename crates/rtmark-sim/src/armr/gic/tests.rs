//! The distributor and the interface, by their registers.

use super::*;

fn gic() -> Gic {
    let soc = Soc::from_toml(include_str!("../../../../../socs/zynqmp-r5.toml")).expect("a soc");
    let mut gic = Gic::of(&soc).expect("it has one");
    gic.write(0, 1, u32::MAX);
    gic.write(0x1000, 1, u32::MAX);
    gic.write(0x1004, 0xFF, u32::MAX);
    gic
}

#[test]
fn the_most_urgent_interrupt_is_acknowledged_first() {
    let mut gic = gic();
    assert!(gic.arm(68, 0x80) && gic.arm(40, 0x20) && gic.arm(41, 0x20));
    for id in [68, 41, 40] {
        gic.pend(id);
    }
    assert_eq!(gic.read(0x100C), 40);
    // An interrupt of the same priority waits.
    assert_eq!((gic.signalled(), gic.read(0x100C)), (None, 1023));
    gic.write(0x1010, 40, u32::MAX);
    assert_eq!(gic.read(0x100C), 41);
    gic.write(0x1010, 41, u32::MAX);
    assert_eq!(gic.read(0x100C), 68);
    assert_eq!(gic.read(0x1014), 0x80);
}

#[test]
fn level_interrupts_stay_pending_until_they_fall_and_respect_the_mask() {
    let mut gic = gic();
    gic.arm(68, 0xA0);
    gic.drive(68, true);
    gic.write(0x1004, 0xA0, u32::MAX);
    assert_eq!(gic.signalled(), None);
    gic.write(0x1004, 0xA8, u32::MAX);
    assert_eq!((gic.read(0x1004), gic.read(0x100C)), (0xA8, 68));
    gic.write(0x1010, 68, u32::MAX);
    assert_eq!(gic.signalled(), Some(68));
    gic.drive(68, false);
    assert_eq!(gic.signalled(), None);
}

#[test]
fn software_interrupts_go_to_the_named_cores() {
    let mut gic = gic();
    // To another core, and to all but this one.
    for to in [0x0002_0003, 0x0100_0003] {
        gic.write(0xF00, to, u32::MAX);
        assert_eq!(gic.signalled(), None, "{to:#x}");
    }
    for to in [0x0001_0003, 0x0200_0003] {
        gic.write(0xF00, to, u32::MAX);
        assert_eq!(gic.signalled(), Some(3), "{to:#x}");
        assert_eq!((gic.read(0x100C), gic.read(0x100C)), (3, 1023));
        gic.write(0x1010, 3, u32::MAX);
    }
}

/// IHI 0048, 4.4.1 and 3.2.5: group 0 raises FIQ if GICC_CTLR.FIQEn is set, each group has its
/// own enable bit in distributor and interface, and group 1 is acknowledged if AckCtl permits
/// it.
#[test]
fn group_0_interrupts_are_fiq_if_enabled() {
    let mut gic = gic();
    assert_eq!(gic.read(0x004) & HAS_GROUPS, HAS_GROUPS);
    assert!(gic.arm(68, 0x80) && gic.arm(40, 0x20));
    assert_eq!(gic.line(68), InterruptLine::Irq, "as after reset");
    gic.write(0x1000, 0b1001, u32::MAX);
    gic.write(0x080 + 8, 1 << 4, u32::MAX);
    assert_eq!(
        (gic.read(0x088), gic.line(68), gic.line(40)),
        (1 << 4, InterruptLine::Irq, InterruptLine::Fiq)
    );
    gic.pend(68);
    for (distributor, interface, signalled) in [
        (0b01, 0b1001, None),
        (0b11, 0b1001, None),
        (0b01, 0b1011, None),
        (0b10, 0b1010, Some(68)),
        (0b11, 0b1011, Some(68)),
    ] {
        gic.write(0, distributor, u32::MAX);
        gic.write(0x1000, interface, u32::MAX);
        assert_eq!(gic.signalled(), signalled, "{distributor:b} {interface:b}");
        assert_eq!(gic.is_enabled(68), signalled.is_some(), "{distributor:b} {interface:b}");
    }
    assert_eq!((gic.read(0x1018), gic.read(0x100C)), (1022, 1022));
    // An interrupt of group 0 takes precedence by its priority alone.
    gic.pend(40);
    assert_eq!((gic.read(0x1018), gic.read(0x100C)), (40, 40));
    gic.write(0x1010, 40, u32::MAX);
    gic.write(0x1000, 0b1111, u32::MAX);
    assert_eq!((gic.read(0x1018), gic.read(0x100C)), (68, 68));
}

/// IHI 0048, 3.3.3: a binary point of 4 leaves group 0 three bits; one of 5 leaves group 1
/// three.
#[test]
fn groups_have_separate_binary_points_unless_common() {
    let mut gic = gic();
    gic.write(0, 0b11, u32::MAX);
    gic.write(0x1000, 0b111, u32::MAX);
    assert_eq!((gic.read(0x1008), gic.read(0x101C)), (0, 1));
    gic.write(0x080 + 8, 1 << 4, u32::MAX);
    gic.write(0x080 + 4, 1 << 8, u32::MAX);
    assert!(gic.arm(68, 0x80) && gic.arm(40, 0x98));
    gic.pend(40);
    assert_eq!(gic.read(0x100C), 40);
    gic.pend(68);
    assert_eq!(gic.signalled(), Some(68));
    for (point, lets) in [(4, true), (5, false)] {
        gic.write(0x101C, point, u32::MAX);
        assert_eq!(gic.would_signal(68, 0x80), lets, "{point}");
    }
    gic.write(0x1000, 0b10111, u32::MAX);
    assert!(gic.would_signal(68, 0x80), "that of group 0 counts");
}

#[test]
fn priorities_have_as_many_bits_as_the_soc() {
    let mut gic = gic();
    gic.write(0x400 + 68, 0xFF, 0xFF);
    assert_eq!(gic.read(0x400 + 68) & 0xFF, 0xF8);
}

/// IHI 0048, 4.3.5 to 4.3.8: each bit of a set register and of a clear register belongs to one
/// interrupt; zeros change nothing, and software-generated interrupts are always enabled.
#[test]
fn enables_and_pending_states_are_set_and_cleared_bit_by_bit() {
    for (set, clear, fixed) in [(0x100, 0x180, 0xFFFF), (0x200, 0x280, 0)] {
        for word in 0..8 {
            let mut gic = gic();
            let always = |at| if at == 0 { fixed } else { 0 };
            gic.write(set + 4 * word, 0x0510_0000, u32::MAX);
            // Of a halfword that is stored, the others are not selected.
            gic.write(set + 4 * word, u32::MAX, 0);
            for at in 0..8 {
                let expected = always(at) | if at == word { 0x0510_0000 } else { 0 };
                for register in [set, clear] {
                    assert_eq!(gic.read(register + 4 * at), expected, "{register:#x} {word}");
                }
            }
            gic.write(clear + 4 * word, 0x0100_FFFF, u32::MAX);
            assert_eq!(gic.read(set + 4 * word), always(word) | 0x0410_0000, "{word}");
        }
    }
}

/// IHI 0048, 4.3.13: GICD_ICFGRn has two bits for each of interrupts 16 n to 16 n + 15.
#[test]
fn each_interrupt_has_its_own_trigger() {
    for id in [32, 47, 48, 127, 128, 160, 187, 255] {
        let mut gic = gic();
        let register = 0xC00 + u32::from(id / 16) * 4;
        gic.write(register, 0b10 << (id % 16 * 2), u32::MAX);
        assert_eq!(gic.read(register), 0b10 << (id % 16 * 2), "{id}");
        for other in (32 + id % 16..256).step_by(16) {
            gic.drive(other, true);
            gic.drive(other, false);
            assert_eq!(gic.is_pending(other), other == id, "{other}, and an edge for {id}");
        }
    }
}

/// IHI 0048, 4.3.11 and 4.3.12: a byte for each interrupt.
#[test]
fn priorities_and_targets_are_bytes() {
    for (base, kept) in [(0x400, 0xF8), (0x800, 0xFF)] {
        for id in [32_u32, 33, 34, 35, 100, 187] {
            let mut gic = gic();
            let (register, shift) = (base + (id & !3), (id & 3) * 8);
            gic.write(register, u32::MAX, 0xFF << shift);
            for at in (0..256).step_by(4) {
                let private = if base + at < 0x820 && base == 0x800 { 0x0101_0101 } else { 0 };
                let expected = if base + at == register { kept << shift } else { private };
                assert_eq!(gic.read(base + at), expected, "{id}: {at:#x}");
            }
        }
    }
}

/// IHI 0048, 3.2.2 and 3.2.3: a more urgent interrupt preempts, and the end of one restores the
/// running priority of the one below it.
#[test]
fn interrupts_are_active_until_they_end() {
    let mut gic = gic();
    assert!(gic.arm(68, 0x80) && gic.arm(40, 0x20) && !gic.arm(1000, 0));
    let running = |gic: &mut Gic| (gic.read(0x1014), gic.read(0x304), gic.read(0x308));
    assert_eq!(running(&mut gic), (0xFF, 0, 0));
    gic.pend(68);
    assert_eq!([gic.read(0x1018), gic.read(0x1018), gic.read(0x100C)], [68; 3]);
    assert_eq!(gic.take_acknowledged(), Some(68));
    gic.pend(40);
    assert_eq!(gic.read(0x100C), 40);
    assert_eq!(running(&mut gic), (0x20, 1 << 8, 1 << 4));
    // What is not active cannot end.
    gic.write(0x1010, 41, u32::MAX);
    assert_eq!(running(&mut gic), (0x20, 1 << 8, 1 << 4));
    gic.write(0x1010, 40, u32::MAX);
    assert_eq!(running(&mut gic), (0x80, 0, 1 << 4));
    gic.write(0x1010, 68, u32::MAX);
    assert_eq!(running(&mut gic), (0xFF, 0, 0));
    assert!(!gic.is_pending(40) && !gic.is_pending(256) && !gic.is_enabled(256));
}

/// IHI 0048, 4.3.12: an interrupt whose target is not this core is not signalled to it.
#[test]
fn interrupts_for_other_cores_are_not_signalled() {
    for id in [32, 40] {
        let mut gic = gic();
        gic.arm(id, 0x20);
        let (register, shift) = (0x800 + u32::from(id & !3), u32::from(id & 3) * 8);
        gic.write(register, 2 << shift, 0xFF << shift);
        gic.pend(id);
        assert_eq!((gic.signalled(), gic.is_enabled(id)), (None, false), "{id}");
        gic.write(register, 3 << shift, 0xFF << shift);
        assert_eq!((gic.signalled(), gic.is_enabled(id)), (Some(id), true), "{id}");
    }
}

/// IHI 0048, 4.3.2 and 4.3.12: software finds its own bit among the targets of the private interrupts. UG1085:
/// there are two cores.
#[test]
fn private_interrupts_name_the_core_that_asks() {
    let mut gic = gic();
    assert_eq!(gic.read(0x004) >> 5 & 7, 1);
    for register in (0x800..0x820).step_by(4) {
        gic.write(register, 0x0202_0202, u32::MAX);
        assert_eq!(gic.read(register), 0x0101_0101, "{register:#x}");
    }
    assert_eq!(gic.read(0x820), 0);
}
