//! Records the launches of a step once and replays them, so that the driver launches a whole step in one call instead of one call
//! per kernel.

use super::device::CudaDevice;
use crate::error::Result;
use cudarc::driver::CudaGraph;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode, CUstreamCaptureStatus as Status};

/// Launches, copies within the device and memory fills, in order.
///
/// Replay uses the argument values of the time of capture, including addresses of buffers, so the buffers must outlive the graph.
/// In a struct, declare the graph before the buffers, so that it is dropped first.
pub(crate) struct Graph {
    device: CudaDevice,
    graph: CudaGraph,
}

// SAFETY: a graph can be used from any thread, but only one at a time; `launch` takes an exclusive reference.
unsafe impl Send for Graph {}

impl Graph {
    /// Records what `work` enqueues, without running it. `work` must not allocate or free, and the host must not read or write
    /// device memory or wait for the device. The kernels should have been launched before, because a driver that loads a kernel
    /// at its first launch possibly fails to do so during capture. The driver does not reliably detect violations: it can record
    /// an allocation, or a copy with an address of the host.
    ///
    /// # Errors
    /// Those of `work`, or [`Error::Device`](crate::Error::Device) if it did what capture forbids or enqueued nothing.
    pub(crate) fn capture(device: &CudaDevice, work: impl FnOnce(&CudaDevice) -> Result<()>) -> Result<Self> {
        let stream = &device.stream;
        let failed = |e| device.failed("the step cannot be recorded", e);
        // Other threads are not affected by the capture.
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let done = work(device);
        // Ended in any case, otherwise the stream would be unusable; an error stored by a drop takes precedence.
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

    /// Enqueues everything that was recorded.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver reports an error; errors of the run appear at the next wait.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.graph.launch().map_err(|e| self.device.failed("the recorded step cannot be launched", e))
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("device", &self.device.gpu().index).finish_non_exhaustive()
    }
}
