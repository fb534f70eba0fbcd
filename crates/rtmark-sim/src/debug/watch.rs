//! Watches as the machine hits them.

use crate::machine::Machine;
use crate::state::{Counts, Watch};

impl Machine {
    /// Notes that an exception has become pending in a cycle.
    pub(crate) fn note_pend(&mut self, exception: u16, at: u64) {
        let happened = Watch::Pend(exception);
        if self.watches.want(happened) {
            self.watches.note(happened, Counts { cycle: at, ..self.counts() });
        }
    }

    /// Notes that a handler has been left.
    pub(crate) fn note_return(&mut self, exception: u16) {
        self.watches.left += 1;
        self.note_now(Watch::Return(exception));
    }

    /// Notes what happens now.
    pub(crate) fn note_now(&mut self, happened: Watch) {
        if self.watches.want(happened) {
            self.watches.note(happened, self.counts());
        }
    }
}
