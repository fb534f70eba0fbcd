//! What kernels are called in a report, and which colour, dash and mark each has there.

use rtmark_model::KernelId;

use crate::matrix::FLOOR;

/// How many looks there are. The first is the floor's alone.
pub const LOOKS: usize = 8;

/// Those that always look the same, in the order of their looks.
const KNOWN: [&str; 6] = [FLOOR, "freertos", "embassy", "rtic", "lilos", "evloop"];

/// A kernel as people write it.
pub fn written(kernel: &str) -> &str {
    match kernel {
        "freertos" => "FreeRTOS",
        "embassy" => "Embassy",
        "rtic" => "RTIC",
        other => other,
    }
}

/// Which look each kernel of a page has: the same in each of its charts and tables.
#[derive(Clone, Debug, Default)]
pub struct Looks(Vec<String>);

impl Looks {
    /// The looks of these kernels.
    pub fn of<'a>(kernels: impl IntoIterator<Item = &'a KernelId>) -> Self {
        let mut others: Vec<String> = Vec::new();
        for kernel in kernels {
            let (kernel, known) = (kernel.as_str(), KNOWN.contains(&kernel.as_str()));
            if !known && !others.iter().any(|other| other == kernel) {
                others.push(kernel.to_owned());
            }
        }
        // By name, so that it does not depend on which runs are shown.
        others.sort_unstable();
        Self(others)
    }

    /// The number of a kernel's look.
    pub fn number(&self, kernel: &str) -> usize {
        if let Some(at) = KNOWN.iter().position(|known| *known == kernel) {
            return at;
        }
        let at = self.0.iter().position(|other| other == kernel).unwrap_or(0);
        let free = LOOKS - KNOWN.len();
        if at < free { KNOWN.len() + at } else { 1 + (at - free) % (LOOKS - 1) }
    }

    /// The class of what looks like a kernel.
    pub fn class(&self, kernel: &str) -> String {
        format!("k{}", self.number(kernel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_looks_the_same_whatever_is_beside_it() {
        let ids = |names: &[&str]| -> Vec<KernelId> {
            names.iter().map(|name| name.parse().expect("a name")).collect()
        };
        let (few, many) = (ids(&["lilos"]), ids(&["zephyr", "embassy", "chibios", "lilos"]));
        let (few, many) = (Looks::of(&few), Looks::of(&many));
        assert_eq!(few.number("lilos"), many.number("lilos"));
        assert_eq!((many.number("chibios"), many.number("zephyr")), (6, 7));
        let crowd: Vec<String> = (0..40).map(|number| format!("own{number}")).collect();
        let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
        let ids = ids(&crowd);
        let looks = Looks::of(&ids);
        for kernel in crowd {
            assert!((1..LOOKS).contains(&looks.number(kernel)), "{kernel}: the floor's is its own");
        }
    }
}
