//! Emits machine code, with addresses, patches and a literal pool.

/// Halfwords from a base address on, with pending literals.
#[derive(Clone, Debug)]
pub struct Code {
    base: u32,
    halves: Vec<u16>,
    /// Literal loads whose literal has not been written: position and value.
    pending: Vec<(u32, u32)>,
}

/// A place to be filled in when its branch target is known.
#[derive(Clone, Copy, Debug)]
pub struct BranchPlaceholder(u32);

impl Code {
    pub const fn new(base: u32) -> Self {
        Self { base, halves: Vec::new(), pending: Vec::new() }
    }

    /// The address of what is written next.
    pub const fn here(&self) -> u32 {
        self.base + self.halves.len() as u32 * 2
    }

    pub fn half(&mut self, half: u16) {
        self.halves.push(half);
    }

    pub fn halves(&mut self, halves: &[u16]) {
        self.halves.extend_from_slice(halves);
    }

    /// A 32-bit instruction: its first halfword is the upper one.
    pub fn wide(&mut self, bits: u32) {
        self.halves(&[(bits >> 16) as u16, bits as u16]);
    }

    pub fn word(&mut self, value: u32) {
        self.halves(&[value as u16, (value >> 16) as u16]);
    }

    /// Pads with NOPs to an address that is a multiple of `to`.
    pub fn align(&mut self, to: u32) {
        while !self.here().is_multiple_of(to) {
            self.half(0xBF00);
        }
    }

    /// Pads with zeros to an address, which must not have been passed.
    pub fn pad_to(&mut self, address: u32) {
        assert!(self.here() <= address, "code has outgrown its place before {address:#x}");
        self.halves.resize(((address - self.base) / 2) as usize, 0);
    }

    /// `LDR rt, =value` for a low register.
    pub fn load_literal(&mut self, rt: u8, value: u32) {
        self.pending.push((self.here(), value));
        self.half(0x4800 | u16::from(rt) << 8);
    }

    /// Writes the pending literals. Execution must not run into them.
    pub fn write_literals(&mut self) {
        self.align(4);
        for (at, value) in std::mem::take(&mut self.pending) {
            let offset = (self.here() - ((at + 4) & !3)) / 4;
            assert!(offset < 256, "a literal lies too far from {at:#x}");
            self.halves[((at - self.base) / 2) as usize] |= offset as u16;
            self.word(value);
        }
    }

    /// Writes the pending literals with a branch over them.
    pub fn write_literals_in_passing(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let over = self.placeholder();
        self.half(0xE000);
        self.write_literals();
        self.fill(over);
    }

    /// Writes the literals if the first one would soon be out of reach of its load.
    pub fn write_distant_literals(&mut self) {
        if self.pending.first().is_some_and(|(at, _)| self.here() - at > 600) {
            self.write_literals_in_passing();
        }
    }

    /// The place of the instruction that is written next, a branch.
    pub const fn placeholder(&self) -> BranchPlaceholder {
        BranchPlaceholder(self.here())
    }

    /// Makes the branch at a placeholder lead here. Supports `B` with and without condition in both sizes, and
    /// `CBZ`.
    pub fn fill(&mut self, placeholder: BranchPlaceholder) {
        self.bind(placeholder, self.here());
    }

    /// Makes the branch at a placeholder lead to an address.
    pub fn bind(&mut self, placeholder: BranchPlaceholder, target: u32) {
        let at = ((placeholder.0 - self.base) / 2) as usize;
        let offset = target.wrapping_sub(placeholder.0.wrapping_add(4)) as i32;
        let first = self.halves[at];
        let bits = (offset >> 1) as u32;
        let fits = |width: u32| {
            let limit = 1 << width;
            assert!((-limit..limit).contains(&offset), "branch at {:#x} too far", placeholder.0);
        };
        match first >> 11 {
            0b11100 => {
                fits(11);
                self.halves[at] = first & 0xF800 | (bits & 0x7FF) as u16;
            }
            0b11010 | 0b11011 => {
                fits(8);
                self.halves[at] = first & 0xFF00 | (bits & 0xFF) as u16;
            }
            0b10110 | 0b10111 => {
                assert!((0..128).contains(&offset), "CBZ at {:#x} too far", placeholder.0);
                let imm = bits as u16;
                self.halves[at] = first & 0xFD07 | (imm & 0x20) << 4 | (imm & 0x1F) << 3;
            }
            _ => self.bind_wide(at, bits),
        }
    }

    fn bind_wide(&mut self, at: usize, bits: u32) {
        let (first, second) = (self.halves[at], self.halves[at + 1]);
        let sign = (bits >> 31) as u16;
        if second & 0x1000 == 0 {
            // Conditional: S, J2, J1, imm6, imm11.
            let (j1, j2) = ((bits >> 17) as u16 & 1, (bits >> 18) as u16 & 1);
            self.halves[at] = first & 0xFBC0 | sign << 10 | (bits >> 11) as u16 & 0x3F;
            self.halves[at + 1] = second & 0xD000 | j1 << 13 | j2 << 11 | (bits & 0x7FF) as u16;
        } else {
            let (i1, i2) = ((bits >> 22) as u16 & 1, (bits >> 21) as u16 & 1);
            let (j1, j2) = (i1 ^ sign ^ 1, i2 ^ sign ^ 1);
            self.halves[at] = first & 0xF800 | sign << 10 | (bits >> 11) as u16 & 0x3FF;
            self.halves[at + 1] = second & 0xD000 | j1 << 13 | j2 << 11 | (bits & 0x7FF) as u16;
        }
    }

    /// Makes the `ADR` at a placeholder refer to this address, which must be a multiple of 4.
    pub fn adr(&mut self, placeholder: BranchPlaceholder) {
        let offset = (self.here() - ((placeholder.0 + 4) & !3)) / 4;
        self.halves[((placeholder.0 - self.base) / 2) as usize] |= offset as u16;
    }

    /// `BL` to an address.
    pub fn call(&mut self, target: u32) {
        let placeholder = self.placeholder();
        self.wide(0xF000_D000);
        self.bind(placeholder, target);
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.halves.iter().flat_map(|half| half.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_encode_as_the_assembler_encodes_them() {
        let mut code = Code::new(0x100);
        code.call(0x80); // bl . - 0x80
        let conditional = code.placeholder();
        code.wide(0xF040_8000); // bne.w
        let narrow = code.placeholder();
        code.half(0xD100);
        let compare = code.placeholder();
        code.half(0xB100);
        code.half(0);
        code.half(0);
        for placeholder in [conditional, narrow, compare] {
            code.fill(placeholder);
        }
        assert_eq!(
            code.halves,
            [0xF7FF, 0xFFBE, 0xF040, 0x8004, 0xD102, 0xB108, 0, 0],
            "{:04x?}",
            code.halves
        );
    }

    #[test]
    fn literals_are_in_range_and_aligned() {
        let mut code = Code::new(2);
        code.load_literal(3, 0x1234_5678);
        code.write_literals();
        assert_eq!(code.halves, [0x4B00, 0x5678, 0x1234]);
    }
}
