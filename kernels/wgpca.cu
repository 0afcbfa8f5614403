// All kernels, one module.
#include "compat.cuh"
#include "reduce.cuh"
#include "adam.cu"
#include "forward.cu"
#include "extremes.cu"
#include "lanczos.cu"
#include "weights.cu"
#include "optimiser.cu"
