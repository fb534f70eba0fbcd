//! Draws folded stacks as a flame graph: an SVG picture that zooms and searches, made by inferno.
//!
//! The only input is folded lines, `caller;callee cycles`. With those of another run, colours show what
//! became slower and faster: a differential flame graph (B. Gregg, 2014).

use inferno::{differential, flamegraph};

/// Draws folded lines, and the difference to those of another run if `base` has them. Equal lines give equal
/// pictures.
pub fn graph(title: &str, lines: &[String], base: Option<&str>) -> Vec<u8> {
    let mut options = flamegraph::Options::default();
    title.clone_into(&mut options.title);
    "cycles".clone_into(&mut options.count_name);
    options.deterministic = true;
    let mut text = lines.join("\n");
    if let Some(base) = base {
        let (settings, mut both) = (differential::Options::default(), Vec::new());
        // Writing to memory cannot fail.
        let _ = differential::from_readers(settings, base.as_bytes(), text.as_bytes(), &mut both);
        options.subtitle = Some("red: more cycles than in the other run; blue: fewer".to_owned());
        text = String::from_utf8_lossy(&both).into_owned();
    }
    let mut svg = Vec::new();
    // Without any stack this is an error, and the picture says so.
    let _ = flamegraph::from_lines(&mut options, text.lines(), &mut svg);
    svg
}

/// Returns whether a line holds a stack and its cycles.
pub fn is_folded(line: &str) -> bool {
    line.rsplit_once(' ').is_some_and(|(_, cycles)| cycles.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &[&str], base: Option<&str>) -> String {
        let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
        let svg = graph("t & u", &lines, base);
        assert_eq!(graph("t & u", &lines, base), svg, "equal each time");
        String::from_utf8(svg).expect("text")
    }

    #[test]
    fn shares_are_shown_and_names_escaped() {
        let svg = drawn(&["main;a<b> 300", "main 100", "[SysTick] 400"], None);
        for text in [
            "t &amp; u",
            "<title>all (800 cycles, 100%)</title>",
            "<title>main (400 cycles, 50.00%)</title>",
            "<title>a&lt;b&gt; (300 cycles, 37.50%)</title>",
        ] {
            assert!(svg.contains(text), "no `{text}` in {svg}");
        }
    }

    #[test]
    fn differences_to_another_run_are_shown() {
        let svg = drawn(&["main;a 300", "main;b 100"], Some("main;a 200\nmain;b 100\nmain;c 50\n"));
        assert!(svg.contains("<title>a (300 cycles, 75.00%; +25.00%)</title>"), "{svg}");
        assert!(svg.contains("<title>b (100 cycles, 25.00%; 0.00%)</title>"), "{svg}");
        assert!(svg.contains("red: more cycles"), "{svg}");
        let same = drawn(&["main;a 300"], Some("main;a 300"));
        assert!(same.contains("<title>a (300 cycles, 100.00%; 0.00%)</title>"), "{same}");
    }

    #[test]
    fn an_empty_profile_is_drawn() {
        assert!(drawn(&[], None).trim_end().ends_with("</svg>"));
    }
}
