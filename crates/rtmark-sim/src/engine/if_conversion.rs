//! IT blocks that a pass goes through whichever way their condition leads.
//!
//! A block of code is prepared for one outcome of an IT, and left where it is the other. But
//! mostly it makes no difference to anything else whether the few instructions behind an IT are
//! executed: each takes as long as passing over it, and soon the pipeline stands the same. In
//! a pass that is known to go to its end such an IT leads to either way.

use crate::engine::block::{Block, Step};
use crate::engine::micro_op::{Kind, MicroOp};
use crate::isa::Slot;
use crate::machine::Machine;
use crate::timing::Describe;
use crate::timing::memo;
use crate::timing::pipeline::Condition;

/// Instructions behind an IT block until which the pipeline is to stand the same.
const SOON: usize = 3;

impl Machine {
    /// Has each IT of some steps, whose first one is at an address, lead to either way where that
    /// makes no difference to the others.
    pub(crate) fn lead_either_way(
        &mut self,
        base: u32,
        block: &Block,
        steps: &[Step],
    ) -> Vec<Step> {
        let mut led = Vec::with_capacity(steps.len());
        let mut rest = steps;
        while let [first, behind @ ..] = rest {
            if let Some((either, others)) = self.either(base, block, first, behind) {
                led.extend(either);
                rest = others;
            } else {
                led.push(*first);
                rest = behind;
            }
        }
        led
    }

    /// An IT and the instructions that it makes conditional as steps that lead either way, and
    /// the steps behind them; `None` if that would make a difference to those.
    fn either<'a>(
        &mut self,
        base: u32,
        block: &Block,
        it: &Step,
        behind: &'a [Step],
    ) -> Option<(Vec<Step>, &'a [Step])> {
        if it.begin.kind != Kind::ExpectedIt {
            return None;
        }
        let is_conditional = |step: &&Step| block.it_before(step.begin.place.into()) != 0;
        let count = behind.iter().take_while(is_conditional).count();
        let (group, others) = behind.split_at(count);
        let expects_to_hold = it.slot.aux == 1;
        let condition = (it.slot.imm >> 4) as u8 ^ u8::from(!expects_to_hold);
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        for step in group {
            let slot = self.code.slot(&mut self.bus, step.address(base))?.inside_it();
            let takes_the_same = self.rules.describe.is_some() || slot.cost == self.rules.skip;
            if !slot.op.only_calculates() || !takes_the_same {
                return None;
            }
            let is_executed = step.begin.kind != Kind::Skip;
            let way = if is_executed == expects_to_hold { &mut then } else { &mut otherwise };
            way.push(step.with(MicroOp::plain(slot)));
        }
        match self.rules.describe {
            Some(describe) => self.comes_to_the_same(describe, base, it, group, others)?,
            None if others.is_empty() => return None,
            None => {}
        }
        let past = |kind, steps: &[Step]| {
            it.with(MicroOp { slot: Slot { aux: steps.len() as u32, ..it.slot }, kind })
        };
        if !otherwise.is_empty() {
            then.push(past(Kind::Hop, &otherwise));
        }
        let mut either = Vec::with_capacity(1 + then.len() + otherwise.len());
        either.push(past(Kind::If(condition), &then));
        either.extend(then);
        either.extend(otherwise);
        Some((either, others))
    }

    /// Whether the instructions behind an IT block find the pipeline the same either way, and no
    /// instruction before enters it in another cycle.
    fn comes_to_the_same(
        &mut self,
        describe: Describe,
        base: u32,
        it: &Step,
        group: &[Step],
        others: &[Step],
    ) -> Option<()> {
        let mut words = [it.begin.word; 2];
        for (at, step) in group.iter().chain(others).take(group.len() + SOON).enumerate() {
            let conditions = if at >= group.len() {
                [Condition::None; 2]
            } else if step.begin.kind == Kind::Skip {
                [Condition::Failed, Condition::Passed]
            } else {
                [Condition::Passed, Condition::Failed]
            };
            let address = step.address(base);
            let one =
                self.enter(describe, address, memo::with_condition(words[0], conditions[0]))?;
            let other =
                self.enter(describe, address, memo::with_condition(words[1], conditions[1]))?;
            if one.cost != other.cost {
                return None;
            }
            words = [one.word, other.word];
            if at >= group.len() {
                if words[0] == words[1] {
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
