//! Every A32 encoding of a Cortex-R5, one line each, in the order of DDI 0406, chapter A5.
//!
//! Floating-point instructions are decoded by `crate::isa`: T32 and A32 encode them alike.

use super::encoding::{Encoding, Form as F, LOAD_DUAL, STORE_DUAL, alu, load, store, table};
use super::op::{
    Alu, Bank, Barrier, Bits, Exclusive, Fit, Flags, Hint, Multiply as M, Narrow, Op, Order,
    Parallel as P, Sign, Status, Width, WriteBack,
};

const KEPT: Flags = Flags::Kept;
const SIGNED: Sign = Sign::Signed;
const UNSIGNED: Sign = Sign::Unsigned;

const fn mul(multiply: M) -> Op {
    Op::Multiply(multiply, KEPT)
}

const fn hint(hint: Hint) -> Op {
    Op::Hint(hint)
}

const fn lanes(parallel: P) -> Op {
    Op::Parallel(parallel, Fit::Plain, SIGNED)
}

const LDM: Op = Op::LoadMultiple(Order::IncrementAfter, WriteBack::No, Bank::Own);
const STM: Op = Op::StoreMultiple(Order::IncrementAfter, WriteBack::No, Bank::Own);

table! { UNCONDITIONAL:
    // A5.7: unconditional instructions.
    "1111_00010000_0001_xxxxxx_y_x_0000_xxxx" "setend" Op::SetEndian, F::Variant;
    "1111_00010000_aaa_0_xxxxxxx_ddd_0_iiiii" "cps" Op::ChangeState, F::ChangeState;
    "1111_01010111_xxxx_xxxx_xxxx_0001_xxxx" "clrex" Op::ClearExclusive, F::Plain;
    "1111_01010111_xxxx_xxxx_xxxx_0100_xxxx" "dsb" Op::Barrier(Barrier::Synchronization), F::Plain;
    "1111_01010111_xxxx_xxxx_xxxx_0101_xxxx" "dmb" Op::Barrier(Barrier::Memory), F::Plain;
    "1111_01010111_xxxx_xxxx_xxxx_0110_xxxx" "isb" Op::Barrier(Barrier::Instruction), F::Plain;
    "1111_0101_xx01_xxxx_xxxx_xxxxxxxxxxxx" "pld" hint(Hint::Preload), F::Plain;
    "1111_0100_xx01_xxxx_xxxx_xxxxxxxxxxxx" "pli" hint(Hint::Preload), F::Plain;
    "1111_0111_xx01_xxxx_xxxx_xxxxxxx_0_xxxx" "pld" hint(Hint::Preload), F::Plain;
    "1111_0110_xx01_xxxx_xxxx_xxxxxxx_0_xxxx" "pli" hint(Hint::Preload), F::Plain;
    "1111_100_pu_1w0_xxxx_xxxx_xxxxxxx_iiiii" "srs" Op::StoreReturn(Order::IncrementAfter, WriteBack::No), F::Return;
    "1111_100_pu_0w1_nnnn_xxxx_xxxxxxxxxxxx" "rfe" Op::ReturnFrom(Order::IncrementAfter, WriteBack::No), F::Return;
    "1111_101_j_iiiiiiiiiiiiiiiiiiiiiiii" "blx" Op::BranchLink, F::Exchange24;
}

table! { CONDITIONAL:
    // A5.2.5 and A5.2.10: multiplications, synchronization.
    "cccc_0000000_s_dddd_xxxx_mmmm_1001_nnnn" "mul" mul(M::Mul), F::Plain;
    "cccc_0000001_s_dddd_aaaa_mmmm_1001_nnnn" "mla" mul(M::Mla), F::Plain;
    "cccc_00000100_dddd_aaaa_mmmm_1001_nnnn" "umaal" mul(M::Umaal), F::Plain;
    "cccc_00000110_dddd_aaaa_mmmm_1001_nnnn" "mls" mul(M::Mls), F::Plain;
    "cccc_0000100_s_dddd_aaaa_mmmm_1001_nnnn" "umull" mul(M::Umull), F::Plain;
    "cccc_0000101_s_dddd_aaaa_mmmm_1001_nnnn" "umlal" mul(M::Umlal), F::Plain;
    "cccc_0000110_s_dddd_aaaa_mmmm_1001_nnnn" "smull" mul(M::Smull), F::Plain;
    "cccc_0000111_s_dddd_aaaa_mmmm_1001_nnnn" "smlal" mul(M::Smlal), F::Plain;
    "cccc_00010000_nnnn_tttt_xxxx_1001_mmmm" "swp" Op::Swap(Width::Word), F::Plain;
    "cccc_00010100_nnnn_tttt_xxxx_1001_mmmm" "swpb" Op::Swap(Width::Byte), F::Plain;
    "cccc_00011000_nnnn_dddd_xxxx_1001_mmmm" "strex" Op::StoreExclusive(Exclusive::Word), F::Plain;
    "cccc_00011001_nnnn_tttt_xxxx_1001_xxxx" "ldrex" Op::LoadExclusive(Exclusive::Word), F::Plain;
    "cccc_00011010_nnnn_dddd_xxxx_1001_mmmm" "strexd" Op::StoreExclusive(Exclusive::Double), F::Plain;
    "cccc_00011011_nnnn_tttt_xxxx_1001_xxxx" "ldrexd" Op::LoadExclusive(Exclusive::Double), F::Plain;
    "cccc_00011100_nnnn_dddd_xxxx_1001_mmmm" "strexb" Op::StoreExclusive(Exclusive::Byte), F::Plain;
    "cccc_00011101_nnnn_tttt_xxxx_1001_xxxx" "ldrexb" Op::LoadExclusive(Exclusive::Byte), F::Plain;
    "cccc_00011110_nnnn_dddd_xxxx_1001_mmmm" "strexh" Op::StoreExclusive(Exclusive::Half), F::Plain;
    "cccc_00011111_nnnn_tttt_xxxx_1001_xxxx" "ldrexh" Op::LoadExclusive(Exclusive::Half), F::Plain;
    "cccc_000_xxxxx_xxxx_xxxx_xxxx_1001_xxxx" "udf" Op::Undefined, F::Plain;
    // A5.2.8: extra loads and stores.
    "cccc_000_pu0w0_nnnn_tttt_xxxx_1011_mmmm" "strh" store(Width::Half), F::HalvesRegister;
    "cccc_000_pu1w0_nnnn_tttt_iiii_1011_iiii" "strh" store(Width::Half), F::Halves;
    "cccc_000_pu0w1_nnnn_tttt_xxxx_1011_mmmm" "ldrh" load(Width::Half), F::HalvesRegister;
    "cccc_000_pu1w1_nnnn_tttt_iiii_1011_iiii" "ldrh" load(Width::Half), F::Halves;
    "cccc_000_pu0w1_nnnn_tttt_xxxx_1101_mmmm" "ldrsb" load(Width::SignedByte), F::HalvesRegister;
    "cccc_000_pu1w1_nnnn_tttt_iiii_1101_iiii" "ldrsb" load(Width::SignedByte), F::Halves;
    "cccc_000_pu0w1_nnnn_tttt_xxxx_1111_mmmm" "ldrsh" load(Width::SignedHalf), F::HalvesRegister;
    "cccc_000_pu1w1_nnnn_tttt_iiii_1111_iiii" "ldrsh" load(Width::SignedHalf), F::Halves;
    "cccc_000_pu0w0_nnnn_tttt_xxxx_1101_mmmm" "ldrd" LOAD_DUAL, F::DualRegister;
    "cccc_000_pu1w0_nnnn_tttt_iiii_1101_iiii" "ldrd" LOAD_DUAL, F::Dual;
    "cccc_000_pu0w0_nnnn_tttt_xxxx_1111_mmmm" "strd" STORE_DUAL, F::DualRegister;
    "cccc_000_pu1w0_nnnn_tttt_iiii_1111_iiii" "strd" STORE_DUAL, F::Dual;
    // A5.2.12: miscellaneous; these are comparisons that would not set flags.
    "cccc_00010_0_00_xxxx_dddd_xxxx_0000_xxxx" "mrs" Op::ReadStatus(Status::Current), F::Plain;
    "cccc_00010_1_00_xxxx_dddd_xxxx_0000_xxxx" "mrs" Op::ReadStatus(Status::Saved), F::Plain;
    "cccc_00010_0_10_aaaa_xxxx_xxxx_0000_nnnn" "msr" Op::WriteStatus(Status::Current), F::StatusRegister;
    "cccc_00010_1_10_aaaa_xxxx_xxxx_0000_nnnn" "msr" Op::WriteStatus(Status::Saved), F::StatusRegister;
    "cccc_00010010_xxxx_xxxx_xxxx_0001_mmmm" "bx" Op::BranchExchange, F::Plain;
    "cccc_00010110_xxxx_dddd_xxxx_0001_mmmm" "clz" Op::Bits(Bits::Clz), F::Plain;
    "cccc_00010010_xxxx_xxxx_xxxx_0010_mmmm" "bxj" Op::BranchExchange, F::Plain;
    "cccc_00010010_xxxx_xxxx_xxxx_0011_mmmm" "blx" Op::BranchLinkExchange, F::Plain;
    "cccc_00010000_nnnn_dddd_xxxx_0101_mmmm" "qadd" Op::Saturating(0), F::Plain;
    "cccc_00010010_nnnn_dddd_xxxx_0101_mmmm" "qsub" Op::Saturating(1), F::Plain;
    "cccc_00010100_nnnn_dddd_xxxx_0101_mmmm" "qdadd" Op::Saturating(2), F::Plain;
    "cccc_00010110_nnnn_dddd_xxxx_0101_mmmm" "qdsub" Op::Saturating(3), F::Plain;
    "cccc_00010010_iiii_iiii_iiii_0111_iiii" "bkpt" Op::Breakpoint, F::Plain;
    // A5.2.7: halfword multiplications.
    "cccc_00010000_dddd_aaaa_mmmm_1_yy_0_nnnn" "smlaxy" mul(M::SmlaXy), F::Variant;
    "cccc_00010010_dddd_aaaa_mmmm_1_y_00_nnnn" "smlawy" mul(M::SmlaWy), F::Variant;
    "cccc_00010010_dddd_xxxx_mmmm_1_y_10_nnnn" "smulwy" mul(M::SmulWy), F::Variant;
    "cccc_00010100_dddd_aaaa_mmmm_1_yy_0_nnnn" "smlalxy" mul(M::SmlalXy), F::Variant;
    "cccc_00010110_dddd_xxxx_mmmm_1_yy_0_nnnn" "smulxy" mul(M::SmulXy), F::Variant;
    "cccc_00010_xx0_xxxx_xxxx_xxxx_xxxx_xxxx" "udf" Op::Undefined, F::Plain;
    // A5.2.1 to A5.2.3: data processing.
    "cccc_000_oooo_s_nnnn_dddd_iiiii_yy_0_mmmm" "" alu(Alu::Mov), F::Shifted;
    "cccc_000_oooo_s_nnnn_dddd_aaaa_0_yy_1_mmmm" "" alu(Alu::Mov), F::ByRegister;
    "cccc_00110000_jjjj_dddd_iiiiiiiiiiii" "movw" alu(Alu::Mov), F::Wide;
    "cccc_00110100_jjjj_dddd_iiiiiiiiiiii" "movt" Op::Bits(Bits::Top), F::Wide;
    "cccc_00110_0_10_0000_xxxx_xxxx_00000001" "yield" hint(Hint::Yield), F::Plain;
    "cccc_00110_0_10_0000_xxxx_xxxx_00000010" "wfe" hint(Hint::WaitForEvent), F::Plain;
    "cccc_00110_0_10_0000_xxxx_xxxx_00000011" "wfi" hint(Hint::WaitForInterrupt), F::Plain;
    "cccc_00110_0_10_0000_xxxx_xxxx_00000100" "sev" hint(Hint::SendEvent), F::Plain;
    "cccc_00110_0_10_0000_xxxx_xxxx_1111xxxx" "dbg" hint(Hint::Debug), F::Plain;
    "cccc_00110_0_10_0000_xxxx_xxxx_xxxxxxxx" "nop" hint(Hint::Nop), F::Plain;
    "cccc_00110_0_10_aaaa_xxxx_jjjj_iiiiiiii" "msr" Op::WriteStatus(Status::Current), F::StatusImmediate;
    "cccc_00110_1_10_aaaa_xxxx_jjjj_iiiiiiii" "msr" Op::WriteStatus(Status::Saved), F::StatusImmediate;
    "cccc_00110_xx0_xxxx_xxxx_xxxx_xxxxxxxx" "udf" Op::Undefined, F::Plain;
    "cccc_001_oooo_s_nnnn_dddd_jjjj_iiiiiiii" "" alu(Alu::Mov), F::Rotated;
    // A5.3: loads and stores.
    "cccc_010_pu0w0_nnnn_tttt_iiiiiiiiiiii" "str" store(Width::Word), F::Indexed;
    "cccc_010_pu0w1_nnnn_tttt_iiiiiiiiiiii" "ldr" load(Width::Word), F::Indexed;
    "cccc_010_pu1w0_nnnn_tttt_iiiiiiiiiiii" "strb" store(Width::Byte), F::Indexed;
    "cccc_010_pu1w1_nnnn_tttt_iiiiiiiiiiii" "ldrb" load(Width::Byte), F::Indexed;
    "cccc_011_pu0w0_nnnn_tttt_iiiii_yy_0_mmmm" "str" store(Width::Word), F::IndexedRegister;
    "cccc_011_pu0w1_nnnn_tttt_iiiii_yy_0_mmmm" "ldr" load(Width::Word), F::IndexedRegister;
    "cccc_011_pu1w0_nnnn_tttt_iiiii_yy_0_mmmm" "strb" store(Width::Byte), F::IndexedRegister;
    "cccc_011_pu1w1_nnnn_tttt_iiiii_yy_0_mmmm" "ldrb" load(Width::Byte), F::IndexedRegister;
    // A5.4: media. For parallel sums, `j` is how results fit their lanes and `y` the sign.
    "cccc_01100_y_jj_nnnn_dddd_xxxx_0001_mmmm" "add16" lanes(P::Add16), F::Plain;
    "cccc_01100_y_jj_nnnn_dddd_xxxx_0011_mmmm" "asx" lanes(P::Asx), F::Plain;
    "cccc_01100_y_jj_nnnn_dddd_xxxx_0101_mmmm" "sax" lanes(P::Sax), F::Plain;
    "cccc_01100_y_jj_nnnn_dddd_xxxx_0111_mmmm" "sub16" lanes(P::Sub16), F::Plain;
    "cccc_01100_y_jj_nnnn_dddd_xxxx_1001_mmmm" "add8" lanes(P::Add8), F::Plain;
    "cccc_01100_y_jj_nnnn_dddd_xxxx_1111_mmmm" "sub8" lanes(P::Sub8), F::Plain;
    "cccc_01101000_nnnn_dddd_iiiii_001_mmmm" "pkhbt" Op::Pack, F::Pack(0);
    "cccc_01101000_nnnn_dddd_iiiii_101_mmmm" "pkhtb" Op::Pack, F::Pack(2);
    "cccc_01101000_nnnn_dddd_yyxx_0111_mmmm" "sxtab16" Op::Extend(Narrow::Bytes, SIGNED), F::Extend;
    "cccc_01101000_nnnn_dddd_xxxx_1011_mmmm" "sel" Op::Select, F::Plain;
    "cccc_01101010_jjjj_dddd_xxxx_0011_nnnn" "ssat16" Op::Saturate16(SIGNED), F::Saturate16;
    "cccc_01101010_nnnn_dddd_yyxx_0111_mmmm" "sxtab" Op::Extend(Narrow::Byte, SIGNED), F::Extend;
    "cccc_01101011_xxxx_dddd_xxxx_0011_mmmm" "rev" Op::Bits(Bits::Rev), F::Plain;
    "cccc_01101011_nnnn_dddd_yyxx_0111_mmmm" "sxtah" Op::Extend(Narrow::Half, SIGNED), F::Extend;
    "cccc_01101011_xxxx_dddd_xxxx_1011_mmmm" "rev16" Op::Bits(Bits::Rev16), F::Plain;
    "cccc_0110101_jjjjj_dddd_iiiii_y01_nnnn" "ssat" Op::Saturate(SIGNED), F::Saturate;
    "cccc_01101100_nnnn_dddd_yyxx_0111_mmmm" "uxtab16" Op::Extend(Narrow::Bytes, UNSIGNED), F::Extend;
    "cccc_01101110_jjjj_dddd_xxxx_0011_nnnn" "usat16" Op::Saturate16(UNSIGNED), F::Saturate16;
    "cccc_01101110_nnnn_dddd_yyxx_0111_mmmm" "uxtab" Op::Extend(Narrow::Byte, UNSIGNED), F::Extend;
    "cccc_01101111_xxxx_dddd_xxxx_0011_mmmm" "rbit" Op::Bits(Bits::Rbit), F::Plain;
    "cccc_01101111_nnnn_dddd_yyxx_0111_mmmm" "uxtah" Op::Extend(Narrow::Half, UNSIGNED), F::Extend;
    "cccc_01101111_xxxx_dddd_xxxx_1011_mmmm" "revsh" Op::Bits(Bits::Revsh), F::Plain;
    "cccc_0110111_jjjjj_dddd_iiiii_y01_nnnn" "usat" Op::Saturate(UNSIGNED), F::Saturate;
    "cccc_01110000_dddd_1111_mmmm_00y1_nnnn" "smuad" mul(M::Smuad), F::Variant;
    "cccc_01110000_dddd_aaaa_mmmm_00y1_nnnn" "smlad" mul(M::Smlad), F::Variant;
    "cccc_01110000_dddd_1111_mmmm_01y1_nnnn" "smusd" mul(M::Smusd), F::Variant;
    "cccc_01110000_dddd_aaaa_mmmm_01y1_nnnn" "smlsd" mul(M::Smlsd), F::Variant;
    "cccc_01110001_dddd_xxxx_mmmm_0001_nnnn" "sdiv" Op::Divide(SIGNED), F::Plain;
    "cccc_01110011_dddd_xxxx_mmmm_0001_nnnn" "udiv" Op::Divide(UNSIGNED), F::Plain;
    "cccc_01110100_dddd_aaaa_mmmm_00y1_nnnn" "smlald" mul(M::Smlald), F::Variant;
    "cccc_01110100_dddd_aaaa_mmmm_01y1_nnnn" "smlsld" mul(M::Smlsld), F::Variant;
    "cccc_01110101_dddd_1111_mmmm_00y1_nnnn" "smmul" mul(M::Smmul), F::Variant;
    "cccc_01110101_dddd_aaaa_mmmm_00y1_nnnn" "smmla" mul(M::Smmla), F::Variant;
    "cccc_01110101_dddd_aaaa_mmmm_11y1_nnnn" "smmls" mul(M::Smmls), F::Variant;
    "cccc_01111000_dddd_aaaa_mmmm_0001_nnnn" "usad8" Op::Differences, F::Plain;
    "cccc_0111101_aaaaa_dddd_iiiii_101_nnnn" "sbfx" Op::Bits(Bits::Extract(SIGNED)), F::BitField;
    "cccc_0111110_aaaaa_dddd_iiiii_001_1111" "bfc" Op::Bits(Bits::Clear), F::BitFieldInsert;
    "cccc_0111110_aaaaa_dddd_iiiii_001_nnnn" "bfi" Op::Bits(Bits::Insert), F::BitFieldInsert;
    "cccc_0111111_aaaaa_dddd_iiiii_101_nnnn" "ubfx" Op::Bits(Bits::Extract(UNSIGNED)), F::BitField;
    "cccc_011_xxxxx_xxxx_xxxx_xxxx_xxx1_xxxx" "udf" Op::Undefined, F::Plain;
    // A5.5: register lists and branches. Bit S of a list is `y`.
    "cccc_100_puyw0_nnnn_rrrr_rrrr_rrrr_rrrr" "stm" STM, F::List;
    "cccc_100_puyw1_nnnn_rrrr_rrrr_rrrr_rrrr" "ldm" LDM, F::List;
    "cccc_1010_iiiiiiiiiiiiiiiiiiiiiiii" "b" Op::Branch, F::Branch24;
    "cccc_1011_iiiiiiiiiiiiiiiiiiiiiiii" "bl" Op::BranchLink, F::Branch24;
    // A5.6: coprocessors and calls.
    "cccc_11000100_aaaa_tttt_pppp_jjjj_mmmm" "mcrr" Op::WriteCoprocessorPair, F::CoprocessorPair;
    "cccc_11000101_aaaa_tttt_pppp_jjjj_mmmm" "mrrc" Op::ReadCoprocessorPair, F::CoprocessorPair;
    "cccc_1110_jjj_0_nnnn_tttt_pppp_yyy_1_mmmm" "mcr" Op::WriteCoprocessor, F::Coprocessor;
    "cccc_1110_jjj_1_nnnn_tttt_pppp_yyy_1_mmmm" "mrc" Op::ReadCoprocessor, F::Coprocessor;
    "cccc_1111_iiiiiiiiiiiiiiiiiiiiiiii" "svc" Op::Call, F::Plain;
}
