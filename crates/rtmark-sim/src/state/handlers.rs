//! The exception handlers that execute, for cores whose own registers do not say which these are.

/// How many are kept: a kernel that never returns from a handler must not fill the host's memory.
const MOST: usize = 64;

/// A handler that executes.
#[derive(Clone, Copy, Debug)]
struct Handler {
    exception: u16,
    /// The interrupt controller has told the program which interrupt it is.
    is_named: bool,
}

/// The handlers that execute, the innermost last, by the numbers of their exceptions.
#[derive(Clone, Debug, Default)]
pub struct Handlers(Vec<Handler>);

impl Handlers {
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The innermost one, 0 if none executes.
    pub fn current(&self) -> u16 {
        self.0.last().map_or(0, |handler| handler.exception)
    }

    /// The one that the innermost has interrupted, 0 if none.
    pub fn before(&self) -> u16 {
        self.0.iter().rev().nth(1).map_or(0, |handler| handler.exception)
    }

    /// Whether the handler of an exception has been entered and not left.
    pub fn contains(&self, exception: u16) -> bool {
        self.0.iter().any(|handler| handler.exception == exception)
    }

    /// Enters one. Of those that are too many the outermost is forgotten.
    pub fn enter(&mut self, exception: u16) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Handler { exception, is_named: false });
    }

    /// Leaves the innermost one.
    pub fn leave(&mut self) -> Option<u16> {
        self.0.pop().map(|handler| handler.exception)
    }

    /// Notes that the interrupt controller has told the program which interrupt the innermost one
    /// is for, and answers whether that is the one that it was entered for, and is told for the
    /// first time.
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
