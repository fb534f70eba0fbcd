//! Node functions of loads and stores that wait at most for earlier stores.

use super::{CounterValues, Effects, LEAVE, Node, Run};
use crate::armr::control::sctlr;
use crate::armr::control::{CachePolicy, Kind};
use crate::armr::exec::Arch;
use crate::armr::isa::op::{Address, Bank, Index, Instruction, Offset, Op, Rights, Width};
use crate::armr::timing::{
    Flow, Moves, PAGE_BITS, Pipeline, READS, Speed, WRITES, Window, crosses, key,
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

/// Reads up to four bytes from a known line in the RAM accessed most.
#[inline(always)]
pub fn read_known(
    arch: &Arch,
    pipeline: &Pipeline,
    (address, bytes): (u32, u32),
    now: u64,
) -> Option<u32> {
    if !pipeline.memory.reads_known((address, bytes), now) {
        return None;
    }
    let bus = &arch.system.bus;
    match bytes {
        1 => bus.ram_load(address).map(|[byte]| byte.into()),
        2 => bus.ram_load(address).map(|half| u16::from_le_bytes(half).into()),
        _ => bus.ram_load(address).map(u32::from_le_bytes),
    }
}

/// Reads up to four bytes from memory if that does not wait.
#[inline(always)]
fn read(arch: &mut Arch, pipeline: &mut Pipeline, at: (u32, u32), now: u64) -> Option<u32> {
    read_known(arch, pipeline, at, now).or_else(|| read_elsewhere(arch, pipeline, at, now))
}

/// Reads bytes as [`read`] does, if they do not cross a boundary of 64 bits.
#[inline(always)]
pub fn read_within(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes): (u32, u32),
    now: u64,
) -> Option<u32> {
    if crosses(address, bytes) { None } else { read(arch, pipeline, (address, bytes), now) }
}

#[inline(never)]
fn read_elsewhere(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes): (u32, u32),
    now: u64,
) -> Option<u32> {
    let load = |arch: &Arch, memory, place| {
        let bus = &arch.system.bus;
        match bytes {
            1 => bus.load_at(memory, place).map(|[byte]| byte.into()),
            2 => bus.load_at(memory, place).map(|half| u16::from_le_bytes(half).into()),
            _ => bus.load_at(memory, place).map(u32::from_le_bytes),
        }
    };
    // Of a line that is known, only the memory is not the main RAM.
    if pipeline.memory.reads_known((address, bytes), now) {
        let (memory, place) = pipeline.memory.data.lines.at(address).place(address);
        let loaded = load(arch, memory, place);
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
    let loaded = load(arch, window.memory, window.place(address));
    pipeline.keep_line(address, arch.cpu.is_privileged());
    loaded
}

/// Writes the lower bytes of a word to a known line in the RAM accessed most. Returns for how many
/// cycles that waits.
#[inline(always)]
pub fn write_known(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes): (u32, u32),
    value: u32,
    now: u64,
) -> Option<u64> {
    if !pipeline.memory.writes_known((address, bytes), now) {
        return None;
    }
    let (bus, [a, b, c, d]) = (&mut arch.system.bus, value.to_le_bytes());
    let is_stored = match bytes {
        1 => bus.ram_store(address, [a]),
        2 => bus.ram_store(address, [a, b]),
        _ => bus.ram_store(address, [a, b, c, d]),
    };
    is_stored.then(|| pipeline.memory.store_dirty(address, now))
}

/// Writes the lower bytes of a word to memory if that waits at most for earlier stores. Returns for how
/// many cycles.
#[inline(always)]
fn write(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    at: (u32, u32),
    value: u32,
    now: u64,
) -> Option<u64> {
    let stalls = write_known(arch, pipeline, at, value, now);
    stalls.or_else(|| write_elsewhere(arch, pipeline, at, value, now))
}

/// Writes bytes as [`write`] does, if they do not cross a boundary of 64 bits.
#[inline(always)]
pub fn write_within(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes): (u32, u32),
    value: u32,
    now: u64,
) -> Option<u64> {
    if crosses(address, bytes) {
        return None;
    }
    write(arch, pipeline, (address, bytes), value, now)
}

#[inline(never)]
fn write_elsewhere(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    (address, bytes): (u32, u32),
    value: u32,
    now: u64,
) -> Option<u64> {
    let [a, b, c, d] = value.to_le_bytes();
    let store = |arch: &mut Arch, memory, place| {
        let bus = &mut arch.system.bus;
        match bytes {
            1 => bus.store_at(memory, place, [a]),
            2 => bus.store_at(memory, place, [a, b]),
            _ => bus.store_at(memory, place, [a, b, c, d]),
        }
    };
    // Of a line that is known, only the memory is not the main RAM, or has code near the address.
    if pipeline.memory.writes_known((address, bytes), now) {
        let (memory, place) = pipeline.memory.data.lines.at(address).place(address);
        let is_stored = store(arch, memory, place);
        arch.system.bus.note_slow(address, Place { memory, offset: place as u32 });
        return is_stored.then(|| pipeline.memory.store_dirty(address, now));
    }
    if !permits(arch, pipeline, (address, bytes, bytes), WRITES) {
        return None;
    }
    let window = pipeline.windows.find(address);
    let cached = match window.speed {
        Speed::Coupled => None,
        Speed::Cached(..)
            if crosses(address, bytes) || !pipeline.memory.stores_soon(address, bytes, now) =>
        {
            return None;
        }
        Speed::Cached(policy, latency) => Some((policy, latency)),
    };
    let (memory, place) = (window.memory, window.place(address));
    if !store(arch, memory, place) {
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

fn load(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    let it = &node.it;
    let Op::Load(width, form, _) = it.op else { return LEAVE };
    let (address, base) = arch.addresses(it, form);
    let at = (address, width.bytes());
    let Some(value) = read(arch, pipeline, at, issue) else { return LEAVE };
    if form.index != Index::Offset {
        arch.cpu.set(it.n, base);
    }
    arch.cpu.set(it.d, width.extend(value));
    key::access(crosses(address, width.bytes()))
}

fn store(arch: &mut Arch, pipeline: &mut Pipeline, node: &Node, issue: u64) -> u32 {
    let it = &node.it;
    let Op::Store(width, form, _) = it.op else { return LEAVE };
    let (address, base) = arch.addresses(it, form);
    let (at, value) = ((address, width.bytes()), arch.cpu.get(it.d));
    let Some(stalls) = write(arch, pipeline, at, value, issue) else { return LEAVE };
    if form.index != Index::Offset {
        arch.cpu.set(it.n, base);
    }
    key::access(crosses(address, width.bytes())) | key::stalled(stalls)
}

/// Returns the part of a key for an access to words that begin at an address.
pub const fn key_of_words(address: u32) -> u32 {
    key::access(address >> 2 & 1 == 1)
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
    let mut done = Effects::default();
    let moved = match it.op {
        Op::Float(_) => arch.perform(it, CounterValues::default(), node.state != 0, &mut done),
        Op::TableBranch => arch.branch(it, issue, &mut done),
        _ => arch.transfer(it, issue, &mut done),
    };
    if moved.is_err() {
        return LEAVE;
    }
    for line in [address, address + bytes - 1] {
        pipeline.keep_line(line, arch.cpu.is_privileged());
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

/// Returns how well a load's branch was predicted, as part of a key, and trains the predictor.
fn prediction_key(pipeline: &mut Pipeline, node: &Node, jump: Option<u32>) -> u32 {
    key::prediction(pipeline.branch_outcome(node.flow, node.moves, &node.place, jump))
}

/// Returns the function of a load or store, if it has one.
pub fn pick(it: &Instruction) -> Option<Run> {
    let plain = |address: Address| {
        it.aux == 1 || it.n != 15 && (address.offset == Offset::Immediate || it.m != 15)
    };
    Some(match it.op {
        Op::Load(Width::Word, _, Rights::Own) if it.d == 15 => several,
        Op::TableBranch => several,
        Op::Load(_, address, Rights::Own) if it.d != 15 && plain(address) => load,
        Op::Store(_, address, Rights::Own) if it.d != 15 && plain(address) => store,
        Op::LoadDual(address) | Op::StoreDual(address) if plain(address) => several,
        Op::LoadMultiple(_, _, Bank::Own) | Op::StoreMultiple(_, _, Bank::Own) if it.n != 15 => {
            several
        }
        Op::Float(FloatOp::Vldr | FloatOp::Vstr | FloatOp::Vldm | FloatOp::Vstm) => several,
        _ => return None,
    })
}
