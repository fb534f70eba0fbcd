//! Tracks tasks that are called functions: futures and closures.
//!
//! A task runs from the entry of its function until the program is back in the function that called it.
//! Executors differ in how they call: Embassy through `TaskStorage::poll`, one for each kind of task,
//! into which the task's own code is inlined; lilos and the ring of closures through pointers from one function; RTIC
//! has inlined the tasks of a priority into one handler. RTIC 1's tasks are plain functions, which its handlers mostly
//! contain, too, or else call.

use std::collections::HashMap;

use rtmark_observe::Lines;
use rtmark_sim::{Image, Machine, Register, Symbols};

/// How a kernel calls its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollPath {
    /// Through a function of this name for each task, which contains the task.
    Storage(&'static str),
    /// From a function of this name; only futures, if those can be distinguished.
    From { caller: &'static str, futures_only: bool },
    /// Inlined anywhere.
    Inlined,
}

/// What is known about tasks in a function.
#[derive(Clone, Debug)]
enum Function {
    /// It contains none.
    Plain,
    /// All of it belongs to a task.
    Task(String),
    /// Parts of it may belong to a task.
    Places,
}

/// A running task.
#[derive(Clone, Debug)]
struct Run {
    task: String,
    /// The function in which it was detected, and the one that called it.
    function: u32,
    caller: u32,
}

/// The state of a handler, or of thread mode.
#[derive(Clone, Debug, Default)]
struct Level {
    run: Option<Run>,
    /// The function of the last instruction.
    last: u32,
}

#[derive(Debug)]
pub struct Polls<'a, 'elf> {
    symbols: &'a Symbols,
    lines: Option<&'a Lines<'elf>>,
    calling: PollPath,
    /// For RTIC 1, the crate in which its macros have generated code.
    program: Option<String>,
    /// The addresses at which functions begin.
    starts: Vec<u32>,
    functions: HashMap<u32, Function>,
    places: HashMap<u32, Option<String>>,
    /// Whether a function is one of RTIC's dispatchers.
    dispatchers: HashMap<u32, bool>,
    level: Level,
    outer: Vec<Level>,
}

/// Parts of symbol names that identify a kernel, and how it calls its tasks.
const KERNELS: [(&str, PollPath); 4] = [
    ("embassy_executor::raw::", PollPath::Storage("embassy_executor::raw::TaskStorage<F>::poll")),
    (
        "lilos::exec::run_tasks_with",
        PollPath::From { caller: "lilos::exec::run_tasks_with", futures_only: true },
    ),
    ("ring_run", PollPath::From { caller: "ring_run", futures_only: false }),
    ("rtic", PollPath::Inlined),
];

/// What RTIC's macros generate in each program.
const RTIC_MAIN: &str = "::main::__rtic_init_resources";
const RTIC_1_MAIN: &str = "::rtic_ext::main::__rtic_init_resources";

/// What RTIC 1's handlers run tasks in.
const RTIC_1_RUN: &str = "rtic::export::run";

/// Crates whose closures are not tasks.
const LIBRARIES: [&str; 12] = [
    "core",
    "alloc",
    "std",
    "embassy_",
    "lilos",
    "rtic",
    "cortex_m",
    "critical_section",
    "rtmark_",
    "portable_atomic",
    "heapless",
    "compiler_builtins",
];

/// The number of addresses in a function at which inlined names are looked up.
const MAX_PLACES: u32 = 4096;

impl<'a, 'elf> Polls<'a, 'elf> {
    /// Returns `None` if no known kernel with such tasks is in the image.
    pub fn new(image: &'a Image, lines: Option<&'a Lines<'elf>>) -> Option<Self> {
        let symbols = image.symbols();
        let names: Vec<String> = symbols.names().collect();
        let is_of = |name: &String, part: &str, calling| {
            name.starts_with(part) || calling == PollPath::Inlined && name.ends_with(RTIC_MAIN)
        };
        let (_, calling) = KERNELS
            .into_iter()
            .find(|(part, calling)| names.iter().any(|name| is_of(name, part, *calling)))?;
        let main = names.iter().find(|name| name.ends_with(RTIC_1_MAIN));
        let program = main.and_then(|name| Some(name.split_once("::")?.0.to_owned()));
        let mut starts: Vec<u32> = symbols.iter().map(|(address, _)| address).collect();
        starts.dedup();
        Some(Self {
            symbols,
            lines,
            calling,
            program,
            starts,
            functions: HashMap::new(),
            places: HashMap::new(),
            dispatchers: HashMap::new(),
            level: Level::default(),
            outer: Vec::new(),
        })
    }

    pub fn entered(&mut self) {
        self.outer.push(std::mem::take(&mut self.level));
    }

    pub fn returned(&mut self) {
        self.level = self.outer.pop().unwrap_or_default();
    }

    /// Returns the task that the next instruction belongs to.
    pub fn at(&mut self, machine: &Machine) -> Option<String> {
        let pc = machine.register(Register::Pc);
        let at = self.starts.partition_point(|&start| start <= pc);
        let function = at.checked_sub(1).map_or(0, |at| self.starts[at]);
        let end = self.starts.get(at).copied().unwrap_or(u32::MAX);
        // Back in the calling function.
        let back = |run: &Run| function != run.function && function == run.caller;
        self.level.run.take_if(|run| back(run));
        let found = self.task_at(pc, function, end);
        let level = &mut self.level;
        // Inlined: after the end of its code.
        let behind = |run: &Run| function == run.function && run.function == run.caller;
        level.run.take_if(|run| behind(run) && found.as_ref() != Some(&run.task));
        if level.run.is_none()
            && let Some(task) = found
        {
            let inlined = matches!(self.calling, PollPath::Inlined);
            let caller = if inlined { function } else { level.last };
            level.run = Some(Run { task, function, caller });
        } else if level.run.is_none() && function != level.last && self.calling == PollPath::Inlined
        {
            let last = level.last;
            let name = self.symbols.name_at(function).filter(|at| at.offset == 0);
            let task = name.and_then(|at| self.plain_task_name(&at.symbol));
            self.level.run = task.filter(|_| self.is_dispatcher(last)).map(|task| Run {
                task,
                function,
                caller: last,
            });
        }
        let level = &mut self.level;
        level.last = function;
        level.run.as_ref().map(|run| run.task.clone())
    }

    fn task_at(&mut self, pc: u32, function: u32, end: u32) -> Option<String> {
        let known = self.functions.get(&function).cloned();
        let known = known.unwrap_or_else(|| {
            let kind = self.function(function, end);
            self.functions.insert(function, kind.clone());
            kind
        });
        match known {
            Function::Plain => None,
            // Only by a call, and only by the one that calls tasks.
            Function::Task(task) => match self.calling {
                PollPath::From { caller, .. } => {
                    let last = self.symbols.name_at(self.level.last);
                    let called = function != self.level.last
                        && last.is_some_and(|at| at.symbol.starts_with(caller));
                    called.then_some(task)
                }
                _ => Some(task),
            },
            Function::Places => {
                if let Some(known) = self.places.get(&pc) {
                    return known.clone();
                }
                let found = self.inlined(pc);
                self.places.insert(pc, found.clone());
                found
            }
        }
    }

    fn function(&self, start: u32, end: u32) -> Function {
        let Some(at) = self.symbols.name_at(start) else { return Function::Plain };
        match self.calling {
            PollPath::Inlined => Function::Places,
            PollPath::From { futures_only: true, .. } => {
                task_name(&at.symbol).map_or(Function::Plain, Function::Task)
            }
            PollPath::From { .. } => Function::Task(at.symbol),
            PollPath::Storage(storage) if at.symbol == storage => {
                let mut places = (start..end).step_by(2).take(MAX_PLACES as usize);
                let found = places.find_map(|pc| self.inlined(pc));
                // A function that calls its future; which one is not known beforehand.
                Function::Task(found.unwrap_or_else(|| format!("task {start:#010x}")))
            }
            PollPath::Storage(_) => Function::Plain,
        }
    }

    /// Tells whether a function is one of RTIC 1's handlers, or a closure that is all of one.
    fn is_dispatcher(&mut self, function: u32) -> bool {
        if let Some(&known) = self.dispatchers.get(&function) {
            return known;
        }
        let at = self.starts.partition_point(|&start| start <= function);
        let end = self.starts.get(at).copied().unwrap_or(u32::MAX);
        let name = self.symbols.name_at(function).map(|at| at.symbol).unwrap_or_default();
        let mut places = (function..end).step_by(2).take(MAX_PLACES as usize);
        let runs = |pc| {
            let frames = self.lines.map(|lines| lines.inlined_at(pc)).unwrap_or_default();
            frames.iter().filter_map(|frame| frame.function.as_deref()).any(runs_tasks)
        };
        let is_one = is_handlers(self.symbols, &name)
            || self.symbols.address_of(&name).is_some() && !name.contains("::") && places.any(runs);
        self.dispatchers.insert(function, is_one);
        is_one
    }

    /// Extracts the task's name from that of a function which RTIC's handlers call: `a::b` and `a::b::{{closure}}` are
    /// `b` in a program `a`.
    fn plain_task_name(&self, function: &str) -> Option<String> {
        let path = function.split("::{").next()?;
        let (of_crate, name) = (path.split_once("::")?.0, path.rsplit("::").next()?);
        let is_own = self.program.as_deref() == Some(of_crate)
            && !LIBRARIES.iter().any(|library| path.starts_with(library))
            && !path.starts_with('<')
            && !path.contains(">::")
            && !path.contains("::__rtic_");
        (is_own && !is_handlers(self.symbols, function)).then(|| name.to_owned())
    }

    /// Returns the task whose code is inlined at an address: what RTIC 1's handlers run there, or else the outermost
    /// future of the program's own. RTIC's dispatchers also have closures, which call and wake tasks; they have symbols,
    /// and are not tasks.
    fn inlined(&self, pc: u32) -> Option<String> {
        let frames = self.lines?.inlined_at(pc);
        if self.program.is_some() {
            let names = frames.iter().rev().filter_map(|frame| frame.function.as_deref());
            let mut run = names.skip_while(|name| !runs_tasks(name)).peekable();
            if run.peek().is_some() {
                return run.find_map(|name| self.plain_task_name(name));
            }
        }
        let is_dispatcher = |name: &String| {
            matches!(self.calling, PollPath::Inlined) && self.symbols.address_of(name).is_some()
        };
        frames
            .into_iter()
            .rev()
            .filter_map(|frame| task_name(&frame.function?))
            .find(|name| !is_dispatcher(name))
    }
}

/// Tells whether a function is what RTIC 1's handlers run tasks in.
fn runs_tasks(function: &str) -> bool {
    function == RTIC_1_RUN
}

/// Tells whether a function is a closure in a handler: a function whose symbol has no path.
fn is_handlers(symbols: &Symbols, function: &str) -> bool {
    let parent = function.split_once("::{").and_then(|(path, _)| path.rsplit("::").next());
    parent.is_some_and(|name| symbols.address_of(name).is_some())
}

/// Extracts the task's name from that of a future's code: `a::b::{{closure}}` is `b`, and so is
/// `a::__b_task::__b_task_inner_function::{{closure}}`.
fn task_name(function: &str) -> Option<String> {
    let path = function.split("::{").next().filter(|path| path.len() < function.len())?;
    let is_future =
        ["{{closure}}", "{closure", "{async"].iter().any(|mark| function.contains(mark));
    let of_library = LIBRARIES.iter().any(|library| path.starts_with(library));
    // What RTIC's macros generate is no task: what starts one belongs to the task that calls it.
    let starts_task = path.contains("::__rtic_");
    if !is_future || of_library || starts_task || path.starts_with('<') {
        return None;
    }
    let own = path.rsplit("::").next()?.trim_start_matches("__");
    let own = own.trim_end_matches("_inner_function");
    Some(own.strip_suffix("_task").unwrap_or(own).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futures_have_the_names_of_their_functions() {
        let name = |function| task_name(function);
        assert_eq!(name("load::middle::{{closure}}").as_deref(), Some("middle"));
        let wrapped = "load::__slow_task::__slow_task_inner_function::{async_fn#0}";
        assert_eq!(name(wrapped).as_deref(), Some("slow"));
        assert_eq!(name("load::slow::{async_fn#0}::{closure#0}").as_deref(), Some("slow"));
        assert_eq!(name("core::future::poll_fn::{{closure}}"), None);
        assert_eq!(name("<embassy_sync::X as Future>::poll"), None);
        assert_eq!(name("load::app::__rtic_internal_fast_spawn::{{closure}}"), None);
        assert_eq!(name("load::app::main::__rtic_init_resources::{{closure}}"), None);
        assert_eq!(name("load::middle"), None);
        assert_eq!(name("load::{impl#0}::middle"), None);
        assert_eq!(name("{closure#0}"), None, "it has no function");
    }
}
