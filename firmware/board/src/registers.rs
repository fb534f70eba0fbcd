//! A result that is complete before a probe, and used behind it.

use core::arch::asm;

/// A number that fits into registers.
pub trait InRegisters: Copy {
    /// Returns it. To be inlined.
    fn kept(self) -> Self;
}

impl InRegisters for u32 {
    // Comments, of which the compiler knows that they have no length, but not that they change nothing.
    #[inline(always)]
    fn kept(self) -> Self {
        let mut word = self as usize;
        #[cfg(target_arch = "arm")]
        // SAFETY: it is a comment.
        unsafe {
            asm!("@ {}", inout(reg) word, options(nomem, nostack, preserves_flags));
        }
        #[cfg(target_arch = "riscv32")]
        // SAFETY: it is a comment.
        unsafe {
            asm!("# {}", inout(reg) word, options(nomem, nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: it is a comment.
        unsafe {
            asm!("// {}", inout(reg) word, options(nomem, nostack, preserves_flags));
        }
        word as Self
    }
}

impl InRegisters for u64 {
    #[inline(always)]
    fn kept(self) -> Self {
        let low = (self as u32).kept();
        let high = ((self >> 32) as u32).kept();
        Self::from(high) << 32 | Self::from(low)
    }
}

/// Returns a number that has been computed by here, and that nothing has been done with yet: between this and a
/// probe, before it and behind it, the compiler moves no work to the other side. It costs nothing, whereas
/// [`core::hint::black_box`] stores the number and loads it again.
#[inline(always)]
pub fn in_registers<N: InRegisters>(number: N) -> N {
    number.kept()
}
