//! The real-time clocks of STM32 with a calendar: two alarms, a wake-up timer, shadow and backup registers (RM0090,
//! "Real-time clock (RTC)").
//!
//! Not modelled, and reported when a program selects it: time stamps, tampers, shifts, calibration, the reference
//! clock, and the hour that ADD1H and SUB1H add or take. Outputs at pins have no model. What takes "around two" or "up
//! to two" periods of the clock by the manuals takes two here.

use super::calendar::{Calendar, HourFormat};
use super::course::{Alarm, CalendarCourse, Dividers, Moment};
use super::layout::{RtcLayout, RtcRegister, control, status};
use super::shadow::Shadow;
use super::wakeup::WakeupTimer;
use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env, OutputEdges, Signals};
use crate::soc::Peripheral;

/// The alarms that some chips have.
const ALARMS: usize = 2;
/// The flags and outputs: both alarms, the wake-up timer.
const ALARM_FLAGS: u32 = 0b011;
const WAKEUP_FLAG: u32 = 0b100;
/// The periods of its clock after which what the program has asked for takes effect.
const SYNCHRONIZATION: u64 = 2;
/// The periods of its clock from the end of initialization to the calendar's beginning.
const LOADING: u64 = 4;
/// The bits of the registers that exist.
const TIME_BITS: u32 = 0x7F_7F7F;
const DATE_BITS: u32 = 0xFF_FF3F;
const DIVIDER_BITS: u32 = 0x7F_7FFF;
const ALARM_SUBSECOND_BITS: u32 = 0x0F00_7FFF;

/// What of the last keys has been written to WPR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    None,
    First,
    Both,
}

/// Whether the calendar may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    No,
    /// From this tick on.
    Soon(u64),
    Yes,
}

#[derive(Clone, Debug)]
pub struct CalendarRtc {
    layout: RtcLayout,
    alarm_count: usize,
    has_wakeup: bool,
    ticks: OwnTicks,
    /// DBP.
    writable: bool,
    keys: Keys,
    control: u32,
    dividers: Dividers,
    setting: Setting,
    /// How it counts, unless it is being set or has been set to a date that there is not.
    course: Option<CalendarCourse>,
    /// What the program has set it to, where it does not count.
    set: (u32, u32),
    alarms: [Alarm; ALARMS],
    /// The ticks from which on each alarm may be changed while it is off, and the wake-up timer.
    changeable_from: [u64; ALARMS + 1],
    wakeup: Option<WakeupTimer>,
    wakeup_reload: u32,
    flags: u32,
    /// The moment up to which alarms have been looked for.
    seen: Moment,
    shadow: Shadow,
    calibration: u32,
    tamper: u32,
    pin_outputs: u32,
    backup: Vec<u32>,
    outputs_seen: u32,
    edges: OutputEdges,
}

impl CalendarRtc {
    pub fn new(layout: RtcLayout, peripheral: &Peripheral, ratio: ClockRatio) -> Self {
        let dividers = Dividers(0x7F_00FF);
        let course = CalendarCourse::new(0, Calendar::RESET, dividers);
        let set = Calendar::RESET.registers(HourFormat::TwentyFour);
        Self {
            layout,
            alarm_count: peripheral.channel_count(),
            has_wakeup: peripheral.wakeup_timer.unwrap_or(true),
            ticks: OwnTicks::new(ratio.core),
            writable: true,
            keys: Keys::None,
            control: 0,
            dividers,
            setting: Setting::No,
            seen: course.first_moment(),
            course: Some(course),
            set,
            alarms: [Alarm::default(); ALARMS],
            changeable_from: [0; ALARMS + 1],
            wakeup: None,
            wakeup_reload: 0xFFFF,
            flags: 0,
            shadow: Shadow::new(set),
            calibration: 0,
            tamper: 0,
            pin_outputs: 0,
            backup: vec![0; peripheral.backup_registers.unwrap_or(0).into()],
            outputs_seen: 0,
            edges: OutputEdges::default(),
        }
    }

    const fn format(&self) -> HourFormat {
        if self.control & control::TWELVE_HOURS == 0 {
            HourFormat::TwentyFour
        } else {
            HourFormat::Twelve
        }
    }

    const fn is_enabled(&self, alarm: usize) -> bool {
        self.control & control::ALARM << alarm != 0
    }

    /// Returns whether the registers that keys protect can be written.
    fn is_unlocked(&self) -> bool {
        self.keys == Keys::Both
    }

    fn is_being_set(&self) -> bool {
        self.setting == Setting::Yes
    }

    /// Returns whether an alarm, or the wake-up timer after these, is off and may be changed.
    fn is_changeable(&self, at: usize, tick: u64) -> bool {
        let is_off = if at < ALARMS { !self.is_enabled(at) } else { self.wakeup.is_none() };
        is_off && tick >= self.changeable_from[at]
    }

    /// Returns the registers for time, date and subseconds at a tick.
    fn shown(&self, tick: u64) -> (u32, u32, u32) {
        let Some(course) = &self.course else {
            return (self.set.0, self.set.1, self.dividers.reload());
        };
        let moment = course.moment(tick);
        let (time, date) = course.calendar(moment).registers(self.format());
        (time, date, moment.subsecond)
    }

    /// Raises the flags of everything that has happened up to a tick.
    fn count_to(&mut self, tick: u64) {
        if let Setting::Soon(from) = self.setting
            && from <= tick
        {
            self.note(from);
            let copied = self.shadow.content(from, |tick| self.shown(tick));
            self.shadow.stop(copied);
            let (time, date, _) = self.shown(from);
            self.set = (time, date);
            self.course = None;
            self.setting = Setting::Yes;
        }
        self.note(tick);
    }

    fn note(&mut self, tick: u64) {
        if let Some(course) = &self.course {
            let now = course.moment(tick);
            let has_come = |at: &usize| {
                let next = course.next_match(self.seen, self.alarms[*at], self.format());
                self.is_enabled(*at) && next.is_some_and(|next| next.is_by(now))
            };
            let come = (0..self.alarm_count).filter(has_come);
            self.flags |= come.fold(0, |flags, at| flags | 1 << at);
            self.seen = now;
        }
        if let Some(wakeup) = &mut self.wakeup
            && wakeup.count(tick, self.course.as_ref())
        {
            self.flags |= WAKEUP_FLAG;
        }
    }

    /// Begins to count from what has been set. Returns whether that is a date and time.
    fn begin(&mut self, tick: u64) -> bool {
        let begin = tick.saturating_add(LOADING);
        self.setting = Setting::No;
        self.shadow.go_on(begin);
        let found = Calendar::of_registers(self.set.0, self.set.1, self.format());
        if let Some(time) = found {
            let course = CalendarCourse::new(begin, time, self.dividers);
            self.seen = course.first_moment();
            self.course = Some(course);
            if let Some(wakeup) = &mut self.wakeup {
                wakeup.begin_again();
            }
        }
        found.is_some()
    }

    fn status(&self, tick: u64) -> u32 {
        let bit = |bit, is_set| if is_set { bit } else { 0 };
        let alarms = (0..self.alarm_count)
            .map(|at| bit(status::ALARM_WRITABLE << at, self.is_changeable(at, tick)));
        let year = self.shown(tick).1 >> 16;
        let is_synchronized = self.control & control::DIRECT == 0
            && !self.is_being_set()
            && self.shadow.is_synchronized(tick);
        let flags = match self.layout {
            RtcLayout::V2 => self.flags << status::FLAGS,
            RtcLayout::V3 => 0,
        };
        alarms.sum::<u32>()
            | bit(status::WAKEUP_WRITABLE, self.has_wakeup && self.is_changeable(ALARMS, tick))
            | bit(status::IS_SET, year != 0)
            | bit(status::SYNCHRONIZED, is_synchronized)
            | bit(status::STOPPED, self.is_being_set())
            | bit(status::STOP, self.setting != Setting::No)
            | flags
    }

    /// Writes ISR or ICSR. Returns whether it selects something without a model.
    fn write_status(&mut self, value: u32, mask: u32, tick: u64) -> bool {
        let cleared = mask & !value;
        if self.layout == RtcLayout::V2 {
            self.flags &= !(cleared >> status::FLAGS);
        }
        if !self.is_unlocked() {
            return false;
        }
        if cleared & status::SYNCHRONIZED != 0 {
            self.shadow.clear(tick);
        }
        let is_wanted = value & mask & status::STOP != 0;
        match self.setting {
            Setting::No if is_wanted => {
                self.setting = Setting::Soon(tick.saturating_add(SYNCHRONIZATION));
            }
            Setting::Soon(_) if cleared & status::STOP != 0 => self.setting = Setting::No,
            Setting::Yes if cleared & status::STOP != 0 => return !self.begin(tick),
            _ => {}
        }
        false
    }

    /// Writes CR. Returns whether it selects something without a model.
    fn write_control(&mut self, value: u32, mask: u32, tick: u64) -> bool {
        let before = self.control;
        let mut locked = control::HOUR;
        if !self.is_being_set() {
            locked |= control::TWELVE_HOURS | control::CALIBRATES;
        }
        if !self.is_changeable(ALARMS, tick) {
            locked |= control::WAKEUP_CLOCK;
        }
        if !self.has_wakeup {
            locked |= control::WAKEUP_CLOCK | control::WAKEUP | WAKEUP_FLAG << control::INTERRUPTS;
        }
        if self.alarm_count < ALARMS {
            locked |= control::ALARM << 1 | 2 << control::INTERRUPTS;
        }
        let mask_open = mask & !locked;
        self.control = before & !mask_open | value & mask_open;
        let (begun, ended) = (self.control & !before, before & !self.control);
        for at in 0..ALARMS {
            if ended & control::ALARM << at != 0 {
                self.changeable_from[at] = tick.saturating_add(SYNCHRONIZATION);
            }
        }
        if ended & control::DIRECT != 0 {
            self.shadow.clear(tick);
        }
        if begun & control::DIRECT != 0 {
            self.shadow.unlock();
        }
        let mut is_forbidden = false;
        if begun & control::WAKEUP != 0 {
            let clock = self.control & control::WAKEUP_CLOCK;
            is_forbidden = clock == 3 && self.wakeup_reload == 0;
            let course = self.course.as_ref();
            self.wakeup = Some(WakeupTimer::start(tick, course, clock, self.wakeup_reload));
        }
        if ended & control::WAKEUP != 0 {
            self.wakeup = None;
            self.changeable_from[ALARMS] = tick.saturating_add(SYNCHRONIZATION);
        }
        let unmodelled = control::TIME_STAMPS | control::CALIBRATES;
        is_forbidden || begun & unmodelled != 0 || value & mask & control::HOUR != 0
    }

    /// Writes a register that keys protect. Returns whether it selects something without a model.
    fn write_protected(&mut self, register: RtcRegister, value: u32, mask: u32, tick: u64) -> bool {
        let store = |held: &mut u32, bits: u32| {
            let mask = mask & bits;
            *held = *held & !mask | value & mask;
        };
        let is_being_set = self.is_being_set();
        match register {
            RtcRegister::Control => return self.write_control(value, mask, tick),
            RtcRegister::Time if is_being_set => store(&mut self.set.0, TIME_BITS),
            RtcRegister::Date if is_being_set => store(&mut self.set.1, DATE_BITS),
            RtcRegister::Dividers if is_being_set => store(&mut self.dividers.0, DIVIDER_BITS),
            RtcRegister::WakeupReload if self.has_wakeup => {
                if self.is_changeable(ALARMS, tick) {
                    store(&mut self.wakeup_reload, 0xFFFF);
                }
                return value & mask & 0xFFFF_0000 != 0;
            }
            RtcRegister::Alarm(at) if is_being_set || self.is_changeable(at, tick) => {
                store(&mut self.alarms[at].time.0, u32::MAX);
            }
            RtcRegister::AlarmSubseconds(at) if is_being_set || self.is_changeable(at, tick) => {
                store(&mut self.alarms[at].subsecond, ALARM_SUBSECOND_BITS);
                return value & mask & !ALARM_SUBSECOND_BITS != 0;
            }
            RtcRegister::Calibration => {
                store(&mut self.calibration, 0xFFFF);
                // CALP and CALM.
                return value & mask & 0x81FF != 0;
            }
            RtcRegister::Shift | RtcRegister::CoarseCalibration => return value & mask != 0,
            RtcRegister::Outputs => store(&mut self.pin_outputs, 3),
            _ => {}
        }
        false
    }

    /// Returns the register at an offset, if this chip has it.
    fn register(&self, offset: u32) -> Option<RtcRegister> {
        self.layout.register(offset).filter(|register| match register {
            RtcRegister::Alarm(at) | RtcRegister::AlarmSubseconds(at) => *at < self.alarm_count,
            RtcRegister::WakeupReload => self.has_wakeup,
            RtcRegister::Backup(at) => *at < self.backup.len(),
            _ => true,
        })
    }

    fn write_keys(&mut self, key: u8) {
        self.keys = match (self.keys, key) {
            (_, 0xCA) => Keys::First,
            (Keys::First, 0x53) => Keys::Both,
            _ => Keys::None,
        };
    }

    const fn enabled_flags(&self) -> u32 {
        self.flags & self.control >> control::INTERRUPTS
    }

    fn settle_to(&mut self, now: u64) -> u64 {
        let tick = self.ticks.at(now);
        self.count_to(tick);
        tick
    }
}

impl DeviceModel for CalendarRtc {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        let register = self.register(offset)?;
        let tick = self.settle_to(env.now);
        let is_direct = self.control & control::DIRECT != 0 || self.is_being_set();
        let shown = self.shown(tick);
        let copied = |rtc: &Self| rtc.shadow.content(tick, |tick| rtc.shown(tick));
        Some(match register {
            RtcRegister::Time if is_direct => shown.0,
            RtcRegister::Date if is_direct => shown.1,
            RtcRegister::Subseconds if is_direct => shown.2,
            RtcRegister::Time => self.shadow.read_time(copied(self)),
            RtcRegister::Date => self.shadow.read_date(copied(self)),
            RtcRegister::Subseconds => self.shadow.read_subseconds(copied(self)),
            RtcRegister::Control => self.control,
            RtcRegister::Status => self.status(tick),
            RtcRegister::Dividers => self.dividers.0,
            RtcRegister::WakeupReload => self.wakeup_reload,
            RtcRegister::Alarm(at) => self.alarms[at].time.0,
            RtcRegister::AlarmSubseconds(at) => self.alarms[at].subsecond,
            RtcRegister::Flags => self.flags,
            RtcRegister::EnabledFlags => self.enabled_flags(),
            RtcRegister::Backup(at) => self.backup[at],
            RtcRegister::Calibration => self.calibration,
            RtcRegister::Tamper => self.tamper,
            RtcRegister::Outputs => self.pin_outputs,
            RtcRegister::Protection
            | RtcRegister::ClearFlags
            | RtcRegister::TimeStamp
            | RtcRegister::Shift
            | RtcRegister::CoarseCalibration => 0,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        let register = self.register(offset)?;
        let tick = self.settle_to(env.now);
        if !self.writable {
            return Some(());
        }
        let without_model = match register {
            RtcRegister::Protection => {
                self.write_keys(value as u8);
                false
            }
            RtcRegister::Status => self.write_status(value, mask, tick),
            RtcRegister::ClearFlags => {
                self.flags &= !(value & mask);
                false
            }
            RtcRegister::Backup(at) => {
                self.backup[at] = self.backup[at] & !mask | value & mask;
                false
            }
            RtcRegister::Tamper => {
                self.tamper = self.tamper & !mask | value & mask;
                // TAMPxE, TAMPIE and TAMPTS.
                value & mask & 0xAD != 0
            }
            _ => self.is_unlocked() && self.write_protected(register, value, mask, tick),
        };
        env.effects.without_model |= without_model;
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        let enabled = self.enabled_flags();
        u32::from(enabled & ALARM_FLAGS != 0) | u32::from(enabled & WAKEUP_FLAG != 0) << 1
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.settle_to(now);
        let outputs = self.outputs(now);
        self.edges.note(self.outputs_seen, outputs);
        self.outputs_seen = outputs;
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let wanted = self.control >> control::INTERRUPTS & !self.flags;
        let alarms = (0..self.alarm_count)
            .filter(|at| self.is_enabled(*at) && wanted >> at & 1 == 1)
            .filter_map(|at| {
                let course = self.course.as_ref()?;
                let next = course.next_match(self.seen, self.alarms[at], self.format())?;
                Some(course.tick_of(next))
            });
        let wakeup = self.wakeup.as_ref().filter(|_| wanted & WAKEUP_FLAG != 0);
        let wakeup = wakeup.and_then(|wakeup| wakeup.due(self.course.as_ref()));
        alarms.chain(wakeup).min().and_then(|tick| self.ticks.cycle_of(tick))
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.settle_to(now);
        self.ticks.set_clock(now, supply.clock);
        self.writable = supply.permitted;
    }

    fn signals(&mut self) -> Signals {
        Signals { edges: std::mem::take(&mut self.edges), ..Signals::default() }
    }
}
