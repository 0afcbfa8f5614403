//! Cancellation: a token that its owner sets and that the work checks.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop, shared by clones. It is given to a [`Fit`](crate::clouds::Fit::cancel_by), a
/// [`Projector`](crate::clouds::Projector::cancel_by) or a
/// [`DivergenceSolver`](crate::ot::DivergenceSolver::cancel_by). These check it in every iteration of a solve and in
/// every step of a regression, and then return [`Error::Cancelled`]. A token that is set stays set; to continue, give
/// a new one.
///
/// # Example
/// ```
/// use wgpca::clouds::{Fit, Settings};
/// use wgpca::{Cancel, Error, Measure};
/// let cloud = |by: f64| Measure::uniform(format!("{by}"), (0..40).map(|k| by + f64::from(k) / 40.0).collect(), 1);
/// let measures = [cloud(-1.0)?, cloud(0.0)?, cloud(2.0)?];
/// let settings = Settings { steps: [10, 10], batch: 16, hidden: vec![8; 2], ..Settings::fast() };
/// let mut fit = Fit::<f32>::new(&measures, &settings)?;
/// let cancel = Cancel::new();
/// fit.cancel_by(&cancel);
/// assert!(fit.advance()?.is_some());
/// // Usually from another thread, while the fit advances.
/// cancel.cancel();
/// assert!(matches!(fit.advance(), Err(Error::Cancelled)));
/// // Nothing is lost: the fit can be saved or continued.
/// fit.cancel_by(&Cancel::new());
/// while fit.advance()?.is_some() {}
/// assert_eq!(fit.model()?.components.len(), 1);
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that is not set.
    pub fn new() -> Self {
        Cancel::default()
    }

    /// Sets the token permanently, for all clones. It can be called from any thread.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the token is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if the token is set: `cancel.check()?` between two parts of the work.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
