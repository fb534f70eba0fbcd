//! Small images, written by hand.

/// What the first image prints: markup, if anything took it for more than text.
pub const PRINTED: &str = "<img src=x>\n";

/// A raw image for a chip whose flash is at `0x0800_0000`: the vectors, then code and words.
fn raw(code: &[u16], behind: &[u8]) -> Vec<u8> {
    let mut bytes = [0x2000_1000_u32, 0x0800_0009].map(u32::to_le_bytes).concat();
    for opcode in code {
        bytes.extend(opcode.to_le_bytes());
    }
    bytes.extend(behind);
    bytes
}

/// Prints a text by semihosting and ends well.
pub fn prints() -> Vec<u8> {
    let code = [
        0x2004, // movs r0, #4: SYS_WRITE0
        0xA104, // adr r1, text
        0xBEAB, // bkpt 0xAB
        0x2018, // movs r0, #0x18: SYS_EXIT
        0x4901, // ldr r1, status
        0xBEAB, // bkpt 0xAB
        0xE7FE, // b .
        0xBF00, // nop
    ];
    let mut behind = 0x0002_0026_u32.to_le_bytes().to_vec();
    behind.extend(PRINTED.as_bytes());
    behind.push(0);
    raw(&code, &behind)
}

/// Never ends: a loop that divides and branches, so that it takes other times on other cores.
pub fn works() -> Vec<u8> {
    raw(&[0x3001, 0x4041, 0x1A12, 0xD0FB, 0x4348, 0xE7F9], &[])
}

/// Branches to where there is no code.
pub fn faults() -> Vec<u8> {
    raw(&[0x2000, 0x4700], &[])
}
