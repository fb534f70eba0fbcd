//! Generates programs with a given number of functions.
//!
//! Products have thousands of functions, each of which is executed occasionally. Such programs are
//! generated here, always the same: functions of some 350 bytes with data-dependent branches, short
//! loops, tables and switches, called one after the other through a table.

use std::fmt::Write as _;

/// The number of function calls in a program, whatever its number of functions.
const CALLS: usize = 1_000_000;
/// The number of statements of a function, some of which contain others.
const STATEMENTS: usize = 15;

/// Returns the C source of a program with this many functions.
pub fn program(functions: usize) -> String {
    let mut text = String::from("#include \"bare.h\"\n\nstatic uint32_t m[64];\n");
    for number in 0..functions {
        function(&mut text, number);
    }
    text.push_str("\ntypedef uint32_t function(uint32_t);\nstatic function *const table[] = {\n");
    for number in 0..functions {
        let _ = writeln!(text, "    f{number},");
    }
    let rounds = CALLS / functions;
    let _ = write!(
        text,
        "}};\n\nvoid program(void)\n{{\n    uint32_t x = 1;\n    \
         for (unsigned round = 0; round < {rounds}u; round++) {{\n        \
         for (unsigned i = 0; i < {functions}u; i++) {{\n            \
         x = table[i](x);\n        }}\n    }}\n    keep(x);\n}}\n"
    );
    text
}

/// A linear congruential generator, of which the upper bits are used (Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

fn function(text: &mut String, number: usize) {
    let mut chance = Chance(number as u64 + 1);
    let _ = writeln!(
        text,
        "\nstatic uint32_t __attribute__((noinline)) f{number}(uint32_t x)\n{{\n    uint32_t y = x ^ {}u;",
        chance.below(1 << 16)
    );
    for _ in 0..STATEMENTS {
        statement(text, &mut chance, 1);
    }
    text.push_str("    return x + y;\n}\n");
}

fn statement(text: &mut String, chance: &mut Chance, depth: usize) {
    let indent = "    ".repeat(depth);
    let shift = 3 + chance.below(20);
    let constant = 1 + 2 * chance.below(1 << 15);
    let (a, b) = (chance.below(64), chance.below(64));
    let kinds = if depth > 1 { 6 } else { 10 };
    let _ = match chance.below(kinds) {
        0 => writeln!(text, "{indent}x = x * {constant}u + y;"),
        1 => writeln!(text, "{indent}y ^= x >> {shift};"),
        2 => writeln!(text, "{indent}m[x >> {shift} & 63] += y;"),
        3 => writeln!(text, "{indent}x += m[y >> {shift} & 63];"),
        4 => writeln!(text, "{indent}y = (y << {} | y >> {}) + {a}u;", shift, 32 - shift),
        5 => writeln!(text, "{indent}m[{a}] = m[{b}] ^ x;"),
        6 => {
            let _ = writeln!(text, "{indent}if (x & 1u << {shift}) {{");
            statement(text, chance, depth + 1);
            statement(text, chance, depth + 1);
            let _ = writeln!(text, "{indent}}} else {{");
            statement(text, chance, depth + 1);
            writeln!(text, "{indent}}}")
        }
        7 => {
            let _ = writeln!(text, "{indent}for (unsigned n = x >> {shift} & 3; n; n--) {{");
            statement(text, chance, depth + 1);
            statement(text, chance, depth + 1);
            writeln!(text, "{indent}}}")
        }
        8 => {
            let _ = writeln!(text, "{indent}switch (y >> {shift} & 7) {{");
            for case in 0..5 {
                let _ = writeln!(text, "{indent}case {case}:");
                statement(text, chance, depth + 1);
                let _ = writeln!(text, "{indent}    break;");
            }
            writeln!(text, "{indent}}}")
        }
        _ => writeln!(text, "{indent}if (m[{a}] > x) y += m[{b}];"),
    };
}
