//! The data types of single loads and stores, and the paths by which they move.
//!
//! The fast path accesses the most used RAM, where nothing needs to be checked. The slow path goes
//! anywhere: it handles alignment, protection, the core's own registers, wait states, and code that is
//! overwritten (DDI 0403, B2.3).

use super::Standalone;
use crate::arch::armm::mpu::Purpose;
use crate::arch::armm::trap::{Done, Trap};
use crate::memory::Place;
use crate::state::State;

/// Addresses from here on belong to the core itself.
const SYSTEM_SPACE: u32 = 0xE000_0000;

/// Returns whether an address is a multiple of a size, which is a power of two.
#[inline(always)]
pub(super) const fn is_aligned(address: u32, size: u32) -> bool {
    address & size.wrapping_sub(1) == 0
}

pub(super) type Loaded = Result<u32, Trap>;

/// The data of a single load or store: a number of bytes, which loads extend to a word.
pub(super) trait Datum {
    /// Its bytes in memory.
    const SIZE: u32;

    /// Loads the datum from the main RAM, if it is there and no check is required.
    fn load_quickly(machine: &State, address: u32) -> Option<u32>;

    /// Returns the datum and its place, if it is aligned and in the memory from which code was last fetched,
    /// and that is not the main RAM.
    fn load_code(machine: &State, address: u32) -> Option<(u32, Place)>;

    /// Loads the datum from anywhere.
    fn load(machine: &mut State, address: u32) -> Loaded;

    /// Stores the datum under the conditions of `load_quickly`; returns whether it was stored.
    fn store_quickly(machine: &mut State, address: u32, value: u32) -> bool;

    /// Stores the datum anywhere.
    fn store(machine: &mut State, address: u32, value: u32) -> Done;
}

macro_rules! datum {
    ($type:ty, $size:literal) => {
        impl Datum for $type {
            const SIZE: u32 = $size;

            #[inline(always)]
            fn load_quickly(machine: &State, address: u32) -> Option<u32> {
                if !is_aligned(address, $size) {
                    return None;
                }
                machine.bus.ram_load(address).map(|bytes| Self::from_le_bytes(bytes).into())
            }

            #[inline(always)]
            fn load_code(machine: &State, address: u32) -> Option<(u32, Place)> {
                if !is_aligned(address, $size) {
                    return None;
                }
                let (bytes, place) = machine.bus.near_data(address)?;
                Some((Self::from_le_bytes(bytes).into(), place))
            }

            #[inline(never)]
            fn load(machine: &mut State, address: u32) -> Loaded {
                if !is_aligned(address, $size) {
                    if !machine.allows_unaligned(address) {
                        return Err(machine.unaligned(address));
                    }
                    machine.pass_in_parts(address, $size);
                    machine.load_unaligned();
                    let mut bytes = [0; $size];
                    for (offset, byte) in (0..).zip(bytes.iter_mut()) {
                        let read = machine.within(|machine, at| {
                            machine.read::<u8>(at, address.wrapping_add(offset))
                        });
                        *byte = machine.with_requested_address(address, read)? as u8;
                    }
                    return Ok(Self::from_le_bytes(bytes).into());
                }
                machine.note_bus(address);
                if machine.protected {
                    machine.check_access(address, $size, Purpose::Read)?;
                }
                if address >= SYSTEM_SPACE {
                    let word = machine.read_system(address & !3)?;
                    return Ok(((word >> (8 * (address & 3))) as Self).into());
                }
                if let Some((bytes, place)) = machine.bus.load(address) {
                    machine.bus.note_slow(address, place);
                    machine.wait_for_load(place);
                    return Ok(Self::from_le_bytes(bytes).into());
                }
                let word = machine.read_beyond_memory(address);
                let word = machine
                    .with_requested_address(address, word)
                    .or_else(|trap| machine.ignore_or_trap(trap))?;
                Ok(((word >> (8 * (address & 3))) as Self).into())
            }

            #[inline(always)]
            fn store_quickly(machine: &mut State, address: u32, value: u32) -> bool {
                let bytes = (value as Self).to_le_bytes();
                is_aligned(address, $size) && machine.bus.ram_store(address, bytes)
            }

            #[inline(never)]
            fn store(machine: &mut State, address: u32, value: u32) -> Done {
                let bytes = (value as Self).to_le_bytes();
                if !is_aligned(address, $size) {
                    if !machine.allows_unaligned(address) {
                        return Err(machine.unaligned(address));
                    }
                    machine.pass_in_parts(address, $size);
                    for (offset, byte) in (0..).zip(bytes) {
                        machine.within(|machine, at| {
                            machine.write::<u8>(at, address.wrapping_add(offset), byte.into())
                        })?;
                    }
                    return Ok(());
                }
                machine.note_bus(address);
                if machine.protected {
                    machine.check_access(address, $size, Purpose::Write)?;
                }
                if address >= SYSTEM_SPACE {
                    return machine.write_system(address, value, $size);
                }
                if let Some(place) = machine.bus.store(address, bytes) {
                    machine.bus.note_slow(address, place);
                    machine.wait_for_store(place);
                    if machine.bus.code_writes.dirty {
                        machine.forget_overwritten_code(address);
                    }
                    return Ok(());
                }
                let done = machine.write_beyond_memory(address, value, $size);
                machine
                    .with_requested_address(address, done)
                    .or_else(|trap| machine.drop_store_or_trap(trap))
            }
        }
    };
    ($type:ty as $extended:ty) => {
        impl Datum for $extended {
            const SIZE: u32 = <$type as Datum>::SIZE;

            #[inline(always)]
            fn load_quickly(machine: &State, address: u32) -> Option<u32> {
                <$type>::load_quickly(machine, address).map(|value| value as Self as u32)
            }

            #[inline(always)]
            fn load_code(machine: &State, address: u32) -> Option<(u32, Place)> {
                let (value, place) = <$type>::load_code(machine, address)?;
                Some((value as Self as u32, place))
            }

            #[inline(always)]
            fn load(machine: &mut State, address: u32) -> Loaded {
                <$type as Datum>::load(machine, address).map(|value| value as Self as u32)
            }

            #[inline(always)]
            fn store_quickly(machine: &mut State, address: u32, value: u32) -> bool {
                <$type>::store_quickly(machine, address, value)
            }

            #[inline(always)]
            fn store(machine: &mut State, address: u32, value: u32) -> Done {
                <$type as Datum>::store(machine, address, value)
            }
        }
    };
}

datum!(u32, 4);
datum!(u16, 2);
datum!(u8, 1);
datum!(u16 as i16);
datum!(u8 as i8);
