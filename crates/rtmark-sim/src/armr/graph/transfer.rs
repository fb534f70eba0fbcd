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
    if !permits(arch, pipeline, (address, bytes, bytes), READS) {
        return LEAVE;
    }
    let window = pipeline.windows.find(address);
    let is_coupled = window.speed == Speed::Coupled;
    if !is_coupled && !pipeline.memory.reads_without_wait(address, bytes, issue) {
        return LEAVE;
    }
    let (bus, place) = (&arch.system.bus, window.place(address));
    let loaded = match bytes {
        1 => bus.load_at(window.memory, place).map(|[byte]: [u8; 1]| u32::from(byte)),
        2 => bus.load_at(window.memory, place).map(|half| u16::from_le_bytes(half).into()),
        _ => bus.load_at(window.memory, place).map(u32::from_le_bytes),
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
    if !permits(arch, pipeline, (address, bytes, bytes), WRITES) {
        return LEAVE;
    }
    let window = pipeline.windows.find(address);
    let cached = match window.speed {
        Speed::Coupled => None,
        Speed::Cached(..)
            if crosses(address, bytes) || !pipeline.memory.stores_soon(address, bytes, issue) =>
        {
            return LEAVE;
        }
        Speed::Cached(policy, latency) => Some((policy, latency)),
    };
    let [a, b, c, d] = arch.cpu.get(it.d).to_le_bytes();
    let (bus, place) = (&mut arch.system.bus, window.place(address));
    let is_stored = match bytes {
        1 => bus.store_at(window.memory, place, [a]),
        2 => bus.store_at(window.memory, place, [a, b]),
        _ => bus.store_at(window.memory, place, [a, b, c, d]),
    };
    if !is_stored {
        return LEAVE;
    }
    if writes_back::<FORM>(form) {
        arch.cpu.set(it.n, base);
    }
    let stalls = cached.map_or(0, |(policy, latency)| {
        let switches = pipeline.switches;
        pipeline.memory.store_cached(address, policy, switches, latency, issue)
    });
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
