//! Times calls during an observed run.
//!
//! A call is identified by its return address and the stack pointer there: no two open calls share
//! both, whatever kernel switches stacks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use rtmark_observe::{Calls, Lines, Map, Node, landmarks};
use rtmark_sim::{
    Cycles as Now, Image, Instruction, LandmarkObserver, Landmarks, Machine, Observer, Register,
};

use crate::addresses::Addresses;
use crate::api::{Api, Kind};
use crate::carried::CarriedCalls;
use crate::classes::{CallTree, Class, Classes, Owner, PENDSV, SVCALL};
use crate::cost::{CalledFunction, Cycles, KernelCost, Origin, Outcome, Shares, Site};
use crate::inlined::Inlined;
use crate::matcher::{Continuation, End, RuleMatcher, Timed, WaitingCall};
use crate::open::{Beginning, FinishedCalls, OpenCall, ReturnedCall, SystemCall};
use crate::roles::Roles;
use crate::wrappers::Wrappers;

/// Observes a run from its beginning.
#[derive(Debug)]
pub struct CallRecorder<'a, 'elf> {
    image: &'a Image,
    roles: Roles<'a>,
    calls: Calls<'a>,
    /// The first instructions of API functions.
    entries: BTreeSet<u32>,
    classes: Classes,
    open: Vec<OpenCall>,
    /// By stack, functions that an exception has kept from beginning.
    held: HashMap<Option<u64>, Beginning>,
    /// A thread's last SVC, until the function that it calls begins or another thread may run.
    system_call: Option<SystemCall>,
    /// The number of open calls that return to an address.
    returns: HashMap<u32, u32>,
    ended: BTreeMap<(u32, Origin, Outcome), FinishedCalls>,
    /// Calls that will never return, by function.
    unreturned: BTreeMap<String, u64>,
    /// The last instruction: its address and when it began; none after an exception.
    newest: Option<(u32, u64)>,
    /// The address of the next instruction if the last one was not a jump.
    next: u32,
    /// The stack that last ran in thread mode.
    thread: Option<u64>,
    carried: CarriedCalls,
    /// The stacks that have run outside the kernel, and the last of them.
    threads: HashSet<u64>,
    ran: Option<u64>,
    /// The last call that returned to a thread.
    just_returned: Option<ReturnedCall>,
    /// Finds the calls that are scenarios'.
    matcher: RuleMatcher<'a>,
    wrappers: Wrappers<'a>,
    shares: Shares,
    /// The cycle up to which cycles have been counted, and the owner of those since.
    counted: u64,
    owner: Owner,
    executed: Addresses,
    inlined: Inlined<'a, 'elf>,
}

impl<'a, 'elf> CallRecorder<'a, 'elf> {
    /// Begins at the position of a machine that has just been reset. `lines` describes inlined code.
    pub fn new(
        machine: &Machine,
        image: &'a Image,
        api: &'a Api,
        lines: Option<&'a Lines<'elf>>,
    ) -> Self {
        Self::with_scenarios(machine, image, api, lines, RuleMatcher::default())
    }

    /// Creates a recorder that also keeps each call with a scenario's span. `elf` is the image's file,
    /// whose debug information describes the kernel's structures.
    pub fn matching(
        machine: &Machine,
        image: &'a Image,
        elf: &[u8],
        api: &'a Api,
        lines: Option<&'a Lines<'elf>>,
    ) -> Self {
        Self::with_scenarios(machine, image, api, lines, RuleMatcher::new(api.equal(), elf))
    }

    fn with_scenarios(
        machine: &Machine,
        image: &'a Image,
        api: &'a Api,
        lines: Option<&'a Lines<'elf>>,
        matcher: RuleMatcher<'a>,
    ) -> Self {
        let symbols = image.symbols();
        let roles = Roles::new(api, symbols, lines);
        let wrappers = Wrappers::new(api, symbols);
        let is_called =
            |name: &str| roles.of(name) == Some(Kind::Called) && !wrappers.contains(name);
        let entries = symbols.iter().map(|(address, _)| address & !1).filter(|address| {
            let location = symbols.name_at(*address);
            location.is_some_and(|at| at.offset == 0 && is_called(&at.symbol))
        });
        Self {
            image,
            calls: Calls::new(symbols),
            entries: entries.collect(),
            wrappers,
            classes: Classes::new(machine),
            open: Vec::new(),
            held: HashMap::new(),
            system_call: None,
            returns: HashMap::new(),
            ended: BTreeMap::new(),
            unreturned: BTreeMap::new(),
            newest: None,
            next: 1,
            thread: None,
            carried: CarriedCalls::default(),
            threads: HashSet::new(),
            ran: None,
            just_returned: None,
            matcher,
            shares: Shares::default(),
            counted: machine.cycles().0,
            owner: Owner::Application,
            executed: Addresses::default(),
            inlined: Inlined::new(lines),
            roles,
        }
    }

    /// Returns the places at which the run needs to be examined: functions, and the borders of inlined
    /// kernel code.
    pub fn landmarks(&self) -> Landmarks {
        landmarks(self.image.symbols(), self.inlined.borders(&self.roles))
    }

    /// Returns the number of API functions in the image.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns the functions of the author's that are named like functions of the kernel's, and are not taken for it.
    pub fn lookalikes(&self) -> impl Iterator<Item = &str> {
        self.roles.lookalikes()
    }

    /// Returns the stack in use, by its number: a thread's is the same where its call continues on one of the kernel's.
    fn stack(&self) -> Option<u64> {
        self.calls.stack_number().map(|number| self.carried.thread_of(number))
    }

    /// Returns whether a thread's call has brought the stack in use, so that all that is called there is part of it, even
    /// a function in the place of the first one there.
    fn is_carried(&self) -> bool {
        self.calls.stack_number().is_some_and(|number| self.carried.is_carried(number))
    }

    /// Handles the beginning of a function after an exception, in which a thread's call may continue on another stack.
    fn carry_on(&mut self, node: Node) {
        if let Some(here) = self.calls.stack_number()
            && self.roles.api().carries_out(self.calls.name(node))
            && let Some(SystemCall { stack: Some(caller), .. }) = self.system_call.take()
        {
            self.carried.begin(here, caller);
        }
    }

    /// Attributes the cycles since the last call to the current owner.
    fn count(&mut self, now: u64, next: Owner) {
        let cycles = now.saturating_sub(self.counted);
        self.counted = now;
        match self.owner {
            Owner::Application => self.shares.application += cycles,
            Owner::Interrupt => self.shares.interrupts += cycles,
            Owner::Kernel => self.shares.kernel += cycles,
            Owner::Idle => self.shares.idle += cycles,
        }
        self.inlined.count(cycles);
        self.owner = next;
    }

    /// Ends the call that returns here, if there is one.
    fn end(&mut self, machine: &Machine, pc: u32, sp: u32, now: u64) {
        if !self.returns.contains_key(&pc) {
            return;
        }
        let back = |open: &OpenCall| open.return_address == pc && open.sp == sp;
        let Some(at) = self.open.iter().rposition(back) else { return };
        let open = self.open.remove(at);
        self.close(&open);
        if open.from == Origin::Thread {
            let function = self.calls.function(open.node);
            self.just_returned =
                Some(ReturnedCall { at: now, function, arguments: open.arguments });
        }
        let (outcome, ended, hit) = match (open.left, open.switched) {
            (true, Some((switched, _))) => {
                (Outcome::Switched, switched, open.beginning.is_disturbed())
            }
            // Only the kernel's own threads ran.
            (true, None) => (Outcome::Returned, now, true),
            (false, _) => (Outcome::Returned, now, open.beginning.is_disturbed()),
        };
        if !open.left || open.switched.is_some() {
            self.compare(&open, outcome, ended, Some(machine.register(Register::Argument(0))));
        }
        self.note(&open, outcome, (!hit).then(|| ended - open.beginning.began));
    }

    /// Keeps a call that has a scenario's span.
    fn compare(&mut self, open: &OpenCall, outcome: Outcome, ended: u64, result: Option<u32>) {
        if open.rules.is_empty() {
            return;
        }
        let into = open.switched.map(|(_, into)| into);
        let continuation_symbol = match into {
            Some(Continuation::Call { function, .. }) => self.calls.functions().name(function),
            _ => "",
        };
        let Beginning { began, ticks, interrupts, .. } = open.beginning;
        let timed = Timed { began, cycles: ended - began, ticks, interrupts };
        let shown = self.roles.api().display_name(self.calls.name(open.node));
        let end = End { outcome, result, into, continuation_symbol, timed };
        self.matcher.end(&open.rules, open.arguments, shown, end);
    }

    fn note(&mut self, open: &OpenCall, outcome: Outcome, cycles: Option<u64>) {
        let key = (self.calls.function(open.node), open.from, outcome);
        let ended = self.ended.entry(key).or_default();
        ended.calls += 1;
        let site = ended.sites.entry(open.beginning.site).or_default();
        site.0 += 1;
        let Some(cycles) = cycles else { return };
        site.1 = site.1.max(Some(cycles));
        ended.cycles.push(cycles);
        if ended.longest.is_none_or(|(longest, _)| cycles > longest) {
            ended.longest = Some((cycles, open.beginning.began));
        }
    }

    /// Forgets where a call that has ended would have returned and continued.
    fn close(&mut self, open: &OpenCall) {
        if let Some(count) = self.returns.get_mut(&open.return_address) {
            *count -= 1;
            if *count == 0 {
                self.returns.remove(&open.return_address);
            }
        }
        self.carried.end(open.stack);
    }

    /// Handles a possible change of threads, for calls that wait for one.
    fn follow_threads(&mut self, owner: Owner, now: u64) {
        let stack = self.stack();
        if stack != self.thread {
            let before = self.thread;
            let left = self.open.iter_mut().filter(|open| open.from == Origin::Thread);
            left.filter(|open| open.stack == before).for_each(|open| open.left = true);
            self.thread = stack;
        }
        let is_waiting =
            |open: &OpenCall| open.left && open.switched.is_none() && open.stack != stack;
        let is_new_here = self.ran != stack;
        if owner != Owner::Kernel && (is_new_here || self.open.iter().any(is_waiting)) {
            let into = match self.just_returned {
                _ if owner == Owner::Idle => Continuation::Idle,
                Some(ReturnedCall { at, function, arguments }) if at == now => {
                    Continuation::Call { function, arguments }
                }
                _ if stack.is_some_and(|stack| !self.threads.contains(&stack)) => Continuation::New,
                _ => Continuation::Elsewhere,
            };
            self.threads.extend(stack);
            self.ran = stack;
            let waiting = self.open.iter_mut().filter(|open| is_waiting(open));
            waiting.for_each(|open| open.switched = Some((now, into)));
        }
    }

    fn begin(&mut self, machine: &Machine, node: Node, now: u64, beginning: Option<Beginning>) {
        let link = machine.register(Register::Link);
        let sp = machine.register(Register::Sp);
        // What a handler returns through is not an address, and a first instruction that continues
        // after an interrupt, such as PUSH, has begun before.
        let continues = self.newest.is_none() && machine.resumes_instruction();
        let Some(back) = machine.returns_from_call(link).filter(|_| !continues) else { return };
        let is_system_call = self.is_system_call(node);
        let system_call = self.system_call.take_if(|_| is_system_call);
        // A thread may begin with it.
        let thread = Beginning::of((back.wrapping_sub(4), now));
        let stack = self.stack();
        let beginning = beginning.unwrap_or(thread);
        let plain = SystemCall { beginning, return_address: back, sp, stack };
        let SystemCall { mut beginning, return_address, sp, .. } = system_call.unwrap_or(plain);
        if is_system_call && system_call.is_none() {
            // Another thread has run since the SVC.
            beginning.interrupts += 1;
        }
        let same = |open: &OpenCall| (open.return_address, open.sp) == (return_address, sp);
        if let Some(at) = self.open.iter().position(same) {
            // A thread that ended left it behind, and another one uses its stack; or its caller calls again, and
            // not the function itself in its place: a jump such as longjmp has left it.
            let is_over =
                self.open[at].left && self.open[at].stack != stack || self.next == return_address;
            if !is_over {
                return;
            }
            let over = self.open.remove(at);
            self.close(&over);
            self.abandon(&over);
        }
        let in_handler = machine.exception() != 0;
        let arguments = [0, 1, 2, 3].map(|number| machine.register(Register::Argument(number)));
        let has_rules = !in_handler && !is_system_call;
        let rules = if has_rules { self.rules(machine, node, arguments) } else { Vec::new() };
        beginning.site = self.wrappers.outer_site(beginning.site, stack);
        *self.returns.entry(return_address).or_default() += 1;
        self.open.push(OpenCall {
            node,
            from: if in_handler { Origin::Interrupt } else { Origin::Thread },
            beginning,
            return_address,
            sp,
            stack,
            left: false,
            switched: None,
            arguments,
            rules,
        });
    }

    /// Tells whether a node's function is one that unprivileged code calls by SVC.
    fn is_system_call(&self, node: Node) -> bool {
        self.roles.api().is_system_call(self.calls.name(node))
    }

    /// Takes note of an SVC that may be a call of the kernel, or of another exception before the kernel knows
    /// of which.
    fn note_system_call(&mut self, machine: &Machine, exception: u16) {
        let (interrupted, stack) = (machine.interrupted(), self.stack());
        match (exception, &mut self.system_call) {
            (SVCALL, call) if interrupted.exception == 0 => {
                let by = |newest| SystemCall {
                    beginning: Beginning::of(newest),
                    return_address: interrupted.pc,
                    sp: interrupted.sp,
                    stack,
                };
                *call = self.newest.map(by);
            }
            (PENDSV, call) => *call = None,
            (_, Some(call)) => call.beginning.hit(exception),
            (_, None) => {}
        }
    }

    /// Returns the scenarios whose span a thread's call that begins may have.
    fn rules(&mut self, machine: &Machine, node: Node, arguments: [u32; 4]) -> Vec<usize> {
        let stack = self.stack();
        let is_other = |open: &&OpenCall| open.from == Origin::Thread && open.stack != stack;
        let other = |open: &OpenCall| {
            let name = self.calls.name(open.node);
            let behind = self.roles.api().behind_system_call(name).map(Cow::Owned);
            let symbol = behind.unwrap_or(Cow::Borrowed(name));
            WaitingCall { symbol, object: open.arguments[0] }
        };
        let others: Vec<WaitingCall<'_>> = self.open.iter().filter(is_other).map(other).collect();
        let function = self.calls.function(node);
        self.matcher.begin(machine, (function, self.calls.name(node)), arguments, &others)
    }

    /// Records a call that will never return. One that switched has been timed nevertheless.
    fn abandon(&mut self, call: &OpenCall) {
        let Some((switched, _)) = call.switched else {
            let name = self.calls.name(call.node);
            *self.unreturned.entry(self.roles.api().display_name(name).to_owned()).or_default() +=
                1;
            return;
        };
        self.compare(call, Outcome::Switched, switched, None);
        let cycles = (!call.beginning.is_disturbed()).then(|| switched - call.beginning.began);
        self.note(call, Outcome::Switched, cycles);
    }

    /// Returns the result of the run.
    pub fn finish(mut self, machine: &Machine) -> KernelCost {
        let now = machine.cycles().0;
        self.count(now, Owner::Application);
        let map = Map::new(self.image, self.inlined.lines());
        for call in std::mem::take(&mut self.open) {
            self.abandon(&call);
        }
        let open = std::mem::take(&mut self.unreturned);
        let functions = self.calls.functions();
        let mut called = Vec::new();
        for ((function, from, outcome), ended) in &self.ended {
            let symbol = functions.name(*function);
            let site = |(address, (calls, max)): (&u32, &(u64, Option<u64>))| Site {
                place: map.place(*address),
                calls: *calls,
                max: *max,
            };
            let mut sites: Vec<Site> = ended.sites.iter().map(site).collect();
            sites.sort_by_key(|site| (std::cmp::Reverse(site.calls), site.place.address));
            called.push(CalledFunction {
                function: self.roles.api().display_name(symbol).to_owned(),
                symbol: symbol.to_owned(),
                from: *from,
                outcome: *outcome,
                calls: ended.calls,
                hit: ended.calls - ended.cycles.len() as u64,
                cycles: Cycles::of(ended.cycles.clone()),
                longest_began: ended.longest.map(|(_, began)| began),
                sites,
                namesakes: functions.namesakes(*function),
            });
        }
        let total = |called: &CalledFunction| called.cycles.map_or(0, |cycles| cycles.total);
        called.sort_by_key(|one| (std::cmp::Reverse(total(one)), one.function.clone()));
        let (never, inlined) =
            (self.uncalled(&called, &open), self.inlined.calls(&self.roles, map));
        let (equal, ambiguous) = self.matcher.finish();
        KernelCost {
            never,
            inlined,
            open: open.into_iter().collect(),
            called,
            shares: self.shares,
            equal,
            ambiguous,
        }
    }

    /// Returns the API functions in the image that nobody called.
    fn uncalled(&self, called: &[CalledFunction], open: &BTreeMap<String, u64>) -> Vec<String> {
        let symbols = self.image.symbols();
        let executed: BTreeSet<u32> = self.executed.iter().collect();
        let names = self
            .entries
            .difference(&executed)
            .filter_map(|entry| Some(symbols.name_at(*entry)?.symbol));
        let names = names.filter(|name| !self.roles.api().is_system_call(name));
        let shown: BTreeSet<String> =
            names.map(|name| self.roles.api().display_name(&name).to_owned()).collect();
        let known = |name: &String| {
            open.contains_key(name) || called.iter().any(|called| called.function == *name)
        };
        shown.into_iter().filter(|name| !known(name)).collect()
    }

    /// Tells whether the application's code within a function of the kernel's calls.
    fn is_called_back(&mut self, beginning: Option<Beginning>) -> bool {
        beginning.is_some_and(|Beginning { site, .. }| {
            // Between landmarks, it has not been seen.
            if self.executed.insert(site) {
                self.inlined.classify(&self.roles, site);
            }
            self.inlined.calls_back(site)
        })
    }

    /// Returns the owner of the instruction that is about to execute.
    fn owner_at(&mut self, pc: u32, class: Class) -> Owner {
        if self.executed.insert(pc) {
            self.inlined.classify(&self.roles, pc);
        }
        match class.owner {
            Owner::Application | Owner::Interrupt if self.inlined.contains(pc) => Owner::Kernel,
            Owner::Kernel if self.inlined.calls_back(pc) => class.called_back,
            owner => owner,
        }
    }
}

impl Observer for CallRecorder<'_, '_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let (pc, sp) = (machine.register(Register::Pc), machine.register(Register::Sp));
        let now = machine.cycles().0;
        self.calls.before(machine)?;
        // A return requires a jump.
        if pc != self.next {
            self.end(machine, pc, sp, now);
        }
        if let Some(node) = self.calls.innermost() {
            if self.newest.is_none() && machine.exception() == 0 {
                self.carry_on(node);
            }
            let stack = self.stack();
            let beginning = match self.newest {
                Some(newest) => Some(Beginning::of(newest)),
                None => self.held.remove(&stack),
            };
            let Self { calls, roles, wrappers, .. } = self;
            let class = self.classes.of(node, CallTree { calls, roles, wrappers });
            let owner = self.owner_at(pc, class);
            self.count(now, owner);
            self.inlined.set_owner_at((owner != class.owner).then_some(pc));
            if machine.exception() == 0 {
                // In inlined code, the thread continues in its own frame.
                self.follow_threads(class.owner, now);
            }
            // This includes calls from inlined code: a wrapper, such as those of Zephyr's system calls,
            // is nothing more than the call.
            let is_entry = pc != self.next && self.entries.contains(&pc);
            let is_call = class.is_call || is_entry && self.is_called_back(beginning);
            if is_entry && is_call && !self.is_carried() {
                self.begin(machine, node, now, beginning);
            } else if let Some(Beginning { site, .. }) = beginning {
                self.wrappers.called(pc, stack, site);
            }
        }
        ControlFlow::Continue(())
    }

    fn slept(&mut self, machine: &Machine) {
        self.inlined.set_owner_at(None);
        let owner = std::mem::replace(&mut self.owner, Owner::Idle);
        self.count(machine.cycles().0, owner);
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        self.calls.executed(machine, instruction);
        self.count(machine.cycles().0, self.owner);
        self.next = instruction.address.wrapping_add(u32::from(instruction.size));
        self.newest = Some((instruction.address, instruction.began.0));
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        let function = machine.interrupted().pc;
        if let Some(newest) = self.newest.filter(|_| function != self.next) {
            self.held.insert(self.stack(), Beginning::of(newest));
        }
        self.held.values_mut().for_each(|held| held.hit(exception));
        self.note_system_call(machine, exception);
        self.calls.entered(machine, exception);
        let kernels = matches!(exception, SVCALL | PENDSV);
        if !kernels {
            let timed = self.open.iter_mut().filter(|open| open.switched.is_none());
            timed.for_each(|open| open.beginning.hit(exception));
        }
        // The entry belongs to what it leads to.
        self.inlined.set_owner_at(None);
        self.owner = if kernels { Owner::Kernel } else { Owner::Interrupt };
        self.count(machine.cycles().0, self.owner);
        self.newest = None;
        self.next = 1;
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.calls.returned(machine, exception);
        self.inlined.set_owner_at(None);
        self.newest = None;
        self.next = 1;
    }
}

impl LandmarkObserver for CallRecorder<'_, '_> {
    fn ran_until(&mut self, machine: &Machine, now: Now) {
        self.calls.ran_until(machine, now);
        self.count(now.0, self.owner);
        self.next = machine.register(Register::Pc);
    }
}
