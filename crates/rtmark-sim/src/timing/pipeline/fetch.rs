//! The prefetch queue: which words are asked for, and what arrives.

use super::{Aim, Core, Decoding, Fetch, Pipeline, Shift, on_system_bus};

impl Pipeline {
    pub(super) fn slots(&self) -> u8 {
        2 * (u8::from(self.head > 0) + self.in_flight) + self.queue
    }

    pub(super) fn fits(&self, shift: Shift) -> bool {
        let slots = self.slots();
        let slots = match shift {
            Shift::Half => slots.saturating_sub(if self.head == 1 { 2 } else { 1 }),
            Shift::Full | Shift::Complete => slots.saturating_sub(2),
            Shift::Populate => slots.saturating_sub(2 - self.head),
            Shift::Hold => slots,
        };
        slots <= 4
    }

    pub(super) fn fill_head(&mut self) {
        let moved = (2 - self.head).min(self.queue);
        self.head += moved;
        self.queue -= moved;
    }

    pub(super) fn shift(&mut self, shift: Shift) {
        if self.emptied {
            self.incoming = 0;
            return;
        }
        match shift {
            Shift::Half => self.head = self.head.saturating_sub(1),
            Shift::Full | Shift::Complete => self.head = 0,
            Shift::Populate | Shift::Hold => {}
        }
        if shift != Shift::Hold {
            self.fill_head();
        }
        self.queue += self.incoming;
        self.incoming = 0;
        if shift != Shift::Hold {
            self.fill_head();
        }
    }

    pub(super) fn flush_queue(&mut self) {
        self.queue = 0;
        self.in_flight = 0;
        self.emptied = false;
    }

    pub(super) fn ignore_fetches(&mut self) {
        if let Some(fetch) = &mut self.fetch_address {
            fetch.wanted = 0;
        }
        if let Some(fetch) = &mut self.fetch_data {
            fetch.wanted = 0;
        }
    }

    pub(super) fn try_fetch(&mut self, address: u32) -> u32 {
        let word = address & !3;
        let wanted = if address & 2 == 0 { 2 } else { 1 };
        // Measured on an STM32F100: one that has been given up before the register of the System
        // bus took its address makes way there. On a CC2652 the address stays.
        let yields = |given_up: u32| {
            self.core == Core::CortexM3 && on_system_bus(given_up) && on_system_bus(word)
        };
        match &mut self.fetch_address {
            Some(fetch) if fetch.wanted == 0 && (fetch.word == word || yields(fetch.word)) => {
                *fetch = Fetch { word, wanted, waits: 0 };
                self.in_flight += 1;
                word.wrapping_add(4)
            }
            Some(_) => address,
            None => {
                self.fetch_address = Some(Fetch { word, wanted, waits: 0 });
                self.in_flight += 1;
                word.wrapping_add(4)
            }
        }
    }

    pub(super) fn request(&mut self, address: u32) {
        let next = if self.slots() <= 4 { self.try_fetch(address) } else { address };
        self.aim = Aim::Next(next);
    }

    /// Gives up the fetch that is in its address phase; answers what it wanted.
    pub(super) fn withdraw(&mut self) -> Option<u32> {
        // The instruction bus keeps to AHB-Lite: the address stays, its data is ignored.
        let fetch = self.fetch_address.as_mut().filter(|fetch| fetch.wanted > 0)?;
        let address = fetch.word + if fetch.wanted == 1 { 2 } else { 0 };
        fetch.wanted = 0;
        self.in_flight = self.in_flight.saturating_sub(1);
        Some(address)
    }

    pub(super) fn ignore_previous(&mut self) {
        if self.fetch_advanced {
            if let Some(fetch) = &mut self.fetch_data {
                fetch.wanted = 0;
            }
        } else if let Some(fetch) = &mut self.fetch_address {
            fetch.wanted = 0;
        }
    }

    pub(super) fn guesses(&self, decoding: Decoding, length: u8) -> bool {
        let shift = match (decoding, length) {
            (Decoding::Waiting, _) => Shift::Populate,
            (_, 1) => Shift::Half,
            _ => Shift::Full,
        };
        !self.busy
            && !self.branching
            && !self.stalled
            && !self.fits(Shift::Hold)
            && self.fits(shift)
    }

    pub(super) fn guess(&mut self, address: u32, branch: bool, may: bool) {
        let following = if branch {
            match self.aim {
                Aim::Guess { cancelled, confirmed, presented, branch, .. } => {
                    if presented {
                        if branch {
                            self.ignore_previous();
                            self.in_flight = self.in_flight.saturating_sub(1);
                            cancelled
                        } else {
                            self.withdraw().unwrap_or(confirmed)
                        }
                    } else {
                        self.withdraw().unwrap_or(cancelled)
                    }
                }
                Aim::Next(next) => self.withdraw().unwrap_or(next),
                Aim::Nothing | Aim::Branch(_) => address,
            }
        } else {
            match self.aim {
                Aim::Next(next) => next,
                Aim::Guess { cancelled, confirmed, branch, .. } => {
                    if branch {
                        cancelled
                    } else {
                        confirmed
                    }
                }
                Aim::Nothing | Aim::Branch(_) => address,
            }
        };
        let confirmed = if branch || may { self.try_fetch(address) } else { address };
        self.aim = Aim::Guess {
            guess: address,
            confirmed,
            presented: address != confirmed,
            cancelled: following,
            branch,
        };
    }

    pub(super) fn run_fetch(
        &mut self,
        jump: Option<u32>,
        speculative: Option<u32>,
        disable: bool,
        decoding: Decoding,
        length: u8,
    ) {
        if let Some(target) = jump {
            self.ignore_fetches();
            self.branching = true;
            self.flush_queue();
            self.request(target);
            return;
        }
        if let Some(target) = speculative {
            self.guess(target, true, true);
            return;
        }
        if let (Some(false), Aim::Guess { cancelled, presented, branch: true, .. }) =
            (self.verdict, self.aim)
        {
            if presented {
                self.ignore_previous();
                self.in_flight = self.in_flight.saturating_sub(1);
            }
            if self.guesses(decoding, length) {
                self.guess(cancelled, false, true);
            } else {
                self.request(cancelled);
            }
            return;
        }
        if disable {
            self.ignore_fetches();
            self.empty();
            self.aim = Aim::Nothing;
            return;
        }
        match self.aim {
            Aim::Nothing => {}
            Aim::Next(address) => {
                if self.guesses(decoding, length) {
                    self.guess(address, false, true);
                } else {
                    self.request(address);
                }
            }
            Aim::Branch(target) => {
                self.ignore_fetches();
                self.branching = true;
                self.flush_queue();
                self.request(target);
            }
            Aim::Guess { confirmed, presented, cancelled, branch, .. } => {
                if branch {
                    self.flush_queue();
                    if presented {
                        if !self.fetch_advanced
                            && let Some(fetch) = &mut self.fetch_data
                        {
                            fetch.wanted = 0;
                        }
                        self.in_flight += 1;
                    } else {
                        self.ignore_fetches();
                    }
                    self.branching = true;
                }
                let overcommitted = self.slots() + self.incoming > 6;
                if presented && overcommitted {
                    if self.withdraw().is_some() {
                        self.aim = Aim::Next(cancelled);
                    } else {
                        self.aim = Aim::Next(confirmed);
                    }
                } else if self.guesses(decoding, length) {
                    self.guess(confirmed, false, true);
                } else {
                    self.request(confirmed);
                }
            }
        }
    }
}
