//! Records a run as a timeline.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rtmark_observe::{ExceptionNames, Lines, Map};
use rtmark_sim::{Blocker, Image, Instruction, Machine, Observer, Register};

use crate::tasks::{Owner, State, Tasks};
use crate::timeline::{Slice, Timeline};

/// An observer that records a run's timeline.
///
/// It must receive every event from the moment of its creation.
#[derive(Debug)]
pub struct Recorder<'a, 'elf> {
    image: &'a Image,
    map: Map<'a, 'elf>,
    tasks: Tasks<'a, 'elf>,
    timeline: Timeline,
    /// The active handlers, the outermost first: the slice's name, its beginning, its function.
    handlers: Vec<(String, u64, String)>,
    /// The names of exceptions.
    names: ExceptionNames,
    mask: Option<(Blocker, u64, u32)>,
    running: Option<(String, u64)>,
    /// The states of tasks in the kernel's lists, with their beginnings.
    states: HashMap<String, (State, u64)>,
    /// The cycle up to which everything has been recorded.
    now: u64,
    /// Whether lists may have changed.
    dirty: bool,
}

const HANDLERS: &str = "interrupts";
const MASKED: &str = "masked";
const CORE: &str = "core";

impl<'a, 'elf> Recorder<'a, 'elf> {
    /// Begins at the machine's position.
    pub fn new(
        machine: &Machine,
        image: &'a Image,
        lines: Option<&'a Lines<'elf>>,
        tasks: Tasks<'a, 'elf>,
    ) -> Self {
        let now = machine.cycles().0;
        let handled = machine.exception();
        let mut recorder = Self {
            image,
            map: Map::new(image, lines),
            tasks,
            timeline: Timeline::default(),
            handlers: Vec::new(),
            names: ExceptionNames::new(machine, image.symbols()),
            mask: None,
            running: None,
            states: HashMap::new(),
            now,
            dirty: true,
        };
        if handled != 0 {
            let name = recorder.names.name(handled);
            recorder.handlers.push((name, now, String::new()));
        }
        recorder
    }

    /// Returns the timeline up to a cycle, at which everything in progress ends.
    pub fn finish(mut self, until: u64) -> Timeline {
        self.now = self.now.max(until);
        while !self.handlers.is_empty() {
            self.leave(self.now);
        }
        self.set_mask(None, self.now, 0);
        self.set_running(None, self.now);
        let states: Vec<_> = self.states.drain().collect();
        for (task, (state, since)) in states {
            self.state_slice(&task, state, since, self.now);
        }
        self.timeline
    }

    fn function(&self, pc: u32) -> String {
        self.image.symbols().name_at(pc).map(|at| at.symbol).unwrap_or_default()
    }

    fn slice(&mut self, track: &str, category: &'static str, rank: i32, slice: Slice) {
        if slice.from < slice.to {
            self.timeline.track(track, category, rank).slices.push(slice);
        }
    }

    fn leave(&mut self, now: u64) {
        if let Some((name, since, function)) = self.handlers.pop() {
            let about = vec![("function", function)];
            self.slice(HANDLERS, "handler", 0, Slice { about, ..slice(&name, since, now) });
        }
    }

    fn set_mask(&mut self, mask: Option<Blocker>, now: u64, pc: u32) {
        if self.mask.map(|(holder, ..)| holder) == mask {
            return;
        }
        if let Some((holder, since, from)) = self.mask.take() {
            let place = |address: u32| self.map.place(address).to_string();
            let about = vec![("from", place(from)), ("to", place(pc))];
            self.slice(MASKED, "mask", 1, Slice { about, ..slice(holder.name(), since, now) });
            self.dirty = true;
        }
        self.mask = mask.map(|holder| (holder, now, pc));
    }

    fn set_running(&mut self, task: Option<String>, now: u64) {
        if self.running.as_ref().map(|(name, _)| name) == task.as_ref() {
            return;
        }
        if let Some((name, since)) = self.running.take() {
            self.slice(&name, "task", 30, slice("running", since, now));
        }
        self.running = task.map(|name| (name, now));
    }

    fn state_slice(&mut self, task: &str, state: State, since: u64, now: u64) {
        let name = match state {
            State::Running => "running",
            State::Ready => "ready",
            State::Waiting => return,
        };
        self.slice(task, "task", 30, slice(name, since, now));
    }

    fn update_states(&mut self, machine: &Machine, now: u64) {
        for (task, state) in self.tasks.listed(machine) {
            match self.states.get(&task) {
                Some((known, _)) if *known == state => {}
                _ => {
                    if let Some((was, since)) = self.states.insert(task.clone(), (state, now)) {
                        self.state_slice(&task, was, since, now);
                    }
                }
            }
        }
    }
}

fn slice(name: &str, from: u64, to: u64) -> Slice {
    Slice { name: name.to_owned(), from, to, about: Vec::new() }
}

impl Observer for Recorder<'_, '_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (now, pc) = (machine.cycles().0, machine.register(Register::Pc));
        self.now = now;
        self.set_mask(machine.mask(), now, pc);
        match self.tasks.before(machine) {
            Owner::Unknown => {}
            Owner::NoTask => self.set_running(None, now),
            Owner::Task(task) => self.set_running(Some(task), now),
        }
        if std::mem::take(&mut self.dirty) {
            self.update_states(machine, now);
        }
        ControlFlow::Continue(())
    }

    fn slept(&mut self, machine: &Machine) {
        let now = machine.cycles().0;
        self.slice(CORE, "core", 2, slice("asleep", self.now, now));
        self.now = now;
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.tasks.executed(machine, instruction);
        self.now = machine.cycles().0;
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        let function = self.function(machine.register(Register::Pc));
        // Stacking is part of the handler's slice.
        self.names.refresh(machine, self.image.symbols());
        self.handlers.push((self.names.name(exception), self.now, function));
        self.tasks.entered(machine, exception);
        self.now = machine.cycles().0;
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        let now = machine.cycles().0;
        self.leave(now);
        self.tasks.returned(machine, exception);
        self.now = now;
        self.dirty = true;
    }
}
