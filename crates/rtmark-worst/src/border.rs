//! Where pieces meet: boundaries, and the points behind one that belong to the piece before.

use rtmark_sim::{Cycles, InternalError, Machine, Register, Stop, Tried};

/// Cycles before a piece in which it is looked at what instructions may notice: more than any of
/// them does behind the next boundary.
const BEFORE: u64 = 256;

/// A machine at a boundary, as far as boundaries need to be told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    pub cycle: u64,
    pub instructions: u64,
    pub taken: u64,
    pub asleep: bool,
}

impl Boundary {
    pub fn of(machine: &Machine) -> Self {
        Self {
            cycle: machine.cycles().0,
            instructions: machine.instructions().0,
            taken: machine.exceptions_taken(),
            asleep: machine.is_asleep(),
        }
    }

    /// The mistake of the simulator that a copy of a machine does not come to a boundary at which
    /// the machine has been.
    pub fn missed_by(self, copy: &Machine) -> InternalError {
        InternalError {
            pc: copy.register(Register::Pc),
            instruction: None,
            cycle: copy.cycles(),
            state: format!(
                "a copy of the machine does not come to instruction {} in cycle {}, but to {} in {}",
                self.instructions,
                self.cycle,
                copy.instructions().0,
                copy.cycles().0
            ),
        }
    }
}

/// When the next instruction gives way to something by itself, in a copy of the machine that has
/// gone there; the last cycle of all if it does not.
pub fn gives_way(machine: &Machine) -> (Machine, u64) {
    let mut copy = machine.clone();
    let _ = copy.advance(Cycles(u64::MAX));
    // Else it would have been over by then: a pair's second one begins with it.
    let gave_way = copy.gave_way() != machine.gave_way();
    let end = if gave_way { copy.cycles().0 } else { u64::MAX - machine.way_to_core() };
    (copy, end)
}

/// The last point at which the instruction that is about to execute may notice an interrupt or
/// give way to it, also behind the next boundary: where it looks at what is pending, or is one
/// that is left off although the next one could have entered.
fn noticed(machine: &mut Machine, interrupt: u16) -> u64 {
    if let Some(until) = machine.looks_until() {
        return until.0;
    }
    if machine.sees_pending() || machine.holds_back(interrupt).is_some() {
        return 0;
    }
    let (now, way) = (machine.cycles().0, machine.way_to_core());
    let (mut at, mut last, mut end) = ((now + 1).saturating_sub(way), 0, None);
    while let Some(tried) = machine.try_entry_within(interrupt, Cycles(at)) {
        if tried == Tried::Unclear && at + way > *end.get_or_insert_with(|| gives_way(machine).1) {
            break;
        }
        (last, at) = (at, at + 1);
    }
    last
}

/// Goes along to the first boundary that has reached a cycle, and notes the last point at which
/// instructions that have begun before may notice each of some interrupts; answers whether there
/// is such a boundary.
pub fn reach(machine: &mut Machine, cycle: u64, interrupts: [u16; 2], last: &mut [u64; 2]) -> bool {
    let near = cycle.saturating_sub(BEFORE);
    if machine.cycles().0 < near && machine.run(Cycles(near)) != Stop::Limit {
        return false;
    }
    loop {
        machine.settle();
        if machine.cycles().0 >= cycle {
            return true;
        }
        for (interrupt, last) in interrupts.into_iter().zip(last.iter_mut()) {
            *last = noticed(machine, interrupt).max(*last);
        }
        let until = if machine.is_asleep() { cycle } else { u64::MAX };
        if machine.advance(Cycles(until)).is_err() {
            return false;
        }
    }
}
