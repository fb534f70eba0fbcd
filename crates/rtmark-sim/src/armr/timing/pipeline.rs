//! The pipeline: instructions issue in order, up to two at a time, when their operands are
//! available.
//!
//! The pipeline is called twice for each instruction: before it executes, for the cycle in which it
//! [issues](Pipeline::issue), and afterwards with [what it did](Pipeline::finish). Memory and the
//! branch predictor are consulted each time. The effect of their answers on the scoreboard is
//! computed once and memoized.

use super::cache::Replacement;
use super::demand::{Demand, Flow, Moves};
use super::memo::{Memo, Passage, Passages};
use super::memory::{LONG_AGO, MemoryTimes, Switches, Waits};
use super::predictor::Predictor;
use super::scoreboard::{DataAccess, Outcome, PredictionOutcome, Scoreboard, UNPREDICTED, key};
use super::windows::Windows;
use crate::armr::control::{Control, Kind, Maintenance, actlr, sctlr};
use crate::armr::exec::Effects;
use crate::soc::Soc;

/// The cycles from an interrupt at the core to the vector's instruction. An estimate, since no
/// figure has been found: those of an unpredicted branch, and two stages of synchronization.
pub const ENTRY: u64 = UNPREDICTED + 2;

/// Where an instruction is, and what the pipeline must know of it besides its demands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub pc: u32,
    pub size: u8,
    pub thumb: bool,
    /// Whether it is conditional.
    pub conditional: bool,
    /// Whether it is a branch to an earlier address.
    pub backwards: bool,
    pub kind: Kind,
}

impl Place {
    /// Returns the address of its last byte.
    #[inline(always)]
    pub const fn last_byte(&self) -> u32 {
        self.pc.wrapping_add(self.size as u32 - 1)
    }

    /// Returns the address of the next instruction, with the instruction set in the lowest bit.
    pub const fn link(&self) -> u32 {
        self.pc.wrapping_add(self.size as u32) | self.thumb as u32
    }
}

/// How the state of the pipeline is represented.
#[derive(Clone, Copy, Debug)]
enum BoardForm {
    /// By the scoreboard.
    Full,
    /// By a number; of the scoreboard, only the next cycle is valid.
    Numbered(u32),
}

/// The pipeline.
#[derive(Debug)]
pub struct Pipeline {
    board: Scoreboard,
    form: BoardForm,
    memo: Memo,
    /// If the current instruction's passage is to be kept: the number of the scoreboard before it,
    /// and its next cycle.
    from: Option<(u32, u64)>,
    pub predictor: Predictor,
    pub memory: MemoryTimes,
    pub windows: Windows,
    pub switches: Switches,
    actlr: u32,
}

impl Clone for Pipeline {
    fn clone(&self) -> Self {
        Self {
            board: self.scoreboard(),
            form: BoardForm::Full,
            memo: self.memo.clone(),
            from: None,
            predictor: self.predictor.clone(),
            memory: self.memory.clone(),
            windows: self.windows.clone(),
            switches: self.switches,
            actlr: self.actlr,
        }
    }
}

impl Pipeline {
    pub fn new(soc: &Soc) -> Self {
        Self {
            board: Scoreboard::default(),
            form: BoardForm::Full,
            memo: Memo::default(),
            from: None,
            predictor: Predictor::default(),
            memory: MemoryTimes::new(soc),
            windows: Windows::default(),
            switches: Switches {
                instructions: false,
                data: false,
                replacement: Replacement::Random,
            },
            actlr: 0,
        }
    }

    /// Returns the next cycle in which an instruction may issue.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.board.next
    }

    /// Advances to a cycle without issuing anything.
    pub fn wait(&mut self, until: u64) {
        self.materialize();
        self.board.next = self.board.next.max(until);
    }

    /// Applies the settings in control registers.
    pub fn configure(&mut self, control: &Control) {
        let is = |bit| control.sctlr & bit != 0;
        let replacement = if is(sctlr::RR) { Replacement::RoundRobin } else { Replacement::Random };
        self.switches = Switches { instructions: is(sctlr::I), data: is(sctlr::C), replacement };
        if self.actlr != control.actlr {
            // The setting determines which instructions may pair.
            self.materialize();
            self.memo.forget();
        }
        self.actlr = control.actlr;
        self.memory.refetch();
    }

    fn scoreboard(&self) -> Scoreboard {
        let known = match self.form {
            BoardForm::Full => None,
            BoardForm::Numbered(number) => self.memo.board(number, self.board.next),
        };
        known.unwrap_or(self.board)
    }

    /// Materializes the scoreboard, if only its number is known.
    fn materialize(&mut self) {
        if let BoardForm::Numbered(_) = self.form {
            self.board = self.scoreboard();
            self.form = BoardForm::Full;
        }
    }

    fn number(&mut self) -> Option<u32> {
        if let BoardForm::Numbered(number) = self.form {
            return Some(number);
        }
        let number = self.memo.number(&self.board)?;
        self.form = BoardForm::Numbered(number);
        Some(number)
    }

    /// Returns when the code of an instruction is available.
    #[inline]
    fn fetch(&mut self, place: &Place) -> u64 {
        let Place { pc, kind, .. } = *place;
        let now = self.board.next;
        let fetched = self.memory.fetch(pc, kind, self.switches, now);
        let last = place.last_byte();
        if last / 8 == pc / 8 {
            return fetched;
        }
        fetched.max(self.memory.fetch(last, kind, self.switches, now))
    }

    /// Returns the cycle in which an instruction issues, not before its code is available.
    #[inline]
    pub fn issue(&mut self, demand: &Demand, passages: &Passages, place: &Place) -> u64 {
        let fetched = self.fetch(place);
        self.from = None;
        let next = self.board.next;
        if (fetched == 0 || fetched + LONG_AGO <= next)
            && let Some(number) = self.number()
        {
            self.from = Some((number, next));
            if let Some(issue) = passages.issue(number, next) {
                return issue;
            }
        }
        self.materialize();
        self.board.issue(demand, place, fetched, self.actlr)
    }

    /// Records the outcome of an instruction that issued in a cycle. Returns its passage, if it has
    /// one, which requires that it waited for nothing but earlier stores.
    #[inline]
    pub fn finish(
        &mut self,
        demand: &Demand,
        passages: &mut Passages,
        place: &Place,
        done: &Effects,
        issue: u64,
    ) -> Option<Passage> {
        let waits = match &done.traffic {
            Some(traffic) => self.memory.access(traffic, self.switches, issue),
            None => None,
        };
        let prediction = self.prediction_outcome(demand, place, done.jump);
        let passage = if let (BoardForm::Numbered(_), None, Some((from, _))) =
            (self.form, &waits, self.from)
            && let Some(known) = passages.find(from, key(demand, done, prediction))
        {
            self.form = BoardForm::Numbered(known.to);
            self.board.next += u64::from(known.cycles);
            Some(*known)
        } else {
            self.finish_on_board(demand, passages, place, done, (issue, prediction, waits))
        };
        if let Some(maintenance) = done.maintenance {
            self.maintain(maintenance, issue);
        }
        passage
    }

    /// Records the outcome on the scoreboard, with the cycle of issue, the accuracy of the branch
    /// prediction and the waits, and keeps the passage.
    #[inline(never)]
    fn finish_on_board(
        &mut self,
        demand: &Demand,
        passages: &mut Passages,
        place: &Place,
        done: &Effects,
        (issue, prediction, waits): (u64, PredictionOutcome, Option<Waits>),
    ) -> Option<Passage> {
        self.issue_on_board(demand, place);
        let stalls = waits.map_or(Some(0), |waits| waits.only_stalls());
        let from = self.from.take();
        let outcome = Outcome {
            skipped: done.skipped,
            jumps: done.jump.is_some(),
            moved: done.traffic.map(|it| DataAccess {
                address: it.address,
                bytes: it.bytes,
                reads: it.reads,
            }),
            quotient: done.quotient.unwrap_or((0, 0)),
            prediction,
            waits: waits.unwrap_or_default(),
        };
        self.board.finish(demand, &outcome, issue);
        let (from, stalls, to) = (from?, stalls?, self.number()?);
        let key = key(demand, done, prediction) | key::stalled(stalls);
        let passage = Passage::new(from, key, issue, (to, self.board.next))?;
        if waits.is_none() {
            passages.keep(passage);
        }
        Some(passage)
    }

    /// Returns the number of the pipeline's state, if it is represented by one.
    #[inline]
    pub const fn state_number(&self) -> Option<u32> {
        match self.form {
            BoardForm::Numbered(number) => Some(number),
            BoardForm::Full => None,
        }
    }

    /// Sets the pipeline's state to a number, at a next cycle.
    #[inline]
    pub const fn set_state_number(&mut self, number: u32, next: u64) {
        self.form = BoardForm::Numbered(number);
        self.board.next = next;
        self.from = None;
    }

    /// Returns the first number that is still valid.
    pub const fn first_number(&self) -> u32 {
        self.memo.first()
    }

    /// Computes the passage of an instruction that does not wait for memory from a numbered
    /// scoreboard, for an outcome. Returns `None` if it cannot be kept.
    pub fn compute_passage(
        &mut self,
        (from, next): (u32, u64),
        demand: &Demand,
        place: &Place,
        outcome: &Outcome,
        key: u32,
    ) -> Option<Passage> {
        self.set_state_number(from, next);
        self.materialize();
        let issue = self.board.issue(demand, place, 0, self.actlr);
        self.board.finish(demand, outcome, issue);
        let to = self.number()?;
        Passage::new((from, next), key, issue, (to, self.board.next))
    }

    /// Issues the current instruction on the scoreboard, if its issue was memoized.
    fn issue_on_board(&mut self, demand: &Demand, place: &Place) {
        if let BoardForm::Numbered(_) = self.form {
            self.materialize();
            self.board.issue(demand, place, 0, self.actlr);
        }
    }

    /// Returns how well a branch was predicted (DDI 0363, 14.9 and tables 14-10, 14-13).
    #[inline]
    fn prediction_outcome(
        &mut self,
        demand: &Demand,
        place: &Place,
        jump: Option<u32>,
    ) -> PredictionOutcome {
        if demand.flow == Flow::On {
            return PredictionOutcome::Correct;
        }
        self.branch_outcome(demand.flow, demand.moves, place, jump)
    }

    /// Returns how well a branch was predicted; `jump` is its target if it was taken.
    pub fn branch_outcome(
        &mut self,
        flow: Flow,
        moves: Moves,
        place: &Place,
        jump: Option<u32>,
    ) -> PredictionOutcome {
        let taken = jump.is_some();
        match (flow, jump) {
            (Flow::On, _) => PredictionOutcome::Correct,
            (Flow::Direct { links }, _) => {
                let right = !place.conditional || self.check_prediction(place, taken);
                if links && taken {
                    self.push(place);
                }
                if right { PredictionOutcome::Correct } else { PredictionOutcome::Mispredicted }
            }
            (_, None) => match flow {
                Flow::Register { links: false } | Flow::Loaded { returns: true }
                    if place.conditional && !self.check_prediction(place, false) =>
                {
                    PredictionOutcome::Mispredicted
                }
                // TBB takes the same time either way.
                Flow::Unpredicted if moves != Moves::Nothing => PredictionOutcome::Unpredicted,
                _ => PredictionOutcome::Correct,
            },
            (Flow::Register { links: true }, _) => {
                self.push(place);
                PredictionOutcome::Unpredicted
            }
            (Flow::Register { .. } | Flow::Loaded { returns: true }, Some(target)) => {
                let foreseen = !place.conditional || self.check_prediction(place, true);
                self.return_outcome(foreseen, target)
            }
            (_, Some(_)) => PredictionOutcome::UnpredictedAfter,
        }
    }

    /// Returns how well a return was predicted; `foreseen` is whether it was predicted to be taken.
    #[inline(always)]
    pub const fn return_outcome(&mut self, foreseen: bool, target: u32) -> PredictionOutcome {
        let stack = self.actlr & actlr::RSDIS == 0;
        let right = stack && self.predictor.pop() & !1 == target;
        match (foreseen, right) {
            (true, true) => PredictionOutcome::Correct,
            (false, true) => PredictionOutcome::MispredictedAfter,
            (_, false) => PredictionOutcome::UnpredictedAfter,
        }
    }

    /// Returns whether a branch was predicted correctly, and trains the predictor.
    #[inline]
    pub fn check_prediction(&mut self, place: &Place, taken: bool) -> bool {
        self.predictor.branch(place.pc, place.backwards, taken, self.actlr) == taken
    }

    /// Records that access rights may have changed.
    pub fn forget_rights(&mut self) {
        self.windows.forget();
        self.memory.data.lines.clear();
    }

    /// Records that code at an address has been decoded, so that stores to its page take the slow
    /// path.
    pub fn has_code(&mut self, address: u32) {
        if self.windows.has_code(address) {
            self.memory.data.lines.clear();
        }
    }

    /// Keeps the line of an address for quick accesses, if it is in the cache.
    pub fn keep_line(&mut self, address: u32, privileged: bool) {
        let data = &mut self.memory.data;
        if data.hits(address)
            && let Some(line) = self.windows.line(address, privileged, data.is_dirty(address))
        {
            data.lines.keep(address, line);
        }
    }

    /// Returns whether every part of branch prediction is on.
    pub const fn predicts_fully(&self) -> bool {
        let off = actlr::DEOLP | actlr::DBHE | actlr::RSDIS;
        actlr::policy(self.actlr) == 0 && self.actlr & off == 0
    }

    /// Returns how well a direct branch was predicted while every part of branch prediction is on,
    /// and trains the predictor.
    #[inline(always)]
    pub fn foresee_fully(&mut self, pc: u32, backwards: bool, taken: bool) -> PredictionOutcome {
        let right = self.predictor.branch(pc, backwards, taken, 0) == taken;
        if right { PredictionOutcome::Correct } else { PredictionOutcome::Mispredicted }
    }

    /// Pushes the return address of a call.
    #[inline]
    pub const fn push(&mut self, place: &Place) {
        self.predictor.push(place.pc.wrapping_add(place.size as u32));
    }

    fn maintain(&mut self, maintenance: Maintenance, issue: u64) {
        match maintenance {
            Maintenance::Instructions(None) => self.memory.instructions.clear(),
            Maintenance::Instructions(Some(address)) => self.memory.instructions.forget(address),
            Maintenance::Data(None) => self.memory.data.clear(),
            Maintenance::Data(Some(address)) => self.memory.data.forget(address),
            Maintenance::DataSetWay(value) => self.memory.data.forget_set_way(value),
            Maintenance::Predictors => self.predictor.clear(),
            Maintenance::Nothing | Maintenance::Clean => {}
            Maintenance::Synchronize => self.wait(self.memory.drained()),
            Maintenance::Flush => {
                self.wait(issue + UNPREDICTED);
                self.memory.refetch();
            }
        }
    }

    /// Enters an exception no sooner than a cycle; its handler issues the given number of cycles
    /// later.
    pub fn enter(&mut self, from: u64, cycles: u64) {
        self.materialize();
        let board = &mut self.board;
        board.next = board.next.max(from) + cycles;
        board.first = None;
        board.fresh = true;
    }

    /// Raises an exception in an issued instruction. Exception entries are never predicted.
    pub fn raise(&mut self, demand: &Demand, place: &Place, issue: u64) {
        if self.from.take().is_some() {
            self.issue_on_board(demand, place);
        }
        self.enter(issue, UNPREDICTED);
    }

    /// Enters the exception of a refused instruction fetch.
    pub fn refuse(&mut self) {
        self.enter(self.next(), UNPREDICTED);
    }
}
