//! The interrupt inputs of the core: who drives them, and since when the core sees it.

use super::csr::{Interrupt, Lines};
use super::rules::Interrupts;

/// An interrupt input of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The software interrupt.
    Software,
    /// The timer's.
    Timer,
    /// An external interrupt by its number, 0 to 51. Others are ignored.
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
    /// High until the interrupt is served, as by a device that its handler quiets: until the program
    /// reads its number in MEINEXT, or returns from a handler that was entered for it.
    UntilServed,
}

/// The inputs as they are driven from outside, without devices.
#[derive(Clone, Debug)]
pub struct Inputs {
    way: Interrupts,
    software: bool,
    timer: bool,
    external: u64,
    /// What falls once it is taken.
    falling: Vec<Input>,
    /// The external inputs that fall once they are served.
    served_by: u64,
    /// What has risen, with the cycles, the newest first.
    risen: Vec<(u64, Input)>,
    /// What changes later, the earliest first.
    scheduled: Vec<(u64, Input, Drive)>,
    /// The two inputs that are registered before the core sees them, as it sees them in this cycle
    /// (a Hazard3's, by RTL traces: one cycle later than external ones).
    seen: (bool, bool),
    /// The inputs as the core sees them in the cycle that was looked at last, and that cycle.
    registered: (bool, bool),
    looked: Option<u64>,
    /// The outputs of timer and software interrupt and of peripherals, as of the last look.
    devices: (bool, bool, u64),
}

impl Inputs {
    /// Inputs that are low, of a core that interrupts reach by this way.
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

    /// Lets happen what is due in a cycle, and answers what the core sees; `timer` and `software`
    /// are the outputs of the core-local timer then, `devices` those of peripherals.
    pub fn look(&mut self, cycle: u64, (timer, software): (bool, bool), devices: u64) -> Lines {
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
        // Looking twice in a cycle shows the same.
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

    /// Notes which outputs of devices have risen.
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

    /// Notes that the program has raised an external interrupt by the controller's own registers.
    pub fn forced(&mut self, number: u16, cycle: u64) {
        self.risen.insert(0, (cycle, Input::External(number)));
    }

    /// An external interrupt has been served; answers whether its input falls by that.
    pub fn served(&mut self, number: u16) -> bool {
        let falls = number < 64 && self.served_by >> number & 1 == 1;
        if falls {
            self.served_by &= !(1 << number);
            self.set(Input::External(number), false);
        }
        falls
    }

    /// What has risen since this was last asked, the oldest first, one at a time.
    pub fn take_risen(&mut self) -> Option<(u64, Input)> {
        self.risen.pop()
    }

    /// Whether anything has risen since that was last asked.
    pub const fn has_risen(&self) -> bool {
        !self.risen.is_empty()
    }

    /// Whether what the core sees differs from what is driven, as of the last look.
    pub fn is_changing(&self, lines: &Lines) -> bool {
        self.seen != (lines.timer, lines.software)
    }

    /// The next cycle in which an input is driven otherwise.
    pub fn due(&self) -> Option<u64> {
        self.scheduled.first().map(|(at, ..)| *at)
    }

    /// An interrupt has been entered: what was to be high until then falls.
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
