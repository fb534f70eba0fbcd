//! Which requests of which peripherals a DMA controller serves.

use std::sync::Arc;

use super::{Dma, DmaLoad};
use crate::devices::{Device, Devices};
use crate::soc::{Peripheral, Soc};

/// A request's way to some channels of a controller.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The device's address, and which of its requests it is.
    base: u32,
    request: u8,
    /// The channels, one bit each.
    channels: u32,
    /// The number by which a channel selects it.
    number: Option<u32>,
}

impl Connection {
    /// Returns whether a channel that has selected this number gets it.
    fn reaches(&self, channel: usize, selected: u32) -> bool {
        self.channels >> channel & 1 == 1 && self.number.is_none_or(|number| number == selected)
    }
}

/// The connections of a controller.
#[derive(Debug, Default)]
pub struct Wiring {
    connections: Vec<Connection>,
    /// The address of the DMAMUX that feeds it, and its channel that feeds the first one.
    mux: Option<(u32, usize)>,
}

impl Wiring {
    pub fn of(peripheral: &Peripheral, soc: &Soc) -> Self {
        let mut mux = None;
        for other in &soc.peripherals {
            let mut first = 0;
            for fed in &other.feeds {
                if *fed == peripheral.name {
                    mux = Some((other, first));
                }
                let fed = soc.peripherals.iter().find(|it| it.name == *fed);
                first += fed.map_or(0, Peripheral::channel_count);
            }
        }
        let requests = mux.map_or(&peripheral.requests, |(mux, _)| &mux.requests);
        let connections = requests.iter().filter_map(|request| {
            let source = soc.peripherals.iter().find(|source| source.name == request.of)?;
            // Channels are numbered from 1, streams from 0.
            let channel = request.channel.map(|channel| channel - peripheral.first_channel());
            Some(Connection {
                base: source.base,
                request: source.kind.request(request.output)?,
                channels: channel.map_or(u32::MAX, |channel| 1 << channel),
                number: request.number.map(u32::from),
            })
        });
        Self { connections: connections.collect(), mux: mux.map(|(mux, first)| (mux.base, first)) }
    }
}

impl Devices {
    /// Returns the number of the request that a channel has selected.
    fn selected(&self, dma: &Dma, channel: usize) -> u32 {
        let Some((base, first)) = dma.wiring.mux else { return dma.own_selection(channel) };
        match self.find(base).map(|at| &self.attached[at].device) {
            Some(Device::DmaMux(mux)) => mux.selection(first + channel),
            _ => 0,
        }
    }

    /// Returns whether a channel has selected a request of a device.
    pub(in crate::devices) fn has_request(&self, at: usize, channel: usize) -> bool {
        let Device::Dma(dma) = &self.attached[at].device else { return false };
        let selected = self.selected(dma, channel);
        dma.wiring.connections.iter().any(|it| it.reaches(channel, selected))
    }

    /// Returns whether a channel that the program has just enabled does nothing here.
    pub(in crate::devices) fn is_channel_without_model(&self, at: usize, channel: usize) -> bool {
        let Device::Dma(dma) = &self.attached[at].device else { return false };
        dma.is_without_model(channel, self.has_request(at, channel))
    }

    /// Lets a DMA controller decide on its next transfer by the requests that are active now.
    pub(in crate::devices) fn arbitrate(&mut self, at: usize, now: u64) {
        let Device::Dma(dma) = &self.attached[at].device else { return };
        let mut asked = 0;
        let active = dma.active();
        for connection in &dma.wiring.connections {
            if connection.channels & active == 0 || !self.is_requested(connection) {
                continue;
            }
            let channels = (0..dma.count).filter(|channel| active >> channel & 1 == 1);
            for channel in channels {
                let reaches = connection.reaches(channel, self.selected(dma, channel));
                asked |= u32::from(reaches) << channel;
            }
        }
        let ratio = self.ratio(at);
        if let Device::Dma(dma) = &mut self.attached[at].device {
            dma.arbitrate(asked, now, ratio);
        }
    }

    fn is_requested(&self, connection: &Connection) -> bool {
        let source = self.find(connection.base);
        source.is_some_and(|at| self.attached[at].requests >> connection.request & 1 == 1)
    }

    /// Returns the positions of the DMA controllers.
    pub fn dmas(&self) -> Vec<usize> {
        let attached = self.attached.iter().enumerate();
        let dmas = attached.filter(|(_, attached)| matches!(attached.device, Device::Dma(_)));
        dmas.map(|(at, _)| at).collect()
    }

    /// Begins the transfer of a device that is due, if it is a DMA controller. The timers that have asked for it, whose
    /// positions are returned, know from then on; a USART asks for as long as it has a byte or room for one.
    pub fn begin_transfer(&mut self, at: usize, now: u64) -> Option<(DmaLoad, Vec<usize>)> {
        let Device::Dma(dma) = &mut self.attached[at].device else { return None };
        let load = dma.begin_transfer(now)?;
        self.transfers += 1;
        let Device::Dma(dma) = &self.attached[at].device else { return None };
        let selected = self.selected(dma, load.channel);
        let wiring = Arc::clone(&dma.wiring);
        let mut served = Vec::new();
        for connection in &wiring.connections {
            if connection.reaches(load.channel, selected)
                && let Some(source) = self.find(connection.base)
                && let Device::Stm32Timer(timer) = &mut self.attached[source].device
            {
                timer.acknowledge(1 << connection.request);
                served.push(source);
            }
        }
        Some((load, served))
    }

    /// Returns a device as a DMA controller.
    pub fn dma(&mut self, at: usize) -> Option<&mut Dma> {
        match &mut self.attached[at].device {
            Device::Dma(dma) => Some(dma),
            _ => None,
        }
    }
}

impl Device {
    /// Returns the DMA requests that are active, one bit each.
    pub(in crate::devices) fn requests(&self, now: u64) -> u32 {
        match self {
            Self::Stm32Usart(usart) => usart.requests(now),
            Self::Stm32Timer(timer) => timer.requests(),
            Self::Spi(spi) => spi.requests(),
            _ => 0,
        }
    }
}
