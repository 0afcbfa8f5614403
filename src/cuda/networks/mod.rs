//! The networks in a training step on the device, for a whole batch: u = φ(x) and v = ∇f(u) (D1), the extreme eigenvalues of the
//! Hessians (D2, D7), their gradient (D4), the backward passes (D3, D6), and the update.
//!
//! Each method enqueues its kernels and returns: it allocates nothing and reads nothing back, and values that change with the
//! step are read from device memory, so that a step can be recorded once and replayed. The CPU engine (`clouds::geodesic::{chunk,
//! spectrum}`, `nn`) is the specification.

pub(super) mod arguments;
mod layout;
mod weights;

#[cfg(test)]
mod tests;

pub(crate) use weights::{Evaluator, Weights};

use super::arguments::{read, write};
use super::device::CudaDevice;
use super::launch::Grid;
use super::memory::Buffer;
use crate::clouds::geodesic::spectrum::{LANCZOS_STEPS, MAX_DIRECT_DIM, lanczos_start};
use crate::clouds::{Architecture, State};
use crate::error::{Error, Result};
use arguments::{
    BackwardArgs, EigenvalueJetsArgs, ExtremesArgs, ForwardArgs, GradientProductsArgs, HessianArgs, LanczosArgs,
    SumGradientsArgs, UpdateNetworksArgs,
};
use layout::{FIELDS_F, FIELDS_PHI, JETS, Products, products, stored};

/// Largest shared memory of a block that is used. A Turing GPU has 64 KB, so that blocks have fewer rows there.
const SHARED: usize = 96 * 1024;
/// Threads per block of passes, and of kernels that form Hessians.
const THREADS: u32 = 512;
const HESSIAN_THREADS: u32 = 256;

/// Both networks of a component in training, with the memory for passes over a batch of m rows.
///
/// Rows are points of R^d, row-major f32, as in `clouds::geodesic::chunk::Chunk`.
pub(crate) struct Networks {
    device: CudaDevice,
    pub weights: Weights,
    /// x, u = φ(x), v = ∇f(u): m × d.
    pub x: Buffer<f32>,
    pub u: Buffer<f32>,
    pub v: Buffer<f32>,
    /// Cotangents on u and v: m × d. [`Networks::backward`] adds H_f v̄ to ū.
    pub bar_u: Buffer<f32>,
    pub bar_v: Buffer<f32>,
    /// Factors of the derivatives of λmin and λmax in the loss; 0 leaves an end out. Initially 0. Read by
    /// [`Networks::eigenvalue_gradient`] and, after it, [`Networks::backward`].
    pub factors: Buffer<f64>,
    /// `λmin, λmax, row of λmin, row of λmax, eigenvector of λmin [d], of λmax [d], u of λmin [d], u of λmax [d]`.
    pub extremes: Buffer<f64>,
    /// ∂L/∂(parameters of φ, then of f).
    pub gradient: Buffer<f32>,
    /// Adam's moments.
    pub first: Buffer<f32>,
    pub second: Buffer<f32>,
    m: usize,
    pass: Rows,
    spectrum: Spectrum,
    /// Per hidden unit and row: see kernels/layers.cuh.
    store: Buffer<f32>,
    jets: Buffer<f32>,
    products: Products,
    product_table: Buffer<u64>,
    tiles: Buffer<u32>,
    partial: Buffer<f32>,
}

/// Rows per block of a pass, and the shared memory for them.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// 8, or 1 if 8 rows of the widest layer do not fit.
    rows: usize,
    /// Distance of two rows in shared memory, in numbers.
    stride: usize,
}

impl Rows {
    /// For blocks of this much shared memory.
    fn new(architecture: &Architecture, shared: usize) -> Result<Self> {
        let stride = stride(architecture);
        let fits = |rows: &usize| Rows { rows: *rows, stride }.shared() <= shared;
        let rows = [8, 1].into_iter().find(fits).ok_or_else(|| {
            let most = (shared / 4).saturating_sub(THREADS as usize) / 2;
            Error::parameter(
                "layers",
                format!("the widest has {stride} units, but this GPU supports at most {most}; use the CPU"),
            )
        })?;
        Ok(Rows { rows, stride })
    }

    /// Six rows: three jets of two ends.
    fn six(self) -> Self {
        Rows { rows: 6, ..self }
    }

    fn shared(self) -> usize {
        4 * self.rows * (2 * self.stride + THREADS as usize)
    }

    fn grid(self, m: usize) -> Grid {
        Grid::new(blocks(m, self.rows), THREADS).shared(self.shared()).instance(self.rows)
    }
}

/// The widest layer, rounded up to a multiple of four.
fn stride(architecture: &Architecture) -> usize {
    let sizes = architecture.phi.sizes().iter().chain(architecture.f.sizes());
    sizes.copied().max().unwrap_or(1).next_multiple_of(4)
}

fn blocks(m: usize, rows: usize) -> u32 {
    u32::try_from(m.div_ceil(rows)).unwrap_or(u32::MAX)
}

/// The method for the extreme eigenvalues, and its memory.
struct Spectrum {
    /// Tangents per block if the Hessians are formed (D2): 8, 16 or 24. None: Lanczos iterations.
    tangents: Option<usize>,
    steps: usize,
    hessians: Buffer<f32>,
    /// Both extremes of every row.
    ends: Buffer<f64>,
    start: Buffer<f32>,
    basis: Buffer<f32>,
    tridiagonal: Buffer<f64>,
}

impl Spectrum {
    fn new(device: &CudaDevice, architecture: &Architecture, m: usize) -> Result<Self> {
        let d = architecture.dim();
        let tangents = Self::tangents(d, stride(architecture), shared(device));
        let steps = if tangents.is_some() { 0 } else { LANCZOS_STEPS.min(d) };
        let start: Vec<f32> = lanczos_start(d).into_iter().map(|x| x as f32).collect();
        Ok(Spectrum {
            tangents,
            steps,
            hessians: device.zeros(if tangents.is_some() { m * d * d } else { 0 })?,
            ends: device.zeros(2 * m)?,
            start: device.upload(&start)?,
            basis: device.zeros(steps * m * d)?,
            tridiagonal: device.zeros(2 * steps * m)?,
        })
    }

    /// As many tangents as possible in this much shared memory, so that a weight is read seldom, but enough blocks at
    /// m = 1024.
    fn tangents(d: usize, stride: usize, shared: usize) -> Option<usize> {
        let best = match d {
            1 => 8,
            2 | 4 => 16,
            _ => 24,
        };
        let fits = |v: &usize| *v <= best && *v >= d && Self::shared(*v, d, stride) <= shared;
        [24, 16, 8].into_iter().find(fits).filter(|_| d <= MAX_DIRECT_DIM)
    }

    fn shared(tangents: usize, d: usize, stride: usize) -> usize {
        4 * tangents * (2 * stride + HESSIAN_THREADS as usize) + 12 * (tangents / d) * d * d
    }
}

/// Shared memory of a block that these kernels use on a device.
fn shared(device: &CudaDevice) -> usize {
    SHARED.min(device.shared_memory() as usize)
}

impl Networks {
    /// Whether networks of this architecture can be trained on the device: six rows of the widest layer are in the shared
    /// memory of a block.
    pub fn fit(device: &CudaDevice, architecture: &Architecture) -> bool {
        Rows::new(architecture, shared(device)).is_ok_and(|pass| pass.six().shared() <= shared(device))
    }

    /// For batches of m rows, with all parameters 0. All memory is allocated here.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a layer that is too wide for a GPU, [`Error::Device`] if the memory does not suffice.
    pub fn new(device: &CudaDevice, architecture: &Architecture, m: usize) -> Result<Self> {
        let d = architecture.dim();
        let pass = Rows::new(architecture, shared(device))?;
        if !Self::fit(device, architecture) {
            let problem = format!("the widest has {} units, too many for {}; use the CPU", pass.stride, device.name());
            return Err(Error::parameter("layers", problem));
        }
        let weights = Weights::new(device, architecture)?;
        let n = weights.len();
        let products = products(architecture, m);
        let [phi, f] = stored(architecture);
        let jets = 2 * JETS * (d + f);
        Ok(Networks {
            x: device.zeros(m * d)?,
            u: device.zeros(m * d)?,
            v: device.zeros(m * d)?,
            bar_u: device.zeros(m * d)?,
            bar_v: device.zeros(m * d)?,
            factors: device.zeros(2)?,
            extremes: device.zeros(4 + 4 * d)?,
            gradient: device.zeros(n)?,
            first: device.zeros(n)?,
            second: device.zeros(n)?,
            m,
            pass,
            spectrum: Spectrum::new(device, architecture, m)?,
            store: device.zeros(m * (FIELDS_PHI * phi + FIELDS_F * f))?,
            jets: device.zeros(jets)?,
            product_table: device.upload(&products.table)?,
            tiles: device.upload(&products.tiles)?,
            // The kernel writes everything except ∂c of f, which is 0.
            partial: device.zeros(products.parts * n)?,
            products,
            weights,
            device: device.clone(),
        })
    }

    /// Copies networks and moments from the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn upload(&mut self, state: &State<f32>) -> Result<()> {
        self.weights.upload(&state.geodesic)?;
        let join = |a: &[f32], b: &[f32]| [a, b].concat();
        let (phi, f) = (&state.adam_phi, &state.adam_f);
        self.device.copy_into(&join(&phi.first, &f.first), &mut self.first)?;
        self.device.copy_into(&join(&phi.second, &f.second), &mut self.second)
    }

    /// Copies networks and moments to the host, but not the number of updates. Waits.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self, state: &mut State<f32>) -> Result<()> {
        self.weights.download(&mut state.geodesic)?;
        let split = state.geodesic.phi.len();
        let first = self.device.download(&self.first)?;
        let second = self.device.download(&self.second)?;
        for (adam, at) in [(&mut state.adam_phi, 0..split), (&mut state.adam_f, split..first.len())] {
            adam.first.copy_from_slice(&first[at.clone()]);
            adam.second.copy_from_slice(&second[at]);
        }
        Ok(())
    }

    /// Computes u and v of the current x.
    pub fn forward(&mut self) -> Result<()> {
        let Networks { device, weights, x, u, v, store, pass, m, .. } = self;
        let args = ForwardArgs {
            weights: weights.read(),
            x: read(x),
            u: write(u),
            v: write(v),
            store: write(store),
            m: *m as u64,
            stride: pass.stride as u32,
        };
        device.launch(pass.grid(*m), &args)
    }

    /// The extreme eigenvalues of H_f at the rows of the last [`Networks::forward`], into [`Networks::extremes`].
    pub fn extremes(&mut self) -> Result<()> {
        let Networks { device, weights, u, store, spectrum, extremes, pass, m, .. } = self;
        let Spectrum { tangents, steps, hessians, ends, start, basis, tridiagonal } = spectrum;
        let d = weights.architecture.dim();
        let (rows, stride) = (*m as u64, pass.stride as u32);
        let taken = *steps as u32;
        if let Some(v) = *tangents {
            let grid = Grid::new(blocks(*m, v / d), HESSIAN_THREADS).shared(Spectrum::shared(v, d, pass.stride));
            let args = HessianArgs {
                weights: weights.read(),
                store: write(store),
                hessians: write(hessians),
                ends: write(ends),
                m: rows,
                stride,
            };
            device.launch(grid.instance(v), &args)?;
        } else {
            let args = LanczosArgs {
                weights: weights.read(),
                start: read(start),
                store: write(store),
                basis: write(basis),
                tridiagonal: write(tridiagonal),
                ends: write(ends),
                m: rows,
                steps: taken,
                stride,
            };
            device.launch(pass.grid(*m), &args)?;
        }
        let n = if tangents.is_some() { d } else { *steps };
        let args = ExtremesArgs {
            table: read(&weights.table),
            u: read(u),
            hessians: read(hessians),
            ends: read(ends),
            basis: read(basis),
            tridiagonal: read(tridiagonal),
            result: write(extremes),
            m: rows,
            steps: taken,
        };
        device.launch(Grid::new(1, 256).shared(2 * 2 * n * n * 8), &args)
    }

    /// Prepares factors[0] ∂λmin + factors[1] ∂λmax (D4): adds the derivatives in u to the rows of ū at which they were attained.
    /// [`Networks::backward`] adds the derivatives in the parameters to the gradient. To be called between [`Networks::extremes`]
    /// and [`Networks::backward`].
    pub fn eigenvalue_gradient(&mut self) -> Result<()> {
        let Networks { device, weights, extremes, factors, jets, bar_u, pass, .. } = self;
        let args = EigenvalueJetsArgs {
            weights: weights.read(),
            result: read(extremes),
            factors: read(factors),
            jets: write(jets),
            bar_u: write(bar_u),
            stride: pass.stride as u32,
        };
        device.launch(Grid::new(1, THREADS).shared(pass.six().shared()), &args)
    }

    /// Computes [`Networks::gradient`] from the cotangents ū and v̄ (D3, D6) and the factors of the eigenvalues; ū ← ū + H_f v̄.
    pub fn backward(&mut self) -> Result<()> {
        let Networks { device, weights, x, u, bar_u, bar_v, factors, extremes, gradient, .. } = self;
        let Networks { pass, m, store, jets, products, product_table, tiles, partial, .. } = self;
        let (n, rows) = (weights.len(), *m as u64);
        let args = BackwardArgs {
            weights: weights.read(),
            bar_v: read(bar_v),
            bar_u: write(bar_u),
            store: write(store),
            m: rows,
            stride: pass.stride as u32,
        };
        device.launch(pass.grid(*m), &args)?;
        let parts = products.parts as u32;
        let grid = Grid::of([(products.tiles.len() / 3) as u32, parts, 1], 256).shared(2 * 16 * 64 * 4);
        let args = GradientProductsArgs {
            products: read(product_table),
            tiles: read(tiles),
            store: read(store),
            x: read(x),
            u: read(u),
            bar_u: read(bar_u),
            bar_v: read(bar_v),
            partial: write(partial),
            parameters: n as u64,
            m: rows,
            part: products.part as u64,
        };
        device.launch(grid, &args)?;
        let args = SumGradientsArgs {
            table: read(&weights.table),
            partial: read(partial),
            jets: read(jets),
            result: read(extremes),
            factors: read(factors),
            gradient: write(gradient),
            parts,
        };
        device.launch(Grid::over(n, 256), &args)
    }

    /// One update of both networks by [`Networks::gradient`], and the change of gauge (D11 d). Reads from device memory: Adam's
    /// step and floor, the factor c of f ← c f (1 for no change), and `flags`; if the first of these is 0, nothing changes.
    pub fn update(&mut self, rates: &Buffer<f32>, scale: &Buffer<f64>, flags: &Buffer<u32>) -> Result<()> {
        let Networks { device, weights, gradient, first, second, .. } = self;
        let grid = Grid::over(weights.len(), 256);
        let Weights { table, parameters, mirror, .. } = weights;
        let args = UpdateNetworksArgs {
            table: read(table),
            gradient: read(gradient),
            parameters: write(parameters),
            mirror: write(mirror),
            first: write(first),
            second: write(second),
            rates: read(rates),
            scale: read(scale),
            flags: read(flags),
        };
        device.launch(grid, &args)
    }
}
