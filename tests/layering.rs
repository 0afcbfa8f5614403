//! Modules import downwards only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which modules a module may import. `golden` is the tests' own.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("error", &[][..]),
        ("cancel", &["error"]),
        ("aligned", &["real"]),
        ("numbers", &[]),
        ("rng", &["real"]),
        ("linalg", &["rng"]),
        ("real", &[]),
        ("simd", &["real"]),
        ("pool", &["error"]),
        ("measure", &["error"]),
        ("nn", &["aligned", "error", "real", "rng", "simd"]),
        ("ot", &["aligned", "cancel", "error", "measure", "pool", "real", "rng", "simd"]),
        ("device", &["cuda", "error", "gpca"]),
        ("cuda", &["cancel", "error", "gpca", "linalg", "measure", "nn", "ot", "real", "rng"]),
        ("gaussian", &["error", "linalg", "measure", "numbers", "pool", "rng"]),
        ("gpca", &["aligned", "cancel", "error", "linalg", "measure", "nn", "numbers", "ot", "pool", "real", "rng"]),
        ("io", &["error", "gaussian", "measure", "rng"]),
        ("plot", &["error", "rng"]),
        ("store", &["error", "gaussian", "gpca", "io", "measure", "nn", "real"]),
        ("cli", &[]),
        ("main", &[]),
    ])
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Every `crate::name` of a source text, outside comments and the tests at its end.
fn imports(text: &str) -> Vec<String> {
    let end = text.find("#[cfg(test)]\nmod tests {").or(text.find("#[cfg(test)]\npub(crate) mod tests {"));
    let text = &text[..end.unwrap_or(text.len())];
    let code: Vec<&str> = text.lines().map(|l| l.split("//").next().unwrap()).collect();
    let code = code.join("\n");
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    code.split("crate::").skip(1).map(name).filter(|n| !n.is_empty()).collect()
}

#[test]
fn imports_point_downwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = vec![];
    files(&root, &mut all);
    assert!(all.len() > 50);
    let allowed = allowed();
    for path in all {
        let relative = path.strip_prefix(&root).unwrap();
        let module = relative.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" || module == "golden" {
            continue;
        }
        let may = allowed.get(module).unwrap_or_else(|| panic!("{module} has no place in the layers; give it one"));
        for import in imports(&fs::read_to_string(&path).unwrap()) {
            let fine = import == module || import == "golden" || may.contains(&import.as_str());
            assert!(fine, "{}: {module} must not import {import}", relative.display());
        }
    }
}

/// The command line uses the crate as any other program would.
#[test]
fn the_command_line_is_a_user() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = vec![root.join("main.rs")];
    files(&root.join("cli"), &mut all);
    for path in all {
        assert!(imports(&fs::read_to_string(&path).unwrap()).is_empty(), "{}", path.display());
    }
}

#[test]
fn the_reader_of_imports_sees_them() {
    assert_eq!(imports("use crate::ot::Points; // crate::nn\nlet x = crate::real::dot(a);"), ["ot", "real"]);
    assert_eq!(imports("use crate::ot;\n#[cfg(test)]\nmod tests {\n    use crate::rng;\n}\n"), ["ot"]);
}
