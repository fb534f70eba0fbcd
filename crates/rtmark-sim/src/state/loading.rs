//! Programming images into memories.

use super::LoadError;
use crate::image::Segment;
use crate::memory::Bus;
use crate::soc::Soc;

/// What a reset must restore of a segment that has been programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReset {
    /// Nothing, because the segment is in memory that programs cannot write.
    Stays,
    /// Its bytes, because it is in RAM.
    ProgrammedAgain,
}

/// Programs a segment of an image into a soc's memories.
///
/// # Errors
/// When its bytes, or the memory that it occupies at run time, lie outside those memories.
pub fn program(bus: &mut Bus, soc: &Soc, segment: &Segment) -> Result<AfterReset, LoadError> {
    let (address, size) = (segment.load_address, segment.bytes.len());
    let end_of_memory = segment.address.wrapping_add(segment.memory_size.max(1) - 1);
    let loaded = size == 0 || bus.peek_len(address) >= size;
    let runs = bus.place(segment.address).is_some() && bus.place(end_of_memory).is_some();
    if !loaded || !runs {
        return Err(LoadError::DoesNotFit {
            address: if loaded { segment.address } else { address },
            size: segment.memory_size,
            soc: soc.name.clone(),
            memories: soc.memory_map(),
        });
    }
    bus.program(address, &segment.bytes);
    let is_ram = bus.place(address).is_some_and(|place| bus.is_writable(place.memory));
    Ok(if is_ram { AfterReset::ProgrammedAgain } else { AfterReset::Stays })
}
