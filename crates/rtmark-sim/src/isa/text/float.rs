//! Floating-point instructions as text.

use super::{Form, Op, Text, half, register};
use crate::isa::decode::Precision;

impl Text<'_> {
    pub(super) fn float(&self, op: Op, name: String) -> (String, String) {
        let s = &self.slot;
        let aux = s.aux;
        let register = |number: u8, precision: Precision| match precision {
            Precision::Single => format!("s{number}"),
            Precision::Double => format!("d{}", number / 2),
        };
        let (result, operand) = Precision::of(s);
        let (d, n, m) = (register(s.d, result), register(s.n, operand), register(s.m, operand));
        let f = if op.is_double() { "f64" } else { "f32" };
        let op = op.in_single();
        match self.fields.line.form {
            Form::FpThree if op == Op::Vsel => {
                let condition = ["eq", "vs", "ge", "gt"][(aux & 3) as usize];
                (format!("vsel{condition}.{f}"), format!("{d}, {n}, {m}"))
            }
            Form::FpRounding(_) => {
                let way = ["a", "n", "p", "m", "z", "r", "x", ""][(aux & 7) as usize];
                let sign = if aux & 8 == 8 { 's' } else { 'u' };
                let name = match op {
                    Op::Vrint => format!("vrint{way}.{f}"),
                    _ => format!("vcvt{way}.{sign}32.{f}"),
                };
                (name, format!("{d}, {m}"))
            }
            Form::FpThree => (format!("{name}.{f}"), format!("{d}, {n}, {m}")),
            Form::FpTwo if op == Op::VcvtToDouble => {
                ("vcvt.f64.f32".to_owned(), format!("{d}, {m}"))
            }
            Form::FpTwo if op == Op::VcvtFromDouble => {
                ("vcvt.f32.f64".to_owned(), format!("{d}, {m}"))
            }
            Form::FpTwo => (format!("{name}.{f}"), format!("{d}, {m}")),
            Form::FpOne => (format!("{name}.{f}"), format!("{d}, #0.0")),
            Form::FpImmediate => {
                let value = match result {
                    Precision::Single => f32::from_bits(s.imm),
                    // A constant of eight bits is the same in both formats.
                    Precision::Double => f64::from_bits(u64::from(s.imm) << 32) as f32,
                };
                (format!("{name}.{f}"), format!("{d}, #{value:?}"))
            }
            Form::FpConvert => {
                let name = match op {
                    Op::VcvtFromInt => {
                        format!("vcvt.{f}.{}32", if aux & 1 == 1 { 's' } else { 'u' })
                    }
                    Op::VcvtToInt => format!(
                        "vcvt{}.{}32.{f}",
                        if aux & 1 == 1 { "" } else { "r" },
                        if aux & 2 == 2 { 's' } else { 'u' }
                    ),
                    _ => {
                        let types =
                            if aux & 2 == 2 { format!("f16.{f}") } else { format!("{f}.f16") };
                        format!("{name}{}.{types}", half(aux))
                    }
                };
                (name, format!("{d}, {m}"))
            }
            Form::FpFixed => {
                let sign = if aux & 2 == 2 { 'u' } else { 's' };
                let width = if aux & 1 == 1 { 32 } else { 16 };
                let types = if aux & 4 == 4 {
                    format!("{sign}{width}.{f}")
                } else {
                    format!("{f}.{sign}{width}")
                };
                (format!("{name}.{types}"), format!("{d}, {d}, #{}", s.imm))
            }
            Form::FpCore if op == Op::VmovToCore => (name, format!("{}, {n}", self.r(b't'))),
            Form::FpCore => (name, format!("{n}, {}", self.r(b't'))),
            Form::FpScalar => {
                let lane = format!("d{}[{}]", s.n / 2, s.n % 2);
                let core = self.r(b't');
                let to_core = op == Op::VmovToCore;
                let operands =
                    if to_core { format!("{core}, {lane}") } else { format!("{lane}, {core}") };
                (name + ".32", operands)
            }
            Form::FpPair | Form::FpPairDouble => {
                let double = self.fields.line.form == Form::FpPairDouble;
                let float =
                    if double { format!("d{}", s.m / 2) } else { format!("{m}, s{}", s.m + 1) };
                let core = format!("{}, {}", self.r(b't'), self.r(b'a'));
                let to_core = op == Op::VmovPairToCore;
                let operands =
                    if to_core { format!("{core}, {float}") } else { format!("{float}, {core}") };
                (name, operands)
            }
            Form::FpMemory => (name, format!("{d}, {}", self.address(s.imm, 0))),
            Form::FpMemoryDouble => (name, format!("d{}, {}", s.d / 2, self.address(s.imm, 0))),
            Form::FpList | Form::FpListDouble => self.float_list(name),
            _ => (name, self.generic()),
        }
    }

    fn float_list(&self, name: String) -> (String, String) {
        let s = &self.slot;
        let double = self.fields.line.form == Form::FpListDouble;
        let (bank, first, count) = if double {
            ('d', u32::from(s.d) / 2, (s.aux & 0xFF) / 2)
        } else {
            ('s', u32::from(s.d), s.aux & 0xFF)
        };
        let registers = match count {
            1 => format!("{{{bank}{first}}}"),
            _ => format!("{{{bank}{first}-{bank}{}}}", first + count - 1),
        };
        let (down, back) = (s.a == 1, s.m == 1);
        let store = name == "vstm";
        if s.n == 13 && back && down == store && s.aux >> 8 == s.aux & 0xFF {
            return (if store { "vpush" } else { "vpop" }.to_owned(), registers);
        }
        let back = if back { "!" } else { "" };
        // With an odd number of words, the instruction has a name of its own, for an unknown format in
        // memory (A7.7.235).
        let (unknown, x) = if s.aux >> 8 & 1 == 1 && double { (true, "x") } else { (false, "") };
        let name = if unknown { name.replacen('v', "f", 1) } else { name };
        let name = format!("{name}{}{x}", if down { "db" } else { "ia" });
        (name, format!("{}{back}, {registers}", register(s.n)))
    }
}
