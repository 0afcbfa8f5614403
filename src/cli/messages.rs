//! Messages of the library name its own settings. This module adds or substitutes the options of the command.

use clap::Command;
use wgpca::Error;

/// Words of the library, the option for them, and how the option is shown.
const OPTIONS: [(&str, &str, &str); 3] = [
    ("ask for clamping", "clamp", "--clamp"),
    ("use the CPU", "device", "--device cpu"),
    ("on the CPU", "device", "--device cpu"),
];

/// Adds to a text of the library the options of the command.
pub fn with_options(text: &str, command: &Command) -> String {
    let has = |option: &str| command.get_arguments().any(|a| a.get_long() == Some(option));
    let mut text = text.to_string();
    for (words, option, shown) in OPTIONS {
        if let Some(at) = text.find(words).filter(|_| has(option)) {
            text.insert_str(at + words.len(), &format!(" ({shown})"));
        }
    }
    text
}

/// Settings of the library's readers as named in messages, and the options that set them.
const READING: [(&str, &str); 6] = [
    ("(columns)", "(--columns)"),
    ("(drop_nan)", "(--drop-nan)"),
    ("(format)", "(--format)"),
    ("(recursive)", "(--recursive)"),
    ("(weights_key)", "(--weights-key)"),
    ("(from_samples)", "(--from-samples)"),
];

/// Replaces the settings in a message of the readers by options.
pub fn as_options(text: &str) -> String {
    READING.iter().fold(text.to_string(), |text, (setting, option)| text.replace(setting, option))
}

/// The same for an error of a reader, without changing names of files in it.
pub fn reading(error: Error) -> Error {
    match error {
        Error::File { path, place, problem } => Error::File { path, place, problem: as_options(&problem) },
        Error::Points { cloud, point, coordinate, problem } => {
            Error::Points { cloud, point, coordinate, problem: as_options(&problem) }
        }
        Error::Parameter { name, problem } => Error::Parameter { name, problem: as_options(&problem) },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn root() -> Command {
        let mut root = crate::cli::args::Args::command();
        root.build();
        root
    }

    fn options(command: &Command) -> BTreeSet<String> {
        command.get_arguments().filter_map(|a| a.get_long()).map(|long| format!("--{long}")).collect()
    }

    /// Every `--word` of a text.
    fn named(text: &str) -> BTreeSet<String> {
        let word = |rest: &str| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect::<String>();
        let starts = text.match_indices("--").filter(|&(at, _)| !text[..at].ends_with('-'));
        let words = starts.map(|(at, _)| word(&text[at + 2..]));
        words
            .filter(|w| w.starts_with(|c: char| c.is_ascii_lowercase()))
            .map(|w| format!("--{}", w.trim_end_matches('-')))
            .collect()
    }

    fn sources(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }

    fn of_the_crate() -> Vec<(PathBuf, String)> {
        let (root, mut found) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), vec![]);
        sources(&root, &mut found);
        found.iter_mut().for_each(|(path, _)| *path = path.strip_prefix(&root).unwrap().into());
        found
    }

    #[test]
    fn words_are_found() {
        assert_eq!(
            named("raise --max-iterations, or (--x) --- --Y -- z-- a--b"),
            ["--max-iterations", "--x", "--b"].map(String::from).into()
        );
    }

    /// Nor in its documentation, because other programs use the library too.
    #[test]
    fn the_library_names_no_options() {
        let mut all = of_the_crate();
        all.retain(|(path, _)| !path.starts_with("cli"));
        assert!(all.len() > 100);
        for (path, text) in &all {
            assert_eq!(named(text), BTreeSet::new(), "{}", path.display());
        }
        // The library must use the words that are listed here.
        for (words, ..) in OPTIONS {
            assert!(all.iter().any(|(_, text)| text.contains(words)), "nothing says {words:?}");
        }
        for (setting, _) in READING {
            assert!(all.iter().any(|(_, text)| text.contains(setting)), "nothing says {setting:?}");
        }
    }

    /// The commands that can print the messages of a source file of the command line.
    fn speakers(file: &str) -> &'static [&'static str] {
        match file {
            "fit.rs" | "resume.rs" | "settings.rs" => &["fit"],
            "gaussian.rs" => &["gaussian"],
            "transform.rs" => &["transform"],
            "evaluate.rs" => &["evaluate"],
            "info.rs" => &["info"],
            "sinkhorn.rs" => &["sinkhorn"],
            "bures.rs" => &["bures"],
            "device.rs" => &["fit", "transform", "evaluate", "sinkhorn"],
            // Covariances or clouds of a command that accepts both.
            "inputs.rs" => &["gaussian", "transform", "evaluate"],
            "model.rs" => &["transform", "evaluate"],
            // Any command can print it.
            _ => &["fit", "gaussian", "transform", "sample", "evaluate", "info", "sinkhorn", "bures"],
        }
    }

    /// The code without comments and without the tests at its end.
    fn code(text: &str) -> String {
        let text = &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())];
        text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn commands_name_their_own_options() {
        let root = root();
        let mut seen = 0;
        for (path, text) in of_the_crate() {
            let Ok(file) = path.strip_prefix("cli") else { continue };
            let file = file.to_str().unwrap();
            // messages.rs checks that an option exists before it names it; a test below covers the help; words in `quoted` are
            // not options.
            if ["messages.rs", "args.rs"].contains(&file) {
                continue;
            }
            let named = named(&code(&text));
            for command in speakers(file) {
                let own = options(root.find_subcommand(command).unwrap());
                seen += named.len();
                let foreign: Vec<_> = named.difference(&own).collect();
                assert!(foreign.is_empty(), "{file} speaks of {foreign:?}, which {command} does not have");
            }
        }
        assert!(seen > 5);
    }

    #[test]
    fn help_names_options_of_its_command() {
        for command in root().get_subcommands_mut().filter(|c| c.get_name() != "help") {
            let text = command.render_long_help().to_string();
            let foreign: Vec<_> = named(&text).difference(&options(command)).cloned().collect();
            assert!(foreign.is_empty(), "{}: {foreign:?}", command.get_name());
        }
    }

    /// A remedy that names a setting of the readers names an option of every command that can print it.
    #[test]
    fn remedies_of_readers_are_options_of_their_commands() {
        let root = root();
        for command in ["fit", "gaussian", "transform", "evaluate", "sinkhorn"] {
            let own = options(root.find_subcommand(command).unwrap());
            for (setting, option) in READING {
                // Printed by the reader of covariances only.
                if setting == "(from_samples)" && ["fit", "sinkhorn"].contains(&command) {
                    continue;
                }
                assert_eq!(as_options(&format!("choose {setting}")), format!("choose {option}"));
                let named = named(option);
                assert!(named.len() == 1 && named.is_subset(&own), "{command} does not have {option}");
            }
        }
    }

    /// Each remedy of the library is completed by an option in every command that has it, and in at least one.
    #[test]
    fn remedies_of_the_library_are_options_of_their_commands() {
        let mut root = root();
        for (words, option, shown) in OPTIONS {
            let mut commands = 0;
            for command in root.get_subcommands_mut() {
                let (own, text) = (options(command), with_options(words, command));
                assert_eq!(
                    text.contains(shown),
                    own.contains(&format!("--{option}")),
                    "{}: {text}",
                    command.get_name()
                );
                assert!(named(&text).is_subset(&own), "{}: {text}", command.get_name());
                commands += usize::from(text.contains(shown));
            }
            assert!(commands > 0, "no command has --{option}");
        }
    }

    #[test]
    fn options_are_put_beside_the_words() {
        let root = root();
        let said = |text: &str, command: &str| with_options(text, root.find_subcommand(command).unwrap());
        assert_eq!(said("or ask for clamping", "sample"), "or ask for clamping (--clamp)");
        assert_eq!(said("or ask for clamping", "info"), "or ask for clamping");
        assert_eq!(said("use the CPU, and", "fit"), "use the CPU (--device cpu), and");
        assert_eq!(said("use the CPU, and", "gaussian"), "use the CPU, and");
    }
}
