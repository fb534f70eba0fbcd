//! What a machine keeps beside its core: the image, what is watched, how far handlers have come.

use std::sync::Arc;

use super::stop::Stop;
use super::{AfterReset, Handlers, LoadError, Watches, program};
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;

/// What a machine keeps beside its core, on cores that keep nothing of it themselves.
#[derive(Clone, Debug)]
pub struct Session {
    pub soc: Arc<Soc>,
    pub watches: Watches,
    /// Addresses that are watched, in ascending order.
    pub watched: Vec<u32>,
    /// Addresses at which runs stop, in ascending order.
    pub stops: Vec<u32>,
    /// What ended the run for good.
    pub ended: Option<Stop>,
    pub handlers: Handlers,
    /// The exception whose handler has been entered and has executed nothing yet.
    pub entered: Option<u16>,
    /// Cycles slept since reset.
    pub asleep: u64,
    /// What the image puts into RAM, and where.
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
            initial: Vec::new(),
        }
    }

    /// Programs an image into memories.
    ///
    /// # Errors
    /// When a segment lies outside of them.
    pub fn program(&mut self, bus: &mut Bus, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            if program(bus, &self.soc, segment)? == AfterReset::ProgrammedAgain {
                self.initial.push((segment.load_address, segment.bytes.clone()));
            }
        }
        Ok(())
    }

    /// Begins anew, with memories as they are after a reset.
    pub fn reset(&mut self, bus: &mut Bus) {
        bus.reset();
        for (address, bytes) in &self.initial {
            bus.program(*address, bytes);
        }
        self.ended = None;
        self.handlers.clear();
        self.entered = None;
        self.asleep = 0;
    }

    /// The addresses that the core is to tell of, after others are watched or stop a run.
    pub fn marks(&mut self) -> Vec<u32> {
        self.watched = self.watches.addresses();
        [self.stops.as_slice(), &self.watched].concat()
    }

    /// Whether a run stops before the instruction at an address.
    pub fn stops_at(&self, pc: u32) -> bool {
        !self.stops.is_empty() && self.stops.binary_search(&pc).is_ok()
    }

    /// Whether anything is to be noted of the instruction at an address.
    #[inline]
    pub fn is_watched(&self, pc: u32) -> bool {
        !self.watched.is_empty() && self.watched.binary_search(&pc).is_ok()
    }
}
