//! Model files and checkpoints: numbers keep their bits, foreign files are refused, a resumed fit is the same fit.

use crate::small::{self, settings};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wgpca::OutsideInterval;
use wgpca::clouds::{Event, Fit, Model, fit};
use wgpca::gaussian::{self, Gaussians};
use wgpca::io::{CHECKPOINT_FILE, CheckpointFacts};
use wgpca::rng::Stream;
use wgpca::{Error, Measure, Pool};

fn measures() -> Vec<Measure> {
    small::measures(", \"ä\"")
}

fn model<T: wgpca::Real>() -> Model<T> {
    fit(&measures(), &settings(), &Pool::new(1).unwrap()).unwrap()
}

#[test]
fn a_saved_model_is_the_same_model() {
    fn check<T: wgpca::Real>() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.safetensors");
        let model = model::<T>();
        model.save(&path).unwrap();
        let again = Model::<T>::load(&path).unwrap();
        assert_eq!(again, model);
        assert_eq!(again.transform(&measures()).unwrap(), model.transform(&measures()).unwrap());
        let bytes = fs::read(&path).unwrap();
        again.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "a temporary file was left");
    }
    check::<f32>();
    check::<f64>();
}

/// Another precision: the same numbers, rounded.
#[test]
fn precisions_convert() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    let model = model::<f64>();
    model.save(&path).unwrap();
    let single = Model::<f32>::load(&path).unwrap();
    assert_eq!(single, model.cast::<f32>());
    assert_eq!(single.components[0].times, model.components[0].times);
}

/// The metadata document of a file: an 8-byte length, then JSON.
fn header(path: &Path) -> (Value, Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + n]).unwrap(), bytes[8 + n..].to_vec())
}

fn rewrite(path: &Path, change: impl Fn(&mut Value)) {
    let (mut header, data) = header(path);
    let mut document: Value = serde_json::from_str(header["__metadata__"]["wgpca"].as_str().unwrap()).unwrap();
    change(&mut document);
    header["__metadata__"]["wgpca"] = Value::String(document.to_string());
    let mut text = header.to_string();
    while text.len() % 8 != 0 {
        text.push(' ');
    }
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    fs::write(path, bytes).unwrap();
}

#[test]
fn metadata_is_what_the_page_on_model_files_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    model::<f32>().save(&path).unwrap();
    let (header, _) = header(&path);
    let document: Value = serde_json::from_str(header["__metadata__"]["wgpca"].as_str().unwrap()).unwrap();
    assert_eq!(document["format"], "1.1");
    assert_eq!(document["kind"], "model");
    assert_eq!(document["dtype"], "f32");
    assert_eq!(document["dim"], 2);
    assert!(document["program"].as_str().unwrap().starts_with("wgpca "));
    assert!(document["cost"].as_str().unwrap().contains("without 1/2"));
    let content = &document["content"];
    assert!(content["frame"]["scale"].as_f64().unwrap() > 0.0);
    assert_eq!(content["seed"], 0);
    assert!(content["sinkhorn"]["epsilon"]["auto"]["scale"].as_f64().unwrap() > 0.0);
    let component = &content["components"][0];
    assert_eq!(component["geodesic"]["architecture"]["f"]["activation"], "elu");
    assert_eq!(component["times"].as_array().unwrap().len(), 5);
    assert_eq!(component["interval"].as_array().unwrap().len(), 2);
    assert_eq!(component["status"], "completed");
    for name in ["component.1.phi", "component.1.f", "component.2.phi", "component.2.f", "barycentre"] {
        assert_eq!(header[name]["dtype"], "F32", "{name}");
    }
}

/// Whether a text has all of these parts, separated by `|`.
fn names(text: &str, parts: &str) -> bool {
    parts.split('|').all(|part| text.contains(part))
}

/// A model that could not be read, or has meaningless numbers, does not replace a good one; the message says what is wrong.
#[test]
fn a_bad_model_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    let good = model::<f32>();
    good.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    type Change = (&'static str, fn(&mut Model<f32>));
    let changes: [Change; 13] = [
        ("component 1|time|\"cloud 2, \\\"ä\\\"\"", |m| m.components[0].times[2] = f64::NAN),
        ("component 2|residual|\"cloud 0, \\\"ä\\\"\"|inf", |m| m.components[1].residuals[0] = f64::INFINITY),
        ("component 2|parameter 3|φ|NaN", |m| m.components[1].geodesic.phi[3] = f32::NAN),
        ("component 1|parameter 0|f|inf", |m| m.components[0].geodesic.f[0] = f32::INFINITY),
        ("component 1|interval|1|-1", |m| m.components[0].interval = (1.0, -1.0)),
        ("component 1|interval|NaN|1", |m| m.components[0].interval = (f64::NAN, 1.0)),
        ("component 1|interval|inf", |m| m.components[0].interval = (f64::INFINITY, f64::INFINITY)),
        ("component 1|cost|NaN", |m| m.components[0].costs.cost = f64::NAN),
        ("component 2|noise floor|-inf", |m| m.components[1].costs.noise_floor = f64::NEG_INFINITY),
        ("component 2|share|NaN", |m| m.components[1].costs.explained = Some(f64::NAN)),
        ("component 1|spectrum|NaN", |m| m.components[0].report.spectrum = vec![f64::NAN]),
        ("coordinate 1|centre|NaN", |m| m.frame.centre[1] = f64::NAN),
        ("component 1|5|4", |m| drop(m.names.pop())),
    ];
    for (what, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        let error = bad.save(&path).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::File { .. }) && text.contains("m.safetensors: "), "{text}");
        assert!(names(&text, what) && !text.contains('\n'), "{what}: {text}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    // Meaningful infinities are saved and read.
    let mut open = good;
    open.components[0].interval = (f64::NEG_INFINITY, f64::INFINITY);
    open.components[0].report.starts[1].1 = f64::INFINITY;
    open.components[0].report.start_cost = f64::INFINITY;
    open.save(&path).unwrap();
    assert_eq!(Model::<f32>::load(&path).unwrap(), open);

    let path = directory.path().join("g.safetensors");
    let good = gaussian_model(true);
    good.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    type GaussianChange = (&'static str, fn(&mut gaussian::Model));
    let changes: [GaussianChange; 5] = [
        ("component 1|time|\"measure 1, \\\"ä\\\"\"|NaN", |m| m.components[0].times[1] = f64::NAN),
        ("component 2", |m| m.components[1].geodesic.x[4] = f64::NAN),
        ("component 2|cost", |m| m.components[1].costs.cost = f64::INFINITY),
        ("weight", |m| m.weights[0] = f64::NAN),
        ("cost|barycentre|NaN", |m| m.barycentre.cost = f64::NAN),
    ];
    for (what, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        let error = bad.save(&path).unwrap_err();
        assert!(error.code() == "file" && names(&error.to_string(), what), "{what}: {error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // A number stored as text in JSON cannot be NaN in a list.
    let mut bad = good;
    bad.spectrum[0] = f64::NAN;
    assert_eq!(bad.save(&path).unwrap_err().code(), "file");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// The caller says where measures came from; a checkpoint stores it.
#[test]
fn a_checkpoint_carries_a_note() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(CheckpointFacts::read(directory.path()).unwrap(), None);
    let mut fit = Fit::<f32>::new(&measures(), &settings()).unwrap();
    fit.save_checkpoint_with(directory.path(), Some("it's \"ä\"\n")).unwrap();
    let facts = CheckpointFacts::read(directory.path()).unwrap().unwrap();
    assert_eq!((facts.settings, facts.note.as_deref()), (settings(), Some("it's \"ä\"\n")));
    fit.save_checkpoint(directory.path()).unwrap();
    assert_eq!(CheckpointFacts::read(directory.path()).unwrap().unwrap().note, None);
    fs::write(directory.path().join(CHECKPOINT_FILE), "damaged").unwrap();
    assert!(matches!(CheckpointFacts::read(directory.path()), Err(Error::File { .. })));
}

#[test]
fn foreign_and_damaged_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    model::<f32>().save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let refused = |what: &str| {
        let error = Model::<f32>::load(&path).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("m.safetensors") && text.contains(what) && !text.contains('\n'), "{text}");
    };
    rewrite(&path, |d| d["format"] = "2.0".into());
    refused("2.0");
    fs::write(&path, &whole).unwrap();
    rewrite(&path, |d| d["format"] = "1.7".into());
    assert!(Model::<f32>::load(&path).is_ok(), "a later minor version is read");
    rewrite(&path, |d| d["kind"] = "checkpoint".into());
    refused("checkpoint");
    fs::write(&path, &whole).unwrap();
    rewrite(&path, |d| d["content"]["frame"]["scale"] = 0.into());
    refused("scale");
    fs::write(&path, &whole).unwrap();
    rewrite(&path, |d| d["content"]["components"][0]["geodesic"]["architecture"]["f"]["sizes"] = vec![2, 9, 1].into());
    refused("shapes");
    for length in [0, 5, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        refused("");
    }
    fs::write(&path, b"not a model at all, just some text").unwrap();
    refused("safetensors");
    fs::remove_file(&path).unwrap();
    assert!(matches!(Model::<f32>::load(&path), Err(Error::Io { .. })));
}

/// Twelve Gaussians in R³ with or without means.
fn gaussians(means: bool) -> Gaussians {
    let value = |k: usize| (k as f64 * 0.618).fract() - 0.5;
    let covariance = |i: usize| -> Vec<f64> {
        let l: Vec<f64> = (0..9).map(|p| value(9 * i + p) + f64::from(u8::from(p % 4 == 0))).collect();
        (0..9).map(|p| (0..3).map(|k| l[p / 3 * 3 + k] * l[p % 3 * 3 + k]).sum()).collect()
    };
    let set = Gaussians::new((0..12).flat_map(covariance).collect(), 3).unwrap();
    let set = set.with_names((0..12).map(|i| format!("measure {i}, \"ä\"")).collect()).unwrap();
    if means { set.with_means((0..36).map(|k| 7.0 + value(k)).collect()).unwrap() } else { set }
}

fn gaussian_model(means: bool) -> gaussian::Model {
    let settings = gaussian::Settings { components: 2, starts: 3, certify: means, ..Default::default() };
    gaussian::fit(&gaussians(means), &settings, &Pool::new(1).unwrap()).unwrap()
}

#[test]
fn a_saved_model_of_gaussians_is_the_same_model() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.safetensors");
    for means in [false, true] {
        let model = gaussian_model(means);
        model.save(&path).unwrap();
        let again = gaussian::Model::load(&path).unwrap();
        assert_eq!(again, model);
        let set = gaussians(means);
        assert_eq!(again.transform(&set).unwrap(), model.transform(&set).unwrap());
        assert_eq!(
            again.sample(2, 0.1, 9, OutsideInterval::Clamp, &mut Stream::new(3, [0; 3])).unwrap(),
            model.sample(2, 0.1, 9, OutsideInterval::Clamp, &mut Stream::new(3, [0; 3])).unwrap()
        );
        let bytes = fs::read(&path).unwrap();
        again.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    // One direction of change: an interval with an infinite end is saved and read.
    let line = Gaussians::new(vec![1.0, 4.0, 9.0], 1).unwrap();
    let model = gaussian::fit(&line, &Default::default(), &Pool::new(1).unwrap()).unwrap();
    assert!(model.components[0].interval.0.is_infinite() || model.components[0].interval.1.is_infinite());
    model.save(&path).unwrap();
    assert_eq!(gaussian::Model::load(&path).unwrap(), model);
}

#[test]
fn metadata_of_gaussians_is_what_the_page_on_model_files_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.safetensors");
    let model = gaussian_model(true);
    model.save(&path).unwrap();
    let (header, data) = header(&path);
    let document: Value = serde_json::from_str(header["__metadata__"]["wgpca"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&document["format"], &document["kind"], &document["dtype"]),
        (&"1.1".into(), &"gaussian".into(), &"f64".into())
    );
    assert_eq!(document["dim"], 3);
    let content = &document["content"];
    assert_eq!((&content["centred"], &content["status"]), (&false.into(), &"converged".into()));
    assert_eq!(content["settings"]["degenerate"]["ridge"], 1e-8);
    assert_eq!(content["components"][1]["times"].as_array().unwrap().len(), 12);
    assert_eq!(content["components"][1]["starts"].as_array().unwrap().len(), model.components[1].report.starts.len());
    for (name, length) in [("a", 9), ("x", 9), ("mean", 3), ("velocity", 3)] {
        let array = &header[format!("component.2.{name}")];
        assert_eq!((&array["dtype"], &array["shape"][0]), (&"F64".into(), &length.into()), "{name}");
    }
    // The arrays are raw doubles.
    let at = header["component.1.x"]["data_offsets"][0].as_u64().unwrap() as usize;
    let first = f64::from_le_bytes(data[at..at + 8].try_into().unwrap());
    assert_eq!(first, model.components[0].geodesic.x[0]);
    assert!(header["barycentre.covariance"].is_object() && header["barycentre.mean"].is_object());
}

#[test]
fn kinds_of_models_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let (g, c) = (directory.path().join("g.safetensors"), directory.path().join("c.safetensors"));
    let (gaussian_model, cloud_model) = (gaussian_model(false), model::<f32>());
    gaussian_model.save(&g).unwrap();
    cloud_model.save(&c).unwrap();
    assert_eq!(wgpca::Model::load(&g).unwrap(), wgpca::Model::Gaussians(gaussian_model));
    assert_eq!(wgpca::Model::load(&c).unwrap(), wgpca::Model::Clouds32(cloud_model));
    let said = |error: Error| {
        assert_eq!(error.code(), "file", "{error}");
        error.to_string()
    };
    let text = said(Model::<f32>::load(&g).unwrap_err());
    assert!(text.contains("g.safetensors") && text.contains("model of Gaussians"), "{text}");
    let text = said(gaussian::Model::load(&c).unwrap_err());
    assert!(text.contains("c.safetensors") && text.contains("model of Gaussians"), "{text}");
    rewrite(&g, |d| d["kind"] = "checkpoint".into());
    let text = said(wgpca::Model::load(&g).unwrap_err());
    assert!(text.contains("g.safetensors") && text.contains("checkpoint"), "{text}");
}

/// The handle gives the same bytes and the same numbers as the model in it, in the precision of the fit.
#[test]
fn a_handle_is_the_model_in_it() {
    fn check<T: wgpca::Real>(own: &Model<T>, handle: wgpca::Model) {
        let again = wgpca::Model::from_bytes(&handle.to_bytes().unwrap()).unwrap();
        assert_eq!(again, handle);
        assert_eq!(again.to_bytes().unwrap(), own.to_bytes().unwrap());
        assert_eq!(Model::<T>::from_bytes(&own.to_bytes().unwrap()).unwrap(), *own);
        assert_eq!((again.kind(), again.dim(), again.components(), again.names()), ("clouds", 2, 2, &own.names[..]));
        let c = &own.components[1];
        assert_eq!((again.interval(2).unwrap(), again.times(2).unwrap()), (c.interval, &c.times[..]));
        assert_eq!((again.residuals(2).unwrap(), again.cost(2).unwrap()), (&c.residuals[..], c.costs.cost));
        assert_eq!((again.explained(2).unwrap(), again.status()), (c.costs.explained, wgpca::Status::Completed));
        assert!(again.interval(0).is_err() && again.times(3).is_err());
        let (data, rng) = (measures(), || Stream::new(4, [0; 3]));
        assert_eq!(again.transform(&data).unwrap(), own.transform(&data).unwrap());
        assert_eq!(again.score(&data[..2]).unwrap(), own.score(&data[..2]).unwrap());
        assert_eq!(again.evaluate(&data).unwrap(), own.evaluate(&data).unwrap());
        let (time, clamp) = (1e9, OutsideInterval::Clamp);
        assert!(matches!(again.sample(1, time, 5, OutsideInterval::Error, &mut rng()), Err(Error::Time { .. })));
        assert_eq!(again.sample(1, time, 5, clamp, &mut rng()).ok(), own.sample(1, time, 5, clamp, &mut rng()).ok());
        let points = own.inverse_transform(1, c.times[0], clamp).ok().map(wgpca::Distribution::Points);
        assert_eq!(again.inverse_transform(1, c.times[0], clamp).ok(), points);
        let set = Gaussians::from_measures(&data).unwrap();
        assert!(matches!(again.transform(&set), Err(Error::Parameter { name: "measures", .. })));
    }
    let (narrow, wide) = (model::<f32>(), model::<f64>());
    check(&narrow, narrow.clone().into());
    check(&wide, wide.clone().into());
    let own = gaussian_model(true);
    let handle = wgpca::Model::from_bytes(&own.to_bytes().unwrap()).unwrap();
    assert_eq!(handle, wgpca::Model::from(own));
    assert!(matches!(handle.transform(&measures()), Err(Error::Parameter { name: "measures", .. })));
    assert!(wgpca::Model::from_bytes(b"no model").is_err());
}

/// For any damage of a file, reading it and using the result ends in a result or an error of one line.
#[test]
fn damaged_models_of_gaussians_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.safetensors");
    gaussian_model(true).save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let refused = |what: &str| {
        let error = wgpca::Model::load(&path).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("g.safetensors") && text.contains(what) && !text.contains('\n'), "{text}");
    };
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let changes: [Change; 9] = [
        ("2.0", &|d| d["format"] = "2.0".into()),
        ("dimension", &|d| d["content"]["dim"] = 4.into()),
        ("dimension", &|d| d["content"]["dim"] = u64::MAX.into()),
        ("unit", &|d| d["content"]["unit"] = 0.into()),
        ("weights", &|d| d["content"]["weights"] = vec![1.0].into()),
        ("tolerance", &|d| d["content"]["settings"]["tolerance"] = 2.into()),
        ("interval", &|d| d["content"]["components"][1]["interval"] = vec!["inf", "NaN"].into()),
        ("times", &|d| d["content"]["components"][1]["times"] = vec![1.0].into()),
        ("no components", &|d| d["content"]["components"] = Value::Array(vec![])),
    ];
    for (what, change) in changes {
        fs::write(&path, &whole).unwrap();
        rewrite(&path, change);
        refused(what);
    }
    for length in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        refused("");
    }
    let (header, _) = {
        fs::write(&path, &whole).unwrap();
        header(&path)
    };
    let mut bytes = whole.clone();
    let start = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize + 8;
    let at = start + header["component.2.x"]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    refused("component 2");

    let set = gaussians(true);
    let mut usable = 0;
    for k in 0..1000u64 {
        let mut bytes = whole.clone();
        let place = (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % bytes.len();
        bytes[place] ^= 1 << (k % 8);
        fs::write(&path, &bytes).unwrap();
        match wgpca::Model::load(&path) {
            Err(e) => assert!(!e.to_string().contains('\n')),
            Ok(wgpca::Model::Gaussians(model)) => {
                usable += 1;
                let used = (
                    model.transform(&set),
                    model.evaluate(&set),
                    model.sample(1, 0.0, 3, OutsideInterval::Clamp, &mut Stream::new(0, [0; 3])),
                );
                drop(used);
            }
            Ok(other) => panic!("a model of {}", other.kind()),
        }
    }
    assert!(usable > 30, "{usable}");
}

/// Saved after every piece of work and resumed from some of these checkpoints: bit for bit the uninterrupted fit.
#[test]
fn a_resumed_fit_is_the_uninterrupted_fit() {
    let data = measures();
    let whole = model::<f32>();
    let mut fit = Fit::<f32>::new(&data, &settings()).unwrap();
    let mut saved = vec![];
    while let Some(event) = fit.advance().unwrap() {
        let stop = match event {
            Event::Step { step, .. } => matches!(step, 7 | 10 | 25),
            _ => true,
        };
        if stop {
            let directory = tempfile::tempdir().unwrap();
            let path = fit.save_checkpoint(directory.path()).unwrap();
            assert_eq!(path, directory.path().join(CHECKPOINT_FILE));
            saved.push(directory);
        }
    }
    assert_eq!(fit.model().unwrap(), whole);
    assert!(saved.len() > 20);
    for directory in saved.iter().step_by(3).chain(saved.last()) {
        let mut fit = Fit::<f32>::resume(&data, directory.path()).unwrap();
        while fit.advance().unwrap().is_some() {}
        assert_eq!(fit.model().unwrap(), whole);
    }
}

#[test]
fn a_checkpoint_knows_its_measures() {
    let data = measures();
    let directory = tempfile::tempdir().unwrap();
    let mut fit = Fit::<f32>::new(&data, &settings()).unwrap();
    (0..5).for_each(|_| drop(fit.advance().unwrap()));
    fit.save_checkpoint(directory.path()).unwrap();
    let other: Vec<Measure> = data.iter().rev().cloned().collect();
    let error = Fit::<f32>::resume(&other, directory.path()).err().unwrap();
    assert!(error.code() == "file" && error.to_string().contains("measures"), "{error}");
    let error = Fit::<f64>::resume(&data, directory.path()).err().unwrap();
    let text = error.to_string();
    assert!(error.code() == "file" && text.contains("f32") && text.contains("f64"), "{text}");
    let nowhere = directory.path().join("nowhere");
    assert!(matches!(Fit::<f32>::resume(&data, &nowhere), Err(Error::Io { .. })));
}

/// Models written by the version with format 1.0, with its output: times and residuals of a cloud of twelve points.
#[test]
fn models_of_format_1_0_are_read() {
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clouds/format_1_0").join(name);
    let model = Model::<f32>::load(file("clouds.safetensors")).unwrap();
    let c = &model.components[0];
    assert!(
        (c.costs.cost - 3.1357955759380577).abs() < 1e-12
            && (c.costs.explained.unwrap() - 1.3585356347993092).abs() < 1e-12
    );
    assert!(c.costs.variation.is_nan() && c.costs.together.is_none() && c.costs.explained_se.is_none());
    let points = (0..12).flat_map(|k| [f64::from(k % 4), f64::from(k / 4)]).collect();
    let found = model.transform(&[Measure::uniform("c0", points, 2).unwrap()]).unwrap();
    for (p, [time, residual]) in
        found[0].iter().zip([[1.0041110366717039, 0.15911036195242947], [0.23443984574254423, 1.102849105251378]])
    {
        assert!((p.time - time).abs() < 1e-3 && (p.residual - residual).abs() < 1e-3 * residual, "{p:?}");
    }
    let drawn = model.sample(1, 0.1, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])).unwrap();
    // It is written again as it was read.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("again.safetensors");
    model.save(&path).unwrap();
    let again = Model::<f32>::load(&path).unwrap();
    assert_eq!(again.components[0].costs.explained, c.costs.explained);
    assert_eq!(again.sample(1, 0.1, 3, OutsideInterval::Error, &mut Stream::new(0, [0; 3])).unwrap(), drawn);

    let model = gaussian::Model::load(file("gaussians.safetensors")).unwrap();
    let (a, b, c) = (0.994484807535361, -0.9565037953197981, 2.0074074315993675);
    let found = model.transform(&Gaussians::new(vec![a, b, b, c], 2).unwrap()).unwrap();
    let p = &found[0][0];
    assert!((p.time - 0.6637943528773435).abs() < 1e-9 && (p.residual - 0.01263783188802721).abs() < 1e-9, "{p:?}");
}
