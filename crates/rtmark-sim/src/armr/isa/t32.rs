//! Every T32 encoding of a Cortex-R5, one line each, in the order of DDI 0406, chapter A6.

use super::encoding::{Encoding, Form as F, LOAD_DUAL, STORE_DUAL, alu, alus, load, store, table};
use super::op::{
    Alu, Bank, Barrier, Bits, Exclusive, Fit, Flags, Hint, Multiply as M, Narrow, Op, Order,
    Parallel as P, Sign, Status, Width, WriteBack,
};

const SIGNED: Sign = Sign::Signed;
const UNSIGNED: Sign = Sign::Unsigned;

const fn mul(multiply: M) -> Op {
    Op::Multiply(multiply, Flags::Kept)
}

const fn hint(hint: Hint) -> Op {
    Op::Hint(hint)
}

const fn lanes(parallel: P) -> Op {
    Op::Parallel(parallel, Fit::Plain, SIGNED)
}

const LDM: Op = Op::LoadMultiple(Order::IncrementAfter, WriteBack::No, Bank::Own);
const STM: Op = Op::StoreMultiple(Order::IncrementAfter, WriteBack::No, Bank::Own);
const SRS: Op = Op::StoreReturn(Order::IncrementAfter, WriteBack::No);
const RFE: Op = Op::ReturnFrom(Order::IncrementAfter, WriteBack::No);

table! { NARROW:
    // A6.2.1: shifts, sums, moves, comparisons.
    "00000_iiiii_mmm_ddd" "lsl" alus(Alu::Mov), F::ShiftBy(0);
    "00001_iiiii_mmm_ddd" "lsr" alus(Alu::Mov), F::ShiftBy(1);
    "00010_iiiii_mmm_ddd" "asr" alus(Alu::Mov), F::ShiftBy(2);
    "0001100_mmm_nnn_ddd" "add" alus(Alu::Add), F::Plain;
    "0001101_mmm_nnn_ddd" "sub" alus(Alu::Sub), F::Plain;
    "0001110_iii_nnn_ddd" "add" alus(Alu::Add), F::Times(1);
    "0001111_iii_nnn_ddd" "sub" alus(Alu::Sub), F::Times(1);
    "00100_ddd_iiiiiiii" "mov" alus(Alu::Mov), F::Times(1);
    "00101_nnn_iiiiiiii" "cmp" alus(Alu::Cmp), F::Times(1);
    "00110_ddd_iiiiiiii" "add" alus(Alu::Add), F::Same;
    "00111_ddd_iiiiiiii" "sub" alus(Alu::Sub), F::Same;
    // A6.2.2: data processing.
    "0100000000_mmm_ddd" "and" alus(Alu::And), F::Same;
    "0100000001_mmm_ddd" "eor" alus(Alu::Eor), F::Same;
    "0100000010_aaa_ddd" "lsl" alus(Alu::Mov), F::ShiftRegister(0);
    "0100000011_aaa_ddd" "lsr" alus(Alu::Mov), F::ShiftRegister(1);
    "0100000100_aaa_ddd" "asr" alus(Alu::Mov), F::ShiftRegister(2);
    "0100000101_mmm_ddd" "adc" alus(Alu::Adc), F::Same;
    "0100000110_mmm_ddd" "sbc" alus(Alu::Sbc), F::Same;
    "0100000111_aaa_ddd" "ror" alus(Alu::Mov), F::ShiftRegister(3);
    "0100001000_mmm_nnn" "tst" alus(Alu::Tst), F::Plain;
    "0100001001_nnn_ddd" "rsb" alus(Alu::Rsb), F::Negate;
    "0100001010_mmm_nnn" "cmp" alus(Alu::Cmp), F::Plain;
    "0100001011_mmm_nnn" "cmn" alus(Alu::Cmn), F::Plain;
    "0100001100_mmm_ddd" "orr" alus(Alu::Orr), F::Same;
    "0100001101_nnn_ddd" "mul" Op::Multiply(M::Mul, Flags::SetOutsideIt), F::Same;
    "0100001110_mmm_ddd" "bic" alus(Alu::Bic), F::Same;
    "0100001111_mmm_ddd" "mvn" alus(Alu::Mvn), F::Plain;
    // A6.2.3: any register; branches with exchange.
    "01000100_d_mmmm_ddd" "add" alu(Alu::Add), F::High;
    "01000101_n_mmmm_nnn" "cmp" alus(Alu::Cmp), F::Plain;
    "01000110_d_mmmm_ddd" "mov" alu(Alu::Mov), F::HighMove;
    "010001110_mmmm_xxx" "bx" Op::BranchExchange, F::Plain;
    "010001111_mmmm_xxx" "blx" Op::BranchLinkExchange, F::Plain;
    // A6.2.4: loads and stores.
    "01001_ttt_iiiiiiii" "ldr" load(Width::Word), F::Relative;
    "0101000_mmm_nnn_ttt" "str" store(Width::Word), F::RegisterOffset;
    "0101001_mmm_nnn_ttt" "strh" store(Width::Half), F::RegisterOffset;
    "0101010_mmm_nnn_ttt" "strb" store(Width::Byte), F::RegisterOffset;
    "0101011_mmm_nnn_ttt" "ldrsb" load(Width::SignedByte), F::RegisterOffset;
    "0101100_mmm_nnn_ttt" "ldr" load(Width::Word), F::RegisterOffset;
    "0101101_mmm_nnn_ttt" "ldrh" load(Width::Half), F::RegisterOffset;
    "0101110_mmm_nnn_ttt" "ldrb" load(Width::Byte), F::RegisterOffset;
    "0101111_mmm_nnn_ttt" "ldrsh" load(Width::SignedHalf), F::RegisterOffset;
    "01100_iiiii_nnn_ttt" "str" store(Width::Word), F::Times(4);
    "01101_iiiii_nnn_ttt" "ldr" load(Width::Word), F::Times(4);
    "01110_iiiii_nnn_ttt" "strb" store(Width::Byte), F::Times(1);
    "01111_iiiii_nnn_ttt" "ldrb" load(Width::Byte), F::Times(1);
    "10000_iiiii_nnn_ttt" "strh" store(Width::Half), F::Times(2);
    "10001_iiiii_nnn_ttt" "ldrh" load(Width::Half), F::Times(2);
    "10010_ttt_iiiiiiii" "str" store(Width::Word), F::OnStack(4);
    "10011_ttt_iiiiiiii" "ldr" load(Width::Word), F::OnStack(4);
    "10100_ddd_iiiiiiii" "adr" Op::AddressOf, F::Relative;
    "10101_ddd_iiiiiiii" "add" alu(Alu::Add), F::OnStack(4);
    // A6.2.5: miscellaneous.
    "101100000_iiiiiii" "add" alu(Alu::Add), F::StackPointer;
    "101100001_iiiiiii" "sub" alu(Alu::Sub), F::StackPointer;
    "101100_i_1_iiiii_nnn" "cbz" Op::CompareBranch, F::Compare;
    "101110_i_1_iiiii_nnn" "cbnz" Op::CompareBranch, F::Compare;
    "1011001000_mmm_ddd" "sxth" Op::Extend(Narrow::Half, SIGNED), F::Extend;
    "1011001001_mmm_ddd" "sxtb" Op::Extend(Narrow::Byte, SIGNED), F::Extend;
    "1011001010_mmm_ddd" "uxth" Op::Extend(Narrow::Half, UNSIGNED), F::Extend;
    "1011001011_mmm_ddd" "uxtb" Op::Extend(Narrow::Byte, UNSIGNED), F::Extend;
    "1011010_r_rrrrrrrr" "push" STM, F::PushList;
    "1011110_r_rrrrrrrr" "pop" LDM, F::PopList;
    "10110110010_x_y_xxx" "setend" Op::SetEndian, F::Variant;
    "10110110011_j_x_ddd" "cps" Op::ChangeState, F::ChangeState;
    "1011101000_mmm_ddd" "rev" Op::Bits(Bits::Rev), F::Plain;
    "1011101001_mmm_ddd" "rev16" Op::Bits(Bits::Rev16), F::Plain;
    "1011101011_mmm_ddd" "revsh" Op::Bits(Bits::Revsh), F::Plain;
    "10111110_iiiiiiii" "bkpt" Op::Breakpoint, F::Plain;
    "10111111_0001_0000" "yield" hint(Hint::Yield), F::Plain;
    "10111111_0010_0000" "wfe" hint(Hint::WaitForEvent), F::Plain;
    "10111111_0011_0000" "wfi" hint(Hint::WaitForInterrupt), F::Plain;
    "10111111_0100_0000" "sev" hint(Hint::SendEvent), F::Plain;
    "10111111_xxxx_0000" "nop" hint(Hint::Nop), F::Plain;
    "10111111_iiii_iiii" "it" Op::IfThen, F::IfThen;
    "11000_nnn_rrrrrrrr" "stm" STM, F::LowList;
    "11001_nnn_rrrrrrrr" "ldm" LDM, F::LowList;
    "1101_1110_iiiiiiii" "udf" Op::Undefined, F::Plain;
    "1101_1111_iiiiiiii" "svc" Op::Call, F::Plain;
    "1101_cccc_iiiiiiii" "b" Op::Branch, F::BranchT1;
    "11100_iiiiiiiiiii" "b" Op::Branch, F::BranchT2;
}

table! { WIDE:
    // A6.3.4: branches and miscellaneous control.
    "11110_0_11100_0_nnnn 10x0_aaaa_xxxxxxxx" "msr" Op::WriteStatus(Status::Current), F::StatusRegister;
    "11110_0_11100_1_nnnn 10x0_aaaa_xxxxxxxx" "msr" Op::WriteStatus(Status::Saved), F::StatusRegister;
    "11110_0_111010_xxxx 10x0_x000_0000_0001" "yield" hint(Hint::Yield), F::Plain;
    "11110_0_111010_xxxx 10x0_x000_0000_0010" "wfe" hint(Hint::WaitForEvent), F::Plain;
    "11110_0_111010_xxxx 10x0_x000_0000_0011" "wfi" hint(Hint::WaitForInterrupt), F::Plain;
    "11110_0_111010_xxxx 10x0_x000_0000_0100" "sev" hint(Hint::SendEvent), F::Plain;
    "11110_0_111010_xxxx 10x0_x000_xxxx_xxxx" "nop" hint(Hint::Nop), F::Plain;
    "11110_0_111010_xxxx 10x0_x_aaa_ddd_iiiii" "cps" Op::ChangeState, F::ChangeState;
    "11110_0_111011_xxxx 10x0_xxxx_0010_xxxx" "clrex" Op::ClearExclusive, F::Plain;
    "11110_0_111011_xxxx 10x0_xxxx_0100_xxxx" "dsb" Op::Barrier(Barrier::Synchronization), F::Plain;
    "11110_0_111011_xxxx 10x0_xxxx_0101_xxxx" "dmb" Op::Barrier(Barrier::Memory), F::Plain;
    "11110_0_111011_xxxx 10x0_xxxx_0110_xxxx" "isb" Op::Barrier(Barrier::Instruction), F::Plain;
    "11110_0_111100_mmmm 10x0_xxxx_xxxxxxxx" "bxj" Op::BranchExchange, F::Plain;
    "11110_0_111101_1110 10x0_xxxx_iiiiiiii" "subs" Op::SubtractReturn, F::Plain;
    "11110_0_111110_xxxx 10x0_dddd_xxxxxxxx" "mrs" Op::ReadStatus(Status::Current), F::Plain;
    "11110_0_111111_xxxx 10x0_dddd_xxxxxxxx" "mrs" Op::ReadStatus(Status::Saved), F::Plain;
    "11110_i_111xxx_xxxx 10_j_0_j_iiiiiiiiiii" "udf" Op::Undefined, F::Plain;
    "11110_i_cccc_iiiiii 10_j_0_j_iiiiiiiiiii" "b" Op::Branch, F::BranchT3;
    "11110_i_iiiiiiiiii 10_j_1_j_iiiiiiiiiii" "b" Op::Branch, F::BranchT4;
    "11110_i_iiiiiiiiii 11_j_0_j_iiiiiiiiii0" "blx" Op::BranchLink, F::ExchangeT4;
    "11110_i_iiiiiiiiii 11_j_1_j_iiiiiiiiiii" "bl" Op::BranchLink, F::LinkT4;
    // A6.3.1: data processing, modified immediate.
    "11110_i_00000_1_nnnn 0_iii_1111_iiiiiiii" "tst" alu(Alu::Tst), F::Expanded;
    "11110_i_00000_s_nnnn 0_iii_dddd_iiiiiiii" "and" alu(Alu::And), F::Expanded;
    "11110_i_00001_s_nnnn 0_iii_dddd_iiiiiiii" "bic" alu(Alu::Bic), F::Expanded;
    "11110_i_00010_s_1111 0_iii_dddd_iiiiiiii" "mov" alu(Alu::Mov), F::Expanded;
    "11110_i_00010_s_nnnn 0_iii_dddd_iiiiiiii" "orr" alu(Alu::Orr), F::Expanded;
    "11110_i_00011_s_1111 0_iii_dddd_iiiiiiii" "mvn" alu(Alu::Mvn), F::Expanded;
    "11110_i_00011_s_nnnn 0_iii_dddd_iiiiiiii" "orn" alu(Alu::Orn), F::Expanded;
    "11110_i_00100_1_nnnn 0_iii_1111_iiiiiiii" "teq" alu(Alu::Teq), F::Expanded;
    "11110_i_00100_s_nnnn 0_iii_dddd_iiiiiiii" "eor" alu(Alu::Eor), F::Expanded;
    "11110_i_01000_1_nnnn 0_iii_1111_iiiiiiii" "cmn" alu(Alu::Cmn), F::Expanded;
    "11110_i_01000_s_nnnn 0_iii_dddd_iiiiiiii" "add" alu(Alu::Add), F::Expanded;
    "11110_i_01010_s_nnnn 0_iii_dddd_iiiiiiii" "adc" alu(Alu::Adc), F::Expanded;
    "11110_i_01011_s_nnnn 0_iii_dddd_iiiiiiii" "sbc" alu(Alu::Sbc), F::Expanded;
    "11110_i_01101_1_nnnn 0_iii_1111_iiiiiiii" "cmp" alu(Alu::Cmp), F::Expanded;
    "11110_i_01101_s_nnnn 0_iii_dddd_iiiiiiii" "sub" alu(Alu::Sub), F::Expanded;
    "11110_i_01110_s_nnnn 0_iii_dddd_iiiiiiii" "rsb" alu(Alu::Rsb), F::Expanded;
    // A6.3.3: data processing, plain binary immediate.
    "11110_i_100000_1111 0_iii_dddd_iiiiiiii" "adr" Op::AddressOf, F::Literal;
    "11110_i_100000_nnnn 0_iii_dddd_iiiiiiii" "addw" alu(Alu::Add), F::Times(1);
    "11110_i_100100_jjjj 0_iii_dddd_iiiiiiii" "movw" alu(Alu::Mov), F::Wide;
    "11110_i_101010_1111 0_iii_dddd_iiiiiiii" "adr" Op::AddressOf, F::RelativeBack;
    "11110_i_101010_nnnn 0_iii_dddd_iiiiiiii" "subw" alu(Alu::Sub), F::Times(1);
    "11110_i_101100_jjjj 0_iii_dddd_iiiiiiii" "movt" Op::Bits(Bits::Top), F::Wide;
    "11110_x_110010_nnnn 0000_dddd_00x0_jjjj" "ssat16" Op::Saturate16(SIGNED), F::Saturate16;
    "11110_x_1100y0_nnnn 0_iii_dddd_ii_x_jjjjj" "ssat" Op::Saturate(SIGNED), F::Saturate;
    "11110_x_110100_nnnn 0_iii_dddd_ii_x_aaaaa" "sbfx" Op::Bits(Bits::Extract(SIGNED)), F::BitField;
    "11110_x_110110_1111 0_iii_dddd_ii_x_aaaaa" "bfc" Op::Bits(Bits::Clear), F::BitFieldInsert;
    "11110_x_110110_nnnn 0_iii_dddd_ii_x_aaaaa" "bfi" Op::Bits(Bits::Insert), F::BitFieldInsert;
    "11110_x_111010_nnnn 0000_dddd_00x0_jjjj" "usat16" Op::Saturate16(UNSIGNED), F::Saturate16;
    "11110_x_1110y0_nnnn 0_iii_dddd_ii_x_jjjjj" "usat" Op::Saturate(UNSIGNED), F::Saturate;
    "11110_x_111100_nnnn 0_iii_dddd_ii_x_aaaaa" "ubfx" Op::Bits(Bits::Extract(UNSIGNED)), F::BitField;
    // A6.3.11: data processing, shifted register.
    "11101_01_0000_1_nnnn x_iii_1111_ii_yy_mmmm" "tst" alu(Alu::Tst), F::Shifted;
    "11101_01_0000_s_nnnn x_iii_dddd_ii_yy_mmmm" "and" alu(Alu::And), F::Shifted;
    "11101_01_0001_s_nnnn x_iii_dddd_ii_yy_mmmm" "bic" alu(Alu::Bic), F::Shifted;
    "11101_01_0010_s_1111 x_iii_dddd_ii_yy_mmmm" "mov" alu(Alu::Mov), F::Shifted;
    "11101_01_0010_s_nnnn x_iii_dddd_ii_yy_mmmm" "orr" alu(Alu::Orr), F::Shifted;
    "11101_01_0011_s_1111 x_iii_dddd_ii_yy_mmmm" "mvn" alu(Alu::Mvn), F::Shifted;
    "11101_01_0011_s_nnnn x_iii_dddd_ii_yy_mmmm" "orn" alu(Alu::Orn), F::Shifted;
    "11101_01_0100_1_nnnn x_iii_1111_ii_yy_mmmm" "teq" alu(Alu::Teq), F::Shifted;
    "11101_01_0100_s_nnnn x_iii_dddd_ii_yy_mmmm" "eor" alu(Alu::Eor), F::Shifted;
    "11101_01_0110_0_nnnn x_iii_dddd_ii_00_mmmm" "pkhbt" Op::Pack, F::Pack(0);
    "11101_01_0110_0_nnnn x_iii_dddd_ii_10_mmmm" "pkhtb" Op::Pack, F::Pack(2);
    "11101_01_1000_1_nnnn x_iii_1111_ii_yy_mmmm" "cmn" alu(Alu::Cmn), F::Shifted;
    "11101_01_1000_s_nnnn x_iii_dddd_ii_yy_mmmm" "add" alu(Alu::Add), F::Shifted;
    "11101_01_1010_s_nnnn x_iii_dddd_ii_yy_mmmm" "adc" alu(Alu::Adc), F::Shifted;
    "11101_01_1011_s_nnnn x_iii_dddd_ii_yy_mmmm" "sbc" alu(Alu::Sbc), F::Shifted;
    "11101_01_1101_1_nnnn x_iii_1111_ii_yy_mmmm" "cmp" alu(Alu::Cmp), F::Shifted;
    "11101_01_1101_s_nnnn x_iii_dddd_ii_yy_mmmm" "sub" alu(Alu::Sub), F::Shifted;
    "11101_01_1110_s_nnnn x_iii_dddd_ii_yy_mmmm" "rsb" alu(Alu::Rsb), F::Shifted;
    // A6.3.12 to A6.3.15: data processing, register.
    "11111_010_0_yy_s_mmmm 1111_dddd_0000_aaaa" "shift" alu(Alu::Mov), F::ByRegister;
    "11111_010_0000_nnnn 1111_dddd_1xyy_mmmm" "sxtah" Op::Extend(Narrow::Half, SIGNED), F::Extend;
    "11111_010_0001_nnnn 1111_dddd_1xyy_mmmm" "uxtah" Op::Extend(Narrow::Half, UNSIGNED), F::Extend;
    "11111_010_0010_nnnn 1111_dddd_1xyy_mmmm" "sxtab16" Op::Extend(Narrow::Bytes, SIGNED), F::Extend;
    "11111_010_0011_nnnn 1111_dddd_1xyy_mmmm" "uxtab16" Op::Extend(Narrow::Bytes, UNSIGNED), F::Extend;
    "11111_010_0100_nnnn 1111_dddd_1xyy_mmmm" "sxtab" Op::Extend(Narrow::Byte, SIGNED), F::Extend;
    "11111_010_0101_nnnn 1111_dddd_1xyy_mmmm" "uxtab" Op::Extend(Narrow::Byte, UNSIGNED), F::Extend;
    "11111_010_1001_nnnn 1111_dddd_0_y_jj_mmmm" "add16" lanes(P::Add16), F::Plain;
    "11111_010_1010_nnnn 1111_dddd_0_y_jj_mmmm" "asx" lanes(P::Asx), F::Plain;
    "11111_010_1110_nnnn 1111_dddd_0_y_jj_mmmm" "sax" lanes(P::Sax), F::Plain;
    "11111_010_1101_nnnn 1111_dddd_0_y_jj_mmmm" "sub16" lanes(P::Sub16), F::Plain;
    "11111_010_1000_nnnn 1111_dddd_0_y_jj_mmmm" "add8" lanes(P::Add8), F::Plain;
    "11111_010_1100_nnnn 1111_dddd_0_y_jj_mmmm" "sub8" lanes(P::Sub8), F::Plain;
    "11111_010_1000_nnnn 1111_dddd_1000_mmmm" "qadd" Op::Saturating(0), F::Plain;
    "11111_010_1000_nnnn 1111_dddd_1001_mmmm" "qdadd" Op::Saturating(2), F::Plain;
    "11111_010_1000_nnnn 1111_dddd_1010_mmmm" "qsub" Op::Saturating(1), F::Plain;
    "11111_010_1000_nnnn 1111_dddd_1011_mmmm" "qdsub" Op::Saturating(3), F::Plain;
    "11111_010_1001_xxxx 1111_dddd_1000_mmmm" "rev" Op::Bits(Bits::Rev), F::Plain;
    "11111_010_1001_xxxx 1111_dddd_1001_mmmm" "rev16" Op::Bits(Bits::Rev16), F::Plain;
    "11111_010_1001_xxxx 1111_dddd_1010_mmmm" "rbit" Op::Bits(Bits::Rbit), F::Plain;
    "11111_010_1001_xxxx 1111_dddd_1011_mmmm" "revsh" Op::Bits(Bits::Revsh), F::Plain;
    "11111_010_1010_nnnn 1111_dddd_1000_mmmm" "sel" Op::Select, F::Plain;
    "11111_010_1011_xxxx 1111_dddd_1000_mmmm" "clz" Op::Bits(Bits::Clz), F::Plain;
    // A6.3.16 and A6.3.17: multiply, divide.
    "11111_0110_000_nnnn 1111_dddd_0000_mmmm" "mul" mul(M::Mul), F::Plain;
    "11111_0110_000_nnnn aaaa_dddd_0000_mmmm" "mla" mul(M::Mla), F::Plain;
    "11111_0110_000_nnnn aaaa_dddd_0001_mmmm" "mls" mul(M::Mls), F::Plain;
    "11111_0110_001_nnnn 1111_dddd_00yy_mmmm" "smulxy" mul(M::SmulXy), F::Variant;
    "11111_0110_001_nnnn aaaa_dddd_00yy_mmmm" "smlaxy" mul(M::SmlaXy), F::Variant;
    "11111_0110_010_nnnn 1111_dddd_000y_mmmm" "smuad" mul(M::Smuad), F::Variant;
    "11111_0110_010_nnnn aaaa_dddd_000y_mmmm" "smlad" mul(M::Smlad), F::Variant;
    "11111_0110_011_nnnn 1111_dddd_000y_mmmm" "smulwy" mul(M::SmulWy), F::Variant;
    "11111_0110_011_nnnn aaaa_dddd_000y_mmmm" "smlawy" mul(M::SmlaWy), F::Variant;
    "11111_0110_100_nnnn 1111_dddd_000y_mmmm" "smusd" mul(M::Smusd), F::Variant;
    "11111_0110_100_nnnn aaaa_dddd_000y_mmmm" "smlsd" mul(M::Smlsd), F::Variant;
    "11111_0110_101_nnnn 1111_dddd_000y_mmmm" "smmul" mul(M::Smmul), F::Variant;
    "11111_0110_101_nnnn aaaa_dddd_000y_mmmm" "smmla" mul(M::Smmla), F::Variant;
    "11111_0110_110_nnnn aaaa_dddd_000y_mmmm" "smmls" mul(M::Smmls), F::Variant;
    "11111_0110_111_nnnn aaaa_dddd_0000_mmmm" "usad8" Op::Differences, F::Plain;
    "11111_0111_000_nnnn aaaa_dddd_0000_mmmm" "smull" mul(M::Smull), F::Plain;
    "11111_0111_001_nnnn xxxx_dddd_1111_mmmm" "sdiv" Op::Divide(SIGNED), F::Plain;
    "11111_0111_010_nnnn aaaa_dddd_0000_mmmm" "umull" mul(M::Umull), F::Plain;
    "11111_0111_011_nnnn xxxx_dddd_1111_mmmm" "udiv" Op::Divide(UNSIGNED), F::Plain;
    "11111_0111_100_nnnn aaaa_dddd_0000_mmmm" "smlal" mul(M::Smlal), F::Plain;
    "11111_0111_100_nnnn aaaa_dddd_10yy_mmmm" "smlalxy" mul(M::SmlalXy), F::Variant;
    "11111_0111_100_nnnn aaaa_dddd_110y_mmmm" "smlald" mul(M::Smlald), F::Variant;
    "11111_0111_101_nnnn aaaa_dddd_110y_mmmm" "smlsld" mul(M::Smlsld), F::Variant;
    "11111_0111_110_nnnn aaaa_dddd_0000_mmmm" "umlal" mul(M::Umlal), F::Plain;
    "11111_0111_110_nnnn aaaa_dddd_0110_mmmm" "umaal" mul(M::Umaal), F::Plain;
    // A6.3.5: register lists; returns.
    "11101_00_000_w_0_xxxx xxxx_xxxx_xxx_iiiii" "srsdb" SRS, F::ReturnDown;
    "11101_00_110_w_0_xxxx xxxx_xxxx_xxx_iiiii" "srs" SRS, F::ReturnUp;
    "11101_00_000_w_1_nnnn xxxx_xxxx_xxxx_xxxx" "rfedb" RFE, F::ReturnDown;
    "11101_00_110_w_1_nnnn xxxx_xxxx_xxxx_xxxx" "rfe" RFE, F::ReturnUp;
    "11101_00_010_w_0_nnnn rrrr_rrrr_rrrr_rrrr" "stm" STM, F::ListUp;
    "11101_00_010_w_1_nnnn rrrr_rrrr_rrrr_rrrr" "ldm" LDM, F::ListUp;
    "11101_00_100_w_0_nnnn rrrr_rrrr_rrrr_rrrr" "stmdb" STM, F::ListDown;
    "11101_00_100_w_1_nnnn rrrr_rrrr_rrrr_rrrr" "ldmdb" LDM, F::ListDown;
    // A6.3.6: pairs, exclusive accesses, tables.
    "11101_00_0010_0_nnnn mmmm_dddd_iiiiiiii" "strex" Op::StoreExclusive(Exclusive::Word), F::Times(4);
    "11101_00_0010_1_nnnn tttt_xxxx_iiiiiiii" "ldrex" Op::LoadExclusive(Exclusive::Word), F::Times(4);
    "11101_00_0110_0_nnnn mmmm_xxxx_0100_dddd" "strexb" Op::StoreExclusive(Exclusive::Byte), F::Plain;
    "11101_00_0110_0_nnnn mmmm_xxxx_0101_dddd" "strexh" Op::StoreExclusive(Exclusive::Half), F::Plain;
    "11101_00_0110_0_nnnn mmmm_aaaa_0111_dddd" "strexd" Op::StoreExclusive(Exclusive::Double), F::Plain;
    "11101_00_0110_1_nnnn xxxx_xxxx_0000_mmmm" "tbb" Op::TableBranch, F::Plain;
    "11101_00_0110_1_nnnn xxxx_xxxx_0001_mmmm" "tbh" Op::TableBranch, F::Plain;
    "11101_00_0110_1_nnnn tttt_xxxx_0100_xxxx" "ldrexb" Op::LoadExclusive(Exclusive::Byte), F::Plain;
    "11101_00_0110_1_nnnn tttt_xxxx_0101_xxxx" "ldrexh" Op::LoadExclusive(Exclusive::Half), F::Plain;
    "11101_00_0110_1_nnnn tttt_aaaa_0111_xxxx" "ldrexd" Op::LoadExclusive(Exclusive::Double), F::Plain;
    "11101_00_0x10_x_nnnn xxxx_xxxx_xxxx_xxxx" "udf" Op::Undefined, F::Plain;
    "11101_00_pu1w_0_nnnn tttt_aaaa_iiiiiiii" "strd" STORE_DUAL, F::Dual8;
    "11101_00_pu1w_1_nnnn tttt_aaaa_iiiiiiii" "ldrd" LOAD_DUAL, F::Dual8;
    // A6.3.7 to A6.3.10: single loads and stores.
    "11111_00_0_x_xx_0_1111 xxxx_xxxxxxxxxxxx" "udf" Op::Undefined, F::Plain;
    "11111_00_0_1_00_0_nnnn tttt_iiiiiiiiiiii" "strb" store(Width::Byte), F::Offset12;
    "11111_00_0_1_01_0_nnnn tttt_iiiiiiiiiiii" "strh" store(Width::Half), F::Offset12;
    "11111_00_0_1_10_0_nnnn tttt_iiiiiiiiiiii" "str" store(Width::Word), F::Offset12;
    "11111_00_0_0_00_0_nnnn tttt_1puw_iiiiiiii" "strb" store(Width::Byte), F::Indexed8;
    "11111_00_0_0_01_0_nnnn tttt_1puw_iiiiiiii" "strh" store(Width::Half), F::Indexed8;
    "11111_00_0_0_10_0_nnnn tttt_1puw_iiiiiiii" "str" store(Width::Word), F::Indexed8;
    "11111_00_0_0_00_0_nnnn tttt_000000_ii_mmmm" "strb" store(Width::Byte), F::RegisterOffset;
    "11111_00_0_0_01_0_nnnn tttt_000000_ii_mmmm" "strh" store(Width::Half), F::RegisterOffset;
    "11111_00_0_0_10_0_nnnn tttt_000000_ii_mmmm" "str" store(Width::Word), F::RegisterOffset;
    // Loads of bytes and halfwords to the program counter are preload hints.
    "11111_00_0_u_00_1_1111 1111_xxxxxxxxxxxx" "pld" hint(Hint::Preload), F::Plain;
    "11111_00_0_u_01_1_1111 1111_xxxxxxxxxxxx" "pld" hint(Hint::Preload), F::Plain;
    "11111_00_1_u_00_1_1111 1111_xxxxxxxxxxxx" "pli" hint(Hint::Preload), F::Plain;
    "11111_00_1_u_01_1_1111 1111_xxxxxxxxxxxx" "nop" hint(Hint::Preload), F::Plain;
    "11111_00_x_1_0x_1_nnnn 1111_xxxxxxxxxxxx" "pld" hint(Hint::Preload), F::Plain;
    "11111_00_x_0_0x_1_nnnn 1111_1100_xxxxxxxx" "pld" hint(Hint::Preload), F::Plain;
    "11111_00_x_0_0x_1_nnnn 1111_000000_xx_xxxx" "pld" hint(Hint::Preload), F::Plain;
    "11111_00_0_u_00_1_1111 tttt_iiiiiiiiiiii" "ldrb" load(Width::Byte), F::Literal;
    "11111_00_0_u_01_1_1111 tttt_iiiiiiiiiiii" "ldrh" load(Width::Half), F::Literal;
    "11111_00_0_u_10_1_1111 tttt_iiiiiiiiiiii" "ldr" load(Width::Word), F::Literal;
    "11111_00_1_u_00_1_1111 tttt_iiiiiiiiiiii" "ldrsb" load(Width::SignedByte), F::Literal;
    "11111_00_1_u_01_1_1111 tttt_iiiiiiiiiiii" "ldrsh" load(Width::SignedHalf), F::Literal;
    "11111_00_0_1_00_1_nnnn tttt_iiiiiiiiiiii" "ldrb" load(Width::Byte), F::Offset12;
    "11111_00_0_1_01_1_nnnn tttt_iiiiiiiiiiii" "ldrh" load(Width::Half), F::Offset12;
    "11111_00_0_1_10_1_nnnn tttt_iiiiiiiiiiii" "ldr" load(Width::Word), F::Offset12;
    "11111_00_1_1_00_1_nnnn tttt_iiiiiiiiiiii" "ldrsb" load(Width::SignedByte), F::Offset12;
    "11111_00_1_1_01_1_nnnn tttt_iiiiiiiiiiii" "ldrsh" load(Width::SignedHalf), F::Offset12;
    "11111_00_0_0_00_1_nnnn tttt_1puw_iiiiiiii" "ldrb" load(Width::Byte), F::Indexed8;
    "11111_00_0_0_01_1_nnnn tttt_1puw_iiiiiiii" "ldrh" load(Width::Half), F::Indexed8;
    "11111_00_0_0_10_1_nnnn tttt_1puw_iiiiiiii" "ldr" load(Width::Word), F::Indexed8;
    "11111_00_1_0_00_1_nnnn tttt_1puw_iiiiiiii" "ldrsb" load(Width::SignedByte), F::Indexed8;
    "11111_00_1_0_01_1_nnnn tttt_1puw_iiiiiiii" "ldrsh" load(Width::SignedHalf), F::Indexed8;
    "11111_00_0_0_00_1_nnnn tttt_000000_ii_mmmm" "ldrb" load(Width::Byte), F::RegisterOffset;
    "11111_00_0_0_01_1_nnnn tttt_000000_ii_mmmm" "ldrh" load(Width::Half), F::RegisterOffset;
    "11111_00_0_0_10_1_nnnn tttt_000000_ii_mmmm" "ldr" load(Width::Word), F::RegisterOffset;
    "11111_00_1_0_00_1_nnnn tttt_000000_ii_mmmm" "ldrsb" load(Width::SignedByte), F::RegisterOffset;
    "11111_00_1_0_01_1_nnnn tttt_000000_ii_mmmm" "ldrsh" load(Width::SignedHalf), F::RegisterOffset;
    // A6.3.18: coprocessors.
    "11101100010_0_aaaa tttt_pppp_jjjj_mmmm" "mcrr" Op::WriteCoprocessorPair, F::CoprocessorPair;
    "11101100010_1_aaaa tttt_pppp_jjjj_mmmm" "mrrc" Op::ReadCoprocessorPair, F::CoprocessorPair;
    "11101110_jjj_0_nnnn tttt_pppp_yyy_1_mmmm" "mcr" Op::WriteCoprocessor, F::Coprocessor;
    "11101110_jjj_1_nnnn tttt_pppp_yyy_1_mmmm" "mrc" Op::ReadCoprocessor, F::Coprocessor;
}
