//! Events between instructions: exceptions, clocks, devices, sleep, the end of a run.
//!
//! The deadline is the first cycle in which any of them may be due; until then the run loop
//! executes instructions only.

use crate::arch::armm::nvic::{Masks, SYSTICK};
use crate::state::stop::Stop;
use crate::state::{Blocker, Sleep, State};

/// What is due at an instruction's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A plain instruction.
    Instruction,
    /// An instruction of an IT block.
    Conditional,
    /// Another look: something other than an instruction has happened.
    Attention,
}

impl State {
    /// Handles everything that is due besides plain instructions, at an instruction boundary.
    #[inline(never)]
    pub(super) fn handle_due_events(&mut self) -> Option<Stop> {
        loop {
            self.reach_next();
            let step = match self.handle_due_event() {
                Ok(Due::Instruction) if self.cycles < self.deadline => return None,
                Ok(Due::Attention) => continue,
                Ok(due) => self.step_due(due),
                Err(stop) => Err(stop),
            };
            if let Err(stop) = step {
                return Some(stop);
            }
        }
    }

    /// Handles one event, if one is due, and returns what is due next.
    pub(crate) fn handle_due_event(&mut self) -> Result<Due, Stop> {
        if let Some(error) = &self.failed {
            return Err(Stop::Internal(error.clone()));
        }
        self.pass_time(self.cycles);
        if self.cycles >= self.rtt.next() {
            self.serve_rtt();
        }
        self.update_protection();
        self.update_masks();
        if self.reset_requested {
            self.reset_requested = false;
            return Err(Stop::ResetRequested);
        }
        if let Some((base, cause)) = self.devices.take_watchdog_reset() {
            return Err(Stop::Watchdog { base, cause });
        }
        if let Some(which) = self.console.take_found() {
            return Err(Stop::Output(which));
        }
        if self.devices.take_slower_clock() {
            return Err(Stop::SlowerClock);
        }
        if self.watches.take_resumed() {
            return Err(Stop::Resumed);
        }
        if self.cycles >= self.limit {
            return Err(Stop::Limit);
        }
        if let Some(sleep) = self.sleeping {
            if self.wakes_from(sleep) {
                self.sleeping = None;
                self.stay();
            } else if let Some(at) = self.next_wake() {
                let woken = at.min(self.limit).max(self.cycles);
                self.spend_asleep(woken - self.cycles);
                self.cycles = woken;
            } else {
                return Err(Stop::Asleep);
            }
            return Ok(Due::Attention);
        }
        if let Some(exception) = self.system.nvic.exception_to_take(self.masks()) {
            return self.take(exception).map(|()| Due::Attention);
        }
        if self.cpu.it != 0 {
            return Ok(Due::Conditional);
        }
        let systick = self.system.systick.next_zero();
        let devices = self.devices.next().min(self.rtt.next()).min(self.next_arrival());
        let due = systick.min(self.next_scheduled()).min(devices).min(self.limit);
        self.deadline = due.min(self.first_checked_cycle());
        Ok(Due::Instruction)
    }

    /// Processes everything that is due by `now`, in order.
    #[inline(always)]
    pub(crate) fn pass_time(&mut self, now: u64) {
        let clocks = self.system.systick.next_zero().min(self.devices.next());
        if clocks.min(self.next_scheduled()).min(self.next_arrival()) <= now {
            self.process_events(now);
        }
    }

    #[inline(never)]
    fn process_events(&mut self, now: u64) {
        loop {
            let zero = self.system.systick.next_zero();
            let (scheduled, device) = (self.next_scheduled(), self.devices.next());
            let first = zero.min(scheduled).min(device);
            self.receive(first.min(now));
            if first > now {
                return;
            }
            if first == device {
                self.process_device_events(device);
            } else if zero <= scheduled {
                if self.system.systick.pass_zero(zero) {
                    self.signal(SYSTICK, zero);
                }
            } else {
                let (at, exception) = self.scheduled.remove(0);
                self.signal(exception, at);
            }
        }
    }

    pub(crate) fn next_scheduled(&self) -> u64 {
        self.scheduled.first().map_or(u64::MAX, |&(at, _)| at)
    }

    /// Returns when a clock of its own or a scheduled interrupt could next wake a sleeping core.
    fn next_wake(&self) -> Option<u64> {
        let zero = self.system.systick.next_interrupt();
        let first = zero.min(self.next_scheduled()).min(self.devices.next());
        Some(first.min(self.next_arrival())).filter(|&at| at != u64::MAX)
    }

    fn wakes_from(&mut self, sleep: Sleep) -> bool {
        if self.system.nvic.exception_to_take(self.masks_asleep(sleep)).is_some() {
            return true;
        }
        match sleep {
            Sleep::Interrupt => false,
            Sleep::Event => std::mem::take(&mut self.event),
        }
    }

    /// Returns the masks that keep an exception from ending a sleep: for WFI all but PRIMASK, which only
    /// holds the handler back (DDI 0403, B1.5.19); for WFE all (DUI 0553, 2.6.2).
    fn masks_asleep(&self, sleep: Sleep) -> Masks {
        let masks = self.masks();
        Masks { primask: masks.primask && sleep == Sleep::Event, ..masks }
    }

    /// Returns whether an interrupt that is held back would end the current sleep: see
    /// [`Machine::would_wake`](crate::Machine::would_wake).
    pub(crate) fn would_wake(&self, priority: Option<u8>) -> bool {
        let sleep = self.sleeping.unwrap_or(Sleep::Interrupt);
        if sleep == Sleep::Event && self.system.events_on_pend() {
            return true;
        }
        let masks = self.masks_asleep(sleep);
        match priority {
            Some(priority) => self.system.nvic.would_preempt(priority, masks),
            None => Blocker::of(masks).is_none(),
        }
    }

    /// Accounts for cycles of the current sleep.
    fn spend_asleep(&mut self, cycles: u64) {
        self.spent.sleep += cycles;
        if self.would_wake(None) {
            self.spent.interruptible_sleep += cycles;
        }
    }
}
