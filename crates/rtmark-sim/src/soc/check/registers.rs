//! The constraints on the registers that a soc file describes.

use super::{Checked, EXTI_LINES, KeyStep, is_field, refuse};
use crate::soc::peripheral::{
    ActHow, Follow, FollowHow, Peripheral, PeripheralClock, PeripheralRegister, Routes,
};
use crate::soc::{Control, MemoryKind, PeripheralKind, Soc};

/// Refuses pins that no register can show.
pub(super) fn check_pins(peripheral: &Peripheral, path: &[KeyStep]) -> Checked {
    let name = &peripheral.name;
    for pins in &peripheral.pins {
        let wrong = match (peripheral.kind, &pins.register) {
            _ if !(1..=32).contains(&pins.count) => "count is 1 to 32",
            _ if pins.name.is_empty() || pins.name.ends_with(|it: char| it.is_ascii_digit()) => {
                "name is the prefix of the pins' numbers, such as PA"
            }
            (PeripheralKind::Registers, Some(shows)) if peripheral.has_register(shows) => continue,
            (PeripheralKind::Registers, _) => "register must name a register of the block",
            (kind, register) if kind.determines_its_pins() => match register {
                None => continue,
                Some(_) => "leave out register, which its kind determines",
            },
            _ => {
                "they are for kinds that have some: registers, nrf-gpio, rp2040-sio, rp2350-sio, rp2040-io-bank, \
                 rp2350-io-bank"
            }
        };
        return refuse(path, format!("peripheral {name}, pins {}: {wrong}", pins.name));
    }
    Ok(())
}

/// Refuses resistors that no register switches.
fn check_pulls(
    peripheral: &Peripheral,
    register: &PeripheralRegister,
    path: impl Fn(&'static str) -> [KeyStep; 5],
) -> Checked {
    let name = &register.name;
    let mut pulled = register.pulled.iter().flat_map(|it| [&it.mode, &it.pull]);
    if let Some(wanted) = pulled.find(|wanted| !peripheral.has_register(wanted)) {
        let message = format!("register {name}: {wanted} is not a register of the block");
        return refuse(&path("pulled"), message);
    }
    if register.pulls_up.is_some_and(|it| it.pin > 63 || it.bit > 31) {
        return refuse(
            &path("pulls_up"),
            format!("register {name}: pins are 0 to 63, bits 0 to 31"),
        );
    }
    Ok(())
}

/// Refuses locks that no register holds.
fn check_locks(
    peripheral: &Peripheral,
    register: &PeripheralRegister,
    path: &[KeyStep],
) -> Checked {
    let fits = |lock: &Follow| {
        let is_there = |wanted: &String| peripheral.has_register(wanted);
        is_field(lock.bit, lock.width)
            && is_field(lock.of, 1)
            && matches!(lock.how, FollowHow::Equal | FollowHow::Inverse)
            && lock.register.as_ref().is_none_or(is_there)
    };
    if register.locks.iter().all(fits) {
        return Ok(());
    }
    refuse(
        path,
        format!(
            "register {}: locks takes a field, a bit `of` a register of the block, and no how but \"inverse\"",
            register.name
        ),
    )
}

/// Refuses fields that select ports of lines that EXTI does not have.
fn check_routes(register: &PeripheralRegister, path: &[KeyStep]) -> Checked {
    let Some(Routes { first, count, width }) = register.routes else { return Ok(()) };
    let fits = width >= 1 && count >= 1 && u32::from(count) * u32::from(width) <= 32;
    if fits && u32::from(first) + u32::from(count) <= u32::from(EXTI_LINES) {
        return Ok(());
    }
    refuse(
        path,
        format!(
            "register {}: routes takes the first of EXTI's {EXTI_LINES} lines, and fields that fit \
             32 bits",
            register.name
        ),
    )
}

impl Soc {
    pub(super) fn check_register(
        &self,
        peripheral: &Peripheral,
        register: &PeripheralRegister,
        index: usize,
        path: impl Fn(&'static str) -> [KeyStep; 5],
    ) -> Checked {
        let name = &register.name;
        let extent = if peripheral.atomic_aliases { 0x1000 } else { peripheral.extent() };
        if !register.offset.is_multiple_of(4) || register.offset >= extent {
            return refuse(
                &path("offset"),
                format!(
                    "register {name}: offset {:#x} is not a multiple of 4 below {extent:#x}",
                    register.offset
                ),
            );
        }
        let others = &peripheral.registers[..index];
        if let Some(other) = others.iter().find(|o| o.offset == register.offset || o.name == *name)
        {
            return refuse(
                &path("offset"),
                format!(
                    "register {name} at {:#x}: {} at {:#x} has the same name or offset",
                    register.offset, other.name, other.offset
                ),
            );
        }
        let exists = |wanted: &str| peripheral.has_register(wanted);
        for follow in &register.follows {
            let of_width = if follow.how == FollowHow::OneHot { 5 } else { 32 };
            if !is_field(follow.bit, follow.width)
                || !is_field(follow.of, follow.width)
                || follow.width > of_width
            {
                return refuse(
                    &path("follows"),
                    format!(
                        "register {name}: a field of {} bits at bit {} that follows bit {} does not \
                         fit 32 bits",
                        follow.width, follow.bit, follow.of
                    ),
                );
            }
            if let Some(wanted) = follow.register.as_deref().filter(|wanted| !exists(wanted)) {
                return refuse(
                    &path("follows"),
                    format!(
                        "register {name} follows {wanted}, which is not a register of the block"
                    ),
                );
            }
        }
        check_pulls(peripheral, register, &path)?;
        for act in &register.acts {
            if !is_field(act.bit, act.width) {
                return refuse(
                    &path("acts"),
                    format!(
                        "register {name}: {} bits from bit {} do not fit into a word",
                        act.width, act.bit
                    ),
                );
            }
            if !exists(&act.on) {
                return refuse(
                    &path("acts"),
                    format!(
                        "register {name} acts on {}, which is not a register of the block",
                        act.on
                    ),
                );
            }
            if act.value.is_some() && act.how == ActHow::Flip {
                return refuse(
                    &path("acts"),
                    format!(
                        "register {name}: a value is for how = \"store\", \"set\" or \"clear\""
                    ),
                );
            }
        }
        for scale in &register.scales {
            let width = if scale.clock == PeripheralClock::Ahb { 4 } else { 3 };
            if !is_field(scale.bit, width) || scale.clock == PeripheralClock::Core {
                return refuse(
                    &path("scales"),
                    format!(
                        "register {name}: scales takes the lowest of three bits and the clock \
                         apb1 or apb2 (or apb4, or of four bits and ahb)"
                    ),
                );
            }
        }
        check_locks(peripheral, register, &path("locks"))?;
        check_routes(register, &path("routes"))?;
        self.check_flash_writes(peripheral, register, &path)?;
        match &register.controls {
            Some(control) => self.check_control(name, control, &path("controls")),
            None => Ok(()),
        }
    }

    /// Refuses a register that programs or erases anything other than a flash of this soc.
    fn check_flash_writes(
        &self,
        peripheral: &Peripheral,
        register: &PeripheralRegister,
        path: impl Fn(&'static str) -> [KeyStep; 5],
    ) -> Checked {
        let name = &register.name;
        let exists = |wanted: &str| peripheral.has_register(wanted);
        let programs = register.programs.iter().map(|it| (&it.memory, is_field(it.bit, it.width)));
        let erases = register.erases.iter().map(|erase| {
            let pages = erase.pages.iter().all(|size| *size >= 64 && size.is_multiple_of(64));
            let number = erase.number.is_none_or(|(bit, width)| is_field(bit, width));
            let mut bits = [erase.start, erase.one, erase.all].into_iter().flatten();
            let bits = bits.all(|bit| is_field(bit, 1));
            let address = erase.address.as_deref().is_none_or(exists);
            (&erase.memory, pages && !erase.pages.is_empty() && number && bits && address)
        });
        for (wanted, makes_sense) in programs.chain(erases) {
            let flash = self.memories.iter().filter(|memory| memory.kind == MemoryKind::Flash);
            if !makes_sense || !flash.into_iter().any(|memory| memory.name == *wanted) {
                return refuse(
                    &path(if register.programs.is_some() { "programs" } else { "erases" }),
                    format!(
                        "register {name}: programs and erases take a [[memory]] of kind = \"flash\", \
                         fields of a word, pages of multiples of 64 bytes, and a register of the block"
                    ),
                );
            }
        }
        Ok(())
    }

    fn check_control(&self, name: &str, control: &Control, path: &[KeyStep]) -> Checked {
        if !self.memories.iter().any(|memory| memory.name == control.memory) {
            return refuse(
                path,
                format!(
                    "register {name} controls {}, which is not a [[memory]] of this soc; it has {}",
                    control.memory,
                    self.memory_map()
                ),
            );
        }
        let bits = [
            control.prefetch,
            control.instruction_cache,
            control.data_cache,
            control.cache,
            control.empty_instruction_cache,
            control.empty_data_cache,
            control.empty_cache,
        ];
        let (bit, width) = control.wait_states.unwrap_or((0, 1));
        if bits.iter().flatten().any(|bit| *bit > 31) || !is_field(bit, width) || width > 8 {
            return refuse(
                path,
                format!("register {name}: bits are 0 to 31, wait_states takes up to 8 of them"),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_name_a_register_of_the_block() {
        let text = "name = 'x'\ndescription = 'd'\ncore = 'cortex-m0plus'\nclock_hz = 1000\n\
            interrupts = 32\npriority_bits = 2\n[[memory]]\nname = 'RAM'\nkind = 'ram'\nbase = 0\n\
            size = 64\n[[peripheral]]\nname = 'RCC'\nkind = 'registers'\nbase = 0x40000000\n\
            [[peripheral.register]]\nname = 'CR'\noffset = 0\n[[peripheral.register]]\nname = 'PLL'\n\
            offset = 4\nlocks = [{ bit = 0, of = 1, register = 'CR' }]\n";
        Soc::from_toml(text).expect("good");
        let wrong = [
            ("'CR' }", "'CFGR' }"),
            ("bit = 0", "bit = 32"),
            ("of = 1", "of = 32"),
            ("of = 1", "of = 1, how = 'one-hot'"),
            ("of = 1", "of = 1, how = 'or'"),
        ];
        for (good, bad) in wrong {
            let refusal = Soc::from_toml(&text.replace(good, bad)).expect_err(bad).to_string();
            assert!(refusal.contains("line 22: register PLL: locks takes a field"), "{refusal}");
        }
        Soc::from_toml(&text.replace("of = 1", "of = 1, how = 'inverse'")).expect("good");
    }
}
