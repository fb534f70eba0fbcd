//! Makes text from outside safe to display.

/// Returns the text with every control character except line feed and tab made visible, so that the
/// output of firmware cannot control a terminal. Bytes that are not UTF-8 become replacement
/// characters.
///
/// ```
/// assert_eq!(rtmark_model::visible(b"\x1b[2Jok\r\n\xff"), "\\u{1b}[2Jok\n\u{fffd}");
/// ```
pub fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Nearly every text is plain.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.into_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            // The usual line ending of serial consoles.
            '\r' if characters.peek() == Some(&'\n') => {}
            // Besides control characters, those that change the writing direction.
            c if c.is_control()
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                shown.extend(c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
    shown
}
