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

/// Prints a text through semihosting and exits successfully.
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

/// Never ends: a loop that divides and branches, so that its timing differs between cores.
pub fn works() -> Vec<u8> {
    raw(&[0x3001, 0x4041, 0x1A12, 0xD0FB, 0x4348, 0xE7F9], &[])
}

/// Sets the clock registers of an STM32F405 for 168 MHz by a crystal of 8 MHz, and never ends.
pub fn speeds_up() -> Vec<u8> {
    let code = [
        0x4803, // ldr r0, RCC
        0x4904, // ldr r1, PLLCFGR: M = 8, N = 336, P = 2, by HSE
        0x6041, // str r1, [r0, #4]
        0x4904, // ldr r1, CR: HSEON, PLLON
        0x6001, // str r1, [r0]
        0x4904, // ldr r1, CFGR: SW = PLL
        0x6081, // str r1, [r0, #8]
        0xE7FE, // b .
    ];
    let words = [0x4002_3800_u32, 0x0740_5408, 0x0101_0083, 0x0000_9402];
    raw(&code, &words.map(u32::to_le_bytes).concat())
}

/// Branches to an address without code.
pub fn faults() -> Vec<u8> {
    raw(&[0x2000, 0x4700], &[])
}

/// A loop that SysTick interrupts every 1000 cycles; its handler reads SysTick's register and counts
/// down for a while. Interrupt 3 has a handler that returns at once.
pub fn interrupted() -> Vec<u8> {
    const VECTORS: u32 = 20;
    const BASE: u32 = 0x0800_0000;
    let code: [u16; 18] = [
        0x4808, // ldr r0, systick
        0x4909, // ldr r1, reload
        0x6041, // str r1, [r0, #4]
        0x2107, // movs r1, #7
        0x6001, // str r1, [r0]
        0x3201, // loop: adds r2, #1
        0x4053, // eors r3, r2
        0x4353, // muls r3, r2
        0xE7FB, // b loop
        0x4804, // tick: ldr r0, systick
        0x6801, // ldr r1, [r0]
        0x2014, // movs r0, #20
        0x3801, // subs r0, #1
        0xD1FD, // bne
        0x4770, // bx lr
        0x4770, // device: bx lr
        0xBF00, // nop
        0xBF00, // nop
    ];
    let at = |instruction: u32| (BASE + VECTORS * 4 + instruction * 2) | 1;
    let mut vectors = [0_u32; VECTORS as usize];
    (vectors[0], vectors[1]) = (0x2000_1000, at(0));
    (vectors[15], vectors[19]) = (at(9), at(15));
    let mut bytes = vectors.map(u32::to_le_bytes).concat();
    bytes.extend(code.iter().flat_map(|opcode| opcode.to_le_bytes()));
    bytes.extend([0xE000_E010_u32, 999].map(u32::to_le_bytes).concat());
    bytes
}
