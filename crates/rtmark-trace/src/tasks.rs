//! Which task runs, by what each kernel has in memory and in its symbols.
//!
//! FreeRTOS says it itself: `pxCurrentTCB`, and each task's name and list in its control block.
//! Where tasks are futures or closures, they run while the function does that the executor
//! polls or the loop calls: see [`polls`](crate::polls). Of other programs nothing is known
//! but the outermost function of each stack.

use std::ops::ControlFlow;

use rtmark_observe::{Calls, Lines};
use rtmark_sim::{Image, Instruction, Machine, Observer};

use crate::members::offset_of;
use crate::polls::Polls;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has the core, but for interrupts.
    Running,
    /// It could run.
    Ready,
    /// It waits, or is not known to be able to run.
    Waiting,
}

/// Whose an instruction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// As before, as far as is known.
    Untold,
    /// No task's.
    Nobodys,
    /// Of the task of this name.
    Tasks(String),
}

/// Knows which task runs.
#[derive(Debug)]
pub struct Tasks<'a, 'elf> {
    kind: Kind<'a, 'elf>,
}

#[derive(Debug)]
enum Kind<'a, 'elf> {
    FreeRtos(FreeRtos),
    Polled(Box<Polls<'a, 'elf>>),
    /// The root functions of stacks.
    Stacks(Box<Calls<'a>>),
}

/// The most tasks that are followed.
const MOST: usize = 256;

impl<'a, 'elf> Tasks<'a, 'elf> {
    /// Of an image, by its symbols and its debug information.
    pub fn new(elf: &[u8], image: &'a Image, lines: Option<&'a Lines<'elf>>) -> Self {
        let kind = if let Some(kernel) = FreeRtos::new(elf, image) {
            Kind::FreeRtos(kernel)
        } else if let Some(polls) = Polls::new(image, lines) {
            Kind::Polled(Box::new(polls))
        } else {
            Kind::Stacks(Box::new(Calls::new(image.symbols())))
        };
        Self { kind }
    }

    /// An instruction is about to execute: whose it is, where the place alone tells.
    pub(crate) fn before(&mut self, machine: &Machine) -> Whose {
        match &mut self.kind {
            Kind::FreeRtos(_) => Whose::Untold,
            Kind::Polled(polls) => polls.at(machine).map_or(Whose::Nobodys, Whose::Tasks),
            Kind::Stacks(calls) => {
                let ControlFlow::Continue(()) = calls.before(machine) else { return Whose::Untold };
                let innermost = calls.innermost();
                let root = innermost.and_then(|node| calls.upwards(node).last());
                // A handler's stack begins with the exception in brackets.
                match root.map(|node| calls.name(node)) {
                    Some(name) if !name.starts_with('[') => Whose::Tasks(name.to_owned()),
                    _ => Whose::Untold,
                }
            }
        }
    }

    /// The states of all tasks, where the kernel's own lists tell; at moments at which it is not
    /// in the middle of changing them.
    pub(crate) fn listed(&mut self, machine: &Machine) -> Vec<(String, State)> {
        match &mut self.kind {
            Kind::FreeRtos(kernel) => kernel.states(machine),
            _ => Vec::new(),
        }
    }

    pub(crate) fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        if let Kind::Stacks(calls) = &mut self.kind {
            calls.executed(machine, instruction);
        }
    }

    pub(crate) fn entered(&mut self, machine: &Machine, exception: u16) {
        match &mut self.kind {
            Kind::FreeRtos(_) => {}
            Kind::Polled(polls) => polls.entered(),
            Kind::Stacks(calls) => calls.entered(machine, exception),
        }
    }

    pub(crate) fn returned(&mut self, machine: &Machine, exception: u16) {
        match &mut self.kind {
            Kind::FreeRtos(_) => {}
            Kind::Polled(polls) => polls.returned(),
            Kind::Stacks(calls) => calls.returned(machine, exception),
        }
    }
}

/// What is read of FreeRTOS' memory, for its version 11 and those before with the same names.
#[derive(Debug)]
struct FreeRtos {
    /// The address of `pxCurrentTCB`.
    current: u32,
    /// The address of `xSchedulerRunning`.
    running: Option<u32>,
    /// Where `pxReadyTasksLists` begins and ends.
    ready: Option<(u32, u32)>,
    /// Offsets in a control block: of the name, and of the list that holds the task.
    name: u32,
    list: Option<u32>,
    /// Control blocks that have been seen, with the tasks' names.
    known: Vec<(u32, String)>,
}

/// FreeRTOS' structure of a task.
const CONTROL_BLOCK: &str = "tskTaskControlBlock";
/// What FreeRTOS' variables of truth hold.
const PD_TRUE: u32 = 1;
/// The longest name that is shown; FreeRTOS cuts them to `configMAX_TASK_NAME_LEN`.
const LONGEST_NAME: usize = 32;

impl FreeRtos {
    fn new(elf: &[u8], image: &Image) -> Option<Self> {
        let symbols = image.symbols();
        let current = symbols.address_of("pxCurrentTCB")?;
        let name = offset_of(elf, CONTROL_BLOCK, "pcTaskName")?;
        let item = offset_of(elf, CONTROL_BLOCK, "xStateListItem");
        let container = offset_of(elf, "xLIST_ITEM", "pxContainer");
        let ready = symbols.address_of("pxReadyTasksLists").and_then(|from| {
            let next = symbols.iter().map(|(address, _)| address).find(|&address| address > from);
            Some((from, next?))
        });
        Some(Self {
            current,
            running: symbols.address_of("xSchedulerRunning"),
            ready,
            name,
            list: item.zip(container).map(|(item, container)| item + container),
            known: Vec::new(),
        })
    }

    fn states(&mut self, machine: &Machine) -> Vec<(String, State)> {
        let word = |address: u32| machine.peek(address, 4).try_into().map_or(0, u32::from_le_bytes);
        // Before startup has filled it, RAM holds anything.
        if self.running.is_some_and(|running| word(running) != PD_TRUE) {
            return Vec::new();
        }
        let current = word(self.current);
        if current != 0
            && self.known.len() < MOST
            && !self.known.iter().any(|(tcb, _)| *tcb == current)
        {
            let bytes = machine.peek(current.wrapping_add(self.name), LONGEST_NAME);
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            let plain = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
            let name = if plain && !text.is_empty() {
                String::from_utf8_lossy(text).into_owned()
            } else {
                format!("task {current:#010x}")
            };
            self.known.push((current, name));
        }
        let is_ready = |tcb: u32| {
            let (from, to) = self.ready?;
            Some((from..to).contains(&word(tcb.wrapping_add(self.list?))))
        };
        let state = |tcb: u32| match is_ready(tcb) {
            _ if tcb == current => State::Running,
            Some(true) => State::Ready,
            _ => State::Waiting,
        };
        self.known.iter().map(|(tcb, name)| (name.clone(), state(*tcb))).collect()
    }
}
