//! Loads and stores of registers (DDI 0403, A7.7), on the fast path from and to the most used RAM.

use super::datum::{Datum, is_aligned};
use super::memory::{Base, Side};
use super::{ExecContext, Executing, Flow, Outcome, Standalone};
use crate::arch::armm::registers::Cpu;
use crate::isa::Slot;
use crate::state::State;

/// The memory that an instruction addresses, and the value that its base register receives, if any.
#[derive(Clone, Copy)]
pub struct Address {
    pub(super) at: u32,
    base: Option<u32>,
}

/// Base plus immediate.
#[inline(always)]
pub fn offset(cpu: &Cpu, s: &Slot) -> Address {
    Address { at: cpu.get(s.n).wrapping_add(s.imm), base: None }
}

/// Base plus shifted register.
#[inline(always)]
pub fn indexed(cpu: &Cpu, s: &Slot) -> Address {
    Address { at: cpu.get(s.n).wrapping_add(cpu.get(s.m) << s.aux), base: None }
}

/// Base plus immediate, which the base register receives.
#[inline(always)]
pub fn pre_indexed(cpu: &Cpu, s: &Slot) -> Address {
    let at = cpu.get(s.n).wrapping_add(s.imm);
    Address { at, base: Some(at) }
}

/// The base, which then advances by the immediate.
#[inline(always)]
pub fn post_indexed(cpu: &Cpu, s: &Slot) -> Address {
    let at = cpu.get(s.n);
    Address { at, base: Some(at.wrapping_add(s.imm)) }
}

/// An absolute address, which decoding has computed.
#[inline(always)]
pub fn literal(_: &Cpu, s: &Slot) -> Address {
    Address { at: s.imm, base: None }
}

impl Address {
    #[inline(always)]
    fn write_back(self, cpu: &mut Cpu, s: &Slot, at: &impl Executing) {
        if let Some(base) = self.base {
            at.set(cpu, s.n, base);
        }
    }

    /// Writes the base back, whichever register it is.
    #[inline(always)]
    pub(super) fn write_back_any(self, cpu: &mut Cpu, s: &Slot) {
        if let Some(base) = self.base {
            cpu.set_any(s.n, base);
        }
    }
}

/// A load.
#[inline(always)]
pub fn load<D: Datum, E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    mode: impl Fn(&Cpu, &Slot) -> Address,
) -> Outcome {
    let address = mode(&state.cpu, s);
    let loaded = D::load_quickly(state, address.at);
    if let Some(value) = loaded.or_else(|| state.read_constant_fast::<D>(at, address.at)) {
        address.write_back(&mut state.cpu, s, at);
        at.set(&mut state.cpu, s.d, value);
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    let value = at.context().slow_path(state, |state| D::load(state, address.at))?;
    address.write_back(&mut state.cpu, s, at);
    at.set(&mut state.cpu, s.d, value);
    Ok(at.proceed())
}

/// LDR of a literal, which is mostly in flash.
#[inline(always)]
pub fn load_literal<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    if let Some(value) = state.read_literal_fast(at, s.imm) {
        at.set(&mut state.cpu, s.d, value);
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    if let Some(value) = state.read_literal(at.context(), s.imm) {
        at.set(&mut state.cpu, s.d, value);
        return Ok(at.proceed());
    }
    load::<u32, E>(state, s, at, literal)
}

/// A store.
#[inline(always)]
pub fn store<D: Datum, E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    mode: impl Fn(&Cpu, &Slot) -> Address,
) -> Outcome {
    let (address, value) = (mode(&state.cpu, s), state.cpu.get(s.d));
    if D::store_quickly(state, address.at, value) {
        address.write_back(&mut state.cpu, s, at);
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.context().slow_path(state, |state| D::store(state, address.at, value))?;
    address.write_back(&mut state.cpu, s, at);
    Ok(at.proceed())
}

/// LDM and POP, which jump if they load the program counter.
#[inline(always)]
pub fn load_list<E: Executing>(state: &mut State, s: &Slot, at: &mut E, side: Side) -> Outcome {
    let base = Base::of(s, side);
    if let Some(last) = state.load_registers(s.imm, base) {
        if s.imm >> 15 == 0 || at.follows(last) {
            return Ok(Flow::Next);
        }
        return state.branch_loaded(at.context(), last);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, |state, _| state.load_multiple(s.imm, base))
}

/// STM and PUSH.
#[inline(always)]
pub fn store_list<E: Executing>(state: &mut State, s: &Slot, at: &mut E, side: Side) -> Outcome {
    let base = Base::of(s, side);
    if state.store_registers(s.imm, base) {
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, |state, _| state.store_multiple(s.imm, base))
}

/// Returns the address of LDRD and STRD.
#[inline(always)]
fn pair_address(cpu: &Cpu, s: &Slot) -> Address {
    let base = cpu.get(s.n);
    let indexed = base.wrapping_add(s.imm);
    let at = if s.aux == 2 { base } else { indexed };
    Address { at, base: (s.aux != 0).then_some(indexed) }
}

/// LDRD.
#[inline(always)]
pub fn load_pair<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let address = pair_address(&state.cpu, s);
    let Some(&[first, second]) = state.bus.ram_words(address.at, 2) else {
        if E::IS_FAST {
            return Ok(Flow::SlowPath);
        }
        return at.complete(state, s, |state, s| load_pair_anywhere(state, s, pair_address));
    };
    set_pair(&mut state.cpu, s, [first, second].map(u32::from_le_bytes), address);
    Ok(Flow::Next)
}

/// LDRD from anywhere, in any addressing mode. The registers change only after both words have been read.
pub fn load_pair_anywhere(
    state: &mut State,
    s: &Slot,
    mode: impl Fn(&Cpu, &Slot) -> Address,
) -> Outcome {
    let address = mode(&state.cpu, s);
    let first = state.read_aligned_word(address.at)?;
    let second = state.read_aligned_word(address.at.wrapping_add(4))?;
    set_pair(&mut state.cpu, s, [first, second], address);
    Ok(Flow::Next)
}

#[inline(always)]
fn set_pair(cpu: &mut Cpu, s: &Slot, [first, second]: [u32; 2], address: Address) {
    cpu.set_any(s.d, first);
    cpu.set_any(s.a, second);
    address.write_back_any(cpu, s);
}

/// STRD.
#[inline(always)]
pub fn store_pair<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let address = pair_address(&state.cpu, s);
    let values = [state.cpu.get(s.d), state.cpu.get(s.a)];
    let Some(words @ [_, _]) = state.bus.ram_words_mut(address.at, 2) else {
        if E::IS_FAST {
            return Ok(Flow::SlowPath);
        }
        return at.complete(state, s, store_pair_anywhere);
    };
    words.copy_from_slice(&values.map(u32::to_le_bytes));
    address.write_back_any(&mut state.cpu, s);
    Ok(Flow::Next)
}

fn store_pair_anywhere(state: &mut State, s: &Slot) -> Outcome {
    let address = pair_address(&state.cpu, s);
    state.write_aligned_word(address.at, state.cpu.get(s.d))?;
    state.write_aligned_word(address.at.wrapping_add(4), state.cpu.get(s.a))?;
    address.write_back_any(&mut state.cpu, s);
    Ok(Flow::Next)
}

/// LDREX, LDREXB and LDREXH. The local monitor is a single flag (DDI 0403, A3.4).
#[inline(always)]
pub fn load_exclusive<D: Datum, E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let address = offset(&state.cpu, s);
    if let Some(value) = D::load_quickly(state, address.at) {
        at.set(&mut state.cpu, s.d, value);
        state.exclusive = true;
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, load_exclusive_anywhere::<D>)
}

fn load_exclusive_anywhere<D: Datum>(state: &mut State, s: &Slot) -> Outcome {
    let address = offset(&state.cpu, s).at;
    let value = state.read_aligned::<D>(address)?;
    state.cpu.set_any(s.d, value);
    state.exclusive = true;
    Ok(Flow::Next)
}

/// STREX, STREXB and STREXH.
#[inline(always)]
pub fn store_exclusive<D: Datum, E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let (address, value) = (offset(&state.cpu, s).at, state.cpu.get(s.a));
    if state.exclusive && D::store_quickly(state, address, value) {
        state.cpu.set(s.d, 0);
        state.exclusive = false;
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, store_exclusive_anywhere::<D>)
}

fn store_exclusive_anywhere<D: Datum>(state: &mut State, s: &Slot) -> Outcome {
    let (address, value) = (offset(&state.cpu, s).at, state.cpu.get(s.a));
    if state.exclusive {
        state.write_aligned::<D>(address, value)?;
    } else if is_aligned(address, D::SIZE) {
        // A failed exclusive store takes the cycles of a successful one.
        state.note_bus(address);
    } else {
        return Err(state.unaligned(address));
    }
    state.cpu.set(s.d, u32::from(!state.exclusive));
    state.exclusive = false;
    Ok(Flow::Next)
}

/// CLREX.
#[expect(clippy::unnecessary_wraps, reason = "all bodies of a kind have one signature")]
pub fn clear_exclusive(state: &mut State, _: &Slot) -> Outcome {
    state.exclusive = false;
    Ok(Flow::Next)
}

/// LDA, LDAB and LDAH: with one core and memory in program order, an ordinary load that must be aligned.
pub fn load_acquire(state: &mut State, s: &Slot) -> Outcome {
    let address = state.cpu.get(s.n);
    let value = match s.aux {
        1 => state.read_aligned::<u8>(address),
        2 => state.read_aligned::<u16>(address),
        _ => state.read_aligned::<u32>(address),
    }?;
    state.cpu.set_any(s.d, value);
    Ok(Flow::Next)
}

/// STL, STLB and STLH: an ordinary store that must be aligned.
pub fn store_release(state: &mut State, s: &Slot) -> Outcome {
    let (address, value) = (state.cpu.get(s.n), state.cpu.get(s.d));
    match s.aux {
        1 => state.write_aligned::<u8>(address, value),
        2 => state.write_aligned::<u16>(address, value),
        _ => state.write_aligned::<u32>(address, value),
    }?;
    Ok(Flow::Next)
}

/// LDRT and the other unprivileged loads, which are checked as unprivileged code's.
pub fn load_unprivileged<D: Datum>(state: &mut State, s: &Slot) -> Outcome {
    let address = offset(&state.cpu, s).at;
    let value =
        state.access_as(true, |state| state.within(|state, at| state.read::<D>(at, address)))?;
    state.cpu.set_any(s.d, value);
    Ok(Flow::Next)
}

/// STRT and the other unprivileged stores.
pub fn store_unprivileged<D: Datum>(state: &mut State, s: &Slot) -> Outcome {
    let (address, value) = (offset(&state.cpu, s).at, state.cpu.get(s.d));
    state
        .access_as(true, |state| state.within(|state, at| state.write::<D>(at, address, value)))?;
    Ok(Flow::Next)
}
