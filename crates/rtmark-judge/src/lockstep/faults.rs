//! Programs full of exceptions: faults of every kind at random places, handlers that record what they
//! see, nesting and chaining, and changing masks and priorities.
//!
//! Every handler first stores its observations: its number, EXC_RETURN, the frame's return address and
//! status, and the registers that describe faults and priorities. All of them go into a hash as well,
//! so that each checkpoint covers every exception since the last one. A fault's handler then continues
//! after the instruction that faulted.

use super::code::Code;
use super::generate::Generator;
use super::harness::{self, ProgramOptions};
use super::layout::Layout;

/// The offset of the records among the harness' variables.
pub const NOTES: u32 = 0x40;
/// The recorded items, in order; the last word is the hash of all of them.
pub const NAMES: [&str; 16] = [
    "exception",
    "exc_return",
    "stacked pc",
    "stacked xpsr",
    "cfsr",
    "hfsr",
    "bfar",
    "icsr",
    "shcsr",
    "handler control",
    "frame",
    "handler basepri",
    "handler primask",
    "fpccr",
    "fpcar",
    "exceptions",
];

/// Addresses without memory or device.
const NOWHERE: u32 = 0x6200_0000;
const CCR: u32 = 0xE000_ED14;
const SHPR1: u32 = 0xE000_ED18;
const SHCSR: u32 = 0xE000_ED24;
const AIRCR: u32 = 0xE000_ED0C;
const ICSR: u32 = 0xE000_ED04;
const MSPLIM: u16 = 10;
const BASEPRI: u16 = 17;
const CONTROL: u16 = 20;
/// The call whose handler gives privilege back.
const PRIVILEGED: u16 = 1 << 5;
const MOVS: u16 = 0x2000;

/// Stack pointers and masks.
const PRIVILEGED_REGISTERS: &[u16] = &[8, 9, 16, 17, 18, 19];

/// The handlers' addresses, Thumb bit included.
#[derive(Clone, Copy, Debug)]
pub struct Handlers {
    pub fault: u32,
    pub supervisor_call: u32,
    pub other: u32,
}

impl Handlers {
    /// All of them, without the Thumb bit.
    pub const fn addresses(&self) -> [u32; 3] {
        [self.fault & !1, self.supervisor_call & !1, self.other & !1]
    }
}

/// Writes the handlers.
pub fn write_handlers(code: &mut Code, options: ProgramOptions, layout: &Layout) -> Handlers {
    // External interrupts may come between any two instructions, depending on timing.
    let record = write_record(code, options, layout, true);
    let record_without_place = write_record(code, options, layout, false);
    let fault = code.here() | 1;
    begin_handler(code, layout, record);
    code.halves(&[
        0x692E, 0x6982, 0x69C3, // r6: cfsr; r2: return address; r3: status
        0xF240, 0x1101, 0x420E, 0xD003, // nothing fetched: back to the caller
        0x6942, 0xF022, 0x0201, 0xE00A, // ldr r2, [r0, #20]; bic r2, #1
        0x01D9, 0xD402, // EPSR.T is clear: go on there, with it set
        0xF043, 0x7380, 0xE005, // orr r3, #1 << 24
        0x8811, 0x0AC9, 0x291D, 0xBF34, 0x3202, 0x3204, // behind the instruction
        0xF023, 0x63C0, 0xF423, 0x437C, // out of any IT block
        0x6182, 0x61C3, // str r2, [r0, #24]; str r3, [r0, #28]
        0xBDF0, // pop {r4-r7, pc}
    ]);
    code.write_literals();
    let supervisor_call = code.here() | 1;
    begin_handler(code, layout, record);
    code.halves(&[
        0x68AA, 0xF812, 0x7C02, // r7: the call's number
        0x07F9, 0xD504, 0xF04F, 0x5180, 0x6061, 0xF3BF, 0x8F6F, // bit 0: pend PendSV
        0x07B9, 0xD504, 0xF04F, 0x6180, 0x6061, 0xF3BF, 0x8F6F, // bit 1: pend SysTick
        0x0779, 0xD504, 0xF04F, 0x4100, 0x6061, 0xF3BF, 0x8F6F, // bit 2: pend NMI
        0x0739, 0xD500, 0xDE00, // bit 3: udf
        0x06B9, 0xD505, 0xF3EF, 0x8114, 0xF021, 0x0101, 0xF381, 0x8814, // bit 5: privileged
        0xBDF0,
    ]);
    code.write_literals();
    let other = code.here() | 1;
    begin_handler(code, layout, record_without_place);
    code.half(0xBDF0);
    code.write_literals();
    Handlers { fault, supervisor_call, other }
}

/// r0 becomes the frame, r4 the control block, r5 the records; then everything is recorded.
fn begin_handler(code: &mut Code, layout: &Layout, record: u32) {
    code.halves(&[
        0xF01E, 0x0F04, // tst lr, #4
        0xBF0C, 0xF3EF, 0x8008, 0xF3EF, 0x8009, // ite eq; mrs r0, msp; mrs r0, psp
        0xB5F0, // push {r4-r7, lr}
    ]);
    code.load_literal(4, 0xE000_ED00);
    code.load_literal(5, layout.variables + NOTES);
    code.call(record);
}

fn write_record(
    code: &mut Code,
    options: ProgramOptions,
    layout: &Layout,
    with_place: bool,
) -> u32 {
    let start = code.here();
    code.halves(&[
        0xF3EF,
        0x8105,
        0x6029, // mrs r1, ipsr
        0x9904,
        0x6069,                                   // ldr r1, [sp, #16]: EXC_RETURN
        if with_place { 0x6982 } else { 0x2200 }, // ldr r2, [r0, #24]; movs r2, #0
        0x60AA,
        0x69C3,
        0x60EB, // the frame's return address and status
        0x6AA6,
        0x612E,
        0x6AE1,
        0x6169, // CFSR, HFSR
        0x6BA1,
        0xF416,
        0x4F00,
        0xBF08,
        0x2100,
        0x61A9, // BFAR, if it is valid
        0x6861,
        0x61E9,
        0x6A61,
        0x6229, // ICSR, SHCSR
        0xF3EF,
        0x8114,
        0x6269,
        0x62A8, // control; the frame's address
        0xF3EF,
        0x8111,
        0x62E9,
        0xF3EF,
        0x8110,
        0x6329, // basepri, primask
    ]);
    if options.float {
        code.halves(&[0xF8D4, 0x1234]); // FPCCR
        if !options.is_v8m() {
            // QEMU has bit 10 there too, which ARMv7-M reserves (DDI 0403, B3.2.22).
            code.halves(&[0xF421, 0x6180]); // bic r1, #1 << 10
        }
        code.halves(&[
            0x6369, 0x07CE, 0xF8D4, 0x1238, 0xBF58, 0x2100, 0x63A9, // FPCAR, while it counts
        ]);
    }
    code.load_literal(2, 0x0100_0193);
    code.halves(&[
        0x6BE9, 0x2700, // ldr r1, [r5, #60]; movs r7, #0
        0x59EE, 0x4071, 0x4351, 0x3704, 0x2F3C, 0xD1F9, // of every word: eors, muls
        0x63E9, // str r1, [r5, #60]
        0x692E, 0x62A6, 0x696E, 0x62E6, // clear CFSR and HFSR
    ]);
    if options.prints_notes {
        code.half(0xB501); // push {r0, lr}
        code.load_literal(1, layout.variables);
        code.load_literal(3, layout.variables + NOTES);
        code.half(0x2240); // movs r2, #64
        harness::write_print(code);
        code.half(0xBD01);
    } else {
        code.half(0x4770);
    }
    code.write_literals();
    start
}

impl Generator {
    pub(super) fn fault_unit(&mut self) {
        match self.random.below(if self.options.is_v8m() { 14 } else { 12 }) {
            0 => self.priorities(),
            1 => self.traps(),
            2..=4 => self.fault(),
            5 | 6 => self.masked(),
            7 | 8 => self.call_for_more(),
            9 => self.pend_any(),
            10 => self.unprivileged(),
            11 => self.fault_in_it_block(),
            _ => self.stack_overflow(),
        }
    }

    /// Stores a word by way of two low registers.
    fn store_word(&mut self, address: u32, value: u32) {
        let by = self.low();
        self.keeping(by, |generator| {
            let what = generator.low();
            generator.code.load_literal(by, address);
            generator.code.load_literal(what, value);
            generator.code.half(0x6000 | u16::from(by) << 3 | u16::from(what));
            generator.code.halves(&[0xF3BF, 0x8F6F]); // isb
        });
    }

    fn priority(&mut self) -> u32 {
        *self.random.pick(&[0, 0x10, 0x20, 0x40, 0x60, 0x80, 0xC0, 0xFF])
    }

    /// Priorities and grouping of system handlers, and which faults have handlers of their own.
    fn priorities(&mut self) {
        match self.random.below(3) {
            0 => {
                let word = (0..4).fold(0, |word, _| word << 8 | self.priority());
                let register = SHPR1 + 4 * self.random.below(3);
                // Only bytes that are some handler's, and not the monitor's.
                let there = [0x00FF_FFFF, 0xFF00_0000, 0xFFFF_0000];
                let word = word & there[((register - SHPR1) / 4) as usize];
                self.store_word(register, word);
            }
            1 => {
                let group = self.random.below(8) << 8;
                self.store_word(AIRCR, 0x05FA_0000 | group);
            }
            _ => {
                let enabled = self.random.below(8) << 16;
                self.store_word(SHCSR, enabled);
            }
        }
    }

    /// CCR: whether unaligned accesses fault, and whether frames are aligned.
    fn traps(&mut self) {
        let unaligned = self.random.below(2) << 3;
        let align = self.stack_alignment();
        self.store_word(CCR, unaligned | align);
    }

    /// CCR.STKALIGN. Frames with floating-point registers are always aligned (DDI 0403,
    /// B1.5.6, PushStack), which QEMU does not know.
    fn stack_alignment(&mut self) -> u32 {
        match (self.options.is_v8m(), self.options.float) {
            (true, _) => 0x201,
            (_, true) => 0x200,
            _ => self.random.below(2) << 9,
        }
    }

    /// A division by zero, trapped. QEMU 7.2 knows registers and flags there only as they
    /// were at the beginning of its translated block, so one begins right before, and no
    /// other division is trapped.
    fn division_by_zero(&mut self) {
        let align = self.stack_alignment();
        self.store_word(CCR, align | 1 << 4);
        let (d, n) = (u32::from(self.low()), self.low());
        self.code.half(MOVS | u16::from(n) << 8);
        self.code.halves(&[0xF3BF, 0x8F6F]);
        let signed = self.random.below(2) << 21;
        let source = u32::from(self.source());
        self.code.wide(0xFB90_F0F0 | signed | source << 16 | d << 8 | u32::from(n));
        self.store_word(CCR, align);
    }

    /// An instruction that faults, or would if it were trapped.
    fn fault(&mut self) {
        let (t, n) = (u32::from(self.low()), self.low());
        self.keeping(n, |generator| {
            let base = u32::from(n);
            match generator.random.below(9) {
                0 => {
                    let number = generator.random.below(256) as u16;
                    generator.code.half(0xDE00 | number); // udf
                }
                1 => generator.code.wide(0xF7F0_A000), // udf.w
                2 => generator.division_by_zero(),
                3 | 4 => {
                    // Nothing answers. Where an access has several parts QEMU's BFAR tells
                    // of one of them, not of the whole.
                    let offset = generator.random.below(4) * 4;
                    generator.code.load_literal(n, NOWHERE + offset);
                    let loads = [0xF8D0_0000, 0xF8B0_0000, 0xF990_0000, 0xE850_0F00];
                    let load = *generator.random.pick(&loads);
                    generator.code.wide(load | base << 16 | t << 12);
                }
                5 | 6 => {
                    // Unaligned, which these never may be.
                    let address = generator.layout.window + 1 + generator.random.below(3);
                    generator.code.load_literal(n, address);
                    let loads = [
                        0xE9D0_0C00 | t << 12, // ldrd t, r12, [n]
                        0xE850_0F00 | t << 12, // ldrex t, [n]
                        0xE890_1800,           // ldm n, {r11, r12}
                    ];
                    let load = *generator.random.pick(&loads);
                    generator.code.wide(load | base << 16);
                }
                7 => {
                    // Code where nothing is: the handler comes back by LR.
                    generator.code.load_literal(n, NOWHERE | 1);
                    generator.code.half(0x4780 | u16::from(n) << 3); // blx
                }
                _ => {
                    // To an even address: the handler continues there, with EPSR.T set.
                    generator.code.align(4);
                    let adr = generator.code.placeholder();
                    generator.code.half(0xA000 | u16::from(n) << 8);
                    let link = if generator.random.chance(1, 2) { 0x4700 } else { 0x4780 };
                    generator.code.half(link | u16::from(n) << 3);
                    generator.code.half(0xBF00);
                    generator.code.align(4);
                    generator.code.adr(adr);
                }
            }
        });
    }

    /// Faults and pending exceptions behind PRIMASK or BASEPRI, and what comes when they
    /// go. No SVC: escalated to HardFault it returns to itself (DDI 0403, B1.5.6,
    /// ReturnAddress), while QEMU continues after it.
    fn masked(&mut self) {
        let by_priority = self.random.chance(1, 2);
        if by_priority {
            let by = self.low();
            let level = self.priority() as u16;
            self.code.half(MOVS | u16::from(by) << 8 | level);
            self.msr(by, BASEPRI);
        } else {
            self.code.half(0xB672); // cpsid i
        }
        for _ in 0..=self.random.below(2) {
            if self.random.chance(1, 2) { self.fault() } else { self.pend_any() }
        }
        if by_priority {
            let by = self.low();
            self.code.half(MOVS | u16::from(by) << 8);
            self.msr(by, BASEPRI);
        } else {
            self.code.half(0xB662); // cpsie i
        }
        self.code.halves(&[0xF3BF, 0x8F6F]);
    }

    /// SVC with what its handler is to do: pend others, fault.
    fn call_for_more(&mut self) {
        let what = self.random.below(16) as u16;
        self.ask(what);
    }

    fn ask(&mut self, what: u16) {
        self.code.half(0xDF00 | what);
    }

    /// PendSV, SysTick or NMI from here.
    fn pend_any(&mut self) {
        let bit = *self.random.pick(&[26, 28, 28, 31]);
        self.store_word(ICSR, 1 << bit);
    }

    /// A little without privilege, with what only privileged code may.
    fn unprivileged(&mut self) {
        let by = self.low();
        let live = if self.options.float { 4 } else { 0 };
        self.code.half(MOVS | u16::from(by) << 8 | 1 | live);
        self.msr(by, CONTROL);
        self.code.halves(&[0xF3BF, 0x8F6F]);
        if self.options.float {
            let d = u32::from(self.destination());
            self.code.wide(0xEEF1_0A10 | d << 12); // vmrs
        }
        self.simples(1, 2);
        match self.random.below(3) {
            0 => self.mask_without_privilege(),
            1 => {
                let (t, n) = (u32::from(self.low()), self.low());
                self.code.load_literal(n, CCR);
                self.code.wide(0xF8D0_0000 | u32::from(n) << 16 | t << 12);
            }
            _ => self.fault(),
        }
        self.ask(PRIVILEGED);
    }

    /// CPS and MSR, which do nothing, and MRS, which reads zero.
    fn mask_without_privilege(&mut self) {
        let cps = *self.random.pick(&[0xB672, 0xB671, 0xB673]);
        self.code.half(cps); // cpsid i, f, if
        self.mrs(16);
        let n = self.source();
        self.msr(n, BASEPRI);
        self.mrs(BASEPRI);
        self.begin_it_block(4);
        for _ in 0..2 {
            let (n, register) = (self.source(), *self.random.pick(PRIVILEGED_REGISTERS));
            self.msr(n, register);
            self.mrs(register);
        }
    }

    /// An IT block in which something may fault.
    fn fault_in_it_block(&mut self) {
        let condition = self.condition();
        let number = self.random.below(256) as u16;
        // it c; udf: the handler leaves the block, which ends here anyway.
        self.code.half(0xBF08 | condition << 4);
        self.code.half(if self.random.chance(1, 2) { 0xDE00 | number } else { 0xDF00 });
        self.code.half(0xBF00);
    }

    /// Below MSPLIM, or not quite: by arithmetic, by a store with write-back, by MOV.
    fn stack_overflow(&mut self) {
        let saved = self.low();
        self.code.half(0x4668 | u16::from(saved)); // mov saved, sp
        self.keeping(saved, |generator| {
            let by = generator.low();
            let (from, to) = (u32::from(saved) << 16, u32::from(by) << 8);
            // sub.w by, saved, #0xa0: room for a frame and its handler.
            generator.code.wide(0xF1A0_00A0 | from | to);
            generator.msr(by, MSPLIM);
            let n = u32::from(generator.source());
            match generator.random.below(5) {
                0 => generator.code.half(0xB0FF),                // sub sp, #0x1fc
                1 => generator.code.wide(0xF5AD_7D00),           // sub.w sp, sp, #0x200
                2 => generator.code.wide(0xF84D_0DFC | n << 12), // str rn, [sp, #-0xfc]!
                3 => generator.code.half(0xB090),                // sub sp, #0x40
                _ => {
                    // sub.w by, saved, #0xa8; mov sp, by
                    generator.code.wide(0xF1A0_00A8 | from | to);
                    generator.code.half(0x4685 | u16::from(by) << 3);
                }
            }
            generator.code.half(MOVS | u16::from(by) << 8);
            generator.msr(by, MSPLIM);
        });
        self.code.half(0x4685 | u16::from(saved) << 3); // mov sp, saved
    }
}
