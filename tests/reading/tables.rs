//! Text files.

use super::*;

#[test]
fn separators_comments_and_headers() {
    let expected = (vec![1.0, 2.5, -3.0, 4e-3], 2);
    for text in [
        "1,2.5\n-3,4e-3\n",
        "1;2.5\n-3;4e-3",
        "1\t2.5\n-3\t4e-3\n",
        "1 2.5\n  -3    4e-3  \n",
        "1 , 2.5\r\n-3 , 4e-3\r\n",
        "1 2.5\r-3 4e-3\r",
        "\u{feff}x,y\n1,2.5\n-3,4e-3\n",
        "\"x\",\"y\"\n\"1\",\"2.5\"\n-3,4e-3\n",
        "'x' 'y'\n+1. 2.5\n-3 .004\n",
        "# x y\n\n1 2.5 # first\n// note\n% note\n\n-3 4e-3\n#",
        "x;y\n1;2.5\n-3;4e-3\n",
        "long name\tother name\n1\t2.5\n-3\t4e-3\n",
    ] {
        for name in ["a.csv", "a.txt", "a.xyz", "a.dat", "a.tsv", "a.CSV"] {
            assert_eq!(one(name, text), expected, "{text:?}");
        }
    }
    assert_eq!(one("a.txt", "3\n1\n2\n"), (vec![3.0, 1.0, 2.0], 1));
    assert_eq!(one("a.txt", "1 2 3 4 5"), (vec![1.0, 2.0, 3.0, 4.0, 5.0], 5));
}

#[test]
fn columns_of_weights() {
    for name in ["w", "Weight", "weights"] {
        let measures = read("a.csv", format!("x,{name},y\n1,1,2\n3,3,4\n"));
        assert_eq!((measures[0].points(), measures[0].dim()), (&[1.0, 2.0, 3.0, 4.0][..], 2));
        assert_eq!(measures[0].weights(), [0.25, 0.75]);
    }
    let options = ReadOptions { weight_column: Some("mass".into()), ..Default::default() };
    let measures = read_with("a.csv", "mass,x,w\n3,1,2\n1,3,4\n", &options);
    assert_eq!((measures[0].points(), measures[0].weights()), (&[1.0, 2.0, 3.0, 4.0][..], &[0.75, 0.25][..]));
    refuse_with("a.csv", "x,y\n1,2\n", &options, "file", &["line 1", "\"mass\"", "x, y"]);
    refuse_with("a.csv", "1,2\n", &options, "file", &["\"mass\""]);
    refuse("a.csv", "x,w,weight\n1,2,3\n", "file", &["line 1"]);
    refuse("a.csv", "w\n1\n", "file", &["line 1"]);
    refuse("a.csv", "x,w\n1,1\n2,-1\n", "file", &["line 3, column 2 (\"w\")", "-1"]);
    refuse("a.csv", "x,w\n1,0\n2,0\n", "weights", &[]);
    refuse("a.csv", "x,w\n1,nan\n2,0\n", "file", &["line 2, column 2 (\"w\")", "nan"]);
}

#[test]
fn fields_that_are_no_numbers() {
    refuse("a.csv", "1,2\n3,four\n", "file", &["line 2, column 2", "\"four\""]);
    refuse("a.csv", "x,y\n\n# c\n3,four\n", "file", &["line 4, column 2 (\"y\")", "\"four\""]);
    refuse("a.csv", "1,2\n3,\n", "file", &["line 2, column 2"]);
    refuse("a.csv", "1,2\n3,nan\n", "file", &["line 2, column 2", "nan"]);
    refuse("a.csv", "1,2\n-inf,3\n", "file", &["line 2, column 1", "-inf"]);
    refuse("a.csv", "1,1e999\n", "file", &["line 1, column 2", "1e999"]);
    // A first line with a typing error in one number is not a header.
    refuse("a.csv", "1.0,2.O,3.0\n1,2,3\n", "file", &["line 1, column 2", "\"2.O\""]);
    // Messages stay short.
    let dir = Dir::new();
    let e = read_file(&dir.put("a.csv", format!("1,2\n3,{}", "é".repeat(9999))), &ReadOptions::default());
    assert!(e.expect_err("a word").to_string().chars().count() < 250);
    // An empty field is not a name, except for an index column.
    refuse("a.csv", "x,,y\n1,2,3\n", "file", &["line 1, column 2"]);
    refuse("a.csv", ",2,5\n0,0.5,0.5\n", "file", &["line 1, column 1"]);
    for text in ["1,5;2,5\n3,5;4,5\n", "1,5 2,5\n3,5 4,5\n", "x;y\n1,5;2,5\n", "1,5\t2,5\n"] {
        refuse("a.csv", text, "file", &[]);
    }
    refuse("a.tsv", "1\t2\n3 4\t5\n", "file", &["line 2, column 1"]);
}

#[test]
fn ragged_and_empty_files() {
    refuse("a.csv", "1,2,3\n4,5\n", "file", &["line 2", "2 fields", "line 1 has 3"]);
    refuse("a.txt", "x y\n1 2\n1 2 3\n", "file", &["line 3", "3 fields", "line 1 has 2"]);
    for text in ["", "\n\n", "# only\n", "x,y\n", "\u{feff}"] {
        refuse("a.csv", text, "file", &[]);
    }
    refuse("a.csv", b"\xff\xfe1\x00,\x002\x00", "file", &["UTF-16", "UTF-8"]);
    refuse("a.csv", b"1,2\0\x01", "file", &[]);
    refuse("a.csv", b"1,\xff\n", "file", &["line 1, column 2"]);
    refuse("a.csv", "x y z\n1,2,3\n", "file", &["line 2", "line 1 has 3"]);
}

#[test]
fn molecules_are_told_what_to_do() {
    refuse("m.xyz", "3\nwater\nO 0 0 0\nH 0 0 1\nH 0 1 0\n", "file", &["line 2"]);
    refuse("m.xyz", "3\n\nO 0 0 0\nH 0 0 1\n", "file", &["line 3"]);
    refuse("m.xyz", "O 0 0 0\nH 0 0 1\n", "file", &["line 1, column 1", "\"O\""]);
}
