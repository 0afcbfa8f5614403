//! What to compute on, as a user says it.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// `auto`, `cpu`, `cuda` (the first GPU) or `cuda:index`.
///
/// # Example
/// ```
/// use wgpca::DeviceChoice;
/// assert_eq!("cuda:1".parse::<DeviceChoice>()?, DeviceChoice::Cuda(1));
/// assert_eq!("cuda".parse::<DeviceChoice>()?, DeviceChoice::Cuda(0));
/// assert!("gpu".parse::<DeviceChoice>().is_err());
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU where there is one and it pays, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
}

impl FromStr for DeviceChoice {
    type Err = Error;

    /// # Errors
    /// [`Error::Parameter`] for anything else than the four forms.
    fn from_str(text: &str) -> Result<Self> {
        let index = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            _ => text.strip_prefix("cuda:").and_then(index).map(DeviceChoice::Cuda).ok_or_else(|| {
                Error::parameter("device", format!("it is {text:?}; give auto, cpu, cuda or cuda:index, as in cuda:1"))
            }),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for choice in [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Cuda(0), DeviceChoice::Cuda(12)] {
            assert_eq!(choice.to_string().parse::<DeviceChoice>().unwrap(), choice);
        }
        for bad in
            ["", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1x", "cuda:99999999999999999999999"]
        {
            let problem = bad.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(problem.starts_with("device: ") && problem.contains("cuda:index"), "{problem}");
        }
    }
}
