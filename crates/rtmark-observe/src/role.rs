//! Determines the kind of work a function does from where it runs and from its name.
//!
//! Two programs for the same task rarely have functions of the same name. What they have in common is
//! that some cycles go into exceptions, some into handlers, and some into compiler helpers. This module
//! knows the architecture's exceptions and the compilers' helpers, but no kernel.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Code of a thread, or of a program without threads.
    Thread,
    /// Code of the handlers through which kernels switch: PendSV and SVCall; SVC on a Cortex-R; ECALL
    /// and the software interrupt on RISC-V.
    Switch,
    /// Code of the tick's handler: SysTick; the timer interrupt on RISC-V.
    Tick,
    /// Code of an external interrupt's handler.
    Interrupt,
    /// Code of the handler of any other exception.
    Fault,
    /// Stacking and fetching the vector.
    ExceptionEntry,
    /// The instruction that returns from an exception, including unstacking.
    ExceptionReturn,
    /// Compiler helpers for division.
    Division,
    /// Copying, filling and comparing memory.
    Memory,
    /// Waiting for an interrupt or event.
    Sleep,
}

impl Role {
    /// Describes it in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread code",
            Self::Switch => "handlers of calls and switches",
            Self::Tick => "the tick's handler",
            Self::Interrupt => "interrupt handlers",
            Self::Fault => "fault handlers",
            Self::ExceptionEntry => "exception entry",
            Self::ExceptionReturn => "exception return",
            Self::Division => "division helpers",
            Self::Memory => "copying and filling memory",
            Self::Sleep => "sleep",
        }
    }

    /// Returns the role of a helper function, if its name alone identifies it.
    fn of_helper(name: &str) -> Option<Self> {
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let division = [
            "idivmod",
            "ldivmod",
            "divsi3",
            "divdi3",
            "divmodsi4",
            "divmoddi4",
            "__aeabi_idiv",
            "__aeabi_uidiv",
            "div_rem",
        ];
        if has(&division) {
            Some(Self::Division)
        } else if has(&["memcpy", "memmove", "memset", "memclr", "memcmp"]) {
            Some(Self::Memory)
        } else {
            None
        }
    }

    /// Returns the role of a function from its name and that of the outermost entry of its call stack:
    /// an exception in brackets, or a thread's first function.
    pub(crate) fn of(function: &str, outermost: &str) -> Self {
        match function {
            super::attribution::RETURN => return Self::ExceptionReturn,
            super::profile::SLEEP => return Self::Sleep,
            _ if function == outermost && is_exception(function) => return Self::ExceptionEntry,
            _ => {}
        }
        Self::of_helper(function).unwrap_or(match outermost {
            "[PendSV]" | "[SVCall]" | "[SVC]" | "[ECALL]" | "[software interrupt]" => Self::Switch,
            "[SysTick]" | "[timer interrupt]" => Self::Tick,
            _ if outermost.starts_with("[IRQ ") => Self::Interrupt,
            _ if is_exception(outermost) => Self::Fault,
            _ => Self::Thread,
        })
    }

    /// Tells whether functions of this role are helpers, which different compilers have under different
    /// paths.
    pub(crate) const fn is_helper(self) -> bool {
        matches!(self, Self::Division | Self::Memory)
    }
}

/// Tells whether the name is an exception's. Addresses without a symbol are in brackets too, but begin
/// with a digit.
fn is_exception(name: &str) -> bool {
    name.strip_prefix('[').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_names_and_handlers() {
        for (function, outermost, role) in [
            ("main", "main", Role::Thread),
            ("[PendSV]", "[PendSV]", Role::ExceptionEntry),
            ("vTaskSwitchContext", "[PendSV]", Role::Switch),
            ("vTaskSwitchContext", "[SVC]", Role::Switch),
            ("[exception return]", "[PendSV]", Role::ExceptionReturn),
            ("vTaskSwitchContext", "[ECALL]", Role::Switch),
            ("handler", "[software interrupt]", Role::Switch),
            ("xTaskIncrementTick", "[SysTick]", Role::Tick),
            ("xTaskIncrementTick", "[timer interrupt]", Role::Tick),
            ("trap", "[exception]", Role::Fault),
            ("handler", "[IRQ 3]", Role::Interrupt),
            ("__aeabi_uldivmod", "main", Role::Division),
            ("__udivsi3", "[SysTick]", Role::Division),
            ("__aeabi_memcpy4", "main", Role::Memory),
            ("[sleep]", "main", Role::Sleep),
            ("[0x08000100]", "[0x08000100]", Role::Thread),
            ("individual", "main", Role::Thread),
        ] {
            assert_eq!(Role::of(function, outermost), role, "{function} under {outermost}");
        }
    }

    #[test]
    fn only_compilers_helpers_are_known_by_their_names_alone() {
        let all = [
            Role::Thread,
            Role::Switch,
            Role::Tick,
            Role::Interrupt,
            Role::Fault,
            Role::ExceptionEntry,
            Role::ExceptionReturn,
            Role::Division,
            Role::Memory,
            Role::Sleep,
        ];
        let helpers: Vec<_> = all.iter().filter(|role| role.is_helper()).collect();
        assert_eq!(helpers, [&Role::Division, &Role::Memory]);
        let names: std::collections::BTreeSet<String> = all.iter().map(Role::to_string).collect();
        assert_eq!(names.len(), all.len());
        assert_eq!(Role::Tick.to_string(), "the tick's handler");
    }
}
