//! Node functions of loads and stores that wait at most for earlier stores.

use super::{CounterValues, Effects, LEAVE, Node, Run};
use crate::armr::control::sctlr;
use crate::armr::control::{CachePolicy, Kind};
use crate::armr::exec::{Arch, Traffic};
use crate::armr::isa::op::{
    Address, Bank, Index, Instruction, Offset, Op, Rights, Width, WriteBack,
};
use crate::armr::timing::{
    Flow, Moves, PAGE_BITS, Pipeline, READS, Speed, WRITES, Window, access_tag, crosses, key, mode,
};
use crate::isa::Op as FloatOp;
use crate::memory::Place;

/// Looks up the rights, memory and timing of the page that contains an address, and keeps them as a
/// window. Returns `None` if the page is not uniform, or is neither tightly coupled nor cached.
#[inline(never)]
fn open(arch: &mut Arch, pipeline: &mut Pipeline, address: u32) -> Option<()> {
    let begin = address >> PAGE_BITS << PAGE_BITS;
    let end = begin + ((1 << PAGE_BITS) - 1);
    let (first, last) = (arch.system.bus.place(begin)?, arch.system.bus.place(end)?);
    let is_whole = first.memory == last.memory && last.offset - first.offset == end - begin;
    let protection = &mut arch.control.protection;
    if !is_whole || !protection.is_uniform(begin, end) {
        return None;
    }
    let may = |right: bool, bit: u8| if right { bit } else { 0 };
    let mut kind = None;
    let rights = [true, false].map(|privileged| {
        let reads = protection.data(begin, false, privileged);
        let writes = protection.data(begin, true, privileged);
        kind = kind.or(reads.ok());
        may(reads.is_ok(), READS) | may(writes.is_ok(), WRITES)
    });
    let latency = pipeline.memory.latency(begin);
    let speed = match kind? {
        _ if latency.first == 0 => Speed::Coupled,
        Kind::Normal(cached) if cached != CachePolicy::Uncached && pipeline.switches.data => {
            Speed::Cached(cached, latency)
        }
        _ => return None,
    };
    let is_writable = arch.system.bus.is_writable(first.memory);
    let rights = rights.map(|rights| if is_writable { rights } else { rights & !WRITES });
    let is_normal = matches!(kind, Some(Kind::Normal(_)));
    let aligned = !is_normal || arch.control.sctlr & sctlr::A != 0;
    let mut window = Window::new(begin, first.memory, first.offset, speed);
    (window.rights, window.aligned) = (rights, aligned);
    pipeline.windows.keep(window);
    Some(())
}

/// Returns whether the window of an access's page permits the access, after opening it if
/// necessary.
#[inline(always)]
fn permits(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes, unit): (u32, u32, u32),
    right: u8,
) -> bool {
    let privileged = arch.cpu.is_privileged();
    let window = pipeline.windows.find(address);
    window.lets((address, bytes, unit), right, privileged)
        || !window.has(address)
            && open(arch, pipeline, address).is_some()
            && pipeline.windows.find(address).lets((address, bytes, unit), right, privileged)
}

/// Reads bytes from a known line in the RAM accessed most. `mode` is that of [`mode`].
#[inline(always)]
fn read_known<const N: usize>(
    arch: &mut Arch,
    pipeline: &Pipeline,
    (address, mode): (u32, u32),
    now: u64,
) -> Option<[u8; N]> {
    let memory = &pipeline.memory;
    let is_known = memory.data.lines.at(address).reads == access_tag(address, N as u32, mode);
    if is_known && memory.is_quiet(now) { arch.system.bus.ram_load(address) } else { None }
}

/// Reads bytes from memory if that does not wait. `mode` is that of [`mode`].
#[inline(always)]
pub fn read<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, mode): (u32, u32),
    now: u64,
) -> Option<[u8; N]> {
    match read_known(arch, pipeline, (address, mode), now) {
        Some(bytes) => Some(bytes),
        None => read_elsewhere(arch, pipeline, address, now),
    }
}

/// Reads bytes as [`read`] does, if they do not cross a boundary of 64 bits.
#[inline(always)]
pub fn read_within<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, mode): (u32, u32),
    now: u64,
) -> Option<[u8; N]> {
    match read_known(arch, pipeline, (address, mode), now) {
        Some(bytes) => Some(bytes),
        None if crosses(address, N as u32) => None,
        None => read_elsewhere(arch, pipeline, address, now),
    }
}

#[inline(never)]
fn read_elsewhere<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    address: u32,
    now: u64,
) -> Option<[u8; N]> {
    let bytes = N as u32;
    // Of a line that is known, only the memory is not the main RAM.
    let line = pipeline.memory.data.lines.at(address);
    if line.reads == access_tag(address, bytes, mode(arch.cpu.is_privileged()))
        && pipeline.memory.is_quiet(now)
    {
        let (memory, place) = line.place(address);
        let loaded = arch.system.bus.load_at(memory, place);
        arch.system.bus.note_slow(address, Place { memory, offset: place as u32 });
        return loaded;
    }
    if !permits(arch, pipeline, (address, bytes, bytes), READS) {
        return None;
    }
    let window = pipeline.windows.find(address);
    let is_coupled = window.speed == Speed::Coupled;
    if !is_coupled && !pipeline.memory.reads_without_wait(address, bytes, now) {
        return None;
    }
    let loaded = arch.system.bus.load_at(window.memory, window.place(address));
    pipeline.keep_line(address, arch.cpu.is_privileged());
    loaded
}

/// Writes bytes to memory if that waits at most for earlier stores. Returns for how many cycles.
#[inline(always)]
pub fn write<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, mode): (u32, u32),
    bytes: [u8; N],
    now: u64,
) -> Option<u64> {
    let memory = &mut pipeline.memory;
    if memory.data.lines.at(address).writes == access_tag(address, N as u32, mode)
        && memory.takes_stores(now)
        && arch.system.bus.ram_store(address, bytes)
    {
        return Some(memory.store_dirty(address, pipeline.switches, now));
    }
    write_elsewhere(arch, pipeline, address, bytes, now)
}

/// Writes bytes as [`write`] does, if they do not cross a boundary of 64 bits.
#[inline(always)]
pub fn write_within<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    at: (u32, u32),
    bytes: [u8; N],
    now: u64,
) -> Option<u64> {
    if N > 1 && crosses(at.0, N as u32) { None } else { write(arch, pipeline, at, bytes, now) }
}

#[inline(never)]
fn write_elsewhere<const N: usize>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    address: u32,
    bytes: [u8; N],
    now: u64,
) -> Option<u64> {
    let count = N as u32;
    // Of a line that is known, only the memory is not the main RAM, or has code near the address.
    let line = pipeline.memory.data.lines.at(address);
    if line.writes == access_tag(address, count, mode(arch.cpu.is_privileged()))
        && pipeline.memory.takes_stores(now)
    {
        let (memory, place) = line.place(address);
        let is_stored = arch.system.bus.store_at(memory, place, bytes);
        arch.system.bus.note_slow(address, Place { memory, offset: place as u32 });
        return is_stored.then(|| pipeline.memory.store_dirty(address, pipeline.switches, now));
    }
    if !permits(arch, pipeline, (address, count, count), WRITES) {
        return None;
    }
    let window = pipeline.windows.find(address);
    let cached = match window.speed {
        Speed::Coupled => None,
        Speed::Cached(..)
            if crosses(address, count) || !pipeline.memory.stores_soon(address, count, now) =>
        {
            return None;
        }
        Speed::Cached(policy, latency) => Some((policy, latency)),
    };
    if !arch.system.bus.store_at(window.memory, window.place(address), bytes) {
        return None;
    }
    let stalls = cached.map_or(0, |(policy, latency)| {
        let switches = pipeline.switches;
        pipeline.memory.store_cached(address, policy, switches, latency, now)
    });
    pipeline.keep_line(address, arch.cpu.is_privileged());
    Some(stalls)
}

/// The maximum number of bytes that a list transfers.
const MOST: u32 = 64;

/// The forms of addresses.
const LITERAL: u8 = 0;
const OFFSET: u8 = 1;
const BEFORE: u8 = 2;
const AFTER: u8 = 3;
const INDEXED: u8 = 4;
const ANY: u8 = 5;

fn form(it: &Instruction, address: Address) -> u8 {
    match (address.offset, address.index) {
        _ if it.aux == 1 => LITERAL,
        (Offset::Immediate, Index::Offset) => OFFSET,
        (Offset::Immediate, Index::Pre) => BEFORE,
        (Offset::Immediate, Index::Post) => AFTER,
        (Offset::Add, Index::Offset) if it.shift.kind == 0 => INDEXED,
        _ => ANY,
    }
}

/// Returns the address, and the new value of the base register.
#[inline(always)]
fn addresses<const FORM: u8>(arch: &Arch, it: &Instruction, address: Address) -> (u32, u32) {
    match FORM {
        LITERAL => (it.imm, it.imm),
        OFFSET | BEFORE => {
            let moved = arch.cpu.get(it.n).wrapping_add(it.imm);
            (moved, moved)
        }
        AFTER => {
            let base = arch.cpu.get(it.n);
            (base, base.wrapping_add(it.imm))
        }
        INDEXED => {
            let index = arch.cpu.get(it.m) << (it.shift.amount & 31);
            let moved = arch.cpu.get(it.n).wrapping_add(index);
            (moved, moved)
        }
        _ => arch.addresses(it, address),
    }
}

const fn writes_back<const FORM: u8>(address: Address) -> bool {
    match FORM {
        LITERAL | OFFSET | INDEXED => false,
        BEFORE | AFTER => true,
        _ => !matches!(address.index, Index::Offset),
    }
}

const WIDTHS: [Width; 5] =
    [Width::Byte, Width::SignedByte, Width::Half, Width::SignedHalf, Width::Word];

fn load<const WIDTH: usize, const FORM: u8>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    node: &Node,
    issue: u64,
) -> u32 {
    let it = &node.it;
    let Op::Load(_, form, _) = it.op else { return LEAVE };
    let width = const { WIDTHS[WIDTH] };
    let bytes = width.bytes();
    let (address, base) = addresses::<FORM>(arch, it, form);
    let at = (address, mode(arch.cpu.is_privileged()));
    let loaded = match bytes {
        1 => read(arch, pipeline, at, issue).map(|[byte]: [u8; 1]| u32::from(byte)),
        2 => read(arch, pipeline, at, issue).map(|half| u16::from_le_bytes(half).into()),
        _ => read(arch, pipeline, at, issue).map(u32::from_le_bytes),
    };
    let Some(value) = loaded else { return LEAVE };
    let value = match width {
        Width::SignedByte => value as i8 as u32,
        Width::SignedHalf => value as i16 as u32,
        _ => value,
    };
    if writes_back::<FORM>(form) {
        arch.cpu.set(it.n, base);
    }
    arch.cpu.set(it.d, value);
    key::access(crosses(address, bytes))
}

fn store<const WIDTH: usize, const FORM: u8>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    node: &Node,
    issue: u64,
) -> u32 {
    let it = &node.it;
    let Op::Store(_, form, _) = it.op else { return LEAVE };
    let bytes = const { WIDTHS[WIDTH].bytes() };
    let (address, base) = addresses::<FORM>(arch, it, form);
    let [a, b, c, d] = arch.cpu.get(it.d).to_le_bytes();
    let at = (address, mode(arch.cpu.is_privileged()));
    let stored = match bytes {
        1 => write(arch, pipeline, at, [a], issue),
        2 => write(arch, pipeline, at, [a, b], issue),
        _ => write(arch, pipeline, at, [a, b, c, d], issue),
    };
    let Some(stalls) = stored else { return LEAVE };
    if writes_back::<FORM>(form) {
        arch.cpu.set(it.n, base);
    }
    key::access(crosses(address, bytes)) | key::stalled(stalls)
}

/// Returns the lowest address of a transfer of several registers.
fn lowest(arch: &Arch, it: &Instruction) -> Option<u32> {
    Some(match it.op {
        Op::LoadMultiple(order, ..) | Op::StoreMultiple(order, ..) => {
            order.addresses(arch.cpu.get(it.n), it.imm.count_ones()).0
        }
        Op::LoadDual(address) | Op::StoreDual(address) | Op::Load(_, address, _) => {
            arch.addresses(it, address).0
        }
        Op::Float(_) => {
            let base = if it.n == 15 { arch.cpu.operand(15) & !3 } else { arch.cpu.get(it.n) };
            base.wrapping_add(it.imm)
        }
        Op::TableBranch => {
            let shift = u32::from(it.a == 1);
            arch.cpu.operand(it.n).wrapping_add(arch.cpu.get(it.m) << shift)
        }
        _ => return None,
    })
}

/// Returns the number of bytes that an instruction transfers, and whether it loads them.
pub fn moves(it: &Instruction) -> (u32, bool) {
    match it.op {
        Op::Load(width, ..) => (width.bytes(), true),
        Op::Store(width, ..) => (width.bytes(), false),
        Op::LoadMultiple(..) => (4 * it.imm.count_ones(), true),
        Op::StoreMultiple(..) => (4 * it.imm.count_ones(), false),
        Op::LoadDual(_) => (8, true),
        Op::StoreDual(_) => (8, false),
        Op::TableBranch if it.a == 1 => (2, true),
        Op::TableBranch => (1, true),
        Op::Float(op) => (4 * (it.aux & 0xFF), matches!(op, FloatOp::Vldr | FloatOp::Vldm)),
        _ => (0, false),
    }
}

/// Executes a load or store of several registers, or a load of the program counter.
fn several(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    let it = &node.it;
    arch.cpu.pc = node.place.pc;
    if node.flow != Flow::On && !arch.cpu.holds(node.condition) {
        return key::SKIPPED | prediction_key(pipeline, node, None);
    }
    let (Some(address), (bytes, reads)) = (lowest(arch, it), moves(it)) else { return LEAVE };
    let unit = bytes.min(4);
    if bytes == 0 || bytes > MOST || address & (unit - 1) != 0 {
        return LEAVE;
    }
    let right = if reads { READS } else { WRITES };
    if !permits(arch, pipeline, (address, bytes, unit), right) {
        return LEAVE;
    }
    let soon = match pipeline.windows.find(address).speed {
        Speed::Coupled => true,
        Speed::Cached(..) if reads => (0..bytes.div_ceil(32)).all(|at| {
            let (from, left) = (address + 32 * at, bytes - 32 * at);
            pipeline.memory.reads_without_wait(from, left.min(32), issue)
        }),
        Speed::Cached(..) => pipeline.memory.stores_soon(address, bytes, issue),
    };
    if !soon {
        return LEAVE;
    }
    if let Some(key) = list(arch, pipeline, node, (address, bytes), issue) {
        return key;
    }
    let mut done = Effects::default();
    let moved = match it.op {
        Op::Float(_) => arch.perform(it, CounterValues::default(), node.state != 0, &mut done),
        Op::TableBranch => arch.branch(it, issue, &mut done),
        _ => arch.transfer(it, issue, &mut done),
    };
    if moved.is_err() {
        return LEAVE;
    }
    let written = done.traffic.filter(|traffic| traffic.writes);
    let waits = written.and_then(|traffic| {
        let switches = pipeline.switches;
        pipeline.memory.access(&traffic, switches, issue)
    });
    let upper = match node.moves {
        Moves::One { .. } => crosses(address, bytes),
        _ => address >> 2 & 1 == 1,
    };
    let moved = key::access(upper) | key::stalled(waits.map_or(0, |waits| waits.stalls));
    match done.jump {
        None => moved,
        jump @ Some(target) => {
            arch.cpu.pc = target;
            moved | key::JUMPS | prediction_key(pipeline, node, jump)
        }
    }
}

/// Loads or stores several registers in the main RAM, if that waits at most for earlier stores.
/// Returns the key of the outcome. The rights and the timing have been checked.
#[inline(always)]
fn list(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    node: &Node,
    (address, bytes): (u32, u32),
    issue: u64,
) -> Option<u32> {
    let it = &node.it;
    let moved = key::access(address >> 2 & 1 == 1);
    let (Op::LoadMultiple(order, back, Bank::Own) | Op::StoreMultiple(order, back, Bank::Own)) =
        it.op
    else {
        return None;
    };
    let base = order.addresses(arch.cpu.get(it.n), bytes / 4).1;
    let mut left = it.imm & 0x7FFF;
    let mut registers = std::iter::from_fn(|| {
        let register = left.trailing_zeros() as u8;
        left &= left.wrapping_sub(1);
        (register < 15).then_some(register)
    });
    if matches!(it.op, Op::LoadMultiple(..)) {
        let words = arch.system.bus.ram_words(address, bytes / 4)?;
        if back == WriteBack::Yes {
            arch.cpu.set(it.n, base);
        }
        let mut words = words.iter();
        for (register, word) in registers.zip(&mut words) {
            arch.cpu.set(register, u32::from_le_bytes(*word));
        }
        let Some(target) = words.next() else { return Some(moved) };
        let mut done = Effects::default();
        arch.exchange(u32::from_le_bytes(*target), &mut done);
        arch.cpu.pc = done.jump?;
        return Some(moved | key::JUMPS | prediction_key(pipeline, node, done.jump));
    }
    if it.imm >> 15 & 1 == 1 {
        return None;
    }
    let words = arch.system.bus.ram_words_mut(address, bytes / 4)?;
    for (word, register) in words.iter_mut().zip(&mut registers) {
        *word = arch.cpu.get(register).to_le_bytes();
    }
    if back == WriteBack::Yes {
        arch.cpu.set(it.n, base);
    }
    let Speed::Cached(policy, _) = pipeline.windows.find(address).speed else {
        return Some(moved);
    };
    let kind = Kind::Normal(policy);
    let traffic = Traffic { address, bytes, reads: false, writes: true, kind };
    let waits = pipeline.memory.access(&traffic, pipeline.switches, issue);
    Some(moved | key::stalled(waits.map_or(0, |waits| waits.stalls)))
}

/// Returns how well a load's branch was predicted, as part of a key, and trains the predictor.
fn prediction_key(pipeline: &mut Pipeline, node: &Node, jump: Option<u32>) -> u32 {
    key::prediction(pipeline.branch_outcome(node.flow, node.moves, &node.place, jump))
}

macro_rules! forms {
    ($name:ident, $form:expr, $width:literal) => {
        match $form {
            LITERAL => $name::<$width, LITERAL>,
            OFFSET => $name::<$width, OFFSET>,
            BEFORE => $name::<$width, BEFORE>,
            AFTER => $name::<$width, AFTER>,
            INDEXED => $name::<$width, INDEXED>,
            _ => $name::<$width, ANY>,
        }
    };
}

/// Returns the function of a load or store, if it has one.
pub fn pick(it: &Instruction) -> Option<Run> {
    let plain = |address: Address| {
        it.aux == 1 || it.n != 15 && (address.offset == Offset::Immediate || it.m != 15)
    };
    Some(match it.op {
        Op::Load(Width::Word, _, Rights::Own) if it.d == 15 => several,
        Op::TableBranch => several,
        Op::Load(width, address, Rights::Own) if it.d != 15 && plain(address) => {
            let form = form(it, address);
            match width {
                Width::Byte => forms!(load, form, 0),
                Width::SignedByte => forms!(load, form, 1),
                Width::Half => forms!(load, form, 2),
                Width::SignedHalf => forms!(load, form, 3),
                Width::Word => forms!(load, form, 4),
            }
        }
        Op::Store(width, address, Rights::Own) if it.d != 15 && plain(address) => {
            let form = form(it, address);
            match width {
                Width::Byte | Width::SignedByte => forms!(store, form, 0),
                Width::Half | Width::SignedHalf => forms!(store, form, 2),
                Width::Word => forms!(store, form, 4),
            }
        }
        Op::LoadDual(address) | Op::StoreDual(address) if plain(address) => several,
        Op::LoadMultiple(_, _, Bank::Own) | Op::StoreMultiple(_, _, Bank::Own) if it.n != 15 => {
            several
        }
        Op::Float(FloatOp::Vldr | FloatOp::Vstr | FloatOp::Vldm | FloatOp::Vstm) => several,
        _ => return None,
    })
}
