//! The interrupt inputs of the core: what drives them, and when the core sees them.

use super::csr::{Interrupt, Lines};
use super::rules::Interrupts;

/// An interrupt input of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The software interrupt.
    Software,
    /// The timer interrupt.
    Timer,
    /// An external interrupt by its number, 0 to 51. Other numbers are ignored.
    External(u16),
}

/// How an input is driven from a cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drive {
    /// High.
    High,
    /// Low.
    Low,
    /// High up to the cycle in which the core enters the interrupt.
    UntilTaken,
    /// High until the interrupt is served, as with a device that its handler acknowledges: until
    /// the program reads its number in MEINEXT, or returns from a handler that was entered for it.
    UntilServed,
}

/// The externally driven inputs, without devices.
#[derive(Clone, Debug)]
pub struct Inputs {
    way: Interrupts,
    software: bool,
    timer: bool,
    external: u64,
    /// Inputs that fall once the interrupt is taken.
    falling: Vec<Input>,
    /// The external inputs that fall once they are served.
    served_by: u64,
    /// Inputs that have risen, with the cycles, the newest first.
    risen: Vec<(u64, Input)>,
    /// Scheduled changes, the earliest first.
    scheduled: Vec<(u64, Input, Drive)>,
    /// The timer and software inputs in the current cycle. On Hazard3 they are registered before
    /// the core sees them (by RTL traces: one cycle later than external ones).
    seen: (bool, bool),
    /// Those inputs as registered for the cycle sampled last, and that cycle.
    registered: (bool, bool),
    looked: Option<u64>,
    /// The outputs of timer, software interrupt and peripherals when last sampled.
    devices: (bool, bool, u64),
}

impl Inputs {
    /// Creates inputs that are all low, for a core with this way of interrupt delivery.
    pub const fn new(way: Interrupts) -> Self {
        Self {
            way,
            software: false,
            timer: false,
            external: 0,
            falling: Vec::new(),
            served_by: 0,
            risen: Vec::new(),
            scheduled: Vec::new(),
            seen: (false, false),
            registered: (false, false),
            looked: None,
            devices: (false, false, 0),
        }
    }

    /// Drives an input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, cycle: u64) {
        let at = self.scheduled.partition_point(|(other, ..)| *other <= cycle);
        self.scheduled.insert(at, (cycle, input, drive));
    }

    fn set(&mut self, input: Input, high: bool) {
        match input {
            Input::Software => self.software = high,
            Input::Timer => self.timer = high,
            Input::External(number @ 0..64) if high => self.external |= 1 << number,
            Input::External(number @ 0..64) => self.external &= !(1 << number),
            Input::External(_) => {}
        }
    }

    /// Applies the changes due by a cycle, and returns what the core sees; `timer` and `software`
    /// are the outputs of the core-local timer then, `devices` those of peripherals.
    pub fn sample(&mut self, cycle: u64, (timer, software): (bool, bool), devices: u64) -> Lines {
        while let Some(&(at, input, drive)) = self.scheduled.first() {
            if at > cycle {
                break;
            }
            self.scheduled.remove(0);
            self.set(input, drive != Drive::Low);
            if drive != Drive::Low {
                self.risen.insert(0, (at, input));
            }
            self.falling.retain(|other| *other != input);
            if drive == Drive::UntilTaken {
                self.falling.push(input);
            }
            if let Input::External(number @ 0..64) = input {
                let served = u64::from(drive == Drive::UntilServed);
                self.served_by = self.served_by & !(1 << number) | served << number;
            }
        }
        self.note_devices(cycle, (timer, software), devices);
        // Sampling twice in a cycle gives the same result.
        if self.looked != Some(cycle) {
            (self.looked, self.registered) = (Some(cycle), self.seen);
        }
        self.seen = (self.timer || timer, self.software || software);
        let (timer, software) = match self.way {
            Interrupts::Xh3irq => self.registered,
            Interrupts::Lines => self.seen,
        };
        Lines { software, timer, external: self.external | devices }
    }

    /// Records which device outputs have risen.
    fn note_devices(&mut self, cycle: u64, (timer, software): (bool, bool), devices: u64) {
        let (had_timer, had_software, before) = self.devices;
        if timer && !had_timer {
            self.risen.insert(0, (cycle, Input::Timer));
        }
        if software && !had_software {
            self.risen.insert(0, (cycle, Input::Software));
        }
        let mut rising = devices & !before;
        while rising != 0 {
            self.risen.insert(0, (cycle, Input::External(rising.trailing_zeros() as u16)));
            rising &= rising - 1;
        }
        self.devices = (timer, software, devices);
    }

    /// Records that the program has raised an external interrupt by the controller's registers.
    pub fn forced(&mut self, number: u16, cycle: u64) {
        self.risen.insert(0, (cycle, Input::External(number)));
    }

    /// Marks an external interrupt as served. Returns whether its input falls.
    pub fn served(&mut self, number: u16) -> bool {
        let falls = number < 64 && self.served_by >> number & 1 == 1;
        if falls {
            self.served_by &= !(1 << number);
            self.set(Input::External(number), false);
        }
        falls
    }

    /// Returns and removes the oldest rise that has not been reported.
    pub fn take_risen(&mut self) -> Option<(u64, Input)> {
        self.risen.pop()
    }

    /// Returns whether there are unreported rises.
    pub const fn has_risen(&self) -> bool {
        !self.risen.is_empty()
    }

    /// Returns whether the driven inputs differ from what the core saw when last sampled.
    pub fn is_changing(&self, lines: &Lines) -> bool {
        self.seen != (lines.timer, lines.software)
    }

    /// Returns the cycle of the next scheduled change.
    pub fn due(&self) -> Option<u64> {
        self.scheduled.first().map(|(at, ..)| *at)
    }

    /// Marks an interrupt as taken: an input driven until then falls.
    pub fn taken(&mut self, interrupt: Interrupt, external: Option<u16>) {
        let input = match interrupt {
            Interrupt::Software => Input::Software,
            Interrupt::Timer => Input::Timer,
            Interrupt::External | Interrupt::Fast(_) => match external {
                Some(number) => Input::External(number),
                None => return,
            },
        };
        if self.falling.contains(&input) {
            self.falling.retain(|other| *other != input);
            self.set(input, false);
        }
    }
}
