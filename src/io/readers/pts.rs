//! Files of laser scanners (`.pts`): blocks of points, each after its number of points, which can be missing.

use super::cloud::{Content, Fault, quote};
use super::text;
use crate::io::ReadOptions;

/// The points of all blocks.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Content, Fault> {
    let text = text::decode(bytes)?;
    let width = text.lines().map(text::width).find(|&width| width > 1).unwrap_or(1);
    let names: &[&str] = match width {
        2 => &["x", "y"],
        3 => &["x", "y", "z"],
        4 => &["x", "y", "z", "intensity"],
        6 => &["x", "y", "z", "red", "green", "blue"],
        7 => &["x", "y", "z", "intensity", "red", "green", "blue"],
        _ => {
            let problem = "a scan has x, y, z and perhaps an intensity and a colour";
            return Err(format!("it has lines of {width} fields; {problem}").into());
        }
    };
    // The counts are replaced by blank lines. What is left is a table whose lines keep their numbers.
    let mut rows = String::with_capacity(text.len());
    let mut block: Option<Block> = None;
    let mut begun = false;
    for (k, line) in text.lines().enumerate() {
        let fields = text::width(line);
        if fields == 1 && (!begun || block.as_ref().is_some_and(|b| b.found == b.promised)) {
            let word = line.trim();
            let problem = || format!("{} is not a number of points; repair the line", quote(word));
            let promised = word.parse().map_err(|_| Fault::at(format!("line {}", k + 1), problem()))?;
            block = Some(Block { line: k + 1, promised, found: 0 });
        } else if fields > 0 {
            rows.push_str(line);
            if let Some(block) = &mut block {
                block.found += 1;
                block.check(block.found <= block.promised)?;
            }
        }
        begun |= fields > 0;
        rows.push('\n');
    }
    if let Some(block) = &block {
        block.check(block.found == block.promised)?;
    }
    text::read_named(&rows, names, options)
}

struct Block {
    line: usize,
    promised: usize,
    found: usize,
}

impl Block {
    fn check(&self, fits: bool) -> Result<(), Fault> {
        let Block { line, promised, found } = self;
        if fits {
            return Ok(());
        }
        let found = if found > promised { "more".into() } else { found.to_string() };
        let problem = format!("its count is {promised} points, but {found} follow; repair the count or the points");
        Err(Fault::at(format!("line {line}"), problem))
    }
}
