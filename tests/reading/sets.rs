//! Several files, directories, names, and writing.

use super::*;
use wgpca::io::{write_atomic, write_npy};

fn names(measures: &[Measure]) -> Vec<&str> {
    measures.iter().map(Measure::name).collect()
}

fn read_all<P: AsRef<Path>>(inputs: &[P]) -> Vec<Measure> {
    read_measures(inputs, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn directories_are_read_in_the_order_of_names() {
    let dir = Dir::new();
    for name in ["b.csv", "a.txt", "C.XYZ", ".hidden.csv"] {
        dir.put(name, "1 2\n");
    }
    for name in ["README.md", "SOURCES.tsv", "log.dat", "make.py", "meta.json", "LICENSE"] {
        dir.put(name, "these are words\n");
    }
    std::fs::create_dir(dir.path().join("sub.csv")).expect("a directory");
    std::fs::write(dir.path().join("sub.csv/d.csv"), "1 2 3\n").expect("a file");
    assert_eq!(names(&read_all(&[dir.path()])), ["C", "a", "b"]);
    let other = Dir::new();
    let first = other.put("z.tsv", "0 0\n");
    assert_eq!(names(&read_all(&[&first, dir.path()])), ["z", "C", "a", "b"]);
    fails(&[other.path()], &ReadOptions::default(), "file", &[".npy", ".off"]);
    std::fs::create_dir(other.path().join("deeper")).expect("a directory");
    fails(&[other.path()], &ReadOptions::default(), "file", &["(recursive)"]);
}

#[test]
fn a_text_that_is_no_cloud_is_named() {
    let dir = Dir::new();
    dir.put("a.csv", "1,2\n");
    let damaged = dir.put("b.csv", "1,2\n3,\n");
    fails(&[dir.path()], &ReadOptions::default(), "file", &["b.csv, line 2"]);
    std::fs::remove_file(damaged).expect("a file");
    let notes = dir.put("story.txt", "chairs of the past\nfrom the shop in the town\n");
    let reading = read_how(&[dir.path()], &ReadOptions::default());
    assert_eq!(names(&reading.measures), ["a"]);
    says(&reading.notices, &["story.txt"]);
    let e = read_file(&notes, &ReadOptions::default()).expect_err("no cloud");
    assert!(e.code() == "file" && !e.to_string().contains("directory"), "{e}");
}

#[test]
fn names_stay_distinct() {
    let (one, two) = (Dir::new(), Dir::new());
    let csv = one.put("chair.csv", "1 2\n");
    let txt = one.put("chair.txt", "1 2\n");
    assert_eq!(names(&read_all(&[&csv])), ["chair"]);
    assert_eq!(names(&read_all(&[&csv, &txt])), ["chair.csv", "chair.txt"]);
    let again = two.put("chair.csv", "1 2\n");
    let paths = [&csv, &txt, &again].map(|p| p.display().to_string());
    assert_eq!(names(&read_all(&[&csv, &again])), [&paths[0][..], &paths[2]]);
    assert_eq!(names(&read_all(&[&csv, &txt, &again])), [&paths[0][..], "chair.txt", &paths[2]]);
    let arrays = npz(&[("arr_0", doubles("(1, 2)", &[1.0, 2.0]))], false);
    let (p, q) = (one.put("p.npz", &arrays), one.put("q.npz", &arrays));
    assert_eq!(names(&read_all(&[&p])), ["arr_0"]);
    assert_eq!(names(&read_all(&[&p, &q])), ["p.npz[arr_0]", "q.npz[arr_0]"]);
    // The longer name is used for all clouds of the file, not only for the one whose short name is shared.
    let stack = doubles("(2, 1, 2)", &[1.0; 4]);
    let (s, t) = (one.put("s.npy", &stack), two.put("s.npy", doubles("(1, 1, 2)", &[1.0; 2])));
    let [s0, t0] = [&s, &t].map(|p| p.display().to_string());
    assert_eq!(names(&read_all(&[&s, &t])), [format!("{s0}[0]"), format!("{s0}[1]"), format!("{t0}[0]")]);
    fails(&[one.path(), &csv], &ReadOptions::default(), "file", &["chair.csv"]);
    let around = one.path().join(".").join("chair.csv");
    fails(
        &[&csv, &one.path().join("..").join(one.path().file_name().unwrap()).join("chair.csv")],
        &ReadOptions::default(),
        "file",
        &["chair.csv"],
    );
    fails(&[&csv, &around], &ReadOptions::default(), "file", &["chair.csv"]);
    let surface = ReadOptions { surface: Some(10), ..ReadOptions::default() };
    fails(&[&csv], &surface, "parameter", &["surface"]);
}

/// If clouds have different dimensions, the message names both.
#[test]
fn o6_mixed_dimensions() {
    let dir = Dir::new();
    let (a, b) = (dir.put("a.csv", "1,2,3\n"), dir.put("b.npy", doubles("(2, 1, 2)", &[1.0; 4])));
    fails(&[&a, &b], &ReadOptions::default(), "points", &["b.npy[0]", "dimension 2", "a.csv", "dimension 3"]);
}

#[test]
fn what_cannot_be_opened() {
    let dir = Dir::new();
    let options = ReadOptions::default();
    fails(&[dir.path().join("gone.npy")], &options, "io", &["gone.npy"]);
    fails(&[dir.path().join("gone")], &options, "io", &["gone"]);
    fails(&[dir.put("a.h5", "x")], &options, "file", &["a.h5", ".h5", ".npy", ".tsv"]);
    fails(&[dir.put("plain", "x")], &options, "file", &["plain", ".npy"]);
    fails::<&Path>(&[], &options, "parameter", &["inputs"]);
    let e = read_file(dir.path(), &options).expect_err("a directory");
    assert!(e.code() == "file" && e.to_string().contains("directory"), "{e}");
}

#[test]
fn written_arrays_come_back() {
    let dir = Dir::new();
    let path = dir.path().join("out.npy");
    let values = [0.1, -2.0, f64::MIN_POSITIVE, 4.0, 1e300, 6.0];
    write_npy(&path, &[9.0; 4], 2).expect("written");
    write_npy(&path, &values, 3).expect("overwritten");
    let bytes = std::fs::read(&path).expect("a file");
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00") && bytes.ends_with(&data));
    assert_eq!((bytes.len() - data.len()) % 64, 0);
    assert_eq!(read_all(&[&path])[0].points(), values);
    assert!(write_npy(&path, &values, 4).is_err() && write_npy(&path, &values, 0).is_err());
}

#[test]
fn writing_leaves_all_or_nothing() {
    let dir = Dir::new();
    let path = dir.path().join("model");
    write_atomic(&path, b"one").expect("written");
    write_atomic(&path, b"two").expect("overwritten");
    assert_eq!(std::fs::read(&path).expect("a file"), b"two");
    std::fs::create_dir(dir.path().join("taken")).expect("a directory");
    for bad in ["taken", "no/such/place", ".."] {
        let e = write_atomic(&dir.path().join(bad), b"three").expect_err(bad).to_string();
        assert!(e.contains(bad), "{e}");
    }
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("entries").map(|e| e.expect("entry").file_name()).collect();
    left.sort();
    assert_eq!(left, ["model", "taken"]);
}

/// Tables of labels and lists beside clouds are left out, with a notice that names them.
#[test]
fn tables_of_labels_are_no_clouds() {
    let clouds = || {
        let dir = Dir::new();
        dir.put("a.csv", "0.5,1\n2,3\n");
        dir.put("b.csv", "1.5,1\n2,3\n");
        dir
    };
    for (name, text) in [
        ("labels.csv", "0,3\n1,4\n"),
        ("train_labels.txt", "0.5,3\n1,4\n"),
        ("split.txt", "1 2\n3 4\n"),
        ("README.txt", "Chairs 1 2\n"),
        ("modelnet_train.txt", "chair_0001\nchair_0002\n"),
        ("truth.csv", "index,label\n0,3\n1,4\n"),
        ("truth.csv", "0,3\n1,4\n2,4\n"),
        ("truth.csv", "1,3\n2,4\n"),
        ("truth.csv", "height,class\n1.5,4\n"),
    ] {
        let dir = clouds();
        let path = dir.put(name, text);
        let reading = read_how(&[dir.path()], &ReadOptions::default());
        assert_eq!(names(&reading.measures), ["a", "b"], "{name}: {text:?}");
        says(&reading.notices, &[name]);
        // If such a file is named explicitly, it is read, or it is an error.
        if name != "README.txt" && name != "modelnet_train.txt" {
            assert_eq!(read_all(&[&path]).len(), 1);
        }
    }
    let dir = clouds();
    dir.put("labels.npy", doubles("(2, 2)", &[0., 1., 2., 3.]));
    says(&read_how(&[dir.path()], &ReadOptions::default()).notices, &["labels.npy"]);
    // Clouds with a column that counts the points are kept, and so are files that look like tables in a directory of only such
    // files.
    let dir = Dir::new();
    dir.put("train.csv", "0,3\n1,4\n");
    dir.put("test.csv", "0,3\n1,5\n");
    let reading = read_how(&[dir.path()], &ReadOptions::default());
    assert_eq!((names(&reading.measures), reading.notices.len()), (vec!["test", "train"], 0));
    // A different number of columns is an error that names both files.
    let dir = clouds();
    dir.put("c.csv", "1,2,3\n");
    fails(&[dir.path()], &ReadOptions::default(), "points", &["c.csv", "dimension 3", "a.csv", "dimension 2"]);
}

#[test]
fn subdirectories_are_read_on_request() {
    let dir = Dir::new();
    for folder in ["chair/train", "chair/test", "desk/train", ".git"] {
        std::fs::create_dir_all(dir.path().join(folder)).expect("a directory");
    }
    for name in ["chair/train/a.off", "chair/test/b.off", "desk/train/a.off", ".git/c.off"] {
        dir.put(name, "OFF\n1 0 0\n1 2 3\n");
    }
    fails(&[dir.path()], &ReadOptions::default(), "file", &["2 subdirectories", "(recursive)"]);
    let recursive = ReadOptions { recursive: true, ..Default::default() };
    let measures = read_how(&[dir.path()], &recursive).measures;
    let full = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(names(&measures), ["b", &full("chair/train/a.off"), &full("desk/train/a.off")]);
    dir.put("top.off", "OFF\n1 0 0\n1 2 3\n");
    let flat = read_how(&[dir.path()], &ReadOptions::default());
    assert_eq!(names(&flat.measures), ["top"]);
    says(&flat.notices, &["2 subdirectories", "(recursive)"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).expect("a link");
        assert_eq!(read_how(&[dir.path()], &recursive).measures.len(), 4);
    }
}

#[test]
fn one_line_says_what_was_read() {
    let dir = Dir::new();
    let (a, b) = (dir.put("a.csv", "x,y,w\n1,2,1\n3,4,1\n"), dir.put("b.csv", "x,y,w\n1,2,1\n"));
    let reading = read_how(&[&a, &b], &ReadOptions::default());
    assert_eq!(reading.summary, "2 clouds of 1 to 2 points in R^2 (x, y), weights from column w");
    let c = dir.put("c.npy", doubles("(3, 2, 2)", &[0.0; 12]));
    let reading = read_how(&[&a, &c], &ReadOptions::default());
    assert_eq!(reading.summary, "4 clouds of 2 points in R^2, weights of 1 of them from column w");
}
