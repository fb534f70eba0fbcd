//! Every Thumb encoding that the modelled cores implement, one line each.
//!
//! A pattern reads like the encoding diagrams of the Architecture Reference Manuals (DDI 0419 for ARMv6-M,
//! DDI 0403 for ARMv7-M, DDI 0553 for ARMv8-M), most significant bit first, with a 32-bit instruction's
//! first halfword first. `0` and `1` must match, a letter names a field (whose bits need not be adjacent),
//! `x` is ignored, and spaces and `_` are only for readability. The first matching line applies, so special
//! cases come before the general one.
//!
//! Fields: `d n m a t` registers (`u` a second transfer register, `l h` the low and high result), `i j`
//! immediates, `r` a register list, `c` a condition, `s` set flags, `p u w` index, add, write-back;
//! [`Form`] explains the rest.

use super::Op;
use super::form::{Form, Isa};
use Form as F;

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub pattern: &'static str,
    pub mask: u32,
    pub value: u32,
    /// The operation, and the operation if field `s` is set.
    pub op: Op,
    pub op_s: Op,
    pub form: Form,
    pub isa: Isa,
}

impl Encoding {
    const fn new(pattern: &'static str, op: Op, op_s: Op, form: Form, isa: Isa) -> Self {
        let text = pattern.as_bytes();
        let (mut mask, mut value, mut at) = (0u32, 0u32, 0);
        while at < text.len() {
            match text[at] {
                b' ' | b'_' => {}
                bit => {
                    mask = (mask << 1) | (bit == b'0' || bit == b'1') as u32;
                    value = (value << 1) | (bit == b'1') as u32;
                }
            }
            at += 1;
        }
        Self { pattern, mask, value, op, op_s, form, isa }
    }

    /// Returns whether the encoding matches `bits`.
    pub const fn matches(&self, bits: u32) -> bool {
        bits & self.mask == self.value
    }

    /// Returns the bits of a field, gathered most significant first; zero if the encoding lacks the field.
    pub fn field(&self, letter: u8, bits: u32) -> u32 {
        let text = self.pattern.bytes().filter(|&b| b != b' ' && b != b'_');
        let width = text.clone().count();
        text.enumerate()
            .filter(|&(_, b)| b == letter)
            .fold(0, |gathered, (at, _)| (gathered << 1) | ((bits >> (width - 1 - at)) & 1))
    }
}

macro_rules! table {
    ($name:ident: $($isa:ident { $($pattern:literal $op:ident $(/ $op_s:ident)? $form:expr;)* })*) => {
        pub static $name: &[Encoding] = &[$($(
            Encoding::new($pattern, Op::$op, table!(@s $op $($op_s)?), $form, Isa::$isa),
        )*)*];
    };
    (@s $op:ident) => { Op::$op };
    (@s $op:ident $op_s:ident) => { Op::$op_s };
}

table! { NARROW:
    V8M {
        "010001110_mmmm_100" Bxns F::Target;
        "010001111_mmmm_100" Blxns F::Target;
    }
    V6M {
        "00000_iiiii_mmm_ddd" MovsX F::ShiftImmediate(0);
        "00001_iiiii_mmm_ddd" MovsX F::ShiftImmediate(1);
        "00010_iiiii_mmm_ddd" MovsX F::ShiftImmediate(2);
        "0001100_mmm_nnn_ddd" AddsR F::Plain;
        "0001101_mmm_nnn_ddd" SubsR F::Plain;
        "0001110_iii_nnn_ddd" AddsI F::Plain;
        "0001111_iii_nnn_ddd" SubsI F::Plain;
        "00100_ddd_iiiiiiii" MovsI F::Plain;
        "00101_nnn_iiiiiiii" CmpI F::Plain;
        "00110_ddd_iiiiiiii" AddsI F::Same;
        "00111_ddd_iiiiiiii" SubsI F::Same;
        "0100000000_mmm_ddd" AndsR F::Same;
        "0100000001_mmm_ddd" EorsR F::Same;
        "0100000010_mmm_ddd" LslsR F::Same;
        "0100000011_mmm_ddd" LsrsR F::Same;
        "0100000100_mmm_ddd" AsrsR F::Same;
        "0100000101_mmm_ddd" AdcsR F::Same;
        "0100000110_mmm_ddd" SbcsR F::Same;
        "0100000111_mmm_ddd" RorsR F::Same;
        "0100001000_mmm_nnn" TstR F::Plain;
        "0100001001_nnn_ddd" RsbsI F::Negate;
        "0100001010_mmm_nnn" CmpR F::Plain;
        "0100001011_mmm_nnn" CmnR F::Plain;
        "0100001100_mmm_ddd" OrrsR F::Same;
        "0100001101_mmm_ddd" Muls F::Same;
        "0100001110_mmm_ddd" BicsR F::Same;
        "0100001111_mmm_ddd" MvnsR F::Plain;
        "01000100_d_mmmm_ddd" AddR F::HighAdd;
        "01000101_n_mmmm_nnn" CmpR F::HighCompare;
        "01000110_d_mmmm_ddd" MovR F::HighMove;
        "010001110_mmmm_xxx" Bx F::Target;
        "010001111_mmmm_xxx" BlxR F::Target;
        "01001_ttt_iiiiiiii" LdrLit F::PcRelative;
        "0101000_mmm_nnn_ttt" StrR F::Plain;
        "0101001_mmm_nnn_ttt" StrhR F::Plain;
        "0101010_mmm_nnn_ttt" StrbR F::Plain;
        "0101011_mmm_nnn_ttt" LdrsbR F::Plain;
        "0101100_mmm_nnn_ttt" LdrR F::Plain;
        "0101101_mmm_nnn_ttt" LdrhR F::Plain;
        "0101110_mmm_nnn_ttt" LdrbR F::Plain;
        "0101111_mmm_nnn_ttt" LdrshR F::Plain;
        "01100_iiiii_nnn_ttt" StrI F::Times4;
        "01101_iiiii_nnn_ttt" LdrI F::Times4;
        "01110_iiiii_nnn_ttt" StrbI F::Plain;
        "01111_iiiii_nnn_ttt" LdrbI F::Plain;
        "10000_iiiii_nnn_ttt" StrhI F::Times2;
        "10001_iiiii_nnn_ttt" LdrhI F::Times2;
        "10010_ttt_iiiiiiii" StrI F::SpTimes4;
        "10011_ttt_iiiiiiii" LdrI F::SpTimes4;
        "10100_ddd_iiiiiiii" MovI F::PcRelative;
        "10101_ddd_iiiiiiii" AddI F::SpTimes4;
        "101100000_iiiiiii" AddI F::SpAdjust;
        "101100001_iiiiiii" SubI F::SpAdjust;
        "1011001000_mmm_ddd" Sxth F::Plain;
        "1011001001_mmm_ddd" Sxtb F::Plain;
        "1011001010_mmm_ddd" Uxth F::Plain;
        "1011001011_mmm_ddd" Uxtb F::Plain;
        "1011010_r_rrrrrrrr" Push F::PushList;
        "1011110_r_rrrrrrrr" Pop F::PopList;
        "1011011001_1_j_xiii" Cps F::ChangeState;
        "1011101000_mmm_ddd" Rev F::Plain;
        "1011101001_mmm_ddd" Rev16 F::Plain;
        "1011101011_mmm_ddd" Revsh F::Plain;
        "10111110_iiiiiiii" Bkpt F::Plain;
        "10111111_0001_0000" Yield F::Plain;
        "10111111_0010_0000" Wfe F::Plain;
        "10111111_0011_0000" Wfi F::Plain;
        "10111111_0100_0000" Sev F::Plain;
        "10111111_xxxx_0000" Nop F::Plain;
        "11000_nnn_rrrrrrrr" Stm F::LowList;
        "11001_nnn_rrrrrrrr" Ldm F::LowList;
        "1101_1110_iiiiiiii" Udf F::Plain;
        "1101_1111_iiiiiiii" Svc F::Plain;
        "1101_cccc_iiiiiiii" B F::BranchT1;
        "11100_iiiiiiiiiii" B F::BranchT2;
    }
    V7M {
        "10111111_cccc_iiii" It F::Plain;
        "101100_i_1_iiiii_nnn" Cbz F::CompareBranch;
        "101110_i_1_iiiii_nnn" Cbnz F::CompareBranch;
    }
}

table! { WIDE:
    V6M {
        "11110_i_iiiiiiiiii 11_j_1_j_iiiiiiiiiii" Bl F::BranchT4;
        "11110_0_111011_xxxx 10x0_xxxx_0100_xxxx" Dsb F::Plain;
        "11110_0_111011_xxxx 10x0_xxxx_0101_xxxx" Dmb F::Plain;
        "11110_0_111011_xxxx 10x0_xxxx_0110_xxxx" Isb F::Plain;
        "11110_0_111000_nnnn 10x0_jjxx_iiiiiiii" Msr F::System;
        "11110_0_11111x_xxxx 10x0_dddd_iiiiiiii" Mrs F::System;
        "11110_1_111111_jjjj 1010_iiiiiiiiiiii" Udf F::Undefined;
    }
    V7M {
        // DDI 0403, A5.3.4: branches and miscellaneous control.
        "11110_0_111010_xxxx 10x0_x000_0000_0001" Yield F::Plain;
        "11110_0_111010_xxxx 10x0_x000_0000_0010" Wfe F::Plain;
        "11110_0_111010_xxxx 10x0_x000_0000_0011" Wfi F::Plain;
        "11110_0_111010_xxxx 10x0_x000_0000_0100" Sev F::Plain;
        "11110_0_111010_xxxx 10x0_x000_xxxx_xxxx" Nop F::Plain;
        "11110_0_111011_xxxx 10x0_xxxx_0010_xxxx" Clrex F::Plain;
        "11110_i_111xxx_xxxx 10_j_0_j_iiiiiiiiiii" Undefined F::Undefined;
        "11110_i_cccc_iiiiii 10_j_0_j_iiiiiiiiiii" B F::BranchT3;
        "11110_i_iiiiiiiiii 10_j_1_j_iiiiiiiiiii" B F::BranchT4;

        // A5.3.1: data processing, modified immediate.
        "11110_i_00000_1_nnnn 0_iii_1111_iiiiiiii" TstI F::ExpandCarry;
        "11110_i_00000_s_nnnn 0_iii_dddd_iiiiiiii" AndI/AndsI F::ExpandCarry;
        "11110_i_00001_s_nnnn 0_iii_dddd_iiiiiiii" BicI/BicsI F::ExpandCarry;
        "11110_i_00010_s_1111 0_iii_dddd_iiiiiiii" MovI/MovsI F::ExpandCarry;
        "11110_i_00010_s_nnnn 0_iii_dddd_iiiiiiii" OrrI/OrrsI F::ExpandCarry;
        "11110_i_00011_s_1111 0_iii_dddd_iiiiiiii" MvnI/MvnsI F::ExpandCarry;
        "11110_i_00011_s_nnnn 0_iii_dddd_iiiiiiii" OrnI/OrnsI F::ExpandCarry;
        "11110_i_00100_1_nnnn 0_iii_1111_iiiiiiii" TeqI F::ExpandCarry;
        "11110_i_00100_s_nnnn 0_iii_dddd_iiiiiiii" EorI/EorsI F::ExpandCarry;
        "11110_i_01000_1_nnnn 0_iii_1111_iiiiiiii" CmnI F::Expand;
        "11110_i_01000_s_nnnn 0_iii_dddd_iiiiiiii" AddI/AddsI F::Expand;
        "11110_i_01010_s_nnnn 0_iii_dddd_iiiiiiii" AdcI/AdcsI F::Expand;
        "11110_i_01011_s_nnnn 0_iii_dddd_iiiiiiii" SbcI/SbcsI F::Expand;
        "11110_i_01101_1_nnnn 0_iii_1111_iiiiiiii" CmpI F::Expand;
        "11110_i_01101_s_nnnn 0_iii_dddd_iiiiiiii" SubI/SubsI F::Expand;
        "11110_i_01110_s_nnnn 0_iii_dddd_iiiiiiii" RsbI/RsbsI F::Expand;

        // A5.3.3: data processing, plain binary immediate.
        "11110_i_100000_1111 0_iii_dddd_iiiiiiii" MovI F::PcRelativeAdd;
        "11110_i_100000_nnnn 0_iii_dddd_iiiiiiii" AddI F::Plain;
        "11110_i_100100_jjjj 0_iii_dddd_iiiiiiii" MovI F::Wide;
        "11110_i_101010_1111 0_iii_dddd_iiiiiiii" MovI F::PcRelativeSub;
        "11110_i_101010_nnnn 0_iii_dddd_iiiiiiii" SubI F::Plain;
        "11110_i_101100_jjjj 0_iii_dddd_iiiiiiii" Movt F::Wide;
    }
    Dsp {
        "11110_x_110010_nnnn 0000_dddd_00x0_iiii" Ssat16 F::Saturate16;
        "11110_x_111010_nnnn 0000_dddd_00x0_iiii" Usat16 F::Saturate16;
    }
    V7M {
        "11110_x_1100y0_nnnn 0_iii_dddd_ii_x_jjjjj" Ssat F::Saturate;
        "11110_x_110100_nnnn 0_iii_dddd_ii_x_jjjjj" Sbfx F::BitField;
        "11110_x_110110_1111 0_iii_dddd_ii_x_jjjjj" Bfc F::BitFieldInsert;
        "11110_x_110110_nnnn 0_iii_dddd_ii_x_jjjjj" Bfi F::BitFieldInsert;
        "11110_x_1110y0_nnnn 0_iii_dddd_ii_x_jjjjj" Usat F::Saturate;
        "11110_x_111100_nnnn 0_iii_dddd_ii_x_jjjjj" Ubfx F::BitField;

        // A5.3.11: data processing, shifted register.
        "11101_01_0000_1_nnnn x_iii_1111_ii_yy_mmmm" TstX F::Shifted;
        "11101_01_0000_s_nnnn x_iii_dddd_ii_yy_mmmm" AndX/AndsX F::Shifted;
        "11101_01_0001_s_nnnn x_iii_dddd_ii_yy_mmmm" BicX/BicsX F::Shifted;
        "11101_01_0010_s_1111 x_iii_dddd_ii_yy_mmmm" MovX/MovsX F::Shifted;
        "11101_01_0010_s_nnnn x_iii_dddd_ii_yy_mmmm" OrrX/OrrsX F::Shifted;
        "11101_01_0011_s_1111 x_iii_dddd_ii_yy_mmmm" MvnX/MvnsX F::Shifted;
        "11101_01_0011_s_nnnn x_iii_dddd_ii_yy_mmmm" OrnX/OrnsX F::Shifted;
        "11101_01_0100_1_nnnn x_iii_1111_ii_yy_mmmm" TeqX F::Shifted;
        "11101_01_0100_s_nnnn x_iii_dddd_ii_yy_mmmm" EorX/EorsX F::Shifted;
        "11101_01_1000_1_nnnn x_iii_1111_ii_yy_mmmm" CmnX F::Shifted;
        "11101_01_1000_s_nnnn x_iii_dddd_ii_yy_mmmm" AddX/AddsX F::Shifted;
        "11101_01_1010_s_nnnn x_iii_dddd_ii_yy_mmmm" AdcX/AdcsX F::Shifted;
        "11101_01_1011_s_nnnn x_iii_dddd_ii_yy_mmmm" SbcX/SbcsX F::Shifted;
        "11101_01_1101_1_nnnn x_iii_1111_ii_yy_mmmm" CmpX F::Shifted;
        "11101_01_1101_s_nnnn x_iii_dddd_ii_yy_mmmm" SubX/SubsX F::Shifted;
        "11101_01_1110_s_nnnn x_iii_dddd_ii_yy_mmmm" RsbX/RsbsX F::Shifted;

        // A5.3.12 and A5.3.14: data processing, register; miscellaneous.
        "11111_010_000_s_nnnn 1111_dddd_0000_mmmm" LslR/LslsR F::Plain;
        "11111_010_001_s_nnnn 1111_dddd_0000_mmmm" LsrR/LsrsR F::Plain;
        "11111_010_010_s_nnnn 1111_dddd_0000_mmmm" AsrR/AsrsR F::Plain;
        "11111_010_011_s_nnnn 1111_dddd_0000_mmmm" RorR/RorsR F::Plain;
        "11111_010_0000_1111 1111_dddd_1xyy_mmmm" Sxth F::Extend;
        "11111_010_0001_1111 1111_dddd_1xyy_mmmm" Uxth F::Extend;
        "11111_010_0100_1111 1111_dddd_1xyy_mmmm" Sxtb F::Extend;
        "11111_010_0101_1111 1111_dddd_1xyy_mmmm" Uxtb F::Extend;
        "11111_010_1001_nnnn 1111_dddd_1000_mmmm" Rev F::Plain;
        "11111_010_1001_nnnn 1111_dddd_1001_mmmm" Rev16 F::Plain;
        "11111_010_1001_nnnn 1111_dddd_1010_mmmm" Rbit F::Plain;
        "11111_010_1001_nnnn 1111_dddd_1011_mmmm" Revsh F::Plain;
        "11111_010_1011_nnnn 1111_dddd_1000_mmmm" Clz F::Plain;

        // A5.3.16 and A5.3.17: multiply, divide.
        "11111_0110_000_nnnn 1111_dddd_0000_mmmm" Mul F::Plain;
        "11111_0110_000_nnnn aaaa_dddd_0000_mmmm" Mla F::Plain;
        "11111_0110_000_nnnn aaaa_dddd_0001_mmmm" Mls F::Plain;
        "11111_0111_000_nnnn aaaa_dddd_0000_mmmm" Smull F::Plain;
        "11111_0111_001_nnnn xxxx_dddd_1111_mmmm" Sdiv F::Plain;
        "11111_0111_010_nnnn aaaa_dddd_0000_mmmm" Umull F::Plain;
        "11111_0111_011_nnnn xxxx_dddd_1111_mmmm" Udiv F::Plain;
        "11111_0111_100_nnnn aaaa_dddd_0000_mmmm" Smlal F::Plain;
        "11111_0111_110_nnnn aaaa_dddd_0000_mmmm" Umlal F::Plain;

        // A5.3.5: load and store multiple. Lists of fewer than two registers are unpredictable.
        "11101_00_010_w_0_nnnn rrrr_rrrr_rrrr_rrrr" Stm F::List;
        "11101_00_010_w_1_nnnn rrrr_rrrr_rrrr_rrrr" Ldm F::List;
        "11101_00_100_w_0_nnnn rrrr_rrrr_rrrr_rrrr" Stmdb F::List;
        "11101_00_100_w_1_nnnn rrrr_rrrr_rrrr_rrrr" Ldmdb F::List;

    }
    V8M {
        // DDI 0553, C2.3.2 (load/store exclusive, load-acquire/store-release, test target).
        "11101001_01111111 11101001_01111111" Sg F::Plain;
        "11101_00_0010_0_nnnn 1111_dddd_yy_000000" Tt F::Variant;
        "11101_00_0110_0_nnnn tttt_xxxx_1000_xxxx" Stl F::Ordered(1);
        "11101_00_0110_0_nnnn tttt_xxxx_1001_xxxx" Stl F::Ordered(2);
        "11101_00_0110_0_nnnn tttt_xxxx_1010_xxxx" Stl F::Ordered(4);
        "11101_00_0110_0_nnnn tttt_xxxx_1100_dddd" Strexb F::Exclusive;
        "11101_00_0110_0_nnnn tttt_xxxx_1101_dddd" Strexh F::Exclusive;
        "11101_00_0110_0_nnnn tttt_xxxx_1110_dddd" Strex F::Exclusive;
        "11101_00_0110_1_nnnn tttt_xxxx_1000_xxxx" Lda F::Ordered(1);
        "11101_00_0110_1_nnnn tttt_xxxx_1001_xxxx" Lda F::Ordered(2);
        "11101_00_0110_1_nnnn tttt_xxxx_1010_xxxx" Lda F::Ordered(4);
        "11101_00_0110_1_nnnn tttt_xxxx_1100_xxxx" Ldrexb F::Exclusive;
        "11101_00_0110_1_nnnn tttt_xxxx_1101_xxxx" Ldrexh F::Exclusive;
        "11101_00_0110_1_nnnn tttt_xxxx_1110_xxxx" Ldrex F::Exclusive;
        "11101100_0010_nnnn xxxx_1010_xxxx_xxxx" Vlstm F::Plain;
        "11101100_0011_nnnn xxxx_1010_xxxx_xxxx" Vlldm F::Plain;
    }
    V7M {
        // A5.3.6: dual, exclusive, table branch.
        "11101_00_0010_0_nnnn tttt_dddd_iiiiiiii" Strex F::Exclusive;
        "11101_00_0010_1_nnnn tttt_xxxx_iiiiiiii" Ldrex F::Exclusive;
        "11101_00_0110_0_nnnn tttt_xxxx_0100_dddd" Strexb F::Exclusive;
        "11101_00_0110_0_nnnn tttt_xxxx_0101_dddd" Strexh F::Exclusive;
        "11101_00_0110_1_nnnn xxxx_xxxx_0000_mmmm" Tbb F::Plain;
        "11101_00_0110_1_nnnn xxxx_xxxx_0001_mmmm" Tbh F::Plain;
        "11101_00_0110_1_nnnn tttt_xxxx_0100_xxxx" Ldrexb F::Exclusive;
        "11101_00_0110_1_nnnn tttt_xxxx_0101_xxxx" Ldrexh F::Exclusive;
        "11101_00_0u10_x_nnnn xxxx_xxxx_xxxx_xxxx" Undefined F::Undefined;
        "11101_00_pu1w_0_nnnn tttt_aaaa_iiiiiiii" Strd F::Dual;
        "11101_00_pu1w_1_1111 tttt_aaaa_iiiiiiii" LdrdLit F::DualLiteral;
        "11101_00_pu1w_1_nnnn tttt_aaaa_iiiiiiii" Ldrd F::Dual;

        // A5.3.7 to A5.3.10: single loads and stores.
        "11111_00_0_x_xx_0_1111 xxxx_xxxxxxxxxxxx" Undefined F::Undefined;
        "11111_00_0_1_00_0_nnnn tttt_iiiiiiiiiiii" StrbI F::Offset12;
        "11111_00_0_1_01_0_nnnn tttt_iiiiiiiiiiii" StrhI F::Offset12;
        "11111_00_0_1_10_0_nnnn tttt_iiiiiiiiiiii" StrI F::Offset12;
        "11111_00_0_0_00_0_nnnn tttt_1puw_iiiiiiii" StrbI F::Indexed;
        "11111_00_0_0_01_0_nnnn tttt_1puw_iiiiiiii" StrhI F::Indexed;
        "11111_00_0_0_10_0_nnnn tttt_1puw_iiiiiiii" StrI F::Indexed;
        "11111_00_0_0_00_0_nnnn tttt_000000_ii_mmmm" StrbR F::RegisterOffset;
        "11111_00_0_0_01_0_nnnn tttt_000000_ii_mmmm" StrhR F::RegisterOffset;
        "11111_00_0_0_10_0_nnnn tttt_000000_ii_mmmm" StrR F::RegisterOffset;
        "11111_00_0_u_00_1_1111 tttt_iiiiiiiiiiii" LdrbLit F::Literal;
        "11111_00_0_u_01_1_1111 tttt_iiiiiiiiiiii" LdrhLit F::Literal;
        "11111_00_0_u_10_1_1111 tttt_iiiiiiiiiiii" LdrLit F::Literal;
        "11111_00_1_u_00_1_1111 tttt_iiiiiiiiiiii" LdrsbLit F::Literal;
        "11111_00_1_u_01_1_1111 tttt_iiiiiiiiiiii" LdrshLit F::Literal;
        "11111_00_0_1_00_1_nnnn tttt_iiiiiiiiiiii" LdrbI F::Offset12;
        "11111_00_0_1_01_1_nnnn tttt_iiiiiiiiiiii" LdrhI F::Offset12;
        "11111_00_0_1_10_1_nnnn tttt_iiiiiiiiiiii" LdrI F::Offset12;
        "11111_00_1_1_00_1_nnnn tttt_iiiiiiiiiiii" LdrsbI F::Offset12;
        "11111_00_1_1_01_1_nnnn tttt_iiiiiiiiiiii" LdrshI F::Offset12;
        "11111_00_0_0_00_1_nnnn tttt_1puw_iiiiiiii" LdrbI F::Indexed;
        "11111_00_0_0_01_1_nnnn tttt_1puw_iiiiiiii" LdrhI F::Indexed;
        "11111_00_0_0_10_1_nnnn tttt_1puw_iiiiiiii" LdrI F::Indexed;
        "11111_00_1_0_00_1_nnnn tttt_1puw_iiiiiiii" LdrsbI F::Indexed;
        "11111_00_1_0_01_1_nnnn tttt_1puw_iiiiiiii" LdrshI F::Indexed;
        "11111_00_0_0_00_1_nnnn tttt_000000_ii_mmmm" LdrbR F::RegisterOffset;
        "11111_00_0_0_01_1_nnnn tttt_000000_ii_mmmm" LdrhR F::RegisterOffset;
        "11111_00_0_0_10_1_nnnn tttt_000000_ii_mmmm" LdrR F::RegisterOffset;
        "11111_00_1_0_00_1_nnnn tttt_000000_ii_mmmm" LdrsbR F::RegisterOffset;
        "11111_00_1_0_01_1_nnnn tttt_000000_ii_mmmm" LdrshR F::RegisterOffset;
    }
    Dsp {
        // A5.3.11: pack halfword. A5.3.12 to A5.3.14: extend and add, parallel, saturating.
        "11101_01_0110_x_nnnn x_iii_dddd_ii_0x_mmmm" Pkhbt F::Shifted;
        "11101_01_0110_x_nnnn x_iii_dddd_ii_1x_mmmm" Pkhtb F::Shifted;
        "11111_010_0000_nnnn 1111_dddd_1xyy_mmmm" Sxtah F::Extend;
        "11111_010_0001_nnnn 1111_dddd_1xyy_mmmm" Uxtah F::Extend;
        "11111_010_0010_1111 1111_dddd_1xyy_mmmm" Sxtb16 F::Extend;
        "11111_010_0010_nnnn 1111_dddd_1xyy_mmmm" Sxtab16 F::Extend;
        "11111_010_0011_1111 1111_dddd_1xyy_mmmm" Uxtb16 F::Extend;
        "11111_010_0011_nnnn 1111_dddd_1xyy_mmmm" Uxtab16 F::Extend;
        "11111_010_0100_nnnn 1111_dddd_1xyy_mmmm" Sxtab F::Extend;
        "11111_010_0101_nnnn 1111_dddd_1xyy_mmmm" Uxtab F::Extend;
        "11111_010_1x11_nnnn 1111_dddd_0xxx_mmmm" Undefined F::Undefined;
        "11111_010_1xxx_nnnn 1111_dddd_0x11_mmmm" Undefined F::Undefined;
        "11111_010_1yyy_nnnn 1111_dddd_0yii_mmmm" Parallel F::Variant;
        "11111_010_1000_nnnn 1111_dddd_1000_mmmm" Qadd F::Plain;
        "11111_010_1000_nnnn 1111_dddd_1001_mmmm" Qdadd F::Plain;
        "11111_010_1000_nnnn 1111_dddd_1010_mmmm" Qsub F::Plain;
        "11111_010_1000_nnnn 1111_dddd_1011_mmmm" Qdsub F::Plain;
        "11111_010_1010_nnnn 1111_dddd_1000_mmmm" Sel F::Plain;

        // A5.3.16 and A5.3.17: signed multiplies.
        "11111_0110_001_nnnn 1111_dddd_00yy_mmmm" Smulxy F::Variant;
        "11111_0110_001_nnnn aaaa_dddd_00yy_mmmm" Smlaxy F::Variant;
        "11111_0110_010_nnnn 1111_dddd_000y_mmmm" Smuad F::Variant;
        "11111_0110_010_nnnn aaaa_dddd_000y_mmmm" Smlad F::Variant;
        "11111_0110_011_nnnn 1111_dddd_000y_mmmm" Smulwy F::Variant;
        "11111_0110_011_nnnn aaaa_dddd_000y_mmmm" Smlawy F::Variant;
        "11111_0110_100_nnnn 1111_dddd_000y_mmmm" Smusd F::Variant;
        "11111_0110_100_nnnn aaaa_dddd_000y_mmmm" Smlsd F::Variant;
        "11111_0110_101_nnnn 1111_dddd_000y_mmmm" Smmul F::Variant;
        "11111_0110_101_nnnn aaaa_dddd_000y_mmmm" Smmla F::Variant;
        "11111_0110_110_nnnn aaaa_dddd_000y_mmmm" Smmls F::Variant;
        "11111_0110_111_nnnn 1111_dddd_0000_mmmm" Usad8 F::Plain;
        "11111_0110_111_nnnn aaaa_dddd_0000_mmmm" Usada8 F::Plain;
        "11111_0111_100_nnnn aaaa_dddd_10yy_mmmm" Smlalxy F::Variant;
        "11111_0111_100_nnnn aaaa_dddd_110y_mmmm" Smlald F::Variant;
        "11111_0111_101_nnnn aaaa_dddd_110y_mmmm" Smlsld F::Variant;
        "11111_0111_110_nnnn aaaa_dddd_0110_mmmm" Umaal F::Plain;
    }
    Fp {
        // DDI 0403, A6.4 to A6.7. `D N M` extend `d n m` at the low end.
        "11101110_0_D_00_nnnn dddd_101_0_N0M0_mmmm" Vmla F::FpThree;
        "11101110_0_D_00_nnnn dddd_101_0_N1M0_mmmm" Vmls F::FpThree;
        "11101110_0_D_01_nnnn dddd_101_0_N1M0_mmmm" Vnmla F::FpThree;
        "11101110_0_D_01_nnnn dddd_101_0_N0M0_mmmm" Vnmls F::FpThree;
        "11101110_0_D_10_nnnn dddd_101_0_N0M0_mmmm" Vmul F::FpThree;
        "11101110_0_D_10_nnnn dddd_101_0_N1M0_mmmm" Vnmul F::FpThree;
        "11101110_0_D_11_nnnn dddd_101_0_N0M0_mmmm" Vadd F::FpThree;
        "11101110_0_D_11_nnnn dddd_101_0_N1M0_mmmm" Vsub F::FpThree;
        "11101110_1_D_00_nnnn dddd_101_0_N0M0_mmmm" Vdiv F::FpThree;
        "11101110_1_D_01_nnnn dddd_101_0_N1M0_mmmm" Vfnma F::FpThree;
        "11101110_1_D_01_nnnn dddd_101_0_N0M0_mmmm" Vfnms F::FpThree;
        "11101110_1_D_10_nnnn dddd_101_0_N0M0_mmmm" Vfma F::FpThree;
        "11101110_1_D_10_nnnn dddd_101_0_N1M0_mmmm" Vfms F::FpThree;
        "11101110_1_D_11_iiii dddd_101_0_x0x0_iiii" VmovI F::FpImmediate;
        "11101110_1_D_11_0000 dddd_101_0_01M0_mmmm" VmovR F::FpTwo;
        "11101110_1_D_11_0000 dddd_101_0_11M0_mmmm" Vabs F::FpTwo;
        "11101110_1_D_11_0001 dddd_101_0_01M0_mmmm" Vneg F::FpTwo;
        "11101110_1_D_11_0001 dddd_101_0_11M0_mmmm" Vsqrt F::FpTwo;
        "11101110_1_D_11_001y dddd_101_0_y1M0_mmmm" VcvtHalf F::FpConvert;
        "11101110_1_D_11_0100 dddd_101_0_01M0_mmmm" Vcmp F::FpTwo;
        "11101110_1_D_11_0100 dddd_101_0_11M0_mmmm" Vcmpe F::FpTwo;
        "11101110_1_D_11_0101 dddd_101_0_01x0_xxxx" VcmpZ F::FpOne;
        "11101110_1_D_11_0101 dddd_101_0_11x0_xxxx" VcmpeZ F::FpOne;
        "11101110_1_D_11_1000 dddd_101_0_y1M0_mmmm" VcvtFromInt F::FpConvert;
        "11101110_1_D_11_110y dddd_101_0_y1M0_mmmm" VcvtToInt F::FpConvert;
        "11101110_1_D_11_1y1y dddd_101_0_y1j0_iiii" VcvtFixed F::FpFixed;
        "11101110_000_0_nnnn tttt_1010_Nxx1_xxxx" VmovFromCore F::FpCore;
        "11101110_000_1_nnnn tttt_1010_Nxx1_xxxx" VmovToCore F::FpCore;
        "11101110_00y_0_nnnn tttt_1011_N001_xxxx" VmovFromCore F::FpScalar;
        "11101110_00y_1_nnnn tttt_1011_N001_xxxx" VmovToCore F::FpScalar;
        "11101110_111_0_0001 tttt_1010_xxx1_xxxx" Vmsr F::Plain;
        "11101110_111_1_0001 tttt_1010_xxx1_xxxx" Vmrs F::Plain;
        "11101100_010_0_aaaa tttt_1010_00M1_mmmm" VmovPairFromCore F::FpPair;
        "11101100_010_1_aaaa tttt_1010_00M1_mmmm" VmovPairToCore F::FpPair;
        "11101100_010_0_aaaa tttt_1011_00M1_mmmm" VmovPairFromCore F::FpPairDouble;
        "11101100_010_1_aaaa tttt_1011_00M1_mmmm" VmovPairToCore F::FpPairDouble;
        "11101101_u_D_00_nnnn dddd_1010_iiiiiiii" Vstr F::FpMemory;
        "11101101_u_D_01_nnnn dddd_1010_iiiiiiii" Vldr F::FpMemory;
        "11101101_u_D_00_nnnn dddd_1011_iiiiiiii" Vstr F::FpMemoryDouble;
        "11101101_u_D_01_nnnn dddd_1011_iiiiiiii" Vldr F::FpMemoryDouble;
        "1110110_puDw_0_nnnn dddd_1010_iiiiiiii" Vstm F::FpList;
        "1110110_puDw_1_nnnn dddd_1010_iiiiiiii" Vldm F::FpList;
        "1110110_puDw_0_nnnn dddd_1011_iiiiiiii" Vstm F::FpListDouble;
        "1110110_puDw_1_nnnn dddd_1011_iiiiiiii" Vldm F::FpListDouble;
    }
    Coprocessors {
        // DDI 0553, C2.4: CDP, MCR and MRC, MCRR and MRRC, each with its second form, of coprocessors 0 to 7.
        "111x_1110_xxxx_xxxx xxxx_0xxx_xxxx_xxxx" OfCoprocessor F::Whole;
        "111x_1100_010x_xxxx xxxx_0xxx_xxxx_xxxx" OfCoprocessor F::Whole;
    }
    Fp5 {
        // DDI 0553, C2.3.6: VSEL, VMAXNM, VMINNM, VRINT, VCVT with directed rounding.
        "11111110_0_D_yy_nnnn dddd_101_0_N0M0_mmmm" Vsel F::FpThree;
        "11111110_1_D_00_nnnn dddd_101_0_N0M0_mmmm" Vmaxnm F::FpThree;
        "11111110_1_D_00_nnnn dddd_101_0_N1M0_mmmm" Vminnm F::FpThree;
        "11111110_1_D_11_10yy dddd_101_0_01M0_mmmm" Vrint F::FpRounding(0);
        "11111110_1_D_11_11yy dddd_101_0_j1M0_mmmm" VcvtDirected F::FpRounding(0);
        "11101110_1_D_11_0110 dddd_101_0_01M0_mmmm" Vrint F::FpRounding(5);
        "11101110_1_D_11_0110 dddd_101_0_11M0_mmmm" Vrint F::FpRounding(4);
        "11101110_1_D_11_0111 dddd_101_0_01M0_mmmm" Vrint F::FpRounding(6);
    }
    Double {
        // The same operations on D registers (DDI 0403, A6.4 to A6.7; DDI 0553, C2.3.6).
        "11101110_0_D_00_nnnn dddd_101_1_N0M0_mmmm" VmlaD F::FpThree;
        "11101110_0_D_00_nnnn dddd_101_1_N1M0_mmmm" VmlsD F::FpThree;
        "11101110_0_D_01_nnnn dddd_101_1_N1M0_mmmm" VnmlaD F::FpThree;
        "11101110_0_D_01_nnnn dddd_101_1_N0M0_mmmm" VnmlsD F::FpThree;
        "11101110_0_D_10_nnnn dddd_101_1_N0M0_mmmm" VmulD F::FpThree;
        "11101110_0_D_10_nnnn dddd_101_1_N1M0_mmmm" VnmulD F::FpThree;
        "11101110_0_D_11_nnnn dddd_101_1_N0M0_mmmm" VaddD F::FpThree;
        "11101110_0_D_11_nnnn dddd_101_1_N1M0_mmmm" VsubD F::FpThree;
        "11101110_1_D_00_nnnn dddd_101_1_N0M0_mmmm" VdivD F::FpThree;
        "11101110_1_D_01_nnnn dddd_101_1_N1M0_mmmm" VfnmaD F::FpThree;
        "11101110_1_D_01_nnnn dddd_101_1_N0M0_mmmm" VfnmsD F::FpThree;
        "11101110_1_D_10_nnnn dddd_101_1_N0M0_mmmm" VfmaD F::FpThree;
        "11101110_1_D_10_nnnn dddd_101_1_N1M0_mmmm" VfmsD F::FpThree;
        "11101110_1_D_11_iiii dddd_101_1_x0x0_iiii" VmovID F::FpImmediate;
        "11101110_1_D_11_0000 dddd_101_1_01M0_mmmm" VmovRD F::FpTwo;
        "11101110_1_D_11_0000 dddd_101_1_11M0_mmmm" VabsD F::FpTwo;
        "11101110_1_D_11_0001 dddd_101_1_01M0_mmmm" VnegD F::FpTwo;
        "11101110_1_D_11_0001 dddd_101_1_11M0_mmmm" VsqrtD F::FpTwo;
        "11101110_1_D_11_001y dddd_101_1_y1M0_mmmm" VcvtHalfD F::FpConvert;
        "11101110_1_D_11_0100 dddd_101_1_01M0_mmmm" VcmpD F::FpTwo;
        "11101110_1_D_11_0100 dddd_101_1_11M0_mmmm" VcmpeD F::FpTwo;
        "11101110_1_D_11_0101 dddd_101_1_01x0_xxxx" VcmpZD F::FpOne;
        "11101110_1_D_11_0101 dddd_101_1_11x0_xxxx" VcmpeZD F::FpOne;
        "11101110_1_D_11_1000 dddd_101_1_y1M0_mmmm" VcvtFromIntD F::FpConvert;
        "11101110_1_D_11_110y dddd_101_1_y1M0_mmmm" VcvtToIntD F::FpConvert;
        "11101110_1_D_11_1y1y dddd_101_1_y1j0_iiii" VcvtFixedD F::FpFixed;
        "11111110_0_D_yy_nnnn dddd_101_1_N0M0_mmmm" VselD F::FpThree;
        "11111110_1_D_00_nnnn dddd_101_1_N0M0_mmmm" VmaxnmD F::FpThree;
        "11111110_1_D_00_nnnn dddd_101_1_N1M0_mmmm" VminnmD F::FpThree;
        "11111110_1_D_11_10yy dddd_101_1_01M0_mmmm" VrintD F::FpRounding(0);
        "11111110_1_D_11_11yy dddd_101_1_j1M0_mmmm" VcvtDirectedD F::FpRounding(0);
        "11101110_1_D_11_0110 dddd_101_1_01M0_mmmm" VrintD F::FpRounding(5);
        "11101110_1_D_11_0110 dddd_101_1_11M0_mmmm" VrintD F::FpRounding(4);
        "11101110_1_D_11_0111 dddd_101_1_01M0_mmmm" VrintD F::FpRounding(6);
        "11101110_1_D_11_0111 dddd_101_0_11M0_mmmm" VcvtToDouble F::FpTwo;
        "11101110_1_D_11_0111 dddd_101_1_11M0_mmmm" VcvtFromDouble F::FpTwo;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_as_wide_as_their_instructions() {
        for (table, width) in [(NARROW, 16), (WIDE, 32)] {
            for line in table {
                let bits = line.pattern.bytes().filter(|&b| b != b' ' && b != b'_').count();
                assert_eq!(bits, width, "{}", line.pattern);
            }
        }
    }

    #[test]
    fn fields_are_gathered_most_significant_first() {
        let add = NARROW.iter().find(|e| e.form == Form::HighAdd).expect("in the table");
        assert_eq!(add.field(b'd', 0x44E1), 0b1001);
        assert_eq!(add.field(b'm', 0x44E1), 0b1100);
        assert_eq!(add.field(b'z', 0xFFFF), 0);
    }

    #[test]
    fn no_line_is_hidden_by_an_earlier_one() {
        for table in [NARROW, WIDE] {
            for (at, line) in table.iter().enumerate() {
                let hidden = table[..at].iter().find(|earlier| {
                    line.mask & earlier.mask == earlier.mask
                        && line.value & earlier.mask == earlier.value
                        && earlier.isa <= line.isa
                });
                assert!(hidden.is_none(), "{} is hidden by {:?}", line.pattern, hidden);
            }
        }
    }
}
