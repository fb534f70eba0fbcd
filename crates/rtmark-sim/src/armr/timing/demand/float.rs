//! The demands of floating-point instructions.

use super::{ALU, Class, Demand, FLAGS, Moves, Source, double, of, single};
use crate::armr::isa::Instruction;
use crate::isa::{Group, Op as FloatOp};

/// Returns the demands of a floating-point instruction, after GCC's description of the Cortex-R4F.
/// As its header says, its latencies are one more than the manual's, because operands are needed
/// early, except those of moves and accumulators.
pub fn float(it: &Instruction, op: FloatOp) -> Demand {
    use FloatOp as O;
    let is_double = op.is_double();
    let register = |number| if is_double { double(number) } else { single(number) };
    let (d, n, m) = (register(it.d), register(it.n), register(it.m));
    let pair = single(it.m) | single(it.m.wrapping_add(1));
    let of_class = |class| Demand { class, ..ALU };
    let wide = |cycles, latency, early, writes| Demand {
        cycles,
        early,
        writes,
        latency,
        ..of_class(Class::Alone)
    };
    let two = |class, latency| Demand { early: n | m, writes: d, latency, ..of_class(class) };
    match op {
        O::Vadd | O::Vsub | O::Vmul | O::Vnmul => two(Class::FloatSum, 2),
        O::Vmla | O::Vmls | O::Vnmla | O::Vnmls => Demand {
            normal: d,
            accumulated: d,
            by: Source::FloatAccumulator,
            ..two(Class::FloatMultiplyAdd, 5)
        },
        O::Vdiv => Demand { cycles: 2, ..two(Class::FloatDivide, 16) },
        O::Vsqrt => {
            Demand { cycles: 2, early: m, writes: d, latency: 16, ..of_class(Class::FloatDivide) }
        }
        O::VmovR => Demand { normal: m, writes: d, ..of_class(Class::FloatMove) },
        O::Vabs | O::Vneg => Demand { early: m, writes: d, ..of_class(Class::FloatSimple) },
        O::VmovI => Demand { writes: d, ..of_class(Class::FloatSimple) },
        O::Vcmp | O::Vcmpe => Demand { early: d | m, writes: 0, ..of_class(Class::FloatSimple) },
        O::VcmpZ | O::VcmpeZ => Demand { early: d, ..of_class(Class::FloatSimple) },
        O::VaddD | O::VsubD | O::VmulD | O::VnmulD => wide(3, 9, n | m, d),
        O::VmlaD | O::VmlsD | O::VnmlaD | O::VnmlsD => {
            Demand { normal: d, ..wide(13, 19, n | m, d) }
        }
        O::VdivD => wide(3, 96, n | m, d),
        O::VsqrtD => wide(3, 96, m, d),
        O::VabsD | O::VnegD | O::VmovRD => wide(1, 1, m, d),
        O::VmovID => wide(1, 1, 0, d),
        O::VcmpD | O::VcmpeD => wide(2, 1, d | m, 0),
        O::VcmpZD | O::VcmpeZD => wide(2, 1, d, 0),
        // Conversions.
        O::VcvtFromInt | O::VcvtToInt | O::VcvtFixed => wide(3, 7, m | d, d),
        O::VcvtToDouble | O::VcvtFromIntD => wide(3, 7, single(it.m), double(it.d)),
        O::VcvtToIntD | O::VcvtFromDouble => wide(3, 7, double(it.m), single(it.d)),
        O::VcvtFixedD => wide(3, 7, d, d),
        O::VmovToCore => {
            let writes = of(it.d);
            Demand { normal: single(it.n), writes, latency: 2, ..of_class(Class::FloatMove) }
        }
        O::VmovFromCore => {
            Demand { normal: of(it.d), writes: single(it.n), ..of_class(Class::FloatMove) }
        }
        O::VmovPairToCore => {
            let writes = of(it.d) | of(it.a);
            Demand { normal: pair, writes, latency: 2, ..of_class(Class::FloatMove) }
        }
        O::VmovPairFromCore => {
            let normal = of(it.d) | of(it.a);
            Demand { normal, writes: pair, ..of_class(Class::FloatMove) }
        }
        O::Vmrs if it.d == 15 => Demand { writes: 1 << FLAGS, ..of_class(Class::Alone) },
        O::Vmrs => Demand { writes: of(it.d), latency: 2, ..of_class(Class::Alone) },
        O::Vmsr => Demand { normal: of(it.d), serializes: true, ..of_class(Class::Alone) },
        _ => float_access(it, op),
    }
}

fn float_access(it: &Instruction, op: FloatOp) -> Demand {
    let count = (it.aux & 0xFF).min(32) as u8;
    let list = (0..count).fold(0, |list, at| list | single(it.d.wrapping_add(at)));
    let stores = matches!(op, FloatOp::Vstr | FloatOp::Vstm);
    let single_word = op.group() == Group::FloatMemory
        && matches!(op, FloatOp::Vldr | FloatOp::Vstr)
        && count == 1;
    let moves_base = matches!(op, FloatOp::Vldm | FloatOp::Vstm) && it.m == 1;
    let class = match (single_word, stores) {
        (true, true) => Class::FloatStore,
        (true, false) => Class::FloatLoad,
        _ => Class::Alone,
    };
    Demand {
        very_early: of(it.n),
        late: if stores { list } else { 0 },
        list: if stores { 0 } else { list },
        base: if moves_base { of(it.n) } else { 0 },
        latency: 1,
        class,
        moves: Moves::Many { slow: false },
        ..ALU
    }
}
