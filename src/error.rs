//! Errors in the input of a caller, failures of the system and cancellation. A solve that does not converge is not an
//! error: its report has a status.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The result of a function that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Bad input, a failure of the operating system or a device, or cancelled work. The text is one line that names the
/// place, the problem and the remedy.
///
/// Indices (cloud, point, coordinate, weight, row, column) count from 0; lines of a file count from 1.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its range.
    Parameter {
        /// Name of the setting.
        name: &'static str,
        /// The problem and the remedy.
        problem: String,
    },
    /// Points that do not define a measure (NaN, empty, incomplete rows, different dimensions).
    Points {
        /// The name of the measure, as given by the caller.
        cloud: String,
        /// Index of the point, if the problem is one point.
        point: Option<usize>,
        /// Index of the coordinate, if the problem is one coordinate.
        coordinate: Option<usize>,
        /// The problem and the remedy.
        problem: String,
    },
    /// Weights that cannot be normalised to a probability.
    Weights {
        /// The name of the measure, as given by the caller.
        cloud: String,
        /// Index of the weight, if the problem is one weight.
        index: Option<usize>,
        /// The problem and the remedy.
        problem: String,
    },
    /// A matrix that is not a covariance, or that the operation does not support; or a mean that does not fit it.
    Covariance {
        /// The name of the matrix, as given by the caller.
        matrix: String,
        /// Row and column, if the problem is one entry.
        entry: Option<(usize, usize)>,
        /// The problem and the remedy.
        problem: String,
    },
    /// A file whose content cannot be used.
    File {
        /// The file.
        path: PathBuf,
        /// Place in the file (`line 7`, `array "points"`), if the problem has one; otherwise empty.
        place: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// A failure of the operating system.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A GPU that does not exist or fails.
    Device {
        /// The device as requested (`cuda:0`).
        device: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// The work was stopped by its [`Cancel`](crate::Cancel).
    Cancelled,
    /// A time outside a component's interval, where the geodesic is not defined.
    Time {
        /// The component, counted from 1.
        component: usize,
        /// The requested time.
        time: f64,
        /// The interval on which the component is a geodesic.
        interval: (f64, f64),
    },
}

impl Error {
    /// A stable name of the kind of error: `parameter`, `points`, `weights`, `covariance`, `file`, `io`, `device`,
    /// `cancelled` or `time`. Texts can change; this name does not.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Parameter { .. } => "parameter",
            Error::Points { .. } => "points",
            Error::Weights { .. } => "weights",
            Error::Covariance { .. } => "covariance",
            Error::File { .. } => "file",
            Error::Io { .. } => "io",
            Error::Device { .. } => "device",
            Error::Cancelled => "cancelled",
            Error::Time { .. } => "time",
        }
    }

    /// A setting outside its range.
    pub fn parameter(name: &'static str, problem: impl Into<String>) -> Self {
        Error::Parameter { name, problem: problem.into() }
    }

    /// An error in the points of a measure as a whole.
    pub fn points(cloud: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Points { cloud: cloud.into(), point: None, coordinate: None, problem: problem.into() }
    }

    /// An error in the weights of a measure, with an index if the problem is one weight.
    pub fn weights(cloud: impl Into<String>, index: Option<usize>, problem: impl Into<String>) -> Self {
        Error::Weights { cloud: cloud.into(), index, problem: problem.into() }
    }

    /// An error in a covariance matrix as a whole.
    pub fn covariance(matrix: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Covariance { matrix: matrix.into(), entry: None, problem: problem.into() }
    }

    /// An error in the content of a file, with a place if the problem has one.
    pub fn file(path: impl Into<PathBuf>, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::File { path: path.into(), place: place.into(), problem: problem.into() }
    }

    /// A device that cannot be used.
    pub fn device(device: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Device { device: device.into(), problem: problem.into() }
    }

    /// A failure of the operating system, with the path, which the system error does not contain.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parameter { name, problem } => write!(f, "{name}: {problem}"),
            Error::Points { cloud, point, coordinate, problem } => {
                f.write_str(cloud)?;
                if let Some(p) = point {
                    write!(f, ", point {p}")?;
                }
                if let Some(c) = coordinate {
                    write!(f, ", coordinate {c}")?;
                }
                write!(f, ": {problem}")
            }
            Error::Weights { cloud, index: Some(i), problem } => write!(f, "{cloud}, weight {i}: {problem}"),
            Error::Weights { cloud, index: None, problem } => write!(f, "{cloud}, weights: {problem}"),
            Error::Covariance { matrix, entry: Some((i, j)), problem } => {
                write!(f, "{matrix}, entry ({i}, {j}): {problem}")
            }
            Error::Covariance { matrix, entry: None, problem } => write!(f, "{matrix}: {problem}"),
            Error::File { path, place, problem } if place.is_empty() => write!(f, "{}: {problem}", path.display()),
            Error::File { path, place, problem } => write!(f, "{}, {place}: {problem}", path.display()),
            Error::Device { device, problem } => write!(f, "{device}: {problem}"),
            Error::Io { path, source } => match remedy(source.kind()) {
                Some(text) => write!(f, "{}: {text}", path.display()),
                None => write!(f, "{}: {source}", path.display()),
            },
            Error::Cancelled => f.write_str("the computation was cancelled"),
            Error::Time { component, time, interval: (lo, hi) } => write!(
                f,
                "time {time} is not a time of component {component}: give a finite one in the interval ({lo}, {hi}) on which it is \
                 a geodesic, or ask for clamping"
            ),
        }
    }
}

/// The meaning of a system error and the remedy, for the usual ones.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "it does not exist; check the name",
        ErrorKind::PermissionDenied => "permission denied; change its permissions or give another path",
        ErrorKind::IsADirectory => "it is a directory; name a file",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "it is a file where a directory is needed; give another path"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "no space is left on the device; free some or give another path"
        }
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only; give another path",
        _ => return None,
    })
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
