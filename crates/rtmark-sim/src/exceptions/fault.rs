//! Fault handling: status registers, escalation, lockup (DDI 0403, B1.5.11 to B1.5.15 and B3.2.15 to
//! B3.2.19; ARMv6-M has HardFault only; ARMv8-M adds SecureFault: DDI 0553, B3.9).

use rtmark_units::Cycles;

use crate::arch::armm::nvic::{
    BUS_FAULT, DEBUG_MONITOR, HARD_FAULT, MEM_MANAGE, NMI, SECURE_FAULT, USAGE_FAULT,
};
use crate::arch::armm::scs::FpControl;
use crate::arch::armm::trap::{Done, Trap};
use crate::exceptions::entry::Arrival;
use crate::isa::Slot;
use crate::state::State;
use crate::state::stop::{FaultKind, FaultPolicy, FaultReport, Stop, Transfer};

/// HFSR bits.
const VECTTBL: u32 = 1 << 1;
const FORCED: u32 = 1 << 30;
const DEBUGEVT: u32 = 1 << 31;
/// DFSR: a breakpoint instruction.
const DFSR_BKPT: u32 = 1 << 1;
/// CFSR: a bus error of a buffered store, past which the core has continued.
const IMPRECISERR: u32 = 1 << 10;
/// CFSR: MMFAR holds an address; BFAR holds an address.
const MMARVALID: u32 = 1 << 7;
const BFARVALID: u32 = 1 << 15;
/// SFSR: an invalid entry point; an error of lazily preserved floating-point state.
const INVEP: u32 = 1;
const LSERR: u32 = 1 << 7;

impl State {
    pub(super) fn report(&self, kind: FaultKind, address: Option<u32>, pc: u32) -> FaultReport {
        FaultReport {
            kind,
            pc,
            core: self.soc.core,
            lr: self.cpu.r[14],
            sp: self.cpu.r[13],
            address,
            handler: self.cpu.ipsr,
            mode: None,
            cycle: Cycles(self.cycles),
        }
    }

    /// Raises a fault of the instruction at `pc`, or of the target to which it branched.
    pub(crate) fn fault(
        &mut self,
        kind: FaultKind,
        address: Option<u32>,
        pc: u32,
    ) -> Result<(), Stop> {
        let report = self.report(kind, address, pc);
        self.cpu.pc = pc;
        if kind == FaultKind::Unmodelled {
            // No chip has such a fault, so no handler is meant for it.
            return Err(Stop::Fault(report));
        }
        let exception = self.raise(report)?;
        self.take(exception)
    }

    /// Raises the fault for code at `pc` that cannot be fetched or must not be executed.
    pub(crate) fn fetch_fault(&mut self, pc: u32) -> Result<(), Stop> {
        self.cycles += 1;
        let kind = if self.forbids_execution(pc) {
            FaultKind::InstructionProtection
        } else {
            FaultKind::InstructionAccess
        };
        self.fault(kind, Some(pc), pc)
    }

    /// Handles a store to which nothing responds. If the write buffer has accepted it, the core continues
    /// and the fault is imprecise. Stores to the Code region or to Strongly-ordered memory are not
    /// buffered, nor are any while the buffer is off (DDI 0337 and DDI 0439, 3.3.2 and ACTLR).
    #[cold]
    pub(crate) fn drop_store_or_trap(&mut self, trap: Trap) -> Done {
        if trap != Trap::NoResponse {
            return Err(trap);
        }
        if self.drops_stores {
            return Ok(());
        }
        self.ignore_or_trap(trap).map(|_| ()).map_err(|trap| {
            let address = self.trap_value;
            let buffered = self.features.mainline
                && address >> 29 != 0
                && !self.system.has_no_write_buffer()
                && (!self.guards.mpu || self.system.mpu.rights(address).are_bufferable());
            if buffered { Trap::LostStore } else { trap }
        })
    }

    /// CCR.BFHFNMIGN: at negative priorities, accesses to which nothing responds have no effect.
    #[cold]
    pub(crate) fn ignore_or_trap(&mut self, trap: Trap) -> Result<u32, Trap> {
        let ignored = trap == Trap::NoResponse
            && self.system.ignores_bus_faults()
            && self.execution_priority() < 0;
        if ignored { Ok(0) } else { Err(trap) }
    }

    /// Raises the fault for a bus error of a store by the instruction at `pc`, which has already completed.
    pub(crate) fn imprecise_fault(&mut self, address: u32, pc: u32) -> Result<(), Stop> {
        let report = self.report(FaultKind::DataAccess, Some(address), pc);
        self.system.fault_status |= IMPRECISERR;
        let exception =
            if self.handles_fault(BUS_FAULT) { BUS_FAULT } else { self.force(&report)? };
        // The fault stays pending while something more urgent executes.
        self.pend(exception, self.cycles);
        self.request_attention();
        Ok(())
    }

    /// Returns the kind of fault of an undefined instruction, which may belong to a coprocessor that is absent or
    /// disabled (DDI 0403, A5.3.18; the FPU is coprocessors 10 and 11).
    pub(crate) fn undefined(&self, pc: u32, slot: &Slot) -> FaultKind {
        let mut bytes = [0; 4];
        if !self.features.mainline || slot.size() != 4 || self.bus.peek(pc, &mut bytes) != 4 {
            return FaultKind::UndefinedInstruction;
        }
        let [low, high, _, coprocessor] = bytes;
        let first = u16::from_le_bytes([low, high]);
        let (op1, coprocessor) = (first >> 4 & 0x3F, coprocessor & 0xF);
        let is_coprocessors =
            first >> 13 == 0b111 && first >> 10 & 3 == 0b11 && op1 > 1 && op1 < 0x30;
        match coprocessor {
            _ if !is_coprocessors => FaultKind::UndefinedInstruction,
            10 | 11 if self.features.fp && self.system.allows_fp(self.cpu.privileged()) => {
                FaultKind::UndefinedInstruction
            }
            10 | 11 => FaultKind::NoCoprocessor,
            _ => FaultKind::AbsentCoprocessor,
        }
    }

    /// Handles a breakpoint instruction: by DebugMonitor if that is enabled and urgent enough, otherwise as
    /// a HardFault (DDI 0403, C1.4.1), before which the run stops.
    pub(crate) fn breakpoint(&mut self, pc: u32, slot: &Slot) -> Result<(), Stop> {
        let monitored = self.system.nvic.enabled().contains(DEBUG_MONITOR)
            && self.system.nvic.could_take(DEBUG_MONITOR, self.masks());
        self.cpu.pc = pc;
        if monitored {
            self.cycles += u64::from(slot.cost);
            self.drain();
            self.system.debug_status |= DFSR_BKPT;
            self.pend(DEBUG_MONITOR, self.cycles);
            return self.take(DEBUG_MONITOR);
        }
        if self.fault_policy == FaultPolicy::Stop {
            self.stay();
            return Err(Stop::Breakpoint(pc));
        }
        self.cycles += u64::from(slot.cost);
        self.drain();
        self.system.hard_fault_status |= DEBUGEVT;
        self.system.debug_status |= DFSR_BKPT;
        self.fault(FaultKind::Breakpoint, None, pc)
    }

    /// Handles a frame that could not be stored on exception entry: a fault of its own, derived from the
    /// exception, which stays pending (B1.5.11). `sp` is the stack pointer before the entry.
    pub(crate) fn stacking_failed(&mut self, trap: Trap, sp: u32) -> Result<(), Stop> {
        let kind = stack_fault(trap, Transfer::Entry);
        let report = self.report(kind, Some(self.trap_value), self.cpu.pc);
        self.raise(FaultReport { sp, ..report }).map(|_| ())
    }

    /// Raises a fault on exception return by the instruction at `pc`. It is taken as if it had been
    /// pending, on the frame that is still on the stack (B1.5.8).
    pub(crate) fn return_failed(
        &mut self,
        kind: FaultKind,
        address: Option<u32>,
        exc_return: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let exception = self.raise(self.report(kind, address, pc))?;
        self.chain(exception, exc_return)
    }

    /// Fails a return whose frame cannot be loaded.
    pub(crate) fn unstacking_failed(
        &mut self,
        trap: Trap,
        exc_return: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let kind = stack_fault(trap, Transfer::Return);
        self.return_failed(kind, Some(self.trap_value), exc_return, pc)
    }

    /// Handles the vector of an exception that cannot be read. The exception stays pending, and HardFault
    /// is taken instead (B1.5.12).
    pub(crate) fn vector_failed(
        &mut self,
        exception: u16,
        address: u32,
        exc_return: u32,
        way: Arrival,
    ) -> Result<(), Stop> {
        self.system.hard_fault_status |= VECTTBL;
        let report = self.report(FaultKind::Vector, Some(address), self.cpu.pc);
        // Nothing else is taken at a negative priority.
        if matches!(exception, NMI | HARD_FAULT) {
            return Err(Stop::Lockup(report));
        }
        if self.fault_policy == FaultPolicy::Stop {
            return Err(Stop::Fault(report));
        }
        self.pend(HARD_FAULT, self.cycles);
        self.begin_handler(HARD_FAULT, exc_return, way)
    }

    /// Handles lazily preserved floating-point registers that could not be stored for the instruction at
    /// `pc`. That instruction restarts after the fault, or at once if the fault has to wait. Which
    /// exception the fault raises was decided when the space was reserved (B1.5.7, FPCCR).
    pub(crate) fn lazy_stacking_failed(&mut self, trap: Trap, pc: u32) -> Result<(), Stop> {
        let kind = stack_fault(trap, Transfer::LazyFloat);
        let report = self.report(kind, Some(self.trap_value), pc);
        let own = self.record_fault(kind, None);
        let ready = if own == MEM_MANAGE {
            FpControl::MEM_MANAGE_READY
        } else {
            FpControl::BUS_FAULT_READY
        };
        let exception = if self.system.fp.control & ready != 0 {
            own
        } else if self.system.fp.control & FpControl::HARD_FAULT_READY != 0 {
            self.force(&report)?
        } else {
            return Err(Stop::Lockup(report));
        };
        self.cpu.pc = pc;
        if !self.system.nvic.could_take(exception, self.masks()) {
            self.system.fp.control &= !FpControl::LAZY_ACTIVE;
        }
        self.pend(exception, self.cycles);
        self.request_attention();
        Ok(())
    }

    /// Makes a synchronous fault's exception pending, and returns that exception: HardFault if the fault's
    /// own handler is disabled or not urgent enough.
    pub(super) fn raise(&mut self, report: FaultReport) -> Result<u16, Stop> {
        let own = self.record_fault(report.kind, report.address);
        let handled = self.features.mainline
            && self.handles_fault(own)
            && self.system.nvic.could_take(own, self.masks());
        let exception = if handled {
            own
        } else if self.execution_priority() < 0 {
            return Err(Stop::Lockup(report));
        } else if own == HARD_FAULT && report.kind != FaultKind::SupervisorCall {
            self.stop_or_deliver(&report)?
        } else {
            self.force(&report)?
        };
        self.pend(exception, self.cycles);
        Ok(exception)
    }

    /// Escalates a fault to HardFault.
    fn force(&mut self, report: &FaultReport) -> Result<u16, Stop> {
        self.system.hard_fault_status |= FORCED;
        self.stop_or_deliver(report)
    }

    fn stop_or_deliver(&self, report: &FaultReport) -> Result<u16, Stop> {
        match self.fault_policy {
            FaultPolicy::Stop => Err(Stop::Fault(report.clone())),
            FaultPolicy::Deliver => Ok(HARD_FAULT),
        }
    }

    /// Sets the status registers; returns the exception that belongs to the fault.
    fn record_fault(&mut self, kind: FaultKind, address: Option<u32>) -> u16 {
        let stack_bit = |transfer| match transfer {
            Transfer::Entry => 4,
            Transfer::Return => 3,
            Transfer::LazyFloat => 5,
        };
        let (exception, status) = match kind {
            FaultKind::InstructionProtection => (MEM_MANAGE, 1),
            FaultKind::DataProtection => (MEM_MANAGE, 1 << 1 | MMARVALID),
            FaultKind::StackProtection(transfer) => (MEM_MANAGE, 1 << stack_bit(transfer)),
            FaultKind::InstructionAccess => (BUS_FAULT, 1 << 8),
            FaultKind::DataAccess => (BUS_FAULT, 1 << 9 | BFARVALID),
            FaultKind::Stack(transfer) => (BUS_FAULT, 1 << 8 << stack_bit(transfer)),
            FaultKind::UndefinedInstruction => (USAGE_FAULT, 1 << 16),
            FaultKind::InvalidState => (USAGE_FAULT, 1 << 17),
            FaultKind::InvalidReturn => (USAGE_FAULT, 1 << 18),
            FaultKind::NoCoprocessor | FaultKind::AbsentCoprocessor => (USAGE_FAULT, 1 << 19),
            FaultKind::Unaligned => (USAGE_FAULT, 1 << 24),
            FaultKind::DivideByZero => (USAGE_FAULT, 1 << 25),
            FaultKind::StackLimit => (USAGE_FAULT, 1 << 20),
            FaultKind::NonSecure => return self.record_secure_fault(INVEP),
            FaultKind::LazyState => return self.record_secure_fault(LSERR),
            FaultKind::Vector
            | FaultKind::SupervisorCall
            | FaultKind::Breakpoint
            // Only RISC-V cores raise this.
            | FaultKind::ControlRegister
            | FaultKind::UnmodelledCoprocessor
            | FaultKind::Unmodelled => (HARD_FAULT, 0),
        };
        self.system.fault_status |= status;
        match (kind, address) {
            (FaultKind::DataAccess, Some(address)) => self.system.bus_fault_address = address,
            (FaultKind::DataProtection, Some(address)) => {
                self.system.mem_manage_address = address;
            }
            _ => {}
        }
        exception
    }

    fn record_secure_fault(&mut self, status: u32) -> u16 {
        self.system.secure_fault_status |= status;
        SECURE_FAULT
    }
}

/// Returns the kind of fault with which an access to a frame has ended.
fn stack_fault(trap: Trap, transfer: Transfer) -> FaultKind {
    match trap {
        Trap::Forbidden | Trap::LazyForbidden => FaultKind::StackProtection(transfer),
        Trap::StackLimit => FaultKind::StackLimit,
        Trap::LazyState => FaultKind::LazyState,
        _ => FaultKind::Stack(transfer),
    }
}
