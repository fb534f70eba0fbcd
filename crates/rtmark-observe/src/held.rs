//! The intervals of a run in which an interrupt would have been held back.
//!
//! A mask register holds back from the end of the instruction that sets it to the end of
//! the one that clears it; a handler from the beginning of its entry to the end of its
//! return; an instruction that executes for long from its beginning to its end, as the
//! simulator takes interrupts between instructions. Time asleep does not count: an
//! interrupt would have ended it.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rtmark_model::HeldInterval;
use rtmark_sim::{Blocker, CoreKind, Image, Instruction, Machine, Observer, Register};

use crate::calls::{Calls, Node};
use crate::place::Map;

/// Which interrupt is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Any that a mask register holds back: handlers do not count.
    ByMasks,
    /// One with this value in its priority register, by whatever it is.
    Priority(u8),
}

#[derive(Clone, Debug)]
struct Open {
    began: u64,
    asleep: u64,
    by: Vec<Blocker>,
    /// The instruction that did it, and its function.
    address: u32,
    node: Option<Node>,
}

#[derive(Clone, Debug)]
struct Site {
    longest: u64,
    began: u64,
    ended: u64,
    times: u64,
    total: u64,
    by: Vec<Blocker>,
}

/// Follows a run and notes the intervals.
#[derive(Debug)]
pub struct HeldBack<'a> {
    held: Held,
    core: CoreKind,
    calls: Calls<'a>,
    open: Option<Open>,
    /// By where they begin and end; an instruction by itself has its address twice.
    sites: HashMap<(Option<Node>, u32, u32), Site>,
    /// Until when everything has been told, and the newest instruction.
    now: u64,
    newest: u32,
    newest_node: Option<Node>,
}

impl<'a> HeldBack<'a> {
    /// Begins where the machine stands.
    pub fn new(machine: &Machine, image: &'a Image, held: Held) -> Self {
        Self {
            held,
            core: machine.soc().core,
            calls: Calls::new(image.symbols()),
            open: None,
            sites: HashMap::new(),
            now: machine.cycles().0,
            newest: machine.register(Register::Pc),
            newest_node: None,
        }
    }

    fn holder(&self, machine: &Machine) -> Option<Blocker> {
        match self.held {
            Held::ByMasks => machine.mask(),
            Held::Priority(priority) => machine.holds_back_priority(priority),
        }
    }

    /// Looks what holds back now; an interval that begins or ends does so at `since`.
    fn look(&mut self, machine: &Machine, since: u64) {
        match (self.holder(machine), &mut self.open) {
            (Some(holder), None) => {
                let (address, node) = (self.newest, self.newest_node);
                self.open = Some(Open { began: since, asleep: 0, by: vec![holder], address, node });
            }
            (Some(holder), Some(open)) => {
                if !open.by.contains(&holder) {
                    open.by.push(holder);
                }
            }
            (None, Some(_)) => {
                if let Some(open) = self.open.take() {
                    self.note(open, since, self.newest);
                }
            }
            (None, None) => {}
        }
    }

    fn note(&mut self, open: Open, ended: u64, to: u32) {
        let Open { began, asleep, by, address, node } = open;
        let length = (ended - began).saturating_sub(asleep);
        let site = self.sites.entry((node, address, to)).or_insert_with(|| Site {
            longest: 0,
            began,
            ended,
            times: 0,
            total: 0,
            by: Vec::new(),
        });
        site.times += 1;
        site.total += length;
        if length > site.longest || site.by.is_empty() {
            (site.longest, site.began, site.ended, site.by) = (length, began, ended, by);
        }
    }

    /// The intervals by where they begin and end, the longest first.
    pub fn intervals(&self, map: Map<'_, '_>) -> Vec<HeldInterval> {
        let mut sites: Vec<_> = self.sites.iter().collect();
        sites.sort_by_key(|&(&(_, from, to), site)| {
            (std::cmp::Reverse(site.longest), site.began, from, to)
        });
        let interval = |(&(node, from, to), site): (&(Option<Node>, u32, u32), &Site)| {
            let mut place = map.place(from);
            if let Some(node) = node {
                place.callers = self.calls.path(node).into_iter().map(str::to_owned).collect();
                // The function itself is in the place already.
                place.callers.pop();
            }
            HeldInterval {
                cycles: site.longest,
                began: site.began,
                ended: site.ended,
                times: site.times,
                total_cycles: site.total,
                by: if site.by.is_empty() {
                    vec!["one instruction".to_owned()]
                } else {
                    site.by.iter().map(|holder| self.name(*holder)).collect()
                },
                from: place,
                to: map.place(to),
            }
        };
        sites.into_iter().map(interval).collect()
    }

    fn name(&self, blocker: Blocker) -> String {
        match blocker {
            Blocker::Active(exception) | Blocker::Pending(exception) => {
                let names = self.calls.exception_names();
                let unnamed = || self.core.exception_name(exception);
                names.map_or_else(unnamed, |names| names.name(exception))
            }
            mask => mask.name().to_owned(),
        }
    }
}

impl Observer for HeldBack<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let now = machine.cycles().0;
        self.look(machine, now);
        self.now = now;
        self.calls.before(machine)
    }

    fn slept(&mut self, machine: &Machine) {
        let now = machine.cycles().0;
        if let Some(open) = &mut self.open {
            open.asleep += now - self.now;
        }
        self.now = now;
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        let now = machine.cycles().0;
        self.newest = instruction.address;
        self.newest_node = self.calls.innermost();
        if self.open.is_none() && matches!(self.held, Held::Priority(_)) {
            let alone = Open {
                began: instruction.began.0,
                asleep: 0,
                by: Vec::new(),
                address: self.newest,
                node: self.newest_node,
            };
            self.note(alone, now, self.newest);
        }
        // What this instruction has let go may be taken here, before an exception is entered.
        if self.open.is_some() && self.holder(machine).is_none() {
            self.look(machine, now);
        }
        self.now = now;
        self.calls.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.calls.entered(machine, exception);
        // The entry began when everything before had ended, and a mask with it.
        if self.open.is_none() {
            self.newest = machine.register(Register::Pc);
            self.newest_node = self.calls.innermost();
        }
        self.look(machine, self.now);
        self.now = machine.cycles().0;
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.calls.returned(machine, exception);
        let now = machine.cycles().0;
        self.look(machine, now);
        self.now = now;
    }
}
