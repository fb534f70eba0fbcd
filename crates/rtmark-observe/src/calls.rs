//! Tracks call stacks at every moment of a run.
//!
//! Stacks follow calls. A function has returned when the program is back after its call with the stack
//! pointer as it was, which also covers tail calls, jumps out of several functions, and calls that end by
//! an exception. A handler is a root of its own. The interrupted code has resumed when the program counter
//! and the stack pointer again match its frame, so that each task keeps its call stack, whatever kernel
//! switches them. Where the hardware does not show whose stack is in use, a task also begins when a
//! function is jumped to on a stack on which it could not have been called: this is how kernels start
//! their first one.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rtmark_sim::{
    Cycles, Instruction, Interrupted, LandmarkObserver, Machine, Observer, Register, Symbols,
    ThreadStack,
};

use crate::exceptions::ExceptionNames;
use crate::functions::Functions;

/// A function with all its callers: a node in the tree of all call stacks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(crate) u32);

impl Node {
    /// Returns its number: nodes are counted from 0 in order of appearance.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct Branch {
    parent: Option<Node>,
    name: u32,
    /// How often it was called from this stack.
    calls: u64,
    children: Vec<(u32, Node)>,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: Node,
    /// The return address of the call, and the stack pointer at the call.
    return_address: u32,
    sp: u32,
}

/// The functions of a task or handler, the outermost first.
#[derive(Debug, Default)]
struct Stack {
    /// Counted from 0 in order of creation.
    number: u64,
    frames: Vec<Frame>,
}

impl Stack {
    /// Returns the index of the call that returns to a place, above the outermost function.
    fn call_to(&self, pc: u32, sp: u32) -> Option<usize> {
        let back = |frame: &Frame| frame.return_address == pc && frame.sp == sp;
        self.frames.iter().rposition(back).filter(|at| *at > 0)
    }
}

/// The distance, in bytes, up to which a stack pointer still counts as the caller's when a function
/// replaces another one, and up to which an assembler function may continue at a label of another one.
const SAME_FRAME_BYTES: u32 = 256;

impl Frame {
    /// Tells whether a function that begins with this stack pointer, without a call, cannot have
    /// replaced this frame's function.
    const fn is_elsewhere(&self, sp: u32) -> bool {
        self.sp != u32::MAX && self.sp.abs_diff(sp) > SAME_FRAME_BYTES
    }
}

/// What an exception interrupted.
#[derive(Debug)]
struct Suspended {
    pc: u32,
    sp: u32,
    stack: Stack,
}

/// The largest number of suspended stacks; the oldest of them are tasks that have ended.
const MAX_SUSPENDED: usize = 1024;

/// Follows a run. As an [`Observer`] it must receive every event from the moment of its creation.
#[derive(Debug)]
pub struct Calls<'a> {
    functions: Functions<'a>,
    /// The names of exceptions, once one was entered.
    names: Option<ExceptionNames>,
    branches: Vec<Branch>,
    roots: HashMap<u32, Node>,
    /// The stack in use; none right after a return from an exception.
    current: Option<Stack>,
    suspended: Vec<Suspended>,
    /// The number of stacks so far.
    stacks: u64,
    /// If the last instruction was a call: its return address and the stack pointer.
    called: Option<(u32, u32)>,
    /// The address of the next instruction if the last one was not a jump.
    next: u32,
}

impl<'a> Calls<'a> {
    /// Creates it with no function on any stack.
    pub fn new(symbols: &'a Symbols) -> Self {
        Self {
            functions: Functions::new(symbols),
            names: None,
            branches: Vec::new(),
            roots: HashMap::new(),
            current: Some(Stack::default()),
            suspended: Vec::new(),
            stacks: 1,
            called: None,
            next: 1,
        }
    }

    /// Returns the number of the stack in use: each task, and each handler that is entered, has a
    /// number of its own; `None` right after a return from an exception.
    pub fn stack_number(&self) -> Option<u64> {
        self.current.as_ref().map(|stack| stack.number)
    }

    /// Returns the innermost executing function with its callers; `None` before the first instruction
    /// and right after a return from an exception.
    pub fn innermost(&self) -> Option<Node> {
        self.current.as_ref()?.frames.last().map(|frame| frame.node)
    }

    /// Returns the names of the functions on the current call stack, the outermost first. A handler's
    /// stack begins with the exception in brackets.
    pub fn stack(&self) -> Vec<&str> {
        self.innermost().map_or_else(Vec::new, |node| self.path(node))
    }

    /// Returns the names of a node's callers and its own, the outermost first.
    pub fn path(&self, node: Node) -> Vec<&str> {
        let mut path: Vec<_> = self.ancestors(node).map(|node| self.name(node)).collect();
        path.reverse();
        path
    }

    /// Returns all nodes so far.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.branches.len() as u32).map(Node)
    }

    /// Returns the node and its callers, the innermost first.
    pub fn ancestors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(Some(node), |node| self.branch(*node).parent)
    }

    /// Returns the name of a node's function; in brackets, an exception or an address without a symbol.
    pub fn name(&self, node: Node) -> &str {
        self.functions.name(self.function(node))
    }

    /// Returns the number of a node's function in [`Calls::functions`].
    pub fn function(&self, node: Node) -> u32 {
        self.branch(node).name
    }

    /// Returns how often a node's function was called from its callers, or started as a task or
    /// handler.
    pub fn times(&self, node: Node) -> u64 {
        self.branch(node).calls
    }

    /// Returns the names of exceptions, once any was entered.
    pub(crate) fn exception_names(&self) -> Option<&ExceptionNames> {
        self.names.as_ref()
    }

    /// Returns the functions seen so far.
    pub fn functions(&self) -> &Functions<'a> {
        &self.functions
    }

    /// Returns the node of something that is not a function, such as sleep, below a node.
    pub fn leaf(&mut self, parent: Option<Node>, name: &str) -> Node {
        let name = self.functions.number(name);
        self.node(parent, name)
    }

    fn branch(&self, node: Node) -> &Branch {
        &self.branches[node.number()]
    }

    fn call(&mut self, node: Node) {
        self.branches[node.number()].calls += 1;
    }

    fn node(&mut self, parent: Option<Node>, name: u32) -> Node {
        let known = match parent {
            Some(parent) => {
                let children = &self.branch(parent).children;
                children.iter().find(|(child, _)| *child == name).map(|(_, node)| *node)
            }
            None => self.roots.get(&name).copied(),
        };
        if let Some(node) = known {
            return node;
        }
        let node = Node(self.branches.len() as u32);
        self.branches.push(Branch { parent, name, calls: 0, children: Vec::new() });
        match parent {
            Some(parent) => self.branches[parent.number()].children.push((name, node)),
            None => {
                self.roots.insert(name, node);
            }
        }
        node
    }

    /// Returns the stack that was interrupted at a place; otherwise the one on which a call has been made that
    /// returns there, as a call may end by an exception; or a new one, as a task begins.
    fn resume(&mut self, pc: u32, sp: u32) -> Stack {
        let fits = |suspended: &Suspended| (suspended.pc, suspended.sp) == (pc, sp);
        if let Some(at) = self.suspended.iter().rposition(fits) {
            return self.suspended.remove(at).stack;
        }
        let called = |suspended: &Suspended| suspended.stack.call_to(pc, sp);
        let mut all = self.suspended.iter().enumerate().rev();
        let found = all.find_map(|(at, one)| Some((at, called(one)?)));
        if let Some((at, call)) = found {
            let mut stack = self.suspended.remove(at).stack;
            stack.frames.truncate(call);
            return stack;
        }
        self.new_stack()
    }

    /// Returns the stack that was interrupted at a place, if a jump from a stack of another function leads there:
    /// what a handler has begun in its place, such as a kernel's system call, has ended.
    fn returned_to(&mut self, stack: &Stack, function: u32, pc: u32, sp: u32) -> Option<Stack> {
        let is_here = |frame: &Frame| self.function(frame.node) == function;
        if stack.frames.last().is_none_or(is_here) {
            return None;
        }
        let fits = |suspended: &Suspended| (suspended.pc, suspended.sp) == (pc, sp);
        let at = self.suspended.iter().rposition(fits)?;
        Some(self.suspended.remove(at).stack)
    }

    fn new_stack(&mut self) -> Stack {
        self.stacks += 1;
        Stack { number: self.stacks - 1, frames: Vec::new() }
    }

    /// Tells whether the program has jumped from a stack to that of another task, whose function begins
    /// at `pc`.
    fn has_switched(&self, stack: &Stack, pc: u32, sp: u32) -> bool {
        let jumped = self.called.is_none() && pc != self.next;
        let elsewhere = stack.frames.last().is_some_and(|frame| frame.is_elsewhere(sp));
        // A function's cold part has a name of its own, but the function's stack frame.
        let begins = |pc: u32| {
            let symbol = self.functions.symbols().name_at(pc);
            symbol.is_some_and(|at| at.offset == 0 && !at.symbol.contains(".cold"))
        };
        jumped && elsewhere && begins(pc)
    }

    /// Handles arrival at the instruction at `pc`, with the calls and returns that led there.
    fn arrive_at(&mut self, pc: u32, sp: u32, threads: ThreadStack) {
        let mut stack = match self.current.take() {
            Some(stack) if threads != ThreadStack::Only || !self.has_switched(&stack, pc, sp) => {
                stack
            }
            _ => self.resume(pc, sp),
        };
        let function = self.functions.at(pc);
        let called = self.called.take();
        if let Some((return_address, sp)) = called {
            let caller = stack.frames.last().map(|frame| frame.node);
            let node = self.node(caller, function);
            self.call(node);
            stack.frames.push(Frame { node, return_address, sp });
        } else if pc != self.next {
            if let Some(at) = stack.call_to(pc, sp) {
                stack.frames.truncate(at);
            } else if let Some(interrupted) = self.returned_to(&stack, function, pc, sp) {
                stack = interrupted;
            }
        }
        match stack.frames.last_mut().map(|frame| frame.node) {
            Some(node) if self.function(node) == function => {}
            // The function was left by a jump: a tail call replaces it.
            Some(node) => {
                let node = self.node(self.branch(node).parent, function);
                self.call(node);
                if let Some(frame) = stack.frames.last_mut() {
                    frame.node = node;
                }
            }
            None => {
                let node = self.node(None, function);
                self.call(node);
                stack.frames.push(Frame { node, return_address: u32::MAX, sp: u32::MAX });
            }
        }
        self.current = Some(stack);
    }
}

impl Observer for Calls<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (pc, sp) = (machine.register(Register::Pc), machine.register(Register::Sp));
        let continues = pc == self.next && self.current.is_some() && self.called.is_none();
        // Without a jump it may fall through into another function.
        if !continues
            || self.innermost().map(|node| self.function(node)) != Some(self.functions.at(pc))
        {
            self.arrive_at(pc, sp, machine.thread_stack());
        }
        ControlFlow::Continue(())
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.next = instruction.address.wrapping_add(u32::from(instruction.size));
        if instruction.is_call && machine.register(Register::Pc) != self.next {
            self.called = Some((self.next, machine.register(Register::Sp)));
        }
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        if let Some(mut stack) = self.current.take() {
            let Interrupted { pc, sp, .. } = machine.interrupted();
            if self.suspended.len() == MAX_SUSPENDED {
                self.suspended.remove(0);
            }
            // A call that was interrupted before its function's first instruction.
            if let Some((return_address, sp)) = self.called.take() {
                let function = self.functions.at(pc);
                let caller = stack.frames.last().map(|frame| frame.node);
                let node = self.node(caller, function);
                self.call(node);
                stack.frames.push(Frame { node, return_address, sp });
            }
            self.suspended.push(Suspended { pc, sp, stack });
        }
        let symbols = self.functions.symbols();
        let names = self.names.get_or_insert_with(|| ExceptionNames::new(machine, symbols));
        names.refresh(machine, symbols);
        let root = self.functions.number(&format!("[{}]", names.name(exception)));
        let node = self.node(None, root);
        self.call(node);
        // The handler itself is a function called from the exception.
        let frame = Frame { node, return_address: u32::MAX, sp: u32::MAX };
        let mut stack = self.new_stack();
        stack.frames.push(frame);
        self.current = Some(stack);
        self.called = Some((u32::MAX, u32::MAX));
        self.next = 1;
    }

    fn returned(&mut self, _machine: &Machine, _exception: u16) {
        self.current = None;
        self.called = None;
        self.next = 1;
    }
}

impl LandmarkObserver for Calls<'_> {
    fn ran_until(&mut self, machine: &Machine, _now: Cycles) {
        self.next = machine.register(Register::Pc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_sim::{Soc, Stop};

    /// Records the call stack before each instruction.
    struct Stacks<'a>(Calls<'a>, Vec<String>);

    impl Observer for Stacks<'_> {
        fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
            self.0.before(machine)?;
            self.1.push(self.0.stack().join(" "));
            ControlFlow::Continue(())
        }

        fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
            self.0.executed(machine, instruction);
        }

        fn entered(&mut self, machine: &Machine, exception: u16) {
            self.0.entered(machine, exception);
        }

        fn returned(&mut self, machine: &Machine, exception: u16) {
            self.0.returned(machine, exception);
        }
    }

    #[test]
    fn calls_tail_calls_and_handlers_have_their_stacks() {
        let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml")).expect("a soc");
        let mut machine = Machine::new(&soc);
        // 0x100: bl 0x200; svc #0; b .   0x200: b 0x300 (a tail call)   0x300: bx lr
        // 0x400: bx lr (SVCall)
        let at = |offset: u32| 0x0800_0000 + offset;
        let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        machine.poke(at(0), &words(&[0x2000_1000, at(0x101)])).expect("flash");
        machine.poke(at(0x2C), &words(&[at(0x401)])).expect("flash");
        let code: [(u32, &[u16]); 4] = [
            (0x100, &[0xF000, 0xF87E, 0xDF00, 0xE7FE]),
            (0x200, &[0xE07E]),
            (0x300, &[0x4770]),
            (0x400, &[0x4770]),
        ];
        for (offset, code) in code {
            let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
            machine.poke(at(offset), &bytes).expect("flash");
        }
        machine.reset().expect("a vector table");
        let symbols = Symbols::default();
        let mut stacks = Stacks(Calls::new(&symbols), Vec::new());
        assert_eq!(machine.run_observed(Cycles(100), &mut stacks), Stop::Limit);
        let short: Vec<_> = stacks
            .1
            .iter()
            .map(|stack| stack.replace("[0x080000", "").replace("0x08000", ""))
            .map(|stack| stack.replace(['[', ']'], ""))
            .take(6)
            .collect();
        assert_eq!(short, ["100", "100 200", "100 300", "100", "SVCall 400", "100"]);
        let handlers: Vec<_> =
            stacks.0.nodes().filter(|n| stacks.0.name(*n) == "[SVCall]").collect();
        assert_eq!(handlers.len(), 1);
        assert_eq!(stacks.0.times(handlers[0]), 1);
    }

    #[test]
    fn a_risc_v_core_has_the_same_stacks() {
        let soc = include_str!("../../../socs/generic-hazard3.toml");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let code: [(u32, &[u32]); 4] = [
            // lui sp, 0x80101; la t0, 0x300; csrw mtvec, t0; jal 0x100; ecall; j .
            (
                0,
                &[
                    0x8010_1137,
                    0x0000_0297,
                    0x2FC2_8293,
                    0x3052_9073,
                    0x0F00_00EF,
                    0x0000_0073,
                    0x0000_006F,
                ],
            ),
            // j 0x200 (a tail call); ret
            (0x100, &[0x1000_006F]),
            (0x200, &[0x0000_8067]),
            // The handler: csrr t0, mepc; addi t0, t0, 4; csrw mepc, t0; mret
            (0x300, &[0x3410_22F3 | 5 << 7, 0x0042_8293, 0x3412_9073, 0x3020_0073]),
        ];
        for (offset, words) in code {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            machine.poke(0x8000_0000 + offset, &bytes).expect("flash");
        }
        let symbols = Symbols::default();
        let mut stacks = Stacks(Calls::new(&symbols), Vec::new());
        assert_eq!(machine.run_observed(Cycles(40), &mut stacks), Stop::Limit);
        let mut short: Vec<_> = stacks.1.iter().map(|stack| stack.replace("0x80000", "")).collect();
        short.dedup();
        let task = ["[000]", "[000] [100]", "[000] [200]", "[000]", "[ECALL] [300]", "[000]"];
        assert_eq!(short, task);
    }

    #[test]
    fn a_cortex_r5_has_the_same_stacks_in_every_handler_mode() {
        let soc = include_str!("../../../socs/zynqmp-r5.toml");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("a soc"));
        let code: [(u32, &[u32]); 5] = [
            // mov sp, #0x20000; vectors low: mrc, bic r0, #0x2000, mcr; bl 0x400; svc #0; b .
            (
                0x100,
                &[
                    0xE3A0_D802,
                    0xEE11_0F10,
                    0xE3C0_0A02,
                    0xEE01_0F10,
                    0xEB00_00BA,
                    0xEF00_0000,
                    0xEAFF_FFFE,
                ],
            ),
            // b 0x500 (a tail call); bx lr
            (0x400, &[0xEA00_003E]),
            (0x500, &[0xE12F_FF1E]),
            // The vector: b 0x600. The handler, on a stack of its own: mov sp, #0x24000; movs pc, lr
            (0x008, &[0xEA00_017C]),
            (0x600, &[0xE3A0_D909, 0xE1B0_F00E]),
        ];
        for (offset, words) in code {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            machine.poke(offset, &bytes).expect("ATCM");
        }
        // System mode, in which a task has another stack pointer than the handler.
        machine.set_register(Register::Xpsr, 0xDF);
        machine.set_register(Register::Pc, 0x100);
        let symbols = Symbols::default();
        let mut stacks = Stacks(Calls::new(&symbols), Vec::new());
        assert_eq!(machine.run_observed(Cycles(200), &mut stacks), Stop::Limit);
        let mut short: Vec<_> = stacks.1.iter().map(|stack| stack.replace("0x00000", "")).collect();
        short.dedup();
        let (task, handler) = ("[100]", ["[SVC] [000]", "[SVC] [600]"]);
        let called = ["[100] [400]", "[100] [500]"];
        assert_eq!(short, [task, called[0], called[1], task, handler[0], handler[1], task]);
    }
}
