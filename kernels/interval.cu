// Times in the interval on which id + t∇f is a diffeomorphism (D7), and the particles at these times.
#include "terms.cuh"

// Twin: clouds::geodesic::interval::Interval. If the eigenvalues are NaN, only the time 0 is left.
struct TimeInterval {
    double low, high;
    // ∂low/∂λmax and ∂high/∂λmin; 0 if the end is infinite.
    double low_slope, high_slope;
};

static __device__ __forceinline__ TimeInterval time_interval(double lambda_min, double lambda_max, double reach) {
    TimeInterval t;
    if (lambda_min != lambda_min || lambda_max != lambda_max) {
        t.low = t.high = t.low_slope = t.high_slope = 0.0;
        return t;
    }
    const bool below = lambda_max > 0.0, above = lambda_min < 0.0;
    t.low = below ? -reach / lambda_max : -INFINITE;
    t.low_slope = below ? reach / (lambda_max * lambda_max) : 0.0;
    t.high = above ? -reach / lambda_min : INFINITE;
    t.high_slope = above ? reach / (lambda_min * lambda_min) : 0.0;
    return t;
}

// The end to which a time was clipped.
#define INSIDE 0
#define AT_LOW 1
#define AT_HIGH 2

static __device__ __forceinline__ double clipped(double t, double low, double high, int32_t* end) {
    *end = t < low ? AT_LOW : t > high ? AT_HIGH : INSIDE;
    return *end == AT_LOW ? low : *end == AT_HIGH ? high : t;
}

struct PlaceParticlesArgs {
    const float *u, *v;
    const double *extremes, *times;
    const uint32_t* index;
    double *ends, *slot_time;
    int32_t* slot_end;
    double* meeting;
    int32_t* meeting_end;
    float* z;
    TermShape shape;
};
LAYOUT(PlaceParticlesArgs, u, v, extremes, times, index, ends, slot_time, slot_end, meeting, meeting_end, z, shape)

// Algorithm 1, lines 5 and 6: t' = t clipped to the interval of the batch and z = u + t' v, for every slot.
//   extremes    λmin, λmax over the batch
//   times       n + 2: those of the measures, then the meeting times on the first component and on this one
// Writes ends (low, high, ∂low/∂λmax, ∂high/∂λmin), the time and the end of each slot, if there are earlier components the
// clipped meeting times (old, new) and their ends, and z (visits × count, count = m d).
// Grid: (⌈count / block⌉, visits). Bound by memory: 12 bytes per number.
KERNEL place_particles(PlaceParticlesArgs args) {
    const float *__restrict__ u = args.u, *__restrict__ v = args.v;
    const double *__restrict__ extremes = args.extremes, *__restrict__ times = args.times;
    const uint32_t* __restrict__ index = args.index;
    double *__restrict__ ends = args.ends, *__restrict__ slot_time = args.slot_time, *__restrict__ meeting = args.meeting;
    int32_t *__restrict__ slot_end = args.slot_end, *__restrict__ meeting_end = args.meeting_end;
    float* __restrict__ z = args.z;
    const uint64_t n = args.shape.n, count = args.shape.count;
    const uint32_t visits = args.shape.visits;
    __shared__ TimeInterval interval;
    if (threadIdx.x == 0) interval = time_interval(extremes[0], extremes[1], args.shape.reach);
    __syncthreads();
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
        ends[0] = interval.low;
        ends[1] = interval.high;
        ends[2] = interval.low_slope;
        ends[3] = interval.high_slope;
        if (args.shape.earlier) {
            meeting[0] = clipped(times[n], args.shape.first_low, args.shape.first_high, meeting_end);
            meeting[1] = clipped(times[n + 1], interval.low, interval.high, meeting_end + 1);
        }
    }
    const uint64_t k = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (uint32_t s = blockIdx.y; s < visits; s += gridDim.y) {
        int32_t end;
        const double time = clipped(times[index[s]], interval.low, interval.high, &end);
        if (k == 0) {
            slot_time[s] = time;
            slot_end[s] = end;
        }
        if (k < count) z[s * count + k] = u[k] + static_cast<float>(time) * v[k];
    }
}
REGISTER(place_particles)
