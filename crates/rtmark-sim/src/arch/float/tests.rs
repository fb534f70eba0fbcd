//! Arithmetic checked against the host's, and against itself.

use super::*;

const INFINITY: u32 = Single::INFINITY as u32;
const DEFAULT_NAN: u32 = Single::DEFAULT_NAN as u32;

/// Numbers from every extreme: zeros, denormals, ones, huge numbers, infinities.
fn corners() -> Vec<u32> {
    let mut state = 0x1234_5678_u32;
    let mut numbers = vec![
        0,
        1,
        0x7F_FFFF,
        0x80_0000,
        0x3F80_0000,
        0x3F80_0001,
        0x7F7F_FFFF,
        INFINITY,
        0x3F7F_FFFF,
        0x4B80_0000,
        0x3380_0000,
        0x0080_0001,
        0x4000_0000,
    ];
    for _ in 0..60 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        numbers.push(state & 0x7FFF_FFFF);
    }
    numbers.retain(|bits| !f32::from_bits(*bits).is_nan());
    let negative: Vec<_> = numbers.iter().map(|bits| bits | 1 << 31).collect();
    numbers.extend(negative);
    numbers
}

#[test]
fn host_fast_path_matches_integer_arithmetic() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 32) as u32
    };
    let mut by_host = 0;
    for _ in 0..200_000 {
        // Exponents close to each other, so that sums are interesting, and some at the extremes.
        let mut operand = || {
            let bits = random();
            if bits & 7 == 0 { random() } else { bits & 0x87FF_FFFF | 0x3C00_0000 }
        };
        let (x, y, z) = (operand(), operand(), operand());
        let all = |fpscr: u32| {
            let mut status = [fpscr; 6];
            let [a, b, c, d, e, f] = &mut status;
            let results = [
                Context::<Single>::new(a).add(x, y),
                Context::<Single>::new(b).subtract(x, y),
                Context::<Single>::new(c).multiply(x, y),
                Context::<Single>::new(d).divide(x, y),
                Context::<Single>::new(e).multiply_add(z, x, y),
                Context::<Single>::new(f).square_root(x),
            ];
            (results, status.map(|fpscr| fpscr | INEXACT))
        };
        assert_eq!(all(INEXACT), all(0), "{x:#010x} {y:#010x} {z:#010x}");
        let mut flagged = INEXACT;
        by_host += u32::from(
            Context::<Single>::new(&mut flagged).by_host([x, y], |[x, y]| x + y).is_some(),
        );
    }
    assert!(by_host > 100_000);
}

#[test]
fn double_arithmetic_matches_the_host() {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed ^ seed >> 29
    };
    for _ in 0..200_000 {
        // Exponents close to each other, so that sums are interesting, and some at the extremes.
        let mut operand = || {
            let bits = random();
            if bits & 7 == 0 { random() } else { bits & 0x803F_FFFF_FFFF_FFFF | 0x3FC0 << 48 }
        };
        let (x, y, z) = (operand(), operand(), operand());
        let [a, b, c] = [x, y, z].map(f64::from_bits);
        let mut fpscr = 0;
        let mut context = Context::<Double>::new(&mut fpscr);
        let got = [
            context.add(x, y),
            context.subtract(x, y),
            context.multiply(x, y),
            context.divide(x, y),
            context.multiply_add(z, x, y),
            context.square_root(x),
        ];
        let host = [a + b, a - b, a * b, a / b, a.mul_add(b, c), a.sqrt()];
        let is_nan = |bits: u64| f64::from_bits(bits).is_nan();
        for (got, host) in got.into_iter().zip(host) {
            let same = if host.is_nan() { is_nan(got) } else { got == host.to_bits() };
            assert!(same, "{x:#x} {y:#x} {z:#x}: {got:#x}, host {:#x}", host.to_bits());
        }
    }
}

#[test]
fn rounding_to_nearest_matches_the_host() {
    for &x in &corners() {
        for &y in &corners() {
            let (a, b) = (f32::from_bits(x), f32::from_bits(y));
            let mut fpscr = 0;
            let mut context = Context::<Single>::new(&mut fpscr);
            let got = [
                context.add(x, y),
                context.subtract(x, y),
                context.multiply(x, y),
                context.divide(x, y),
                context.multiply_add(0x3F80_0001, x, y),
                context.square_root(x),
            ];
            let host =
                [a + b, a - b, a * b, a / b, a.mul_add(b, f32::from_bits(0x3F80_0001)), a.sqrt()];
            for (got, host) in got.into_iter().zip(host) {
                let same = if host.is_nan() { got == DEFAULT_NAN } else { got == host.to_bits() };
                assert!(same, "{x:#x} {y:#x}: {got:#x}, host {:#x}", host.to_bits());
            }
        }
    }
}

#[test]
fn directed_rounding_encloses_the_exact_result() {
    let third = |mode: u32| {
        let mut fpscr = mode << 22;
        let result = Context::<Single>::new(&mut fpscr).divide(1f32.to_bits(), 3f32.to_bits());
        (result, fpscr & INEXACT)
    };
    assert_eq!(third(1).0, third(2).0 + 1);
    assert_eq!(third(3), third(2));
    assert_eq!(third(0).1, INEXACT);
}
