//! If-conversion: IT blocks that a pass runs through whichever way their condition goes.
//!
//! A block is prepared for one outcome of each IT, and is left at the other. But mostly it makes no
//! difference to anything after the IT block whether its few instructions execute: each takes as
//! long as skipping it, and soon the pipeline reaches the same state. In a pass that will run to
//! its end such an IT can go either way, like predicated code, without a mispredicted branch on the
//! host.
//!
//! This module decides where that holds by asking the pipeline model. Of the instructions it knows
//! only that they compute on registers.

use crate::engine::CortexM;
use crate::engine::block::{Block, ScheduledOp};
use crate::engine::micro_op::{Kind, MicroOp};
use crate::isa::Slot;
use crate::timing::Classify;
use crate::timing::pipeline::Condition;

/// Instructions after an IT block within which both outcomes must lead to one pipeline state.
const SOON: usize = 3;

impl CortexM {
    /// Converts each IT among `steps`, the first of which is at `base`, where the outcome makes no
    /// difference to the other steps.
    pub(crate) fn convert_its(
        &mut self,
        base: u32,
        block: &Block,
        steps: &[ScheduledOp],
    ) -> Vec<ScheduledOp> {
        let mut led = Vec::with_capacity(steps.len());
        let mut rest = steps;
        while let [first, behind @ ..] = rest {
            if let Some((convert_it, others)) = self.convert_it(base, block, first, behind) {
                led.extend(convert_it);
                rest = others;
            } else {
                led.push(*first);
                rest = behind;
            }
        }
        led
    }

    /// Converts one IT. Returns the steps of both outcomes, and the steps after the IT block;
    /// `None` if the outcome would affect those.
    fn convert_it<'a>(
        &mut self,
        base: u32,
        block: &Block,
        it: &ScheduledOp,
        behind: &'a [ScheduledOp],
    ) -> Option<(Vec<ScheduledOp>, &'a [ScheduledOp])> {
        if it.begin.kind != Kind::ExpectedIt {
            return None;
        }
        let is_conditional = |step: &&ScheduledOp| block.it_before(step.begin.place.into()) != 0;
        let count = behind.iter().take_while(is_conditional).count();
        let (group, others) = behind.split_at(count);
        let last = group.last()?;
        let expects_to_hold = it.slot.aux == 1;
        let condition = (it.slot.imm >> 4) as u8 ^ u8::from(!expects_to_hold);
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        for step in group {
            let slot =
                self.state.predecoded.slot(&mut self.state.bus, step.address(base))?.inside_it();
            let takes_the_same =
                self.state.rules.classify.is_some() || slot.cost == self.state.rules.skip;
            // An instruction that sets flags decides the rest of the IT block.
            let decides = slot.writes_flags() && !std::ptr::eq(step, last);
            if !slot.op.only_calculates() || !takes_the_same || decides {
                return None;
            }
            let is_executed = step.begin.kind != Kind::Skip;
            let way = if is_executed == expects_to_hold { &mut then } else { &mut otherwise };
            way.push(step.with(MicroOp::plain(slot)));
        }
        match self.state.rules.classify {
            Some(classify) => self.converges(classify, base, it, group, others)?,
            None if others.is_empty() => return None,
            None => {}
        }
        let past = |kind, steps: &[ScheduledOp]| {
            it.with(MicroOp { slot: Slot { aux: steps.len() as u32, ..it.slot }, kind })
        };
        if !otherwise.is_empty() {
            then.push(past(Kind::Hop, &otherwise));
        }
        let mut convert_it = Vec::with_capacity(1 + then.len() + otherwise.len());
        convert_it.push(past(Kind::If(condition), &then));
        convert_it.extend(then);
        convert_it.extend(otherwise);
        Some((convert_it, others))
    }

    /// Checks that both outcomes of an IT reach the same pipeline state soon after the IT block,
    /// with each instruction entering in the same cycle.
    fn converges(
        &mut self,
        classify: Classify,
        base: u32,
        it: &ScheduledOp,
        group: &[ScheduledOp],
        others: &[ScheduledOp],
    ) -> Option<()> {
        let mut pipes = [it.begin.pipe; 2];
        for (at, step) in group.iter().chain(others).take(group.len() + SOON).enumerate() {
            if step.begin.kind.is_check() || step.begin.kind == Kind::Watch {
                return None;
            }
            let conditions = if at >= group.len() {
                [Condition::None; 2]
            } else if step.begin.kind == Kind::Skip {
                [Condition::Failed, Condition::Passed]
            } else {
                [Condition::Passed, Condition::Failed]
            };
            let address = step.address(base);
            let one =
                self.state.enter(classify, address, pipes[0].with_condition(conditions[0]))?;
            let other =
                self.state.enter(classify, address, pipes[1].with_condition(conditions[1]))?;
            if one.cost != other.cost {
                return None;
            }
            pipes = [one.pipe, other.pipe];
            if at >= group.len() {
                if pipes[0] == pipes[1] {
                    return Some(());
                }
                if !step.micro().only_calculates() {
                    return None;
                }
            }
        }
        None
    }
}
