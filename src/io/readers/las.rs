//! Airborne and terrestrial scans (`.las`, `.laz`): reads the coordinates x, y, z of the points; everything else is left out.
//!
//! LAS 1.0 to 1.4 (ASPRS): the header has the position, length and number of the point records, and a scale s and an offset o for
//! each coordinate. A record begins with integers X, Y, Z, and x = s X + o. In a `.laz`, the records are compressed in chunks;
//! the crate `laz` decompresses them.

use super::cloud::{Content, Fault};

/// Bits of the record format number that are set if the records are compressed.
const COMPRESSED: u8 = 0xc0;

/// The header's description of the records.
struct Header {
    /// Offset of the first record.
    start: usize,
    /// Bytes of a record.
    length: usize,
    points: usize,
    compressed: bool,
    scale: [f64; 3],
    offset: [f64; 3],
}

fn truncated() -> Fault {
    String::from("it ends too early; it is truncated or not a .las file").into()
}

/// Reads `N` bytes at an offset.
fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Fault> {
    let end = at.checked_add(N).ok_or_else(truncated)?;
    bytes.get(at..end).and_then(|b| b.try_into().ok()).ok_or_else(truncated)
}

fn whole(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    Ok(u32::from_le_bytes(field(bytes, at)?) as usize)
}

/// The coordinates of all points.
pub(crate) fn read(bytes: &[u8]) -> Result<Content, Fault> {
    let header = header(bytes)?;
    if header.points == 0 {
        return Err(String::from("it holds no points; a cloud needs at least one").into());
    }
    let Header { length, points, scale, offset, .. } = header;
    let mut coords = Vec::new();
    let mut take = |records: &[u8]| {
        for record in records.chunks_exact(length) {
            for (k, number) in record[..12].chunks_exact(4).enumerate() {
                let number = i32::from_le_bytes([number[0], number[1], number[2], number[3]]);
                coords.push(f64::from(number) * scale[k] + offset[k]);
            }
        }
    };
    if header.compressed {
        unpack(bytes, &header, take)?;
    } else {
        let size = points.checked_mul(length).ok_or_else(truncated)?;
        let records = bytes.get(header.start..).and_then(|rest| rest.get(..size));
        take(
            records.ok_or_else(|| {
                Fault::from(format!("it ends before the last of its {points} points; it is truncated"))
            })?,
        );
    }
    Ok(Content::whole(coords, ["x", "y", "z"].map(String::from).into()))
}

fn header(bytes: &[u8]) -> Result<Header, Fault> {
    if !bytes.starts_with(b"LASF") {
        return Err(String::from("it does not begin with \"LASF\"; it is not a .las file").into());
    }
    let minor = field::<1>(bytes, 25)?[0];
    let format = field::<1>(bytes, 104)?[0];
    let length = usize::from(u16::from_le_bytes(field(bytes, 105)?));
    if length < 12 {
        return Err(format!("its records have {length} bytes; one that holds X, Y and Z has at least 12").into());
    }
    // Version 1.4 has a 64-bit count; the old one can be 0 there.
    let points = match whole(bytes, 107)? {
        0 if minor >= 4 => usize::try_from(u64::from_le_bytes(field(bytes, 247)?)).map_err(|_| truncated())?,
        points => points,
    };
    let (mut scale, mut offset) = ([0.0; 3], [0.0; 3]);
    for k in 0..3 {
        scale[k] = f64::from_le_bytes(field(bytes, 131 + 8 * k)?);
        offset[k] = f64::from_le_bytes(field(bytes, 155 + 8 * k)?);
    }
    if scale.iter().any(|s| !(s.is_finite() && *s != 0.0)) || offset.iter().any(|o| !o.is_finite()) {
        return Err(String::from("its header gives scales and offsets that are not finite numbers; repair it").into());
    }
    Ok(Header { start: whole(bytes, 96)?, length, points, compressed: format & COMPRESSED != 0, scale, offset })
}

#[cfg(not(feature = "laz"))]
fn unpack(_: &[u8], _: &Header, _: impl FnMut(&[u8])) -> Result<(), Fault> {
    Err(String::from(
        "it is compressed (LAZ), which this build does not read; build with the feature laz, or convert it to .las",
    )
    .into())
}

/// Passes on all records, in blocks. The sizes that the file states are checked before memory is allocated for them.
#[cfg(feature = "laz")]
fn unpack(bytes: &[u8], header: &Header, mut take: impl FnMut(&[u8])) -> Result<(), Fault> {
    use laz::{LasZipDecompressor, LazVlr};
    use std::io::Cursor;

    let bad = |what: &str| Fault::from(format!("{what}; it is damaged or truncated"));
    let vlr = LazVlr::from_buffer(laszip_record(bytes)?).map_err(|e| bad(&format!("its LASzip record: {e}")))?;
    if !fits(vlr.items(), header.length) {
        return Err(bad("its LASzip record does not fit the length of its points"));
    }
    let chunks = chunks(bytes, header.start)?;
    if chunks > bytes.len() {
        return Err(bad(&format!("it promises {chunks} chunks in {} bytes", bytes.len())));
    }
    if !vlr.uses_variable_size_chunks() && chunks.saturating_mul(vlr.chunk_size() as usize) < header.points {
        return Err(bad(&format!("its {chunks} chunks cannot hold its {} points", header.points)));
    }
    let mut source = Cursor::new(bytes);
    source.set_position(header.start as u64);
    let mut records = LasZipDecompressor::new(source, vlr).map_err(|e| bad(&e.to_string()))?;
    /// Number of records decompressed at a time.
    const BLOCK: usize = 4096;
    let mut block = vec![0; BLOCK.min(header.points) * header.length];
    for first in (0..header.points).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(header.points - first) * header.length];
        records.decompress_many(block).map_err(|e| bad(&format!("after point {first}: {e}")))?;
        take(block);
    }
    Ok(())
}

/// Checks that the parts of a record have the sizes of their types and add up to the size of a record.
#[cfg(feature = "laz")]
fn fits(items: &[laz::LazItem], length: usize) -> bool {
    use laz::LazItemType::{
        Byte, Byte14, GpsTime, Point10, Point14, RGB12, RGB14, RGBNIR14, WavePacket13, WavePacket14,
    };
    let size = |item: &laz::LazItem| match item.item_type() {
        Byte(size) | Byte14(size) => size,
        Point10 => 20,
        Point14 => 30,
        GpsTime | RGBNIR14 => 8,
        RGB12 | RGB14 => 6,
        WavePacket13 | WavePacket14 => 29,
    };
    let sum: usize = items.iter().map(|item| usize::from(size(item))).sum();
    !items.is_empty() && items.iter().all(|item| item.size() == size(item)) && sum == length
}

/// The variable-length record that describes the compression of the points.
#[cfg(feature = "laz")]
fn laszip_record(bytes: &[u8]) -> Result<&[u8], Fault> {
    /// Number of bytes before the content of such a record.
    const HEAD: usize = 54;
    let mut at = usize::from(u16::from_le_bytes(field(bytes, 94)?));
    for _ in 0..whole(bytes, 100)? {
        let user: [u8; 16] = field(bytes, at + 2)?;
        let id = u16::from_le_bytes(field(bytes, at + 18)?);
        let length = usize::from(u16::from_le_bytes(field(bytes, at + 20)?));
        let content = bytes.get(at + HEAD..).and_then(|rest| rest.get(..length)).ok_or_else(truncated)?;
        if user.starts_with(b"laszip encoded") && id == 22204 {
            return Ok(content);
        }
        at += HEAD + length;
    }
    Err(String::from("its points are compressed, but it has no LASzip record; it is damaged").into())
}

/// The number of chunks of compressed points. The offset of the chunk table is stored before the points or at the end of the
/// file.
#[cfg(feature = "laz")]
fn chunks(bytes: &[u8], start: usize) -> Result<usize, Fault> {
    let place = |at| Ok::<_, Fault>(i64::from_le_bytes(field(bytes, at)?));
    let table = match place(start)? {
        -1 => place(bytes.len().saturating_sub(8))?,
        table => table,
    };
    let table = usize::try_from(table).map_err(|_| truncated())?;
    whole(bytes, table.checked_add(4).ok_or_else(truncated)?)
}
