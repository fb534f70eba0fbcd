//! The settings in which series may differ: one list for all kernels, with what is known about each.
//!
//! An image and its build report which settings a firmware really has; this list defines what they mean
//! and whether they matter. A setting that is not on the list is a kernel's own remark, such as the
//! kind of queue it has.

use std::collections::BTreeMap;

use crate::Setting;

/// The profile that is built and compared by default.
pub const DEFAULT_PROFILE: &str = "product";

/// A setting that several kernels may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name.
    pub id: &'static str,
    /// The type of its values.
    pub form: Form,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// The value assumed for a kernel without such a setting.
    pub absent_value: Option<AbsentValue>,
    /// Its effect on figures.
    pub weight: Weight,
}

/// The type of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// On or off.
    Switch,
    /// A whole number.
    Number,
    /// A word.
    Text,
}

/// What the absence of a setting is equivalent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentValue {
    /// To being off.
    Off,
    /// To zero.
    Zero,
    /// To code in flash.
    Flash,
    /// To time counted by SysTick.
    SysTick,
}

/// The effect of a setting on figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Somebody chose it, and it changes figures: a table marks it. The text describes how.
    Matters(&'static str),
    /// It changes figures, but comes with the kernel or its language: it cannot be chosen.
    Inherent(&'static str),
    /// It is not known to change the figures of equal spans.
    Informational,
}

use Form::{Number, Switch, Text};
use Weight::{Informational, Inherent, Matters};

const fn info(
    id: &'static str,
    form: Form,
    absent_value: Option<AbsentValue>,
    meaning: &'static str,
    weight: Weight,
) -> SettingInfo {
    SettingInfo { id, form, meaning, absent_value, weight }
}

const OFF: Option<AbsentValue> = Some(AbsentValue::Off);
const ZERO: Option<AbsentValue> = Some(AbsentValue::Zero);

/// All settings that have a meaning beyond one kernel.
pub const SETTINGS: &[SettingInfo] = &[
    info(
        "opt",
        Text,
        None,
        "the compiler's optimisation: s and z for size, 2 and 3 for speed",
        Matters("all compiled code changes with it"),
    ),
    info(
        "lto",
        Switch,
        None,
        "link-time optimisation: kernel and application are optimised as one program",
        Matters("kernel calls are inlined, and specialised for their constant arguments"),
    ),
    info(
        "compiler",
        Text,
        None,
        "the compiler of kernel and scenarios",
        Matters("two compilers turn the same source into different programs"),
    ),
    info(
        "asserts",
        Switch,
        OFF,
        "the kernel checks its arguments and its own state",
        Matters("each check is executed, including on measured paths"),
    ),
    info(
        "stack_check",
        Number,
        ZERO,
        "each switch checks for an overflow of the task's stack: 1 by its pointer, 2 also by a pattern at its end",
        Matters("the check is part of every context switch"),
    ),
    info(
        "stack_fill",
        Switch,
        OFF,
        "the kernel fills a task's stack with a pattern when it creates the task",
        Matters("creating a task takes longer, in proportion to its stack"),
    ),
    info(
        "heap_clear",
        Switch,
        OFF,
        "freed memory is cleared",
        Matters(
            "freeing takes longer, in proportion to the size freed, which includes the stack of a deleted task",
        ),
    ),
    info(
        "mpu_guard",
        Switch,
        OFF,
        "the memory protection unit guards each task's stack or memory",
        Matters("each switch reprograms the unit, and kernel calls may become exceptions"),
    ),
    info(
        "trace",
        Switch,
        OFF,
        "the kernel numbers its objects for tracing tools",
        Matters("objects are larger, and so is the code that creates them"),
    ),
    info(
        "time_slicing",
        Switch,
        OFF,
        "the tick switches between ready tasks of one priority",
        Matters("every tick looks for another ready task, and may switch"),
    ),
    info(
        "tick_hz",
        Number,
        None,
        "ticks per second; 0 if nothing ticks, and a timer interrupts when something is due",
        Matters("ticks disturb more samples, and interrupt long work more often"),
    ),
    info(
        "priorities",
        Number,
        None,
        "the number of task priorities",
        Matters(
            "if the highest ready one is searched for, the search takes longer with more empty ones",
        ),
    ),
    info(
        "port_optimised_selection",
        Switch,
        None,
        "the highest ready priority is found by one instruction on a bitmap instead of a search",
        Matters("each switch looks for the highest ready priority"),
    ),
    info(
        "fpu",
        Switch,
        OFF,
        "compiled for the floating-point unit, whose registers tasks then have",
        Matters("switches check whether its registers are in use, and save them"),
    ),
    info(
        "code_in",
        Text,
        Some(AbsentValue::Flash),
        "where the code executes from: flash or ram",
        Matters("flash may make the core wait, RAM may be shared with data accesses"),
    ),
    info(
        "branch_prediction",
        Switch,
        OFF,
        "branches and returns are predicted by the core, if the program may switch that off",
        Matters(
            "without prediction, each taken branch and each return takes as long as a misprediction",
        ),
    ),
    info(
        "overflow_checks",
        Switch,
        OFF,
        "integer overflow is an error at run time (Rust)",
        Matters("each checked addition is an addition and a branch"),
    ),
    info(
        "debug_assertions",
        Switch,
        OFF,
        "assertions for development are compiled in (Rust)",
        Matters("each is executed, including on measured paths"),
    ),
    info(
        "bounds_checks",
        Switch,
        OFF,
        "indices are checked at run time, by the language",
        Inherent("each check that the compiler cannot prove is executed"),
    ),
    info(
        "libgcc",
        Switch,
        None,
        "arithmetic that the core lacks, such as 64-bit division, comes from GCC instead of compiler-builtins (Rust)",
        Inherent("one of them divides 64-bit numbers in a fraction of the other's time"),
    ),
    info(
        "preemption",
        Text,
        None,
        "what may preempt a running task in favour of another",
        Inherent("a scheduler that preempts decides at every wake-up"),
    ),
    info(
        "interrupt_masking",
        Text,
        None,
        "how critical sections mask interrupts",
        Inherent("PRIMASK masks all of them and is faster to set than BASEPRI"),
    ),
    info(
        "tick_bits",
        Number,
        None,
        "width of the tick counter",
        Inherent("64 bits take several instructions on a 32-bit core"),
    ),
    info(
        "time_base",
        Text,
        Some(AbsentValue::SysTick),
        "the time base: SysTick, which ticks, or a timer of the chip, which interrupts when something is due",
        Inherent(
            "a driver that sets alarms does its work when a wait begins, one that ticks at every tick",
        ),
    ),
    info(
        "tick_runs",
        Text,
        None,
        "when a tick interrupts at all",
        Inherent("without tick interrupts, no sample is disturbed by one"),
    ),
    info(
        "tickless_idle",
        Switch,
        OFF,
        "the tick stops while nothing is ready",
        Matters("going to sleep reprograms the timer, and so does waking up"),
    ),
    info(
        "raw_mutex",
        Text,
        None,
        "how the kernel's objects exclude concurrent access: by a critical section, or by the promise to be used from one place",
        Inherent("a critical section masks interrupts, a promise costs nothing"),
    ),
    info(
        "semaphore",
        Text,
        None,
        "the kind of semaphore, and whether its waiters are served in order",
        Inherent("fairness requires a queue of waiters, which each take and give examine"),
    ),
    info("heap", Text, None, "where dynamic memory comes from", Informational),
    info("heap_bytes", Number, ZERO, "the size of the heap", Informational),
    info("allocation", Text, None, "where tasks and objects are allocated", Informational),
    info("task_stack_bytes", Number, ZERO, "the size of each task's own stack", Informational),
    info("software_timers", Switch, OFF, "a task of the kernel runs timers", Informational),
    info("libc", Text, None, "the C library", Informational),
    info("port", Text, None, "the kernel's adaptation to the core", Informational),
];

/// Returns what is known about a setting, if it has a meaning beyond one kernel.
pub fn setting_info(id: &str) -> Option<&'static SettingInfo> {
    SETTINGS.iter().find(|info| info.id == id)
}

impl SettingInfo {
    /// Parses a value of the setting.
    ///
    /// # Errors
    /// Returns what is expected instead, if the text is not a valid value.
    pub fn parse(&self, text: &str) -> Result<Setting, &'static str> {
        match self.form {
            Switch => match text {
                "on" | "true" => Ok(Setting::Switch(true)),
                "off" | "false" => Ok(Setting::Switch(false)),
                _ => Err("`on` or `off`"),
            },
            Number => match text {
                "off" if self.absent_value.is_some() => Ok(Setting::Number(0)),
                _ => text.parse().map(Setting::Number).map_err(|_| "a whole number"),
            },
            Text if text.is_empty() => Err("a word"),
            Text => Ok(Setting::Text(text.to_owned())),
        }
    }

    /// Converts a word in an image's record to a value.
    pub fn value(&self, word: u32) -> Setting {
        match self.form {
            Switch => Setting::Switch(word != 0),
            Number | Text => Setting::Number(i64::from(word)),
        }
    }
}

impl AbsentValue {
    /// Returns the value that it stands for.
    pub fn value(self) -> Setting {
        match self {
            Self::Off => Setting::Switch(false),
            Self::Zero => Setting::Number(0),
            Self::Flash => Setting::Text("flash".into()),
            Self::SysTick => Setting::Text("SysTick".into()),
        }
    }
}

/// A setting in which two firmwares differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    /// Its name.
    pub id: &'a str,
    /// The first firmware's value, unless it has no such setting.
    pub first: Option<&'a Setting>,
    /// The second firmware's value, unless it has no such setting.
    pub second: Option<&'a Setting>,
    /// What is known about it.
    pub info: Option<&'static SettingInfo>,
}

impl Difference<'_> {
    /// Returns how it makes the figures incomparable, if it was somebody's choice.
    pub fn matters(&self) -> Option<&'static str> {
        match self.info?.weight {
            Matters(why) => Some(why),
            Inherent(_) | Informational => None,
        }
    }
}

/// Settings by name, as stored in the provenance.
pub type Settings = BTreeMap<String, Setting>;

/// Returns the effective value: a kernel without such a setting behaves as if it were off.
fn effective(settings: &Settings, id: &str) -> Option<Setting> {
    let absent = || setting_info(id).and_then(|info| info.absent_value).map(AbsentValue::value);
    settings.get(id).cloned().or_else(absent)
}

/// Returns the settings in which two firmwares differ: those on the list in its order, then the
/// kernels' own remarks.
pub fn differences<'a>(first: &'a Settings, second: &'a Settings) -> Vec<Difference<'a>> {
    let listed = SETTINGS.iter().map(|info| info.id);
    let mut own: Vec<&str> = first.keys().chain(second.keys()).map(String::as_str).collect();
    own.retain(|id| setting_info(id).is_none());
    own.sort_unstable();
    own.dedup();
    let differ = |id: &&str| effective(first, id) != effective(second, id);
    let difference = |id| Difference {
        id,
        first: first.get(id),
        second: second.get(id),
        info: setting_info(id),
    };
    listed.chain(own).filter(differ).map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, Setting)]) -> Settings {
        list.iter().map(|(id, value)| ((*id).to_owned(), value.clone())).collect()
    }

    #[test]
    fn the_list_names_each_setting_once() {
        for (at, info) in SETTINGS.iter().enumerate() {
            assert!(!SETTINGS[..at].iter().any(|other| other.id == info.id), "{}", info.id);
            assert!(!info.meaning.is_empty() && !info.meaning.ends_with('.'), "{}", info.id);
        }
    }

    #[test]
    fn missing_settings_are_off() {
        let one =
            settings(&[("asserts", Setting::Switch(true)), ("opt", Setting::Text("2".into()))]);
        let other = settings(&[
            ("time_slicing", Setting::Switch(false)),
            ("opt", Setting::Text("s".into())),
            ("queue", Setting::Text("a ring".into())),
        ]);
        let found: Vec<_> = differences(&one, &other).iter().map(|d| d.id).collect();
        assert_eq!(found, ["opt", "asserts", "queue"], "time slicing is off in both");
        let all = differences(&one, &other);
        assert_eq!(all[1].first, Some(&Setting::Switch(true)));
        assert_eq!(all[1].second, None);
        assert!(all[1].matters().is_some() && all[2].matters().is_none());
        assert!(differences(&one, &one).is_empty());
    }

    #[test]
    fn values_parse_by_their_form() {
        let of = |id: &str, text: &str| setting_info(id).expect("listed").parse(text);
        assert_eq!(of("asserts", "off"), Ok(Setting::Switch(false)));
        assert_eq!(of("asserts", "on"), Ok(Setting::Switch(true)));
        assert_eq!(of("stack_check", "2"), Ok(Setting::Number(2)));
        assert_eq!(of("stack_check", "off"), Ok(Setting::Number(0)));
        assert_eq!(of("opt", "3"), Ok(Setting::Text("3".into())));
        of("asserts", "2").expect_err("no switch");
        of("tick_hz", "off").expect_err("no number");
        of("opt", "").expect_err("nothing");
    }
}
