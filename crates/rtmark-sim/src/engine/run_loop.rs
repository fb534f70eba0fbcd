//! The run loop: finds the next block and executes it, until something else is due.
//!
//! A block's schedule says beforehand how many of its instructions come before the *deadline*:
//! the cycle in which anything but the next instruction is to be looked at, a clock, a
//! pending exception, an IT block, the end of the run. Whatever changes one of these moves
//! the deadline, and whatever takes longer than its schedule says compares with it again. What
//! instruction fetches wait for is told by [`crate::engine::fetch`]; what a pipeline makes of it
//! all, by [`crate::engine::pipeline_driver`]; what else is due, by [`crate::engine::events`].
//!
//! The loop knows no instruction and no architecture's exceptions.

use rtmark_units::Cycles;

use crate::arch::PAGE_BYTES;
use crate::arch::armm::registers::after_it;
use crate::arch::armm::trap::Trap;
use crate::engine::CortexM;
use crate::engine::block::{Block, Schedule};
use crate::engine::code_cache::{Flash, Page};
use crate::engine::cursor::Cursor;
use crate::exec::{Ending, Flow};
use crate::state::stop::Stop;
use crate::state::{NOT_FETCHED, ProgramPoint};

impl CortexM {
    /// Runs until the cycle count reaches `until` or something else ends the run.
    ///
    /// The count may pass `until` by what the last instruction or exception took.
    pub fn run(&mut self, until: Cycles) -> Stop {
        let stop = self.run_on(until);
        self.reason(stop)
    }

    /// Why a run really ends: a mistake of the simulator goes before whatever else is seen in
    /// the same instruction.
    pub(crate) fn reason(&self, stop: Stop) -> Stop {
        self.state.failed.clone().map_or(stop, Stop::Internal)
    }

    /// What a part of a run answers, unless a mistake of the simulator has ended it.
    pub(crate) fn unless_failed<T>(&self, result: Result<T, Stop>) -> Result<T, Stop> {
        match &self.state.failed {
            None => result,
            Some(error) => Err(Stop::Internal(error.clone())),
        }
    }

    fn run_on(&mut self, until: Cycles) -> Stop {
        self.state.limit = until.0;
        self.state.deadline = 0;
        self.code.follow(&mut self.state);
        // Held apart from the machine, so that slots can be borrowed while it changes.
        let mut flash = self.code.flash(self.state.cpu.pc);
        loop {
            if self.state.cycles >= self.state.deadline
                && let Some(stop) = self.state.attend()
            {
                return stop;
            }
            self.code.follow(&mut self.state);
            if self.code.has_forgotten(&flash) {
                flash = self.code.flash(self.state.cpu.pc);
            }
            let pc = self.state.cpu.pc;
            let own;
            let mut page = flash.page(pc);
            if page.is_none() {
                own = self.code.own_page(pc);
                page = own.as_ref().map(|(page, base)| (page.as_ref(), *base));
            }
            let step = match page {
                _ if !self.state.may_execute_page(pc) => self.state.step_slowly(),
                Some((page, base)) if let Some(block) = page.block(pc.wrapping_sub(base)) => {
                    if !self.state.may_execute_block(block) {
                        self.state.step_slowly()
                    } else if self.state.rules.classify.is_some() {
                        self.run_in_pages::<true>(&flash, page, base)
                    } else {
                        self.run_in_pages::<false>(&flash, page, base)
                    }
                }
                _ if self.code.make_block(&mut self.state, pc) => {
                    flash = self.code.flash(pc);
                    Ok(())
                }
                _ => self.state.step_slowly(),
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    /// Executes from one page, and if that is of flash from those to which it leads, until the
    /// program leaves them or something else is due.
    #[inline(always)]
    fn run_in_pages<'a, const PIPELINED: bool>(
        &mut self,
        flash: &'a Flash,
        mut page: &'a Page,
        mut base: u32,
    ) -> Result<(), Stop> {
        if let Some(place) = self.state.bus.code_place(self.state.cpu.pc) {
            self.state.lines.approach(place.memory);
        }
        // From RAM nothing leads on to flash, which is another memory to fetch from.
        let is_in_flash = flash.page(self.state.cpu.pc).is_some();
        let mut at = Cursor::from(self.state.progress());
        // ITSTATE before the next block.
        let mut it = 0;
        while at.from.cycles < self.state.deadline {
            let pc = at.from.pc;
            if pc.wrapping_sub(base) >= PAGE_BYTES {
                let Some(next) = flash.page(pc).filter(|_| is_in_flash) else { break };
                if !self.state.may_execute_page(pc) {
                    break;
                }
                (page, base) = next;
            }
            let offset = pc.wrapping_sub(base);
            let block =
                if it == 0 { page.block(offset) } else { self.it_block(page, offset, pc, it) };
            let Some(block) = block else { break };
            if !self.state.may_execute_block(block) {
                break;
            }
            let schedule = if PIPELINED {
                let known = block.schedule(at.from.pipe);
                let Some(schedule) = known.or_else(|| self.state.make_schedule(block, at.from))
                else {
                    self.state.set_progress(at.from);
                    self.suspend(it);
                    self.state.renew_pace();
                    return Ok(());
                };
                schedule
            } else {
                &block.outline
            };
            let plan = if PIPELINED && self.has_fetched_elsewhere(block, at.from) {
                None
            } else {
                self.fetch_plan(block, schedule, at.from)
            };
            let (schedule, ending) = if let Some(plan) = plan
                && at.from.cycles + u64::from(plan.schedule.last) < self.state.deadline
            {
                at.enter_planned(plan);
                let ending = self.state.execute_from(plan.schedule.run, &mut at);
                self.state.settle_memory(&mut at);
                (&plan.schedule, ending)
            } else {
                let Some(ending) = self.pass_through::<PIPELINED>(block, schedule, &mut at) else {
                    break;
                };
                (schedule, ending)
            };
            let flow = match ending {
                Ending::Next => Flow::Next,
                Ending::Jump => Flow::Jump,
                Ending::Trap(trap) => return self.end_pass(block, schedule, &at, trap),
            };
            if block.is_profiled() {
                self.profile_exit(block, &at, flow);
            }
            let unforeseen = PIPELINED && self.state.learn_at_exit(&at, flow);
            at.advance();
            it = 0;
            if unforeseen {
                at.from.pipe = at.from.pipe.unforeseen();
            }
            if flow == Flow::Jump {
                at.from.pc = at.target;
                at.from.pipe = at.from.pipe.taken();
            } else if block.has_it() {
                it = block.it_before(at.place() + 1);
                if it != 0 && !at.is_behind_it() {
                    break;
                }
            }
        }
        self.state.set_progress(at.from);
        self.suspend(it);
        if PIPELINED && at.has_fetched_target() {
            // Whether an exception comes before it is a question of when its fetch began.
            self.state.enter_under(self.state.condition_of_next());
            self.state.stay();
        }
        Ok(())
    }

    /// Whether the next instruction, the first of a block, has entered the pipeline and was
    /// fetched from another line than the latest.
    #[inline(always)]
    fn has_fetched_elsewhere(&self, block: &Block, from: ProgramPoint) -> bool {
        let end = from.pc.wrapping_add(block.first_reach);
        from.pipe.has_entered()
            && self.state.fetched == from.pc
            && self.state.is_elsewhere(from.pc, end)
    }

    /// Executes a schedule of a block, of which the fetches are still to be done; `None` if its
    /// first instruction is not executed before something else is due.
    #[inline(always)]
    fn pass_through<'a, const PIPELINED: bool>(
        &mut self,
        block: &Block,
        schedule: &'a Schedule,
        at: &mut Cursor<'a>,
    ) -> Option<Ending> {
        let pc = at.from.pc;
        // Without a pipeline an instruction executes when it enters.
        let until_first = if PIPELINED { u64::from(schedule.first) } else { 0 };
        let end = pc.wrapping_add(block.first_reach);
        // The target of a jump is fetched while the pipeline is refilled.
        let is_target = PIPELINED && at.from.pipe.is_taken() && self.state.rules.fetches_targets();
        let is_fetched = !self.state.is_elsewhere(pc, end)
            || PIPELINED && at.from.pipe.has_entered() && self.state.fetched == pc;
        if is_target && self.state.is_elsewhere(pc, end) {
            at.from.cycles = self.state.fetch_first(block, pc, end, at.from.cycles);
        }
        if PIPELINED && at.from.cycles + until_first >= self.state.deadline {
            // It has entered, and waits for its turn.
            at.from.cycles += until_first;
            at.from.pipe = schedule.steps[0].begin.pipe.entered();
            self.state.fetched = if is_target { pc } else { NOT_FETCHED };
            return None;
        }
        if !is_target && !is_fetched {
            let began = at.from.cycles + until_first;
            at.from.cycles = self.state.fetch_first(block, pc, end, began) - until_first;
        }
        Some(if at.from.cycles + u64::from(schedule.last) < self.state.deadline {
            at.enter(schedule);
            self.state.execute_from(schedule.run, at)
        } else {
            at.enter_until(schedule, self.state.deadline);
            self.state.execute(at)
        })
    }

    /// Ends a pass at an instruction that did not simply complete.
    #[inline(never)]
    fn end_pass(
        &mut self,
        block: &Block,
        schedule: &Schedule,
        at: &Cursor<'_>,
        trap: Trap,
    ) -> Result<(), Stop> {
        if block.is_profiled() {
            self.profile_exit(block, at, Flow::Next);
        }
        self.state.set_progress(at.progress());
        let Some(slot) = schedule.steps.get(at.index()).map(|step| step.slot) else {
            return Ok(());
        };
        if trap == Trap::InvalidState {
            self.state.cpu.pc = at.target;
        }
        let it = block.it_before(at.place());
        self.state.cpu.it = if trap.undoes_instruction() { it } else { after_it(it) };
        self.state.end_trapped(trap, at.address(), slot)?;
        if self.state.cpu.it != 0 {
            self.state.attend_soon();
        }
        Ok(())
    }

    /// Looks at the branches of a pass that ends: blocks are to go on where they mostly lead.
    #[inline(never)]
    fn profile_exit(&mut self, block: &Block, at: &Cursor<'_>, flow: Flow) {
        for (address, seen) in at.jumps(flow) {
            self.code.note(address, seen);
        }
        if block.count_profiled() {
            self.code.retranslate(&mut self.state, at.from.pc, block.it_outcome);
        }
    }

    /// The block behind an IT, as its condition holds or not.
    #[inline(always)]
    fn it_block<'a>(&mut self, page: &'a Page, offset: u32, pc: u32, it: u8) -> Option<&'a Block> {
        let holds = self.state.cpu.condition_of(it);
        let known = page.it_block(offset, holds);
        if known.is_some() || !self.code.make_it_blocks(&mut self.state, pc, it) {
            return known;
        }
        page.it_block(offset, holds)
    }

    /// Stops where an instruction of an IT block may be next, which has to be looked at then.
    fn suspend(&mut self, it: u8) {
        if it != 0 {
            self.state.cpu.it = it;
            self.state.attend_soon();
        }
    }
}
