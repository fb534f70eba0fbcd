//! What a build needs to know about the place where its firmware will run.

use rtmark_sim::{CoreKind, EnableHow, Hertz, MemoryKind, Peripheral, PeripheralKind, Soc};

use crate::Manifest;

/// A range of memory to which firmware is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub base: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// A memory-mapped counter that clocked probes read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// The register's address.
    pub address: u32,
    /// Writes that start it, as addresses and values.
    pub start: Vec<(u32, u32)>,
}

/// Address of DWT_CYCCNT.
const CYCCNT: u32 = 0xE000_1004;

/// Address of SYST_CVR.
const SYST_CVR: u32 = 0xE000_E018;

impl Counter {
    /// Returns a core's cycle counter: DWT's, or SysTick if there is none.
    pub fn of_core(core: CoreKind) -> Self {
        if core.is_mainline() {
            // Enable tracing, clear the counter, enable it (DDI 0403, C1.6.5 and C1.8.7).
            let start = vec![(0xE000_EDFC, 0x0100_0000), (CYCCNT, 0), (0xE000_1000, 1)];
            Self { address: CYCCNT, start }
        } else {
            // The longest period, starting now, with its exception and the core's clock.
            let start = vec![(0xE000_E014, 0x00FF_FFFF), (SYST_CVR, 0), (0xE000_E010, 7)];
            Self { address: SYST_CVR, start }
        }
    }

    /// Tells whether it is SysTick, which kernels use as well.
    pub fn is_systick(&self) -> bool {
        self.address == SYST_CVR
    }
}

/// A UART to print through if no debugger handles semihosting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Console {
    /// Writes that set it up with its pins, as addresses and values.
    pub start: Vec<(u32, u32)>,
    /// The data register.
    pub data: u32,
    /// The status register.
    pub status: u32,
    /// The status bits to examine.
    pub mask: u32,
    /// The value of these bits when it is ready for a byte.
    pub ready: u32,
}

/// A timer that firmware may use as time base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The peripheral's name.
    pub name: String,
    /// Its first address.
    pub base: u32,
    /// Its kind.
    pub kind: PeripheralKind,
    /// Its interrupt, or that of its first alarm.
    pub interrupt: u16,
    /// How to enable it.
    pub enable: TimerEnable,
}

/// How to enable a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerEnable {
    /// The register.
    pub register: u32,
    /// Bits to clear there.
    pub clear: u32,
    /// Bits to set there.
    pub set: u32,
}

impl Timer {
    /// Returns the rate, in hertz, to which its drivers set it.
    pub const fn hertz(&self) -> u32 {
        match self.kind {
            PeripheralKind::NrfRtc => 32_768,
            // The clock of its bus, whose dividers are powers of two.
            PeripheralKind::CadenceTtc => 100_000_000,
            _ => MICROSECONDS,
        }
    }

    /// Tells whether it counts whole microseconds.
    pub const fn counts_microseconds(&self) -> bool {
        self.hertz() == MICROSECONDS
    }

    /// Returns its kind as named by `time_bases` in `kernel.toml`.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match self.kind {
            PeripheralKind::Stm32Timer => "stm32-timer",
            PeripheralKind::Rp2040Timer => "rp2040-timer",
            PeripheralKind::Rp2350Timer => "rp2350-timer",
            PeripheralKind::NrfRtc => "nrf-rtc",
            PeripheralKind::CadenceTtc => "cadence-ttc",
            _ => "any",
        }
    }

    /// Returns its name in the setting `time_base`.
    pub(crate) fn described(&self) -> String {
        if self.counts_microseconds() {
            self.name.clone()
        } else {
            format!("{}, {} Hz", self.name, self.hertz())
        }
    }
}

const MICROSECONDS: u32 = 1_000_000;

/// How probes are implemented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Probes {
    /// As addresses, which the simulator watches.
    #[default]
    Addresses,
    /// As code that reads a clock: this register or, if none is given, the core's own counter.
    Clocked(Option<Counter>),
}

/// Where firmware will run, as far as its build needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name of the soc or machine.
    pub name: String,
    /// The core's name, as `kernel.toml` lists it.
    pub core: String,
    /// The clock of the kernel's timer.
    pub clock: Hertz,
    /// The memory for code and constants, if any.
    pub flash: Option<Region>,
    /// The memory for data, if any.
    pub ram: Option<Region>,
    /// The number of external interrupts.
    pub interrupts: u16,
    /// The number of implemented priority bits.
    pub priority_bits: u8,
    /// The timer that the soc names as time base; see [`Target::timer`].
    pub timer: Option<Timer>,
    /// Register writes that precede everything else.
    pub init: Vec<(u32, u32)>,
    /// How probes are implemented.
    pub probes: Probes,
    /// The UART that images print through; semihosting if there is none.
    pub console: Option<Console>,
    /// The addresses of MTIME and MTIMECMP on a RISC-V core, if not those of a core-local interruptor.
    pub mtime: Option<[u32; 2]>,
    /// Images that are not built, because they could not run there or nobody asks for them.
    pub without: Vec<String>,
}

impl Target {
    /// Leaves out the images of a kernel that nobody asks for: every image is linked separately, and slowly.
    #[must_use]
    pub fn only(mut self, kernel: &Manifest, is_wanted: impl Fn(&str) -> bool) -> Self {
        self.without.extend(kernel.images.iter().filter(|image| !is_wanted(image)).cloned());
        self
    }

    /// Returns where the code at an address executes from, as named by the setting `code_in`.
    pub fn code_in(&self, address: u32) -> &'static str {
        let in_ram = self.ram.is_some_and(|ram| address.wrapping_sub(ram.base) < ram.size);
        if in_ram { "ram" } else { "flash" }
    }

    /// Returns the timer that firmware may use as time base. None with clocked probes: they stop
    /// SysTick while they print, and cannot stop any other timer.
    pub fn timer(&self) -> Option<&Timer> {
        self.timer.as_ref().filter(|_| self.probes == Probes::Addresses)
    }

    /// Replaces the probes by clocked ones that read the core's cycle counter.
    #[must_use]
    pub fn clocked(self, core: CoreKind) -> Self {
        Self { probes: Probes::Clocked(Some(Counter::of_core(core))), ..self }
    }

    /// Returns the folder name for its builds, which differs between kinds of probes.
    pub(crate) fn folder(&self) -> String {
        let counter = match &self.probes {
            Probes::Addresses => "",
            Probes::Clocked(Some(counter)) if counter.address == CYCCNT => "-cyccnt",
            Probes::Clocked(Some(counter)) if counter.is_systick() => "-systick",
            Probes::Clocked(_) => "-clocked",
        };
        let console = if self.console.is_some() { "-uart" } else { "" };
        format!("{}{counter}{console}", self.name)
    }
}

impl From<&Soc> for Target {
    fn from(soc: &Soc) -> Self {
        let region = |name: &str, kind: MemoryKind| {
            // The memory that holds code may be RAM, as on development boards.
            let named = soc.memories.iter().find(|memory| memory.name == name);
            let found = named.or_else(|| soc.memories.iter().find(|memory| memory.kind == kind));
            found.map(|memory| Region { base: memory.base, size: memory.size })
        };
        // A boot loader may precede the vectors.
        let from_vectors = |flash: Region| {
            let before = soc.vectors.and_then(|vectors| vectors.checked_sub(flash.base));
            let before = before.filter(|before| *before < flash.size).unwrap_or(0);
            Region { base: flash.base + before, size: flash.size - before }
        };
        Self {
            name: soc.name.clone(),
            core: soc.core.name().to_owned(),
            clock: soc.clock,
            flash: region("FLASH", MemoryKind::Flash).map(from_vectors),
            ram: region("RAM", MemoryKind::Ram),
            interrupts: soc.interrupts,
            priority_bits: soc.priority_bits,
            timer: timer(soc),
            init: soc.init.iter().map(|write| (write.address, write.value)).collect(),
            probes: Probes::Addresses,
            console: None,
            mtime: mtime(soc),
            without: Vec::new(),
        }
    }
}

/// Returns the addresses of MTIME, and of MTIMECMP after it, in RP2350's SIO (datasheet, 3.1.8), if time is counted by it.
fn mtime(soc: &Soc) -> Option<[u32; 2]> {
    let is_sio = |peripheral: &&Peripheral| {
        peripheral.kind == PeripheralKind::Rp2350RiscvTimer && soc.core.is_riscv()
    };
    let sio = soc.peripherals.iter().find(is_sio)?;
    let time = (sio.base & !0xFFF) + 0x1B0;
    Some([time, time + 8])
}

fn timer(soc: &Soc) -> Option<Timer> {
    let (peripheral, named) = (soc.timer()?, soc.time_base.as_ref()?);
    let (bit, register) = (1_u32.checked_shl(named.enable.bit.into())?, named.enable.address);
    let enable = match named.enable.how {
        EnableHow::Set => TimerEnable { register, clear: 0, set: bit },
        EnableHow::Clear => TimerEnable { register, clear: bit, set: 0 },
    };
    Some(Timer {
        name: peripheral.name.clone(),
        base: peripheral.base,
        kind: peripheral.kind,
        interrupt: *peripheral.irq.first()?,
        enable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc(core: &str, vectors: &str, flash: &str) -> Soc {
        let bits = if core.starts_with("cortex-m0") { 2 } else { 4 };
        let text = format!(
            "name = 'x'\ndescription = 'X'\ncore = '{core}'\nclock_hz = 1000\n\
             interrupts = 8\npriority_bits = {bits}\n{vectors}sources = []\n\
             [[memory]]\nname = '{flash}'\nkind = 'flash'\nbase = 0x1000_0000\nsize = 0x1000\n\
             [[memory]]\nname = 'CCM'\nkind = 'ram'\nbase = 0x1800_0000\nsize = 0x400\n\
             [[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0x2000_0000\nsize = 0x1000\n"
        );
        Soc::from_toml(&text).expect("good")
    }

    #[test]
    fn the_image_begins_with_the_vectors() {
        let flash = |vectors: &str, name: &str| {
            Target::from(&soc("cortex-m0plus", vectors, name)).flash.map(|f| (f.base, f.size))
        };
        for name in ["FLASH", "ROM"] {
            let whole = Some((0x1000_0000, 0x1000));
            assert_eq!(flash("", name), whole);
            assert_eq!(flash("vectors = 0x1000_0000\n", name), whole);
            let behind = Some((0x1000_0100, 0xF00));
            assert_eq!(flash("vectors = 0x1000_0100\n", name), behind);
            assert_eq!(flash("vectors = 0x1000_0F00\n", name), Some((0x1000_0F00, 0x100)));
            // Vectors elsewhere say nothing of the flash.
            assert_eq!(flash("vectors = 0x2000_0000\n", name), whole);
        }
    }

    #[test]
    fn code_is_in_ram_from_its_first_byte_to_its_last() {
        let target = Target::from(&soc("cortex-m0plus", "", "FLASH"));
        assert_eq!(target.ram, Some(Region { base: 0x2000_0000, size: 0x1000 }), "by its name");
        let places = [0x1FFF_FFFF, 0x2000_0000, 0x2000_0FFF, 0x2000_1000, 0x1800_0000, 0];
        let wanted = ["flash", "ram", "ram", "flash", "flash", "flash"];
        assert_eq!(places.map(|address| target.code_in(address)), wanted);
    }

    /// DWT_CYCCNT where there is one (DDI 0403, C1.8), otherwise SysTick (B3.3).
    #[test]
    fn clocked_probes_read_the_counter_of_the_core() {
        let counters = [
            ("cortex-m0", 0xE000_E018, "x-systick"),
            ("cortex-m0plus", 0xE000_E018, "x-systick"),
            ("cortex-m3", 0xE000_1004, "x-cyccnt"),
            ("cortex-m4f", 0xE000_1004, "x-cyccnt"),
            ("cortex-m7", 0xE000_1004, "x-cyccnt"),
        ];
        for (core, address, folder) in counters {
            let soc = soc(core, "", "FLASH");
            let plain = Target::from(&soc);
            assert_eq!((plain.folder().as_str(), &plain.probes), ("x", &Probes::Addresses));
            let clocked = plain.clocked(soc.core);
            let Probes::Clocked(Some(counter)) = &clocked.probes else { panic!("{clocked:?}") };
            assert_eq!((counter.address, clocked.folder().as_str()), (address, folder), "{core}");
            // Zero is written to the counter before the register that lets it count.
            let writes: Vec<u32> = counter.start.iter().map(|(register, _)| *register).collect();
            assert_eq!(writes.iter().position(|register| *register == address), Some(1), "{core}");
            assert_eq!(counter.start[1].1, 0, "{core}");
            let console = Some(Console::default());
            let printing = Target { console, probes: Probes::Clocked(None), ..clocked };
            assert_eq!(printing.folder(), "x-clocked-uart");
            let other = Some(Counter { address: 0x4000_0000, start: Vec::new() });
            let timed = Target { console: None, probes: Probes::Clocked(other), ..printing };
            assert_eq!(timed.folder(), "x-clocked");
        }
    }

    /// Embassy's manifest has a driver for each kind of timer.
    #[test]
    fn each_timer_has_the_driver_of_its_kind() {
        let embassy = include_str!("../../../firmware/embassy/kernel.toml");
        let embassy = Manifest::from_toml(embassy).expect("good");
        let socs = [
            (include_str!("../../../socs/stm32c031.toml"), "stm32_timer"),
            (include_str!("../../../socs/rp2040.toml"), "rp2040_timer"),
            (include_str!("../../../socs/rp2350.toml"), "rp2350_timer"),
            (include_str!("../../../socs/nrf52840.toml"), "nrf_rtc"),
            (include_str!("../../../socs/zynqmp-r5.toml"), "ttc_timer"),
        ];
        for (soc, driver) in socs {
            let target = Target::from(&Soc::from_toml(soc).expect("good"));
            assert_eq!(embassy.driver(&target), Some(driver), "{}", target.name);
        }
    }

    #[test]
    fn only_the_images_asked_for_are_built() {
        let text = "id = 'k'\nname = 'K'\nversion = '1'\nlicense = 'MIT'\nsource = 's'\n\
                    language = 'C'\nbuild = 'make'\nimages = ['thread', 'queue']\ncores = []\n";
        let kernel = Manifest::from_toml(text).expect("good");
        let target = Target::from(&soc("cortex-m3", "", "FLASH"));
        assert_eq!(target.only(&kernel, |image| image == "thread").without, ["queue"]);
    }

    /// RP2350's datasheet, 3.1.11: MTIME at 0x1b0 of SIO, MTIMECMP at 0x1b8.
    #[test]
    fn a_risc_v_core_may_have_its_timer_elsewhere() {
        let mtime = |text: &str| Target::from(&Soc::from_toml(text).expect("good")).mtime;
        let rp2350 = include_str!("../../../socs/rp2350-riscv.toml");
        assert_eq!(mtime(rp2350), Some([0xD000_01B0, 0xD000_01B8]));
        assert_eq!(mtime(include_str!("../../../socs/generic-hazard3.toml")), None);
    }
}
