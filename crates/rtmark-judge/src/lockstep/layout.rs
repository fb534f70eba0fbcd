//! The memory layout of programs and their data, on the machines of both sides.

use rtmark_sim::{CoreKind, Soc};

/// The memory available to a program, and the name of QEMU's machine.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// QEMU's name of the machine.
    pub machine: &'static str,
    /// Bytes of code memory, from address 0 on.
    pub code: u32,
    /// The address at which the core reads its vectors from the same memory at reset.
    pub vectors: u32,
    /// Variables of the harness: the beginning of RAM.
    pub variables: u32,
    /// Memory that random loads and stores reach.
    pub window: u32,
    pub window_size: u32,
    /// Offsets into the window from which every load and store stays inside.
    pub safe: (u32, u32),
    /// Records that are not printed yet.
    pub log: u32,
    pub log_size: u32,
    /// Where the stacks begin, downwards.
    pub process_stack: u32,
    pub main_stack: u32,
}

const CORTEX_M0PLUS: Layout = Layout {
    machine: "microbit",
    code: 0x4_0000,
    vectors: 0,
    variables: 0x2000_0000,
    window: 0x2000_0100,
    window_size: 0x400,
    safe: (0, 0x200),
    log: 0x2000_1000,
    log_size: 0x2000,
    process_stack: 0x2000_0C00,
    main_stack: 0x2000_4000,
};

const CORTEX_M4F: Layout = Layout {
    machine: "mps2-an386",
    code: 0x10_0000,
    vectors: 0,
    variables: 0x2000_0000,
    window: 0x2000_1000,
    window_size: 0x4000,
    safe: (0x1000, 0x2000),
    log: 0x2000_8000,
    log_size: 0x6000,
    process_stack: 0x2000_7000,
    main_stack: 0x2001_0000,
};

/// The machine's data memory that Secure code reaches; code is seen at address 0 too.
const CORTEX_M33: Layout = Layout {
    machine: "mps2-an505",
    vectors: 0x1000_0000,
    variables: 0x3800_0000,
    window: 0x3800_1000,
    log: 0x3800_8000,
    process_stack: 0x3800_7000,
    main_stack: 0x3801_0000,
    ..CORTEX_M4F
};

impl Layout {
    /// The layout for a core.
    pub const fn of(core: CoreKind) -> Self {
        match core {
            // Hazard3 and Ibex are not compared here but with their RTL, and programs for a Cortex-R5
            // are made in another way.
            CoreKind::CortexM0
            | CoreKind::CortexM0Plus
            | CoreKind::CortexR5
            | CoreKind::Hazard3
            | CoreKind::Ibex => CORTEX_M0PLUS,
            CoreKind::CortexM3 => Self { machine: "mps2-an385", ..CORTEX_M4F },
            CoreKind::CortexM4 | CoreKind::CortexM4F => CORTEX_M4F,
            CoreKind::CortexM7 => Self { machine: "mps2-an500", ..CORTEX_M4F },
            CoreKind::CortexM33 => CORTEX_M33,
        }
    }

    /// The simulator's twin of QEMU's machine.
    ///
    /// # Panics
    /// Never: the text is constant.
    pub fn soc(&self, core: CoreKind) -> Soc {
        // QEMU gives the mainline cores all eight priority bits.
        let (ram, priority_bits) = if core.is_mainline() { (0x2_0000, 8) } else { (0x4000, 2) };
        let alias = if self.vectors == 0 { String::new() } else { self.vectors.to_string() };
        let text = format!(
            r#"
            name = "{}"
            description = "QEMU's machine"
            core = "{core}"
            clock_hz = 16_000_000
            interrupts = 32
            priority_bits = {priority_bits}
            vectors = {}

            [[memory]]
            name = "FLASH"
            kind = "flash"
            base = 0
            size = {}
            aliases = [{alias}]

            [[memory]]
            name = "RAM"
            kind = "ram"
            base = {}
            size = {ram}
            "#,
            self.machine, self.vectors, self.code, self.variables
        );
        Soc::from_toml(&text).expect("a valid soc")
    }
}
