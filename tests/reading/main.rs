//! Every format and every rule of `docs/input.md`. Codes such as `o5` in names of tests are only labels.
#![cfg(feature = "io")]

mod arrays;
mod columns;
mod damage;
mod formats;
mod keys;
mod meshes;
mod polygon;
mod sets;
mod stored;
mod tables;
mod tokens;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wgpca::Measure;
use wgpca::io::{Columns, ReadOptions, Reading, read_file, read_measures};

/// A directory that is removed at the end of the test.
struct Dir(TempDir);

impl Dir {
    fn new() -> Self {
        Dir(TempDir::new().expect("a temporary directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file.
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).expect("a writable directory");
        path
    }
}

/// The measures of one file of this name and content.
fn read(name: &str, bytes: impl AsRef<[u8]>) -> Vec<Measure> {
    read_with(name, bytes, &ReadOptions::default())
}

fn read_with(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Vec<Measure> {
    let dir = Dir::new();
    read_file(&dir.put(name, bytes), options).unwrap_or_else(|e| panic!("{e}"))
}

/// The measures and notices of these inputs.
#[track_caller]
fn read_how<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Reading {
    wgpca::io::read(inputs, options).unwrap_or_else(|e| panic!("{e}"))
}

/// The measures and notices of one file with this name and content.
#[track_caller]
fn read_one(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Reading {
    let dir = Dir::new();
    read_how(&[dir.put(name, bytes)], options)
}

/// Asserts that exactly one line contains all the parts.
#[track_caller]
fn says(lines: &[String], parts: &[&str]) {
    let holds = |line: &&String| parts.iter().all(|part| line.contains(part));
    assert_eq!(lines.iter().filter(holds).count(), 1, "{parts:?} in {lines:#?}");
    assert!(lines.iter().all(|line| !line.contains('\n')));
}

/// Columns as a user writes them.
fn columns(text: &str) -> ReadOptions {
    ReadOptions { columns: Some(text.parse::<Columns>().expect("columns")), ..Default::default() }
}

/// The only measure of a file: points and dimension.
fn one(name: &str, bytes: impl AsRef<[u8]>) -> (Vec<f64>, usize) {
    let measures = read(name, bytes);
    assert_eq!(measures.len(), 1);
    (measures[0].points().to_vec(), measures[0].dim())
}

/// Asserts that reading fails with an error of this code, and a message of one line that contains the file's name and these
/// names, places and numbers. The rest of the text is free.
#[track_caller]
fn refuse(name: &str, bytes: impl AsRef<[u8]>, code: &str, parts: &[&str]) {
    refuse_with(name, bytes, &ReadOptions::default(), code, parts);
}

#[track_caller]
fn refuse_with(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions, code: &str, parts: &[&str]) {
    let dir = Dir::new();
    let path = dir.put(name, bytes);
    let parts: Vec<&str> = [&[name], parts].concat();
    fails(&[path], options, code, &parts);
}

/// Asserts that reading these inputs fails with an error of this code, and a message of one line that contains the parts.
#[track_caller]
fn fails<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions, code: &str, parts: &[&str]) {
    let error = match read_measures(inputs, options) {
        Ok(measures) => panic!("{} measures instead of an error with {parts:?}", measures.len()),
        Err(e) => e,
    };
    // The random name of the directory does not count: it could contain a part.
    let mut message = error.to_string();
    for directory in inputs.iter().filter_map(|path| path.as_ref().parent()) {
        message = message.replace(&format!("{}/", directory.display()), "");
    }
    assert_eq!(error.code(), code, "{message}");
    assert!(!message.contains('\n'), "more than one line: {message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

/// A `.npy` file assembled here, so that the reader is not tested against the writer of this crate.
fn npy(version: u8, descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    header.push_str(&" ".repeat(63 - header.len() % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A `.npy` file of float64 in C order.
fn doubles(shape: &str, values: &[f64]) -> Vec<u8> {
    npy(1, "'<f8'", false, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
}

/// An `.npz` file of `.npy` files.
fn npz(arrays: &[(&str, Vec<u8>)], deflate: bool) -> Vec<u8> {
    use std::io::Write;
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};
    let method = if deflate { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method))
            .expect("an entry");
        zip.write_all(bytes).expect("memory");
    }
    zip.finish().expect("an archive").into_inner()
}
