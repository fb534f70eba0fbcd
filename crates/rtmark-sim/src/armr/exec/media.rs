//! Parallel and saturating operations (DDI 0406, A4.4.3 and A4.4.5).

use super::Arch;
use crate::armr::cpu::psr;
use crate::armr::isa::op::{Fit, Instruction, Parallel, Sign};
use crate::exec::{saturate_signed, saturate_unsigned, shift};

/// One lane of a parallel sum: its bit position, that of the second operand, and whether it
/// subtracts.
type Lane = (u32, u32, bool);

const BYTES: [u32; 4] = [0, 8, 16, 24];

const fn halves(parallel: Parallel) -> [Lane; 2] {
    match parallel {
        Parallel::Asx => [(0, 16, true), (16, 0, false)],
        Parallel::Sax => [(0, 16, false), (16, 0, true)],
        Parallel::Sub16 => [(0, 0, true), (16, 16, true)],
        _ => [(0, 0, false), (16, 16, false)],
    }
}

/// Extracts a lane of a word as a number.
const fn lane(value: u32, at: u32, width: u32, sign: Sign) -> i64 {
    let bits = value >> at & (u32::MAX >> (32 - width));
    match sign {
        Sign::Unsigned => bits as i64,
        Sign::Signed => ((bits << (32 - width)) as i32 >> (32 - width)) as i64,
    }
}

impl Arch {
    fn set_saturated(&mut self, d: u8, (value, saturated): (u32, bool)) {
        self.cpu.set(d, value);
        if saturated {
            self.cpu.set_bit(psr::Q, true);
        }
    }

    pub(super) fn parallel(&mut self, it: &Instruction, which: Parallel, fit: Fit, sign: Sign) {
        let (n, m) = (self.cpu.get(it.n), self.cpu.get(it.m));
        let bytes = matches!(which, Parallel::Add8 | Parallel::Sub8);
        let subtracts = which == Parallel::Sub8;
        let byte_lanes = BYTES.map(|at| (at, at, subtracts));
        let half_lanes = halves(which);
        let (lanes, width): (&[Lane], u32) =
            if bytes { (&byte_lanes, 8) } else { (&half_lanes, 16) };
        let (mut result, mut ge) = (0, 0);
        for &(at, other, subtracts) in lanes {
            let (x, y) = (lane(n, at, width, sign), lane(m, other, width, sign));
            let sum = if subtracts { x - y } else { x + y };
            let value = match (fit, sign) {
                (Fit::Plain, _) => sum as u32,
                (Fit::Saturating, Sign::Signed) => saturate_signed(sum, width).0,
                (Fit::Saturating, Sign::Unsigned) => saturate_unsigned(sum, width).0,
                (Fit::Halving, _) => (sum >> 1) as u32,
            };
            result |= (value & (u32::MAX >> (32 - width))) << at;
            let carries = sign == Sign::Unsigned && !subtracts;
            let flag = if carries { sum >> width != 0 } else { sum >= 0 };
            let bits = if bytes { 1 } else { 3 };
            ge |= if flag { bits << (at / 8) } else { 0 };
        }
        self.cpu.set(it.d, result);
        if fit == Fit::Plain {
            self.cpu.set_ge(ge);
        }
    }

    pub(super) fn saturating(&mut self, it: &Instruction, number: u8) {
        let (n, m) = (self.cpu.get(it.n), self.cpu.get(it.m));
        let mut y = i64::from(n as i32);
        if number & 2 != 0 {
            let (doubled, saturated) = saturate_signed(2 * y, 32);
            if saturated {
                self.cpu.set_bit(psr::Q, true);
            }
            y = i64::from(doubled as i32);
        }
        let x = i64::from(m as i32);
        let exact = if number & 1 == 0 { x + y } else { x - y };
        self.set_saturated(it.d, saturate_signed(exact, 32));
    }

    pub(super) fn saturate(&mut self, it: &Instruction, sign: Sign) {
        let (kind, amount) = (it.shift.kind.into(), it.shift.amount.into());
        let value = i64::from(shift(self.cpu.get(it.n), kind, amount, false).0 as i32);
        self.set_saturated(
            it.d,
            match sign {
                Sign::Signed => saturate_signed(value, it.imm),
                Sign::Unsigned => saturate_unsigned(value, it.imm),
            },
        );
    }

    pub(super) fn saturate_halves(&mut self, it: &Instruction, sign: Sign) {
        let n = self.cpu.get(it.n);
        let fit = |at: u32| {
            let value = lane(n, at, 16, Sign::Signed);
            match sign {
                Sign::Signed => saturate_signed(value, it.imm),
                Sign::Unsigned => saturate_unsigned(value, it.imm),
            }
        };
        let ((low, low_saturated), (high, high_saturated)) = (fit(0), fit(16));
        self.set_saturated(it.d, (low & 0xFFFF | high << 16, low_saturated || high_saturated));
    }

    pub(super) fn select(&mut self, it: &Instruction) {
        let lanes = BYTES.iter().filter(|at| self.cpu.ge() >> (*at / 8) & 1 == 1);
        let mask = lanes.fold(0, |mask, at| mask | 0xFF << at);
        self.cpu.set(it.d, self.cpu.get(it.n) & mask | self.cpu.get(it.m) & !mask);
    }

    pub(super) fn pack(&mut self, it: &Instruction) {
        let (kind, amount) = (it.shift.kind.into(), it.shift.amount.into());
        let (operand, _) = shift(self.cpu.get(it.m), kind, amount, false);
        let n = self.cpu.get(it.n);
        let bottom_first = it.aux == 0;
        self.cpu.set(
            it.d,
            if bottom_first {
                operand & 0xFFFF_0000 | n & 0xFFFF
            } else {
                n & 0xFFFF_0000 | operand & 0xFFFF
            },
        );
    }

    pub(super) fn differences(&mut self, it: &Instruction) {
        let (n, m) = (self.cpu.get(it.n), self.cpu.get(it.m));
        let start = if it.a == 15 { 0 } else { self.cpu.get(it.a) };
        let pairs = n.to_le_bytes().into_iter().zip(m.to_le_bytes());
        let sum = pairs.fold(start, |sum, (x, y)| sum.wrapping_add(x.abs_diff(y).into()));
        self.cpu.set(it.d, sum);
    }
}
