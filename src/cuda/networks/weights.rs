//! The parameters of a geodesic in device memory, and passes that need only these.

use super::arguments::{EvaluateArgs, FillMirrorArgs, NetworkWeights};
use super::layout::{stored, table};
use super::{Rows, blocks, shared};
use crate::clouds::{Architecture, Geodesic};
use crate::cuda::arguments::{read, write};
use crate::cuda::device::CudaDevice;
use crate::cuda::launch::Grid;
use crate::cuda::memory::Buffer;
use crate::error::{Error, Result};
use cudarc::driver::CudaViewMut;

/// φ and f of a geodesic.
pub(crate) struct Weights {
    device: CudaDevice,
    pub architecture: Architecture,
    /// Widths and offsets, for the kernels (`Shape` in kernels/layers.cuh).
    pub(super) table: Buffer<u32>,
    /// Parameters of φ, then of f, as in [`Geodesic`].
    pub parameters: Buffer<f32>,
    /// The same with weights and L transposed.
    pub mirror: Buffer<f32>,
}

impl Weights {
    /// All parameters are 0.
    ///
    /// # Errors
    /// [`Error::Parameter`] for too many parameters, [`Error::Device`] if the memory does not suffice.
    pub fn new(device: &CudaDevice, architecture: &Architecture) -> Result<Self> {
        let n = architecture.phi_parameters() + architecture.f_parameters();
        if u32::try_from(n).is_err() {
            let problem = format!("{n} parameters are too many for a GPU; use the CPU");
            return Err(Error::parameter("layers", problem));
        }
        Ok(Weights {
            device: device.clone(),
            table: device.upload(&table(architecture))?,
            parameters: device.zeros(n)?,
            mirror: device.zeros(n)?,
            architecture: architecture.clone(),
        })
    }

    /// Number of parameters of both networks.
    pub fn len(&self) -> usize {
        self.architecture.phi_parameters() + self.architecture.f_parameters()
    }

    /// Copies the parameters from the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn upload(&mut self, geodesic: &Geodesic<f32>) -> Result<()> {
        self.device.copy_into(&[&geodesic.phi[..], &geodesic.f].concat(), &mut self.parameters)?;
        let grid = Grid::over(self.len(), 256);
        let Weights { device, table, parameters, mirror, .. } = self;
        let args = FillMirrorArgs { table: read(table), parameters: read(parameters), mirror: write(mirror) };
        device.launch(grid, &args)
    }

    /// The arguments for a kernel that reads them.
    pub(super) fn read(&self) -> NetworkWeights<'_> {
        NetworkWeights { table: read(&self.table), parameters: read(&self.parameters), mirror: read(&self.mirror) }
    }

    /// Copies the parameters to the host. Waits.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self, geodesic: &mut Geodesic<f32>) -> Result<()> {
        let all = self.device.download(&self.parameters)?;
        let (phi, f) = all.split_at(geodesic.phi.len());
        geodesic.phi.copy_from_slice(phi);
        geodesic.f.copy_from_slice(f);
        Ok(())
    }
}

/// Computes u and v only, for any geodesic of one architecture and any number of rows: earlier components, evaluations.
pub(crate) struct Evaluator {
    device: CudaDevice,
    pass: Rows,
    blocks: u32,
    /// σ' of f for the rows that the blocks are processing.
    slopes: Buffer<f32>,
}

impl Evaluator {
    /// For up to `n` rows at full speed; more are allowed.
    ///
    /// # Errors
    /// As [`super::Networks::new`].
    pub fn new(device: &CudaDevice, architecture: &Architecture, n: usize) -> Result<Self> {
        let pass = Rows::new(architecture, shared(device))?;
        // A few blocks per multiprocessor; each processes several groups of rows.
        let most = 8 * device.gpu().multiprocessors.max(1);
        let blocks = blocks(n.max(1), pass.rows).min(most);
        let [_, f] = stored(architecture);
        let slopes = device.zeros(blocks as usize * pass.rows * f)?;
        Ok(Evaluator { device: device.clone(), pass, blocks, slopes })
    }

    /// u = φ(x), v = ∇f(u) of the first n rows of x.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn evaluate(
        &mut self,
        weights: &Weights,
        x: &Buffer<f32>,
        n: usize,
        u: &mut CudaViewMut<'_, f32>,
        v: &mut CudaViewMut<'_, f32>,
    ) -> Result<()> {
        let Evaluator { device, pass, blocks, slopes } = self;
        let grid = Grid { blocks: [*blocks, 1, 1], ..pass.grid(n) };
        let args = EvaluateArgs {
            weights: weights.read(),
            x: read(x),
            u: write(u),
            v: write(v),
            slopes: write(slopes),
            m: n as u64,
            stride: pass.stride as u32,
        };
        device.launch(grid, &args)
    }
}
