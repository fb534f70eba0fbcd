//! Native code against the same instructions one by one.

use std::collections::BTreeMap;

use super::{Exit, NativeCode, NativePages, Way};
use crate::engine::block::{ScheduledOp, lay_out};
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::action::Action;
use crate::exec::tests::{RAM, Random, registers, slots, state};
use crate::exec::{Flow, Standalone};
use crate::isa::{Group, Op, Slot};
use crate::soc::CoreKind;
use crate::state::State;

const ADDRESS: u32 = 0x100;
const RAM_BYTES: usize = 0x1000;
/// Steps of a sequence.
const STEPS: usize = 24;
/// Slots of each operation from which steps are chosen.
const OF_EACH: usize = 64;

const CORES: [CoreKind; 5] = [
    CoreKind::CortexM0,
    CoreKind::CortexM0Plus,
    CoreKind::CortexM4F,
    CoreKind::CortexM7,
    CoreKind::CortexM33,
];

/// What a step does, executed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// What the schedule expects; the pass continues so many steps later.
    Expected(usize),
    /// Another one, with which the pass ends in this way.
    Ends(Way),
    /// A trap, or what is not known here.
    Other,
}

/// Executes a step by itself.
fn execute_alone(state: &mut State, step: &ScheduledOp) -> Effect {
    let slot = step.slot;
    let next =
        ADDRESS.wrapping_add_signed(step.begin.offset.into()).wrapping_add(slot.size().into());
    match step.begin.kind {
        Kind::ExpectedIt | Kind::CheckCondition => {
            let holds = state.cpu.condition_of(slot.imm as u8);
            if holds { Effect::Expected(1) } else { Effect::Ends(Way::Leave) }
        }
        Kind::If(condition) => {
            let skipped = if state.cpu.holds(condition) { 0 } else { slot.aux as usize };
            Effect::Expected(1 + skipped)
        }
        Kind::Hop => Effect::Expected(1 + slot.aux as usize),
        Kind::Skip => Effect::Expected(1),
        kind => {
            state.cpu.pc = next;
            // Lists that are followed write their base back, and have their target where others say so.
            let is_list = kind == Kind::Followed && slot.op.group() == Group::List;
            let alone = if is_list { Slot { aux: 1, ..slot } } else { slot };
            let flow = state.execute_alone(&alone);
            let target = MicroOp { slot, kind: Kind::Followed }.target();
            match (flow, kind) {
                (Ok(Flow::Next), Kind::Plain) => Effect::Expected(1),
                (Ok(Flow::Jump), Kind::Followed) if state.cpu.pc == target => Effect::Expected(1),
                (Ok(Flow::Jump), Kind::Plain) if state.cpu.pc == slot.imm => {
                    Effect::Ends(Way::Jump)
                }
                (Ok(Flow::Next), Kind::Followed) => Effect::Ends(Way::Leave),
                _ => Effect::Other,
            }
        }
    }
}

/// Returns what native code may change.
fn seen(state: &State) -> (Vec<u32>, Vec<u8>, bool) {
    let cpu = &state.cpu;
    let mut registers = cpu.r[..15].to_vec();
    registers.extend([cpu.apsr(), cpu.other_sp, cpu.ipsr.into(), cpu.control, cpu.fpscr]);
    let mut ram = vec![0; RAM_BYTES];
    state.bus.peek(RAM, &mut ram);
    (registers, ram, state.bus.code_writes.dirty)
}

/// Returns slots of each operation that native code executes.
fn candidates(state: &State, random: &mut Random) -> Vec<Vec<Slot>> {
    let mut of_each: BTreeMap<Op, (usize, Vec<Slot>)> = BTreeMap::new();
    slots(state, random, |slot, random| {
        let (count, known) = of_each.entry(slot.op).or_default();
        *count += 1;
        // Each one stays with the same probability.
        let place = random.word() as usize % *count;
        if known.len() < OF_EACH {
            known.push(slot);
        } else if let Some(old) = known.get_mut(place) {
            *old = slot;
        }
    });
    let is_native = |slot: &Slot| {
        let [step] = lay_out(ADDRESS, &[MicroOp::plain(*slot)], state.rules)[..] else {
            return false;
        };
        let followed = MicroOp::followed(slot, slot.imm & !1).is_some();
        followed || Action::of(&step, |_| None).is_some()
    };
    let mut known: Vec<Vec<Slot>> = of_each.into_values().map(|(_, known)| known).collect();
    for known in &mut known {
        known.retain(is_native);
    }
    known.retain(|known| !known.is_empty());
    known
}

/// Returns a micro-operation for a slot: one that is likely to go as expected in this state, or any.
fn micro_op(state: &State, slot: &Slot, random: &mut Random) -> MicroOp {
    let read = |address: u32| {
        let mut word = [0; 4];
        state.bus.peek(address, &mut word);
        u32::from_le_bytes(word)
    };
    let target = match slot.op {
        Op::Bx | Op::BlxR => state.cpu.get(slot.n),
        Op::Pop | Op::Ldm => {
            let words = slot.imm.count_ones().wrapping_sub(1);
            read(state.cpu.get(slot.n).wrapping_add(4 * words))
        }
        _ => slot.imm,
    };
    let follows = match slot.op.group() {
        Group::Branch => random.word() & 1 == 0,
        _ => slot.is_indirect() || slot.op == Op::Bl,
    };
    let micro = if follows { MicroOp::followed(slot, target & !1) } else { None };
    let condition = random.word() % 14;
    let it = Slot { op: Op::It, imm: condition << 4, ..Slot::undefined(2) };
    match random.word() % 16 {
        0 => MicroOp::expected_it(it, random.word() & 1 == 0),
        1 => MicroOp::skip(*slot, 1),
        _ => micro.unwrap_or(MicroOp::plain(*slot)),
    }
}

/// Returns a sequence of steps, chosen while they are executed.
fn sequence(state: &State, known: &[Vec<Slot>], random: &mut Random) -> Vec<ScheduledOp> {
    let mut now = state.clone();
    let mut micros: Vec<MicroOp> = Vec::new();
    let any = |random: &mut Random| {
        let of_one = &known[random.word() as usize % known.len()];
        of_one[random.word() as usize % of_one.len()]
    };
    while micros.len() < STEPS {
        let micro = micro_op(&now, &any(random), random);
        if random.word() & 15 == 0 {
            conditional(&mut micros, random, any);
            continue;
        }
        let steps = lay_out(ADDRESS, &[micro], now.rules);
        execute_alone(&mut now, &steps[0]);
        micros.push(micro);
    }
    lay_out(ADDRESS, &micros, state.rules)
}

/// Appends steps that a condition skips, and some that the other outcome skips.
fn conditional(micros: &mut Vec<MicroOp>, random: &mut Random, any: impl Fn(&mut Random) -> Slot) {
    let calculates = |random: &mut Random| loop {
        let slot = any(random);
        let micro = MicroOp::plain(slot);
        if micro.only_calculates() {
            return micro;
        }
    };
    let skip = |kind, aux| MicroOp { slot: Slot { op: Op::Nop, aux, ..Slot::undefined(2) }, kind };
    micros.push(skip(Kind::If((random.word() % 14) as u8), 3));
    micros.extend([calculates(random), calculates(random), skip(Kind::Hop, 1), calculates(random)]);
}

/// How often something happened.
#[derive(Debug, Default)]
struct Counts {
    executed: BTreeMap<String, usize>,
    exits: BTreeMap<String, usize>,
    entered_again: usize,
}

/// Executes steps in native code and one by one.
fn compare(state: &State, steps: &[ScheduledOp], counts: &mut Counts) {
    let Some(native) = NativeCode::of(state, &NativePages::default(), ADDRESS, steps) else {
        return;
    };
    let (mut one, mut other) = (state.clone(), state.clone());
    let mut at = 0;
    while at < steps.len() {
        if let Some(Exit { step, way }) = native.execute(&mut one, at) {
            assert!(step <= steps.len());
            counts.entered_again += usize::from(at > 0);
            let mut alone = at;
            while alone < step {
                let effect = execute_alone(&mut other, &steps[alone]);
                let Effect::Expected(by) = effect else {
                    panic!("{:?} ends with {effect:?}", steps[alone]);
                };
                if let Some(action) = Action::of(&steps[alone], |_| None) {
                    let name = format!("{action:?}");
                    let name = name.split([' ', '(']).next().unwrap_or_default().to_owned();
                    *counts.executed.entry(name).or_default() += 1;
                }
                alone += by;
            }
            assert_eq!(alone, step, "ends elsewhere");
            let shown: Vec<_> =
                steps[at..step].iter().map(|step| (step.begin.kind, step.slot)).collect();
            assert_eq!(seen(&one).0, seen(&other).0, "{shown:x?}");
            assert!(seen(&one) == seen(&other), "{shown:x?}");
            *counts.exits.entry(format!("{way:?}")).or_default() += 1;
            at = step;
            if matches!(way, Way::Leave | Way::Jump) {
                assert_eq!(execute_alone(&mut other, &steps[at]), Effect::Ends(way));
                return;
            }
        }
        let Some(step) = steps.get(at) else { return };
        let effect = execute_alone(&mut other, step);
        assert_eq!(execute_alone(&mut one, step), effect);
        let Effect::Expected(by) = effect else { return };
        at += by;
    }
}

#[test]
fn native_code_does_what_its_instructions_do_one_by_one() {
    let mut random = Random(5);
    let mut counts = Counts::default();
    for core in CORES {
        let empty = state(core);
        let known = candidates(&empty, &mut random);
        for round in 0..6_000 {
            let mut state = empty.clone();
            state.cpu = registers(&mut random);
            let words = (0..RAM_BYTES / 4).flat_map(|_| {
                let word = random.word();
                (if word & 1 == 0 { word } else { RAM + (word >> 16 & 0xFFF) }).to_le_bytes()
            });
            let bytes: Vec<u8> = words.collect();
            state.bus.program(RAM, &bytes);
            if round % 4 == 0 {
                state.bus.code_writes.cover(RAM + (random.word() & 0xFFC));
            }
            if round % 4 == 1 {
                state.watches.stack.begin(RAM + 0x800 - (random.word() & 0x3C), RAM + 0x800);
                state.cpu.control = random.word() & 2;
            }
            let steps = sequence(&state, &known, &mut random);
            compare(&state, &steps, &mut counts);
        }
    }
    for action in [
        "Nothing",
        "Calculate",
        "ShiftByRegister",
        "Multiply",
        "MultiplyAccumulate",
        "Extend",
        "SwapBytes",
        "MoveTop",
        "ExtractField",
        "InsertField",
        "Load",
        "Store",
        "LoadPair",
        "StorePair",
        "LoadList",
        "StoreList",
        "Expect",
        "ExpectZero",
        "ExpectTarget",
        "Link",
        "If",
        "Hop",
    ] {
        let times = counts.executed.get(action).copied().unwrap_or(0);
        assert!(times > 100, "{action}: {times} times\n{counts:#?}");
    }
    for way in ["Own", "Linked", "Leave", "Jump"] {
        assert!(counts.exits.get(way).is_some_and(|times| *times > 500), "{way}\n{counts:#?}");
    }
    assert!(counts.entered_again > 500, "{counts:#?}");
}

#[test]
fn memory_for_code_is_bounded_and_comes_back() {
    // More than half of an area each.
    let code = vec![0xC3; 200 << 10];
    let pages = NativePages::default();
    let mut functions: Vec<_> = (0..4).map(|_| pages.publish(&code)).collect();
    assert!(functions.iter().all(Option::is_some) && !pages.are_full());
    assert!(pages.publish(&code).is_none() && pages.are_full());
    // Of those that are full, one whose code nobody has any more makes room.
    functions.swap_remove(0);
    assert!(!pages.are_full());
    assert!(pages.publish(&code).is_some());
    assert!(NativePages::default().publish(&vec![0xC3; 300 << 10]).is_none(), "more than an area");
}

#[test]
fn no_code_is_made_once_that_is_switched_off() {
    let mut pages = NativePages::default();
    assert!(!pages.are_full());
    pages.switch_off();
    assert!(pages.are_full());
}
