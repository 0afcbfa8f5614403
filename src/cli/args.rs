//! Definition of the command line.

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
    /// Print only warnings and errors on standard error.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Fit components to measures; write a model and a picture.
    #[command(after_help = "Example:\n  wgpca fit data/chairs -o chairs.safetensors --components 2")]
    Fit(Box<Fit>),
    /// Fit components to Gaussian measures exactly; write a model and a picture.
    #[command(
        after_help = "Example:\n  wgpca gaussian data/weather/covariances.npy --names data/weather/states.txt -o weather.safetensors --components 2"
    )]
    Gaussian(Box<Gaussian>),
    /// Project measures on the components of a model (CSV: name, t1, residual1, t2, …, then t1_se, …).
    #[command(after_help = "Example:\n  wgpca transform chairs.safetensors data/chairs/oak_chair.npy")]
    Transform(Transform),
    /// Draw points of a component at a given time.
    #[command(
        after_help = "Example:\n  wgpca sample chairs.safetensors --component 1 --time 0.1 --points 2048 -o out.npy"
    )]
    Sample(Sample),
    /// Evaluate the cost of a model's components on measures, with the noise floor and the cost of the barycentre.
    #[command(after_help = "Example:\n  wgpca evaluate chairs.safetensors data/chairs --points 512")]
    Evaluate(Evaluate),
    /// Show what a model is and how it was fitted, or list the available devices.
    #[command(after_help = "Example:\n  wgpca info chairs.safetensors --json\n  wgpca info --devices")]
    Info(Info),
    /// Compute the Sinkhorn divergence between two clouds, and its gradient.
    #[command(after_help = "Example:\n  wgpca sinkhorn x.npy y.npy --epsilon 0.05 --gradient dx.npy --json")]
    Sinkhorn(Sinkhorn),
    /// Compute the Bures–Wasserstein distance between two covariance matrices, and the Monge map.
    #[command(after_help = "Example:\n  wgpca bures a.npy b.csv --json")]
    Bures(Bures),
}

/// How clouds are read.
#[derive(Group)]
pub struct Reading {
    /// Draw N points by area from the faces of ply, off, obj and stl meshes instead of taking their vertices.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub surface: Option<usize>,
    /// Seed of the points drawn from faces.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub surface_seed: u64,
    /// Columns that are coordinates, by name (x,y,z) or position from 1 (1-3) [default: found by their names; all if there are no
    /// names].
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<Columns>,
    /// Column of a text, property of a ply or field of a pcd file that holds weights [default: weight, weights, w or mass].
    #[arg(long, value_name = "NAME")]
    pub weight_column: Option<String>,
    /// Array of an npz file that holds weights [default: weights, or a similar name].
    #[arg(long, value_name = "NAME")]
    pub weights_key: Option<String>,
    /// Drop points with a coordinate that is NaN or missing, and report how many.
    #[arg(long)]
    pub drop_nan: bool,
    /// Also read the subdirectories of directories.
    #[arg(long)]
    pub recursive: bool,
    /// Format of the named files and of standard input (-): csv, npy, ply, … [default: found by their endings].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// How Gaussians are read.
#[derive(Group)]
pub struct Gaussians {
    /// Take the means and covariances of clouds, which are read as by fit.
    #[arg(long)]
    pub from_samples: bool,
    /// With --from-samples, ignore the means.
    #[arg(long, requires = "from_samples")]
    pub centred: bool,
    /// Means of the measures, n x d (npy or text) [default: all measures are centred].
    #[arg(long, value_name = "FILE", conflicts_with = "from_samples")]
    pub means: Option<PathBuf>,
    /// Weights of the measures (npy or text), one per measure: 2 counts as giving a measure twice, 0 as leaving it out.
    #[arg(long, value_name = "FILE")]
    pub measure_weights: Option<PathBuf>,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Preset {
    /// Tangent start, a few hundred steps: seconds to minutes.
    Fast,
    /// Wider networks, more steps, also a random start: minutes.
    Best,
    /// Hyperparameters of the paper: 120,000 and 200,000 steps.
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Orthogonality {
    /// ⟨g, h⟩²/(‖g‖²‖h‖²) in L²(ρ), as in the paper.
    L2,
    /// Mean squared cosine over the samples, as in the public code of the paper.
    Pointwise,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Objective {
    /// divergence in at most four dimensions, else unbiased.
    Auto,
    /// The Sinkhorn divergence of the points of a batch, as in the paper.
    Divergence,
    /// The same distance without the bias of finite samples, which is large in many dimensions.
    Unbiased,
}

#[derive(Group)]
pub struct Fit {
    /// Files (npy, npz, csv, tsv, txt, xyz, dat, pts, ply, off, obj, stl, pcd, each also with gz), directories (all of these
    /// formats except tsv and dat), or - for standard input. A stack (n, m, d) is n measures.
    #[arg(required_unless_present = "resume", value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// File for the model; the picture is written beside it with the ending svg.
    #[arg(long, short, value_name = "FILE", required_unless_present = "resume")]
    pub output: Option<PathBuf>,
    /// Number of components [default: 1].
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = positive)]
    pub components: Option<usize>,
    /// Steps per component; 0 keeps the start unchanged [default: from the preset].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// Samples per step, at least 2 [default: from the preset].
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = positive)]
    pub batch: Option<usize>,
    /// Measures used per step [default: from the preset].
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = positive)]
    pub measures: Option<usize>,
    /// Widths of the hidden layers, for instance 64,64,64,64 [default: from the preset].
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = positive, allow_negative_numbers = true)]
    pub hidden: Option<Vec<usize>>,
    /// Set of default hyperparameters.
    #[arg(long, value_enum, default_value = "fast")]
    pub preset: Preset,
    /// Starts: tangent, tangent(2), random; of several, separated by commas, the cheapest is kept [default: from the preset].
    #[arg(long, value_name = "START", value_delimiter = ',', value_parser = start)]
    pub init: Option<Vec<Start>>,
    /// Regularisation of the Sinkhorn divergence, in squared units of the data.
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "epsilon_scale")]
    pub epsilon: Option<f64>,
    /// Regularisation as a fraction of E|y - y'|² of each batch [default: 0.01].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub epsilon_scale: Option<f64>,
    /// Marginal error at which a Sinkhorn solve ends in training [default: from the preset]; for the final numbers at most 1e-4.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Maximum iterations of a Sinkhorn solve in training [default: from the preset]; for the final numbers at least 2000.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_iterations: Option<usize>,
    /// Weights of the measures (npy or text), one per measure: 2 counts as giving a measure twice, 0 as leaving it out.
    #[arg(long, value_name = "FILE")]
    pub measure_weights: Option<PathBuf>,
    /// Weight of the intersection term, from the second component on [default: 1].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda_i: Option<f64>,
    /// Weight of the orthogonality term, from the second component on [default: 1].
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    pub lambda_o: Option<f64>,
    /// What the training minimises [default: divergence with preset paper, else auto].
    #[arg(long, value_enum)]
    pub objective: Option<Objective>,
    /// Form of the orthogonality term.
    #[arg(long, value_enum, default_value = "l2")]
    pub orthogonality: Orthogonality,
    /// Random seed.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
    /// Number of threads; 0 uses all that are available to this process. Results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// Device: cpu; cuda or cuda:INDEX; auto uses the first GPU if one is usable. A GPU draws the same samples; results differ by
    /// rounding.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Directory for checkpoints during the fit, the first at once [default: beside the model, only when stopped]. Two fits
    /// cannot use one directory at the same time.
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between checkpoints.
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value_t = 30.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    /// Resume from a checkpoint, with its settings, and its inputs and output unless they are given. If the directory holds no
    /// checkpoint yet, start a new fit.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Print one JSON object per line on standard output instead of tables.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Gaussian {
    /// Covariances (n, d, d) in an npy or npz file; with --from-samples, clouds as read by fit.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub gaussians: Gaussians,
    #[command(flatten)]
    pub reading: Reading,
    /// File for the model; the picture is written beside it with the ending svg. Ctrl-C ends the fit without saving anything.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Number of components, at most d(d + 1)/2, or d more with means.
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = positive)]
    pub components: usize,
    /// Starts per component.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 16, value_parser = positive)]
    pub starts: usize,
    /// Seed of the random starts.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
    /// Treatment of singular covariances: reduce (leave out common null directions, exact), ridge or ridge(R) (the same, and add
    /// R times the mean eigenvalue in the search for geodesics; R is 1e-8 by default), refuse.
    #[arg(long, value_name = "HOW", default_value = "ridge", value_parser = degenerate)]
    pub degenerate: Degenerate,
    /// Maximum evaluations of the cost per start.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 500, value_parser = positive)]
    pub max_evaluations: usize,
    /// Relative decrease of the cost by a renewed search below which a start has converged.
    #[arg(long, value_name = "T", allow_negative_numbers = true, default_value = "1e-9")]
    pub tolerance: f64,
    /// Prove by branch and bound that every projection is the nearest point.
    #[arg(long)]
    pub certify: bool,
    /// Number of threads; 0 uses all that are available to this process. Results do not depend on it.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Bures {
    /// Covariance, d x d (npy or text).
    pub a: PathBuf,
    /// Covariance of the same size.
    pub b: PathBuf,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Limits of the Sinkhorn solves of a model of clouds.
#[derive(Group)]
pub struct Solves {
    /// Marginal error at which a Sinkhorn solve ends, for clouds [default: from the model].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Maximum iterations of a Sinkhorn solve, for clouds; if they do not suffice, the exit code is 3 [default: from the model].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_iterations: Option<usize>,
}

/// A model, measures for it, and how they are processed.
#[derive(Group)]
pub struct ModelAndInputs {
    /// Model file.
    pub model: PathBuf,
    /// Inputs as read by the command that fitted the model: clouds, or covariances (with --from-samples, clouds).
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub gaussians: Gaussians,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub solves: Solves,
    /// Device for the solves, for clouds: cpu; cuda or cuda:INDEX; auto: a GPU if one is usable and there are at least 32
    /// measures.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Number of threads; 0 uses all that are available to this process.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
}

#[derive(Group)]
pub struct Transform {
    #[command(flatten)]
    pub data: ModelAndInputs,
}

#[derive(Group)]
pub struct Sample {
    /// Model file.
    pub model: PathBuf,
    /// Component, counted from 1.
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1)]
    pub component: usize,
    /// Time on the component, an arc length in units of the data.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub time: f64,
    /// Number of points.
    #[arg(long, value_name = "N", default_value_t = 2048, allow_negative_numbers = true, value_parser = positive)]
    pub points: usize,
    /// File for the points (.npy or .csv) [default: CSV on standard output].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Clamp a time outside the interval of the component to its end.
    #[arg(long)]
    pub clamp: bool,
    /// Seed of the points.
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Group)]
pub struct Evaluate {
    #[command(flatten)]
    pub data: ModelAndInputs,
    /// Points on each side of a solve; unused for Gaussians.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 512, value_parser = positive)]
    pub points: usize,
    /// Seed of the draws; unused for Gaussians [default: the seed of the fit].
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group)]
pub struct Info {
    /// Model file.
    #[arg(required_unless_present = "devices")]
    pub model: Option<PathBuf>,
    /// List the CPU and the GPUs, or say why no GPU is usable.
    #[arg(long, conflicts_with = "model")]
    pub devices: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Numbers of a solve.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    F32,
    F64,
}

#[derive(Group)]
pub struct Sinkhorn {
    /// File with one cloud, or - for standard input.
    pub x: PathBuf,
    /// File with one cloud.
    pub y: PathBuf,
    /// Regularisation, in squared units of the data [default: 0.01 E|y - y'|²].
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// L1 error of the marginals at which a solve ends [default: 1e-6, in f32 1e-5].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Device: cpu; cuda or cuda:INDEX; auto: a GPU if one is usable, the clouds have at least a million pairs of points, and the
    /// tolerance is not below 1e-5.
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceChoice,
    /// Precision of the solves: f32 or f64 [default: f64, on a GPU f32].
    #[arg(long, value_name = "P")]
    pub precision: Option<Precision>,
    /// Maximum iterations of a solve; if they do not suffice, the exit code is 3.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10_000)]
    pub max_iterations: usize,
    /// Write the gradient in the points of X to a file (.npy or .csv, as many rows and columns as X).
    #[arg(long, value_name = "FILE")]
    pub gradient: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// Number of threads; 0 uses all that are available to this process.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub threads: usize,
    /// Print one JSON object instead of text.
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
