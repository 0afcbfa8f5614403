//! The commands of the README run as printed there.

use crate::common::cli::{text, wgpca};
use std::fs;
use std::path::Path;

/// Lines of the shell blocks that call the program, without their comments; continued lines are left out.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (mut commands, mut inside) = (vec![], false);
    for line in readme.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && line.starts_with("wgpca ") => {
                commands.push(line.split(" #").next().unwrap().trim().to_string());
            }
            _ => {}
        }
    }
    commands
}

/// Creates the files that the commands read: two chairs, clouds, covariances, beside the data of the repository.
fn files(directory: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let chairs: Vec<_> = fs::read_dir(data.join("chairs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "npy"))
        .collect();
    for folder in ["data/chairs", "data/weather", "new", "held_out", "clouds"] {
        fs::create_dir_all(directory.join(folder)).unwrap();
        if folder == "data/weather" {
            for name in ["covariances.npy", "states.txt"] {
                fs::copy(data.join("weather").join(name), directory.join(folder).join(name)).unwrap();
            }
            continue;
        }
        for path in chairs.iter().take(4) {
            fs::copy(path, directory.join(folder).join(path.file_name().unwrap())).unwrap();
        }
    }
    fs::copy(&chairs[0], directory.join("x.npy")).unwrap();
    fs::copy(&chairs[1], directory.join("y.npy")).unwrap();
    let identity = wgpca::io::write_npy(&directory.join("a.npy"), &[1.0, 0.0, 0.0, 1.0], 2);
    identity.unwrap();
    fs::write(directory.join("b.csv"), "2,0.5\n0.5,1\n").unwrap();
}

#[test]
fn every_command_of_the_readme_runs() {
    let directory = tempfile::tempdir().unwrap();
    files(directory.path());
    let commands = commands();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let mut arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        if arguments[0] == "fit" {
            arguments.extend(["--steps", "10"]);
        }
        let output = wgpca(&arguments, directory.path());
        let code = output.status.code();
        // A short training can leave warnings, and solves that did not converge.
        assert!(matches!(code, Some(0 | 3)), "{command}: {code:?}, {}", text(&output.stderr));
    }
    for made in ["chairs.safetensors", "chairs.svg", "out.npy", "dx.npy", "weather.safetensors", "model.safetensors"] {
        assert!(directory.path().join(made).exists(), "{made}");
    }
}
