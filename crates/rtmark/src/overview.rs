//! The output of `rtmark --help`: the commands, grouped by purpose.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use crate::cli::Cli;
use crate::output;

/// The groups, in the order in which a new user needs them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Measure", &["run", "calls", "worst", "plan", "footprint"]),
    ("Look closer", &["why", "fairness", "sim", "trace"]),
    (
        "Keep and compare",
        &[
            "log", "show", "report", "compare", "gate", "history", "bisect", "name", "rm", "prune",
            "export", "import", "merge",
        ],
    ),
    ("Check", &["validate", "study"]),
    (
        "Set up and look up",
        &["list", "init", "doctor", "cache", "exit-codes", "completions", "man", "help"],
    ),
];

/// The column at which descriptions start.
const NAME: usize = 15;

/// Returns the command line, with its commands in groups.
pub fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    let groups = groups(&command, output::width().min(100));
    let header = command.get_styles().get_header();
    let options = format!("{header}Options:{header:#}\n{{options}}");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{options}"
    ))
}

fn groups(command: &Command, width: usize) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        let commands = names.iter().filter_map(|name| command.find_subcommand(name));
        for one in commands {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let name = one.get_name();
            let _ = write!(text, "  {literal}{name}{literal:#}{:1$}", "", NAME - 2 - name.len());
            text.push_str(&wrapped(&about, width, NAME));
            text.push('\n');
        }
    }
    text
}

/// Wraps text that starts at a column, indenting its further lines to that column.
fn wrapped(text: &str, width: usize, column: usize) -> String {
    let room = width.saturating_sub(column).max(20);
    let (mut lines, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            let _ = write!(lines, "\n{:column$}", "");
            used = 0;
        }
        if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut command = Cli::command();
        command.build();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn every_command_has_short_help_without_full_stop() {
        let mut command = Cli::command();
        command.build();
        for one in command.get_subcommands() {
            let name = one.get_name();
            let about = one.get_about().expect(name).to_string();
            assert!(!about.is_empty() && !about.ends_with('.'), "{name}: {about}");
            for argument in one.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let id = argument.get_id();
                assert!(!help.is_empty() && !help.ends_with('.'), "{name} {id}: {help}");
            }
        }
    }

    #[test]
    fn names_and_descriptions_are_separated_by_spaces() {
        let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
        let longest = names.map(|name| name.len()).max().unwrap_or_default();
        assert!(2 + longest + 2 <= NAME, "{longest}");
    }

    #[test]
    fn the_help_fits_its_width() {
        let mut command = Cli::command();
        command.build();
        for width in [60, 80, 100] {
            for line in anstream::adapter::strip_str(&groups(&command, width)).to_string().lines() {
                assert!(line.chars().count() <= width, "{line}");
            }
        }
    }
}
