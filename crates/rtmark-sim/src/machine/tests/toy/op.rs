//! The toy core's instructions.

/// An instruction; `a` and `b` are registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toy {
    Nop,
    Set(u8, u32),
    Add(u8, u8),
    /// Takes five cycles.
    Multiply(u8, u8),
    Load(u8, u8),
    Store(u8, u8),
    /// Branches by this many bytes, relative to the end of the instruction, unless the register is zero.
    Branch(u8, i8),
    Return,
    Mask,
    Unmask,
    Sleep,
    Break,
}

impl Toy {
    /// Returns the instruction's encoding.
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::Nop => vec![0x00],
            Self::Set(a, value) => {
                let mut bytes = vec![0x10, a];
                bytes.extend(value.to_le_bytes());
                bytes
            }
            Self::Add(a, b) => vec![0x20, a << 4 | b],
            Self::Multiply(a, b) => vec![0x21, a << 4 | b],
            Self::Load(a, b) => vec![0x22, a << 4 | b],
            Self::Store(a, b) => vec![0x23, a << 4 | b],
            Self::Branch(a, by) => vec![0x30 | a, by as u8],
            Self::Return => vec![0x01],
            Self::Mask => vec![0x02],
            Self::Unmask => vec![0x03],
            Self::Sleep => vec![0x04],
            Self::Break => vec![0x05],
        }
    }

    pub fn decode(bytes: [u8; 6]) -> Option<Self> {
        let [first, second, value @ ..] = bytes;
        let (a, b) = (second >> 4, second & 15);
        Some(match first {
            0x00 => Self::Nop,
            0x01 => Self::Return,
            0x02 => Self::Mask,
            0x03 => Self::Unmask,
            0x04 => Self::Sleep,
            0x05 => Self::Break,
            0x10 => Self::Set(second, u32::from_le_bytes(value)),
            0x20 => Self::Add(a, b),
            0x21 => Self::Multiply(a, b),
            0x22 => Self::Load(a, b),
            0x23 => Self::Store(a, b),
            0x30..0x40 => Self::Branch(first & 15, second as i8),
            _ => return None,
        })
    }

    pub fn size(self) -> u32 {
        self.encode().len() as u32
    }
}
