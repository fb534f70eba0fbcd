//! The borders between pieces: instruction boundaries, and points after a boundary that belong to the
//! preceding piece.

use rtmark_sim::{Cycles, InternalError, Irq, Machine, Register, Stop, TrialOutcome};

/// The cycles before a piece in which instructions are examined for what they may notice. No
/// instruction notices anything this long after the next boundary.
const BEFORE: u64 = 256;

/// The state of a machine at a boundary, as far as needed to distinguish boundaries.
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

    /// Returns the simulator's mistake that a copy of a machine misses a boundary that the machine
    /// itself reached.
    pub fn missed_boundary_error(self, copy: &Machine) -> InternalError {
        InternalError {
            pc: copy.register(Register::Pc),
            instruction: None,
            cycle: copy.cycles(),
            state: format!(
                "a copy of the machine reaches instruction {} in cycle {} instead of {} in {}",
                self.instructions,
                self.cycle,
                copy.instructions().0,
                copy.cycles().0
            ),
        }
    }
}

/// Returns the cycle in which the next instruction gives way to something on its own, or a cycle that
/// never comes; `check` gets the machine after that instruction.
pub fn giving_way_at(machine: &mut Machine, check: impl FnOnce(&Machine)) -> u64 {
    let before = machine.abandoned_instructions();
    machine.look_ahead(|ahead| {
        let _ = ahead.advance(Cycles(u64::MAX));
        check(ahead);
        // Otherwise it would be over by then: the second instruction of a pair begins with it.
        let was_abandoned = ahead.abandoned_instructions() != before;
        if was_abandoned { ahead.cycles().0 } else { u64::MAX - ahead.interrupt_delay() }
    })
}

/// Returns the last point at which the instruction about to execute may notice an interrupt or give way
/// to it, possibly after the next boundary: either it reads what is pending, or it is abandoned
/// although the next instruction could have been entered.
fn noticed(machine: &mut Machine, interrupt: Irq) -> u64 {
    if let Some(until) = machine.observes_pending_until(interrupt) {
        return until.0;
    }
    if machine.can_observe_pending(interrupt) || machine.interrupt_blocker(interrupt).is_some() {
        return 0;
    }
    let (now, delay) = (machine.cycles().0, machine.interrupt_delay());
    let (mut at, mut last, mut end) = ((now + 1).saturating_sub(delay), 0, None);
    while let Some(tried) = machine.try_entry_within(interrupt, Cycles(at)) {
        if tried == TrialOutcome::Unclear
            && at + delay > *end.get_or_insert_with(|| giving_way_at(machine, |_| ()))
        {
            break;
        }
        (last, at) = (at, at + 1);
    }
    last
}

/// Advances to the first boundary at or after a cycle, or to where the core sleeps for ever, and records
/// the last point at which instructions begun before that boundary may notice each of the interrupts.
/// Returns whether there is such a boundary.
pub fn reach(machine: &mut Machine, cycle: u64, interrupts: [Irq; 2], last: &mut [u64; 2]) -> bool {
    let near = cycle.saturating_sub(BEFORE);
    if machine.cycles().0 < near {
        match machine.run(Cycles(near)) {
            Stop::Limit => {}
            Stop::Asleep => return true,
            _ => return false,
        }
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
        match machine.advance(Cycles(until)) {
            Ok(_) => {}
            Err(Stop::Asleep) => return true,
            Err(_) => return false,
        }
    }
}
