//! Firmware for tests, assembled instruction by instruction.

#![allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    reason = "each test file uses a part of what is here, and which part differs"
)]

pub mod landmarks;
pub mod programs;
mod random;

pub use random::Random;
use rtmark_sim::{
    CacheSizes, CoreKind, Cycles, FaultPolicy, Machine, MemoryTiming, Register, Soc, Stop, Watch,
    WatchId,
};

/// The start of RAM, and the stack pointer after reset.
pub const RAM: u32 = 0x2000_0000;
pub const STACK: u32 = RAM + 0x4000;
/// The start of code, after a table of 64 vectors.
const CODE: u32 = 0x100;

pub const NOP: u16 = 0xBF00;
pub const BX_LR: u16 = 0x4770;
pub const FOREVER: u16 = 0xE7FE;
pub const WFI: u16 = 0xBF30;
pub const WFE: u16 = 0xBF20;
pub const SEV: u16 = 0xBF40;
pub const CPSID_I: u16 = 0xB672;
pub const CPSIE_I: u16 = 0xB662;

/// Registers of the system control space.
pub const SYST_CSR: u32 = 0xE000_E010;
pub const SYST_RVR: u32 = 0xE000_E014;
pub const SYST_CVR: u32 = 0xE000_E018;
pub const NVIC_ISER: u32 = 0xE000_E100;
pub const NVIC_ISPR: u32 = 0xE000_E200;
pub const NVIC_IPR: u32 = 0xE000_E400;
pub const ICSR: u32 = 0xE000_ED04;
pub const VTOR: u32 = 0xE000_ED08;
pub const AIRCR: u32 = 0xE000_ED0C;
pub const SCR: u32 = 0xE000_ED10;
pub const CCR: u32 = 0xE000_ED14;
pub const SHPR2: u32 = 0xE000_ED1C;
pub const SHPR3: u32 = 0xE000_ED20;
pub const SHCSR: u32 = 0xE000_ED24;
pub const CFSR: u32 = 0xE000_ED28;
pub const HFSR: u32 = 0xE000_ED2C;
pub const DFSR: u32 = 0xE000_ED30;
pub const DEMCR: u32 = 0xE000_EDFC;
pub const ACTLR: u32 = 0xE000_E008;
pub const MMFAR: u32 = 0xE000_ED34;
pub const BFAR: u32 = 0xE000_ED38;
pub const CPACR: u32 = 0xE000_ED88;
pub const MPU_TYPE: u32 = 0xE000_ED90;
pub const MPU_CTRL: u32 = 0xE000_ED94;
pub const MPU_RNR: u32 = 0xE000_ED98;
pub const MPU_RBAR: u32 = 0xE000_ED9C;
pub const MPU_RASR: u32 = 0xE000_EDA0;
pub const FPCCR: u32 = 0xE000_EF34;

/// Executes `ldr r7, [r6]` for an address, in a chip's RAM at its usual address.
pub fn load_word(machine: &mut Machine, address: u32) -> u32 {
    machine.poke(0x2000_0000, &0x6837_u16.to_le_bytes()).expect("RAM");
    machine.set_register(Register::R(6), address);
    machine.set_register(Register::Pc, 0x2000_0000);
    machine.step(Cycles::MAX).expect("a step");
    machine.register(Register::R(7))
}

/// Returns a soc with memories that never wait.
pub fn soc(core: CoreKind) -> Soc {
    let priority_bits = if core.is_mainline() { 4 } else { 2 };
    let text = format!(
        r#"
        name = "bench"
        description = "memories without wait states"
        core = "{core}"
        clock_hz = 1_000_000
        interrupts = 32
        priority_bits = {priority_bits}

        [[memory]]
        name = "FLASH"
        kind = "flash"
        base = 0
        size = 0x4000

        [[memory]]
        name = "RAM"
        kind = "ram"
        base = {RAM}
        size = 0x4000
        "#
    );
    Soc::from_toml(&text).expect("a valid soc")
}

/// Sets how long flash takes. A cache is one of flash, or those of a Cortex-M7, which has them in the core.
pub fn set_flash_timing(soc: &mut Soc, timing: MemoryTiming) {
    soc.memories[0].timing = timing;
    if soc.core == CoreKind::CortexM7 && timing.has_caches() {
        let lines = u32::from(timing.cache_lines).max(timing.instruction_lines.into());
        let MemoryTiming { wait_states, .. } = timing;
        soc.memories[0].timing = MemoryTiming { wait_states, line_bytes: 32, ..Default::default() };
        put_flash_behind_caches(soc, lines.next_power_of_two().max(4));
    }
}

/// Puts flash behind a Cortex-M7's caches, each of so many lines: to address 0x08000000, because at 0, where it appears
/// as well, there would be the instruction TCM.
pub fn put_flash_behind_caches(soc: &mut Soc, lines: u32) {
    (soc.memories[0].base, soc.memories[0].aliases, soc.vectors) = (0x0800_0000, vec![0], Some(0));
    soc.caches = CacheSizes { instruction_bytes: 32 * lines, data_bytes: 32 * lines };
}

/// Switches a Cortex-M7's caches on, which are off at reset.
pub fn switch_caches_on(machine: &mut Machine) {
    machine.store_word(CCR, 0x0003_0200).expect("CCR");
}

/// Returns a soc with no more than 64 KiB of each memory, so that copies of its machine are made quickly.
pub fn small(soc: &Soc) -> Soc {
    let mut soc = soc.clone();
    for memory in &mut soc.memories {
        memory.size = memory.size.min(0x1_0000);
    }
    soc
}

/// A program with named addresses.
#[derive(Clone, Debug, Default)]
pub struct Firmware {
    halves: Vec<u16>,
    literals: Vec<(usize, u32)>,
    vectors: Vec<(u16, u32)>,
    marks: Vec<(&'static str, u32)>,
}

impl Firmware {
    /// Creates a program whose first instructions run at reset.
    pub fn new() -> Self {
        let mut firmware = Self::default();
        firmware.handler(1);
        firmware
    }

    pub fn here(&self) -> u32 {
        CODE + self.halves.len() as u32 * 2
    }

    /// Starts the handler of an exception, and ends the code before it.
    pub fn handler(&mut self, exception: u16) -> &mut Self {
        self.pool();
        self.vectors.push((exception, self.here() | 1));
        self
    }

    /// Sets an exception's vector to a value as is, with or without the Thumb bit.
    pub fn vector(&mut self, exception: u16, value: u32) -> &mut Self {
        self.vectors.push((exception, value));
        self
    }

    /// Marks the next instruction, so that its execution is recorded under a name.
    pub fn mark(&mut self, name: &'static str) -> &mut Self {
        self.marks.push((name, self.here()));
        self
    }

    pub fn address(&self, name: &str) -> u32 {
        self.marks.iter().find(|mark| mark.0 == name).expect("a mark of that name").1
    }

    pub fn op(&mut self, halves: &[u16]) -> &mut Self {
        self.halves.extend_from_slice(halves);
        self
    }

    pub fn nops(&mut self, count: usize) -> &mut Self {
        self.halves.extend(std::iter::repeat_n(NOP, count));
        self
    }

    /// `LDR rd, =value`
    pub fn set(&mut self, rd: u16, value: u32) -> &mut Self {
        self.literals.push((self.halves.len(), value));
        self.op(&[0x4800 | rd << 8])
    }

    /// Stores a word, using r0 and r1.
    pub fn store(&mut self, address: u32, value: u32) -> &mut Self {
        self.set(0, address).set(1, value).op(&[0x6001])
    }

    /// `LDR r0, =address; LDR rd, [r0]`
    pub fn load(&mut self, rd: u16, address: u32) -> &mut Self {
        self.set(0, address).op(&[0x6800 | rd])
    }

    /// `MSR special, rn`
    pub fn msr(&mut self, special: u16, rn: u16) -> &mut Self {
        self.op(&[0xF380 | rn, 0x8800 | special])
    }

    /// `MRS rd, special`
    pub fn mrs(&mut self, rd: u16, special: u16) -> &mut Self {
        self.op(&[0xF3EF, 0x8000 | rd << 8 | special])
    }

    /// Enables the interrupts whose bits are set.
    pub fn enable(&mut self, interrupts: u32) -> &mut Self {
        self.store(NVIC_ISER, interrupts)
    }

    /// Turns the FPU on.
    pub fn fpu(&mut self) -> &mut Self {
        self.store(CPACR, 0x00F0_0000).op(&[0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F])
    }

    /// Sets up a region of PMSAv7: `size` bytes with the rights of an AP field. `more` holds
    /// further bits of RASR, such as XN or disabled subregions.
    pub fn region(&mut self, number: u32, base: u32, size: u32, ap: u32, more: u32) -> &mut Self {
        let rasr = ap << 24 | (size.trailing_zeros() - 1) << 1 | 1 | more;
        self.store(MPU_RBAR, base | 1 << 4 | number).store(MPU_RASR, rasr)
    }

    /// Makes thread mode unprivileged, using r0.
    pub fn unprivileged(&mut self) -> &mut Self {
        self.set(0, 1).msr(20, 0).op(&[0xF3BF, 0x8F6F])
    }

    /// Loops forever, after a NOP that can carry a mark and executes once.
    pub fn forever(&mut self) -> &mut Self {
        self.op(&[NOP, FOREVER])
    }

    /// Writes the literal pool after the code.
    pub fn pool(&mut self) {
        if !self.here().is_multiple_of(4) {
            self.halves.push(NOP);
        }
        for (at, value) in std::mem::take(&mut self.literals) {
            let load = CODE + at as u32 * 2;
            let offset = (self.here() - ((load + 4) & !3)) / 4;
            assert!(offset < 256, "a literal is too far away");
            self.halves[at] |= offset as u16;
            self.halves.extend([value as u16, (value >> 16) as u16]);
        }
    }

    /// Returns the program's bytes from address 0 on. Exceptions without a handler have no vector.
    pub fn image(&self) -> Vec<u8> {
        let mut firmware = self.clone();
        firmware.pool();
        let mut image = vec![0xFF; CODE as usize];
        image.extend(firmware.halves.iter().flat_map(|half| half.to_le_bytes()));
        image[..4].copy_from_slice(&STACK.to_le_bytes());
        for (exception, vector) in firmware.vectors {
            let at = usize::from(exception) * 4;
            image[at..at + 4].copy_from_slice(&vector.to_le_bytes());
        }
        image
    }

    /// Creates a machine that is about to run the program and delivers faults to its handlers.
    pub fn on(&self, core: CoreKind) -> Running {
        self.on_soc(&soc(core))
    }

    /// Creates a machine as [`Firmware::on`] does, with a soc like that of [`soc`].
    pub fn on_soc(&self, soc: &Soc) -> Running {
        let mut machine = Machine::new(soc);
        machine.set_fault_policy(FaultPolicy::Deliver);
        machine.poke(0, &self.image()).expect("in flash");
        machine.reset().expect("vectors");
        let marks = self
            .marks
            .iter()
            .map(|&(name, address)| (machine.watch(Watch::Execute(address)), name))
            .collect();
        Running { machine, marks, passed: Vec::new() }
    }
}

/// A machine with the names of its firmware's addresses.
#[derive(Clone, Debug)]
pub struct Running {
    pub machine: Machine,
    marks: Vec<(WatchId, &'static str)>,
    /// The marks passed so far, with their cycles.
    pub passed: Vec<(&'static str, u64)>,
}

impl Running {
    /// Records an event under a name.
    pub fn watch(&mut self, watch: Watch, name: &'static str) {
        let id = self.machine.watch(watch);
        self.marks.push((id, name));
    }

    /// Runs for a number of further cycles.
    pub fn run(&mut self, cycles: u64) -> Stop {
        let stop = self.machine.run(Cycles(self.machine.cycles().0 + cycles));
        for hit in self.machine.take_hits() {
            let mark = self.marks.iter().find(|mark| mark.0 == hit.watch).expect("its own watch");
            self.passed.push((mark.1, hit.cycle.0));
        }
        stop
    }

    /// Returns the names of the marks passed, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.passed.iter().map(|mark| mark.0).collect()
    }

    /// Returns the cycle in which a mark was first passed.
    pub fn cycle(&self, name: &str) -> u64 {
        self.passed.iter().find(|mark| mark.0 == name).expect("passed").1
    }

    pub fn word(&self, address: u32) -> u32 {
        let bytes = self.machine.peek(address, 4);
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    pub fn r(&self, number: u8) -> u32 {
        self.machine.register(Register::R(number))
    }
}

/// Returns the cycles from an interrupt becoming pending until a core can take it: the part of the
/// 12 cycles of the Cortex-M3 and M4 beyond the nine of the frame (DDI 0337, 12.2).
pub const fn interrupt_delay(core: CoreKind) -> u64 {
    match core {
        CoreKind::CortexM3 | CoreKind::CortexM4 | CoreKind::CortexM4F => 3,
        _ => 0,
    }
}
