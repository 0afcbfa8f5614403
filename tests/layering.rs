//! Imports have one direction: between the modules of the crate, between the files and folders of each module, and in the crate's
//! root. An import through a re-export (`crate::ot::Points`) counts as an import of the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules that each module may import.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("error", &[][..]),
        ("status", &[]),
        ("results", &["error", "status"]),
        ("json_float", &[]),
        ("cancel", &["error"]),
        ("pool", &["error"]),
        ("measure", &["error"]),
        ("simd", &[]),
        ("rng", &["simd"]),
        ("linalg", &["rng", "status"]),
        ("nn", &["error", "rng", "simd"]),
        ("ot", &["cancel", "error", "measure", "pool", "rng", "simd", "status"]),
        ("gaussian", &["cancel", "error", "json_float", "linalg", "measure", "pool", "results", "rng", "status"]),
        (
            "clouds",
            &[
                "cancel",
                "error",
                "json_float",
                "linalg",
                "measure",
                "nn",
                "ot",
                "pool",
                "results",
                "rng",
                "simd",
                "status",
            ],
        ),
        ("model", &["clouds", "error", "gaussian", "measure", "results", "status"]),
        ("cuda", &["cancel", "clouds", "error", "linalg", "measure", "nn", "ot", "rng", "simd", "status"]),
        ("device", &["clouds", "cuda", "error"]),
        ("io", &["clouds", "error", "gaussian", "json_float", "measure", "model", "nn", "rng", "simd", "status"]),
        ("plot", &["error", "rng"]),
        ("views", &["error", "gaussian", "measure", "ot", "simd"]),
        ("cli", &[]),
        ("main", &[]),
        ("test_util", &[]),
    ])
}

type ModulePath = Vec<String>;

/// The modules of `src` and their source texts, without comments and tests.
fn modules() -> BTreeMap<ModulePath, String> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    walk(&root, &mut files);
    let module = |file: &PathBuf| {
        let relative = file.strip_prefix(&root).unwrap().with_extension("");
        let mut path: ModulePath = relative.iter().map(|s| s.to_str().unwrap().to_string()).collect();
        path.pop_if(|last| last == "mod");
        (path, code(&fs::read_to_string(file).unwrap()))
    };
    let is_test = |path: &ModulePath| path.iter().any(|s| s == "tests" || s == "test_util");
    files.iter().map(module).filter(|(path, _)| !is_test(path)).collect()
}

/// A source text without comments and without items that are compiled only for tests.
fn code(text: &str) -> String {
    let mut lines = vec![];
    let mut test = false;
    let mut inside = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some(end) = inside {
            if indent == end && line.trim_start().starts_with('}') {
                inside = None;
            }
        } else if line.trim_start().starts_with("#[cfg(test)]") || line.trim_start().starts_with("#[cfg(all(test") {
            test = true;
        } else if test && !line.trim_start().starts_with("#[") {
            test = false;
            if line.ends_with('{') {
                inside = Some(indent);
            }
        } else {
            lines.push(line.split("//").next().unwrap());
        }
    }
    lines.join("\n")
}

/// The paths of `use` statements with their groups expanded, then paths in the code that begin with `crate` or `super`; as
/// written.
fn paths(code: &str) -> Vec<(ModulePath, bool)> {
    let mut found = vec![];
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let Some(at) =
            line.find("use ").filter(|&at| line[..at].trim().is_empty() || line[..at].trim().starts_with("pub"))
        else {
            rest += line;
            rest.push('\n');
            continue;
        };
        let public = line[..at].contains("pub");
        let mut statement = line[at + 4..].to_string();
        while !statement.contains(';') {
            statement += lines.next().unwrap_or(";");
        }
        let mut leaves = vec![];
        expand(statement.trim_end().trim_end_matches(';'), &[], &mut leaves);
        found.extend(leaves.into_iter().map(|path| (path, public)));
    }
    for start in ["crate::", "super::"] {
        for (at, _) in rest.match_indices(start) {
            let before = rest[..at].chars().next_back();
            if before.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':')) {
                let path = rest[at..].chars().take_while(|&c| c.is_alphanumeric() || c == '_' || c == ':');
                let path: String = path.collect();
                found.push((path.split("::").filter(|s| !s.is_empty()).map(String::from).collect(), false));
            }
        }
    }
    found
}

/// Expands `a::{b, c::d as e}` to a::b and a::c::d.
fn expand(tree: &str, before: &[String], leaves: &mut Vec<ModulePath>) {
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(&group[..group.rfind('}').unwrap()])),
        None => (tree.split(" as ").next().unwrap(), None),
    };
    let own = head.split("::").map(str::trim).filter(|s| !s.is_empty() && *s != "self").map(String::from);
    let path: ModulePath = before.iter().cloned().chain(own).collect();
    let Some(group) = group else { return leaves.push(path) };
    let (mut depth, mut from) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[from..at].trim().is_empty() {
                    expand(group[from..at].trim(), &path, leaves);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// The files that every file imports, by module path.
struct Graph {
    edges: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

impl Graph {
    fn new(modules: &BTreeMap<ModulePath, String>) -> Self {
        let absolute = |from: &ModulePath, path: &ModulePath| -> Option<ModulePath> {
            let supers = path.iter().take_while(|s| *s == "super").count();
            match path.first()?.as_str() {
                "crate" => Some(path[1..].to_vec()),
                "super" => Some([&from[..from.len().checked_sub(supers)?], &path[supers..]].concat()),
                first => {
                    // A child of this module.
                    let child = [&from[..], &[first.to_string()]].concat();
                    let root = modules.keys().any(|m| m[..] == child[..]);
                    root.then(|| [&from[..], &path[..]].concat())
                }
            }
        };
        // (module, name) to the path that it re-exports.
        let mut exports: BTreeMap<ModulePath, ModulePath> = BTreeMap::new();
        let all: Vec<(ModulePath, ModulePath, bool)> = modules
            .iter()
            .flat_map(|(from, code)| {
                let from = if *from == ["lib"] { vec![] } else { from.clone() };
                let absolute = |(path, public)| Some((from.clone(), absolute(&from, &path)?, public));
                paths(code).into_iter().filter_map(absolute).collect::<Vec<_>>()
            })
            .collect();
        for (from, path, public) in &all {
            if *public && path.last().is_some_and(|l| l != "*") {
                exports.insert([&from[..], &path[path.len() - 1..]].concat(), path.clone());
            }
        }
        let file =
            |path: &ModulePath| (1..=path.len()).rev().map(|k| path[..k].to_vec()).find(|m| modules.contains_key(m));
        let mut edges: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (from, path, public) in all {
            let mut path = path;
            // A name can be both a module and an item that the module exports.
            let exported = |path: &ModulePath| {
                let is = |&k: &usize| {
                    exports.contains_key(&path[..k]) && (k == path.len() || !modules.contains_key(&path[..k]))
                };
                (1..=path.len()).find(is)
            };
            for _ in 0..8 {
                let Some(k) = exported(&path) else { break };
                path = [&exports[&path[..k]][..], &path[k..]].concat();
            }
            let Some(to) = file(&path) else { continue };
            // A re-export does not count as a use.
            if !from.is_empty() && to != from && !(public && to.starts_with(&from)) {
                edges.entry(from).or_default().insert(to);
            }
        }
        Graph { edges }
    }

    /// Cycles among the children of a module, a folder counting as one child; each as `a -> b -> a`, with the files behind the
    /// arrows.
    fn circles(&self, parent: &[String]) -> Vec<String> {
        let child = |m: &ModulePath| m.starts_with(parent).then(|| m.get(parent.len()).cloned()).flatten();
        let mut arrows: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (from, to) in self.edges.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
            // The file of the module itself is above its children.
            if let (Some(a), Some(b)) = (child(from), child(to))
                && a != b
            {
                arrows.entry(a).or_default().insert(b, format!("{} imports {}", from.join("::"), to.join("::")));
            }
        }
        let mut found = vec![];
        for start in arrows.keys() {
            // The shortest path back to the start.
            let mut ways: Vec<Vec<&String>> = vec![vec![start]];
            let mut seen = BTreeSet::from([start]);
            while !ways.is_empty() && !ways.iter().any(|w| w.len() > 1 && w.last() == Some(&start)) {
                let next: Vec<Vec<&String>> = ways
                    .iter()
                    .flat_map(|way| {
                        arrows.get(*way.last().unwrap()).into_iter().flatten().map(move |(to, _)| (way, to))
                    })
                    .filter(|(_, to)| *to == start || seen.insert(to))
                    .map(|(way, to)| [&way[..], &[to]].concat())
                    .collect();
                ways = next;
            }
            if let Some(way) = ways.iter().find(|w| w.len() > 1 && w.last() == Some(&start)) {
                // Each cycle once, beginning with its first name.
                if way.iter().min() == Some(&start) {
                    let why = way.windows(2).map(|w| arrows[w[0]][w[1]].clone()).collect::<Vec<_>>();
                    found.push(why.join(", "));
                }
            }
        }
        found
    }
}

#[test]
fn modules_import_downwards_only() {
    let modules = modules();
    assert!(modules.len() > 100);
    let (allowed, graph) = (allowed(), Graph::new(&modules));
    let mut wrong = vec![];
    for (from, all) in &graph.edges {
        let may =
            allowed.get(&*from[0]).unwrap_or_else(|| panic!("{} has no place in the layers; give it one", from[0]));
        for to in all.iter().filter(|to| to[0] != from[0] && !may.contains(&&*to[0])) {
            wrong.push(format!("{} must not import {}", from.join("::"), to.join("::")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_circles_inside_a_module() {
    let modules = modules();
    let graph = Graph::new(&modules);
    let mut parents: BTreeSet<&[String]> = BTreeSet::new();
    parents.extend(modules.keys().flat_map(|m| (0..m.len()).map(|k| &m[..k])));
    let wrong: Vec<String> = parents.into_iter().flat_map(|p| graph.circles(p)).collect();
    assert!(wrong.is_empty(), "circles:\n{}", wrong.join("\n"));
}

/// Types whose methods continue in files below the file that defines them. All other `mod.rs` are above their folders.
const CONTINUED: [&str; 6] = [
    "clouds::train::step",
    "ot::sinkhorn::problem",
    "ot::sinkhorn::solver",
    "cuda::networks",
    "cuda::sinkhorn",
    "cuda::terms",
];

#[test]
fn children_do_not_import_their_parents() {
    let graph = Graph::new(&modules());
    let arrows = graph.edges.iter().flat_map(|(from, all)| all.iter().map(move |to| (from.join("::"), to.join("::"))));
    let wrong = arrows.filter(|(from, to)| from.starts_with(&format!("{to}::")) && !CONTINUED.contains(&&**to));
    let wrong: Vec<String> = wrong.map(|(from, to)| format!("{from} imports {to}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The command line uses the crate as other programs do.
#[test]
fn the_command_line_is_a_user() {
    for (from, code) in modules().iter().filter(|(from, _)| ["cli", "main"].contains(&&*from[0])) {
        assert!(paths(code).iter().all(|(path, _)| path[0] != "crate"), "{}", from.join("::"));
    }
}

#[test]
fn the_reader_of_imports_sees_them() {
    let path = |text: &str| text.split("::").map(String::from).collect::<ModulePath>();
    let text = |entries: &[(&str, &str)]| {
        entries.iter().map(|(m, text)| (path(m), code(text))).collect::<BTreeMap<ModulePath, String>>()
    };
    let graph = |entries| Graph::new(&text(entries));
    // Groups, comments, tests, paths in code.
    let one = graph(&[
        (
            "a",
            "use crate::{b::{X, Y as Z}, c}; // crate::d\nfn f() { super::e::g() }\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n",
        ),
        ("b", ""),
        ("c", ""),
        ("d", ""),
        ("e", ""),
    ]);
    assert_eq!(one.edges[&path("a")], BTreeSet::from([path("b"), path("c"), path("e")]));
    // super::super, and a cycle between files of a folder through a re-export.
    let two = [
        ("a", "mod x;\nmod y;\npub use x::X;"),
        ("a::x", "use super::y::Y;\nuse super::super::b::B;"),
        ("a::y", "use crate::a::X;"),
        ("b", ""),
    ];
    assert_eq!(graph(&two).edges[&path("a::x")], BTreeSet::from([path("a::y"), path("b")]));
    assert_eq!(graph(&two).circles(&path("a")).len(), 1);
    assert!(graph(&two[..2]).circles(&path("a")).is_empty());
    // A cycle between folders.
    let folders = [("a::x::p", "use crate::a::y::q;"), ("a::y::q", ""), ("a::y::r", "use crate::a::x::p;")];
    assert_eq!(graph(&folders).circles(&path("a")).len(), 1);
}
