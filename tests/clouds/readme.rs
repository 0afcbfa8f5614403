//! The examples of the README are those of `examples/`, and run.

#[path = "../../examples/chairs.rs"]
mod chairs;
#[path = "../../examples/ellipses.rs"]
mod ellipses;

#[test]
fn the_examples_of_the_readme_run() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let blocks: Vec<&str> =
        readme.split("```").filter(|b| b.starts_with("rust")).map(|b| b.split_once('\n').unwrap().1).collect();
    assert_eq!(blocks.len(), 2);
    for (block, name) in blocks.into_iter().zip(["chairs", "ellipses"]) {
        let example = std::fs::read_to_string(root.join("examples").join(name).with_extension("rs")).unwrap();
        assert!(
            example.replace("pub(crate) fn main", "fn main").ends_with(block),
            "the README shows another examples/{name}.rs"
        );
    }
    chairs::main().unwrap();
    ellipses::main().unwrap();
}
