//! Words of a text and the lines on which they stand.

use super::cloud::{Fault, quote};

/// Goes through the words of a text, whose lines need not mean anything.
pub(crate) struct Tokens<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// What is left of the line.
    words: std::str::SplitWhitespace<'a>,
    /// From here on, a line is a comment.
    comment: Option<char>,
    /// Number of the line that came last.
    pub line: usize,
    /// Number of the line before the first.
    before: usize,
}

impl<'a> Tokens<'a> {
    /// The words of a text that follows `before` lines.
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

    /// The next line that holds a word; what is left of this one is skipped.
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

    /// Skips what is left of the line.
    pub fn skip_line(&mut self) {
        self.words = "".split_whitespace();
    }

    /// Words left on the line.
    pub fn left(&self) -> usize {
        self.words.clone().count()
    }

    /// The next word as a number; nothing at the end of the text.
    pub fn number(&mut self) -> Result<Option<f64>, String> {
        let Some(word) = self.next() else { return Ok(None) };
        word.parse().map(Some).map_err(|_| format!("{} is not a number; repair the line", quote(word)))
    }

    /// Something wrong with the line that came last.
    pub fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::at(format!("line {}", self.line), problem)
    }
}
