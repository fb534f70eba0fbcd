//! Calls that have begun, and those that have ended.

use std::collections::BTreeMap;

use rtmark_observe::Node;

use crate::cost::Origin;
use crate::matcher::Continuation;

/// The exception of the tick.
const SYSTICK: u16 = 15;

/// A call that has not returned.
#[derive(Clone, Debug)]
pub struct OpenCall {
    pub node: Node,
    pub from: Origin,
    pub beginning: Beginning,
    pub return_address: u32,
    pub sp: u32,
    /// The number of the stack on which it was made.
    pub stack: Option<u64>,
    /// Whether another stack has run in thread mode since.
    pub left: bool,
    /// When another thread's own code began, and which thread.
    pub switched: Option<(u64, Continuation)>,
    pub arguments: [u32; 4],
    /// The rules of scenarios that it may match.
    pub rules: Vec<usize>,
}

/// The instruction that has led to a function, and the exceptions since that are no part of the call: before its
/// function all of them, as the call has not raised them, and then all but the kernel's own.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    pub site: u32,
    pub began: u64,
    pub ticks: u64,
    /// All other exceptions.
    pub interrupts: u64,
}

impl Beginning {
    pub const fn of((site, began): (u32, u64)) -> Self {
        Self { site, began, ticks: 0, interrupts: 0 }
    }

    /// Tells whether any exception came.
    pub const fn is_disturbed(&self) -> bool {
        self.ticks + self.interrupts > 0
    }

    /// Takes note of an exception.
    pub const fn hit(&mut self, exception: u16) {
        match exception {
            SYSTICK => self.ticks += 1,
            _ => self.interrupts += 1,
        }
    }
}

/// An SVC, by which unprivileged code calls the kernel.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    pub beginning: Beginning,
    pub return_address: u32,
    pub sp: u32,
    /// The number of the stack on which it was made.
    pub stack: Option<u64>,
}

/// A thread's call that has just returned.
#[derive(Clone, Copy, Debug)]
pub struct ReturnedCall {
    pub at: u64,
    pub function: u32,
    pub arguments: [u32; 4],
}

/// The finished calls of a function.
#[derive(Clone, Debug, Default)]
pub struct FinishedCalls {
    pub cycles: Vec<u64>,
    pub calls: u64,
    pub longest: Option<(u64, u64)>,
    /// By calling instruction: the number of calls, and the most cycles.
    pub sites: BTreeMap<u32, (u64, Option<u64>)>,
}
