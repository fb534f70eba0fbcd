//! The timers of STM32 (RM0090, chapters 17 to 20): they count up, down or both in turn, raise interrupts at
//! updates and when the count equals a compare register, update only every so many rounds (RCR), and can stop
//! after an update.
//!
//! What a simpler one lacks reads as zero: RCR, channels, and with fewer than four of them all but counting up. Without
//! a model, and reported: slave modes and external clocks (SMCR), captures, bursts of DMA requests (DMAR), and the
//! interrupts and DMA requests of triggers, breaks and commutation. Outputs are not modelled either: nothing in the chip waits for them.

mod course;

use crate::devices::{ClockRatio, DeviceModel, Env};
use crate::soc::Peripheral;
use course::{Alignment, Course, End, Leg};

const CR1: usize = 0;
const CR2: usize = 1;
const SMCR: usize = 0x08 / 4;
const DIER: usize = 0x0C / 4;
const CCMR1: usize = 0x18 / 4;
const CCMR2: usize = 0x1C / 4;
const CCER: usize = 0x20 / 4;
const PSC: usize = 0x28 / 4;
const ARR: usize = 0x2C / 4;
const RCR: usize = 0x30 / 4;
const CCR1: usize = 0x34 / 4;
const CCR4: usize = CCR1 + CHANNEL_COUNT - 1;
const CHANNEL_COUNT: usize = 4;

/// Bits of CR1.
const ENABLE: u32 = 1;
const NO_UPDATES: u32 = 1 << 1;
const UPDATES_BY_OVERFLOW_ONLY: u32 = 1 << 2;
const ONE_PULSE: u32 = 1 << 3;
const DOWN: u32 = 1 << 4;
const CENTRED: u32 = 3 << 5;
/// CMS = 01: channels match only on the way down; 10: only on the way up.
const MATCHES_DOWN: u32 = 1 << 5;
const MATCHES_UP: u32 = 2 << 5;
const PRELOAD_ARR: u32 = 1 << 7;
const COPY_UPDATE_FLAG: u32 = 1 << 11;
const DITHERING: u32 = 1 << 12;

/// SMS and ECE of SMCR: the counter depends on other timers or on pins.
const MODE: u32 = 1 << 16 | 7;
const EXTERNAL_CLOCK: u32 = 1 << 14;
const FOLLOWS_OTHERS: u32 = MODE | EXTERNAL_CLOCK;

const UPDATE: u32 = 1;
/// The flags of the four channels, and how far above them in DIER their DMA requests are.
const CHANNELS: u32 = 0b11110;
const TO_REQUESTS: u32 = 8;
/// Commutation, trigger and break, in SR, DIER and EGR; the DMA requests of commutation and trigger in DIER, and those of
/// updates and channels.
const OTHER_EVENTS: u32 = 0b1110_0000;
const OTHER_REQUESTS: u32 = 0x6000;
const DMA_REQUESTS: u32 = 0x1F00;
/// CCDS of CR2: channels request at updates.
const REQUESTS_AT_UPDATES: u32 = 1 << 3;

/// The legs for which [`Stm32Timer::due`] looks ahead.
const LOOK_AHEAD: u32 = 8;
/// The legs after which all that can happen in a round has happened.
const SETTLED: u32 = 3;

/// How the outputs are connected to interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wiring {
    /// All to one interrupt.
    Together,
    /// Updates to the first, captures and compares to the second.
    Apart,
}

#[derive(Clone, Debug)]
pub struct Stm32Timer {
    registers: [u32; 32],
    status: u32,
    /// The DMA requests that have not been served, as the bits in `status`.
    requests: u32,
    /// A DMA controller serves its requests.
    has_dma: bool,
    /// The largest value of the counter.
    most: u32,
    /// The values of PSC and of the compare registers that are in effect; these and ARR are buffered.
    prescaler: u32,
    compares: [u32; CHANNEL_COUNT],
    /// How many more overflows and underflows pass before the one that is an update.
    repetitions: u32,
    course: Course,
    wiring: Wiring,
    /// Whether it has RCR.
    repeats: bool,
    /// The flags of the channels that it has.
    channels: u32,
}

impl Stm32Timer {
    /// Creates a timer, whose requests a DMA controller serves or does not.
    pub fn new(peripheral: &Peripheral, has_dma: bool) -> Self {
        let most = if peripheral.counter_bits == Some(32) { u32::MAX } else { 0xFFFF };
        let wiring = if peripheral.irq.len() > 1 { Wiring::Apart } else { Wiring::Together };
        let mut registers = [0; 32];
        registers[ARR] = most;
        Self {
            registers,
            status: 0,
            requests: 0,
            has_dma,
            most,
            prescaler: 0,
            compares: [0; CHANNEL_COUNT],
            repetitions: 0,
            course: Course::new(most),
            wiring,
            repeats: peripheral.repetition_counter != Some(false),
            channels: (2 << peripheral.channel_count()) - 2,
        }
    }

    /// Returns the number of its channels.
    const fn channel_count(&self) -> u32 {
        self.channels.count_ones()
    }

    /// Returns the bits of a register that a timer with fewer channels lacks.
    const fn reserved(&self, at: usize) -> u32 {
        let count = self.channel_count();
        let missing = CHANNELS & !self.channels;
        match at {
            _ if count == 4 => 0,
            CR1 => DOWN | CENTRED,
            DIER => missing | missing << TO_REQUESTS,
            // A byte for each channel, and the highest bit of its mode above both.
            CCMR1 if count < 2 => !(0x0001_00FF * count),
            CCMR2 => u32::MAX,
            CCER => !((1 << (4 * count)) - 1),
            CCR1..=CCR4 if (at - CCR1) as u32 >= count => u32::MAX,
            _ => 0,
        }
    }

    const fn has(&self, bits: u32) -> bool {
        self.registers[CR1] & bits != 0
    }

    /// Returns whether it counts its clock. Encoders, external clocks and other timers have no model: a counter of their
    /// edges stands still (SMS = 1 to 3 and 7, or ECE; RM0090, TIMx_SMCR).
    const fn is_running(&self) -> bool {
        let slave = self.registers[SMCR];
        let counts_edges = slave & EXTERNAL_CLOCK != 0 || matches!(slave & MODE, 1..=3 | 7);
        self.has(ENABLE) && !counts_edges
    }

    /// Returns the cycles of a count.
    const fn step(&self, ratio: ClockRatio) -> u64 {
        (self.prescaler as u64 + 1) * ratio.timer
    }

    /// Returns a channel's byte of CCMR1 or CCMR2.
    const fn channel(&self, at: usize) -> u32 {
        self.registers[CCMR1 + at / 2] >> (at % 2 * 8) & 0xFF
    }

    /// Returns whether a channel compares, rather than captures (CCxS).
    const fn compares(&self, at: usize) -> bool {
        self.channel(at) & 3 == 0
    }

    /// Returns whether a channel's compare register is buffered (OCxPE).
    const fn is_buffered(&self, at: usize) -> bool {
        self.channel(at) & 1 << 3 != 0
    }

    /// Returns whether a channel's matches within a leg set its flag.
    fn matches(&self, at: usize) -> bool {
        let way = self.registers[CR1] & CENTRED;
        let ignored =
            way == MATCHES_DOWN && !self.course.down || way == MATCHES_UP && self.course.down;
        self.compares(at) && !ignored
    }

    fn buffers_differ(&self) -> bool {
        self.prescaler != self.registers[PSC]
            || self.course.reload != self.registers[ARR]
            || self.compares[..] != self.registers[CCR1..=CCR4]
    }

    /// Returns whether every round is like the one before.
    fn is_steady(&self) -> bool {
        self.has(NO_UPDATES) || !self.has(ONE_PULSE) && !self.buffers_differ()
    }

    /// Puts the buffered registers into effect.
    fn load(&mut self, ratio: ClockRatio) {
        self.prescaler = self.registers[PSC];
        self.course.reload = self.registers[ARR];
        self.compares.copy_from_slice(&self.registers[CCR1..=CCR4]);
        self.repetitions = self.registers[RCR];
        self.course.set_step(self.step(ratio));
    }

    /// Sets flags, and requests what DIER says.
    const fn raise(&mut self, events: u32) {
        self.status |= events;
        self.requests |= events & self.registers[DIER] >> TO_REQUESTS;
    }

    /// Returns its DMA requests: update, and the four channels'.
    pub const fn requests(&self) -> u32 {
        self.requests
    }

    /// Ends DMA requests, which have been served.
    pub const fn acknowledge(&mut self, requests: u32) {
        self.requests &= !requests;
    }

    /// Sets the flags of channels that satisfy a condition, given their compare values.
    fn flag(&mut self, condition: impl Fn(&Self, usize, u32) -> bool) {
        for at in 0..CHANNEL_COUNT {
            if condition(self, at, self.compares[at]) {
                self.raise(2 << at & self.channels);
            }
        }
    }

    /// Goes on within a leg.
    fn advance(&mut self, counts: u64, leg: Leg) {
        self.flag(|it, at, value| {
            let to = it.course.counts_to(value, leg);
            it.matches(at) && to.is_some_and(|to| to <= counts)
        });
        self.course.advance(counts);
    }

    /// Ends a leg.
    fn end(&mut self, leg: Leg, ratio: ClockRatio) {
        // A compare value that is never reached counts as reached at the overflow, or at the underflow if the
        // counter only counts down (RM0090, 17.4.5, CC1IF).
        let is_edge = self.course.alignment == Alignment::Edge;
        if leg.end == End::Overflow || leg.end == End::Underflow && is_edge {
            self.flag(|it, at, value| it.compares(at) && value > it.course.reload);
        }
        let cycle = self.course.cycle_of(leg.counts);
        let mut counted = leg;
        if leg.end != End::Wrap {
            let updates = self.repetitions == 0;
            self.repetitions = if updates { self.registers[RCR] } else { self.repetitions - 1 };
            if updates && !self.has(NO_UPDATES) {
                // The next round begins with the new values.
                self.course.advance(leg.counts);
                counted.counts = 0;
                self.load(ratio);
                self.raise(UPDATE);
                if self.has(ONE_PULSE) {
                    self.registers[CR1] &= !ENABLE;
                }
            }
        }
        self.course.turn(counted);
        self.course.run(cycle, self.is_running());
        self.flag(|it, at, value| it.compares(at) && value == it.course.value());
    }

    /// Goes through whole rounds, all like the one before.
    fn skip(&mut self, now: u64) {
        let (counts, legs) = self.course.round();
        let rounds = self.course.counts_until(now) / counts;
        self.course.skip(rounds);
        let (ended, again) = (rounds * legs, u64::from(self.registers[RCR]) + 1);
        match ended.checked_sub(u64::from(self.repetitions) + 1) {
            None => self.repetitions -= ended as u32,
            Some(more) => {
                self.repetitions = (again - 1 - more % again) as u32;
                if !self.has(NO_UPDATES) {
                    self.raise(UPDATE);
                }
            }
        }
    }

    /// Writes a register that keeps its value. Returns whether what it selects has a model.
    fn configure(&mut self, at: usize, before: u32, now: u64) -> bool {
        self.registers[at] &= !self.reserved(at);
        let value = self.registers[at];
        match at {
            CR1 => {
                let (was_centred, is_centred) = (before & CENTRED != 0, value & CENTRED != 0);
                // The hardware determines the direction of a centre-aligned counter.
                if !(was_centred && is_centred) {
                    self.course.down = value & DOWN != 0;
                }
                self.course.alignment =
                    if is_centred { Alignment::Centre } else { Alignment::Edge };
                self.course.face();
                self.course.run(now, self.is_running());
                value & DITHERING == 0
            }
            SMCR => {
                self.course.run(now, self.is_running());
                value & FOLLOWS_OTHERS == 0
            }
            DIER => {
                // What is no longer enabled requests nothing.
                self.requests &= value >> TO_REQUESTS;
                let without_dma = if self.has_dma { 0 } else { DMA_REQUESTS };
                value & (OTHER_EVENTS | OTHER_REQUESTS | without_dma) == 0
            }
            CR2 => value & REQUESTS_AT_UPDATES == 0,
            CCMR1 | CCMR2 | CCER => {
                let captures =
                    |at: usize| !self.compares(at) && self.registers[CCER] >> (4 * at) & 1 != 0;
                let all = !(0..CHANNEL_COUNT).any(captures);
                self.follow_compares();
                all
            }
            RCR if !self.repeats => {
                // Reserved: it stays zero.
                std::mem::take(&mut self.registers[RCR]) == 0
            }
            PSC | RCR => {
                self.registers[at] &= 0xFFFF;
                true
            }
            ARR => {
                self.registers[ARR] &= self.most;
                if !self.has(PRELOAD_ARR) {
                    self.course.reload = self.registers[ARR];
                    self.course.run(now, self.is_running());
                }
                true
            }
            CCR1..=CCR4 => {
                self.registers[at] &= self.most;
                self.follow_compares();
                true
            }
            _ => true,
        }
    }

    /// Puts the compare registers into effect that are not buffered.
    fn follow_compares(&mut self) {
        for at in 0..CHANNEL_COUNT {
            if !self.is_buffered(at) {
                self.compares[at] = self.registers[CCR1 + at];
            }
        }
    }

    /// Generates events by software (EGR). Returns whether all of them have a model.
    fn generate(&mut self, events: u32, now: u64, ratio: ClockRatio) -> bool {
        self.raise(events & self.channels);
        for at in 0..CHANNEL_COUNT {
            if events & self.channels & 2 << at != 0 && !self.compares(at) {
                self.registers[CCR1 + at] = self.course.value();
            }
        }
        if events & UPDATE != 0 {
            if !self.has(NO_UPDATES) {
                self.load(ratio);
                if !self.has(UPDATES_BY_OVERFLOW_ONLY) {
                    self.raise(UPDATE);
                }
            }
            self.course.restart(now);
            self.course.run(now, self.is_running());
        }
        events & OTHER_EVENTS == 0
    }
}

impl DeviceModel for Stm32Timer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 => self.registers[CR1] & !DOWN | if self.course.down { DOWN } else { 0 },
            0x10 => self.status,
            0x14 => 0,
            0x24 => {
                let copy = self.has(COPY_UPDATE_FLAG);
                self.course.value() | (u32::from(copy) & self.status) << 31
            }
            // DMAR accesses other registers.
            0x4C => return None,
            0x04..=0x7C => self.registers[(offset / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let has_model = match offset {
            0x10 => {
                self.status &= value | !mask;
                true
            }
            0x14 => self.generate(value, env.now, env.ratio),
            0x24 => {
                self.course.set(env.now, value);
                true
            }
            0x4C => return None,
            0x00..=0x7C => {
                let at = (offset / 4) as usize;
                let before = self.registers[at];
                self.registers[at] = before & !mask | value;
                self.configure(at, before, env.now)
            }
            _ => return None,
        };
        env.effects.without_model |= !has_model;
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let raised = self.status & self.registers[DIER];
        match self.wiring {
            Wiring::Together => u32::from(raised & (UPDATE | CHANNELS) != 0),
            Wiring::Apart => raised & UPDATE | u32::from(raised & CHANNELS != 0) << 1,
        }
    }

    fn settle(&mut self, now: u64, ratio: ClockRatio) {
        let mut steady = 0;
        loop {
            let (leg, counts) = (self.course.leg(), self.course.counts_until(now));
            if counts < leg.counts {
                self.advance(counts, leg);
                break;
            }
            self.advance(leg.counts - 1, leg);
            self.end(Leg { counts: 1, ..leg }, ratio);
            steady = if self.is_steady() { steady + 1 } else { 0 };
            if steady == SETTLED && self.course.running {
                self.skip(now);
            }
        }
        self.course.set_step(self.step(ratio));
    }

    fn due(&self, ratio: ClockRatio) -> Option<u64> {
        let interrupts = self.registers[DIER] & !self.status;
        let requests = self.registers[DIER] >> TO_REQUESTS & !self.requests;
        let mut wanted = (interrupts | requests) & (UPDATE | CHANNELS);
        for at in (0..CHANNEL_COUNT).filter(|at| !self.compares(*at)) {
            wanted &= !(2 << at);
        }
        if self.has(NO_UPDATES) {
            wanted &= !UPDATE;
        }
        if wanted == 0 {
            return None;
        }
        let mut ahead = self.clone();
        ahead.status &= !wanted;
        for _ in 0..LOOK_AHEAD {
            if !ahead.course.running {
                return None;
            }
            let leg = ahead.course.leg();
            let channels =
                (0..CHANNEL_COUNT).filter(|at| wanted & 2 << at != 0 && ahead.matches(*at));
            let counts =
                channels.filter_map(|at| ahead.course.counts_to(ahead.compares[at], leg)).min();
            if let Some(counts) = counts {
                return Some(ahead.course.cycle_of(counts));
            }
            ahead.end(leg, ratio);
            if ahead.status & wanted != 0 {
                return Some(ahead.course.origin());
            }
        }
        // A device may be due before something happens.
        Some(ahead.course.origin())
    }
}
