//! Splits a command line into words, and joins words so that a shell splits them in the same way.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// The options given to a command, as words (`--surface`, `100`), in the order of the help; only those whose id is `wanted`.
pub fn given(command: &Command, matches: &ArgMatches, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut words = vec![];
    for option in command.get_arguments() {
        let id = option.get_id().as_str();
        let Some(long) = option.get_long().filter(|_| wanted(id) && !matches!(id, "help" | "version")) else {
            continue;
        };
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let name = format!("--{long}");
        if !option.get_action().takes_values() {
            words.push(name);
            continue;
        }
        for values in matches.get_raw_occurrences(id).into_iter().flatten() {
            let values: Vec<_> = values.map(|v| v.to_string_lossy().into_owned()).collect();
            let values = match option.get_value_delimiter() {
                Some(delimiter) => vec![values.join(&delimiter.to_string())],
                None => values,
            };
            match &values[..] {
                // A separate word would be taken for an option.
                [one] if one.starts_with('-') => words.push(format!("{name}={one}")),
                _ => words.extend([name.clone()].into_iter().chain(values)),
            }
        }
    }
    words
}

/// The name of a file, changed if it would be taken for an option.
pub fn operand(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    if text.len() > 1 && text.starts_with('-') { format!("./{text}") } else { text }
}

/// Joins words to a line for a POSIX shell.
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    #[test]
    fn a_shell_reads_the_words_back() {
        let words =
            ["plain/päth.npy", "", "a b", "it's", "$HOME `x` \\ \"q\"", "*", "a\nb", "--x=-1", "~"].map(String::from);
        let script = format!("for w in {}; do printf '%s\\0' \"$w\"; done", line(&words));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let read: Vec<&[u8]> = output.stdout.split(|&b| b == 0).collect();
        assert_eq!(read.len(), words.len() + 1);
        words.iter().zip(read).for_each(|(word, read)| assert_eq!(word.as_bytes(), read));
    }

    #[test]
    fn what_was_given_is_given_again() {
        let command = Command::new("x").args([
            Arg::new("flag").long("flag").action(ArgAction::SetTrue),
            Arg::new("other").long("other").action(ArgAction::SetTrue),
            Arg::new("number").long("number").allow_negative_numbers(true),
            Arg::new("preset").long("preset").default_value("fast"),
            Arg::new("list").long("list").value_delimiter(','),
            Arg::new("many").long("many").action(ArgAction::Append),
            Arg::new("input"),
        ]);
        let words = ["--flag", "--number=-3", "--list", "a b,c", "--many", "1", "--many", "2"];
        let line = [&["x", "in"][..], &words].concat();
        let matches = command.clone().try_get_matches_from(line).unwrap();
        assert_eq!(given(&command, &matches, |_| true), words);
        assert_eq!(given(&command, &matches, |id| id == "flag"), ["--flag"]);
        assert_eq!(operand("-x.npy".as_ref()), "./-x.npy");
        assert_eq!(operand("-".as_ref()), "-");
    }
}
