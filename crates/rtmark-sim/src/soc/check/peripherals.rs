//! The constraints on the keys of a peripheral that only some kinds have.

use super::{Checked, EXTI_LINES, KeyStep, refuse};
use crate::soc::{Peripheral, PeripheralKind, Soc};

/// Refuses keys that would have no effect, because the peripheral's kind does not look at them.
pub(super) fn check_options(
    peripheral: &Peripheral,
    path: impl Fn(&'static str) -> [KeyStep; 3],
) -> Checked {
    use PeripheralKind::{
        CadenceUart, NrfTimer, NrfUarte, Pl011, Registers, Stm32ExtiV1, Stm32Lpuart, Stm32RtcV2,
        Stm32Timer, Stm32UsartV2,
    };
    let Peripheral { name, kind, .. } = peripheral;
    let outputs = kind.outputs();
    if peripheral.irq.len() > outputs {
        let has = match outputs {
            0 => "its kind raises no interrupts".to_owned(),
            1 => "its kind has one interrupt".to_owned(),
            several => format!("its kind has {several} interrupts"),
        };
        let message = format!("peripheral {name}: {} in irq: {has}", peripheral.irq.len());
        return refuse(&path("irq"), message);
    }
    let counts = kind.channel_counts();
    let guards = peripheral.registers.iter().any(|register| register.guarded != 0);
    let wrong = if peripheral.counter_bits.is_some() && !matches!(kind, Stm32Timer | NrfTimer) {
        ("counter_bits", "counter_bits is for kind = \"stm32-timer\" and \"nrf-timer\"".to_owned())
    } else if !matches!(peripheral.counter_bits, None | Some(16 | 24 | 32)) {
        ("counter_bits", "counter_bits is 16, 24 or 32".to_owned())
    } else if peripheral.repetition_counter.is_some() && *kind != Stm32Timer {
        ("repetition_counter", "repetition_counter is for kind = \"stm32-timer\"".to_owned())
    } else if peripheral.counts.is_some() != kind.has_own_clock() {
        (
            "counts",
            "counts is for real-time clocks and IWDGs of STM32, UARTs of SAM, UARTs and timers of i.MX, watchdogs of RP2, which need it"
                .to_owned(),
        )
    } else if peripheral.writable_by.is_some() && !kind.is_real_time_clock() && *kind != Registers {
        ("writable_by", "writable_by is for registers and real-time clocks of STM32".to_owned())
    } else if peripheral.resets_core_by.is_some() && !kind.is_rp_watchdog() {
        ("resets_core_by", "resets_core_by is for watchdogs of RP2040 and RP2350".to_owned())
    } else if peripheral.writable_by.is_none() && guards {
        ("register", "guarded is for a block with writable_by".to_owned())
    } else if peripheral.wakeup_timer.is_some() && !kind.has_calendar() {
        ("wakeup_timer", "wakeup_timer is for real-time clocks with a calendar".to_owned())
    } else if peripheral.backup_registers.is_some() && *kind != Stm32RtcV2 {
        ("backup_registers", "backup_registers is for kind = \"stm32-rtc-v2\"".to_owned())
    } else if peripheral.backup_registers.is_some_and(|count| count > 32) {
        ("backup_registers", "there are at most 32 backup_registers".to_owned())
    } else if !peripheral.lines.is_empty() && peripheral.irq.len() < EXTI_LINES.into() {
        ("lines", "lines is for an EXTI with the interrupts of all pins".to_owned())
    } else if peripheral.direct_lines.is_some() && *kind != Stm32ExtiV1 {
        ("direct_lines", "direct_lines is for kind = \"stm32-exti-v1\"".to_owned())
    } else if peripheral.enabled && *kind != CadenceUart {
        ("enabled", "enabled is for kind = \"cadence-uart\"".to_owned())
    } else if let Some(channels) = peripheral.channels
        && !counts.contains(&channels)
    {
        let message = match counts {
            [fewer @ .., most] => {
                let fewer = fewer.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
                format!("channels = {channels}: its kind has {fewer} or {most}")
            }
            [] => {
                "channels is for nrf-timer, nrf-rtc, nrf-gpiote, nrf-ppi, stm32-timer, stm32-rtc-v2 and -v3, stm32-dma-channels"
                    .to_owned()
            }
        };
        ("channels", message)
    } else if peripheral.dma_bits.is_some() && *kind != NrfUarte {
        ("dma_bits", "dma_bits is for kind = \"nrf-uarte\"".to_owned())
    } else if !matches!(peripheral.dma_bits, None | Some(8 | 16)) {
        ("dma_bits", "dma_bits is 8 or 16".to_owned())
    } else if peripheral.fifo.is_some() && !matches!(kind, Pl011 | Stm32UsartV2 | Stm32Lpuart) {
        let message = "fifo is for kind = \"pl011\", \"stm32-usart-v2\" or \"stm32-lpuart\"";
        ("fifo", message.to_owned())
    } else if peripheral.input.is_some() && !kind.is_spi() {
        ("input", "input is for kind = \"stm32-spi-v1\" and \"stm32-spi-v2\"".to_owned())
    } else if *kind != Registers && peripheral.nonvolatile {
        ("nonvolatile", "nonvolatile is for kind = \"registers\"".to_owned())
    } else if *kind != Registers && peripheral.like.is_some() {
        ("like", "like is for kind = \"registers\"".to_owned())
    } else if *kind != Registers && !peripheral.registers.is_empty() {
        let message =
            "[[peripheral.register]] is for kind = \"registers\"; other kinds know their own";
        ("register", message.to_owned())
    } else if let Some(slow) = peripheral.slow_read
        && (!slow.offset.is_multiple_of(4) || slow.offset >= peripheral.extent())
    {
        let (offset, extent) = (slow.offset, peripheral.extent());
        let message =
            format!("slow_read: offset {offset:#x} is not a multiple of 4 below {extent:#x}");
        ("slow_read", message)
    } else {
        return Ok(());
    };
    refuse(&path(wrong.0), format!("peripheral {name}: {}", wrong.1))
}

impl Soc {
    /// Refuses a clock that the tree does not have, and lines of EXTI that nothing drives.
    pub(super) fn check_sources(
        &self,
        peripheral: &Peripheral,
        path: impl Fn(&'static str) -> [KeyStep; 3],
    ) -> Checked {
        let Peripheral { name, counts, lines, .. } = peripheral;
        let is_clock = |wanted: &String| {
            let mut clocks = self.clock_tree.iter().flat_map(|tree| &tree.clocks);
            clocks.any(|clock| clock.name == *wanted)
        };
        if let Some(counts) = counts.as_ref().filter(|counts| !is_clock(counts)) {
            let message =
                format!("peripheral {name} counts {counts}: clock_tree has no such clock");
            return refuse(&path("counts"), message);
        }
        for (at, line) in lines.iter().enumerate() {
            let source = self.peripherals.iter().find(|source| source.name == line.of);
            let wrong = if !(EXTI_LINES..32).contains(&line.line) {
                format!("those of other peripherals are {EXTI_LINES} to 31")
            } else if lines[..at].iter().any(|other| other.line == line.line) {
                "it is there twice".to_owned()
            } else if source.and_then(|source| source.kind.output(line.output)).is_none() {
                format!("{} is no peripheral with such an output", line.of)
            } else if line.irq >= self.interrupts {
                format!("there is no interrupt {}", line.irq)
            } else {
                continue;
            };
            let message = format!("peripheral {name}, line {}: {wrong}", line.line);
            return refuse(&path("lines"), message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCKS: &str = "[clock_tree]\ncore = 'HSI'\nclock = [{ name = 'HSI', hz = 1000 }]\n";
    const LINE: &str = "{ line = 17, of = 'RTC', output = 'alarm', irq = 3 }";

    fn refusal(rtc: &str, lines: &str, clocks: &str) -> Option<String> {
        let pins = "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0";
        let text = format!(
            "name = 'x'\ndescription = 'd'\ncore = 'cortex-m3'\nclock_hz = 1000\ninterrupts = 32\n\
             priority_bits = 3\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\nsize = 1024\n\
             [[peripheral]]\nname = 'EXTI'\nkind = 'stm32-exti-v1'\nbase = 0x40000000\n\
             irq = [{pins}]\nlines = [{lines}]\n\
             [[peripheral]]\nname = 'RTC'\nkind = 'stm32-rtc-v1'\nbase = 0x40001000\n{rtc}\n{clocks}"
        );
        Soc::from_toml(&text).err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn real_time_clocks_and_lines_name_what_there_is() {
        assert_eq!(refusal("counts = 'HSI'", LINE, CLOCKS), None);
        let wrong = [
            ("", LINE, CLOCKS, "counts is for real-time clocks and IWDGs of STM32"),
            ("counts = 'LSE'", LINE, CLOCKS, "RTC counts LSE: clock_tree has no such clock"),
            ("counts = 'HSI'", LINE, "", "clock_tree has no such clock"),
            ("counts = 'HSI'\nwakeup_timer = false", LINE, CLOCKS, "clocks with a calendar"),
            (
                "counts = 'HSI'\nbackup_registers = 3",
                LINE,
                CLOCKS,
                "is for kind = \"stm32-rtc-v2\"",
            ),
            ("counts = 'HSI'\ndirect_lines = 3", LINE, CLOCKS, "is for kind = \"stm32-exti-v1\""),
            (
                "counts = 'HSI'\nwritable_by = 'RTC.CRL[0]'",
                LINE,
                CLOCKS,
                "RTC.CRL[0] is no register",
            ),
            ("counts = 'HSI'\nchannels = 1", LINE, CLOCKS, "channels is for nrf-timer"),
        ];
        for (rtc, lines, clocks, why) in wrong {
            let refusal = refusal(rtc, lines, clocks).expect(why);
            assert!(refusal.contains(why), "{refusal}");
        }
        let lines = [
            (LINE.replace("17", "15"), "those of other peripherals are 16 to 31"),
            (format!("{LINE}, {LINE}"), "it is there twice"),
            (LINE.replace("'RTC'", "'EXTI'"), "EXTI is no peripheral with such an output"),
            (LINE.replace("'alarm'", "'wake-up'"), "RTC is no peripheral with such an output"),
            (LINE.replace("irq = 3", "irq = 32"), "there is no interrupt 32"),
        ];
        for (lines, why) in lines {
            let refusal = refusal("counts = 'HSI'", &lines, CLOCKS).expect(why);
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
