//! The display names of kernels in a report, and the colour, dash and mark of each.

use rtmark_model::KernelId;

use crate::matrix::FLOOR;

/// The number of looks. The first is reserved for the floor.
pub const KERNEL_STYLES: usize = 8;

/// The kernels with fixed looks, in the order of their looks.
const KNOWN: [&str; 6] = [FLOOR, "freertos", "embassy", "rtic", "lilos", "ring"];

/// Returns a kernel's name as people write it.
pub fn written(kernel: &str) -> &str {
    match kernel {
        "freertos" => "FreeRTOS",
        "embassy" => "Embassy",
        "rtic" => "RTIC",
        other => other,
    }
}

/// The look of each kernel on a page, which is the same in all charts and tables.
#[derive(Clone, Debug, Default)]
pub struct KernelStyles(Vec<String>);

impl KernelStyles {
    /// Assigns looks to these kernels.
    pub fn of<'a>(kernels: impl IntoIterator<Item = &'a KernelId>) -> Self {
        let mut others: Vec<String> = Vec::new();
        for kernel in kernels {
            let (kernel, known) = (kernel.as_str(), KNOWN.contains(&kernel.as_str()));
            if !known && !others.iter().any(|other| other == kernel) {
                others.push(kernel.to_owned());
            }
        }
        // Sorted by name, so that it does not depend on which runs are shown.
        others.sort_unstable();
        Self(others)
    }

    /// Returns the number of a kernel's look.
    pub fn number(&self, kernel: &str) -> usize {
        if let Some(at) = KNOWN.iter().position(|known| *known == kernel) {
            return at;
        }
        let at = self.0.iter().position(|other| other == kernel).unwrap_or(0);
        let free = KERNEL_STYLES - KNOWN.len();
        if at < free { KNOWN.len() + at } else { 1 + (at - free) % (KERNEL_STYLES - 1) }
    }

    /// Returns the CSS class of a kernel's look.
    pub fn class(&self, kernel: &str) -> String {
        format!("k{}", self.number(kernel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_style_does_not_depend_on_other_kernels() {
        let ids = |names: &[&str]| -> Vec<KernelId> {
            names.iter().map(|name| name.parse().expect("a name")).collect()
        };
        let (few, many) = (ids(&["lilos"]), ids(&["zephyr", "embassy", "chibios", "lilos"]));
        let (few, many) = (KernelStyles::of(&few), KernelStyles::of(&many));
        assert_eq!(few.number("lilos"), many.number("lilos"));
        assert_eq!((many.number("chibios"), many.number("zephyr")), (6, 7));
        let crowd: Vec<String> = (0..40).map(|number| format!("own{number}")).collect();
        let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
        let ids = ids(&crowd);
        let styles = KernelStyles::of(&ids);
        for kernel in crowd {
            assert!(
                (1..KERNEL_STYLES).contains(&styles.number(kernel)),
                "{kernel}: the floor's is its own"
            );
        }
    }
}
