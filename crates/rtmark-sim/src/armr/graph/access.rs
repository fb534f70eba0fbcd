//! The steps of loads and stores: those of known lines of the cache in the main RAM by the first
//! function of each, all others by the second one.

use super::steps::{Carry, Operands};
use super::transfer;
use crate::armr::cpu::Cpu;
use crate::armr::exec::Arch;
use crate::armr::isa::op::Width;
use crate::armr::timing::{Pipeline, PredictionOutcome, key};
use crate::superblock::{LEAVE, LastOperand, SECOND, StepResult};

/// The form of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressForm {
    /// An address known from decoding.
    Absolute,
    /// A base register and an immediate; the base register remains or becomes the address.
    Offset,
    Before,
    /// A base register, to which an immediate is added afterwards.
    After,
    /// A base register and an index register shifted left.
    Indexed,
}

impl AddressForm {
    const ALL: [Self; 5] = [Self::Absolute, Self::Offset, Self::Before, Self::After, Self::Indexed];

    /// Returns the address, and the new value of the base register if that changes. `base` is its
    /// value.
    #[inline(always)]
    const fn address(self, base: u32, step: &Operands, cpu: &Cpu) -> (u32, Option<u32>) {
        let moved = base.wrapping_add(step.value);
        match self {
            Self::Absolute => (step.value, None),
            Self::Offset => (moved, None),
            Self::Before => (moved, Some(moved)),
            Self::After => (base, Some(moved)),
            Self::Indexed => (base.wrapping_add(cpu.get(step.c) << (step.d & 31)), None),
        }
    }
}

const WIDTHS: [Width; 5] =
    [Width::Byte, Width::SignedByte, Width::Half, Width::SignedHalf, Width::Word];

const fn write_back(step: &Operands, cpu: &mut Cpu, base: Option<u32>) {
    if let Some(base) = base {
        cpu.set(step.b, base);
    }
}

/// Executes a load by a function that reads bytes at an address if that does not wait.
#[inline(always)]
fn load_by<const WIDTH: usize, const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    carry: &mut Carry,
    read: impl FnOnce(&mut Arch, (u32, u32), u64) -> Option<u32>,
) -> Option<StepResult> {
    let (form, width) = const { (AddressForm::ALL[FORM], WIDTHS[WIDTH]) };
    let (address, base) = form.address(step.first::<LAST>(&arch.cpu, carry), step, &arch.cpu);
    let value = width.extend(read(arch, (address, width.bytes()), step.now(carry))?);
    write_back(step, &mut arch.cpu, base);
    step.set(&mut arch.cpu, carry, value);
    Some(Ok(()))
}

#[inline(always)]
pub fn load<const WIDTH: usize, const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    load_by::<WIDTH, FORM, LAST>(step, arch, carry, |arch, at, now| {
        transfer::read_known(arch, pipeline, at, now)
    })
}

#[inline(always)]
pub fn load_slowly<const WIDTH: usize, const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> StepResult {
    let loaded = load_by::<WIDTH, FORM, LAST>(step, arch, carry, |arch, at, now| {
        transfer::read_within(arch, pipeline, at, now)
    });
    loaded.unwrap_or(Err(LEAVE))
}

/// Loads a word that no store changes.
#[inline(always)]
pub fn load_constant(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    if !pipeline.memory.reads_known((step.value, 4), step.now(carry)) {
        return None;
    }
    step.set(&mut arch.cpu, carry, step.other);
    Some(Ok(()))
}

pub fn load_constant_slowly(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> StepResult {
    let loaded = transfer::read_within(arch, pipeline, (step.value, 4), step.now(carry));
    step.set(&mut arch.cpu, carry, loaded.ok_or(LEAVE)?);
    Ok(())
}

/// Executes a store by a function that writes bytes at an address if that waits at most for earlier
/// stores.
#[inline(always)]
fn store_by<const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    carry: &Carry,
    write: impl FnOnce(&mut Arch, u32, u32) -> Option<u64>,
) -> Option<StepResult> {
    let base = step.first::<LAST>(&arch.cpu, carry);
    let (address, base) = const { AddressForm::ALL[FORM] }.address(base, step, &arch.cpu);
    let value = if LAST == SECOND { carry.last } else { arch.cpu.get(step.a) };
    let stalls = write(arch, address, value)?;
    write_back(step, &mut arch.cpu, base);
    Some(step.done(key::access(false) | key::stalled(stalls)))
}

#[inline(always)]
pub fn store<const BYTES: u32, const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    store_by::<FORM, LAST>(step, arch, carry, |arch, address, value| {
        transfer::write_known(arch, pipeline, (address, BYTES), value, step.now(carry))
    })
}

#[inline(always)]
pub fn store_slowly<const BYTES: u32, const FORM: usize, const LAST: LastOperand>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> StepResult {
    let stored = store_by::<FORM, LAST>(step, arch, carry, |arch, address, value| {
        transfer::write_within(arch, pipeline, (address, BYTES), value, step.now(carry))
    });
    stored.unwrap_or(Err(LEAVE))
}

/// The outcome of a return that is predicted, apart from the load of its address.
const RETURNS: u32 = key::JUMPS | key::prediction(PredictionOutcome::Correct);

/// Executes LDM, if the block continues after it. If it also loads the program counter, it must return
/// to the expected address of the same instruction set, and be predicted.
#[inline(always)]
pub fn load_list<const RETURN: bool>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    let (address, base, mut list) = step.list(&arch.cpu);
    let key = transfer::key_of_words(address) | if RETURN { RETURNS } else { 0 };
    if key != step.key.into()
        || !pipeline.memory.reads_known_words(address, step.c, step.now(carry))
    {
        return None;
    }
    let mut words = arch.system.bus.ram_words(address, step.c.into())?.iter();
    if RETURN {
        let target = u32::from_le_bytes(*words.next_back()?);
        if target != step.value || !pipeline.predictor.pop_if(target & !1) {
            return None;
        }
    }
    arch.cpu.set(step.b, base);
    for word in words {
        arch.cpu.set(list.trailing_zeros() as u8, u32::from_le_bytes(*word));
        list &= list.wrapping_sub(1);
    }
    Some(Ok(()))
}

/// Executes STM.
#[inline(always)]
pub fn store_list(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    let (address, base, mut list) = step.list(&arch.cpu);
    let (count, now) = (step.c, step.now(carry));
    if !pipeline.memory.writes_known_words(address, count, now) {
        return None;
    }
    for word in arch.system.bus.ram_words_mut(address, count.into())? {
        *word = arch.cpu.get(list.trailing_zeros() as u8).to_le_bytes();
        list &= list.wrapping_sub(1);
    }
    arch.cpu.set(step.b, base);
    let stalls = pipeline.memory.store_dirty_words(address, count, now);
    Some(step.done(transfer::key_of_words(address) | key::stalled(stalls)))
}

/// Executes LDRD.
#[inline(always)]
pub fn load_dual<const FORM: usize>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    let (address, base) =
        const { AddressForm::ALL[FORM] }.address(arch.cpu.get(step.b), step, &arch.cpu);
    let key = transfer::key_of_words(address);
    if key != step.key.into() || !pipeline.memory.reads_known_words(address, 2, step.now(carry)) {
        return None;
    }
    let [low, high] = *arch.system.bus.ram_words(address, 2)?.first_chunk()?;
    write_back(step, &mut arch.cpu, base);
    arch.cpu.set(step.a, u32::from_le_bytes(low));
    arch.cpu.set(step.c, u32::from_le_bytes(high));
    Some(Ok(()))
}

/// Executes STRD.
#[inline(always)]
pub fn store_dual<const FORM: usize>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: &mut Carry,
) -> Option<StepResult> {
    let ((address, base), now) = (
        const { AddressForm::ALL[FORM] }.address(arch.cpu.get(step.b), step, &arch.cpu),
        step.now(carry),
    );
    if !pipeline.memory.writes_known_words(address, 2, now) {
        return None;
    }
    let words = arch.system.bus.ram_words_mut(address, 2)?.first_chunk_mut()?;
    *words = [step.a, step.c].map(|register| arch.cpu.get(register).to_le_bytes());
    write_back(step, &mut arch.cpu, base);
    let stalls = pipeline.memory.store_dirty_words(address, 2, now);
    Some(step.done(transfer::key_of_words(address) | key::stalled(stalls)))
}

impl Operands {
    /// Returns operands of a transfer of a list of registers: the offsets of the first word and of the
    /// new base from the base register.
    pub const fn of_list(base: u8, list: u16, first: i32, moved: i32) -> Self {
        let other = list as u32 | (first as u32) << 16;
        Self { other, d: moved as u8, ..Self::new(0, base, list.count_ones() as u8, 0) }
    }

    /// Returns the address of the first word, the new value of the base register, and the list.
    #[inline(always)]
    const fn list(&self, cpu: &Cpu) -> (u32, u32, u32) {
        let base = cpu.get(self.b);
        let first = base.wrapping_add_signed(self.other as i32 >> 16);
        (first, base.wrapping_add_signed(self.d as i8 as i32), self.other & 0xFFFF)
    }
}
