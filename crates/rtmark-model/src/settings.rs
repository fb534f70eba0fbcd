//! The settings that series may differ in: one list for all kernels, and what is known of each.
//!
//! Which settings a firmware really has is told by its image and its build; here stands what
//! they mean and whether they matter. What is on no list here is a kernel's own remark, such as
//! what kind of queue it has.

use std::collections::BTreeMap;

use crate::Setting;

/// The profile that is built and compared when nobody names another.
pub const DEFAULT_PROFILE: &str = "product";

/// A setting that several kernels may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name.
    pub id: &'static str,
    /// What its values are.
    pub form: Form,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// What a kernel without such a thing has.
    pub without: Option<Without>,
    /// What difference it makes.
    pub weight: Weight,
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// On or off.
    Switch,
    /// A whole number.
    Number,
    /// A word.
    Text,
}

/// What a kernel has that lacks a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// The same as one where it is off.
    Off,
    /// The same as one where it is zero.
    Zero,
    /// The same as one whose code is in flash.
    Flash,
    /// The same as one whose time SysTick counts.
    SysTick,
}

/// What difference a setting makes to figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Somebody chose it, and it changes figures: a table marks it. The text says how.
    Matters(&'static str),
    /// It changes figures, and comes with the kernel or its language: nobody can choose it.
    Inherent(&'static str),
    /// It is not known to change the figures of equal spans.
    Told,
}

use Form::{Number, Switch, Text};
use Weight::{Inherent, Matters, Told};

const fn info(
    id: &'static str,
    form: Form,
    without: Option<Without>,
    meaning: &'static str,
    weight: Weight,
) -> SettingInfo {
    SettingInfo { id, form, meaning, without, weight }
}

const OFF: Option<Without> = Some(Without::Off);
const ZERO: Option<Without> = Some(Without::Zero);

/// All settings that have a meaning beyond one kernel.
pub const SETTINGS: &[SettingInfo] = &[
    info(
        "opt",
        Text,
        None,
        "the compiler's optimisation: s and z for size, 2 and 3 for speed",
        Matters("everything that was compiled changes with it"),
    ),
    info(
        "lto",
        Switch,
        None,
        "link-time optimisation: kernel and application are optimised as one program",
        Matters("calls of the kernel are inlined, and specialised for their constant arguments"),
    ),
    info(
        "compiler",
        Text,
        None,
        "what compiled kernel and scenarios",
        Matters("two compilers make two programs of one source"),
    ),
    info(
        "asserts",
        Switch,
        OFF,
        "the kernel checks its arguments and its own state",
        Matters("each check is executed, on the paths that are measured too"),
    ),
    info(
        "stack_check",
        Number,
        ZERO,
        "each switch looks whether the task's stack has overflowed: 1 by its pointer, 2 by a pattern at its end too",
        Matters("the check is part of every context switch"),
    ),
    info(
        "stack_fill",
        Switch,
        OFF,
        "the kernel fills a task's stack with a pattern when it makes the task",
        Matters("making a task takes longer, by as much as its stack is large"),
    ),
    info(
        "heap_clear",
        Switch,
        OFF,
        "freed memory is cleared",
        Matters("freeing takes longer, by as much as is freed: the stack of a deleted task, too"),
    ),
    info(
        "mpu_guard",
        Switch,
        OFF,
        "the memory protection unit guards each task's stack or memory",
        Matters("each switch reprograms the unit, and calls of the kernel may become exceptions"),
    ),
    info(
        "trace",
        Switch,
        OFF,
        "the kernel numbers its objects for tracing tools",
        Matters("objects carry more, and so does what makes them"),
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
        "ticks a second; 0 where nothing ticks, and a timer interrupts when something is due",
        Matters("more samples are hit by a tick, and long work is interrupted more often"),
    ),
    info(
        "priorities",
        Number,
        None,
        "priorities that tasks can have",
        Matters(
            "where the highest ready one is searched for, the search is as long as the empty ones are many",
        ),
    ),
    info(
        "port_optimised_selection",
        Switch,
        None,
        "the highest ready priority is found by one instruction on a bit map instead of a search",
        Matters("each switch looks for the highest ready priority"),
    ),
    info(
        "fpu",
        Switch,
        OFF,
        "compiled for the floating-point unit, whose registers tasks then have",
        Matters("switches look whether its registers are in use, and save them"),
    ),
    info(
        "code_in",
        Text,
        Some(Without::Flash),
        "where the code executes from: flash or ram",
        Matters("flash may make the core wait, RAM may be shared with data accesses"),
    ),
    info(
        "branch_prediction",
        Switch,
        OFF,
        "branches and returns are foreseen by the core, where the program may switch that off",
        Matters("each branch that is taken, and each return, takes as long as a mistake"),
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
        Matters("each is executed, on the paths that are measured too"),
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
        "arithmetic that the core lacks, such as 64-bit division, is GCC's and not compiler-builtins' (Rust)",
        Inherent("one of them divides 64-bit numbers in a fraction of the other's time"),
    ),
    info(
        "preemption",
        Text,
        None,
        "who may interrupt a running task in favour of another",
        Inherent("a scheduler that preempts decides at every wake-up"),
    ),
    info(
        "interrupt_masking",
        Text,
        None,
        "how critical sections keep interrupts out",
        Inherent("PRIMASK keeps all of them out and is quicker to set than BASEPRI"),
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
        Some(Without::SysTick),
        "what counts time: SysTick, which ticks, or a timer of the chip, which interrupts when something is due",
        Inherent(
            "a driver that sets alarms works when a wait begins, one that ticks at every tick",
        ),
    ),
    info(
        "tick_runs",
        Text,
        None,
        "when a tick interrupts at all",
        Inherent("what no tick interrupts has no samples that a tick hit"),
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
        "how the kernel's objects keep others out: by a critical section, or by the promise to be used from one place",
        Inherent("a critical section masks interrupts, a promise costs nothing"),
    ),
    info(
        "semaphore",
        Text,
        None,
        "what kind of semaphore it is, and whether those who wait for it come in order",
        Inherent("fairness is a queue of waiters, which each take and give look at"),
    ),
    info("heap", Text, None, "where dynamic memory comes from", Told),
    info("heap_bytes", Number, ZERO, "the size of the heap", Told),
    info("allocation", Text, None, "where tasks and objects lie", Told),
    info("task_stack_bytes", Number, ZERO, "stack that each task has of its own", Told),
    info("software_timers", Switch, OFF, "a task of the kernel's own runs timers", Told),
    info("libc", Text, None, "the C library", Told),
    info("port", Text, None, "the kernel's adaptation to the core", Told),
];

/// What is known of a setting, where it has a meaning beyond one kernel.
pub fn setting_info(id: &str) -> Option<&'static SettingInfo> {
    SETTINGS.iter().find(|info| info.id == id)
}

impl SettingInfo {
    /// The value that a text means.
    ///
    /// # Errors
    /// What is wanted instead, when it is none of this setting.
    pub fn parse(&self, text: &str) -> Result<Setting, &'static str> {
        match self.form {
            Switch => match text {
                "on" | "true" => Ok(Setting::Switch(true)),
                "off" | "false" => Ok(Setting::Switch(false)),
                _ => Err("`on` or `off`"),
            },
            Number => match text {
                "off" if self.without.is_some() => Ok(Setting::Number(0)),
                _ => text.parse().map(Setting::Number).map_err(|_| "a whole number"),
            },
            Text if text.is_empty() => Err("a word"),
            Text => Ok(Setting::Text(text.to_owned())),
        }
    }

    /// The value that a word of an image's record means.
    pub fn value(&self, word: u32) -> Setting {
        match self.form {
            Switch => Setting::Switch(word != 0),
            Number | Text => Setting::Number(i64::from(word)),
        }
    }
}

impl Without {
    /// The value that stands for it.
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
    /// The first one's value, unless it has no such thing.
    pub first: Option<&'a Setting>,
    /// The second one's.
    pub second: Option<&'a Setting>,
    /// What is known of it.
    pub info: Option<&'static SettingInfo>,
}

impl Difference<'_> {
    /// Whether somebody's choice makes the figures incomparable, and how.
    pub fn matters(&self) -> Option<&'static str> {
        match self.info?.weight {
            Matters(why) => Some(why),
            Inherent(_) | Told => None,
        }
    }
}

/// Settings by name, as provenance has them.
pub type Settings = BTreeMap<String, Setting>;

/// The value that counts: a kernel without such a thing has it as if it were off.
fn effective(settings: &Settings, id: &str) -> Option<Setting> {
    let absent = || setting_info(id).and_then(|info| info.without).map(Without::value);
    settings.get(id).cloned().or_else(absent)
}

/// The settings in which two firmwares differ: those on the list in its order, then
/// the kernels' own remarks.
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
    fn what_a_kernel_lacks_is_off() {
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
    fn values_are_read_by_their_form() {
        let of = |id: &str, text: &str| setting_info(id).expect("listed").parse(text);
        assert_eq!(of("asserts", "off"), Ok(Setting::Switch(false)));
        assert_eq!(of("stack_check", "2"), Ok(Setting::Number(2)));
        assert_eq!(of("stack_check", "off"), Ok(Setting::Number(0)));
        assert_eq!(of("opt", "3"), Ok(Setting::Text("3".into())));
        of("asserts", "2").expect_err("no switch");
        of("tick_hz", "off").expect_err("no number");
        of("opt", "").expect_err("nothing");
    }
}
