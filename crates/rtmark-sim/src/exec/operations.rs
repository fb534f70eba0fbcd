//! The operations: what each of them does, in one line.
//!
//! A line names the body of an operation, and what distinguishes it from others with the same body: the form
//! of an operand, an addressing mode, a datum, a condition, a function. The bodies are in the modules beside
//! this one. The engine instantiates them for each way of dispatch (`engine::dispatch`).
//!
//! Operations are grouped by the paths that they have ([`Paths`]), which decide what a body receives besides
//! the arguments in the list:
//!
//! | paths | parameters | |
//! |---|---|---|
//! | `Fast` | `&mut Cpu, &Slot` | calculates with registers, and always completes |
//! | `FastWithSp` | `&mut Cpu, &Slot, &E` | the same; the destination may be the stack pointer |
//! | `Both` | `&mut State, &Slot, &mut E` | returns [`Flow::SlowPath`] from the fast path if that cannot complete it, and has changed nothing then |
//! | `BothWithSp` | `&mut State, &Slot, &mut E` | the same; the destination or base may be the stack pointer |
//! | `Slow` | `&mut State, &Slot` | sees the complete state, brought up to date |
//!
//! `E` is [`Executing`]. Where the stack pointer may be written, the fast path has a variant for it, and
//! bodies write registers with [`Executing::set`].

use super::alu::arithmetic::{adc, add, rsb, sbc, sub};
use super::alu::kind::{ASR, LSL, LSR, ROR};
use super::alu::logic::{and, bic, eor, mov, mvn, orn, orr};
use super::alu::part::{
    signed_byte, signed_half, swap_bytes_of_halves, swap_bytes_of_signed_half, unsigned_byte,
    unsigned_half,
};
use super::alu::{product, quotient, saturate_signed, saturate_unsigned};
use super::branch::condition::{
    always, cc, cs, eq, ge, gt, hi, is_nonzero, is_zero, le, ls, lt, mi, ne, pl, vc, vs,
};
use super::branch::{
    add_pc, bl, blx, branch_if, bx, compare_and_branch, load_pc, mov_pc, table_branch,
};
use super::calculate::{
    bfc, bfi, binary, compare, compare_negative, divide, extend, extend_add, immediate, logical,
    logical_s, mov_any, movt, muls, multiply_accumulate, multiply_accumulate_long, multiply_long,
    register, reverse_subtract_s, saturate, sbfx, shift, shift_s, shifted, subtract_s, sum, sum_s,
    test, ubfx, unary,
};
use super::coprocessors::of_coprocessor;
use super::dsp::{
    absolute_differences, accumulator, bottom_top, dual_multiply, dual_multiply_accumulate,
    dual_multiply_accumulate_long, extend_halves, first, multiply_accumulate_halves,
    multiply_accumulate_halves_long, multiply_accumulate_with_half, multiply_halves, multiply_high,
    multiply_with_half, nothing, pack_halves, parallel, product_only, saturate_halves, saturating,
    saturating_doubled, sel, top_bottom, umaal,
};
use super::float::{Quiet, compute, operand, zero};
use super::memory::Side;
use super::secure::{blxns, bxns, guarded, sg, tt};
use super::system::{cps, it, mrs, msr, nop, raise, sev};
use super::transfer::{
    clear_exclusive, indexed, literal, load, load_acquire, load_exclusive, load_list, load_literal,
    load_pair, load_pair_anywhere, load_unprivileged, offset, post_indexed, pre_indexed, store,
    store_exclusive, store_list, store_pair, store_release, store_unprivileged,
};
use super::{Executing, Flow, Operation, Outcome, Paths, PerOperation, float, fp};
use crate::arch::armm::trap::Trap;
use crate::arch::float::{Double, Single};
use crate::isa::{Op, Slot};
use crate::state::State;

macro_rules! operations {
    ($($(#[$doc:meta])* $section:ident: $paths:ident {
        $($op:ident => $($body:ident)::+ $(::<$type:ty>)? ($($argument:expr),*);)*
    })*) => {
        $(
            pub use self::$section::*;

            // The compiler translates what has parameters with the module of the type that it is for. So a
            // change of one body affects only sections with operations that have it.
            $(#[$doc])*
            mod $section {
                use super::*;

                $(
                    #[doc = concat!("What [`Op::", stringify!($op), "`] does.")]
                    #[derive(Clone, Copy, Debug)]
                    pub enum $op {}

                    impl Operation for $op {
                        const OP: Op = Op::$op;
                        const PATHS: Paths = Paths::$paths;

                        #[inline(always)]
                        fn execute<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
                            call!($paths [$($body)::+] [$($type)?] (state, s, at) ($($argument),*))
                        }
                    }
                )*
            }
        )*

        /// Returns the item of a family for an operation.
        pub fn pick<P: PerOperation>(op: Op, from: P) -> P::Item {
            match op {
                $($(Op::$op => from.of::<$op>(),)*)*
            }
        }
    };
}

/// Calls a body with what it receives. The last type parameter of bodies with both paths is `E`.
macro_rules! call {
    (Fast [$($body:tt)+] [] ($state:ident, $s:ident, $at:ident) ($($argument:expr),*)) => {{
        let _ = $at;
        $($body)+(&mut $state.cpu, $s $(, $argument)*);
        Ok(Flow::Next)
    }};
    (FastWithSp [$($body:tt)+] [] ($state:ident, $s:ident, $at:ident) ($($argument:expr),*)) => {{
        $($body)+(&mut $state.cpu, $s, &*$at $(, $argument)*);
        Ok(Flow::Next)
    }};
    (Both [$($body:tt)+] [$($type:ty)?] ($state:ident, $s:ident, $at:ident) ($($argument:expr),*)) => {
        $($body)+::<$($type,)? _>($state, $s, $at $(, $argument)*)
    };
    (BothWithSp $($call:tt)+) => {
        call!(Both $($call)+)
    };
    (Slow [$($body:tt)+] [$($type:ty)?] ($state:ident, $s:ident, $at:ident) ($($argument:expr),*)) => {{
        let body: fn(&mut State, &Slot) -> Outcome =
            |state, s| $($body)+$(::<$type>)?(state, s $(, $argument)*);
        $at.complete($state, $s, body)
    }};
}

operations! {
    /// Bitwise operations, comparisons and shifts. The second operand is an immediate, a register, or a
    /// register shifted by an immediate.
    bitwise: Fast {
        AndI => logical(immediate, and);
        AndsI => logical_s(immediate, and);
        OrrI => logical(immediate, orr);
        OrrsI => logical_s(immediate, orr);
        EorI => logical(immediate, eor);
        EorsI => logical_s(immediate, eor);
        BicI => logical(immediate, bic);
        BicsI => logical_s(immediate, bic);
        OrnI => logical(immediate, orn);
        OrnsI => logical_s(immediate, orn);
        MovsI => logical_s(immediate, mov);
        MvnI => logical(immediate, mvn);
        MvnsI => logical_s(immediate, mvn);
        TstI => test(immediate, and);
        TeqI => test(immediate, eor);

        AndR => logical(register, and);
        AndsR => logical_s(register, and);
        OrrR => logical(register, orr);
        OrrsR => logical_s(register, orr);
        EorR => logical(register, eor);
        EorsR => logical_s(register, eor);
        BicR => logical(register, bic);
        BicsR => logical_s(register, bic);
        OrnR => logical(register, orn);
        OrnsR => logical_s(register, orn);
        MovsR => logical_s(register, mov);
        MvnR => logical(register, mvn);
        MvnsR => logical_s(register, mvn);
        TstR => test(register, and);
        TeqR => test(register, eor);

        AndX => logical(shifted, and);
        AndsX => logical_s(shifted, and);
        OrrX => logical(shifted, orr);
        OrrsX => logical_s(shifted, orr);
        EorX => logical(shifted, eor);
        EorsX => logical_s(shifted, eor);
        BicX => logical(shifted, bic);
        BicsX => logical_s(shifted, bic);
        OrnX => logical(shifted, orn);
        OrnsX => logical_s(shifted, orn);
        MovX => logical(shifted, mov);
        MovsX => logical_s(shifted, mov);
        MvnX => logical(shifted, mvn);
        MvnsX => logical_s(shifted, mvn);
        TstX => test(shifted, and);
        TeqX => test(shifted, eor);

        CmpI => compare(immediate);
        CmnI => compare_negative(immediate);
        CmpR => compare(register);
        CmnR => compare_negative(register);
        CmpX => compare(shifted);
        CmnX => compare_negative(shifted);

        LslR => shift(LSL);
        LslsR => shift_s(LSL);
        LsrR => shift(LSR);
        LsrsR => shift_s(LSR);
        AsrR => shift(ASR);
        AsrsR => shift_s(ASR);
        RorR => shift(ROR);
        RorsR => shift_s(ROR);
    }

    /// Moves, additions and subtractions.
    arithmetic: FastWithSp {
        MovI => mov_any(immediate);
        MovR => mov_any(register);

        AddI => sum(immediate, add);
        AddsI => sum_s(immediate, add);
        SubI => sum(immediate, sub);
        SubsI => subtract_s(immediate);
        AdcI => sum(immediate, adc);
        AdcsI => sum_s(immediate, adc);
        SbcI => sum(immediate, sbc);
        SbcsI => sum_s(immediate, sbc);
        RsbI => sum(immediate, rsb);
        RsbsI => reverse_subtract_s(immediate);

        AddR => sum(register, add);
        AddsR => sum_s(register, add);
        SubR => sum(register, sub);
        SubsR => subtract_s(register);
        AdcR => sum(register, adc);
        AdcsR => sum_s(register, adc);
        SbcR => sum(register, sbc);
        SbcsR => sum_s(register, sbc);
        RsbR => sum(register, rsb);
        RsbsR => reverse_subtract_s(register);

        AddX => sum(shifted, add);
        AddsX => sum_s(shifted, add);
        SubX => sum(shifted, sub);
        SubsX => subtract_s(shifted);
        AdcX => sum(shifted, adc);
        AdcsX => sum_s(shifted, adc);
        SbcX => sum(shifted, sbc);
        SbcsX => sum_s(shifted, sbc);
        RsbX => sum(shifted, rsb);
        RsbsX => reverse_subtract_s(shifted);
    }

    /// Bit fields, extensions, saturation and multiplication.
    bits: Fast {
        Movt => movt();
        Bfi => bfi();
        Bfc => bfc();
        Sbfx => sbfx();
        Ubfx => ubfx();
        Clz => unary(u32::leading_zeros);
        Rbit => unary(u32::reverse_bits);
        Rev => unary(u32::swap_bytes);
        Rev16 => unary(swap_bytes_of_halves);
        Revsh => unary(swap_bytes_of_signed_half);
        Sxtb => extend(signed_byte);
        Sxth => extend(signed_half);
        Uxtb => extend(unsigned_byte);
        Uxth => extend(unsigned_half);
        Sxtab => extend_add(signed_byte);
        Sxtah => extend_add(signed_half);
        Uxtab => extend_add(unsigned_byte);
        Uxtah => extend_add(unsigned_half);
        Ssat => saturate(saturate_signed);
        Usat => saturate(saturate_unsigned);
        Mul => binary(u32::wrapping_mul);
        Muls => muls();
        Mla => multiply_accumulate(u32::wrapping_add);
        Mls => multiply_accumulate(u32::wrapping_sub);
    }

    /// Long multiplication and division, whose time depends on the operands.
    long: Both {
        Umull => multiply_long(product::unsigned);
        Smull => multiply_long(product::signed);
        Umlal => multiply_accumulate_long(product::unsigned);
        Smlal => multiply_accumulate_long(product::signed);
        Udiv => divide(quotient::unsigned);
        Sdiv => divide(quotient::signed);
    }

    /// The DSP extension.
    media: Fast {
        Parallel => parallel();
        Sel => sel();
        Usad8 => absolute_differences(nothing);
        Usada8 => absolute_differences(accumulator);
        Pkhbt => pack_halves(bottom_top);
        Pkhtb => pack_halves(top_bottom);
        Qadd => saturating(i64::wrapping_add);
        Qsub => saturating(i64::wrapping_sub);
        Qdadd => saturating_doubled(i64::wrapping_add);
        Qdsub => saturating_doubled(i64::wrapping_sub);
        Sxtb16 => extend_halves(nothing, signed_byte);
        Uxtb16 => extend_halves(nothing, unsigned_byte);
        Sxtab16 => extend_halves(first, signed_byte);
        Uxtab16 => extend_halves(first, unsigned_byte);
        Ssat16 => saturate_halves(saturate_signed);
        Usat16 => saturate_halves(saturate_unsigned);
        Smulxy => multiply_halves();
        Smlaxy => multiply_accumulate_halves();
        Smlalxy => multiply_accumulate_halves_long();
        Smulwy => multiply_with_half();
        Smlawy => multiply_accumulate_with_half();
        Smuad => dual_multiply(i64::wrapping_add);
        Smusd => dual_multiply(i64::wrapping_sub);
        Smlad => dual_multiply_accumulate(i64::wrapping_add);
        Smlsd => dual_multiply_accumulate(i64::wrapping_sub);
        Smlald => dual_multiply_accumulate_long(i64::wrapping_add);
        Smlsld => dual_multiply_accumulate_long(i64::wrapping_sub);
        Smmul => multiply_high(product_only);
        Smmla => multiply_high(i64::wrapping_add);
        Smmls => multiply_high(i64::wrapping_sub);
        Umaal => umaal();
    }

    /// Loads and stores of one register.
    transfer: BothWithSp {
        LdrI => load::<u32>(offset);
        LdrbI => load::<u8>(offset);
        LdrhI => load::<u16>(offset);
        LdrsbI => load::<i8>(offset);
        LdrshI => load::<i16>(offset);
        LdrR => load::<u32>(indexed);
        LdrbR => load::<u8>(indexed);
        LdrhR => load::<u16>(indexed);
        LdrsbR => load::<i8>(indexed);
        LdrshR => load::<i16>(indexed);
        LdrPre => load::<u32>(pre_indexed);
        LdrbPre => load::<u8>(pre_indexed);
        LdrhPre => load::<u16>(pre_indexed);
        LdrsbPre => load::<i8>(pre_indexed);
        LdrshPre => load::<i16>(pre_indexed);
        LdrPost => load::<u32>(post_indexed);
        LdrbPost => load::<u8>(post_indexed);
        LdrhPost => load::<u16>(post_indexed);
        LdrsbPost => load::<i8>(post_indexed);
        LdrshPost => load::<i16>(post_indexed);
        LdrLit => load_literal();
        LdrbLit => load::<u8>(literal);
        LdrhLit => load::<u16>(literal);
        LdrsbLit => load::<i8>(literal);
        LdrshLit => load::<i16>(literal);
        StrI => store::<u32>(offset);
        StrbI => store::<u8>(offset);
        StrhI => store::<u16>(offset);
        StrR => store::<u32>(indexed);
        StrbR => store::<u8>(indexed);
        StrhR => store::<u16>(indexed);
        StrPre => store::<u32>(pre_indexed);
        StrbPre => store::<u8>(pre_indexed);
        StrhPre => store::<u16>(pre_indexed);
        StrPost => store::<u32>(post_indexed);
        StrbPost => store::<u8>(post_indexed);
        StrhPost => store::<u16>(post_indexed);
        Ldrex => load_exclusive::<u32>();
        Ldrexb => load_exclusive::<u8>();
        Ldrexh => load_exclusive::<u16>();
    }

    /// Loads and stores of several registers, and exclusive stores.
    lists: Both {
        Strex => store_exclusive::<u32>();
        Strexb => store_exclusive::<u8>();
        Strexh => store_exclusive::<u16>();
        Ldm => load_list(Side::From);
        Ldmdb => load_list(Side::Before);
        Pop => load_list(Side::From);
        Stm => store_list(Side::From);
        Stmdb => store_list(Side::Before);
        Push => store_list(Side::Before);
        Ldrd => load_pair();
        Strd => store_pair();
    }

    /// Loads and stores that compiled code rarely executes.
    rare_transfer: Slow {
        LdrdLit => load_pair_anywhere(literal);
        Ldrt => load_unprivileged::<u32>();
        Ldrbt => load_unprivileged::<u8>();
        Ldrht => load_unprivileged::<u16>();
        Ldrsbt => load_unprivileged::<i8>();
        Ldrsht => load_unprivileged::<i16>();
        Strt => store_unprivileged::<u32>();
        Strbt => store_unprivileged::<u8>();
        Strht => store_unprivileged::<u16>();
        Lda => load_acquire();
        Stl => store_release();
        Clrex => clear_exclusive();
    }

    /// Branches.
    branch: Both {
        B => branch_if(always);
        Beq => branch_if(eq);
        Bne => branch_if(ne);
        Bcs => branch_if(cs);
        Bcc => branch_if(cc);
        Bmi => branch_if(mi);
        Bpl => branch_if(pl);
        Bvs => branch_if(vs);
        Bvc => branch_if(vc);
        Bhi => branch_if(hi);
        Bls => branch_if(ls);
        Bge => branch_if(ge);
        Blt => branch_if(lt);
        Bgt => branch_if(gt);
        Ble => branch_if(le);
        Cbz => compare_and_branch(is_zero);
        Cbnz => compare_and_branch(is_nonzero);
        Bl => bl();
        Bx => bx();
        BlxR => blx();
        MovPc => mov_pc();
        AddPc => add_pc();
    }

    /// Branches to a target in memory.
    rare_branch: Slow {
        LdrPcI => load_pc(offset);
        LdrPcR => load_pc(indexed);
        LdrPcPre => load_pc(pre_indexed);
        LdrPcPost => load_pc(post_indexed);
        LdrPcLit => load_pc(literal);
        Tbb => table_branch::<u8>();
        Tbh => table_branch::<u16>();
    }

    /// Hints and barriers. With one core and strongly ordered memory, barriers only take time.
    hint: Fast {
        Nop => nop();
        Yield => nop();
        Pld => nop();
        Dmb => nop();
        Dsb => nop();
        Isb => nop();
    }

    /// Special registers.
    special: Both {
        Mrs => mrs();
        Msr => msr();
        Cps => cps();
    }

    /// Instructions that change how the core continues.
    system: Slow {
        It => it();
        Sev => sev();
        Wfe => raise(Trap::WaitForEvent);
        Wfi => raise(Trap::WaitForInterrupt);
        Svc => raise(Trap::SupervisorCall);
        Bkpt => raise(Trap::Breakpoint);
        Udf => raise(Trap::Undefined);
        Undefined => raise(Trap::Undefined);
        Watch => raise(Trap::Watched);
        Stop => raise(Trap::Undefined);
        Guarded => guarded();
        Sg => sg();
        Tt => tt();
        Bxns => bxns();
        Blxns => blxns();
        OfCoprocessor => of_coprocessor();
    }

    /// The floating-point extension: transfers, loads and stores.
    float_transfer: Both {
        VmovToCore => fp::transfer(fp::to_core);
        VmovFromCore => fp::transfer(fp::from_core);
        VmovPairToCore => fp::transfer(fp::pair_to_core);
        VmovPairFromCore => fp::transfer(fp::pair_from_core);
        Vmrs => fp::transfer(fp::read_status);
        Vmsr => fp::transfer(fp::write_status);
        Vldr => fp::load();
        VldrLit => fp::load_literal();
        Vstr => fp::store();
    }

    /// The floating-point extension: loads and stores of several registers, and of the state.
    float_lists: Slow {
        Vldm => fp::move_words();
        Vstm => fp::move_words();
        Vlstm => fp::leave_state();
        Vlldm => fp::take_state();
    }

    /// Single precision.
    single: Both {
        Vadd => float::quick(compute::fast_add, compute::add);
        Vsub => float::quick(compute::fast_subtract, compute::subtract);
        Vmul => float::quick(compute::fast_multiply, compute::multiply);
        Vdiv => float::quick(compute::fast_divide, compute::divide);
        Vmla => float::quick(compute::fast_multiply_then_add, compute::multiply_then_add);
        Vmls => float::quick(compute::fast_multiply_then_subtract, compute::multiply_then_subtract);
        Vfma => float::quick(compute::fast_fused_add, compute::fused_add);
        Vfms => float::quick(compute::fast_fused_subtract, compute::fused_subtract);
        Vabs => float::simple(compute::absolute);
        Vneg => float::simple(compute::negate);
        VmovR => float::simple(compute::copy);
        VmovI => float::simple(compute::constant);
        Vcmp => float::quick_compare(operand::<Single>, Quiet::IsValid);
        Vcmpe => float::quick_compare(operand::<Single>, Quiet::IsInvalid);
        VcmpZ => float::quick_compare(zero::<Single>, Quiet::IsValid);
        VcmpeZ => float::quick_compare(zero::<Single>, Quiet::IsInvalid);
        VcvtFromInt => float::quick(compute::never, |to, [_, _, m], s| compute::from_integer(to, m, s));
        VcvtToInt => float::quick(compute::never, |to, [d, _, m], s| compute::to_integer(to, m, s, d));
    }

    /// Single precision, without a fast form.
    rare_single: Slow {
        Vnmul => float::arithmetic::<Single>(compute::multiply_negated);
        Vnmla => float::arithmetic::<Single>(compute::negated_multiply_then_add);
        Vnmls => float::arithmetic::<Single>(compute::negated_multiply_then_subtract);
        Vfnma => float::arithmetic::<Single>(compute::negated_fused_add);
        Vfnms => float::arithmetic::<Single>(compute::negated_fused_subtract);
        Vsqrt => float::arithmetic::<Single>(compute::square_root);
        Vmaxnm => float::arithmetic::<Single>(compute::maximum);
        Vminnm => float::arithmetic::<Single>(compute::minimum);
        Vrint => float::arithmetic::<Single>(compute::round);
        VcvtFixed => float::arithmetic::<Single>(compute::fixed_point);
        VcvtDirected => float::to_word::<Single>(compute::to_integer_directed);
        VcvtHalf => float::convert_half::<Single>();
        Vsel => float::select::<Single>();
    }

    /// Double precision.
    double: Slow {
        VaddD => float::arithmetic::<Double>(compute::add);
        VsubD => float::arithmetic::<Double>(compute::subtract);
        VmulD => float::arithmetic::<Double>(compute::multiply);
        VdivD => float::arithmetic::<Double>(compute::divide);
        VmlaD => float::arithmetic::<Double>(compute::multiply_then_add);
        VmlsD => float::arithmetic::<Double>(compute::multiply_then_subtract);
        VfmaD => float::arithmetic::<Double>(compute::fused_add);
        VfmsD => float::arithmetic::<Double>(compute::fused_subtract);
        VabsD => float::arithmetic::<Double>(compute::absolute);
        VnegD => float::arithmetic::<Double>(compute::negate);
        VmovRD => float::arithmetic::<Double>(compute::copy);
        VmovID => float::arithmetic::<Double>(compute::constant);
        VcmpD => float::compare::<Double>(operand::<Double>, Quiet::IsValid);
        VcmpeD => float::compare::<Double>(operand::<Double>, Quiet::IsInvalid);
        VcmpZD => float::compare::<Double>(zero::<Double>, Quiet::IsValid);
        VcmpeZD => float::compare::<Double>(zero::<Double>, Quiet::IsInvalid);
        VcvtFromIntD => float::from_word::<Double>(compute::from_integer);
        VcvtToIntD => float::to_word::<Double>(compute::to_integer);
        VnmulD => float::arithmetic::<Double>(compute::multiply_negated);
        VnmlaD => float::arithmetic::<Double>(compute::negated_multiply_then_add);
        VnmlsD => float::arithmetic::<Double>(compute::negated_multiply_then_subtract);
        VfnmaD => float::arithmetic::<Double>(compute::negated_fused_add);
        VfnmsD => float::arithmetic::<Double>(compute::negated_fused_subtract);
        VsqrtD => float::arithmetic::<Double>(compute::square_root);
        VmaxnmD => float::arithmetic::<Double>(compute::maximum);
        VminnmD => float::arithmetic::<Double>(compute::minimum);
        VrintD => float::arithmetic::<Double>(compute::round);
        VcvtFixedD => float::arithmetic::<Double>(compute::fixed_point);
        VcvtDirectedD => float::to_word::<Double>(compute::to_integer_directed);
        VcvtHalfD => float::convert_half::<Double>();
        VselD => float::select::<Double>();
        VcvtToDouble => float::from_word::<Double>(compute::single_to_double);
        VcvtFromDouble => float::to_word::<Double>(compute::double_to_single);
    }
}
