//! The program's output, and texts at which a run must stop.

/// Printed bytes that have not been taken yet.
#[derive(Clone, Debug, Default)]
pub struct Console {
    printed: Vec<u8>,
    /// Texts that end the run when they are printed.
    awaited: Vec<Vec<u8>>,
    /// The newest bytes, as many as the longest of these texts has; empty if there are none.
    newest: Vec<u8>,
    /// The text that was printed first since this was last queried.
    found: Option<usize>,
}

impl Console {
    /// Stops the run when the program prints a text; returns the text's number. The empty text never stops
    /// a run.
    pub fn await_text(&mut self, text: &[u8]) -> usize {
        self.awaited.push(text.to_vec());
        self.awaited.len() - 1
    }

    pub fn push(&mut self, byte: u8) {
        self.printed.push(byte);
        if self.awaited.is_empty() {
            return;
        }
        let longest = self.awaited.iter().map(Vec::len).max().unwrap_or(0);
        self.newest.push(byte);
        let excess = self.newest.len().saturating_sub(longest);
        self.newest.drain(..excess);
        let is_printed = |text: &Vec<u8>| !text.is_empty() && self.newest.ends_with(text);
        if self.found.is_none() {
            self.found = self.awaited.iter().position(is_printed);
        }
    }

    pub fn extend(&mut self, bytes: impl AsRef<[u8]>) {
        if self.awaited.is_empty() {
            self.printed.extend_from_slice(bytes.as_ref());
        } else {
            bytes.as_ref().iter().for_each(|byte| self.push(*byte));
        }
    }

    /// Takes what was printed since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// Returns whether an awaited text has been printed.
    pub const fn has_found(&self) -> bool {
        self.found.is_some()
    }

    /// Returns which awaited text was printed, the first if there are several, and clears that.
    pub fn take_found(&mut self) -> Option<usize> {
        self.found.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awaited_text_is_found_across_writes_and_only_once() {
        let mut console = Console::default();
        console.extend(b"PASS");
        assert_eq!(console.take_found(), None);
        let (end, fail) = (console.await_text(b"PASSED"), console.await_text(b"FAIL"));
        console.await_text(b"");
        console.extend(b"PAPASS");
        assert!(!console.has_found());
        console.push(b'E');
        console.extend(b"D FAIL");
        assert_eq!((console.take_found(), console.take_found()), (Some(end), None));
        console.extend("FAIL");
        assert_eq!(console.take_found(), Some(fail));
        assert_eq!(console.take(), b"PASSPAPASSED FAILFAIL");
        assert!(console.take().is_empty());
    }
}
