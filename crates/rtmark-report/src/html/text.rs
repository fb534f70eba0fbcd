//! Prepares text for the page.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use crate::notes::one_line;

/// Characters after which a name may be broken across lines.
const JOINTS: &[char] = &['.', '/', ':', '_', '+', ',', '=', '@', '>'];
/// Longer runs of hexadecimal digits are divided into pieces between which a line may be broken.
const DIGITS: usize = 16;

/// Units that are kept together with the number before them.
const UNITS: &[&str] = &["ns", "\u{b5}s", "ms", "MHz", "kHz"];
/// Words up to this length are never broken.
const WHOLE: usize = 12;

/// Renders text from outside as one harmless line. Its long words may be broken after joints.
pub fn breakable(text: &str) -> Markup {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 16);
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let unit = UNITS.contains(&word.trim_end_matches([')', ',', '.', ';', ':']));
            out.push_str(if unit { "&nbsp;" } else { " " });
        }
        push_word(&mut out, word, if word.chars().count() > WHOLE { JOINTS } else { &[] });
    }
    PreEscaped(out)
}

/// Adds a word as markup, with line-break opportunities after the given characters.
fn push_word(out: &mut String, word: &str, joints: &[char]) {
    let (mut digits, mut before) = (0, ' ');
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied().unwrap_or(' ');
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
        digits = if letter.is_ascii_hexdigit() { digits + 1 } else { 0 };
        // Two dots or colons stay together, and so do a number, and a file name with its line.
        let number = next.is_ascii_digit() && (before.is_ascii_digit() || letter == ':');
        let joint = joints.contains(&letter) && next.is_alphanumeric() && !number;
        before = letter;
        if joint || (digits == DIGITS && next.is_ascii_hexdigit()) {
            out.push_str("<wbr>");
            digits = 0;
        }
    }
}

/// Renders a shell command.
pub fn command(text: &str) -> Markup {
    html! { code.command { (breakable(text)) } }
}

/// Draws a kernel's mark, as wide as a letter.
pub fn swatch(class: &str) -> Markup {
    let mark = class.replace('k', "m");
    html! {
        svg class=(format!("swatch {class}")) viewBox="0 0 26 12" aria-hidden="true" {
            path.line d="M0 6H26" {}
            use href=(format!("#{mark}")) x="13" y="6" {}
        }
    }
}

/// Returns the first digits of a hash.
pub fn short_hash(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Formats a list of names: `a`, `a and b`, `a, b and c`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => {
            let mut text = first.join(", ");
            let _ = write!(text, " and {last}");
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_at_separators_and_never_become_markup() {
        let shown = |text: &str| breakable(text).into_string();
        assert_eq!(shown("semaphore.give.wake+ctx"), "semaphore.<wbr>give.<wbr>wake+<wbr>ctx");
        assert_eq!(shown("16.9 at lilos-1.2/b.c"), "16.9 at lilos-1.2/<wbr>b.<wbr>c");
        assert_eq!(shown("a::b <img> tasks.c:7"), "a::b &lt;img&gt; tasks.c:7");
        assert_eq!(shown("load::mixed::urgent"), "load::<wbr>mixed::<wbr>urgent");
        let hash = "0123456789abcdef".repeat(4);
        assert_eq!(shown(&hash).matches("<wbr>").count(), 3);
        assert_eq!(shown(&hash).replace("<wbr>", ""), hash);
        assert!(!shown("\u{1b}[2J\"'").contains('"'));
    }
}
