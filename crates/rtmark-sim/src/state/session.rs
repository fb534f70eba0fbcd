//! What a machine keeps beside its core: the image, the watches, and which handler was just entered.

use std::sync::Arc;

use super::CallState;
use super::stop::Stop;
use super::{AfterReset, Handlers, LoadError, Watches, program};
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;

/// What a machine keeps beside its core, for cores that do not keep it themselves.
#[derive(Clone, Debug)]
pub struct Session {
    pub soc: Arc<Soc>,
    pub watches: Watches,
    /// Watched addresses, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses at which runs stop, in ascending order.
    pub stops: Vec<u32>,
    /// The stop that ended the run for good.
    pub ended: Option<Stop>,
    pub handlers: Handlers,
    /// The exception whose handler has been entered but has not executed anything yet.
    pub entered: Option<u16>,
    /// Cycles slept since reset.
    pub asleep: u64,
    /// What semihosting keeps between calls.
    pub calls: CallState,
    /// The bytes that the image puts into RAM, with their addresses.
    initial: Vec<(u32, Vec<u8>)>,
}

impl Session {
    pub fn new(soc: &Soc) -> Self {
        Self {
            soc: Arc::new(soc.clone()),
            watches: Watches::default(),
            watched: Vec::new(),
            stops: Vec::new(),
            ended: None,
            handlers: Handlers::default(),
            entered: None,
            asleep: 0,
            calls: CallState::default(),
            initial: Vec::new(),
        }
    }

    /// Programs an image into memories.
    ///
    /// # Errors
    /// When a segment lies outside the memories.
    pub fn program(&mut self, bus: &mut Bus, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            if program(bus, &self.soc, segment)? == AfterReset::ProgrammedAgain {
                self.initial.push((segment.load_address, segment.bytes.clone()));
            }
        }
        self.calls.load(&self.soc, image);
        Ok(())
    }

    /// Starts over, with memories in their state after a reset.
    pub fn reset(&mut self, bus: &mut Bus) {
        bus.reset();
        for (address, bytes) in &self.initial {
            bus.program(*address, bytes);
        }
        self.watches.forget_counts();
        self.ended = None;
        self.handlers.clear();
        self.entered = None;
        self.asleep = 0;
        self.calls.reset();
    }

    /// Returns the addresses that the core must report, after the watches or stops have changed.
    pub fn marks(&mut self) -> Vec<u32> {
        self.watched = self.watches.addresses();
        [self.stops.as_slice(), &self.watched].concat()
    }

    /// Returns whether a run stops before the instruction at an address.
    pub fn stops_at(&self, pc: u32) -> bool {
        !self.stops.is_empty() && self.stops.binary_search(&pc).is_ok()
    }

    /// Returns whether the instruction at an address is watched.
    #[inline]
    pub fn is_watched(&self, pc: u32) -> bool {
        !self.watched.is_empty() && self.watched.binary_search(&pc).is_ok()
    }
}
