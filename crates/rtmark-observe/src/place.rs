//! Translates addresses into places in the program's own terms.

use rtmark_model::{Frame, MaskRegister, Masked, Place};
use rtmark_sim::{Blocker, CoreKind, Disassembly, Image, MaskedInterval};

use crate::functions::{as_written, in_one_line};
use crate::lines::Lines;

/// Gives a function the name that its author wrote.
fn with_written_name(frame: Frame) -> Frame {
    let function = frame.function.map(|name| as_written(&name).unwrap_or(name));
    Frame { function, ..frame }
}

/// Locates an address as far as symbols and debug information allow.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a, 'elf> {
    image: &'a Image,
    lines: Option<&'a Lines<'elf>>,
}

impl<'a, 'elf> Map<'a, 'elf> {
    /// Creates a map from an image's symbols, and its line table if it has one.
    pub fn new(image: &'a Image, lines: Option<&'a Lines<'elf>>) -> Self {
        Self { image, lines }
    }

    /// Returns the name of the function that contains an address, safe to display.
    pub fn function(&self, address: u32) -> Option<String> {
        self.image.symbols().name_at(address).map(|at| in_one_line(&at.symbol))
    }

    /// Returns what is known about an address.
    pub fn place(&self, address: u32) -> Place {
        let mut frames = self.lines.map_or_else(Vec::new, |lines| lines.inlined_at(address));
        // The function itself comes first, then the inlined ones, the innermost last.
        frames.reverse();
        let own = frames.first();
        let inlined = frames.iter().skip(1).filter_map(|frame| frame.function.clone());
        Place {
            address,
            function: self.function(address).or_else(|| own?.function.clone()),
            line: own.and_then(|own| own.line.clone()),
            inlined: inlined.collect(),
            callers: Vec::new(),
            frames: frames.into_iter().map(with_written_name).collect(),
        }
    }

    /// Returns the same as [`Map::place`], with the caller from the link register if the function
    /// itself was called from there. If something else has been called since, the caller is left out.
    pub fn place_from(&self, address: u32, link: u32) -> Place {
        let mut place = self.place(address);
        let begins = |at: u32| Some(at - self.image.symbols().name_at(at)?.offset);
        let call = (link & !1).wrapping_sub(4);
        if link & 1 == 1 && self.target(call).is_some_and(|to| begins(address) == Some(to & !1)) {
            place.callers.extend(self.function(call));
        }
        place
    }

    /// Returns the branch target of the 32-bit instruction at an address.
    fn target(&self, address: u32) -> Option<u32> {
        let bytes = self.image.segments().iter().find_map(|segment| {
            let from = address.checked_sub(segment.load_address)? as usize;
            segment.bytes.get(from..from.checked_add(4)?)
        })?;
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Disassembly::of(CoreKind::CortexM33, address, half(0), half(2), None).target
    }

    /// Returns a masked interval with its places.
    pub fn masked(&self, interval: &MaskedInterval) -> Masked {
        Masked {
            cycles: interval.cycles,
            by: match interval.by {
                Blocker::Faultmask => MaskRegister::Faultmask,
                Blocker::Basepri => MaskRegister::Basepri,
                Blocker::MachineMask => MaskRegister::Mstatus,
                Blocker::StatusMask => MaskRegister::Cpsr,
                _ => MaskRegister::Primask,
            },
            began: interval.began,
            set: self.place_from(interval.from.address, interval.from.link),
            cleared: self.place_from(interval.to.address, interval.to.link),
        }
    }
}
