//! Overlap: which instruction may follow a load or store into the execute stage before that has
//! completed.

use super::decode::Decoding;
use super::{Pipeline, Rule, Step, Unit, has};

impl Pipeline {
    /// Returns whether an instruction may enter the execute stage beside the one that is there.
    pub(super) fn overlaps(&self, next: &Decoding<'_>) -> bool {
        let Some(older) = &self.execute.older else { return false };
        let waits = self.data_port.waits && self.setup.follows(Rule::WaitingBusBlocks);
        self.accumulates(next)
            || older.is_transfer()
                && self.data_port.address.is_none()
                && !waits
                && self.follows(&older.step, next)
    }

    /// Returns whether an instruction may follow a load or store of one register that has not
    /// completed: the data of one passes while the address of the next goes out (DDI 0337G, 18.3).
    pub(super) fn follows(&self, first: &Step, next: &Decoding<'_>) -> bool {
        let rule = |rule| self.setup.follows(rule);
        if !first.is_single_transfer() {
            return false;
        }
        if next.step.unit == Unit::Nop && rule(Rule::NopOverlaps) {
            let folds = next.step.is(has::IT_FOLLOWS) && next.leaving() == 2;
            return !(folds && !next.step.is(has::WIDE) && rule(Rule::FoldingNopWaits));
        }
        let blocks = if first.unit == Unit::Store {
            first.is(has::WRITEBACK | has::INDEXED) && rule(Rule::IndexedStoreBlocks)
        } else {
            first.first == 13 && rule(Rule::StackLoadBlocks)
        };
        if blocks {
            return false;
        }
        let transfers = next.step.is_single_transfer();
        if next.is_skipped() && rule(Rule::SkippedOverlaps) {
            let lone = self.prefetch.to_decode.register == 1 && !transfers;
            return !(lone && rule(Rule::LoneSkippedWaits));
        }
        transfers
            && !(next.step.is(has::WRITEBACK) && rule(Rule::WriteBackWaits))
            && rule(Rule::TransfersOverlap)
    }

    /// Returns whether `next` is a multiply-accumulate whose addend, needed a cycle later than its
    /// factors, comes from the long product in its last cycle.
    fn accumulates(&self, next: &Decoding<'_>) -> bool {
        let addend = next.step.high;
        next.step.is(has::MLA)
            && !next.is_skipped()
            && next.step.factors >> addend & 1 == 0
            && self.setup.follows(Rule::AccumulatorForwarding)
            && self.execute.older.is_some_and(|older| {
                !older.is_skipped()
                    && older.step.is(has::MULL)
                    && older.step.high == addend
                    && older.cycle + 1 == older.cycles()
            })
    }
}
