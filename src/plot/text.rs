//! Widths and cutting of texts, and formatting of numbers.

/// An estimate of the width in pixels of a text in a sans-serif font; rather too large than too small.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.98,
        'A'..='Z' | '&' | '<' | '>' | '=' | '+' | '−' | '~' => 0.76,
        '\u{300}'..='\u{36f}' => 0.0,
        '\u{1100}'.. => 1.05,
        _ => 0.63,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text, shortened with an ellipsis to at most `room` pixels.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= room {
        return text;
    }
    let mut left = room - width("…", size);
    let kept = text.chars().take_while(|c| {
        left -= width(c.encode_utf8(&mut [0; 4]), size);
        left >= 0.0
    });
    format!("{}…", kept.collect::<String>().trim_end())
}

/// The text without the characters that XML forbids.
pub(super) fn clean(text: &str) -> String {
    let one = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(one).collect()
}

/// A number with as many decimals as distinguish multiples of `step`.
pub(super) fn number(x: f64, step: f64) -> String {
    let step = if step.is_normal() { step.abs() } else { x.abs().max(f64::MIN_POSITIVE) / 100.0 };
    let place = (step.log10() + 1e-9).floor();
    let text = if x.abs() >= 1e6 || place < -5.0 {
        let digits = ((x.abs().log10() - place).floor()).clamp(0.0, 12.0);
        format!("{x:.0$e}", digits as usize)
    } else {
        format!("{x:.0$}", (-place).max(0.0) as usize)
    };
    if text.parse() == Ok(0.0) { "0".into() } else { text.replace('-', "−") }
}

/// A fraction as a percentage.
pub(super) fn percent(share: f64) -> String {
    let p = 100.0 * share;
    format!("{} %", fixed(p, usize::from(p.abs() < 9.95)))
}

/// A fraction and its standard error as percentages with the same number of decimals: enough to show one significant digit of an
/// error below 1 %, at most three; none for larger errors.
pub(super) fn percent_with_error(share: f64, error: f64) -> String {
    const MAX_DECIMALS: usize = 3;
    let (p, e) = (100.0 * share, 100.0 * error);
    // 0.95 is rounded to 1.
    let shows = |d: &usize| e.abs() >= 0.95 * 0.1f64.powi(*d as i32);
    let decimals = if e == 0.0 { 0 } else { (0..MAX_DECIMALS).find(shows).unwrap_or(MAX_DECIMALS) };
    format!("{} ± {} %", fixed(p, decimals), fixed(e, decimals))
}

/// A number with this number of decimals, without a sign if all digits are 0.
fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    if text.parse() == Ok(0.0) { text.replace('-', "") } else { text.replace('-', "−") }
}

/// The index as subscript digits.
pub(super) fn subscript(index: usize) -> String {
    let one = |c: char| char::from_u32(0x2080 + c as u32 - '0' as u32).unwrap_or(c);
    index.to_string().chars().map(one).collect()
}
