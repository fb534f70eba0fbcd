//! The code around random code: start, checkpoints that log all state, handlers, end.
//!
//! A checkpoint is `PUSH {r0-r7, lr}` and a call. It leaves every register and flag unchanged, and adds
//! a record to the log in RAM, which is printed raw through semihosting whenever it is full. After each
//! pass over the random code, the window of memory that it works on is printed too.

use rtmark_sim::CoreKind;

use super::code::Code;
use super::faults;
use super::layout::Layout;

/// What a program contains besides integer code, and how often it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "what a program may contain, each by itself")]
pub struct ProgramOptions {
    /// The core.
    pub core: CoreKind,
    /// Floating-point instructions; otherwise the FPU stays off.
    pub float: bool,
    /// Faults, and handlers that record what they see.
    pub faults: bool,
    /// Print the records of exceptions, and nothing else.
    pub prints_notes: bool,
    /// The number of passes over the random code.
    pub passes: u32,
    /// Print the window after every record, to find the store that went wrong.
    pub prints_window: bool,
}

/// Offsets of the harness' variables.
const POSITION: u32 = 0;
const PASSES: u32 = 4;
const HANDLE: u32 = 8;
const FROM: u32 = 12;
const LENGTH: u32 = 16;
const SAVED_LR: u32 = 20;
const SAVED_APSR: u32 = 24;
const SVC_HASH: u32 = 28;
const PENDSV_COUNT: u32 = 32;

/// The address of random code, which does not depend on the harness.
pub const RANDOM_CODE: u32 = 0x600;

/// The names of a record's words, in order.
const COMMON: [&str; 22] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "apsr", "sp", "lr", "return", "r8", "r9",
    "r10", "r11", "r12", "primask", "control", "psp", "svc", "pendsv",
];
const MAINLINE: [&str; 2] = ["basepri", "faultmask"];
const V8M: [&str; 2] = ["msplim", "psplim"];

impl ProgramOptions {
    /// Whether the core has the DSP extension, and with it the GE flags.
    pub fn has_dsp(self) -> bool {
        self.core.has_dsp()
    }

    /// Whether the core is of ARMv8-M.
    pub fn is_v8m(self) -> bool {
        self.core == CoreKind::CortexM33
    }

    /// Whether the program has numbers of double precision.
    pub fn has_doubles(self) -> bool {
        self.float && self.core.has_double_precision()
    }

    /// What each word of a record is.
    pub fn record_names(self) -> Vec<String> {
        let mut names: Vec<String> = COMMON.iter().map(ToString::to_string).collect();
        if self.core.is_mainline() {
            names.extend(MAINLINE.iter().map(ToString::to_string));
        }
        if self.is_v8m() {
            names.extend(V8M.iter().map(ToString::to_string));
        }
        if self.faults {
            names.extend(faults::NAMES.iter().map(ToString::to_string));
        }
        if self.float {
            names.extend((0..32).map(|at| format!("s{at}")));
            names.push("fpscr".to_owned());
        }
        names
    }

    /// Bytes of a record.
    pub fn record_size(self) -> u32 {
        self.record_names().len() as u32 * 4
    }

    fn records_in_log(self, layout: &Layout) -> u32 {
        if self.prints_window { 1 } else { layout.log_size / self.record_size() }
    }

    /// The sizes in which a run prints: records, then the window, again and again.
    pub fn record_stride(self, layout: &Layout) -> u32 {
        self.record_size() + if self.prints_window { layout.window_size } else { 0 }
    }
}

/// Addresses of the harness.
#[derive(Clone, Copy, Debug)]
pub struct Harness {
    pub checkpoint: u32,
    /// The last instruction of a checkpoint.
    pub checkpoint_end: u32,
    pub flush: u32,
    pub dump: u32,
    /// Those that note what they see, in programs with faults.
    pub handlers: Option<faults::Handlers>,
}

/// A low register and an offset, as the simplest loads and stores take them.
fn load(code: &mut Code, t: u16, n: u16, offset: u32) {
    code.half(0x6800 | (offset as u16 / 4) << 6 | n << 3 | t);
}

fn store(code: &mut Code, t: u16, n: u16, offset: u32) {
    code.half(0x6000 | (offset as u16 / 4) << 6 | n << 3 | t);
}

const BKPT_SEMIHOSTING: u16 = 0xBEAB;
const BX_LR: u16 = 0x4770;

/// Writes the vector table and the harness; random code follows at [`RANDOM_CODE`].
pub fn write(code: &mut Code, options: ProgramOptions, layout: &Layout) -> Harness {
    let table = code.here();
    // The table needs addresses that are known only afterwards, so its size is determined first.
    let mut trial = code.clone();
    let vectors = write_once(&mut trial, options, layout, [0; 16]).1;
    let (harness, again) = write_once(code, options, layout, vectors);
    debug_assert_eq!(vectors, again);
    debug_assert_eq!(table, 0);
    code.pad_to(RANDOM_CODE);
    harness
}

fn write_once(
    code: &mut Code,
    options: ProgramOptions,
    layout: &Layout,
    vectors: [u32; 16],
) -> (Harness, [u32; 16]) {
    for vector in vectors {
        code.word(vector);
    }
    let mut found = [0; 16];
    found[0] = layout.main_stack;

    let fault = code.here() | 1;
    exit(code, 0x20023);
    for exception in [2, 3, 4, 5, 6, 15] {
        found[exception] = fault;
    }
    found[11] = code.here() | 1;
    write_svc_handler(code, options, layout);
    found[14] = code.here() | 1;
    write_pendsv_handler(code, layout);
    let handlers = options.faults.then(|| faults::write_handlers(code, options, layout));
    if let Some(handlers) = handlers {
        found[3..=7].fill(handlers.fault);
        found[11] = handlers.supervisor_call;
        for exception in [2, 14, 15] {
            found[exception] = handlers.other;
        }
    }

    let flush = code.here();
    code.load_literal(1, layout.variables);
    load(code, 2, 1, POSITION);
    code.load_literal(3, layout.log);
    code.half(0x1AD2); // subs r2, r2, r3
    store(code, 3, 1, POSITION);
    if !options.prints_notes {
        write_print(code);
    }
    code.half(BX_LR);
    let dump = code.here();
    code.load_literal(1, layout.variables);
    code.load_literal(3, layout.window);
    code.load_literal(2, layout.window_size);
    if !options.prints_notes {
        write_print(code);
    }
    code.half(BX_LR);
    code.write_literals();

    let (checkpoint, checkpoint_end) = write_checkpoint(code, options, layout, flush, dump);
    found[1] = code.here() | 1;
    write_start(code, options, layout);
    (Harness { checkpoint, checkpoint_end, flush, dump, handlers }, found)
}

/// Prints r2 bytes from r3 on, with the variables' address in r1.
pub fn write_print(code: &mut Code) {
    store(code, 3, 1, FROM);
    store(code, 2, 1, LENGTH);
    code.halves(&[0x3100 | HANDLE as u16, 0x2005, BKPT_SEMIHOSTING]);
}

/// Ends the program with a reason.
pub fn exit(code: &mut Code, reason: u32) {
    code.half(0x2018);
    code.load_literal(1, reason);
    code.halves(&[BKPT_SEMIHOSTING, 0xE7FE]);
    code.write_literals();
}

/// Mixes what the handler sees into a hash and hands it back in r0 and the flags.
fn write_svc_handler(code: &mut Code, options: ProgramOptions, layout: &Layout) {
    code.halves(&[
        0x4670, // mov r0, lr
        0x2104, // movs r1, #4
        0x4208, // tst r0, r1
        0xD102, // bne: the process stack
        0xF3EF, 0x8008, // mrs r0, msp
        0xE001, // b
        0xF3EF, 0x8009, // mrs r0, psp
        0x6981, // ldr r1, [r0, #24]
        0x3902, // subs r1, #2
        0x7809, // ldrb r1, [r1]: the call's number
        0xF3EF, 0x8205, // mrs r2, ipsr
        0x4051, // eors r1, r2
        0x69C2, // ldr r2, [r0, #28]: the stacked status
        0x4051, // eors r1, r2
        0x4672, // mov r2, lr
        0x4051, // eors r1, r2
    ]);
    code.load_literal(3, layout.variables);
    load(code, 2, 3, SVC_HASH);
    code.halves(&[
        0x4351, // muls r1, r2
        0x3117, // adds r1, #23
    ]);
    store(code, 1, 3, SVC_HASH);
    code.halves(&[
        0x6001, // str r1, [r0]: the caller's r0
        0x6842, // ldr r2, [r0, #4]
        0x1852, // adds r2, r2, r1
        0x6142, // str r2, [r0, #20]: the caller's lr
    ]);
    let flags = match (options.core.is_mainline(), options.has_dsp()) {
        (false, _) => 0xF000_0000,
        (true, false) => 0xF800_0000,
        (true, true) => 0xF80F_0000,
    };
    code.load_literal(2, flags);
    code.halves(&[
        0x4011, // ands r1, r2
        0x69C2, // ldr r2, [r0, #28]
        0x404A, // eors r2, r1
        0x61C2, // str r2, [r0, #28]: the caller's flags
    ]);
    if options.float {
        // vadd.f32 s0, s1, s2 and vadd.f32 s16, s17, s3: the first is saved, the second is not.
        code.wide(0xEE30_0A81);
        code.wide(0xEE38_8AA1);
    }
    code.half(BX_LR);
    code.write_literals();
}

fn write_pendsv_handler(code: &mut Code, layout: &Layout) {
    code.half(0xB510); // push {r4, lr}
    code.load_literal(4, layout.variables);
    load(code, 0, 4, PENDSV_COUNT);
    code.halves(&[
        0xF3EF, 0x8105, // mrs r1, ipsr
        0x1840, // adds r0, r0, r1
        0x4671, // mov r1, lr
        0x1840, // adds r0, r0, r1
    ]);
    store(code, 0, 4, PENDSV_COUNT);
    code.half(0xBD10); // pop {r4, pc}
    code.write_literals();
}

fn write_checkpoint(
    code: &mut Code,
    options: ProgramOptions,
    layout: &Layout,
    flush: u32,
    dump: u32,
) -> (u32, u32) {
    let mainline = options.core.is_mainline();
    let start = code.here();
    code.halves(&[0xF3EF, 0x8000]); // mrs r0, apsr
    code.load_literal(1, layout.variables);
    load(code, 2, 1, POSITION);
    store(code, 0, 1, SAVED_APSR);
    code.halves(&[
        0x466B, // mov r3, sp
        0xCBF0, 0xC2F0, // r0 to r3, by way of r4 to r7
        0xCBF0, 0xC2F0, // r4 to r7
        0xCB10, // ldmia r3!, {r4}: lr before
        0x4675, // mov r5, lr
        0x9508, // str r5, [sp, #32]: where to return to
        0xC239, // stmia r2!, {r0, r3, r4, r5}
    ]);
    store(code, 4, 1, SAVED_LR);
    code.halves(&[
        0x4644, 0x464D, 0x4656, 0x465F, 0xC2F0, // r8 to r11
        0x4664, // mov r4, r12
        0xF3EF, 0x8510, // mrs r5, primask
        0xF3EF, 0x8614, // mrs r6, control
        0xF3EF, 0x8709, // mrs r7, psp
        0xC2F0,
    ]);
    load(code, 4, 1, SVC_HASH);
    load(code, 5, 1, PENDSV_COUNT);
    code.half(0xC230);
    if mainline {
        code.halves(&[0xF3EF, 0x8411, 0xF3EF, 0x8513, 0xC230]); // basepri, faultmask
    }
    if options.is_v8m() {
        code.halves(&[0xF3EF, 0x840A, 0xF3EF, 0x850B, 0xC230]); // msplim, psplim
    }
    if options.faults {
        code.half(0x3100 | faults::NOTES as u16); // adds r1, #
        for _ in 0..4 {
            code.halves(&[0xC978, 0xC278]); // ldmia r1!, {r3-r6}; stmia r2!, {r3-r6}
        }
        code.half(0x3900 | (faults::NOTES + 64) as u16); // subs r1, #
    }
    if options.float {
        code.halves(&[0xECA2, 0x0A20, 0xEEF1, 0x4A10, 0xC210]); // vstmia r2!, {s0-s31}; fpscr
    }
    store(code, 2, 1, POSITION);
    let full = layout.log + options.records_in_log(layout) * options.record_size();
    code.load_literal(3, full);
    code.half(0x429A); // cmp r2, r3
    let not_full = code.placeholder();
    code.half(0xD100);
    code.call(flush);
    if options.prints_window {
        code.call(dump);
    }
    code.fill(not_full);
    code.load_literal(1, layout.variables);
    load(code, 0, 1, SAVED_LR);
    code.half(0x4686); // mov lr, r0
    load(code, 0, 1, SAVED_APSR);
    let flags = if options.has_dsp() { 0x8C00 } else { 0x8800 };
    code.halves(&[0xF380, flags]); // msr apsr, r0
    let end = code.here();
    code.half(0xBDFF); // pop {r0-r7, pc}
    code.write_literals();
    (start, end)
}

/// Fills RAM, opens the console, sets up the stacks and the FPU.
fn write_start(code: &mut Code, options: ProgramOptions, layout: &Layout) {
    code.load_literal(0, layout.variables);
    code.load_literal(1, layout.main_stack);
    code.load_literal(2, 0x9E37_79B9);
    code.load_literal(3, 0x0019_660D);
    code.halves(&[
        0x435A, // muls r2, r3
        0x32C5, // adds r2, #0xc5
        0x0C14, // lsrs r4, r2, #16
        0x4054, // eors r4, r2
        0xC010, // stmia r0!, {r4}
        0x4288, // cmp r0, r1
        0xD3F8, // blo
    ]);
    // SYS_OPEN(":tt", "w"): the block is name, mode, length, then the name.
    let block = code.placeholder();
    code.half(0xA100); // adr r1, block
    code.halves(&[0x2001, BKPT_SEMIHOSTING]);
    code.load_literal(1, layout.variables);
    store(code, 0, 1, HANDLE);
    code.load_literal(0, layout.log);
    store(code, 0, 1, POSITION);
    code.load_literal(0, options.passes);
    store(code, 0, 1, PASSES);
    code.load_literal(0, layout.process_stack);
    code.halves(&[0xF380, 0x8809]); // msr psp, r0
    if options.float {
        code.load_literal(0, 0xE000_ED88); // CPACR
        code.load_literal(1, 0x00F0_0000);
        code.halves(&[0x6001, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F]); // str; dsb; isb
        code.wide(0xEEF1_0A10); // vmrs r0, fpscr: floating-point state begins here
    }
    code.load_literal(0, RANDOM_CODE | 1);
    code.half(0x4700); // bx r0
    code.write_literals();
    code.adr(block);
    let name = code.here() + 12;
    for word in [name, 4, 3, u32::from_le_bytes(*b":tt\0")] {
        code.word(word);
    }
}

/// Ends a pass: prints what is left, and begins again or ends the program.
pub fn write_pass_end(code: &mut Code, harness: &Harness, layout: &Layout) {
    code.call(harness.flush);
    code.call(harness.dump);
    code.load_literal(1, layout.variables);
    load(code, 0, 1, PASSES);
    code.half(0x3801); // subs r0, #1
    store(code, 0, 1, PASSES);
    let last = code.placeholder();
    code.half(0xD000);
    code.load_literal(0, RANDOM_CODE | 1);
    code.half(0x4700);
    code.write_literals();
    code.fill(last);
    exit(code, 0x20026);
}

/// Begins a pass: every register takes a value from the window.
pub fn write_pass_start(code: &mut Code, layout: &Layout) {
    code.load_literal(0, layout.window);
    code.halves(&[
        0xC8FE, // ldmia r0!, {r1-r7}
        0x4688, 0x4691, 0x469A, 0x46A3, 0x46AC, // r8 to r12
        0x46B6, // mov lr, r6
        0xC8FE,
    ]);
    code.write_literals_in_passing();
}
