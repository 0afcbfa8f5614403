//! Words of a text and their lines.

use super::cloud::{Fault, quote};

/// Iterates over the words of a text in which line ends need not have a meaning.
pub(crate) struct Tokens<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// The rest of the current line.
    words: std::str::SplitWhitespace<'a>,
    /// The character that starts a comment.
    comment: Option<char>,
    /// Number of the line read last.
    pub line: usize,
    /// Number of lines before the text.
    before: usize,
}

impl<'a> Tokens<'a> {
    /// The words of a text that is preceded by `before` lines.
    pub fn new(text: &'a str, comment: Option<char>, before: usize) -> Self {
        let words = "".split_whitespace();
        Tokens { lines: text.lines().enumerate(), words, comment, line: before.max(1), before }
    }

    /// The next word, on this line or a later one.
    pub fn next(&mut self) -> Option<&'a str> {
        loop {
            if let Some(word) = self.words.next() {
                return Some(word);
            }
            self.words = self.next_line()?.split_whitespace();
        }
    }

    /// Moves to the next line that contains a word; the rest of the current line is skipped.
    pub fn next_line(&mut self) -> Option<&'a str> {
        self.skip_line();
        for (k, line) in self.lines.by_ref() {
            let line = match self.comment {
                Some(comment) => line.split(comment).next().unwrap_or_default(),
                None => line,
            };
            if !line.trim().is_empty() {
                self.line = self.before + k + 1;
                return Some(line.trim());
            }
        }
        None
    }

    /// Skips the rest of the line.
    pub fn skip_line(&mut self) {
        self.words = "".split_whitespace();
    }

    /// Number of words left on the line.
    pub fn left(&self) -> usize {
        self.words.clone().count()
    }

    /// The next word as a number; `None` at the end of the text.
    pub fn number(&mut self) -> Result<Option<f64>, String> {
        let Some(word) = self.next() else { return Ok(None) };
        word.parse().map(Some).map_err(|_| format!("{} is not a number; repair the line", quote(word)))
    }

    /// A fault on the line read last.
    pub fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::at(format!("line {}", self.line), problem)
    }
}
