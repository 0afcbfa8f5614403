//! The effect of the names of columns.

use super::*;
use wgpca::Error;

/// Asserts points, names of the coordinates in the summary, and the columns that the notice says are left out.
#[track_caller]
fn table(text: &str, points: &[f64], shown: &str, left: &[&str]) {
    let reading = read_one("a.csv", text, &ReadOptions::default());
    assert_eq!(reading.measures[0].points(), points, "{text:?}");
    assert!(reading.summary.contains(&format!("({shown})")), "{}", reading.summary);
    match left {
        [] => assert!(reading.notices.is_empty(), "{:?}", reading.notices),
        [one] => says(&reading.notices, &[&format!("column {one}")]),
        _ => says(&reading.notices, &[&format!("columns {}", left.join(", "))]),
    }
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
}

#[test]
fn letters_and_numbers_are_coordinates() {
    table("x,y,z\n1,2,3\n", &[1., 2., 3.], "x, y, z", &[]);
    table("X_m,Y_m,Z_m,label\n1,2,3,9\n", &[1., 2., 3.], "X_m, Y_m, Z_m", &["label"]);
    table("x [mm],y [mm],t\n1,2,9\n", &[1., 2.], "x [mm], y [mm]", &["t"]);
    table("pos_x;pos_y;time\n1;2;9\n", &[1., 2.], "pos_x, pos_y", &["time"]);
    // Coordinates are ordered by their letters, so that files with other orders of columns agree.
    table("z,y,x\n3,2,1\n", &[1., 2., 3.], "x, y, z", &[]);
    table("x2,x1,x3,class\n2,1,3,9\n", &[1., 2., 3.], "x1, x2, x3", &["class"]);
    table("x0,x1\n1,2\n", &[1., 2.], "x0, x1", &[]);
    // ParaView.
    table(
        "\"Normals:0\",\"Normals:1\",\"Normals:2\",\"Points:0\",\"Points:1\",\"Points:2\"\n7,8,9,1,2,3\n",
        &[1., 2., 3.],
        "Points:0, Points:1, Points:2",
        &["Normals:0", "Normals:1", "Normals:2"],
    );
    table("Points_0,Points_1,Points_2,p\n1,2,3,9\n", &[1., 2., 3.], "Points_0, Points_1, Points_2", &["p"]);
    // A shorter name takes precedence; two of the same length are an error.
    table("x,y,x_m\n1,2,9\n", &[1., 2.], "x, y", &["x_m"]);
    refuse("a.csv", "x_m,y,x_km\n1,2,3\n", "file", &["line 1", "\"x_m\" and \"x_km\"", "(columns)"]);
}

#[test]
fn names_that_are_not_understood_leave_all_columns() {
    table("height,age\n1,2\n", &[1., 2.], "height, age", &[]);
    // One letter beside unknown names is weak evidence.
    table("x,age\n1,2\n", &[1., 2.], "x, age", &[]);
    table("x,intensity\n1,2\n", &[1.], "x", &["intensity"]);
    // If there are only colours, they are the points of a distribution of colours.
    table("r,g,b\n1,2,3\n", &[1., 2., 3.], "r, g, b", &[]);
    table("x1,x3,age\n1,2,3\n", &[1., 2., 3.], "x1, x3, age", &[]);
}

#[test]
fn attributes_are_left_out_in_one_line() {
    let left = ["red", "green", "blue", "alpha", "intensity", "nx", "ny", "nz"];
    let header = format!("x,y,z,{}\n1,2,3,4,5,6,7,8,9,10,11\n", left.join(","));
    table(&header, &[1., 2., 3.], "x, y, z", &left);
    table("x,y,rgb,normal_x\n1,2,3,4\n", &[1., 2.], "x, y", &["rgb", "normal_x"]);
    // Columns that are left out need not be numbers.
    table("name,x,y\nchair,1,2\n", &[1., 2.], "x, y", &["name"]);
    // One line for many files.
    let dir = Dir::new();
    for name in ["a.csv", "b.csv", "c.csv"] {
        dir.put(name, "x,y,r,g,b\n0,1,2,3,4\n");
    }
    let reading = read_how(&[dir.path()], &ReadOptions::default());
    assert_eq!(reading.notices.len(), 1, "{:?}", reading.notices);
    says(&reading.notices, &["a.csv and 2 more files", "columns r, g, b"]);
    assert_eq!(reading.summary, "3 clouds of 1 point in R^2 (x, y), equal weights");
}

#[test]
fn indices_are_no_coordinates() {
    // pandas: to_csv with its index, with and without names of the columns; also read and written again.
    table(",x,y\n0,1,2\n1,3,4\n", &[1., 2., 3., 4.], "x, y", &["without a name"]);
    table(",0,1\n0,0.5,1.5\n1,3,4\n", &[0.5, 1.5, 3., 4.], "0, 1", &["without a name"]);
    table("Unnamed: 0,height,age\n7,1,2\n9,3,4\n", &[1., 2., 3., 4.], "height, age", &["Unnamed: 0"]);
    table(",height,age\nann,1,2\nbob,3,4\n", &[1., 2., 3., 4.], "height, age", &["without a name"]);
    // A named index, if it counts the rows.
    table("index,height,age\n0,1,2\n1,3,4\n", &[1., 2., 3., 4.], "height, age", &["index"]);
    table("height,age,id\n1,2,1\n3,4,2\n", &[1., 2., 3., 4.], "height, age", &["id"]);
    table("height,id\n1,5\n3,4\n", &[1., 5., 3., 4.], "height, id", &[]);
    table("id,x,y\n5,1,2\n4,3,4\n", &[1., 2., 3., 4.], "x, y", &["id"]);
}

#[test]
fn headers_in_comments() {
    for text in [
        "//X Y Z R G B\n1 2 3 255 0 0\n",
        "# X Y Z R G B\n1 2 3 255 0 0\n",
        "// CloudCompare\n\n//X,Y,Z,R,G,B\n1,2,3,255,0,0\n",
        "#X Y Z R G B\n1,2,3,255,0,0\n",
    ] {
        let reading = read_one("a.xyz", text, &ReadOptions::default());
        assert_eq!(reading.measures[0].points(), [1., 2., 3.], "{text:?}");
        says(&reading.notices, &["columns R, G, B"]);
    }
    // A comment that happens to have as many words as there are columns.
    let reading = read_one("a.xyz", "# made by hand\n1 2 3\n", &ReadOptions::default());
    assert_eq!((reading.measures[0].dim(), &reading.notices[..]), (3, &[][..]));
    let reading = read_one("a.xyz", "# x y w\n1 2 3\n4 5 9\n", &ReadOptions::default());
    assert_eq!((reading.measures[0].dim(), reading.measures[0].weights()), (2, &[0.25, 0.75][..]));
}

#[test]
fn weights_have_usual_names() {
    for name in ["weight", "Weights", "w", "mass", "mass [kg]"] {
        let reading = read_one("a.csv", format!("x,y,{name}\n1,2,1\n3,4,3\n"), &ReadOptions::default());
        assert_eq!((reading.measures[0].dim(), reading.measures[0].weights()), (2, &[0.25, 0.75][..]));
        assert_eq!(reading.summary, format!("1 cloud of 2 points in R^2 (x, y), weights from column {name}"));
        assert!(reading.notices.is_empty());
    }
}

#[test]
fn columns_are_chosen() {
    let text = "x,y,z,r\n1,2,3,4\n";
    let points = |how: &str| read_with("a.csv", text, &columns(how))[0].points().to_vec();
    assert_eq!(points("x,z"), [1., 3.]);
    assert_eq!(points("z,X"), [3., 1.]);
    assert_eq!(points("1-2,4"), [1., 2., 4.]);
    assert_eq!(points("r"), [4.]);
    assert_eq!(read_with("a.csv", "1,2,3,4\n", &columns("2-3"))[0].points(), [2., 3.]);
    assert_eq!(read_with("a.csv", ",x,name\n5,6,chair\n", &columns("1,2"))[0].points(), [5., 6.]);
    refuse_with("a.csv", text, &columns("x,q"), "file", &["line 1", "\"q\"", "x, y, z, r"]);
    refuse_with("a.csv", text, &columns("3-5"), "file", &["line 1", "column 5", "4 columns"]);
    refuse_with("a.csv", "1,2\n", &columns("x"), "file", &["(columns)"]);
    // With weights, and for arrays and meshes.
    let weighted = ReadOptions { weight_column: Some("r".into()), ..columns("y,x") };
    let measure = &read_with("a.csv", "x,y,r\n1,2,1\n3,4,3\n", &weighted)[0];
    assert_eq!((measure.points(), measure.weights()), (&[2., 1., 4., 3.][..], &[0.25, 0.75][..]));
    refuse_with("a.csv", text, &ReadOptions { weight_column: Some("x".into()), ..columns("x,y") }, "file", &["\"x\""]);
    let array = doubles("(2, 3)", &[0., 1., 2., 3., 4., 5.]);
    assert_eq!(read_with("a.npy", &array, &columns("3,1"))[0].points(), [2., 0., 5., 3.]);
    refuse_with("a.npy", &array, &columns("x"), "file", &[]);
    refuse_with("a.npy", &array, &columns("4"), "file", &["column 4", "3 columns"]);
    assert_eq!(read_with("a.off", "OFF\n1 0 0\n1 2 3\n", &columns("z,x"))[0].points(), [3., 1.]);
    let header = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float a\nproperty float b\nend_header\n";
    assert_eq!(read_with("a.ply", format!("{header}7 8\n"), &columns("b,a"))[0].points(), [8., 7.]);
    for (text, part) in [("", ""), ("x,,y", ""), ("0-2", "0-2"), ("3-2", "3-2"), ("x,x", "x")] {
        let e = text.parse::<Columns>().expect_err(text);
        assert!(matches!(&e, Error::Parameter { name: "columns", problem } if problem.contains(part)), "{e}");
    }
    assert!("1-99999999999".parse::<Columns>().is_err());
}

#[test]
fn mixed_columns_without_names() {
    let row = |k: usize| format!("{} {} {}", 0.5 * k as f64 + 0.1, 0.25 * k as f64, 1.5);
    let lines =
        |more: &dyn Fn(usize) -> String| (0..9).map(|k| format!("{} {}\n", row(k), more(k))).collect::<String>();
    let coloured = lines(&|k| format!("{} 0 255", 20 * k));
    let reading = read_one("a.xyz", &coloured, &ReadOptions::default());
    assert_eq!(reading.measures[0].dim(), 6);
    says(&reading.warnings, &["a.xyz: columns 4, 6 of 6", "(columns)"]);
    assert!(read_one("a.xyz", &coloured, &columns("1-3")).warnings.is_empty());
    let normals = lines(&|k| {
        let (s, c) = (0.3 * k as f64).sin_cos();
        format!("{s} {c} 0.0")
    });
    says(&read_one("a.xyz", &normals, &ReadOptions::default()).warnings, &["columns 4 to 6 of 6"]);
    let values: Vec<f64> = normals.split_whitespace().map(|v| v.parse().expect("a number")).collect();
    says(&read_one("a.npy", doubles("(9, 6)", &values), &ReadOptions::default()).warnings, &["(columns)"]);
    // A header of pandas for columns without names.
    let header = read_one("a.csv", "0,1\n0.5,2\n3,4.5\n", &ReadOptions::default());
    assert_eq!(header.measures[0].len(), 3);
    says(&header.warnings, &["a.csv", "line 1"]);
    assert!(read_one("a.csv", "0,1\n0.5,2\n3,4\n", &ReadOptions::default()).warnings.is_empty());
    // Only whole numbers, only real numbers, three columns, flags.
    for text in [lines(&|k| format!("{}.5 0.1", k)), lines(&|k| format!("{}", k % 2)), "1 2 3 200\n".repeat(9)] {
        assert!(read_one("a.xyz", &text, &ReadOptions::default()).warnings.is_empty(), "{text}");
    }
}

#[test]
fn points_that_are_not_there_are_dropped() {
    let options = ReadOptions { drop_nan: true, ..Default::default() };
    let reading = read_one("a.csv", "x,y,w\n1,2,1\nnan,4,7\n5,,7\n7,NA,7\n9,10,3\n", &options);
    assert_eq!(reading.measures[0].points(), [1., 2., 9., 10.]);
    assert_eq!(reading.measures[0].weights(), [0.25, 0.75]);
    says(&reading.notices, &["3 of 5", "a.csv"]);
    let reading = read_one("a.csv", ",1\n2,3\n", &options);
    assert_eq!(reading.measures[0].points(), [2., 3.]);
    let reading = read_one("a.csv", ",0,1\n0,2,3\n", &options);
    assert_eq!(reading.measures[0].points(), [2., 3.]);
    let values = [1., f64::NAN, 3., 4., f64::NAN, f64::NAN, 7., 8.];
    let reading = read_one("s.npy", doubles("(2, 2, 2)", &values), &options);
    assert_eq!((reading.measures[0].points(), reading.measures[1].points()), (&[3., 4.][..], &[7., 8.][..]));
    says(&reading.notices, &["1 of 2", "s.npy[0]", "s.npy[1]"]);
    refuse_with("s.npy", doubles("(2, 1)", &[f64::NAN; 2]), &options, "points", &["NaN"]);
    refuse_with("s.npy", doubles("(2, 1)", &[1.0, f64::INFINITY]), &options, "points", &["point 1", "inf"]);
    refuse_with("a.csv", "x,w\n1,nan\n2,1\n", &options, "file", &["line 2, column 2", "weight"]);
    refuse("s.npy", doubles("(2, 1)", &[1.0, f64::NAN]), "points", &["point 1", "NaN", "(drop_nan)"]);
    refuse("a.csv", "1,2\n3,nan\n", "file", &["line 2, column 2", "nan", "(drop_nan)"]);
    refuse("a.csv", "x,y\n3,\n", "file", &["line 2, column 2"]);
}

#[test]
fn names_that_differ_between_files_are_named() {
    let dir = Dir::new();
    let (a, b) = (dir.put("a.csv", "x,y\n1,2\n"), dir.put("b.csv", "height,age\n1,2\n"));
    says(&read_how(&[&a, &b], &ReadOptions::default()).notices, &["x, y", "height, age"]);
    assert!(read_how(&[&a, &dir.put("c.csv", "Y,X\n1,2\n")], &ReadOptions::default()).notices.is_empty());
}
