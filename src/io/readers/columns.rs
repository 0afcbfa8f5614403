//! Finds out from the names of the columns of a table what they hold.
//!
//! A name is cut into words: at characters that are neither letters nor digits, and between letters and digits. `x`, `y` and `z`
//! are coordinates, also with a unit (`X_m`, `x [mm]`) or a word for a position (`pos_x`). So are numbered columns with a common
//! stem (`x1`, `Points:0`), if the numbers are consecutive from 0 or 1. If coordinates are found, all other columns except the
//! weights are left out. Otherwise every column except the weights and the index is a coordinate.

use std::fmt;
use std::str::FromStr;

use super::cloud::quote;
use crate::error::Error;

/// The columns of a table that are coordinates, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// Columns by name.
    Names(Vec<String>),
    /// Columns by position, from 1.
    Positions(Vec<usize>),
}

impl FromStr for Columns {
    type Err = Error;

    /// Parses `x,y,z`, or `1-3` and `1,2,5-6`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an empty list, a position 0, a descending range or a column given twice.
    ///
    /// # Example
    /// ```
    /// use wgpca::io::Columns;
    /// assert_eq!("1-3".parse::<Columns>()?, Columns::Positions(vec![1, 2, 3]));
    /// assert_eq!("1-3".parse::<Columns>()?.to_string(), "1,2,3");
    /// assert_eq!("x, y".parse::<Columns>()?, Columns::Names(vec!["x".into(), "y".into()]));
    /// # Ok::<(), wgpca::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |problem: String| Err(Error::parameter("columns", problem));
        let items: Vec<&str> = text.split(',').map(str::trim).collect();
        if items.iter().any(|item| item.is_empty()) {
            return wrong("a column is missing; give names (x,y,z) or positions from 1 (1-3)".into());
        }
        let range = |item: &str| -> Option<(usize, usize)> {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        };
        let ranges: Option<Vec<_>> = items.iter().map(|item| range(item)).collect();
        let columns = match ranges {
            None => Columns::Names(items.into_iter().map(String::from).collect()),
            Some(ranges) => {
                if let Some((first, last)) = ranges.iter().find(|(first, last)| *first == 0 || first > last) {
                    return wrong(format!(
                        "{first}-{last} is not a range of positions; positions increase and count from 1"
                    ));
                }
                if ranges.iter().any(|(first, last)| last - first > MAX_COLUMN) {
                    return wrong(format!(
                        "a range holds more than {MAX_COLUMN} columns; give the ones that are needed"
                    ));
                }
                Columns::Positions(ranges.into_iter().flat_map(|(first, last)| first..=last).collect())
            }
        };
        let twice = match &columns {
            Columns::Names(names) => repeated(names).cloned(),
            Columns::Positions(positions) => repeated(positions).map(usize::to_string),
        };
        match twice {
            Some(column) => wrong(format!("column {column} is given twice; give each once")),
            None => Ok(columns),
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Columns::Names(names) => f.write_str(&names.join(",")),
            Columns::Positions(positions) => {
                f.write_str(&positions.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Largest position of a column; a larger one is taken for a typing error.
const MAX_COLUMN: usize = 1 << 16;

fn repeated<T: PartialEq>(items: &[T]) -> Option<&T> {
    items.iter().enumerate().find(|(k, item)| items[..*k].contains(item)).map(|(_, item)| item)
}

impl Columns {
    /// The chosen columns of a table with `width` columns, whose names are possibly known.
    pub(crate) fn find(&self, names: Option<&[&str]>, width: usize) -> Result<Vec<usize>, String> {
        match (self, names) {
            (Columns::Positions(positions), _) => match positions.iter().find(|&&p| p > width) {
                Some(p) => Err(format!("column {p} is requested, but there are {width} columns")),
                None => Ok(positions.iter().map(|p| p - 1).collect()),
            },
            (Columns::Names(wanted), Some(names)) => wanted
                .iter()
                .map(|name| {
                    let exact = names.iter().position(|n| n == name);
                    let found = exact.or_else(|| names.iter().position(|n| n.eq_ignore_ascii_case(name)));
                    found.ok_or_else(|| format!("no column is called {name:?}; the columns are {}", names.join(", ")))
                })
                .collect(),
            (Columns::Names(_), None) => {
                Err("its columns have no names; choose them by their positions, from 1 (columns)".into())
            }
        }
    }
}

/// Which column holds weights.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    /// A column with a usual name.
    Usual,
    /// The column with this name.
    Named(&'a str),
}

/// How the columns of a table are used.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The coordinates, in their order.
    pub coordinates: Vec<usize>,
    pub weight: Option<usize>,
    /// Columns that are not read.
    pub left: Vec<usize>,
    /// Coordinates that are left out if they only count the rows.
    pub counters: Vec<usize>,
    /// Whether the names or the caller determine which columns are coordinates.
    pub understood: bool,
    /// Whether one of the names suggests labels.
    pub labels: bool,
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// x, y or z.
    Letter(usize),
    /// A stem from the list and a number.
    Numbered(usize, usize),
    Weight,
    Attribute,
    Index,
    Unknown,
}

const STEMS: [&str; 10] =
    ["x", "point", "points", "coord", "coords", "coordinate", "coordinates", "pos", "position", "positions"];
const PLACES: [&str; 7] = ["coord", "coordinate", "pos", "position", "point", "points", "loc"];
const UNITS: [&str; 15] = ["m", "mm", "cm", "km", "um", "nm", "ft", "in", "px", "pix", "au", "pc", "kpc", "mpc", "deg"];
const WEIGHTS: [&str; 4] = ["weight", "weights", "w", "mass"];
const ATTRIBUTES: [&str; 25] = [
    "red",
    "green",
    "blue",
    "r",
    "g",
    "b",
    "a",
    "alpha",
    "rgb",
    "rgba",
    "color",
    "colour",
    "colors",
    "colours",
    "diffuse",
    "intensity",
    "reflectance",
    "curvature",
    "normal",
    "normals",
    "nx",
    "ny",
    "nz",
    "normalx",
    "normaly",
];
const LABELS: [&str; 10] =
    ["label", "labels", "class", "classes", "category", "target", "split", "fold", "cluster", "file"];

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let kind = |c: char| if c.is_ascii_digit() { 1 } else { u8::from(c.is_alphanumeric()) * 2 };
    let mut words: Vec<String> = vec![];
    let mut last = 0;
    for c in name.trim().chars() {
        let k = kind(c);
        match words.last_mut() {
            Some(word) if k == last && k > 0 => word.extend(c.to_lowercase()),
            _ if k > 0 => words.push(c.to_lowercase().collect()),
            _ => {}
        }
        last = k;
    }
    words
}

fn role(name: &str) -> Role {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let letter = |word: &str| ["x", "y", "z"].iter().position(|l| *l == word);
    let unit = |word: &&str| UNITS.contains(word);
    let place = |word: &&str| PLACES.contains(word);
    match words[..] {
        [] => return Role::Index,
        ["unnamed", number] if number.parse::<usize>().is_ok() => return Role::Index,
        ["index" | "idx" | "id"] => return Role::Index,
        [word] if WEIGHTS.contains(&word) => return Role::Weight,
        [word, u] if WEIGHTS.contains(&word) && ["kg", "g", "msun"].contains(&u) => return Role::Weight,
        [stem, number] | [stem, number, "m" | "mm" | "cm" | "km"] if number.parse::<usize>().is_ok() => {
            if let (Some(stem), Ok(number)) = (STEMS.iter().position(|s| *s == stem), number.parse()) {
                return Role::Numbered(stem, number);
            }
        }
        _ => {}
    }
    let letters: Vec<usize> = words.iter().filter_map(|w| letter(w)).collect();
    if let [k] = letters[..]
        && words.iter().all(|w| letter(w).is_some() || unit(w) || place(w))
    {
        return Role::Letter(k);
    }
    let known = |w: &&str| ATTRIBUTES.contains(w) || *w == "normalz";
    if words.iter().any(known) && words.iter().all(|w| known(w) || letter(w).is_some() || w.parse::<u32>().is_ok()) {
        return Role::Attribute;
    }
    Role::Unknown
}

/// Whether a column of this name holds weights.
pub(crate) fn is_weight(name: &str) -> bool {
    role(name) == Role::Weight
}

impl Plan {
    /// The plan for columns without names.
    pub fn unnamed(width: usize, columns: Option<&Columns>) -> Result<Self, String> {
        let coordinates = match columns {
            Some(columns) => columns.find(None, width)?,
            None => (0..width).collect(),
        };
        let left = rest(width, &coordinates, None);
        Ok(Plan { coordinates, left, understood: columns.is_some(), ..Plan::default() })
    }

    /// The plan for columns with these names.
    pub fn of(names: &[&str], columns: Option<&Columns>, weights: Weights<'_>) -> Result<Self, String> {
        let width = names.len();
        let roles: Vec<Role> = names.iter().map(|name| role(name)).collect();
        if let Some(columns) = columns {
            let coordinates = columns.find(Some(names), width)?;
            let free: Vec<usize> = (0..width).filter(|k| !coordinates.contains(k)).collect();
            let weight = find_weight(names, &roles, &free, weights)?;
            let left = rest(width, &coordinates, weight);
            return Ok(Plan { coordinates, weight, left, understood: true, ..Plan::default() });
        }
        let weight = find_weight(names, &roles, &(0..width).collect::<Vec<_>>(), weights)?;
        let found = match letters(names, &roles, weight)? {
            found if found.is_empty() => numbered(&roles, weight),
            found => Some(found),
        };
        // A known name beside unknown ones is weak evidence: in `x,age`, x is not a better coordinate than age.
        let foreign = |found: &[usize]| {
            let others = (0..width).filter(|k| !found.contains(k) && Some(*k) != weight);
            others.into_iter().any(|k| !matches!(roles[k], Role::Attribute | Role::Index))
        };
        let labels = names.iter().any(|name| matches!(&words(name)[..], [word] if LABELS.contains(&&word[..])));
        match found {
            Some(coordinates) if coordinates.len() > 1 || !foreign(&coordinates) => {
                let left = rest(width, &coordinates, weight);
                Ok(Plan { coordinates, weight, left, understood: true, ..Plan::default() })
            }
            _ => {
                let unnamed = |k: usize| k == 0 && matches!(roles[0], Role::Index) && words(names[0]).len() != 1;
                let coordinates: Vec<usize> = (0..width).filter(|&k| Some(k) != weight && !unnamed(k)).collect();
                let counters = coordinates.iter().copied().filter(|&k| roles[k] == Role::Index).collect();
                let left = rest(width, &coordinates, weight);
                Ok(Plan { coordinates, weight, left, counters, understood: false, labels })
            }
        }
    }
}

/// The columns that are neither coordinates nor weights.
fn rest(width: usize, coordinates: &[usize], weight: Option<usize>) -> Vec<usize> {
    (0..width).filter(|k| !coordinates.contains(k) && Some(*k) != weight).collect()
}

/// The columns of x, y and z, in this order. If two columns qualify, such as `x` and `x_m`, the shorter name is taken.
fn letters(names: &[&str], roles: &[Role], weight: Option<usize>) -> Result<Vec<usize>, String> {
    let mut found = vec![];
    for letter in 0..3 {
        let mut all: Vec<usize> =
            (0..names.len()).filter(|&k| Some(k) != weight && roles[k] == Role::Letter(letter)).collect();
        all.sort_by_key(|&k| words(names[k]).len());
        match all[..] {
            [first, second, ..] if words(names[first]).len() == words(names[second]).len() => {
                let (a, b, l) = (quote(names[first]), quote(names[second]), ["x", "y", "z"][letter]);
                return Err(format!("the columns {a} and {b} may both hold {l}; choose the columns (columns)"));
            }
            [first, ..] => found.push(first),
            [] => {}
        }
    }
    Ok(found)
}

/// Numbered columns with a common stem, in the order of their numbers, which must be consecutive from 0 or 1.
fn numbered(roles: &[Role], weight: Option<usize>) -> Option<Vec<usize>> {
    (0..STEMS.len()).find_map(|stem| {
        let number = |k: usize| match roles[k] {
            Role::Numbered(s, number) if s == stem && Some(k) != weight => Some((number, k)),
            _ => None,
        };
        let mut found: Vec<(usize, usize)> = (0..roles.len()).filter_map(number).collect();
        found.sort_unstable();
        let first = found.first()?.0;
        let counts = first <= 1 && found.iter().enumerate().all(|(k, (number, _))| *number == first + k);
        counts.then(|| found.into_iter().map(|(_, k)| k).collect())
    })
}

/// The column of weights among some columns: the requested one, otherwise one with a usual name.
fn find_weight(names: &[&str], roles: &[Role], among: &[usize], wanted: Weights<'_>) -> Result<Option<usize>, String> {
    let is_weight = |&k: &usize| match wanted {
        Weights::Usual => roles[k] == Role::Weight,
        Weights::Named(wanted) => names[k] == wanted,
    };
    let found: Vec<usize> = among.iter().copied().filter(is_weight).collect();
    match (&found[..], wanted) {
        ([], Weights::Named(wanted)) if names.contains(&wanted) => {
            Err(format!("column {wanted:?} is requested as a coordinate and as the weights; choose one of the two"))
        }
        ([], Weights::Named(wanted)) => {
            Err(format!("no column is called {wanted:?}; the columns are {}", names.join(", ")))
        }
        ([], _) => Ok(None),
        (&[k], _) => Ok(Some(k)),
        _ => Err("more than one column may hold the weights; rename all but one or name the weight column".into()),
    }
}
