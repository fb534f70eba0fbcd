//! A block of registers that follow the rules of the soc file.
//!
//! Most of what firmware waits for is a bit that says "ready". Which bit follows which is data: see
//! [`crate::soc::PeripheralRegister`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pins::{Drive, DrivenPins};
use super::supplies::OwnSupply;
use super::wires::{OutputEdges, Signals};
use super::{DeviceModel, Env, FlashEffect, FlashPage};
use crate::soc::{
    Act, ActHow, Control, Follow, FollowHow, Peripheral, PeripheralClock, PeripheralRegister, Pins,
    Soc,
};
use crate::timing::{LineMemories, LineMemory, Setting, Switch};

/// A register's rules, with the names in them resolved.
#[derive(Debug)]
struct Rules {
    register: PeripheralRegister,
    /// For each entry of `register.follows`, the offset of the register that it names.
    followed: Vec<u32>,
    /// For each entry of `register.acts`, the offset of the register that it names.
    acted_on: Vec<u32>,
    /// For each entry of `register.locks`, the offset of the register that it names.
    locked_by: Vec<u32>,
    /// The registers that `register.pulled` names.
    pulled: Option<(u32, u32)>,
    /// The memory that `register.controls` names.
    memory: Option<usize>,
    /// The memories that `register.programs` and `register.erases` name.
    programs: Option<usize>,
    erases: Option<usize>,
    /// The offset of the register from which `register.erases` takes an address.
    erased_by: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Registers {
    /// Sorted by offset.
    rules: Arc<Vec<Rules>>,
    /// Written values by offset; a register that is not listed holds its reset value.
    written: BTreeMap<u32, u32>,
    retention: Retention,
    /// Whether the program may write what the block's `writable_by` guards.
    guard: Guard,
    /// That is all of it.
    is_guarded_whole: bool,
    /// The last number of the random sequence.
    random: u32,
    /// The pins that it shows, with the offsets of their registers.
    pins: Vec<(Pins, u32)>,
    /// The pins driven from outside, by the offset of their register and their bit.
    driven: DrivenPins<(u32, u8)>,
    /// The levels of the first register of pins, apart from those, and their edges since they were last taken.
    levels: u32,
    edges: OutputEdges,
}

/// Whether what is guarded can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    Open,
    Closed,
}

/// How words without rules behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retention {
    /// They keep what the program writes.
    Volatile,
    /// They ignore the program's writes, and read as all ones while erased.
    Nonvolatile,
}

/// The seed of each sequence: any number but 0 (G. Marsaglia, Xorshift RNGs, 2003).
const SEED: u32 = 2_463_534_242;

const fn next_random(mut last: u32) -> u32 {
    last ^= last << 13;
    last ^= last >> 17;
    last ^ last << 5
}

/// Returns a mask of `width` ones from bit 0 on.
const fn ones(width: u8) -> u32 {
    if width >= 32 { u32::MAX } else { (1 << width) - 1 }
}

/// Modes of a pin (RM0090, GPIOx_MODER).
const OUTPUT: u32 = 1;
const ANALOG: u32 = 3;

/// Returns the mode of a pin, of which a register holds two bits each.
const fn mode_of(modes: u32, pin: u32) -> u32 {
    modes >> (2 * pin) & 3
}

impl Registers {
    pub fn new(peripheral: &Peripheral, soc: &Soc) -> Self {
        let offset_of = |name: &str| {
            let found = peripheral.registers.iter().find(|register| register.name == name);
            found.map_or(0, |register| register.offset)
        };
        let offsets_of = |register: &PeripheralRegister, fields: &[Follow]| {
            let named = fields.iter().map(|field| field.register.as_deref());
            named.map(|name| name.map_or(register.offset, offset_of)).collect()
        };
        let memory_of = |name: &str| soc.memories.iter().position(|memory| memory.name == name);
        let mut rules = Vec::new();
        for register in &peripheral.registers {
            let at = rules.partition_point(|it: &Rules| it.register.offset <= register.offset);
            rules.insert(
                at,
                Rules {
                    followed: offsets_of(register, &register.follows),
                    acted_on: register.acts.iter().map(|act| offset_of(&act.on)).collect(),
                    locked_by: offsets_of(register, &register.locks),
                    pulled: register
                        .pulled
                        .as_ref()
                        .map(|it| (offset_of(&it.mode), offset_of(&it.pull))),
                    memory: register.controls.as_ref().and_then(|it| memory_of(&it.memory)),
                    programs: register.programs.as_ref().and_then(|it| memory_of(&it.memory)),
                    erases: register.erases.as_ref().and_then(|it| memory_of(&it.memory)),
                    erased_by: register
                        .erases
                        .as_ref()
                        .and_then(|erase| erase.address.as_deref())
                        .map(offset_of),
                    register: register.clone(),
                },
            );
        }
        let pins = peripheral.pins.iter().filter_map(|pins| {
            let register = pins.register.as_ref()?;
            Some((pins.clone(), offset_of(register)))
        });
        let pins = pins.collect();
        let retention =
            if peripheral.nonvolatile { Retention::Nonvolatile } else { Retention::Volatile };
        let has_guarded = rules.iter().any(|rules| rules.register.guarded != 0);
        let mut block = Self {
            rules: Arc::new(rules),
            written: BTreeMap::new(),
            retention,
            guard: Guard::Open,
            is_guarded_whole: peripheral.writable_by.is_some() && !has_guarded,
            random: SEED,
            pins,
            driven: DrivenPins::default(),
            levels: 0,
            edges: OutputEdges::default(),
        };
        block.levels = block.own_levels().unwrap_or(0);
        block
    }

    /// Returns the levels of the pins of a port, as far as nothing outside drives them.
    fn own_levels(&self) -> Option<u32> {
        self.pins.first().map(|(_, at)| self.value(*at))
    }

    /// Takes note of the edges of its pins since the last call.
    fn note_levels(&mut self) {
        if let Some(levels) = self.own_levels() {
            self.edges.note(self.levels, levels);
            self.levels = levels;
        }
    }

    /// Returns whether the register at an offset only changes by the program's stores.
    pub fn is_storage_only(&self, offset: u32) -> bool {
        !self.is_nonvolatile() && self.driven.iter().all(|((at, _), _)| at != offset & !3)
    }

    /// Returns whether the register at an offset shows the levels of pins.
    pub fn shows_pins(&self, offset: u32) -> bool {
        self.pins.iter().any(|(_, at)| *at == offset & !3)
    }

    /// Returns whether an image may contain bytes for this block.
    pub fn is_nonvolatile(&self) -> bool {
        self.retention == Retention::Nonvolatile
    }

    /// Programs a byte of the block, as a programmer does.
    pub fn program(&mut self, offset: u32, byte: u8) {
        let shift = offset % 4 * 8;
        let held = self.held(offset & !3) & !(0xFF << shift);
        self.written.insert(offset & !3, held | u32::from(byte) << shift);
    }

    fn rules(&self, offset: u32) -> Option<&Rules> {
        let at = self.rules.binary_search_by_key(&offset, |rules| rules.register.offset).ok()?;
        Some(&self.rules[at])
    }

    fn held(&self, offset: u32) -> u32 {
        self.written
            .get(&offset)
            .copied()
            .or_else(|| self.rules(offset).map(|rules| rules.register.reset))
            .unwrap_or(match self.retention {
                Retention::Volatile => 0,
                Retention::Nonvolatile => u32::MAX,
            })
    }

    /// Returns what a register reads as, apart from pins and random bits.
    pub fn value(&self, offset: u32) -> u32 {
        let mut value = self.held(offset);
        let Some(rules) = self.rules(offset) else { return value };
        for (follow, from) in rules.register.follows.iter().zip(&rules.followed) {
            let field = self.held(*from) >> follow.of & ones(follow.width);
            let (field, width) = match follow.how {
                FollowHow::Equal => (field, follow.width),
                FollowHow::Inverse => (!field & ones(follow.width), follow.width),
                FollowHow::OneHot => (1 << (field & 31), 1 << follow.width.min(5)),
                FollowHow::Or => (value >> follow.bit & ones(follow.width) | field, follow.width),
            };
            value = value & !(ones(width) << follow.bit) | field << follow.bit;
        }
        match rules.pulled {
            Some((mode, pull)) => self.pulled(value, mode, pull),
            None => value,
        }
    }

    /// Returns the levels of pins that nothing drives, given those of outputs. Analog pins read as zero (RM0090,
    /// 8.3.12).
    fn pulled(&self, outputs: u32, mode: u32, pull: u32) -> u32 {
        let (mode, pull) = (self.held(mode), self.held(pull));
        let level = |pin: u32| match mode_of(mode, pin) {
            OUTPUT => outputs >> pin & 1,
            ANALOG => 0,
            _ => (pull >> (2 * pin) & 3 == 1).into(),
        };
        (0..16).fold(0, |levels, pin| levels | level(pin) << pin)
    }

    /// Returns whether a pin that a register shows is in analog mode.
    fn is_analog(&self, offset: u32, pin: u32) -> bool {
        let pulled = self.rules(offset).and_then(|rules| rules.pulled);
        pulled.is_some_and(|(modes, _)| mode_of(self.held(modes), pin) == ANALOG)
    }

    /// Returns the bits that writes do not change now.
    fn locked(&self, rules: &Rules) -> u32 {
        let locks = rules.register.locks.iter().zip(&rules.locked_by);
        let locking = locks.filter(|(lock, by)| {
            let is_set = self.held(**by) >> lock.of & 1 == 1;
            is_set != (lock.how == FollowHow::Inverse)
        });
        locking.fold(0, |locked, (lock, _)| locked | ones(lock.width) << lock.bit)
    }

    fn act(&mut self, act: &Act, on: u32, value: u32) {
        let bits = value & ones(act.width) << act.bit;
        if bits == 0 {
            return;
        }
        let bits = act.value.unwrap_or(bits >> act.bit);
        let held = self.held(on);
        let held = match act.how {
            ActHow::Set => held | bits,
            ActHow::Clear => held & !bits,
            ActHow::Flip => held ^ bits,
            ActHow::Store => bits,
        };
        self.written.insert(on, held);
    }

    /// Returns the lines of EXTI that it connects, with the ports to which it does after a reset.
    pub fn initial_routes(&self) -> impl Iterator<Item = (u8, u8)> {
        let registers = self.rules.iter().map(|rules| &rules.register);
        let routing =
            registers.filter_map(|register| Some((register.routes.as_ref()?, register.reset)));
        routing.flat_map(|(routes, reset)| routes.of(reset))
    }

    /// Returns the pins that its pads may pull up, and whether they do after a reset.
    pub fn initial_pulls(&self) -> impl Iterator<Item = (u8, bool)> {
        let registers = self.rules.iter().map(|rules| &rules.register);
        registers.filter_map(|register| Some(register.pulls_up?.of(register.reset)))
    }

    /// Returns the offset of the register by which a memory accepts stores.
    pub fn unlocks(&self, memory: usize) -> Option<u32> {
        let rules = self.rules.iter().find(|rules| rules.programs == Some(memory))?;
        Some(rules.register.offset)
    }

    /// Applies the registers' values to the memories that they control. Returns whether there are any.
    pub fn control_memories(&self, memories: &mut LineMemories) -> bool {
        let mut controls = false;
        for rules in self.rules.iter() {
            if let (Some(control), Some(memory)) = (&rules.register.controls, rules.memory) {
                apply(control, self.value(rules.register.offset), &mut memories[memory]);
                controls = true;
            }
        }
        controls
    }
}

/// Applies a register's value to a memory.
fn apply(control: &Control, value: u32, memory: &mut LineMemory) {
    if let Some((bit, width)) = control.wait_states {
        memory.set(Setting::WaitStates((value >> bit & ones(width)) as u8));
    }
    let is_set = |bit: u8| value >> bit & 1 == 1;
    let switch = |bit: u8| if is_set(bit) { Switch::On } else { Switch::Off };
    let switches = [
        control.prefetch.map(|bit| Setting::Prefetch(switch(bit))),
        control.instruction_cache.map(|bit| Setting::InstructionCache(switch(bit))),
        control.data_cache.map(|bit| Setting::DataCache(switch(bit))),
        control.cache.map(|bit| Setting::SharedCache(switch(bit))),
        control
            .empty_instruction_cache
            .filter(|bit| is_set(*bit))
            .map(|_| Setting::EmptyInstructionCache),
        control.empty_data_cache.filter(|bit| is_set(*bit)).map(|_| Setting::EmptyDataCache),
        control.empty_cache.filter(|bit| is_set(*bit)).map(|_| Setting::EmptySharedCache),
    ];
    switches.into_iter().flatten().for_each(|setting| memory.set(setting));
}

/// Returns the divisor that a value of STM32's PPRE fields selects (RM0090, 7.3.3), or of HPRE for what all
/// buses come from (RM0433, RCC_D1CFGR).
const fn divisor(clock: PeripheralClock, value: u32) -> u64 {
    match clock {
        PeripheralClock::Ahb => match value & 15 {
            0..8 => 1,
            // There is no division by 32.
            field @ 8..12 => 2 << (field - 8),
            field => 64 << (field - 12),
        },
        _ if value & 4 == 0 => 1,
        _ => 2 << (value & 3),
    }
}

impl DeviceModel for Registers {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        let mut value = self.value(offset);
        for ((_, bit), drive) in self.driven.iter().filter(|((at, _), _)| *at == offset) {
            if !self.is_analog(offset, bit.into()) {
                value = drive.in_register(value, bit, env.now);
            }
        }
        let register = self.rules(offset).map(|rules| &rules.register);
        let random = register.map_or(0, |register| register.random);
        if random == 0 {
            return register.is_none_or(|register| !register.without_model).then_some(value);
        }
        self.random = next_random(self.random);
        Some(value & !random | self.random & random)
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        let is_closed = self.guard == Guard::Closed;
        if self.is_nonvolatile() || is_closed && self.is_guarded_whole {
            return Some(());
        }
        env.effects.registers_written = true;
        let held = self.held(offset);
        let all = Arc::clone(&self.rules);
        let Ok(at) = all.binary_search_by_key(&offset, |rules| rules.register.offset) else {
            self.written.insert(offset, held & !mask | value & mask);
            self.note_levels();
            return Some(());
        };
        let rules = &all[at];
        let Rules { register, acted_on, memory, .. } = rules;
        if register.without_model {
            return None;
        }
        let mask = if is_closed { mask & !register.guarded } else { mask };
        let open = mask & !self.locked(rules);
        let changes = open & register.writable & !register.clear_by_one;
        let cleared = value & mask & register.clear_by_one;
        self.written.insert(offset, (held & !changes | value & changes) & !cleared);
        env.effects.without_model |= register.write_starts || value & mask & register.starts != 0;
        for (act, on) in register.acts.iter().zip(acted_on) {
            self.act(act, *on, value & open);
        }
        self.note_levels();
        for scale in &register.scales {
            let value = self.held(offset) >> scale.bit;
            env.effects.scaled[scale.clock as usize] = Some(divisor(scale.clock, value));
        }
        if let Some(pull) = register.pulls_up {
            env.effects.pulled = Some(pull.of(self.held(offset)));
        }
        if let Some(routes) = &register.routes {
            env.effects.routed.extend(routes.of(self.held(offset)));
        }
        if let (Some(control), Some(memory)) = (&register.controls, memory) {
            apply(control, self.value(offset), &mut env.memories[*memory]);
            env.effects.memory_changed = true;
        }
        if let (Some(program), Some(memory)) = (&register.programs, rules.programs) {
            let field = self.held(offset) >> program.bit & ones(program.width);
            let is_open = field == program.value;
            let effect = if is_open { FlashEffect::Open } else { FlashEffect::Close };
            env.effects.flash.push((memory, effect));
        }
        if let (Some(erase), Some(memory)) = (&register.erases, rules.erases)
            && erase.start.is_none_or(|bit| value & open & 1 << bit != 0)
        {
            let held = self.held(offset);
            let is_one = |bit: u8| held >> bit & 1 == 1;
            let page = match erase.number {
                Some((bit, width)) => FlashPage::Number(held >> bit & ones(width)),
                None => FlashPage::At(rules.erased_by.map_or(value, |offset| self.held(offset))),
            };
            let which = if erase.all.is_some_and(is_one) { FlashPage::All } else { page };
            // What else a register may erase, such as option bytes, has no model.
            if which == FlashPage::All || erase.one.is_none_or(is_one) {
                let effect = FlashEffect::Erase { pages: erase.clone(), which };
                env.effects.flash.push((memory, effect));
            }
            // It takes no time here.
            env.effects.without_model = true;
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }

    fn signals(&mut self) -> Signals {
        Signals { edges: std::mem::take(&mut self.edges), ..Signals::default() }
    }

    fn supply(&mut self, _: u64, supply: OwnSupply) {
        self.guard = if supply.permitted { Guard::Open } else { Guard::Closed };
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        let found = self.pins.iter().find_map(|(pins, at)| Some((*at, pins.bit(pin)?)));
        if let Some(pin) = found {
            self.driven.drive(pin, drive);
        }
    }
}
