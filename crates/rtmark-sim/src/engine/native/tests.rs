//! Native code against the same instructions one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Exit, Links, NativeCode, NativePages, NewLink, Way, run};
use crate::engine::block::{Block, Code, ScheduledOp, lay_out};
use crate::engine::cursor::Cursor;
use crate::engine::entries::Entry;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::action::Action;
use crate::engine::native::fetches::Fetching;
use crate::engine::native::links::TARGETS;
use crate::engine::native::selection::Known;
use crate::engine::native::translator::Translation;
use crate::exec::tests::{RAM, Random, registers, slots, state};
use crate::exec::{Ending, Flow, Standalone};
use crate::isa::{Group, Op, Slot, decode};
use crate::soc::CoreKind;
use crate::state::State;
use crate::timing::Rules;

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
        Kind::Line => {
            state.line = slot.imm;
            Effect::Expected(1)
        }
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
fn seen(state: &State) -> (Vec<u32>, Vec<u8>, [bool; 2], u32) {
    let cpu = &state.cpu;
    let mut registers = cpu.r[..15].to_vec();
    registers.extend([cpu.apsr(), cpu.other_sp, cpu.ipsr.into(), cpu.control, cpu.fpscr]);
    let mut ram = vec![0; RAM_BYTES];
    state.bus.peek(RAM, &mut ram);
    (registers, ram, [state.bus.code_writes.dirty, state.exclusive], state.line)
}

/// What is known of steps where code never waits to be fetched.
fn known(rules: &Rules) -> Known<'_> {
    Known { fetching: Fetching::Immediate, rules, code_shows: false, literal: &|_| None }
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
        followed || Action::of(&step, &known(state.rules)).is_some()
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
        2 if state.never_waits_for_code() => MicroOp::line(slot, random.word(), 0),
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
    may_be_linked: usize,
}

/// Executes steps in native code and one by one.
fn compare(state: &State, steps: &[ScheduledOp], counts: &mut Counts) {
    let Some(native) = NativeCode::of(state, &NativePages::default(), ADDRESS, steps, None) else {
        return;
    };
    let (mut one, mut other) = (state.clone(), state.clone());
    let mut at = 0;
    let links = Links::with_room(&native);
    while at < steps.len() {
        if let Some(Exit { step, way, link, is_late, .. }) = native.execute(&mut one, at, &links) {
            assert!(!is_late, "nothing is linked");
            counts.may_be_linked += usize::from(link.is_some());
            assert!(step <= steps.len());
            counts.entered_again += usize::from(at > 0);
            let mut alone = at;
            while alone < step {
                let effect = execute_alone(&mut other, &steps[alone]);
                let Effect::Expected(by) = effect else {
                    panic!("{:?} ends with {effect:?}", steps[alone]);
                };
                if let Some(action) = Action::of(&steps[alone], &known(state.rules)) {
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
            if round % 8 < 3 {
                state.bus.code_place(ADDRESS);
                state.bus.program(0, &bytes[..0x800]);
                for register in 0..4 {
                    state.cpu.r[register] = random.word() & 0x7FC;
                }
            }
            if round % 2 == 0 {
                state.line_mask = state.lines.near().line_mask();
            }
            state.exclusive = round % 3 == 0;
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
        "CountLeadingZeros",
        "SwapBytes",
        "MoveTop",
        "ExtractField",
        "InsertField",
        "MultiplyLong",
        "MultiplyHalves",
        "Load",
        "Store",
        "LoadExclusive",
        "StoreExclusive",
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
        "EnterLine",
    ] {
        let times = counts.executed.get(action).copied().unwrap_or(0);
        assert!(times > 100, "{action}: {times} times\n{counts:#?}");
    }
    for way in ["Own", "Linked", "Leave", "Jump"] {
        assert!(counts.exits.get(way).is_some_and(|times| *times > 500), "{way}\n{counts:#?}");
    }
    assert!(counts.entered_again > 500 && counts.may_be_linked > 500, "{counts:#?}");
}

/// A pass through a block with native code, from where the state is.
fn pass<'a>(state: &mut State, entry: &'a Entry, links: &'a Links, is_single: bool) -> Cursor<'a> {
    let mut pass = Cursor::from(state.progress());
    (pass.links, pass.is_single) = (Some(links), is_single);
    pass.enter(&entry.steps, entry.last);
    pass.native = entry.plans.native.as_ref();
    let rest = pass.rest();
    let ending = run(state, &mut pass, rest);
    pass.complete(if ending == Ending::Jump { Flow::Jump } else { Flow::Next });
    state.set_progress(pass.from);
    pass
}

/// An entry for twelve times `adds r0, #1`, and two more instructions; code never waits in the state.
fn entry(state: &mut State, last: [u16; 2]) -> Entry {
    state.line_mask = state.lines.near().line_mask();
    let pages = NativePages::default();
    let decoded = |first: u16| decode(ADDRESS + 26, first, 0, |_| true);
    let mut slots = vec![MicroOp::plain(decoded(0x3001)); 12];
    slots.extend(last.map(|first| MicroOp::plain(decoded(first))));
    let block = Block::new(ADDRESS, 0, slots, Vec::new(), None, state.rules);
    let block = block
        .without_profile()
        .with_native_code(|address, steps| NativeCode::of(state, &pages, address, steps, None));
    let Code::Scheduled(passage) = &block.code else { panic!("there is no pipeline") };
    let passage = passage.clone();
    Entry::new(Arc::new(block), &passage)
}

/// Puts the state before an entry, with these values in r0 to r2. Returns links with room for its exits.
fn begin(state: &mut State, entry: &Entry, values: [u32; 3]) -> Links {
    state.cpu.pc = ADDRESS;
    state.cpu.r[..3].copy_from_slice(&values);
    state.deadline = 1_000_000;
    let mut links = Links::default();
    links.make_room(entry);
    links
}

/// Executes a pass that ends with an exit without a link, and returns the link from there to the same entry.
fn link(state: &mut State, entry: &Entry, links: &Links) -> NewLink {
    let unlinked = pass(state, entry, links, false).unlinked.expect("an exit without a link");
    let native = entry.plans.native.as_ref().expect("native code");
    links.wanted(unlinked, entry, native).expect("a pass that may follow")
}

/// Returns the cycles, the instructions, r0 and the program counter.
fn progress(state: &State) -> (u64, u64, u32, u32) {
    (state.cycles, state.instructions, state.cpu.r[0], state.cpu.pc)
}

#[test]
fn jumps_to_linked_targets_need_no_function() {
    let mut state = state(CoreKind::CortexM0);
    // nop; bx r2
    let entry = entry(&mut state, [0xBF00, 0x4710]);
    let mut links = begin(&mut state, &entry, [0, 0, ADDRESS | 1]);
    let link = link(&mut state, &entry, &links);
    let exit = link.exit;
    assert_eq!((progress(&state), exit.is_indirect), ((16, 14, 12, ADDRESS), true));
    links.add(link);

    // The last step of the pass that begins in cycle 80 begins in cycle 93.
    state.deadline = 94;
    assert!(pass(&mut state, &entry, &links, false).unlinked.is_none());
    assert_eq!(progress(&state), (96, 84, 72, ADDRESS));
    state.deadline = 1_000_000;
    pass(&mut state, &entry, &links, true);
    assert_eq!(progress(&state), (112, 98, 84, ADDRESS), "one by one");

    // Another target in the same place of the table is another one.
    let other = ADDRESS + 2 * TARGETS;
    state.cpu.r[2] = other | 1;
    let unlinked = pass(&mut state, &entry, &links, false).unlinked;
    assert_eq!(progress(&state), (128, 112, 96, other));
    assert_eq!(unlinked.map(|it| it.exit), Some(exit));
    assert!(links.want(exit, ADDRESS + 2), "nothing is there");
    let wanted = (0..32).filter(|_| links.want(exit, other)).count();
    assert_eq!(wanted, 2, "not each time");
}

#[test]
fn passes_are_not_linked_while_fetches_are_checked() {
    let mut state = state(CoreKind::CortexM0);
    let unchecked = entry(&mut state, [0xBF00, 0x4710]);
    state.protected = true;
    let checked = entry(&mut state, [0xBF00, 0x4710]);
    let native = |entry: &Entry| entry.plans.native.as_ref().map(|it| it.function.exits.len());
    assert!(native(&unchecked).is_some_and(|exits| exits > 0));
    assert_eq!(native(&checked), Some(0));
    let links = begin(&mut state, &unchecked, [0, 0, ADDRESS | 1]);
    assert!(pass(&mut state, &unchecked, &links, false).unlinked.is_none(), "not executed");
    state.protected = false;
    assert!(pass(&mut state, &unchecked, &links, false).unlinked.is_some());
}

#[test]
fn linked_passes_follow_each_other_up_to_the_deadline() {
    let mut state = state(CoreKind::CortexM0);
    // subs r1, #1; bne to the first one
    let entry = entry(&mut state, [0x3901, 0xD1F1]);
    let mut links = begin(&mut state, &entry, [0, 1_000, 0]);

    // The branch takes three cycles.
    let link = link(&mut state, &entry, &links);
    let exit = link.exit;
    assert_eq!(progress(&state), (16, 14, 12, ADDRESS));
    links.add(link);

    // The last step of the pass that begins in cycle 80 begins in cycle 93, that of the next one in cycle 109.
    state.deadline = 109;
    assert_eq!(pass(&mut state, &entry, &links, false).unlinked.map(|it| it.exit), None);
    assert_eq!(progress(&state), (96, 84, 72, ADDRESS));
    state.deadline = 110;
    pass(&mut state, &entry, &links, false);
    assert_eq!(progress(&state), (112, 98, 84, ADDRESS));

    state.deadline = 1_000_000;
    pass(&mut state, &entry, &links, true);
    assert_eq!(progress(&state), (128, 112, 96, ADDRESS), "one by one");

    // Twice more, and then in sequence.
    state.cpu.r[1] = 3;
    let other = pass(&mut state, &entry, &links, false).unlinked.map(|it| it.exit);
    assert_eq!(progress(&state), (128 + 16 + 16 + 14, 154, 132, ADDRESS + 28));
    assert!(other.is_some_and(|other| other != exit));

    state.cpu.pc = ADDRESS;
    links.clear();
    pass(&mut state, &entry, &links, false);
    assert_eq!(progress(&state), (174 + 16, 168, 144, ADDRESS), "no longer linked");
}

/// Returns code of some bytes, with so many exits that may be linked.
fn returns(bytes: usize, exits: u32) -> Translation {
    Translation {
        code: vec![0xC3; bytes],
        entries: Vec::new(),
        begin: None,
        exits,
        contents: None,
        is_planned: false,
        reads_code: false,
        link_places: Vec::new(),
    }
}

#[test]
fn memory_for_code_is_bounded_and_comes_back() {
    // More than half of an area each.
    let code = || returns(200 << 10, 0);
    let pages = NativePages::default();
    let mut functions: Vec<_> = (0..4).map(|_| pages.publish(code())).collect();
    assert!(functions.iter().all(Option::is_some) && !pages.are_full());
    assert!(pages.publish(code()).is_none() && pages.are_full());
    // Of those that are full, one whose code nobody has any more makes room.
    functions.swap_remove(0);
    assert!(!pages.are_full());
    assert!(pages.publish(code()).is_some());
    assert!(NativePages::default().publish(returns(300 << 10, 0)).is_none(), "more than an area");
}

#[test]
fn exits_are_numbered_up_to_a_limit() {
    let pages = NativePages::default();
    let exits = |count| pages.publish(returns(1, count)).map(|function| function.exits.clone());
    assert_eq!(exits(3), Some(0..3));
    assert_eq!(exits(0), Some(3..3));
    assert_eq!(exits((1 << 17) - 3), Some(3..1 << 17));
    assert_eq!(exits(0), Some(1 << 17..1 << 17));
    assert!(exits(1).is_none() && pages.are_full());
}

#[test]
fn no_code_is_made_once_that_is_switched_off() {
    let mut pages = NativePages::default();
    assert!(!pages.are_full());
    pages.switch_off();
    assert!(pages.are_full());
}
