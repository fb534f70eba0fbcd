//! A search on an Ibex finds what runs from reset find, one for each cycle.

use std::sync::LazyLock;

use rtmark_sim::Soc;
use rtmark_worst::Window;

use crate::bare::Bare;

/// The interrupt that is searched: a fast one. Interrupts have no configurable priorities.
const INTERRUPT: u16 = 1;
const BASE: u32 = 0x8000_0000;
const WOKEN: u32 = BASE + 0x16C;
const END: u32 = BASE + 0x114;
/// Where the code begins, after the vectors.
const CODE: u32 = 0x80;
const HANDLER: u32 = 0x14C;

/// A program that contains everything that can affect an interrupt: it divides and multiplies, makes
/// unaligned loads and stores, masks, raises the software interrupt, has a timer, calls, reads what is
/// pending, executes fence.i, and sleeps with interrupts enabled and masked.
const PROGRAM: &[u32] = &[
    0x8010_1137, // 80 lui sp,0x80101
    0x0200_4437, // 84 lui s0,0x2004
    0x0200_C4B7, // 88 lui s1,0x200c
    0x0200_0937, // 8c lui s2,0x2000
    0xFF84_A283, // 90 lw t0,-8(s1)
    0x12C2_8293, // 94 addi t0,t0,300
    0x0054_2023, // 98 sw t0,0(s0)
    0x0004_2223, // 9c sw zero,4(s0)
    0x0880_0293, // a0 addi t0,zero,136
    0x3042_A073, // a4 csrrs zero,mie,t0
    0x8010_0537, // a8 lui a0,0x80100
    0x0000_0993, // ac addi s3,zero,0
    0x3004_6073, // b0 csrrsi zero,mstatus,8
    0x0019_8993, // b4 top: addi s3,s3,1
    0x0005_2583, // b8 lw a1,0(a0)
    0x00B5_8633, // bc add a2,a1,a1
    0x00C5_2223, // c0 sw a2,4(a0)
    0x02B6_06B3, // c4 mul a3,a2,a1
    0x0336_96B3, // c8 mulh a3,a3,s3
    0x0336_C733, // cc div a4,a3,s3
    0x0206_E733, // d0 rem a4,a3,zero
    0x0025_2783, // d4 lw a5,2(a0)
    0x0135_13A3, // d8 sh s3,7(a0)
    0x0135_24A3, // dc sw s3,9(a0)
    0x0585_410C, // e0 c.lw a1,0(a0); c.addi a1,1
    0x0001_C10C, // e4 c.sw a1,0(a0); c.addi zero,0
    0x3004_7073, // e8 csrrci zero,mstatus,8
    0x0000_0013, // ec addi zero,zero,0
    0x3440_22F3, // f0 csrrs t0,mip,zero
    0x0000_0013, // f4 addi zero,zero,0
    0x3004_6073, // f8 csrrsi zero,mstatus,8
    0x0000_100F, // fc fence.i
    0x0010_0293, // 100 addi t0,zero,1
    0x0059_2023, // 104 sw t0,0(s2)
    0x0000_0013, // 108 addi zero,zero,0
    0x0000_0073, // 10c ecall
    0x0000_0013, // 110 addi zero,zero,0
    0x0019_F293, // 114 end_mark: andi t0,s3,1
    0x0002_9463, // 118 bne t0,zero,80000120
    0x1050_0073, // 11c wfi
    0x0029_F293, // 120 andi t0,s3,2
    0x0002_9C63, // 124 bne t0,zero,8000013c
    0x3004_7073, // 128 csrrci zero,mstatus,8
    0x0000_0013, // 12c addi zero,zero,0
    0x1050_0073, // 130 wfi
    0x0000_0013, // 134 addi zero,zero,0
    0x3004_6073, // 138 csrrsi zero,mstatus,8
    0x0030_0313, // 13c addi t1,zero,3
    0xFFF3_0313, // 140 addi t1,t1,-1
    0xFE03_1EE3, // 144 bne t1,zero,80000140
    0xF6DF_F06F, // 148 jal zero,800000b4
    0xFF01_0113, // 14c handler: addi sp,sp,-16
    0x0051_2023, // 150 sw t0,0(sp)
    0x3420_22F3, // 154 csrrs t0,mcause,zero
    0x0202_DC63, // 158 bge t0,zero,80000190
    0x01F2_F293, // 15c andi t0,t0,31
    0xFF92_8293, // 160 addi t0,t0,-7
    0x0002_8A63, // 164 beq t0,zero,80000178
    0x0202_C063, // 168 blt t0,zero,80000188
    0x0000_0013, // 16c woken: addi zero,zero,0
    0x0000_0013, // 170 addi zero,zero,0
    0x0280_006F, // 174 jal zero,8000019c
    0x0004_2283, // 178 timer: lw t0,0(s0)
    0x18D2_8293, // 17c addi t0,t0,397
    0x0054_2023, // 180 sw t0,0(s0)
    0x0180_006F, // 184 jal zero,8000019c
    0x0009_2023, // 188 software: sw zero,0(s2)
    0x0100_006F, // 18c jal zero,8000019c
    0x3410_22F3, // 190 call: csrrs t0,mepc,zero
    0x0042_8293, // 194 addi t0,t0,4
    0x3412_9073, // 198 csrrw zero,mepc,t0
    0x0001_2283, // 19c return: lw t0,0(sp)
    0x0101_0113, // 1a0 addi sp,sp,16
    0x3020_0073, // 1a4 mret
];

/// The program after its vectors, each of which jumps to the handler.
static WHOLE: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let vector = |at: u32| {
        let offset = HANDLER - at;
        (offset >> 1 & 0x3FF) << 21 | (offset >> 11 & 1) << 20 | 0x6F
    };
    (0..CODE).step_by(4).map(vector).chain(PROGRAM.iter().copied()).collect()
});

fn soc() -> Soc {
    Soc::from_toml(include_str!("../../../../socs/generic-ibex.toml")).expect("a soc")
}

/// The soc with memories that have wait states.
fn slow() -> Soc {
    let mut soc = soc();
    soc.memories[0].timing.wait_states = 2;
    soc.memories[1].timing.wait_states = 1;
    soc
}

#[test]
fn the_search_equals_runs_from_reset_at_each_cycle() {
    let bare = Bare {
        program: &WHOLE,
        base: BASE,
        interrupt: INTERRUPT,
        priority: 0,
        woken: WOKEN,
        end: END,
        patience: 4_000,
    };
    for (soc, window) in
        [(soc(), Window { from: 150, to: 1_500 }), (slow(), Window { from: 400, to: 2_000 })]
    {
        let found = bare.assert_as_from_reset(&soc, window, 20);
        assert!(found.points + 100 >= window.to - window.from, "{}", found.points);
        assert!(found.tried > found.points / 8, "{} of {}", found.tried, found.points);
    }
}
