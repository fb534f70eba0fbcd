//! The stack of active exception handlers, for cores whose own registers do not show it.

use super::Interrupted;

/// The maximum number of handlers kept: a kernel that never returns from a handler must not fill the host's
/// memory.
const MOST: usize = 64;

/// An active handler.
#[derive(Clone, Copy, Debug)]
struct Handler {
    exception: u16,
    /// The interrupt controller has already told the program which interrupt this is.
    is_named: bool,
    /// What it has interrupted, if the core's registers show that only at its entry.
    interrupted: Option<Interrupted>,
}

/// The active handlers by exception number, the innermost last.
#[derive(Clone, Debug, Default)]
pub struct Handlers(Vec<Handler>);

impl Handlers {
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the innermost handler, or 0 if none is active.
    pub fn current(&self) -> u16 {
        self.0.last().map_or(0, |handler| handler.exception)
    }

    /// Returns the handler that the innermost one has interrupted, or 0 if there is none.
    pub fn before(&self) -> u16 {
        self.0.iter().rev().nth(1).map_or(0, |handler| handler.exception)
    }

    /// Returns whether the handler of an exception has been entered and not left.
    pub fn contains(&self, exception: u16) -> bool {
        self.0.iter().any(|handler| handler.exception == exception)
    }

    /// Enters a handler. If there are too many, the outermost is dropped.
    pub fn enter(&mut self, exception: u16) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Handler { exception, is_named: false, interrupted: None });
    }

    /// Records what the innermost handler has interrupted.
    pub fn set_interrupted(&mut self, interrupted: Interrupted) {
        if let Some(handler) = self.0.last_mut() {
            handler.interrupted = Some(interrupted);
        }
    }

    /// Returns what the innermost handler has interrupted, if that was recorded.
    pub fn interrupted(&self) -> Option<Interrupted> {
        self.0.last().and_then(|handler| handler.interrupted)
    }

    /// Leaves the innermost handler.
    pub fn leave(&mut self) -> Option<u16> {
        self.0.pop().map(|handler| handler.exception)
    }

    /// Records that the interrupt controller has told the program which interrupt the innermost handler is
    /// for. Returns whether that is the interrupt for which it was entered, and this is the first time.
    pub fn name(&mut self, exception: u16) -> bool {
        let Some(handler) = self.0.last_mut() else { return false };
        let is_known = handler.exception == exception && !handler.is_named;
        handler.is_named = true;
        is_known
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
