//! The borders of passes: how other native code begins one, and how a pass is left.

use crate::engine::native::assembler::{Alu, Cond, LINK_BYTES, Label, Operand, Reg, Shift};
use crate::engine::native::flags::{Flags, Pending};
use crate::engine::native::links::{INDIRECT_LINKS, TARGETS};
use crate::engine::native::translator::Translator;
use crate::engine::native::{Exit, Passed, Way, frame};
use crate::isa::Op;
use crate::timing::LineMemory;

/// The mask that selects the line of an address in a memory that never waits.
const LINES_WITHOUT_WAITS: u32 = !(LineMemory::IMMEDIATE_LINE - 1);

/// A jump to another target than expected, or one that is not known in advance.
pub(super) struct Indirect {
    label: Label,
    at: usize,
    pending: Pending,
}

impl Translator<'_> {
    /// Appends what comes before a pass that other code begins.
    pub(super) fn begin_pass(&mut self) {
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else { return };
        // Without a plan, both halfwords of the first instruction are in the same line.
        let end = self.address.wrapping_add(u32::from(first.slot.size()).saturating_sub(2));
        if self.planned.is_none() && (self.address ^ end) & LINES_WITHOUT_WAITS != 0 {
            return;
        }
        let Ok(offset) = u32::try_from(self.asm.offset()) else { return };
        let late = self.asm.label();
        self.asm.load_wide(Reg::RCX, frame::CYCLES);
        self.asm.add_wide(Operand::Reg(Reg::RCX), last.begin.cycles);
        self.asm.alu_wide(Alu::Cmp, Reg::RCX, frame::DEADLINE);
        self.asm.jump_if(Cond::NOT_BELOW, late);
        match self.planned {
            Some(fetches) => self.check_memory(fetches, late),
            None => self.enter_first_line(),
        }
        self.asm.store_first_link(frame::CURRENT);
        self.begin = Some((offset, late));
    }

    /// Enters the line of the first instruction in a memory that never waits.
    fn enter_first_line(&mut self) {
        let same_line = self.asm.label();
        self.asm.mov(Reg::RCX, Operand::Field(frame::LINE));
        self.asm.alu_immediate(Alu::Xor, Operand::Reg(Reg::RCX), self.address);
        self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::RCX), LINES_WITHOUT_WAITS);
        self.asm.jump_if(Cond::EQUAL, same_line);
        self.asm.store_immediate(frame::LINE, self.address);
        self.asm.bind(same_line);
    }

    /// Appends an exit. If it may be linked, and is, the next pass follows.
    pub(super) fn leave_now(&mut self, exit: Exit) {
        match self.passed(exit) {
            Some(passed) => {
                let link = self.exits;
                self.exits += 1;
                let unlinked = self.asm.label();
                self.asm.mov_immediate(Reg::RAX, Exit { link: Some(link), ..exit }.bits());
                self.asm.load_wide(Reg::RCX, frame::LINKS);
                self.asm.load_link(Reg::RCX, Reg::RCX, link);
                self.asm.test_wide(Reg::RCX);
                self.asm.jump_if(Cond::EQUAL, unlinked);
                self.pass_on(passed);
                self.asm.jump_to(Reg::RCX);
                self.asm.bind(unlinked);
            }
            None => self.asm.mov_immediate(Reg::RAX, exit.bits()),
        }
        self.asm.ret();
    }

    /// Returns how far a pass has come at an exit that may be linked.
    fn passed(&self, exit: Exit) -> Option<Passed> {
        self.fetching.links_passes().then(|| exit.passed(self.steps, self.rules))?
    }

    /// Moves the chain on when a pass ends.
    fn pass_on(&mut self, Passed { cycles, instructions, points }: Passed) {
        if let Some(fetches) = self.planned {
            self.leave_memory(fetches, points);
        }
        self.asm.add_wide(Operand::Field(frame::CYCLES), cycles);
        self.asm.add_wide(Operand::Field(frame::INSTRUCTIONS), instructions);
    }

    /// Appends an exit to a target that is not known in advance. If it is linked to the target, the step is executed;
    /// otherwise its function does that.
    pub(super) fn leave_indirect(&mut self, Indirect { label, at, mut pending }: Indirect) {
        self.asm.bind(label);
        let slot = self.steps[at].slot;
        let jump = Exit { is_indirect: true, ..Exit::new(at, Way::Jump) };
        pending.write(&mut self.asm, Flags::all());
        self.registers.forget();
        let Some(passed) = self.passed(jump) else {
            return self.leave_now(Exit::new(at, Way::Own));
        };
        let link = self.exits;
        self.exits += INDIRECT_LINKS;
        if slot.loads_pc() {
            self.target_of_list(&slot);
        } else {
            self.asm.mov(Reg::RCX, Operand::Field(frame::register(slot.n)));
        }
        let (unlinked, found) = (self.asm.label(), self.asm.label());
        self.asm.test_byte(Reg::RCX, 1);
        self.asm.jump_if(Cond::EQUAL, unlinked);
        // From bit 1 of the target on, to the size of a pair.
        self.asm.load_wide(Reg::R11, frame::LINKS);
        self.asm.mov(Reg::R10, Operand::Reg(Reg::RCX));
        self.asm.alu_immediate(Alu::And, Operand::Reg(Reg::R10), 2 * (TARGETS - 1));
        self.asm.shift(Shift::Shl, Reg::R10, LINK_BYTES.trailing_zeros() as u8);
        self.asm.add_wide_register(Reg::R11, Reg::R10);
        self.asm.compare_link(Reg::RCX, Reg::R11, link);
        self.asm.jump_if(Cond::EQUAL, found);
        self.asm.bind(unlinked);
        let own = Exit { link: Some(link), is_indirect: true, ..Exit::new(at, Way::Own) };
        self.asm.mov_immediate(Reg::RAX, own.bits());
        self.asm.ret();
        self.asm.bind(found);
        self.asm.load_link(Reg::R10, Reg::R11, link + 1);
        self.asm.store(frame::TARGET, Reg::RCX);
        self.asm.store_wide(frame::NEXT, Reg::R10);
        if slot.loads_pc() {
            self.take_list(at, &slot);
        } else if slot.op == Op::BlxR {
            self.link(at);
        }
        self.asm.mov_immediate(Reg::RAX, Exit { link: Some(link), ..jump }.bits());
        self.pass_on(passed);
        self.asm.load_wide(Reg::RCX, frame::NEXT);
        self.asm.jump_to(Reg::RCX);
    }

    /// Creates the place to which a step jumps if its target is another than expected, or not known in advance.
    pub(super) fn indirect(&mut self, at: usize) -> Label {
        let label = self.asm.label();
        self.indirect.push(Indirect { label, at, pending: self.pending });
        label
    }
}
