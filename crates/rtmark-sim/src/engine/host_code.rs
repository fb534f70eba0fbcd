//! Host code of schedules that execute often.
//!
//! Such a schedule gets functions of the host (`rtmark_codegen`), each of which executes some successive steps as
//! far as every one goes as expected, and says with which step threaded code continues. That step then executes as
//! if threaded code had executed all before it. So neither a result nor a cycle depends on host code.

use crate::engine::CortexM;
use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::OpFn;
use crate::engine::entries::Entry;
use crate::exec::Ending;

#[cfg(not(feature = "codegen"))]
pub use self::none::HostCode;
#[cfg(feature = "codegen")]
pub use self::some::{HostCode, HostCompiler, HostSteps};

#[cfg(not(feature = "codegen"))]
mod none {
    use super::{CortexM, Cursor, Ending, Entry, OpFn, ScheduledOp};

    /// No host code.
    #[derive(Debug, Default)]
    pub struct HostCode {}

    impl CortexM {
        /// Executes the steps that the cursor has entered, beginning with the function `run`.
        #[inline(always)]
        pub(crate) fn execute_often<'a>(
            &mut self,
            _: &'a HostCode,
            _: &Entry,
            _: &[ScheduledOp],
            run: OpFn,
            at: &mut Cursor<'a>,
        ) -> Ending {
            self.state.execute_from(run, at)
        }
    }
}

#[cfg(feature = "codegen")]
mod some {
    use std::slice::Iter;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    use rtmark_codegen::{Function, Generator, Memory, Registers};

    use super::{CortexM, Cursor, Ending, Entry, OpFn, ScheduledOp};
    use crate::engine::dispatch::end;
    use crate::engine::host_steps::{self, JUMPED, LEFT};
    use crate::state::State;

    /// Passes before a schedule gets host code, which takes as long to make as some thousand passes.
    const OFTEN: u32 = 4096;
    /// The last passes before, in which it is observed how far they go.
    const OBSERVED: u32 = 256;
    /// The most bytes of host code for a machine and its clones.
    const MOST_BYTES: usize = 64 << 20;

    /// The host code of a schedule, if it has executed often.
    #[derive(Debug, Default)]
    pub struct HostCode {
        /// Passes so far.
        passes: AtomicU32,
        /// The most steps that a pass has executed, of those observed.
        length: AtomicU32,
        steps: OnceLock<Option<Box<HostSteps>>>,
    }

    /// Steps of which host code executes some.
    #[derive(Debug)]
    pub struct HostSteps {
        /// The steps, linked so that host code executes where there is any.
        steps: Box<[ScheduledOp]>,
        /// Executes the first step, unless `first` does.
        run: OpFn,
        /// The function that begins with the first step.
        first: Option<Function>,
        /// The functions that begin with later steps.
        later: Box<[Linked]>,
        /// For each step, the number of the later function that begins with it, or [`NONE`].
        by_step: Box<[u8]>,
    }

    /// A function, and its first step as threaded code.
    #[derive(Debug)]
    struct Linked {
        function: Function,
        first: OpFn,
    }

    const NONE: u8 = u8::MAX;

    /// Makes host code for a machine and its clones.
    #[derive(Clone, Debug)]
    pub struct HostCompiler {
        generator: Arc<Mutex<Option<Generator>>>,
        /// Passes before a schedule gets host code.
        pub after: u32,
    }

    impl Default for HostCompiler {
        fn default() -> Self {
            Self { generator: Arc::default(), after: OFTEN }
        }
    }

    impl CortexM {
        /// Executes the steps that the cursor has entered, beginning with the function `run`.
        #[inline(always)]
        pub(crate) fn execute_often<'a>(
            &mut self,
            host_code: &'a HostCode,
            entry: &Entry,
            steps: &[ScheduledOp],
            run: OpFn,
            at: &mut Cursor<'a>,
        ) -> Ending {
            match host_code.steps.get() {
                Some(Some(host_steps)) => {
                    at.enter_host_code(host_steps);
                    self.state.execute_host_code(host_steps, at)
                }
                Some(None) => self.state.execute_from(run, at),
                None => {
                    let ending = self.state.execute_from(run, at);
                    if host_code.is_due(self.code.host_compiler.after, steps.len(), at.index()) {
                        self.make_host_code(host_code, entry, steps, run);
                    }
                    ending
                }
            }
        }

        #[inline(never)]
        fn make_host_code(
            &mut self,
            host_code: &HostCode,
            entry: &Entry,
            steps: &[ScheduledOp],
            run: OpFn,
        ) {
            let length = host_code.length.load(Ordering::Relaxed) as usize;
            let Self { state, code } = self;
            let made = host_code.steps.get_or_init(|| {
                let compiler = &code.host_compiler;
                HostSteps::of(steps, run, length, entry, state, compiler).map(Box::new)
            });
            let kept = made.as_ref().map_or(0, |made| made.steps.len());
            code.counts.keep(entry.block.count_more_kept(kept));
        }
    }

    impl HostCode {
        /// Counts a pass, whose last step was the one with the index `last`, and returns whether it is time for host
        /// code. Increments that other threads make at the same time may be lost, which only delays that.
        #[inline(always)]
        fn is_due(&self, after: u32, steps: usize, last: usize) -> bool {
            let passes = self.passes.load(Ordering::Relaxed).saturating_add(1);
            self.passes.store(passes, Ordering::Relaxed);
            if passes.saturating_add(OBSERVED) <= after {
                return false;
            }
            // Without passes to observe, all steps count.
            let executed = if after > OBSERVED { last + 1 } else { steps };
            self.length.fetch_max(executed as u32, Ordering::Relaxed);
            passes >= after
        }
    }

    impl State {
        /// Executes the steps that the cursor has entered.
        #[inline(always)]
        fn execute_host_code<'a>(
            &mut self,
            host_steps: &'a HostSteps,
            at: &mut Cursor<'a>,
        ) -> Ending {
            let after = host_steps.first.as_ref().and_then(|first| self.execute_function(first));
            match after {
                None | Some(0) => self.execute_from(host_steps.run, at),
                Some(after) => match self.go_on(after, at) {
                    GoOn::With(next) => self.execute_from(next, at),
                    GoOn::Ended(ending) => ending,
                },
            }
        }

        /// Moves the cursor to where a function has left the steps, and returns how the pass goes on.
        #[inline(always)]
        fn go_on(&self, after: u32, at: &mut Cursor<'_>) -> GoOn {
            let number = (after & (LEFT - 1)) as usize;
            if after < LEFT {
                return at
                    .move_before(number)
                    .map_or(GoOn::With(end), |before| GoOn::With(before.next));
            }
            at.move_before(number + 1);
            if after < JUMPED {
                return GoOn::Ended(Ending::Next);
            }
            let target = at.micro().slot.imm;
            let _ = self.branch(at, target);
            GoOn::Ended(Ending::Jump)
        }

        /// Executes steps by a function of host code; returns what the function does, or `None` if it does not fit
        /// the memory at present.
        #[inline(always)]
        fn execute_function(&mut self, function: &Function) -> Option<u32> {
            let (ram, base, code) = self.bus.main_ram();
            let memory = function.memory();
            if base != memory.base || (code.1 > 0) != memory.holds_code {
                return None;
            }
            let cpu = &mut self.cpu;
            let registers = Registers {
                words: &mut cpu.r,
                result: &mut cpu.nz,
                carry: &mut cpu.c,
                overflow: &mut cpu.v,
            };
            function.call(registers, ram, code)
        }
    }

    /// How a pass goes on after host code.
    enum GoOn {
        /// This function executes the next step.
        With(OpFn),
        Ended(Ending),
    }

    /// Executes the next steps by host code, and continues with threaded code.
    fn run_host_code<'a>(
        state: &mut State,
        pass: &mut Cursor<'a>,
        rest: Iter<'a, ScheduledOp>,
    ) -> Ending {
        let start = pass.index_of(&rest);
        let Some(Linked { function, first }) =
            pass.host_code.and_then(|host_code| host_code.function_at(start))
        else {
            return end(state, pass, rest);
        };
        // A pass that must end earlier, in time for a deadline, has fewer steps than the function.
        if pass.is_shortened() {
            return first(state, pass, rest);
        }
        match state.execute_function(function) {
            Some(after) if after as usize != start => match state.go_on(after, pass) {
                GoOn::With(next) => next(state, pass, pass.rest()),
                GoOn::Ended(ending) => ending,
            },
            _ => first(state, pass, rest),
        }
    }

    impl HostSteps {
        pub fn steps(&self) -> &[ScheduledOp] {
            &self.steps
        }

        #[inline(always)]
        fn function_at(&self, step: usize) -> Option<&Linked> {
            self.later.get(usize::from(*self.by_step.get(step)?))
        }

        /// Makes host code for the first `length` steps, of which the function `run` executes the first one.
        fn of(
            steps: &[ScheduledOp],
            mut run: OpFn,
            length: usize,
            entry: &Entry,
            state: &mut State,
            compiler: &HostCompiler,
        ) -> Option<Self> {
            let (ram, base, (_, code_bytes)) = state.bus.main_ram();
            let bytes = u32::try_from(ram.len()).ok()?;
            let memory = Memory { base, bytes, holds_code: code_bytes > 0 };
            let segments = host_steps::segments(steps, length, entry.block.address, state.rules);
            let mut linked = steps.to_vec();
            let mut by_step = vec![NONE; steps.len()];
            let (mut first, mut later) = (None, Vec::new());
            // No panic leaves a generator in use half changed: it begins anew for each function.
            let mut generator = compiler.generator.lock().unwrap_or_else(PoisonError::into_inner);
            if generator.is_none() {
                *generator = Generator::new(MOST_BYTES);
            }
            let generator = generator.as_mut()?;
            for segment in segments {
                let function = generator.function(&segment.operations, segment.end, memory)?;
                let Some(before) = segment.start.checked_sub(1) else {
                    first = Some(function);
                    continue;
                };
                by_step[before + 1] = u8::try_from(later.len()).ok().filter(|at| *at != NONE)?;
                later.push(Linked { function, first: steps[before + 1].run() });
                linked[before].next = run_host_code;
                // The step before is not fused with the function's first one.
                match before.checked_sub(1) {
                    Some(earlier) => linked[earlier].next = steps[before].run(),
                    None => run = steps[before].run(),
                }
            }
            let is_useful = first.is_some() || !later.is_empty();
            is_useful.then(|| Self {
                steps: linked.into(),
                run,
                first,
                later: later.into(),
                by_step: by_step.into(),
            })
        }
    }
}
