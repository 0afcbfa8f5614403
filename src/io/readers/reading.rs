//! Turns files into measures and collects the remarks on them.

use std::path::{Path, PathBuf};

use super::cloud::{Content, Fault, ReadCloud, Remark, distinct_names, label};
use super::columns::Columns;
use super::format::Format;
use super::inputs::{Input, Remarks, Source, gather};
use super::{las, mixed, npy, npz, obj, off, pcd, ply, pts, stl, text};
use crate::error::{Error, Result};
use crate::io::ReadOptions;
use crate::measure::Measure;

/// Measures as they were read, and remarks for the user.
///
/// Where a setting of [`ReadOptions`] helps, the texts name it in parentheses.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reading {
    /// The measures, in the order given.
    pub measures: Vec<Measure>,
    /// One line: `8 clouds of 200 points in R^3 (x, y, z), weights from column w`.
    pub summary: String,
    /// Data that were left out, or read in one of several possible ways.
    pub notices: Vec<String>,
    /// Data that were possibly misread.
    pub warnings: Vec<String>,
}

/// The content of a file and the index of the file.
struct Item {
    file: usize,
    content: Content,
}

pub(crate) fn read<P: AsRef<Path>>(inputs: &[P], options: &ReadOptions) -> Result<Reading> {
    if inputs.is_empty() {
        return Err(Error::parameter("inputs", "no file is given; name at least one file or directory of clouds"));
    }
    let (files, remarks) = gather(inputs, options)?;
    let format = |file: &Input| file.format(options).ok();
    if options.surface.is_some() && !files.iter().any(|f| format(f).is_some_and(Format::is_mesh)) {
        let problem =
            "none of the files is a mesh (.ply, .off, .obj, .stl) with a surface to draw from; leave this option out";
        return Err(Error::parameter("surface", problem));
    }
    if options.weights_key.is_some() && !files.iter().any(|f| format(f) == Some(Format::Npz)) {
        let problem = "none of the files is an .npz, whose arrays have names; leave this option out";
        return Err(Error::parameter("weights key", problem));
    }
    read_inputs(&files, remarks, options)
}

/// Reads the files, names the clouds, and checks them as measures.
pub(crate) fn read_inputs(files: &[Input], mut remarks: Remarks, options: &ReadOptions) -> Result<Reading> {
    if options.surface == Some(0) {
        return Err(Error::parameter("surface", "a measure needs at least one point; give at least 1"));
    }
    let mut items = Vec::new();
    for (file, input) in files.iter().enumerate() {
        match read_content(input, options)? {
            Some(content) => items.push(Item { file, content }),
            None => {
                let text = "it holds words and no numbers; it is left out";
                remarks.push((input.path.clone(), Remark::notice(text)));
            }
        }
    }
    leave_out_labels(&mut items, files, &mut remarks);
    if items.is_empty() {
        let path = files.first().map(|f| f.path.clone()).unwrap_or_default();
        return Err(Error::file(
            path,
            "",
            "it holds words and no numbers, and no other file holds a cloud; name one that does",
        ));
    }
    for item in &mut items {
        let path = &files[item.file].path;
        remarks.extend(item.content.remarks.drain(..).map(|remark| (path.clone(), remark)));
        if item.content.names.is_empty() && options.columns.is_none() {
            let warning = mixed::warning(&item.content.clouds);
            remarks.extend(warning.map(|text| (path.clone(), Remark::warning(text))));
        }
    }
    let mut notices = gathered(&remarks, false);
    notices.extend(other_names(&items, files));
    let summary = Summary::of(&items);
    let clouds: Vec<(usize, ReadCloud)> =
        items.into_iter().flat_map(|i| i.content.clouds.into_iter().map(move |c| (i.file, c))).collect();
    let (measures, dropped) = measures(clouds, files, options)?;
    notices.extend(dropped);
    Ok(Reading { summary: summary.text(&measures), measures, notices, warnings: gathered(&remarks, true) })
}

/// The content of a file, whose values are not checked yet; `None` for a text that contains only words and was found in a
/// directory.
fn read_content(input: &Input, options: &ReadOptions) -> Result<Option<Content>> {
    let format = input.format(options)?;
    let bytes = input.bytes()?;
    let is_found_text = input.source == Source::Found && format == Format::Text;
    if is_found_text && text::is_words(&bytes) {
        return Ok(None);
    }
    let content = parse(&bytes, format, options).map_err(|Fault { place, mut problem }| {
        if is_found_text {
            problem
                .push_str("; if it is not a cloud, move it out of the directory or name the files to read one by one");
        }
        Error::file(&input.path, place, problem)
    })?;
    Ok(Some(content))
}

/// Calls the reader of the format.
fn parse(bytes: &[u8], format: Format, options: &ReadOptions) -> std::result::Result<Content, Fault> {
    // Weights that were requested and cannot be read must not silently become equal weights.
    match (format, &options.weight_column) {
        (Format::Npy | Format::Off | Format::Obj | Format::Stl | Format::Las, Some(name)) => {
            return Err(format!(
                "its format has no weights, but {name:?} is requested as the weight column; leave that option out or \
                 use .csv, .npz or .ply"
            )
            .into());
        }
        (Format::Npz, Some(name)) => {
            return Err(format!(
                "{name:?} is requested as the weight column, but an .npz holds weights in its array \"weights\"; \
                 leave that option out, or name the array (weights_key)"
            )
            .into());
        }
        _ => {}
    }
    let surface = options.surface();
    let content = match format {
        Format::Text => return text::read(bytes, options),
        Format::Ply => return ply::read(bytes, options),
        Format::Pcd => return pcd::read(bytes, options),
        Format::Pts => return pts::read(bytes, options),
        Format::Npy => npy::read(bytes)?,
        Format::Las => las::read(bytes)?,
        Format::Npz => npz::read(bytes, options.weights_key.as_deref())?,
        Format::Off => off::read(bytes, surface)?,
        Format::Obj => obj::read(bytes, surface)?,
        Format::Stl => stl::read(bytes, surface)?,
    };
    match &options.columns {
        Some(columns) => choose(content, columns),
        None => Ok(content),
    }
}

/// Chooses the columns of clouds whose format has only coordinates.
fn choose(mut content: Content, columns: &Columns) -> std::result::Result<Content, Fault> {
    let names: Vec<&str> = content.names.iter().map(String::as_str).collect();
    let names = Some(&names[..]).filter(|names| !names.is_empty());
    for cloud in &mut content.clouds {
        let chosen = columns.find(names, cloud.dim)?;
        let row = |row: &[f64]| chosen.iter().map(|&k| row[k]).collect::<Vec<_>>();
        cloud.points = cloud.points.chunks_exact(cloud.dim).flat_map(row).collect();
        cloud.dim = chosen.len();
    }
    if let Some(names) = names {
        content.names = columns.find(Some(names), names.len())?.into_iter().map(|k| names[k].into()).collect();
    }
    Ok(content)
}

/// Leaves out tables of labels that were found in a directory beside clouds.
fn leave_out_labels(items: &mut Vec<Item>, files: &[Input], remarks: &mut Remarks) {
    let is_table = |item: &Item| item.content.labels && files[item.file].source == Source::Found;
    if items.iter().all(is_table) {
        return;
    }
    items.retain(|item| {
        if is_table(item) {
            let text =
                "it looks like a table of labels beside clouds; it is left out (name the file itself to read it)";
            remarks.push((files[item.file].path.clone(), Remark::notice(text)));
        }
        !is_table(item)
    });
}

/// Checked measures with distinct names, and a text about dropped points.
fn measures(
    mut clouds: Vec<(usize, ReadCloud)>,
    files: &[Input],
    options: &ReadOptions,
) -> Result<(Vec<Measure>, Option<String>)> {
    let paths: Vec<&Path> = files.iter().map(|f| f.path.as_path()).collect();
    let mut dropped = Vec::new();
    if options.drop_nan {
        for (file, cloud) in &mut clouds {
            let (before, place) = (cloud.points.len() / cloud.dim, label(paths[*file], &cloud.part));
            let count = drop_nan(cloud);
            if count == before {
                return Err(Error::points(place, "all its points have a coordinate that is NaN; leave it out"));
            }
            if count > 0 {
                dropped.push((count, format!("{count} of {before} in {place}")));
            }
        }
    }
    let names = distinct_names(&paths, &clouds)?;
    let mut measures: Vec<Measure> = Vec::with_capacity(clouds.len());
    let mut first = None;
    for ((file, cloud), name) in clouds.into_iter().zip(names) {
        let place = label(paths[file], &cloud.part);
        let (first_dim, first_place) = first.get_or_insert_with(|| (cloud.dim, place.clone()));
        if cloud.dim != *first_dim {
            let problem = format!(
                "its points have dimension {}, those of {first_place} have dimension {first_dim}; give clouds of one \
                 dimension",
                cloud.dim
            );
            return Err(Error::points(place, problem));
        }
        let measure = match cloud.weights {
            None => Measure::uniform(name, cloud.points, cloud.dim),
            Some(weights) => Measure::weighted(name, cloud.points, cloud.dim, weights),
        };
        measures.push(measure.map_err(|e| blame(e, place))?);
    }
    Ok((measures, said_of(&dropped)))
}

/// Drops the points with a NaN coordinate; returns how many.
fn drop_nan(cloud: &mut ReadCloud) -> usize {
    let (d, before) = (cloud.dim, cloud.points.len());
    let whole: Vec<bool> = cloud.points.chunks_exact(d).map(|row| !row.iter().any(|v| v.is_nan())).collect();
    let mut place = 0..;
    cloud.points.retain(|_| place.next().is_none_or(|k| whole[k / d]));
    if let Some(weights) = &mut cloud.weights {
        let mut place = 0..;
        weights.retain(|_| place.next().is_none_or(|k: usize| whole.get(k).is_none_or(|w| *w)));
    }
    (before - cloud.points.len()) / d
}

/// Largest number of clouds named individually in a notice.
const MAX_NAMED_CLOUDS: usize = 8;

fn said_of(dropped: &[(usize, String)]) -> Option<String> {
    let total: usize = dropped.iter().map(|(count, _)| count).sum();
    let list: Vec<&str> = dropped.iter().take(MAX_NAMED_CLOUDS).map(|(_, text)| &text[..]).collect();
    let more = match dropped.len().saturating_sub(MAX_NAMED_CLOUDS) {
        0 => String::new(),
        n => format!(", and more in {n} other clouds, {total} in all"),
    };
    (total > 0).then(|| format!("points with a coordinate NaN are dropped: {}{more}", list.join(", ")))
}

/// The same error with the file as the name of the cloud.
fn blame(error: Error, place: String) -> Error {
    match error {
        Error::Points { point, coordinate, mut problem, .. } => {
            if problem.contains("NaN") {
                problem.push_str(", or drop such points (drop_nan)");
            }
            Error::Points { cloud: place, point, coordinate, problem }
        }
        Error::Weights { index, problem, .. } => Error::Weights { cloud: place, index, problem },
        other => other,
    }
}

/// Remarks of one kind; files with the same remark share a line.
fn gathered(remarks: &[(PathBuf, Remark)], warning: bool) -> Vec<String> {
    let mut groups: Vec<(&Path, usize, &Remark)> = Vec::new();
    for (path, remark) in remarks.iter().filter(|(_, remark)| remark.warning == warning) {
        match groups.iter_mut().find(|(.., first)| first.text == remark.text) {
            Some((_, count, _)) => *count += 1,
            None => groups.push((path, 1, remark)),
        }
    }
    let line = |(path, count, Remark { text, detail, .. }): (&Path, usize, &Remark)| match count {
        1 => format!("{}: {text}{detail}", path.display()),
        2 => format!("{} and 1 more file: {text}{detail}", path.display()),
        n => format!("{} and {} more files: {text}{detail}", path.display(), n - 1),
    };
    groups.into_iter().map(line).collect()
}

/// A remark that the files have different names for the coordinates.
fn other_names(items: &[Item], files: &[Input]) -> Option<String> {
    let mut named = items.iter().filter(|item| !item.content.names.is_empty());
    let first = named.next()?;
    let same =
        |a: &[String], b: &[String]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b));
    let other = named.find(|item| !same(&item.content.names, &first.content.names))?;
    let text = |item: &Item| format!("{} of {}", item.content.names.join(", "), files[item.file].path.display());
    Some(format!("coordinates have different names: {}, {}", text(first), text(other)))
}

/// What the summary says of all files.
struct Summary {
    names: Vec<String>,
    /// Sources of weights, and the number of clouds with weights.
    weights: Vec<String>,
    weighted: usize,
}

impl Summary {
    fn of(items: &[Item]) -> Self {
        let names = items.first().map_or(&[][..], |item| &item.content.names);
        let same = items.iter().all(|item| item.content.names == names);
        let mut weights: Vec<String> = items.iter().filter_map(|item| item.content.weights.clone()).collect();
        weights.sort();
        weights.dedup();
        let clouds = items.iter().flat_map(|item| &item.content.clouds);
        let weighted = clouds.filter(|cloud| cloud.weights.is_some()).count();
        Summary { names: if same { names.to_vec() } else { vec![] }, weights, weighted }
    }

    fn text(&self, measures: &[Measure]) -> String {
        let n = measures.len();
        let sizes = || measures.iter().map(Measure::len);
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        let clouds = if n == 1 { "1 cloud".into() } else { format!("{n} clouds") };
        let points = match (least, most) {
            (1, 1) => "1 point".into(),
            _ if least == most => format!("{least} points"),
            _ => format!("{least} to {most} points"),
        };
        let names = match &self.names[..] {
            [] => String::new(),
            [first, .., last] if self.names.len() > MAX_NAMED_CLOUDS => format!(" ({first}, …, {last})"),
            names => format!(" ({})", names.join(", ")),
        };
        let weights = match (self.weighted, self.weights.join(" and ")) {
            (0, _) => "equal weights".into(),
            (all, from) if all == n => format!("weights from {from}"),
            (some, from) => format!("weights of {some} of them from {from}"),
        };
        let d = measures.first().map_or(0, Measure::dim);
        format!("{clouds} of {points} in R^{d}{names}, {weights}")
    }
}
