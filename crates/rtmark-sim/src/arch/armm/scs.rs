//! The system control space: the registers through which software accesses its core.
//!
//! The state of the registers from 0xE0000000 to 0xE00FFFFF (DDI 0403, B3.2; DDI 0419, B3.2 for ARMv6-M,
//! which has fewer). The machine implements the effects of a register write (an exception that becomes
//! pending, a clock that starts).

use crate::arch::armm::caches::{CCR_BP, CCR_DC, CCR_IC, Caches};
use crate::arch::armm::coprocessors::Coprocessors;
use crate::arch::armm::dwt::Dwt;
use crate::arch::armm::identity::Identity;
use crate::arch::armm::itm::Itm;
use crate::arch::armm::mpu::Mpu;
use crate::arch::armm::nvic::{
    BUS_FAULT, DEBUG_MONITOR, ExceptionSet, FIRST_INTERRUPT, HARD_FAULT, MEM_MANAGE, NMI, Nvic,
    PENDSV, SECURE_FAULT, SVCALL, SYSTICK, USAGE_FAULT,
};
use crate::arch::armm::systick::SysTick;
use crate::isa::Features;
use crate::soc::{Generation, Soc};

/// The private peripheral bus; addresses above it belong to the chip's vendor.
pub const PRIVATE_BUS: std::ops::Range<u32> = 0xE000_0000..0xE010_0000;
pub const ITM: std::ops::Range<u32> = 0xE000_0000..0xE000_1000;
pub const DWT: std::ops::Range<u32> = 0xE000_1000..0xE000_2000;
pub const SYSTICK_REGISTERS: std::ops::Range<u32> = 0xE000_E010..0xE000_E020;
/// The CCR bits that have an effect here.
const CCR_UNALIGN_TRP: u32 = 1 << 3;
const CCR_DIV_0_TRP: u32 = 1 << 4;
const CCR_BFHFNMIGN: u32 = 1 << 8;
const CCR_STKALIGN: u32 = 1 << 9;
/// DEMCR bits. Vector catch bits are kept, but only a halting debugger would act on them.
pub const DEMCR_MON_EN: u32 = 1 << 16;
pub const DEMCR_MON_PEND: u32 = 1 << 17;
const DEMCR_MON_STEP: u32 = 1 << 18;
pub const DEMCR_TRCENA: u32 = 1 << 24;
pub const DEMCR_WRITABLE: u32 = 0x010D_07F1;
const CCR_STKOFHFNMIGN: u32 = 1 << 10;
/// CCR bits of ARMv8-M: STKALIGN and NONBASETHRDENA, which are always one, and those that can be written
/// (DDI 0553, D1.2, CCR).
pub const CCR_V8M_ONES: u32 = CCR_STKALIGN | 1;
pub const CCR_V8M_WRITABLE: u32 = 0x51A;
/// The key that AIRCR writes must carry in their upper half.
pub const AIRCR_KEY: u32 = 0x05FA;
/// SHCSR: the bits that show a handler as enabled, active, pending.
pub const HANDLERS_ENABLED: &[(u32, u16)] =
    &[(16, MEM_MANAGE), (17, BUS_FAULT), (18, USAGE_FAULT), (19, SECURE_FAULT)];
pub const HANDLERS_ACTIVE: &[(u32, u16)] = &[
    (0, MEM_MANAGE),
    (1, BUS_FAULT),
    (3, USAGE_FAULT),
    (4, SECURE_FAULT),
    (7, SVCALL),
    (8, DEBUG_MONITOR),
    (10, PENDSV),
    (11, SYSTICK),
];
pub const HANDLERS_PENDING: &[(u32, u16)] =
    &[(12, USAGE_FAULT), (13, MEM_MANAGE), (14, BUS_FAULT), (15, SVCALL), (20, SECURE_FAULT)];

/// Control of floating-point state (FPCCR, FPCAR, FPDSCR).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FpControl {
    /// FPCCR: whether and when to stack, and what was recorded when stacking was deferred.
    pub control: u32,
    /// FPCAR: the address for the lazily stacked registers.
    pub address: u32,
    /// FPDSCR: the initial status of a new context.
    pub default_status: u32,
}

impl FpControl {
    pub const LAZY_ACTIVE: u32 = 1;
    /// The state at exception entry, for when the registers are stored.
    pub const USER: u32 = 1 << 1;
    pub const THREAD: u32 = 1 << 3;
    pub const HARD_FAULT_READY: u32 = 1 << 4;
    pub const MEM_MANAGE_READY: u32 = 1 << 5;
    pub const BUS_FAULT_READY: u32 = 1 << 6;
    pub const DEBUG_MONITOR_READY: u32 = 1 << 8;
    /// Bits of ARMv8-M: UFRDY, SPLIMVIOL, TS, CLRONRET; and S, which marks the state as the Secure
    /// program's.
    pub const USAGE_FAULT_READY: u32 = 1 << 10;
    pub const LIMIT_VIOLATED: u32 = 1 << 9;
    const COVERS_ALL: u32 = 1 << 26;
    const CLEARED_ON_RETURN: u32 = 1 << 28;
    const SECURE: u32 = 1 << 2;
    /// The bits that are recorded when storing registers is deferred.
    pub const NOTES: u32 = Self::USER
        | Self::THREAD
        | Self::HARD_FAULT_READY
        | Self::MEM_MANAGE_READY
        | Self::BUS_FAULT_READY
        | Self::DEBUG_MONITOR_READY
        | Self::USAGE_FAULT_READY
        | Self::LIMIT_VIOLATED;
    const LAZY_ENABLED: u32 = 1 << 30;
    const AUTOMATIC: u32 = 1 << 31;

    const fn at_reset(features: Features) -> Self {
        let secure = if features.v8m { Self::SECURE } else { 0 };
        let control = Self::AUTOMATIC | Self::LAZY_ENABLED | secure;
        Self { control, address: 0, default_status: 0 }
    }

    /// Returns the bits that a program can write.
    pub const fn writable(features: Features) -> u32 {
        if features.v8m { 0xFC00_07FF } else { 0xC000_017B }
    }

    /// Returns whether frames also hold S16 to S31.
    pub const fn covers_all(&self) -> bool {
        self.control & Self::COVERS_ALL != 0
    }

    /// Returns whether an exception return clears the registers in which the handler may have left results.
    pub const fn cleared_on_return(&self) -> bool {
        self.control & Self::CLEARED_ON_RETURN != 0
    }

    pub const fn lazy_pending(&self) -> bool {
        self.control & Self::LAZY_ACTIVE != 0
    }

    pub const fn lazy_enabled(&self) -> bool {
        self.control & Self::LAZY_ENABLED != 0
    }

    /// Returns whether exception entry preserves floating-point state.
    pub const fn automatic(&self) -> bool {
        self.control & Self::AUTOMATIC != 0
    }
}

/// The registers of the system control space.
#[derive(Clone, Debug)]
pub struct System {
    pub identity: Identity,
    pub features: Features,
    pub nvic: Nvic,
    pub systick: SysTick,
    pub dwt: Dwt,
    pub itm: Itm,
    pub fp: FpControl,
    pub mpu: Mpu,
    pub vector_table: u32,
    /// SCR: bit 1 SLEEPONEXIT, bit 4 SEVONPEND ([`System::events_on_pend`]).
    pub sleep_control: u32,
    pub configuration: u32,
    /// CFSR and HFSR, MMFAR, BFAR.
    pub fault_status: u32,
    pub hard_fault_status: u32,
    pub mem_manage_address: u32,
    pub bus_fault_address: u32,
    /// DFSR and DEMCR.
    pub debug_status: u32,
    pub debug_control: u32,
    /// DCRDR, and the bits of DHCSR that are cleared by reading it.
    pub debug_data: u32,
    pub was_reset: bool,
    /// ACTLR.
    pub auxiliary_control: u32,
    /// SFSR.
    pub secure_fault_status: u32,
    /// CPACR.
    pub coprocessor_access: u32,
    /// The coprocessors that the chip adds.
    pub coprocessors: Option<Box<Coprocessors>>,
    /// The Cortex-M7's caches.
    pub caches: Option<Caches>,
    pub interrupts: u16,
}

/// SCR.SLEEPDEEP.
const SLEEP_DEEP: u32 = 1 << 2;
/// SCR.SEVONPEND.
const EVENT_ON_PEND: u32 = 1 << 4;

impl System {
    pub fn new(soc: &Soc, features: Features) -> Self {
        let configuration = if features.v8m {
            CCR_V8M_ONES
        } else if soc.generation() == Generation::EarlyCortexM3 {
            0
        } else if features.caches {
            CCR_STKALIGN | CCR_BP
        } else if features.mainline {
            CCR_STKALIGN
        } else {
            CCR_STKALIGN | CCR_UNALIGN_TRP
        };
        Self {
            identity: Identity::of(soc),
            features,
            nvic: Nvic::new(soc.interrupts, soc.priority_bits),
            systick: SysTick::new(soc.systick_reference_divisor),
            dwt: Dwt::new(features),
            itm: Itm::default(),
            mpu: Mpu::new(features, soc.mpu_regions()),
            fp: FpControl::at_reset(features),
            vector_table: soc.vector_base(),
            sleep_control: 0,
            configuration,
            fault_status: 0,
            hard_fault_status: 0,
            mem_manage_address: 0,
            bus_fault_address: 0,
            debug_status: 0,
            debug_control: 0,
            debug_data: 0,
            was_reset: true,
            auxiliary_control: 0,
            secure_fault_status: 0,
            coprocessor_access: 0,
            coprocessors: soc.coprocessors.map(|_| Box::default()),
            caches: features.caches.then(|| Caches::of(soc)),
            interrupts: soc.interrupts,
        }
    }

    /// Returns whether an exception that becomes pending is an event, masked or not (DDI 0403, B1.5.18).
    pub const fn events_on_pend(&self) -> bool {
        self.sleep_control & EVENT_ON_PEND != 0
    }

    /// Returns whether the core is to sleep deeply.
    pub const fn sleeps_deeply(&self) -> bool {
        self.sleep_control & SLEEP_DEEP != 0
    }

    /// Writes CCR of an ARMv7-M core.
    pub fn write_configuration(&mut self, value: u32) {
        self.configuration = match &self.caches {
            Some(caches) => value & (0x31B | caches.switches()) | CCR_BP,
            None => value & 0x31B,
        };
    }

    /// Returns whether the instruction cache and the data cache are enabled.
    pub const fn switched_caches(&self) -> (bool, bool) {
        (self.configuration & CCR_IC != 0, self.configuration & CCR_DC != 0)
    }

    pub const fn allows_unaligned(&self) -> bool {
        self.configuration & CCR_UNALIGN_TRP == 0
    }

    pub const fn traps_division_by_zero(&self) -> bool {
        self.configuration & CCR_DIV_0_TRP != 0
    }

    pub const fn aligns_stack(&self) -> bool {
        self.configuration & CCR_STKALIGN != 0
    }

    /// Returns whether stack limits are ignored at negative priorities (ARMv8-M).
    pub const fn ignores_stack_limits(&self) -> bool {
        self.configuration & CCR_STKOFHFNMIGN != 0
    }

    /// CCR.NONBASETHRDENA: handlers may return to thread mode while other exceptions are active.
    pub const fn thread_from_any_level(&self) -> bool {
        self.configuration & 1 != 0
    }

    /// CCR.BFHFNMIGN: bus faults are ignored at negative priorities.
    pub const fn ignores_bus_faults(&self) -> bool {
        self.configuration & CCR_BFHFNMIGN != 0
    }

    /// ACTLR.DISDEFWBUF.
    pub const fn has_no_write_buffer(&self) -> bool {
        self.auxiliary_control & 2 != 0
    }

    /// ACTLR.DISMCYCINT: multi-cycle instructions do not give way to interrupts.
    pub const fn completes_instructions(&self) -> bool {
        self.auxiliary_control & 1 != 0
    }

    pub const fn allows_fp(&self, privileged: bool) -> bool {
        self.allows_coprocessor(10, privileged)
    }

    /// Returns whether CPACR allows a coprocessor.
    pub const fn allows_coprocessor(&self, number: u8, privileged: bool) -> bool {
        match self.coprocessor_access >> (2 * number as u32) & 3 {
            3 => true,
            1 => privileged,
            _ => false,
        }
    }

    /// DEMCR.MON_STEP: the monitor runs after each instruction.
    pub const fn steps_by_monitor(&self) -> bool {
        self.debug_control & (DEMCR_MON_EN | DEMCR_MON_STEP) == DEMCR_MON_EN | DEMCR_MON_STEP
    }

    /// DHCSR: there is no debugger, the core has been reset since the register was last read, and
    /// instructions retire.
    pub const fn read_halting_control(&mut self) -> u32 {
        let reset = std::mem::replace(&mut self.was_reset, false);
        (reset as u32) << 25 | 1 << 24 | 1 << 16
    }

    /// Returns the exception that bit 0 of one of the NVIC's set or clear registers stands for.
    pub fn first_of(register: u32) -> u16 {
        FIRST_INTERRUPT + (register / 4 * 32) as u16
    }

    /// SHPRn and IPRn: returns the word with four priorities from `first` on.
    pub fn priorities(&self, first: u16) -> u32 {
        (0..4)
            .rev()
            .fold(0, |word, at| word << 8 | u32::from(self.nvic.priority_register(first + at)))
    }

    pub fn handler_state(&self) -> u32 {
        let word = |table: &[(u32, u16)], set: ExceptionSet| {
            table
                .iter()
                .fold(0, |word, &(bit, exception)| word | u32::from(set.contains(exception)) << bit)
        };
        let (enabled, active, pending) =
            (self.nvic.enabled(), self.nvic.active(), self.nvic.pending());
        let mut state = word(HANDLERS_ENABLED, enabled)
            | word(HANDLERS_ACTIVE, active)
            | word(HANDLERS_PENDING, pending);
        if self.features.v8m {
            state |=
                word(&[(2, HARD_FAULT), (5, NMI)], active) | word(&[(21, HARD_FAULT)], pending);
        }
        state
    }
}
