//! The instrumentation trace macrocell: stimulus ports by which programs print (DDI 0403, C1.7).
//!
//! On a board, a debug probe enables the macrocell, so firmware finds it enabled only with a probe
//! attached. Here the simulator listens: the macrocell is on at reset with every port enabled, so that
//! firmware which checks first prints as it would with a probe.

use std::collections::BTreeMap;

/// Offsets of registers from the first stimulus port.
const PORTS: u32 = 0x80;
const TER: u32 = 0xE00;
const TPR: u32 = 0xE40;
const TCR: u32 = 0xE80;
const LAR: u32 = 0xFB0;
const LSR: u32 = 0xFB4;
/// The key that unlocks writes to the control registers.
const KEY: u32 = 0xC5AC_CE55;
/// TCR: the enable bit, and the bits that can be written. BUSY is never set, because nothing is ever in
/// transit.
const ITMENA: u32 = 1;
const TCR_WRITABLE: u32 = 0x007F_0F1F;
/// The maximum number of bytes that a port keeps, so that a program cannot exhaust the host's memory.
const MAX_KEPT: usize = 1 << 20;

/// The privilege of the code that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Privileged,
    Unprivileged,
}

/// The state of the macrocell.
#[derive(Clone, Debug)]
pub struct Itm {
    enabled: u32,
    /// TPR: bit n keeps unprivileged code off ports 8n to 8n + 7.
    privileged: u32,
    control: u32,
    unlocked: bool,
    written: BTreeMap<u8, Vec<u8>>,
}

impl Default for Itm {
    fn default() -> Self {
        Self {
            enabled: u32::MAX,
            privileged: 0,
            control: ITMENA | 1 << 16,
            unlocked: false,
            written: BTreeMap::new(),
        }
    }
}

impl Itm {
    /// Reads the register at an offset; returns `None` where there is none.
    pub const fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            // FIFOREADY: an enabled port can always accept more.
            0..PORTS => self.is_on(offset / 4) as u32,
            TER => self.enabled,
            TPR => self.privileged,
            TCR => self.control,
            LSR => 1 | (!self.unlocked as u32) << 1,
            _ => return None,
        })
    }

    const fn is_on(&self, port: u32) -> bool {
        self.control & ITMENA != 0 && self.enabled >> port & 1 == 1
    }

    /// Writes the register at an offset; returns whether there is one. Writes that are not allowed are
    /// ignored.
    pub fn write(&mut self, offset: u32, bytes: &[u8], writer: Writer) -> bool {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let value = u32::from_le_bytes(word);
        let privileged = writer == Writer::Privileged;
        match offset {
            0..PORTS => {
                let port = offset / 4;
                if self.is_on(port) && (privileged || self.privileged >> (port / 8) & 1 == 0) {
                    let kept = self.written.entry(port as u8).or_default();
                    let room = MAX_KEPT.saturating_sub(kept.len());
                    kept.extend(&bytes[..bytes.len().min(room)]);
                }
            }
            TER if self.unlocked => {
                let mask = if privileged { u32::MAX } else { self.unprivileged_ports() };
                self.enabled = self.enabled & !mask | value & mask;
            }
            TPR if self.unlocked && privileged => self.privileged = value & 0xF,
            TCR if self.unlocked && privileged => self.control = value & TCR_WRITABLE,
            LAR if privileged => self.unlocked = value == KEY,
            TER | TPR | TCR | LAR | LSR => {}
            _ => return false,
        }
        true
    }

    /// Returns the ports that unprivileged code may use.
    const fn unprivileged_ports(&self) -> u32 {
        let mut ports = 0;
        let mut group = 0;
        while group < 4 {
            if self.privileged >> group & 1 == 0 {
                ports |= 0xFF << (8 * group);
            }
            group += 1;
        }
        ports
    }

    /// Takes what has been written to a port since the last call.
    pub fn take(&mut self, port: u8) -> Vec<u8> {
        self.written.remove(&port).unwrap_or_default()
    }
}
