//! The constraints on DMA controllers and what they serve.

use super::{Checked, KeyStep, refuse};
use crate::soc::{Peripheral, PeripheralKind, Soc};

impl Soc {
    /// Returns whether a DMA controller serves a peripheral's requests.
    pub(crate) fn has_dma_requests(&self, name: &str) -> bool {
        self.peripherals.iter().flat_map(|it| &it.requests).any(|request| request.of == name)
    }

    /// Refuses requests that no peripheral has or that reach no channel, and what only DMA controllers have.
    pub(super) fn check_dma(
        &self,
        peripheral: &Peripheral,
        path: impl Fn(&'static str) -> [KeyStep; 3],
    ) -> Checked {
        let Peripheral { name, kind, requests, feeds, memory_to_memory, .. } = peripheral;
        let is_mux = *kind == PeripheralKind::Stm32Dmamux;
        let find = |name: &String| self.peripherals.iter().find(|it| it.name == *name);
        let is_dma = |name: &String| find(name).is_some_and(|it| it.kind.is_dma());
        if !requests.is_empty() && !is_mux && !kind.is_dma() {
            let message =
                format!("peripheral {name}: requests is for DMA controllers and DMAMUXes");
            return refuse(&path("requests"), message);
        }
        if memory_to_memory.is_some() && !kind.is_dma() {
            let message = format!("peripheral {name}: memory_to_memory is for DMA controllers");
            return refuse(&path("memory_to_memory"), message);
        }
        if !feeds.is_empty() && !is_mux {
            let message = format!("peripheral {name}: feeds is for kind = \"stm32-dmamux\"");
            return refuse(&path("feeds"), message);
        }
        if let Some(other) = feeds.iter().find(|other| !is_dma(other)) {
            let message = format!("peripheral {name} feeds {other}: that is no DMA controller");
            return refuse(&path("feeds"), message);
        }
        let (first, count) = (usize::from(peripheral.first_channel()), peripheral.channel_count());
        for request in requests {
            let source = find(&request.of);
            let wrong = if source.and_then(|it| it.kind.request(request.output)).is_none() {
                format!("{} is no peripheral with such an output", request.of)
            } else if is_mux && (request.channel.is_some() || request.number.is_none()) {
                "of a DMAMUX they have a number, and no channel".to_owned()
            } else if let Some(channel) = request.channel
                && !(first..first + count).contains(&channel.into())
            {
                format!("there is no channel {channel}")
            } else {
                continue;
            };
            let message = format!("peripheral {name}, requests: {wrong}");
            return refuse(&path("requests"), message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_feeds_name_what_there_is() {
        let chip = |keys: &str| {
            let text = format!(
                "name = 'x'\ndescription = 'd'\ncore = 'cortex-m3'\nclock_hz = 1000\ninterrupts = 32\n\
                 priority_bits = 3\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\nsize = 1024\n\
                 [[peripheral]]\nname = 'U'\nkind = 'stm32-usart-v1'\nbase = 0x40000000\n\
                 [[peripheral]]\nname = 'D'\nkind = 'stm32-dma-channels'\nbase = 0x40001000\n\
                 [[peripheral]]\nname = 'X'\nbase = 0x40002000\n{keys}\n"
            );
            Soc::from_toml(&text).err().map(|refusal| refusal.to_string())
        };
        let dma = "kind = 'stm32-dma-channels'\nchannels = 3\n";
        let mux = "kind = 'stm32-dmamux'\n";
        for good in [
            format!("{dma}requests = [{{ channel = 3, of = 'U', output = 'tx' }}]"),
            format!("{mux}feeds = ['D']\nrequests = [{{ number = 3, of = 'U', output = 'rx' }}]"),
        ] {
            assert_eq!(chip(&good), None, "{good}");
        }
        for (keys, why) in [
            (
                format!("{dma}requests = [{{ of = 'U', output = 'update' }}]"),
                "no peripheral with such",
            ),
            (format!("{dma}requests = [{{ of = 'V', output = 'tx' }}]"), "V is no peripheral"),
            (
                format!("{dma}requests = [{{ channel = 0, of = 'U', output = 'tx' }}]"),
                "there is no channel 0",
            ),
            (
                format!("{dma}requests = [{{ channel = 4, of = 'U', output = 'tx' }}]"),
                "there is no channel 4",
            ),
            (format!("{mux}requests = [{{ of = 'U', output = 'tx' }}]"), "they have a number"),
            (format!("{mux}feeds = ['U']"), "X feeds U: that is no DMA controller"),
            (format!("{dma}feeds = ['D']"), "feeds is for kind"),
            (format!("{mux}memory_to_memory = false"), "memory_to_memory is for"),
            (
                "kind = 'registers'\nrequests = [{ of = 'U', output = 'tx' }]".to_owned(),
                "requests is for DMA",
            ),
        ] {
            let refusal = chip(&keys).expect(why);
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
