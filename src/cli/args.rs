//! What can be said on the command line.

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use wgpca::DeviceChoice;
use wgpca::clouds::Start;
use wgpca::gaussian::Degenerate;
use wgpca::io::{Columns, Format};

/// Geodesic principal components of probability measures in Wasserstein space.
#[derive(Parser)]
#[command(name = "wgpca", version, about, arg_required_else_help = true, max_term_width = 100)]
pub struct Args {
    /// Say nothing on standard error but warnings and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Fit components to measures; writes a model and a picture.
    #[command(after_help = "Example:\n  wgpca fit data/chairs -o chairs.safetensors --components 2")]
    Fit(Box<Fit>),
    /// Fit components to Gaussian measures, exactly; writes a model and a picture.
    #[command(
        after_help = "Example:\n  wgpca gaussian data/weather/covariances.npy --names data/weather/states.txt -o weather.safetensors --components 2"
    )]
    Gaussian(Box<Gaussian>),
    /// Project measures on a model's components (CSV: name, t1, residual1, t2, …, then t1_se, …).
    #[command(after_help = "Example:\n  wgpca transform chairs.safetensors data/chairs/oak_chair.npy")]
    Transform(Transform),
    /// Draw points of a component at a time.
    #[command(
        after_help = "Example:\n  wgpca sample chairs.safetensors --component 1 --time 0.1 --points 2048 -o out.npy"
    )]
    Sample(Sample),
    /// Cost of a model's components on measures, beside the noise floor and the barycentre alone.
    #[command(after_help = "Example:\n  wgpca evaluate chairs.safetensors data/chairs --points 512")]
    Evaluate(Evaluate),
    /// What a model is and how it was fitted, or what there is to compute on.
    #[command(after_help = "Example:\n  wgpca info chairs.safetensors --json\n  wgpca info --devices")]
    Info(Info),
    /// Sinkhorn divergence between two clouds, and its gradient.
    #[command(after_help = "Example:\n  wgpca sinkhorn x.npy y.npy --epsilon 0.05 --gradient dx.npy --json")]
    Sinkhorn(Sinkhorn),
    /// Bures–Wasserstein distance between two covariance matrices, and the Monge map.
    #[command(after_help = "Example:\n  wgpca bures a.npy b.csv --json")]
    Bures(Bures),
}

/// How clouds are read.
#[derive(Group)]
pub struct Reading {
    /// Draw N points by area from the faces of ply, off, obj and stl meshes instead of taking their vertices.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub surface: Option<usize>,
    /// Seed of these points.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub surface_seed: u64,
    /// Columns that are coordinates, by name (x,y,z) or position from 1 (1-3) [default: those that their names tell; all
    /// where there are no names].
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<Columns>,
    /// Column of a text, property of a ply or field of a pcd file that holds weights [default: weight, weights, w or mass].
    #[arg(long, value_name = "NAME")]
    pub weight_column: Option<String>,
    /// Array of an npz file that holds weights [default: weights, or a near name].
    #[arg(long, value_name = "NAME")]
    pub weights_key: Option<String>,
    /// Drop points with a coordinate that is NaN or missing, and say how many.
    #[arg(long)]
    pub drop_nan: bool,
    /// Read the subdirectories of directories too.
    #[arg(long)]
    pub recursive: bool,
    /// Format of the files that are named, and of standard input (-): csv, npy, ply, … [default: their endings tell].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// How Gaussians are read.
#[derive(Group)]
pub struct Gaussians {
    /// The inputs are clouds, as fit reads them: take their means and covariances.
    #[arg(long)]
    pub from_samples: bool,
    /// With --from-samples, leave the means out.
    #[arg(long, requires = "from_samples")]
    pub centred: bool,
    /// Means of the measures, n x d (npy or text); without them all are centred.
    #[arg(long, value_name = "FILE", conflicts_with = "from_samples")]
    pub means: Option<PathBuf>,
    /// Weights of the measures (npy or text), one a measure: 2 stands for a measure given twice, 0 for its absence.
    #[arg(long, value_name = "FILE")]
    pub measure_weights: Option<PathBuf>,
    /// Names of the measures, one a line.
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Preset {
    /// Tangent start, a few hundred steps: seconds to minutes.
    Fast,
    /// Wider networks, more steps, a random start as well: minutes.
    Best,
    /// The paper's hyperparameters: 120,000 and 200,000 steps.
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Orthogonality {
    /// ⟨g, h⟩²/(‖g‖²‖h‖²) in L²(ρ), as the paper writes it.
    L2,
    /// Mean squared cosine over the samples, as in the paper's public code.
    Pointwise,
}

#[derive(Group)]
pub struct Fit {
    /// Files (npy, npz, csv, tsv, txt, xyz, dat, pts, ply, off, obj, stl, pcd, each also with gz) or directories (there all
    /// but tsv and dat); - is standard input. A stack (n, m, d) is n measures.
    #[arg(required_unless_present = "resume", value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// Where the model goes; the picture goes beside it with the ending svg.
    #[arg(long, short, value_name = "FILE", required_unless_present = "resume")]
    pub output: Option<PathBuf>,
    /// Number of components [default: 1].
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = positive)]
    pub components: Option<usize>,
    /// Steps of every component; 0 keeps the start as it is [default: the preset's].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// Samples of a step, at least 2 [default: the preset's].
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive)]
    pub batch: Option<usize>,
    /// Measures that a step visits [default: the preset's].
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = positive)]
    pub measures: Option<usize>,
    /// Widths of the hidden layers, for instance 64,64,64,64 [default: the preset's].
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = positive, allow_negative_numbers = true)]
    pub hidden: Option<Vec<usize>>,
    /// A named set of choices.
    #[arg(long, value_enum, default_value = "fast")]
    pub preset: Preset,
    /// Starts: tangent, tangent(2), random; several, separated by commas, keep the cheapest [default: the preset's].
    #[arg(long, value_name = "START", value_delimiter = ',', value_parser = start)]
    pub init: Option<Vec<Start>>,
    /// Regularisation of the Sinkhorn divergence, in squared units of the data.
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "epsilon_scale")]
    pub epsilon: Option<f64>,
    /// Regularisation as a share of E|y - y'|² of each batch [default: 0.01].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub epsilon_scale: Option<f64>,
    /// Marginal error at which a Sinkhorn solve of the training ends [default: the preset's]; one of the final numbers, at 1e-4
    /// or below.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Iterations after which such a solve ends all the same [default: the preset's]; one of the final numbers, after 2000 or
    /// more.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_iterations: Option<usize>,
    /// Weights of the measures (npy or text), one a measure: 2 stands for a measure given twice, 0 for its absence.
    #[arg(long, value_name = "FILE")]
    pub measure_weights: Option<PathBuf>,
    /// Weight of the intersection term of later components [default: 1].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda_i: Option<f64>,
    /// Weight of the orthogonality term of later components [default: 1].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda_o: Option<f64>,
    /// Form of the orthogonality term.
    #[arg(long, value_enum, default_value = "l2")]
    pub orthogonality: Orthogonality,
    /// Seed of everything random.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
    /// Threads; 0 takes all that this process may use. Results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// Where it runs: cpu; cuda or cuda:INDEX; auto takes the first GPU if there is one that can be used. A GPU draws the same
    /// samples; results differ by rounding.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Save checkpoints here while fitting, the first at once [default: beside the model, only when stopped]. No two fits
    /// may use one directory at a time.
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between two checkpoints.
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value_t = 30.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    /// Go on from a checkpoint, with its settings, its inputs and its output unless they are given. If nothing was saved there yet,
    /// start anew.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// One JSON object a line on standard output instead of tables.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Gaussian {
    /// Covariances (n, d, d) in an npy or npz; with --from-samples clouds, as fit reads them.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub gaussians: Gaussians,
    #[command(flatten)]
    pub reading: Reading,
    /// Where the model goes; the picture goes beside it with the ending svg. Ctrl-C ends the fit with nothing saved.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Number of components, at most d(d + 1)/2, and d more with means.
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = positive)]
    pub components: usize,
    /// Starts of each component.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 16, value_parser = positive)]
    pub starts: usize,
    /// Seed of the random ones.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
    /// What to do about singular covariances: reduce (leave out common null directions, exact), ridge or ridge(R) (the
    /// same, and seek geodesics with R times the mean eigenvalue added; R is 1e-8), refuse.
    #[arg(long, value_name = "HOW", default_value = "ridge", value_parser = degenerate)]
    pub degenerate: Degenerate,
    /// Evaluations of the cost that a start may use.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 500, value_parser = positive)]
    pub max_evaluations: usize,
    /// A start has converged when a renewed search lowers the cost by less than this share.
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "1e-9")]
    pub tolerance: f64,
    /// Prove by branch and bound that every projection is the nearest point.
    #[arg(long)]
    pub certify: bool,
    /// Threads; 0 takes all that this process may use. Results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// One JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Bures {
    /// A covariance, d x d (npy or text).
    pub a: PathBuf,
    /// A covariance of the same size.
    pub b: PathBuf,
    /// One JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// How far the Sinkhorn solves of a model of clouds go.
#[derive(Group)]
pub struct Solves {
    /// Marginal error at which a Sinkhorn solve ends, for clouds [default: the model's].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Iterations after which it ends all the same (exit code 3) [default: the model's].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_iterations: Option<usize>,
}

#[derive(Group)]
pub struct Transform {
    /// Model file.
    pub model: PathBuf,
    /// What the command that fitted the model reads: clouds, or covariances (with --from-samples, clouds).
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub gaussians: Gaussians,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub solves: Solves,
    /// Where the solves run, for clouds: cpu; cuda or cuda:INDEX; auto: a GPU if there is one and at least 32 measures.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Threads; 0 takes all that this process may use.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
}

#[derive(Group)]
pub struct Sample {
    /// Model file.
    pub model: PathBuf,
    /// Component, from 1.
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1)]
    pub component: usize,
    /// Time on it, an arc length in units of the data.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub time: f64,
    /// Number of points.
    #[arg(long, value_name = "N", default_value_t = 2048, allow_negative_numbers = true, value_parser = positive)]
    pub points: usize,
    /// Where they go (.npy or .csv); without it, CSV on standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Move a time outside the component's interval to its end.
    #[arg(long)]
    pub clamp: bool,
    /// Seed of the points.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Group)]
pub struct Evaluate {
    /// Model file.
    pub model: PathBuf,
    /// What the command that fitted the model reads: clouds, or covariances (with --from-samples, clouds).
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub gaussians: Gaussians,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub solves: Solves,
    /// Points on either side of a solve; unused for Gaussians.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 512, value_parser = positive)]
    pub points: usize,
    /// Seed of the draws; unused for Gaussians [default: that of the fit].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Where the solves run, for clouds: cpu; cuda or cuda:INDEX; auto: a GPU if there is one and at least 32 measures.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Threads; 0 takes all that this process may use.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// One JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Info {
    /// Model file.
    #[arg(required_unless_present = "devices")]
    pub model: Option<PathBuf>,
    /// The CPU and the GPUs, or why there is none that can be used.
    #[arg(long, conflicts_with = "model")]
    pub devices: bool,
    /// One JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Sinkhorn {
    /// File with one cloud; - is standard input.
    pub x: PathBuf,
    /// File with one cloud.
    pub y: PathBuf,
    /// Regularisation, in squared units of the data [default: 0.01 E|y - y'|²].
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// L1 error of the marginals at which a solve ends [default: 1e-6, on a GPU 1e-5].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// cpu, in f64; cuda or cuda:INDEX, in f32 (there is no f64 on a GPU); auto: a GPU if there is one, the clouds have
    /// a million pairs of points or more, and the tolerance is not below 1e-5.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Iterations after which a solve ends all the same (exit code 3).
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10_000)]
    pub max_iterations: usize,
    /// Write the gradient in the points of X (.npy or .csv, as many rows and columns as X).
    #[arg(long, value_name = "FILE")]
    pub gradient: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// Threads; 0 takes all that this process may use.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// One JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("give a whole number above 0".into()),
    }
}

fn degenerate(text: &str) -> Result<Degenerate, String> {
    let ridge = |text: &str| text.strip_prefix("ridge(").and_then(|t| t.strip_suffix(')')).and_then(|t| t.parse().ok());
    match text {
        "reduce" => Ok(Degenerate::Reduce),
        "refuse" => Ok(Degenerate::Refuse),
        "ridge" => Ok(Degenerate::Ridge(1e-8)),
        _ => {
            ridge(text).map(Degenerate::Ridge).ok_or("give reduce, refuse, ridge, or ridge(R) as in ridge(1e-6)".into())
        }
    }
}

fn start(text: &str) -> Result<Start, String> {
    if text == "random" {
        return Ok(Start::Random);
    }
    if text == "tangent" {
        return Ok(Start::Tangent(1));
    }
    let direction = text.strip_prefix("tangent(").and_then(|t| t.strip_suffix(')')).and_then(|t| t.parse().ok());
    match direction {
        Some(j) if j > 0 => Ok(Start::Tangent(j)),
        _ => Err("give tangent, tangent(j) with j from 1, or random".into()),
    }
}
