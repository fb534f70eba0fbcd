//! Calls that an exception has moved to a stack of the kernel's, as FreeRTOS' ports with an MPU do.

use std::collections::HashMap;

/// The calls that continue on another stack than their thread's.
#[derive(Debug, Default)]
pub struct CarriedCalls {
    /// By the number of the stack on which it continues, that of the thread's.
    threads: HashMap<u64, u64>,
}

impl CarriedCalls {
    /// Returns the stack of the thread that runs on a stack.
    pub fn thread_of(&self, stack: u64) -> u64 {
        self.threads.get(&stack).copied().unwrap_or(stack)
    }

    /// Tells whether a stack is one on which a thread's call continues.
    pub fn is_carried(&self, stack: u64) -> bool {
        self.threads.contains_key(&stack)
    }

    /// Continues a thread's call on another stack.
    pub fn begin(&mut self, stack: u64, thread: u64) {
        self.threads.insert(stack, thread);
    }

    /// Ends a thread's call.
    pub fn end(&mut self, thread: Option<u64>) {
        self.threads.retain(|_, carried| Some(*carried) != thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_call_is_carried_until_it_ends() {
        let mut calls = CarriedCalls::default();
        calls.begin(7, 1);
        calls.begin(9, 2);
        assert_eq!([7, 9, 8].map(|stack| calls.thread_of(stack)), [1, 2, 8]);
        assert_eq!([7, 9, 1].map(|stack| calls.is_carried(stack)), [true, true, false]);
        calls.end(Some(1));
        assert_eq!([7, 9].map(|stack| calls.thread_of(stack)), [7, 2]);
        calls.end(None);
        assert_eq!(calls.thread_of(9), 2);
    }
}
