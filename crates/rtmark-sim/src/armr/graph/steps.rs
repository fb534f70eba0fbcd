//! The operations of a block, and the loop that executes them.

use super::block::Point;
use super::{LEAVE, Node, transfer};
use crate::armr::cpu::Cpu;
use crate::armr::exec::{Arch, results};
use crate::armr::isa::op::{Alu, Width};
use crate::armr::timing::{Pipeline, key, mode};
use crate::exec::shift;

/// The key of a step that ends its block with any outcome. No outcome has this key.
pub const ANY: u16 = u16::MAX;
/// Returned by a step after which the block continues.
const GO_ON: u32 = LEAVE - 1;

/// One operation of a block.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub code: Code,
    /// The destination or transferred register; or a condition.
    pub a: u8,
    /// The first operand, or the base register of an address.
    pub b: u8,
    /// The second operand, or the index register of an address.
    pub c: u8,
    /// The immediate, a constant, or the address of a branch or of its target.
    pub value: u32,
    /// The cycle of its issue, counted from the block's beginning; or the address of a branch after
    /// a comparison.
    pub issue: i32,
    /// The key of the outcome with which the block continues.
    pub key: u16,
    /// The distance of a shift.
    pub distance: u8,
}

/// Where the execution of a block ended.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The number of the step at which it ended, or the number of steps if it executed all.
    pub step: usize,
    /// The key of that step's outcome, or [`LEAVE`] if its instruction has not been executed.
    pub key: u32,
}

impl Step {
    /// Returns a step that has no issue cycle and no key yet.
    pub const fn new(code: Code, a: u8, b: u8, c: u8, value: u32) -> Self {
        Self { code, a, b, c, value, issue: 0, key: 0, distance: 0 }
    }

    /// Returns a step that sets a register to a constant.
    pub const fn constant(register: u8, value: u32) -> Self {
        Self::new(Code::Constant, register, 0, 0, value)
    }

    const fn now(self, begin: u64) -> u64 {
        begin.wrapping_add_signed(self.issue as i64)
    }

    /// Returns what a step returns whose instruction has been executed.
    #[inline(always)]
    const fn done(self, key: u32) -> u32 {
        if key == self.key as u32 { GO_ON } else { key }
    }

    #[inline(always)]
    fn quiet(self, cpu: &mut Cpu, alu: Alu, y: u32) -> u32 {
        let result = results(alu, cpu.get(self.b), y, cpu.carry(), false).0;
        cpu.set(self.a, result);
        GO_ON
    }

    #[inline(always)]
    fn setting(self, cpu: &mut Cpu, alu: Alu, (y, shifter): (u32, bool)) -> u32 {
        let results = results(alu, cpu.get(self.b), y, cpu.carry(), shifter);
        cpu.note(alu, results);
        if !alu.compares() {
            cpu.set(self.a, results.0);
        }
        GO_ON
    }

    /// Returns register `c`, shifted by the distance or by a register.
    #[inline(always)]
    fn shifted(self, cpu: &Cpu, kind: u32) -> u32 {
        let (value, distance) = (cpu.get(self.c), u32::from(self.distance));
        match kind {
            0 => value << (distance & 31),
            1 => value >> (distance & 31),
            2 => (value as i32 >> (distance & 31)) as u32,
            _ => value.rotate_right(distance),
        }
    }

    #[inline(always)]
    fn shifted_with_carry(self, cpu: &Cpu, kind: u32) -> (u32, bool) {
        shift(cpu.get(self.c), kind, self.distance.into(), cpu.carry())
    }

    #[inline(always)]
    fn by_register(self, cpu: &mut Cpu, kind: u32) -> u32 {
        let amount = cpu.get(self.b) & 0xFF;
        let value = shift(cpu.get(self.c), kind, amount, cpu.carry()).0;
        cpu.set(self.a, value);
        GO_ON
    }

    #[inline(always)]
    fn set(self, cpu: &mut Cpu, value: u32) -> u32 {
        cpu.set(self.a, value);
        GO_ON
    }

    /// Loads `N` bytes. `write` is the new value of the base register, if it changes.
    #[inline(always)]
    fn load<const N: usize, const FORM: u8>(
        self,
        arch: &mut Arch,
        pipeline: &mut Pipeline,
        (begin, mode): (u64, u32),
        extend: fn([u8; N]) -> u32,
    ) -> u32 {
        let (address, base) = self.address::<FORM>(&arch.cpu);
        let loaded = transfer::read_within(arch, pipeline, (address, mode), self.now(begin));
        let Some(bytes) = loaded else { return LEAVE };
        if FORM == BEFORE || FORM == AFTER {
            arch.cpu.set(self.b, base);
        }
        self.set(&mut arch.cpu, extend(bytes))
    }

    #[inline(always)]
    fn store<const N: usize, const FORM: u8>(
        self,
        arch: &mut Arch,
        pipeline: &mut Pipeline,
        (begin, mode): (u64, u32),
        take: fn([u8; 4]) -> [u8; N],
    ) -> u32 {
        let (address, base) = self.address::<FORM>(&arch.cpu);
        let bytes = take(arch.cpu.get(self.a).to_le_bytes());
        let now = self.now(begin);
        let stored = transfer::write_within(arch, pipeline, (address, mode), bytes, now);
        let Some(stalls) = stored else { return LEAVE };
        if FORM == BEFORE || FORM == AFTER {
            arch.cpu.set(self.b, base);
        }
        self.done(key::access(false) | key::stalled(stalls))
    }

    /// Returns the address, and the new value of the base register.
    #[inline(always)]
    fn address<const FORM: u8>(self, cpu: &Cpu) -> (u32, u32) {
        let base = cpu.get(self.b);
        match FORM {
            INDEXED => {
                let moved = base.wrapping_add(cpu.get(self.c) << (self.distance & 31));
                (moved, moved)
            }
            AFTER => (base, base.wrapping_add(self.value)),
            _ => {
                let moved = base.wrapping_add(self.value);
                (moved, moved)
            }
        }
    }

    /// Executes a conditional branch, which trains the predictor.
    #[inline(always)]
    fn branch(self, cpu: &Cpu, pipeline: &mut Pipeline, backwards: bool) -> u32 {
        let taken = cpu.holds(self.a);
        let prediction = key::prediction(pipeline.foresee_fully(self.value, backwards, taken));
        self.done(prediction | if taken { key::JUMPS } else { key::SKIPPED })
    }

    /// Executes a comparison and a conditional branch. The branch's address is in place of the cycle
    /// of issue, and `a` is 1 if it branches backwards.
    #[inline(always)]
    fn compare(
        self,
        cpu: &mut Cpu,
        pipeline: &mut Pipeline,
        y: u32,
        test: fn(u32, u32) -> bool,
    ) -> u32 {
        let x = cpu.get(self.b);
        cpu.note(Alu::Cmp, results(Alu::Cmp, x, y, cpu.carry(), false));
        let taken = test(x, y);
        let pc = self.issue.cast_unsigned();
        let prediction = key::prediction(pipeline.foresee_fully(pc, self.a == 1, taken));
        self.done(prediction | if taken { key::JUMPS } else { key::SKIPPED })
    }

    #[inline(always)]
    fn compare_and_branch(self, cpu: &Cpu, pipeline: &mut Pipeline) -> u32 {
        let taken = (cpu.get(self.b) == 0) == (self.a == 0);
        let prediction = key::prediction(pipeline.foresee_fully(self.value, false, taken));
        self.done(prediction | if taken { key::JUMPS } else { 0 })
    }

    #[inline(always)]
    fn call(self, arch: &mut Arch, pipeline: &mut Pipeline) -> u32 {
        arch.cpu.set(14, self.value);
        pipeline.predictor.push(self.value & !1);
        GO_ON
    }

    #[inline(always)]
    const fn return_there(self, cpu: &Cpu, pipeline: &mut Pipeline) -> u32 {
        let predictor = &mut pipeline.predictor;
        if cpu.get(self.b) != self.value || predictor.top() & !1 != self.value & !1 {
            return LEAVE;
        }
        predictor.pop();
        GO_ON
    }

    /// Executes the function of a node. If it branches to an address that it does not encode, the
    /// block continues only if that is the expected one.
    #[inline(always)]
    fn node(
        self,
        node: Option<&Node>,
        arch: &mut Arch,
        pipeline: &mut Pipeline,
        begin: u64,
    ) -> u32 {
        let Some(node) = node else { return LEAVE };
        let key = (node.run)(arch, pipeline, node, self.now(begin));
        let is_there = self.code == Code::Node
            || arch.cpu.pc == self.value && arch.cpu.is_thumb() == (self.a == 1);
        if is_there { self.done(key) } else { key }
    }
}

/// The forms of addresses.
pub const OFFSET: u8 = 0;
pub const BEFORE: u8 = 1;
pub const AFTER: u8 = 2;
pub const INDEXED: u8 = 3;

macro_rules! codes {
    (
        data { $($alu:ident: $imm:ident $reg:ident $lsl:ident $lsr:ident $asr:ident $ror:ident $imms:ident $regs:ident;)* }
        compare { $($compare:ident: $with:ident $and:ident;)* }
        branches { $($with_imm:ident $with_reg:ident $condition:literal $test:expr;)* }
        moves { $($moved:ident $by:ident $kind:literal;)* }
        loads { $($width:ident: $loads:ident $lbefore:ident $lafter:ident $lindexed:ident $extend:expr;)* }
        stores { $($bytes:literal: $stores:ident $sbefore:ident $safter:ident $sindexed:ident $take:expr;)* }
    ) => {
        /// The operation of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Code {
            $($imm, $reg, $lsl, $lsr, $asr, $ror, $imms, $regs,)*
            $($with, $and,)*
            $($with_imm, $with_reg,)*
            $($moved, $by,)*
            $($loads, $lbefore, $lafter, $lindexed,)*
            $($stores, $sbefore, $safter, $sindexed,)*
            LoadLiteral,
            Constant,
            /// Has no effect.
            Nothing,
            Multiply,
            MultiplyAdd,
            MultiplyLong,
            ByteUnsigned,
            ByteSigned,
            HalfUnsigned,
            HalfSigned,
            Extract,
            LeadingZeros,
            SwapBytes,
            Top,
            /// Executes the next step only if the condition holds.
            Guard,
            /// Continues only if the condition holds.
            Expect,
            BranchForward,
            BranchBackward,
            CompareBranch,
            Call,
            /// Continues only if it returns to the expected and predicted address.
            Return,
            /// Executes the function of its node.
            Node,
            /// The same, and continues only at an expected address.
            NodeTo,
        }

        impl Code {
            /// Returns the code of an operation on registers, with a second operand of a kind: 0
            /// to 3 as shifts, 4 an immediate, 5 a register.
            pub const fn data(alu: Alu, kind: u8, sets: bool) -> Option<Self> {
                Some(match (alu, kind, sets) {
                    $(
                        (Alu::$alu, 4, false) => Self::$imm,
                        (Alu::$alu, 5, false) => Self::$reg,
                        (Alu::$alu, 0, false) => Self::$lsl,
                        (Alu::$alu, 1, false) => Self::$lsr,
                        (Alu::$alu, 2, false) => Self::$asr,
                        (Alu::$alu, 3, false) => Self::$ror,
                        (Alu::$alu, 4, true) => Self::$imms,
                        (Alu::$alu, 5, true) => Self::$regs,
                    )*
                    $(
                        (Alu::$compare, 4, _) => Self::$with,
                        (Alu::$compare, 5, _) => Self::$and,
                    )*
                    $((Alu::Mov, $kind, true) => Self::$moved,)*
                    _ => return None,
                })
            }

            /// Returns the code of a move of a register shifted by another.
            pub const fn moved_by(kind: u8) -> Option<Self> {
                Some(match kind {
                    $($kind => Self::$by,)*
                    _ => return None,
                })
            }

            /// Returns the code of a comparison and a branch that depends on it, if it has one.
            pub const fn compare_and_branch(compare: Self, condition: u8) -> Option<Self> {
                Some(match (compare, condition) {
                    $(
                        (Self::Cmp, $condition) => Self::$with_imm,
                        (Self::CmpReg, $condition) => Self::$with_reg,
                    )*
                    _ => return None,
                })
            }

            /// Returns whether it compares and branches. It sets all flags, and its block may end
            /// only after that.
            pub const fn compares_and_branches(self) -> bool {
                matches!(self, $(Self::$with_imm | Self::$with_reg)|*)
            }

            /// Returns the code with the same effect except on the flags, and the flags that it
            /// sets.
            pub const fn without_flags(self) -> Option<(Self, u8)> {
                Some(match self {
                    $(
                        Self::$imms => (Self::$imm, flags_of(Alu::$alu)),
                        Self::$regs => (Self::$reg, flags_of(Alu::$alu)),
                    )*
                    $(Self::$with | Self::$and => (Self::Nothing, flags_of(Alu::$compare)),)*
                    $(
                        // By a distance other than 0, which also sets the carry.
                        Self::$moved => match Self::data(Alu::Mov, $kind, false) {
                            Some(code) => (code, NEGATIVE_ZERO | CARRY),
                            None => return None,
                        },
                    )*
                    _ => return None,
                })
            }

            /// Returns the flags that it reads, or all if the block may end at it.
            pub const fn reads_flags(self) -> u8 {
                match self {
                    $(
                        Self::$imm | Self::$reg | Self::$lsl | Self::$lsr | Self::$asr | Self::$ror
                        | Self::$imms | Self::$regs => match Alu::$alu {
                            Alu::Adc | Alu::Sbc | Alu::Rsc => CARRY,
                            _ => 0,
                        },
                    )*
                    $(Self::$with | Self::$and => 0,)*
                    $(Self::$moved | Self::$by => 0,)*
                    Self::Constant | Self::Nothing | Self::Multiply | Self::MultiplyAdd
                    | Self::MultiplyLong | Self::ByteUnsigned | Self::ByteSigned
                    | Self::HalfUnsigned | Self::HalfSigned | Self::Extract | Self::LeadingZeros
                    | Self::SwapBytes | Self::Top | Self::Call => 0,
                    _ => ALL_FLAGS,
                }
            }

            pub const fn load(width: Width, form: u8) -> Self {
                match (width, form) {
                    $(
                        (Width::$width, BEFORE) => Self::$lbefore,
                        (Width::$width, AFTER) => Self::$lafter,
                        (Width::$width, INDEXED) => Self::$lindexed,
                        (Width::$width, _) => Self::$loads,
                    )*
                }
            }

            pub const fn store(bytes: u32, form: u8) -> Self {
                match (bytes, form) {
                    $(
                        ($bytes, BEFORE) => Self::$sbefore,
                        ($bytes, AFTER) => Self::$safter,
                        ($bytes, INDEXED) => Self::$sindexed,
                        ($bytes, _) => Self::$stores,
                    )*
                    _ => Self::Node,
                }
            }
        }

        /// Executes a block's steps from a cycle on. `points` are those of the steps.
        #[inline(never)]
        #[expect(clippy::too_many_lines, reason = "one arm for each code")]
        pub fn run(
            steps: &[Step],
            points: &[Point],
            nodes: &[Node],
            arch: &mut Arch,
            pipeline: &mut Pipeline,
            begin: u64,
        ) -> Exit {
            let mode = mode(arch.cpu.is_privileged());
            let mut left = steps.iter();
            while let Some(step) = left.next() {
                let cpu = &mut arch.cpu;
                let key = match step.code {
                    $(
                        Code::$imm => step.quiet(cpu, const { Alu::$alu }, step.value),
                        Code::$reg => step.quiet(cpu, const { Alu::$alu }, cpu.get(step.c)),
                        Code::$lsl => step.quiet(cpu, const { Alu::$alu }, step.shifted(cpu, 0)),
                        Code::$lsr => step.quiet(cpu, const { Alu::$alu }, step.shifted(cpu, 1)),
                        Code::$asr => step.quiet(cpu, const { Alu::$alu }, step.shifted(cpu, 2)),
                        Code::$ror => step.quiet(cpu, const { Alu::$alu }, step.shifted(cpu, 3)),
                        Code::$imms => {
                            step.setting(cpu, const { Alu::$alu }, (step.value, cpu.carry()))
                        }
                        Code::$regs => {
                            step.setting(cpu, const { Alu::$alu }, (cpu.get(step.c), cpu.carry()))
                        }
                    )*
                    $(
                        Code::$with => {
                            step.setting(cpu, const { Alu::$compare }, (step.value, cpu.carry()))
                        }
                        Code::$and => {
                            let second = (cpu.get(step.c), cpu.carry());
                            step.setting(cpu, const { Alu::$compare }, second)
                        }
                    )*
                    $(
                        Code::$with_imm => step.compare(cpu, pipeline, step.value, $test),
                        Code::$with_reg => {
                            step.compare(cpu, pipeline, cpu.get(step.c), $test)
                        }
                    )*
                    $(
                        Code::$moved => {
                            let second = step.shifted_with_carry(cpu, $kind);
                            step.setting(cpu, const { Alu::Mov }, second)
                        }
                        Code::$by => step.by_register(cpu, $kind),
                    )*
                    $(
                        Code::$loads => step.load::<_, OFFSET>(arch, pipeline, (begin, mode), $extend),
                        Code::$lbefore => step.load::<_, BEFORE>(arch, pipeline, (begin, mode), $extend),
                        Code::$lafter => step.load::<_, AFTER>(arch, pipeline, (begin, mode), $extend),
                        Code::$lindexed => step.load::<_, INDEXED>(arch, pipeline, (begin, mode), $extend),
                    )*
                    $(
                        Code::$stores => step.store::<_, OFFSET>(arch, pipeline, (begin, mode), $take),
                        Code::$sbefore => step.store::<_, BEFORE>(arch, pipeline, (begin, mode), $take),
                        Code::$safter => step.store::<_, AFTER>(arch, pipeline, (begin, mode), $take),
                        Code::$sindexed => step.store::<_, INDEXED>(arch, pipeline, (begin, mode), $take),
                    )*
                    Code::LoadLiteral => {
                        let at = (step.value, mode);
                        match transfer::read_within(arch, pipeline, at, step.now(begin)) {
                            Some(word) => step.set(&mut arch.cpu, u32::from_le_bytes(word)),
                            None => LEAVE,
                        }
                    }
                    Code::Constant => step.set(cpu, step.value),
                    Code::Nothing => GO_ON,
                    Code::Multiply => {
                        let product = cpu.get(step.b).wrapping_mul(cpu.get(step.c));
                        step.set(cpu, product)
                    }
                    Code::MultiplyAdd => {
                        let product = cpu.get(step.b).wrapping_mul(cpu.get(step.c));
                        step.set(cpu, product.wrapping_add(cpu.get(step.distance)))
                    }
                    Code::MultiplyLong => {
                        let (n, m) = (cpu.get(step.b), cpu.get(step.c));
                        let product = u64::from(n) * u64::from(m);
                        cpu.set(step.distance, product as u32);
                        step.set(cpu, (product >> 32) as u32)
                    }
                    Code::ByteUnsigned => step.set(cpu, cpu.get(step.c) & 0xFF),
                    Code::ByteSigned => step.set(cpu, cpu.get(step.c) as i8 as u32),
                    Code::HalfUnsigned => step.set(cpu, cpu.get(step.c) & 0xFFFF),
                    Code::HalfSigned => step.set(cpu, cpu.get(step.c) as i16 as u32),
                    Code::Extract => {
                        let field = cpu.get(step.b) >> (step.distance & 31) & step.value;
                        step.set(cpu, field)
                    }
                    Code::LeadingZeros => step.set(cpu, cpu.get(step.c).leading_zeros()),
                    Code::SwapBytes => step.set(cpu, cpu.get(step.c).swap_bytes()),
                    Code::Top => step.set(cpu, cpu.get(step.a) & 0xFFFF | step.value),
                    Code::Guard => {
                        if !cpu.holds(step.a) {
                            let _skipped = left.next();
                        }
                        GO_ON
                    }
                    Code::Expect => if cpu.holds(step.a) { GO_ON } else { LEAVE },
                    Code::BranchForward => step.branch(cpu, pipeline, false),
                    Code::BranchBackward => step.branch(cpu, pipeline, true),
                    Code::CompareBranch => step.compare_and_branch(cpu, pipeline),
                    Code::Call => step.call(arch, pipeline),
                    Code::Return => step.return_there(cpu, pipeline),
                    Code::Node | Code::NodeTo => {
                        let at = steps.len() - left.len() - 1;
                        let node = points.get(at).and_then(|at| nodes.get(at.node as usize));
                        step.node(node, arch, pipeline, begin)
                    }
                };
                if key != GO_ON {
                    return Exit { step: steps.len() - left.len() - 1, key };
                }
            }
            Exit { step: steps.len(), key: LEAVE }
        }
    };
}

const NEGATIVE_ZERO: u8 = 1;
const CARRY: u8 = 2;
pub const ALL_FLAGS: u8 = 7;

/// Returns the flags that an operation sets with an immediate or a plain register.
const fn flags_of(alu: Alu) -> u8 {
    if alu.adds() { ALL_FLAGS } else { NEGATIVE_ZERO }
}

codes! {
    data {
        And: And AndReg AndLsl AndLsr AndAsr AndRor AndSets AndRegSets;
        Eor: Eor EorReg EorLsl EorLsr EorAsr EorRor EorSets EorRegSets;
        Sub: Sub SubReg SubLsl SubLsr SubAsr SubRor SubSets SubRegSets;
        Rsb: Rsb RsbReg RsbLsl RsbLsr RsbAsr RsbRor RsbSets RsbRegSets;
        Add: Add AddReg AddLsl AddLsr AddAsr AddRor AddSets AddRegSets;
        Adc: Adc AdcReg AdcLsl AdcLsr AdcAsr AdcRor AdcSets AdcRegSets;
        Sbc: Sbc SbcReg SbcLsl SbcLsr SbcAsr SbcRor SbcSets SbcRegSets;
        Rsc: Rsc RscReg RscLsl RscLsr RscAsr RscRor RscSets RscRegSets;
        Orr: Orr OrrReg OrrLsl OrrLsr OrrAsr OrrRor OrrSets OrrRegSets;
        Mov: Mov MovReg MovLsl MovLsr MovAsr MovRor MovSets MovRegSets;
        Bic: Bic BicReg BicLsl BicLsr BicAsr BicRor BicSets BicRegSets;
        Mvn: Mvn MvnReg MvnLsl MvnLsr MvnAsr MvnRor MvnSets MvnRegSets;
        Orn: Orn OrnReg OrnLsl OrnLsr OrnAsr OrnRor OrnSets OrnRegSets;
    }
    compare {
        Tst: Tst TstReg;
        Teq: Teq TeqReg;
        Cmp: Cmp CmpReg;
        Cmn: Cmn CmnReg;
    }
    branches {
        IfEqual IfEqualReg 0 |x, y| x == y;
        IfNotEqual IfNotEqualReg 1 |x, y| x != y;
        IfHigherSame IfHigherSameReg 2 |x, y| x >= y;
        IfLower IfLowerReg 3 |x, y| x < y;
        IfHigher IfHigherReg 8 |x, y| x > y;
        IfLowerSame IfLowerSameReg 9 |x, y| x <= y;
        IfGreaterEqual IfGreaterEqualReg 10 |x, y| x as i32 >= y as i32;
        IfLess IfLessReg 11 |x, y| (x as i32) < y as i32;
        IfGreater IfGreaterReg 12 |x, y| x as i32 > y as i32;
        IfLessEqual IfLessEqualReg 13 |x, y| x as i32 <= y as i32;
    }
    moves {
        LslSets LslBy 0;
        LsrSets LsrBy 1;
        AsrSets AsrBy 2;
        RorSets RorBy 3;
    }
    loads {
        Byte: LoadByte LoadByteBefore LoadByteAfter LoadByteIndexed |[byte]: [u8; 1]| byte.into();
        SignedByte: LoadSignedByte LoadSignedByteBefore LoadSignedByteAfter LoadSignedByteIndexed
            |[byte]: [u8; 1]| byte as i8 as u32;
        Half: LoadHalf LoadHalfBefore LoadHalfAfter LoadHalfIndexed
            |half| u16::from_le_bytes(half).into();
        SignedHalf: LoadSignedHalf LoadSignedHalfBefore LoadSignedHalfAfter LoadSignedHalfIndexed
            |half| i16::from_le_bytes(half) as u32;
        Word: LoadWord LoadWordBefore LoadWordAfter LoadWordIndexed u32::from_le_bytes;
    }
    stores {
        1: StoreByte StoreByteBefore StoreByteAfter StoreByteIndexed |[a, ..]| [a];
        2: StoreHalf StoreHalfBefore StoreHalfAfter StoreHalfIndexed |[a, b, ..]| [a, b];
        4: StoreWord StoreWordBefore StoreWordAfter StoreWordIndexed |word| word;
    }
}
