//! The program's console output, as of any moment.

/// How much is kept, in bytes, so that no program can fill the memory by printing.
const KEPT: usize = 4 << 20;
/// How much is shown for a moment, in bytes.
const SHOWN: usize = 32 << 10;

/// Everything printed up to the furthest moment.
#[derive(Debug, Default)]
pub struct Console {
    /// The beginning of the output.
    kept: Vec<u8>,
    /// The total number of bytes.
    total: usize,
    /// What has been printed since the last request.
    new: Vec<u8>,
}

impl Console {
    /// Adds output that the program printed after it had printed `before` bytes. Repeating a part of
    /// the run prints the same again.
    pub fn printed(&mut self, before: usize, bytes: &[u8]) {
        let new = bytes.get(self.total.saturating_sub(before)..).unwrap_or_default();
        self.total += new.len();
        let room = KEPT.saturating_sub(self.kept.len()).min(new.len());
        self.kept.extend_from_slice(&new[..room]);
        self.new.extend_from_slice(new);
    }

    /// Takes the new output.
    pub fn take_new(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.new)).into_owned()
    }

    /// Returns the end of the output when it had this many bytes.
    pub fn until(&self, count: usize) -> String {
        let all = &self.kept[..count.min(self.kept.len())];
        let mut text =
            String::from_utf8_lossy(&all[all.len().saturating_sub(SHOWN)..]).into_owned();
        if count > self.kept.len() {
            text.push_str("\n[output from that time was not kept]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replayed_output_is_not_reported_as_new() {
        let mut console = Console::default();
        console.printed(0, b"one ");
        console.printed(4, b"two ");
        assert_eq!(console.take_new(), "one two ");
        console.printed(0, b"one two ");
        console.printed(4, b"two three");
        assert_eq!((console.take_new(), console.until(4)), ("three".into(), "one ".into()));
    }

    #[test]
    fn console_history_is_bounded() {
        let mut console = Console::default();
        for at in 0..9 {
            console.printed(at << 20, &vec![b'x'; 1 << 20]);
            console.take_new();
        }
        assert_eq!(console.kept.len(), KEPT);
        assert!(console.until(9 << 20).ends_with("not kept]\n"));
    }
}
