//! Finds the intervals of a run in which an interrupt would have been held back.
//!
//! A mask register holds it back from the end of the instruction that sets it to the end of the one
//! that clears it; a handler, from the beginning of its entry to the end of its return; a long
//! instruction, from its beginning to its end, as the simulator takes interrupts between instructions; one
//! that itself enters a handler, such as SVC, from its beginning to the end of the handler's return.
//! Time asleep does not count if the interrupt would have ended it ([`Machine::would_wake`]).
//!
//! What still holds the interrupt back when the run ends is an interval of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use rtmark_model::HeldInterval;
use rtmark_sim::{
    BlockedInterval, Blocker, CoreKind, Cycles, Image, Instruction, LandmarkObserver, Machine,
    Observer, Register,
};

use crate::calls::{Calls, Node};
use crate::hash::FastBuildHasher;
use crate::place::Map;

/// The interrupt in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldInterrupt {
    /// Any interrupt, held back by mask registers alone: handlers do not count.
    Masked,
    /// An interrupt with this value in its priority register, whatever holds it back.
    OfPriority(u8),
    /// An interrupt with this value in its priority register, held back by masks and handlers alone:
    /// the duration of single instructions does not count.
    MaskedOrHandled(u8),
}

impl HeldInterrupt {
    /// Returns its priority; `None` if that does not matter.
    const fn priority(self) -> Option<u8> {
        match self {
            Self::Masked => None,
            Self::OfPriority(priority) | Self::MaskedOrHandled(priority) => Some(priority),
        }
    }
}

/// An interval that has not ended yet.
#[derive(Clone, Debug)]
struct Open {
    began: u64,
    /// Cycles of sleep that the interrupt would have ended.
    asleep: u64,
    by: Vec<Blocker>,
    /// The instruction that caused it, and its function.
    address: u32,
    node: Option<Node>,
}

/// All intervals with the same ends.
#[derive(Clone, Debug)]
struct Site {
    longest: BlockedInterval<Vec<Blocker>>,
    /// When the longest one ended.
    ended: u64,
    times: u64,
    total: u64,
}

/// Keyed by both ends; a single instruction has its address twice.
type Sites = HashMap<(Option<Node>, u32, u32), Site, FastBuildHasher>;

/// Records an interval.
fn record(sites: &mut Sites, open: Open, ended: u64, to: u32) {
    let Open { began, asleep, by, address: from, node } = open;
    let cycles = (ended - began).saturating_sub(asleep);
    let interval = BlockedInterval { by, from, to, cycles, began };
    match sites.entry((node, from, to)) {
        Entry::Vacant(place) => {
            place.insert(Site { longest: interval, ended, times: 1, total: cycles });
        }
        Entry::Occupied(site) => {
            let site = site.into_mut();
            site.times += 1;
            site.total += cycles;
            // Of equally long executions of an instruction, the latest is reported.
            let is_alone = interval.by == [Blocker::Instruction];
            let longest = site.longest.cycles;
            if cycles > longest || cycles == longest && is_alone {
                (site.longest, site.ended) = (interval, ended);
            }
        }
    }
}

/// Follows a run and records the intervals.
#[derive(Debug)]
pub struct HeldBackRecorder<'a> {
    whose: HeldInterrupt,
    core: CoreKind,
    calls: Calls<'a>,
    open: Option<Open>,
    sites: Sites,
    /// The cycle up to which everything has been reported, and the latest instruction.
    now: u64,
    newest: u32,
    newest_node: Option<Node>,
    /// The exception that was being handled before that.
    handled: u16,
    /// The cycle in which the latest instruction has ended and released the interrupt, which then ends an interval before
    /// the next one begins.
    released: Option<u64>,
}

impl<'a> HeldBackRecorder<'a> {
    /// Begins at the machine's position.
    pub fn new(machine: &Machine, image: &'a Image, whose: HeldInterrupt) -> Self {
        Self {
            whose,
            core: machine.soc().core,
            calls: Calls::new(image.symbols()),
            open: None,
            sites: HashMap::default(),
            now: machine.cycles().0,
            newest: machine.register(Register::Pc),
            newest_node: None,
            handled: machine.exception(),
            released: None,
        }
    }

    /// Returns whether the latest instruction has itself entered a handler that holds the interrupt back, if handlers
    /// count.
    fn has_entered(&self, machine: &Machine) -> bool {
        let handlers_count = self.whose != HeldInterrupt::Masked;
        handlers_count && machine.exception() != self.handled && self.blocker(machine).is_some()
    }

    fn blocker(&self, machine: &Machine) -> Option<Blocker> {
        match self.whose.priority() {
            None => machine.mask(),
            Some(priority) => machine.priority_blocker(priority),
        }
    }

    /// Checks what holds the interrupt back now; an interval that begins or ends does so at `since`.
    fn update(&mut self, machine: &Machine, since: u64) {
        match (self.blocker(machine), &mut self.open) {
            (Some(blocker), None) => {
                let (address, node) = (self.newest, self.newest_node);
                self.open =
                    Some(Open { began: since, asleep: 0, by: vec![blocker], address, node });
            }
            (Some(blocker), Some(open)) => {
                if !open.by.contains(&blocker) {
                    open.by.push(blocker);
                }
            }
            (None, Some(_)) => {
                if let Some(open) = self.open.take() {
                    record(&mut self.sites, open, since, self.newest);
                }
            }
            (None, None) => {}
        }
    }

    /// Records an instruction that held the interrupt back alone; like [`record`], but cheap enough
    /// for every one.
    fn record_alone(&mut self, began: u64, ended: u64) {
        let (address, node, cycles) = (self.newest, self.newest_node, ended - began);
        let site = self.sites.get_mut(&(node, address, address));
        if let Some(site) = site.filter(|site| site.longest.by == [Blocker::Instruction]) {
            site.times += 1;
            site.total += cycles;
            if cycles >= site.longest.cycles {
                (site.longest.cycles, site.longest.began, site.ended) = (cycles, began, ended);
            }
        } else {
            let by = vec![Blocker::Instruction];
            let open = Open { began, asleep: 0, by, address, node };
            record(&mut self.sites, open, ended, address);
        }
    }

    /// Returns the intervals by both ends, the longest first, and among them the one in which the run ended
    /// if there is one. `machine` is the one that was followed, where it stands now.
    pub fn intervals_and_open(&self, machine: &Machine, map: Map<'_, '_>) -> Vec<HeldInterval> {
        let mut intervals = self.intervals(map);
        let open = self.open.as_ref().filter(|_| self.released.is_none());
        let Some(Open { began, asleep, by, address, node }) = open else { return intervals };
        let ended = machine.cycles().0;
        let cycles = (ended - began).saturating_sub(*asleep);
        let (from, to) = (*address, machine.register(Register::Pc));
        let interval = BlockedInterval { by: by.clone(), from, to, cycles, began: *began };
        let site = Site { longest: interval, ended, times: 1, total: cycles };
        let open = HeldInterval { open: true, ..self.interval((*node, from, to), &site, map) };
        let position = intervals.partition_point(|interval| interval.cycles >= cycles);
        intervals.insert(position, open);
        intervals
    }

    /// Returns the intervals that have ended by both ends, the longest first.
    pub fn intervals(&self, map: Map<'_, '_>) -> Vec<HeldInterval> {
        let mut sites = Cow::Borrowed(&self.sites);
        if let (Some(open), Some(ended)) = (&self.open, self.released) {
            record(sites.to_mut(), open.clone(), ended, self.newest);
        }
        let mut sites: Vec<_> = sites.iter().collect();
        sites.sort_by_key(|&(&(_, from, to), site)| {
            (std::cmp::Reverse(site.longest.cycles), site.longest.began, from, to)
        });
        sites.into_iter().map(|(ends, site)| self.interval(*ends, site, map)).collect()
    }

    fn interval(
        &self,
        (node, from, to): (Option<Node>, u32, u32),
        site: &Site,
        map: Map<'_, '_>,
    ) -> HeldInterval {
        let mut place = map.place(from);
        if let Some(node) = node {
            place.callers = self.calls.path(node).into_iter().map(str::to_owned).collect();
            // The function itself is already in the place.
            place.callers.pop();
        }
        HeldInterval {
            cycles: site.longest.cycles,
            began: site.longest.began,
            ended: site.ended,
            times: site.times,
            total_cycles: site.total,
            by: site.longest.by.iter().map(|blocker| self.name(*blocker)).collect(),
            from: place,
            to: map.place(to),
            open: false,
        }
    }

    fn name(&self, blocker: Blocker) -> String {
        let Some(exception) = blocker.exception() else { return blocker.name().to_owned() };
        let names = self.calls.exception_names();
        let unnamed = || self.core.exception_name(exception);
        names.map_or_else(unnamed, |names| names.name(exception))
    }
}

impl Observer for HeldBackRecorder<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        let now = machine.cycles().0;
        self.released = None;
        self.update(machine, now);
        self.now = now;
        self.handled = machine.exception();
        self.calls.before(machine)
    }

    fn slept(&mut self, machine: &Machine) {
        let now = machine.cycles().0;
        if let Some(open) = &mut self.open
            && machine.would_wake(self.whose.priority())
        {
            open.asleep += now - self.now;
        }
        self.now = now;
    }

    fn executed(&mut self, machine: &Machine, instruction: &Instruction) {
        let now = machine.cycles().0;
        self.newest = instruction.address;
        self.newest_node = self.calls.innermost();
        if self.open.is_none() && self.has_entered(machine) {
            // An instruction such as SVC ends with the entry that it causes.
            self.now = instruction.began.0;
            self.calls.executed(machine, instruction);
            return;
        }
        if self.open.is_none() && matches!(self.whose, HeldInterrupt::OfPriority(_)) {
            self.record_alone(instruction.began.0, now);
        }
        // If this instruction has released the interrupt, it may be taken before another exception is entered.
        let is_released = self.open.is_some() && self.blocker(machine).is_none();
        self.released = is_released.then_some(now);
        self.now = now;
        self.calls.executed(machine, instruction);
    }

    fn entered(&mut self, machine: &Machine, exception: u16) {
        self.calls.entered(machine, exception);
        if let Some(at) = self.released.take()
            && let Some(open) = self.open.take()
        {
            record(&mut self.sites, open, at, self.newest);
        }
        // The entry began when everything before had ended, including a mask.
        if self.open.is_none() {
            self.newest = machine.register(Register::Pc);
            self.newest_node = self.calls.innermost();
        }
        self.update(machine, self.now);
        self.now = machine.cycles().0;
    }

    fn returned(&mut self, machine: &Machine, exception: u16) {
        self.calls.returned(machine, exception);
        let now = machine.cycles().0;
        self.update(machine, now);
        self.now = now;
    }
}

/// Single instructions between landmarks are not reported: the result is complete only for
/// [`HeldInterrupt::Masked`] and [`HeldInterrupt::MaskedOrHandled`].
impl LandmarkObserver for HeldBackRecorder<'_> {
    fn ran_until(&mut self, machine: &Machine, now: Cycles) {
        self.now = now.0;
        self.calls.ran_until(machine, now);
    }
}

#[cfg(test)]
mod tests {
    use rtmark_sim::Soc;

    use super::*;

    /// Returns a machine that is not run, and its image.
    fn stopped() -> (Machine, Image) {
        let soc = include_str!("../../../socs/stm32c031.toml");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("good"));
        let words = [0x2000_1000_u32, 0x0800_0009, 0xE7FE_BF00];
        let image = Image::from_bytes(&words.map(u32::to_le_bytes).concat(), 0x0800_0000);
        let image = image.expect("an image");
        machine.load(&image).expect("it fits");
        (machine, image)
    }

    /// PRIMASK is set and never cleared: 20 instructions, and then a sleep that an interrupt would end.
    #[test]
    fn what_is_masked_when_the_run_ends_is_listed_as_open() {
        let soc = include_str!("../../../socs/stm32c031.toml");
        let soc = Soc::from_toml(soc).expect("good");
        let program = |last: u16| {
            // SysTick would wake the core, much later: ldr r0, =SysTick; r1 = 0xFF000; str r1, [r0, #4];
            // r1 = 7; str r1, [r0].
            let mut code = vec![0x480F_u16, 0x21FF, 0x0309, 0x6041, 0x2107, 0x6001];
            // cpsid i; nop; cpsie i; cpsid i; then nops and wfi, or nops and a branch to itself.
            code.extend([0xB672_u16, 0xBF00, 0xB662, 0xB672]);
            code.extend([0xBF00; 20]);
            code.extend([last, 0xE7FE, 0xE010, 0xE000]);
            let mut bytes = [0x2000_1000_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
            bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
            Image::from_bytes(&bytes, 0x0800_0000).expect("an image")
        };
        for whose in [HeldInterrupt::Masked, HeldInterrupt::OfPriority(0)] {
            for (last, asleep) in [(0xBF30, true), (0xBF00, false)] {
                let image = program(last);
                let mut machine = Machine::new(&soc);
                machine.load(&image).expect("it fits");
                let mut held = HeldBackRecorder::new(&machine, &image, whose);
                machine.run_observed(Cycles(2_000), &mut held);
                let map = Map::new(&image, None);
                let all = held.intervals_and_open(&machine, map);
                let open: Vec<_> = all.iter().filter(|interval| interval.open).collect();
                let [open] = open.as_slice() else { panic!("{all:#?}") };
                assert_eq!(all[0], **open, "the longest comes first");
                assert_eq!((open.from.address, open.ended), (0x0800_001A, machine.cycles().0));
                let cycles = open.ended - open.began;
                assert!(cycles > 1_900 && open.by == ["PRIMASK"], "{open:?}");
                let awake = if asleep { 20..60 } else { cycles..cycles + 1 };
                assert!(awake.contains(&open.cycles), "{open:?}");
                let ended = held.intervals(map);
                assert!(ended.iter().all(|interval| !interval.open), "{ended:#?}");
                assert_eq!(ended.len() + 1, all.len());
            }
        }
    }

    /// PRIMASK is set while the core sleeps for most of a tick of 1000 cycles, at whose end the interrupt wakes it.
    #[test]
    fn a_masked_sleep_that_an_interrupt_ends_holds_nothing_back() {
        let soc = include_str!("../../../socs/stm32c031.toml");
        let mut machine = Machine::new(&Soc::from_toml(soc).expect("good"));
        // ldr r0, =SysTick; ldr r1, =999; str r1, [r0, #4]; r1 = 7; str r1, [r0]; cpsid i; wfi; cpsie i; b .
        let code = [0x4804_u16, 0x4905, 0x6041, 0x2107, 0x6001, 0xB672, 0xBF30, 0xB662, 0xE7FE, 0];
        let mut words = [0x0800_0041_u32; 16];
        words[0] = 0x2000_1000;
        // SysTick's handler: b .
        words[15] = 0x0800_0051;
        let mut bytes = words.map(u32::to_le_bytes).concat();
        bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
        bytes.extend([0xE000_E010_u32, 999].map(u32::to_le_bytes).concat());
        let image = Image::from_bytes(&bytes, 0x0800_0000).expect("an image");
        machine.load(&image).expect("it fits");
        let mut held = HeldBackRecorder::new(&machine, &image, HeldInterrupt::Masked);
        machine.run_observed(Cycles(3_000), &mut held);
        let [masked] = &held.intervals(Map::new(&image, None))[..] else { panic!("{held:?}") };
        assert!(masked.ended - masked.began > 900, "{masked:?}");
        assert!((1..30).contains(&masked.cycles), "{masked:?}");
    }

    #[test]
    fn of_what_has_the_same_ends_the_longest_is_kept() {
        let (machine, image) = stopped();
        let mut held = HeldBackRecorder::new(&machine, &image, HeldInterrupt::OfPriority(0));
        held.newest = 0x0800_0008;
        let mut mask = |began: u64, cycles: u64| {
            let by = vec![Blocker::Primask];
            let open = Open { began, asleep: 0, by, address: 0x0800_0008, node: None };
            record(&mut held.sites, open, began + cycles, 0x0800_0008);
        };
        mask(10, 3);
        mask(20, 40);
        // Of equally long ones the first.
        mask(100, 40);
        mask(200, 30);
        held.record_alone(300, 302);
        let site = held.sites.values().next().expect("a site");
        assert_eq!((site.longest.cycles, site.longest.began, site.ended), (40, 20, 60));
        assert_eq!((site.times, site.total), (5, 115));
        held.record_alone(400, 440);
        let site = held.sites.values().next().expect("a site");
        assert_eq!((&site.longest.by[..], site.ended), (&[Blocker::Instruction][..], 440));
    }

    #[test]
    fn the_longest_execution_of_an_instruction_is_kept() {
        let (machine, image) = stopped();
        let mut held = HeldBackRecorder::new(&machine, &image, HeldInterrupt::OfPriority(0));
        let mut take = |began: u64, cycles: u64| {
            held.newest = 0x0800_0008;
            held.record_alone(began, began + cycles);
        };
        take(10, 3);
        take(20, 40);
        take(100, 3);
        take(200, 40);
        take(300, 2);
        let site = held.sites.values().next().expect("a site");
        assert_eq!((site.longest.cycles, site.longest.began, site.ended), (40, 200, 240));
        assert_eq!((site.times, site.total), (5, 88));
    }
}
