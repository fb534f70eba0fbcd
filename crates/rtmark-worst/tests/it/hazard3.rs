//! A search on a Hazard3 finds what runs from reset find, one for each cycle.

use rtmark_sim::Soc;
use rtmark_worst::{PairedInterrupt, Path, PathError, Question, Reach, Window};

use crate::bare::Bare;

/// The interrupt that is searched, and another one. The program's own is 0.
const INTERRUPT: u16 = 1;
const OTHER: u16 = 5;
/// The priority of the searched interrupt: the controller's four bits in their position in a byte.
const PRIORITY: u8 = 0x40;
const BASE: u32 = 0x8000_0000;
const WOKEN: u32 = BASE + 0x15C;
const END: u32 = BASE + 0xC8;

/// A program that contains everything that can affect an interrupt: it divides, loads and stores,
/// multiplies, has atomic operations and multi-step instructions, masks, raises a more urgent interrupt
/// of its own, has a timer, calls, reads what is pending, and sleeps with interrupts enabled and
/// masked. Its handler takes interrupts over through MEINEXT as long as there are any, and allows more
/// urgent ones to preempt it.
const PROGRAM: &[u32] = &[
    0x8010_1137, // 00 lui sp,0x80101
    0x0000_0297, // 04 auipc t0,0x0
    0x1082_8293, // 08 addi t0,t0,264
    0x3052_9073, // 0c csrrw zero,mtvec,t0
    0x0200_4437, // 10 lui s0,0x2004
    0x0200_C4B7, // 14 lui s1,0x200c
    0xFF84_A283, // 18 lw t0,-8(s1)
    0x12C2_8293, // 1c addi t0,t0,300
    0x0054_2023, // 20 sw t0,0(s0)
    0x0004_2223, // 24 sw zero,4(s0)
    0x0003_02B7, // 28 lui t0,0x30
    0xBE02_A073, // 2c csrrs zero,0xbe0,t0
    0x0048_02B7, // 30 lui t0,0x480
    0xBE32_9073, // 34 csrrw zero,0xbe3,t0
    0x0800_0293, // 38 addi t0,zero,128
    0x0042_9313, // 3c slli t1,t0,0x4
    0x0062_E2B3, // 40 or t0,t0,t1
    0x3042_A073, // 44 csrrs zero,mie,t0
    0x8010_0537, // 48 lui a0,0x80100
    0x0000_0993, // 4c addi s3,zero,0
    0x3004_6073, // 50 csrrsi zero,mstatus,8
    0x0019_8993, // 54 top: addi s3,s3,1
    0x0005_2583, // 58 lw a1,0(a0)
    0x00B5_8633, // 5c add a2,a1,a1
    0x00C5_2223, // 60 sw a2,4(a0)
    0x02B6_06B3, // 64 mul a3,a2,a1
    0x0336_C733, // 68 div a4,a3,s3
    0x0135_27AF, // 6c amoadd.w a5,s3,(a0)
    0x1005_25AF, // 70 lr.w a1,(a0)
    0x1935_262F, // 74 sc.w a2,s3,(a0)
    0xFC01_0113, // 78 addi sp,sp,-64
    0xBA72_B872, // 7c cm.push {ra,s0-s2},-16; cm.pop {ra,s0-s2},16
    0x0001_0001, // 80 c.nop; c.nop
    0x0401_0113, // 84 addi sp,sp,64
    0x3004_7073, // 88 csrrci zero,mstatus,8
    0x0000_0013, // 8c addi zero,zero,0
    0x0000_0013, // 90 addi zero,zero,0
    0x0001_02B7, // 94 lui t0,0x10
    0xBE22_A073, // 98 csrrs zero,0xbe2,t0
    0x0000_0013, // 9c addi zero,zero,0
    0x3440_22F3, // a0 csrrs t0,mip,zero
    0x0142_9293, // a4 slli t0,t0,0x14
    0x0002_D663, // a8 bge t0,zero,800000b4
    0x0000_0013, // ac addi zero,zero,0
    0x0000_0013, // b0 addi zero,zero,0
    0x3004_6073, // b4 csrrsi zero,mstatus,8
    0x0000_0013, // b8 addi zero,zero,0
    0xBE20_2073, // bc csrrs zero,0xbe2,zero
    0x0000_0073, // c0 ecall
    0x0000_0013, // c4 addi zero,zero,0
    0x0019_F293, // c8 end_mark: andi t0,s3,1
    0x0002_9463, // cc bne t0,zero,800000d4
    0x1050_0073, // d0 wfi
    0x0029_F293, // d4 andi t0,s3,2
    0x0002_9C63, // d8 bne t0,zero,800000f0
    0x3004_7073, // dc csrrci zero,mstatus,8
    0x0000_0013, // e0 addi zero,zero,0
    0x1050_0073, // e4 wfi
    0x0000_0013, // e8 addi zero,zero,0
    0x3004_6073, // ec csrrsi zero,mstatus,8
    0x0001_02B7, // f0 lui t0,0x10
    0xBE22_A073, // f4 csrrs zero,0xbe2,t0
    0x02D6_4733, // f8 div a4,a2,a3
    0x0030_0313, // fc addi t1,zero,3
    0xFFF3_0313, // 100 addi t1,t1,-1
    0xFE03_1EE3, // 104 bne t1,zero,80000100
    0xF4DF_F06F, // 108 jal zero,80000054
    0xFE01_0113, // 10c handler: addi sp,sp,-32
    0x0051_2023, // 110 sw t0,0(sp)
    0x0061_2223, // 114 sw t1,4(sp)
    0x3420_22F3, // 118 csrrs t0,mcause,zero
    0x0802_D263, // 11c bge t0,zero,800001a0
    0x00F2_F293, // 120 andi t0,t0,15
    0xFF92_8293, // 124 addi t0,t0,-7
    0x0602_8063, // 128 beq t0,zero,80000188
    0x3410_22F3, // 12c csrrs t0,mepc,zero
    0x0051_2423, // 130 sw t0,8(sp)
    0x3000_22F3, // 134 csrrs t0,mstatus,zero
    0x0051_2623, // 138 sw t0,12(sp)
    0xBE51_62F3, // 13c csrrsi t0,0xbe5,2
    0x0051_2823, // 140 sw t0,16(sp)
    0xBE40_E2F3, // 144 csrrsi t0,0xbe4,1
    0x0202_C263, // 148 blt t0,zero,8000016c
    0x3004_6073, // 14c csrrsi zero,mstatus,8
    0x0000_0013, // 150 addi zero,zero,0
    0xFFC2_8293, // 154 addi t0,t0,-4
    0x0002_9463, // 158 bne t0,zero,80000160
    0x0000_0013, // 15c woken: addi zero,zero,0
    0x0000_0013, // 160 addi zero,zero,0
    0x3004_7073, // 164 csrrci zero,mstatus,8
    0xFDDF_F06F, // 168 jal zero,80000144
    0x0101_2283, // 16c lw t0,16(sp)
    0xBE52_9073, // 170 csrrw zero,0xbe5,t0
    0x00C1_2283, // 174 lw t0,12(sp)
    0x3002_9073, // 178 csrrw zero,mstatus,t0
    0x0081_2283, // 17c lw t0,8(sp)
    0x3412_9073, // 180 csrrw zero,mepc,t0
    0x0280_006F, // 184 jal zero,800001ac
    0x0004_2283, // 188 timer: lw t0,0(s0)
    0x18D2_8293, // 18c addi t0,t0,397
    0x0054_2023, // 190 sw t0,0(s0)
    0x0000_0013, // 194 addi zero,zero,0
    0x0000_0013, // 198 addi zero,zero,0
    0x0100_006F, // 19c jal zero,800001ac
    0x3410_22F3, // 1a0 call: csrrs t0,mepc,zero
    0x0042_8293, // 1a4 addi t0,t0,4
    0x3412_9073, // 1a8 csrrw zero,mepc,t0
    0x0001_2283, // 1ac lw t0,0(sp)
    0x0041_2303, // 1b0 lw t1,4(sp)
    0x0201_0113, // 1b4 addi sp,sp,32
    0x3020_0073, // 1b8 mret
];

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/generic-hazard3.toml")).expect("a soc")
}

/// The soc with memories that have wait states.
fn slow() -> Soc {
    let mut soc = soc();
    soc.memories[0].timing.wait_states = 2;
    soc.memories[1].timing.wait_states = 1;
    soc
}

const BARE: Bare = Bare {
    program: PROGRAM,
    base: BASE,
    interrupt: INTERRUPT,
    priority: PRIORITY,
    woken: WOKEN,
    end: END,
    patience: 4_000,
};

#[test]
fn the_search_equals_runs_from_reset_at_each_cycle() {
    for (soc, window) in
        [(soc(), Window { from: 150, to: 2_100 }), (slow(), Window { from: 400, to: 2_600 })]
    {
        let found = BARE.assert_as_from_reset(&soc, window, 20);
        assert!(found.points + 100 >= window.to - window.from, "{}", found.points);
        assert!(found.tried > found.points / 8, "{} of {}", found.tried, found.points);
    }
}

/// In both windows, the program's own interrupt is handled, and its handler may take over the earlier one of
/// a pair, which is never entered then.
#[test]
fn interrupts_sharing_a_handler_are_distinguished() {
    for window in [Window { from: 320, to: 350 }, Window { from: 440, to: 640 }] {
        BARE.assert_pairs_as_from_reset(&soc(), window, (OTHER, 0x80), 20);
    }
    let second =
        PairedInterrupt { interrupt: INTERRUPT.into(), priority: PRIORITY, distance: Some(20) };
    let question = BARE.question(Reach::Entry, Window { from: 320, to: 350 });
    let same = Path::new(BARE.machine(&soc()), Question { second: Some(second), ..question });
    assert!(matches!(same, Err(PathError::Same(one, other)) if one == other), "{same:?}");
}
