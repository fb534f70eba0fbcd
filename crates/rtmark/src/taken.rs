//! Tells of arguments that an option with several values has taken, in `rtmark calls --soc stm32f405 app.elf`.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// Adds a tip to the error that an argument is missing, if an option may have taken it.
pub fn explain(error: &mut Error, command: &Command, words: &[OsString]) {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return;
    }
    if let Some((option, taken)) = taken(command, words) {
        let tip = StyledStr::from(format!(
            "`{option}` takes all values that follow it, `{taken}` included; files, runs and kernels that belong to \
             no option go before it, or after `--`"
        ));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Returns the last option that has several values, and the last of them.
fn taken(command: &Command, words: &[OsString]) -> Option<(String, String)> {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let command = words.find_map(|word| command.find_subcommand(OsStr::new(word.as_ref())))?;
    command.get_positionals().next()?;
    let (mut current, mut found) = (None, None);
    for word in words.take_while(|word| word != "--") {
        if word.starts_with('-') && word.len() > 1 {
            let takes_several =
                command.get_opts().any(|option| is(option, &word) && several(option));
            current = takes_several.then(|| (word.into_owned(), 0));
        } else if let Some((option, values)) = &mut current {
            *values += 1;
            if *values > 1 {
                found = Some((option.clone(), word.into_owned()));
            }
        }
    }
    found
}

fn is(option: &Arg, word: &str) -> bool {
    let long = option.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
    let short = option
        .get_short()
        .is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])));
    long || short
}

fn several(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|values| values.max_values() > 1)
}
