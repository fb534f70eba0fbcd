//! The operations to which instructions decode.
//!
//! A single list names every operation once; the decoder's table, the list of what operations do
//! (`exec::operations`) and the timing rules all refer to it. Encodings with the same meaning share an operation: `ADDS R0, R0, #1` is
//! [`Op::AddsI`] both in 16 bits and in 32 bits.

macro_rules! operations {
    ($($(#[$group_doc:meta])* $group:ident { $($name:ident,)* })*) => {
        /// What an instruction does. Suffixes: `s` sets the flags, `I` takes an immediate operand, `R` a
        /// register, `X` a register shifted by an immediate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Op {
            $($($name,)*)*
        }

        /// Kinds of operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Group {
            $($(#[$group_doc])* $group,)*
        }

        impl Op {
            /// Every operation, in the order of their numbers.
            pub const ALL: &[Self] = &[$($(Self::$name,)*)*];

            /// Returns its name in this list, from which the disassembler derives mnemonics.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$name => stringify!($name),)*)*
                }
            }

            /// Returns the kind of operation.
            pub const fn group(self) -> Group {
                match self {
                    $($(Self::$name)|* => Group::$group,)*
                }
            }
        }
    };
}

operations! {
    /// `Watch` and `Stop` are not instructions: their slots replace that of an address that is watched or
    /// where the run is to stop. `Undefined` faults.
    Special { Watch, Stop, Undefined, }
    /// An instruction that writes the stack pointer on a core with stack limits (see
    /// [`Slot::guarded`](super::Slot::guarded)).
    Guard { Guarded, }
    /// The second operand is an immediate. `aux` = 1: the carry flag becomes bit 31 of `imm`.
    Immediate {
        AndI, AndsI, OrrI, OrrsI, EorI, EorsI, BicI, BicsI, OrnI, OrnsI,
        MovI, MovsI, MvnI, MvnsI, AddI, AddsI, SubI, SubsI, AdcI, AdcsI,
        SbcI, SbcsI, RsbI, RsbsI, TstI, TeqI, CmpI, CmnI,
    }
    /// The second operand is a register.
    Register {
        AndR, AndsR, OrrR, OrrsR, EorR, EorsR, BicR, BicsR, OrnR, OrnsR,
        MovR, MovsR, MvnR, MvnsR, AddR, AddsR, SubR, SubsR, AdcR, AdcsR,
        SbcR, SbcsR, RsbR, RsbsR, TstR, TeqR, CmpR, CmnR,
    }
    /// The second operand is a register shifted by an immediate: `aux` = type << 8 | amount.
    Shifted {
        AndX, AndsX, OrrX, OrrsX, EorX, EorsX, BicX, BicsX, OrnX, OrnsX,
        MovX, MovsX, MvnX, MvnsX, AddX, AddsX, SubX, SubsX, AdcX, AdcsX,
        SbcX, SbcsX, RsbX, RsbsX, TstX, TeqX, CmpX, CmnX,
    }
    /// Shifts by a register.
    Shift { LslR, LslsR, LsrR, LsrsR, AsrR, AsrsR, RorR, RorsR, }
    /// Bit fields, extensions (the register is first rotated right by `imm`), saturation.
    Bits {
        Movt, Bfi, Bfc, Sbfx, Ubfx, Clz, Rbit, Rev, Rev16, Revsh,
        Sxtb, Sxth, Uxtb, Uxth, Sxtab, Sxtah, Uxtab, Uxtah, Ssat, Usat,
    }
    Multiply { Mul, Muls, Mla, Mls, Umull, Smull, Umlal, Smlal, }
    Divide { Udiv, Sdiv, }

    /// `I` base plus immediate, `R` base plus shifted register, `Pre` and `Post` with write-back, `Lit`
    /// from the absolute address in `imm`; a final `t` marks an unprivileged access.
    Load {
        LdrI, LdrbI, LdrhI, LdrsbI, LdrshI, LdrR, LdrbR, LdrhR, LdrsbR, LdrshR,
        LdrPre, LdrbPre, LdrhPre, LdrsbPre, LdrshPre,
        LdrPost, LdrbPost, LdrhPost, LdrsbPost, LdrshPost,
        LdrLit, LdrbLit, LdrhLit, LdrsbLit, LdrshLit,
        Ldrt, Ldrbt, Ldrht, Ldrsbt, Ldrsht,
    }
    StoreImmediate { StrI, StrbI, StrhI, Strt, Strbt, Strht, }
    Store {
        StrR, StrbR, StrhR, StrPre, StrbPre, StrhPre, StrPost, StrbPost, StrhPost,
    }
    /// Loads of the program counter.
    LoadPc { LdrPcI, LdrPcR, LdrPcPre, LdrPcPost, LdrPcLit, }
    /// Pairs: `aux` = 0 offset, 1 pre-indexed, 2 post-indexed.
    Dual { Ldrd, Strd, LdrdLit, }
    /// Load-acquire and store-release; `aux` = bytes.
    Ordered { Lda, Stl, }
    Exclusive { Ldrex, Ldrexb, Ldrexh, Strex, Strexb, Strexh, Clrex, }
    /// `imm` = register mask, `n` = base, `aux` = 1 with write-back.
    List { Ldm, Ldmdb, Stm, Stmdb, Push, Pop, }

    /// `imm` = absolute target.
    Branch {
        B, Beq, Bne, Bcs, Bcc, Bmi, Bpl, Bvs, Bvc, Bhi, Bls, Bge, Blt, Bgt, Ble, Cbz, Cbnz,
    }
    Call { Bl, }
    /// The target is in a register.
    BranchRegister { Bx, BlxR, MovPc, AddPc, }
    /// The target is in a table of byte or halfword offsets.
    BranchTable { Tbb, Tbh, }

    Hint { Nop, Yield, Sev, Pld, It, }
    Wait { Wfe, Wfi, }
    Barrier { Dmb, Dsb, Isb, }
    /// `imm` = the special register, `aux` = which parts of it.
    SpecialRegister { Mrs, Msr, }
    ChangeState { Cps, }
    /// The Security Extension in Secure state. `Tt`: `aux` = 1 unprivileged, 2 Non-secure state.
    Security { Sg, Tt, Bxns, Blxns, }
    /// An instruction of a coprocessor that the chip adds to the core; `imm` = its bits.
    Coprocessor { OfCoprocessor, }
    /// Instructions that raise an exception.
    Raise { Svc, Bkpt, Udf, }

    /// `aux` = variant within the operation (see `exec::dsp`).
    Dsp {
        Parallel, Sel, Usad8, Usada8, Pkhbt, Pkhtb, Qadd, Qsub, Qdadd, Qdsub,
        Sxtb16, Uxtb16, Sxtab16, Uxtab16, Ssat16, Usat16,
        Smulxy, Smulwy, Smlaxy, Smlawy, Smlalxy, Smuad, Smusd, Smlad, Smlsd, Smlald, Smlsld,
        Smmul, Smmla, Smmls, Umaal,
    }

    /// Single precision: register numbers 0 to 31. Conversions: `aux` = variant (see `exec::float`).
    Float {
        Vadd, Vsub, Vmul, Vnmul, Vabs, Vneg, VmovR, VmovI, Vcmp, Vcmpe, VcmpZ, VcmpeZ,
        VcvtFromInt, VcvtToInt, VcvtFixed, VcvtHalf,
        Vsel, Vmaxnm, Vminnm, Vrint, VcvtDirected,
    }
    FloatMultiplyAdd { Vmla, Vmls, Vnmla, Vnmls, Vfma, Vfms, Vfnma, Vfnms, }
    FloatDivide { Vdiv, Vsqrt, }
    /// Double precision: like the single-precision counterpart, with pairs of S registers for D0 to D15; a
    /// pair has the number of its first register.
    Double {
        VaddD, VsubD, VmulD, VnmulD, VabsD, VnegD, VmovRD, VmovID, VcmpD, VcmpeD, VcmpZD, VcmpeZD,
        VcvtFromIntD, VcvtToIntD, VcvtFixedD, VcvtHalfD, VcvtToDouble, VcvtFromDouble,
        VselD, VmaxnmD, VminnmD, VrintD, VcvtDirectedD,
    }
    DoubleMultiplyAdd { VmlaD, VmlsD, VnmlaD, VnmlsD, VfmaD, VfmsD, VfnmaD, VfnmsD, }
    DoubleDivide { VdivD, VsqrtD, }
    FloatTransfer {
        VmovToCore, VmovFromCore, VmovPairToCore, VmovPairFromCore, Vmrs, Vmsr,
    }
    /// `n` = base, `imm` = signed offset (for a literal, the absolute address), low byte of `aux` = number
    /// of words.
    FloatMemory { Vldr, Vstr, VldrLit, Vldm, Vstm, }
    /// Saves and restores the floating-point state that a call of Non-secure code would change.
    FloatState { Vlstm, Vlldm, }
}

impl Op {
    /// Returns whether it only calculates with registers, and therefore always completes.
    pub fn only_calculates(self) -> bool {
        match self.group() {
            Group::Immediate | Group::Register | Group::Shifted | Group::Shift => true,
            Group::Bits => true,
            Group::Multiply => matches!(self, Self::Mul | Self::Muls | Self::Mla | Self::Mls),
            _ => false,
        }
    }

    /// Returns the single-precision counterpart of a double-precision operation; conversions between the
    /// two precisions have none.
    #[must_use]
    pub const fn in_single(self) -> Self {
        macro_rules! variants {
            ($($double:ident $single:ident)*) => {
                match self {
                    $(Self::$double => Self::$single,)*
                    other => other,
                }
            };
        }
        variants! {
            VaddD Vadd VsubD Vsub VmulD Vmul VnmulD Vnmul VabsD Vabs VnegD Vneg VmovRD VmovR
            VmovID VmovI VcmpD Vcmp VcmpeD Vcmpe VcmpZD VcmpZ VcmpeZD VcmpeZ
            VcvtFromIntD VcvtFromInt VcvtToIntD VcvtToInt VcvtFixedD VcvtFixed VcvtHalfD VcvtHalf
            VselD Vsel VmaxnmD Vmaxnm VminnmD Vminnm VrintD Vrint VcvtDirectedD VcvtDirected
            VmlaD Vmla VmlsD Vmls VnmlaD Vnmla VnmlsD Vnmls
            VfmaD Vfma VfmsD Vfms VfnmaD Vfnma VfnmsD Vfnms
            VdivD Vdiv VsqrtD Vsqrt
        }
    }

    /// Returns whether the operation works on double-precision numbers.
    pub const fn is_double(self) -> bool {
        matches!(self.group(), Group::Double | Group::DoubleMultiplyAdd | Group::DoubleDivide)
    }

    /// Returns whether a single load or store writes its base back.
    pub const fn moves_base(self) -> bool {
        matches!(
            self,
            Self::LdrPre
                | Self::LdrbPre
                | Self::LdrhPre
                | Self::LdrsbPre
                | Self::LdrshPre
                | Self::LdrPost
                | Self::LdrbPost
                | Self::LdrhPost
                | Self::LdrsbPost
                | Self::LdrshPost
                | Self::StrPre
                | Self::StrbPre
                | Self::StrhPre
                | Self::StrPost
                | Self::StrbPost
                | Self::StrhPost
        )
    }

    /// Returns whether the instruction loads from the address in `imm`.
    pub const fn is_literal(self) -> bool {
        matches!(
            self,
            Self::LdrLit
                | Self::LdrbLit
                | Self::LdrhLit
                | Self::LdrsbLit
                | Self::LdrshLit
                | Self::LdrPcLit
                | Self::LdrdLit
                | Self::VldrLit
        )
    }

    /// Returns whether the operation sets condition flags by its result (its 16-bit form perhaps only
    /// outside IT blocks). [`Slot::writes_flags`](super::Slot::writes_flags) covers everything that may
    /// change them.
    pub const fn sets_flags(self) -> bool {
        matches!(
            self,
            Self::AndsI
                | Self::OrrsI
                | Self::EorsI
                | Self::BicsI
                | Self::OrnsI
                | Self::MovsI
                | Self::MvnsI
                | Self::AddsI
                | Self::SubsI
                | Self::AdcsI
                | Self::SbcsI
                | Self::RsbsI
                | Self::TstI
                | Self::TeqI
                | Self::CmpI
                | Self::CmnI
                | Self::AndsR
                | Self::OrrsR
                | Self::EorsR
                | Self::BicsR
                | Self::OrnsR
                | Self::MovsR
                | Self::MvnsR
                | Self::AddsR
                | Self::SubsR
                | Self::AdcsR
                | Self::SbcsR
                | Self::RsbsR
                | Self::TstR
                | Self::TeqR
                | Self::CmpR
                | Self::CmnR
                | Self::AndsX
                | Self::OrrsX
                | Self::EorsX
                | Self::BicsX
                | Self::OrnsX
                | Self::MovsX
                | Self::MvnsX
                | Self::AddsX
                | Self::SubsX
                | Self::AdcsX
                | Self::SbcsX
                | Self::RsbsX
                | Self::TstX
                | Self::TeqX
                | Self::CmpX
                | Self::CmnX
                | Self::LslsR
                | Self::LsrsR
                | Self::AsrsR
                | Self::RorsR
                | Self::Muls
        )
    }
}
