//! Damaged files give an error or, if the damage makes another valid file, a cloud. Reading never panics or hangs.

use super::*;

/// A small valid file of each format, with every kind of content that its reader distinguishes.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    let arrays = [
        ("points", doubles("(6, 2)", &values)),
        ("offsets", npy(1, "'<i4'", false, "(3,)", &[0, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0])),
        ("weights", doubles("(6,)", &[1.0; 6])),
    ];
    let header = |format| {
        format!(
            "ply\nformat {format} 1.0\ncomment c\nelement vertex 3\nproperty list uchar short seen\nproperty float x\n\
             property double y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
    };
    let mut little = header("binary_little_endian").into_bytes();
    let mut big = header("binary_big_endian").into_bytes();
    for k in 0..3u8 {
        let point = [f64::from(k), f64::from(k * k), 1.0];
        little.extend([1, k, 0]);
        little.extend((point[0] as f32).to_le_bytes());
        little.extend(point[1].to_le_bytes());
        little.extend((point[2] as f32).to_le_bytes());
        big.extend([1, 0, k]);
        big.extend((point[0] as f32).to_be_bytes());
        big.extend(point[1].to_be_bytes());
        big.extend((point[2] as f32).to_be_bytes());
    }
    little.extend([3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    big.extend([3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    let ascii = header("ascii") + "1 0 0 0 1\n0 1 1 1\n2 5 6 2 4 1\n3 0 1 2\n";
    vec![
        ("a.npy", doubles("(2, 3, 2)", &values)),
        ("f.npy", npy(2, "'>i2'", true, "(3, 2)", &[0; 12])),
        ("a.npz", npz(&arrays, false)),
        ("z.npz", npz(&arrays, true)),
        ("numpy.npz", include_bytes!("numpy.npz").to_vec()),
        ("a.csv", b"x,\"w\",y # c\n1,2,3\n4.5,1e3,-6\n".to_vec()),
        ("a.txt", b"% c\n1 2 3\n\t4 5 6\n".to_vec()),
        ("a.off", b"COFF3 1 0\n0 0 0 9 9 9\n1 0 0 9 9 9\n0 1 0 9 9 9 # c\n3 0 1 2 255 0 0\n".to_vec()),
        ("a.ply", ascii.into_bytes()),
        ("l.ply", little),
        ("b.ply", big),
        ("a.obj", b"v 0 0 0 # c\nv 1 \\\n0 0\nvt 1 1\nv 0 1 0 .5 .5 .5\nf 1/1 2 -1\n".to_vec()),
        ("a.stl", super::formats::STL.as_bytes().to_vec()),
        ("b.stl", super::formats::binary_stl()),
        ("a.pcd", super::formats::pcd("ascii", b"0 nan 1 1 9\n2 3 4 5 9\n")),
        ("b.pcd", super::formats::pcd("binary", &super::formats::records())),
        ("c.pcd", include_bytes!("packed.pcd").to_vec()),
        ("a.pts", b"2\n0 1 2 9\n3 4 5 9\n1\n6 7 8 9\n".to_vec()),
        ("a.csv.gz", super::formats::gzip(b"x,y\n1,2\n3,4\n")),
        ("a.las", super::formats::SCAN.to_vec()),
        #[cfg(feature = "laz")]
        ("a.laz", super::formats::PACKED_SCAN.to_vec()),
        ("h.xyz", b"//X Y Z R\n1 2 3 4\n".to_vec()),
        ("i.csv", b",x,y\n0,1,2\n1,3,4\n".to_vec()),
    ]
}

/// Reads with and without a surface. Any result is accepted; reading only has to return.
fn try_reading(path: &Path) {
    for surface in [None, Some(3)] {
        if let Err(e) = read_file(path, &ReadOptions { surface, drop_nan: surface.is_some(), ..Default::default() }) {
            assert!(!e.to_string().contains('\n'), "{e}");
        }
    }
}

#[test]
fn the_files_are_valid() {
    for (name, bytes) in files() {
        let options = ReadOptions { drop_nan: true, ..Default::default() };
        read_with(name, &bytes, &options);
        read_with(name, &bytes, &ReadOptions { surface: Some(3), ..options });
    }
}

#[test]
fn every_prefix() {
    let dir = Dir::new();
    for (name, bytes) in files() {
        for end in 0..bytes.len() {
            try_reading(&dir.put(name, &bytes[..end]));
        }
    }
}

#[test]
fn flipped_replaced_and_moved_bytes() {
    let meaningful = b"0159-+.,;# \n\r\t\"'()[]{}exn";
    // Knuth's MMIX generator; its high bits are random enough.
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let dir = Dir::new();
    for (name, bytes) in files() {
        for _ in 0..800 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + below(3) {
                let at = below(damaged.len());
                match below(4) {
                    0 => damaged[at] ^= 1 << below(8),
                    1 => damaged[at] = below(256) as u8,
                    2 => damaged[at] = meaningful[below(meaningful.len())],
                    _ => damaged.rotate_left(below(2)),
                }
            }
            try_reading(&dir.put(name, &damaged));
        }
    }
}

/// Fields of a zip file for sizes, offsets and methods, set to malicious values.
#[test]
fn zip_fields_of_ill_will() {
    let dir = Dir::new();
    let (_, good) = files().swap_remove(3);
    let directory = good.windows(4).position(|w| w == b"PK\x01\x02").expect("a directory");
    for at in directory..good.len() {
        for value in [0x00, 0x01, 0x63, 0x7f, 0xff] {
            for width in [1, 2, 4] {
                let mut bad = good.clone();
                bad[at..(at + width).min(good.len())].fill(value);
                try_reading(&dir.put("a.npz", &bad));
            }
        }
    }
}
