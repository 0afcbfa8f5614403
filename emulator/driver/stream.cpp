// Streams, events, and the capture of a stream's work as a graph.
#include <ctime>
#include <memory>

#include "driver.h"

namespace driver {

using Work = std::vector<std::function<int()>>;

// Work is done at once, in order, so a stream only stores whether it is capturing.
struct Stream {
    std::unique_ptr<Work> captured;
    bool spoilt = false;
};

// The stream that this thread is capturing, if any.
static thread_local Stream* capturing = nullptr;

int submit(Stream* stream, std::function<int()> work) {
    if (!stream || !stream->captured) return work();
    if (stream != capturing) return CaptureWrongThread;
    if (stream->spoilt) return CaptureInvalidated;
    stream->captured->push_back(std::move(work));
    return Success;
}

int outside_capture() {
    if (!capturing) return Success;
    capturing->spoilt = true;
    return CaptureUnsupported;
}

int ready_outside_capture() {
    const int code = ready();
    return code ? code : outside_capture();
}

int in_context_outside_capture() {
    const int code = in_context();
    return code ? code : outside_capture();
}

}  // namespace driver

using namespace driver;

ENTRY cuStreamCreate(Stream** stream, unsigned) {
    READY(ready_outside_capture());
    *stream = new Stream;
    return Success;
}

ENTRY cuStreamDestroy_v2(Stream* stream) {
    READY(in_context());
    if (capturing == stream) capturing = nullptr;
    delete stream;
    return Success;
}

ENTRY cuStreamSynchronize(Stream*) {
    READY(ready_outside_capture());
    ++driver::driver().counts.waits;
    return Success;
}

ENTRY cuStreamWaitEvent(Stream*, void*, unsigned) {
    READY(ready_outside_capture());
    return Success;
}

ENTRY cuStreamBeginCapture_v2(Stream* stream, int) {
    READY(ready());
    if (!stream) return CaptureUnsupported;  // the default stream cannot capture
    if (stream->captured || capturing) return CaptureUnsupported;
    stream->captured = std::make_unique<Work>();
    stream->spoilt = false;
    capturing = stream;
    return Success;
}

ENTRY cuStreamEndCapture(Stream* stream, Work** graph) {
    READY(in_context());
    *graph = nullptr;
    if (!stream || !stream->captured) return CaptureUnmatched;
    if (capturing != stream) return CaptureWrongThread;
    capturing = nullptr;
    std::unique_ptr<Work> work = std::move(stream->captured);
    if (stream->spoilt) return CaptureInvalidated;
    *graph = work.release();
    return Success;
}

// 0: no capture, 1: in progress, 2: invalidated.
ENTRY cuStreamIsCapturing(Stream* stream, int* status) {
    READY(in_context());
    *status = !stream || !stream->captured ? 0 : stream->spoilt ? 2 : 1;
    return Success;
}

ENTRY cuStreamGetCaptureInfo_v2(Stream* stream, int* status, uint64_t* id, void*, void*, size_t* dependencies) {
    if (id) *id = reinterpret_cast<uint64_t>(stream);
    if (dependencies) *dependencies = 0;
    return cuStreamIsCapturing(stream, status);
}

ENTRY cuGraphInstantiateWithFlags(Work** executable, const Work* graph, unsigned long long) {
    READY(ready());
    *executable = new Work(*graph);
    return Success;
}

ENTRY cuGraphUpload(Work*, Stream*) {
    READY(ready_outside_capture());
    return Success;
}

ENTRY cuGraphLaunch(const Work* executable, Stream*) {
    // A GPU would record it in a graph during capture; nothing here needs that.
    READY(ready_outside_capture());
    ++driver::driver().counts.graphs;
    for (const auto& work : *executable) {
        const int code = work();
        Driver& d = driver::driver();
        if (code && !d.failed) d.failed = code;
        if (d.failed) break;
    }
    return Success;
}

ENTRY cuGraphExecDestroy(Work* executable) {
    delete executable;
    return Success;
}

ENTRY cuGraphDestroy(Work* graph) {
    delete graph;
    return Success;
}

ENTRY cuEventCreate(timespec** event, unsigned) {
    READY(ready_outside_capture());
    *event = new timespec{};
    return Success;
}

ENTRY cuEventDestroy_v2(timespec* event) {
    READY(in_context());
    delete event;
    return Success;
}

ENTRY cuEventRecord(timespec* event, Stream*) {
    READY(ready_outside_capture());
    clock_gettime(CLOCK_MONOTONIC, event);
    return Success;
}

ENTRY cuEventSynchronize(timespec*) {
    READY(ready_outside_capture());
    ++driver::driver().counts.waits;
    return Success;
}

ENTRY cuEventQuery(timespec*) {
    READY(ready());
    return Success;
}

ENTRY cuEventElapsedTime(float* milliseconds, const timespec* from, const timespec* to) {
    READY(ready());
    *milliseconds = static_cast<float>((to->tv_sec - from->tv_sec) * 1e3 + (to->tv_nsec - from->tv_nsec) * 1e-6);
    return Success;
}
