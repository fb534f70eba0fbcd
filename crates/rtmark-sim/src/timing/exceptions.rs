//! Exception entry and return on Cortex-M3 and M4, as transfers on buses.
//!
//! An entry stores the frame over the stack's bus while it reads the vector and fetches the
//! handler, each over the bus of its memory (DDI 0337G, chapter 5). The frame takes nine cycles,
//! with six cycles for vector and handler in parallel, after three cycles in which the interrupt
//! reaches the core: that makes the manual's twelve. Transfers that share a bus take turns, and
//! others are hidden. All of it was measured on a CC2650 (`rtmark-silicon exceptions`), with the
//! vectors in SRAM and in the Code region, handlers and code in three memories, and an interrupt at
//! each cycle of programs. Those programs' vectors are assumed to be in flash, which matches the
//! cycles.
//!
//! Cases that the measurements do not cover are estimates by the same rules: vectors and handlers
//! behind other wait states, stacks in slow memories, floating-point frames (17 cycles more,
//! according to DDI 0439, 3.9; a division of the floating-point unit goes on meanwhile, by Arm's erratum
//! 776924), SVC and faults (nine cycles from the end of the instruction, since
//! the core knows of them at once) and the Cortex-M4, none of whose exceptions was measured. The
//! Cortex-M0, M0+ and M33 follow the figures of their manuals, counted from the cycle in which an
//! exception becomes pending.
//!
//! This module holds values only and knows no machine. Cycles count from the first one that the
//! core spends on the exception, in which an instruction would otherwise have entered the execute
//! stage.

use super::pipeline::CoreBus;

/// Cycles from the one in which an interrupt's input rises, or SysTick's counter is zero, to the
/// first one in which its exception can begin: three, which with the nine of the frame make the
/// manual's twelve. Measured with SysTick at each cycle of 832 programs.
pub const FROM_SIGNAL: u64 = 3;
/// Cycles from the one after the data phase of a store that makes an exception pending to the first
/// one in which the exception can begin. Measured with stores to ISPR, STIR and ICSR: programs in
/// three memories execute the instructions that enter the execute stage before it.
pub const FROM_STORE: u64 = 2;
/// Cycles from the first one of a handler's end to the next handler, on memories without wait
/// states (DDI 0337, 5.2; measured with DWT_EXCCNT).
const TAIL_CHAIN: u64 = 6;

/// Extra cycles of a return whose EXC_RETURN value is loaded (POP, LDM and LDR to the program
/// counter): measured, before the first cycle that DWT_EXCCNT counts.
pub const LOADED: u64 = 1;

/// The words of a frame, and its cycles: eight words after the first one's address take nine cycles
/// (measured with DWT_EXCCNT).
const FRAME_WORDS: u64 = 8;
const FRAME: u64 = 1 + FRAME_WORDS;
/// Words that are fetched before the first instruction can execute: the prefetch unit's three (DDI
/// 0337, 1.2).
const PREFETCHED: u64 = 3;
/// Cycles that a read adds among the stores of a frame, which are held up before and after it, and
/// among its loads. Measured: 11 instead of 9 with the vectors in the stack's memory, 17 with the
/// handler there as well; 12 instead of 9 on the way back to code there.
const READ_AMONG_STORES: u64 = 2;
const READ_AMONG_LOADS: u64 = 1;
/// The cycle in which a vector is read when it has to be inserted among the frame's words.
/// Measured: a handler in flash is fetched just in time, so that its third word comes a cycle late.
const VECTOR_AMONG_STORES: u64 = 5;
/// The minimum number of cycles between the address of a branch target on the bus and its
/// execution.
const REFILL: u64 = 3;
/// A number of refill cycles after which the prefetch queue is full.
const FULL: u64 = 12;

/// The cycles of a return within which an exception that reaches the core is chained to; the part
/// of the frame that has been restored is left on the stack (DDI 0337, 5.1, pop pre-emption).
/// Estimated to end with the frame's last word.
pub const LEFT_OFF: u64 = FRAME;

/// A memory as an exception encounters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusWaits {
    pub bus: CoreBus,
    /// The wait states of the access.
    pub waits: u64,
}

/// The memories of an exception that is about to be entered.
#[derive(Clone, Copy, Debug)]
pub struct EntryBuses {
    pub stack: BusWaits,
    pub vector: BusWaits,
    /// The bus of the handler's code.
    pub handler: CoreBus,
    /// The first cycle in which the Code bus has no fetch for the interrupted program left.
    pub code_free: u64,
}

/// The cycles in which the parts of an entry or a return end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTiming {
    /// The first cycle in which an instruction can execute.
    pub through: u64,
    /// The cycle in which the address of the first instruction is on its bus.
    pub asked: u64,
}

impl EntryTiming {
    /// Returns the cycles of the pipeline's refill that have passed when everything else has
    /// completed.
    pub const fn refilled(self) -> u64 {
        self.through.saturating_sub(self.asked)
    }

    /// Returns the timing with `more` extra cycles in which registers are moved.
    pub const fn behind(self, more: u64) -> Self {
        Self { through: self.through + more, ..self }
    }

    /// Returns the timing with `through` no earlier than `asked`: an instruction requested after
    /// everything else has completed is waited for.
    const fn when_asked(self) -> Self {
        if self.asked > self.through { Self { through: self.asked, ..self } } else { self }
    }
}

/// Returns the timing of an entry with a frame.
pub const fn enter(entry: &EntryBuses) -> EntryTiming {
    let EntryBuses { stack, vector, handler, code_free } = *entry;
    let among = vector.bus as u8 == stack.bus as u8;
    let read = if among {
        VECTOR_AMONG_STORES + vector.waits
    } else {
        (if code_free > 1 { code_free } else { 1 }) + vector.waits
    };
    let reads = if among { READ_AMONG_STORES + vector.waits } else { 0 };
    let frame = FRAME + FRAME_WORDS * stack.waits + reads;
    if handler as u8 == stack.bus as u8 {
        let through = frame + PREFETCHED * READ_AMONG_STORES;
        return EntryTiming { through, asked: through - FULL };
    }
    EntryTiming { through: frame, asked: read + 1 }.when_asked()
}

/// Returns the timing of a return that restores a frame, to code on the bus `code`. The return
/// address comes first.
pub const fn leave(stack: BusWaits, code: CoreBus) -> EntryTiming {
    let frame = FRAME + FRAME_WORDS * stack.waits;
    if code as u8 == stack.bus as u8 {
        let through = frame + PREFETCHED * READ_AMONG_LOADS;
        return EntryTiming { through, asked: through - FULL };
    }
    EntryTiming { through: frame, asked: 2 + stack.waits }
}

/// Returns the timing of a tail chain: from one handler to the next without a frame.
pub const fn chain(vector: BusWaits) -> EntryTiming {
    let through = TAIL_CHAIN + vector.waits;
    EntryTiming { through, asked: through - REFILL }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(bus: CoreBus, waits: u64) -> BusWaits {
        BusWaits { bus, waits }
    }

    const fn entry(vector: BusWaits, handler: CoreBus, code_free: u64) -> EntryTiming {
        enter(&EntryBuses { stack: at(CoreBus::System, 0), vector, handler, code_free })
    }

    #[test]
    fn stacking_hides_traffic_on_other_buses() {
        // DWT_EXCCNT of a CC2650 with vectors in GPRAM.
        assert_eq!(entry(at(CoreBus::Code, 0), CoreBus::Code, 0).through, 9);
        assert_eq!(leave(at(CoreBus::System, 0), CoreBus::Code).through, 9);
    }

    #[test]
    fn vector_reads_on_the_stacks_bus_are_interleaved_with_stacking() {
        // DWT_EXCCNT of a CC2650 with vectors in SRAM, with the handler there too, and back to code
        // there.
        assert_eq!(entry(at(CoreBus::System, 0), CoreBus::Code, 0).through, 11);
        assert_eq!(entry(at(CoreBus::System, 0), CoreBus::System, 0).through, 17);
        assert_eq!(leave(at(CoreBus::System, 0), CoreBus::System).through, 12);
    }

    #[test]
    fn vector_reads_wait_for_outstanding_fetches() {
        // Vector and handler in flash with two wait states: measured 9 cycles with the bus free,
        // and up to 12 while code is fetched. The handler's own waits are left out here.
        let free = entry(at(CoreBus::Code, 2), CoreBus::Code, 0);
        assert_eq!((free.asked, free.refilled()), (4, 5));
        assert_eq!(entry(at(CoreBus::Code, 2), CoreBus::Code, 4).asked, 7);
    }

    #[test]
    fn tail_chaining_takes_six_cycles_plus_vector_waits() {
        assert_eq!(chain(at(CoreBus::Code, 0)).through, 6);
        assert_eq!(chain(at(CoreBus::Code, 2)).through, 8);
        assert_eq!(chain(at(CoreBus::Code, 2)).refilled(), 3);
    }

    #[test]
    fn wait_states_of_each_memory_lengthen_their_part() {
        let stack = |waits| at(CoreBus::System, waits);
        // The frame's eight words wait one cycle each; the vector and the handler are behind them.
        let slow_stack = EntryBuses {
            stack: stack(1),
            vector: at(CoreBus::Code, 0),
            handler: CoreBus::Code,
            code_free: 0,
        };
        assert_eq!(enter(&slow_stack), EntryTiming { through: 9 + 8, asked: 2 });
        assert_eq!(leave(stack(1), CoreBus::Code), EntryTiming { through: 9 + 8, asked: 3 });
        // A vector in the stack's memory is read in the frame's sixth cycle, and holds up its stores.
        let beside = entry(at(CoreBus::System, 2), CoreBus::Code, 0);
        assert_eq!(beside, EntryTiming { through: 9 + 2 + 2, asked: 5 + 2 + 1 });
        // One that comes after the frame is waited for.
        let late = entry(at(CoreBus::Code, 12), CoreBus::Code, 0);
        assert_eq!((late, late.refilled()), (EntryTiming { through: 14, asked: 14 }, 0));
    }

    #[test]
    fn code_in_the_stacks_memory_finds_the_prefetch_queue_full() {
        let entered = entry(at(CoreBus::System, 0), CoreBus::System, 0);
        assert_eq!((entered.asked, entered.refilled()), (17 - 12, 12));
        let left = leave(at(CoreBus::System, 0), CoreBus::System);
        assert_eq!((left.asked, left.refilled()), (0, 12));
    }
}
