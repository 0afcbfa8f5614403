//! A lock that keeps two fits from using one directory of checkpoints.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the locked file. The file remains after the lock is released.
const LOCK_FILE: &str = "lock";

/// Exclusive use of a directory of checkpoints for the lifetime of this value. The operating system releases the lock when the
/// process ends, even if it is killed.
///
/// # Example
/// ```
/// use wgpca::io::CheckpointLock;
/// let directory = std::env::temp_dir().join(format!("wgpca-doc-lock-{}", std::process::id()));
/// std::fs::create_dir_all(&directory).unwrap();
/// let lock = CheckpointLock::new(&directory, "a fit to chairs.safetensors")?;
/// let refused = CheckpointLock::new(&directory, "another").unwrap_err().to_string();
/// assert!(refused.contains("a fit to chairs.safetensors"));
/// drop(lock);
/// assert!(CheckpointLock::new(&directory, "another").is_ok());
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Debug)]
pub struct CheckpointLock {
    _file: File,
}

impl CheckpointLock {
    /// Locks an existing directory. `owner` describes this fit in the error that another process gets.
    ///
    /// # Errors
    /// [`Error::File`] with the description given by the owner if another process (or another lock of this process) holds the
    /// directory; [`Error::Io`] if the file cannot be created or locked.
    pub fn new(directory: impl AsRef<Path>, owner: &str) -> Result<Self> {
        let directory = directory.as_ref();
        let path = directory.join(LOCK_FILE);
        let open = File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = open.map_err(|e| Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
            Err(TryLockError::Error(e)) => return Err(Error::io(path, e)),
        }
        let text = format!("process {}, {owner}, since {}\n", std::process::id(), utc(SystemTime::now()));
        // The text only describes the owner; the lock does not depend on it.
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).ok();
        Ok(CheckpointLock { _file: file })
    }
}

fn in_use(directory: &Path, file: &mut File) -> Error {
    let mut bytes = vec![];
    file.take(1000).read_to_end(&mut bytes).ok();
    let text: String = String::from_utf8_lossy(&bytes).chars().take_while(|c| !c.is_control()).collect();
    let whose = if text.is_empty() { "another process" } else { &text };
    Error::file(directory, "", format!("it is in use by {whose}; wait for it to end or give another directory"))
}

/// Formats a time as `2026-11-29 06:12:45 UTC`.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (day, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Years start in March and are counted in eras of 400: H. Hinnant, "chrono-compatible low-level date algorithms" (2013).
    let z = day + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + 400 * era + i64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Expected values from `date -u -d @SECONDS`.
    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
