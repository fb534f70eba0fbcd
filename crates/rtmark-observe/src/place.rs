//! From addresses to places in the program's own words.

use rtmark_model::{Frame, MaskRegister, Masked, Place, visible};
use rtmark_sim::{Blocker, CoreKind, Disassembly, Image, MaskedInterval};

use crate::functions::as_written;
use crate::lines::Lines;

/// A function by the name that its author gave it.
fn written(frame: Frame) -> Frame {
    let function = frame.function.map(|name| as_written(&name).unwrap_or(name));
    Frame { function, ..frame }
}

/// Tells where an address is, as far as symbols and debug information know it.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a, 'elf> {
    image: &'a Image,
    lines: Option<&'a Lines<'elf>>,
}

impl<'a, 'elf> Map<'a, 'elf> {
    /// By an image's symbols, and by its line table where it has one.
    pub fn new(image: &'a Image, lines: Option<&'a Lines<'elf>>) -> Self {
        Self { image, lines }
    }

    /// The name of the function that holds an address, safe to show.
    pub fn function(&self, address: u32) -> Option<String> {
        self.image.symbols().name_at(address).map(|at| visible(at.symbol.as_bytes()))
    }

    /// What is known of an address.
    pub fn place(&self, address: u32) -> Place {
        let mut frames = self.lines.map_or_else(Vec::new, |lines| lines.inlined_at(address));
        // The function itself comes first; behind it those inlined, the innermost last.
        frames.reverse();
        let own = frames.first();
        let inlined = frames.iter().skip(1).filter_map(|frame| frame.function.clone());
        Place {
            address,
            function: self.function(address).or_else(|| own?.function.clone()),
            line: own.and_then(|own| own.line.clone()),
            inlined: inlined.collect(),
            callers: Vec::new(),
            frames: frames.into_iter().map(written).collect(),
        }
    }

    /// As [`Map::place`], with the caller that the link register tells, if the call there
    /// is one of the function itself. Where something else was called since, it is not.
    pub fn place_from(&self, address: u32, link: u32) -> Place {
        let mut place = self.place(address);
        let begins = |at: u32| Some(at - self.image.symbols().name_at(at)?.offset);
        let call = (link & !1).wrapping_sub(4);
        if link & 1 == 1 && self.target(call).is_some_and(|to| begins(address) == Some(to & !1)) {
            place.callers.extend(self.function(call));
        }
        place
    }

    /// Where the instruction of two halfwords at an address branches to.
    fn target(&self, address: u32) -> Option<u32> {
        let bytes = self.image.segments().iter().find_map(|segment| {
            let from = address.checked_sub(segment.load_address)? as usize;
            segment.bytes.get(from..from.checked_add(4)?)
        })?;
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Disassembly::of(CoreKind::CortexM33, address, half(0), half(2), None).target
    }

    /// A masked interval with its places.
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
