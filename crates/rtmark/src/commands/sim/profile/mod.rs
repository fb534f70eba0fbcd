//! Where the cycles go: by function with its callers, by address, by source line.
//!
//! Every cycle of a run belongs to one instruction, to the entry of an exception, or to
//! sleep, and each of these to one stack of functions. Stacks follow BL and BLX; a
//! function is left when the program is back behind its call with the stack as it
//! was, so tail calls and jumps out of several functions are understood. A handler is
//! a root of its own. What it interrupted goes on when the program counter and the
//! stack pointer are again as the frame has them, so that each task keeps its stack
//! of functions, whatever kernel switches them.

mod flame;
mod lines;
mod report;

pub use lines::Lines;
pub use report::{FunctionCost, Report};

use std::collections::HashMap;
use std::ops::ControlFlow;

use rtmark_model::visible;
use rtmark_sim::{Instruction, Machine, Observer, Register, Symbols};

use super::names::exception_name;

/// Names by number, each once.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

/// Cycles and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub cycles: u64,
    pub instructions: u64,
}

impl Cost {
    fn add(&mut self, cycles: u64, instructions: u64) {
        self.cycles += cycles;
        self.instructions += instructions;
    }
}

/// A function with all its callers.
#[derive(Debug)]
struct Node {
    parent: Option<u32>,
    name: u32,
    own: Cost,
    /// How often it was called from this stack.
    calls: u64,
    children: Vec<(u32, u32)>,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u32,
    /// Where the call returns to, and the stack pointer at the call.
    return_address: u32,
    sp: u32,
}

/// The functions of a task or handler, the outermost first.
#[derive(Debug, Default)]
struct Context {
    frames: Vec<Frame>,
}

/// What an exception has interrupted.
#[derive(Debug)]
struct Suspended {
    pc: u32,
    sp: u32,
    context: Context,
}

/// The most contexts that wait to go on; tasks that have ended are the oldest of them.
const MOST_SUSPENDED: usize = 1024;

/// Per address: what it cost, and its function's number plus one.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    cost: Cost,
    function: u32,
}

const PLACES: usize = 512;

/// Places by address, a page found once for many of them.
#[derive(Debug, Default)]
struct Places {
    pages: Vec<(u32, Box<[Place]>)>,
    found: HashMap<u32, usize>,
    last: (u32, usize),
}

impl Places {
    fn at(&mut self, address: u32) -> &mut Place {
        let (page, within) = (address >> 10, (address >> 1) as usize % PLACES);
        if self.pages.is_empty() || self.last.0 != page {
            let next = self.pages.len();
            let at = *self.found.entry(page).or_insert(next);
            if at == next {
                self.pages.push((page, vec![Place::default(); PLACES].into_boxed_slice()));
            }
            self.last = (page, at);
        }
        &mut self.pages[self.last.1].1[within]
    }

    /// Every address that has executed, in ascending order.
    fn costs(&self) -> Vec<(u32, Cost)> {
        let mut costs: Vec<_> = self
            .pages
            .iter()
            .flat_map(|(page, places)| {
                let addresses = (page << 10..).step_by(2);
                addresses.zip(places.iter()).map(|(address, place)| (address, place.cost))
            })
            .filter(|(_, cost)| *cost != Cost::default())
            .collect();
        costs.sort_unstable_by_key(|(address, _)| *address);
        costs
    }
}

/// Follows a run and adds up.
#[derive(Debug)]
pub struct Profile<'a> {
    symbols: &'a Symbols,
    names: Names,
    nodes: Vec<Node>,
    roots: HashMap<u32, u32>,
    places: Places,
    /// What executes; none right after a return from an exception.
    current: Option<Context>,
    suspended: Vec<Suspended>,
    /// The last instruction was a call, which returns here with the stack as here.
    called: Option<(u32, u32)>,
    /// Up to which cycle everything has been counted.
    counted: u64,
    /// Where the next instruction is if the last one was no jump.
    next: u32,
    sleep: u32,
}

impl<'a> Profile<'a> {
    /// Begins where the machine stands.
    pub fn new(machine: &Machine, symbols: &'a Symbols) -> Self {
        let mut names = Names::default();
        let sleep = names.number("[sleep]".to_owned());
        Self {
            symbols,
            names,
            nodes: Vec::new(),
            roots: HashMap::new(),
            places: Places::default(),
            current: Some(Context::default()),
            suspended: Vec::new(),
            called: None,
            counted: machine.cycles().0,
            next: 1,
            sleep,
        }
    }

    /// Cycles since the last time that this was asked.
    fn elapsed(&mut self, machine: &Machine) -> u64 {
        let now = machine.cycles().0;
        let elapsed = now.saturating_sub(self.counted);
        self.counted = now;
        elapsed
    }

    fn function_at(&mut self, address: u32) -> u32 {
        let known = self.places.at(address).function;
        if known != 0 {
            return known - 1;
        }
        let name = match self.symbols.name_at(address) {
            Some(location) => visible(location.symbol.as_bytes()).replace(';', ":"),
            None => format!("[{:#010x}]", address & !0xFF),
        };
        let function = self.names.number(name);
        self.places.at(address).function = function + 1;
        function
    }

    fn node(&mut self, parent: Option<u32>, name: u32) -> u32 {
        let known = match parent {
            Some(parent) => {
                let children = &self.nodes[parent as usize].children;
                children.iter().find(|(child, _)| *child == name).map(|(_, node)| *node)
            }
            None => self.roots.get(&name).copied(),
        };
        if let Some(node) = known {
            return node;
        }
        let node = self.nodes.len() as u32;
        let (own, children) = (Cost::default(), Vec::new());
        self.nodes.push(Node { parent, name, own, calls: 0, children });
        match parent {
            Some(parent) => self.nodes[parent as usize].children.push((name, node)),
            None => {
                self.roots.insert(name, node);
            }
        }
        node
    }

    /// The stack that was interrupted at a place, or a new one: a task begins.
    fn resume(&mut self, pc: u32, sp: u32) -> Context {
        let fits = |suspended: &Suspended| (suspended.pc, suspended.sp) == (pc, sp);
        match self.suspended.iter().rposition(fits) {
            Some(at) => self.suspended.remove(at).context,
            None => Context::default(),
        }
    }

    /// The node of the function that is about to execute at `pc`, with calls and
    /// returns that have led there.
    fn arrive(&mut self, pc: u32, sp: u32) -> u32 {
        let mut context = match self.current.take() {
            Some(context) => context,
            None => self.resume(pc, sp),
        };
        let function = self.function_at(pc);
        let called = self.called.take();
        if let Some((return_address, sp)) = called {
            let caller = context.frames.last().map(|frame| frame.node);
            let node = self.node(caller, function);
            self.nodes[node as usize].calls += 1;
            context.frames.push(Frame { node, return_address, sp });
        } else if pc != self.next {
            let back = |frame: &Frame| frame.return_address == pc && frame.sp == sp;
            if let Some(at) = context.frames.iter().rposition(back).filter(|at| *at > 0) {
                context.frames.truncate(at);
            }
        }
        let node = match context.frames.last_mut().map(|frame| frame.node) {
            Some(node) if self.nodes[node as usize].name == function => node,
            // The function was left by a jump: a tail call takes its place.
            Some(node) => {
                let parent = self.nodes[node as usize].parent;
                let node = self.node(parent, function);
                self.nodes[node as usize].calls += 1;
                if let Some(frame) = context.frames.last_mut() {
                    frame.node = node;
                }
                node
            }
            None => {
                let node = self.node(None, function);
                self.nodes[node as usize].calls += 1;
                context.frames.push(Frame { node, return_address: u32::MAX, sp: u32::MAX });
                node
            }
        };
        self.current = Some(context);
        node
    }

    fn innermost(&self) -> Option<u32> {
        self.current.as_ref()?.frames.last().map(|frame| frame.node)
    }
}

impl Observer for Profile<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (pc, sp) = (machine.register(Register::Pc), machine.register(Register::R(13)));
        if pc != self.next || self.current.is_none() || self.called.is_some() {
            self.arrive(pc, sp);
        } else if self.innermost().map(|node| self.nodes[node as usize].name)
            != Some(self.function_at(pc))
        {
            // Without a jump into another function: it falls through.
            self.arrive(pc, sp);
        }
        ControlFlow::Continue(())
    }

    fn slept(&mut self, machine: &Machine) {
        let cycles = self.elapsed(machine);
        let sleep = self.sleep;
        let node = self.node(self.innermost(), sleep);
        self.nodes[node as usize].own.add(cycles, 0);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        let cycles = self.elapsed(machine);
        self.places.at(instruction.address).cost.add(cycles, 1);
        if let Some(node) = self.innermost() {
            self.nodes[node as usize].own.add(cycles, 1);
        }
        self.next = instruction.address.wrapping_add(u32::from(instruction.size));
        if instruction.is_call && machine.register(Register::Pc) != self.next {
            self.called = Some((self.next, machine.register(Register::R(13))));
        }
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        // What the frame holds says where, and with which stack, the program goes on.
        if let Some(context) = self.current.take() {
            let exc_return = machine.register(Register::R(14));
            let process = exc_return & 4 != 0;
            let frame = machine.register(if process { Register::Psp } else { Register::Msp });
            let word = |offset: u32| {
                let bytes = machine.peek(frame.wrapping_add(offset), 4);
                bytes.try_into().map_or(0, u32::from_le_bytes)
            };
            let size = if exc_return & 0x10 == 0 { 0x68 } else { 0x20 };
            let padding = word(0x1C) >> 7 & 4;
            let (pc, sp) = (word(0x18) & !1, frame.wrapping_add(size) | padding);
            if self.suspended.len() == MOST_SUSPENDED {
                self.suspended.remove(0);
            }
            // A call that was interrupted before its function's first instruction.
            let mut context = context;
            if let Some((return_address, sp)) = self.called.take() {
                let function = self.function_at(pc);
                let caller = context.frames.last().map(|frame| frame.node);
                let node = self.node(caller, function);
                self.nodes[node as usize].calls += 1;
                context.frames.push(Frame { node, return_address, sp });
            }
            self.suspended.push(Suspended { pc, sp, context });
        }
        let root = self.names.number(format!("[{}]", exception_name(exception)));
        let node = self.node(None, root);
        self.nodes[node as usize].calls += 1;
        let cycles = self.elapsed(machine);
        self.nodes[node as usize].own.add(cycles, 0);
        // The handler itself is a function called from the exception.
        let frame = Frame { node, return_address: u32::MAX, sp: u32::MAX };
        self.current = Some(Context { frames: vec![frame] });
        self.called = Some((u32::MAX, u32::MAX));
        self.next = 1;
    }

    fn returned(&mut self, _machine: &Machine, _exception: u16) {
        self.current = None;
        self.called = None;
        self.next = 1;
    }
}
