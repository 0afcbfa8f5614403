//! The settings of a fit and the presets.

use crate::error::{Error, Result};
use crate::nn::Activation;
use crate::ot::Sinkhorn;

/// A named set of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Preset {
    /// [`Settings::fast`].
    Fast,
    /// [`Settings::best`].
    Best,
    /// [`Settings::paper`].
    Paper,
}

impl Preset {
    /// `fast`, `best` or `paper`.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Fast => "fast",
            Preset::Best => "best",
            Preset::Paper => "paper",
        }
    }

    /// The settings of this preset.
    pub fn settings(self) -> Settings {
        match self {
            Preset::Fast => Settings::fast(),
            Preset::Best => Settings::best(),
            Preset::Paper => Settings::paper(),
        }
    }
}

/// Initial state of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Start {
    /// The j-th direction of tangent PCA at the barycentre, j from 1. For later components, the j-th direction
    /// orthogonal to the earlier components at the common point.
    Tangent(usize),
    /// Random networks.
    Random,
}

/// Form of the penalty O for orthogonality of the components (D8). g and h are the velocities of two components over
/// the same x ~ ρ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Orthogonality {
    /// ⟨g, h⟩² / (‖g‖² ‖h‖²) in L²(ρ): the formula of the paper.
    L2,
    /// The mean over x of the squared cosine of g(x) and h(x): the paper's public code.
    Pointwise,
}

/// How the times t_i are updated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TimeUpdate {
    /// Adam with this rate on all times at every step (the paper).
    Adam(f64),
    /// `t ← t' − η ⟨D, v⟩/⟨v, v⟩` for the measures of the step (D11 c). With η = 1 it minimises the loss at a fixed
    /// plan.
    Majorise(f64),
}

/// Schedule of the rate of Adam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Schedule {
    /// The same rate at every step.
    Constant,
    /// Linear warm-up over `warmup` steps, multiplied by a cosine that falls to 0 at the last step.
    Cosine {
        /// Steps of warm-up.
        warmup: usize,
    },
}

/// Which state of a training is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Keep {
    /// The state after the last step.
    Last,
    /// The state with the lowest evaluated cost, the start included.
    Best,
}

/// The divergence that a training minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Objective {
    /// [`Objective::Divergence`] in at most four dimensions, else [`Objective::Unbiased`].
    Auto,
    /// S_ε between the points of a batch (the paper). In many dimensions its minimum is a curve narrower than the
    /// measures.
    #[default]
    Divergence,
    /// The same distance between independent halves of a batch, without the bias of sampling (D11 h in
    /// `docs/derivations.md`). Draws are independent, whatever [`Settings::sampling`] says. On a device the steps run
    /// on the CPU.
    Unbiased,
}

/// Largest dimension in which the bias of S_ε, of order `N^(−2/d)`, is below the errors of order `N^(−1/2)`.
const MAX_BIASED_DIM: usize = 4;

/// Whether samples of measures in R^d are compared without the bias of S_ε where nothing else is asked for.
pub(crate) fn bias_matters(d: usize) -> bool {
    d > MAX_BIASED_DIM
}

/// Largest ratio of the bias of a time, `N^(−2/d)`, to its error, `N^(−1/2)`, that is accepted.
const MAX_TIME_BIAS: f64 = 0.35;

/// Whether the time of a sample of n points in R^d is searched without the bias of S_ε. In R³ this holds for fewer than
/// 544 points, in R⁴ and more dimensions for all samples, in R¹ and R² for none.
pub(crate) fn time_bias_matters(d: usize, n: usize) -> bool {
    d > 2 && (n as f64).powf(0.5 - 2.0 / d as f64) > MAX_TIME_BIAS
}

/// How the samples of a training step are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Sampling {
    /// Independent draws: x ~ ρ, and y ~ ν_i by weight (the paper).
    Independent,
    /// x is a randomly shifted lattice of normals. y has one point from each of `batch` parts of ν_i of equal mass.
    /// Sums over a batch keep their expectation. A step has less noise, and less of the bias caused by the noise of a
    /// batch.
    Stratified,
}

/// Settings of the tangent start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tangent {
    /// Points of the reference cloud.
    pub points: usize,
    /// Iterations of the barycentre.
    pub rounds: usize,
    /// Steps of each regression, of φ and of f.
    pub regression: usize,
}

/// All settings of a fit. Start from a preset and change single fields.
///
/// # Example
/// ```
/// use wgpca::clouds::Settings;
/// let settings = Settings { components: 2, seed: 7, ..Settings::fast() };
/// settings.validate()?;
/// # Ok::<(), wgpca::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The preset these settings are based on. It is only recorded.
    pub preset: Preset,
    /// Number of components.
    pub components: usize,
    /// Steps of the first component and of each later one.
    pub steps: [usize; 2],
    /// Samples m per step, of ρ and of each measure.
    pub batch: usize,
    /// Measures per step. They share one batch of ρ (D11 e).
    pub measures: usize,
    /// Widths of the hidden layers of both networks.
    pub hidden: Vec<usize>,
    /// Activation of φ.
    pub phi_activation: Activation,
    /// Activation of f.
    pub f_activation: Activation,
    /// `φ = m + Lx + net` and `f = ½uᵀSu + b·u + net` instead of the networks `net` only (D11 a).
    pub residual: bool,
    /// Variance scaling of the initial weights.
    pub initial_variance: f64,
    /// Shift the data to mean 0 and scale them to total variance 1 for the training. Results are in the units of the
    /// data.
    pub normalise: bool,
    /// Starts to try. The result with the lowest cost is kept.
    pub starts: Vec<Start>,
    /// Settings of the tangent start.
    pub tangent: Tangent,
    /// Rate of Adam for both networks.
    pub rate: f64,
    /// Schedule of the rate.
    pub schedule: Schedule,
    /// How the times are updated.
    pub times: TimeUpdate,
    /// Rescale to max |t| = 1 after each step (D11 d).
    pub gauge: bool,
    /// How batches are drawn.
    pub sampling: Sampling,
    /// What a training minimises.
    #[cfg_attr(feature = "serde", serde(default))]
    pub objective: Objective,
    /// Relative distance of the interval from the times at which the map degenerates: `1 + tλ ≥ margin` for all
    /// eigenvalues λ (D7).
    pub margin: f64,
    /// Include the gradient through the eigenvalue that sets the end of the interval of a clipped time (D6). Without it
    /// a training can diverge: the gradient asks for a larger ∇f, which shortens the interval. Switch it off only for
    /// comparison.
    pub through_eigenvalue: bool,
    /// Weight of the intersection term I, which is a squared length.
    pub lambda_intersection: f64,
    /// Weight of the orthogonality term O, which has no unit.
    pub lambda_orthogonality: f64,
    /// Form of O.
    pub orthogonality: Orthogonality,
    /// Settings of the Sinkhorn solves of a step.
    pub sinkhorn: Sinkhorn,
    /// Which state is returned.
    pub keep: Keep,
    /// Steps between two evaluations of the cost on fixed points.
    pub evaluate_every: usize,
    /// Points on each side of an evaluation. During the training a measure with fewer points contributes all of them.
    /// For the final costs two disjoint draws are needed, so a draw from a measure of equal weights has at most half of
    /// its points.
    pub evaluation_points: usize,
    /// Points on each side of a projection. A measure with fewer points contributes all of them.
    #[cfg_attr(feature = "serde", serde(default = "projection_points"))]
    pub projection_points: usize,
    /// One weight per measure, in the order of the measures; empty for equal weights. The weights multiply the terms of
    /// every sum over the measures, `Σ_i w_i S_ε(μ(t_i), ν_i)`, and determine how often a measure is visited. A measure
    /// of weight 0 is left out.
    #[cfg_attr(feature = "serde", serde(default))]
    pub measure_weights: Vec<f64>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// The value in all presets, and for files without this setting.
pub(crate) fn projection_points() -> usize {
    1024
}

impl Settings {
    /// The default (D11): tangent start, residual networks of width 64, four measures per step, stratified samples,
    /// times by majorisation, a decaying rate, and the best evaluated state.
    pub fn fast() -> Self {
        Settings {
            preset: Preset::Fast,
            components: 1,
            steps: [500, 500],
            batch: 256,
            measures: 4,
            hidden: vec![64; 4],
            phi_activation: Activation::Relu,
            f_activation: Activation::Elu,
            residual: true,
            initial_variance: 1.0,
            normalise: true,
            starts: vec![Start::Tangent(1)],
            tangent: Tangent { points: 512, rounds: 3, regression: 500 },
            rate: 1e-3,
            schedule: Schedule::Cosine { warmup: 50 },
            times: TimeUpdate::Majorise(0.3),
            gauge: true,
            sampling: Sampling::Stratified,
            objective: Objective::Auto,
            margin: 1e-3,
            through_eigenvalue: true,
            lambda_intersection: 1.0,
            lambda_orthogonality: 1.0,
            orthogonality: Orthogonality::L2,
            sinkhorn: Sinkhorn { tolerance: 1e-3, max_iterations: 500, ..Sinkhorn::default() },
            keep: Keep::Best,
            evaluate_every: 100,
            evaluation_points: 512,
            projection_points: projection_points(),
            measure_weights: vec![],
            seed: 0,
        }
    }

    /// Wider networks, more samples, more steps, and a random start in addition to the tangent start.
    pub fn best() -> Self {
        Settings {
            preset: Preset::Best,
            steps: [2000, 1000],
            batch: 512,
            measures: 8,
            hidden: vec![128; 4],
            starts: vec![Start::Tangent(1), Start::Random],
            evaluate_every: 200,
            ..Settings::fast()
        }
    }

    /// The paper's table of hyperparameters and the initialisation of its public code: networks of width 128 without
    /// residual terms, a random start, one measure of 1024 points per step, Adam at constant rates, and the last state.
    pub fn paper() -> Self {
        Settings {
            preset: Preset::Paper,
            steps: [120_000, 200_000],
            batch: 1024,
            measures: 1,
            hidden: vec![128; 4],
            residual: false,
            initial_variance: 0.1,
            normalise: false,
            starts: vec![Start::Random],
            rate: 5e-4,
            schedule: Schedule::Constant,
            times: TimeUpdate::Adam(5e-3),
            gauge: false,
            sampling: Sampling::Independent,
            objective: Objective::Divergence,
            keep: Keep::Last,
            evaluate_every: 1000,
            ..Settings::fast()
        }
    }

    /// Whether a training in R^d minimises [`Objective::Unbiased`].
    pub(crate) fn unbiased(&self, d: usize) -> bool {
        match self.objective {
            Objective::Auto => bias_matters(d),
            Objective::Divergence => false,
            Objective::Unbiased => true,
        }
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the setting, the problem and the admissible values.
    pub fn validate(&self) -> Result<()> {
        let counts = [
            ("components", self.components),
            ("batch", self.batch),
            ("measures per step", self.measures),
            ("starts", self.starts.len()),
            ("evaluate every", self.evaluate_every),
            ("evaluation points", self.evaluation_points),
            ("projection points", self.projection_points),
            ("tangent points", self.tangent.points),
        ];
        for (name, value) in counts {
            if value == 0 {
                return Err(Error::parameter(name, "it is 0; give at least 1"));
            }
        }
        let points = [
            ("batch", self.batch),
            ("evaluation points", self.evaluation_points),
            ("projection points", self.projection_points),
            ("tangent points", self.tangent.points),
        ];
        for (name, value) in points {
            if value < 2 {
                return Err(Error::parameter(name, format!("it is {value}; give at least 2")));
            }
        }
        if self.hidden.is_empty() || self.hidden.contains(&0) {
            return Err(Error::parameter("hidden", "give at least one hidden layer; every width must be at least 1"));
        }
        if self.starts.len() > 64 {
            return Err(Error::parameter("starts", "give at most 64"));
        }
        if self.starts.contains(&Start::Tangent(0)) {
            return Err(Error::parameter("starts", "tangent directions count from 1"));
        }
        if self.f_activation == Activation::Relu {
            return Err(Error::parameter(
                "f activation",
                "the second derivative of relu is 0; use elu, softplus or tanh",
            ));
        }
        let time = match self.times {
            TimeUpdate::Adam(rate) => rate,
            TimeUpdate::Majorise(eta) => eta,
        };
        let positive = [("rate", self.rate), ("time update", time), ("initial variance", self.initial_variance)];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::parameter(name, format!("it is {value}; give a finite number above 0")));
            }
        }
        let weights = [("lambda I", self.lambda_intersection), ("lambda O", self.lambda_orthogonality)];
        for (name, value) in weights {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::parameter(name, format!("it is {value}; give a finite number of at least 0")));
            }
        }
        if let Some(k) = self.measure_weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            let problem = format!("weight {k} is {}; give finite numbers of at least 0", self.measure_weights[k]);
            return Err(Error::parameter("measure weights", problem + " (indices count from 0)"));
        }
        if !(0.0..0.5).contains(&self.margin) {
            return Err(Error::parameter("margin", format!("it is {}; give a fraction from 0 to 0.5", self.margin)));
        }
        self.sinkhorn.validate()
    }

    /// Rate of Adam at this step (from 0) of `steps`.
    pub(crate) fn rate_at(&self, step: usize, steps: usize) -> f64 {
        match self.schedule {
            Schedule::Constant => self.rate,
            Schedule::Cosine { warmup } => {
                let rise = ((step + 1) as f64 / (warmup + 1) as f64).min(1.0);
                let done = step as f64 / steps.max(1) as f64;
                self.rate * rise * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::fast()
    }
}
