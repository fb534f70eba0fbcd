//! Checkpoints: runs of a machine that are taken back.
//!
//! A search that asks what an interrupt would cause runs the machine a few hundred instructions ahead, many
//! times. A copy of the machine would have its own RAM, and would have to find out again what the machine
//! already knows of its code: decoded instructions, blocks, and memoized steps of the pipeline. So the
//! machine itself runs, and returns to its checkpoint afterwards: all state is copied but for memory, where
//! what stores overwrite is recorded.

use crate::engine::CortexM;
use crate::memory::{Bus, BusBeforeTrial};
use crate::state::State;

/// The state of a machine before a run that will be taken back.
#[derive(Debug)]
pub struct Checkpoint {
    /// Everything but memory and what has been derived from code.
    state: Box<State>,
    bus: BusBeforeTrial,
}

impl Checkpoint {
    /// Takes a checkpoint. Until [`Checkpoint::restore`], the fast path to RAM is closed.
    pub fn of(core: &mut CortexM) -> Self {
        let placeholder = core.state.predecoded.placeholder();
        let bus = std::mem::replace(&mut core.state.bus, Bus::placeholder());
        let predecoded = std::mem::replace(&mut core.state.predecoded, placeholder);
        let state = Box::new(core.state.clone());
        core.state.bus = bus;
        core.state.predecoded = predecoded;
        Self { state, bus: core.state.bus.begin_trial() }
    }

    /// Returns the machine to the checkpoint. What has been learned of its code in the meantime is kept,
    /// unless the run has changed code.
    pub fn restore(self, core: &mut CortexM) {
        let Self { mut state, bus } = self;
        let changed_code = core.state.bus.end_trial(bus);
        let run = &mut core.state;
        std::mem::swap(&mut run.bus, &mut state.bus);
        std::mem::swap(&mut run.predecoded, &mut state.predecoded);
        if run.memo.shares_states(&state.memo) {
            std::mem::swap(&mut run.memo, &mut state.memo);
        }
        let placeholder = std::mem::replace(run, *state).predecoded;
        // An epoch also ends where pipe states are renumbered.
        let redecodes = changed_code
            || run.predecoded.epoch() != placeholder.epoch()
            || !run.predecoded.overwritten.is_empty();
        if redecodes {
            run.predecoded.decoder = placeholder.decoder;
            run.predecoded.forget_all();
            run.memo.forget();
        }
        run.update_protection();
    }
}
