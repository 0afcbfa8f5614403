//! A step's launches, recorded once and replayed: the driver then launches a whole step in one call instead of each of
//! its kernels.

use super::device::CudaDevice;
use crate::error::Result;
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode, CUstreamCaptureStatus as Status};

/// Launches, copies within the device and clearings, in order.
///
/// What it replays has the arguments' values of the time of capture, addresses of buffers among them: the buffers
/// must live as long as the graph is launched. Keep it beside them, in front of them, so that it is dropped first.
pub(crate) struct Graph {
    device: CudaDevice,
    graph: CudaGraph,
}

// SAFETY: a graph may be used from any thread, from one at a time; `launch` takes it by exclusive reference.
unsafe impl Send for Graph {}

impl Graph {
    /// Records what `work` puts into the stream; nothing of it runs now. In `work` nothing may be allocated or freed,
    /// and the host may neither read nor write the device nor wait for it. Its kernels should have run before: a driver
    /// may load a kernel at its first launch, which it does not like to do here. Do not count on the driver to refuse
    /// these things: it may record an allocation, or a copy with the host's address.
    ///
    /// # Errors
    /// Those of `work`, or [`Error::Device`](crate::Error::Device) if it did what a capture forbids or nothing at all.
    pub(crate) fn capture(device: &CudaDevice, work: impl FnOnce(&CudaDevice) -> Result<()>) -> Result<Self> {
        let stream = &device.stream;
        let failed = |e| device.failed("the step cannot be recorded", e);
        // Other threads go on with what they do.
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let done = work(device);
        // Ended in any case, or the stream would be of no more use; an error that was kept from a drop comes first.
        let end = || stream.end_capture(CUgraphInstantiate_flags(0));
        let ended = end();
        if ended.is_err() && !matches!(stream.capture_status(), Ok(Status::CU_STREAM_CAPTURE_STATUS_NONE)) {
            let _ = end();
        }
        done?;
        let graph = ended.map_err(failed)?;
        let graph =
            graph.ok_or_else(|| device.error("the step that was to be recorded is empty; please report this"))?;
        graph.upload().map_err(failed)?;
        Ok(Graph { device: device.clone(), graph })
    }

    /// Puts everything that was recorded into the stream.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver refuses; what goes wrong while it runs shows at the next
    /// wait.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.graph.launch().map_err(|e| self.device.failed("the recorded step cannot be launched", e))
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("device", &self.device.gpu().index).finish_non_exhaustive()
    }
}
