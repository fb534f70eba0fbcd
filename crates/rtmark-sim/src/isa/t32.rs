//! What the T32 encodings of all of Arm's cores have in common.

/// Returns whether an instruction that begins with this halfword has a second one (DDI 0403, A5.1; DDI 0406, A6.1).
pub const fn is_wide(first: u16) -> bool {
    first >> 11 >= 0b11101
}

/// Sign-extends the low `width` bits, 1 to 32 of them.
pub const fn sign_extend(value: u32, width: u32) -> u32 {
    ((value << (32 - width)) as i32 >> (32 - width)) as u32
}

/// ThumbExpandImm (DDI 0403, A5.3.2; DDI 0406, A6.3.2): returns the value, and whether its bit 31 is a carry.
pub const fn expand_immediate(imm12: u32) -> (u32, bool) {
    let byte = imm12 & 0xFF;
    match imm12 >> 8 {
        0 => (byte, false),
        1 => (byte << 16 | byte, false),
        2 => (byte << 24 | byte << 8, false),
        3 => (byte << 24 | byte << 16 | byte << 8 | byte, false),
        _ => ((byte | 0x80).rotate_right(imm12 >> 7), true),
    }
}
