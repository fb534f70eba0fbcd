//! Reads the lines of a log, whatever its origin: long lines are cut, invalid text is removed or, where it
//! touches a number, takes the number's place, and colours and loggers' prefixes are removed.
//!
//! This module knows nothing about the contents of lines.

use std::borrow::Cow;
use std::io::{self, BufRead};

use crate::form::form;

/// The longest line kept, in bytes; longer ones are truncated.
pub const LONGEST_LINE: usize = 1 << 20;

/// A line, ready to be examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// The text without colours and surrounding blanks.
    pub raw: String,
    /// The position in `raw` after loggers' prefixes.
    pub start: usize,
    /// The logger's name for the part of the program that printed the line.
    pub tag: Option<String>,
    /// Whether the line continued beyond [`LONGEST_LINE`].
    pub cut: bool,
    /// Whether the log ends in the line, before any line end.
    pub unended: bool,
    /// Whether noise damaged a number, so that [`DAMAGED`] is in its place.
    pub damaged: bool,
}

/// Stands for a number of which noise may have replaced digits. No reader takes it for one.
const DAMAGED: char = char::REPLACEMENT_CHARACTER;

impl Line {
    /// Returns the text after loggers' prefixes.
    pub fn text(&self) -> &str {
        self.raw.get(self.start..).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Bytes,
    Utf16Little,
    Utf16Big,
}

/// A reader of lines of bounded length.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    begun: bool,
    number: u64,
    line: Assembler,
}

/// A partially read line.
#[derive(Debug)]
struct Assembler {
    encoding: Encoding,
    /// The first byte of a UTF-16 unit whose second one has not arrived.
    half: Option<u8>,
    bytes: Vec<u8>,
    units: Vec<u16>,
    cut: bool,
    /// The end of the previous line, as long as nothing follows it.
    after: After,
}

/// What precedes the beginning of a line: line ends are often doubled in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Text,
    /// CR: one LF and further CRs belong to it.
    Return,
    /// LF: one CR belongs to it.
    Feed,
}

impl<R: BufRead> Lines<R> {
    /// Reads the lines of a reader.
    pub fn new(reader: R) -> Self {
        let line = Assembler {
            encoding: Encoding::Bytes,
            half: None,
            bytes: Vec::new(),
            units: Vec::new(),
            cut: false,
            after: After::Text,
        };
        Self { reader, begun: false, number: 0, line }
    }

    /// Returns the next line, or `None` at the end.
    ///
    /// # Errors
    /// When the reader fails.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if !self.begun {
                self.begun = true;
                let (encoding, mark) = encoding_of(bytes);
                self.line.encoding = encoding;
                self.reader.consume(mark);
                continue;
            }
            if bytes.is_empty() {
                self.line.half = None;
                return Ok(self.line.any().then(|| Line { unended: true, ..self.finish() }));
            }
            let end = bytes.iter().position(|&byte| self.line.push(byte));
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(self.finish()));
            }
        }
    }

    fn finish(&mut self) -> Line {
        self.number = self.number.saturating_add(1);
        let (text, cut) = self.line.take();
        Line { cut, ..cleaned(&text, self.number) }
    }
}

/// Detects UTF-16 by a byte order mark or by its zeros; returns the encoding with the mark's length. That of
/// UTF-8 is removed with other invisible characters.
fn encoding_of(head: &[u8]) -> (Encoding, usize) {
    let zeros_at = |odd: usize| {
        let half: Vec<_> = head.iter().take(64).skip(odd).step_by(2).collect();
        half.len() >= 2
            && half.iter().map(|byte| usize::from(**byte == 0)).sum::<usize>() * 10 > half.len() * 8
    };
    match head {
        [0xFF, 0xFE, ..] => (Encoding::Utf16Little, 2),
        [0xFE, 0xFF, ..] => (Encoding::Utf16Big, 2),
        _ if zeros_at(1) && !zeros_at(0) => (Encoding::Utf16Little, 0),
        _ if zeros_at(0) && !zeros_at(1) => (Encoding::Utf16Big, 0),
        _ => (Encoding::Bytes, 0),
    }
}

impl Assembler {
    /// Adds a byte; returns whether a line ended with it.
    fn push(&mut self, byte: u8) -> bool {
        let unit = match (self.encoding, self.half.take()) {
            (Encoding::Bytes, _) => u16::from(byte),
            (_, None) => {
                self.half = Some(byte);
                return false;
            }
            (Encoding::Utf16Little, Some(first)) => u16::from_le_bytes([first, byte]),
            (Encoding::Utf16Big, Some(first)) => u16::from_be_bytes([first, byte]),
        };
        let after = std::mem::take(&mut self.after);
        match (unit, after) {
            (10, After::Return) | (13, After::Feed) => {}
            (10, _) => {
                self.after = After::Feed;
                return true;
            }
            (13, After::Return) => self.after = After::Return,
            (13, After::Text) => {
                // A lone CR ends a line too, as it is used to show progress.
                self.after = After::Return;
                return true;
            }
            _ if self.bytes.len() + 2 * self.units.len() >= LONGEST_LINE => self.cut = true,
            _ if self.encoding == Encoding::Bytes => self.bytes.push(byte),
            _ => self.units.push(unit),
        }
        false
    }

    fn any(&self) -> bool {
        !self.bytes.is_empty() || !self.units.is_empty()
    }

    fn take(&mut self) -> (String, bool) {
        let text = if self.encoding == Encoding::Bytes {
            read_as_text(&self.bytes)
        } else {
            String::from_utf16_lossy(&self.units)
        };
        self.bytes.clear();
        self.units.clear();
        (text, std::mem::replace(&mut self.cut, false))
    }
}

/// Decodes bytes as text. Bytes that are not UTF-8 are noise of a serial line and become
/// [`char::REPLACEMENT_CHARACTER`], except for two that occur in Latin-1 pages.
fn read_as_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| match byte {
            0xA0 => ' ',
            0xB5 => '\u{b5}',
            _ => char::REPLACEMENT_CHARACTER,
        }));
    }
    text
}

/// Converts a character to what a terminal would have shown: pages and word processors use special
/// blanks and hyphens, and some invisible characters.
fn plain(character: char) -> Option<char> {
    Some(match character {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{3bc}' => '\u{b5}',
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => return None,
        other => other,
    })
}

form! {
    /// Colours and other terminal control sequences, and control characters.
    STEERING = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|[\x00-\x08\x0b-\x1f\x7f]";
}

form! {
    /// Noise with what it touches of a number, and control characters between digits. Noise elsewhere is
    /// dropped.
    NOISE = r"[0-9.eE+-]*\u{fffd}(?:[0-9.eE+-]|\u{fffd})*|[0-9][0-9.eE+-]*(?:[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]+[0-9.eE+-]*[0-9])+";
}

form! {
    /// Prefixes of loggers, one alternative for each.
    PREFIX = concat!(
        r"^(?:",
        // Times: [00:00:01.234,567], [  12.345], 2024-01-01T12:00:00.1Z, 12:00:00.123 ->
        r"\[[\d\s:.,/TZ+\u{fffd}-]*[\d\u{fffd}][\d\s:.,/TZ+\u{fffd}-]*\]",
        r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?:\s*(?:->|>|:))?",
        r"|\d\d:\d\d:\d\d[.,]\d+(?:\s*(?:->|>|:))?",
        // Zephyr's logger
        r"|<(?:inf|dbg|wrn|err)>(?:\s+(?P<zephyr>[\w./-]+):)?",
        // ESP-IDF's
        r"|[IWEDV] \([\d:.\s]+\) (?P<esp>[^\s:]+):",
        // sanitycheck and twister
        r"|(?:DEBUG|INFO|WARNING|ERROR)\s*-\s*(?:DEVICE|[\w./-]+):",
        r"|REC:",
        // RIOT's terminal and those of shells
        r"|(?:INFO|DEBUG|WARNING) # ",
        r"|uart:~\$|->|>",
        r")\s*"
    );
}

/// The largest number of prefixes of a line.
const MAX_PREFIXES: usize = 8;

fn cleaned(text: &str, number: u64) -> Line {
    let text = without_noise(text);
    let raw = STEERING.without(&text);
    let raw = if raw.is_ascii() { raw } else { raw.chars().filter_map(plain).collect() };
    let raw = raw.trim().to_owned();
    let (mut start, mut tag) = (0, None);
    for _ in 0..MAX_PREFIXES {
        let rest = raw.get(start..).unwrap_or_default();
        let Some(found) = PREFIX.find(rest) else { break };
        let named = [found.named("esp"), found.named("zephyr")].concat();
        tag = if named.is_empty() { tag } else { Some(named) };
        start += found.at(0).len();
    }
    let damaged = raw.get(start..).is_some_and(|text| text.contains(DAMAGED));
    Line { number, raw, start, tag, damaged, ..Line::default() }
}

/// Removes noise. A number that it touches is damaged: digits may be missing, so none of them is kept.
fn without_noise(text: &str) -> Cow<'_, str> {
    let is_clean = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
    if text.bytes().all(is_clean) {
        return Cow::Borrowed(text);
    }
    NOISE.replaced(text, |noise| {
        if noise.bytes().any(|byte| byte.is_ascii_digit()) {
            DAMAGED.to_string()
        } else {
            noise.replace(char::REPLACEMENT_CHARACTER, "")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(bytes);
        std::iter::from_fn(|| lines.next_line().expect("a slice never fails")).collect()
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines(bytes).iter().map(|line| line.text().to_owned()).collect()
    }

    #[test]
    fn every_line_end_ends_a_line_once() {
        assert_eq!(texts(b"a\nb\r\nc\rd\r\n\ne"), ["a", "b", "c", "d", "", "e"]);
        assert_eq!(lines(b"a\r\n\r\nb")[2].number, 3);
        let unended = |bytes| lines(bytes).iter().map(|line| line.unended).collect::<Vec<_>>();
        assert_eq!((unended(b"a\nb"), unended(b"a\nb\n")), (vec![false, true], vec![false; 2]));
        assert!(texts(b"").is_empty());
    }

    #[test]
    fn doubled_line_ends_end_one_line() {
        assert_eq!(texts(b"a\r\r\nb\r\r\n"), ["a", "b"]);
        assert_eq!(texts(b"a\n\rb\n\r"), ["a", "b"]);
        assert_eq!(texts(b"a\n\r\nb"), ["a", "", "b"], "a line of nothing is one");
    }

    #[test]
    fn web_page_text_parses_like_terminal_text() {
        let text =
            "\u{a0}fifo.get \u{2013}\u{202f}x\u{a0}:\u{2003}5\u{200b} cycles\u{ad}".as_bytes();
        assert_eq!(texts(text), ["fifo.get - x : 5 cycles"]);
    }

    #[test]
    fn encodings_are_recognised() {
        let utf16: Vec<u16> = "caf\u{e9} 1\r\n\u{1d11e}x\n".encode_utf16().collect();
        let little: Vec<u8> = utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let expected = ["caf\u{e9} 1", "\u{1d11e}x"];
        assert_eq!(texts(&[&[0xFF, 0xFE], &little[..]].concat()), expected);
        assert_eq!(texts(&[&[0xFE, 0xFF], &big[..]].concat()), expected);
        assert_eq!(texts(&little), expected);
        assert_eq!(texts(&big), expected);
        assert_eq!(texts(&[&[0xEF, 0xBB, 0xBF], &b"a"[..]].concat()), ["a"]);
        assert_eq!(texts(b"a\xff\xfeb"), ["ab"], "noise");
        assert_eq!(texts(b"1\xa0\xb5s"), ["1 \u{b5}s"], "Latin-1");
        // Half a unit at the end is ignored.
        assert_eq!(texts(&[0xFF, 0xFE, b'a', 0, b'b']), ["a"]);
    }

    /// A serial line that is opened amid a transmission delivers some.
    #[test]
    fn a_few_zeros_are_noise() {
        let text = "unpend  132 ready  257 switch  278 pend  321 tot  988 (avg  988)";
        for (noise, shown) in [
            (&b"a\0b\0c\0d\0e\0"[..], "abcde"),
            (b"\0a\0b\0c\0d\0e ", "abcde "),
            (b"\0\0\0\0\0\0", ""),
        ] {
            let bytes = [noise, text.as_bytes()].concat();
            assert_eq!(texts(&bytes), [format!("{shown}{text}")]);
        }
    }

    #[test]
    fn noise_at_a_number_takes_its_place() {
        let text = |bytes: &[u8]| {
            let lines = lines(bytes);
            (lines[0].text().to_owned(), lines[0].damaged)
        };
        let damaged = |text: &str| (text.to_owned(), true);
        assert_eq!(text(b"avg 1\xff39 ns"), damaged("avg \u{fffd} ns"));
        assert_eq!(text(b"avg 1.\xff\xfe39 ns"), damaged("avg \u{fffd} ns"));
        assert_eq!(text(b"a,\xff139,7"), damaged("a,\u{fffd},7"));
        assert_eq!(text(b"a,139\xff"), damaged("a,\u{fffd}"));
        assert_eq!(text(b"a,5e\xff-05,7"), damaged("a,\u{fffd},7"));
        assert_eq!(text("a,1\u{fffd}39".as_bytes()), damaged("a,\u{fffd}"), "by a terminal");
        assert_eq!(text(b"a,1\x0039,1\x08 2"), damaged("a,\u{fffd},1 2"));
        for (bytes, whole) in [
            (&b"Cr\xffeate.\xff : 139 \xff ns"[..], "Create. : 139  ns"),
            (b"\x1b[1m139\x1b[0m\x1b[2m7", "1397"),
            (b"1\xa0000", "1 000"),
            (b"\x0c12 \x07", "12"),
            (b"[00:00:01\xff.234,567] <inf> x: 5", "5"),
        ] {
            assert_eq!(text(bytes), (whole.to_owned(), false));
        }
    }

    #[test]
    fn long_lines_are_truncated_and_marked() {
        let mut bytes = vec![b'x'; LONGEST_LINE + 10];
        bytes.extend(b"\nnext");
        let lines = lines(&bytes);
        assert_eq!((lines[0].raw.len(), lines[0].cut), (LONGEST_LINE, true));
        assert_eq!((lines[1].text(), lines[1].cut), ("next", false));
    }

    #[test]
    fn logger_prefixes_are_stripped() {
        for (line, text) in [
            ("\u{1b}[0;32mI (123) bench: x: 1\u{1b}[0m", "x: 1"),
            ("[00:00:01.234,567] <inf> app: row", "row"),
            ("[   12.345678] row", "row"),
            ("2024-05-06T07:08:09.1234567Z row", "row"),
            ("12:34:56.789 -> row", "row"),
            ("DEBUG   - DEVICE: row", "row"),
            ("INFO    - /dev/ttyACM0: REC: row", "row"),
            ("2024-01-02 03:04:05,678 # row", "# row"),
            ("uart:~$ row", "row"),
            ("[Performance][x]: 1", "[Performance][x]: 1"),
            ("T: 0 (  1) P:80", "T: 0 (  1) P:80"),
            ("12: 34: 56", "12: 34: 56"),
        ] {
            assert_eq!(texts(line.as_bytes()), [text], "{line:?}");
        }
        assert_eq!(lines(b"I (7) bench: x")[0].tag.as_deref(), Some("bench"));
    }
}
