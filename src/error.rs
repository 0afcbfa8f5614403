//! What can go wrong with what a caller hands in, and that work was stopped. A solve that does not converge is not an error: it is a
//! status in its report.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The result of an operation that checks its input.
pub type Result<T> = std::result::Result<T, Error>;

/// Bad input, a refusal of the system, or work that was stopped. The text is one line that names the place, what is wrong and what
/// to do.
///
/// Indices (cloud, point, coordinate, weight, row, column) count from 0; lines of a file count from 1.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its range.
    Parameter {
        /// Name of the setting.
        name: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Points that cannot be a measure (NaN, empty, ragged, mixed dimension).
    Points {
        /// The measure, as its maker named it.
        cloud: String,
        /// The point, where one is to blame.
        point: Option<usize>,
        /// The coordinate, where one is to blame.
        coordinate: Option<usize>,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Weights that cannot be normalised to a probability.
    Weights {
        /// The measure, as its maker named it.
        cloud: String,
        /// The weight, where one is to blame.
        index: Option<usize>,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A matrix that is no covariance, or not one that the operation can work with; or a mean beside it.
    Covariance {
        /// The matrix, as its maker named it.
        matrix: String,
        /// Row and column, where an entry is to blame.
        entry: Option<(usize, usize)>,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A file whose content cannot be used.
    File {
        /// The file.
        path: PathBuf,
        /// Where in it (`line 7`, `array "points"`), if a place is to blame; else empty.
        place: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The operating system refused.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A GPU that is not there or does not do what it should.
    Device {
        /// The device, as it was asked for (`cuda:0`).
        device: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The work was stopped by its [`Cancel`](crate::Cancel).
    Cancelled,
    /// A time outside a component's interval, where the geodesic is not defined.
    Time {
        /// The component, from 1.
        component: usize,
        /// The time asked for.
        time: f64,
        /// The interval on which the component is a geodesic.
        interval: (f64, f64),
    },
}

impl Error {
    /// A stable name of the kind of error: `parameter`, `points`, `weights`, `covariance`, `file`, `io`, `device`, `cancelled` or
    /// `time`. Texts may change; this does not.
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

    /// Points of a measure as a whole.
    pub fn points(cloud: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Points { cloud: cloud.into(), point: None, coordinate: None, problem: problem.into() }
    }

    /// Weights of a measure, at an index if one is to blame.
    pub fn weights(cloud: impl Into<String>, index: Option<usize>, problem: impl Into<String>) -> Self {
        Error::Weights { cloud: cloud.into(), index, problem: problem.into() }
    }

    /// A covariance matrix as a whole.
    pub fn covariance(matrix: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Covariance { matrix: matrix.into(), entry: None, problem: problem.into() }
    }

    /// The content of a file, at a place if one is to blame.
    pub fn file(path: impl Into<PathBuf>, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::File { path: path.into(), place: place.into(), problem: problem.into() }
    }

    /// A device that cannot be used.
    pub fn device(device: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Device { device: device.into(), problem: problem.into() }
    }

    /// The operating system's refusal, with the path that it does not name itself.
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
            Error::Cancelled => f.write_str("the work was stopped"),
            Error::Time { component, time, interval: (lo, hi) } => write!(
                f,
                "time {time} is not a time of component {component}: give a finite one in the interval ({lo}, {hi}) on which it is \
                 a geodesic, or ask for clamping"
            ),
        }
    }
}

/// What a refusal of the system means and what to do, where it is one of the usual ones.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "it does not exist; check the name",
        ErrorKind::PermissionDenied => "permission denied; change its rights or name another place",
        ErrorKind::IsADirectory => "it is a directory; name a file",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file stands where a directory is needed; name another"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "no space is left; make some or name another place",
        ErrorKind::ReadOnlyFilesystem => "this file system is read-only; name another place",
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
