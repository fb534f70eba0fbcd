//! Determines which task runs, from each kernel's memory and symbols.
//!
//! FreeRTOS, ThreadX, Zephyr, ChibiOS, RTX, RIOT and NuttX state it in memory: see [`control_blocks`](crate::control_blocks).
//! Tasks that are futures or closures run while the function does that the executor polls or the loop
//! calls: see [`polls`](crate::polls). Of other programs only the outermost function of each stack is
//! known.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rtmark_observe::{Calls, Lines};
use rtmark_sim::{Image, Instruction, Machine, Observer};

use crate::control_blocks::ControlBlocks;
use crate::polls::Polls;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has the core, except for interrupts.
    Running,
    /// It is ready to run.
    Ready,
    /// It waits, or is not known to be ready.
    Waiting,
}

/// The task that an instruction belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Unchanged, as far as known.
    Unknown,
    /// None.
    NoTask,
    /// The task with this name.
    Task(String),
}

/// Tracks which task runs.
#[derive(Debug)]
pub struct Tasks<'a, 'elf> {
    kind: Kind<'a, 'elf>,
}

#[derive(Debug)]
enum Kind<'a, 'elf> {
    Blocks(ControlBlocks<'a>),
    Polled(Box<Polls<'a, 'elf>>),
    /// By the root function of each stack.
    Stacks(Box<Stacks<'a>>),
}

/// Identifies tasks by their stacks.
#[derive(Debug)]
struct Stacks<'a> {
    calls: Calls<'a>,
    /// The names of stacks, by their numbers: several may begin with the same function.
    names: HashMap<u64, String>,
}

impl Stacks<'_> {
    /// Returns the name of the stack in use, unless it is a handler's.
    fn name(&mut self) -> Option<String> {
        let number = self.calls.stack_number()?;
        if let Some(name) = self.names.get(&number) {
            return Some(name.clone());
        }
        let root = self.calls.innermost().and_then(|node| self.calls.ancestors(node).last())?;
        let root = self.calls.name(root);
        // A handler's stack begins with the exception in brackets.
        if root.starts_with('[') {
            return None;
        }
        let root = root.to_owned();
        let is_of_root = |name: &&String| {
            let rest = name.strip_prefix(&root);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
        };
        let others = self.names.values().filter(is_of_root).count();
        let name = if others == 0 { root } else { format!("{root} #{}", others + 1) };
        self.names.insert(number, name.clone());
        Some(name)
    }
}

impl<'a, 'elf> Tasks<'a, 'elf> {
    /// Creates a tracker for an image, using its symbols and its debug information.
    pub fn new(elf: &[u8], image: &'a Image, lines: Option<&'a Lines<'elf>>) -> Self {
        let kind = if let Some(blocks) = ControlBlocks::new(elf, image) {
            Kind::Blocks(blocks)
        } else if let Some(polls) = Polls::new(image, lines) {
            Kind::Polled(Box::new(polls))
        } else {
            let calls = Calls::new(image.symbols());
            Kind::Stacks(Box::new(Stacks { calls, names: HashMap::new() }))
        };
        Self { kind }
    }

    /// Returns the task of the instruction that is about to execute, if its address alone determines
    /// it.
    pub(crate) fn before(&mut self, machine: &Machine) -> Owner {
        match &mut self.kind {
            Kind::Blocks(..) => Owner::Unknown,
            Kind::Polled(polls) => polls.at(machine).map_or(Owner::NoTask, Owner::Task),
            Kind::Stacks(stacks) => match stacks.calls.before(machine) {
                ControlFlow::Continue(()) => stacks.name().map_or(Owner::Unknown, Owner::Task),
                ControlFlow::Break(()) => Owner::Unknown,
            },
        }
    }

    /// Returns the states of all tasks, if the kernel keeps lists, at moments when it is not changing
    /// them.
    pub(crate) fn listed(&mut self, machine: &Machine) -> Vec<(String, State)> {
        match &mut self.kind {
            Kind::Blocks(blocks) => blocks.states(machine),
            _ => Vec::new(),
        }
    }

    pub(crate) fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        if let Kind::Stacks(stacks) = &mut self.kind {
            stacks.calls.executed(machine, instruction);
        }
    }

    pub(crate) fn entered(&mut self, machine: &Machine, exception: u16) {
        match &mut self.kind {
            Kind::Blocks(..) => {}
            Kind::Polled(polls) => polls.entered(),
            Kind::Stacks(stacks) => stacks.calls.entered(machine, exception),
        }
    }

    pub(crate) fn returned(&mut self, machine: &Machine, exception: u16) {
        match &mut self.kind {
            Kind::Blocks(..) => {}
            Kind::Polled(polls) => polls.returned(),
            Kind::Stacks(stacks) => stacks.calls.returned(machine, exception),
        }
    }
}
