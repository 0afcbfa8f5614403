//! Writes files so that they are complete or absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Writes `values`, row-major with `cols` columns, as an array of float64 (`.npy`). The file is complete or absent.
///
/// # Errors
/// [`Error::Parameter`] if the values do not form whole rows, [`Error::Io`] if the file cannot be written.
///
/// # Example
/// ```
/// let path = std::env::temp_dir().join(format!("wgpca-doc-{}.npy", std::process::id()));
/// wgpca::io::write_npy(&path, &[0.0, 1.0, 2.0, 3.0], 2)?;
/// let cloud = &wgpca::io::read_file(&path, &Default::default())?[0];
/// assert_eq!((cloud.points(), cloud.dim()), (&[0.0, 1.0, 2.0, 3.0][..], 2));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), wgpca::Error>(())
/// ```
pub fn write_npy(path: &Path, values: &[f64], cols: usize) -> Result<()> {
    if cols == 0 || !values.len().is_multiple_of(cols) {
        let problem = format!("{} numbers are not whole rows of {cols} columns", values.len());
        return Err(Error::parameter("cols", problem));
    }
    // Format 1.0: magic, length of the header, and a Python dictionary padded so that the data start at a multiple of 64.
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {cols}), }}", values.len() / cols);
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    write_atomic(path, &bytes)
}

/// Writes a file so that its path holds either the old or the new content at every moment, even after a crash: the bytes are
/// written to a hidden file in the same directory and synced to disk, then the file is renamed atomically.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written; the hidden file is then removed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e| Error::io(path, e);
    let (mut file, temporary) = create_beside(path).map_err(failed)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, path));
    if let Err(e) = written {
        // Ignore a failure here: the first error is the one to report.
        fs::remove_file(&temporary).ok();
        return Err(failed(e));
    }
    // The rename reaches the disk with a sync of the directory. Not every system can sync a directory; a failure does not
    // endanger the content.
    if let Some(directory) = temporary.parent() {
        File::open(directory).and_then(|d| d.sync_all()).ok();
    }
    Ok(())
}

/// Checks before a long computation that a file can be written: its directory must exist and accept a new file.
///
/// # Errors
/// [`Error::Io`] with the message of the system, [`Error::File`] if the path is a directory or its directory does not exist.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Error::file(path, "", "it is a directory; name a file"));
    }
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let problem = format!("its directory {} does not exist; create it first", directory.display());
        return Err(Error::file(path, "", problem));
    }
    let (_, temporary) = create_beside(path).map_err(|e| Error::io(path, e))?;
    fs::remove_file(&temporary).map_err(|e| Error::io(path, e))
}

/// Creates a new hidden file in the same directory.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"))?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = directory.join(format!(".wgpca-{}-{count}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // The name was left by a killed process with the same id, or is used by a process of another machine.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}
