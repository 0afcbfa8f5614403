//! An interval of numbers, its ticks and its position on the page.

/// Numbers beyond this are not drawn: their differences and squares stay finite below it.
const MAX_DRAWABLE: f64 = 1e150;

/// Whether a number can be drawn.
pub(super) fn drawable(x: f64) -> bool {
    x.abs() <= MAX_DRAWABLE
}

/// An interval of positive length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub lo: f64,
    pub hi: f64,
}

impl Range {
    /// The smallest interval that contains all drawable numbers; longer if they are (nearly) equal, \[0, 1\] if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (lo, hi) = numbers
            .into_iter()
            .filter(|&x| drawable(x))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        let largest = lo.abs().max(hi.abs());
        if lo > hi {
            Range { lo: 0.0, hi: 1.0 }
        } else if hi - lo <= 1e-9 * largest || hi - lo < 1e-150 {
            let pad = if largest < 1e-150 { 1.0 } else { 0.5 * largest };
            Range { lo: lo - pad, hi: hi + pad }
        } else {
            Range { lo, hi }
        }
    }

    pub fn about(middle: f64, half: f64) -> Self {
        Range { lo: middle - half, hi: middle + half }
    }

    pub fn length(self) -> f64 {
        self.hi - self.lo
    }

    pub fn middle(self) -> f64 {
        0.5 * (self.lo + self.hi)
    }

    /// Extended at each end by a fraction of its length.
    pub fn padded(self, share: f64) -> Self {
        let pad = share * self.length();
        Range { lo: self.lo - pad, hi: self.hi + pad }
    }

    /// The position of x along the interval: 0 to 1 inside.
    pub fn along(self, x: f64) -> f64 {
        (x - self.lo) / self.length()
    }

    /// The same, clamped to 0 and 1.
    pub fn share(self, x: f64) -> f64 {
        self.along(x).clamp(0.0, 1.0)
    }

    /// About `wanted` round numbers in the interval, and their distance.
    pub fn ticks(self, wanted: usize) -> (Vec<f64>, f64) {
        let rough = self.length() / wanted as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|&s| s >= 0.75 * rough).unwrap_or(rough);
        let first = (self.lo / step - 1e-9).ceil();
        let ticks = (0..=2 * wanted).map(|k| (first + k as f64) * step);
        (ticks.take_while(|&t| t <= self.hi + 1e-9 * step).collect(), step)
    }
}
