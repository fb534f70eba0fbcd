/*
 * Floating point for rtmark's substitute for RP2040's boot ROM: the functions in tables SF and
 * SD of version 2 (datasheet, 2.8.3.2).
 *
 * As in that ROM, denormals count as zeros and NaNs as infinities, conversions to integers
 * round down and saturate, and arguments of the trigonometric functions are small. The four
 * basic operations and the square root are rounded to nearest; the other functions are within
 * a few units of the last place. All of it was written for this file, and takes different times
 * than the chip's own: a float addition some 100 cycles instead of 70, a sine thousands.
 *
 * The compiler calls some of these functions by their names in Arm's run-time ABI (IHI 0043,
 * 5.1); nothing here comes from its library.
 */
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

/* 64-bit arithmetic on a 32-bit core. */

static u32 leading_zeros(u32 value) {
    u32 zeros = 0;
    if (value == 0) {
        return 32;
    }
    for (u32 step = 16; step != 0; step >>= 1) {
        if (value >> (32 - step) == 0) {
            zeros += step;
            value <<= step;
        }
    }
    return zeros;
}

union halves {
    u64 whole;
    struct {
        u32 low, high;
    };
};

static u32 leading_zeros_64(u64 value) {
    union halves v = {value};
    return v.high ? leading_zeros(v.high) : 32 + leading_zeros(v.low);
}

u64 __aeabi_llsl(u64 value, int by) {
    union halves v = {value};
    if (by == 0) {
        return value;
    }
    union halves shifted = {.low = by < 32 ? v.low << by : 0};
    shifted.high = by < 32 ? v.high << by | v.low >> (32 - by) : v.low << (by - 32);
    return shifted.whole;
}

u64 __aeabi_llsr(u64 value, int by) {
    union halves v = {value};
    if (by == 0) {
        return value;
    }
    union halves shifted = {.high = by < 32 ? v.high >> by : 0};
    shifted.low = by < 32 ? v.low >> by | v.high << (32 - by) : v.high >> (by - 32);
    return shifted.whole;
}

static u64 times(u32 a, u32 b) {
    u32 low = (a & 0xFFFF) * (b & 0xFFFF), high = (a >> 16) * (b >> 16);
    u32 middle = (a >> 16) * (b & 0xFFFF), other = (a & 0xFFFF) * (b >> 16);
    u32 carry = (low >> 16) + (middle & 0xFFFF) + (other & 0xFFFF);
    union halves product = {.low = carry << 16 | (low & 0xFFFF)};
    product.high = high + (middle >> 16) + (other >> 16) + (carry >> 16);
    return product.whole;
}

/* Shifts right, and keeps in bit 0 whether anything was lost. */
static u32 jam(u32 value, u32 by) {
    if (by > 31) {
        return value != 0;
    }
    return value >> by | (by != 0 && value << (32 - by) != 0);
}

static u64 jam_64(u64 value, u32 by) {
    if (by > 63) {
        return value != 0;
    }
    return value >> by | (by != 0 && value << (64 - by) != 0);
}

/* Floats: a sign in place, an exponent as encoded, and a significand whose bit 30 is 1. */

enum { F_BIAS = 127, F_MAX = 255, D_BIAS = 1023, D_MAX = 2047 };
#define F_SIGN 0x80000000u
#define F_INFINITY 0x7F800000u
#define D_SIGN (1ull << 63)
#define D_INFINITY ((u64)D_MAX << 52)

static int f_exponent(u32 value) { return value >> 23 & F_MAX; }

static u32 f_significand(u32 value) { return f_exponent(value) ? (value << 7 | 1u << 30) & ~F_SIGN : 0; }

static u32 f_pack(u32 sign, int exponent, u32 significand) {
    if (significand == 0) {
        return sign;
    }
    int by = (int)leading_zeros(significand) - 1;
    significand = by < 0 ? jam(significand, 1) : significand << by;
    exponent -= by;
    u32 rest = significand & 0x7F;
    significand >>= 7;
    significand += rest > 0x40 || (rest == 0x40 && (significand & 1));
    exponent += significand >> 24;
    if (exponent <= 0) {
        return sign;
    }
    return exponent >= F_MAX ? sign | F_INFINITY : sign | (u32)exponent << 23 | (significand & 0x7FFFFF);
}

u32 rom_fadd(u32 a, u32 b) {
    if (f_exponent(a) < f_exponent(b)) {
        u32 other = a;
        a = b;
        b = other;
    }
    if (f_exponent(a) == F_MAX) {
        return (a & F_SIGN) | F_INFINITY;
    }
    int exponent = f_exponent(a);
    u32 sign = a & F_SIGN, of_a = f_significand(a);
    u32 of_b = jam(f_significand(b), exponent - f_exponent(b));
    if (((a ^ b) & F_SIGN) == 0) {
        return f_pack(sign, exponent, of_a + of_b);
    }
    if (of_a == of_b) {
        return 0;
    }
    return of_a > of_b ? f_pack(sign, exponent, of_a - of_b) : f_pack(sign ^ F_SIGN, exponent, of_b - of_a);
}

u32 rom_fsub(u32 a, u32 b) { return rom_fadd(a, b ^ F_SIGN); }

u32 rom_fmul(u32 a, u32 b) {
    u32 sign = (a ^ b) & F_SIGN;
    if (f_exponent(a) == F_MAX || f_exponent(b) == F_MAX) {
        return sign | F_INFINITY;
    }
    union halves product = {times(f_significand(a), f_significand(b) << 1)};
    return f_pack(sign, f_exponent(a) + f_exponent(b) - F_BIAS + 1, product.high | (product.low != 0));
}

u32 rom_fdiv(u32 a, u32 b) {
    u32 sign = (a ^ b) & F_SIGN, rest = f_significand(a), by = f_significand(b), quotient = 0;
    if (f_exponent(a) == F_MAX || by == 0) {
        return sign | F_INFINITY;
    }
    if (f_exponent(b) == F_MAX || rest == 0) {
        return sign;
    }
    for (int bit = 0; bit < 28; bit++) {
        quotient <<= 1;
        if (rest >= by) {
            rest -= by;
            quotient |= 1;
        }
        rest <<= 1;
    }
    return f_pack(sign, f_exponent(a) - f_exponent(b) + F_BIAS + 3, quotient | (rest != 0));
}

u32 rom_fsqrt(u32 a) {
    int exponent = f_exponent(a);
    if (exponent == 0) {
        return a & F_SIGN;
    }
    if (exponent == F_MAX || a & F_SIGN) {
        return (a & F_SIGN) | F_INFINITY;
    }
    /* With an even power of two, each two bits of the square give one bit of the root. */
    int power = exponent - F_BIAS;
    u32 square = f_significand(a) << (power & 1), rest = 0, root = 0;
    for (int step = 0; step < 28; step++, square <<= 2) {
        rest = rest << 2 | square >> 30;
        u32 trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return f_pack(0, (power >> 1) + F_BIAS, root << 3 | (rest != 0));
}

/* Returns -1, 0 or 1 for less, equal or greater. Zeros and denormals are equal. */
int rom_fcmp(u32 a, u32 b) {
    s64 of_a = f_exponent(a) ? (s64)(a & ~F_SIGN) : 0, of_b = f_exponent(b) ? (s64)(b & ~F_SIGN) : 0;
    of_a = a & F_SIGN ? -of_a : of_a;
    of_b = b & F_SIGN ? -of_b : of_b;
    return (of_a > of_b) - (of_a < of_b);
}

static u32 magnitude(int value) { return value < 0 ? -(u32)value : (u32)value; }

static u64 magnitude_64(s64 value) { return value < 0 ? -(u64)value : (u64)value; }

u32 rom_ufix2float(u32 value, int places) { return f_pack(0, F_BIAS + 30 - places, value); }

u32 rom_fix2float(int value, int places) {
    return f_pack(value < 0 ? F_SIGN : 0, F_BIAS + 30 - places, magnitude(value));
}

u32 rom_int2float(int value) { return rom_fix2float(value, 0); }

u32 rom_uint2float(u32 value) { return rom_ufix2float(value, 0); }

static u32 f_pack_64(u32 sign, int exponent, u64 significand) {
    return f_pack(sign, exponent + 32, (u32)(significand >> 32) | ((u32)significand != 0));
}

/* The 32 bits kept of 64 must include everything that affects rounding. */
static u32 f_from_64(u32 sign, u64 value, int places) {
    int by = (int)leading_zeros_64(value);
    return f_pack_64(sign, F_BIAS + 30 - places - by, value << by);
}

u32 rom_ufix64_2float(u64 value, int places) { return f_from_64(0, value, places); }

u32 rom_fix64_2float(s64 value, int places) {
    return f_from_64(value < 0 ? F_SIGN : 0, magnitude_64(value), places);
}

u32 rom_int64_2float(s64 value) { return rom_fix64_2float(value, 0); }

u32 rom_uint64_2float(u64 value) { return rom_ufix64_2float(value, 0); }

/* Doubles: the significand's bit 62 is 1. */

static int d_exponent(u64 value) { return value >> 52 & D_MAX; }

static u64 d_significand(u64 value) {
    return d_exponent(value) ? (value << 10 | 1ull << 62) & ~D_SIGN : 0;
}

static u64 d_pack(u64 sign, int exponent, u64 significand) {
    if (significand == 0) {
        return sign;
    }
    int by = (int)leading_zeros_64(significand) - 1;
    significand = by < 0 ? jam_64(significand, 1) : significand << by;
    exponent -= by;
    u32 rest = significand & 0x3FF;
    significand >>= 10;
    significand += rest > 0x200 || (rest == 0x200 && (significand & 1));
    exponent += significand >> 53;
    if (exponent <= 0) {
        return sign;
    }
    u64 fraction = significand & ((1ull << 52) - 1);
    return exponent >= D_MAX ? sign | D_INFINITY : sign | (u64)exponent << 52 | fraction;
}

u64 rom_dadd(u64 a, u64 b) {
    if (d_exponent(a) < d_exponent(b)) {
        u64 other = a;
        a = b;
        b = other;
    }
    if (d_exponent(a) == D_MAX) {
        return (a & D_SIGN) | D_INFINITY;
    }
    int exponent = d_exponent(a);
    u64 sign = a & D_SIGN, of_a = d_significand(a);
    u64 of_b = jam_64(d_significand(b), exponent - d_exponent(b));
    if (((a ^ b) & D_SIGN) == 0) {
        return d_pack(sign, exponent, of_a + of_b);
    }
    if (of_a == of_b) {
        return 0;
    }
    return of_a > of_b ? d_pack(sign, exponent, of_a - of_b) : d_pack(sign ^ D_SIGN, exponent, of_b - of_a);
}

u64 rom_dsub(u64 a, u64 b) { return rom_dadd(a, b ^ D_SIGN); }

u64 rom_dmul(u64 a, u64 b) {
    u64 sign = (a ^ b) & D_SIGN;
    if (d_exponent(a) == D_MAX || d_exponent(b) == D_MAX) {
        return sign | D_INFINITY;
    }
    union halves x = {d_significand(a)}, y = {d_significand(b) << 1};
    union halves low = {times(x.low, y.low)}, high = {times(x.high, y.high)};
    union halves middle = {times(x.low, y.high)}, other = {times(x.high, y.low)};
    u64 carry = (u64)low.high + middle.low + other.low;
    u64 top = high.whole + middle.high + other.high + (carry >> 32);
    u64 significand = top | ((u32)carry != 0 || low.low != 0);
    return d_pack(sign, d_exponent(a) + d_exponent(b) - D_BIAS + 1, significand);
}

u64 rom_ddiv(u64 a, u64 b) {
    u64 sign = (a ^ b) & D_SIGN, rest = d_significand(a), by = d_significand(b), quotient = 0;
    if (d_exponent(a) == D_MAX || by == 0) {
        return sign | D_INFINITY;
    }
    if (d_exponent(b) == D_MAX || rest == 0) {
        return sign;
    }
    for (int bit = 0; bit < 57; bit++) {
        quotient <<= 1;
        if (rest >= by) {
            rest -= by;
            quotient |= 1;
        }
        rest <<= 1;
    }
    return d_pack(sign, d_exponent(a) - d_exponent(b) + D_BIAS + 6, quotient | (rest != 0));
}

u64 rom_dsqrt(u64 a) {
    int exponent = d_exponent(a);
    if (exponent == 0) {
        return a & D_SIGN;
    }
    if (exponent == D_MAX || a & D_SIGN) {
        return (a & D_SIGN) | D_INFINITY;
    }
    int power = exponent - D_BIAS;
    u64 square = d_significand(a) << (power & 1), rest = 0, root = 0;
    for (int step = 0; step < 57; step++, square <<= 2) {
        rest = rest << 2 | square >> 62;
        u64 trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return d_pack(0, (power >> 1) + D_BIAS, root << 6 | (rest != 0));
}

int rom_dcmp(u64 a, u64 b) {
    s64 of_a = d_exponent(a) ? (s64)(a & ~D_SIGN) : 0, of_b = d_exponent(b) ? (s64)(b & ~D_SIGN) : 0;
    of_a = a & D_SIGN ? -of_a : of_a;
    of_b = b & D_SIGN ? -of_b : of_b;
    return (of_a > of_b) - (of_a < of_b);
}

u64 rom_float2double(u32 value) {
    int exponent = f_exponent(value);
    u64 sign = (u64)(value & F_SIGN) << 32;
    if (exponent == F_MAX) {
        return sign | D_INFINITY;
    }
    return d_pack(sign, exponent - F_BIAS + D_BIAS, (u64)f_significand(value) << 32);
}

u32 rom_double2float(u64 value) {
    int exponent = d_exponent(value);
    u32 sign = value >> 32 & F_SIGN;
    if (exponent == D_MAX) {
        return sign | F_INFINITY;
    }
    return f_pack_64(sign, exponent - D_BIAS + F_BIAS - 32, d_significand(value));
}

u64 rom_ufix64_2double(u64 value, int places) { return d_pack(0, D_BIAS + 62 - places, value); }

u64 rom_fix64_2double(s64 value, int places) {
    return d_pack(value < 0 ? D_SIGN : 0, D_BIAS + 62 - places, magnitude_64(value));
}

u64 rom_int64_2double(s64 value) { return rom_fix64_2double(value, 0); }

u64 rom_uint64_2double(u64 value) { return rom_ufix64_2double(value, 0); }

u64 rom_fix2double(int value, int places) { return rom_fix64_2double(value, places); }

u64 rom_ufix2double(u32 value, int places) { return rom_ufix64_2double(value, places); }

u64 rom_int2double(int value) { return rom_fix64_2double(value, 0); }

u64 rom_uint2double(u32 value) { return rom_ufix64_2double(value, 0); }

/* Rounds down, and saturates to this many bits. */
static s64 floor_within(u64 value, int places, int bits) {
    s64 most = (s64)(~0ull >> (65 - bits));
    int by = d_exponent(value) - D_BIAS - 62 + places;
    u64 significand = d_significand(value);
    if (value & D_SIGN) {
        if (by > 0 || (by == 0 && significand > (u64)most)) {
            return -most - 1;
        }
        u64 whole = by > -64 ? significand >> -by : 0;
        whole += by > -64 ? whole << -by != significand : significand != 0;
        return whole > (u64)most + 1 ? -most - 1 : -(s64)whole;
    }
    if (by > 0) {
        return most;
    }
    u64 whole = by > -64 ? significand >> -by : 0;
    return whole > (u64)most ? most : (s64)whole;
}

static u64 floor_unsigned(u64 value, int places, u64 most) {
    int by = d_exponent(value) - D_BIAS - 62 + places;
    if (value & D_SIGN || d_significand(value) == 0) {
        return 0;
    }
    if (by > 1) {
        return most;
    }
    u64 whole = by > 0 ? d_significand(value) << 1 : by > -64 ? d_significand(value) >> -by : 0;
    return whole > most ? most : whole;
}

int rom_double2fix(u64 value, int places) { return (int)floor_within(value, places, 32); }

int rom_double2int(u64 value) { return rom_double2fix(value, 0); }

u32 rom_double2ufix(u64 value, int places) { return (u32)floor_unsigned(value, places, ~0u); }

u32 rom_double2uint(u64 value) { return rom_double2ufix(value, 0); }

s64 rom_double2fix64(u64 value, int places) { return floor_within(value, places, 64); }

s64 rom_double2int64(u64 value) { return rom_double2fix64(value, 0); }

u64 rom_double2ufix64(u64 value, int places) { return floor_unsigned(value, places, ~0ull); }

u64 rom_double2uint64(u64 value) { return rom_double2ufix64(value, 0); }

int rom_float2fix(u32 value, int places) { return rom_double2fix(rom_float2double(value), places); }

int rom_float2int(u32 value) { return rom_float2fix(value, 0); }

u32 rom_float2ufix(u32 value, int places) { return rom_double2ufix(rom_float2double(value), places); }

u32 rom_float2uint(u32 value) { return rom_float2ufix(value, 0); }

s64 rom_float2fix64(u32 value, int places) { return rom_double2fix64(rom_float2double(value), places); }

s64 rom_float2int64(u32 value) { return rom_float2fix64(value, 0); }

u64 rom_float2ufix64(u32 value, int places) { return rom_double2ufix64(rom_float2double(value), places); }

u64 rom_float2uint64(u32 value) { return rom_float2ufix64(value, 0); }

/* From here on, C operators are used; they call the functions above. */

union number {
    double value;
    u64 bits;
};

static double number(u64 bits) { return ((union number){.bits = bits}).value; }

static u64 bits(double value) { return ((union number){.value = value}).bits; }

#define PASSES_AS(name, is) __asm__(".global " #name "\n" #name " = " #is)
PASSES_AS(__aeabi_dadd, rom_dadd);
PASSES_AS(__aeabi_dsub, rom_dsub);
PASSES_AS(__aeabi_dmul, rom_dmul);
PASSES_AS(__aeabi_ddiv, rom_ddiv);
PASSES_AS(__aeabi_i2d, rom_int2double);

/* Evaluates a polynomial in x, with coefficients from the highest power down. */
static double series(double x, const double *coefficients, int count) {
    double sum = 0;
    for (int at = 0; at < count; at++) {
        sum = sum * x + coefficients[at];
    }
    return sum;
}

static const double SINE[] = {-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                              -1.0 / 5040,          1.0 / 120,        -1.0 / 6,        1};
static const double COSINE[] = {1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                                1.0 / 40320,          -1.0 / 720,         1.0 / 24,        -1.0 / 2,
                                1};
static const double EXPONENTIAL[] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
    1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1,           1};
static const double ODDS[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                              1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1};
#define PI 3.14159265358979323846
/* The first 33 bits of pi / 2 and of ln 2, whose small multiples are exact, and the remainders. */
#define HALF_PI_HIGH 0x1.921fb544p+0
#define HALF_PI_LOW 0x1.0b4611a626331p-34
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/* Returns the sine of x plus this many quarter turns. */
static u64 turned(u64 x, int quarters) {
    if (d_exponent(x) == D_MAX) {
        return 0;
    }
    int turns = rom_double2int(bits(number(x) * (2 / PI) + 0.5));
    double rest = number(x) - turns * HALF_PI_HIGH - turns * HALF_PI_LOW;
    double square = rest * rest;
    quarters += turns;
    double value = quarters & 1 ? series(square, COSINE, 9) : rest * series(square, SINE, 8);
    return bits(value) ^ (quarters & 2 ? D_SIGN : 0);
}

u64 rom_dsin(u64 x) { return turned(x, 0); }

u64 rom_dcos(u64 x) { return turned(x, 1); }

u64 rom_dtan(u64 x) { return rom_ddiv(rom_dsin(x), rom_dcos(x)); }

u64 rom_dexp(u64 x) {
    if (d_exponent(x) > D_BIAS + 9) {
        return x & D_SIGN ? 0 : D_INFINITY;
    }
    int doublings = rom_double2int(bits(number(x) * 1.44269504088896340736 + 0.5));
    double rest = number(x) - doublings * LN2_HIGH - doublings * LN2_LOW;
    u64 value = bits(series(rest, EXPONENTIAL, 14));
    return d_pack(0, d_exponent(value) + doublings, d_significand(value));
}

u64 rom_dln(u64 x) {
    int exponent = d_exponent(x);
    if (exponent == 0 || x & D_SIGN) {
        return D_SIGN | D_INFINITY;
    }
    if (exponent == D_MAX) {
        return D_INFINITY;
    }
    int doublings = exponent - D_BIAS;
    double rest = number((x & ~D_INFINITY) | (u64)D_BIAS << 52);
    if (rom_dcmp(bits(rest), bits(1.41421356237309504880)) > 0) {
        rest = rest * 0.5;
        doublings++;
    }
    double part = (rest - 1) / (rest + 1);
    return bits(doublings * LN2_HIGH + (2 * part * series(part * part, ODDS, 12) + doublings * LN2_LOW));
}

u64 rom_datan2(u64 y, u64 x) {
    u64 up = y & ~D_SIGN, along = x & ~D_SIGN;
    int steep = rom_dcmp(up, along) > 0;
    double ratio = 0;
    if (up != 0 && along != 0) {
        ratio = steep ? number(along) / number(up) : number(up) / number(along);
    }
    /* Halve the angle twice. */
    for (int half = 0; half < 2; half++) {
        ratio = ratio / (1 + number(rom_dsqrt(bits(1 + ratio * ratio))));
    }
    double square = -ratio * ratio;
    double angle = 4 * ratio * series(square, ODDS, 12);
    angle = steep ? PI / 2 - angle : angle;
    angle = x & D_SIGN ? PI - angle : angle;
    return (bits(angle) & ~D_SIGN) | (y & D_SIGN);
}

u32 rom_fsin(u32 x) { return rom_double2float(rom_dsin(rom_float2double(x))); }

u32 rom_fcos(u32 x) { return rom_double2float(rom_dcos(rom_float2double(x))); }

u32 rom_ftan(u32 x) { return rom_double2float(rom_dtan(rom_float2double(x))); }

u32 rom_fexp(u32 x) { return rom_double2float(rom_dexp(rom_float2double(x))); }

u32 rom_fln(u32 x) { return rom_double2float(rom_dln(rom_float2double(x))); }

u32 rom_fatan2(u32 y, u32 x) {
    return rom_double2float(rom_datan2(rom_float2double(y), rom_float2double(x)));
}
