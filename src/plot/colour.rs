//! Colours.

/// Red, green and blue.
pub type Rgb = (u8, u8, u8);

/// The page.
pub const WHITE: Rgb = (0xff, 0xff, 0xff);
/// Text and dots.
pub const INK: Rgb = (0x26, 0x26, 0x26);
/// Numbers and notes.
pub const GREY: Rgb = (0x6b, 0x6b, 0x6b);
/// Axes.
pub const AXIS: Rgb = (0xa8, 0xa8, 0xa8);
/// Frames and surfaces.
pub const FAINT: Rgb = (0xdd, 0xdd, 0xdd);

/// The first component.
pub const BLUE: Rgb = (0x00, 0x72, 0xb2);
/// The second component.
pub const ORANGE: Rgb = (0xd5, 0x5e, 0x00);
/// The third component.
pub const GREEN: Rgb = (0x00, 0x9e, 0x73);

/// The colour of a component (Okabe and Ito, without yellow).
pub(super) fn accent(component: usize) -> Rgb {
    const COLOURS: [Rgb; 6] = [BLUE, ORANGE, GREEN, (0xb0, 0x5a, 0x8c), (0xc7, 0x86, 0x00), (0x3f, 0x8f, 0xc4)];
    COLOURS[component.wrapping_sub(1) % COLOURS.len()]
}

/// The colour at the fraction `f` of the way from `a` to `b`.
pub(super) fn mix(a: Rgb, b: Rgb, f: f64) -> Rgb {
    let one = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * f).round() as u8;
    (one(a.0, b.0), one(a.1, b.1), one(a.2, b.2))
}

/// The colour of a value in \[0, 1\], from dark to light and distinguishable in grey (viridis without its lightest end).
pub(super) fn scale(f: f64) -> Rgb {
    const STOPS: [Rgb; 5] =
        [(0x44, 0x01, 0x54), (0x3b, 0x52, 0x8b), (0x21, 0x91, 0x8c), (0x5e, 0xc9, 0x62), (0xe3, 0xcf, 0x1a)];
    let at = f.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let k = (at as usize).min(STOPS.len() - 2);
    mix(STOPS[k], STOPS[k + 1], at - k as f64)
}
