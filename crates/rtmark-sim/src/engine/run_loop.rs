//! The run loop: finds the next block and executes it, until something else is due.
//!
//! The *deadline* is the first cycle in which anything but an instruction may be due: a clock, a
//! pending exception, an IT block, the end of the run. A block's schedule says in advance how many
//! of its instructions begin before it. Anything that changes when something is due moves the
//! deadline, and anything that takes longer than scheduled compares with it again.
//! [`crate::engine::fetch`] knows what instruction fetches wait for,
//! [`crate::engine::pipeline_driver`] drives the pipeline model, and [`crate::engine::events`]
//! handles what is due.
//!
//! The loop itself knows no instruction and no architecture's exceptions.

use rtmark_units::Cycles;

use crate::arch::armm::registers::after_it;
use crate::arch::armm::trap::Trap;
use crate::engine::CortexM;
use crate::engine::block::{Block, Code, Passage, ScheduledOp};
use crate::engine::code_cache::ItOutcome;
use crate::engine::cursor::Cursor;
use crate::engine::entries::{Entries, Entry};
use crate::engine::micro_op::MicroOp;
use crate::engine::native::NewLink;
use crate::exec::{Ending, Flow};
use crate::state::stop::Stop;
use crate::state::{NOT_FETCHED, ProgramPoint, State};

/// Whether any block was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRun {
    Executed,
    /// No block can be executed here.
    NoBlock,
}

/// A run of blocks between two passes.
struct RunPosition {
    point: ProgramPoint,
    /// ITSTATE before the next block.
    it: u8,
    /// Whether the previous pass ended with a fetch.
    has_fetched: bool,
    went: BlockRun,
}

/// How a run of blocks that have entries ended.
enum RunEnd {
    /// Something else is due, or the next block is in another memory.
    Due,
    /// The next block has no entry that can be used. See [`Cursor::shown`].
    NoEntry(Option<(u32, u32)>),
    /// Native code may continue with other code after an exit.
    Link(NewLink),
    /// There is no room for the links of this entry's native code.
    NeedsRoom(Entry),
    /// An instruction trapped, which has been handled.
    Trapped,
}

/// The result of looking up a block.
enum LookedUp {
    Found(Entry),
    /// No block may be executed here.
    Nothing,
    /// The table of pipeline states is full.
    Full,
}

impl State {
    /// Returns the outcome of the IT before a block that begins with ITSTATE `it`; `None` outside IT
    /// blocks.
    #[inline(always)]
    fn it_outcome(&self, it: u8) -> Option<ItOutcome> {
        (it != 0).then(|| ItOutcome { it, holds: self.cpu.condition_of(it) })
    }
}

impl CortexM {
    /// Runs until the cycle count reaches `until` or something else ends the run.
    ///
    /// The count may pass `until` by what the last instruction or exception took.
    pub fn run_blocks(&mut self, until: Cycles) -> Stop {
        let stop = self.run_on(until);
        self.final_stop(stop)
    }

    /// Returns why a run really ends: an internal error takes precedence over any other reason seen
    /// during the same instruction.
    pub(crate) fn final_stop(&self, stop: Stop) -> Stop {
        self.state.failed.clone().map_or(stop, Stop::Internal)
    }

    /// Returns the result of a part of a run, unless an internal error has ended it.
    pub(crate) fn or_internal_error<T>(&self, result: Result<T, Stop>) -> Result<T, Stop> {
        match &self.state.failed {
            None => result,
            Some(error) => Err(Stop::Internal(error.clone())),
        }
    }

    /// Executes blocks of one memory up to the next landmark, or until anything but an instruction
    /// is due.
    pub(crate) fn run_unobserved(&mut self) -> Result<BlockRun, Stop> {
        let mut entries = std::mem::take(&mut self.code.entries);
        let went = self.run_some::<true>(&mut entries);
        self.code.entries = entries;
        went
    }

    #[inline(always)]
    fn run_some<const OBSERVED: bool>(&mut self, entries: &mut Entries) -> Result<BlockRun, Stop> {
        self.code.follow(&mut self.state, entries);
        if self.state.rules.classify.is_some() {
            self.run_in_blocks::<true, OBSERVED>(entries)
        } else {
            self.run_in_blocks::<false, OBSERVED>(entries)
        }
    }

    fn run_on(&mut self, until: Cycles) -> Stop {
        self.state.predecoded.observe_at(None);
        self.state.limit = until.0;
        self.state.deadline = 0;
        // Taken out of the machine, so that they can be borrowed while it changes.
        let mut entries = std::mem::take(&mut self.code.entries);
        let stop = loop {
            if self.state.cycles >= self.state.deadline
                && let Some(stop) = self.state.handle_due_events()
            {
                break stop;
            }
            let step = match self.run_some::<false>(&mut entries) {
                Ok(BlockRun::Executed) => Ok(()),
                Ok(BlockRun::NoBlock) => self.state.step_slow_path(),
                Err(stop) => Err(stop),
            };
            if let Err(stop) = step {
                break stop;
            }
        };
        self.code.entries = entries;
        stop
    }

    /// Executes blocks of one memory until the program leaves that memory or something else is due;
    /// if the run is observed at landmarks, up to the next one.
    #[inline(always)]
    fn run_in_blocks<const PIPELINED: bool, const OBSERVED: bool>(
        &mut self,
        entries: &mut Entries,
    ) -> Result<BlockRun, Stop> {
        let point = self.state.progress();
        let Some(place) = self.state.bus.code_place(point.pc) else { return Ok(BlockRun::NoBlock) };
        self.state.lines.make_near(place.memory);
        let mut run = RunPosition { point, it: 0, has_fetched: false, went: BlockRun::NoBlock };
        let mut looked_up = None;
        loop {
            match self.run_known::<PIPELINED, OBSERVED>(entries, looked_up.as_ref(), &mut run)? {
                RunEnd::Due => break,
                RunEnd::Trapped => return Ok(BlockRun::Executed),
                RunEnd::NoEntry(Some((address, facts))) => self.code.note_shown(address, facts),
                RunEnd::NoEntry(None) => {}
                RunEnd::Link(link) => {
                    entries.links.add(link);
                    looked_up = None;
                    continue;
                }
                RunEnd::NeedsRoom(entry) => {
                    entries.links.make_room(&entry);
                    looked_up = Some(entry);
                    continue;
                }
            }
            self.code.make_room(entries);
            let it_outcome = self.state.it_outcome(run.it);
            match self.look_up(run.point, it_outcome) {
                LookedUp::Found(entry) => {
                    if !self.state.protected {
                        entries.add::<PIPELINED>(&run.point, it_outcome, entry.clone());
                    }
                    looked_up = Some(entry);
                }
                LookedUp::Nothing => break,
                LookedUp::Full => {
                    self.state.set_progress(run.point);
                    self.suspend(run.it);
                    self.state.renumber_pipe_states();
                    return Ok(BlockRun::Executed);
                }
            }
        }
        let RunPosition { point, it, has_fetched, went } = run;
        self.state.set_progress(point);
        self.suspend(it);
        if PIPELINED && has_fetched && point.pipe.awaits_target() {
            // The cycle in which its fetch began decides whether an exception comes first.
            self.state.enter_under(self.state.condition_of_next());
            self.state.stay();
        }
        Ok(went)
    }

    /// Executes a block that was looked up, if there is one, and those after it as long as they have
    /// entries.
    #[inline(always)]
    fn run_known<const PIPELINED: bool, const OBSERVED: bool>(
        &mut self,
        entries: &Entries,
        mut looked_up: Option<&Entry>,
        run: &mut RunPosition,
    ) -> Result<RunEnd, Stop> {
        let mut at = Cursor::from(run.point);
        (at.links, at.is_single) = (Some(&entries.links), OBSERVED);
        let RunPosition { mut it, mut went, .. } = *run;
        let (mut has_passed, mut before) = (false, None);
        let end = loop {
            let entry = if let Some(entry) = looked_up.take() {
                entry
            } else {
                // Another memory has another way of fetching, so a block never continues there.
                let is_near = self.state.bus.is_near_code(at.from.pc);
                if at.from.cycles >= self.state.deadline || !is_near {
                    break RunEnd::Due;
                }
                let it_outcome = self.state.it_outcome(it);
                match entries.get::<PIPELINED>(&at.from, it_outcome) {
                    Some((place, entry)) if !self.state.protected => {
                        entries.note_successor(before, place);
                        entry
                    }
                    _ => {
                        let shows = PIPELINED && has_passed && self.state.rules.model_buses();
                        break RunEnd::NoEntry(if shows { at.shown() } else { None });
                    }
                }
            };
            if OBSERVED && went == BlockRun::Executed && entry.block.starts_at_landmark() {
                break RunEnd::Due;
            }
            // Native code reads other things, and ends sooner than waiting for these would.
            if entry.plans.native.is_none() {
                entries.prefetch_successors(entry);
            }
            went = BlockRun::Executed;
            let plan = if PIPELINED && self.has_fetched_elsewhere(entry, &at.from) {
                None
            } else {
                self.fetch_plan(entry, &at.from)
            };
            let native = plan.map_or(&entry.plans.native, |plan| &plan.native).as_ref();
            if let Some(native) = native {
                if !entries.links.have_room(native) {
                    break RunEnd::NeedsRoom(entry.clone());
                }
                if let Some(unlinked) = at.unlinked.take()
                    && (it == 0 || at.expects_condition())
                    && !at.from.pipe.has_entered()
                    && let Some(link) = entries.links.wanted(unlinked, entry, native)
                {
                    break RunEnd::Link(link);
                }
                if plan.is_some() {
                    let contents = self.state.lines.near().cached_code().contents();
                    entries.links.note_contents(native, contents);
                }
            }
            at.unlinked = None;
            let (steps, ending) = if let Some(plan) = plan
                && at.from.cycles + u64::from(plan.schedule.last) < self.state.deadline
            {
                at.enter_planned(plan);
                at.native = native;
                let ending = self.state.execute_from(plan.schedule.run, &mut at);
                self.state.settle_memory(&mut at);
                (&plan.schedule.steps, ending)
            } else {
                let Some(ending) = self.pass_through::<PIPELINED>(entry, &mut at) else {
                    break RunEnd::Due;
                };
                (&entry.steps, ending)
            };
            let (entry, steps) =
                at.moved.take().map_or((entry, &**steps), |entry| (entry, at.steps()));
            before = Some(entry);
            let block = &*entry.block;
            let flow = match ending {
                Ending::Next => Flow::Next,
                Ending::Jump => Flow::Jump,
                Ending::Trap(trap) => {
                    return self.end_pass(block, steps, &at, trap).map(|()| RunEnd::Trapped);
                }
            };
            if entry.is_profiled() {
                self.profile_exit(block, &at, flow);
            }
            let mispredicted = PIPELINED && self.state.train_at_exit(&at, flow);
            at.complete(flow);
            if mispredicted {
                at.from.pipe = at.from.pipe.mispredicted();
            }
            (it, has_passed) = (0, true);
            if flow != Flow::Jump {
                it = entry.it_after(&at);
                if it != 0 && !at.expects_condition() && at.next().is_some() {
                    break RunEnd::Due;
                }
            }
        };
        let has_fetched = if has_passed { at.has_fetched() } else { run.has_fetched };
        *run = RunPosition { point: at.from, it, has_fetched, went };
        Ok(end)
    }

    /// Computes the schedule of a block for a pipeline state.
    fn make_schedule<'a>(
        &mut self,
        block: &'a Block,
        slots: &[MicroOp],
        from: ProgramPoint,
    ) -> Option<&'a Passage> {
        let Self { state, code } = self;
        let pages = code.native_pages.clone();
        let passage =
            state.make_schedule(block, slots, from, &pages, |address| code.last_shown(address))?;
        self.code.counts.keep(block.count_more_kept(passage.schedule.steps.len()));
        Some(passage)
    }

    /// Looks up or builds the next block and its schedule.
    #[inline(never)]
    fn look_up(&mut self, from: ProgramPoint, it_outcome: Option<ItOutcome>) -> LookedUp {
        if !self.state.may_execute_page(from.pc) {
            return LookedUp::Nothing;
        }
        let Some(block) = self.code.block(&mut self.state, from.pc, it_outcome) else {
            return LookedUp::Nothing;
        };
        // In self-modifying code an instruction may end up in a different IT block.
        if block.it_outcome != it_outcome || !self.state.may_execute_block(&block) {
            return LookedUp::Nothing;
        }
        let passage = match &block.code {
            Code::Scheduled(passage) => Some(passage.clone()),
            Code::Slots(slots) => {
                let known = block.passage(from.pipe);
                known.or_else(|| self.make_schedule(&block, slots, from)).cloned()
            }
        };
        passage.map_or(LookedUp::Full, |passage| LookedUp::Found(Entry::new(block, &passage)))
    }

    /// Returns whether a block's first instruction has entered the pipeline from another line than
    /// the latest one.
    #[inline(always)]
    fn has_fetched_elsewhere(&self, entry: &Entry, from: &ProgramPoint) -> bool {
        let end = from.pc.wrapping_add(entry.first_instruction_span());
        from.pipe.has_entered()
            && self.state.fetched == from.pc
            && self.state.is_outside_line(from.pc, end)
    }

    /// Executes a schedule whose fetches are not planned. Returns `None` if something else is due
    /// before its first instruction.
    #[inline(always)]
    fn pass_through<'a, const PIPELINED: bool>(
        &mut self,
        entry: &'a Entry,
        at: &mut Cursor<'a>,
    ) -> Option<Ending> {
        let pc = at.from.pc;
        // Without a pipeline an instruction executes as soon as it enters.
        let until_first = if PIPELINED { u64::from(entry.first()) } else { 0 };
        let end = pc.wrapping_add(entry.first_instruction_span());
        // A jump's target is fetched during the pipeline refill.
        let is_target = PIPELINED && at.from.pipe.is_taken() && self.state.rules.fetches_targets();
        let is_fetched = !self.state.is_outside_line(pc, end)
            || PIPELINED && at.from.pipe.has_entered() && self.state.fetched == pc;
        if is_target && self.state.is_outside_line(pc, end) {
            at.from.cycles = self.state.fetch_first(entry.block.line, pc, end, at.from.cycles);
        }
        if PIPELINED && at.from.cycles + until_first >= self.state.deadline {
            // It has entered, and waits to execute.
            at.from.cycles += until_first;
            at.from.pipe = entry.steps[0].begin.pipe.entered();
            self.state.fetched = if is_target { pc } else { NOT_FETCHED };
            return None;
        }
        if !is_target && !is_fetched {
            let began = at.from.cycles + until_first;
            at.from.cycles = self.state.fetch_first(entry.block.line, pc, end, began) - until_first;
        }
        Some(if at.from.cycles + u64::from(entry.last) < self.state.deadline {
            at.enter(&entry.steps, entry.last);
            at.native = entry.plans.native.as_ref();
            self.state.execute_from(entry.run, at)
        } else {
            at.enter_until(&entry.steps, entry.last, self.state.deadline);
            self.state.execute(at)
        })
    }

    /// Ends a pass at an instruction that trapped.
    #[inline(never)]
    fn end_pass(
        &mut self,
        block: &Block,
        steps: &[ScheduledOp],
        at: &Cursor<'_>,
        trap: Trap,
    ) -> Result<(), Stop> {
        if block.is_profiled() {
            self.profile_exit(block, at, Flow::Next);
        }
        self.state.set_progress(at.progress());
        let Some(slot) = steps.get(at.index()).map(|step| step.slot) else {
            return Ok(());
        };
        if trap == Trap::InvalidState {
            self.state.cpu.pc = at.target;
        }
        let it = block.it_before(at.place());
        self.state.cpu.it = if trap.undoes_instruction() { it } else { after_it(it) };
        self.state.end_trapped(trap, at.address(), slot)?;
        if self.state.cpu.it != 0 {
            self.state.request_attention();
        }
        Ok(())
    }

    /// Profiles the branches of a pass that ends, and retranslates the block when it is time.
    #[inline(never)]
    fn profile_exit(&mut self, block: &Block, at: &Cursor<'_>, flow: Flow) {
        for (address, seen) in at.jumps(flow) {
            self.code.note(address, seen);
        }
        if block.count_profiled() {
            self.code.retranslate(&mut self.state, block);
        }
    }

    /// Requests attention if the next instruction is inside an IT block.
    fn suspend(&mut self, it: u8) {
        if it != 0 {
            self.state.cpu.it = it;
            self.state.request_attention();
        }
    }
}
