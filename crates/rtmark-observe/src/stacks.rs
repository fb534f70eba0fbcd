//! Measures how much of their stacks tasks and interrupts have used.
//!
//! The observer checks the stack pointer at every instruction, and what handlers store below a task's
//! stack pointer, where kernels save registers. A task is identified by the place at which it was
//! interrupted, so that each keeps its stack, whatever kernel switches them. A program without tasks of
//! its own has one stack, the main one.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::ControlFlow;

use rtmark_sim::{Access, AccessKind, CoreKind, Machine, Observer, Register, Symbols, ThreadStack};
use rtmark_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::functions::Functions;

/// The most stack that a task or an interrupt has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StackUse {
    /// The name that the kernel gives a task, if it is known, otherwise its first function; or the
    /// exception.
    pub name: String,
    /// The kind of stack.
    pub kind: StackKind,
    /// The most bytes used, from the first stack pointer to the lowest byte in use. For a task this
    /// includes the frame that an interrupt leaves there, if one came; for an interrupt it is what it
    /// adds to the main stack.
    #[schemars(with = "u64")]
    pub bytes: Bytes,
    /// The lowest address in use; an interrupt may have many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<u32>,
}

/// The kind of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StackKind {
    /// The main stack as used by thread mode: the whole of a program without tasks, or the start-up of
    /// a kernel that has tasks.
    Main,
    /// The process stack of a task.
    Task,
    /// A handler.
    Interrupt,
}

/// Names the running thread as its kernel does.
pub trait ThreadNames: fmt::Debug {
    /// Returns the name of the thread that runs, by the kernel's own data; `None` if there is none.
    fn running(&mut self, machine: &Machine) -> Option<String>;
}

#[derive(Debug)]
struct Thread {
    name: u32,
    /// The name that its kernel gives it.
    given: Option<String>,
    /// The name is that of the code that switched stacks: the next function's name is better.
    is_named: bool,
    stack: ThreadStack,
    high: u32,
    low: u32,
    /// The latest stack pointer.
    sp: u32,
}

#[derive(Debug)]
struct Suspended {
    pc: u32,
    sp: u32,
    thread: usize,
}

/// The most bytes that a handler saves below a task's stack pointer: general and floating-point
/// registers, and a few more words.
const MAX_SAVED_BYTES: u32 = 256;

/// A stack pointer that moves further than this in one instruction, in bytes, has moved to another
/// stack.
const MAX_STACK_STEP: u32 = 2048;

/// A thread whose stack pointer a handler has not used, as it began with another one.
#[derive(Clone, Copy, Debug)]
struct PendingThread {
    bank: u8,
    thread: usize,
    /// The thread's last stack pointer.
    sp: u32,
}

/// An active handler.
#[derive(Debug)]
struct Handler {
    exception: u16,
    /// The stack on which it began.
    stack: ThreadStack,
    /// Where its current stack began.
    base: u32,
    /// Its latest stack pointer, and the thread whose stack it still uses, if one stack pointer serves
    /// both.
    sp: u32,
    thread: Option<usize>,
    /// The stack pointer register with which it began.
    bank: u8,
    /// The stack pointer of the interrupted thread, if that has a separate one.
    left: Option<PendingThread>,
    /// Its deepest use of its own stack, and of other modes' stacks by stack pointer: where it entered
    /// each, and the deepest point.
    used: u32,
    others: BTreeMap<u8, (u32, u32)>,
}

impl Handler {
    /// Tells whether the stack pointer has moved from the stack on which this handler was, if software
    /// moves the only stack pointer there is.
    fn has_left(&self, symbols: &Symbols, sp: u32) -> bool {
        self.stack == ThreadStack::Only && is_elsewhere(symbols, self.sp, sp)
    }

    /// Returns the most that it has used so far, on all stacks except its thread's.
    fn uses(&self) -> u32 {
        self.used + self.others.values().map(|(base, low)| base - low).sum::<u32>()
    }
}

/// Tells whether a stack pointer has left a stack in one instruction: it has moved far, or into another
/// variable, as start-up code does when it begins the first thread.
fn is_elsewhere(symbols: &Symbols, from: u32, sp: u32) -> bool {
    // The last word pushed, or the next one to be pushed: a full stack is still that one.
    let variable = |sp: u32| {
        let within = symbols.name_at(sp.wrapping_sub(4))?;
        Some(sp.wrapping_sub(within.offset))
    };
    match from.abs_diff(sp) {
        0..=MAX_SAVED_BYTES => false,
        step => step > MAX_STACK_STEP || variable(from) != variable(sp),
    }
}

/// What handlers save directly below the stack pointer of the task that they interrupted.
#[derive(Debug)]
struct SavedRegisters {
    thread: usize,
    /// Where the hardware's frame is.
    frame: u32,
    /// The words below it that were written.
    words: BTreeSet<u32>,
}

impl SavedRegisters {
    /// Records a store. What else is near, such as another task's control block, is not next to the frame.
    fn store(&mut self, access: Access) {
        let end = access.address.saturating_add(access.bytes).min(self.frame);
        let from = access.address.max(self.frame.saturating_sub(MAX_SAVED_BYTES)) & !3;
        self.words.extend((from..end).step_by(4));
    }

    /// Returns the lowest byte in use.
    fn low(&self) -> u32 {
        let below = |low: &u32| low.checked_sub(4).filter(|low| self.words.contains(low));
        std::iter::successors(Some(self.frame), below).last().unwrap_or(self.frame)
    }
}

/// Follows a run from its beginning.
#[derive(Debug)]
pub struct Stacks<'a> {
    functions: Functions<'a>,
    symbols: &'a Symbols,
    names: Option<Box<dyn ThreadNames + 'a>>,
    threads: Vec<Thread>,
    suspended: Vec<Suspended>,
    current: Option<usize>,
    /// The active handlers, the innermost last.
    nested: Vec<Handler>,
    saved: Option<SavedRegisters>,
    core: CoreKind,
    /// The stack pointer before the latest instruction, and which one it was.
    newest: (u8, u32),
    /// The function of the latest instruction of a thread.
    latest: u32,
    /// The most used by each exception.
    handlers: BTreeMap<u16, u32>,
}

impl<'a> Stacks<'a> {
    /// Creates the observer for a machine that has just been reset.
    pub fn new(machine: &Machine, symbols: &'a Symbols) -> Self {
        Self {
            core: machine.soc().core,
            newest: (machine.stack_bank(), machine.register(Register::Sp)),
            latest: 0,
            functions: Functions::new(symbols),
            symbols,
            names: None,
            threads: Vec::new(),
            suspended: Vec::new(),
            current: None,
            nested: Vec::new(),
            saved: None,
            handlers: BTreeMap::new(),
        }
    }

    /// Names tasks by their kernel's own data.
    #[must_use]
    pub fn with_names(self, names: impl ThreadNames + 'a) -> Self {
        Self { names: Some(Box::new(names)), ..self }
    }

    /// Returns the use of each stack: tasks in order of appearance, then interrupts by number. Of tasks
    /// that follow each other on the same stack under the same name, the one that used most counts.
    pub fn uses(&self) -> Vec<StackUse> {
        // Start-up code may set several stack pointers; only the last is used.
        let is_used =
            |thread: &Thread| thread.stack != ThreadStack::Only || thread.low < thread.high;
        let first = self.threads.iter().position(is_used).unwrap_or(0);
        let used = self.threads.iter().enumerate().skip(first);
        let task = |at: usize, thread: &Thread| {
            let at = if at == first { 0 } else { at };
            let kind = self.kind(at);
            let given = thread.given.clone().filter(|_| kind == StackKind::Task);
            let function = || self.functions.name(self.threads[at].name).to_owned();
            StackUse {
                name: given.unwrap_or_else(function),
                kind,
                bytes: Bytes((thread.high - thread.low).into()),
                lowest: Some(thread.low),
            }
        };
        let handler = |(exception, bytes): (&u16, &u32)| StackUse {
            name: self.core.exception_name(*exception),
            kind: StackKind::Interrupt,
            bytes: Bytes((*bytes).into()),
            lowest: None,
        };
        let mut uses: Vec<StackUse> = Vec::new();
        let mut known = HashMap::new();
        for (at, thread) in used {
            let used = task(at, thread);
            match known.entry((used.name.clone(), thread.high)) {
                Entry::Vacant(entry) => {
                    entry.insert(uses.len());
                    uses.push(used);
                }
                Entry::Occupied(entry) => {
                    let earlier = &mut uses[*entry.get()];
                    earlier.bytes = earlier.bytes.max(used.bytes);
                    earlier.lowest = earlier.lowest.min(used.lowest);
                }
            }
        }
        uses.extend(self.handlers.iter().map(handler));
        uses
    }

    /// Returns the kind of a thread's stack. If the hardware gives no indication, the first one is the
    /// main stack.
    fn kind(&self, thread: usize) -> StackKind {
        match self.threads[thread].stack {
            ThreadStack::Only if thread == 0 => StackKind::Main,
            ThreadStack::Main => StackKind::Main,
            ThreadStack::Process | ThreadStack::Only => StackKind::Task,
        }
    }

    /// Returns the thread that executes at a place: one that was interrupted there, or a new one.
    fn resume(&mut self, pc: u32, sp: u32, stack: ThreadStack, is_named: bool) -> usize {
        let fits = |suspended: &Suspended| (suspended.pc, suspended.sp) == (pc, sp);
        let found = self.suspended.iter().rposition(fits);
        if let Some(at) = found.or_else(|| self.served(pc, sp, stack)) {
            return self.suspended.remove(at).thread;
        }
        if stack == ThreadStack::Process {
            // A stack that begins anew there has nothing to continue.
            self.suspended.retain(|it| it.sp != sp || self.threads[it.thread].stack != stack);
        }
        let name = self.functions.at(pc);
        self.threads.push(Thread { name, given: None, is_named, stack, high: sp, low: sp, sp });
        self.threads.len() - 1
    }

    /// Returns which suspended thread continues behind a call that has been served on another stack, not where it was
    /// interrupted. No two have the same stack pointer; a thread that begins does so with a function.
    fn served(&self, pc: u32, sp: u32, stack: ThreadStack) -> Option<usize> {
        let begins = self.symbols.name_at(pc).is_none_or(|at| at.offset == 0);
        let is_it = |suspended: &Suspended| {
            suspended.sp == sp && self.threads[suspended.thread].stack == stack
        };
        if begins { None } else { self.suspended.iter().rposition(is_it) }
    }

    /// Tells whether the stack pointer has just been moved elsewhere on a core with only one. It may be
    /// in transit, as an address that is being computed in it.
    fn is_switching_stacks(&mut self, machine: &Machine, sp: u32) -> bool {
        let bank = machine.stack_bank();
        let (bank_before, before) = std::mem::replace(&mut self.newest, (bank, sp));
        // A handler that changes its mode may use that mode's stack at once.
        let is_of_handler = machine.exception() != 0 && bank != bank_before;
        if machine.thread_stack() != ThreadStack::Only || is_of_handler {
            return false;
        }
        let is_memory = machine.peek(sp.wrapping_sub(4), 4).len() == 4;
        !is_memory || sp.abs_diff(before) > MAX_SAVED_BYTES
    }

    /// Handles a handler's change of mode to another stack: that of the interrupted code, or another
    /// one of the handler's own.
    fn record_other_stack_use(&mut self, bank: u8, sp: u32) {
        let Some(handler) = self.nested.last_mut() else { return };
        if let Some(left) = handler.left.as_mut().filter(|left| left.bank == bank) {
            // After a jump it is the stack of the code to which it returns.
            if sp.abs_diff(left.sp) <= MAX_SAVED_BYTES {
                left.sp = sp;
                let thread = &mut self.threads[left.thread];
                thread.low = thread.low.min(sp);
            }
            return;
        }
        let (_, low) = handler.others.entry(bank).or_insert((sp, sp));
        *low = (*low).min(sp);
        let most = self.handlers.entry(handler.exception).or_default();
        *most = (*most).max(handler.uses());
    }

    fn record_handler_use(&mut self, bank: u8, sp: u32) {
        let Some(handler) = self.nested.last_mut() else { return };
        if handler.bank != bank {
            return self.record_other_stack_use(bank, sp);
        }
        if let Some(thread) = handler.thread {
            if !handler.has_left(self.symbols, sp) {
                handler.sp = sp;
                let thread = &mut self.threads[thread];
                thread.low = thread.low.min(sp);
                return;
            }
            // The handler continues on a stack of its own.
            (handler.thread, handler.base, handler.sp) = (None, sp, sp);
        }
        // Or to the stack of the code to which it returns.
        if handler.has_left(self.symbols, sp) {
            return;
        }
        handler.sp = sp;
        handler.used = handler.used.max(handler.base.saturating_sub(sp));
        let most = self.handlers.entry(handler.exception).or_default();
        *most = (*most).max(handler.uses());
    }
}

impl Observer for Stacks<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (pc, sp) = (machine.register(Register::Pc), machine.register(Register::Sp));
        if self.is_switching_stacks(machine, sp) {
            return ControlFlow::Continue(());
        }
        if machine.exception() != 0 {
            self.record_handler_use(machine.stack_bank(), sp);
            if let Some(saved) = &mut self.saved
                && let Some(access) = machine.next_access()
                && access.kind == AccessKind::Write
            {
                saved.store(access);
            }
            return ControlFlow::Continue(());
        }
        let stack = machine.thread_stack();
        let same = |thread: &usize| self.threads[*thread].stack == stack;
        let before = self.current;
        let function = self.functions.at(pc);
        // Until another function begins, the code is the one that switches.
        let has_begun = std::mem::replace(&mut self.latest, function) != function;
        let at = match before {
            // The program switches stacks by itself, without exceptions.
            Some(thread)
                if same(&thread) && is_elsewhere(self.symbols, self.threads[thread].sp, sp) =>
            {
                let holds = |thread: &Thread| {
                    thread.stack == stack
                        && (thread.low.saturating_sub(MAX_SAVED_BYTES)..=thread.high).contains(&sp)
                };
                let known = self.threads.iter().position(holds);
                known.unwrap_or_else(|| self.resume(pc, sp, stack, has_begun))
            }
            Some(thread) if same(&thread) => thread,
            // Thread code has switched stacks by itself: a task begins without an exception.
            Some(_) => self.resume(pc, sp, stack, has_begun),
            None => self.resume(pc, sp, stack, true),
        };
        self.current = Some(at);
        if before != self.current
            && let Some(given) = self.names.as_mut().and_then(|names| names.running(machine))
        {
            self.threads[at].given = Some(given);
        }
        let thread = &mut self.threads[at];
        (thread.low, thread.sp) = (thread.low.min(sp), sp);
        if !thread.is_named && thread.name != function {
            (thread.name, thread.is_named) = (function, true);
        }
        ControlFlow::Continue(())
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        let left = machine.interrupted();
        let current = self.current.take();
        if self.nested.is_empty() {
            // A handler that follows another one directly interrupts the same task.
            let fits = |it: &&Suspended| (it.pc, it.sp) == (left.pc, left.sp);
            let thread = current.or_else(|| self.suspended.iter().rfind(fits).map(|it| it.thread));
            let thread = thread.filter(|_| left.stack == ThreadStack::Process);
            let frame = left.frame;
            self.saved =
                thread.map(|thread| SavedRegisters { thread, frame, words: BTreeSet::new() });
        }
        if let Some(thread) = current {
            self.suspended.push(Suspended { pc: left.pc, sp: left.sp, thread });
            // On the main stack, the frame is part of what the interrupt adds.
            if left.stack == ThreadStack::Process {
                let thread = &mut self.threads[thread];
                thread.low = thread.low.min(left.frame);
            }
        }
        let sp = machine.handler_sp();
        // If it is not where the hardware left it, the handler is on a stack of its own.
        let base = if sp == left.frame { left.sp } else { sp };
        let on_thread = current.filter(|thread| {
            left.stack == ThreadStack::Only
                && sp == left.frame
                && self.kind(*thread) == StackKind::Task
        });
        let bank = machine.stack_bank();
        self.newest = (bank, sp);
        self.nested.push(Handler {
            exception,
            stack: left.stack,
            base,
            sp,
            thread: on_thread,
            bank,
            left: current.filter(|_| left.bank != bank).map(|thread| PendingThread {
                bank: left.bank,
                thread,
                sp: left.sp,
            }),
            used: 0,
            others: BTreeMap::new(),
        });
        self.record_handler_use(bank, sp);
    }

    fn returned(&mut self, machine: &Machine, _exception: u16) {
        self.nested.pop();
        if self.nested.is_empty()
            && let Some(saved) = self.saved.take()
        {
            let thread = &mut self.threads[saved.thread];
            thread.low = thread.low.min(saved.low());
        }
        self.current = None;
        // The stack pointer of the mode that it has returned to.
        self.newest = (machine.stack_bank(), machine.register(Register::Sp));
    }
}
